"""`krino doctor`: checks the installation and the endpoint, and says what to do about problems."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

import typer

from krino.cli import exits, options
from krino.cli.printing import print_json

if TYPE_CHECKING:
    from krino.contract import Judgement
    from krino.labellers.llm.abilities import Abilities
    from krino.labellers.llm.labeller import LlmLabeller

Mark = Literal["ok", "no", "note"]
MEANING = {
    "json_schema": "the endpoint enforces a JSON schema",
    "tool": "the model answers by calling a tool",
    "json_object": "the endpoint enforces JSON of any form",
    "text": "the model is asked in words to answer with JSON",
}
SETTINGS = (
    *("base_url", "api_version", "extra_body", "extra_headers"),
    *("effort", "reply_tokens", "channel", "timeout"),
)
SECONDS = 300.0
"""A reasoning model may take minutes for the first case."""
LONG = 32_000
"""Characters of the long case: more than the default context of local servers."""


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check."""

    mark: Mark
    what: str
    detail: str


@options.llm_flags(*SETTINGS, timeout=SECONDS)
def doctor(
    ctx: typer.Context,
    labeller: options.Labeller = "local",
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    json: options.AsJson = False,
) -> None:
    """Check the installation and, with --labeller MODEL, the endpoint: it judges a short and a long case."""
    import asyncio

    import krino

    checks: list[Check] = []

    def notify(check: Check) -> None:
        checks.append(check)
        if not json:
            typer.echo(f"{check.mark:>4}  {check.what}: {check.detail}")

    async def try_endpoint(name: str, chosen: options.LlmFlags) -> None:
        async with krino.llm(name, **chosen) as made:
            async for check in _check_endpoint(made):
                notify(check)

    for check in _check_installation():
        notify(check)
    if labeller != "local":
        from krino.cli.keys import keys_for
        from krino.labellers.factory import names_in

        keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
        for name in names_in(labeller):
            if name != "local":
                notify(Check("note", "labeller", name))
                asyncio.run(
                    try_endpoint(name, {**llm, "api_key": keys.named, "env": keys.env, "retries": 0, "cache": "off"})
                )
    if json:
        print_json([asdict(check) for check in checks])
    raise typer.Exit(exits.WRONG_USAGE if any(check.mark == "no" for check in checks) else exits.DONE)


def _check_installation() -> list[Check]:
    """Returns what was found of version, settings, cache and optional packages; none of it is a fault."""
    from importlib.util import find_spec

    from krino import __version__
    from krino.cli.settings import load_settings
    from krino.labellers.llm.cache import cache_path

    python = ".".join(map(str, sys.version_info[:3]))
    settings = load_settings()
    parquet = "can be read and written" if find_spec("pyarrow") else "needs pip install 'krino[parquet]'"
    return [
        Check("ok", "krino", f"{__version__} on Python {python}"),
        Check("note", "krino.toml", str(settings.path) if settings.path else "none found"),
        Check("note", "reply cache", str(cache_path() or "off")),
        Check("note", "Parquet", parquet),
    ]


async def _check_endpoint(labeller: LlmLabeller) -> AsyncIterator[Check]:
    """Judges a short and a long case as `krino judge rag` would, and yields what that shows of the endpoint. The long
    case is not tried if the short one fails."""
    import krino
    from krino.labellers.llm.endpoint import clean_address

    short: Judgement[Any]
    try:
        short = await krino.ajudge("rag", _make_case(), labeller=labeller)
    except krino.RunStopped as reason:
        yield Check("no", clean_address(labeller.endpoint.url), str(reason))
        yield Check("no", "not usable", "check the key, the model's name and --base-url")
        return
    yield _check_judgement("a short case", short)
    if short.status != "ok":
        yield Check("no", "not usable", _advise(short))
        return
    yield _check_channel(labeller.abilities)
    if left_out := _list_left_out(labeller.abilities):
        yield Check("note", "left out", f"the endpoint does not take {left_out}; requests go without")
    if room := labeller.abilities.reasoning_tokens:
        yield Check("note", "reasoning", f"replies are given {room:,} tokens more, because the model reasons first")
    long: Judgement[Any]
    try:
        long = await krino.ajudge("rag", _make_case(LONG), labeller=labeller)
    except krino.RunStopped as reason:
        yield Check("no", "a long case", str(reason))
        yield Check("no", "not usable", "it answered once and then no more: see the line above")
        return
    yield _check_judgement("a long case", long)
    model = labeller.endpoint.model
    if long.status == "ok":
        yield Check("ok", "usable", f"{model} can judge, short cases and long ones")
    else:
        yield Check("note", "usable", f"{model} can judge, but no long cases: {_advise(long)}")


def _make_case(length: int = 0) -> dict[str, Any]:
    """Makes a case for the judge `rag`, with passages of at least `length` characters."""
    shelves: list[str] = []
    while sum(map(len, shelves)) < length:
        first = 12 * len(shelves)
        shelves.append(
            " ".join(f"Shelf {n} holds {7 * n % 83} letters of {1800 + n % 97}." for n in range(first, first + 12))
        )
    return {
        "id": "doctor",
        "question": "How long is a lost parcel paid back, and who pays?",
        "context": ["A lost parcel is paid back within 14 days. The carrier pays.", *shelves],
        "answer": "The carrier pays for a lost parcel within 14 days.",
    }


def _check_judgement(what: str, judgement: Judgement[Any]) -> Check:
    """Returns the check that shows whether a test case was judged."""
    usage = judgement.usage
    took = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens in {usage.calls} calls, {usage.seconds:.1f} s"
    if judgement.status == "ok":
        return Check("ok", what, f"judged ({took})")
    return Check(
        "no" if what == "a short case" else "note", what, f"not judged ({took}): {judgement.reason or judgement.error}"
    )


def _check_channel(abilities: Abilities) -> Check:
    return Check("ok", "reply channel", f"{abilities.channel}: {MEANING[abilities.channel]}")


def _list_left_out(abilities: Abilities) -> str:
    """Lists the parameters that the endpoint refused, without those that were only renamed."""
    return ", ".join(name for name in abilities.dropped if not name.startswith("renamed "))


def _advise(judgement: Judgement[Any]) -> str:
    """Suggests what to change after a case that was not judged."""
    if judgement.status == "failed":  # the endpoint did its part: its model found that nothing can be judged
        return "the model answers, but says that the case cannot be judged, which it can; take a stronger model"
    reason = (judgement.error or "").lower()
    if "no valid labels" in reason:
        return "its replies are no valid labels; take a stronger model, or try --channel tool or --channel text"
    if "no reply within" in reason:
        return "it was too slow; raise --timeout, or lower --effort"
    if "cut the prompt" in reason or "no room for a reply" in reason or "context" in reason:
        return "raise the context length that the server gives the model"
    if "cut off" in reason:
        return "its replies are too long for their limit; raise --reply-tokens, or lower --effort"
    if "declined" in reason:
        return "the model declines to answer; take another"
    return "the endpoint refuses the request as it is; --channel, --extra-body and --base-url change it"
