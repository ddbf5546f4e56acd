"""Reads and compares single values of a record: JSON in prose, empty texts, percentages, lists as text."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

import orjson

from krino.contract.record_fields import comparable, is_nothing
from krino.judges.citation import table
from krino.judges.citation.belgium.case_numbers import compare, is_absent
from krino.judges.citation.belgium.courts import Unknown, identity, resolve_court
from krino.judges.citation.belgium.dates import parse_date
from krino.judges.citation.belgium.ecli import ECLI_IN_TEXT, key_of

Fields = dict[str, Any]

ID_NAMES = ("decision_id", "ecli", "id")
_LONGEST_ABSENT = 60
_LONGEST_JSON = 2_000_000
_LONGEST_SHOWN = 80
DIGIT = re.compile("[0-9]")
_WORD = re.compile(r"[^\W_]+")
_FENCE = re.compile(r"\s*+```[a-z]*+(.*)```\s*", re.DOTALL)
_DECODER = json.JSONDecoder()
_LONGEST_LIST = 500_000
_ENTRY = re.compile(
    r"^[ \t]*(?:[-*•]|\(?\d{1,3}[.):]|#{1,4}"
    r"|\**(?:candidate|candidat|kandidaat|decision|décision|beslissing)\s*#?\d+\**\s*[:.)-]?)\s*",
    re.IGNORECASE | re.MULTILINE,
)
_PIECE_END = re.compile(r"(?:\n|\||;|\s[-–—]\s|,(?=\s*[\w_ ]{2,20}:))\s*")
_LABEL = re.compile(r"\**+\s*+([^\W\d][\w .°_-]{1,30}?)\s*+\**+\s*+[:=]\s*+\**+\s*+(.*)", re.DOTALL)


def parse_json(value: Any, name: str) -> Any:
    """Parses JSON text, also behind a greeting; None if it is absent, and other values unchanged.

    Refuses JSON in prose that says something of its own, because it may retract the JSON: "I will not match.
    Example: ...".
    """
    if not isinstance(value, str):
        return value
    if is_absent(value):
        return None
    if len(value) > _LONGEST_JSON:
        raise ValueError(f"{name} is a text of {len(value):,} characters; {_LONGEST_JSON:,} are read")
    fenced = _FENCE.fullmatch(value)
    try:
        return orjson.loads(fenced.group(1) if fenced else value)
    except orjson.JSONDecodeError as error:
        found = list(_find_json(value))
        if len(found) == 1 and (said := _find_statement(value, *found[0][1:])) is None:
            return found[0][0]
        if len(found) == 1:
            raise ValueError(
                f"{name} holds JSON mixed with text ({said!r}), which may say something else: give the JSON alone"
            ) from None
        amid = "" if not found else f", and holds {len(found)} JSON values mixed with text"
        raise ValueError(f"{name} is text but not JSON{amid}: {error}") from None


def _find_statement(text: str, start: int, end: int) -> str | None:
    """Returns the words around a JSON value, shortened; None if all of them are polite phrases."""
    around = f"{text[:start]} {text[end:]}"
    if all(word in _courtesy_words() for word in _WORD.findall(around.casefold())):
        return None
    return " ".join(around.split())[:_LONGEST_SHOWN]


@cache
def _courtesy_words() -> frozenset[str]:
    return frozenset(table("record_names")["output"]["courtesy"])


def _find_json(text: str) -> Iterator[tuple[Any, int, int]]:
    """Yields every outermost JSON object, or list of objects, in a text, with its offsets."""
    at, tries = 0, 0
    while (at := min((place for place in (text.find("{", at), text.find("[", at)) if place >= 0), default=-1)) >= 0:
        tries += 1
        if tries > 1_000:
            return
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if isinstance(value, dict) or (value and isinstance(value[0], dict)):
            yield value, at, end
        at = end


def items(value: Any, name: str) -> list[Any]:
    """Returns the entries of a list that may be JSON text or a single object; nulls are dropped."""
    value = parse_json(value, name)
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} is not a list")  # noqa: TRY004 (pydantic reports ValueErrors only)
    return [item for item in value if item is not None]


def clean_texts(fields: Fields, names: frozenset[str]) -> Fields:
    """Replaces named texts that mean "absent" by None, in place; returns the same fields."""
    for name, value in fields.items():
        if value is not None and name in names:
            fields[name] = plain_text(value)
    return fields


def first_text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Returns the first of the named fields that is a text and not blank, or None."""
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name].strip()), None)


def choose_id(fields: Fields) -> None:
    """Fills a missing `decision_id` with another identifier, preferably the ECLI."""
    fields.update({name: undo_float(fields[name]) for name in ID_NAMES if name in fields})
    if fields.get("decision_id") is None:
        fields["decision_id"] = next((fields[name] for name in ID_NAMES if fields.get(name) is not None), None)


def undo_float(value: Any) -> Any:
    """Turns 101.0 into 101: a column of ids with gaps is read as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plain_text(value: Any) -> Any:
    """Returns a field's value, or None if it says in any way that there is none."""
    if isinstance(value, str):
        return None if _is_empty(value) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _is_empty(text: str) -> bool:
    """Is a text empty, or a word for "absent"?"""
    if len(text) > _LONGEST_ABSENT:
        return not text.strip()
    # No word for "absent" holds a digit; texts without digits (names of courts) recur, so they are cached.
    return DIGIT.search(text) is None and _is_absent_word(text)


@lru_cache(maxsize=4_096)
def _is_absent_word(text: str) -> bool:
    return is_absent(text)


def texts(value: Any) -> list[str]:
    """Returns the texts of a list, a string, or objects with one text or one for each language, without empty ones."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = [value]
    if value is None or isinstance(value, str | Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        return []
    texts = [text for item in value for text in (_find_texts(item) if isinstance(item, Mapping) else [item])]
    return [text for text in texts if isinstance(text, str) and not _is_empty(text)]


def _find_texts(item: Mapping[str, Any]) -> list[Any]:
    names = table("record_names")["text"]
    return list(dict.fromkeys(item[name] for name in names["names"] if isinstance(item.get(name), str)))


def parse_number(value: Any) -> float | None:
    """Returns a finite number, also written as text; None for anything else."""
    return parse_amount(value, 1.0)


def parse_amount(value: Any, per_cent: float) -> float | None:
    """Returns a finite number, or None for anything else; one with a percent sign is divided by `per_cent`."""
    divisor = 1.0
    if isinstance(value, str):
        text = value.strip()
        divisor = per_cent if text.endswith("%") else 1.0
        try:
            value = float(text.rstrip("% ").replace(",", "."))
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value) / divisor


# --- candidates as text -----------------------------------------------------------------------------


def parse_candidate_list(text: str) -> list[dict[str, Any]]:
    """Parses candidates written as text; raises `ValueError` if entries cannot be separated or name no decision."""
    if len(text) > _LONGEST_LIST:
        raise ValueError(f"candidates is a text of {len(text):,} characters; give a list of objects")
    entries = _split_entries(text)
    found = [_parse_entry(entry) for entry in entries]
    if wrong := [place for place, item in enumerate(found, 1) if item is None]:
        raise ValueError(
            f"candidates: entry {wrong[0]} of the text names no single ECLI; give a list of objects with decision_id"
        )
    if not found:
        raise ValueError("candidates is text in which no decision can be found; give a list of objects")
    return [item for item in found if item is not None]


def _split_entries(text: str) -> list[str]:
    """Splits a list into entries: one for each list item with an ECLI; lines under an item belong to its entry."""
    starts = [match.end() for match in _ENTRY.finditer(text)]
    if not starts:
        return [line for line in text.splitlines() if line.strip()]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    entries: list[list[str]] = []
    has_ecli = False
    for piece in pieces:
        has_own_ecli = ECLI_IN_TEXT.search(piece) is not None
        # A bullet inside an entry ("- rol_number: ...") is no new decision.
        if entries and (not has_ecli or (not has_own_ecli and _LABEL.match(piece.strip()))):
            entries[-1].append(piece)
            has_ecli = has_ecli or has_own_ecli
        else:
            entries.append([piece])
            has_ecli = has_own_ecli
    return [entry for entry in map("\n".join, entries) if entry.strip()]


def _parse_entry(entry: str) -> dict[str, Any] | None:
    """Parses a candidate written as text, or returns None if it names no decision or several."""
    ids = {found.upper() for found in ECLI_IN_TEXT.findall(entry)}
    if len(ids) != 1:
        return None
    fields: dict[str, Any] = {"decision_id": ids.pop(), "summaries": []}
    for piece in filter(None, (part.strip().strip(" *`") for part in _PIECE_END.split(entry))):
        if not ECLI_IN_TEXT.search(piece):
            _take_piece(piece, fields)
    return fields


def _take_piece(piece: str, fields: dict[str, Any]) -> None:
    """Adds one piece of an entry to the fields, by its label or else by what it looks like."""
    labelled = _LABEL.fullmatch(piece)
    name = _find_field(labelled[1]) if labelled else None
    if labelled and name:
        if name == "summaries":
            fields["summaries"].append(labelled[2])
        else:
            fields.setdefault(name, labelled[2])
    elif "court_name" not in fields and not isinstance(resolve_court(piece), Unknown):
        fields["court_name"] = piece
    elif "decision_date" not in fields and len(piece) < 40 and parse_date(piece):
        fields["decision_date"] = piece
    else:
        fields["summaries"].append(piece)


def _find_field(label: str) -> str | None:
    plain = " ".join(label.casefold().replace("_", " ").replace(".", " ").split())
    labels: dict[str, list[str]] = table("record_names")["labels"]
    return next((name for name, words in labels.items() if plain in words), None)


# --- two values for one field ------------------------------------------------------------------------


def disagree(field: str, one: Any, other: Any) -> bool:
    """Do two values of a field mean different things? Two spellings of one court, date, number or ECLI do not."""
    if one == other or is_nothing(one) or is_nothing(other) or comparable(one) == comparable(other):
        return False
    texts = _to_text(one), _to_text(other)
    if texts[0] is None or texts[1] is None:
        return True
    if _normalise(texts[0]) == _normalise(texts[1]):
        return False
    same = _SAME.get(field)
    return same is None or not same(texts[0], texts[1])


def describe_conflict(one: str, value: Any, other: str, another: Any) -> str:
    """Describes two keys and their values for a message."""
    return f"{one} says {_shorten(value)}, {other} says {_shorten(another)}"


def _to_text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _normalise(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def _shorten(value: Any) -> str:
    text = repr(value) if isinstance(value, str | int | float) else f"another {type(value).__name__}"
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _same_court(one: str, other: str) -> bool:
    courts = resolve_court(one), resolve_court(other)
    return not any(isinstance(court, Unknown) for court in courts) and identity(courts[0]) == identity(courts[1])


def _same_date(one: str, other: str) -> bool:
    day = parse_date(one)
    return day is not None and day == parse_date(other)


def _same_number(one: str, other: str) -> bool:
    return compare(one, other).relation in ("EXACT", "NORMALISED")


def _same_decision(one: str, other: str) -> bool:
    return key_of(one) == key_of(other)


_SAME: dict[str, Callable[[str, str], bool]] = {
    "cited_court_name": _same_court,
    "court_name": _same_court,
    "cited_date": _same_date,
    "decision_date": _same_date,
    "cited_case_number": _same_number,
    "rol_number": _same_number,
    "cited_ecli": _same_decision,
    "decision_id": _same_decision,
    "ecli": _same_decision,
    "ground_truth": _same_decision,
}
