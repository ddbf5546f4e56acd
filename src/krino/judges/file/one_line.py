"""A judge from one sentence: `Is {text} polite? polite=1 rude=0`, or `Which is better, {one} or {other}?`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import cast

import orjson

from krino.contract.judge_checks import make_judge
from krino.errors import UsageProblem
from krino.judges.file.definition import TIE
from krino.judges.file.judge import TEXT_ADDRESS, FileJudge, class_of_text
from krino.judges.file.placeholders import find_placeholders
from krino.text.clean import clean, sound

LONGEST = 4_000
_LABEL = re.compile(r"[ \t\n,;]*(?<!\S)([^\s=,;{}]{1,60})=(-?[0-9]{1,9}(?:\.[0-9]{1,9})?)[,;]?\s*$")
_MOST_LABELS = 20
_WORD = re.compile(r"[A-Za-z0-9]+")
_WHICH = re.compile(r"\W*which\b", re.IGNORECASE)
_BETWEEN = re.compile(r"\s*(?:,|or|and|versus|vs\.?|/|,\s*or)\s*", re.IGNORECASE)
_YES_OR_NO = {"yes": 1.0, "no": 0.0}
_EXAMPLE = "Is {text} polite? polite=1 rude=0"


def class_of_rubric(
    rubric: str, labels: Mapping[str, float | None] | Iterable[str] | None = None, name: str | None = None
) -> type[FileJudge]:
    """Returns the judge of a sentence.

    The labels end it, or are given apart; a question without labels is answered yes or no. It is the judge of the
    file that `write_file` writes.
    """
    rubric = clean(sound(rubric))
    text = write_file(rubric, labels)
    question, _ = split_labels(rubric) if labels is None else (rubric.strip(), {})
    called = name or _name(question)
    sentence = rubric if labels is None else _as_sentence(question, _as_mapping(labels))
    is_same = name is None and sentence is not None and write_file(sentence) == text
    return class_of_text(text, called, f"rubric:{sentence}" if is_same else f"{TEXT_ADDRESS}{called}\n{text}")


def rubric(
    question: str, labels: Mapping[str, float | None] | Iterable[str] | None = None, *, name: str | None = None
) -> FileJudge:
    """Returns a judge of one question about the fields that it names.

    `rubric("Is {text} polite?", {"polite": 1, "rude": 0})`; `labels` are the values that there are and the score of
    each, and without them the answer is yes (1) or no (0).
    """
    made = make_judge(class_of_rubric(question, labels, name), None, None, lambda name, kind: None)
    return cast(FileJudge, made)


def write_file(rubric: str, labels: Mapping[str, float | None] | Iterable[str] | None = None) -> str:
    """Returns the text of the judge's file that says the same as the sentence.

    Refuses a sentence that names no field.
    """
    if len(rubric) > LONGEST:
        raise UsageProblem(f"--rubric: {len(rubric):,} characters; write a file of it (krino new NAME)")
    question, found = split_labels(rubric) if labels is None else (rubric.strip(), _as_mapping(labels))
    if not any(item.kind == "input" for item in find_placeholders(question)):
        raise UsageProblem(
            f"--rubric {rubric[:80]!r}: it names no field of the cases; write it as {_EXAMPLE!r}, `text` being a field"
        )
    if pair := _find_compared(question, found):
        return f"---\ncompare: [{', '.join(pair)}]\n---\n{question}\n"
    if not found and not question.endswith("?"):
        raise UsageProblem(f"--rubric {rubric[:80]!r}: end it with the labels and what they are worth: {_EXAMPLE!r}")
    values = orjson.dumps(found or _YES_OR_NO).decode()
    return f"---\nlabels: {values}\n---\n{question}\n"


def _find_compared(question: str, labels: Mapping[str, float | None]) -> tuple[str, ...]:
    """Returns the two fields of which the better one is asked for, that which is worth 1 first; else nothing.

    Asked once, which of two is better, a model may go by their order; a comparison asks in both orders.
    """
    places = [item for item in find_placeholders(question) if item.kind == "input"]
    named = {place.name for place in places}
    words = {word: value for word, value in labels.items() if word != TIE}
    if labels and len(words) == 2 and words.keys() <= named:
        if set(words.values()) not in ({0.0, 1.0}, {None}) or labels.get(TIE, 0.5) not in (0.5, None):
            raise UsageProblem(
                f"--rubric: `{'` and `'.join(words)}` are two fields, and the better one is asked for: it is worth 1, "
                "the other 0 and a tie 0.5"
            )
        return tuple(sorted(words, key=lambda word: -(words[word] or 0.0)))
    if labels or not _WHICH.match(question):
        return ()
    pairs = [
        (one.name, other.name)
        for one, other in pairwise(places)
        if one.name != other.name and _BETWEEN.fullmatch(question[one.end : other.start])
    ]
    return pairs[-1] if pairs else ()


def split_labels(rubric: str) -> tuple[str, dict[str, float | None]]:
    """Returns the sentence without the labels that end it, and those with their scores."""
    question = rubric.strip()
    found: list[tuple[str, float]] = []
    while len(found) < _MOST_LABELS and (match := _LABEL.search(question[-120:])) is not None:
        found.append((match.group(1), float(match.group(2))))
        question = question[: len(question) - len(question[-120:]) + match.start()]
    if len({name for name, _ in found}) < len(found):
        raise UsageProblem(f"--rubric {rubric[-80:]!r}: a label is given twice")
    return question.strip(), dict(reversed(found))


def _as_mapping(labels: Mapping[str, float | None] | Iterable[str]) -> dict[str, float | None]:
    """Returns labels with their scores, or without scores if only words were given; refuses a text."""
    if isinstance(labels, Mapping):
        return {sound(str(name)): None if value is None else float(value) for name, value in labels.items()}
    if isinstance(labels, str):
        raise UsageProblem(f"labels must be a mapping of words to scores, not the text {labels!r:.60}")
    return dict.fromkeys(sound(str(name)) for name in labels)


def _as_sentence(question: str, labels: Mapping[str, float | None]) -> str | None:
    """The sentence with labels that were given apart; None where a sentence cannot say them."""
    if any(value is None for value in labels.values()):
        return None
    return " ".join([question, *(f"{name}={value:g}" for name, value in labels.items())])


def _name(question: str) -> str:
    words = [word.lower() for word in _WORD.findall(question)]
    return "-".join(words)[:40].strip("-") or "rubric"
