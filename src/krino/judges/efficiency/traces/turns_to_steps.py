"""From a conversation to steps: calls joined with their results, actions written in text, and the assistant's words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from krino.contract import Media
from krino.judges.efficiency.traces.content import Album, extract_text, from_json, replace_media
from krino.judges.efficiency.traces.failure import find_failure
from krino.judges.efficiency.traces.steps import Step, Trace
from krino.judges.efficiency.traces.text_actions import (
    Action,
    begins_with_action,
    find_actions,
    find_final_answer,
    find_observations,
    text_before_action,
)

_LONGEST_ERROR = 400


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call that a model requested; `input` is None if its arguments were not found."""

    id: str
    name: str
    input: Any


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a call; `failed` if the format says so."""

    id: str
    name: str
    output: Any
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """One message of any format: its role, content, calls and results."""

    role: Literal["user", "assistant", "tool", "other"]
    content: Any = None
    id: str = ""
    calls: tuple[CallMade, ...] = ()
    results: tuple[CallResult, ...] = ()


def build_trace(turns: Sequence[Turn], task: str | None = None) -> Trace:
    """Returns the trace of a conversation.

    The task is the user's first message unless the format states it elsewhere.
    """
    turns, moved = _reassign_actions(turns)
    album = Album()
    said = [extract_text(replace_media(turn.content, album)).strip() for turn in turns if turn.role == "user"]
    opening = next(filter(None, said), "")
    return Trace(
        tuple(build_steps(turns)), task or opening or None, opening=opening, media=tuple(album.items), moved=moved
    )


def _reassign_actions(turns: Sequence[Turn]) -> tuple[list[Turn], int]:
    """Returns the turns with calls and actions under any other role given to the agent, and how many those were.

    Only the agent can make them. The user's first message is the task and may show the form of an action, so it is
    left alone.
    """
    read: list[Turn] = []
    spoke = False
    for turn in turns:
        text = "" if turn.role == "assistant" else _text_of_turn(turn, read)
        writes = spoke and begins_with_action(text)
        spoke = spoke or (turn.role == "user" and bool(text.strip()))
        if turn.role == "tool" and writes:
            read.append(Turn("assistant", text, turn.id, turn.calls))
        elif turn.role != "assistant" and (turn.calls or writes):
            read.append(replace(turn, role="assistant"))
        else:
            read.append(turn)
    return read, sum(one is not other for one, other in zip(turns, read, strict=True))


def _text_of_turn(turn: Turn, before: Sequence[Turn]) -> str:
    """Returns the text of a message; empty for the result of a call, which is no action whatever it begins with."""
    if turn.role != "tool":
        return extract_text(turn.content)
    answers = any(result.id for result in turn.results) or (before and before[-1].role == "assistant")
    return "" if answers else "\n".join(extract_text(result.output) for result in turn.results)


def build_steps(turns: Sequence[Turn]) -> list[Step]:
    """Returns the steps of a conversation: the assistant's calls with their results, and its words."""
    results = _Results(turns)
    steps: list[Step] = []
    for place, turn in enumerate(turns):
        if turn.role != "assistant":
            continue
        if turn.calls:
            made = [build_call_step(call, results.take(call, place)) for call in turn.calls]
            steps += [replace(made[0], said=extract_text(replace_media(turn.content, Album())).strip()), *made[1:]]
        else:
            steps += _read_words(turn, turns[place + 1] if place + 1 < len(turns) else None)
    return steps


def build_call_step(call: CallMade, result: CallResult | None) -> Step:
    """Returns a call with its result as a step."""
    album = Album()
    output = None if result is None else flatten_result(replace_media(result.output, album))
    given = replace_media(from_json(call.input), album)
    error = find_failure(call.name, given, from_json(output))
    if result is not None and result.failed:
        error = (extract_text(output) or "error")[:_LONGEST_ERROR]
    return Step(call.id, "tool", call.name or "tool", given, output, error, media=tuple(album.items))


def flatten_result(output: Any) -> Any:
    """Returns the text of content blocks; data stays as it is."""
    blocks = isinstance(output, list) and all(isinstance(block, dict) and "type" in block for block in output)
    return extract_text(output) if blocks else output


def _read_words(turn: Turn, following: Turn | None) -> list[Step]:
    """Returns the actions in a message's text as steps, each with its observation; else the text as one message."""
    album = Album()
    text = extract_text(replace_media(turn.content, album)).strip()
    if not text:
        return []
    reply = (
        extract_text(replace_media(following.content, Album()))
        if following and following.role in ("user", "tool")
        else None
    )
    if following and following.role == "tool" and not reply:
        reply = "\n".join(extract_text(result.output) for result in following.results)
    actions = find_actions(text, reply)
    if not actions:
        said = reply.strip() if reply and following and following.role == "user" else ""
        return [Step(turn.id, "message", "message", None, text, observed=said, media=tuple(album.items))]
    pairs = zip(actions, find_observations(reply or "", len(actions)), strict=True)
    steps = [_build_action_step(turn, action, seen, number) for number, (action, seen) in enumerate(pairs)]
    steps[0] = replace(steps[0], said=text_before_action(text))
    closing = find_final_answer(text)
    return [*steps, Step("", "message", "message", None, closing)] if closing else steps


def _build_action_step(turn: Turn, action: Action, observed: str | None, number: int) -> Step:
    """Returns an action written in text as a step."""
    result = action.observation if action.observation is not None else observed
    own = turn.id if number == 0 else ""
    given = from_json(action.input)
    return Step(own, "tool", action.name, given, result, find_failure(action.name, given, from_json(result)))


class _Results:
    """Finds the result of a call: by id, else by name or position among the results that follow."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        """Gathers the results of all turns: by id, and in order those without one."""
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
        """Returns the result of a call, by its id or else by order and name, and uses it up."""
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


def find_task_media(*contents: Any) -> tuple[Media, ...]:
    """Returns the media inside the contents that state a task."""
    album = Album()
    for content in contents:
        replace_media(from_json(content), album)
    return tuple(album.items)
