"""The run as a use case: judge cases into a folder, sum them up, write the report, and give the run back.

`krino judge`, `krino resettle` and `krino demo` call what stands here; `run` and `resettle` are the same from Python.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from krino.api.judging import AnyKindOfJudge, closing_ours, ready_judge
from krino.api.recorded_run import Run, load_run
from krino.api.summing import LARGE_RUN, SummedBeside, sum_up
from krino.cases import CaseItem, read_cases
from krino.cases.item import as_text
from krino.cases.origin import Format, left_unread
from krino.cases.shard import heads_of
from krino.cases.watching import watched
from krino.contract import AnyJudge, Forecast, Judgement, Labeller, Task
from krino.contract.code_limit import CASE_SECONDS, CodeLimit, seconds_of
from krino.engine import sync
from krino.engine.case import input_hash, open_questions
from krino.engine.crew import DIED
from krino.engine.pool import LocalPool
from krino.engine.protocol import Assignment, Engine, Finished, Returned, opened
from krino.engine.rehearsal import lacks_labeller, refuse_without_labeller, rehearse_first, rehearsed
from krino.engine.rehearsal_process import goes_to_workers, rehearse_apart
from krino.errors import RunStopped, UsageProblem
from krino.judges.registry import OURS, address_of
from krino.labellers.factory import labeller_from
from krino.labellers.replay import PanelReplay, Unasked
from krino.render.report import REPORT, Report
from krino.results.gates.gate import Gate, check_run
from krino.results.gates.validate import refuse_for_judge
from krino.results.summary import Summary, collect
from krino.runs.contents import Contents
from krino.runs.folder import RunLocation, find_location, trying, was_killed
from krino.runs.inputs import CasesBeside, Inputs, Source, identify_by, inputs_of, kept_inputs, opened_once
from krino.runs.manifest import Manifest, Plan, in_part
from krino.runs.reading import RecordedLabels
from krino.runs.session import CaseSource, Session, Tally
from krino.text.clean import clean_line
from krino.writing import is_full, unwritten

Tell = Callable[[str], None]
Conduct = Callable[[Session, CaseSource], Awaitable[Manifest]]
"""Carries a session out; a command shows progress and listens to signals meanwhile."""


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
    on_progress: Callable[[Tally], None] | None = None,
    on_message: Tell | None = None,
    engine: Callable[[], Engine] = LocalPool,
) -> Run:
    """Judge the cases of `source` into a run folder, as `krino judge` does, and give the run.

    `source`: a path or several (files, folders, `-` for stdin), or an iterable of records. `into` is the run's folder
    (by default one of its own below `runs/`): called again with the same arguments, the run continues where it
    stopped. `mapping` and `split` as `--map` and `--split`: `{"question": "query"}`, `{"context": "|||"}`. `fresh`
    judges anew what the folder holds. `case_timeout`: seconds that the judge's code may take for a case, the wait for a
    model not counted (0: no limit). `gate`: rules (`krino.gate_rules`) that are checked before anything is paid, and
    held against the run in the end: `run.gated`. `on_progress` is called after every judgement, `on_message` with what
    the command would say about the input and the folder. `engine` makes what judges the cases (`engine.protocol`).

    A run that was stopped (a spent budget, a dead endpoint) is given back unfinished: `run.manifest.state` and
    `run.manifest.stop_reason` say so, and no gate lets it pass.
    """
    sync.remember(labeller)
    ready = ready_judge(judge, options, prompt)
    address = judge if isinstance(judge, str) else address_of(type(ready))
    if gate is not None:
        refuse_for_judge(ready, gate.rules)
    folder, seconds = None if into is None else Path(into), seconds_of(case_timeout)
    settings = RunSettings(folder, None, format, mapping or {}, split or {}, fresh, case_seconds=seconds)

    async def carried_out() -> Run:
        async with closing_ours(labeller) as chosen:
            with inputs_of(source) as inputs:
                running = Running(ready, address, chosen, inputs, settings, on_message, on_progress, engine)
                judged = await running.carry_out()
        await asyncio.to_thread(running.finish, judged)
        return judged if gate is None else replace(judged, gated=check_run(judged.folder, gate))

    return sync.run(carried_out())


def resettle(
    run: str | PathLike[str] | Run,
    source: Source | None = None,
    *,
    into: str | PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    judge: AnyKindOfJudge | None = None,
) -> Run:
    """Apply the judge's present rules (and `options`) to the labels of a run, into a new one. Nobody is asked.

    The run may come from someone else: no judge is loaded and no file is opened only because the run names it. So
    `source` names the files that it was made of (stdin and records are kept in its folder), and `judge` its judge, if
    that is none of Krino's own.
    """
    known = run if isinstance(run, Run) else load_run(run)
    named = None if into is None else Path(into)
    with resettling(known, source, into=named, options=options, judge=judge) as running:
        settled = sync.run(running.carry_out())
    running.finish(settled)
    return settled


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
    """What a run would call and cost, as `krino judge --dry-run` says it. Nobody is asked."""
    ready = ready_judge(judge, options, prompt)
    settings = RunSettings(format=format, mapping=mapping or {}, split=split or {})
    with inputs_of(source) as inputs:
        return Running(ready, ready.name, labeller_from(labeller), inputs, settings).estimate()


# --- a run on its way ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Where a run goes and how its cases are read."""

    into: Path | None = None
    base: Path | None = None
    """The folder in which a run without a name gets a folder of its own; `runs` by default."""
    format: Format = "auto"
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: Mapping[str, str] = field(default_factory=dict)
    fresh: bool = False
    again: bool = False
    """Judge every case again, yet only in a folder that is this run's own: no other run is ever overwritten."""
    case_seconds: float = CASE_SECONDS
    """What the judge's code may take for a case; 0: no limit."""
    may_kill: bool = False
    """Whether a case may kill its process: none is tried in this one. For engines that have others."""


@dataclass(slots=True)
class Running:
    """A judge, a labeller and inputs on their way to being a run. The labeller belongs to the caller."""

    judge: AnyJudge
    address: str
    labeller: Labeller
    inputs: Inputs
    settings: RunSettings = field(default_factory=RunSettings)
    tell: Tell | None = None
    on_progress: Callable[[Tally], None] | None = None
    make_engine: Callable[[], Engine] = LocalPool
    cores: int = 1
    """That finishing may use. Only a command is sure to be a program that can be started a second time."""
    stopped: RunStopped | None = None
    """What ended the run before its cases did, if that was no interruption."""
    _lines: Contents | None = None
    """Where the lines of the journal begin, from the session that wrote them."""

    def plan(self) -> Plan:
        plan = Plan(
            judge={"address": self.address, **self.judge.fingerprint()},
            labeller=self.labeller.describe(),
            inputs=[as_text(name) for name in self.inputs.names],
            format=self.settings.format,
            mapping=dict(self.settings.mapping),
            split=dict(self.settings.split),
        )
        return in_part(plan, heads) if (heads := heads_of(self.inputs.paths, self.inputs.files)) else plan

    def estimate(self) -> Estimate:
        """What asking about the cases would take. Studies every case; asks nobody, and refuses what a run would refuse
        for having nobody to ask."""
        found = Estimate()
        for item in self._watched(self.cases()):
            self._add_outlook(item, found)
        return found

    async def estimate_safely(self, engine: Engine) -> Estimate:
        """The same where a case may kill whoever studies it: workers try each case first, and one that kills them
        cannot be judged. It is studied twice then, so this is for judges that are not known to be safe."""
        found = Estimate()

        async def receive(cases: Sequence[tuple[Returned, Finished | None]]) -> None:
            for case, judgement in cases:
                if isinstance(judgement, Judgement) and judgement.error == DIED:
                    found.add("cannot_be_judged", Forecast())
                else:
                    self._add_outlook(case.item, found)

        cases = opened(self._watched(self.cases()), lambda item, digest: True, self.judge)
        await engine.run(
            Assignment(self.judge, Unasked(), case_seconds=self.settings.case_seconds, may_kill=True), cases, receive
        )
        return found

    def _add_outlook(self, item: CaseItem, found: Estimate) -> None:
        kind, forecast = _outlook(self.judge, self.labeller, item, self.settings.case_seconds)
        if kind == "asked" and lacks_labeller(self.judge, self.labeller):
            self.judge.label_locally([])  # which says that there is none
        found.add(kind, forecast)

    async def carry_out(self, conduct: Conduct = Session.run) -> Run:
        """Judge what is open. Whatever is wrong with the call is found out before a folder is claimed."""
        plan = self.plan()
        location = find_location(plan, named=self.settings.into, base=self.settings.base, fresh=self.settings.fresh)
        begun: Iterator[CaseItem] | None = self._first_look(location.folder)
        self._announce(location)

        def cases() -> Iterator[CaseItem]:
            """The stream that was begun is used first; the second time nothing is said about the cases."""
            nonlocal begun
            first, begun = begun, None
            if first is None:
                return self.cases()
            if self.inputs.has_copies:  # they are moved into the folder only now that it is this run's own
                self.inputs.keep_in(location.folder)
                first = self.cases()
            return self._watched(first)

        fresh, engine = self.settings.fresh or self.settings.again, self.make_engine
        where, wary = location.folder, self.settings.may_kill
        seconds = self.settings.case_seconds
        session = Session(self.judge, self.labeller, plan, where, fresh, engine, self.on_progress, seconds, wary)
        try:
            manifest = await conduct(session, cases)
        except UsageProblem:
            if self.tell is not None and not location.folder.exists():
                self.tell(f"nothing was judged, and {location.folder} was not kept")
            raise
        self.stopped, self._lines = session.stopped, session.lines
        return Run(location.folder, manifest)

    def finish(self, run: Run) -> Summary:
        """Sum up what there is; of a finished run, write the report and the table too, from one reading."""
        lines, self._lines = self._lines, None
        if run.manifest.state != "finished" or (run.manifest.plan.part is not None and not run.manifest.cases):
            return collect(run.found(lines).records(), schema=run.manifest.about.fields_schema).summary
        if not run.manifest.cases:
            raise UsageProblem(f"{', '.join(run.manifest.plan.inputs)}: there are no cases in it")
        try:
            return self._write_results(run, lines)
        except OSError as error:
            if not is_full(error):
                raise
            # It was a helping file, which has no name of its own.
            raise unwritten(run.folder / REPORT, error) from None

    def _write_results(self, run: Run, lines: Contents | None) -> Summary:
        with ExitStack() as stack:
            large = self.cores > 1 and (run.manifest.cases or 0) >= LARGE_RUN
            beside = SummedBeside.started(run.folder) if large else None
            if beside is not None:
                stack.enter_context(beside)
            found = run.found(lines)
            del lines  # it grows with the run, and is not held while results are
            case_of = CasesBeside(self.cases, identify_by(self.judge, None)).case_of
            report = stack.enter_context(
                Report(run.folder, run.manifest, self.judge, case_of, self.settings.case_seconds)
            )
            if beside is None:
                result = sum_up(run, found.records, report)
            else:
                beside.begin(found)
                for record in found.records():
                    report.add(record)
                result = beside.result() or sum_up(run, found.records)
            report.write(result)
        return result.summary

    def cases(self) -> Iterator[CaseItem]:
        """The cases from the first on, as often as this is called."""
        how = self.settings
        reading: Any = {"format": how.format, "mapping": how.mapping, "split": how.split}
        return read_cases(self.inputs.paths, **reading, judge=self.judge, files=self.inputs.files)

    def _first_look(self, folder: Path) -> Iterator[CaseItem]:
        """The cases, the first of which is there; a judge that breaks on them is told before anything is claimed. Where
        the last command was killed, perhaps by one of the cases, they are left to workers unseen."""
        killed = self.settings.may_kill or was_killed(folder)
        items = _Begun(self.cases())
        # A pipe may hand over one case now and the next in an hour: nothing waits for more of it than the first case.
        if not killed and all(Path(name).is_file() or Path(name).is_dir() for name in self.inputs.paths):
            with trying(folder):
                self._rehearse(items)
        if next(items.start(), None) is not None:
            unseen = killed or self._goes_to_workers()
            return items.rest() if unseen else rehearsed(items.rest(), self.judge, self.settings.case_seconds)
        if heads_of(self.inputs.paths, self.inputs.files):  # some of many shards have no cases, and are runs as well
            return items.rest()
        raise UsageProblem(f"{', '.join(self.inputs.given)}: there are no cases in it")

    def _goes_to_workers(self) -> bool:
        return goes_to_workers(self.make_engine(), self.judge, self.settings.case_seconds)

    def _rehearse(self, items: _Begun) -> None:
        seconds = self.settings.case_seconds
        if self._goes_to_workers():
            rehearse_apart(self.judge, self.labeller, items.start(), seconds)
            return
        rehearse_first(self.judge, items.start(), seconds)
        refuse_without_labeller(self.judge, self.labeller, items.start(), seconds)

    def _watched(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """The cases, with what is odd about their fields told on the way."""
        if self.tell is None:
            return items
        return watched(items, self.judge, self.tell, self.settings.mapping)

    def _announce(self, location: RunLocation) -> None:
        """Say where the run goes and, when an earlier one cannot be continued, why not."""
        if self.tell is None:
            return
        if location.because and location.instead_of is not None:
            self.tell(f"{location.instead_of} was made with other settings, so this is a new run:")
            for line in location.because:
                self.tell(f"  {line}")
        for line in left_unread(self.inputs.paths):
            self.tell(line)
        self.tell(f"{'continuing' if location.continued else 'run folder'} {location.folder}")


class _Begun:
    """Cases whose start is looked at, as often as need be, before all of them are used; it is kept until then."""

    def __init__(self, items: Iterator[CaseItem]) -> None:
        self._items = items
        self._read: deque[CaseItem] = deque()

    def start(self) -> Iterator[CaseItem]:
        """From the first case on. Each that is looked at stays in memory: only a few may be asked for."""
        yield from tuple(self._read)
        for item in self._items:
            self._read.append(item)
            yield item

    def rest(self) -> Iterator[CaseItem]:
        """All of them, once."""
        while self._read:
            yield self._read.popleft()
        yield from self._items


# --- what it would cost ----------------------------------------------------------------------------


@dataclass(slots=True)
class Estimate:
    """What would become of the cases, and what asking about them would take."""

    cases: int = 0
    cannot_be_judged: int = 0
    decided_by_rules: int = 0
    asked: int = 0
    known_from_cache: int = 0
    calls: int = 0
    input_tokens: int = 0
    input_cost: float | None = None
    """Null where no price is known; where some calls have one, what those take."""
    unpriced: int = 0
    """Calls without a price."""
    repeated_tokens: int = 0
    """Part of `input_tokens` that a provider with a prompt cache should read from it."""
    repeated_saving: float | None = None
    """What that should save, at the stated prices of cached input."""

    def add(self, kind: str, forecast: Forecast) -> None:
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


def _outlook(judge: AnyJudge, labeller: Labeller, item: CaseItem, seconds: float) -> tuple[str, Forecast]:
    """What would become of a case, and what asking about it would take."""
    if item.record is None:
        return "cannot_be_judged", Forecast()
    try:
        with CodeLimit(seconds):
            case = judge.read(item.record)
            facts = judge.study(case)
            questions = open_questions(judge, labeller, case, facts)
    except (RunStopped, UsageProblem):
        raise
    except Exception:  # also where the judge's code breaks on it: a run would record an error, and ask nobody
        return "cannot_be_judged", Forecast()
    if questions is None:
        return "decided_by_rules", Forecast()
    forecast = labeller.forecast(Task(judge, case, facts, questions, item.index, input_hash(item, judge)))
    return "known_from_cache" if forecast.cached and not forecast.calls else "asked", forecast


# --- settling again --------------------------------------------------------------------------------


@contextlib.contextmanager
def resettling(
    run: Run,
    source: Source | None,
    *,
    into: Path | None = None,
    options: Mapping[str, Any] | None = None,
    judge: AnyKindOfJudge | None = None,
    trust: bool = False,
    tell: Tell | None = None,
    make_engine: Callable[[], Engine] | None = None,
) -> Iterator[Running]:
    """A run whose labels are those of another one. `trust`: load whatever judge the other run names.

    `make_engine`: makes one with other processes than this; they are used from the start where the other run was killed
    or has errors, so that a case that kills whoever settles it is an error and no more."""
    plan = run.manifest.plan
    command = shlex.join(["krino", "resettle", str(run.folder), *(source if isinstance(source, list) else [])])
    named = judge if judge is not None else _judge_of(run, trust, command)
    stored = plan.judge.get("options")
    ready = ready_judge(named, {**(stored if isinstance(stored, Mapping) else {}), **(options or {})}, None)
    if not run.journal.exists():
        raise UsageProblem(f"{run.folder} has no judgements yet: there is nothing to settle again")
    address = named if isinstance(named, str) else address_of(type(ready))
    recorded = RecordedLabels(run)
    labeller = PanelReplay(recorded, recorded.ballots, recorded.findings, of={"run": run.folder.name, **plan.labeller})
    # Again: the labels of the run may be others than they were, and settling costs nothing.
    wary = make_engine is not None and (run.manifest.counts.error > 0 or was_killed(run.folder))
    how = RunSettings(into, run.folder.parent, plan.format, plan.mapping, plan.split, again=True, may_kill=wary)  # type: ignore[arg-type]
    try:
        with _kept(run, command) if source is None else inputs_of(source) as inputs:
            yield Running(ready, address, labeller, inputs, how, tell, make_engine=make_engine or LocalPool)
    finally:
        recorded.close()


def _judge_of(run: Run, trust: bool, command: str) -> str:
    """The judge that a run names, where that is safe: its name comes from a file that anybody may have written."""
    stored = clean_line(str(run.manifest.plan.judge.get("address") or run.manifest.plan.judge.get("name") or ""))
    if stored in OURS or (trust and stored):
        return stored
    raise UsageProblem(
        f"{run.folder} was made with the judge {stored or '(not named)'}, which is no judge of Krino's own: to load it "
        f"is to run its code. If that is your judge: {command} --judge {shlex.quote(stored or 'JUDGE')} (or --trust, "
        "to take whatever the folder names; in Python judge=...)"
    )


def _kept(run: Run, command: str) -> contextlib.AbstractContextManager[Inputs]:
    """The inputs that lie in the folder of a run."""
    if (inputs := kept_inputs(run.folder, run.manifest.plan.inputs)) is not None:
        return opened_once(inputs)
    names = " ".join(shlex.quote(clean_line(name)) for name in run.manifest.plan.inputs)
    raise UsageProblem(
        f"name the files that {run.folder} was made of: they do not lie in it, and what a run folder names is not "
        f"opened unasked. If they are yours and still there: {command} {names}"
    )
