"""Takes the answer out of a reply, or says exactly why there is none.

An answer counts only in the channel that was asked for, and only if it is the one object there and nothing else: a
sentence before or behind it may take it back. Around it may stand a code fence and, in plain text, the markers that
the prompt asks for. Before it, wherever the answer is text, reasoning may stand in closed blocks of its own; what a
provider puts into fields for reasoning is never read as an answer.
Repairs (a trailing comma, a lost closing bracket) touch punctuation alone: every letter and digit of the reply must
survive, in order, and none is added. A text that ends with brackets open may have been cut off, so it counts only
where a closing fence or marker shows that the model was done. What is ambiguous is never guessed; the model is asked
again.
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

from krino.cases.twice import check_keys
from krino.labellers.llm.wire import TOOL_NAME, Channel, Reply

READING = 3  # counts up when other things are taken for an answer: what was kept under older rules is asked again
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
LONG_NUMBER = b"0" * 19  # no shorter one is beyond 64 bits
DIGITS_AS_ZERO = bytes.maketrans(b"123456789", b"0" * 9)
LONGEST_SHOWN = 60  # characters of what stands beside an answer, for the model to find it


class BadReply(Exception):
    """The reply holds no usable answer; the text is what the model is told.

    `shape`: the model wrote something else than an object, as it does where the channel is not supported.
    `misfit`: it wrote an answer that does not fit the labels or the case.
    """

    def __init__(self, message: str, *, shape: bool = True, misfit: bool = False) -> None:
        super().__init__(message)
        self.shape = shape
        self.misfit = misfit


def read_answer(reply: Reply, channel: Channel, tag: str) -> dict[str, Any]:
    """The label object of a reply."""
    if reply.broken:
        raise BadReply(reply.broken, shape=False)
    if reply.refusal:
        raise BadReply(f"The model declined to answer: {reply.refusal}", shape=False)
    if reply.cut_off:
        raise BadReply("The reply was cut off at the token limit. Answer more briefly.", shape=False)
    if reply.stopped is not None:
        raise BadReply(f"The reply did not end as a finished one does, but with `{reply.stopped}`.", shape=False)
    answer = _answer_in_channel(reply, channel, tag)
    if any(other != answer for other in _objects_beside(reply, channel)):
        raise BadReply("The reply holds two answers that differ, as text and as a call of the tool: give one.")
    return answer


def _objects_beside(reply: Reply, channel: Channel) -> Iterator[Any]:
    """Answers in the channel that was not asked for: they never count, but must not contradict the one that does."""
    texts = [call.arguments for call in reply.tool_calls if call.name == TOOL_NAME]
    if channel == "tool":
        with contextlib.suppress(BadReply):
            text = _after_reasoning((reply.text or "").strip())
            texts = [_unfenced(text) or text]
    for text in texts:
        if text.lstrip().startswith("{"):
            with contextlib.suppress(BadReply, ValueError):
                if value := _strict(text.strip()):  # an empty object says nothing
                    yield value


def _answer_in_channel(reply: Reply, channel: Channel, tag: str) -> dict[str, Any]:
    if channel == "tool":
        return _object(_tool_arguments(reply))
    text, finished = _after_reasoning((reply.text or "").strip()), False
    if channel == "text":
        text, finished = _between_markers(text, tag)
    if not text:
        raise BadReply("The reply holds reasoning and no answer." if reply.reasoned else "The reply is empty.")
    inner = _unfenced(text)
    return _object(text, finished) if inner is None else _object(inner, finished=True)


def written_down(answer: dict[str, Any]) -> bytes:
    """An answer as it is kept. Broken Unicode, numbers beyond 64 bits and endless nesting cannot be."""
    try:
        return orjson.dumps(answer)
    except orjson.JSONEncodeError as error:
        raise BadReply(f"The reply holds values that cannot be kept: {error}.") from None


def _tool_arguments(reply: Reply) -> str:
    calls = [call for call in reply.tool_calls if call.name == TOOL_NAME]
    if not calls:
        raise BadReply(f"The tool `{TOOL_NAME}` was not called.")
    if len(calls) > 1:
        raise BadReply(f"The tool `{TOOL_NAME}` was called {len(calls)} times; call it once.")
    return calls[0].arguments.strip()


def has_reasoning(reply: Reply) -> bool:
    """Whether the text of a reply begins with a block of reasoning."""
    text = (reply.text or "").lstrip()
    return REASONING.match(text) is not None or ("</" in text and REASONING_END.search(text) is not None)


def _after_reasoning(text: str) -> str:
    """What follows the blocks of reasoning at the beginning; an answer inside one is only thought of.

    Some chat templates write the opening tag into the prompt, so that the reply has the closing one alone.
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


def _between_markers(text: str, tag: str) -> tuple[str, bool]:
    """The text inside the markers, and that they closed it; without any, the text as it is."""
    opening, closing = f"<answer-{tag}>", f"</answer-{tag}>"
    if text.startswith(opening) and text.endswith(closing):
        return text[len(opening) : -len(closing)].strip(), True
    if "<answer-" in text and not text.startswith("{"):
        raise BadReply(f"The answer must stand between {opening} and {closing}, with exactly this word, and alone.")
    return text, False


def _object(text: str, finished: bool = False) -> dict[str, Any]:
    """The object that a text is: as it stands, or after a repair of punctuation."""
    try:
        return _must_be_object(_strict(text))
    except ValueError as error:
        problem = str(error)
    if text.startswith("{") and (repaired := _repaired(text, finished)) is not None:
        return repaired
    raise BadReply(f"The reply is not one JSON object and nothing else: {_beside(text) or problem}")


def _beside(text: str) -> str | None:
    """What stands before or behind the first object of a text, told so that the model leaves it out."""
    start = text.find("{")
    if start > 0:
        return f"it begins with {text[:start].strip()[:LONGEST_SHOWN]!r}"
    try:
        _, end = STRICT.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return f"after the object stands {text[end:].strip()[:LONGEST_SHOWN]!r}"


def _unfenced(text: str) -> str | None:
    """What stands in the code fence that a text consists of."""
    if len(text) < 2 * len(FENCE) or not (text.startswith(FENCE) and text.endswith(FENCE)):
        return None
    return FENCE_HEAD.sub("", text[len(FENCE) : -len(FENCE)]).strip()


def _strict(text: str) -> Any:
    """The value of a JSON text, as `STRICT` reads it: most replies are told to be sound by a quicker reader."""
    with contextlib.suppress(ValueError):  # `STRICT` takes a little more, and knows what is wrong with the rest
        written = text.encode()
        if LONG_NUMBER not in written.translate(DIGITS_AS_ZERO):  # else it may be made a float
            value = orjson.loads(written)
            check_keys(written, value)
            return value
    try:
        return STRICT.decode(text)
    except RecursionError:
        raise BadReply("The reply is nested too deeply.") from None


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        doubled = sorted(key for key, count in counts.items() if count > 1)
        raise BadReply(f"The key {', '.join(doubled)} stands twice in one object.")
    return out


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise BadReply(f"The number {number[:LONGEST_SHOWN]} is too large to be one.")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


# Not strict about one thing: models write line breaks into strings as they are.
STRICT = json.JSONDecoder(
    object_pairs_hook=_no_duplicates, parse_constant=_no_constant, parse_float=_finite, strict=False
)


def _must_be_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadReply(f"The reply is a JSON {type(value).__name__}, not an object.")
    return value


def _repaired(text: str, finished: bool) -> dict[str, Any] | None:
    """A repair that changed nothing but punctuation; a text that just stops in the middle is not repaired."""
    if len(text) > LONGEST_REPAIR or not text.endswith(("}", "]")):
        return None
    balanced = _balanced(text, finished)
    if balanced is None:
        return None
    try:
        return _must_be_object(_strict(balanced))
    except ValueError:
        return _guessed(text)


def _guessed(text: str) -> dict[str, Any] | None:
    """A repair of quotes and commas by `json_repair`, which guesses: it counts only if nothing was lost or added."""
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


def _balanced(text: str, finished: bool) -> str | None:
    """The text with its brackets in pairs and no comma before a closing one; None if it is not one whole value."""
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
            sign = _close(still_open, sign)
            done = not still_open
        elif (token[1] or token[2]) not in {'"', "'"}:
            return None
        parts += [between, sign] if between else [sign]
    if still_open and not finished:
        return None
    return "".join([*parts, *reversed(still_open)])


def _close(still_open: list[str], sign: str) -> str:
    """Close down to the bracket that this sign is for, and with it those that were forgotten inside."""
    closed = ""
    if sign in still_open:
        while not closed.endswith(sign):
            closed += still_open.pop()
    return closed


def _content(text: str) -> tuple[str, int, int, int]:
    """What a repair must keep: letters and digits, and how many strings are empty, objects and lists begin."""
    empty = text.count('""') + text.count("''")
    return "".join(CONTENT.findall(text)).lower(), empty, text.count("{"), text.count("[")


def _strings_in(value: Any, keys: bool = False) -> Iterator[str]:
    """The strings among the values, whatever the depth, and the keys if wanted."""
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
    """Whether a string stands in quotes as it is: a bare word or a broken number must not become a text."""
    escaped = json.dumps(value, ensure_ascii=False)
    return escaped in text or f'"{value}"' in text or f"'{value}'" in text
