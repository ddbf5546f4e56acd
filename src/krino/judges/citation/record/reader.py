"""Reads the record that a matcher's system wrote: other names, nested objects, JSON as text, lists of candidates.

Nothing is guessed: an ambiguous or incomplete record is refused with a `ValueError` that says what to write instead.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

from krino.judges.citation import table
from krino.judges.citation.belgium.case_numbers import is_absent
from krino.judges.citation.belgium.ecli import parse_ecli
from krino.judges.citation.record.values import (
    DIGIT,
    ID_NAMES,
    Fields,
    choose_id,
    clean_texts,
    describe_conflict,
    disagree,
    first_text,
    items,
    parse_amount,
    parse_candidate_list,
    parse_json,
    plain_text,
    texts,
    undo_float,
)

CITED = ("cited_court_name", "cited_date", "cited_case_number", "cited_ecli")
_CITED = frozenset({*CITED, "citation_snippet"})
_CITED_TEXTS = _CITED | {"no_match_reason"}
_NESTED = _CITED | {"candidates", "candidates_list", "snippet_match_type"}
_ANSWER = frozenset({"matches", "no_match_reason"})
_READ = _NESTED | _ANSWER | {"ground_truth", "ground_truth_known", "candidate_count"}
_CANDIDATE_TEXTS = frozenset(
    {
        "decision_id",
        "ecli",
        "court_name",
        "court_name_fr",
        "court_name_nl",
        "court_ecli_code",
        "decision_date",
        "decision_type",
        "rol_number",
    }
)
_MATCH_TEXTS = frozenset({"decision_id", "ecli", "court_name", "reasoning", "rol_number"})
_SAME_POINTS = 1.0
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_POSITION = re.compile(
    r"(?:candidate|candidat|kandidaat|match|option)?\s*+(?:no\.?|nr\.?|n°|#)?\s*+(\d{1,4})", re.IGNORECASE
)


def read_record(record: Mapping[str, Any]) -> Fields:
    """Reads a record into the fields of the case model; refuses one that is ambiguous or incomplete."""
    fields, twins = _split_duplicates(record)
    for name, key, value in twins:
        if name in _READ:
            _refuse_second_value(name, name, fields[name], key, value)
    _lift_nested(fields)
    others = _lift_output(fields)
    if isinstance(fields.get("cited_case_number"), list | tuple):
        fields["cited_case_number"] = _join_numbers(fields["cited_case_number"])
    clean_texts(fields, _CITED_TEXTS)
    fields["candidates"] = _read_candidates(fields)
    _refuse_without_answer(fields)
    source = fields.get("matches")
    fields["matches"] = _read_matches(source, fields["candidates"])
    for name, answer in others:
        _refuse_second_answer(fields, name, answer, source)
    if all(fields.get(name) is None for name in _CITED):
        raise ValueError(f"nothing is cited: give at least one of {', '.join(sorted(_CITED))}")
    return fields


# --- names -----------------------------------------------------------------------------------------

Duplicates = list[tuple[str, str, Any]]
"""Further values for a field that has one already: field, key and value."""


@lru_cache(maxsize=4096)
def to_snake_case(name: str) -> str:
    """Converts a key: `citedDate` becomes `cited_date`."""
    return _CAPITAL.sub(r"_\1", name).lower()


def with_snake_keys(record: Mapping[str, Any]) -> Fields:
    """Returns the record with snake_case keys; of `cited_date` and `citedDate` the first wins if it has a value."""
    fields = {to_snake_case(key): value for key, value in record.items() if isinstance(key, str)}
    if len(fields) < len(record):
        for key, value in record.items():
            if (
                isinstance(key, str)
                and _has_value(value)
                and (key.islower() or not _has_value(fields[to_snake_case(key)]))
            ):
                fields[to_snake_case(key)] = value
    return fields


def _split_duplicates(record: Mapping[str, Any]) -> tuple[Fields, Duplicates]:
    """Returns the record with snake_case keys, and the duplicates of keys whose value differs."""
    fields = with_snake_keys(record)
    if len(fields) == len(record):
        return fields, []
    named = ((key, value) for key, value in record.items() if isinstance(key, str) and _has_value(value))
    return fields, [(to_snake_case(key), key, value) for key, value in named if value is not fields[to_snake_case(key)]]


def _has_value(value: Any) -> bool:
    return plain_text(value) is not None and value not in ([], ())


def _rename_fields(record: Mapping[str, Any], kind: str) -> tuple[Fields, Duplicates]:
    """Renames the fields of other systems to ours; also returns further values given for the same field."""
    fields, duplicates = _split_duplicates(record)
    ours = _map_foreign_names(kind)
    for name in [name for name in fields if name in ours]:
        value = fields.pop(name)
        if not _has_value(value):
            continue
        if _has_value(fields.get(ours[name])):
            duplicates.append((ours[name], name, value))
        else:
            fields[ours[name]] = value
    return fields, duplicates


@cache
def _map_foreign_names(kind: str) -> dict[str, str]:
    return {other: ours for ours, others in table("record_names")[kind].items() for other in others}


def names_taken() -> frozenset[str]:
    """Keys that are read although the case model has no field of that name."""
    output = table("record_names")["output"]
    return frozenset({"candidates_list", *output["names"], *output["one_match"]})


def _lift_nested(fields: Fields) -> None:
    """Lifts a citation that is nested one level deep to the top, in place.

    Values at the top win; different values are refused.
    """
    for name in [name for name, value in fields.items() if isinstance(value, Mapping)]:
        if holds_citation(fields[name]):
            inner = with_snake_keys(fields[name])
            del fields[name]
            for key, value in inner.items():
                if not _has_value(fields.get(key)):
                    fields[key] = value
                elif key in _READ and _has_value(value):
                    _refuse_second_value(key, key, fields[key], f"{name}.{key}", value)


def _refuse_second_value(field: str, one: str, value: Any, other: str, another: Any) -> None:
    """Refuses a second, different value of a field: the verdict would depend on which is read."""
    if disagree(field, value, another):
        raise ValueError(
            f"two values for {field}: {describe_conflict(one, value, other, another)}; keep the one that is meant"
        )


def holds_citation(value: Mapping[str, Any]) -> bool:
    """Does an object inside a record hold fields of the citation?"""
    return any(isinstance(key, str) and to_snake_case(key) in _NESTED for key in value)


# --- what the matcher answered ---------------------------------------------------------------------

Answers = list[tuple[str, Fields]]
"""The matcher's answer as given by several keys, each with its key."""


def _lift_output(fields: Fields) -> Answers:
    """Lifts the matcher's output to the top, in place, where values at the top win.

    Returns all outputs, to be compared with what is read.
    """
    names = table("record_names")["output"]
    given = [(name, _parse_output(fields[name], name)) for name in names["names"] if name in fields]
    answers = [(name, _normalise_answer(output, name)) for name, output in given if output is not None]
    loose = {key: fields.pop(key) for key in names["one_match"] if key in fields}
    if loose and (not given or any(map(_has_value, loose.values()))):
        answers.append(("the record", _normalise_answer(loose, "the record")))
    found = list(answers)
    for name, answer in answers:
        for key, value in answer.items():
            if fields.get(key) is None:
                fields[key] = value
        single = [key for key in names["one_match"] if _has_value(answer.get(key))]
        found += [(f"{name}.{key}", {"matches": answer[key]}) for key in single]
    return found


def _parse_output(value: Any, name: str) -> Fields | None:
    """Parses the matcher's output: an object, a list of matches, or JSON text of either; None if it is absent."""
    output = parse_json(value, name)
    if output is None:
        return None
    if isinstance(output, list):
        output = {"matches": output}
    if not isinstance(output, Mapping):
        raise ValueError(f"{name} is neither an object nor JSON text of one")  # noqa: TRY004
    return with_snake_keys(output)


def _normalise_answer(output: Fields, name: str) -> Fields:
    """Returns the output with `matches` as a list, however one match or none was written.

    Refuses an error of the matcher, and an output with neither matches nor a reason.
    """
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
    if not _rename_fields(output, "match")[0].keys().isdisjoint({*ID_NAMES, "confidence", "score", "candidate"}):
        return {**output, "matches": [output]}
    there = ", ".join(sorted(output)[:8]) or "nothing"
    raise ValueError(f"{name} holds neither matches nor a no_match_reason; there is {there}")


def _refuse_second_answer(fields: Fields, name: str, answer: Fields, source: Any) -> None:
    """Refuses an output with other matches than those read from `source`, or another reason for none.

    If they agree, gaps in the matches read are filled from it.
    """
    if "matches" in answer and answer["matches"] is not source:
        read = fields["matches"]
        given = _read_matches(answer["matches"], fields["candidates"])
        if name.rpartition(".")[2] in table("record_names")["output"]["one_match"]:
            read = read[:1]
        if len(read) != len(given) or any(not _is_same_match(*pair) for pair in zip(read, given, strict=True)):
            raise ValueError(f"two answers: {name} gives other matches than the record; keep the one that is judged")
        _fill_gaps(fields["matches"], given)
    reason, other = fields.get("no_match_reason"), plain_text(answer.get("no_match_reason"))
    if reason is not None and other is not None:
        _refuse_second_value("no_match_reason", "no_match_reason", reason, f"{name}.no_match_reason", other)


def _is_same_match(one: Any, other: Any) -> bool:
    """Do two entries describe the same match: no different id or reasoning, and about the same confidence?"""
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return bool(one == other)
    for name in ("decision_id", "reasoning"):
        if one.get(name) is not None and other.get(name) is not None and disagree(name, one[name], other[name]):
            return False
    sure = [_percent_of(item) for item in (one, other)]
    return None in sure or abs(sure[0] - sure[1]) <= _SAME_POINTS  # type: ignore[operator]


def _percent_of(match: Mapping[str, Any]) -> float | None:
    """Returns the confidence of a match in percent (else its score), to compare two records of one answer."""
    sure = match.get("confidence")
    if isinstance(sure, float):
        return sure * 100 if sure <= 1 else sure
    return match.get("score")


def _fill_gaps(matches: list[Any], others: list[Any]) -> None:
    """Adds to matches what another record of the same answer has and they have not."""
    for match, other in zip(matches, others, strict=False):
        if isinstance(match, dict) and isinstance(other, Mapping):
            match.update({name: value for name, value in other.items() if match.get(name) is None})


def _refuse_without_answer(fields: Fields) -> None:
    """Refuses a record without any answer of the matcher."""
    if fields.get("matches") is None and fields.get("no_match_reason") is None:
        raise ValueError(
            "the matcher's output is missing: give matches (an empty list for none), a no_match_reason, or model_output"
        )


def _read_matches(value: Any, candidates: list[Any]) -> list[Any]:
    return [_read_match(item, candidates) for item in items(value, "matches")]


def _read_match(item: Any, candidates: list[Any]) -> Any:
    """Reads one match: renamed fields, its candidate resolved, percentages as numbers."""
    if isinstance(item, str):
        item = {"decision_id": item}
    if not isinstance(item, Mapping):
        return item
    fields, duplicates = _rename_fields(item, "match")
    clean_texts(fields, _MATCH_TEXTS)
    choose_id(fields)
    if fields.get("decision_id") is None or _POSITION.fullmatch(str(fields["decision_id"])):
        _resolve_position(fields, candidates)
    _refuse_other_position(fields["decision_id"], with_snake_keys(item), candidates)
    for name, per_cent in (("score", 1.0), ("confidence", 100.0)):
        if name in fields:
            fields[name] = parse_amount(fields[name], per_cent)
    fields["reasoning"] = _merge_texts(fields.get("reasoning"), "reasoning", duplicates)
    # The `id` of a match may be its number among the matches; it counts only if a candidate has that id.
    number = str(fields.get("id"))
    is_named = not number.isdigit() and any(number in _ids_of(item) for item in candidates)
    also = ("ecli", "id") if is_named else ("ecli",)
    _keep_duplicates(fields, [entry for entry in duplicates if entry[0] != "reasoning"], also)
    return fields


def _merge_texts(text: Any, field: str, duplicates: Duplicates) -> Any:
    """Joins a text with the texts of duplicate keys: everything that a matcher wrote is read."""
    more = [value for name, _, value in duplicates if name == field and isinstance(value, str)]
    return "\n".join(dict.fromkeys([text, *more])) if more and isinstance(text, str) else text


def _keep_duplicates(fields: Fields, duplicates: Duplicates, also: tuple[str, ...]) -> None:
    """Notes further identifiers in `other_ids`, and other disagreements in `contradictions`."""
    ids = [str(undo_float(value)) for name, _, value in duplicates if name in ("decision_id", *also)]
    ids += [str(fields[name]) for name in also if _has_value(fields.get(name))]
    first = str(fields.get("decision_id"))
    fields["other_ids"] = tuple(dict.fromkeys(value for value in ids if disagree("decision_id", first, value)))
    fields["contradictions"] = tuple(
        describe_conflict(name, fields[name], key, value)
        for name, key, value in duplicates
        if name not in ID_NAMES and _has_value(fields.get(name)) and disagree(name, fields[name], value)
    )


def _resolve_position(fields: Fields, candidates: list[Any]) -> None:
    """Sets the decision of a match that names its candidate by position: "Candidate 2", or an unambiguous index.

    Refuses an index that may count from 0 or from 1.
    """
    written = fields.get("decision_id") or fields.get("candidate")
    place = _POSITION.fullmatch(str(written)) if written is not None and not isinstance(written, bool) else None
    listed = [item.get("decision_id") if isinstance(item, Mapping) else None for item in candidates]
    named = {name for item in candidates for name in _ids_of(item)}
    if place is not None and str(written) in named:
        fields["decision_id"] = written
    elif place is not None and _is_position(fields, named):
        fields["decision_id"] = _id_at(listed, int(place[1]) - 1)
    elif (index := fields.get("candidate_index")) is not None and not isinstance(index, bool):
        if index not in (0, len(listed)):
            raise ValueError(f"matches: candidate_index {index} may count from 0 or from 1; give decision_id instead")
        fields["decision_id"] = _id_at(listed, 0 if index == 0 else len(listed) - 1)


def _is_position(fields: Fields, named: set[str]) -> bool:
    """Is the id a position? A bare number is, unless ids in the list are numbers: then it is an unlisted id."""
    written = fields.get("decision_id")
    return written is None or not str(written).strip().isdigit() or not any(name.strip().isdigit() for name in named)


def _ids_of(candidate: Any) -> tuple[str, ...]:
    if not isinstance(candidate, Mapping):
        return ()
    return tuple(map(str, (candidate["decision_id"], *candidate["other_ids"])))


_POSITION_NAMES = ("candidate_index", "candidate", "candidate_number", "candidate_no")
"""`index` and `position` are not among them: they may count the matches."""


def _refuse_other_position(chosen: Any, match: Fields, candidates: list[Any]) -> None:
    """Refuses a match whose id and position name different candidates."""
    for name in _POSITION_NAMES:
        given = match.get(name)
        place = None if given is None or isinstance(given, bool) else _POSITION.fullmatch(str(undo_float(given)))
        if place is None or chosen is None:
            continue
        number = int(place[1])
        places = (number - 1, number) if name == "candidate_index" else (number - 1,)  # an index may count from 0
        meant = [candidates[at] for at in places if 0 <= at < len(candidates)]
        ids = [str(undo_float(given)), *(each for item in meant for each in _ids_of(item))]
        if all(disagree("decision_id", str(chosen), each) for each in ids):
            raise ValueError(f"matches: {name} {given!r} is another candidate than decision_id {chosen!r}; keep one")


def _id_at(listed: list[Any], index: int) -> Any:
    if not 0 <= index < len(listed):
        raise ValueError(f"matches: there is no candidate {index + 1}; {len(listed)} are listed")
    return listed[index]


# --- candidates ------------------------------------------------------------------------------------


def _read_candidates(fields: Fields) -> list[Any]:
    """Returns the list of candidates, and removes `candidates_list`; two lists that differ are refused.

    A second list that cannot be parsed is one for people to read.
    """
    listed, text = fields.get("candidates"), fields.pop("candidates_list", None)
    if listed is None:
        listed, text = text, None
    found = [_read_candidate(item) for item in _parse_candidates(listed)]
    if _has_value(text):
        try:
            other = [_read_candidate(item) for item in _parse_candidates(text)]
        except ValueError:
            return found  # a list for people to read
        if {_normalise_id(item) for item in found} != {_normalise_id(item) for item in other}:
            raise ValueError("candidates and candidates_list name different decisions; keep one of them")
    return found


def _normalise_id(candidate: Any) -> str:
    named = candidate.get("decision_id") if isinstance(candidate, Mapping) else candidate
    return "".join(str(named).casefold().split())


def _parse_candidates(value: Any) -> list[Any]:
    """Parses a list, JSON text of a list, or a list written as text."""
    if isinstance(value, Mapping) and value and all(isinstance(item, Mapping) for item in value.values()):
        raise ValueError("candidates is an object of objects: give a list, each with its decision_id")
    if isinstance(value, str) and not is_absent(value):
        try:
            return items(value, "candidates")
        except ValueError:
            return parse_candidate_list(value)
    return items(value, "candidates")


def _read_candidate(item: Any) -> Any:
    """Reads one candidate, and joins fields that occur several times."""
    if not isinstance(item, Mapping):
        return item
    fields, duplicates = _rename_fields(item, "candidate")
    _split_court_names(fields)
    _lift_ecli(fields)
    numbers = [value for name, _, value in duplicates if name == "rol_number"]
    if numbers or isinstance(fields.get("rol_number"), list | tuple):
        fields["rol_number"] = _join_numbers(_flatten([fields.get("rol_number"), *numbers]))
    clean_texts(fields, _CANDIDATE_TEXTS)
    choose_id(fields)
    for name in ("teaching_texts", "summaries"):
        more = [value for field, _, value in duplicates if field == name]
        given = [fields[name], *more] if fields.get(name) is not None else more
        fields[name] = tuple(dict.fromkeys(text for value in given for text in texts(value)))
    _keep_duplicates(fields, [entry for entry in duplicates if entry[0] not in _MERGED_FIELDS], ("ecli", "id"))
    return fields


_MERGED_FIELDS = frozenset({"rol_number", "teaching_texts", "summaries"})


def _flatten(values: Sequence[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list | tuple) else [value])]


def ecli_names() -> tuple[str, ...]:
    """Names of an ECLI inside an object of a candidate."""
    return ("ecli", *table("record_names")["candidate"]["ecli"])


def _lift_ecli(fields: Fields) -> None:
    """Notes the ECLI of a candidate with another id, if it is nested one level deep."""
    if _has_value(fields.get("ecli")) or parse_ecli(str(fields.get("decision_id") or "")):
        return
    names = ecli_names()
    for value in [value for value in fields.values() if isinstance(value, Mapping)]:
        inner = with_snake_keys(value)
        found = [inner[name] for name in names if isinstance(inner.get(name), str) and parse_ecli(inner[name])]
        if found:
            fields["ecli"] = found[0]
            return


def _join_numbers(numbers: Sequence[Any]) -> str | None:
    given = (str(number) for number in numbers if number is not None and _has_value(number))
    return "; ".join(dict.fromkeys(given)) or None


def _split_court_names(fields: Fields) -> None:
    """Splits a court given as an object, in place: one name for each language, or a name with a code."""
    court = fields.get("court_name")
    if not isinstance(court, Mapping):
        return
    named = with_snake_keys(court)
    fields["court_name"] = first_text(named, ("name", "court_name", "label", "de", "en"))
    for language in ("fr", "nl"):
        if fields.get(f"court_name_{language}") is None:
            fields[f"court_name_{language}"] = first_text(named, (language, f"name_{language}"))
    if fields.get("court_ecli_code") is None:
        fields["court_ecli_code"] = first_text(named, ("ecli_code", "court_ecli_code", "code"))


# --- ground truth ----------------------------------------------------------------------------------


def read_ground_truth(fields: Mapping[str, Any]) -> tuple[Any, bool]:
    """Returns the right decision, and whether it is known; (None, True) means "none of them"."""
    value = fields.get("ground_truth")
    known = fields.get("ground_truth_known")
    if isinstance(value, list | tuple) and len(value) < 2:
        value = value[0] if value else None
    if isinstance(value, Mapping):
        nested = with_snake_keys(value)
        known = nested.get("ground_truth_known", nested.get("known", known))
        names = table("record_names")["ground_truth"]["decision_id"]
        value = next((nested[name] for name in (*ID_NAMES, *names) if nested.get(name) is not None), None)
        if value is None and nested.get("no_match") is True:
            return None, True
        if value is None and known is None and any(item is not None for item in nested.values()):
            there = ", ".join(sorted(nested)[:8])
            raise ValueError(f"ground_truth holds no decision; give it as decision_id (there is {there})")
    if isinstance(value, str) and _classify_absence(value) == "none of them":
        return None, True
    decision = (
        None if isinstance(value, str) and _classify_absence(value) == "not known" else undo_float(plain_text(value))
    )
    says_known = known is True or (isinstance(known, str) and known.strip().lower() in {"true", "yes", "1"})
    return decision, decision is not None or says_known


def _classify_absence(text: str) -> str | None:
    """Classifies a text: "none of them", "not known", or None if it names a decision."""
    plain = " ".join(text.casefold().split()).strip(" .!()[]\"'")
    phrases = table("record_names")["ground_truth"]
    if plain in phrases["none_of_them"]:
        return "none of them"
    if DIGIT.search(plain) is None and any(re.search(pattern, plain) for pattern in phrases["not_known"]):
        return "not known"
    return None
