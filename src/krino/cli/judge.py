"""`krino judge`: judge the cases of files into a run folder."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import options
from krino.cli.settings import load_settings

if TYPE_CHECKING:
    import asyncio

    from rich.console import Console

    from krino.cases.item import CaseItem
    from krino.cli.stdin import KeptStdin
    from krino.contract import Judge, Labeller
    from krino.runs.folder import Place
    from krino.runs.manifest import Manifest, Plan
    from krino.runs.sitting import Sitting


FILES = (
    "Files or folders of cases; - is stdin. A JSON list is a list of cases, a JSON object is one case; to the "
    "efficiency judge a bare list of messages, spans, runs or steps is one trace, and an export with several traces "
    "is one case for each."
)

NEVER_SENT = "dry-run"
"""Stands in for the key of a model that is not asked."""


def judge(
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help="rag, …, module:Class or file.py:Class")],
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help=FILES)],
    labeller: options.Labeller = "local",
    repeat: options.Repeat = 1,
    base_url: options.BaseUrl = None,
    api_key_env: options.ApiKey = None,
    api_version: options.ApiVersion = None,
    channel: options.Channel = None,
    temperature: options.Temperature = None,
    seed: options.Seed = None,
    reply_tokens: options.ReplyTokens = None,
    effort: options.Effort = None,
    media: options.MediaKinds = None,
    reasks: options.Reasks = 2,
    prompt: options.Prompt = None,
    concurrency: options.Concurrency = 32,
    rpm: options.Rpm = None,
    tpm: options.Tpm = None,
    timeout: options.Timeout = 120.0,
    retries: options.Retries = 6,
    max_cost: options.MaxCost = None,
    max_tokens: options.MaxTokens = None,
    price_in: options.PriceIn = None,
    price_out: options.PriceOut = None,
    cache: options.CacheFile = None,
    format: options.Format = options.CaseFormat.auto,  # noqa: A002 - the flag's name
    map: options.Mapping = None,  # noqa: A002 - the flag's name
    option: options.Options = None,
    run: options.RunFolder = None,
    fresh: options.Fresh = False,
    dry_run: options.DryRun = False,
    json: options.AsJson = False,
) -> None:
    """Judge the cases of FILE... Running the same command again continues where it stopped.

    The run's folder then speaks of exactly these cases. What it holds of the same content, judge, labeller and options
    is used again; if the judge, the labeller or an option differs, the command is refused.
    """
    from krino.cases import parse_mapping
    from krino.judges.registry import load_judge

    ready = load_judge(judge_name, judge_options(judge_name, option), _read_prompt(prompt))
    chosen = _labeller(
        labeller,
        repeat,
        base_url=base_url,
        key=key_from(api_key_env),
        api_version=api_version,
        channel=channel,
        temperature="usual" if temperature is None else temperature,
        insist=tuple(
            name
            for name, value in (("temperature", temperature), ("seed", seed), ("effort", effort))
            if value is not None
        ),
        seed=seed,
        reply_tokens=reply_tokens,
        effort=effort,
        media=tuple(media or ()),
        reasks=reasks,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        max_cost=max_cost,
        max_tokens=max_tokens,
        cache=cache,
        price_in=price_in,
        price_out=price_out,
        dry_run=dry_run,
    )
    job = Job(judge_name, ready, chosen, files, format.value, parse_mapping(map or []), run, fresh)
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
        named: Path | None,
        fresh: bool = False,
    ) -> None:
        from rich.console import Console

        self.address = address
        self.judge = judge
        self.labeller = labeller
        self.files = files
        self.format = format
        self.mapping = mapping
        self.named = named
        self.fresh = fresh
        self.console = Console(stderr=True)

    def plan(self, kept: KeptStdin) -> Plan:
        from krino.runs.manifest import Plan

        return Plan(
            judge={"address": self.address, **self.judge.fingerprint()},
            labeller=self.labeller.describe(),
            inputs=[kept.name if name == "-" else str(Path(name).resolve()) for name in self.files],
            format=self.format,
            mapping=self.mapping,
        )

    def estimate(self, as_json: bool) -> int:
        from krino.cli.estimate import estimate
        from krino.cli.stdin import stdin_kept

        with stdin_kept(self.files) as kept:
            inputs = [kept.path if name == "-" else name for name in self.files]
            return estimate(self.judge, self.labeller, self.watched(self.read(inputs)), as_json)

    def carry_out(self, as_json: bool) -> int:
        """Whatever is wrong with the command is found out before it claims a folder."""
        import asyncio

        from krino.cli.finish import finish
        from krino.cli.stdin import stdin_kept
        from krino.runs.folder import find_place

        tune_memory()
        with stdin_kept(self.files) as kept:
            first_look = self._begun([kept.path if name == "-" else name for name in self.files])
            plan = self.plan(kept)
            place = find_place(plan, named=self.named, fresh=self.fresh)
            announce(place, self.console)
            cases = Cases(self, kept, place.folder, first_look)
            manifest = asyncio.run(self._sit(plan, place, cases))
        return finish(place.folder, manifest, self.judge, self.console, as_json, _command())

    def _begun(self, inputs: list[str]) -> Iterator[CaseItem]:
        """The cases, the first of which is there."""
        from itertools import chain

        from krino.errors import UsageProblem

        items = self.read(inputs)
        for first in items:
            return chain([first], items)
        raise UsageProblem(f"{', '.join(self.files)}: there are no cases in it")

    def read(self, inputs: list[str]) -> Iterator[CaseItem]:
        from krino.cases import read_cases

        return read_cases(inputs, format=self.format, mapping=self.mapping, judge=self.judge)  # type: ignore[arg-type]

    def watched(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        from krino.cases.unread import watched

        def tell(text: str) -> None:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

        return watched(items, self.judge, tell)

    async def _sit(self, plan: Plan, place: Place, cases: Cases) -> Manifest:
        import asyncio

        from krino.cases import count_hint
        from krino.cli.progress import shown
        from krino.runs.sitting import Sitting

        sitting = Sitting(self.judge, self.labeller, plan, place.folder, fresh=self.fresh)
        task = asyncio.ensure_future(sitting.hold(cases))
        _on_interrupt(sitting, task, self.console)
        try:
            with shown(sitting.tally, count_hint(cases.at_hand), self.console, priced=True):
                return await task
        finally:
            await self.labeller.aclose()


class Cases:
    """The cases of a job, each time they are asked for; the stream that was begun is used first.

    What came on stdin is read from the copy in the run's folder. It is put there when the cases are asked for, and not
    before: by then the folder is this command's own.
    """

    def __init__(self, job: Job, kept: KeptStdin, folder: Path, begun: Iterator[CaseItem]) -> None:
        self._job = job
        self._kept = kept
        self._folder = folder
        self._begun: Iterator[CaseItem] | None = begun
        self.at_hand = [kept.path if name == "-" else name for name in job.files]

    def __call__(self) -> Iterator[CaseItem]:
        begun, self._begun = self._begun, None
        if begun is None:
            return self._job.read(self.at_hand)
        if "-" in self._job.files:
            settled = self._kept.settle_in(self._folder)
            self.at_hand = [settled if name == "-" else name for name in self._job.files]
            begun = self._job.read(self.at_hand)
        return self._job.watched(begun)


def tune_memory() -> None:
    """A run makes many short-lived objects and no cycles: looking for cycles less often saves a tenth of the time."""
    import gc

    gc.freeze()
    gc.set_threshold(20_000, 50, 50)


def announce(place: Place, console: Console) -> None:
    """Say where the run goes and, when an earlier one cannot be continued, why not."""
    if place.because and place.instead_of is not None:
        told = f"{place.instead_of} was made with other settings, so this is a new run:"
        console.print(told, highlight=False, markup=False)
        for line in place.because:
            console.print(f"  {line}", highlight=False, markup=False)
    verb = "continuing" if place.continued else "run folder"
    console.print(f"{verb} {place.folder}", highlight=False, markup=False)


def _on_interrupt(sitting: Sitting, task: asyncio.Future[Manifest], console: Console) -> None:
    """Once: finish what is in flight. Twice: leave at once. Nothing finished is lost either way."""
    import asyncio

    def stop() -> None:
        if sitting.interrupted:
            task.cancel()
            return
        console.print("stopping: waiting for replies in flight (Ctrl-C again to leave them)", highlight=False)
        sitting.interrupt()

    loop = asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(name, stop)
        except NotImplementedError:  # Windows has no loop signal handlers: Ctrl-C cancels the task
            return


def _labeller(name: str, repeat: int, *, dry_run: bool, **settings: Any) -> Labeller:
    from krino.errors import UsageProblem
    from krino.labellers.choose import named, names_in, share
    from krino.labellers.panel import Panel

    names = names_in(name)
    if repeat < 1:
        raise UsageProblem(f"--repeat must be at least 1, not {repeat}")
    if not set(names) - {"local"}:
        for_models = {"base_url": "--base-url", "channel": "--channel", "api_version": "--api-version"}
        if meant := [flag for key, flag in for_models.items() if settings[key] is not None]:
            raise UsageProblem(f"{meant[0]} is for a model, but none is named: add --labeller MODEL")
    if len(names) > 1:
        _refuse_for_juries(settings)
    if dry_run and settings["key"] is None:
        settings["key"] = NEVER_SENT
    members = {member: named(member, **_priced(member, settings)) for member in names}
    if len(members) == 1 and repeat == 1:
        return members[names[0]]
    share(members.values())
    return Panel(members, repeat=repeat)


def _refuse_for_juries(settings: Mapping[str, Any]) -> None:
    """One price, or one key, cannot be that of every model."""
    from krino.errors import UsageProblem

    if settings["price_in"] is not None or settings["price_out"] is not None:
        raise UsageProblem(
            '--price-in and --price-out: the models of a jury have their own; put [prices."MODEL"] '
            "for each into krino.toml"
        )
    if settings["key"] is not None:
        raise UsageProblem(
            "--api-key-env is one key for all the models of a jury; leave it out, and the key of each "
            "is taken from its provider's own variable"
        )


def _priced(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the prices of a model: those of the command line, else those of krino.toml."""
    prices = load_settings().prices.get(name, {})
    stated = {"price_in": settings["price_in"], "price_out": settings["price_out"]}
    known = {"price_in": prices.get("input"), "price_out": prices.get("output")}
    return {**settings, **{key: known[key] if value is None else value for key, value in stated.items()}}


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


def key_from(variable: str | None) -> str | None:
    from krino.errors import UsageProblem

    if variable is None:
        return None
    if not (value := os.environ.get(variable)):
        raise UsageProblem(f"--api-key-env {variable}: that variable is not set")
    return value


def _command() -> str:
    return shlex.join(["krino", *sys.argv[1:]])
