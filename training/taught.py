"""Pairs from our own data (`lessons.py`) and from what the teacher wrote and labelled (`teacher.py`).

Besides claims, a text is asked two more things, and the form of what is asked tells them apart:

- a question, which ends in a question mark: supported means that the text answers it, contradicted that it answers a
  part of it;
- another text behind an equals sign: supported means that both say the same.

A reply may stand behind its question: then it is read as what it says there ("How old is it? Twelve years.").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

from lessons import answer_lessons, own_rows, question_lessons, reply_lessons, sentences, twin_lessons
from pairs import NOT_SUPPORTED, SUPPORTED, UNSUPPORTED, Pair, rows
from teacher_text import from_json, read_rows

_SURROUNDED = 0.35
_MEANT = {"yes": 0, "open": 1, "no": 2}
_TRUST = 0.1
"""How much the writer's own word counts beside what it says when asked."""
_ANSWERS, _MOST_JOINED, _FEWEST_CLAIMS, _FEWEST_WORDS = 3, 4, 3, 4
_GOOD, _SURE = 0.5, 0.8
"""Share of the joined answers that are made only of good claims, and how sure of their support the teacher must be."""
_MOST_ALIKE = 5.0
"""The top of the scale of STS-B."""

Row = dict[str, Any]
LESSONS = {"questions": question_lessons, "answers": answer_lessons, "twins": twin_lessons, "replies": reply_lessons}


def as_question(text: str) -> str:
    return text.rstrip(" .") + ("" if text.rstrip().endswith("?") else "?")


def as_same(text: str) -> str:
    return f"= {text}"


def said_to(question: str, reply: str) -> str:
    return f"{as_question(question)} {reply}"


def own_pairs(kept: bool, seed: int) -> Iterator[Pair]:
    """Of `questions.jsonl`, `answers.jsonl`, `twins.jsonl` and `replies.jsonl`."""
    random = Random(seed)
    for name, lessons in LESSONS.items():
        for row in own_rows(name, kept):
            for told in lessons(row, random):
                for kind, said, label in told["asks"]:
                    yield Pair(told["text"], _heard(kind, said), label, f"own: {name} {row['l']} {kind}")
    for row in own_rows("replies", kept):
        if row["k"] == "same":
            yield from _same(row["q"], row["s"], row["d"], f"own: replies {row['l']}")
    found = own_rows("questions", kept)
    for row in found:
        others = [other for other in found if other["l"] == row["l"] and other is not row]
        yield from _replies(row)
        yield from _strangers(row, random.choice(others), random)


def _replies(row: Row) -> Iterator[Pair]:
    """Replies behind their question, held against the text, and against each other: which of them say the same."""
    text, origin = " ".join(row["p"]), f"own: questions {row['l']}"
    for item in row["q"]:
        good, bad = item.get("y", ()), item.get("w", ())
        for replies, label in ((good, SUPPORTED), (bad, NOT_SUPPORTED)):
            yield from (Pair(text, said_to(item["t"], reply), label, f"{origin} reply") for reply in replies)
        yield from _same(item["t"], good, (*bad, *item.get("n", ())), origin)


def _same(question: str, good: Sequence[str], bad: Sequence[str], origin: str) -> Iterator[Pair]:
    """Each reply against the others, both ways round: which of two texts is the first must make no difference."""
    for reply in good:
        for others, label in ((good, SUPPORTED), (bad, NOT_SUPPORTED)):
            for other in others:
                if other != reply:
                    yield Pair(said_to(question, reply), as_same(other), label, f"{origin} same")
        for other in bad:
            yield Pair(said_to(question, other), as_same(reply), NOT_SUPPORTED, f"{origin} same")


def _strangers(row: Row, other: Row, random: Random) -> Iterator[Pair]:
    """Questions of one text asked of another, and of its sentences."""
    for item in other["q"]:
        text = " ".join(row["p"]) if random.random() < 0.5 else random.choice(row["p"])
        yield Pair(text, as_question(item["t"]), UNSUPPORTED, f"own: questions {row['l']} stranger")


def alike_pairs(folder: Path) -> Iterator[Pair]:
    """STS-B train and dev: how much two sentences say the same, by people."""
    for row in rows(folder / "rag" / "stsb" / "data.jsonl.gz"):
        if row["split"] != "test":
            share = row["score"] / _MOST_ALIKE
            for first, second in ((row["s1"], row["s2"]), (row["s2"], row["s1"])):
                yield Pair(first, as_same(second), 0, "alike", (share, 1 - share, 0.0))


def _heard(kind: str, said: str) -> str:
    return as_question(said) if kind == "question" else said


class Taught:
    """What the teacher wrote and labelled, with the texts of its records to put around others."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.records = [from_json(row) for row in read_rows(folder / "records.jsonl.gz")]
        self.rows = read_rows(folder / "labelled.jsonl.gz")
        self.random = Random(seed)
        self.by_language: dict[str, list[str]] = {}
        for record in self.records:
            self.by_language.setdefault(record.lang, []).append(record.text)

    def pairs(self) -> Iterator[Pair]:
        for row in self.rows:
            record, part = self.records[row["record"]], row["part"]
            meant = {claim: word for word, claim in record.claims} if part == "text" else {}
            text = self._surrounded(row["text"], record.lang) if part == "text" else row["text"]
            for (kind, said), shares in zip(row["asks"], row["shares"], strict=True):
                if shares is not None:
                    found = mixed(shares, meant.get(said) if kind == "claim" else None)
                    heard = as_same(said) if part == "same" else _heard(kind, said)
                    yield Pair(text, heard, 0, f"taught: {part} {kind} {record.lang}", found)
            if part == "text":
                yield from self._answers(text, row, record.lang)

    def _answers(self, text: str, row: Row, lang: str) -> Iterator[Pair]:
        """Claims joined to answers of some sentences: each is supported as far as the worst of them is."""
        asked = zip(row["asks"], row["shares"], strict=True)
        claims = [(said, shares) for (kind, said), shares in asked if kind == "claim" and shares is not None]
        claims = [(said, shares) for said, shares in claims if len(said.split()) >= _FEWEST_WORDS]
        for _ in range(_ANSWERS if len(claims) >= _FEWEST_CLAIMS else 0):
            joined = self.random.sample(claims, self.random.randint(2, min(_MOST_JOINED, len(claims))))
            if self.random.random() < _GOOD:  # or hardly any would be faithful
                good = [claim for claim in claims if claim[1][0] > _SURE]
                joined = self.random.sample(good, min(len(good), len(joined)))
            if len(joined) > 1:
                worst = min((shares for _, shares in joined), key=lambda shares: shares[0])
                said = " ".join(claim if claim.endswith((".", "!", "?")) else f"{claim}." for claim, _ in joined)
                yield Pair(text, said, 0, f"taught: answer {lang}", (worst[0], worst[1], worst[2]))

    def _surrounded(self, text: str, lang: str) -> str:
        """Alone, or with some sentences of another text before or behind it."""
        if self.random.random() > _SURROUNDED:
            return text
        other = sentences(self.random.choice(self.by_language[lang]))[: self.random.choice((1, 2, 3, 4))]
        parts = [text, " ".join(other)]
        self.random.shuffle(parts)
        return " ".join(parts)


def mixed(shares: Sequence[float], meant: str | None) -> tuple[float, float, float]:
    """What the teacher says of its claim when asked, a little nearer to what it meant by it."""
    found = list(shares)
    if meant is not None:
        found = [share * (1 - _TRUST) for share in found]
        found[_MEANT[meant]] += _TRUST
    return found[0], found[1], found[2]
