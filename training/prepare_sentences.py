"""Gathers the texts that the sentence model is distilled on, as token numbers in one file.

    python training/prepare_sentences.py DATA --wordnet DICT [--texts FOLDER] --into sentences.npz

DATA holds `nli/` and `rag/` (see `pairs.py`), DICT the files of WordNet, FOLDER plain text with a paragraph a line.
Sentences stay in the order of their source, so that neighbours can be joined to passages. What the model is measured
on (STS-B test, EVOUNA, SAS, CLAP NQ) is never read here but to be left out.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path

import numpy as np
from pairs import NLI_SETS, rows

from krino.models.wordpiece import WordPiece

ROOT = Path(__file__).resolve().parents[1]

MOST_TOKENS = 128
_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+(?=[A-Z\"'(\d])")
_NAME = re.compile(r"\b[A-Z][\w'.-]+(?: (?:of |the |de |and )?[A-Z][\w'.-]+){0,4}|\b\d[\d,.]*(?: [a-z]+)?")
_WORD = re.compile(r"[a-z0-9]+")


def key(text: str) -> str:
    """What two texts share that differ in case and signs alone."""
    return " ".join(_WORD.findall(text.lower()))


def measured(folder: Path) -> set[str]:
    """The texts that the model is measured on."""
    texts: list[str] = []
    for row in rows(folder / "rag" / "stsb" / "data.jsonl.gz"):
        texts += [row["s1"], row["s2"]] if row["split"] == "test" else []
    for row in rows(folder / "rag" / "evouna" / "sample_600q.jsonl.gz"):
        texts += [row["question"], row["answer"] or "", *row["reference"].split("/")]
    for row in rows(folder / "rag" / "sas_answer_similarity" / "data.jsonl.gz"):
        texts += [row["answer1"], row["answer2"]]
    for row in rows(folder / "rag" / "clapnq_dev" / "data.jsonl.gz"):
        texts += [row["question"], row["context"]]
    return {key(part) for text in texts for part in [text, *_END.split(text)]}


def paragraphs(folder: Path, wordnet: Path, texts: Path | None) -> Iterator[str]:
    """Everything that may be learned from, a paragraph or a phrase at a time."""
    for name in (*NLI_SETS, "qnli_dev"):
        for row in rows(folder / "nli" / f"{name}.jsonl.gz"):
            yield row["premise"]
            yield row["hypothesis"]
    for row in rows(folder / "rag" / "stsb" / "data.jsonl.gz"):
        if row["split"] != "test":
            yield row["s1"]
            yield row["s2"]
    for row in rows(folder / "rag" / "ragchecker_meta" / "data.jsonl.gz"):
        yield from (row["query"], row["gt_answer"], row["model1"]["response"], row["model2"]["response"])
    for path in sorted(texts.glob("*.txt")) if texts else ():
        yield from path.read_text("utf-8").split("\n")
    yield from glosses(wordnet)


def glosses(folder: Path) -> Iterator[str]:
    """WordNet's words, what it says of them, and its examples."""
    for part in ("noun", "verb", "adj", "adv"):
        for line in (folder / f"data.{part}").read_text("utf-8").split("\n"):
            if " | " in line and not line.startswith("  "):
                fields, told = line.split(" | ", 1)
                columns = fields.split()
                words = columns[4 : 4 + 2 * int(columns[3], 16) : 2]
                yield from (re.sub(r"\(\w+\)$", "", word).replace("_", " ") for word in words)
                yield from (piece.strip(' "') for piece in told.split("; "))


def pieces(text: str) -> list[str]:
    """The sentences of a text, and the names and figures in it, which is what short answers are made of."""
    return [*_END.split(text), *(_NAME.findall(text) if len(text.split()) > 3 else ())]


def distinct(found: Iterator[str], barred: set[str]) -> list[str]:
    seen = set(barred) | {""}
    kept = []
    for text in found:
        for piece in pieces(text):
            if (known := key(piece)) not in seen:
                seen.add(known)
                kept.append(piece)
    return kept


_tokenizer = WordPiece(ROOT / "src" / "krino" / "models" / "minilm" / "vocab.txt")


def encode(text: str) -> list[int]:
    """The numbers without the marks for start and end, which come with the batch."""
    return _tokenizer.encode(text, MOST_TOKENS)[1:-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--wordnet", type=Path, required=True)
    parser.add_argument("--texts", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    args = parser.parse_args()
    texts = distinct(paragraphs(args.folder, args.wordnet, args.texts), measured(args.folder))
    print(f"{len(texts)} texts", flush=True)
    with Pool(2) as pool:
        encoded = [ids for ids in pool.imap(encode, texts, chunksize=2_000) if ids]
    lengths = np.array([len(ids) for ids in encoded], np.uint8)
    flat = np.array([number for ids in encoded for number in ids], np.uint16)
    np.savez_compressed(args.into, ids=flat, lengths=lengths)
    print(f"{len(lengths)} texts of {len(flat) / 1e6:.1f} million tokens in {args.into}")


if __name__ == "__main__":
    main()
