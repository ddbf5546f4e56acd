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
        splits = _read_object(folder / _SPLITS, shown).get("splits")
        names = splits if isinstance(splits, list) else []
        return [
            f"{name}/{file}"
            for name in names
            for file in _list_files_of_split(folder / _check_inside(name, shown), shown)
        ]
    if (folder / _STATE).is_file() and _is_state(found := _read_object(folder / _STATE, shown)):
        return list(_list_file_names(found, shown))
    return None


def _list_files_of_split(folder: Path, shown: str) -> Iterator[str]:
    state = _read_object(folder / _STATE, f"{shown}/{folder.name}")
    if not _is_state(state):
        raise UsageProblem(f"{shown}/{folder.name}/{_STATE}: it names no files of a dataset; {_ADVICE}")
    yield from _list_file_names(state, shown)


def _is_state(state: dict[str, Any]) -> bool:
    files = state.get("_data_files")
    return isinstance(files, list) and all(isinstance(file, dict) and file.get("filename") for file in files)


def _list_file_names(state: dict[str, Any], shown: str) -> Iterator[str]:
    """Yields the file names in the state of a dataset; refuses a dataset that is a selection of rows."""
    if state.get("_indices_data_files") or state.get("_indices_files"):
        raise UsageProblem(f"{shown}: the dataset is a selection of rows, which older versions saved apart; {_ADVICE}")
    for file in state["_data_files"]:
        yield _check_inside(file["filename"], shown)


def _check_inside(name: Any, shown: str) -> str:
    """Returns the name if it is of a file or folder directly in the dataset; raises otherwise: the folder may come from
    anyone."""
    if not isinstance(name, str) or name in ("", ".", "..") or "/" in name or "\\" in name or "\0" in name:
        raise UsageProblem(f"{shown}: the dataset names the file `{str(name)[:80]}`, which is not in it; {_ADVICE}")
    return name


def _read_object(file: Path, shown: str) -> dict[str, Any]:
    """Reads a JSON file of a dataset; an empty dict if it holds no object."""
    try:
        found = orjson.loads(file.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise UsageProblem(f"{shown}/{file.name}: the file cannot be read: {error}; {_ADVICE}") from None
    return found if isinstance(found, dict) else {}
