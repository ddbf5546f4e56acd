"""Folders of Hugging Face `datasets` are read in the order of the dataset, and name no file outside themselves."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from krino.cases import read_cases
from krino.cases.origin import list_ignored_files
from krino.errors import UsageProblem

FILES = Path(__file__).with_name("tool_files")
arrow = pytest.importorskip("pyarrow")


def test_cases_of_all_splits_have_names_of_their_own(tmp_path: Path) -> None:
    shutil.copytree(FILES / "hf_splits", tmp_path / "data")
    found = [str(item.source) for item in read_cases([tmp_path / "data"])]
    name = "data-00000-of-00001.arrow:1"
    assert found == [f"{tmp_path}/data/train/{name}", f"{tmp_path}/data/test/{name}"]
    assert list_ignored_files([tmp_path / "data"]) == []


@pytest.mark.parametrize("name", ["../other.arrow", "/etc/passwd", "..", "a\\b", "", 7])
def test_a_dataset_that_names_a_file_elsewhere_is_refused(tmp_path: Path, name: object) -> None:
    shutil.copytree(FILES / "hf_dataset", tmp_path / "data")
    state = {"_data_files": [{"filename": "data-00000-of-00001.arrow"}, {"filename": name or ".."}]}
    (tmp_path / "data" / "state.json").write_text(json.dumps(state))
    with pytest.raises(UsageProblem, match="which is not in it"):
        list(read_cases([tmp_path / "data"]))


def test_a_selection_that_an_older_version_saved_is_refused(tmp_path: Path) -> None:
    shutil.copytree(FILES / "hf_dataset", tmp_path / "data")
    state = json.loads((tmp_path / "data" / "state.json").read_text())
    (tmp_path / "data" / "state.json").write_text(json.dumps(state | {"_indices_data_files": [{"filename": "x"}]}))
    with pytest.raises(UsageProblem, match="a selection of rows"):
        list(read_cases([tmp_path / "data"]))


def test_a_state_of_something_else_is_no_dataset(tmp_path: Path) -> None:
    (tmp_path / "state.json").write_text('{"question": "What?"}')
    assert [item.record for item in read_cases([tmp_path])] == [{"question": "What?"}]


def test_feather_files_are_read_and_broken_ones_refused(tmp_path: Path) -> None:
    from pyarrow import feather

    feather.write_feather(arrow.table({"id": ["a", "b"]}), str(tmp_path / "a.arrow"))
    assert [item.id for item in read_cases([tmp_path / "a.arrow"])] == ["a", "b"]
    (tmp_path / "a.arrow").write_text("id,question\n")
    with pytest.raises(UsageProblem, match="this is no readable Arrow file"):
        list(read_cases([tmp_path / "a.arrow"]))
