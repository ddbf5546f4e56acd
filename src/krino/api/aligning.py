"""Aligns a judge with people's labels: proposes changes of the judge, and keeps those that are proven on other labels.

The labelled cases are split in three. Changes are drawn from the first part, each is tried on the second, and those
that gain there are tested together, once, on the third. So however many changes were tried, one test is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from krino.api.criteria import write_criteria
from krino.api.judging import AnyKindOfJudge, items_of, judge_many, ready_judge, rows_of_cases
from krino.api.revising import Reviser, options_of, reviser_for
from krino.cases import read_cases
from krino.cases.item import case_id
from krino.contract import AnyJudge, Labeller
from krino.contract.fingerprint import joined_schema, schema_of
from krino.contract.identity import hash_fingerprint, labeller_name
from krino.contract.judgement import hash_record
from krino.contract.measured import Measured, hash_labeller
from krino.engine import sync
from krino.errors import CannotJudge, UsageProblem
from krino.labellers.factory import labeller_from
from krino.labellers.local import LocalLabeller
from krino.results.agreement.labels import RATER, Labels, labels_from_rows, read_labels, translate_values
from krino.results.alignment.changes import (
    Change,
    Examples,
    Setting,
    choose_examples,
    find_confusions,
    write_example,
)
from krino.results.alignment.parts import Parts, find_source, split_cases
from krino.results.alignment.result import Alignment, Gain, TriedChange
from krino.results.alignment.scoring import Scores, score
from krino.results.field_kinds import ROLL_UP, fields_of
from krino.results.formatting import format_count, join_quoted
from krino.results.true_rate import RANDOM
from krino.stats.arrays import Codes
from krino.stats.confidence_intervals import clustered_mean_interval
from krino.text.clean import clean_name
from krino.text.guessing import did_you_mean

Rows = Iterable[Mapping[str, Any]]
_LEAST_ERRORS = 1.0
"""A change is tested only if its gain is larger than this many of its standard errors."""


def align(
    judge: AnyKindOfJudge,
    labels: str | PathLike[str] | Rows,
    cases: str | PathLike[str] | Sequence[str] | Rows | None = None,
    *,
    labeller: str | Labeller = "local",
    of: str | None = None,
    cluster: str | None = None,
    values: Mapping[str, Any] | None = None,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    out: str | PathLike[str] | None = None,
    write: bool = True,
    seed: int = 0,
) -> Alignment:
    """Proposes changes of a judge from people's labels, and keeps them if they are proven on labels that were held out.

    Args:
        judge: as in `krino.judge`; so are `labeller`, `options` and `prompt`.
        labels: rows or a file with a column `id` and one for the field; without `cases` they hold the cases too.
        cases: the labelled cases with the same ids, as rows, a file or several.
        of: the field of the verdict; not needed if the labels have one alone.
        cluster: a field of the cases whose values stay together (`source` and the like are found by themselves).
        values: values for words of the labels, as in `krino.agree`.
        mapping: fields that have other names in the cases, as `{"question": "query"}`.
        out: the file to write: by default the judge's own file, or NAME.aligned.md for a run's `prompt`.
        write: False only says what would be kept.
        seed: of the split.
    """
    chosen = labeller_from(labeller)
    sync.remember(chosen)
    try:
        ready = ready_judge(judge, options, prompt)
        reviser = reviser_for(ready, None if out is None else Path(out))
        rows = labels if isinstance(labels, str | PathLike) else list(_read_records(labels, ready, None))
        given = _read_labels(rows, mapping or {})
        field = _choose_field(ready, given, of)
        own = _read_records(rows if cases is None else cases, ready, mapping)
        records = _drop_labels(own, field) if cases is None else own
        asked = _Asked.of(ready, chosen, translate_values(given, values or {}, [field]), field, records, cluster)
        return _Aligning(asked, reviser, seed).carry_out(write=write)
    finally:
        if chosen is not labeller:
            sync.run(chosen.aclose())


def _read_labels(labels: str | PathLike[str] | Rows, mapping: Mapping[str, str]) -> Labels:
    """Reads the labels from a file or rows; of the mapping only `id` applies to them."""
    ids = {name: source for name, source in mapping.items() if name == "id"}
    return read_labels(labels, mapping=ids) if isinstance(labels, str | PathLike) else labels_from_rows(labels, ids)


def _read_records(
    cases: str | PathLike[str] | Sequence[str] | Rows, judge: AnyJudge, mapping: Mapping[str, str] | None
) -> Iterator[dict[str, Any]]:
    """Yields the records of the cases, from files or rows; unreadable ones are left out of files, and raise
    `UsageProblem` in rows."""
    files: Any = [cases] if isinstance(cases, str | PathLike) else cases
    if isinstance(files, list | tuple) and files and isinstance(files[0], str | PathLike):
        read = read_cases(files, mapping=mapping, judge=judge)
        yield from (dict(item.record) for item in read if item.record is not None)
        return
    for item in items_of(rows_of_cases(files), judge, mapping):
        if item.record is None:
            raise UsageProblem(str(item.problem))
        yield dict(item.record)


# --- what is asked ---------------------------------------------------------------------------------


class _Case(NamedTuple):
    record: dict[str, Any]
    group: str
    at_random: bool


@dataclass(frozen=True)
class _Asked:
    """A judge, a labeller, and the labelled cases by their number among the labels."""

    judge: AnyJudge
    labeller: Labeller
    labels: Labels
    field: str
    cases: dict[int, _Case]
    source: str | None
    notes: list[str]

    @classmethod
    def of(
        cls,
        judge: AnyJudge,
        labeller: Labeller,
        labels: Labels,
        field: str,
        records: Iterable[dict[str, Any]],
        cluster: str | None,
    ) -> _Asked:
        """Finds the labelled cases among the records, each with the group that it must stay in; raises `UsageProblem`
        if there are none."""
        given = labels.columns[field]
        labelled = {case for case, _, value in given.table().tolist() if given.pool.values[value] not in (None, "")}
        drawn = _drawn_at_random(labels)
        found: dict[int, dict[str, Any]] = {}
        for record in records:
            case = labels.ids.get(clean_name(case_id(record) or ""))
            if case is not None and case in labelled:
                found.setdefault(case, record)
        if not found:
            raise UsageProblem(
                "no labelled case is among the cases: their ids must be the same; name the file of the cases after the "
                "labels, or put the cases into the labels"
            )
        source = find_source(list(found.values()), cluster)
        cases = {
            case: _Case(record, _find_group(record, source), drawn is None or case in drawn)
            for case, record in found.items()
        }
        missing = len(labelled) - len(found)
        notes = [f"{format_count(missing, 'labelled case')} are not among the cases"] if missing else []
        return cls(judge, labeller, labels, field, cases, source, notes)

    @cached_property
    def schema(self) -> dict[str, Any]:
        verdict, figures = schema_of(self.judge.verdict_model), schema_of(self.judge.figures_model)
        return joined_schema(verdict, figures if self.judge.figures_model.model_fields else {})

    def score(self, judge: AnyJudge, cases: Sequence[int]) -> Scores:
        """Judges these cases with a version of the judge, and returns how its verdicts compare with the labels."""
        records = [{**self.cases[case].record, "id": str(case)} for case in cases]
        found: dict[int, Any] = {}
        for judgement in judge_many(judge, records, labeller=self.labeller):
            if judgement.status == "ok":
                found[int(judgement.id)] = fields_of(judgement.model_dump(mode="json")).get(self.field)
        column = self.labels.columns[self.field]
        return score(found, column, self.field, self.schema, only=cases)

    def texts(self, case: int) -> dict[str, str]:
        """Returns what a labeller is shown of a case, by name; nothing where code alone decides it or it cannot be
        judged."""
        judge, record = self.judge, self.cases[case].record
        try:
            read = judge.read(record)
            asked = judge.ask(read, judge.study(read))
        except CannotJudge:
            return {}
        return {} if asked is None else {passage.name: passage.text for passage in asked.passages}

    def show(self, case: int) -> str:
        return "\n".join(f"{name}: {text}" for name, text in self.texts(case).items())


def _choose_field(judge: AnyJudge, labels: Labels, named: str | None) -> str:
    """Returns the field of the verdict that the labels are about: the named one, or the only one that they have.
    Otherwise raises `UsageProblem`."""
    known = [*judge.verdict_model.model_fields, *judge.figures_model.model_fields, ROLL_UP]
    there = [name for name in known if name in labels.columns]
    if named is None and len(there) == 1:
        return there[0]
    if named is None:
        what = f"have {join_quoted(there)}; choose one with --of" if there else f"have none of {join_quoted(known)}"
        raise UsageProblem(f"the labels {what}")
    if named not in known:
        raise UsageProblem(f"--of {named}: no such field{did_you_mean(named, known)}; there are {join_quoted(known)}")
    if named not in labels.columns:
        raise UsageProblem(f"--of {named}: the labels have no such column; they have {join_quoted(labels.columns)}")
    return named


def _drawn_at_random(labels: Labels) -> set[int] | None:
    """Returns the cases of the random sample of a workbench; None if the labels do not say how they were chosen."""
    column = labels.columns.get(RANDOM)
    if column is None:
        return None
    said = column.pool.values
    return {case for case, _, value in column.table().tolist() if str(said[value]).casefold() == "true"}


def _drop_labels(records: Iterable[dict[str, Any]], field: str) -> Iterator[dict[str, Any]]:
    """Yields the records without what people said of the cases, where the labels hold the cases too."""
    for record in records:
        yield {
            name: value
            for name, value in record.items()
            if name not in (field, RATER) and not str(name).startswith((f"{field}:", "label_"))
        }


def _find_group(record: Mapping[str, Any], source: str | None) -> str:
    """Returns what a case must stay together with: its source, or cases with the same content."""
    if source is not None:
        return str(record.get(source))
    return hash_record({name: value for name, value in record.items() if name != "id"})


# --- how it is done --------------------------------------------------------------------------------


@dataclass
class _Aligning:
    """One alignment, step by step."""

    asked: _Asked
    reviser: Reviser
    seed: int
    notes: list[str] = field(default_factory=list)

    def carry_out(self, *, write: bool) -> Alignment:
        """Splits the cases, chooses changes, and tests them together on the cases that were held out. They are kept
        only if their gain is proven."""
        asked = self.asked
        groups = {case: one.group for case, one in asked.cases.items()}
        parts = split_cases(groups, {case for case, one in asked.cases.items() if one.at_random}, self.seed)
        before = asked.score(asked.judge, [*parts.learn, *parts.choose, *parts.test])
        tried, chosen = self._choose(before, parts)
        gain, kept, now = None, list[Change](), before
        if chosen:
            after = asked.score(self.reviser.revise(chosen), parts.test)
            gain = Gain(**self._measure_gain(before, after, parts.test))
            if gain.is_proven:
                kept, now = chosen, after
        return self._finish(before, now, parts, tried, gain, kept, write=write)

    def _choose(self, before: Scores, parts: Parts) -> tuple[list[TriedChange], list[Change]]:
        """Tries every proposed change by itself; returns all that were tried, and those whose gain is larger than its
        error (of an option only its best value)."""
        tried, chosen = [], list[Change]()
        for change in self._propose(before, parts.learn):
            after = self.asked.score(self.reviser.revise([change]), parts.choose)
            gains = after.of(parts.choose) - before.of(parts.choose)
            value, error = float(gains.mean()), float(gains.std(ddof=1)) / len(gains) ** 0.5
            is_good = value > _LEAST_ERRORS * error and value > 0
            tried.append((change, TriedChange(words=str(change), gain=value, error=error, chosen=is_good)))
        settings = [one for one in tried if isinstance(one[0], Setting) and one[1].chosen]
        best = max(settings, key=lambda one: one[1].gain, default=None)  # of an option one value can be chosen
        for change, one in tried:
            one.chosen = one.chosen and (not isinstance(change, Setting) or (change, one) == best)
            chosen += [change] if one.chosen else []
        return [one for _, one in tried], chosen

    def _propose(self, before: Scores, learn: Sequence[int]) -> list[Change]:
        """Proposes changes: values of options for the embedded labeller; for a model criteria, which a model writes,
        and examples."""
        asked = self.asked
        if isinstance(asked.labeller, LocalLabeller):
            return [Setting(name, value) for name, tries in asked.judge.tunable.items() for value in tries]
        found = find_confusions(before, learn)
        criteria, problem = write_criteria(asked.judge, asked.field, found, asked.labeller, asked.show)
        self.notes += [problem] if problem else []
        shown = {case: asked.texts(case) for case in choose_examples(before, learn)}
        lines = [write_example(texts, asked.field, before.people[case]) for case, texts in shown.items() if texts]
        return [*criteria, *([Examples(tuple(lines))] if lines else [])]

    def _number_groups(self, cases: Sequence[int]) -> Codes:
        return np.unique([self.asked.cases[case].group for case in cases], return_inverse=True)[1]

    def _measure_gain(self, before: Scores, after: Scores, cases: Sequence[int]) -> dict[str, Any]:
        gains = after.of(cases) - before.of(cases)
        interval = clustered_mean_interval(gains, (-1.0, 1.0), self._number_groups(cases))
        return {"value": float(gains.mean()), "interval": interval}

    def _finish(
        self,
        before: Scores,
        now: Scores,
        parts: Parts,
        tried: list[TriedChange],
        gain: Gain | None,
        kept: list[Change],
        *,
        write: bool,
    ) -> Alignment:
        """Returns the result; with `write`, also writes the judge with the agreement that it reaches."""
        asked, test = self.asked, parts.test
        if parts.left_out:
            words = f"{format_count(parts.left_out, 'label')} of disputed cases are not measured on"
            self.notes.append(words)
        reached = now.mean(test)
        low, high = clustered_mean_interval(now.of(test), (0.0, 1.0), self._number_groups(test))
        found = Alignment(
            judge=asked.judge.name,
            labeller=labeller_name(asked.labeller.describe()),
            field=asked.field,
            source=asked.source,
            learnt=len(parts.learn),
            chosen_by=len(parts.choose),
            tested_on=len(test),
            notes=[*asked.notes, *self.notes],
            before=before.mean(test),
            tried=tried,
            gain=gain,
            kept=[str(change) for change in kept],
            agreement=reached,
            interval=(min(low, reached), max(high, reached)),
            not_judged=sum(case not in now.judge for case in test),
            options=options_of(kept),
        )
        if write:
            self.reviser.write(kept, self._make_measured(found, kept))
            found.file = str(self.reviser.file)
        return found

    def _make_measured(self, found: Alignment, kept: Sequence[Change]) -> Measured:
        """Returns the agreement that was reached, bound by hashes to the judge with the kept changes and to its
        labeller."""
        about = self.asked.labeller.describe()
        judge = hash_fingerprint(self.reviser.revise(kept).fingerprint())
        assert judge is not None
        return Measured(
            judge=judge,
            labeller=hash_labeller(about),
            labelled_by=labeller_name(about),
            field=found.field,
            agreement=found.agreement,
            low=found.interval[0],
            high=found.interval[1],
            labels=found.tested_on,
        )
