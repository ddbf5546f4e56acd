"""Why a field of a verdict is what it is, in the verdict's own words, and by which rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def explanation(judgement: Mapping[str, Any], field: str) -> str | None:
    """The field that explains this one (`score_explanation` beside `score`), else the evidence."""
    own = _beside(judgement.get("verdict") or {}, field)
    return own if own is not None else "; ".join((judgement.get("evidence") or {}).get(field) or ()) or None


def _beside(verdict: Mapping[str, Any], field: str) -> str | None:
    found = (value for name, value in verdict.items() if name.startswith(f"{field}_") and isinstance(value, str))
    return next(found, None)


def rule_in_words(rule: str, rules: Mapping[str, str]) -> str:
    """The rule's id with what it says; the id alone where the judge's rules are not at hand."""
    return f"{rule}: {rules[rule]}" if rule in rules else rule
