"""What one conversation with a model needs: the schema bound to its case, and what was said so far."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple

import orjson

from krino.contract import AnyJudge, Bound, CaseT, FactsT, LabelsT, Task, Usage
from krino.labellers.llm import prompt
from krino.labellers.llm.reply import READING
from krino.labellers.llm.schema import AnswerCheck, Binder, reply_tokens, strict_schema
from krino.labellers.llm.wire import Channel, ChatRequest, Dialect, Strength, Turn

MOST_FORMS = 1_000  # bound schemas kept in memory, by the bounds of their case


class Envelope(NamedTuple):
    """A request with a gap where the text of a case goes. What stands around the gap is written once, not per case."""

    request: ChatRequest
    before: bytes
    after: bytes

    @classmethod
    def of(cls, request: ChatRequest, dialect: Dialect) -> Envelope:
        gap = secrets.token_hex(16)  # stands in no prompt and no schema
        around = request.with_turns((Turn("user", gap),))
        return cls(request, *orjson.dumps(dialect.body(around)).split(orjson.dumps(gap)))

    def around(self, text: str) -> bytes:
        """The body of the request that has nothing but this text to say."""
        return b"".join((self.before, orjson.dumps(text), self.after))


@dataclass(frozen=True, slots=True)
class Form:
    """A schema written as JSON, the most tokens of a reply that fits it, and the requests made with it so far."""

    schema: orjson.Fragment
    written: bytes
    """The same as bytes."""
    tokens: int
    _envelopes: dict[Hashable, Envelope] = field(default_factory=dict)

    def envelope(self, settings: Hashable, make: Callable[[], Envelope]) -> Envelope:
        """The request with these settings."""
        known = self._envelopes.get(settings)
        if known is None:
            known = self._envelopes[settings] = make()
        return known


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is the same for every case of one judge."""

    schema: dict[str, Any]
    check: AnswerCheck
    systems: dict[Channel, str]
    digest: Any
    """A hash of everything that is the same for all requests, to which the case is added for the cache key."""
    _forms: dict[tuple[int, Strength], tuple[Bound | None, Form]] = field(default_factory=dict)
    _binders: dict[Strength, Binder] = field(default_factory=dict)

    @classmethod
    def of(cls, judge: AnyJudge, channels: Sequence[Channel], described: dict[str, Any]) -> Prepared:
        schema = strict_schema(judge.labels_model)
        systems = {channel: prompt.system_text(judge.prompt, channel, schema) for channel in channels}
        digest = hashlib.blake2b(digest_size=20)
        first = systems[channels[0]]
        digest.update(orjson.dumps([READING, described, schema, first], option=orjson.OPT_SORT_KEYS))
        return cls(schema, AnswerCheck(schema), systems, digest)

    def form(self, bound: Bound | None, strength: Strength) -> Form:
        """The schema bound to a case. Judges give cases of the same shape the same object, so it is found by that."""
        strength = strength if bound is not None else "plain"
        owner, known = self._forms.get((id(bound), strength), (None, None))
        if known is None or owner is not bound:
            narrowed = self.schema if bound is None else self._binder(strength).bind(bound)
            tokens = reply_tokens(narrowed) if bound is None else self._binder("exact").reply_tokens(bound)
            written = orjson.dumps(narrowed)
            known = Form(orjson.Fragment(written), written, tokens)
            if len(self._forms) >= MOST_FORMS:
                self._forms.clear()
            self._forms[id(bound), strength] = bound, known
        return known

    def _binder(self, strength: Strength) -> Binder:
        known = self._binders.get(strength)
        if known is None:
            known = self._binders[strength] = Binder(self.schema, strength)
        return known


@dataclass(slots=True)
class Talk(Generic[CaseT, FactsT, LabelsT]):
    """The conversation about one case: what was said so far and what the next request must do otherwise."""

    task: Task[CaseT, FactsT, LabelsT]
    prepared: Prepared
    text: str
    usage: Usage
    media: frozenset[str]
    tag: str
    """The random word around its data."""
    later: tuple[Turn, ...] = ()
    """What follows the first message, once a reply could not be used."""
    exact: bool = False
    """Labels did not fit the case: bind the schema as closely as the endpoint takes it."""
    strongest: Strength = "exact"
    """The most that the endpoint takes of this case's schema."""
    channel: Channel | None = None
    """Another reply channel than that of the run: the model could not write this case's answer there."""
    failed_generations: int = 0
    """Replies that the endpoint did not hand over because they missed the schema."""
    limit_factor: float = 1.0
    most_tokens: int | None = None
    """A longer limit for the reply was refused."""
    timeouts: int = 0
    turn: int = 0
    """Requests so far that went by batch file."""
    useless: set[bytes] = field(default_factory=set)
    """Requests that timed out or whose reply was cut off: none of them is sent again."""

    def first(self) -> Turn:
        return prompt.first_turn(self.task.questions, self.text, self.tag, self.media)

    def turns(self) -> tuple[Turn, ...]:
        return self.first(), *self.later

    def said(self) -> int:
        """How many characters the turns have, about: the random word is short."""
        return len(self.text) + sum(len(turn.text) for turn in self.later)

    def ask_more_loosely(self, request: ChatRequest, channels: Sequence[Channel]) -> None:
        """First without the bounds of the case, then in the next weaker reply channel."""
        if request.strength != "plain":
            self.strongest = "plain"
        else:
            place = channels.index(request.channel) + 1
            self.channel = channels[min(place, len(channels) - 1)]

    def bounds(self, *, exact: bool) -> Bound | None:
        task = self.task
        return task.judge.bounds(task.case, task.facts, task.questions, exact)
