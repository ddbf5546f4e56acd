"""Checks a run against rules. Fails closed: unjudged cases, unfinished runs and missing fields never pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from krino.contract.identity import hash_fingerprint
from krino.errors import UsageProblem
from krino.results.agreement.labels import Labels
from krino.results.comparison.compare import differing_settings
from krino.results.comparison.matching import Pairs, match_cases
from krino.results.explanations import DEFAULT_WORST
from krino.results.formatting import format_count, format_start, join_first, judge_name, run_labeller_name
from krino.results.gates.decision import decide_rule
from krino.results.gates.measures import Measure, PairedField, measure, measure_change, pair_field
from krino.results.gates.repeats import Repeats, find_seats
from krino.results.gates.result import Check, GateResult
from krino.results.gates.rules import NULL, Rule, RuleLimit, Target
from krino.results.gates.validate import Validator
from krino.results.gates.violations import (
    CheckedRule,
    Violations,
    add_worst_cases,
    find_changes_for_worse,
    find_unjudged,
    find_violations,
)
from krino.results.table import Mask, Places, Table, read_table, slice_name
from krino.results.true_rate import TrueRate, true_rate
from krino.runs.manifest import Manifest
from krino.runs.stored_run import load_stored_run
from krino.stats.confidence_intervals import FEW
from krino.text.clean import clean_line

_LISTED = 5
_LONGEST_REASON = 1_000


def check_comparable(base: Table, run: Table, pairs: Pairs) -> Iterator[CheckedRule]:
    """Yields checks that two runs may be compared: finished, same cases, same judge."""
    state = base.manifest.state
    if state != "finished":
        yield _make_check("other run finished", False, f"{base.folder} is {_describe_state(base.manifest)}", len(base))
    yield _check_same_cases(base, pairs)
    yield _check_matching(base, run, pairs)
    yield _check_same_judge(base, run)


def _describe_state(manifest: Manifest) -> str:
    """The state; of an unfinished run with the known reason, such as missing shards or a spent budget."""
    reason = clean_line(manifest.stop_reason or "", _LONGEST_REASON)
    return f"{manifest.state}: {reason}" if reason and manifest.state != "finished" else manifest.state


def _check_same_cases(base: Table, pairs: Pairs) -> CheckedRule:
    """Checks that every case of the other run is in this one: a missing one may be the case that got worse."""
    if missing := len(pairs.only_a):
        message = f"{missing:,} cases of {base.folder} are not in this run: {_list_ids(base, pairs.only_a)}"
    else:
        message = f"all {len(base):,} cases of {base.folder} are in this run"
    if pairs.repeated:
        message += f"; {pairs.repeated:,} ids belong to several cases, which are matched by content"
    lost = Violations(base, "not in this run", pairs.only_a, shared_reason=f"in {base.folder}, and not in this run")
    return _make_check("same cases", not missing, message, len(pairs), lost)


def _check_matching(base: Table, run: Table, pairs: Pairs) -> CheckedRule:
    """Checks that matched cases are known to be the same.

    They may differ in content if they share an id of their own, as a new system's answers do. Cases that only share a
    line number may be unrelated.
    """
    other = pairs.other_content
    in_base, in_run = pairs.a[other], pairs.b[other]
    unknown = in_base[base.positional[in_base] | run.positional[in_run]]
    if len(unknown):
        message = (
            f"{len(unknown):,} cases have different content in {base.folder}, and no id of their own to show that they "
            f"are the same: {_list_ids(base, unknown)}; give each case an `id` that is the same in both inputs"
        )
    elif len(other):
        named = _list_ids(base, in_base)
        message = f"matched by id; {len(other):,} of {len(pairs):,} cases have different content there: {named}"
    else:
        message = f"all {len(pairs):,} cases have the same content there"
    why = f"different content in {base.folder}, and no id of its own"
    others = Violations(base, "with different content", unknown, shared_reason=why)
    return _make_check("cases matched", not len(unknown), message, len(pairs), others)


def _check_same_judge(base: Table, run: Table) -> CheckedRule:
    """Checks that the judges of both runs have the same name; other settings may differ, and are listed.

    Two judges that use the same field name do not measure the same thing.
    """
    there, here = (clean_line(str(one.manifest.plan.judge.get("name")), 60) for one in (base, run))
    if here != there:
        return _make_check("same judge", False, f"{base.folder} was judged by {there}, this run by {here}", len(run))
    others = list(differing_settings(base, run))
    message = (
        f"{here}; settings differ (A is {base.folder}): {join_first(others, _LISTED, len(others))}" if others else here
    )
    return _make_check("same judge", True, message, len(run))


def _make_check(rule: str, holds: bool, message: str, cases: int, violations: Violations | None = None) -> CheckedRule:
    """A check that does not depend on the rules."""
    return CheckedRule(
        Check(rule=rule, outcome="holds" if holds else "broken", message=message, cases=cases), violations
    )


def _list_ids(run: Table, places: Places) -> str:
    return join_first((clean_line(run.ids[place], 60) for place in places), _LISTED, len(places))


NONE_FAILED = Rule("max", Target(None), RuleLimit(0.0))
"""The default limit on cases without a verdict."""
_NO_SINGLE_CASE = "no single case breaks it: with more cases the interval would be narrower"
_MOST_SMALL = 100  # small slices that are listed: a column with thousands of values is not one to gate by


@dataclass(frozen=True)
class Gate:
    """The rules, and how to apply them."""

    rules: Sequence[Rule] = ()
    by: Sequence[tuple[str, ...]] = ()
    point: bool = False
    """Compare the value itself with the limit, instead of the worse end of its interval."""
    few: int = FEW
    """Slices with fewer cases are shown but not gated."""
    base: Path | None = None
    """The run that `may_fall` and `may_rise` compare with."""
    worst: int = DEFAULT_WORST
    """How many cases to name for each broken rule."""
    measured: bool = False
    """Refuse a run whose judge has no measured agreement with people that belongs to it."""
    labels: Labels | None = None
    """Labels of people: rules are checked against the true rates and means that follow from them and the verdicts."""

    def with_limit_on_failed(self) -> Gate:
        """The gate with its limit on failed cases first, by default none: all other rules depend on it."""
        failed = [rule for rule in self.rules if rule.target.field is None]
        if all(rule.warns for rule in failed):
            failed = [NONE_FAILED, *failed]
        return replace(self, rules=[*failed, *(rule for rule in self.rules if rule.target.field is not None)])

    def allows_nulls(self, field: str | None) -> bool:
        """Whether another rule limits the nulls of this field, and is checked itself."""
        return any(rule.target == Target(field, NULL) and not rule.warns for rule in self.rules)


def check_run(folder: Path, gate: Gate) -> GateResult:
    """Check the run in `folder`. Raises `UsageProblem` for a rule about a field or label that the run does not have."""
    if gate.labels is not None and gate.by:
        raise UsageProblem("rules of slices (--by) are not checked against labels; `krino true-rate --by` shows them")
    given, gate = gate, gate.with_limit_on_failed()
    fields = {rule.target.field for rule in gate.rules if rule.target.field is not None}
    run = read_table(folder, fields=fields, by=gate.by)
    base = read_table(gate.base, fields=fields) if gate.base is not None else None
    validator = Validator(run, base)
    validator.refuse(gate.rules, gate.by)
    repeats = Repeats(folder, fields, gate.by, find_seats(run.manifest))
    found = [*_check_is_complete(run), *([_check_is_measured(run)] if gate.measured else [])]
    found += _RuleChecks(run, base, gate, validator, repeats).run_all()
    manifest = run.manifest
    return GateResult(
        run=str(folder),
        judge=judge_name(manifest),
        labeller=run_labeller_name(manifest),
        started=format_start(manifest),
        counts=run.counts(),
        notes=tuple(_reading_notes(given)),
        checks=tuple(add_worst_cases(item, gate.worst) for item in found),
        judged_by=manifest.judged_by().named(),
    )


# --- checks that need no rule -------------------------------------------------------------


def _check_is_measured(run: Table) -> CheckedRule:
    """Checks that the run names the agreement with people that was measured for this judge and labeller, not for an
    earlier one."""
    manifest = run.manifest
    if (agreement := manifest.judged_by().agreement) is not None:
        return _make_check("measured", True, f"agreement with people: {agreement}", len(run))
    stated = manifest.about.measured
    why = "its judge has no measured agreement with people"
    if stated is not None:
        judge = stated.judge == hash_fingerprint(manifest.plan.judge)
        other = (
            f"another labeller ({clean_line(stated.labelled_by, 60)})" if judge else "the judge before it was edited"
        )
        why = f"the measured agreement belongs to {other}"
    return _make_check("measured", False, f"{why}; measure it with `krino align JUDGE LABELS`", len(run))


def _check_is_complete(run: Table) -> Iterator[CheckedRule]:
    """Yields checks that the run is finished, has a judgement of every case, and has a verdict. Otherwise it proves
    nothing."""
    manifest, cases = run.manifest, len(run)
    yield _make_check("finished", manifest.state == "finished", f"the run is {_describe_state(manifest)}", cases)
    if not cases:
        yield _make_check("has cases", False, "there is no judgement in the run", 0)
        return
    whole = manifest.cases is None or manifest.cases == cases
    message = format_count(cases) if whole else f"{manifest.cases:,} cases were read, {cases:,} have a judgement"
    yield _make_check("has cases", whole, message, cases)
    judged = int(run.ok.sum())
    message = f"{judged:,} of {cases:,} cases have a verdict"
    yield _make_check("has verdicts", judged > 0, message, cases, find_unjudged(run, _all_cases(run)))


# --- the rules -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _RuleChecks:
    run: Table
    base: Table | None
    gate: Gate
    validator: Validator
    repeats: Repeats

    def run_all(self) -> Iterator[CheckedRule]:
        """Yields the result of every rule, over all cases and over each slice."""
        pairs = None
        if self.base is not None and len(self.run):
            pairs = match_cases(self.base, self.run)
            yield from check_comparable(self.base, self.run, pairs)
            yield from self._check_failed_in_base(self.base)
        for rule in self.gate.rules:
            yield self._check_rule(rule, _all_cases(self.run), None, pairs)
        for columns in self.gate.by:
            yield from self._check_slices(columns, pairs)

    def _check_failed_in_base(self, base: Table) -> Iterator[CheckedRule]:
        """Checks the limits on failed cases in the base run too: without a verdict there, a case cannot be seen to get
        worse."""
        for rule in (rule for rule in self.gate.rules if rule.target.field is None and not rule.warns):
            holds, message = decide_rule(rule, measure(base, rule, _all_cases(base)), point=True, nulls_allowed=False)
            violations = find_unjudged(base, _all_cases(base))
            yield _make_check(f"other run: {rule}", holds, f"{base.folder}: {message}", len(base), violations)

    def _check_slices(self, columns: tuple[str, ...], pairs: Pairs | None) -> Iterator[CheckedRule]:
        """Checks every rule in each slice that is large enough; breaks the gate if none is. Small ones are listed."""
        name = slice_name(columns)
        slicing = self.run.slices[name]
        sizes = slicing.sizes()
        large = [code for code, size in sizes if size >= self.gate.few]
        if not large:
            message = f"no value of {name} has {self.gate.few:,} cases: nothing could be gated by it"
            yield _make_check(f"by {name}", False, message, len(self.run))
        for code in large:
            for rule in self.gate.rules:
                yield self._check_rule(rule, slicing.codes == code, f"{name}={slicing.names[code]}", pairs)
        small = [(slicing.names[code], size) for code, size in sizes[len(large) :]]
        yield from map(CheckedRule, self._list_small_slices(name, small))

    def _list_small_slices(self, name: str, sizes: Sequence[tuple[str, int]]) -> Iterator[Check]:
        """Yields an entry for slices that are too small to be gated."""
        for value, size in sizes[:_MOST_SMALL]:
            message = f"{format_count(size)}, fewer than {self.gate.few:,}: not gated"
            yield Check(rule=f"by {name}", slice=f"{name}={value}", outcome="too few", message=message, cases=size)
        if rest := sizes[_MOST_SMALL:]:
            message = f"{len(rest):,} more slices have fewer than {self.gate.few:,} cases"
            cases = sum(size for _, size in rest)
            yield Check(rule=f"by {name}", slice=f"{name}=…", outcome="too few", message=message, cases=cases)

    def _check_rule(self, rule: Rule, cases: Mask, where: str | None, pairs: Pairs | None) -> CheckedRule:
        """Checks a rule over some cases: of the run, or a slice (`where`). Returns the outcome, and the cases that
        break it.

        With labels of people, the estimated true value is checked instead of the mean or share of the verdicts.
        """
        both, found = self._measure(self.run, rule, cases, pairs)
        truth = None
        if self.gate.labels is not None and not rule.compares_runs and not rule.is_exact:
            truth = self._estimate_true_rate(rule, self.gate.labels)
            found = replace(found, value=truth.best.value, interval=truth.best.interval)
        allowed = self.gate.allows_nulls(rule.target.field)
        holds, message = decide_rule(rule, found, point=self.gate.point, nulls_allowed=allowed)
        if truth is not None:
            message += f": the true value, from {format_count(truth.labels, 'label')} and all verdicts"
        violations = None
        if not holds and rule.compares_runs:
            violations = find_changes_for_worse(both, rule, nulls_allowed=allowed)
        elif not holds:
            violations = find_violations(self.run, rule, cases, nulls_allowed=allowed)
        alone = not holds and not (violations and violations.count) and found.interval is not None
        kept = None if holds or truth is not None else self._count_kept(rule, cases, pairs)
        notes = [*([_NO_SINGLE_CASE] if alone else []), *_describe_noise(kept), *self.validator.explain_doubts(rule)]
        check = Check(
            rule=str(rule),
            slice=where,
            outcome="holds" if holds else "warns" if rule.warns else "broken",
            message="; ".join([message, *notes]),
            cases=int(cases.sum()),
            nulls=found.nulls,
            value=found.value,
            interval=found.interval,
            kept_by_repeats=kept,
        )
        return CheckedRule(check, violations)

    def _measure(self, run: Table, rule: Rule, cases: Mask, pairs: Pairs | None) -> tuple[PairedField | None, Measure]:
        """Measures a rule; for one that compares runs, also returns the field in both runs (None if they have no such
        field)."""
        if not rule.compares_runs:
            return None, measure(run, rule, cases)
        both = None
        if self.base is not None and pairs is not None:
            both = pair_field(self.base, run, pairs, rule, cases)
        return both, measure_change(both, rule)

    def _count_kept(self, rule: Rule, cases: Mask, pairs: Pairs | None) -> tuple[int, int] | None:
        """How many askings of a run with repeats would keep the rule, of how many; None without repeats, or for
        failed cases."""
        if rule.target.field is None:
            return None
        allowed = self.gate.allows_nulls(rule.target.field)

        def holds(run: Table) -> bool:
            found = self._measure(run, rule, cases, pairs)[1]
            return decide_rule(rule, found, point=self.gate.point, nulls_allowed=allowed)[0]

        return self.repeats.count_kept(holds)

    def _estimate_true_rate(self, rule: Rule, labels: Labels) -> TrueRate:
        schema = self.run.manifest.about.fields_schema
        return true_rate(load_stored_run(self.run.folder).records(), labels, str(rule.target), schema=schema)


def _describe_noise(kept: tuple[int, int] | None) -> Iterator[str]:
    """Yields a note if some repeats alone would keep a broken rule; `kept`: how many, of how many."""
    if kept is not None and kept[0]:
        yield f"within the noise of repeats: {kept[0]:,} of {kept[1]:,} repeats alone would keep it"


def _all_cases(run: Table) -> Mask:
    return np.ones(len(run), np.bool_)


def _reading_notes(gate: Gate) -> Iterator[str]:
    """Yields notes that explain how the result is to be read."""
    if not gate.rules:
        yield "No rule was given: only an unfinished or empty run and cases without a verdict break this gate."
    if any(not rule.is_exact for rule in gate.rules) and not gate.point:
        yield "A rule must hold at the end of the 95 % interval of what it limits, not only for the value itself."
    if gate.by:
        yield f"Slices with fewer than {gate.few:,} cases are shown and not gated; the whole run counts them."
