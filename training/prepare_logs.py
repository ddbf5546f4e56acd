"""Gathers what the two-headed model learns from logs, with anchors, as token numbers in one file.

    python training/prepare_logs.py DATA --logs FOLDER [FOLDER ...] --into logs.npz [--refusals FILE]

The folders hold logs (`logs.py`). DATA holds `nli/` and `rag/` as for `prepare_pairs.py`: pairs of these and of our own
data are the anchors, on which the model is to keep saying what it says today. The answers of `--refusals`
(FinanceBench: JSON lines with `answer` and `human_label`) are measured on and never learned from.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from kinds import Kinds
from logs import (
    LABELS,
    ROLES,
    Log,
    Piece,
    holds,
    introduced,
    read_logs,
    read_rows,
    sentences_of,
    shown_for,
    stems,
    windows_of,
)
from ordinary import Ordinary
from pairs import CONTRADICTED, SUPPORTED, UNSUPPORTED, Pair, answer_pairs, elsewhere, inference_pairs
from prepare_pairs import CLAIM_TOKENS, PREMISE_TOKENS, Arrays, encode, encoded
from taught import as_question, as_same, own_pairs, said_to

BEFORE_TOKENS, SENTENCE_TOKENS, AFTER_TOKENS = 48, 128, 48
"""As in `krino.models.entailment`."""
KINDS = ("shown", "asked", "deciding", "elsewhere", "useful", "answers", "same")
ANCHORS = {"labelled by people": 12_000, "our own": 20_000, "ordinary": 8_000}
KEPT_ANCHORS = 0.15
_FEW_WORDS = 4
_INTRODUCED = 0.5
_TWIN = 0.7
"""What a rewritten piece weighs: its passages and question were seen with the piece as it was."""
_BITS = dict(zip(LABELS, (SUPPORTED, UNSUPPORTED, CONTRADICTED), strict=True))
_REFUSAL_SENTENCES = 12


@dataclass(frozen=True, slots=True)
class Lesson:
    """A text and what is asked of it; the possible classes as bits or else shares; how much it counts, 0 if only to
    measure on; and the number of the claim that it is about."""

    text: str
    asked: str
    bits: int
    kind: str
    weight: float
    log: int
    claim: int = -1
    shares: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Claimed:
    """A claim as it is asked about."""

    text: str
    label: str
    piece: Piece
    weight: float


def claims_of(log: Log, random: Random) -> Iterator[Claimed]:
    for place, piece in enumerate(log.pieces):
        if piece.role != "claim" or piece.label is None or log.rewritten not in (None, place):
            continue
        text = introduced(log, place) if random.random() < _INTRODUCED else piece.text
        if len(text.split()) < _FEW_WORDS:
            text = said_to(log.question, text)
        yield Claimed(text, piece.label, piece, 1.0 if log.rewritten is None else _TWIN)


def support_lessons(log: Log, number: int, claim: Claimed, claim_number: int) -> Iterator[Lesson]:
    """The claim beside the evidence of all passages, alone and behind the question, and beside each window of each."""
    bits, span = _BITS[claim.label], claim.piece.span
    shown = shown_for(claim.text, log.passages)
    sure = span is None or holds(shown, span)
    open_bits = bits if sure else bits | UNSUPPORTED
    weight = claim.weight * (1.0 if sure else 0.5)
    yield Lesson(shown, claim.text, open_bits, "shown", weight, number, claim_number)
    behind = said_to(log.question, claim.piece.text)
    yield Lesson(shown, behind, open_bits, "asked", 0.5 * weight, number, claim_number)
    others, decided = list[str](), False
    for place, passage in enumerate(log.passages):
        for window in windows_of(passage):
            if span is not None and place == claim.piece.passage and not decided and holds(window, span):
                decided = True
                yield Lesson(window, claim.text, bits, "deciding", claim.weight, number, claim_number)
            else:
                others.append(window)
    words = stems(claim.text)
    others.sort(key=lambda window: -len(words & stems(window)))
    for rank, window in enumerate(others):
        if claim.label == "unsupported":
            known, counts = UNSUPPORTED, 0.5 * (rank < 2)
        elif claim.label == "supported" and rank == 0:
            known, counts = SUPPORTED | UNSUPPORTED, 0.3
        else:  # the windows that share least with the claim say nothing of it
            known, counts = UNSUPPORTED, 0.3 * (rank == len(others) - 1 and rank > 1)
        yield Lesson(window, claim.text, known, "elsewhere", claim.weight * counts, number, claim_number)


def other_lessons(log: Log, number: int, random: Random) -> Iterator[Lesson]:
    """Which passages answer the question, which parts the answer answers, and how near it is to the reference."""
    question = as_question(log.question)
    for place, passage in enumerate(log.passages) if log.rewritten is None else ():
        text = passage if random.random() < 0.5 else shown_for(log.question, [passage])
        bits = SUPPORTED | CONTRADICTED if place in log.useful else UNSUPPORTED
        yield Lesson(text or passage, question, bits, "useful", 0.3, number)
    if log.rewritten is None and log.parts:
        answered = [known for _, known in log.parts]
        bits = SUPPORTED if all(answered) else CONTRADICTED if any(answered) else UNSUPPORTED
        yield Lesson(log.answer, question, bits, "answers", 0.4, number)
        if len(log.parts) > 1:
            for part, known in log.parts:
                yield Lesson(log.answer, as_question(part), SUPPORTED if known else UNSUPPORTED, "answers", 0.2, number)
    if log.reference and log.similarity is not None:
        shares = (log.similarity, 1 - log.similarity, 0.0)
        weight = 0.4 if log.rewritten is None else 0.2
        for one, other in ((log.answer, log.reference), (log.reference, log.answer)):
            yield Lesson(said_to(log.question, one), as_same(other), 0, "same", weight, number, -1, shares)


def anchors(data: Path, seed: int) -> list[Pair]:
    """Public pairs with labels, pairs of our own data, and claims about ordinary texts."""
    random = Random(seed)
    answers = answer_pairs(data)
    people = [*inference_pairs(data), *answers, *elsewhere(answers)]
    own = [*own_pairs(False, seed), *own_pairs(True, seed)]
    talk = Kinds(seed, False, ["Anna", "Ghent", "Marie", "Porto", "Hamburg"])
    texts = sorted({pair.premise for pair in people})
    ordinary = [*Ordinary(seed, False, talk).pairs(1, texts), *Ordinary(seed, True, talk).pairs(1, texts)]
    found = []
    for pairs, (name, most) in zip((people, own, ordinary), ANCHORS.items(), strict=True):
        chosen = random.sample(pairs, min(most, len(pairs)))
        found += [Pair(pair.premise, pair.claim, pair.label, f"{name}: {pair.origin}") for pair in chosen]
    random.shuffle(found)
    return found


def role_tokens(before: str, sentence: str, after: str) -> list[int]:
    near = encode(before[-1000:])
    near = near if len(near) <= BEFORE_TOKENS else near[:1] + near[1 - BEFORE_TOKENS :]
    return [*near, *_cut(sentence, SENTENCE_TOKENS)[1:], *_cut(after, AFTER_TOKENS)[1:]]


def _cut(text: str, most: int) -> list[int]:
    ids = encode(text)
    return ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]


def role_arrays(logs: Sequence[Log]) -> Arrays:
    """Every piece with its neighbours; where Markdown is before it, once with it and once without."""
    rows = []
    for number, log in enumerate(logs):
        if log.rewritten is not None:
            continue
        texts = ["", *(piece.text for piece in log.pieces), ""]
        for place, piece in enumerate(log.pieces):
            plain = role_tokens(texts[place], piece.text, texts[place + 2])
            marked = role_tokens(texts[place], piece.markup + piece.text, texts[place + 2])
            alike = plain == marked
            rows.append((plain, ROLES.index(piece.role), number, 0, 1.0 if alike else 0.5))
            if not alike:
                rows.append((marked, ROLES.index(piece.role), number, 1, 0.5))
    return _tokens("roles", [row[0] for row in rows]) | {
        "roles_role": np.array([row[1] for row in rows], np.uint8),
        "roles_log": np.array([row[2] for row in rows], np.uint16),
        "roles_marked": np.array([row[3] for row in rows], np.uint8),
        "roles_weight": np.array([row[4] for row in rows], np.float32),
    }


def refusal_arrays(file: Path) -> Arrays:
    rows = read_rows(file)
    tokens, of = [], []
    for number, row in enumerate(rows):
        parts = sentences_of(row["answer"])[:_REFUSAL_SENTENCES] or [""]
        texts = ["", *parts, ""]
        tokens += [role_tokens(texts[place], part, texts[place + 2]) for place, part in enumerate(parts)]
        of += [number] * len(parts)
    return _tokens("refusals", tokens) | {
        "refusals_of": np.array(of, np.uint16),
        "refusals_is": np.array([row["human_label"] == "Refusal" for row in rows]),
    }


def _tokens(name: str, tokens: Sequence[Sequence[int]]) -> Arrays:
    return {
        f"{name}_ids": np.array([number for ids in tokens for number in ids], np.uint16),
        f"{name}_lengths": np.array([len(ids) for ids in tokens], np.uint16),
    }


def pair_arrays(lessons: Sequence[Lesson], pairs: Sequence[Pair]) -> Arrays:
    """Lessons and anchors; each text is stored once."""
    texts = {text: place for place, text in enumerate(dict.fromkeys(one.text for one in lessons))}
    for pair in pairs:
        texts.setdefault(pair.premise, len(texts))
    asked = {text: place for place, text in enumerate(dict.fromkeys(one.asked for one in lessons))}
    for pair in pairs:
        asked.setdefault(pair.claim, len(asked))
    origins = sorted({pair.origin for pair in pairs})
    kept = np.random.default_rng(0).random(len(pairs)) < KEPT_ANCHORS
    return (
        encoded(list(texts), "texts", PREMISE_TOKENS)
        | encoded(list(asked), "claims", CLAIM_TOKENS)
        | {
            "lessons_text": np.array([texts[one.text] for one in lessons], np.uint32),
            "lessons_claim": np.array([asked[one.asked] for one in lessons], np.uint32),
            "lessons_bits": np.array([one.bits for one in lessons], np.uint8),
            "lessons_shares": np.array([one.shares for one in lessons], np.float32),
            "lessons_kind": np.array([KINDS.index(one.kind) for one in lessons], np.uint8),
            "lessons_weight": np.array([one.weight for one in lessons], np.float32),
            "lessons_log": np.array([one.log for one in lessons], np.uint16),
            "lessons_about": np.array([one.claim for one in lessons], np.int32),
            "anchors_text": np.array([texts[pair.premise] for pair in pairs], np.uint32),
            "anchors_claim": np.array([asked[pair.claim] for pair in pairs], np.uint32),
            "anchors_bits": np.array([pair.label for pair in pairs], np.uint8),
            "anchors_origin": np.array([origins.index(pair.origin) for pair in pairs], np.uint16),
            "anchors_kept": kept,
            "origins": np.array(origins),
        }
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--logs", type=Path, nargs="+", required=True)
    parser.add_argument("--refusals", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    files = sorted(path for folder in args.logs for path in (*folder.glob("*.jsonl"), *folder.glob("*.jsonl.gz")))
    logs = [log for file in files for log in read_logs(file)]
    random, lessons, labels = Random(args.seed), list[Lesson](), list[str]()
    for number, log in enumerate(logs):
        for claim in claims_of(log, random):
            lessons += support_lessons(log, number, claim, len(labels))
            labels.append(claim.label)
        lessons += other_lessons(log, number, random)
    found = pair_arrays(lessons, anchors(args.data, args.seed)) | role_arrays(logs)
    found |= {
        "labels": np.array([LABELS.index(label) for label in labels], np.uint8),
        "logs_author": np.array([log.author for log in logs]),
        "logs_name": np.array([log.name for log in logs]),
        "logs_language": np.array([log.language for log in logs]),
    }
    if args.refusals is not None:
        found |= refusal_arrays(args.refusals)
    np.savez_compressed(args.into, **found)
    counts = Counter(one.kind for one in lessons), Counter(one.kind for one in lessons if one.weight), Counter(labels)
    print(f"{len(logs)} logs; lessons, of them learned, claims:", *map(dict, counts))


if __name__ == "__main__":
    main()
