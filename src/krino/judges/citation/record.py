"""Reads the record that a matcher's system wrote, whatever its shape: names, nesting, texts, lists of candidates.

What can be read without a guess is read; what is ambiguous or missing is refused with a `ValueError` that says what to
write instead, so that no odd input becomes a verdict.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import orjson

from krino.judges.citation.case_numbers import is_absent
from krino.judges.citation.listed_text import candidates_in_text
from krino.judges.citation.tables import table

Fields = dict[str, Any]

CITED = ("cited_court_name", "cited_date", "cited_case_number", "cited_ecli")
_CITED = frozenset({*CITED, "citation_snippet"})
_CITED_TEXTS = _CITED | {"no_match_reason"}
_NESTED = _CITED | {"candidates", "candidates_list", "snippet_match_type"}
_CANDIDATE_TEXTS = frozenset(
    {
        "decision_id",
        "court_name",
        "court_name_fr",
        "court_name_nl",
        "court_ecli_code",
        "decision_date",
        "decision_type",
        "rol_number",
    }
)
_MATCH_TEXTS = frozenset({"decision_id", "court_name", "reasoning", "rol_number"})
_ID_NAMES = ("decision_id", "ecli", "id")
_LONGEST_ABSENT = 60
_LONGEST_JSON = 2_000_000
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_DIGIT = re.compile("[0-9]")
_FENCE = re.compile(r"\s*```[a-z]*\s*(.*?)\s*```\s*", re.DOTALL)
_PLACE = re.compile(
    r"(?:candidate|candidat|kandidaat|match|option)?\s*(?:no\.?|nr\.?|n°|#)?\s*(\d{1,4})", re.IGNORECASE
)
_DECODER = json.JSONDecoder()


def read_record(record: Mapping[str, Any]) -> Fields:
    """The fields of a case by the names of the case model."""
    fields = snake_keys(record)
    _lift_nested(fields)
    _take_output(fields)
    if isinstance(fields.get("cited_case_number"), list | tuple):
        fields["cited_case_number"] = _joined(fields["cited_case_number"])
    _clean_texts(fields, _CITED_TEXTS)
    if "candidates" not in fields and "candidates_list" in fields:
        fields["candidates"] = fields.pop("candidates_list")
    fields["candidates"] = [_candidate(item) for item in _candidate_items(fields.get("candidates"))]
    _refuse_without_answer(fields)
    fields["matches"] = [_match(item, fields["candidates"]) for item in _items(fields.get("matches"), "matches")]
    if all(fields.get(name) is None for name in _CITED):
        raise ValueError(f"nothing is cited: give at least one of {', '.join(sorted(_CITED))}")
    return fields


# --- names -----------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def snake(name: str) -> str:
    """A key as it is looked for: `citedDate` is `cited_date`."""
    return _CAPITAL.sub(r"_\1", name).lower()


def snake_keys(record: Mapping[str, Any]) -> Fields:
    """The record with snake_case keys; a key that is already so written wins over its camelCase twin."""
    fields = {snake(key): value for key, value in record.items() if isinstance(key, str)}
    if len(fields) < len(record):
        fields.update((key, value) for key, value in record.items() if isinstance(key, str) and key.islower())
    return fields


def _renamed(fields: Fields, kind: str) -> Fields:
    """The fields with other systems' names for them replaced by ours, where ours is not there."""
    ours = _our_names(kind)
    for name in [name for name in fields if name in ours]:
        if fields[name] is not None and fields.get(ours[name]) is None:
            fields[ours[name]] = fields.pop(name)
    return fields


@cache
def _our_names(kind: str) -> dict[str, str]:
    return {other: ours for ours, others in table("record_names")[kind].items() for other in others}


def names_taken() -> frozenset[str]:
    """Keys of a record that are read under another name, or for what lies in them."""
    output = table("record_names")["output"]
    return frozenset({"candidates_list", *output["names"], *output["one_match"]})


def _lift_nested(fields: Fields) -> None:
    """Bring a citation that lies one level down to the top, where the record has nothing of its own."""
    for name in [name for name, value in fields.items() if isinstance(value, Mapping)]:
        inner = snake_keys(fields[name])
        if not inner.keys().isdisjoint(_NESTED):
            del fields[name]
            for key, value in inner.items():
                if fields.get(key) is None:
                    fields[key] = value


# --- what the matcher answered ---------------------------------------------------------------------


def _take_output(fields: Fields) -> None:
    """Lift what the matcher's output says to the top, where the record has nothing of its own."""
    names = table("record_names")["output"]["names"]
    name = next((name for name in names if name in fields), None)
    if name is None:
        output = {key: fields.pop(key) for key in table("record_names")["output"]["one_match"] if key in fields}
        if output:
            fields |= {key: value for key, value in _answer(output, "the record").items() if fields.get(key) is None}
        return
    output = _parsed(fields[name], name)
    if output is None:
        return
    if isinstance(output, list):
        output = {"matches": output}
    if not isinstance(output, Mapping):
        raise ValueError(f"{name} is neither an object nor JSON text of one")  # noqa: TRY004
    for key, value in _answer(snake_keys(output), name).items():
        if fields.get(key) is None:
            fields[key] = value


def _answer(output: Fields, name: str) -> Fields:
    """The output with `matches` as a list, whichever way one match, or none, was written."""
    if "matches" in output or _text(output.get("no_match_reason")) is not None:
        return output
    error = next((output[key] for key in ("error", "errors", "exception") if output.get(key)), None)
    if error is not None:
        raise ValueError(f"{name}: the matcher gave no answer but an error: {str(error)[:200]}")
    for key in table("record_names")["output"]["one_match"]:
        if key in output:
            answer = {**output, "matches": _items(output[key], key)}
            if not answer["matches"]:
                answer["no_match_reason"] = _first_text(output, ("reason", "reasoning", "explanation"))
            return answer
    if not _renamed(dict(output), "match").keys().isdisjoint({*_ID_NAMES, "confidence", "score", "candidate"}):
        return {**output, "matches": [output]}
    there = ", ".join(sorted(output)[:8]) or "nothing"
    raise ValueError(f"{name} holds neither matches nor a no_match_reason; there is {there}")


def _refuse_without_answer(fields: Fields) -> None:
    if fields.get("matches") is None and fields.get("no_match_reason") is None:
        raise ValueError(
            "the matcher's output is missing: give matches (an empty list for none), a no_match_reason, or model_output"
        )


def _match(item: Any, candidates: list[Any]) -> Any:
    if isinstance(item, str):
        item = {"decision_id": item}
    if not isinstance(item, Mapping):
        return item
    fields = _clean_texts(_renamed(snake_keys(item), "match"), _MATCH_TEXTS)
    _name_id(fields)
    if fields.get("decision_id") is None or _PLACE.fullmatch(str(fields["decision_id"])):
        _by_position(fields, candidates)
    for name, per_cent in (("score", 1.0), ("confidence", 100.0)):
        if name in fields:
            fields[name] = _amount(fields[name], per_cent)
    return fields


def _by_position(fields: Fields, candidates: list[Any]) -> None:
    """A match that names a candidate by its place in the list: "Candidate 2", or an index that can only mean one."""
    written = fields.get("decision_id") or fields.get("candidate")
    place = _PLACE.fullmatch(str(written)) if written is not None and not isinstance(written, bool) else None
    listed = [item.get("decision_id") if isinstance(item, Mapping) else None for item in candidates]
    if place is not None and str(written) not in listed:
        fields["decision_id"] = _at(listed, int(place[1]) - 1)
    elif (index := fields.get("candidate_index")) is not None and not isinstance(index, bool):
        if index not in (0, len(listed)):
            raise ValueError(f"matches: candidate_index {index} may count from 0 or from 1; give decision_id instead")
        fields["decision_id"] = _at(listed, 0 if index == 0 else len(listed) - 1)


def _at(listed: list[Any], index: int) -> Any:
    if not 0 <= index < len(listed):
        raise ValueError(f"matches: there is no candidate {index + 1}; {len(listed)} are listed")
    return listed[index]


# --- candidates ------------------------------------------------------------------------------------


def _candidate_items(value: Any) -> list[Any]:
    """A list, JSON text of one, or the list as a prompt would show it."""
    if isinstance(value, str) and not is_absent(value):
        try:
            return _items(value, "candidates")
        except ValueError:
            return candidates_in_text(value)
    return _items(value, "candidates")


def _candidate(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    fields = _renamed(snake_keys(item), "candidate")
    _split_court_names(fields)
    if isinstance(fields.get("rol_number"), list | tuple):
        fields["rol_number"] = _joined(fields["rol_number"])
    _clean_texts(fields, _CANDIDATE_TEXTS)
    _name_id(fields)
    for name in ("teaching_texts", "summaries"):
        fields[name] = _texts(fields[name]) if fields.get(name) is not None else ()
    return fields


def _joined(numbers: Sequence[Any]) -> str | None:
    return "; ".join(str(number) for number in numbers if number is not None) or None


def _split_court_names(fields: Fields) -> None:
    """A court given as an object: one name a language, or a name with a code."""
    court = fields.get("court_name")
    if not isinstance(court, Mapping):
        return
    named = snake_keys(court)
    fields["court_name"] = _first_text(named, ("name", "court_name", "label", "de", "en"))
    for language in ("fr", "nl"):
        if fields.get(f"court_name_{language}") is None:
            fields[f"court_name_{language}"] = _first_text(named, (language, f"name_{language}"))
    if fields.get("court_ecli_code") is None:
        fields["court_ecli_code"] = _first_text(named, ("ecli_code", "court_ecli_code", "code"))


# --- ground truth ----------------------------------------------------------------------------------


def read_ground_truth(fields: Mapping[str, Any]) -> tuple[Any, bool]:
    """The decision known to be right and whether anything is known; (None, True) is "none of them"."""
    value = fields.get("ground_truth")
    known = fields.get("ground_truth_known")
    if isinstance(value, list | tuple) and len(value) < 2:
        value = value[0] if value else None
    if isinstance(value, Mapping):
        nested = snake_keys(value)
        known = nested.get("ground_truth_known", nested.get("known", known))
        names = table("record_names")["ground_truth"]["decision_id"]
        value = next((nested[name] for name in (*_ID_NAMES, *names) if nested.get(name) is not None), None)
        if value is None and nested.get("no_match") is True:
            return None, True
        if value is None and known is None and any(item is not None for item in nested.values()):
            there = ", ".join(sorted(nested)[:8])
            raise ValueError(f"ground_truth holds no decision; give it as decision_id (there is {there})")
    if isinstance(value, str) and _absence(value) == "none of them":
        return None, True
    decision = None if isinstance(value, str) and _absence(value) == "not known" else _text(value)
    says_known = known is True or (isinstance(known, str) and known.strip().lower() in {"true", "yes", "1"})
    return decision, decision is not None or says_known


def _absence(text: str) -> str | None:
    """Whether a text says that none of the candidates is right, or that nobody knows; None: it names a decision."""
    plain = " ".join(text.casefold().split()).strip(" .!()[]\"'")
    phrases = table("record_names")["ground_truth"]
    if plain in phrases["none_of_them"]:
        return "none of them"
    if _DIGIT.search(plain) is None and any(re.search(pattern, plain) for pattern in phrases["not_known"]):
        return "not known"
    return None


# --- values ----------------------------------------------------------------------------------------


def _parsed(value: Any, name: str) -> Any:
    """JSON text as what it says, also amid prose where there is just one value; other values as they are."""
    if not isinstance(value, str):
        return value
    if is_absent(value):
        return None
    text = value[:_LONGEST_JSON]
    fenced = _FENCE.fullmatch(text)
    try:
        return orjson.loads(fenced.group(1) if fenced else text)
    except orjson.JSONDecodeError as error:
        found = list(_json_in(text))
        if len(found) == 1:
            return found[0]
        amid = "" if not found else f", and holds {len(found)} JSON values amid prose"
        raise ValueError(f"{name} is text but not JSON{amid}: {error}") from None


def _json_in(text: str) -> Iterator[Any]:
    """Every outermost JSON object, or list of objects, that stands in a text."""
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
            yield value
        at = end


def _items(value: Any, name: str) -> list[Any]:
    value = _parsed(value, name)
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [value]
    if not isinstance(value, list | tuple):
        raise ValueError(f"{name} is not a list")  # noqa: TRY004 (pydantic reports ValueErrors only)
    return [item for item in value if item is not None]


def _clean_texts(fields: Fields, names: frozenset[str]) -> Fields:
    for name, value in fields.items():
        if value is not None and name in names:
            fields[name] = _text(value)
    return fields


def _first_text(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name].strip()), None)


def _name_id(fields: Fields) -> None:
    if fields.get("decision_id") is None:
        fields["decision_id"] = next((fields[name] for name in _ID_NAMES if fields.get(name) is not None), None)


def _text(value: Any) -> Any:
    """A text field, or None where it says in any way that there is nothing."""
    if isinstance(value, str):
        return None if _says_nothing(value) else value
    return None if isinstance(value, float) and math.isnan(value) else value


def _says_nothing(text: str) -> bool:
    if len(text) > _LONGEST_ABSENT:
        return not text.strip()
    # No word for "absent" holds a digit; what holds none (court names) comes again and again.
    return _DIGIT.search(text) is None and _is_absent_word(text)


@lru_cache(maxsize=4_096)
def _is_absent_word(text: str) -> bool:
    return is_absent(text)


def _texts(value: Any) -> list[str]:
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
    found = next((item[name] for name in names["text"] if item.get(name)), None)
    if found is not None:
        return [found]
    return [item[name] for name in names["languages"] if item.get(name)]


def number_of(value: Any) -> float | None:
    """A finite number, also written as text; None for anything else."""
    return _amount(value, 1.0)


def _amount(value: Any, per_cent: float) -> float | None:
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
