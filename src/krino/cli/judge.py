"""`krino judge`: judge the cases of files into a run folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import exits, options
from krino.cli.printing import as_json
from krino.cli.settings import load_settings
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract import Labeller
    from krino.engine.protocol import Engine

FILES = (
    "Files of cases, or folders of them; - is stdin. A JSON list is a list of cases, a JSON object is one case; to the "
    "efficiency judge a bare list of messages, spans, runs or steps is one trace, and an export with several traces "
    "is one case for each."
)
MINUTE = 60.0
NOT_IN_FILE = frozenset({"ctx", "judge_name", "files", "min", "max", "point", "junit", "markdown"})
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
    workers: options.Workers = None,
    engine: options.EngineFlag = "local",
    ray_address: options.RayAddress = None,
    case_timeout: options.CaseTimeout = None,
    format: options.Format = "auto",  # noqa: A002 - the flag's name
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    split: options.Split = None,
    option: options.Options = None,
    run: options.RunFolder = None,
    gate: options.GateToo = False,
    min: options.GateMin = None,  # noqa: A002 - the flag's name
    max: options.GateMax = None,  # noqa: A002 - the flag's name
    point: options.GatePoint = None,
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
    from krino.api.running import Running, RunSettings
    from krino.cases import parse_mapping, parse_splits
    from krino.cli import runner
    from krino.cli.gate import gating_of_judge
    from krino.cli.keys import keys_for, within_its_folder
    from krino.contract.code_limit import CASE_SECONDS, seconds_of
    from krino.judges.registry import load_judge
    from krino.labellers.factory import names_in
    from krino.runs.inputs import inputs_of

    text = read_prompt(within_its_folder(ctx, "prompt", prompt))
    ready = load_judge(judge_name, judge_options(judge_name, option), text)
    keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
    rules, kept = {"min": min, "max": max}, {"junit": junit, "markdown": markdown}
    gating = gating_of_judge(ready, gate, rules, point, kept, run)
    chosen = options.labeller_of(labeller, repeat, llm, keys, prices=load_settings().prices, dry_run=dry_run)
    mapping, splits = parse_mapping(map or []), parse_splits(split or [])
    seconds = CASE_SECONDS if case_timeout is None else seconds_of(case_timeout)
    settings = RunSettings(run, None, format, mapping, splits, fresh, case_seconds=seconds)
    with inputs_of(files) as inputs:
        make = _engine_for(chosen, engine, workers, ray_address, dry_run)
        cores = _cores_for(workers)
        running = Running(ready, judge_name, chosen, inputs, settings, runner.tell, make_engine=make, cores=cores)
        every = MINUTE if engine == "batch" else None
        code = _dry_run(running, json) if dry_run else runner.carry_out(running, json, gating, every)
    raise typer.Exit(code)


def _cores_for(workers: int | None) -> int:
    """Those that the end of a run may use: who asks for one worker wants one core to be used."""
    from krino.engine.processes import usable_cores

    return 1 if workers == 1 else usable_cores()


def _engine_for(
    labeller: Labeller, engine: options.EngineName, workers: int | None, address: str | None, dry_run: bool
) -> Callable[[], Engine]:
    """All cores where the labelling is done here; a model is asked by one process unless more are asked for."""
    from krino.engine.desk import keep_to_one_core
    from krino.engine.processes import AllCores
    from krino.labellers.local import LocalLabeller

    if address is not None and engine != "ray":
        raise UsageProblem("--ray-address is for --engine ray: add that, or leave it out")
    if engine == "ray":
        from krino.engine.ray_cluster import RayEngine, imported_ray, refuse_unreachable

        ray = imported_ray()
        if address is not None and not dry_run:
            refuse_unreachable(ray, address)
        return lambda: RayEngine(workers, address)
    if engine == "batch":
        from krino.engine.batch import BatchFiles, at_batch_price, models_of

        if workers not in (None, 1):
            raise UsageProblem("--workers is not for --engine batch, which one process carries out: leave it out")
        models_of(labeller)
        if dry_run:
            at_batch_price(labeller)
        return BatchFiles
    if workers is None and not isinstance(labeller, LocalLabeller):
        return lambda: AllCores(1)
    if workers is not None:
        keep_to_one_core()  # each of them, this process too
    return lambda: AllCores(workers)


def _dry_run(running: Any, json: bool) -> int:
    """What a run would call and cost, before anything is spent."""
    import asyncio
    from dataclasses import asdict

    from krino.engine.processes import AllCores
    from krino.judges.registry import OURS

    found = running.estimate() if running.address in OURS else asyncio.run(running.estimate_safely(AllCores(1)))
    if json:
        as_json(asdict(found))
        return exits.DONE
    typer.echo(f"{found.cases:>9,} cases")
    typer.echo(f"{found.cannot_be_judged:>9,} cannot be judged")
    typer.echo(f"{found.decided_by_rules:>9,} decided by rules alone")
    typer.echo(f"{found.known_from_cache:>9,} known from the cache")
    typer.echo(f"{found.calls:>9,} model calls")
    typer.echo(f"{found.input_tokens:>9,} input tokens (estimate: four characters a token; replies come on top)")
    if found.input_cost is not None:
        rest = f", at least: {found.unpriced:,} calls have none" if found.unpriced else ""
        typer.echo(f"{found.input_cost:>9.4f} cost of the input at the stated price{rest}")
    if found.repeated_tokens:
        typer.echo(f"{found.repeated_tokens:>9,} of the input tokens should come from the provider's prompt cache")
    if found.repeated_saving is not None:
        typer.echo(f"{found.repeated_saving:>9.4f} saved by that, at the stated price of cached input")
    return exits.DONE


def judge_options(name: str, given: list[str] | None) -> dict[str, Any]:
    """Options of a judge from krino.toml, and over them those of the command line."""
    return {**load_settings().options.get(name, {}), **parse_options(given)}


def parse_options(given: list[str] | None) -> dict[str, str]:
    values = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageProblem(f"--option {pair!r}: write it as name=value")
        values[key] = value
    return values


def read_prompt(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise UsageProblem(f"--prompt {path}: {error.strerror}; name a file of text") from None
    except UnicodeDecodeError as error:
        raise UsageProblem(f"--prompt {path}: {error}; write it as UTF-8") from None
    if not text.strip():
        raise UsageProblem(f"--prompt {path}: the file is empty")
    return text
