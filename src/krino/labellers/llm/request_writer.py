"""Writes the requests of a conversation: prompt, schema, parameters and reply limit, in the endpoint's dialect."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson
from pydantic import BaseModel

from krino.contract import AnyJudge, Bound, CaseT, FactsT, LabelsT, Task
from krino.labellers.llm import prompt
from krino.labellers.llm.abilities import SCHEMA_CHANNELS, Abilities
from krino.labellers.llm.conversation import Conversation
from krino.labellers.llm.endpoint import Endpoint
from krino.labellers.llm.reply import READING
from krino.labellers.llm.schema import STRENGTHS, AnswerCheck, bind, reply_tokens, strict_schema
from krino.labellers.llm.sending.gateway import CHARS_PER_TOKEN
from krino.labellers.llm.wire import Channel, ChatRequest, Strength

MOST_SCHEMAS = 1_000  # bound schemas kept in memory
MIN_ROOM = 256  # tokens


@dataclass(frozen=True, slots=True)
class BoundSchema:
    """A schema as JSON, and the most tokens of a reply that fits it."""

    json: bytes
    tokens: int


@dataclass(frozen=True, slots=True)
class JudgeSetup:
    """What is the same for every case of one judge."""

    schema: dict[str, Any]
    check: AnswerCheck
    systems: dict[Channel, str]
    digest: Any
    """A hash of everything that is the same in all requests; the cache key adds the case."""
    _schemas: dict[tuple[int, Strength], tuple[Bound | None, BoundSchema]] = field(default_factory=dict)

    @classmethod
    def of(cls, judge: AnyJudge, channels: Sequence[Channel], description: dict[str, Any]) -> JudgeSetup:
        """Prepares what is the same for all cases of a judge: schema, system texts and the digest for the cache key."""
        schema = strict_schema(judge.labels_model)
        systems = {channel: prompt.system_text(judge.prompt, channel, schema) for channel in channels}
        digest = hashlib.blake2b(digest_size=20)
        first = systems[channels[0]]
        digest.update(orjson.dumps([READING, description, schema, first], option=orjson.OPT_SORT_KEYS))
        return cls(schema, AnswerCheck(schema), systems, digest)

    def bind(self, bound: Bound | None, strength: Strength) -> BoundSchema:
        """Returns the schema bound to a case, or the plain one without a bound. Judges return the same `Bound` object
        for cases of the same shape, so results are remembered by identity; the stored object guards against a reused
        id."""
        strength = strength if bound is not None else "plain"
        owner, known = self._schemas.get((id(bound), strength), (None, None))
        if known is None or owner is not bound:
            schema = self.schema if bound is None else bind(self.schema, bound, strength)
            longest = schema if bound is None or strength == "exact" else bind(self.schema, bound, "exact")
            known = BoundSchema(orjson.dumps(schema), reply_tokens(longest))
            if len(self._schemas) >= MOST_SCHEMAS:
                self._schemas.clear()
            self._schemas[id(bound), strength] = bound, known
        return known


class RequestWriter:
    """Writes requests for one model, as far as its endpoint is known to accept them."""

    def __init__(
        self,
        endpoint: Endpoint,
        abilities: Abilities,
        *,
        user_limit: int | None,
        media: frozenset[str],
        description: dict[str, Any],
    ) -> None:
        self._endpoint, self._abilities, self._user_limit = endpoint, abilities, user_limit
        self._media, self._description = media, description
        self.tag_secret = secrets.token_bytes(16)
        self._setups: dict[tuple[str, type[BaseModel]], JudgeSetup] = {}

    def setup_for(self, judge: AnyJudge) -> JudgeSetup:
        """Returns the setup of a judge, which is made once."""
        key = (judge.prompt, judge.labels_model)
        if key not in self._setups:
            self._setups[key] = JudgeSetup.of(judge, self._endpoint.dialect.channels, self._description)
        return self._setups[key]

    def begin(self, task: Task[CaseT, FactsT, LabelsT]) -> Conversation[CaseT, FactsT, LabelsT]:
        """Begins the conversation about a case, with its user message and its tag. Nothing is sent."""
        shown = prompt.shown_texts(task.questions)
        text = prompt.user_text(task.questions, shown, self._media)
        return Conversation(task, shown, text, self._media, self.tag(task, 0))

    def tag(self, task: Task[Any, Any, Any], tries: int) -> str:
        """Computes the random word of a conversation; after each time-out (`tries`) it is another one."""
        return prompt.tag_of(self.tag_secret, task.input_hash, task.repeat, tries)

    def write(self, talk: Conversation[Any, Any, Any]) -> tuple[ChatRequest, bytes]:
        """Builds the next request of a conversation, and its body in the endpoint's dialect. Nothing is sent."""
        request = self.build_request(talk)
        return request, orjson.dumps(self._endpoint.dialect.body(request))

    def build_request(self, talk: Conversation[Any, Any, Any]) -> ChatRequest:
        """Builds the next request of a conversation, with the reply channel, the parameters and the binding of the
        schema to the case that the endpoint has not refused. A repeat gets its own seed, if a seed is set."""
        abilities, channel = self._abilities, talk.channel or self._abilities.channel
        setup = self.setup_for(talk.task.judge)
        strength = abilities.binding(exact=talk.exact) if channel in SCHEMA_CHANNELS else "plain"
        strength = min(strength, talk.strongest, key=STRENGTHS.index)
        bound = talk.bounds(exact=strength == "exact")
        schema = setup.bind(bound, strength)
        params = abilities.params
        if talk.task.repeat > 1 and params.seed is not None:  # a repeat with the same seed would be no repeat
            params = replace(params, seed=params.seed + talk.task.repeat - 1)
        prompt_tokens = (len(setup.systems[channel]) + len(schema.json) + talk.characters()) // CHARS_PER_TOKEN
        limit = self._compute_reply_limit(talk, schema.tokens, prompt_tokens)
        return ChatRequest(
            model=self._endpoint.model,
            system=setup.systems[channel],
            turns=talk.turns(),
            schema=orjson.Fragment(schema.json),
            schema_name="labels",
            channel=channel,
            params=params,
            completion_limit_name=abilities.limit_name,
            reply_limit=limit,
            strength=strength if bound is not None else "plain",
            context=self._endpoint.dialect.context_for(prompt_tokens + limit),
        )

    def _compute_reply_limit(self, talk: Conversation[Any, Any, Any], answer_tokens: int, prompt_tokens: int) -> int:
        """Computes the reply limit: the user's, or the length of the longest useful answer with room for reasoning, as
        far as the endpoint allows it."""
        if self._user_limit is not None:
            return max(1, int(self._user_limit * min(1.0, talk.limit_factor)))
        abilities = self._abilities
        limit = int(answer_tokens * talk.limit_factor) + abilities.reasoning_tokens
        if abilities.context is not None:
            limit = min(limit, max(abilities.context - prompt_tokens, MIN_ROOM))
        return min(limit, abilities.most_reply_tokens or limit, talk.most_tokens or limit)

    def prompt_tokens(self, talk: Conversation[Any, Any, Any], request: ChatRequest) -> int:
        """Roughly how many tokens the endpoint counts as the prompt."""
        return (len(request.system) + len(request.written_schema()) + talk.characters()) // CHARS_PER_TOKEN

    def repeated_tokens(self, request: ChatRequest) -> int:
        """Roughly how many tokens at the start of the prompt the provider's cache keeps from one call to the next.

        A schema that is bound to the case is part of that start, so then nothing is repeated.
        """
        if self._endpoint.cached_from is None or request.strength != "plain":
            return 0
        tokens = (len(request.system) + len(request.written_schema())) // CHARS_PER_TOKEN
        return tokens if tokens >= self._endpoint.cached_from else 0

    def cache_key(self, talk: Conversation[Any, Any, Any]) -> bytes:
        """Returns a hash of everything that can change the answer to the first request of a conversation."""
        digest = self.setup_for(talk.task.judge).digest.copy()
        digest.update(talk.text.encode("utf-8", "surrogatepass"))
        if talk.task.repeat > 1:
            digest.update(f"\0repeat {talk.task.repeat}\0".encode())
        for medium in talk.task.questions.media:
            digest.update(f"\0{medium.kind} {medium.mime} {len(medium.data)}\0".encode() + medium.data)
        return cast(bytes, digest.digest())
