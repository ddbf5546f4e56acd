"""From a conversation to steps: calls joined with their results, actions written in text, and the assistant's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from krino.contract import Media
from krino.judges.efficiency.traces.content import Album, clean, from_json, text_of
from krino.judges.efficiency.traces.failure import failure_of
from krino.judges.efficiency.traces.steps import Step, Trace
from krino.judges.efficiency.traces.text_actions import (
    Action,
    actions_in,
    begins_with_action,
    closing_words,
    observations_in,
    words_before_action,
)

_LONGEST_ERROR = 400


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call that a model asked for; `input` is None where its arguments were not found."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class CallResult:
    """What came back; `failed` where the format says so."""

    id: str
    name: str
    output: Any
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One message, whatever its format: who spoke, what was said, which calls were made or answered."""

    role: Literal["user", "assistant", "tool", "other"]
    content: Any = None
    id: str = ""
    calls: tuple[CallMade, ...] = ()
    results: tuple[CallResult, ...] = ()


def trace_of(turns: Sequence[Turn], task: str | None = None) -> Trace:
    """The trace of a conversation; the task is the first words of the user unless the format states it elsewhere."""
    turns, moved = _with_actions_of_users(turns)
    album = Album()
    said = [text_of(clean(turn.content, album)).strip() for turn in turns if turn.role == "user"]
    opening = next(filter(None, said), "")
    return Trace(
        tuple(steps_of(turns)), task or opening or None, opening=opening, media=tuple(album.items), moved=moved
    )


def _with_actions_of_users(turns: Sequence[Turn]) -> tuple[list[Turn], int]:
    """Calls and actions under any other role become the agent's, who alone can take them; and how many do.

    The user's first words are the task, and may show the form of an action.
    """
    read: list[Turn] = []
    spoke = False
    for turn in turns:
        text = "" if turn.role == "assistant" else _words_of(turn, read)
        writes = spoke and begins_with_action(text)
        spoke = spoke or (turn.role == "user" and bool(text.strip()))
        if turn.role == "tool" and writes:
            read.append(Turn("assistant", text, turn.id, turn.calls))
        elif turn.role != "assistant" and (turn.calls or writes):
            read.append(replace(turn, role="assistant"))
        else:
            read.append(turn)
    return read, sum(one is not other for one, other in zip(turns, read, strict=True))


def _words_of(turn: Turn, before: Sequence[Turn]) -> str:
    """What a message says; the result of a call is no action, whatever it begins with."""
    if turn.role != "tool":
        return text_of(turn.content)
    answers = any(result.id for result in turn.results) or (before and before[-1].role == "assistant")
    return "" if answers else "\n".join(text_of(result.output) for result in turn.results)


def steps_of(turns: Sequence[Turn]) -> list[Step]:
    results = _Results(turns)
    steps: list[Step] = []
    for place, turn in enumerate(turns):
        if turn.role != "assistant":
            continue
        if turn.calls:
            made = [call_step(call, results.take(call, place)) for call in turn.calls]
            steps += [replace(made[0], said=text_of(clean(turn.content, Album())).strip()), *made[1:]]
        else:
            steps += _spoken(turn, turns[place + 1] if place + 1 < len(turns) else None)
    return steps


def call_step(call: CallMade, result: CallResult | None) -> Step:
    album = Album()
    output = None if result is None else plain_result(clean(result.output, album))
    given = clean(from_json(call.input), album)
    error = failure_of(call.name, given, from_json(output))
    if result is not None and result.failed:
        error = (text_of(output) or "error")[:_LONGEST_ERROR]
    return Step(call.id, "tool", call.name or "tool", given, output, error, media=tuple(album.items))


def plain_result(output: Any) -> Any:
    """The words of content blocks; data stays as it is."""
    blocks = isinstance(output, list) and all(isinstance(block, dict) and "type" in block for block in output)
    return text_of(output) if blocks else output


def _spoken(turn: Turn, following: Turn | None) -> list[Step]:
    """The actions that the words hold, each with its observation; else the words themselves."""
    album = Album()
    text = text_of(clean(turn.content, album)).strip()
    if not text:
        return []
    reply = text_of(clean(following.content, Album())) if following and following.role in ("user", "tool") else None
    if following and following.role == "tool" and not reply:
        reply = "\n".join(text_of(result.output) for result in following.results)
    actions = actions_in(text, reply)
    if not actions:
        said = reply.strip() if reply and following and following.role == "user" else ""
        return [Step(turn.id, "message", "message", None, text, observed=said, media=tuple(album.items))]
    pairs = zip(actions, observations_in(reply or "", len(actions)), strict=True)
    steps = [_action_step(turn, action, seen, number) for number, (action, seen) in enumerate(pairs)]
    steps[0] = replace(steps[0], said=words_before_action(text))
    closing = closing_words(text)
    return [*steps, Step("", "message", "message", None, closing)] if closing else steps


def _action_step(turn: Turn, action: Action, observed: str | None, number: int) -> Step:
    result = action.observation if action.observation is not None else observed
    own = turn.id if number == 0 else ""
    given = from_json(action.input)
    return Step(own, "tool", action.name, given, result, failure_of(action.name, given, from_json(result)))


class _Results:
    """Finds the result of a call: by its id, else by its name or place among the results that follow."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._by_id: dict[str, list[CallResult]] = {}
        self._unnamed: list[tuple[int, CallResult]] = []
        for place, turn in enumerate(turns):
            for result in turn.results:
                if result.id:
                    self._by_id.setdefault(result.id, []).append(result)
                else:
                    self._unnamed.append((place, result))
        self._ends = [place for place, turn in enumerate(turns) if turn.role == "assistant"]

    def take(self, call: CallMade, place: int) -> CallResult | None:
        if waiting := self._by_id.get(call.id):
            return waiting.pop(0)
        end = next((other for other in self._ends if other > place), float("inf"))
        following = [item for item in self._unnamed if place <= item[0] <= end]
        found = next((item for item in following if item[1].name == call.name), None)
        if found is None:
            found = next((item for item in following if not item[1].name), None)
        if found is None:
            return None
        self._unnamed.remove(found)
        return found[1]


def task_media(*contents: Any) -> tuple[Media, ...]:
    """The media inside what states a task."""
    album = Album()
    for content in contents:
        clean(from_json(content), album)
    return tuple(album.items)
