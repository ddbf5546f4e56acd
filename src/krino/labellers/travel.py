"""A labeller in a form that travels to a worker: no key, no connection and no limit goes with it.

The embedded labeller works wherever it is built. Of one that asks a model, only the reading and writing travels; its
requests come back to the process that started the run, over a line that calls (`Caller`): there is one rate, one
number in flight, one budget and one cache for all workers, and no key is sent to a worker.
"""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, cast

from krino.contract import Labeller
from krino.errors import UsageProblem
from krino.labellers.local import LocalLabeller

if TYPE_CHECKING:
    from krino.labellers.llm.endpoint import Endpoint
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.llm.line import Letter, Line, Outcome
    from krino.labellers.settings import LlmSettings

SECRET_OR_LIMIT = ("api_key", "env", "base_url", "max_cost", "max_tokens", "rpm", "tpm", "cache")


@dataclass(frozen=True, slots=True)
class Call:
    """Something that a labeller wants of its line: the method and its arguments; `line` says which of them."""

    line: int
    method: str
    arguments: tuple[Any, ...]
    case: str | None = None
    """Of a request: the hash of the case that it is about."""


Caller = Callable[[Call], Awaitable[Any]]


class Packed(Protocol):
    """Plain data that can be pickled."""

    def unpacked(self, caller: Caller) -> Labeller: ...


def packed(labeller: Labeller) -> tuple[Packed, list[Line]]:
    """The labeller for a worker, and the lines that its calls are for."""
    if isinstance(labeller, LocalLabeller):
        return _Embedded(labeller.batch, one_core=True), []
    lines: list[Line] = []
    return _packed(labeller, lines), lines


async def answered(call: Call, lines: list[Line]) -> Any:
    """What the line says. The names are checked: a worker asks for what a labeller needs and for nothing else."""
    line = lines[call.line]
    methods: dict[str, Callable[..., Awaitable[Any]]] = {
        "send": line.send,
        "known": line.known,
        "keep": line.keep,
        "learnt": line.learnt,
        "learn": line.learn,
        "give_up": line.give_up,
    }
    return await methods[call.method](*call.arguments)


def key_variables_of(labeller: Labeller) -> frozenset[str]:
    """The variables of this environment in which keys are: where any provider's is looked for, and whichever holds one
    that the labeller uses. Their names alone travel, so that a worker can forget what it has inherited."""
    from krino.labellers.llm.endpoint import providers

    used = set() if isinstance(labeller, LocalLabeller) else _keys_of(labeller)
    usual = {name for entry in providers().values() for name in entry.get("key", ())}
    return frozenset(name for name, value in os.environ.items() if name in usual or value.strip() in used)


def _keys_of(labeller: Labeller) -> set[str | None]:
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.panel import Panel

    members = labeller.members.values() if isinstance(labeller, Panel) else [labeller]
    return {member.endpoint.key for member in members if isinstance(member, LlmLabeller)} - {None}


def _packed(labeller: Labeller, lines: list[Line]) -> Packed:
    if isinstance(labeller, LocalLabeller):
        return _Embedded(labeller.batch)
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.panel import Panel
    from krino.labellers.replay import PanelReplay, Unasked

    if isinstance(labeller, LlmLabeller):
        lines.append(labeller.line)
        return _Model.of(labeller, len(lines) - 1)
    if isinstance(labeller, Panel):
        members = {name: _packed(member, lines) for name, member in labeller.members.items()}
        return _Members(members, labeller.repeat, labeller.quorum)
    if isinstance(labeller, PanelReplay | Unasked):
        return _Record(labeller)
    raise UsageProblem(
        f"labels of {type(labeller).__name__} are had in one process only: leave out --workers and --engine ray"
    )


@dataclass(frozen=True, slots=True)
class _Embedded:
    batch: int
    one_core: bool = False
    """Not on a panel: while it labels, replies to the others must be heard."""

    def unpacked(self, caller: Caller) -> Labeller:
        return LocalLabeller(self.batch, one_core=self.one_core)


@dataclass(frozen=True, slots=True)
class _Record:
    """Labels on record ask nobody and hold no secret: they travel as they are."""

    labeller: Labeller

    def unpacked(self, caller: Caller) -> Labeller:
        return self.labeller


@dataclass(frozen=True, slots=True)
class _Model:
    endpoint: Endpoint
    settings: LlmSettings
    tag_secret: bytes
    has_cache: bool
    line: int

    @classmethod
    def of(cls, labeller: LlmLabeller, line: int) -> _Model:
        from krino.labellers.llm.endpoint import clean_address

        endpoint = labeller.endpoint
        keyless = replace(endpoint, key=None, key_source=None, base_url=clean_address(endpoint.base_url))
        settings = {**labeller.settings, **dict.fromkeys(SECRET_OR_LIMIT)}
        return cls(keyless, cast("LlmSettings", settings), labeller.tag_secret, labeller.cache is not None, line)

    def unpacked(self, caller: Caller) -> Labeller:
        from krino.labellers.llm.labeller import LlmLabeller

        labeller = LlmLabeller(self.endpoint, self.settings)
        labeller.tag_secret = self.tag_secret
        labeller.line = _CallingLine(self.line, caller, self.has_cache)
        return labeller


@dataclass(frozen=True, slots=True)
class _Members:
    members: Mapping[str, Packed]
    repeat: int
    quorum: int

    def unpacked(self, caller: Caller) -> Labeller:
        from krino.labellers.panel import Panel

        members = {name: member.unpacked(caller) for name, member in self.members.items()}
        return Panel(members, repeat=self.repeat, quorum=self.quorum)


@dataclass(frozen=True, slots=True)
class _CallingLine:
    """A `Line` that hands everything to one in another process."""

    number: int
    caller: Caller
    has_cache: bool

    async def send(self, letter: Letter) -> Outcome:
        return cast("Outcome", await self.caller(Call(self.number, "send", (letter,), letter.case)))

    async def known(self, key: bytes) -> bytes | None:
        return cast(bytes | None, await self.caller(Call(self.number, "known", (key,)))) if self.has_cache else None

    async def keep(self, key: bytes, answer: bytes) -> None:
        if self.has_cache:
            await self.caller(Call(self.number, "keep", (key, answer)))

    async def learnt(self, key: bytes) -> bytes | None:
        return cast(bytes | None, await self.caller(Call(self.number, "learnt", (key,))))

    async def learn(self, key: bytes, found: bytes) -> None:
        await self.caller(Call(self.number, "learn", (key, found)))

    async def give_up(self, tries: int, trouble: str) -> NoReturn:
        await self.caller(Call(self.number, "give_up", (tries, trouble)))
        raise AssertionError("a line that gives up says why")
