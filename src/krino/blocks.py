"""Blocks: the content of reports and pages as plain data, independent of how it is drawn.

`krino.render` draws blocks on a terminal, as Markdown and as HTML. Blocks contain no markup: every string is plain text
that the renderers escape. `as_data` and `from_data` convert blocks to JSON values and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

Tone = Literal["good", "warn", "bad", "info", "plain"]
"""The meaning of a colour. The text must carry the same meaning, since a reader may not see colours."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A table value with more than a text."""

    text: str
    tone: Tone | None = None
    strong: bool = False
    below: str = ""
    """Smaller text below the value, such as the interval of a mean."""
    case: str | None = None
    """The id of a case that a page links to."""
    code: bool = False
    """Code, such as the rule of a gate."""
    slice_of: str | None = None
    """The metadata column with this value, so that a page can link to its cases."""


Value: TypeAlias = str | float | bool | Cell | None


@dataclass(frozen=True, slots=True)
class Heading:
    """`mark` is shown beside the text (a status, a score) in the colour of `tone`; `note` is less prominent."""

    text: str
    mark: str = ""
    tone: Tone | None = None
    note: str = ""
    level: int = 2
    kind: Literal["heading"] = "heading"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`small`: a note on how to read the block above."""

    text: str
    tone: Tone | None = None
    strong: bool = False
    small: bool = False
    kind: Literal["paragraph"] = "paragraph"


@dataclass(frozen=True, slots=True)
class Part:
    name: str
    count: int
    tone: Tone
    meaning: str = ""


@dataclass(frozen=True, slots=True)
class Parts:
    """A whole and its parts: the total number of `what`, and the count of each part."""

    what: str
    parts: Sequence[Part]
    kind: Literal["parts"] = "parts"

    @property
    def total(self) -> int:
        return sum(part.count for part in self.parts)


@dataclass(frozen=True, slots=True)
class KeyFigure:
    name: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    figures: Sequence[KeyFigure]
    kind: Literal["figures"] = "figures"


@dataclass(frozen=True, slots=True)
class Score:
    """A number over all cases. `counts` has the counts of equal bins from `low`, each `step` wide."""

    name: str
    n: int
    nulls: int
    mean: float
    interval: tuple[float, float] | None
    least: float
    most: float
    low: float
    step: float
    counts: Sequence[int]
    whole: bool
    """Every bin is one whole number."""
    tone: Tone | None = None

    def edges(self, place: int) -> tuple[float, float]:
        return round(self.low + place * self.step, 9), round(self.low + (place + 1) * self.step, 9)


@dataclass(frozen=True, slots=True)
class Scores:
    scores: Sequence[Score]
    kind: Literal["scores"] = "scores"


@dataclass(frozen=True, slots=True)
class Category:
    """The count of each code, most frequent first; codes of a closed list that never occurred have 0."""

    name: str
    n: int
    nulls: int
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Categories:
    categories: Sequence[Category]
    kind: Literal["categories"] = "categories"


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Cases of similar confidence: their mean confidence and the share that is right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """A reliability diagram of a confidence from 0 to `most`, which is 1 or 100."""

    title: str
    bins: Sequence[ReliabilityBin]
    most: float = 1.0
    kind: Literal["reliability"] = "reliability"


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text. `mark` is its label, `title` explains it, `target` is the key of the item that it links to."""

    text: str
    mark: str | None = None
    title: str | None = None
    target: str | None = None
    key: str | None = None


@dataclass(frozen=True, slots=True)
class MarkedText:
    """Text with labelled segments; `tones` has the colours of labels."""

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
    """Rows of values; `tones` has the colours of rows, whose meaning should also be in the text."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    tones: Sequence[Tone | None] = ()
    key: str | None = None
    figures: Sequence[int] = ()
    """The indexes of number columns, which are right-aligned and never wrap."""
    names: int = 1
    """The number of leading columns that identify a row, which are repeated if a table is split."""
    most: int = 0
    """The number of rows that terminal and Markdown show; 0 shows all."""
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Field:
    """A named value, who decided it (`by`), its evidence (`notes`), and caveats shown before it (`first`)."""

    name: str
    value: str
    tone: Tone | None = None
    by: str = ""
    notes: Sequence[str] = ()
    first: Sequence[str] = ()
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Fields:
    title: str
    fields: Sequence[Field]
    kind: Literal["fields"] = "fields"


@dataclass(frozen=True, slots=True)
class Verbatim:
    """Preformatted text."""

    title: str
    text: str
    kind: Literal["verbatim"] = "verbatim"


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading. `folded`: collapsed on a page, and left out on the terminal and in Markdown."""

    title: str
    blocks: Sequence[Block]
    key: str = ""
    folded: bool = False
    kind: Literal["section"] = "section"


Block: TypeAlias = (
    Heading
    | Paragraph
    | Parts
    | KeyFigures
    | Scores
    | Categories
    | Reliability
    | MarkedText
    | BulletList
    | DataTable
    | Fields
    | Verbatim
    | Section
)


_SCALARS = frozenset({str, int, float, bool, type(None)})


def as_data(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    """Returns blocks as JSON values. Defaults are left out, since reports contain many thousands of blocks."""
    return [_to_json(block) for block in blocks]


def _to_json(value: Any) -> Any:
    """Returns a block, or a value in one, as plain JSON values; fields with their default are left out."""
    kind = value.__class__
    if kind in _SCALARS:  # most values
        return value
    if kind is tuple or kind is list or kind is range:
        return [_to_json(item) for item in value]
    if (defaults := _defaults(kind)) is not None:
        out: dict[str, Any] = {}
        for name, default in defaults:
            item = getattr(value, name)
            if name == "kind" or item != default:
                out[name] = item if item.__class__ in _SCALARS else _to_json(item)
        return out
    if isinstance(value, Mapping):
        return {str(name): _to_json(held) for name, held in value.items()}
    return [_to_json(item) for item in value] if isinstance(value, list | tuple) else value


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...] | None:
    """Returns the fields of a dataclass with their defaults (MISSING, which equals nothing, if one is required); None
    for any other class."""
    if not is_dataclass(kind):
        return None
    return tuple(
        (item.name, item.default if item.default_factory is MISSING else item.default_factory())
        for item in fields(kind)
    )


def from_data(data: Any) -> list[Block]:
    """Returns the blocks written by `as_data`. Invalid items are left out, since the data may come from anyone."""
    from pydantic import ValidationError

    found: list[Block] = []
    for item in data if isinstance(data, list) else ():
        try:
            found.append(_block_validator().validate_python(item))
        except ValidationError:
            continue
    return found


@cache
def _block_validator() -> Any:
    """Returns the validator that builds blocks from JSON; it is made at first use."""
    from pydantic import Field as PydanticField
    from pydantic import TypeAdapter

    return TypeAdapter(Annotated[Block, PydanticField(discriminator="kind")])
