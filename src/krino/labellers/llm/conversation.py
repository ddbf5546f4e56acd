"""The conversation about one case: what was said so far, and what its next request must do differently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic

from krino.contract import Bound, CaseT, FactsT, LabelsT, Task, Usage
from krino.labellers.llm import prompt
from krino.labellers.llm.abilities import Abilities
from krino.labellers.llm.reply import has_reasoning
from krino.labellers.llm.wire import Channel, ChatRequest, Reply, Strength, Turn

REASONING_TOKENS = 8_192  # room for reasoning, once a model is seen to reason
MOST_REASONING_TOKENS = 32_768


@dataclass(slots=True)
class Conversation(Generic[CaseT, FactsT, LabelsT]):
    """One case, from the first request to the accepted labels."""

    task: Task[CaseT, FactsT, LabelsT]
    shown: list[str]
    """The passages as the model sees them."""
    text: str
    """The case as the user message, with a slot for the tag."""
    media: frozenset[str]
    tag: str
    """The random word in the lines around the data."""
    usage: Usage = field(default_factory=Usage)
    followups: tuple[Turn, ...] = ()
    """The turns after the first message: the last unusable reply, and what was wrong with it."""
    exact: bool = False
    """Labels did not fit the case, so the schema is bound as closely as the endpoint allows."""
    strongest: Strength = "exact"
    """The most that the endpoint accepts of this case's schema."""
    channel: Channel | None = None
    """A reply channel for this case alone: the model could not write its answer in that of the run."""
    failed_generations: int = 0
    """Replies that the endpoint withheld because they did not fit the schema."""
    limit_factor: float = 1.0
    most_tokens: int | None = None
    """The reply limit to use after the endpoint has refused a longer one."""
    timeouts: int = 0
    turn: int = 0
    """How many replies came so far."""
    useless: set[bytes] = field(default_factory=set)
    """Requests that timed out or whose reply was cut off: none of them is sent again."""

    def first_turn(self) -> Turn:
        """Writes the message about the case, with the tag filled in."""
        return prompt.first_turn(self.task.questions, self.text, self.tag, self.media)

    def turns(self) -> tuple[Turn, ...]:
        """Returns the messages of the next request: the first, and after an unusable reply that reply and its fault."""
        return self.first_turn(), *self.followups

    def characters(self) -> int:
        """Roughly how many characters the turns have (the tag is short)."""
        return len(self.text) + sum(len(turn.text) for turn in self.followups)

    def bounds(self, *, exact: bool) -> Bound | None:
        """Asks the judge what its labels can be for this case; None if the judge does not bound them."""
        task = self.task
        return task.judge.bounds(task.case, task.facts, task.questions, exact)

    def loosen(self, request: ChatRequest, channels: Sequence[Channel]) -> None:
        """Asks for less in this case alone: drops the bounds of its schema first, then falls back to the next weaker
        reply channel."""
        if request.strength != "plain":
            self.strongest = "plain"
        else:
            following = channels.index(request.channel) + 1
            self.channel = channels[min(following, len(channels) - 1)]

    def adapt_limit(self, request: ChatRequest, reply: Reply, abilities: Abilities) -> None:
        """Raises the reply limit of the run for a model that reasons, or of this case if its answer was cut off."""
        reasons = reply.reasoned or has_reasoning(reply)
        limit = request.reply_limit or 0
        if reply.cut_off and (reasons or len(reply.raw()) < limit):  # little text at the limit: hidden reasoning
            abilities.reasoning_tokens = min(MOST_REASONING_TOKENS, max(REASONING_TOKENS, 2 * limit))
        elif reply.cut_off:
            self.limit_factor *= 2
        elif reasons:
            abilities.reasoning_tokens = max(abilities.reasoning_tokens, REASONING_TOKENS)
