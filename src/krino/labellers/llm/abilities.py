"""What an endpoint supports (reply channel, parameters, schema keywords, lengths), found out by trying.

Only what has never worked is given up: an error message may quote the case, and a hostile case must not be able to
move a working endpoint to a weaker channel.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm.endpoint_refusals import (
    find_final_reason,
    is_surely_out_of_money,
    is_too_complex,
    out_of_money,
    read_length_limits,
)
from krino.labellers.llm.schema import STRENGTHS
from krino.labellers.llm.wire import ApiError, Channel, ChatRequest, Params, Strength

CHANNEL_DOUBT = 3  # replies without an object before a channel that never worked is given up
MISFITS = 3  # more misfits than fits before every request is bound exactly
DENIED_IN_A_ROW = 5  # refusals of key, model or address, once something has worked, before the run stops
MOSTLY_TOO_COMPLEX = 10  # more schemas refused as too large than accepted, before all are sent unbound
ENOUGH_REPLIES = 3  # replies of any kind before requests go out side by side
REFUSED_AT_START = 100  # cases refused before any has worked: the endpoint will not do at all
OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
PARAMS = {
    "prompt_cache": ("prompt_cache",),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "effort": ("reasoning_effort", "reasoningeffort", "effort parameter"),
}
"""The optional parameters, and the names that error messages use for them; the first is the one we report."""
SCHEMA_CHANNELS: tuple[Channel, ...] = ("json_schema", "tool")
NOT_THIS_SCHEMA = (
    *("invalid schema", "schema contains", "schema conversion", "grammar"),
    *("enum", "minitems", "maxitems", "minimum", "maximum", "maxlength", "prefixitems", "anyof"),
)
"""Words in the errors of endpoints that support schemas, but not this one."""
TOO_LARGE = ("too large", "too many", "at most", "greater than", "exceed", "context length", "maximum context")
FEWEST_REPLY_TOKENS = 64
WORDS: dict[Channel, tuple[str, ...]] = {
    "json_schema": ("response_format", "json_schema", "structured output", "output_config", "schema"),
    "tool": ("tool", "function"),
    "json_object": ("response_format", "json_object", "json mode"),
    "text": (),
}


LONGEST_PROBE = 30.0
"""Seconds. Refusals come at once: a request that takes longer was accepted, and the others need not wait for it."""


@dataclass(slots=True)
class ProbeLock:
    """Lets one request out at a time until the endpoint's abilities are known: otherwise each discovery would cost as
    many refused requests as may be in flight."""

    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _loop: asyncio.AbstractEventLoop | None = None

    @asynccontextmanager
    async def held_unless(self, is_known: Callable[[], bool]) -> AsyncIterator[None]:
        """Holds the lock unless enough is known; waits no longer than `LONGEST_PROBE`."""
        if is_known() or not await self._acquire(is_known):
            yield
            return
        try:
            yield
        finally:
            self._lock.release()

    async def _acquire(self, is_known: Callable[[], bool]) -> bool:
        """Waits for the lock; returns whether the caller holds it now. It does not after `LONGEST_PROBE`, or if enough
        is known by then."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # a labeller may be used on several loops, one after the other
            self._loop, self._lock = loop, asyncio.Lock()
        try:
            async with asyncio.timeout(LONGEST_PROBE):
                await self._lock.acquire()
        except TimeoutError:
            return False
        if is_known():
            self._lock.release()
            return False
        return True


@dataclass(slots=True)
class Abilities:
    """Starts with the best setting and steps down as the endpoint refuses."""

    channels: tuple[Channel, ...]
    params: Params
    limit_name: str | None
    strength: Strength = "plain"
    """How far schemas are bound to the case at first."""
    strongest: Strength = "exact"
    """The closest binding that the endpoint has not refused."""
    fixed: Channel | None = None
    """The channel the user insists on."""
    insist: tuple[str, ...] = ()
    channel: Channel = "json_schema"
    dropped: list[str] = field(default_factory=list)
    misfits: int = 0
    """Misfits minus fits of labels to their case, with the usual binding."""
    most_reply_tokens: int | None = None
    """A longer limit was refused."""
    context: int | None = None
    """The context length that the endpoint has stated, for prompt and reply together."""
    reasoning_tokens: int = 0
    """Tokens for reasoning, added to the reply limit."""
    _worked: set[tuple[Channel, Params, str | None, str]] = field(default_factory=set)
    _shapeless: Counter[str] = field(default_factory=Counter)
    _denied: int = 0
    _refused: int = 0
    _replies: int = 0
    _too_complex: int = 0
    """Schemas that were refused as too large minus bound schemas that worked."""

    def __post_init__(self) -> None:
        self.channel = self.fixed or self.channels[0]

    @property
    def settled(self) -> bool:
        """Whether enough is known to send requests concurrently: at first all would be refused for one reason."""
        return bool(self._worked) or self._replies >= ENOUGH_REPLIES

    def to_dict(self) -> dict[str, Any]:
        """What was found out, for the next run."""
        return {
            "channel": self.channel,
            "without": [name for name in PARAMS if getattr(self.params, name) is None],
            "limit_name": self.limit_name,
            "strongest": self.strongest,
            "most_reply_tokens": self.most_reply_tokens,
            "context": self.context,
            "reasoning_tokens": self.reasoning_tokens,
            "dropped": list(self.dropped),
        }

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Takes over what `to_dict` saved in an earlier run. Parameters that the user insists on are tried again."""
        if self.fixed is None and saved["channel"] in self.channels:
            self.channel = saved["channel"]
        without = {name: None for name in saved["without"] if name in PARAMS and name not in self.insist}
        self.params = replace(self.params, **without)
        if saved["strongest"] in get_args(Strength):
            self.strongest = min(self.strongest, saved["strongest"], key=STRENGTHS.index)
        self.limit_name = saved["limit_name"]
        self.most_reply_tokens, self.context = saved["most_reply_tokens"], saved["context"]
        self.reasoning_tokens = max(self.reasoning_tokens, saved["reasoning_tokens"])
        self.dropped = list(saved["dropped"])

    def binding(self, *, exact: bool) -> Strength:
        """Returns how closely the schema of the next request is bound to its case: fully if `exact` or after several
        misfits, but never more than the endpoint accepts."""
        wanted: Strength = "exact" if exact or self.misfits >= MISFITS else self.strength
        return min(wanted, self.strongest, key=STRENGTHS.index)

    def note_fit(self, request: ChatRequest, fits: bool) -> None:
        """Counts whether labels fit their case, unless the schema was bound exactly: after more misfits than fits, all
        schemas are."""
        if request.strength != "exact":
            self.misfits = max(0, self.misfits + (-1 if fits else 1))

    def note_reply(self, request: ChatRequest, *, shapeless: bool) -> None:
        """Records that a reply came, and that the form of its request works if it holds an object. Leaves a channel
        that never yields one: some endpoints accept every setting and ignore it."""
        self._denied = self._refused = 0
        self._replies += 1
        if not shapeless:
            self._worked.add(_form(request))
            if request.strength != "plain":
                self._too_complex = max(0, self._too_complex - 1)
            return
        self._shapeless[request.channel] += 1
        doubtful = self._shapeless[request.channel] >= CHANNEL_DOUBT
        if doubtful and request.channel == self.channel and not self._channel_worked(request.channel):
            self._next_channel()

    def adapt(self, error: ApiError, request: ChatRequest) -> None:
        """Gives up one thing that the endpoint rejects, for all later requests; if nothing can be given up, raises
        `LabelFailed` for this case or `RunStopped` for all."""
        final = find_final_reason(error)
        if error.status in {401, 403, 404} or final:
            self._deny(error, final)
        adaptable = error.status in {400, 415, 422, 501} and _form(request) not in self._worked
        if adaptable and (
            self._rename_limit(error, request)
            or self._drop_param(error, request)
            or self._bind_less(error, request)
            or self._step_down(error, request)
        ):
            return
        if not self._worked and read_length_limits(error) is None and not error.mentions("too long", "too large"):
            self._refused += 1
            if self._refused >= REFUSED_AT_START:
                raise RunStopped(f"the endpoint refuses case after case: {error}", kind="endpoint")
        raise LabelFailed(f"the endpoint refuses the request: {error}")

    def _deny(self, error: ApiError, final: str | None) -> None:
        """Always raises, for a refused key, model or account: `LabelFailed` for this case or `RunStopped` for all.

        Once something has worked, a refusal may concern one moderated case: unless it is surely about the account, only
        several in a row stop the run.
        """
        self._denied += 1
        several = not self._worked or self._denied >= DENIED_IN_A_ROW
        if is_surely_out_of_money(error) or (final == "quota" and several):
            raise out_of_money(error)
        if self._worked and self._denied < DENIED_IN_A_ROW:
            raise LabelFailed(f"the endpoint refuses the request: {error}")
        if error.status == 404 or final == "model":
            raise RunStopped(f"the endpoint knows no such model or address: {error}", kind="model")
        if error.status == 403 and self._denied < DENIED_IN_A_ROW:
            raise LabelFailed(f"the endpoint refuses the request: {error}")
        raise RunStopped(f"the endpoint refuses the key: {error}", kind="key")

    def _rename_limit(self, error: ApiError, request: ChatRequest) -> bool:
        """Switches to the other name of the reply limit, or to no limit once both are refused; returns whether the
        error was about the name."""
        sent = request.completion_limit_name
        if sent is None or request.reply_limit is None or not error.mentions(sent):
            return False
        if self.limit_name == sent:  # otherwise a concurrent request has found this out
            other = OTHER_LIMIT[sent]
            self.limit_name = None if f"renamed {other}" in self.dropped else other
            self.dropped.append(f"renamed {sent}" if self.limit_name else "max_tokens")
        return True

    def lower_limit(self, error: ApiError, request: ChatRequest, prompt_tokens: int) -> int | None:
        """Returns a lower reply limit to try; None if the refusal is not about lengths.

        It is computed from the numbers in the refusal, or halved if they do not explain it. A limit of the model holds
        for the whole run, a lack of context for this case. Raises `LabelFailed` if the prompt itself is too long.
        """
        limit, room = request.reply_limit, read_length_limits(error)
        if error.status not in {400, 413, 422, 429} or limit is None:
            return None
        if room is None:
            if limit < 2 * FEWEST_REPLY_TOKENS or not error.mentions(*OTHER_LIMIT, "completion tokens"):
                return None
            if not error.mentions(*TOO_LARGE):
                return None
            lower = limit // 2
        else:
            self.context = self.context or room.context
            stated = room.for_reply(prompt_tokens, limit)
            lower = limit // 2 if stated is None or stated >= limit else stated
        if lower < FEWEST_REPLY_TOKENS:
            raise LabelFailed(f"the prompt leaves no room for a reply; use a longer context or a shorter case: {error}")
        if room is None or room.most_output is not None:
            known = self.most_reply_tokens or limit
            self.most_reply_tokens = min(known, lower) if room is not None or not self._worked else known
        return lower

    def note_too_complex(self, error: ApiError, request: ChatRequest) -> bool:
        """Returns whether the schema of this case is refused as too large, and counts it: after several such cases, all
        schemas are sent unbound."""
        if request.strength == "plain" or not is_too_complex(error):
            return False
        self._too_complex += 1
        most = MOSTLY_TOO_COMPLEX if self._has_worked(request.channel, request.strength) else CHANNEL_DOUBT
        if self._too_complex >= most and self.strongest != "plain":
            self.strongest = "plain"
            self.dropped.append(f"schema {request.strength}")
        return True

    def _bind_less(self, error: ApiError, request: ChatRequest) -> bool:
        """Binds all schemas less closely if the error is about their keywords; returns whether it is."""
        sent = STRENGTHS.index(request.strength)
        if read_length_limits(error) is not None:  # "maximum context length" is no fault of the schema
            return False
        if not sent or not error.mentions(*NOT_THIS_SCHEMA) or self._has_worked(request.channel, request.strength):
            return False
        if STRENGTHS.index(self.strongest) >= sent:  # otherwise a concurrent request has found this out
            self.strongest = STRENGTHS[sent - 1]
            self.dropped.append(f"schema {request.strength}")
        return True

    def _drop_param(self, error: ApiError, request: ChatRequest) -> bool:
        """Drops the parameter that the endpoint's error names; returns whether there was one to drop."""
        for name, called in PARAMS.items():
            if getattr(request.params, name) is None or not error.mentions(*called):
                continue
            wire_name = called[0]
            if name in self.insist:
                raise RunStopped(f"the endpoint does not take {wire_name}: {error}", kind="settings")
            if wire_name not in self.dropped:
                self.dropped.append(wire_name)
            self.params = replace(self.params, **{name: None})
            return True
        return False

    def _step_down(self, error: ApiError, request: ChatRequest) -> bool:
        """Switches to the next reply channel if the error says that this one is not supported; returns whether the
        request can be sent again in another channel."""
        if self.channel != request.channel:
            return True  # a concurrent request has found this out
        if self._channel_worked(request.channel) or not error.mentions(*WORDS[request.channel]):
            return False
        return self._next_channel()

    def _next_channel(self) -> bool:
        """Switches to the next reply channel in order of preference; returns whether there was one."""
        place = self.channels.index(self.channel) + 1
        if self.fixed is not None or place >= len(self.channels):
            return False
        self.channel = self.channels[place]
        return True

    def _channel_worked(self, channel: Channel) -> bool:
        return any(worked[0] == channel for worked in self._worked)

    def _has_worked(self, channel: Channel, strength: str) -> bool:
        return any((worked[0], worked[3]) == (channel, strength) for worked in self._worked)


def _form(request: ChatRequest) -> tuple[Channel, Params, str | None, str]:
    """What identifies the form of a request: a refusal of a form that has worked before is the fault of the case."""
    return request.channel, request.params, request.completion_limit_name, request.strength
