"""A case of a run that is worth a look: its id, what a field of its verdict says, and the reason in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from krino.contract import Status
from krino.reports.clean import clean_line
from krino.reports.codes import codes_of
from krino.reports.wording import figure
from krino.runs.fields import fields_of

WORST = 10
"""How many cases are named where nobody says how many."""
_LONGEST = 400
_WHOLE_VERDICT = ("reason", "explanation", "rationale")
"""Fields by which judges explain all of their verdict."""


class NamedCase(BaseModel):
    """A case that is worth a look, and why it got what it got."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    status: Status
    value: Any = None
    """Of the field that is looked at; null where the case has no verdict, or the field is null."""
    before: Any = None
    """Of a comparison: the same field in the other run."""
    reason: str
    inputs: dict[str, Any] = {}
    """The main inputs of the case (its question and answer, say), where the judgement carries them."""

    @property
    def shown(self) -> str:
        """The value in a few characters; of a change, both."""
        value = value_text(self.value) if self.status == "ok" else "no verdict"
        return value if self.before is None else f"{value_text(self.before)} → {value}"


def named_case(judgement: Mapping[str, Any], field: str | None, rules: Mapping[str, str] | None = None) -> NamedCase:
    """A judgement as it stands in the journal, by one field of its verdict (None: by whether it has one)."""
    ok = judgement["status"] == "ok"
    return NamedCase(
        id=str(judgement["id"]),
        status=judgement["status"],
        value=fields_of(judgement).get(field) if ok and field is not None else None,
        reason=reason_of(judgement, field, rules),
        inputs={name: _short(value) for name, value in (judgement.get("inputs") or {}).items()},
    )


def value_text(value: Any) -> str:
    """A value of a verdict in a few characters."""
    if isinstance(value, float):
        return figure(value)
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else value
    return clean_line(text, 60) if isinstance(text, str) else orjson.dumps(text, default=str).decode()


def reason_of(judgement: Mapping[str, Any], field: str | None, rules: Mapping[str, str] | None = None) -> str:
    """Why a field is what it is, on one line: what went wrong, the explanation given, or the rule and its evidence."""
    return next((clean_line(text, _LONGEST) for text in _reasons(judgement, field, rules or {}) if text.strip()), "")


def _short(value: Any) -> Any:
    return clean_line(value, _LONGEST) if isinstance(value, str) else value


def _reasons(judgement: Mapping[str, Any], field: str | None, rules: Mapping[str, str]) -> Iterator[str]:
    """All that could be said, the most telling first."""
    if judgement["status"] != "ok":
        yield str(judgement.get("reason") or judgement.get("error") or "")
        return
    verdict = judgement.get("verdict") or {}
    for name in (f"{field}_explanation", f"{field}_reason", *_WHOLE_VERDICT):
        if name != field and isinstance(verdict.get(name), str):
            yield verdict[name]
    rule = (judgement.get("rules") or {}).get(field, "")
    evidence = "; ".join(str(item) for item in (judgement.get("evidence") or {}).get(field) or ())
    if rule in rules:
        yield f"{rules[rule]} ({evidence})" if evidence else rules[rule]
    yield evidence
    for name, value in verdict.items():
        if name != field and isinstance(value, str) and codes_of(value) is None:
            yield value
    yield f"rule {rule}" if rule else ""
