"""Reads the record that a matcher's system wrote, whatever its shape: names, nesting, texts, lists of candidates.

What can be read without a guess is read; what is ambiguous or missing is refused with a `ValueError` that says what to
write instead, so that no odd input becomes a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from krino.judges.citation import table
from krino.judges.citation.belgium.case_numbers import is_absent
from krino.judges.citation.record_values import (
    DIGIT,
    ID_NAMES,
    Fields,
    amount,
    candidates_in_text,
    clean_texts,
    first_text,
    items,
    name_id,
    parsed_json,
    plain_text,
    texts,
)

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
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_PLACE = re.compile(
    r"(?:candidate|candidat|kandidaat|match|option)?\s*(?:no\.?|nr\.?|n°|#)?\s*(\d{1,4})", re.IGNORECASE
)


def read_record(record: Mapping[str, Any]) -> Fields:
    """The fields of a case by the names of the case model."""
    fields = snake_keys(record)
    _lift_nested(fields)
    _take_output(fields)
    if isinstance(fields.get("cited_case_number"), list | tuple):
        fields["cited_case_number"] = _joined(fields["cited_case_number"])
    clean_texts(fields, _CITED_TEXTS)
    if "candidates" not in fields and "candidates_list" in fields:
        fields["candidates"] = fields.pop("candidates_list")
    fields["candidates"] = [_candidate(item) for item in _candidate_items(fields.get("candidates"))]
    _refuse_without_answer(fields)
    fields["matches"] = [_match(item, fields["candidates"]) for item in items(fields.get("matches"), "matches")]
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
    output = parsed_json(fields[name], name)
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
    if "matches" in output or plain_text(output.get("no_match_reason")) is not None:
        return output
    error = next((output[key] for key in ("error", "errors", "exception") if output.get(key)), None)
    if error is not None:
        raise ValueError(f"{name}: the matcher gave no answer but an error: {str(error)[:200]}")
    for key in table("record_names")["output"]["one_match"]:
        if key in output:
            answer = {**output, "matches": items(output[key], key)}
            if not answer["matches"]:
                answer["no_match_reason"] = first_text(output, ("reason", "reasoning", "explanation"))
            return answer
    if not _renamed(dict(output), "match").keys().isdisjoint({*ID_NAMES, "confidence", "score", "candidate"}):
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
    fields = clean_texts(_renamed(snake_keys(item), "match"), _MATCH_TEXTS)
    name_id(fields)
    if fields.get("decision_id") is None or _PLACE.fullmatch(str(fields["decision_id"])):
        _by_position(fields, candidates)
    for name, per_cent in (("score", 1.0), ("confidence", 100.0)):
        if name in fields:
            fields[name] = amount(fields[name], per_cent)
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
            return items(value, "candidates")
        except ValueError:
            return candidates_in_text(value)
    return items(value, "candidates")


def _candidate(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    fields = _renamed(snake_keys(item), "candidate")
    _split_court_names(fields)
    if isinstance(fields.get("rol_number"), list | tuple):
        fields["rol_number"] = _joined(fields["rol_number"])
    clean_texts(fields, _CANDIDATE_TEXTS)
    name_id(fields)
    for name in ("teaching_texts", "summaries"):
        fields[name] = texts(fields[name]) if fields.get(name) is not None else ()
    return fields


def _joined(numbers: Sequence[Any]) -> str | None:
    return "; ".join(str(number) for number in numbers if number is not None) or None


def _split_court_names(fields: Fields) -> None:
    """A court given as an object: one name a language, or a name with a code."""
    court = fields.get("court_name")
    if not isinstance(court, Mapping):
        return
    named = snake_keys(court)
    fields["court_name"] = first_text(named, ("name", "court_name", "label", "de", "en"))
    for language in ("fr", "nl"):
        if fields.get(f"court_name_{language}") is None:
            fields[f"court_name_{language}"] = first_text(named, (language, f"name_{language}"))
    if fields.get("court_ecli_code") is None:
        fields["court_ecli_code"] = first_text(named, ("ecli_code", "court_ecli_code", "code"))


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
        value = next((nested[name] for name in (*ID_NAMES, *names) if nested.get(name) is not None), None)
        if value is None and nested.get("no_match") is True:
            return None, True
        if value is None and known is None and any(item is not None for item in nested.values()):
            there = ", ".join(sorted(nested)[:8])
            raise ValueError(f"ground_truth holds no decision; give it as decision_id (there is {there})")
    if isinstance(value, str) and _absence(value) == "none of them":
        return None, True
    decision = None if isinstance(value, str) and _absence(value) == "not known" else plain_text(value)
    says_known = known is True or (isinstance(known, str) and known.strip().lower() in {"true", "yes", "1"})
    return decision, decision is not None or says_known


def _absence(text: str) -> str | None:
    """Whether a text says that none of the candidates is right, or that nobody knows; None: it names a decision."""
    plain = " ".join(text.casefold().split()).strip(" .!()[]\"'")
    phrases = table("record_names")["ground_truth"]
    if plain in phrases["none_of_them"]:
        return "none of them"
    if DIGIT.search(plain) is None and any(re.search(pattern, plain) for pattern in phrases["not_known"]):
        return "not known"
    return None
