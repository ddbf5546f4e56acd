"""Makes the labeller that a name means: `local`, a model at an endpoint, or a jury of several."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

from krino.contract import Labeller
from krino.errors import UsageProblem
from krino.labellers.local import LocalLabeller
from krino.labellers.settings import LlmSettings, complete, known_settings

if TYPE_CHECKING:
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.llm.sending.pace import Pace
    from krino.labellers.panel import Panel

Prices = Mapping[str, Mapping[str, float]]
"""By the name of a model: `input`, `output`, `cached` and `cache_write`, money per million tokens."""
PRICE_SETTINGS = {
    "input": "price_in",
    "output": "price_out",
    "cached": "price_cached",
    "cache_write": "price_cache_write",
}


def labeller_from(
    labeller: str | Labeller,
    *,
    repeat: int = 1,
    prices: Prices | None = None,
    **settings: Unpack[LlmSettings],
) -> Labeller:
    """A ready labeller from its name: `local`, a model, or `a,b,c` for a jury. One that is ready is taken as it is.

    `repeat`: how many times each model is asked about a case. `prices` are those of models for which `settings` state
    none.
    """
    if repeat < 1:
        raise UsageProblem(f"--repeat must be at least 1, not {repeat}")
    if isinstance(labeller, Labeller):
        return labeller if repeat == 1 else repeated(labeller, repeat)
    names = names_in(labeller)
    members = {name: _make_named(name, settings, prices or {}) for name in names}
    if len(names) == 1 and repeat == 1:
        return members[names[0]]
    return _make_panel(members, members.values(), repeat=repeat)


def names_in(labeller: str) -> list[str]:
    """Splits `a,b,c`, which names the members of a jury."""
    names = [name.strip() for name in labeller.split(",")]
    if not all(names):
        raise UsageProblem(f"labeller `{labeller}`: a name is missing; write a,b,c")
    if twice := [name for name in names if names.count(name) > 1]:
        raise UsageProblem(f"labeller `{labeller}`: {twice[0]} is named twice; to ask it more than once, use --repeat")
    return names


def jury(
    members: Sequence[str | Labeller], *, repeat: int = 1, quorum: int | None = None, **settings: Unpack[LlmSettings]
) -> Panel:
    """Several labellers, whose votes are joined label by label; `repeat` asks each of them N times.

    Members are names or labellers made before. `settings` are those of `krino.llm`, for the members that are named:
    they share one budget (`max_cost` holds for their sum) and one pace at each address. `quorum`: how many seats must
    answer, more than half by default. Closing the jury closes its members.
    """
    seated: dict[str, Labeller] = {}
    made: list[Labeller] = []
    for member in members:
        name = member if isinstance(member, str) else _name_of(member)
        ready = _make_named(member, settings) if isinstance(member, str) else member
        seated[name if name not in seated else f"{name} #{len(seated) + 1}"] = ready
        if ready is not member:
            made.append(ready)
    if settings and not made:
        raise UsageProblem(
            f"{', '.join(settings)}: settings are for members given by name; these are labellers already"
        )
    return _make_panel(seated, made, repeat=repeat, quorum=quorum)


def repeated(
    labeller: str | Labeller, times: int, *, quorum: int | None = None, **settings: Unpack[LlmSettings]
) -> Panel:
    """One labeller asked `times` times about each case, to see how stable it is. `settings` as in `krino.jury`."""
    if times < 2:
        raise UsageProblem(f"`times` must be at least 2, not {times}")
    return jury([labeller], repeat=times, quorum=quorum, **settings)


def llm(model: str, **settings: Unpack[LlmSettings]) -> LlmLabeller:
    """A labeller that asks `model` (`gpt-…`, `claude-…`, `provider:model`); keys come from the environment."""
    from krino.labellers.llm.cache import open_cache
    from krino.labellers.llm.endpoint import find_endpoint
    from krino.labellers.llm.labeller import LlmLabeller

    chosen = complete(settings)
    environment = chosen["env"]
    endpoint = find_endpoint(
        model,
        env=os.environ if environment is None else environment,
        base_url=chosen["base_url"],
        key=chosen["api_key"],
        api_version=chosen["api_version"],
        extra_body=chosen["extra_body"],
        extra_headers=chosen["extra_headers"],
    )
    chosen = {**chosen, "extra_headers": None}  # from here on their values are in the endpoint's dialect only
    return LlmLabeller(endpoint, chosen, cache=open_cache(chosen["cache"]))


def _add_settings_to_signature(function: Callable[..., Any]) -> None:
    """Adds each setting of a model to the signature of `function`, for `help()` and editors."""
    own = inspect.signature(function).parameters.values()
    settings = (
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=setting.default)
        for name, setting in known_settings().items()
    )
    named = [parameter for parameter in own if parameter.kind is not inspect.Parameter.VAR_KEYWORD]
    function.__signature__ = inspect.Signature([*named, *settings])  # type: ignore[attr-defined]


for _function in (llm, jury, repeated):
    _add_settings_to_signature(_function)
llm.__doc__ = "\n".join(
    [f"{llm.__doc__}\n    Settings:", *(f"        {name}: {known.help}" for name, known in known_settings().items())]
)


def _make_named(name: str, settings: LlmSettings, prices: Prices | None = None) -> Labeller:
    """Makes the labeller of one name; `local` takes no settings. Prices known for a model are used where `settings`
    state none."""
    if name == "local":
        return LocalLabeller()
    if known := (prices or {}).get(name):
        stated = {name: value for name, value in settings.items() if value is not None}
        prices_of = {setting: known.get(price) for price, setting in PRICE_SETTINGS.items()}
        settings = cast(LlmSettings, {**prices_of, **stated})
    return llm(name, **settings)


def _name_of(labeller: Labeller) -> str:
    description = labeller.describe()
    return str(description.get("model") or description.get("kind") or type(labeller).__name__)


def _make_panel(
    members: Mapping[str, Labeller], made: Iterable[Labeller], *, repeat: int, quorum: int | None = None
) -> Panel:
    """Makes a panel of the members. The models among `made` share one budget, and one pace for each address."""
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.panel import Panel

    models = [member for member in made if isinstance(member, LlmLabeller)]
    paces: dict[str, Pace] = {}
    for model in models:
        model.budget.shared = models[0].budget.shared
        model.pace = model.transport.pace = paces.setdefault(model.endpoint.base_url, model.pace)
    return Panel(members, repeat=repeat, quorum=quorum)
