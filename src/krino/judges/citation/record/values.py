"""Reads the values of a record: JSON amid prose, texts that say nothing, numbers with a percent sign, lists as text."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from typing import Any

import orjson

from krino.judges.citation import table
from krino.judges.citation.belgium.case_numbers import is_absent
from krino.judges.citation.belgium.courts import Unknown, resolve_court
from krino.judges.citation.belgium.dates import parse_date

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
_ECLI = re.compile(r"ECLI:[A-Z]{2}:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]+[A-Z0-9]", re.IGNORECASE)
_PIECE_END = re.compile(r"(?:\n|\||;|\s[-–—]\s|,(?=\s*[\w_ ]{2,20}:))\s*")
_LABEL = re.compile(r"\**+\s*+([^\W\d][\w .°_-]{1,30}?)\s*+\**+\s*+[:=]\s*+\**+\s*+(.*)", re.DOTALL)


def parsed_json(value: Any, name: str) -> Any:
    """JSON text as what it says, also behind a greeting; other values as they are.

    Words that say anything of their own may take the JSON back ("I will not match. Example: ..."): a text with such
    words is refused.
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
        found = list(_json_in(value))
        if len(found) == 1 and (said := _statement(value, *found[0][1:])) is None:
            return found[0][0]
        if len(found) == 1:
            raise ValueError(
                f"{name} holds JSON amid prose ({said!r}), which may say something else: give the JSON alone"
            ) from None
        amid = "" if not found else f", and holds {len(found)} JSON values amid prose"
        raise ValueError(f"{name} is text but not JSON{amid}: {error}") from None


def _statement(text: str, start: int, end: int) -> str | None:
    """The words around a JSON value, shortened, unless all of them are words of greeting."""
    around = f"{text[:start]} {text[end:]}"
    if all(word in _courtesy() for word in _WORD.findall(around.casefold())):
        return None
    return " ".join(around.split())[:_LONGEST_SHOWN]


@cache
def _courtesy() -> frozenset[str]:
    return frozenset(table("record_names")["output"]["courtesy"])


def _json_in(text: str) -> Iterator[tuple[Any, int, int]]:
    """Every outermost JSON object, or list of objects, in a text, with its offset."""
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
    value = parsed_json(value, name)
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} is not a list")  # noqa: TRY004 (pydantic reports ValueErrors only)
    return [item for item in value if item is not None]


def clean_texts(fields: Fields, names: frozenset[str]) -> Fields:
    for name, value in fields.items():
        if value is not None and name in names:
            fields[name] = plain_text(value)
    return fields


def first_text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name].strip()), None)


def name_id(fields: Fields) -> None:
    """Put the identifier that is there first, an ECLI before a database's own, into `decision_id`."""
    fields.update({name: whole_number(fields[name]) for name in ID_NAMES if name in fields})
    if fields.get("decision_id") is None:
        fields["decision_id"] = next((fields[name] for name in ID_NAMES if fields.get(name) is not None), None)


def whole_number(value: Any) -> Any:
    """101 for 101.0: a column of ids with a gap in it comes as floats."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def plain_text(value: Any) -> Any:
    """A text field, or None if it says in any way that there is no value."""
    if isinstance(value, str):
        return None if _says_nothing(value) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _says_nothing(text: str) -> bool:
    if len(text) > _LONGEST_ABSENT:
        return not text.strip()
    # No word for "absent" holds a digit; what holds none (court names) comes again and again.
    return DIGIT.search(text) is None and _is_absent_word(text)


@lru_cache(maxsize=4_096)
def _is_absent_word(text: str) -> bool:
    return is_absent(text)


def texts(value: Any) -> list[str]:
    """Texts of a list, of one string, or of objects that carry a text or one for each language."""
    if isinstance(value, str) and value.lstrip()[:1] == "[":
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            value = [value]
    if value is None or isinstance(value, str | Mapping):
        value = [value]
    if not isinstance(value, list | tuple):
        return []
    texts = [text for item in value for text in (_texts_of(item) if isinstance(item, Mapping) else [item])]
    return [text for text in texts if isinstance(text, str) and not _says_nothing(text)]


def _texts_of(item: Mapping[str, Any]) -> list[Any]:
    names = table("record_names")["text"]
    return list(dict.fromkeys(item[name] for name in names["names"] if isinstance(item.get(name), str)))


def number_of(value: Any) -> float | None:
    """A finite number, also written as text; None for anything else."""
    return amount(value, 1.0)


def amount(value: Any, per_cent: float) -> float | None:
    """A finite number; a text with a percent sign is divided by `per_cent`, so that 1 % is one per cent."""
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


def candidates_in_text(text: str) -> list[dict[str, Any]]:
    """Parses candidates written as text; raises `ValueError` if entries cannot be separated or name no decision."""
    if len(text) > _LONGEST_LIST:
        raise ValueError(f"candidates is a text of {len(text):,} characters; give a list of objects")
    entries = _entries(text)
    found = [_candidate(entry) for entry in entries]
    if wrong := [place for place, item in enumerate(found, 1) if item is None]:
        raise ValueError(
            f"candidates: entry {wrong[0]} of the text names no single ECLI; give a list of objects with decision_id"
        )
    if not found:
        raise ValueError("candidates is text in which no decision can be told apart; give a list of objects")
    return [item for item in found if item is not None]


def _entries(text: str) -> list[str]:
    """One entry for each mark of a list that brings an ECLI; lines under a mark belong to its entry."""
    starts = [match.end() for match in _ENTRY.finditer(text)]
    if not starts:
        return [line for line in text.splitlines() if line.strip()]
    pieces = [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    entries: list[list[str]] = []
    has_ecli = False
    for piece in pieces:
        brings_ecli = _ECLI.search(piece) is not None
        # A bullet inside an entry ("- rol_number: ...") brings no decision of its own.
        if entries and (not has_ecli or (not brings_ecli and _LABEL.match(piece.strip()))):
            entries[-1].append(piece)
            has_ecli = has_ecli or brings_ecli
        else:
            entries.append([piece])
            has_ecli = brings_ecli
    return [entry for entry in map("\n".join, entries) if entry.strip()]


def _candidate(entry: str) -> dict[str, Any] | None:
    ids = {found.upper() for found in _ECLI.findall(entry)}
    if len(ids) != 1:
        return None
    fields: dict[str, Any] = {"decision_id": ids.pop(), "summaries": []}
    for piece in filter(None, (part.strip().strip(" *`") for part in _PIECE_END.split(entry))):
        if not _ECLI.search(piece):
            _take(piece, fields)
    return fields


def _take(piece: str, fields: dict[str, Any]) -> None:
    """One piece of an entry: by its label, else by what it turns out to be."""
    labelled = _LABEL.fullmatch(piece)
    name = _field_of(labelled[1]) if labelled else None
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


def _field_of(label: str) -> str | None:
    plain = " ".join(label.casefold().replace("_", " ").replace(".", " ").split())
    labels: dict[str, list[str]] = table("record_names")["labels"]
    return next((name for name, words in labels.items() if plain in words), None)
