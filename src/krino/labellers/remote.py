"""Labellers for worker processes, without keys, connections or limits.

The embedded labeller runs in the worker. Of an LLM labeller, only the writing of questions and the reading of answers
does; its requests are sent by the process that started the run, through a `RemoteGateway` that calls back. All workers
so share one rate, one budget and one cache, and no key is sent to them.
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
    from krino.labellers.llm.sending.gateway import Gateway, ModelRequest, SendResult
    from krino.labellers.settings import LlmSettings

STAYS_BEHIND = ("api_key", "env", "base_url", "max_cost", "max_tokens", "rpm", "tpm", "cache")
"""Settings that hold a secret or a limit."""
METHODS = ("send", "cached_answer", "cache_answer", "load_abilities", "save_abilities", "give_up")
"""What a worker may call of a gateway."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a gateway's method from a worker."""

    gateway: int
    """Which of the gateways of `pack_labeller`."""
    method: str
    arguments: tuple[Any, ...]
    case: str | None = None
    """For a request: the hash of its case."""


Caller = Callable[[Call], Awaitable[Any]]


class PortableLabeller(Protocol):
    """A labeller as plain data that can be pickled."""

    def unpack(self, caller: Caller) -> Labeller: ...


def pack_labeller(labeller: Labeller) -> tuple[PortableLabeller, list[Gateway]]:
    """Returns a form of the labeller that can be sent to a worker, and the gateways that answer its calls."""
    if isinstance(labeller, LocalLabeller):
        return _PortableLocal(labeller.batch, one_core=True), []
    gateways: list[Gateway] = []
    return _pack(labeller, gateways), gateways


async def answer_call(call: Call, gateways: list[Gateway]) -> Any:
    """Answers a worker's call; `ValueError` for a method that no labeller needs."""
    if call.method not in METHODS:
        raise ValueError(f"a worker cannot call {call.method!r}")
    return await getattr(gateways[call.gateway], call.method)(*call.arguments)


def key_variables_of(labeller: Labeller) -> frozenset[str]:
    """Returns the names of environment variables that hold a key, so that a worker can unset what it inherited: those
    of every provider, and any variable with a key that the labeller uses."""
    from krino.labellers.llm.endpoint import providers

    used = set() if isinstance(labeller, LocalLabeller) else _keys_of(labeller)
    usual = {name for entry in providers().values() for name in entry.get("key", ())}
    return frozenset(name for name, value in os.environ.items() if name in usual or value.strip() in used)


def _keys_of(labeller: Labeller) -> set[str | None]:
    """Returns the keys of a labeller, or of the members of a panel."""
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.panel import Panel

    members = labeller.members.values() if isinstance(labeller, Panel) else [labeller]
    return {member.endpoint.key for member in members if isinstance(member, LlmLabeller)} - {None}


def _pack(labeller: Labeller, gateways: list[Gateway]) -> PortableLabeller:
    """Returns a form of the labeller that can be sent to a worker, and collects the gateways it calls."""
    if isinstance(labeller, LocalLabeller):
        return _PortableLocal(labeller.batch)
    from krino.labellers.llm.labeller import LlmLabeller
    from krino.labellers.panel import Panel
    from krino.labellers.replay import PanelReplay, Unasked

    if isinstance(labeller, LlmLabeller):
        gateways.append(labeller.gateway)
        return _PortableLlm.of(labeller, len(gateways) - 1)
    if isinstance(labeller, Panel):
        members = {name: _pack(member, gateways) for name, member in labeller.members.items()}
        return _PortablePanel(members, labeller.repeat, labeller.quorum)
    if isinstance(labeller, PanelReplay | Unasked):
        return _PortableReplay(labeller)
    raise UsageProblem(f"{type(labeller).__name__} can label in one process only: leave out --workers and --engine ray")


@dataclass(frozen=True, slots=True)
class _PortableLocal:
    batch: int
    one_core: bool = False
    """Not on a panel: while it labels, the event loop must handle replies to the other members."""

    def unpack(self, caller: Caller) -> Labeller:
        return LocalLabeller(self.batch, one_core=self.one_core)


@dataclass(frozen=True, slots=True)
class _PortableReplay:
    """Recorded labels need no gateway and hold no secret."""

    labeller: Labeller

    def unpack(self, caller: Caller) -> Labeller:
        return self.labeller


@dataclass(frozen=True, slots=True)
class _PortableLlm:
    endpoint: Endpoint
    settings: LlmSettings
    tag_secret: bytes
    has_cache: bool
    gateway: int

    @classmethod
    def of(cls, labeller: LlmLabeller, gateway: int) -> _PortableLlm:
        """Copies a labeller's settings without its key, its connections and its limits."""
        from krino.labellers.llm.endpoint import clean_address

        endpoint = labeller.endpoint
        keyless = replace(endpoint, key=None, key_source=None, base_url=clean_address(endpoint.base_url))
        settings = cast("LlmSettings", {**labeller.settings, **dict.fromkeys(STAYS_BEHIND)})
        return cls(keyless, settings, labeller.writer.tag_secret, labeller.cache is not None, gateway)

    def unpack(self, caller: Caller) -> Labeller:
        """Builds the labeller in a worker; its calls go through the caller to the main process."""
        from krino.labellers.llm.labeller import LlmLabeller

        labeller = LlmLabeller(self.endpoint, self.settings)
        labeller.writer.tag_secret = self.tag_secret
        labeller.gateway = RemoteGateway(self.gateway, caller, self.has_cache)
        return labeller


@dataclass(frozen=True, slots=True)
class _PortablePanel:
    members: Mapping[str, PortableLabeller]
    repeat: int
    quorum: int

    def unpack(self, caller: Caller) -> Labeller:
        """Builds the panel in a worker."""
        from krino.labellers.panel import Panel

        members = {name: member.unpack(caller) for name, member in self.members.items()}
        return Panel(members, repeat=self.repeat, quorum=self.quorum)


@dataclass(frozen=True, slots=True)
class RemoteGateway:
    """A `Gateway` that forwards every call to one in another process."""

    number: int
    caller: Caller
    has_cache: bool

    async def send(self, message: ModelRequest) -> SendResult:
        return cast("SendResult", await self.caller(Call(self.number, "send", (message,), message.case)))

    async def cached_answer(self, key: bytes) -> bytes | None:
        return cast(bytes | None, await self._call("cached_answer", key)) if self.has_cache else None

    async def cache_answer(self, key: bytes, answer: bytes) -> None:
        if self.has_cache:
            await self._call("cache_answer", key, answer)

    async def load_abilities(self, key: bytes) -> bytes | None:
        return cast(bytes | None, await self._call("load_abilities", key))

    async def save_abilities(self, key: bytes, found: bytes) -> None:
        await self._call("save_abilities", key, found)

    async def give_up(self, tries: int, trouble: str) -> NoReturn:
        await self._call("give_up", tries, trouble)
        raise AssertionError("`give_up` always raises")

    async def _call(self, method: str, *arguments: Any) -> Any:
        return await self.caller(Call(self.number, method, arguments))
