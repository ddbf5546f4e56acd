"""`krino judge`: judges the cases of files and writes a run folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import exits, options
from krino.cli.printing import print_json
from krino.cli.settings import load_settings
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract import AnyJudge, Labeller
    from krino.engine.interface import Engine

FILES = (
    "Files of cases, or folders of them; - is stdin. A JSON list is several cases, an object is one; for the "
    "efficiency judge a list of steps, messages or spans is one trace."
)
MINUTE = 60.0
JUDGE = "A name (rag, …: krino judges), file.md, file.py:Class or module:Class; left out with --rubric."
NOT_IN_FILE = frozenset({"ctx", "judge_name", "files", "rubric", "min", "max", "point", "junit", "markdown"})
"""Parameters that krino.toml's section judge cannot set; the rules of a gate have their own section."""


@options.llm_flags()
def judge(
    ctx: typer.Context,
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help=JUDGE)] = "",
    files: Annotated[list[str] | None, typer.Argument(metavar="FILE...", help=FILES, show_default=False)] = None,
    rubric: options.Rubric = None,
    format: options.Format = "auto",  # noqa: A002 - the flag's name
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    option: options.Options = None,
    labeller: options.Labeller = "local",
    repeat: options.Repeat = 1,
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    prompt: options.Prompt = None,
    run: options.RunFolder = None,
    workers: options.Workers = None,
    engine: options.EngineFlag = "local",
    fresh: options.Fresh = False,
    dry_run: options.DryRun = False,
    json: options.AsJson = False,
    gate: options.GateToo = False,
    min: options.GateMin = None,  # noqa: A002 - the flag's name
    max: options.GateMax = None,  # noqa: A002 - the flag's name
    point: options.GatePoint = None,
    junit: options.Junit = None,
    markdown: options.GateMarkdown = None,
    ray_address: options.RayAddress = None,
    case_timeout: options.CaseTimeout = None,
    split: options.Split = None,
) -> None:
    """Judge the cases of FILE... The same command again continues where it stopped.

    Judgements of the same content, judge, labeller and options in the run's folder are used again.

    Flags can also be set in krino.toml, most also as variables (--max-cost as KRINO_MAX_COST).
    """
    from krino.api.running import Running, RunSettings
    from krino.cases import parse_mapping, parse_splits
    from krino.cli import runner
    from krino.cli.commands.gate import make_gating
    from krino.cli.keys import keys_for
    from krino.contract.code_limit import CASE_SECONDS, seconds_of
    from krino.labellers.factory import names_in
    from krino.runs.inputs import inputs_of

    judge_name, files = _split_arguments(judge_name, files or [], rubric)
    ready = load_named_judge(ctx, judge_name, option, prompt)
    keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
    rules, kept = {"min": min, "max": max}, {"junit": junit, "markdown": markdown}
    gating = make_gating(ready, gate, rules, point, kept, run)
    chosen = options.labeller_of(labeller, repeat, llm, keys, prices=load_settings().prices, dry_run=dry_run)
    mapping, splits = parse_mapping(map or []), parse_splits(split or [])
    seconds = CASE_SECONDS if case_timeout is None else seconds_of(case_timeout)
    settings = RunSettings(run, None, format, mapping, splits, fresh, case_seconds=seconds)
    with inputs_of(files) as inputs:
        make = _choose_engine(chosen, engine, workers, ray_address, dry_run)
        cores = _choose_cores(workers)
        running = Running(ready, judge_name, chosen, inputs, settings, runner.notify, make_engine=make, cores=cores)
        every = MINUTE if engine == "batch" else None
        code = _print_estimate(running, json) if dry_run else runner.carry_out(running, json, gating, every)
    raise typer.Exit(code)


def load_named_judge(ctx: typer.Context, name: str, option: list[str] | None, prompt: Path | None) -> AnyJudge:
    """Loads the judge with its options and the prompt that the user names; a prompt outside the folder is refused."""
    from krino.cli.keys import refuse_outside_folder
    from krino.judges.registry import load_judge

    text = read_prompt(refuse_outside_folder(ctx, "prompt", prompt))
    return load_judge(name, judge_options(name, option), text)


def _split_arguments(judge_name: str, files: list[str], rubric: str | None) -> tuple[str, list[str]]:
    """Splits the arguments into judge and files; with `--rubric` every argument is a file. Raises `UsageProblem` if
    either is missing."""
    if rubric is not None:
        judge_name, files = f"rubric:{rubric}", [judge_name, *files] if judge_name else []
    if not judge_name:
        raise UsageProblem("JUDGE is missing; name a judge and files: krino judge rag cases.jsonl")
    if not files:
        named = "--rubric ..." if rubric is not None else judge_name
        raise UsageProblem(f"FILE is missing; name the files to judge: krino judge {named} cases.jsonl")
    return judge_name, files


def _choose_cores(workers: int | None) -> int:
    """Returns the cores that finishing a run may use: one if the user asks for one worker."""
    from krino.engine.processes import usable_cores

    return 1 if workers == 1 else usable_cores()


def _choose_engine(
    labeller: Labeller, engine: options.EngineName, workers: int | None, address: str | None, dry_run: bool
) -> Callable[[], Engine]:
    """Returns what makes the engine: the one that is named, else all cores for the embedded labeller and one process if
    a model is asked. Raises `UsageProblem` for flags that do not go together."""
    from krino.engine.child_process import keep_to_one_core
    from krino.engine.processes import AllCores
    from krino.labellers.local import LocalLabeller

    if address is not None and engine != "ray":
        raise UsageProblem("--ray-address is for --engine ray: add that, or leave it out")
    if engine == "ray":
        from krino.engine.ray_cluster import RayEngine, import_ray, refuse_unreachable

        ray = import_ray()
        if address is not None and not dry_run:
            refuse_unreachable(ray, address)
        return lambda: RayEngine(workers, address)
    if engine == "batch":
        from krino.engine.batch import BatchFiles, models_of, use_batch_prices

        if workers not in (None, 1):
            raise UsageProblem("--workers is not for --engine batch, which one process carries out: leave it out")
        models_of(labeller)
        if dry_run:
            use_batch_prices(labeller)
        return BatchFiles
    if workers is None and not isinstance(labeller, LocalLabeller):
        return lambda: AllCores(1)
    if workers is not None:
        keep_to_one_core()  # each of them, this process too
    return lambda: AllCores(workers)


def _print_estimate(running: Any, json: bool) -> int:
    """Prints what a run would call and cost, without spending anything; returns the exit code."""
    import asyncio
    from dataclasses import asdict

    from krino.engine.processes import AllCores
    from krino.judges.registry import is_ours

    found = running.estimate() if is_ours(running.address) else asyncio.run(running.estimate_safely(AllCores(1)))
    if json:
        print_json(asdict(found))
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
    """Returns the options of a judge from krino.toml, overridden by those of the command line."""
    return {**load_settings().options.get(name, {}), **parse_options(given)}


def parse_options(given: list[str] | None) -> dict[str, str]:
    """Parses `name=value` options of a judge; raises `UsageProblem` for anything else."""
    values = {}
    for pair in given or []:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageProblem(f"--option {pair!r}: write it as name=value")
        values[key] = value
    return values


def read_prompt(path: Path | None) -> str | None:
    """Reads a prompt from a file; raises `UsageProblem` if it is empty or cannot be read. None without a file."""
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
