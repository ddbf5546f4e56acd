"""Reads the YAML of a front matter as values that know their line and column.

Only what a judge needs is read: no anchors, aliases or tags, and of plain words only `true`, `false`, `null` and
numbers are not text. `yes` and `no` are labels that people give, so they stay the words they are.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import yaml

from krino.judges.file.problems import Place, Problem
from krino.text.clean import sound

_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(
    r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?|[-+]?[0-9]{1,18}[eE][-+]?[0-9]{1,3}"
)
_WORDS: dict[str, Any] = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}
_QUOTE_IT = "put a text that holds : # { } [ ] , & or quotation marks between quotation marks"
_DEEPEST = 20
_MOST_NODES = 5_000
_USUAL_TAGS = tuple(f"tag:yaml.org,2002:{name}" for name in ("str", "null", "seq", "map"))


@dataclass(slots=True)
class Value:
    """`data` is a text, number, true, false, None, a list of values, or a dict from keys to values."""

    data: Any
    place: Place
    keys: dict[str, Place] = field(default_factory=dict)
    """The place of each key of a mapping."""
    raw: str = ""
    """A scalar as it is written in the file."""
    exact: bool = True
    """Whether offsets in the text are also offsets from `place` in the file."""

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.data, dict)

    @property
    def is_list(self) -> bool:
        return isinstance(self.data, list)

    @property
    def is_number(self) -> bool:
        return type(self.data) in (int, float)

    def at(self, offset: int) -> Place:
        """Returns the place of a character of a text; where it cannot be known, that of the text."""
        return Place(self.place.line, self.place.column + offset) if self.exact else self.place

    def plain(self) -> Any:
        """Returns the value without places."""
        if self.is_mapping:
            return {name: inner.plain() for name, inner in self.data.items()}
        return [inner.plain() for inner in self.data] if self.is_list else self.data


def read_front_matter(text: str, first_line: int, problems: list[Problem]) -> Value:
    """Returns the values of a front matter; an empty mapping, and a problem, where nothing can be read.

    `first_line` is the line of the file that the text begins in.
    """
    nothing = Value({}, Place(first_line, 1))
    try:
        _refuse_references(text)
        node = yaml.compose(text, Loader=_Loader)
        if node is None:
            return nothing
        value = _Reader(text, first_line, problems).read(node, 0)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(first_line, 1) if mark is None else Place(first_line + mark.line, mark.column + 1)
        problems.append(Problem(place, f"this is no YAML: {_in_words(error)}"))
        return nothing
    except (yaml.YAMLError, ValueError) as error:
        problems.append(Problem(Place(first_line, 1), f"this is no YAML: {str(error).splitlines()[0]}"))
        return nothing
    except RecursionError:
        problems.append(Problem(Place(first_line, 1), f"the front matter is nested deeper than {_DEEPEST} levels"))
        return nothing
    if not value.is_mapping:
        problems.append(Problem(value.place, "the front matter must be a mapping; write `labels: {good: 1, bad: 0}`"))
        return nothing
    return value


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """The resolver of YAML is not asked: `_Reader` decides what a plain word is.

    PyYAML ends a plain text between braces at `?`. YAML does not, and a case of an example is often a question.
    """

    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
    _is_in_plain_text = False

    def scan_plain(self) -> Any:
        """Scans a plain text as PyYAML does, while `peek` hides every `?` from it."""
        self._is_in_plain_text = True
        try:
            return super().scan_plain()
        finally:
            self._is_in_plain_text = False

    def peek(self, index: int = 0) -> str:
        """Returns the character ahead; "x" for a `?` inside a plain text, so that it does not end there."""
        char: str = super().peek(index)
        return "x" if char == "?" and self._is_in_plain_text else char


def _refuse_references(text: str) -> None:
    """Refuses anchors, aliases and deep nesting.

    An alias repeats what it names, and a chain of them grows without bound.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(problem="anchors and aliases are not read here", problem_mark=event.start_mark)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"nested deeper than {_DEEPEST} levels", problem_mark=event.start_mark)


def _in_words(error: yaml.MarkedYAMLError) -> str:
    message = str(error.problem or error).replace("'<stream end>'", "the end of the front matter")
    is_unquoted = message.startswith(("expected", "mapping values")) and "the end of" not in message
    return f"{message}; {_QUOTE_IT}" if is_unquoted else message


class _Reader:
    def __init__(self, text: str, first_line: int, problems: list[Problem]) -> None:
        self._lines = text.splitlines()
        self._first = first_line
        self._problems = problems
        self._nodes = 0

    def read(self, node: yaml.Node, depth: int) -> Value:
        """Reads a node of the YAML tree, and notes mistakes with their place.

        Of a key that is given twice the first value counts.
        """
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise ValueError(f"the front matter has more than {_MOST_NODES:,} values")
        place = self._place(node)
        if not node.tag.startswith(_USUAL_TAGS):
            self._problems.append(Problem(place, f"the tag {node.tag!r:.60} is not read here"))
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, place)
        if isinstance(node, yaml.SequenceNode):
            return Value([self.read(item, depth + 1) for item in node.value], place)
        made = Value({}, place)
        for key, inner in self._pairs(node):
            name = self._scalar(key, self._place(key)).raw
            if name in made.data:
                self._problems.append(Problem(self._place(key), f"`{name}` is given twice"))
                continue
            made.keys[name] = self._place(key)
            made.data[name] = self.read(inner, depth + 1)
        return made

    def _pairs(self, node: Any) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        """Yields keys with their values; a key that is no word is noted as a mistake and left out."""
        for key, inner in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key, inner
            else:
                self._problems.append(Problem(self._place(key), "a key must be a word"))

    def _place(self, node: yaml.Node) -> Place:
        return Place(self._first + node.start_mark.line, node.start_mark.column + 1)

    def _scalar(self, node: yaml.ScalarNode, place: Place) -> Value:
        """Reads a single value, and where its text begins; mistakes in it are noted."""
        raw = sound(node.value)
        if raw != node.value:
            self._problems.append(Problem(place, "half a character (a lone surrogate) is no text"))
        one_line = node.start_mark.line == node.end_mark.line
        if node.style is None:
            data = _plain(raw)
            if isinstance(data, float) and not math.isfinite(data):
                self._problems.append(Problem(place, f"the number {raw} is too large"))
                data = 0.0
            return Value(data, place, raw=raw, exact=one_line)
        if node.style in "|>":
            line = node.start_mark.line + 1
            text = self._lines[line] if line < len(self._lines) else ""
            indent = len(text) - len(text.lstrip(" "))
            inside = Place(self._first + line, indent + 1)
            return Value(raw, inside, raw=raw, exact="\n" not in raw.rstrip("\n"))
        width = node.end_mark.column - node.start_mark.column
        exact = one_line and width == len(raw) + 2  # no escapes in it
        return Value(raw, Place(place.line, place.column + 1), raw=raw, exact=exact)


def _plain(raw: str) -> Any:
    """Converts a plain word: null, true, false, a number or text."""
    if raw in _WORDS:
        return _WORDS[raw]
    if _INT.fullmatch(raw):
        return int(raw)
    return float(raw) if _FLOAT.fullmatch(raw) else raw
