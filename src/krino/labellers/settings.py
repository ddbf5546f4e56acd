"""Every setting of an LLM labeller, declared once: its type, its default, what it means and how it can be given.

`krino.llm`, `krino.jury` and `krino.repeated` take these names as keywords; the command line makes a flag, a `KRINO_…`
variable and a key of krino.toml from each that has a `flag`; a labeller's description holds those that are `recorded`,
and `extra_body` and the names of `extra_headers` where there are any.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict, cast, get_args, get_type_hints

from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean

Channel = Literal["json_schema", "tool", "json_object", "text"]
MEDIA_KINDS = ("image", "audio", "file")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is known of one setting beside its type."""

    help: str
    default: Any = None
    flag: Any = None
    """The type of its flag on the command line; None: it can be set in Python only."""
    option: str | None = None
    """The name of the flag, if not that of the setting."""
    rare: bool = False
    """Whether `krino judge --help` lists the flag under the rarely needed ones."""
    recorded: bool = False
    """Whether it can change an answer: then it is part of the labeller's description and of every cache key."""
    least: float | None = None
    above: float | None = None
    """What a number must be at least, or more than. Numbers are finite in any case."""


class LlmSettings(TypedDict, total=False):
    """The settings of one model. What is left out has its default."""

    base_url: Annotated[str | None, Setting(help="Address of the endpoint.", flag=str)]
    api_key: Annotated[
        str | Callable[[], str] | None,
        Setting(
            help="The key, or a function that returns it (from a secret manager); by default the provider's variable."
        ),
    ]
    api_version: Annotated[str | None, Setting(help="API version (Azure).", flag=str, rare=True, recorded=True)]
    extra_body: Annotated[
        Mapping[str, Any] | None,
        Setting(
            help="""JSON to merge into the body of every request: '{"service_tier": "flex"}'.""",
            flag=str,
            rare=True,
        ),
    ]
    extra_headers: Annotated[
        Mapping[str, str] | None,
        Setting(
            help="A header for every request, as NAME=VALUE (values are not recorded).",
            flag=list[str],
            rare=True,
            option="--extra-header",
        ),
    ]
    channel: Annotated[
        Channel | None,
        Setting(
            help="Form of the reply: json_schema, tool, json_object or text.",
            flag=str,
            rare=True,
            recorded=True,
        ),
    ]
    temperature: Annotated[
        float | Literal["usual"] | None,
        Setting(
            help="Sampling temperature (0, if the model accepts it).",
            default="usual",
            flag=float,
            recorded=True,
        ),
    ]
    seed: Annotated[int | None, Setting(help="Sampling seed.", flag=int, recorded=True)]
    reply_tokens: Annotated[
        int | None,
        Setting(
            help="Most tokens in one reply (what the longest useful answer needs).",
            flag=int,
            rare=True,
            recorded=True,
            above=0,
        ),
    ]
    effort: Annotated[str | None, Setting(help="Reasoning effort (low, medium, high, …).", flag=str, recorded=True)]
    media: Annotated[
        Sequence[str],
        Setting(
            help="A kind of media that the model accepts, such as `image`.",
            default=(),
            flag=list[str],
            rare=True,
            recorded=True,
        ),
    ]
    reasks: Annotated[
        int,
        Setting(help="Times an unusable reply is asked again.", default=2, flag=int, rare=True, least=0),
    ]
    insist: Annotated[
        Sequence[str],
        Setting(
            help="Parameters that must be sent as set: an endpoint that rejects one stops the run. Others are "
            "left out where they are rejected, and the record says so.",
            default=(),
        ),
    ]
    concurrency: Annotated[
        int,
        Setting(
            help="Most requests at a time.",
            default=32,
            flag=int,
            least=1,
        ),
    ]
    rpm: Annotated[float | None, Setting(help="Most requests a minute.", flag=float, above=0)]
    tpm: Annotated[float | None, Setting(help="Most tokens a minute.", flag=float, above=0)]
    timeout: Annotated[
        float, Setting(help="Seconds to wait for one reply.", default=600.0, flag=float, rare=True, above=0)
    ]
    retries: Annotated[
        int,
        Setting(help="Retries after 429, 5xx or a lost connection.", default=6, flag=int, rare=True, least=0),
    ]
    backoff: Annotated[
        float, Setting(help="Seconds before the first retry; each next one doubles.", default=0.5, least=0)
    ]
    patience: Annotated[
        float | None,
        Setting(
            help="Stop after this many seconds without any reply (290).",
            flag=float,
            rare=True,
            above=0,
        ),
    ]
    max_cost: Annotated[float | None, Setting(help="Stop before the run costs more.", flag=float, least=0)]
    max_tokens: Annotated[int | None, Setting(help="Stop before the run takes more tokens.", flag=int, least=0)]
    price_in: Annotated[float | None, Setting(help="Price of a million input tokens.", flag=float, least=0)]
    price_out: Annotated[float | None, Setting(help="Price of a million output tokens.", flag=float, least=0)]
    price_cached: Annotated[
        float | None,
        Setting(
            help="Price of a million input tokens read from the cache.",
            flag=float,
            rare=True,
            least=0,
        ),
    ]
    price_cache_write: Annotated[
        float | None,
        Setting(
            help="Price of a million input tokens written to the cache.",
            flag=float,
            rare=True,
            least=0,
        ),
    ]
    batch_price: Annotated[
        float,
        Setting(
            help="Share of the prices that a batch request costs.",
            default=0.5,
            flag=float,
            rare=True,
            least=0,
        ),
    ]
    cache: Annotated[Path | str | None, Setting(help="File that keeps replies already paid for, or `off`.", flag=str)]
    env: Annotated[
        Mapping[str, str] | None, Setting(help="Where to look up keys and addresses, instead of the environment.")
    ]


@cache
def known_settings() -> dict[str, Setting]:
    """Every setting by its name, in the order of their declaration."""
    hints = get_type_hints(LlmSettings, include_extras=True)
    return {name: get_args(hint)[1] for name, hint in hints.items()}


def complete(given: LlmSettings) -> LlmSettings:
    """Returns the settings with their defaults filled in; raises `UsageProblem` for a name or a value that cannot
    be."""
    known = known_settings()
    if "key" in given:
        raise UsageProblem("`key` is called `api_key` now: krino.llm(model, api_key=…); a function works as well")
    if unknown := sorted(given.keys() - known.keys()):
        guess = did_you_mean(unknown[0], known)
        raise UsageProblem(f"there is no setting `{unknown[0]}` for a model{guess}; there are {', '.join(known)}")
    values: dict[str, Any] = {name: given.get(name, setting.default) for name, setting in known.items()}
    for name, setting in known.items():
        _check_number(name, setting, values[name])
    if values["channel"] is not None and values["channel"] not in get_args(Channel):
        raise UsageProblem(f"unknown reply channel `{values['channel']}`; one of {', '.join(get_args(Channel))}")
    if wrong := sorted(set(values["media"]) - set(MEDIA_KINDS)):
        raise UsageProblem(f"unknown kind of media `{wrong[0]}`; one of {', '.join(MEDIA_KINDS)}")
    return cast(LlmSettings, values)


def _check_number(name: str, setting: Setting, value: Any) -> None:
    """Raises `UsageProblem` for a number outside its range, or for what is no number: it would silently limit
    nothing."""
    if value is None or value == setting.default or (setting.flag not in (int, float) and setting.least is None):
        return
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    wanted = "a number"
    if setting.least is not None:
        number, wanted = number and value >= setting.least, f"at least {setting.least:g}"
    if setting.above is not None:
        number, wanted = number and value > setting.above, f"more than {setting.above:g}"
    if not number:
        flag = f" (--{name.replace('_', '-')})" if setting.flag else ""
        raise UsageProblem(f"{name} must be {wanted}, not {value!r}{flag}")
