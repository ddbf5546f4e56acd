"""Resolves the inputs that a user names to files of known format, or says what is wrong."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from krino.cases.formats.dataset_folder import find_dataset_files
from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean_file

Format = Literal["auto", "jsonl", "json", "csv", "parquet", "arrow", "excel", "folder"]
"""`auto` and `folder` also recognise the files of other tools; the others take a file as rows of cases."""
FileFormat = Literal["stdin", "jsonl", "json", "csv", "parquet", "arrow", "excel", "inspect", "shard"]

_SUFFIXES: dict[str, FileFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".xlsx": "excel",
    ".eval": "inspect",
    ".shard": "shard",
}
_UNPACKED = frozenset({"parquet", "arrow", "excel", "inspect"})
"""Formats that are not also read with .gz after their ending."""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Origin:
    """One file, or stdin (`path` None). Format `stdin`: JSONL or a JSON list, depending on the first byte."""

    given: str
    path: Path | None
    format: FileFormat
    in_folder: bool = False
    recognised: bool = False
    """Whether it may be a file of another tool; with a format that the user names it is taken as it is."""
    label: str = ""
    """A name that tells it from others, where the file's own name does not."""

    @property
    def name(self) -> str:
        return self.label or (self.path.name if self.path else "stdin")

    @property
    def shown(self) -> str:
        return self.given if self.path else "stdin"

    @property
    def delimiter(self) -> str | None:
        """Tab for names ending in .tsv; None if the delimiter must be found in the header."""
        return "\t" if self.path and _suffix(self.path) == ".tsv" else None

    @property
    def is_regular(self) -> bool:
        """Whether it can be read more than once, unlike a pipe."""
        return self.path is not None and self.path.is_file()


def find_origins(inputs: Sequence[str | os.PathLike[str]], wanted: Format) -> Iterator[Origin]:
    """The files of the inputs, and of folders among them. Raises `UsageProblem` for the first that cannot be used."""
    stdin_taken = False
    for item in inputs:
        if os.fspath(item) == "-":
            if stdin_taken:
                raise UsageProblem("stdin (-) is named twice; it can be read only once")
            stdin_taken = True
            yield Origin("-", None, _stdin_format(wanted))
        else:
            yield from _find_on_disk(os.fspath(item), wanted)


def _stdin_format(wanted: Format) -> FileFormat:
    """Returns the format of stdin; raises `UsageProblem` for formats that need a file."""
    if wanted == "auto":
        return "stdin"
    if wanted == "parquet" or wanted == "arrow" or wanted == "excel" or wanted == "folder":
        raise UsageProblem(f"format {wanted} cannot be read from stdin; name the file or folder")
    return wanted


def _find_on_disk(given: str, wanted: Format) -> Iterator[Origin]:
    """Yields the files that a path names: itself, or those in the folder. Raises `UsageProblem` if it cannot be
    used."""
    path = Path(given)
    shown = _storable(given)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        guess = did_you_mean_file(path, lambda other: other.is_dir() or _kind(other) is not None)
        raise UsageProblem(f"{shown}: the input cannot be read: {reason}{guess}; check the path") from None
    if is_folder:
        if wanted not in ("auto", "folder"):
            raise UsageProblem(f"{shown}: this is a folder, not a {wanted} file; name the file")
        yield from _find_in_folder(given, path, shown)
    elif wanted == "folder":
        raise UsageProblem(f"{shown}: this is a file, not a folder; name the folder or leave out the format")
    else:
        yield Origin(
            shown, path, _file_format(path, shown) if wanted == "auto" else wanted, recognised=wanted == "auto"
        )


def _find_in_folder(given: str, path: Path, shown: str) -> Iterator[Origin]:
    """The files of cases in a folder: those of a Hugging Face dataset, or all whose names show a format."""
    if (names := find_dataset_files(path, shown)) is not None:
        for name in names:
            yield Origin(f"{shown.rstrip('/')}/{name}", path / name, "arrow", label=name)
        return
    for name, kind in _files_in(path, shown).items():
        file = _storable(os.path.join(given, name))  # noqa: PTH118
        yield Origin(file, path / name, kind, in_folder=True, recognised=True)


def _file_format(path: Path, shown: str) -> FileFormat:
    """Returns the format that a file's name implies; raises `UsageProblem` if it implies none."""
    kind = _kind(path)
    if kind is None:
        raise UsageProblem(
            f"{shown}: unknown kind of file `{path.suffix}`; give the format (--format jsonl, json, csv, parquet, "
            f"arrow or excel), or a name ending in {', '.join(_SUFFIXES)} (.gz after it is fine for text)"
        )
    return kind


def _kind(path: Path) -> FileFormat | None:
    """The format by the file's name; None if it does not show it."""
    kind = _SUFFIXES.get(_suffix(path))
    return None if kind in _UNPACKED and path.suffix.lower() == ".gz" else kind


def known_suffixes(path: Path) -> str:
    """The suffixes that show the format (`.csv`, `.jsonl.gz`); empty if there are none."""
    if _suffix(path) not in _SUFFIXES:
        return ""
    return "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix


def _suffix(path: Path) -> str:
    """The suffix that shows the format: the one before .gz for a packed file."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _storable(path: str) -> str:
    """A path as text that can be written as UTF-8, whatever bytes the file name holds."""
    return path.encode("utf-8", "backslashreplace").decode()


def _files_in(folder: Path, shown: str) -> Mapping[str, FileFormat]:
    """The files of cases directly in a folder with their formats, sorted by name, without hidden ones and shards.
    Raises if there are none."""
    kinds = {name: _kind(Path(name)) for name in sorted(_list_visible(folder, shown))}
    if found := {name: kind for name, kind in kinds.items() if kind is not None and kind != "shard"}:
        return found
    endings = ", ".join(suffix for suffix, kind in _SUFFIXES.items() if kind != "shard")
    raise UsageProblem(f"{shown}: the folder holds no files of cases ({endings}); name those of other kinds one by one")


def list_ignored_files(inputs: Sequence[str | os.PathLike[str]]) -> list[str]:
    """One line for each folder among the inputs that has files which are not read."""
    lines = []
    for folder in (Path(item) for item in inputs if Path(item).is_dir()):
        shown = _storable(str(folder))
        if find_dataset_files(folder, shown) is not None:
            continue
        read = _files_in(folder, shown)
        if left := sorted(_storable(name) for name in _list_visible(folder, shown) if name not in read):
            more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
            lines.append(f"{shown}: no cases are looked for in {', '.join(left[:_MOST_NAMED])}{more}")
    return lines


def _list_visible(folder: Path, shown: str) -> list[str]:
    """Returns the names in a folder that are not hidden."""
    try:
        return [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
    except OSError as error:
        raise UsageProblem(f"{shown}: the folder cannot be read: {error.strerror}") from None
