"""Reads logs with a label for every sentence, and makes of them what the two-headed model learns.

Two forms are read: a log a line, as in `real/train`, and sets (`training/logs/*.jsonl.gz`): passages once, with several
logs that use some of them and twins, each a log with one piece rewritten.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROLES = (
    "claim",
    "refusal",
    "lead_in",
    "heading",
    "courtesy",
    "offer",
    "pointer",
    "hedge",
    "about_passages",
    "question",
)
LABELS = ("supported", "unsupported", "contradicted")
KEPT_OUT = ("fin", "italian")
HALF_KEPT_OUT = "mix"
_WINDOW_WORDS = 170
_SHOWN_WORDS, _SHOWN_SENTENCES = 120, 5
"""The evidence that the judge shows for a claim: so many words and sentences at most, of all passages."""
_STEM = 5
_SENTENCE = re.compile(r"(?<=[.!?;:])\s+|\s*\n\s*")
_WORD = re.compile(r"\w+")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of an answer, with the Markdown right before it; `passage` counts from 0."""

    markup: str
    text: str
    role: str
    label: str | None
    passage: int | None
    span: str | None


@dataclass(frozen=True, slots=True)
class Log:
    """A question, passages, and the answer in pieces. Of a twin only the piece `rewritten` is new."""

    name: str
    author: str
    language: str
    question: str
    passages: tuple[str, ...]
    pieces: tuple[Piece, ...]
    parts: tuple[tuple[str, bool], ...]
    reference: str | None
    similarity: float | None
    rewritten: int | None = None

    @property
    def answer(self) -> str:
        return " ".join(piece.text for piece in self.pieces)

    @property
    def useful(self) -> frozenset[int]:
        return frozenset(piece.passage for piece in self.pieces if piece.passage is not None)


def read_rows(path: Path) -> list[Row]:
    """JSON lines, compressed or not."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def read_logs(path: Path) -> list[Log]:
    """The logs of a file in either form; its name without the ending is the author."""
    author, rows = path.name.split(".")[0], read_rows(path)
    return [log for row in rows for log in (_of_set(row, author) if "set" in row else (_plain(row, author),))]


def plain_logs(path: Path) -> list[Row]:
    """The logs of a file of sets without their twins, in the form of `real/train`."""
    author, found = path.name.split(".")[0], list[Row]()
    for row in read_rows(path):
        for log in row["logs"]:
            sentences = [{"text": text, "role": role, "label": label} for _, text, role, label, *_ in log["answer"]]
            found.append(
                {
                    "id": f"{row['set']}-{log['id']}",
                    "author": author,
                    "language": row["language"],
                    "question": log["question"],
                    "context": [row["passages"][place - 1] for place in log["use"]],
                    "answer": "".join(before + text for before, text, *_ in log["answer"]),
                    "reference": log.get("reference"),
                    "similarity": log.get("similarity"),
                    "sentences": sentences,
                    "parts": [{"part": part, "answered": answered} for part, answered in log["parts"]],
                    "refusal": {"kind": log["refusal"][0]},
                }
            )
    return found


def is_kept_out(author: str, name: str) -> bool:
    """Whether a log is only measured on: those of one author, and every second one of another who writes in other
    languages."""
    number = int("".join(filter(str.isdigit, name.split("-")[1])) or 0)
    return author in KEPT_OUT or (author == HALF_KEPT_OUT and number % 2 == 1)


def _plain(row: Row, author: str) -> Log:
    pieces, at = [], 0
    for said in row["sentences"]:
        start = row["answer"].index(said["text"], at)
        passage = None if said["passage"] is None else said["passage"] - 1
        pieces.append(
            Piece(_markup(row["answer"][at:start]), said["text"], said["role"], said["label"], passage, said["span"])
        )
        at = start + len(said["text"])
    parts = tuple((part["part"], bool(part["answered"])) for part in row["parts"])
    return Log(
        row["id"],
        author,
        row["language"],
        row["question"],
        tuple(row["context"]),
        tuple(pieces),
        parts,
        row.get("reference"),
        row.get("similarity"),
    )


def _of_set(row: Row, author: str) -> Iterator[Log]:
    logs = {log["id"]: log for log in row["logs"]}
    for log in row["logs"]:
        yield _in_set(row, author, log, log["answer"], None)
    for twin in row["twins"]:
        log = logs[twin["of"]]
        answer = [list(piece) for piece in log["answer"]]
        old = answer[twin["piece"]]
        answer[twin["piece"]] = [
            old[0],
            twin["text"],
            twin.get("role", old[2]),
            twin["label"],
            twin.get("passage"),
            twin.get("span"),
        ]
        yield _in_set(row, author, log | {"similarity": twin.get("similarity")}, answer, twin["piece"])


def _in_set(row: Row, author: str, log: Row, answer: Sequence[Sequence[Any]], rewritten: int | None) -> Log:
    used = log["use"]
    pieces = tuple(
        Piece(_markup(before), text, role, label, used.index(place) if place in used else None, span)
        for before, text, role, label, place, span, *_ in answer
    )
    parts = tuple((str(part), bool(answered)) for part, answered in log["parts"])
    name = f"{row['set']}-{log['id']}"
    shown = tuple(row["passages"][place - 1] for place in used)
    kind = row["language"], log["question"], shown, pieces, parts, log.get("reference"), log.get("similarity")
    return Log(name, author, *kind, rewritten)


def _markup(between: str) -> str:
    """What stands on the sentence's own line before it: "- ", "## ", "**"."""
    return between.rsplit("\n", 1)[-1].lstrip()


def sentences_of(text: str) -> list[str]:
    return [part for part in _SENTENCE.split(text) if part and part.strip()]


def windows_of(passage: str) -> list[str]:
    """The passage where it is short, else overlapping windows of whole sentences."""
    if len(passage.split()) <= _WINDOW_WORDS:
        return [passage]
    parts, found, start = sentences_of(passage), list[str](), 0
    while start < len(parts):
        end, words = start, 0
        while end < len(parts) and (end == start or words + len(parts[end].split()) <= _WINDOW_WORDS):
            words += len(parts[end].split())
            end += 1
        found.append(" ".join(parts[start:end]))
        if end == len(parts):
            break
        start = max(start + 1, (start + end + 1) // 2)
    return found


def stems(text: str) -> set[str]:
    return {word[:_STEM] for word in _WORD.findall(text.lower()) if len(word) > 2 or word.isdecimal()}


def shown_for(claim: str, passages: Sequence[str]) -> str:
    """The sentences of all passages that share most words with a claim, in their order."""
    parts = [part for passage in passages for part in sentences_of(passage)]
    known = [stems(part) for part in parts]
    often = {stem: sum(stem in one for one in known) for stem in stems(claim)}
    worth = [sum(1 / often[stem] for stem in one if stem in often) for one in known]
    chosen, words = list[int](), 0
    for place in sorted(range(len(parts)), key=lambda place: -worth[place]):
        length = len(parts[place].split())
        if worth[place] and words + length <= _SHOWN_WORDS and len(chosen) < _SHOWN_SENTENCES:
            chosen.append(place)
            words += length
    return " ".join(parts[place] for place in sorted(chosen))


def holds(text: str, span: str) -> bool:
    """Whether nearly all words of a span are in a text."""
    wanted = stems(span)
    return len(wanted & stems(text)) >= 0.8 * len(wanted)


def introduced(log: Log, place: int) -> str:
    """A list item behind its lead-in or heading; any other piece as it stands."""
    piece = log.pieces[place]
    for before in reversed(log.pieces[:place]):
        if before.role in ("lead_in", "heading"):
            return f"{before.text.rstrip(' .')} {piece.text}" if before.text.rstrip().endswith(":") else piece.text
        if not piece.markup or before.markup[:1] != piece.markup[:1]:
            break
    return piece.text
