"""An audit written from the rubric before anything was run: cases by group, and wordings of five errors."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from citation_cases import JUDGE, settle
from krino.errors import CannotJudge

FOLDER = Path(__file__).parent / "audit"
GROUPS = sorted(path.stem for path in FOLDER.glob("*.jsonl"))
AS_EXPECTED = 0.95
# The shares that are reached, of the wordings looked at while building and of those kept aside alike, so that no change
# loses what there is. Raise them with the code, never lower them.
RECOGNISED = {
    "FR_NL_CONFUSION": 0.83,
    "ABBREVIATION_MISSED": 0.88,
    "GENERIC_OVERPUNISHED": 0.84,
    "MISSING_CASE_NUMBER_PENALIZED": 0.88,
    "OVERFIT_TO_KEYWORDS": 0.93,
}
UNALARMED = {
    "FR_NL_CONFUSION": 0.96,
    "ABBREVIATION_MISSED": 1.0,
    "GENERIC_OVERPUNISHED": 1.0,
    "MISSING_CASE_NUMBER_PENALIZED": 0.95,
    "OVERFIT_TO_KEYWORDS": 1.0,
}
_SIDE_BY_SIDE = "two courts named side by side are no cue: only these cases held that rule"
KNOWN: dict[str, str] = {
    "reasoned-a01-en": _SIDE_BY_SIDE,
    "reasoned-a02-fr": _SIDE_BY_SIDE,
    "reasoned-a03-nl": _SIDE_BY_SIDE,
    "reasoned-a04-de": _SIDE_BY_SIDE,
    "reasoned-a07-en": _SIDE_BY_SIDE,
    "reasoned-a10-en": _SIDE_BY_SIDE,
    "reasoned-a13-en": "a name that is only guessed at is taken for one that was read",
    "reasoned-b01-en": _SIDE_BY_SIDE,
    "reasoned-b03-nl": _SIDE_BY_SIDE,
    "reasoned-b07-nl": _SIDE_BY_SIDE,
    "reasoned-b09-en": _SIDE_BY_SIDE,
    "reasoned-b13-fr": "an abbreviation said to mean another court: no cue for 'désigne'",
    "contradiction-4": "only a number that is denied is a contradiction, not a court",
    "invented-3": "a court that is nowhere in the case is not looked for",
}
"""Cases that differ from the expectation, each with the reason."""

Row = dict[str, Any]
WORDINGS: list[Row] = tomllib.loads((FOLDER / "wordings.toml").read_text(encoding="utf-8"))["set"]
ERRORS = sorted({wording["error"] for wording in WORDINGS})


@cache
def rows(group: str) -> list[Row]:
    lines = (FOLDER / f"{group}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def given(record: Row) -> Row:
    """The verdict as plain fields, with its roll-up; or the refusal and its reason."""
    try:
        rulings = settle(record).rulings
    except CannotJudge as refusal:
        return {"status": "failed", "reason": str(refusal)}
    verdict = {name: ruling.value for name, ruling in rulings.items()}
    rolled = JUDGE.roll_up(verdict, {name: ruling.rule for name, ruling in rulings.items()})
    plain: Row = json.loads(json.dumps(verdict | {"status": "ok", "roll_up": rolled, "reason": ""}))
    return plain


def errors_hold(wanted: Row, errors: list[str]) -> bool:
    return set(wanted.get("has", ())) <= set(errors) and not set(wanted.get("not", ())) & set(errors)


def within(bounds: list[float], value: Any) -> bool:
    low, high = bounds
    values = value if isinstance(value, list) else [value]
    return all(isinstance(number, int | float) and low <= number <= high for number in values)


def holds(wanted: Any, value: Any) -> bool:
    if not isinstance(wanted, dict):
        return bool(wanted == value)
    text = str(value or "").lower()
    checks: dict[str, Callable[[Any], bool]] = {
        "any": lambda options: value in options,
        "none_of": lambda options: value not in options,
        "range": lambda bounds: within(bounds, value),
        "contains": lambda part: str(part).lower() in text,
        "lacks": lambda part: str(part).lower() not in text,
        "some": lambda _: bool(text),
    }
    if wanted.keys() & {"has", "not"}:
        return isinstance(value, list) and errors_hold(wanted, value)
    return all(checks[name](argument) for name, argument in wanted.items())


def differences(expect: Row, verdict: Row) -> list[str]:
    """What is not as expected, each as field, expectation and what was given."""
    found = []
    for field, wanted in expect.items():
        if field == "any_of":
            if all(differences(option, verdict) for option in wanted):
                found.append(f"none of {len(wanted)} readings: {differences(wanted[0], verdict)}")
        elif field == "reason_has":
            if str(wanted).lower() not in verdict["reason"].lower():
                found.append(f"reason: {wanted!r} not in {verdict['reason']!r}")
        elif not holds(wanted, verdict.get(field)):
            found.append(f"{field}: {wanted} expected, {verdict.get(field)} given")
    if verdict["status"] == "failed" and not expect.keys() & {"status", "any_of"}:
        found.insert(0, f"refused: {verdict['reason']}")
    return found


@cache
def differing(group: str) -> dict[str, list[str]]:
    found = {row["id"]: differences(row["expect"], given(row["case"])) for row in rows(group)}
    return {name: items for name, items in found.items() if items}


def told(found: dict[str, list[str]]) -> str:
    return "".join(f"\n  {name}: " + "; ".join(items) for name, items in found.items())


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_of_the_audit_is_as_expected(group: str) -> None:
    unknown = {name: items for name, items in differing(group).items() if name not in KNOWN}
    share = 1 - len(unknown) / len(rows(group))
    assert share >= AS_EXPECTED, f"{group}: {len(unknown)} of {len(rows(group))} differ{told(unknown)}"


def test_the_whole_audit_is_as_expected_known_differences_included() -> None:
    found = {name: items for group in GROUPS for name, items in differing(group).items()}
    total = sum(len(rows(group)) for group in GROUPS)
    assert total >= 580
    assert 1 - len(found) / total >= AS_EXPECTED, f"{len(found)} of {total} differ: {sorted(found)}"


def test_what_is_known_to_differ_still_does() -> None:
    found = {name for group in GROUPS for name in differing(group)}
    assert KNOWN.keys() <= found, sorted(KNOWN.keys() - found)


def test_every_case_of_the_audit_has_an_id_of_its_own_and_a_reason() -> None:
    listed = [row for group in GROUPS for row in rows(group)]
    assert len({row["id"] for row in listed}) == len(listed)
    assert all(row["why"] and row["expect"] and row["group"] in GROUPS for row in listed)


@cache
def errors_of(base: str, reasoning: str) -> frozenset[str]:
    record = json.loads(base, object_hook=lambda part: put_in(part, reasoning))
    return frozenset(given(record)["errors"])


def put_in(part: Row, reasoning: str) -> Row:
    return {name: reasoning if value == "{reasoning}" else value for name, value in part.items()}


def outcomes(error: str, key: str) -> dict[str, bool]:
    """For each text of one list of an error, over all languages: whether the error is in the verdict."""
    return {
        f"[{wording['language']}] {text}": error in errors_of(wording["record"], text)
        for wording in WORDINGS
        if wording["error"] == error
        for text in wording[key]
    }


def wrong(error: str, key: str, there: bool) -> tuple[float, str]:
    """The share of a list that is not as it must be, and which; of what is kept aside only how many, by language."""
    seen = outcomes(error, key)
    texts = [text for text, found in seen.items() if found is not there]
    counts = dict(Counter(text[1:3] for text in texts))
    listed = [] if key.endswith("_aside") else texts
    return len(texts) / len(seen), "\n".join([f"{error}, {key}: {len(texts)} of {len(seen)} wrong, {counts}", *listed])


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("key", ["commits", "commits_aside"])
def test_a_reasoning_that_commits_an_error_is_recognised(error: str, key: str) -> None:
    share, message = wrong(error, key, there=True)
    assert 1 - share >= RECOGNISED[error], message


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("key", ["innocent", "innocent_aside"])
def test_a_reasoning_that_does_not_commit_an_error_raises_no_alarm(error: str, key: str) -> None:
    share, message = wrong(error, key, there=False)
    assert 1 - share >= UNALARMED[error], message
