"""What makes two steps the same: keys of calls and results, exact, normalised, and by their wording."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from krino.judges.efficiency.finders.effects import Effect, effect_of, name_parts, names, reads_by_name
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import dump, text_of
from krino.judges.efficiency.traces.steps import Step
from krino.text.forms import INVISIBLE

_URL = re.compile(r"(?:https?://)?(?:www\.)?([^\s#]*?)/?(?:#.*)?", re.IGNORECASE)
_HERE = re.compile(r"^(?:\./+)+(?=.)")
_HERE_BEHIND = re.compile(r"(?<= )\./+(?=[^\s.])")
"""In a command; its first word is another program without the folder."""
_SAME_FOLDER = re.compile(r"/(?:\.?/)+")
_CODE = re.compile(r"```[\w+-]*\n(.*?)(?:```|\Z)", re.DOTALL)
_COMMENT = re.compile(r"^[^\S\n]*+#[^\n]*$", re.MULTILINE)
_MARK = re.compile(
    r"(?<![\w-])(?:"
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"  # a UUID
    r"|\d{4}-\d\d-\d\d[t ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?:z|[+-]\d\d:?\d\d)?"  # a time to the second
    r"|(?:0x)?(?=[a-f]{0,63}\d)(?=\d{0,63}[a-f])[0-9a-f]{8,64}"  # a hash
    r"|1\d{9}(?:\d{3}|\.\d{1,9})?"  # seconds or milliseconds since 1970
    r"|(?:req|request|trace|span|correlation|nonce)(?:[ _-]?id)?[\"' :=#-]{1,4}(?=[a-z_-]{0,63}\d)[\w-]{4,64}"
    r")(?![\w-])"
)
_LETTERS = re.compile(r"[^\W_]")
_LEAST_LETTERS = 3
_MAX_TEXT = 20_000
_MAX_DEPTH = 20
_LONGEST_MARK = 40
_PAGING_NAMES = words("cues", "paging") | words("cues", "paged")


@dataclass(frozen=True, slots=True)
class Call:
    """The keys of one step. `frame` holds all of a call but its wordings; `wording` is what may be near."""

    exact: bytes
    normal: bytes
    frame: bytes
    wording: str
    result: bytes | None
    """Key of the normalised result; None when the trace records none or it is empty."""
    has_result: bool
    is_empty: bool
    is_moving: bool
    """Whether calling it again is how the tool is used (roll, press)."""
    is_paging: bool
    """The same, as long as it brings something new (scroll, next)."""
    is_watching: bool
    """Whether its answer changes by itself (a status, a clock)."""
    is_search: bool
    is_read: bool
    is_write: bool
    effect: Effect
    speaks: bool
    """Whether the step is words of a model without a recorded input: it is known by what it says."""


def call_of(step: Step, used: Collection[str] = ()) -> Call:
    """`used` are the marks of a single request that the trace takes up somewhere: those are content of a result."""
    speaks = step.kind in ("llm", "message") and _is_blank(step.input)
    subject: Any = spoken_action(text_of(step.output)) if speaks else step.input
    if not speaks and _is_blank(subject) and step.kind == "other":
        subject = step.output
    wordings: list[str] = []
    frame = _framed(subject, wordings)
    name = "" if speaks and step.kind == "message" else step.name
    own = "" if speaks or is_recorded(subject) else step.id  # what is not known is equal to nothing
    result_text = dump(step.output) if not speaks else step.observed if step.kind == "llm" else ""
    blank = is_empty_result(result_text)
    reads = step.kind == "retrieval" or reads_by_name(step.name)
    return Call(
        exact=_digest(step.kind, name, _canonical(subject), own),
        normal=_digest(name.casefold(), dump(_normal(subject)), own),
        frame=_digest(name.casefold(), dump(frame), own),
        wording=" ".join(wordings)[:_MAX_TEXT],
        result=None if blank or is_redacted(result_text) else _digest(without_marks(squeeze(result_text), used)),
        has_result=bool(result_text),
        is_empty=blank and bool(result_text),
        is_moving=names(step.name, "moving") and not reads,
        is_paging=names(step.name, "paging") and _PAGING_NAMES.issuperset(name_parts(step.name)),
        is_watching=names(step.name, "watching"),
        is_search=step.kind == "retrieval" or (reads and names(step.name, "search")),
        is_read=reads,
        is_write=not reads and names(step.name, "write"),
        effect=effect_of(step),
        speaks=speaks,
    )


def is_recorded(value: Any) -> bool:
    """Whether arguments can be compared: they were recorded, and none of them was masked."""
    return value is not None and not any(is_redacted(text) for text in texts_in(value))


def is_redacted(text: str) -> bool:
    """Whether a mark stands where content was taken out."""
    if len(text) > _LONGEST_MARK:
        return False
    plain = text.strip().casefold()
    return plain in words("fields", "redacted") or (len(plain) >= 3 and not plain.strip("*•█"))


def _digest(*parts: str) -> bytes:
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=12).digest()


def _is_blank(value: Any) -> bool:
    return value is None or value == "" or value == {} or value == []


def squeeze(text: str) -> str:
    """Case, white space and what nobody sees set aside."""
    return " ".join(visible(text).split()).casefold()


def visible(text: str) -> str:
    """Without the characters that nobody sees."""
    return text if text.isascii() else text.translate(INVISIBLE)


def is_empty_result(text: str) -> bool:
    if not text or len(text) > 400:
        return not text
    plain = squeeze(text).strip(".!\"' ")
    return not plain or plain in words("cues", "empty_results") or plain.startswith(_empty_openings())


def _empty_openings() -> tuple[str, ...]:
    return tuple(table("cues")["empty_openings"])


def spoken_action(text: str) -> str:
    """What a model's words set in motion: the code they hold without its comments, else the words themselves."""
    if "```" not in text:
        return text
    code = "\n".join(_COMMENT.sub("", block) for block in _CODE.findall(text))
    return code if code.strip() else text


# --- marks of a single request ----------------------------------------------------------------------


def marks_used(steps: Sequence[Step]) -> frozenset[str]:
    """The marks of a request (ids, hashes, times) that a call was given or that a model speaks of."""
    taken_up = (text for step in steps for text in (dump(step.input), text_of(step.output) if step.talks else ""))
    return frozenset(mark for text in taken_up for mark in _MARK.findall(squeeze(text)))


def without_marks(text: str, used: Collection[str]) -> str:
    """A squeezed result without what is new in every reply: ids of requests, hashes and times that nothing takes up.

    A result that is nothing but such a mark (a clock, a key) is what was asked for, and stays.
    """
    plain = _MARK.sub(lambda found: found[0] if found[0] in used else "", text)
    return plain if len(_LETTERS.findall(plain)) >= _LEAST_LETTERS else text


# --- arguments -------------------------------------------------------------------------------------


def _canonical(value: Any) -> str:
    """The same arguments always give the same text, whatever the order of their keys."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str).decode()
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value)


def _normal(value: Any, depth: int = 0) -> Any:
    """Case, white space, the order of keys and lists, and the way numbers are written, set aside."""
    if isinstance(value, str):
        return normal_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return normal_number(value)
    if depth > _MAX_DEPTH:
        return dump(value)
    if isinstance(value, Mapping):
        pairs = sorted(((str(key).casefold(), item) for key, item in value.items()), key=lambda pair: pair[0])
        return [[key, _normal(item, depth + 1)] for key, item in pairs if item is not None]
    if isinstance(value, list | tuple):
        return sorted((_normal(item, depth + 1) for item in value), key=dump)
    return str(value)


def normal_number(value: float) -> str:
    return str(int(value)) if isinstance(value, int) or value.is_integer() else repr(value)


def normal_text(text: str) -> str:
    """Case and white space set aside, and the ways in which one address or path can be written."""
    squeezed = squeeze(text)
    if " " not in squeezed and "/" in squeezed and len(squeezed) < 2000:
        match = _URL.fullmatch(squeezed)
        return _SAME_FOLDER.sub("/", _HERE.sub("", match.group(1) if match else squeezed))
    return _HERE_BEHIND.sub("", squeezed)


def _framed(value: Any, wordings: list[str], depth: int = 0) -> Any:
    """The normalised arguments with every wording taken out and collected."""
    if isinstance(value, str):
        if len(value[:_MAX_TEXT].split()) >= table("nearness")["free_words"]:
            wordings.append(visible(value))
            return "…"
        return normal_text(value)
    if isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        pairs = sorted(((str(key).casefold(), item) for key, item in value.items()), key=lambda pair: pair[0])
        return [[key, _framed(item, wordings, depth + 1)] for key, item in pairs if item is not None]
    if isinstance(value, list | tuple) and depth <= _MAX_DEPTH:
        return [_framed(item, wordings, depth + 1) for item in value]
    return _normal(value, depth)


def texts_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every text inside a value, for looking up where a result is used."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        for item in value.values():
            yield from texts_in(item, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _MAX_DEPTH:
        for item in value:
            yield from texts_in(item, depth + 1)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def keys_in(value: Any, depth: int = 0) -> Iterator[str]:
    """Every name of a field inside a value."""
    if isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        for key, item in value.items():
            yield str(key).replace("_", " ")
            yield from keys_in(item, depth + 1)
    elif isinstance(value, list | tuple) and depth <= _MAX_DEPTH:
        for item in value:
            yield from keys_in(item, depth + 1)
