"""Flags that more than one command takes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class CaseFormat(StrEnum):
    """How cases are written."""

    auto = "auto"
    jsonl = "jsonl"
    json = "json"
    csv = "csv"
    parquet = "parquet"
    folder = "folder"


MODEL = "Asking a model"
PACE = "Pace and money"
INPUT = "Input"
OUTPUT = "Output"
GATE = "Gate"


def _flag(names: str | tuple[str, ...], text: str, panel: str, variable: str | None) -> object:
    flags = (names,) if isinstance(names, str) else names
    return typer.Option(*flags, help=text, rich_help_panel=panel, envvar=variable, show_default=False)


Labeller = Annotated[
    str,
    _flag(
        ("--labeller", "-l"),
        "`local` (embedded, the default) or a model: gpt-…, claude-…, ollama:NAME, openrouter:NAME, …; "
        "several with commas (a,b,c) are a jury.",
        MODEL,
        "KRINO_LABELLER",
    ),
]
Repeat = Annotated[
    int,
    _flag(
        "--repeat",
        "Ask each model so often about a case and join the votes: shows how stable it is. Parts whose order must not "
        "matter are shuffled from the second time on.",
        MODEL,
        "KRINO_REPEAT",
    ),
]
BaseUrl = Annotated[str | None, _flag("--base-url", "Address of the endpoint.", MODEL, "KRINO_BASE_URL")]
ApiKey = Annotated[
    str | None,
    typer.Option(
        "--api-key-env",
        help="Environment variable that holds the key, if not the provider's usual one.",
        rich_help_panel=MODEL,
        envvar="KRINO_API_KEY_ENV",
        show_default=False,
    ),
]
ApiVersion = Annotated[str | None, _flag("--api-version", "API version (Azure).", MODEL, "KRINO_API_VERSION")]
Channel = Annotated[
    str | None,
    _flag(
        "--channel",
        "How the reply comes: json_schema, tool, json_object or text; by default the best that works.",
        MODEL,
        "KRINO_CHANNEL",
    ),
]
Temperature = Annotated[
    float | None, _flag("--temperature", "Sampling temperature (0, where it is taken).", MODEL, "KRINO_TEMPERATURE")
]
Seed = Annotated[int | None, _flag("--seed", "Sampling seed.", MODEL, "KRINO_SEED")]
ReplyTokens = Annotated[int | None, _flag("--reply-tokens", "Most tokens in one reply.", MODEL, "KRINO_REPLY_TOKENS")]
Effort = Annotated[str | None, _flag("--effort", "Reasoning effort (low, medium, high, …).", MODEL, "KRINO_EFFORT")]
MediaKinds = Annotated[
    list[str] | None, _flag("--media", "A kind of media the model takes, as `image`.", MODEL, "KRINO_MEDIA")
]
Reasks = Annotated[int, _flag("--reasks", "Times an unusable reply is asked again (2).", MODEL, "KRINO_REASKS")]
Prompt = Annotated[
    Path | None, _flag("--prompt", "File with a prompt to use instead of the judge's.", MODEL, "KRINO_PROMPT")
]
Concurrency = Annotated[
    int, _flag("--concurrency", "Most requests in flight (32); found by itself below that.", PACE, "KRINO_CONCURRENCY")
]
Rpm = Annotated[float | None, _flag("--rpm", "Most requests a minute.", PACE, "KRINO_RPM")]
Tpm = Annotated[float | None, _flag("--tpm", "Most tokens a minute.", PACE, "KRINO_TPM")]
Timeout = Annotated[float, _flag("--timeout", "Seconds to wait for one reply (120).", PACE, "KRINO_TIMEOUT")]
Retries = Annotated[int, _flag("--retries", "Tries after 429, 5xx or a lost connection (6).", PACE, "KRINO_RETRIES")]
Patience = Annotated[
    float | None,
    _flag("--patience", "Stop when nothing has got through for so many seconds (290).", PACE, "KRINO_PATIENCE"),
]
MaxCost = Annotated[float | None, _flag("--max-cost", "Stop before the run costs more.", PACE, "KRINO_MAX_COST")]
MaxTokens = Annotated[int | None, _flag("--max-tokens", "Stop before the run takes more.", PACE, "KRINO_MAX_TOKENS")]
PriceIn = Annotated[float | None, _flag("--price-in", "Money per million input tokens.", PACE, "KRINO_PRICE_IN")]
PriceOut = Annotated[float | None, _flag("--price-out", "Money per million output tokens.", PACE, "KRINO_PRICE_OUT")]
CacheFile = Annotated[str | None, _flag("--cache", "File for replies already paid for, or `off`.", PACE, "KRINO_CACHE")]
RunFolder = Annotated[
    Path | None,
    _flag("--run", "Folder of the run (default runs/<judge>-<date>-<hash>).", OUTPUT, "KRINO_RUN"),
]
Fresh = Annotated[
    bool,
    typer.Option(
        "--fresh",
        help="Judge anew whatever the run's folder holds; replies in the cache are still used (--cache off).",
        rich_help_panel=OUTPUT,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.", rich_help_panel=OUTPUT)]
Junit = Annotated[Path | None, _flag("--junit", "Write what the gate found to this file, as JUnit XML.", GATE, None)]
GateMarkdown = Annotated[
    Path | None, _flag("--markdown", "Write what the gate found to this file, for a pull request.", GATE, None)
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Count calls, tokens and cost; spend nothing.", rich_help_panel=OUTPUT)
]
Mapping = Annotated[
    list[str] | None,
    _flag(
        "--map",
        "A field under another name: question=query (dots reach inside); metadata.court=court: to slice by.",
        INPUT,
        None,
    ),
]
Split = Annotated[
    list[str] | None,
    _flag(
        "--split",
        "A field whose text is several, and what stands between them: 'context=|||' (\\n: a line break); after --map.",
        INPUT,
        None,
    ),
]
Format = Annotated[
    CaseFormat, _flag("--format", "How the cases are written; by default what the name says.", INPUT, "KRINO_FORMAT")
]
Options = Annotated[list[str] | None, _flag(("--option", "-o"), "An option of the judge, as goal=legal.", INPUT, None)]
GateToo = Annotated[
    bool,
    typer.Option(
        "--gate",
        help="Hold the run against the rules of krino.toml's section gate, as `krino gate` does: exit code 0 when all "
        "hold, 1 when not; 3 and 130, as without it, when the run did not come to its end.",
        rich_help_panel=GATE,
    ),
]
GateMin = Annotated[
    list[str] | None, _flag("--min", "With --gate, or instead of it: at least, as faithfulness=0.8.", GATE, None)
]
GateMax = Annotated[
    list[str] | None, _flag("--max", "With --gate, or instead of it: at most, as failed=1%.", GATE, None)
]
