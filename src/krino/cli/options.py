"""Flags that several commands share; those for asking a model are made from `LlmSettings`."""

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


CaseFormat = Literal["auto", "jsonl", "json", "csv", "parquet", "arrow", "excel", "folder"]
EngineName = Literal["local", "ray", "batch"]
"""What judges the cases of a run."""
MODEL = "Asking a model"
INPUT = "Input"
OUTPUT = "Run and output"
GATE = "Gate"
RARE = "Rarely needed"
SEVERAL = "<str> …"
"""Shown as the value of flags that may be given several times."""


def flag(text: str, *names: str, panel: str | None = None, env: str | None = None, **more: Any) -> Any:
    """Makes a flag whose help omits its default and variable; one sentence in the command's help mentions them."""
    return typer.Option(
        *names, help=text, rich_help_panel=panel, envvar=env, show_envvar=False, show_default=False, **more
    )


Texts = list[str] | None
_RUBRIC = 'A judge in one sentence: "Is {text} polite? polite=1 rude=0".'
Rubric = Annotated[str | None, flag(_RUBRIC, "--rubric", panel=INPUT)]
_LABELLER = "`local` (the default) or a model: gpt-…, claude-…, ollama:NAME, …; several (a,b,c) are a jury."
Labeller = Annotated[str, flag(_LABELLER, "--labeller", "-l", panel=MODEL, env="KRINO_LABELLER")]
_REPEAT = "Ask each model N times per case and join the votes."
Repeat = Annotated[int, flag(_REPEAT, panel=MODEL, env="KRINO_REPEAT")]
_WORKERS = "Processes that judge (all cores; one if a model is asked)."
Workers = Annotated[int | None, flag(_WORKERS, panel=OUTPUT, env="KRINO_WORKERS", min=1, metavar="<int>")]
_ENGINE = "`local`, `ray` (a cluster) or `batch` (half the price, up to a day)."
EngineFlag = Annotated[EngineName, flag(_ENGINE, panel=OUTPUT, env="KRINO_ENGINE", metavar="<str>")]
_RAY = "Ray cluster to use: `auto` or HOST:PORT."
RayAddress = Annotated[str | None, flag(_RAY, panel=RARE, env="KRINO_RAY_ADDRESS")]
_CASE_TIMEOUT = "Seconds that the judge's code may take for a case (300)."
CaseTimeout = Annotated[float | None, flag(_CASE_TIMEOUT, panel=RARE, env="KRINO_CASE_TIMEOUT")]
_KEY = "Variable that holds the key, if not the provider's usual one."
ApiKey = Annotated[str | None, flag(_KEY, panel=MODEL, env="KRINO_API_KEY_ENV")]
_PROMPT = "File with a prompt to use instead of the judge's."
Prompt = Annotated[Path | None, flag(_PROMPT, panel=MODEL, env="KRINO_PROMPT")]
_RUN = "Folder of the run (by default runs/JUDGE-DATE-HASH)."
RunFolder = Annotated[Path | None, flag(_RUN, panel=OUTPUT, env="KRINO_RUN")]
_FRESH = "Judge every case again; replies in the cache are still used."
Fresh = Annotated[bool, flag(_FRESH, "--fresh", panel=OUTPUT)]
AsJson = Annotated[bool, flag("Print JSON.", "--json", panel=OUTPUT)]
Junit = Annotated[Path | None, flag("Write the gate's result to this file as JUnit XML.", panel=GATE)]
GateMarkdown = Annotated[Path | None, flag("Write it to this file as Markdown, for a pull request.", panel=GATE)]
DryRun = Annotated[bool, flag("Count calls, tokens and cost without spending anything.", "--dry-run", panel=OUTPUT)]
_MAP = "A field with another name, as question=query; see `krino map`."
MapFields = Annotated[Texts, flag(_MAP, panel=INPUT, metavar=SEVERAL)]
_SPLIT = "Split a field into several texts, as 'context=|||'."
Split = Annotated[Texts, flag(_SPLIT, panel=RARE, metavar=SEVERAL)]
_FORMAT = "jsonl, json, csv, parquet, arrow, excel or folder, read as it is (else by name and content)."
Format = Annotated[CaseFormat, flag(_FORMAT, panel=INPUT, env="KRINO_FORMAT", metavar="<str>")]
Options = Annotated[
    Texts, flag("An option of the judge, as goal=legal.", "--option", "-o", panel=INPUT, metavar=SEVERAL)
]
_GATE = "Check the run against krino.toml, as `krino gate` does."
GateToo = Annotated[bool, flag(_GATE, "--gate", panel=GATE)]
GateMin = Annotated[Texts, flag("A rule: at least, as faithfulness=0.8 (implies --gate).", panel=GATE, metavar=SEVERAL)]
GateMax = Annotated[Texts, flag("A rule: at most, as failed=1% (implies --gate).", panel=GATE, metavar=SEVERAL)]
POINT = "Compare the value with the limit, not the end of its interval."
GatePoint = Annotated[bool | None, flag(POINT, "--point/--bound", panel=GATE)]


# --- asking a model --------------------------------------------------------------------------------

LlmFlags = LlmSettings
NOTHING_SET = LlmSettings()
"""Type and default of the parameter `llm` of a command with `llm_flags`: the settings of a model that were given."""
NEVER_SENT = "dry-run"
"""The key of a model in a dry run, which asks nothing."""
FOR_MODELS_ONLY = ("base_url", "channel", "api_version", "extra_body", "extra_headers")


def read_object(text: str) -> dict[str, Any]:
    """Parses the JSON object of --extra-body; raises `UsageProblem` for anything else."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise UsageProblem(f"--extra-body is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise UsageProblem("""--extra-body must be a JSON object, as '{"service_tier": "flex"}'""")
    return value


def read_headers(pairs: list[str]) -> dict[str, str]:
    """Parses the headers of --extra-header; raises `UsageProblem` for a wrong or repeated one. No message shows a
    value."""
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
"""Parsers of settings whose flag is a text and whose value is not."""


def llm_flags(*names: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Replaces the parameter `llm` of a command by a flag for each setting of a model, or for those in `names`.

    The command gets the settings that were given by flag, variable or krino.toml. `defaults` override some defaults.
    """
    settings = {name: known for name, known in known_settings().items() if known.flag and (not names or name in names)}

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        """Returns the command with a flag for each setting of a model in place of its parameter `llm`."""

        @functools.wraps(command)
        def with_settings(**values: Any) -> None:
            given = {name: values.pop(name) for name in settings}
            read = {name: READERS[name](value) if name in READERS and value else value for name, value in given.items()}
            command(**values, llm={name: value for name, value in read.items() if value is not None})

        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            if parameter.name == "llm":
                flags = (_make_parameter(name, known, defaults.get(name)) for name, known in settings.items())
                parameters += flags
            else:
                parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        parameters.sort(key=_is_rare)  # help lists groups in the order of their first flag
        with_settings.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return with_settings

    return decorate


def _is_rare(parameter: inspect.Parameter) -> bool:
    described = getattr(parameter.annotation, "__metadata__", ())
    return any(getattr(item, "rich_help_panel", None) == RARE for item in described)


def _make_parameter(name: str, setting: Setting, default: Any) -> inspect.Parameter:
    """Makes the command-line parameter of one setting."""
    usual = setting.default if default is None else default
    shown = f" ({usual:g})" if isinstance(usual, int | float) else ""
    panel = RARE if setting.rare else MODEL
    names = [setting.option] if setting.option else []
    more = {"metavar": SEVERAL} if setting.flag == list[str] else {}
    option = flag(f"{setting.help[:-1]}{shown}.", *names, panel=panel, env=f"KRINO_{name.upper()}", **more)
    annotation: Any = Annotated[(setting.flag | None, option)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def labeller_of(
    name: str, repeat: int, llm: LlmSettings, keys: Keys, *, prices: Prices, dry_run: bool = False
) -> LabellerObject:
    """Makes the labeller from the flags of a command; raises `UsageProblem` for flags that it would ignore."""
    from krino.labellers.factory import labeller_from, names_in

    names = names_in(name)
    if set(names) == {"local"} and (meant := [flag for flag in FOR_MODELS_ONLY if flag in llm]):
        raise UsageProblem(f"--{meant[0].replace('_', '-')} is for a model, but none is named: add --labeller MODEL")
    if len(names) > 1:
        _refuse_for_juries(llm, keys)
    if keys.named is not None or dry_run:
        llm = {**llm, "api_key": keys.named or NEVER_SENT}
    # These make a run repeatable. An effort that the model does not have is left out, with a message at the end.
    insist = [parameter for parameter in ("temperature", "seed") if parameter in llm]
    settings: LlmSettings = {**llm, "env": keys.env, "insist": insist}
    return labeller_from(name, repeat=repeat, prices=prices, **settings)


def _refuse_for_juries(llm: Mapping[str, Any], keys: Keys) -> None:
    """Raises `UsageProblem` if one price or one key is given for several models."""
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
