"""Finds actions that a model wrote into its text: ReAct lines, tool-call tags, JSON in fences, code that was run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.traces.content import first_of, from_json

_INDENT = r"[^\S\n]*+"
"""White space of one line: a run of blank lines is gone through once, not from each of its lines again."""
_LINE_END = rf"(?=\n{_INDENT}(?:Thought|Action|Observation|Final Answer)\b[^\n]{{0,12}}:|\Z)"
_REACT = re.compile(
    rf"^{_INDENT}Action(?: \d+)?:[ \t]*(?P<name>[^\n]*)\n\s*+Action Input(?: \d+)?:\s*(?P<input>.*?){_LINE_END}"
    r"(?:\n\s*+Observation(?: \d+)?:\s*(?P<seen>.*?)" + _LINE_END + ")?",
    re.MULTILINE | re.DOTALL,
)
_REACT_CALL = re.compile(
    rf"^{_INDENT}Action(?: \d+)?:[ \t]*(?P<name>[\w.-]+)"
    r"(?:\[(?P<a>[^\n]*)\]|\((?P<b>[^\n]*)\)|[ \t]+(?P<c>\{[^\n]*\}))[ \t]*$"
    r"(?:\n\s*+Observation(?: \d+)?:\s*(?P<seen>.*?)" + _LINE_END + ")?",
    re.MULTILINE | re.DOTALL,
)
_TAGGED = re.compile(r"<(tool_call|function_call|tool|action|tool_use)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_INVOKE = re.compile(r"<invoke name=\"([^\"]+)\">(.*?)(?:</invoke>|\Z)", re.DOTALL)
_FUNCTION = re.compile(r"<function=([\w.-]+)>(.*?)(?:</function>|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"<parameter(?: name=\"([^\"]+)\"|=([\w.-]+))>(.*?)(?:</parameter>|\Z)", re.DOTALL)
_MISTRAL = re.compile(r"\[TOOL_CALLS\]\s*(\[.*\])", re.DOTALL)
_NAMED_LINES = re.compile(
    r"(?:tool|name|function|action)\s*+[:=]\s*+([^\n]+)\n\s*+(?:parameters|arguments|args|input|action_input)\s*[:=]\s*(.*)",
    re.DOTALL,
)
_CALLED = re.compile(r"([\w.-]+)\((.*)\)", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call|tool_code)?[ \t]*\n(\s*[\[{].*?)\n?```", re.DOTALL)
_CODE = re.compile(
    r"```(python|py|bash|sh|shell|sql|javascript|js|r)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE
)
_RUN_TAG = re.compile(r"<(execute_\w+|execute|code|bash|python)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_OBSERVED_TAG = r"<(?:output|returncode|observation|result|tool_response|function_results?)\b"
_OBSERVED_WORD = r"observation|output|execution (?:result|output|log)s?|code (?:output|result)|result|stdout|stderr"
_OBSERVED = re.compile(
    rf"\s*(?:{_OBSERVED_TAG}|\[?(?:{_OBSERVED_WORD}|exit ?code)\b\]?|traceback \(most recent|\(?exit code)",
    re.IGNORECASE,
)
_PREFIX = re.compile(rf"\s*\[?(?:{_OBSERVED_WORD})\]?\s*(?:\d+\s*)?:\s*", re.IGNORECASE)
_RESPONSE = re.compile(r"<(tool_response|function_results?|observation|result|output)>")
_FINAL = re.compile(rf"^{_INDENT}Final Answer:\s*(.*)", re.MULTILINE | re.DOTALL)
_OPENING = re.compile(r"\s*(?:Thought:[^\n]*\n\s*)?(?:Action(?: \d+)?:|<(?:tool_call|function_call|tool_use|invoke)\b)")
_MARKS = ("Action", "<", "```", "[TOOL_CALLS]", "{")
_LANGUAGES = {"py": "python", "sh": "bash", "shell": "bash", "js": "javascript"}


@dataclass(frozen=True, slots=True)
class Action:
    """An action written in a text; `observation` is its result, if the same text holds it."""

    name: str
    input: Any
    observation: str | None = None


def find_actions(text: str, reply: str | None = None) -> list[Action]:
    """Returns the actions of one message, all in the first form that fits.

    Code counts only if `reply`, the next message, holds its output.
    """
    if not any(mark in text for mark in _MARKS):
        return []
    for find in (_find_react_actions, _find_tagged_actions, _find_json_actions):
        if found := list(find(text)):
            return found
    return list(_find_code_actions(text)) if reply is not None and _OBSERVED.match(reply) else []


def begins_with_action(text: str) -> bool:
    """Does a message open with an action, as only an agent writes? Instructions show examples further down."""
    return _OPENING.match(text) is not None and bool(find_actions(text))


def text_before_action(text: str) -> str:
    """Returns the text of a message before its first action (a thought, a plan). The message must have an action."""
    return text[: min(place for mark in _MARKS if (place := text.find(mark)) >= 0)].strip()


def find_final_answer(text: str) -> str:
    """The final answer of a ReAct text, or an empty string."""
    match = _FINAL.search(text)
    return match.group(1).strip() if match else ""


def find_observations(reply: str, count: int) -> list[str | None]:
    """Returns the result of each of `count` actions, from the message that follows them.

    If it cannot be split, it is the result of the last one.
    """
    blocks = list(_find_responses(reply))
    if len(blocks) == count:
        return list(blocks)
    opening = _PREFIX.match(reply)
    result = reply[opening.end() if opening else 0 :].strip()
    return [None] * (count - 1) + [result or None]


def _find_responses(reply: str) -> Iterator[str]:
    """Yields the content of response tags. A missing end tag is searched for only once, so that time stays linear."""
    unclosed: set[str] = set()
    opening = _RESPONSE.search(reply)
    while opening is not None:
        tag, start = opening[1], opening.end()
        end = -1 if tag in unclosed else reply.find(f"</{tag}>", start)
        if end < 0:
            unclosed.add(tag)
        else:
            yield reply[start:end].strip()
        opening = _RESPONSE.search(reply, max(start, end))


def _find_react_actions(text: str) -> Iterator[Action]:
    """Yields the actions of ReAct lines."""
    for match in _REACT.finditer(text):
        yield Action(match["name"].strip().strip("`"), _stripped(match["input"]), _text(match["seen"]))
    if _REACT.search(text) is None:
        for match in _REACT_CALL.finditer(text):
            given = next((found for found in (match["a"], match["b"], match["c"]) if found is not None), None)
            yield Action(match["name"], given or {}, _text(match["seen"]))


def _find_tagged_actions(text: str) -> Iterator[Action]:
    """Yields the actions in tool-call tags."""
    for name, inner in (*_INVOKE.findall(text), *_FUNCTION.findall(text)):
        parameters = {named or other: from_json(value.strip()) for named, other, value in _PARAMETER.findall(inner)}
        yield Action(name, parameters or from_json(inner.strip()) or {})
    if _INVOKE.search(text) or _FUNCTION.search(text):
        return
    for _, inner in _TAGGED.findall(text):
        yield from _read_tagged_actions(inner.strip())
    if match := _MISTRAL.search(text):
        yield from _read_calls(from_json(match.group(1)))


def _read_tagged_actions(inner: str) -> Iterator[Action]:
    """Yields the actions between tags: JSON, lines that name tool and parameters, or a call `name(...)`."""
    value = from_json(inner)
    if not isinstance(value, str):
        yield from _read_calls(value)
    elif match := _NAMED_LINES.fullmatch(inner):
        yield Action(match.group(1).strip("`\"' "), _stripped(match.group(2)))
    elif match := _CALLED.fullmatch(inner):
        yield Action(match.group(1), match.group(2) or {})


def _find_json_actions(text: str) -> Iterator[Action]:
    """Yields the actions in JSON, fenced or after "Action:"."""
    for block in _FENCED.findall(text):
        yield from _read_calls(from_json(block))
    if "```" not in text:
        start = text.find("{", text.find("Action:") if "Action:" in text else 0)
        if start == 0 or "Action:" in text:
            yield from _read_calls(from_json(text[start:].strip()))


def _read_calls(value: Any) -> Iterator[Action]:
    """Yields the objects that name a tool and its arguments as actions; an object with only a name is data."""
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, Mapping):
            continue
        inner = item.get("function")
        holder = inner if isinstance(inner, Mapping) else item
        name = first_of(holder, ("name", "tool", "tool_name", "toolName", "function", "action"))
        given = first_of(holder, table("fields")["input"])
        if isinstance(name, str) and given is not None:
            yield Action(name, given)


def _find_code_actions(text: str) -> Iterator[Action]:
    """Yields code that was written to be run."""
    for language, code in _CODE.findall(text):
        yield Action(_LANGUAGES.get(language.lower(), language.lower()), code.strip())
    if _CODE.search(text) is None:
        for tag, code in _RUN_TAG.findall(text):
            yield Action("python" if tag == "code" else tag.removeprefix("execute_"), code.strip())


def _stripped(given: str) -> Any:
    return from_json(given.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip())


def _text(found: str | None) -> str | None:
    return found.strip() if found is not None else None
