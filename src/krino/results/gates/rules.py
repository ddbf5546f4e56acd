"""Parses the rules of a gate: `faithfulness=0.8`, `match:exact=95%`, `pass=90%`, `failed=1%`, and rules about single
cases: `faithfulness:below:0.5=5%`, `pass:to:fail=0`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from krino.contract.judgement import as_word
from krino.errors import UsageProblem
from krino.results.field_kinds import ROLL_UP, ROLL_UPS, as_number
from krino.stats.arrays import Floats

LimitKind = Literal["min", "max", "may_fall", "may_rise"]
KINDS: tuple[LimitKind, ...] = get_args(LimitKind)
COMPARING: tuple[LimitKind, ...] = ("may_fall", "may_rise")
FAILED = "failed"
NULL = "null"
TO = "to"
_BEYOND = re.compile(r"(.+):(below|above):([^:]+)")
TOLERANCE = 1e-9
"""For rounding errors: a mean of 0.8 may be computed as 0.7999999999999999."""


@dataclass(frozen=True)
class Beyond:
    """Cases whose number is below or above another one."""

    side: Literal["below", "above"]
    number: float

    def excess(self, numbers: Floats) -> Floats:
        """How far beyond each number is; nan stays nan."""
        return self.number - numbers if self.side == "below" else numbers - self.number

    def includes(self, numbers: Floats) -> NDArray[np.bool_]:
        """Which numbers are beyond it; nan is not."""
        return np.nan_to_num(self.excess(numbers), nan=-1.0) > TOLERANCE

    def includes_value(self, value: Any) -> bool | None:
        """Whether a value of a single case is beyond it; None if it is not a number."""
        number = as_number(value)
        return None if number is None else bool(self.includes(np.array([number]))[0])

    def __str__(self) -> str:
        return f"{self.side}:{self.number:.10g}"


@dataclass(frozen=True)
class Target:
    """What a rule limits: the mean of a field, the share of one of its labels, or (without a field) failed cases."""

    field: str | None
    label: str | None = None
    beyond: Beyond | None = None
    """Only the cases whose number is beyond this one."""
    to: str | None = None
    """Only the cases that had the label in the other run and have this one now."""

    @property
    def is_count(self) -> bool:
        """Whether this is counted exactly (failed cases, nulls) and not estimated, so that it has no interval."""
        return self.field is None or self.label == NULL

    @property
    def is_mean(self) -> bool:
        return self.field is not None and self.label is None and self.beyond is None

    @property
    def names_cases(self) -> bool:
        """Whether the rule is about single cases, which can be limited to a number of them."""
        return self.field is None or self.beyond is not None or self.to is not None

    def answer_in(self, fields: Mapping[str, Any]) -> bool | None:
        """Whether these fields have the label, or a number beyond the given one; None if they do not say."""
        value = fields.get(self.field or "")
        if value is None or self.to is not None:
            return None
        if self.beyond is not None:
            return self.beyond.includes_value(value)
        if self.label is None:
            return None
        words = value if isinstance(value, list) else [as_word(value)]
        return self.label.casefold() in (str(word).casefold() for word in words)

    def __str__(self) -> str:
        if self.field is None:
            return FAILED
        if self.beyond is not None:
            return f"{self.field}:{self.beyond}"
        if self.to is not None:
            return f"{replace(self, to=None)}:{TO}:{self.to}"
        if self.field == ROLL_UP and self.label in ROLL_UPS:
            return self.label
        return self.field if self.label is None else f"{self.field}:{self.label}"


@dataclass(frozen=True)
class RuleLimit:
    """A number; `is_share` if it was written with a percent sign."""

    amount: float
    is_share: bool = False

    def __str__(self) -> str:
        return f"{100 * self.amount:.10g}%" if self.is_share else f"{self.amount:.10g}"


@dataclass(frozen=True)
class Rule:
    kind: LimitKind
    target: Target
    limit: RuleLimit
    warns: bool = False
    """Whether the gate passes although the rule is broken, with a warning."""

    @property
    def is_exact(self) -> bool:
        """Whether cases are counted and not estimated, so that there is no interval."""
        return self.target.is_count or (self.target.names_cases and not self.limit.is_share)

    @property
    def is_minimum(self) -> bool:
        """Whether values below the limit break the rule (otherwise those above)."""
        return self.kind in ("min", "may_fall")

    @property
    def compares_runs(self) -> bool:
        return self.kind in COMPARING or self.target.to is not None

    @property
    def threshold(self) -> float:
        """The value that must not be passed; a fall is a negative change."""
        return -self.limit.amount if self.kind == "may_fall" else self.limit.amount

    def allows(self, value: float) -> bool:
        """Does the rule hold for this value?"""
        return value >= self.threshold - TOLERANCE if self.is_minimum else value <= self.threshold + TOLERANCE

    def __str__(self) -> str:
        return f"{'warn ' * self.warns}{self.kind.replace('_', '-')} {self.target}={self.limit}"


def parse_flags(kind: LimitKind, pairs: Iterable[str]) -> list[Rule]:
    """Parses the rules of one flag, such as `--min faithfulness=0.8`."""
    flag = f"--{kind.replace('_', '-')}"
    rules = []
    for pair in pairs:
        target, equals, limit = pair.rpartition("=")
        if not (target.strip() and equals and limit.strip()):
            raise UsageProblem(f"{flag} {pair}: write it as FIELD=NUMBER or FIELD:LABEL=SHARE%, as faithfulness=0.8")
        rules.append(_make_rule(kind, target.strip(), limit.strip(), f"{flag} {pair}"))
    return rules


def parse_table(kind: LimitKind, table: Mapping[str, Any], where: str) -> list[Rule]:
    """Parses the rules of a table in a settings file: target to limit, where a share is text (`"90%"`)."""
    rules = []
    for target, limit in table.items():
        if isinstance(limit, bool) or not isinstance(limit, str | int | float):
            raise UsageProblem(f'{where}: `{target}` needs a number, or a share as "90%"')
        rules.append(_make_rule(kind, target, str(limit), f"{where}: {target} = {limit}"))
    return rules


def parse_warnings(texts: Iterable[str], where: str) -> list[Rule]:
    """Parses rules that only warn, each with its kind: `min faithfulness=0.9`."""
    rules = []
    for text in texts:
        kind, _, pair = text.strip().partition(" ")
        name = kind.replace("-", "_")
        if name not in KINDS:
            raise UsageProblem(f"{where} {text}: begin with min, max, may-fall or may-rise, as: min faithfulness=0.9")
        rules += [replace(rule, warns=True) for rule in parse_flags(name, [pair])]
    return rules


def merge_rules(*lists: Sequence[Rule]) -> list[Rule]:
    """Returns all rules; later lists override earlier ones. Two rules of one list about the same thing are refused."""
    for rules in lists:
        seen: dict[tuple[LimitKind, Target, bool], Rule] = {}
        for rule in rules:
            before = seen.setdefault((rule.kind, rule.target, rule.warns), rule)
            if before is not rule:
                raise UsageProblem(f"{before} and {rule} limit the same thing: keep one of the two")
    return list({(rule.kind, rule.target, rule.warns): rule for rules in lists for rule in rules}.values())


def _make_rule(kind: LimitKind, target_text: str, limit_text: str, where: str) -> Rule:
    """Makes a rule from its parts; raises `UsageProblem` for combinations that mean nothing, and limits that nothing
    breaks."""
    target, limit = parse_target(target_text), _parse_limit(limit_text, where)
    if target.field is None:
        if kind != "max":
            raise UsageProblem(f"{where}: failed cases can only be limited from above, with max")
        if not limit.is_share and not limit.amount.is_integer():
            raise UsageProblem(f"{where}: write a share as 1% or a whole number of cases")
    elif target.beyond is not None or target.to is not None:
        _refuse_per_case(kind, target, limit, where)
    elif target.label is None and limit.is_share:
        raise UsageProblem(f"{where}: a share is that of a label: write {target_text}:LABEL={limit_text}")
    elif target.label is not None and not limit.is_share:
        raise UsageProblem(f"{where}: a label has a share: write {target_text}=90%")
    if target.label == NULL and kind != "max":
        raise UsageProblem(f"{where}: nulls can only be limited from above, with max")
    if (limit.is_share and not 0 <= limit.amount <= 1) or (kind in COMPARING and limit.amount < 0):
        raise UsageProblem(f"{where}: {'a share lies in 0% to 100%' if limit.is_share else 'a margin is not negative'}")
    rule = Rule(kind, target, limit)
    if limit.is_share and not rule.is_exact and rule.allows(0.0 if kind == "min" else -1.0 if rule.is_minimum else 1.0):
        raise UsageProblem(f"{where}: nothing can break this limit; leave it out or set one that can be broken")
    return rule


def _refuse_per_case(kind: LimitKind, target: Target, limit: RuleLimit, where: str) -> None:
    """Refuses limits that do not suit a rule about single cases."""
    if target.to is not None and kind != "max":
        raise UsageProblem(f"{where}: changes from one label to another can only be limited from above, with max")
    if kind in COMPARING:
        raise UsageProblem(f"{where}: limit these cases with min or max")
    if not limit.is_share and (kind == "min" or limit.amount < 0 or not limit.amount.is_integer()):
        raise UsageProblem(f"{where}: write a share as 5%, or with max a whole number of cases")


def parse_target(text: str) -> Target:
    """Parses `field`, `field:label`, `pass`, `failed`, `field:below:0.5`, `field:label:to:label`, `pass:to:fail`."""
    if text == FAILED:
        return Target(None)
    if (found := _BEYOND.fullmatch(text)) is not None and (number := _parse_number(found[3])) is not None:
        return Target(found[1], beyond=Beyond("below" if found[2] == "below" else "above", number))
    before, changes, after = text.partition(f":{TO}:")
    if changes and before and after:
        return replace(_parse_label_target(before), to=after)
    return _parse_label_target(text)


def _parse_label_target(text: str) -> Target:
    """Parses `pass`, `FIELD` or `FIELD:LABEL`."""
    if text in ROLL_UPS:
        return Target(ROLL_UP, text)
    field, colon, label = text.partition(":")
    return Target(field, label if colon else None)


def _parse_number(text: str) -> float | None:
    """Parses a finite number; returns None for anything else."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _parse_limit(text: str, where: str) -> RuleLimit:
    """Parses a limit: a number, or a share with a percent sign. Raises `UsageProblem` for anything else."""
    is_share = text.endswith("%")
    amount = _parse_number(text.removesuffix("%"))
    if amount is None:
        raise UsageProblem(f"{where}: `{text}` is not a number or a share")
    return RuleLimit(amount / 100 if is_share else amount, is_share)
