"""Applies a judge's present rules to the labels of a stored run, into a new run; no model is asked."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from krino.api.judging import AnyKindOfJudge, ready_judge
from krino.api.recorded_run import Run, load_run
from krino.api.running import Notify, Running, RunSettings
from krino.engine import sync
from krino.engine.interface import Engine
from krino.engine.pool import LocalPool
from krino.errors import UsageProblem
from krino.judges.registry import address_of, is_ours
from krino.labellers.replay import PanelReplay
from krino.runs.folder import was_killed
from krino.runs.inputs import Inputs, Source, inputs_of, kept_inputs, opened_once
from krino.runs.stored_run import RecordedLabels
from krino.text.clean import clean_line


def resettle(
    run: str | PathLike[str] | Run,
    source: Source | None = None,
    *,
    into: str | PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    judge: AnyKindOfJudge | None = None,
) -> Run:
    """Applies the judge's present rules (and `options`) to the labels of a run, into a new run. No model is asked.

    The run may come from someone else: no judge is loaded and no file is opened only because the run names it. So
    `source` names the files that it was made of (stdin and records are kept in its folder), and `judge` its judge, if
    that is not one of Krino's own.
    """
    known = run if isinstance(run, Run) else load_run(run)
    named = None if into is None else Path(into)
    with prepare_resettling(known, source, into=named, options=options, judge=judge) as running:
        settled = sync.run(running.carry_out())
    running.finish(settled)
    return settled


@contextlib.contextmanager
def prepare_resettling(
    run: Run,
    source: Source | None,
    *,
    into: Path | None = None,
    options: Mapping[str, Any] | None = None,
    judge: AnyKindOfJudge | None = None,
    trust: bool = False,
    notify: Notify | None = None,
    make_engine: Callable[[], Engine] | None = None,
) -> Iterator[Running]:
    """Prepares a run that uses the labels of another one, and closes what it reads after the block. `trust`: load
    whatever judge the other run names.

    `make_engine`: makes an engine that uses other processes; if the other run was killed or has errors, these are used
    from the start, so that a case that kills its process becomes an error and does not end the run.
    """
    plan = run.manifest.plan
    command = shlex.join(["krino", "resettle", str(run.folder), *(source if isinstance(source, list) else [])])
    named = judge if judge is not None else judge_of_run(run, trust, command)
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
        with kept_or_refused(run, command) if source is None else inputs_of(source) as inputs:
            yield Running(ready, address, labeller, inputs, how, notify, make_engine=make_engine or LocalPool)
    finally:
        recorded.close()


def judge_of_run(run: Run, trust: bool, command: str) -> str:
    """Returns the judge that a run names, where loading it is safe or trusted; otherwise raises `UsageProblem`: the
    name comes from a file that anybody may have written."""
    stored = clean_line(str(run.manifest.plan.judge.get("address") or run.manifest.plan.judge.get("name") or ""))
    if is_ours(stored) or (trust and stored):
        return stored
    raise UsageProblem(
        f"{run.folder} was made with the judge {stored or '(not named)'}, which is no judge of Krino's own: to load it "
        f"is to run its code. If that is your judge: {command} --judge {shlex.quote(stored or 'JUDGE')} (or --trust, "
        "to take whatever the folder names; in Python judge=...)"
    )


def kept_or_refused(run: Run, command: str) -> contextlib.AbstractContextManager[Inputs]:
    """Opens the inputs in the folder of a run; raises `UsageProblem` if they are not kept there."""
    if (inputs := kept_inputs(run.folder, run.manifest.plan.inputs)) is not None:
        return opened_once(inputs)
    names = " ".join(shlex.quote(clean_line(name)) for name in run.manifest.plan.inputs)
    raise UsageProblem(
        f"name the files that {run.folder} was made of: they do not lie in it, and what a run folder names is not "
        f"opened unasked. If they are yours and still there: {command} {names}"
    )
