"""Finds the Arrow files of a folder that `datasets` (Hugging Face) wrote with `save_to_disk`, splits included.

Described at https://huggingface.co/docs/datasets/process#save. A folder of Parquet files needs nothing of this.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from krino.errors import UsageProblem

_STATE, _SPLITS = "state.json", "dataset_dict.json"
_ADVICE = "save the dataset again with save_to_disk"


def find_dataset_files(folder: Path, shown: str) -> list[str] | None:
    """The names of the files below the folder, in the order of the dataset; None if it is no such folder."""
    if (folder / _SPLITS).is_file():
        splits = _read(folder / _SPLITS, shown).get("splits")
        names = splits if isinstance(splits, list) else []
        return [f"{name}/{file}" for name in names for file in _files_of(folder / _inside(name, shown), shown)]
    if (folder / _STATE).is_file() and _is_state(found := _read(folder / _STATE, shown)):
        return list(_names(found, shown))
    return None


def _files_of(folder: Path, shown: str) -> Iterator[str]:
    state = _read(folder / _STATE, f"{shown}/{folder.name}")
    if not _is_state(state):
        raise UsageProblem(f"{shown}/{folder.name}/{_STATE}: it names no files of a dataset; {_ADVICE}")
    yield from _names(state, shown)


def _is_state(state: dict[str, Any]) -> bool:
    files = state.get("_data_files")
    return isinstance(files, list) and all(isinstance(file, dict) and file.get("filename") for file in files)


def _names(state: dict[str, Any], shown: str) -> Iterator[str]:
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise UsageProblem(f"{shown}: the dataset is a selection of rows, which older versions saved apart; {_ADVICE}")
    for file in state["_data_files"]:
        yield _inside(file["filename"], shown)


def _inside(name: Any, shown: str) -> str:
    """A name of a file or folder directly in the dataset: the folder may come from anyone, and names no other file."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise UsageProblem(f"{shown}: the dataset names the file `{str(name)[:80]}`, which is not in it; {_ADVICE}")
    return name


def _read(file: Path, shown: str) -> dict[str, Any]:
    """Reads a JSON file of a dataset."""
    try:
        found = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise UsageProblem(f"{shown}/{file.name}: the file cannot be read: {error}; {_ADVICE}") from None
    return found if isinstance(found, dict) else {}
