"""How the teacher is written to and read: what it is asked about a text, and the records that it writes itself.

A record is a header with language and kind, a text on one line, and lines about it:

    [en cond]
    Dogs are welcome on the terrace but not inside.
    yes You may bring your dog if you sit outside.
    no Dogs may go in.
    open Cats are welcome too.
    ask yes Where can I sit with my dog?
    right On the terrace.
    wrong Inside.
    off Dogs are loyal.

`yes`, `no` and `open` begin claims that the text supports, speaks against and leaves open; `ask yes`, `ask no` and
`ask half` begin questions that it answers, does not answer, and answers in part. The lines behind a question are
replies to it: `right` and `wrong` ones, ones that answer something else (`off`) and ones that answer a part (`half`).
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Kind = Literal["claim", "question"]
Rows = list[dict[str, Any]]

VERDICTS = (" yes", " open", " no")
"""In the order of the classes: supported, unsupported, contradicted. Of a question: answered, not answered, in part."""
CLAIMS = ("yes", "no", "open")
QUESTIONS = ("ask yes", "ask no", "ask half")
REPLIES = ("right", "wrong", "off", "half")
_LINE = re.compile(rf"({'|'.join((*QUESTIONS, *CLAIMS, *REPLIES))}) (\S.*)")
_SPACES = re.compile(r"\s+")


def read_rows(path: Path) -> Rows:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=6) as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def on_one_line(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


def header(lang: str, kind: str) -> str:
    return f"[{lang} {kind}]\n"


def question_about(kind: Kind, text: str) -> str:
    """What stands behind a text when it is asked about a claim or a question."""
    return f"\n{kind.capitalize()}: {on_one_line(text)}\nVerdict:"


@dataclass(slots=True)
class Question:
    """A question with what the writer meant by it, and replies by their kind."""

    text: str
    meant: str
    replies: list[tuple[str, str]] = field(default_factory=list)


@dataclass(slots=True)
class Record:
    """A text with claims and questions, as the teacher writes them."""

    lang: str
    kind: str
    text: str
    claims: list[tuple[str, str]] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)

    def lines(self) -> Iterable[str]:
        """The record as it is written, without its header and text."""
        yield from (f"{meant} {on_one_line(claim)}" for meant, claim in self.claims)
        for question in self.questions:
            yield f"{question.meant} {on_one_line(question.text)}"
            yield from (f"{meant} {on_one_line(reply)}" for meant, reply in question.replies)

    def whole(self) -> str:
        return header(self.lang, self.kind) + on_one_line(self.text) + "\n" + "\n".join(self.lines()) + "\n"


def read_record(lang: str, kind: str, text: str, lines: Iterable[str]) -> Record:
    """What the teacher wrote; a line that begins with none of the words is left out."""
    record = Record(lang, kind, text)
    for line in lines:
        found = _LINE.fullmatch(line.strip())
        if found is None:
            continue
        word, said = found.groups()
        if word in CLAIMS:
            record.claims.append((word, said))
        elif word in QUESTIONS:
            record.questions.append(Question(said, word))
        elif record.questions:
            record.questions[-1].replies.append((word, said))
    return record


def as_json(record: Record) -> dict[str, Any]:
    return {
        "l": record.lang,
        "k": record.kind,
        "p": record.text,
        "claims": record.claims,
        "questions": [[item.text, item.meant, item.replies] for item in record.questions],
    }


def from_json(row: dict[str, Any]) -> Record:
    questions = [Question(text, meant, [(a, b) for a, b in replies]) for text, meant, replies in row["questions"]]
    return Record(row["l"], row["k"], row["p"], [(meant, claim) for meant, claim in row["claims"]], questions)
