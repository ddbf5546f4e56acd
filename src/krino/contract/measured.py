"""The agreement with people that was measured for a judge, written at the end of its file or of its prompt.

It is one line, a comment that no model is sent, and names the judge and the labeller it was measured for by their hash:
of an edited judge, or with another model, it says nothing any more.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import orjson

from krino.contract.identity import hash_fingerprint

_LINE = re.compile(r"\n<!-- krino measured (\{[^\n]{0,20000}\}) -->\s*\Z")


@dataclass(frozen=True, slots=True)
class Measured:
    """A measured agreement. `judge` and `labeller` are hashes of what it was measured for."""

    judge: str
    labeller: str
    labelled_by: str
    """The labeller in words."""
    field: str
    agreement: float
    low: float
    high: float
    labels: int
    """How many labelled cases, none of which the judge was changed by."""

    def __str__(self) -> str:
        share = f"{self.agreement:.1%} ({self.low:.1%} to {self.high:.1%})"
        return f"{share} of `{self.field}` on {self.labels:,} labels that were held out, with {self.labelled_by}"

    def belongs_to(self, fingerprint: Mapping[str, Any], labeller: Mapping[str, Any]) -> bool:
        """Whether it was measured for this judge with this labeller."""
        return hash_fingerprint(fingerprint) == self.judge and hash_labeller(labeller) == self.labeller


def hash_labeller(labeller: Mapping[str, Any]) -> str:
    """Returns a labeller's description as one short hash."""
    written = orjson.dumps(dict(labeller), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr)
    return hashlib.blake2b(written, digest_size=8).hexdigest()


def split_measured(text: str) -> tuple[str, Measured | None]:
    """Returns a text without the line of its measured agreement, and that agreement; None if there is no such line or
    it cannot be read."""
    found = _LINE.search(text)
    if found is None:
        return text, None
    return text[: found.start()], _parse_measured(found.group(1))


def with_measured(text: str, measured: Measured) -> str:
    """Returns the text with this agreement, in place of an earlier one; `split_measured` gives the same text back."""
    line = orjson.dumps(asdict(measured)).decode()
    harmless = line.replace("<", "\\u003c").replace(">", "\\u003e")  # nothing in the line ends the comment
    return f"{split_measured(text)[0]}\n<!-- krino measured {harmless} -->\n"


def _parse_measured(line: str) -> Measured | None:
    """Parses a measured agreement; None unless it has exactly the right fields and possible values: a file may come
    from anyone."""
    try:
        given = orjson.loads(line)
        kinds = {"agreement": float, "low": float, "high": float, "labels": int}
        if given.keys() != set(Measured.__slots__):
            return None
        read = {name: kinds.get(name, str)(value) for name, value in given.items()}
        found = Measured(**read)
    except (ValueError, TypeError, AttributeError):
        return None
    return found if 0 <= found.low <= found.agreement <= found.high <= 1 and found.labels > 0 else None
