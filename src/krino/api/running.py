"""Runs a judge over many cases: judges them into a folder, sums them up and writes the report.

`krino judge` and `krino demo` use this module; `run` is the same from Python.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from krino.api.judging import AnyKindOfJudge, open_labeller, ready_judge
from krino.api.recorded_run import Run
from krino.api.summing import LARGE_RUN, SummaryProcess, sum_up
from krino.cases import CaseItem, read_cases
from krino.cases.field_notes import note_odd_fields
from krino.cases.formats.shard import heads_of
from krino.cases.item import storable_text
from krino.cases.origin import Format, list_ignored_files
from krino.cases.rows import describe_inputs
from krino.contract import AnyJudge, Forecast, Judgement, Labeller, Task
from krino.contract.code_limit import CASE_SECONDS, CodeLimit, seconds_of
from krino.engine import sync
from krino.engine.case import input_hash, open_questions
from krino.engine.interface import Assignment, Engine, Finished, Returned, opened
from krino.engine.pool import LocalPool
from krino.engine.rehearsal import (
    goes_to_workers,
    lacks_labeller,
    refuse_without_labeller,
    rehearse_apart,
    rehearse_first,
    rehearsed,
)
from krino.engine.worker_pool import DIED
from krino.errors import RunStopped, UsageProblem
from krino.judges.registry import address_of, is_ours
from krino.labellers.factory import labeller_from
from krino.labellers.replay import Unasked
from krino.render.report import REPORT, Report
from krino.results.gates.gate import Gate, check_run
from krino.results.gates.validate import refuse_for_judge
from krino.results.summary import Summary, collect
from krino.runs.folder import RunLocation, find_location, trying, was_killed
from krino.runs.index import JournalIndex
from krino.runs.inputs import CasesBeside, Inputs, Source, identify_by, inputs_of
from krino.runs.manifest import Manifest, Plan, in_part
from krino.runs.session import CaseSource, Session, SessionProgress
from krino.writing import is_full, write_failed

Notify = Callable[[str], None]
Conduct = Callable[[Session, CaseSource], Awaitable[Manifest]]
"""Runs a session; that of a command also shows progress and handles signals."""
ForecastKind = Literal["cannot_be_judged", "decided_by_rules", "asked", "known_from_cache"]


def run(
    judge: AnyKindOfJudge,
    source: Source,
    *,
    labeller: str | Labeller = "local",
    into: str | PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    mapping: Mapping[str, str] | None = None,
    split: Mapping[str, str] | None = None,
    format: Format = "auto",  # noqa: A002
    fresh: bool = False,
    case_timeout: float = CASE_SECONDS,
    gate: Gate | None = None,
    on_progress: Callable[[SessionProgress], None] | None = None,
    on_message: Notify | None = None,
    engine: Callable[[], Engine] = LocalPool,
) -> Run:
    """Judges the cases of `source` into a run folder, as `krino judge` does, and returns the run.

    Args:
        judge: as in `krino.judge`; so are `labeller`, `options` and `prompt`.
        source: a path or several (files, folders, `-` for stdin), or an iterable of records.
        into: the run's folder, by default one of its own below `runs/`. Called again with the same arguments, the run
            continues where it stopped.
        mapping: as `--map`: `{"question": "query"}`.
        split: as `--split`: `{"context": "|||"}`.
        fresh: judge again what the folder contains.
        case_timeout: seconds that the judge's code may take for a case, waits for a model not counted; 0: no limit.
        gate: rules (`krino.gate_rules`), validated before anything is paid and checked at the end: `run.gated`.
        on_progress: called after every judgement.
        on_message: called with the command's messages about the input and the folder.
        engine: makes what judges the cases (`engine.interface`).

    A run that was stopped (budget spent, endpoint down) is returned unfinished: `run.manifest.state` and
    `run.manifest.stop_reason` say so, and no gate passes it.
    """
    sync.remember(labeller)
    ready = ready_judge(judge, options, prompt)
    address = judge if isinstance(judge, str) else address_of(type(ready))
    if gate is not None:
        refuse_for_judge(ready, gate.rules)
    folder, seconds = None if into is None else Path(into), seconds_of(case_timeout)
    settings = RunSettings(folder, None, format, mapping or {}, split or {}, fresh, case_seconds=seconds)

    async def judge_all() -> Run:
        """Judges the cases, finishes the folder and checks the gate."""
        async with open_labeller(labeller) as chosen:
            with inputs_of(source) as inputs:
                running = Running(ready, address, chosen, inputs, settings, on_message, on_progress, engine)
                judged = await running.carry_out()
        await asyncio.to_thread(running.finish, judged)
        return judged if gate is None else replace(judged, gated=check_run(judged.folder, gate))

    return sync.run(judge_all())


def estimate(
    judge: AnyKindOfJudge,
    source: Source,
    *,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    mapping: Mapping[str, str] | None = None,
    split: Mapping[str, str] | None = None,
    format: Format = "auto",  # noqa: A002
) -> Estimate:
    """Estimates the calls and the cost of a run, as `krino judge --dry-run` does. No model is asked."""
    ready = ready_judge(judge, options, prompt)
    settings = RunSettings(format=format, mapping=mapping or {}, split=split or {})
    with inputs_of(source) as inputs:
        return Running(ready, ready.name, labeller_from(labeller), inputs, settings).estimate()


# --- a run in progress ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Where a run is written and how its cases are read."""

    into: Path | None = None
    base: Path | None = None
    """The folder in which a run without a name gets a folder of its own; `runs` by default."""
    format: Format = "auto"
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False
    again: bool = False
    """Judge every case again, but only in this run's own folder: no other run is overwritten."""
    case_seconds: float = CASE_SECONDS
    """Seconds that the judge's code may take for a case; 0: no limit."""
    may_kill: bool = False
    """May a case kill its process? Then none is tried in this one. For engines with other processes."""


@dataclass(slots=True)
class Running:
    """A run in progress: judge, labeller, inputs and settings. The caller closes the labeller."""

    judge: AnyJudge
    address: str
    labeller: Labeller
    inputs: Inputs
    settings: RunSettings = field(default_factory=RunSettings)
    notify: Notify | None = None
    on_progress: Callable[[SessionProgress], None] | None = None
    make_engine: Callable[[], Engine] = LocalPool
    cores: int = 1
    """Cores that finishing may use. Only a command can safely start its program a second time."""
    stopped: RunStopped | None = None
    """Why the run stopped before the end of the cases, if it was not interrupted."""
    broken: int = 0
    """Cases on which the judge's own code broke after they were labelled."""
    _index: JournalIndex | None = None
    """Of the journal, from the session that wrote it."""

    def plan(self) -> Plan:
        """Returns the plan of the run, by which it can be continued."""
        plan = Plan(
            judge={"address": self.address, **self.judge.fingerprint()},
            labeller=self.labeller.describe(),
            inputs=[storable_text(name) for name in self.inputs.names],
            format=self.settings.format,
            mapping=dict(self.settings.mapping),
            split=dict(self.settings.split),
        )
        return in_part(plan, heads) if (heads := heads_of(self.inputs.paths, self.inputs.files)) else plan

    def estimate(self) -> Estimate:
        """Estimates calls and cost. Studies every case but asks no model; refuses a missing labeller as a run would."""
        found = Estimate()
        for item in self._watch_fields(self.cases()):
            self._add_forecast(item, found)
        return found

    async def estimate_safely(self, engine: Engine) -> Estimate:
        """Estimates for a judge that is not known to be safe: workers study each case first.

        A case that kills its worker cannot be judged. Every case is studied twice.
        """
        found = Estimate()

        async def receive(cases: Sequence[tuple[Returned, Finished | None]]) -> None:
            """Adds the forecast of each case; a case on which its worker died cannot be judged."""
            for case, judgement in cases:
                if isinstance(judgement, Judgement) and judgement.error == DIED:
                    found.add("cannot_be_judged", Forecast())
                else:
                    self._add_forecast(case.item, found)

        cases = opened(self._watch_fields(self.cases()), lambda item, digest: True, self.judge)
        await engine.run(
            Assignment(self.judge, Unasked(), case_seconds=self.settings.case_seconds, may_kill=True), cases, receive
        )
        return found

    def _add_forecast(self, item: CaseItem, found: Estimate) -> None:
        """Adds the forecast of one case; raises `UsageProblem` if it must be asked and no labeller was named."""
        kind, forecast = _forecast_case(self.judge, self.labeller, item, self.settings.case_seconds)
        if kind == "asked" and lacks_labeller(self.judge, self.labeller):
            self.judge.label_locally([])  # raises the error that says so
        found.add(kind, forecast)

    async def carry_out(self, conduct: Conduct = Session.run) -> Run:
        """Judges the cases that have no verdict yet, and returns the run. Wrong arguments are refused before a folder
        is made."""
        plan = self.plan()
        location = find_location(plan, named=self.settings.into, base=self.settings.base, fresh=self.settings.fresh)
        begun: Iterator[CaseItem] | None = self._begin(location.folder)
        self._announce(location)

        def cases() -> Iterator[CaseItem]:
            """Returns the stream that was started first; a second stream gives no messages about the cases."""
            nonlocal begun
            first, begun = begun, None
            if first is None:
                return self.cases()
            if self.inputs.has_copies:  # they are copied into the folder only now that it is this run's own
                self.inputs.keep_in(location.folder)
                first = self.cases()
            return self._watch_fields(first)

        fresh, engine = self.settings.fresh or self.settings.again, self.make_engine
        where, wary = location.folder, self.settings.may_kill
        seconds = self.settings.case_seconds
        session = Session(self.judge, self.labeller, plan, where, fresh, engine, self.on_progress, seconds, wary)
        try:
            manifest = await conduct(session, cases)
        except UsageProblem:
            if self.notify is not None and not location.folder.exists():
                self.notify(f"nothing was judged, and {location.folder} was not kept")
            raise
        self.stopped, self._index, self.broken = session.stopped, session.index, session.broken
        return Run(location.folder, manifest)

    def finish(self, run: Run) -> Summary:
        """Sums up the run; for a finished one, also writes the report and the table, from one pass. Raises
        `UsageProblem` if a finished run has no cases."""
        index, self._index = self._index, None
        if run.manifest.state != "finished" or (run.manifest.plan.part is not None and not run.manifest.cases):
            return collect(run.judged(index).records(), schema=run.manifest.about.fields_schema).summary
        if not run.manifest.cases:
            raise UsageProblem(f"{', '.join(run.manifest.plan.inputs)}: there are no cases in it")
        try:
            return self._write_results(run, index)
        except OSError as error:
            if not is_full(error):
                raise
            # The error names a temporary file, which would mean nothing to the user.
            raise write_failed(run.folder / REPORT, error) from None

    def _write_results(self, run: Run, index: JournalIndex | None) -> Summary:
        """Writes report and table and returns the summary; a large run is summed up in a second process meanwhile."""
        with ExitStack() as stack:
            large = self.cores > 1 and (run.manifest.cases or 0) >= LARGE_RUN
            beside = SummaryProcess.start(run.folder) if large else None
            if beside is not None:
                stack.enter_context(beside)
            judged = run.judged(index)
            case_of = CasesBeside(self.cases, identify_by(self.judge, None)).case_of
            report = stack.enter_context(
                Report(run.folder, run.manifest, self.judge, case_of, self.settings.case_seconds)
            )
            if beside is None:
                result = sum_up(run, judged.records, report)
            else:
                for record in judged.records():
                    report.add(record)
                result = beside.result() or sum_up(run, judged.records)
            report.write(result)
        return result.summary

    def cases(self) -> Iterator[CaseItem]:
        """Reads the cases from the first on, as often as this is called."""
        how = self.settings
        reading: Any = {"format": how.format, "mapping": how.mapping, "split": how.split}
        return read_cases(self.inputs.paths, **reading, judge=self.judge, files=self.inputs.files)

    def _begin(self, folder: Path) -> Iterator[CaseItem]:
        """Starts reading the cases and tries the first ones, so that a broken judge is refused before a folder is made.
        Returns all cases from the first on; raises `UsageProblem` if there are none.

        If the last command was killed, perhaps by a case, none is tried in this process.
        """
        killed = self.settings.may_kill or was_killed(folder)
        items = _Lookahead(self.cases())
        # A pipe may give one case now and the next in an hour: do not wait for more than the first.
        if not killed and all(Path(name).is_file() or Path(name).is_dir() for name in self.inputs.paths):
            with trying(folder):
                self._rehearse(items)
        if next(items.start(), None) is not None:
            unseen = killed or self._goes_to_workers()
            return items.rest() if unseen else rehearsed(items.rest(), self.judge, self.settings.case_seconds)
        if heads_of(self.inputs.paths, self.inputs.files):  # a shard may have no cases, and is a run as well
            return items.rest()
        raise UsageProblem(f"{', '.join(self.inputs.given)}: there are no cases in it")

    def _goes_to_workers(self) -> bool:
        return goes_to_workers(self.make_engine(), self.judge, self.settings.case_seconds)

    def _rehearse(self, items: _Lookahead) -> None:
        """Tries the judge on the first cases, in a process of its own if workers will run it. For a judge of the user's
        own file, first reports values of labels without a verdict."""
        seconds = self.settings.case_seconds
        if hasattr(self.judge, "definition") and not is_ours(self.judge.name) and self.notify is not None:
            from krino.api.checking import values_without_verdict  # only judges from files need it

            for line in values_without_verdict(self.judge):
                self.notify(line)
        if self._goes_to_workers():
            rehearse_apart(self.judge, self.labeller, items.start(), seconds)
            return
        rehearse_first(self.judge, items.start(), seconds)
        refuse_without_labeller(self.judge, self.labeller, items.start(), seconds)

    def _watch_fields(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """Yields the cases; messages about suspicious fields are given on the way."""
        if self.notify is None:
            return items
        return note_odd_fields(items, self.judge, self.notify, self.settings.mapping)

    def _announce(self, location: RunLocation) -> None:
        """Reports where the run is written, why an earlier one cannot be continued, and how the inputs are read."""
        if self.notify is None:
            return
        if location.because and location.instead_of is not None:
            self.notify(f"{location.instead_of} was made with other settings, so this is a new run:")
            for line in location.because:
                self.notify(f"  {line}")
        for line in list_ignored_files(self.inputs.paths):
            self.notify(line)
        for given, path in zip(self.inputs.given, self.inputs.paths, strict=True):
            for line in describe_inputs([path], self.settings.format, self.inputs.files):
                self.notify(line.replace(path, "stdin" if given == "-" else given, 1))  # of a copy, the name it has
        self.notify(f"{'continuing' if location.continued else 'run folder'} {location.folder}")


class _Lookahead:
    """Cases whose first ones can be read several times before all of them are used once."""

    def __init__(self, items: Iterator[CaseItem]) -> None:
        self._items = items
        self._read: deque[CaseItem] = deque()

    def start(self) -> Iterator[CaseItem]:
        """Yields from the first case on. What was read stays in memory, so only read a few."""
        yield from tuple(self._read)
        for item in self._items:
            self._read.append(item)
            yield item

    def rest(self) -> Iterator[CaseItem]:
        """Yields all cases, once, without keeping them."""
        while self._read:
            yield self._read.popleft()
        yield from self._items


# --- what it would cost ----------------------------------------------------------------------------


@dataclass(slots=True)
class Estimate:
    """How many cases would be judged how, and the calls, tokens and cost."""

    cases: int = 0
    cannot_be_judged: int = 0
    decided_by_rules: int = 0
    asked: int = 0
    known_from_cache: int = 0
    calls: int = 0
    input_tokens: int = 0
    input_cost: float | None = None
    """The cost of the calls with a known price; null if none has one."""
    unpriced: int = 0
    """Calls without a price."""
    repeated_tokens: int = 0
    """Part of `input_tokens` that a provider with a prompt cache should read from it."""
    repeated_saving: float | None = None
    """The expected saving, at the stated prices of cached input."""

    def add(self, kind: ForecastKind, forecast: Forecast) -> None:
        """Adds the forecast of a case; `kind`: which of the counters above it belongs to."""
        if self.calls:  # the first call finds nothing in the cache
            self.repeated_tokens += forecast.repeated_tokens
            if forecast.repeated_saving is not None:
                self.repeated_saving = (self.repeated_saving or 0.0) + forecast.repeated_saving
        self.cases += 1
        setattr(self, kind, getattr(self, kind) + 1)
        self.calls += forecast.calls
        self.input_tokens += forecast.input_tokens
        self.unpriced += forecast.unpriced
        if forecast.input_cost is not None:
            self.input_cost = (self.input_cost or 0.0) + forecast.input_cost


def _forecast_case(
    judge: AnyJudge, labeller: Labeller, item: CaseItem, seconds: float
) -> tuple[ForecastKind, Forecast]:
    """Forecasts whether and how a case would be judged, with its calls and tokens. It asks no model."""
    if item.record is None:
        return "cannot_be_judged", Forecast()
    try:
        with CodeLimit(seconds):
            case = judge.read(item.record)
            facts = judge.study(case)
            questions = open_questions(judge, labeller, case, facts)
    except (RunStopped, UsageProblem):
        raise
    except Exception:  # also if the judge's code fails: a run would record an error and ask no model
        return "cannot_be_judged", Forecast()
    if questions is None:
        return "decided_by_rules", Forecast()
    forecast = labeller.forecast(Task(judge, case, facts, questions, item.index, input_hash(item, judge)))
    return "known_from_cache" if forecast.cached and not forecast.calls else "asked", forecast
