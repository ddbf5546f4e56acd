"""Tells from a tool's result that the call failed, where the trace has no field of its own for that."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.tables import table

_LOOKED_AT = 400


def failure_in(output: Any) -> str | None:
    """The error text when a result is nothing but an error, else None."""
    if isinstance(output, Mapping):
        message = output.get("error")
        if message and not (output.keys() - set(table("cues")["error_fields"])):
            return str(message)[:_LOOKED_AT]
        return None
    if isinstance(output, str):
        start = output.lstrip()[:_LOOKED_AT]
        if _starts().match(start):
            return start
    return None


_compiled: list[re.Pattern[str]] = []


def _starts() -> re.Pattern[str]:
    if not _compiled:
        openings = "|".join(re.escape(text) for text in table("cues")["error_openings"])
        _compiled.append(re.compile(rf"(?:{openings})", re.IGNORECASE))
    return _compiled[0]
