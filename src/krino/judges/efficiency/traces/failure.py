"""Detects from a tool's result that the call failed, for traces without an error field."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from krino.judges.efficiency.data_files import table, words

_LOOKED_AT = 400
_WRAPPERS = 4
"""How many lists and objects around a text are unwrapped."""
_EXCEPTION = re.compile(r"(?:[\w]+\.)*[A-Z]\w*(?:Error|Exception|Timeout)\b\s*[:(]")
_HTTP = re.compile(
    r"(?:HTTP(?:/\d(?:\.\d)?)?(?: error| status)?:? ?|status(?: code)?[:= ]+|error:? )[45]\d\d\b", re.IGNORECASE
)
_ERROR_PAGE = re.compile(r"<(?:!doctype|html)\b.*?<(?:title|h1)>\s*(?P<title>[^<]+)", re.IGNORECASE | re.DOTALL)
"""The HTML page that a proxy or gateway sends in place of a result."""
_COMMANDS = re.compile(r"&&|[;\n|]+")
_FILE = re.compile(r"[\w./~-]+\.\w{2,5}")
_NAME_PART = re.compile(r"[a-z]+")
_STATUS_FIELDS = ("status_code", "statusCode", "http_status", "httpStatus", "status", "code")


def find_error_text(output: Any) -> str | None:
    """Returns the error text if a result is nothing but an error, else None."""
    output = _unwrap(output)
    if isinstance(output, Mapping):
        return _find_error_in_object(output)
    if not isinstance(output, str):
        return None
    start = output.lstrip()[:_LOOKED_AT]
    if _openings().match(start) or _EXCEPTION.match(start) or _HTTP.match(start):
        return start
    if (page := _ERROR_PAGE.match(start)) and _openings().match(page["title"]):
        return page["title"][:_LOOKED_AT]
    return _find_exception(output)


def _unwrap(output: Any) -> Any:
    """Returns what is inside a result that is only a wrapper of one value: {"result": "…"}, [{"type": "text", …}]."""
    for _ in range(_WRAPPERS):
        if isinstance(output, list) and len(output) == 1:
            output = output[0]
            continue
        held = [key for key in output if key != "type"] if isinstance(output, Mapping) else []
        if len(held) != 1 or held[0] not in ("result", "output", "content", "text", "response", "body"):
            break
        output = output[held[0]]
    return output


def find_failure(name: str, given: Any, output: Any) -> str | None:
    """Returns the error text of a call's result, or None.

    Errors inside a log or file that the call shows are no failure.
    """
    return None if isinstance(output, str) and _shows_errors(name, given) else find_error_text(output)


def _shows_errors(name: str, given: Any) -> bool:
    """Does a call show logs or files, so that an error in its result is not its own?"""
    values = given.values() if isinstance(given, Mapping) else (given,)
    texts = [value[:_LOOKED_AT].lower() for value in values if isinstance(value, str)]
    last = [found for text in texts if (found := _COMMANDS.split(text.strip())[-1].split())]
    shown = any(command[0] in words("cues", "shows") for command in last if len(command) > 1)
    files = (text for text in texts if _FILE.fullmatch(text.strip()))
    spoken_of = {part for text in (name.lower(), *files) for part in _NAME_PART.findall(text)}
    return shown or not spoken_of.isdisjoint(words("cues", "logs"))


def _find_error_in_object(output: Mapping[Any, Any]) -> str | None:
    """Returns the error that a result object reports, or None."""
    only_error = not (output.keys() - set(table("cues")["error_fields"]))
    message = output.get("error") or output.get("errors") or output.get("exception")
    if message and only_error:
        return str(message)[:_LOOKED_AT]
    text = str(message or output.get("message") or output.get("detail") or "")
    status = next((found for field in _STATUS_FIELDS if (found := _read_status(output.get(field)))), None)
    if status and (only_error or message or not output.get("code")):
        return f"{status} {text}".strip()[:_LOOKED_AT]
    refused = output.get("success") is False or output.get("ok") is False or output.get("isError") is True
    return (text or "not successful")[:_LOOKED_AT] if refused and (message or only_error) else None


def _read_status(value: Any) -> int | None:
    """The HTTP status of an error, as a number or its digits."""
    if isinstance(value, str) and value[:3].isdigit() and not value[3:4].isalnum():
        value = int(value[:3])
    return value if isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600 else None


def _find_exception(output: str) -> str | None:
    """Returns the last line of a traceback that ends the output, or None."""
    if "Traceback (most recent call last)" not in output[-20_000:]:
        return None
    last = output.rstrip().rpartition("\n")[2].strip()
    return last[:_LOOKED_AT] if re.match(r"[\w.]+(?:Error|Exception|Interrupt|Exit)\b", last) else None


@cache
def _openings() -> re.Pattern[str]:
    """Returns the pattern of openings that report an error."""
    openings = "|".join(re.escape(text) for text in table("cues")["error_openings"])
    phrases = "|".join(re.escape(text) for text in table("cues")["http_errors"])
    passing = "|".join(re.escape(text) for text in table("cues")["gateway_errors"])
    return re.compile(
        rf"(?:{openings}|[45]\d\d[:,]? (?:{phrases})\b|50[234]\b[:,]? (?:[-–(] ?)?(?:{passing})\b)", re.IGNORECASE
    )
