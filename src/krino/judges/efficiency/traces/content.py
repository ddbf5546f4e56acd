"""Helpers of all readers: text of content blocks, placeholders for media, JSON inside strings, numbers and times."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import orjson

from krino.contract import Media

_DATA_URL = re.compile(r"data:([\w.+-]+/[\w.+-]+)(?:;[\w=.-]+)*;base64,", re.ASCII)
_TEXT_TYPES = ("text", "input_text", "output_text", "refusal", "summary_text", "thinking", "reasoning")
_MAX_DEPTH = 40
_MAX_MEDIA = 64
_JSON_STARTS = frozenset('{["')
_DURATION = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


@dataclass(slots=True)
class Album:
    """Gathers the media of one step while its content is read."""

    items: list[Media] = field(default_factory=list)

    def add(self, mime: str, data: bytes) -> str:
        """Returns the placeholder of a medium, and keeps the medium unless there are `_MAX_MEDIA` already.

        The digest distinguishes two media of the same size.
        """
        medium = Media(_kind_of(mime), mime, data)
        if len(self.items) < _MAX_MEDIA:
            self.items.append(medium)
        digest = hashlib.blake2b(data, digest_size=4).hexdigest()
        return f"{medium.placeholder()[:-1]}, #{digest}]"


def _kind_of(mime: str) -> Literal["image", "audio", "file"]:
    if mime.startswith("image/"):
        return "image"
    return "audio" if mime.startswith("audio/") else "file"


def replace_media(value: Any, album: Album, depth: int = 0) -> Any:
    """Returns the value with every medium moved to the album and replaced by a placeholder.

    Nesting beyond a limit is cut, with a note.
    """
    if isinstance(value, str):
        return _replace_data_address(value, album)
    if depth > _MAX_DEPTH:
        return "[nested too deeply to show]"
    if isinstance(value, Mapping):
        placeholder = _replace_media_block(value, album)
        if placeholder is not None:
            return placeholder
        return {str(key): replace_media(item, album, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_media(item, album, depth + 1) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)


def _replace_data_address(text: str, album: Album) -> str:
    """Returns the placeholder of a text that is a data address, and adds its medium to the album.

    Any other text is returned unchanged.
    """
    if "data:" not in text or ";base64," not in text:
        return text
    match = _DATA_URL.match(text)
    data = _decode(text[match.end() :]) if match else None
    return text if match is None or data is None else album.add(match.group(1), data)


def _replace_media_block(block: Mapping[Any, Any], album: Album) -> str | None:
    """Returns the placeholder of a content block that is a medium, and adds it to the album; else None."""
    kind = block.get("type")
    if kind in ("image_url", "input_image"):
        holder = block.get("image_url")
        url = holder.get("url") if isinstance(holder, Mapping) else holder
        return _from_url(url, album)
    if kind in ("image", "document") and isinstance(source := block.get("source"), Mapping):
        return _from_base64(source.get("data"), source.get("media_type"), album) or _from_url(source.get("url"), album)
    if kind == "input_audio" and isinstance(audio := block.get("input_audio"), Mapping):
        return _from_base64(audio.get("data"), f"audio/{audio.get('format') or 'wav'}", album)
    if kind in ("file", "input_file"):
        holder = block.get("file")
        details = holder if isinstance(holder, Mapping) else block
        if isinstance(data := details.get("file_data"), str):
            return _from_url(data, album)
    return _replace_typed_media(block, album)


def _replace_typed_media(block: Mapping[Any, Any], album: Album) -> str | None:
    """Does the same for blocks that name the type beside the data, as Gemini, LangChain and Vercel AI write them."""
    inner = first_of(block, ("inline_data", "inlineData"))
    holder = inner if isinstance(inner, Mapping) else block
    mime = first_of(holder, ("mime_type", "mimeType", "mediaType", "media_type"))
    if not isinstance(mime, str) or "/" not in mime:
        return None
    data = first_of(holder, ("data", "base64", "image"))
    if isinstance(data, str) and (found := _replace_data_address(data, album)) != data:
        return found
    return _from_base64(data, mime, album) or _from_url(first_of(holder, ("url", "uri", "image")), album)


def _from_url(url: Any, album: Album) -> str | None:
    """Returns the placeholder of a medium given by its address; only the data of a data address is kept."""
    if not isinstance(url, str) or not url:
        return None
    cleaned = _replace_data_address(url, album)
    return cleaned if cleaned != url else f"[medium at {url[:200]}]"


def _from_base64(data: Any, mime: Any, album: Album) -> str | None:
    decoded = _decode(data) if isinstance(data, str) else None
    return None if decoded is None else album.add(str(mime or "application/octet-stream"), decoded)


def _decode(text: str) -> bytes | None:
    """Decodes base64, or returns None."""
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError):
        return None


# --- text ------------------------------------------------------------------------------------------


def extract_text(content: Any) -> str:
    """Returns what a person reads in a message's content: its text blocks, with the placeholders of its media."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return _extract_block_text(content)
    if isinstance(content, list | tuple):
        return "\n".join(part for part in map(_extract_block_text, content) if part)
    return str(content)


def _extract_block_text(block: Any) -> str:
    """Returns the text of one content block; a block of another kind as JSON."""
    if isinstance(block, str):
        return block
    if isinstance(block, Mapping):
        held = {key for key, value in block.items() if value is not None}
        if block.get("type") in _TEXT_TYPES or held <= {"text", "type", "annotations"}:
            found = next((block[key] for key in ("text", "refusal", "thinking", "content") if block.get(key)), "")
            return found if isinstance(found, str) else extract_text(found)
        if isinstance(block.get("content"), str):  # OpenTelemetry's message parts
            return str(block["content"])
        if "role" in block and isinstance(held_parts := block.get("parts", block.get("content")), list):
            return extract_text(held_parts)  # a whole message
    return to_text(block)


def to_text(value: Any) -> str:
    """Converts any value to text: strings unchanged, None as an empty text, the rest as JSON.

    What JSON cannot hold is written as `repr`.
    """
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str).decode()
    except (orjson.JSONEncodeError, RecursionError, UnicodeError):
        return repr(value)


def from_json(value: Any) -> Any:
    """Returns the value inside a string that holds JSON (tool arguments mostly come that way), else the value itself.

    A string that is only a number or word stays a string.
    """
    if isinstance(value, str) and value.lstrip()[:1] in _JSON_STARTS:
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


# --- numbers ---------------------------------------------------------------------------------------


def parse_number(value: Any) -> float | None:
    """Returns a non-negative finite number, also from a string; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if 0 <= found < float("inf") else None


def parse_count(value: Any) -> int | None:
    """Returns a non-negative whole number, decimals cut off; None for anything else."""
    found = parse_number(value)
    return None if found is None else int(found)


def parse_time(value: Any) -> float | None:
    """Returns a time in seconds since 1970, or None.

    It may be nanoseconds, microseconds, milliseconds, seconds or ISO 8601 text.
    """
    found = parse_number(value)
    if found is not None:
        for limit, divisor in ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3)):
            if found > limit:
                return found / divisor
        return found
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return None
        return (moment - datetime(1970, 1, 1, tzinfo=moment.tzinfo)).total_seconds()
    return None


def parse_duration(value: Any) -> float | None:
    """Returns the seconds of an ISO 8601 duration (`PT1M3.5S`) or a plain number, or None."""
    if isinstance(value, str) and (match := _DURATION.fullmatch(value)):
        days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
        return days * 86400 + hours * 3600 + minutes * 60 + seconds
    return parse_number(value)


def time_between(start: float | None, end: float | None) -> float | None:
    """Returns the seconds from start to end; None if one is missing, or the end comes first."""
    return None if start is None or end is None or end < start else end - start


# --- lists inside objects --------------------------------------------------------------------------


def find_list(value: Any, *names: str) -> list[Any] | None:
    """Returns the value if it is a list, else the first of its named fields that holds one, or None.

    The list of a field may be JSON text.
    """
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        for name in names:
            found = from_json(value.get(name))
            if isinstance(found, list):
                return found
    return None


def keep_objects(value: list[Any] | None) -> list[Mapping[str, Any]]:
    """Returns the entries of a list that are objects; empty if there is no list."""
    return [item for item in value or () if isinstance(item, Mapping)]


def first_of(raw: Mapping[Any, Any], names: Iterable[str]) -> Any:
    """Returns the first of these fields that is not null, or None."""
    return next((raw[name] for name in names if raw.get(name) is not None), None)
