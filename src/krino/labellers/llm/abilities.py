"""What an endpoint turns out to be able to do: the reply channel and the parameters it takes, remembered for the run.

Only what has never worked is given up: an error message may quote the case, and a case must not be able to talk
a working endpoint down to a weaker channel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from krino.errors import LabelFailed, RunStopped
from krino.labellers.llm.refusals import is_final, is_too_complex, no_money, read_room
from krino.labellers.llm.schema import STRENGTHS
from krino.labellers.llm.wire import ApiError, Channel, ChatRequest, Params, Strength

CHANNEL_DOUBT = 3  # replies without an object before a channel that never worked is given up
MISFITS = 3  # more misfits than fits before every request is bound exactly
DENIED_IN_A_ROW = 5  # refusals of key, model or address, once something has worked, before the run stops
ENOUGH_REPLIES = 3  # replies of any kind before requests go out side by side
REFUSED_AT_START = 100  # cases refused before any has worked: the endpoint will not do at all
OTHER_LIMIT = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
PARAMS = {
    "prompt_cache": ("prompt_cache",),
    "temperature": ("temperature",),
    "seed": ("seed",),
    "effort": ("reasoning_effort", "reasoningeffort", "effort parameter"),
}
"""Each optional parameter, and what refusals call it. The first name is the one that is shown."""
SCHEMA_CHANNELS: tuple[Channel, ...] = ("json_schema", "tool")
NOT_THIS_SCHEMA = (
    *("invalid schema", "schema contains", "schema conversion", "grammar"),
    *("enum", "minitems", "maxitems", "minimum", "maximum", "maxlength", "prefixitems", "anyof"),
)
"""How endpoints say that they take schemas, and not this one."""
TOO_LARGE = ("too large", "too many", "at most", "greater than", "exceed", "context length", "maximum context")
FEWEST_REPLY_TOKENS = 64
WORDS: dict[Channel, tuple[str, ...]] = {
    "json_schema": ("response_format", "json_schema", "structured output", "output_config", "schema"),
    "tool": ("tool", "function"),
    "json_object": ("response_format", "json_object", "json mode"),
    "text": (),
}


@dataclass(slots=True)
class Abilities:
    """Begins with the best and steps down."""

    channels: tuple[Channel, ...]
    params: Params
    limit_name: str | None
    strength: Strength = "plain"
    """How far schemas are bound to the case at first."""
    strongest: Strength = "exact"
    """The most that the endpoint has not refused."""
    fixed: Channel | None = None
    """The channel the user insists on."""
    insist: tuple[str, ...] = ()
    channel: Channel = "json_schema"
    dropped: list[str] = field(default_factory=list)
    misfits: int = 0
    """How much more often labels did not fit their case than they did, with the usual binding."""
    most_reply_tokens: int | None = None
    """A longer limit was refused."""
    context: int | None = None
    """How many tokens prompt and reply may have together, as the endpoint has said."""
    reasoning_tokens: int = 0
    """Room for reasoning that is added to the limit of a reply."""
    _worked: set[tuple[Channel, Params, str | None, str]] = field(default_factory=set)
    _shapeless: Counter[str] = field(default_factory=Counter)
    _denied: int = 0
    _refused: int = 0
    _replies: int = 0
    _too_complex: int = 0

    def __post_init__(self) -> None:
        self.channel = self.fixed or self.channels[0]

    @property
    def settled(self) -> bool:
        """Whether enough is known to send requests side by side: each of them would be refused for the same reason."""
        return bool(self._worked) or self._replies >= ENOUGH_REPLIES

    def learnt(self) -> dict[str, Any]:
        """What was found out, in a form that can be kept for the next run."""
        return {
            "channel": self.channel,
            "without": [name for name in PARAMS if getattr(self.params, name) is None],
            "limit_name": self.limit_name,
            "strongest": self.strongest,
            "most_reply_tokens": self.most_reply_tokens,
            "context": self.context,
            "reasoning_tokens": self.reasoning_tokens,
            "dropped": self.dropped,
        }

    def recall(self, learnt: Mapping[str, Any]) -> None:
        """Begin where an earlier run ended. What the user insists on is tried again."""
        if self.fixed is None and learnt["channel"] in self.channels:
            self.channel = learnt["channel"]
        without = {name: None for name in learnt["without"] if name in PARAMS and name not in self.insist}
        self.params = replace(self.params, **without)
        if learnt["strongest"] in get_args(Strength):
            self.strongest = min(self.strongest, learnt["strongest"], key=STRENGTHS.index)
        self.limit_name = learnt["limit_name"]
        self.most_reply_tokens, self.context = learnt["most_reply_tokens"], learnt["context"]
        self.reasoning_tokens = max(self.reasoning_tokens, learnt["reasoning_tokens"])
        self.dropped = list(learnt["dropped"])

    def binding(self, *, exact: bool) -> Strength:
        """How far the schema of the next request is bound to its case."""
        wanted: Strength = "exact" if exact or self.misfits >= MISFITS else self.strength
        return min(wanted, self.strongest, key=STRENGTHS.index)

    def note_fit(self, request: ChatRequest, fits: bool) -> None:
        """A model whose labels seldom fit their case is asked with a schema bound as closely as can be."""
        if request.strength != "exact":
            self.misfits = max(0, self.misfits + (-1 if fits else 1))

    def note_reply(self, request: ChatRequest, *, shapeless: bool) -> None:
        """Some endpoints take every setting and ignore it: a channel that never gives an object is left."""
        self._denied = self._refused = 0
        self._replies += 1
        if not shapeless:
            self._worked.add(_form(request))
            return
        self._shapeless[request.channel] += 1
        doubtful = self._shapeless[request.channel] >= CHANNEL_DOUBT
        if doubtful and request.channel == self.channel and not self._channel_worked(request.channel):
            self._next_channel()

    def have_worked(self, request: ChatRequest) -> bool:
        """Whether a request of this form was ever answered as it should be."""
        return _form(request) in self._worked

    def adapt(self, error: ApiError, request: ChatRequest) -> None:
        """Step down from what the endpoint rejects, or raise: `LabelFailed` for this case, `RunStopped` for all."""
        final = is_final(error)
        if error.status in {401, 403, 404} or final:
            self._deny(error, final)
        adaptable = error.status in {400, 415, 422, 501} and not self.have_worked(request)
        if adaptable and (
            self._rename_limit(error, request)
            or self._drop_param(error, request)
            or self._bind_less(error, request)
            or self._step_down(error, request)
        ):
            return
        if not self._worked and read_room(error) is None and not error.mentions("too long", "too large"):
            self._refused += 1
            if self._refused >= REFUSED_AT_START:
                raise RunStopped(f"the endpoint refuses case after case: {error}", kind="endpoint")
        raise LabelFailed(f"the endpoint refuses the request: {error}")

    def _deny(self, error: ApiError, final: str | None) -> None:
        """At the start a refused key is final; later it may be one moderated case, or a key withdrawn."""
        self._denied += 1
        if error.status == 402 or (final == "quota" and (not self._worked or self._denied >= DENIED_IN_A_ROW)):
            raise no_money(error)
        if self._worked and self._denied < DENIED_IN_A_ROW:
            raise LabelFailed(f"the endpoint refuses the request: {error}")
        if error.status == 404 or final == "model":
            raise RunStopped(f"the endpoint knows no such model or address: {error}", kind="model")
        if error.status == 403 and self._denied < DENIED_IN_A_ROW:
            raise LabelFailed(f"the endpoint refuses the request: {error}")
        raise RunStopped(f"the endpoint refuses the key: {error}", kind="key")

    def _rename_limit(self, error: ApiError, request: ChatRequest) -> bool:
        """Endpoints know the limit of a reply by one of two names; one that knows neither gets none."""
        sent = request.completion_limit_name
        if sent is None or request.reply_limit is None or not error.mentions(sent):
            return False
        if self.limit_name == sent:  # else another request has found this out already
            other = OTHER_LIMIT[sent]
            self.limit_name = None if f"renamed {other}" in self.dropped else other
            self.dropped.append(f"renamed {sent}" if self.limit_name else "max_tokens")
        return True

    def lower_limit(self, error: ApiError, request: ChatRequest, prompt_tokens: int) -> int | None:
        """A limit to try instead, where the endpoint says that its model writes less, or has less room for this case.

        It is computed from the numbers that the refusal states; halved where they do not explain it. What is said of
        the model holds for the whole run, what is said of the context for this case, whose prompt may be too long:
        then raises `LabelFailed`.
        """
        limit, room = request.reply_limit, read_room(error)
        if error.status not in {400, 413, 422} or limit is None:
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

    def is_too_complex(self, error: ApiError, request: ChatRequest) -> bool:
        """Whether the schema of this one case is too large. Where no case ever had one that did, all are bound less."""
        if request.strength == "plain" or not is_too_complex(error):
            return False
        self._too_complex += 1
        if self._too_complex >= CHANNEL_DOUBT and not self._has_worked(request.channel, request.strength):
            self.strongest = "plain"
            self.dropped.append(f"schema {request.strength}")
        return True

    def _bind_less(self, error: ApiError, request: ChatRequest) -> bool:
        """A schema that is refused may be taken with fewer keywords, before the channel is given up."""
        sent = STRENGTHS.index(request.strength)
        if read_room(error) is not None:  # "maximum context length" is no fault of the schema
            return False
        if not sent or not error.mentions(*NOT_THIS_SCHEMA) or self._has_worked(request.channel, request.strength):
            return False
        if STRENGTHS.index(self.strongest) >= sent:  # else another request has found this out already
            self.strongest = STRENGTHS[sent - 1]
            self.dropped.append(f"schema {request.strength}")
        return True

    def _drop_param(self, error: ApiError, request: ChatRequest) -> bool:
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
        if self.channel != request.channel:
            return True  # another request has found this out already
        if self._channel_worked(request.channel) or not error.mentions(*WORDS[request.channel]):
            return False
        return self._next_channel()

    def _next_channel(self) -> bool:
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
    """What must have worked once for a refusal to be the case's fault and not the request's form."""
    return request.channel, request.params, request.completion_limit_name, request.strength
