"""Judges in files as tests: one for the file itself, which must have no mistake, and one for each of its examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from krino.api.checking import Checked, Tried, check_file


class JudgeFile(pytest.File):
    """A file that the ini key `krino_judges` names."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yields a test for the file and one for each of its examples."""
        from krino.pytest_plugin.bench import labeller_of

        labeller = labeller_of(self.config)
        checked = check_file(self.path, None if labeller == "local" else labeller)
        yield FileItem.from_parent(self, name="file", checked=checked)
        for tried in checked.tried:
            yield ExampleItem.from_parent(self, name=f"example {tried.number}", tried=tried)


class FoundOtherwise(Exception):
    """What a judge's file or one of its examples gets wrong."""


class _Item(pytest.Item):
    line = 0

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        return str(excinfo.value) if isinstance(excinfo.value, FoundOtherwise) else str(super().repr_failure(excinfo))

    def reportinfo(self) -> tuple[Any, int, str]:
        return self.path, self.line, self.name


class FileItem(_Item):
    def __init__(self, *, checked: Checked, **more: Any) -> None:
        super().__init__(**more)
        self._checked = checked

    def runtest(self) -> None:
        if mistakes := [problem.in_line(self._checked.file) for problem in self._checked.mistakes]:
            raise FoundOtherwise("\n".join(mistakes))


class ExampleItem(_Item):
    def __init__(self, *, tried: Tried, **more: Any) -> None:
        super().__init__(**more)
        self._tried = tried
        self.line = tried.place.line - 1

    def runtest(self) -> None:
        """Fails if the example came out differently, and skips one that needs a labeller."""
        if self._tried.skipped:
            pytest.skip(self._tried.skipped)
        if self._tried.problem:
            raise FoundOtherwise(f"{self.path}:{self._tried.place.line}: {self._tried.problem}")
