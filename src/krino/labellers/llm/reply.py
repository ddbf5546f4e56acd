"""Extracts the answer from a reply, or says exactly why there is none.

An answer counts only in the requested channel, and only if it is the single object there: a sentence before or after
it may take it back. It may be wrapped in a code fence and, in plain text, in the markers that the prompt asks for.
Closed blocks of reasoning may precede it in text; reasoning in a provider's own fields is never read as an answer.
Repairs (a trailing comma, a missing closing bracket) change punctuation only: every letter and digit of the reply must
survive, in order, and none is added. A text with unclosed brackets may have been cut off, so it is repaired only if a
closing fence or marker shows that the model had finished. Anything ambiguous is rejected; the model is asked again.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, NoReturn

import json_repair
import orjson

from krino.labellers.llm.wire import TOOL_NAME, Channel, Reply

READING = 3  # part of the cache key: raise it when the rules of reading change, so that cached answers are asked again
FENCE = "```"
FENCE_HEAD = re.compile(r"\A[\w-]*")
REASONING = re.compile(r"<(think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad)>", re.IGNORECASE)
REASONING_END = re.compile(r"</(?:think|thinking|thought|thoughts|reasoning)>", re.IGNORECASE)
# Strings (in either quotes, with the end of the text for a lost quote) and brackets outside them.
TOKEN = re.compile(r"""(?:"(?:[^"\\]|\\.)*+("|\\?\Z)|'(?:[^'\\]|\\.)*+('|\\?\Z))|[{}\[\]]""", re.DOTALL)
CONTENT = re.compile(r"[^\W_]|-(?=\d)|(?<=\d)\.(?=\d)")  # letters and digits, with what makes another number
SWALLOWED = re.compile(r"""["']\s*[:,"'{}\[\]]""")  # signs of structure that ended up inside a string
BRACKETS = "{}[]"
STRAY = re.compile(
    r"[\[{,:]\s*,|[^\w\s{}\[\]:,.\"+-]"
)  # outside strings: a value left out, a sign that is none of JSON's
LONGEST_REPAIR = 100_000  # repairing takes time that grows with the square of the length
DEEPEST_REPAIR = 100
LONGEST_SHOWN = 60  # characters of the text beside an answer that the model is shown


class BadReply(Exception):
    """The reply holds no usable answer; the message is sent to the model.

    `shape`: the model wrote something other than an object, as it does if the channel is not supported.
    `misfit`: its answer does not fit the labels or the case.
    """

    def __init__(self, message: str, *, shape: bool = True, misfit: bool = False) -> None:
        super().__init__(message)
        self.shape = shape
        self.misfit = misfit


def parse_reply(reply: Reply, channel: Channel, tag: str) -> dict[str, Any]:
    """Parses the answer of a reply from its channel. Raises `BadReply` if the reply is broken, declined or cut off, or
    if an answer elsewhere in it differs."""
    if reply.broken:
        raise BadReply(reply.broken, shape=False)
    if reply.refusal:
        raise BadReply(f"The model declined to answer: {reply.refusal}", shape=False)
    if reply.cut_off:
        raise BadReply("The reply was cut off at the token limit. Answer more briefly.", shape=False)
    if reply.stopped is not None:
        raise BadReply(f"The reply did not end as a finished one does, but with `{reply.stopped}`.", shape=False)
    answer = _read_channel(reply, channel, tag)
    if any(other != answer for other in _other_answers(reply, channel)):
        raise BadReply("The reply holds two answers that differ, as text and as a call of the tool: give one.")
    return answer


def _other_answers(reply: Reply, channel: Channel) -> Iterator[Any]:
    """Yields answers outside the requested channel: they never count, but must not contradict the one that does."""
    texts = [call.arguments for call in reply.tool_calls if call.name == TOOL_NAME]
    if channel == "tool":
        with contextlib.suppress(BadReply):
            text = _strip_reasoning((reply.text or "").strip())
            texts = [_strip_fence(text) or text]
    for text in texts:
        if text.lstrip().startswith("{"):
            with contextlib.suppress(BadReply, ValueError):
                if value := _parse_strictly(text.strip()):  # an empty object says nothing
                    yield value


def _read_channel(reply: Reply, channel: Channel, tag: str) -> dict[str, Any]:
    """Parses the answer from the place where the channel puts it: a tool call, a marked text, or the text."""
    if channel == "tool":
        return _parse_object(_read_tool_arguments(reply))
    text, finished = _strip_reasoning((reply.text or "").strip()), False
    if channel == "text":
        text, finished = _strip_markers(text, tag)
    if not text:
        raise BadReply("The reply holds reasoning and no answer." if reply.reasoned else "The reply is empty.")
    inner = _strip_fence(text)
    return _parse_object(text, finished) if inner is None else _parse_object(inner, finished=True)


def serialise_answer(answer: dict[str, Any]) -> bytes:
    """Returns the answer as JSON; raises `BadReply` for broken Unicode, numbers beyond 64 bits and very deep
    nesting."""
    try:
        return orjson.dumps(answer)
    except orjson.JSONEncodeError as error:
        raise BadReply(f"The reply holds values that cannot be kept: {error}.") from None


def _read_tool_arguments(reply: Reply) -> str:
    """Returns the arguments of the only call of the answer tool; raises `BadReply` without a call or with several."""
    calls = [call for call in reply.tool_calls if call.name == TOOL_NAME]
    if not calls:
        raise BadReply(f"The tool `{TOOL_NAME}` was not called.")
    if len(calls) > 1:
        raise BadReply(f"The tool `{TOOL_NAME}` was called {len(calls)} times; call it once.")
    return calls[0].arguments.strip()


def has_reasoning(reply: Reply) -> bool:
    """Whether the text of a reply begins with a block of reasoning, or holds the end of one."""
    text = (reply.text or "").lstrip()
    return REASONING.match(text) is not None or ("</" in text and REASONING_END.search(text) is not None)


def _strip_reasoning(text: str) -> str:
    """Returns the text after the leading blocks of reasoning; an answer inside such a block does not count. Raises
    `BadReply` for a block that is not closed.

    Some chat templates put the opening tag into the prompt, so the reply has only the closing one.
    """
    while opened := REASONING.match(text):
        closed = re.compile(f"</{opened[1]}>", re.IGNORECASE).search(text)
        if closed is None:
            raise BadReply(f"The block {opened[0]} is not closed: end it and give the answer after it.")
        text = text[closed.end() :].strip()
    if text.startswith(("{", FENCE)) or REASONING.search(text):
        return text
    closings = list(REASONING_END.finditer(text))
    return text[closings[0].end() :].strip() if len(closings) == 1 else text


def _strip_markers(text: str, tag: str) -> tuple[str, bool]:
    """Returns the text inside the markers, and whether there were any; raises `BadReply` for markers with another
    word."""
    opening, closing = f"<answer-{tag}>", f"</answer-{tag}>"
    if text.startswith(opening) and text.endswith(closing):
        return text[len(opening) : -len(closing)].strip(), True
    if "<answer-" in text and not text.startswith("{"):
        raise BadReply(f"The answer must stand between {opening} and {closing}, with exactly this word, and alone.")
    return text, False


def _parse_object(text: str, finished: bool = False) -> dict[str, Any]:
    """Parses a text as one JSON object, if need be after repairing its punctuation; raises `BadReply` if it is none.

    `finished`: the text ends where the model meant it to, so missing closing brackets may be added.
    """
    try:
        return _require_object(_parse_strictly(text))
    except ValueError as error:
        problem = str(error)
    if text.startswith("{") and (repaired := _repair(text, finished)) is not None:
        return repaired
    raise BadReply(f"The reply is not one JSON object and nothing else: {_describe_surroundings(text) or problem}")


def _describe_surroundings(text: str) -> str | None:
    """Returns what precedes or follows the first object of a text, in words for the model; None if there is no
    object."""
    start = text.find("{")
    if start > 0:
        return f"it begins with {text[:start].strip()[:LONGEST_SHOWN]!r}"
    try:
        _, end = STRICT.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return f"after the object stands {text[end:].strip()[:LONGEST_SHOWN]!r}"


def _strip_fence(text: str) -> str | None:
    """The content of a text that is one code fence; None for any other text."""
    if len(text) < 2 * len(FENCE) or not (text.startswith(FENCE) and text.endswith(FENCE)):
        return None
    return FENCE_HEAD.sub("", text[len(FENCE) : -len(FENCE)]).strip()


def _parse_strictly(text: str) -> Any:
    """Parses JSON; `BadReply` for repeated keys, infinite numbers and deep nesting, `ValueError` for what is no
    JSON."""
    try:
        return STRICT.decode(text)
    except RecursionError:
        raise BadReply("The reply is nested too deeply.") from None


def _reject_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Returns the object, or raises `BadReply` if a key occurs twice in it."""
    out = dict(pairs)
    if len(out) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        doubled = sorted(key for key, count in counts.items() if count > 1)
        raise BadReply(f"The key {', '.join(doubled)} stands twice in one object.")
    return out


def _parse_finite(number: str) -> float:
    """Parses a number, and refuses one that becomes infinite."""
    value = float(number)
    if not math.isfinite(value):
        raise BadReply(f"The number {number[:LONGEST_SHOWN]} is too large to be one.")
    return value


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# Not strict about one thing: models write line breaks into strings as they are.
STRICT = json.JSONDecoder(
    object_pairs_hook=_reject_duplicates, parse_constant=_reject_constant, parse_float=_parse_finite, strict=False
)


def _require_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadReply(f"The reply is a JSON {type(value).__name__}, not an object.")
    return value


def _repair(text: str, finished: bool) -> dict[str, Any] | None:
    """Repairs the punctuation of an object and parses it; None if it is too long, stops in the middle, or cannot be
    repaired without loss."""
    if len(text) > LONGEST_REPAIR or not text.endswith(("}", "]")):
        return None
    balanced = _balance_brackets(text, finished)
    if balanced is None:
        return None
    try:
        return _require_object(_parse_strictly(balanced))
    except ValueError:
        return _repair_by_guess(text)


def _repair_by_guess(text: str) -> dict[str, Any] | None:
    """Repairs quotes and commas with `json_repair`. It guesses: the result counts only if nothing was lost, else
    None."""
    if STRAY.search(TOKEN.sub(lambda token: token[0] if token[0] in BRACKETS else '""', text)):
        return None
    try:
        value = json_repair.loads(text)
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or _content(text) != _content(written):
        return None
    if any(SWALLOWED.search(item) for item in _strings_in(value, keys=True)):
        return None
    return value if all(_is_quoted(item, text) for item in _strings_in(value)) else None


def _balance_brackets(text: str, finished: bool) -> str | None:
    """Returns the text with brackets in pairs and no comma before a closing one; None if it is not one complete
    value."""
    parts: list[str] = []
    still_open: list[str] = []
    done, read = False, 0
    for token in TOKEN.finditer(text):
        between, sign, read = text[read : token.start()], token[0], token.end()
        if done and (between.strip() or sign not in "}]"):
            return None
        if sign in "{[":
            if len(still_open) >= DEEPEST_REPAIR:
                return None
            still_open.append("}" if sign == "{" else "]")
        elif sign in "}]":
            if between.strip() != "," or parts[-1:] not in (["{"], ["["]):
                between = between.rstrip().removesuffix(",")
            sign = _close_bracket(still_open, sign)
            done = not still_open
        elif (token[1] or token[2]) not in {'"', "'"}:
            return None
        parts += [between, sign] if between else [sign]
    if still_open and not finished:
        return None
    return "".join([*parts, *reversed(still_open)])


def _close_bracket(still_open: list[str], sign: str) -> str:
    """Takes off `still_open` the bracket that this sign closes, and the unclosed ones inside it; returns their closing
    signs. A sign that closes nothing gives an empty text."""
    closed = ""
    if sign in still_open:
        while not closed.endswith(sign):
            closed += still_open.pop()
    return closed


def _content(text: str) -> tuple[str, int, int, int]:
    """Returns what a repair must preserve: letters and digits, and the numbers of empty strings, objects and lists."""
    empty = text.count('""') + text.count("''")
    return "".join(CONTENT.findall(text)).lower(), empty, text.count("{"), text.count("[")


def _strings_in(value: Any, keys: bool = False) -> Iterator[str]:
    """Yields all strings among the values at any depth, and the keys of objects if `keys`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        if keys:
            yield from value
        for item in value.values():
            yield from _strings_in(item, keys)
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item, keys)


def _is_quoted(value: str, text: str) -> bool:
    """Whether a string appears in quotes in the reply: a bare word or a broken number must not become a text."""
    escaped = json.dumps(value, ensure_ascii=False)
    return escaped in text or f'"{value}"' in text or f"'{value}'" in text
