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
from krino.judges.citation.belgium.ecli import parse_ecli
from krino.judges.citation.record.contradictions import disagree, say
from krino.judges.citation.record.values import (
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
    whole_number,
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
_PLACE = re.compile(
    r"(?:candidate|candidat|kandidaat|match|option)?\s*+(?:no\.?|nr\.?|n°|#)?\s*+(\d{1,4})", re.IGNORECASE
)


def read_record(record: Mapping[str, Any]) -> Fields:
    """The fields of a case by the names of the case model."""
    fields, twins = _with_twins(record)
    for name, key, value in twins:
        if name in _READ:
            _refuse_another(name, name, fields[name], key, value)
    _lift_nested(fields)
    others = _take_output(fields)
    if isinstance(fields.get("cited_case_number"), list | tuple):
        fields["cited_case_number"] = _joined(fields["cited_case_number"])
    clean_texts(fields, _CITED_TEXTS)
    fields["candidates"] = _read_candidates(fields)
    _refuse_without_answer(fields)
    fields["matches"] = _read_matches(fields.get("matches"), fields["candidates"])
    for name, answer in others:
        _refuse_another_answer(fields, name, answer)
    if all(fields.get(name) is None for name in _CITED):
        raise ValueError(f"nothing is cited: give at least one of {', '.join(sorted(_CITED))}")
    return fields


# --- names -----------------------------------------------------------------------------------------

Doubled = list[tuple[str, str, Any]]
"""What further keys say of a field that has a value already: field, key and value."""


@lru_cache(maxsize=4096)
def snake(name: str) -> str:
    """A key as it is looked for: `citedDate` is `cited_date`."""
    return _CAPITAL.sub(r"_\1", name).lower()


def snake_keys(record: Mapping[str, Any]) -> Fields:
    """The record with snake_case keys; a key that is already so written, and filled, wins over its camelCase twin."""
    fields = {snake(key): value for key, value in record.items() if isinstance(key, str)}
    if len(fields) < len(record):
        for key, value in record.items():
            if isinstance(key, str) and _is_there(value) and (key.islower() or not _is_there(fields[snake(key)])):
                fields[snake(key)] = value
    return fields


def _with_twins(record: Mapping[str, Any]) -> tuple[Fields, Doubled]:
    """The record with snake_case keys, and the keys that give one of them another value."""
    fields = snake_keys(record)
    if len(fields) == len(record):
        return fields, []
    named = ((key, value) for key, value in record.items() if isinstance(key, str) and _is_there(value))
    return fields, [(snake(key), key, value) for key, value in named if value is not fields[snake(key)]]


def _is_there(value: Any) -> bool:
    return plain_text(value) is not None and value not in ([], ())


def _by_our_names(record: Mapping[str, Any], kind: str) -> tuple[Fields, Doubled]:
    """Renames other systems' fields to ours; also returns further values given for the same field."""
    fields, doubled = _with_twins(record)
    ours = _our_names(kind)
    for name in [name for name in fields if name in ours]:
        value = fields.pop(name)
        if not _is_there(value):
            continue
        if _is_there(fields.get(ours[name])):
            doubled.append((ours[name], name, value))
        else:
            fields[ours[name]] = value
    return fields, doubled


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
        if holds_citation(fields[name]):
            inner = snake_keys(fields[name])
            del fields[name]
            for key, value in inner.items():
                if not _is_there(fields.get(key)):
                    fields[key] = value
                elif key in _READ and _is_there(value):
                    _refuse_another(key, key, fields[key], f"{name}.{key}", value)


def _refuse_another(field: str, one: str, value: Any, other: str, another: Any) -> None:
    """Refuses a second value of a field: the verdict depends on which of the two is meant."""
    if disagree(field, value, another):
        raise ValueError(f"two values for {field}: {say(one, value, other, another)}; keep the one that is meant")


def holds_citation(value: Mapping[str, Any]) -> bool:
    """Whether an object inside a record holds fields of the citation."""
    return any(isinstance(key, str) and snake(key) in _NESTED for key in value)


# --- what the matcher answered ---------------------------------------------------------------------

Answers = list[tuple[str, Fields]]
"""What further keys give as the matcher's answer, each with its name."""


def _take_output(fields: Fields) -> Answers:
    """Lift what the matcher's output says to the top, where the record has nothing of its own; returns all outputs."""
    names = table("record_names")["output"]
    given = [(name, _read_output(fields[name], name)) for name in names["names"] if name in fields]
    answers = [(name, _answer(output, name)) for name, output in given if output is not None]
    loose = {key: fields.pop(key) for key in names["one_match"] if key in fields}
    if loose and (not given or any(map(_is_there, loose.values()))):
        answers.append(("the record", _answer(loose, "the record")))
    found = list(answers)
    for name, answer in answers:
        for key, value in answer.items():
            if fields.get(key) is None:
                fields[key] = value
        single = [key for key in names["one_match"] if _is_there(answer.get(key))]
        found += [(f"{name}.{key}", {"matches": answer[key]}) for key in single]
    return found


def _read_output(value: Any, name: str) -> Fields | None:
    output = parsed_json(value, name)
    if output is None:
        return None
    if isinstance(output, list):
        output = {"matches": output}
    if not isinstance(output, Mapping):
        raise ValueError(f"{name} is neither an object nor JSON text of one")  # noqa: TRY004
    return snake_keys(output)


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
    if not _by_our_names(output, "match")[0].keys().isdisjoint({*ID_NAMES, "confidence", "score", "candidate"}):
        return {**output, "matches": [output]}
    there = ", ".join(sorted(output)[:8]) or "nothing"
    raise ValueError(f"{name} holds neither matches nor a no_match_reason; there is {there}")


def _refuse_another_answer(fields: Fields, name: str, answer: Fields) -> None:
    """An output that gives other matches than those that were read, or another reason for none."""
    if "matches" in answer:
        read = fields["matches"]
        given = _read_matches(answer["matches"], fields["candidates"])
        if name.rpartition(".")[2] in table("record_names")["output"]["one_match"]:
            read = read[:1]
        if len(read) != len(given) or any(not _is_same_match(*pair) for pair in zip(read, given, strict=True)):
            raise ValueError(f"two answers: {name} gives other matches than the record; keep the one that is judged")
        _fill_in(fields["matches"], given)
    reason, other = fields.get("no_match_reason"), plain_text(answer.get("no_match_reason"))
    if reason is not None and other is not None:
        _refuse_another("no_match_reason", "no_match_reason", reason, f"{name}.no_match_reason", other)


def _is_same_match(one: Any, other: Any) -> bool:
    if not (isinstance(one, Mapping) and isinstance(other, Mapping)):
        return bool(one == other)
    for name in ("decision_id", "reasoning"):
        if one.get(name) is not None and other.get(name) is not None and disagree(name, one[name], other[name]):
            return False
    sure = [_points(item) for item in (one, other)]
    return None in sure or abs(sure[0] - sure[1]) <= _SAME_POINTS  # type: ignore[operator]


def _points(match: Mapping[str, Any]) -> float | None:
    """The confidence of a match in percent, as near as two records of one answer must agree."""
    sure = match.get("confidence")
    if isinstance(sure, float):
        return sure * 100 if sure <= 1 else sure
    return match.get("score")


def _fill_in(matches: list[Any], others: list[Any]) -> None:
    """What one record of an answer leaves out, and the other has."""
    for match, other in zip(matches, others, strict=False):
        if isinstance(match, dict) and isinstance(other, Mapping):
            match.update({name: value for name, value in other.items() if match.get(name) is None})


def _refuse_without_answer(fields: Fields) -> None:
    if fields.get("matches") is None and fields.get("no_match_reason") is None:
        raise ValueError(
            "the matcher's output is missing: give matches (an empty list for none), a no_match_reason, or model_output"
        )


def _read_matches(value: Any, candidates: list[Any]) -> list[Any]:
    return [_match(item, candidates) for item in items(value, "matches")]


def _match(item: Any, candidates: list[Any]) -> Any:
    if isinstance(item, str):
        item = {"decision_id": item}
    if not isinstance(item, Mapping):
        return item
    fields, doubled = _by_our_names(item, "match")
    clean_texts(fields, _MATCH_TEXTS)
    name_id(fields)
    if fields.get("decision_id") is None or _PLACE.fullmatch(str(fields["decision_id"])):
        _by_position(fields, candidates)
    _refuse_another_place(fields["decision_id"], snake_keys(item), candidates)
    for name, per_cent in (("score", 1.0), ("confidence", 100.0)):
        if name in fields:
            fields[name] = amount(fields[name], per_cent)
    fields["reasoning"] = _all_texts(fields.get("reasoning"), "reasoning", doubled)
    # The `id` of a match may count matches; that of a candidate names it.
    named = {name for item in candidates for name in _ids_of(item) if not name.isdigit()}
    also = ("ecli", "id") if str(fields.get("id")) in named else ("ecli",)
    _keep_doubled(fields, [entry for entry in doubled if entry[0] != "reasoning"], also)
    return fields


def _all_texts(text: Any, field: str, doubled: Doubled) -> Any:
    """A text with what further keys add to it: what a matcher wrote is read, wherever it was put."""
    more = [value for name, _, value in doubled if name == field and isinstance(value, str)]
    return "\n".join(dict.fromkeys([text, *more])) if more and isinstance(text, str) else text


def _keep_doubled(fields: Fields, doubled: Doubled, also: tuple[str, ...]) -> None:
    """Keeps further identifiers, those of `also` among them, beside the first; reports any other disagreement."""
    ids = [str(whole_number(value)) for name, _, value in doubled if name in ("decision_id", *also)]
    ids += [str(fields[name]) for name in also if _is_there(fields.get(name))]
    first = str(fields.get("decision_id"))
    fields["other_ids"] = tuple(dict.fromkeys(value for value in ids if disagree("decision_id", first, value)))
    fields["contradictions"] = tuple(
        say(name, fields[name], key, value)
        for name, key, value in doubled
        if name not in ID_NAMES and _is_there(fields.get(name)) and disagree(name, fields[name], value)
    )


def _by_position(fields: Fields, candidates: list[Any]) -> None:
    """A match that names a candidate by its place in the list: "Candidate 2", or an index that can only mean one."""
    written = fields.get("decision_id") or fields.get("candidate")
    place = _PLACE.fullmatch(str(written)) if written is not None and not isinstance(written, bool) else None
    listed = [item.get("decision_id") if isinstance(item, Mapping) else None for item in candidates]
    named = {name for item in candidates for name in _ids_of(item)}
    if place is not None and str(written) in named:
        fields["decision_id"] = written
    elif place is not None and _is_place(fields, named):
        fields["decision_id"] = _at(listed, int(place[1]) - 1)
    elif (index := fields.get("candidate_index")) is not None and not isinstance(index, bool):
        if index not in (0, len(listed)):
            raise ValueError(f"matches: candidate_index {index} may count from 0 or from 1; give decision_id instead")
        fields["decision_id"] = _at(listed, 0 if index == 0 else len(listed) - 1)


def _is_place(fields: Fields, named: set[str]) -> bool:
    """A bare number in place of an id counts places, unless the ids of the list are numbers: then it is one of those
    that is not listed."""
    written = fields.get("decision_id")
    return written is None or not str(written).strip().isdigit() or not any(name.strip().isdigit() for name in named)


def _ids_of(candidate: Any) -> tuple[str, ...]:
    if not isinstance(candidate, Mapping):
        return ()
    return tuple(map(str, (candidate["decision_id"], *candidate["other_ids"])))


_PLACE_NAMES = ("candidate_index", "candidate", "candidate_number", "candidate_no")
"""Not `index` or `position`, which may count the matches."""


def _refuse_another_place(chosen: Any, match: Fields, candidates: list[Any]) -> None:
    """A match whose id is one candidate's and whose place in the list is another's: nobody can say which was meant."""
    for name in _PLACE_NAMES:
        given = match.get(name)
        place = None if given is None or isinstance(given, bool) else _PLACE.fullmatch(str(whole_number(given)))
        if place is None or chosen is None:
            continue
        number = int(place[1])
        places = (number - 1, number) if name == "candidate_index" else (number - 1,)  # an index may count from 0
        meant = [candidates[at] for at in places if 0 <= at < len(candidates)]
        ids = [str(whole_number(given)), *(each for item in meant for each in _ids_of(item))]
        if all(disagree("decision_id", str(chosen), each) for each in ids):
            raise ValueError(f"matches: {name} {given!r} is another candidate than decision_id {chosen!r}; keep one")


def _at(listed: list[Any], index: int) -> Any:
    if not 0 <= index < len(listed):
        raise ValueError(f"matches: there is no candidate {index + 1}; {len(listed)} are listed")
    return listed[index]


# --- candidates ------------------------------------------------------------------------------------


def _read_candidates(fields: Fields) -> list[Any]:
    listed, text = fields.get("candidates"), fields.pop("candidates_list", None)
    if listed is None:
        listed, text = text, None
    found = [_candidate(item) for item in _candidate_items(listed)]
    if _is_there(text):
        try:
            other = [_candidate(item) for item in _candidate_items(text)]
        except ValueError:
            return found  # a list for people to read
        if {_name(item) for item in found} != {_name(item) for item in other}:
            raise ValueError("candidates and candidates_list name different decisions; keep one of them")
    return found


def _name(candidate: Any) -> str:
    named = candidate.get("decision_id") if isinstance(candidate, Mapping) else candidate
    return "".join(str(named).casefold().split())


def _candidate_items(value: Any) -> list[Any]:
    """A list, JSON text of one, or the list as a prompt would show it."""
    if isinstance(value, Mapping) and value and all(isinstance(item, Mapping) for item in value.values()):
        raise ValueError("candidates is an object of objects: give a list, each with its decision_id")
    if isinstance(value, str) and not is_absent(value):
        try:
            return items(value, "candidates")
        except ValueError:
            return candidates_in_text(value)
    return items(value, "candidates")


def _candidate(item: Any) -> Any:
    if not isinstance(item, Mapping):
        return item
    fields, doubled = _by_our_names(item, "candidate")
    _split_court_names(fields)
    _take_ecli(fields)
    numbers = [value for name, _, value in doubled if name == "rol_number"]
    if numbers or isinstance(fields.get("rol_number"), list | tuple):
        fields["rol_number"] = _joined(_flat([fields.get("rol_number"), *numbers]))
    clean_texts(fields, _CANDIDATE_TEXTS)
    name_id(fields)
    for name in ("teaching_texts", "summaries"):
        more = [value for field, _, value in doubled if field == name]
        given = [fields[name], *more] if fields.get(name) is not None else more
        fields[name] = tuple(dict.fromkeys(text for value in given for text in texts(value)))
    _keep_doubled(fields, [entry for entry in doubled if entry[0] not in _GATHERED], ("ecli", "id"))
    return fields


_GATHERED = frozenset({"rol_number", "teaching_texts", "summaries"})


def _flat(values: Sequence[Any]) -> list[Any]:
    return [item for value in values for item in (value if isinstance(value, list | tuple) else [value])]


def ecli_names() -> tuple[str, ...]:
    """What an ECLI may be called where it lies in an object of a candidate."""
    return ("ecli", *table("record_names")["candidate"]["ecli"])


def _take_ecli(fields: Fields) -> None:
    """The ECLI of a candidate that is known by another id, where it lies one level down or under a longer name."""
    if _is_there(fields.get("ecli")) or parse_ecli(str(fields.get("decision_id") or "")):
        return
    names = ecli_names()
    for value in [value for value in fields.values() if isinstance(value, Mapping)]:
        inner = snake_keys(value)
        found = [inner[name] for name in names if isinstance(inner.get(name), str) and parse_ecli(inner[name])]
        if found:
            fields["ecli"] = found[0]
            return


def _joined(numbers: Sequence[Any]) -> str | None:
    given = (str(number) for number in numbers if number is not None and _is_there(number))
    return "; ".join(dict.fromkeys(given)) or None


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
    decision = None if isinstance(value, str) and _absence(value) == "not known" else whole_number(plain_text(value))
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
