"""Decides about one case by gate rules: pass or block, and by which rule. Fails closed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from krino.errors import UsageProblem
from krino.results import FrozenModel
from krino.results.explanations import explain_value, format_value
from krino.results.field_kinds import as_codes, as_number, fields_of
from krino.results.formatting import format_number
from krino.results.gates.rules import NULL, LimitKind, Rule, Target, parse_flags

Outcome = Literal["pass", "block"]
NOT_JUDGED = "not judged"
"""Given as the rule that blocks a case without a verdict."""
EXAMPLE = "rag min faithfulness=0.8"


class Decision(FrozenModel):
    """What to do with one case."""

    id: str
    decision: Outcome
    rule: str | None = None
    """The first rule that the case breaks, or `not judged`; None if it passes."""
    reason: str | None = None
    """Why the case breaks that rule."""
    warnings: tuple[str, ...] = ()
    """Rules that only warn and that the case breaks."""


def parse_case_rules(texts: Iterable[str], where: str) -> dict[str, list[Rule]]:
    """Parses rules about single cases, by the name of their judge: `rag min faithfulness=0.8`, `rag warn max
    hallucination_risk=0.3`."""
    rules: dict[str, list[Rule]] = {}
    for text in texts:
        judge, _, rest = text.strip().partition(" ")
        warns = rest.startswith("warn ")
        word, _, pair = rest.removeprefix("warn ").strip().partition(" ")
        if word not in ("min", "max"):
            raise UsageProblem(f"{where} {text}: write JUDGE, min or max, and a rule, as: {EXAMPLE}")
        kind: LimitKind = "min" if word == "min" else "max"
        (rule,) = parse_flags(kind, [pair])
        _refuse_rule_of_runs(rule, f"{where} {text}")
        rules.setdefault(judge, []).append(Rule(rule.kind, rule.target, rule.limit, warns))
    return rules


def _refuse_rule_of_runs(rule: Rule, where: str) -> None:
    """Raises `UsageProblem` for rules about a whole run or two runs, and for those that one case cannot break."""
    if rule.target.field is None:
        raise UsageProblem(f"{where}: leave it out; a case that was not judged is always blocked")
    if rule.compares_runs:
        raise UsageProblem(f"{where}: a single case has no other run to be compared with")
    if rule.target.names_cases and rule.allows(1.0):
        raise UsageProblem(f"{where}: one case cannot break this limit; write 0")


def decide_case(judgement: Mapping[str, Any], rules: Sequence[Rule], texts: Mapping[str, str]) -> Decision:
    """Decides about a case: blocks one without a verdict, and one that breaks a rule that does not only warn.

    `texts`: what the judge's own rules say, by id.
    """
    name = str(judgement["id"])
    if judgement["status"] != "ok":
        return Decision(id=name, decision="block", rule=NOT_JUDGED, reason=explain_value(judgement, None))
    fields = fields_of(judgement)
    broken = [rule for rule in rules if not _holds(rule, fields)]
    warnings = tuple(f"{rule}: {_explain(rule, judgement, fields, texts)}" for rule in broken if rule.warns)
    blocking = next((rule for rule in broken if not rule.warns), None)
    if blocking is None:
        return Decision(id=name, decision="pass", warnings=warnings)
    reason = _explain(blocking, judgement, fields, texts)
    return Decision(id=name, decision="block", rule=str(blocking), reason=reason, warnings=warnings)


def _holds(rule: Rule, fields: Mapping[str, Any]) -> bool:
    """Does the case keep the rule? One without a value does not."""
    value = _measure(rule.target, fields)
    return value is not None and rule.allows(value)


def _measure(target: Target, fields: Mapping[str, Any]) -> float | None:
    """What a rule limits, of one case: its number, or 1 or 0 for a label that it has or has not. None: no value."""
    value = fields.get(target.field or "")
    if target.label == NULL:
        return float(value is None)
    if target.beyond is not None:
        is_beyond = target.beyond.includes_value(value)
        return None if is_beyond is None else float(is_beyond)
    if target.label is None:
        return as_number(value)
    codes = as_codes(value)
    return None if codes is None else float(target.label in codes)


def _explain(rule: Rule, judgement: Mapping[str, Any], fields: Mapping[str, Any], texts: Mapping[str, str]) -> str:
    """What the case has in the field of a rule, the limit, and the judge's reason."""
    field = rule.target.field or ""
    value = fields.get(field)
    shown = "has no value" if value is None else f"is {format_value(value)}"
    limit = "" if rule.target.label or rule.target.beyond else f", the limit {format_number(rule.limit.amount)}"
    why = explain_value(judgement, field, texts)
    return f"{field} {shown}{limit}" + (f": {why}" if why else "")
