"""Why a field of a verdict is what it is, in the verdict's own words, and by which rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krino.reports.codes import codes_of

_WHY = ("reason", "reasons", "reasoning", "rationale", "explanation", "why", "note", "notes", "comment")


def explanation(judgement: Mapping[str, Any], field: str) -> str | None:
    """The field that explains this one (`score_explanation` beside `score`), else the evidence."""
    own = _beside(judgement.get("verdict") or {}, field)
    return own if own is not None else "; ".join((judgement.get("evidence") or {}).get(field) or ()) or None


def reason(judgement: Mapping[str, Any], field: str) -> str | None:
    """Why a case stands where it does: why it was not judged, or what is said of the field, or of the whole."""
    if judgement["status"] != "ok":
        return judgement.get("reason") or judgement.get("error")
    verdict: Mapping[str, Any] = judgement.get("verdict") or {}
    if own := _beside(verdict, field):
        return own
    texts = {name: value for name, value in verdict.items() if isinstance(value, str) and value}
    if named := [value for name, value in texts.items() if name.lower().endswith(_WHY)]:
        return named[0]
    longest = max((value for value in texts.values() if codes_of(value) is None), key=len, default=None)
    return longest or explanation(judgement, field)


def _beside(verdict: Mapping[str, Any], field: str) -> str | None:
    found = (value for name, value in verdict.items() if name.startswith(f"{field}_") and isinstance(value, str))
    return next(found, None)


def rule_in_words(rule: str, rules: Mapping[str, str]) -> str:
    """The rule's id with what it says; the id alone where the judge's rules are not at hand."""
    return f"{rule}: {rules[rule]}" if rule in rules else rule
