"""Holds a run against rules. Fails closed: what was not judged, not finished or not there can never pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from krino.results.comparison.compare import Pairs, match, other_settings
from krino.results.gates.against import Against, Found, against, against_change, with_cases, without_verdict
from krino.results.gates.measures import measure, measure_change, paired, tell
from krino.results.gates.result import Check, GateResult
from krino.results.gates.rules import NULL, Limit, Rule, Target
from krino.results.gates.validate import Validator
from krino.results.named_cases import WORST
from krino.results.table import Mask, Places, Table, read_table, slice_name
from krino.results.wording import counted, date_of, judge_of, labeller_of
from krino.runs.manifest import Manifest
from krino.stats.moments import FEW
from krino.text.clean import clean_line

_NAMED = 5
_LONGEST_REASON = 1_000


def comparable(base: Table, run: Table, pairs: Pairs) -> Iterator[Found]:
    state = base.manifest.state
    if state != "finished":
        yield _fact("other run finished", False, f"{base.folder} is {_state(base.manifest)}", len(base))
    yield _same_cases(base, pairs)
    yield _matched(base, run, pairs)
    yield _same_judge(base, run)


def _state(manifest: Manifest) -> str:
    """With the reason why it is not finished, where one is known: shards that are missing, a spent budget."""
    reason = clean_line(manifest.stop_reason or "", _LONGEST_REASON)
    return f"{manifest.state}: {reason}" if reason and manifest.state != "finished" else manifest.state


def _same_cases(base: Table, pairs: Pairs) -> Found:
    """A case that the other run has and this one has not may be the one that got worse."""
    if missing := len(pairs.only_a):
        told = f"{missing:,} cases of {base.folder} are not in this run: {_named(base, pairs.only_a)}"
    else:
        told = f"all {len(base):,} cases of {base.folder} are in this run"
    if pairs.repeated:
        told += f"; {pairs.repeated:,} ids are given to several cases, matched where their content is the same"
    lost = Against(base, "not in this run", pairs.only_a, why=f"in {base.folder}, and not in this run")
    return _fact("same cases", not missing, told, len(pairs), lost)


def _matched(base: Table, run: Table, pairs: Pairs) -> Found:
    """Another answer under the same id is what a new system gives; under the same line number it may be any case."""
    other = pairs.other_content
    in_base, in_run = pairs.a[other], pairs.b[other]
    unknown = in_base[base.positional[in_base] | run.positional[in_run]]
    if len(unknown):
        told = (
            f"{len(unknown):,} cases have other content than in {base.folder}, and no id of their own that says they "
            f"are the same: {_named(base, unknown)}; give each case an `id` that is the same in both inputs"
        )
    elif len(other):
        named = _named(base, in_base)
        told = f"each by its id; {len(other):,} of {len(pairs):,} cases have other content than there: {named}"
    else:
        told = f"all {len(pairs):,} cases have the content that they have there"
    why = f"other content than in {base.folder}, and no id of its own"
    others = Against(base, "with other content", unknown, why=why)
    return _fact("cases matched", not len(unknown), told, len(pairs), others)


def _same_judge(base: Table, run: Table) -> Found:
    """Two judges that happen to name a field alike do not measure the same thing."""
    there, here = (clean_line(str(one.manifest.plan.judge.get("name")), 60) for one in (base, run))
    if here != there:
        return _fact("same judge", False, f"{base.folder} was judged by {there}, this run by {here}", len(run))
    others = list(other_settings(base, run))
    told = f"{here}; made otherwise (A is {base.folder}): {_listed(others, len(others))}" if others else here
    return _fact("same judge", True, told, len(run))


def _fact(rule: str, holds: bool, message: str, cases: int, against: Against | None = None) -> Found:
    """A check of what must be so, whatever the rules say."""
    return Found(Check(rule=rule, outcome="holds" if holds else "broken", message=message, cases=cases), against)


def _named(run: Table, places: Places) -> str:
    return _listed((clean_line(run.ids[place], 60) for place in places[:_NAMED]), len(places))


def _listed(texts: Iterable[str], count: int) -> str:
    shown = list(texts)[:_NAMED]
    return f"{', '.join(shown)}{', …' if count > len(shown) else ''}"


NONE_FAILED = Rule("max", Target(None), Limit(0.0))
"""The limit that holds where no other is set."""
_NO_CASE_ALONE = "no case by itself speaks against it: with more cases the interval would be narrower"
_MOST_SMALL = 100  # small slices that are named; a column of a thousand names is no column to gate by


@dataclass(frozen=True)
class Gate:
    """The rules, and how they are read."""

    rules: Sequence[Rule] = ()
    by: Sequence[tuple[str, ...]] = ()
    point: bool = False
    """Hold the value itself against the limit, not the end of its interval."""
    few: int = FEW
    """Slices with fewer cases are shown, not gated."""
    base: Path | None = None
    """The run that `may_fall` and `may_rise` compare with."""
    worst: int = WORST
    """How many cases are named for each broken rule."""

    def with_limit_on_failed(self) -> Gate:
        """That rule comes first: all others rest on it."""
        failed = [rule for rule in self.rules if rule.target.field is None] or [NONE_FAILED]
        return replace(self, rules=[*failed, *(rule for rule in self.rules if rule.target.field is not None)])

    def allows_nulls(self, field: str | None) -> bool:
        """Then another rule says how many, and is checked itself."""
        return any(rule.target == Target(field, NULL) for rule in self.rules)


def check_run(folder: Path, gate: Gate) -> GateResult:
    """Raises `UsageProblem` for a rule about something that the run does not have."""
    given, gate = gate, gate.with_limit_on_failed()
    fields = {rule.target.field for rule in gate.rules if rule.target.field is not None}
    run = read_table(folder, fields=fields, by=gate.by)
    base = read_table(gate.base, fields=fields) if gate.base is not None else None
    validator = Validator(run, base)
    validator.refuse(gate.rules, gate.by)
    found = [*_whole(run), *_Checks(run, base, gate, validator).checks()]
    manifest = run.manifest
    return GateResult(
        run=str(folder),
        judge=judge_of(manifest),
        labeller=labeller_of(manifest),
        started=date_of(manifest),
        counts=run.counts(),
        notes=tuple(_notes(given)),
        checks=tuple(with_cases(item, gate.worst) for item in found),
    )


# --- what must hold without any rule -------------------------------------------------------------


def _whole(run: Table) -> Iterator[Found]:
    """A run that stopped half-way, lost judgements, never had a case or judged none proves nothing."""
    manifest, cases = run.manifest, len(run)
    yield _fact("finished", manifest.state == "finished", f"the run is {_state(manifest)}", cases)
    if not cases:
        yield _fact("has cases", False, "there is no judgement in the run", 0)
        return
    whole = manifest.cases is None or manifest.cases == cases
    told = counted(cases) if whole else f"{manifest.cases:,} cases were read, {cases:,} have a judgement"
    yield _fact("has cases", whole, told, cases)
    judged = int(run.ok.sum())
    told = f"{judged:,} of {cases:,} cases have a verdict"
    yield _fact("has verdicts", judged > 0, told, cases, without_verdict(run, _all(run)))


# --- the rules -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Checks:
    run: Table
    base: Table | None
    gate: Gate
    validator: Validator

    def checks(self) -> Iterator[Found]:
        pairs = None
        if self.base is not None and len(self.run):
            pairs = match(self.base, self.run)
            yield from comparable(self.base, self.run, pairs)
            yield from self._failed_in(self.base)
        for rule in self.gate.rules:
            yield self._check(rule, _all(self.run), None, pairs)
        for columns in self.gate.by:
            yield from self._by(columns, pairs)

    def _failed_in(self, base: Table) -> Iterator[Found]:
        """A case without a verdict there cannot be seen to get worse: the limit on failed cases holds there too."""
        for rule in (rule for rule in self.gate.rules if rule.target.field is None):
            holds, told = tell(rule, measure(base, rule, _all(base)), point=True, nulls_allowed=False)
            speaking = without_verdict(base, _all(base))
            yield _fact(f"other run: {rule}", holds, f"{base.folder}: {told}", len(base), speaking)

    def _by(self, columns: tuple[str, ...], pairs: Pairs | None) -> Iterator[Found]:
        name = slice_name(columns)
        slicing = self.run.slices[name]
        sizes = slicing.sizes()
        large = [code for code, size in sizes if size >= self.gate.few]
        if not large:
            told = f"no value of {name} has {self.gate.few:,} cases: nothing could be gated by it"
            yield _fact(f"by {name}", False, told, len(self.run))
        for code in large:
            for rule in self.gate.rules:
                yield self._check(rule, slicing.codes == code, f"{name}={slicing.names[code]}", pairs)
        small = [(slicing.names[code], size) for code, size in sizes[len(large) :]]
        yield from map(Found, self._small(name, small))

    def _small(self, name: str, sizes: Sequence[tuple[str, int]]) -> Iterator[Check]:
        for value, size in sizes[:_MOST_SMALL]:
            told = f"{counted(size)}, fewer than {self.gate.few:,}: not gated"
            yield Check(rule=f"by {name}", slice=f"{name}={value}", outcome="too few", message=told, cases=size)
        if rest := sizes[_MOST_SMALL:]:
            told = f"{len(rest):,} more slices have fewer than {self.gate.few:,} cases"
            cases = sum(size for _, size in rest)
            yield Check(rule=f"by {name}", slice=f"{name}=…", outcome="too few", message=told, cases=cases)

    def _check(self, rule: Rule, cases: Mask, where: str | None, pairs: Pairs | None) -> Found:
        both = None
        if rule.paired and self.base is not None and pairs is not None:
            both = paired(self.base, self.run, pairs, rule, cases)
        found = measure_change(both, rule) if rule.paired else measure(self.run, rule, cases)
        allowed = self.gate.allows_nulls(rule.target.field)
        holds, message = tell(rule, found, point=self.gate.point, nulls_allowed=allowed)
        speaking = None
        if not holds and rule.paired:
            speaking = against_change(both, rule, nulls_allowed=allowed)
        elif not holds:
            speaking = against(self.run, rule, cases, nulls_allowed=allowed)
        alone = not holds and not (speaking and speaking.count) and found.interval is not None
        check = Check(
            rule=str(rule),
            slice=where,
            outcome="holds" if holds else "broken",
            message="; ".join([message, *([_NO_CASE_ALONE] if alone else []), *self.validator.doubts(rule)]),
            cases=int(cases.sum()),
            nulls=found.nulls,
            value=found.value,
            interval=found.interval,
        )
        return Found(check, speaking)


def _all(run: Table) -> Mask:
    return np.ones(len(run), np.bool_)


def _notes(gate: Gate) -> Iterator[str]:
    if not gate.rules:
        yield "No rule was given: only an unfinished or empty run and cases without a verdict break this gate."
    if any(not rule.target.counted for rule in gate.rules) and not gate.point:
        yield "A rule must hold at the end of the 95 % interval of what it limits, not only for the value itself."
    if gate.by:
        yield f"Slices with fewer than {gate.few:,} cases are shown and not gated; the whole run counts them."
