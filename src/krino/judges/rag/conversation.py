"""Takes a case out of a conversation: the last question, the answer to it, and what was said before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from krino.contract.record_fields import is_nothing
from krino.errors import CannotJudge
from krino.judges.messages import messages_in, read_message

MESSAGE_NAMES = ("messages", "turns", "chat_history", "history")


@dataclass(frozen=True, slots=True)
class _Message:
    role: str
    text: str
    given: Any


@dataclass(slots=True)
class _Round:
    """What a user asked in one message or several, and what followed."""

    start: int
    asked: list[_Message] = field(default_factory=list)
    rest: list[_Message] = field(default_factory=list)

    @property
    def question(self) -> str:
        """What the user asked, all messages of the round joined."""
        return "\n".join(message.text for message in self.asked)

    @property
    def answer(self) -> str:
        """The last words of the assistant; what it said before it called a tool is no answer."""
        said = [message.text for message in self.rest if message.role == "assistant" and message.text.strip()]
        return said[-1] if said else ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The round that is judged, counted from 0, and all there are; `passages` is None where its messages have none."""

    question: str
    answer: str
    history: str
    passages: Any
    place: int
    rounds: int


def find_conversation(record: Mapping[str, Any], question_names: Sequence[str]) -> str | None:
    """Returns the name under which a record has a conversation, or None.

    Some tools keep it where others have the question.
    """
    named = (name for name in MESSAGE_NAMES if not is_nothing(record.get(name)))
    return next(named, None) or next((name for name in question_names if _are_messages(record.get(name))), None)


def _are_messages(value: Any) -> bool:
    if isinstance(value, Mapping):
        return isinstance(value.get("messages"), list)
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def read_conversation(name: str, value: Any, question: str, context_names: Sequence[str]) -> Conversation:
    """Returns the round that is judged, and what was said before it. `value`: the conversation, found under `name`.

    `question`: that of the record itself, or blank. With a question of its own the conversation is what was said
    before it: what follows that question in the messages may be another answer to it, and is left out.
    """
    said = [
        _Message(*read_message(name, number, message, with_calls=False), message)
        for number, message in enumerate(messages_in(name, value), 1)
    ]
    rounds = _split_rounds(said)
    chosen = _choose_round(rounds, question)
    before = said if chosen is None else said[: chosen.start]
    spoken = [message for message in before if message.role in ("user", "assistant") and message.text.strip()]
    return Conversation(
        question=chosen.question if chosen else "",
        answer=chosen.answer if chosen else "",
        history="\n".join(f"{message.role}: {message.text}" for message in spoken),
        passages=_find_passages(chosen, context_names) if chosen else None,
        place=rounds.index(chosen) if chosen else len(rounds),
        rounds=len(rounds) + (chosen is None),
    )


def _split_rounds(said: Sequence[_Message]) -> list[_Round]:
    """Returns the rounds of a conversation; each begins with what the user asks, in one message or several."""
    rounds: list[_Round] = []
    before = ""
    for place, message in enumerate(said):
        if message.role == "user":
            if before != "user":
                rounds.append(_Round(place))
            rounds[-1].asked.append(message)
        elif rounds:
            rounds[-1].rest.append(message)
        before = message.role
    return rounds


def _choose_round(rounds: Sequence[_Round], question: str) -> _Round | None:
    """Returns the round of the question; without a question the last one. None: the question comes after all rounds.

    A last question that got no answer stays the one that is judged: the answer before it is no answer to it.
    """
    if question.strip():
        texts = ({_plain(found.question), _plain(found.asked[-1].text)} for found in rounds)
        same = [found for found, known in zip(rounds, texts, strict=True) if _plain(question) in known]
        return same[-1] if same else None
    return rounds[-1] if rounds else None


def _plain(text: str) -> str:
    return " ".join(text.split())


def _find_passages(chosen: _Round, context_names: Sequence[str]) -> Any:
    """Returns the passages that a message of the round brings along, or what tools gave back, or None."""
    for message in reversed([*chosen.asked, *chosen.rest]):
        given = message.given if isinstance(message.given, Mapping) else {}
        for name in context_names:
            if not is_nothing(given.get(name)):
                return given[name]
    results = [message.text for message in chosen.rest if message.role == "tool" and message.text.strip()]
    return results or None


def passages_of_turn(context: Any, talk: Conversation) -> Any:
    """Returns the passages of the question that is judged if there is a list for each question; else all.

    Raises `CannotJudge` if there are not as many lists as questions.
    """
    is_each = isinstance(context, list | tuple) and any(isinstance(item, list | tuple) for item in context)
    if not is_each:
        return context
    if len(context) != talk.rounds or not all(item is None or isinstance(item, list | tuple) for item in context):
        raise CannotJudge(
            f"there are {len(context)} lists of passages, and the conversation has {talk.rounds} questions; give one "
            "list for each question, or the passages of the last one"
        )
    return context[talk.place]
