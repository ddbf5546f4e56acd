"""Makes the labeller that a name means: `local`, a model at an endpoint, or a jury of several."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from krino.contract import Labeller
from krino.errors import UsageProblem
from krino.labellers.local import LocalLabeller

if TYPE_CHECKING:
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.llm.pace import Pace
    from krino.labellers.panel import Panel


def choose(labeller: str | Labeller, **settings: Any) -> Labeller:
    """A ready labeller from its name (`settings` as in `jury`); one that is ready already is taken as it is."""
    if isinstance(labeller, Labeller):
        return labeller
    return jury(names_in(labeller), **settings) if "," in labeller else named(labeller, **settings)


def named(name: str, **settings: Any) -> Labeller:
    """The labeller of one name; `settings` are those of `llm`, and mean nothing to the embedded one."""
    return LocalLabeller() if name == "local" else llm(name, **settings)


def names_in(labeller: str) -> list[str]:
    """`a,b,c` names the members of a jury."""
    names = [name.strip() for name in labeller.split(",")]
    if not all(names):
        raise UsageProblem(f"labeller `{labeller}`: a name is missing; write a,b,c")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageProblem(f"labeller `{labeller}`: {twice[0]} is named twice; to ask it more than once, use --repeat")
    return names


def jury(members: Sequence[str | Labeller], *, repeat: int = 1, quorum: int | None = None, **settings: Any) -> Panel:
    """Several labellers, whose votes are joined label by label; `repeat` asks each of them so often.

    Members are names or labellers made before. `settings` are those of `krino.llm`, for the members that are named:
    they pay from one purse (`max_cost` holds for their sum) and keep one pace at each address. `quorum`: how many
    seats must answer, more than half by default. Closing the jury closes its members.
    """
    from krino.labellers.panel import Panel

    seated: dict[str, Labeller] = {}
    made: list[Labeller] = []
    for member in members:
        name = member if isinstance(member, str) else _name_of(member)
        ready = named(member, **settings) if isinstance(member, str) else member
        seated[name if name not in seated else f"{name} #{len(seated) + 1}"] = ready
        if ready is not member:
            made.append(ready)
    if settings and not made:
        raise UsageProblem(
            f"{', '.join(settings)}: settings are for members given by name; these are labellers already"
        )
    share(made)
    return Panel(seated, repeat=repeat, quorum=quorum)


def repeated(labeller: str | Labeller, times: int, *, quorum: int | None = None, **settings: Any) -> Panel:
    """One labeller asked `times` times about each case, to see how stable it is. `settings` as in `krino.jury`."""
    if times < 2:
        raise UsageProblem(f"a repeat needs two askings at least, not {times}")
    return jury([labeller], repeat=times, quorum=quorum, **settings)


def _name_of(labeller: Labeller) -> str:
    description = labeller.describe()
    return str(description.get("model") or description.get("kind") or type(labeller).__name__)


def share(members: Iterable[Labeller]) -> None:
    """Money is the run's, so one purse; pace is an endpoint's own, so one for each address."""
    from krino.labellers.llm.labeller import LlmLabeller

    models = [member for member in members if isinstance(member, LlmLabeller)]
    paces: dict[str, Pace] = {}
    for model in models:
        model.budget.purse = models[0].budget.purse
        model.pace = model.transport.pace = paces.setdefault(model.endpoint.base_url, model.pace)


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
    patience: float | None = None,
    insist: tuple[str, ...] = (),
    max_cost: float | None = None,
    max_tokens: int | None = None,
    price_in: float | None = None,
    price_out: float | None = None,
    cache: Path | str | None = None,
    env: Mapping[str, str] | None = None,
) -> LlmLabeller:
    """A labeller that asks `model` (`gpt-…`, `claude-…`, `provider:model`); keys come from the environment."""
    from krino.labellers.llm.budget import Budget, Prices, Purse
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
        patience=patience,
        insist=insist,
    )
    budget = Budget(Prices(price_in, price_out), Purse(max_cost, max_tokens))
    return LlmLabeller(endpoint, settings, cache=open_cache(cache), budget=budget)
