"""`krino doctor`: try what is configured and say what works, what does not, and what to do about it."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Literal

import typer

from krino.cli import exits, options
from krino.cli.printing import as_json

if TYPE_CHECKING:
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.llm.wire import Channel

Mark = Literal["ok", "no", "note"]
MEANING = {
    "json_schema": "the endpoint holds replies to a JSON schema",
    "tool": "the model answers by calling a tool",
    "json_object": "the endpoint holds replies to JSON of any form",
    "text": "the model is asked in words to answer with JSON",
}


@dataclass(frozen=True, slots=True)
class Check:
    """One thing tried."""

    mark: Mark
    what: str
    detail: str


@options.llm_flags("base_url", "api_version", "timeout", timeout=30.0)
def doctor(
    ctx: typer.Context,
    labeller: options.Labeller = "local",
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    json: options.AsJson = False,
) -> None:
    """Check the installation and, with --labeller MODEL, the endpoint: a few tiny calls."""
    import asyncio

    import krino

    checks = _installation()
    if labeller != "local":
        from krino.cli.keys import keys_for
        from krino.labellers.factory import names_in

        keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
        for name in names_in(labeller):
            if name == "local":
                continue
            checks.append(Check("note", "labeller", name))
            chosen: options.LlmFlags = {**llm, "api_key": keys.named, "env": keys.env, "retries": 0, "cache": "off"}
            checks += asyncio.run(_endpoint(krino.llm(name, **chosen)))
    if json:
        as_json([asdict(check) for check in checks])
    else:
        for check in checks:
            typer.echo(f"{check.mark:>4}  {check.what}: {check.detail}")
    raise typer.Exit(exits.WRONG_USAGE if any(check.mark == "no" for check in checks) else exits.DONE)


def _installation() -> list[Check]:
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


async def _endpoint(labeller: LlmLabeller) -> list[Check]:
    """Each reply channel once, then the settings that not every endpoint takes."""
    checks = []
    try:
        working = []
        for channel in labeller.endpoint.dialect.channels:
            check = await _channel(labeller, channel)
            checks.append(check)
            if check.mark == "ok":
                working.append(channel)
            elif check.mark == "no":
                return checks
        best = f"{working[0]} will be used" if working else "none works: the model cannot be used for judging"
        checks.append(Check("ok" if working else "no", "reply channel", best))
        if labeller.abilities.dropped:
            left_out = ", ".join(labeller.abilities.dropped)
            checks.append(Check("note", "left out", f"the endpoint does not take {left_out}; requests go without it"))
    finally:
        await labeller.aclose()
    return checks


def _plainly(problem: str) -> str:
    """What a failed try means, in words before the words of the endpoint."""
    if problem.startswith("no reply within"):
        return f"the endpoint was too slow; {problem}"
    if problem.startswith("HTTP "):
        return f"the endpoint refused the request ({problem})"
    return f"the reply was not in the form that was asked for ({problem.removeprefix('unusable reply: ')})"


async def _channel(labeller: LlmLabeller, channel: Channel) -> Check:
    from krino.errors import LabelFailed, RunStopped
    from krino.labellers.llm.endpoint import clean_address

    what = f"channel {channel} ({MEANING[channel]})"
    try:
        reply, usage, seconds = await labeller.probe(channel)
    except RunStopped as reason:
        return Check(
            "no", clean_address(labeller.endpoint.url), f"{reason} (check --base-url, the key and the model's name)"
        )
    except LabelFailed as failure:
        return Check("note", what, f"does not work here, so it is not used: {_plainly(str(failure))}")
    tokens = f"{usage.input_tokens}+{usage.output_tokens} tokens" if usage.tokens else "no token counts reported"
    return Check("ok", what, f"{reply} in {seconds:.1f} s, {tokens}")
