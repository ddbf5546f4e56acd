"""Makes what the teacher learns, what it is to write, and what it is asked about its own texts.

    python training/lessons.py DATA --wordnet DICT --passages passages.jsonl --into FOLDER

It writes `lessons.jsonl.gz`, `kept.jsonl.gz` (texts kept out, to see what was learnt) and `wanted.jsonl.gz` (what is
to be written) into the folder, for `teacher.py`. DATA and DICT are those of `prepare_pairs.py`; a line of the
passages has a text `p` and its language `l`.

Our own data are `ordinary.jsonl` (claims about ordinary texts), `questions.jsonl` (questions, what answers them and
what does not), `answers.jsonl` (answers of assistants, with a label for each sentence), `twins.jsonl` (two passages
that differ in little, with claims that are true by one and wrong by the other) and `replies.jsonl` (which questions a
text answers, which texts answer a question, and which replies say the same).
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from kinds import KEPT, Kinds
from ordinary import LABELS, Ordinary, filled
from pairs import CONTRADICTED, NLI_SETS, NOT_SUPPORTED, SUPPORTED, UNSUPPORTED, Pair
from teacher_text import Question, Record, read_record, write_rows

FOLDER = Path(__file__).parent
IN_PART = CONTRADICTED
"""The third class, where a text is asked about a question: it answers a part."""
_MEANT = {"s": "yes", "c": "no", "u": "open"}
_HELD = {True: ("ask yes", SUPPORTED), False: ("ask no", UNSUPPORTED), "part": ("ask half", IN_PART)}
_END = re.compile(r"(?<=[.!?…])[\"'»“”)\]]*\s+(?=[\"'«„“(\[]?[A-ZÀ-ÞŒ0-9])")
_SENTENCES = 9
_FEWEST_WORDS = 4
_GOOD = 5
_BEHIND = 0.5
"""Share of the replies that stand behind their question although they can do without it."""
_JOINED = 3
"""Claims of a passage that are joined to one answer."""
MADE, STATED, COMPOSED = 8_000, 3_000, 4_000
"""Pairs made by rule, statements in patterns and joined claims among the lessons; people's and our own are all in."""
CAPTIONS = 6_000
"""Pairs of SNLI and its revision: descriptions of pictures, of which there are more than enough."""
DRAWS = 2
"""How often an ordinary text is a lesson, each time with other values and surroundings; records of our own likewise."""
OWN_TEXTS = {"en": 1_500}
"""Records that the teacher writes from nothing, by language."""
GIVEN_TEXTS = 24_000
KEPT_ROWS = 4_000
ASKING, CHATTING, TWINS = 0.15, 0.15, 0.4
"""Shares of the records to be written: questions with replies, sentences of assistants' answers, near misses."""

Asks = list[list[Any]]
Row = dict[str, Any]


def sentences(text: str) -> list[str]:
    return [part.strip() for part in _END.split(text) if part.strip()][:_SENTENCES]


def own_rows(name: str, kept: bool) -> list[Row]:
    lines = (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for number, line in enumerate(lines) if (number % KEPT == KEPT - 1) == kept]


# --- questions and replies -------------------------------------------------------------------------


def question_record(row: Row) -> Record:
    """A row of `questions.jsonl` as a record."""
    record = Record(row["l"], "qa", " ".join(row["p"]))
    for item in row["q"]:
        question = Question(item["t"], _HELD[item["h"]][0])
        for key, meant in (("y", "right"), ("w", "wrong"), ("n", "off"), ("m", "half")):
            question.replies += [(meant, reply) for reply in item.get(key, ())]
        record.questions.append(question)
    return record


def question_lessons(row: Row, random: Random) -> Iterator[Row]:
    """What the text, each of its sentences, and each reply say to the questions; which replies mean the same."""
    text = " ".join(row["p"])
    asks: Asks = [["question", item["t"], _HELD[item["h"]][1]] for item in row["q"]]
    for item in row["q"]:
        asks += [["claim", reply, SUPPORTED] for reply in item.get("y", ()) if _is_statement(reply)]
        asks += [["claim", reply, NOT_SUPPORTED] for reply in item.get("w", ()) if _is_statement(reply)]
    yield lesson(text, asks, random)
    for place, sentence in enumerate(row["p"]):
        yield lesson(sentence, [["question", item["t"], _bearing(item, place)] for item in row["q"]], random)
    for item in row["q"]:
        for key, label in (("y", SUPPORTED), ("w", SUPPORTED), ("n", UNSUPPORTED), ("m", IN_PART)):
            for reply in item.get(key, ()):
                yield lesson(reply, [["question", item["t"], label]], random)
        yield from _same_answers(item["t"], item.get("y", ()), item.get("w", ()), random)


def _bearing(item: Row, place: int) -> int:
    """Of a sentence that bears on a question with others it is not known how much each answers by itself."""
    if place not in item["u"]:
        return UNSUPPORTED
    return SUPPORTED if item["h"] is True and len(item["u"]) == 1 else SUPPORTED | IN_PART


def _same_answers(question: str, right: Sequence[str], wrong: Sequence[str], random: Random) -> Iterator[Row]:
    for reply in right:
        asks: Asks = [["claim", other, SUPPORTED] for other in right if other != reply]
        asks += [["claim", other, NOT_SUPPORTED] for other in wrong]
        yield lesson(f"{question} {reply}", asks, random)


def _is_statement(reply: str) -> bool:
    return len(reply.split()) >= _FEWEST_WORDS


# --- answers of assistants -------------------------------------------------------------------------


def answer_record(row: Row, random: Random) -> Record:
    """Bad sentences and some good ones."""
    record = Record(row["l"], "chat", " ".join(row["c"]))
    said = list(dict.fromkeys((text, label) for answer in row["a"] for text, label in answer if label != "t"))
    random.shuffle(said)
    good = [item for item in said if item[1] == "s"][:_GOOD]
    record.claims = [(_MEANT[label], text) for text, label in said if label != "s" or (text, label) in good]
    return record


def answer_lessons(row: Row, random: Random) -> Iterator[Row]:
    """Each sentence, and each answer as one long claim."""
    text = " ".join(row["c"])
    asks: Asks = []
    for answer in row["a"]:
        claims = [(said, label) for said, label in answer if label != "t"]
        asks += [["claim", said, LABELS[label]] for said, label in claims]
        bad = any(label != "s" for _, label in claims)
        asks.append(["claim", " ".join(said for said, _ in claims), NOT_SUPPORTED if bad else SUPPORTED])
        asks.append(["question", row["q"], SUPPORTED | IN_PART])
    yield lesson(text, [list(ask) for ask in dict.fromkeys(map(tuple, asks))], random)


# --- twins and replies -----------------------------------------------------------------------------


def twin_sides(row: Row) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Each passage of a pair of twins with its claims: what is true by one is wrong by the other."""
    for text, true, wrong in ((row["p"], row["a"], row["b"]), (row["p2"], row["b"], row["a"])):
        labelled = (("s", true), ("c", wrong), ("s", row["e"]), ("u", row["n"]))
        yield text, [(label, claim) for label, claims in labelled for claim in claims]


def twin_lessons(row: Row, random: Random) -> Iterator[Row]:
    """Each claim by itself, and two whole answers: a faithful one, and one with a single bad claim in it.

    Where the claims are replies to a question, some of them stand behind it. Both passages and all replies answer it.
    """
    question = row.get("q")
    for text, claims in twin_sides(row):
        good = [claim for label, claim in claims if label == "s"]
        random.shuffle(good)
        bad = random.choice([claim for label, claim in claims if label != "s"])
        asks: Asks = []
        for label, claim in claims:
            heard = question and (not _is_statement(claim) or random.random() < _BEHIND)
            asks.append(["claim", f"{question} {claim}" if heard else claim, LABELS[label]])
        if question is None or random.random() < _BEHIND:
            asks.append(["claim", " ".join(good[:_JOINED]), SUPPORTED])
            spoilt = [*good[_JOINED : 2 * _JOINED - 1], bad]
            random.shuffle(spoilt)
            asks.append(["claim", " ".join(spoilt), NOT_SUPPORTED])
        if question is not None:
            asks.append(["question", question, SUPPORTED])
        yield lesson(text, asks, random)
    for reply in (*row["a"], *row["b"]) if question is not None else ():
        yield lesson(reply, [["question", question, SUPPORTED]], random)


def twin_records(row: Row, random: Random) -> Iterator[Record]:
    for text, claims in twin_sides(row):
        said = [(_MEANT[label], claim) for label, claim in random.sample(claims, len(claims))]
        yield Record(row["l"], "twin", text, said)


def reply_lessons(row: Row, random: Random) -> Iterator[Row]:
    """What a text says to questions; which texts answer one question; or which replies to it say the same."""
    if row["k"] == "same":
        yield from _same_answers(row["q"], row["s"], row["d"], random)
    elif row["k"] == "find":
        for key, label in (("y", SUPPORTED), ("n", UNSUPPORTED), ("h", IN_PART)):
            for text in row.get(key, ()):
                yield lesson(text, [["question", row["q"], label]], random)
    else:
        labelled = ((SUPPORTED, row["y"]), (UNSUPPORTED, row["n"]), (IN_PART, row.get("m", ())))
        yield lesson(row["t"], [["question", text, label] for label, texts in labelled for text in texts], random)


# --- claims about texts ----------------------------------------------------------------------------


def ordinary_records(ordinary: Ordinary, random: Random) -> Iterator[Record]:
    for group in ordinary.groups:
        values = ordinary.values()
        record = Record(group.get("lang", "en"), group["k"], filled(group["p"], values))
        record.claims = [(_MEANT[key], filled(claim, values)) for key in "scu" for claim in group.get(key, ())]
        random.shuffle(record.claims)
        yield record


def grouped(pairs: Iterable[Pair], random: Random) -> Iterator[Row]:
    """Pairs with the same premise together."""
    by_text: dict[str, dict[str, int]] = defaultdict(dict)
    for pair in pairs:
        by_text[pair.premise][pair.claim] = pair.label
    for text, claims in by_text.items():
        yield lesson(text, [["claim", claim, label] for claim, label in claims.items()], random)


def lesson(text: str, asks: Asks, random: Random) -> Row:
    asks = list(asks)
    random.shuffle(asks)
    return {"text": text, "asks": asks}


def pool_records(pairs: Sequence[Pair], random: Random) -> Iterator[Record]:
    """Premises of public pairs with their claims, as records of their own kinds."""
    kinds = {"mnli_dev_matched_mismatched": "mnli", "fever_nli_dev": "fever"}
    meant = {SUPPORTED: "yes", UNSUPPORTED: "open", CONTRADICTED: "no"}
    by_text: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for pair in pairs:
        if pair.origin in kinds and pair.label in meant:
            by_text[kinds[pair.origin], pair.premise].append((meant[pair.label], pair.claim))
    for (kind, text), claims in by_text.items():
        if len(claims) > 1:
            yield Record("en", kind, text, random.sample(claims, len(claims)))


# --- the three files -------------------------------------------------------------------------------


def chosen_pairs(pairs: Sequence[Pair], random: Random) -> list[Pair]:
    """People's pairs, and some of what is made by rule."""

    def some(fits: Iterable[Pair], count: int) -> list[Pair]:
        found = list(fits)
        return random.sample(found, min(count, len(found)))

    made = ("made", "retold", "edited")
    people = ("mnli_dev_matched_mismatched", "fever_nli_dev", "fever_symmetric", "scitail_dev", "stsb", "clapnq")
    return [
        *(pair for pair in dict.fromkeys(pairs) if pair.origin in people),
        *some((pair for pair in pairs if pair.origin in ("cad_snli", "snli_dev")), CAPTIONS),
        *some((pair for pair in pairs if pair.origin.startswith(made)), MADE),
        *some((pair for pair in pairs if pair.origin.startswith("kind")), STATED),
        *some((pair for pair in pairs if pair.origin == "composed"), COMPOSED),
    ]


def make_lessons(pairs: Sequence[Pair], kept: bool) -> Iterator[Row]:
    random = Random(1)
    ordinary = Ordinary(1, kept, Kinds(1, kept, ["Anna", "Ben"]))
    strangers = [pair.premise for pair in pairs if pair.origin == "fever_nli_dev"]
    draws = 1 if kept else DRAWS
    yield from grouped(chosen_pairs(pairs, random), random)
    yield from grouped(ordinary.pairs(draws, strangers), random)
    for row in own_rows("questions", kept):
        yield from question_lessons(row, random)
    for row in own_rows("answers", kept):
        yield from answer_lessons(row, random)
    for row in own_rows("twins", kept):
        yield from twin_lessons(row, random)
    for row in own_rows("replies", kept):
        yield from reply_lessons(row, random)
    if kept:
        return
    records = [*ordinary_records(ordinary, random), *ordinary_records(ordinary, random)]
    for _ in range(DRAWS):
        records += map(question_record, own_rows("questions", kept))
        records += [answer_record(row, random) for row in own_rows("answers", kept)]
        records += [record for row in own_rows("twins", kept) for record in twin_records(row, random)]
    records += random.sample(list(pool_records(pairs, random)), 4_000)
    yield from ({"record": record.whole()} for record in records)


def wanted(passages: Sequence[Row], random: Random) -> Iterator[Row]:
    """Records to be written: on texts of the teacher's own, and on given ones."""
    kinds = sorted({row["k"] for row in own_rows("ordinary", kept=False)})

    def kind() -> str:
        drawn = random.random()
        shares = (("qa", ASKING), ("chat", ASKING + CHATTING), ("twin", ASKING + CHATTING + TWINS))
        return next((name for name, share in shares if drawn < share), random.choice(kinds))

    for lang, count in OWN_TEXTS.items():
        yield from ({"l": lang, "k": kind()} for _ in range(count))
    for row in random.sample(list(passages), min(GIVEN_TEXTS, len(passages))):
        public = row["l"] == "en" and random.random() < 0.12
        yield {"l": row["l"], "k": random.choice(("mnli", "fever")) if public else kind(), "p": row["p"]}


# --- what the teacher wrote ------------------------------------------------------------------------


def read_written(row: Row) -> Record | None:
    """The record in what the teacher said; None where it is none."""
    lines = row["said"].strip("\n").split("\n")
    text = row.get("p") or lines.pop(0).strip()
    record = read_record(row["l"], row["k"], text, lines)
    return record if len(text.split()) >= _FEWEST_WORDS and (record.claims or record.questions) else None


def asked(record: Record, number: int, random: Random) -> Iterator[Row]:
    """Everything that is asked about a record; each row has the record's number and the part of it that is read."""
    claims = dict.fromkeys(claim for _, claim in record.claims)
    for question in record.questions:
        claims |= dict.fromkeys(reply for _, reply in question.replies if _is_statement(reply))
    texts = list(dict.fromkeys(item.text for item in record.questions))
    every: Asks = [["claim", claim] for claim in claims] + [["question", text] for text in texts]
    yield {"record": number, "part": "text", "text": record.text, "asks": every}
    for sentence in sentences(record.text) if texts else ():
        yield {"record": number, "part": "sentence", "text": sentence, "asks": [["question", text] for text in texts]}
    for question in record.questions:
        others = [text for text in texts if text != question.text]
        for _, reply in question.replies:
            heard = [question.text, *random.sample(others, min(1, len(others)))]
            yield {"record": number, "part": "reply", "text": reply, "asks": [["question", text] for text in heard]}
        right = [reply for meant, reply in question.replies if meant == "right"]
        wrong = [reply for meant, reply in question.replies if meant == "wrong"]
        for reply in right:
            same: Asks = [["claim", other] for other in (*right, *wrong) if other != reply]
            if same:
                yield {"record": number, "part": "same", "text": f"{question.text} {reply}", "asks": same}


def main() -> None:
    from lexicon import read_lexicon
    from prepare_pairs import gather

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--passages", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    args = parser.parse_args()
    args.into.mkdir(parents=True, exist_ok=True)
    learned, kept = gather(args.data, read_lexicon(args.wordnet), 0, NLI_SETS)
    write_rows(args.into / "lessons.jsonl.gz", make_lessons(learned, kept=False))
    left_out = list(make_lessons(kept, kept=True))
    write_rows(args.into / "kept.jsonl.gz", Random(4).sample(left_out, min(KEPT_ROWS, len(left_out))))
    passages = [json.loads(line) for line in args.passages.read_text("utf-8").splitlines()]
    write_rows(args.into / "wanted.jsonl.gz", wanted(passages, Random(2)))


if __name__ == "__main__":
    main()
