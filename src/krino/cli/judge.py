"""`krino judge`: judge the cases of files into a run folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import options
from krino.cli.settings import load_settings

if TYPE_CHECKING:
    from rich.console import Console

    from krino.cases.item import CaseItem
    from krino.cli.gating import Gating
    from krino.cli.stdin import KeptStdin
    from krino.contract import Judge, Labeller
    from krino.runs.folder import RunLocation
    from krino.runs.manifest import Manifest, Plan


FILES = (
    "Files or folders of cases; - is stdin. A JSON list is a list of cases, a JSON object is one case; to the "
    "efficiency judge a bare list of messages, spans, runs or steps is one trace, and an export with several traces "
    "is one case for each."
)

NOT_IN_FILE = frozenset({"ctx", "judge_name", "files", "min", "max", "junit", "markdown"})
"""What krino.toml's section judge cannot set: the rules of a gate have a section of their own."""


@options.llm_flags()
def judge(
    ctx: typer.Context,
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help="rag, …, module:Class or file.py:Class")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help=FILES)],
    labeller: options.Labeller = "local",
    repeat: options.Repeat = 1,
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    prompt: options.Prompt = None,
    format: options.Format = options.CaseFormat.auto,  # noqa: A002 - the flag's name
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    split: options.Split = None,
    option: options.Options = None,
    run: options.RunFolder = None,
    gate: options.GateToo = False,
    min: options.GateMin = None,  # noqa: A002 - the flag's name
    max: options.GateMax = None,  # noqa: A002 - the flag's name
    junit: options.Junit = None,
    markdown: options.GateMarkdown = None,
    fresh: options.Fresh = False,
    dry_run: options.DryRun = False,
    json: options.AsJson = False,
) -> None:
    """Judge the cases of FILE... Running the same command again continues where it stopped.

    The run's folder then speaks of exactly these cases. What it holds of the same content, judge, labeller and options
    is used again; if the judge, the labeller or an option differs, the command is refused.

    With --gate the run is held against rules when all is judged, and the exit code is the gate's: 0 when every rule
    holds (failed cases too, where a rule allows them), 1 when not. A run that did not come to its end never passes: it
    ends with 3, or with 130 if it was interrupted, and the same command goes on with it.
    """
    from krino.cases import parse_mapping, parse_splits
    from krino.cli.gating import gating_of_judge
    from krino.cli.trust import keys_for, within_its_folder
    from krino.judges.registry import load_judge
    from krino.labellers.factory import names_in

    prompt = within_its_folder(ctx, "prompt", prompt)
    ready = load_judge(judge_name, judge_options(judge_name, option), _read_prompt(prompt))
    files_of_gate = {"junit": junit, "markdown": markdown}
    gating = gating_of_judge(ready, wanted=gate, flags={"min": min, "max": max}, files=files_of_gate, run=run)
    keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
    prices = load_settings().prices
    chosen = options.labeller_of(labeller, repeat, llm, keys, prices=prices, dry_run=dry_run)
    mapping, splits = parse_mapping(map or []), parse_splits(split or [])
    job = Job(judge_name, ready, chosen, files, format.value, mapping, splits, run, gating, fresh)
    raise typer.Exit(job.estimate(json) if dry_run else job.carry_out(json))


class Job:
    """One call of the command: a judge, a labeller, files, and where the run goes."""

    def __init__(
        self,
        address: str,
        judge: Judge[Any, Any, Any],
        labeller: Labeller,
        files: list[str],
        format: str,  # noqa: A002
        mapping: dict[str, str],
        split: dict[str, str],
        named: Path | None,
        gating: Gating | None = None,
        fresh: bool = False,
    ) -> None:
        from krino.render.terminal import screen

        self.address = address
        self.judge = judge
        self.labeller = labeller
        self.files = files
        self.format = format
        self.mapping = mapping
        self.split = split
        self.named = named
        self.gating = gating
        self.fresh = fresh
        self.console = screen(stderr=True)

    def plan(self, kept: KeptStdin) -> Plan:
        from krino.cases.item import as_text
        from krino.runs.manifest import Plan

        return Plan(
            judge={"address": self.address, **self.judge.fingerprint()},
            labeller=self.labeller.describe(),
            inputs=[as_text(name) for name in kept.names(self.files)],
            format=self.format,
            mapping=self.mapping,
            split=self.split,
        )

    def estimate(self, as_json: bool) -> int:
        from krino.cli.estimate import estimate
        from krino.cli.stdin import stdin_kept

        with stdin_kept(self.files) as kept:
            return estimate(self.judge, self.labeller, self.watched(self.read(kept.paths(self.files))), as_json)

    def carry_out(self, as_json: bool) -> int:
        """Whatever is wrong with the command is found out before it claims a folder."""
        import asyncio

        from krino.cli.finish import finish
        from krino.cli.going_on import command_to_go_on
        from krino.cli.stdin import stdin_kept
        from krino.runs.folder import find_location

        tune_memory()
        with stdin_kept(self.files) as kept:
            first_look = self._begun(kept.paths(self.files))
            plan = self.plan(kept)
            place = find_location(plan, named=self.named, fresh=self.fresh)
            announce(place, self.console)
            cases = Cases(self, kept, place.folder, first_look)
            manifest = asyncio.run(self._sit(plan, place, cases))
        command = command_to_go_on(sys.argv[1:], manifest.stop_reason)
        return finish(place.folder, manifest, self.judge, cases.again, self.console, as_json, command, self.gating)

    def _begun(self, inputs: list[str]) -> Iterator[CaseItem]:
        """The cases, the first of which is there; a judge that breaks on them is told before anything is claimed."""
        from itertools import chain

        from krino.engine.rehearsal import rehearse_first, rehearsed
        from krino.errors import UsageProblem

        if all(Path(name).is_file() or Path(name).is_dir() for name in inputs):  # what can be read twice
            rehearse_first(self.judge, self.read(inputs))
        items = self.read(inputs)
        for first in items:
            return rehearsed(chain([first], items), self.judge)
        raise UsageProblem(f"{', '.join(self.files)}: there are no cases in it")

    def read(self, inputs: list[str]) -> Iterator[CaseItem]:
        from krino.cases import read_cases

        return read_cases(
            inputs,
            format=self.format,  # type: ignore[arg-type]
            mapping=self.mapping,
            split=self.split,
            judge=self.judge,
        )

    def watched(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """The cases, with what is odd about their fields told on the way."""
        from krino.cases.separators import looked_for_separators
        from krino.cases.unread import watched

        def tell(text: str) -> None:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

        return looked_for_separators(watched(items, self.judge, tell), self.judge, tell)

    async def _sit(self, plan: Plan, place: RunLocation, cases: Cases) -> Manifest:
        from krino.cases import count_hint
        from krino.cli.interrupting import Interrupting
        from krino.cli.progress import shown
        from krino.runs.session import Session

        session = Session(self.judge, self.labeller, plan, place.folder, fresh=self.fresh)
        try:
            waiting = self.labeller.waiting_for
            with shown(session.tally, count_hint(cases.at_hand), self.console, priced=True, waiting=waiting):
                return await Interrupting(session, self.console).run(cases)
        finally:
            await self.labeller.aclose()


class Cases:
    """The cases of a job, each time they are asked for; the stream that was begun is used first.

    What came on stdin or through a pipe is read from the copy in the run's folder. It is put there when the cases are
    asked for, and not before: by then the folder is this command's own.
    """

    def __init__(self, job: Job, kept: KeptStdin, folder: Path, begun: Iterator[CaseItem]) -> None:
        self._job = job
        self._kept = kept
        self._folder = folder
        self._begun: Iterator[CaseItem] | None = begun
        self.at_hand = kept.paths(job.files)

    def __call__(self) -> Iterator[CaseItem]:
        begun, self._begun = self._begun, None
        if begun is None:
            return self.again()
        if self._kept.copies:
            self.at_hand = self._kept.settle_in(self._folder, self._job.files)
            begun = self.again()
        return self._job.watched(begun)

    def again(self) -> Iterator[CaseItem]:
        """The same cases once more, without a word about them."""
        return self._job.read(self.at_hand)


def tune_memory() -> None:
    """A run makes many short-lived objects and no cycles: looking for cycles less often saves a tenth of the time."""
    import gc

    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


def announce(place: RunLocation, console: Console) -> None:
    """Say where the run goes and, when an earlier one cannot be continued, why not."""
    if place.because and place.instead_of is not None:
        told = f"{place.instead_of} was made with other settings, so this is a new run:"
        console.print(told, highlight=False, markup=False)
        for line in place.because:
            console.print(f"  {line}", highlight=False, markup=False)
    verb = "continuing" if place.continued else "run folder"
    console.print(f"{verb} {place.folder}", highlight=False, markup=False)


def judge_options(name: str, given: list[str] | None) -> dict[str, Any]:
    """Options of a judge from krino.toml, and over them those of the command line."""
    return {**load_settings().options.get(name, {}), **parse_options(given)}


def parse_options(given: list[str] | None) -> dict[str, str]:
    from krino.errors import UsageProblem

    values = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageProblem(f"--option {pair!r}: write it as name=value")
        values[key] = value
    return values


def _read_prompt(path: Path | None) -> str | None:
    from krino.errors import UsageProblem

    if path is None:
        return None
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"--prompt {path}: {error}") from None
    if not text.strip():
        raise UsageProblem(f"--prompt {path}: the file is empty")
    return text
