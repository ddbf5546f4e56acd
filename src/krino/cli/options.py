"""Flags that more than one command takes; those for asking a model are made from `LlmSettings`."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from krino.errors import UsageProblem
from krino.labellers.settings import LlmSettings, Setting, known_settings

if TYPE_CHECKING:
    from krino.cli.keys import Keys
    from krino.contract import Labeller as LabellerObject
    from krino.labellers.factory import Prices


CaseFormat = Literal["auto", "jsonl", "json", "csv", "parquet", "folder"]
EngineName = Literal["local", "ray", "batch"]
"""What carries the cases of a run through the judge."""
MODEL = "Asking a model"
PACE = "Pace and money"
INPUT = "Input"
OUTPUT = "Output"
GATE = "Gate"


def flag(text: str, *names: str, panel: str | None = None, env: str | None = None, **more: Any) -> Any:
    """A flag whose default goes without saying."""
    return typer.Option(*names, help=text, rich_help_panel=panel, envvar=env, show_default=False, **more)


Texts = list[str] | None
Labeller = Annotated[
    str,
    flag(
        "`local` (embedded, the default) or a model: gpt-…, claude-…, ollama:NAME, openrouter:NAME, …; "
        "several with commas (a,b,c) are a jury.",
        *("--labeller", "-l"),
        panel=MODEL,
        env="KRINO_LABELLER",
    ),
]
Repeat = Annotated[
    int,
    flag(
        "Ask each model N times per case and join the votes: shows how stable it is. Parts whose order must not "
        "matter are shuffled from the second time on.",
        panel=MODEL,
        env="KRINO_REPEAT",
    ),
]
Workers = Annotated[
    int | None,
    flag(
        "Processes that judge, each on one core (KRINO_THREADS sets more); by default one a core for the embedded "
        "labeller, and one where a model is asked. "
        "Rate, concurrency and budget hold for all of them together.",
        panel=PACE,
        env="KRINO_WORKERS",
        min=1,
    ),
]
EngineFlag = Annotated[
    EngineName,
    flag(
        "Where cases are judged: `local`; `ray` for a cluster; `batch` sends files to the provider, at "
        "half the price and within a day: stop it and run the same command whenever you like.",
        panel=PACE,
        env="KRINO_ENGINE",
    ),
]
RayAddress = Annotated[
    str | None,
    flag(
        "With --engine ray: a cluster that is there (`auto`, HOST:PORT); by default one is started on this machine.",
        panel=PACE,
        env="KRINO_RAY_ADDRESS",
    ),
]
CaseTimeout = Annotated[
    float | None,
    flag(
        "Seconds that the judge's own code may take for a case (300), the wait for a model not counted; a case that "
        "takes longer is an error. 0: no limit.",
        panel=PACE,
        env="KRINO_CASE_TIMEOUT",
    ),
]
_KEY = "Environment variable that holds the key, if not the provider's usual one."
ApiKey = Annotated[str | None, flag(_KEY, panel=MODEL, env="KRINO_API_KEY_ENV")]
_PROMPT = "File with a prompt to use instead of the judge's."
Prompt = Annotated[Path | None, flag(_PROMPT, panel=MODEL, env="KRINO_PROMPT")]
_RUN = "Folder of the run (default runs/<judge>-<date>-<hash>)."
RunFolder = Annotated[Path | None, flag(_RUN, panel=OUTPUT, env="KRINO_RUN")]
_FRESH = "Judge anew whatever the run's folder holds; replies in the cache are still used (--cache off)."
Fresh = Annotated[bool, flag(_FRESH, "--fresh", panel=OUTPUT)]
AsJson = Annotated[bool, flag("Print JSON for machines.", "--json", panel=OUTPUT)]
Junit = Annotated[Path | None, flag("Write what the gate found to this file, as JUnit XML.", panel=GATE)]
GateMarkdown = Annotated[Path | None, flag("Write what the gate found to this file, for a pull request.", panel=GATE)]
DryRun = Annotated[bool, flag("Count calls, tokens and cost; spend nothing.", "--dry-run", panel=OUTPUT)]
MapFields = Annotated[
    Texts,
    flag(
        "A field under another name: question=query (dots reach inside, * every element of a list: "
        "candidates.*.court=hits.*.tribunal); metadata.court=court: to slice by.",
        panel=INPUT,
    ),
]
_SPLIT = "A field whose text is several, and what stands between them: 'context=|||' (\\n: a line break); after --map."
Split = Annotated[Texts, flag(_SPLIT, panel=INPUT)]
_FORMAT = "How the cases are written; by default what the name says."
Format = Annotated[CaseFormat, flag(_FORMAT, panel=INPUT, env="KRINO_FORMAT")]
Options = Annotated[Texts, flag("An option of the judge, as goal=legal.", "--option", "-o", panel=INPUT)]
GateToo = Annotated[
    bool,
    flag(
        "Hold the run against the rules of krino.toml's section gate, as `krino gate` does: exit code 0 when all "
        "hold, 1 when not; 3 and 130, as without it, when the run did not come to its end.",
        "--gate",
        panel=GATE,
    ),
]
GateMin = Annotated[Texts, flag("With --gate, or instead of it: at least, as faithfulness=0.8.", panel=GATE)]
GateMax = Annotated[Texts, flag("With --gate, or instead of it: at most, as failed=1%.", panel=GATE)]
POINT = "Hold the value against the limit, not the end of its 95 % interval."
GatePoint = Annotated[bool | None, flag(f"With --gate, --min or --max. {POINT}", "--point/--bound", panel=GATE)]


# --- asking a model --------------------------------------------------------------------------------

LlmFlags = LlmSettings
NOTHING_SET = LlmSettings()
"""Type and default of the parameter `llm` of a command under `llm_flags`: what was set about asking a model."""
NEVER_SENT = "dry-run"
"""Stands in for the key of a model that is not asked."""
FOR_MODELS_ONLY = ("base_url", "channel", "api_version", "extra_body", "extra_headers")


def read_object(text: str) -> dict[str, Any]:
    """The JSON object of --extra-body."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageProblem(f"--extra-body is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageProblem("""--extra-body must be a JSON object, as '{"service_tier": "flex"}'""")
    return value


def read_headers(pairs: list[str]) -> dict[str, str]:
    """The headers of --extra-header; no message shows a value."""
    headers: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise UsageProblem("--extra-header: write it as NAME=VALUE")
        if name.strip() in headers:
            raise UsageProblem(f"--extra-header: {name.strip()} is given twice")
        headers[name.strip()] = value.strip()
    return headers


READERS: dict[str, Callable[[Any], Any]] = {"extra_body": read_object, "extra_headers": read_headers}
"""How settings are read whose flag is a text and whose value is not."""


def llm_flags(*names: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replaces the parameter `llm` of a command by a flag for each setting of a model (or for the named ones only).

    The command gets the settings that were given by flag, variable or krino.toml. `defaults` are its own for some.
    """
    settings = {name: known for name, known in known_settings().items() if known.flag and (not names or name in names)}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def with_settings(**values: Any) -> None:
            given = {name: values.pop(name) for name in settings}
            read = {name: READERS[name](value) if name in READERS and value else value for name, value in given.items()}
            command(**values, llm={name: value for name, value in read.items() if value is not None})

        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.name == "llm":
                flags = (_parameter(name, known, defaults.get(name)) for name, known in settings.items())
                parameters += flags
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        with_settings.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return with_settings

    return decorate


def _parameter(name: str, setting: Setting, default: Any) -> inspect.Parameter:
    usual = setting.default if default is None else default
    shown = f" ({usual:g})" if isinstance(usual, int | float) else ""
    panel = MODEL if setting.panel == "model" else PACE
    names = [setting.option] if setting.option else []
    option = flag(f"{setting.help[:-1]}{shown}.", *names, panel=panel, env=f"KRINO_{name.upper()}")
    annotation: Any = Annotated[(setting.flag | None, option)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def labeller_of(
    name: str, repeat: int, llm: LlmSettings, keys: Keys, *, prices: Prices, dry_run: bool = False
) -> LabellerObject:
    """The labeller that the flags of a command mean; refuses flags that would be passed over without a word."""
    from krino.labellers.factory import labeller_from, names_in

    names = names_in(name)
    if set(names) == {"local"} and (meant := [flag for flag in FOR_MODELS_ONLY if flag in llm]):
        raise UsageProblem(f"--{meant[0].replace('_', '-')} is for a model, but none is named: add --labeller MODEL")
    if len(names) > 1:
        _refuse_for_juries(llm, keys)
    if keys.named is not None or dry_run:
        llm = {**llm, "api_key": keys.named or NEVER_SENT}
    insist = [parameter for parameter in ("temperature", "seed", "effort") if parameter in llm]
    settings: LlmSettings = {**llm, "env": keys.env, "insist": insist}
    return labeller_from(name, repeat=repeat, prices=prices, **settings)


def _refuse_for_juries(llm: Mapping[str, Any], keys: Keys) -> None:
    """One price, or one key, cannot be that of every model."""
    if "price_in" in llm or "price_out" in llm:
        raise UsageProblem(
            '--price-in and --price-out: the models of a jury have their own; put [prices."MODEL"] '
            "for each into krino.toml"
        )
    if keys.named is not None:
        raise UsageProblem(
            "--api-key-env is one key for all the models of a jury; leave it out, and the key of each "
            "is taken from its provider's own variable"
        )
