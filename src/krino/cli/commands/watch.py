"""`krino watch`: judges traces as they come and writes their scores back."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import exits, options
from krino.cli.settings import load_settings
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract import AnyJudge
    from krino.contract import Labeller as LabellerObject
    from krino.live.interfaces import ScoreTarget, TraceSource
    from krino.live.watch import Watch
    from krino.runs.manifest import Manifest

SOURCE = (
    "A file of OTLP/JSON lines that grows; http://127.0.0.1:4318, where Krino then takes spans (OTLP/HTTP); langfuse; "
    "mlflow:EXPERIMENT."
)
LANGFUSE, MLFLOW = "langfuse", "mlflow:"
JUDGE = "A name (rag, …: krino judges), file.md, file.py:Class or module:Class."
_ENDPOINT = (
    "Send scores as OpenTelemetry events there (OTLP/HTTP, as http://HOST:4318); headers come from "
    "OTEL_EXPORTER_OTLP_HEADERS. By default scores of langfuse and mlflow go back there, others stay in the run."
)
Endpoint = Annotated[str | None, options.flag(_ENDPOINT, panel=options.OUTPUT, env="KRINO_ENDPOINT")]
_QUIET = "A trace without an ended root is judged after so many seconds without a new span (60)."
Quiet = Annotated[float, options.flag(_QUIET, panel=options.INPUT, min=0.0)]
_ONCE = "Judge the traces that are complete now, and end."
Once = Annotated[bool, options.flag(_ONCE, "--once", panel=options.OUTPUT)]


_SINCE = "Of langfuse and mlflow: the time from which traces are read, as 2026-11-19T08:00 (now)."
Since = Annotated[datetime | None, options.flag(_SINCE, panel=options.INPUT, metavar="<time>")]
_EVERY = "Seconds between two looks at SOURCE (1; of langfuse and mlflow 10)."
Every = Annotated[float | None, options.flag(_EVERY, panel=options.RARE, min=0.1)]


@options.llm_flags()
def watch(
    ctx: typer.Context,
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help=JUDGE)],
    source: Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE)],
    endpoint: Endpoint = None,
    quiet: Quiet = 60.0,
    once: Once = False,
    since: Since = None,
    every: Every = None,
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    option: options.Options = None,
    labeller: options.Labeller = "local",
    repeat: options.Repeat = 1,
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    prompt: options.Prompt = None,
    run: options.RunFolder = None,
    case_timeout: options.CaseTimeout = None,
) -> None:
    """Judge traces as they come, each once, and write their scores back. The same command again continues.

    The run folder remembers what was judged and written. --max-cost is a limit for all of it. Ctrl-C ends the watch
    when what is under way is judged.
    """
    from krino.cases import parse_mapping
    from krino.cli import runner
    from krino.cli.commands.judge import load_named_judge
    from krino.cli.keys import keys_for
    from krino.contract.code_limit import CASE_SECONDS, seconds_of
    from krino.labellers.factory import names_in
    from krino.live.watch import Watch, WatchPlan
    from krino.runs.folder import find_location

    ready = load_named_judge(ctx, judge_name, option, prompt)
    keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
    chosen = options.labeller_of(labeller, repeat, llm, keys, prices=load_settings().prices)
    seconds = CASE_SECONDS if case_timeout is None else seconds_of(case_timeout)
    plan = WatchPlan(
        ready,
        judge_name,
        chosen,
        source=_name_of(source),
        make_source=lambda folder, known: _open_source(source, folder, known, quiet, since),
        make_target=_choose_target(source, endpoint, ready, chosen),
        interval=every or (10.0 if _is_platform(source) else 1.0),
        mapping=parse_mapping(map or []),
        case_seconds=seconds,
        once=once,
    )
    location = find_location(plan.run_plan(), named=run)
    runner.notify(f"{'continuing' if location.continued else 'run folder'} {location.folder}")
    raise typer.Exit(asyncio.run(_watch(Watch(plan, location.folder, runner.notify))))


def _name_of(source: str) -> str:
    """Returns the source under a name that is the same wherever the command is called."""
    return source if _is_platform(source) or source.startswith("http://") else f"otlp:{Path(source).resolve()}"


def _is_platform(source: str) -> bool:
    return source == LANGFUSE or source.startswith(MLFLOW)


def _open_source(
    source: str, folder: Path, is_known: Callable[[str], bool], quiet: float, since: datetime | None
) -> TraceSource:
    """Opens the source that the user named; raises `UsageProblem` if it is a folder or does not take `--since`."""
    from krino.cli.runner import notify
    from krino.live.otlp_file import OtlpFile
    from krino.live.receiver import Receiver

    if _is_platform(source):
        start = None if since is None else since.astimezone()
        with _explain_missing_extra(source):
            if source == LANGFUSE:
                from krino.live.langfuse import LangfuseTraces

                return LangfuseTraces(folder, start, quiet, is_known, notify)
            from krino.live.mlflow import MlflowTraces

            return MlflowTraces(source.removeprefix(MLFLOW), folder, start, is_known)
    if since is not None:
        raise UsageProblem("--since is for langfuse and mlflow: leave it out")
    if source.startswith("http://"):
        return Receiver(source, folder, quiet, is_known, notify)
    if Path(source).is_dir():
        raise UsageProblem(f"{source} is a folder; name a file of OTLP/JSON lines")
    return OtlpFile(Path(source), quiet, is_known, notify)


def _choose_target(
    source: str, endpoint: str | None, judge: AnyJudge, labeller: LabellerObject
) -> Callable[[Manifest, Path], ScoreTarget] | None:
    """Returns what makes the target of scores: the endpoint, else the platform that traces come from; None if there is
    neither."""
    from krino.cli.runner import notify
    from krino.exports.otlp_send import logs_address

    if endpoint is not None:
        logs_address(endpoint)  # refuses what is no address
        from krino.live.otlp_events import OtlpEvents

        return lambda manifest, folder: OtlpEvents(endpoint, manifest, folder.name, notify)
    if not _is_platform(source):
        return None
    from krino.adapters.shared_judge import SharedJudge

    with _explain_missing_extra(source):
        if source == LANGFUSE:
            from krino.live.langfuse import LangfuseScores

            return lambda manifest, folder: LangfuseScores(SharedJudge(judge, labeller=labeller), notify)
        from krino.live.mlflow import MlflowScores

        return lambda manifest, folder: MlflowScores(SharedJudge(judge, labeller=labeller))


@contextmanager
def _explain_missing_extra(source: str) -> Iterator[None]:
    """Turns an `ImportError` inside the block into a `UsageProblem` that says which extra a platform needs."""
    try:
        yield
    except ImportError as missing:
        extra = source.partition(":")[0]
        raise UsageProblem(f"{source} needs the package of {extra} ({missing}): pip install 'krino[{extra}]'") from None


async def _watch(watch: Watch) -> int:
    """Watches until a signal, a limit, or the end of what is there; returns the exit code."""
    from krino.cli.runner import notify
    from krino.results.formatting import format_count, format_outcomes

    loop, running = asyncio.get_running_loop(), asyncio.ensure_future(watch.run())

    def end() -> None:
        """Stops the watch when what is under way is judged; a second signal ends it at once."""
        if watch.is_ending():
            running.cancel()
        watch.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end)
    try:
        manifest = await running
    except asyncio.CancelledError:
        return exits.INTERRUPTED
    finally:
        await watch.plan.labeller.aclose()
    counts = manifest.counts
    traces = "1 trace" if counts.total == 1 else f"{counts.total:,} traces"
    notify(f"{traces}: {format_outcomes(counts)}; in {watch.folder}")
    if watch.stopped is not None:
        notify(f"stopped: {watch.stopped}")
    if watch.unwritten:
        notify(f"not written yet: the scores of {watch.unwritten:,} of them; the same command goes on")
    if watch.rejected:
        notify(f"refused by the target: {format_count(watch.rejected, 'score')}; the run folder has them")
    not_judged = counts.total - counts.ok
    lost = watch.stopped is not None or watch.unwritten or watch.rejected or not_judged
    return exits.CASES_FAILED if lost else exits.DONE
