"""Mistakes in a judge's file: each with its line and column, all reported at once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from krino.errors import UsageProblem
from krino.text.clean import clean_line

_MOST_SHOWN = 20


class Place(NamedTuple):
    """Of a character in a file; both count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """`fatal`: the file cannot be used as it is. Otherwise it can, and is worth a second look."""

    place: Place
    text: str
    fatal: bool = True

    def in_line(self, file: str) -> str:
        """Returns the problem as one line: file, line, column and text."""
        kind = "" if self.fatal else "warning: "
        return f"{file}:{self.place.line}:{self.place.column}: {kind}{clean_line(self.text, 500)}"


class FileProblem(UsageProblem):
    """A judge's file that cannot be used; `problems` are all that was found."""

    def __init__(self, file: str, problems: Iterable[Problem]) -> None:
        """Sorts the problems by place, and makes a message of the first few."""
        self.file = file
        self.problems = sorted(problems, key=lambda problem: problem.place)
        shown = [problem.in_line(file) for problem in self.problems[:_MOST_SHOWN]]
        if more := len(self.problems) - len(shown):
            shown.append(f"and {more} more")
        super().__init__("\n".join(shown))
