"""Gathers and makes the pairs that the entailment model learns from and those kept out, as token numbers in one file.

    python training/prepare_pairs.py DATA --wordnet DICT --taught FOLDER --into pairs.npz

DATA holds `nli/` and `rag/` (see `pairs.py`), DICT the files of WordNet (see `lexicon.py`), FOLDER what the teacher
wrote and labelled (see `taught.py`; there may be several). The public sources are parted first, so nothing that a
rule makes from a sentence kept out can reach training. Each text is stored once, however many claims it has.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from kinds import Kinds
from lexicon import Lexicon, read_lexicon
from ordinary import Ordinary
from pairs import NLI_SETS, Pair, answer_pairs, documents, elsewhere, inference_pairs, similar_pairs
from split import part_sources
from synthesis import Maker
from taught import Taught, alike_pairs, own_pairs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src" / "krino" / "models"))
from wordpiece import WordPiece  # noqa: E402  (the package's own tokenizer, without the package)

PREMISE_TOKENS, CLAIM_TOKENS = 320, 96
COMPOSED = ("fever_nli_dev", "mnli_dev_matched_mismatched", "scitail_dev", "fever_symmetric")
"""Sets of statements about the world; captions of pictures would say each other's opposite."""
ROUNDS = 7
"""How often a group of `ordinary.jsonl` is drawn for training, with other values and surroundings; kept out: twice."""
STATEMENTS = 40_000
"""Statements of known truth (`kinds.py`) for training; two pairs each. Kept out: a tenth."""

Sides = tuple[list[Pair], list[Pair]]


def gather(folder: Path, words: Lexicon, seed: int, sets: tuple[str, ...]) -> Sides:
    """The pairs to learn from and those kept out."""
    sources: list[Pair | str] = [*inference_pairs(folder, sets), *similar_pairs(folder), *answer_pairs(folder)]
    learned, kept = part_sources([*sources, *documents(folder)], _texts)
    return make(learned, words, seed, kept=False), make(kept, words, seed, kept=True)


def _texts(source: Pair | str) -> tuple[str, ...]:
    return (source,) if isinstance(source, str) else (source.premise, source.claim)


def make(sources: Sequence[Pair | str], words: Lexicon, seed: int, kept: bool) -> list[Pair]:
    """From one side's sources: pairs that people labelled, some in longer surroundings, and pairs made by rule."""
    pairs = [source for source in sources if isinstance(source, Pair)]
    people = [pair for pair in pairs if pair.origin != "clapnq"]
    answers = [pair for pair in pairs if pair.origin == "clapnq"]
    answers += elsewhere(answers)
    maker = Maker([source for source in sources if isinstance(source, str)], seed)
    strangers = [sentence for document in maker.documents for sentence in document]
    kinds = Kinds(seed, kept, maker.names)
    made = [*maker.pairs(most_a_document=6), *maker.retold(words, kinds)]
    made += kinds.pairs(STATEMENTS // 10 if kept else STATEMENTS, strangers)
    made += Ordinary(seed, kept, kinds).pairs(2 if kept else ROUNDS, strangers)
    again = [*maker.surrounded(people, 0.5), *maker.edited(people + answers, 0.5)]
    again += maker.composed([pair for pair in people if pair.origin in COMPOSED], len(people) * 2 // 3)
    return [*people, *answers * (1 if kept else 3), *made, *again]


_pieces: WordPiece | None = None


def encode(text: str) -> list[int]:
    global _pieces
    if _pieces is None:
        _pieces = WordPiece(ROOT / "src" / "krino" / "models" / "minilm" / "vocab.txt")
    return _pieces.encode(text, PREMISE_TOKENS)


Arrays = dict[str, np.ndarray]


def encoded(texts: Sequence[str], name: str, most: int) -> Arrays:
    """Token numbers one after the other, and how many each text has."""
    with Pool() as pool:
        found = [ids if len(ids) <= most else [*ids[: most - 1], ids[-1]] for ids in pool.map(encode, texts, 2_000)]
    return {
        f"{name}_ids": np.array([number for ids in found for number in ids], np.uint16),
        f"{name}_lengths": np.array([len(ids) for ids in found], np.uint16),
    }


def packed(learned: Sequence[Pair], kept: Sequence[Pair]) -> Arrays:
    """The texts, the claims, and for each side which belong together, with label, teacher's shares and origin."""
    texts = {text: place for place, text in enumerate(dict.fromkeys(pair.premise for pair in (*learned, *kept)))}
    claims = {text: place for place, text in enumerate(dict.fromkeys(pair.claim for pair in (*learned, *kept)))}
    origins = sorted({pair.origin for pair in (*learned, *kept)})
    number = {origin: place for place, origin in enumerate(origins)}
    found = encoded(list(texts), "texts", PREMISE_TOKENS) | encoded(list(claims), "claims", CLAIM_TOKENS)
    found["origins"] = np.array(origins)
    for side, pairs in (("learned", learned), ("kept", kept)):
        found[f"{side}_text"] = np.array([texts[pair.premise] for pair in pairs], np.uint32)
        found[f"{side}_claim"] = np.array([claims[pair.claim] for pair in pairs], np.uint32)
        found[f"{side}_labels"] = np.array([pair.label for pair in pairs], np.uint8)
        shares = [[round(255 * share) for share in pair.shares or (0, 0, 0)] for pair in pairs]
        found[f"{side}_shares"] = np.array(shares, np.uint8)
        found[f"{side}_origin"] = np.array([number[pair.origin] for pair in pairs], np.uint16)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--taught", type=Path, nargs="*", default=(), help="what the teacher wrote and labelled")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn while pairs are made; the split has none")
    parser.add_argument("--sets", nargs="+", default=list(NLI_SETS))
    args = parser.parse_args()
    learned, kept = gather(args.data, read_lexicon(args.wordnet), args.seed, tuple(args.sets))
    learned, kept = [*learned, *own_pairs(False, args.seed)], [*kept, *own_pairs(True, args.seed)]
    learned += alike_pairs(args.data)
    for written in args.taught:
        learned += Taught(written, args.seed).pairs()
    for name, side in (("learned", learned), ("kept", kept)):
        print(f"{name}: {len(side)} pairs;", dict(sorted(Counter(pair.origin for pair in side).items())), flush=True)
    np.savez_compressed(args.into, **packed(learned, kept))


if __name__ == "__main__":
    main()
