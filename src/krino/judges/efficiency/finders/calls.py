"""Computes the keys that make two steps the same: of calls and results, exact, normalised, and by their wording."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.effects import Effect, classify_effect, reads_by_name
from krino.judges.efficiency.finders.tokens import has_name_part, name_parts, normalise_text, remove_invisible, texts_in
from krino.judges.efficiency.traces.content import extract_text, to_text
from krino.judges.efficiency.traces.steps import Step

_URL = re.compile(r"(?:https?://)?(?:www\.)?([^\s#]*?)/?(?:#.*)?", re.IGNORECASE)
_HERE = re.compile(r"^(?:\./+)+(?=.)")
_HERE_BEHIND = re.compile(r"(?<= )\./+(?=[^\s.])")
"""`./` before an argument of a command; before the command itself it names another program."""
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
    """The keys of one step. `frame` covers a call without its free texts; `wording` is those texts."""

    exact: bytes
    normal: bytes
    frame: bytes
    wording: str
    result: bytes | None
    """Key of the normalised result; None if the trace records none or it is empty."""
    has_result: bool
    is_empty: bool
    is_moving: bool
    """Whether the tool is used by calling it repeatedly (roll, press)."""
    is_paging: bool
    """The same as long as each call returns something new (scroll, next)."""
    is_watching: bool
    """Whether its answer can change by itself (a status, a clock)."""
    is_search: bool
    is_read: bool
    is_write: bool
    effect: Effect
    speaks: bool
    """Whether the step is a model's text without a recorded input: then its text identifies it."""


def read_call(step: Step, used: Collection[str] = ()) -> Call:
    """Returns the keys of a step by which calls and results are compared. `used` are the request marks that the trace
    uses elsewhere: those are content, and stay in the result's key."""
    speaks = step.kind in ("llm", "message") and _is_blank(step.input)
    subject: Any = find_code(extract_text(step.output)) if speaks else step.input
    if not speaks and _is_blank(subject) and step.kind == "other":
        subject = step.output
    wordings: list[str] = []
    frame = _replace_free_texts(subject, wordings)
    name = "" if speaks and step.kind == "message" else step.name
    own = "" if speaks or is_recorded(subject) else step.id  # an unrecorded call equals no other
    result_text = to_text(step.output) if not speaks else step.observed if step.kind == "llm" else ""
    blank = is_empty_result(result_text)
    reads = step.kind == "retrieval" or reads_by_name(step.name)
    return Call(
        exact=_digest(step.kind, name, _to_canonical_text(subject), own),
        normal=_digest(name.casefold(), to_text(_normalise_arguments(subject)), own),
        frame=_digest(name.casefold(), to_text(frame), own),
        wording=" ".join(wordings)[:_MAX_TEXT],
        result=None
        if blank or is_redacted(result_text)
        else _digest(drop_request_marks(normalise_text(result_text), used)),
        has_result=bool(result_text),
        is_empty=blank and bool(result_text),
        is_moving=has_name_part(step.name, "moving") and not reads,
        is_paging=has_name_part(step.name, "paging") and _PAGING_NAMES.issuperset(name_parts(step.name)),
        is_watching=has_name_part(step.name, "watching"),
        is_search=step.kind == "retrieval" or (reads and has_name_part(step.name, "search")),
        is_read=reads,
        is_write=not reads and has_name_part(step.name, "write"),
        effect=classify_effect(step),
        speaks=speaks,
    )


def is_recorded(value: Any) -> bool:
    """Whether arguments can be compared: they were recorded, and none is masked."""
    return value is not None and not any(is_redacted(text) for text in texts_in(value))


def is_redacted(text: str) -> bool:
    """Is a text a mask in place of content ("[redacted]", "***")?"""
    if len(text) > _LONGEST_MARK:
        return False
    plain = text.strip().casefold()
    return plain in words("fields", "redacted") or (len(plain) >= 3 and not plain.strip("*•█"))


def _digest(*parts: str) -> bytes:
    joined = "\x1f".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=12).digest()


def _is_blank(value: Any) -> bool:
    return value is None or value == "" or value == {} or value == []


def is_empty_result(text: str) -> bool:
    """Is a result empty, or does it say that nothing was found?"""
    if not text or len(text) > 400:
        return not text
    plain = normalise_text(text).strip(".!\"' ")
    return not plain or plain in words("cues", "empty_results") or plain.startswith(_empty_openings())


def _empty_openings() -> tuple[str, ...]:
    return tuple(table("cues")["empty_openings"])


def find_code(text: str) -> str:
    """Returns what a model's text causes: the code in it without comments, else the text itself."""
    if "```" not in text:
        return text
    code = "\n".join(_COMMENT.sub("", block) for block in _CODE.findall(text))
    return code if code.strip() else text


# --- marks of a single request ----------------------------------------------------------------------


def find_used_marks(steps: Sequence[Step]) -> frozenset[str]:
    """Returns the request marks (ids, hashes, times) that appear in the arguments of a call or in a model's text."""
    later = (text for step in steps for text in (to_text(step.input), extract_text(step.output) if step.talks else ""))
    return frozenset(mark for text in later for mark in _MARK.findall(normalise_text(text)))


def drop_request_marks(text: str, used: Collection[str]) -> str:
    """Returns a normalised result without what differs in every reply: request ids, hashes and times that nothing uses.

    A result that is nothing but such a mark (a clock, a key) is what was asked for, and stays.
    """
    plain = _MARK.sub(lambda found: found[0] if found[0] in used else "", text)
    return plain if len(_LETTERS.findall(plain)) >= _LEAST_LETTERS else text


# --- arguments -------------------------------------------------------------------------------------


def _to_canonical_text(value: Any) -> str:
    """Returns the arguments as text, independent of the order of their keys."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=str).decode()
    except (orjson.JSONEncodeError, RecursionError):
        return repr(value)


def _normalise_arguments(value: Any, depth: int = 0) -> Any:
    """Returns the arguments without differences of case, white space, order of keys and lists, and number format.

    Fields that are null are left out.
    """
    if isinstance(value, str):
        return _normalise_text(value)
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float):
        return _normalise_number(value)
    if depth > _MAX_DEPTH:
        return to_text(value)
    if isinstance(value, Mapping):
        pairs = sorted(((str(key).casefold(), item) for key, item in value.items()), key=lambda pair: pair[0])
        return [[key, _normalise_arguments(item, depth + 1)] for key, item in pairs if item is not None]
    if isinstance(value, list | tuple):
        return sorted((_normalise_arguments(item, depth + 1) for item in value), key=to_text)
    return str(value)


def _normalise_number(value: float) -> str:
    return str(int(value)) if isinstance(value, int) or value.is_integer() else repr(value)


def _normalise_text(text: str) -> str:
    """Returns the text without differences of case, white space, and the ways to write one address or path."""
    squeezed = normalise_text(text)
    if " " not in squeezed and "/" in squeezed and len(squeezed) < 2000:
        match = _URL.fullmatch(squeezed)
        return _SAME_FOLDER.sub("/", _HERE.sub("", match.group(1) if match else squeezed))
    return _HERE_BEHIND.sub("", squeezed)


def _replace_free_texts(value: Any, wordings: list[str], depth: int = 0) -> Any:
    """Returns the normalised arguments with every free text replaced by "…", and adds those texts to `wordings`."""
    if isinstance(value, str):
        if len(value[:_MAX_TEXT].split()) >= table("limits")["free_words"]:
            wordings.append(remove_invisible(value))
            return "…"
        return _normalise_text(value)
    if isinstance(value, Mapping) and depth <= _MAX_DEPTH:
        pairs = sorted(((str(key).casefold(), item) for key, item in value.items()), key=lambda pair: pair[0])
        return [[key, _replace_free_texts(item, wordings, depth + 1)] for key, item in pairs if item is not None]
    if isinstance(value, list | tuple) and depth <= _MAX_DEPTH:
        return [_replace_free_texts(item, wordings, depth + 1) for item in value]
    return _normalise_arguments(value, depth)
