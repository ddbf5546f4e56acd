"""A judge in a form that travels: enough to build the same judge again in another process or on another machine."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from krino.contract import AnyJudge
from krino.contract.fingerprint import of_source, source_files
from krino.errors import UsageProblem
from krino.judges.registry import address_of, load_judge


@dataclass(frozen=True, slots=True)
class JudgeReference:
    """Plain data, so that it can be pickled or sent as JSON (`dataclasses.asdict`).

    Loading one runs the code that it names or carries: load only what you sent yourself.
    """

    address: str
    """`rag`, `package.module:Class` or `path/to/file.py:Class`."""
    options: Mapping[str, Any]
    prompt: str
    source_hash: str
    """Of the judge's source, as in its fingerprint: what is loaded must be the same judge."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The text of the user's own modules, by their path below a folder; empty for judges that are installed."""

    @classmethod
    def of(cls, judge: AnyJudge) -> JudgeReference:
        """Returns the reference to a judge: address, options, prompt and source files."""
        kind = type(judge)
        return cls(
            address=_portable_address(kind) or address_of(kind),
            options=judge.options.model_dump(mode="json"),
            prompt=judge.prompt,
            source_hash=of_source(kind),
            files={_find_place(name, file): file.read_text("utf-8") for name, file in source_files(kind).items()},
        )

    def load(self) -> AnyJudge:
        """Returns the judge, from the files at hand where they are the same, else from those that came with it.

        Refuses one whose source is another.
        """
        where, _, name = self.address.rpartition(":")
        if not self.files:
            return self._require_same(load_judge(self.address, self.options, self.prompt))
        if where.endswith(".py"):
            here = Path(where)
            if here.is_file() and here.read_text("utf-8") == self.files.get(here.name):
                return self._require_same(load_judge(self.address, self.options, self.prompt))
            return self._require_same(
                load_judge(f"{_unpack(self.files) / here.name}:{name}", self.options, self.prompt)
            )
        sys.path.insert(0, str(_unpack(self.files)))
        return self._require_same(load_judge(self.address, self.options, self.prompt))

    def _require_same(self, judge: AnyJudge) -> AnyJudge:
        """Returns the judge if its source is that of the sender, and refuses another one."""
        if of_source(type(judge)) != self.source_hash:
            raise UsageProblem(
                f"judge `{self.address}` is another one here than where the work comes from: its source differs; "
                "install the same version on both"
            )
        return judge


def _portable_address(kind: type[AnyJudge]) -> str | None:
    """Returns an address that works on another machine, or None for a judge that is a class.

    For a judge in a file, the file itself: it is small, and the other machine may not have it.
    """
    if not hasattr(kind, "definition"):
        return None
    from krino.judges.file.judge import portable_address

    return portable_address(kind)


def _find_place(module: str, file: Path) -> str:
    """Returns the path of a module's file below the folder that it is imported from."""
    if module.startswith("krino_user_"):
        return file.name
    parts = module.split(".")
    return "/".join([*parts, "__init__.py"] if file.name == "__init__.py" else [*parts[:-1], f"{parts[-1]}.py"])


_folders: dict[int, tempfile.TemporaryDirectory[str]] = {}
"""Unpacked sources, removed when the process ends."""


def _unpack(files: Mapping[str, str]) -> Path:
    """Writes the sent files into a temporary folder, once for each set of files; returns the folder."""
    key = hash(tuple(sorted(files.items())))
    if key not in _folders:
        _folders[key] = tempfile.TemporaryDirectory(prefix="krino-judge-")
        for place, text in files.items():
            target = Path(_folders[key].name, place)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
    return Path(_folders[key].name)
