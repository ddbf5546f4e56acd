"""Lets a judge add its own blocks to a case's detail in the report: data only, which the page draws as text.

A judge registers a `CaseView` under its name. Blocks can never carry HTML: the page writes every string as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any, Literal, Protocol

Tone = Literal["good", "warn", "bad", "info", "plain"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text. `mark` is its label, `title` explains it, `target` is the key of what it points at."""

    text: str
    mark: str | None = None
    title: str | None = None
    target: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Running text with labelled stretches; `tones` gives labels their colours, a legend names them."""

    title: str
    segments: Sequence[Segment]
    tones: Mapping[str, Tone] = field(default_factory=dict)
    key: str | None = None
    kind: Literal["marked"] = "marked"


@dataclass(frozen=True, slots=True)
class BulletList:
    title: str
    items: Sequence[str]
    key: str | None = None
    kind: Literal["list"] = "list"


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows of plain values; `tones` colours rows, in their order, which a row should also say in words."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str | float | bool | None]]
    tones: Sequence[Tone | None] = ()
    key: str | None = None
    kind: Literal["table"] = "table"


Block = MarkedText | BulletList | DataTable


class CaseView(Protocol):
    """From a judgement, as it stands in the journal, to the blocks that show it best.

    Under `case` it has the raw record it was made of, where that could be read again.
    """

    def __call__(self, judgement: Mapping[str, Any], /) -> Sequence[Block]: ...


_VIEWS: dict[str, CaseView] = {}
_OURS = {
    "citation": "krino.judges.citation.view:citation_blocks",
    "efficiency": "krino.judges.efficiency.view:efficiency_blocks",
    "rag": "krino.judges.rag.view:rag_blocks",
}
"""Views of our own judges, imported when the first judgement of theirs is shown."""


def register_view(judge: str, view: CaseView) -> None:
    """A later registration for the same judge replaces the earlier one."""
    _VIEWS[judge] = view


def has_view(judge: str) -> bool:
    return judge in _VIEWS or judge in _OURS


def _view(judge: str) -> CaseView:
    if judge not in _VIEWS:
        module, _, name = _OURS[judge].partition(":")
        _VIEWS[judge] = getattr(import_module(module), name)
    return _VIEWS[judge]


def blocks_of(judgement: Mapping[str, Any]) -> list[dict[str, Any]]:
    """As plain data. A view that fails costs its own blocks, never the report."""
    name = str(judgement.get("judge"))
    if not has_view(name):
        return []
    try:
        return [asdict(block) for block in _view(name)(judgement)]
    except Exception as fault:
        told = f"The view of judge `{judgement.get('judge')}` failed: {type(fault).__name__}: {fault}"
        return [asdict(BulletList("View", [told]))]
