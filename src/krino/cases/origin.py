"""Where cases come from: turn the inputs a user names into files of known format, or say what is wrong."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from krino.errors import UsageProblem

Format = Literal["auto", "jsonl", "json", "csv", "parquet", "folder"]
FileFormat = Literal["stdin", "jsonl", "json", "csv", "parquet", "shard"]

_SUFFIXES: dict[str, FileFormat] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".shard": "shard",
}


@dataclass(frozen=True, slots=True)
class Origin:
    """One file, or stdin (`path` None). Format `stdin` means JSONL or a JSON list, as its first byte tells."""

    given: str
    path: Path | None
    format: FileFormat
    in_folder: bool = False

    @property
    def name(self) -> str:
        return self.path.name if self.path else "stdin"

    @property
    def shown(self) -> str:
        return self.given if self.path else "stdin"

    @property
    def delimiter(self) -> str | None:
        """The delimiter a name ending in .tsv promises; None where the header has to tell."""
        return "\t" if self.path and _suffix(self.path) == ".tsv" else None

    @property
    def is_regular(self) -> bool:
        """Whether its start can be looked at and read again (a pipe's cannot)."""
        return self.path is not None and self.path.is_file()


def find_origins(inputs: Sequence[str | os.PathLike[str]], wanted: Format) -> Iterator[Origin]:
    """The files behind the inputs, folders opened; raises `UsageProblem` for the first that cannot be used."""
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
    if wanted == "auto":
        return "stdin"
    if wanted == "parquet" or wanted == "folder":
        raise UsageProblem(f"format {wanted} cannot be read from stdin; name the file or folder")
    return wanted


def _find_on_disk(given: str, wanted: Format) -> Iterator[Origin]:
    path = Path(given)
    shown = _storable(given)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageProblem(f"{shown}: the input cannot be read: {reason}; check the path") from None
    if is_folder:
        if wanted not in ("auto", "folder"):
            raise UsageProblem(f"{shown}: this is a folder, not a {wanted} file; name the file")
        for name in json_files(path, shown):
            yield Origin(_storable(os.path.join(given, name)), path / name, "json", in_folder=True)  # noqa: PTH118
    elif wanted == "folder":
        raise UsageProblem(f"{shown}: this is a file, not a folder; name the folder or leave out the format")
    else:
        yield Origin(shown, path, _file_format(path, shown) if wanted == "auto" else wanted)


def _file_format(path: Path, shown: str) -> FileFormat:
    suffix = _suffix(path)
    packed = path.suffix.lower() == ".gz"
    if suffix not in _SUFFIXES or (packed and suffix == ".parquet"):
        raise UsageProblem(
            f"{shown}: unknown kind of file `{path.suffix}`; give the format (--format jsonl, json, csv or parquet), "
            f"or a name ending in {', '.join(_SUFFIXES)} (.gz after it is fine, except for parquet)"
        )
    return _SUFFIXES[suffix]


def known_suffixes(path: Path) -> str:
    """What of a name tells the format (`.csv`, `.jsonl.gz`); empty where nothing does."""
    if _suffix(path) not in _SUFFIXES:
        return ""
    return "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix


def _suffix(path: Path) -> str:
    """The suffix that tells the format: the one before .gz when the file is packed."""
    return Path(path.stem).suffix.lower() if path.suffix.lower() == ".gz" else path.suffix.lower()


def _storable(path: str) -> str:
    """A path as text that can be written as UTF-8, whatever bytes the file name holds."""
    return path.encode("utf-8", "backslashreplace").decode()


def json_files(folder: Path, shown: str) -> list[str]:
    """The names of the *.json files right inside the folder, sorted; hidden ones are left out."""
    try:
        names = [entry.name for entry in folder.iterdir() if entry.name.lower().endswith(".json")]
    except OSError as error:
        raise UsageProblem(f"{shown}: the folder cannot be read: {error.strerror}") from None
    if visible := sorted(name for name in names if not name.startswith(".")):
        return visible
    raise UsageProblem(
        f"{shown}: the folder holds no *.json files; name files of other formats one by one ({shown}/*.jsonl)"
    )
