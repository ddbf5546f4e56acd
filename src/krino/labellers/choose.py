"""Makes the labeller that a name means: `local`, or a model at an endpoint."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from krino.contract import Labeller
from krino.labellers.local import LocalLabeller

if TYPE_CHECKING:
    from krino.labellers.llm.labeller import LlmLabeller


def choose(labeller: str | Labeller) -> Labeller:
    """A ready labeller from its name, with default settings; one that is ready already is taken as it is."""
    if isinstance(labeller, Labeller):
        return labeller
    return LocalLabeller() if labeller == "local" else llm(labeller)


def llm(
    model: str,
    *,
    base_url: str | None = None,
    key: str | None = None,
    api_version: str | None = None,
    temperature: float | Literal["usual"] | None = "usual",
    seed: int | None = None,
    reply_tokens: int | None = None,
    effort: str | None = None,
    channel: Literal["json_schema", "tool", "json_object", "text"] | None = None,
    media: tuple[str, ...] = (),
    reasks: int = 2,
    concurrency: int = 32,
    rpm: float | None = None,
    tpm: float | None = None,
    timeout: float = 120.0,
    retries: int = 6,
    backoff: float = 0.5,
    insist: tuple[str, ...] = (),
    max_cost: float | None = None,
    max_tokens: int | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    cache: Path | str | None = None,
    env: Mapping[str, str] | None = None,
) -> LlmLabeller:
    """A labeller that asks `model` (`gpt-…`, `claude-…`, `provider:model`); keys come from the environment."""
    from krino.labellers.llm.budget import Budget, Prices
    from krino.labellers.llm.cache import open_cache
    from krino.labellers.llm.endpoint import find_endpoint
    from krino.labellers.llm.labeller import LlmLabeller, LlmSettings
    from krino.labellers.llm.wire import Params

    endpoint = find_endpoint(
        model, env=os.environ if env is None else env, base_url=base_url, key=key, api_version=api_version
    )
    if temperature == "usual":
        temperature = endpoint.dialect.usual_temperature
    settings = LlmSettings(
        params=Params(temperature=temperature, seed=seed, reply_tokens=reply_tokens, effort=effort),
        channel=channel,
        reasks=reasks,
        media=media,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        timeout=timeout,
        retries=retries,
        backoff=backoff,
        insist=insist,
    )
    budget = Budget(max_cost=max_cost, max_tokens=max_tokens, prices=Prices(price_in, price_out))
    return LlmLabeller(endpoint, settings, cache=open_cache(cache), budget=budget)
