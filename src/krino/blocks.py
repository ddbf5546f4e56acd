"""What is shown to people, as plain data: a terminal, Markdown and a web page each draw these blocks in their own way.

A block says what is shown and never how. It holds no markup: every string is text, whatever it looks like, and the
renderers (`krino.render`) escape it. `as_data` and `from_data` turn blocks into JSON values and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

Tone = Literal["good", "warn", "bad", "info", "plain"]
"""What a colour would say. The text says the same, since a reader may see no colours."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A value in a table that needs more than its text."""

    text: str
    tone: Tone | None = None
    strong: bool = False
    below: str = ""
    """Under it and smaller: the interval of a mean, say."""
    case: str | None = None
    """The id of the case that it names: a page links to it."""
    code: bool = False
    """A word of a formal language, such as the rule of a gate."""
    slice_of: str | None = None
    """The column of metadata that has it as a value: a page may link to the cases."""


Value: TypeAlias = str | float | bool | Cell | None


@dataclass(frozen=True, slots=True)
class Heading:
    """`mark` stands beside the text (a status, a score) in the colour of `tone`; `note` is quieter than both."""

    text: str
    mark: str = ""
    tone: Tone | None = None
    note: str = ""
    level: int = 2
    kind: Literal["heading"] = "heading"


@dataclass(frozen=True, slots=True)
class Paragraph:
    """`small`: a note on how to read what stands above it."""

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
    """How a whole divides: so many `what`, and how many of them each part has."""

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
    """A number over all cases. `counts` are those of equal bins from `low`, each `step` wide."""

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
    """Every bin stands for one whole number."""
    tone: Tone | None = None

    def edges(self, place: int) -> tuple[float, float]:
        return round(self.low + place * self.step, 9), round(self.low + (place + 1) * self.step, 9)


@dataclass(frozen=True, slots=True)
class Scores:
    scores: Sequence[Score]
    kind: Literal["scores"] = "scores"


@dataclass(frozen=True, slots=True)
class Category:
    """How often each code was given, from the most frequent down; those of a closed list that never were count 0."""

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
    """Cases of like confidence: how sure they say they are, and how often they are right."""

    low: float
    high: float
    n: int
    confidence: float
    right: float


@dataclass(frozen=True, slots=True)
class Reliability:
    """Whether a confidence means what it says; from 0 to 1, or to 100 where `most` is that."""

    title: str
    bins: Sequence[ReliabilityBin]
    most: float = 1.0
    kind: Literal["reliability"] = "reliability"


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
    """Rows of values; `tones` colours rows, in their order, which a row should also say in words."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    tones: Sequence[Tone | None] = ()
    key: str | None = None
    figures: Sequence[int] = ()
    """The places of columns that hold numbers: they stand to the right and never break."""
    names: int = 1
    """The first so many columns say what a row is about: where a table must be split they stand in every part."""
    most: int = 0
    """Of more rows than these, terminal and Markdown show the first and say how many there are; 0: all."""
    kind: Literal["table"] = "table"


@dataclass(frozen=True, slots=True)
class Field:
    """A named value, who decided it, what it rests on, and what a reader should know before the value itself."""

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
    """Text in which every blank and line break counts."""

    title: str
    text: str
    kind: Literal["verbatim"] = "verbatim"


@dataclass(frozen=True, slots=True)
class Section:
    """Blocks under a heading of their own. `folded`: a page opens it on demand, the short forms leave it out."""

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
    """As JSON values; a field that has its default is left out, since reports hold many thousands of blocks."""
    return [_plain(block) for block in blocks]


def _plain(value: Any) -> Any:
    if value.__class__ in _SCALARS:  # by far the most
        return value
    if is_dataclass(value):
        kind: Any = type(value)
        held = ((name, getattr(value, name), default) for name, default in _defaults(kind).items())
        return {name: _plain(item) for name, item, default in held if name == "kind" or item != default}
    if isinstance(value, Mapping):
        return {str(name): _plain(held) for name, held in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple | range) else value


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    """Of each field; MISSING, which nothing equals, where it must be given."""
    return {
        item.name: item.default if item.default_factory is MISSING else item.default_factory() for item in fields(kind)
    }


def from_data(data: Any) -> list[Block]:
    """The blocks that were written by `as_data`. What is no block is left out: the data may come from anyone."""
    from pydantic import ValidationError

    found: list[Block] = []
    for item in data if isinstance(data, list) else ():
        try:
            found.append(_reader().validate_python(item))
        except ValidationError:
            continue
    return found


@cache
def _reader() -> Any:
    from pydantic import Field as PydanticField
    from pydantic import TypeAdapter

    return TypeAdapter(Annotated[Block, PydanticField(discriminator="kind")])
