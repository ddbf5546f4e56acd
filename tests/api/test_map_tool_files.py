"""`krino map` reads as many cases of other tools as were written by hand, and proposes nothing that hinders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from krino.api.mapping import map_files
from krino.errors import CannotJudge, UsageProblem
from krino.judges.registry import load_judge

FILES = Path(__file__).parents[1] / "cases" / "tool_files"
BY_HAND = {
    file: cases for files, cases in json.loads((FILES / "by_hand.json").read_text()).items() for file in files.split()
}
RAG = load_judge("rag")


def is_readable(case: object) -> bool:
    try:
        RAG.study(RAG.read(case))  # type: ignore[arg-type]
    except CannotJudge:
        return False
    return True


@pytest.mark.parametrize("file", BY_HAND)
def test_map_counts_what_can_be_read_and_what_cannot(file: str) -> None:
    found = map_files([str(FILES / file)], "rag")
    wanted = [case for case in BY_HAND[file].values() if not isinstance(case, str) and is_readable(case)]
    assert (found.readable, found.records, found.pairs) == (len(wanted), len(BY_HAND[file]), [])
    reasons = [reason for reason in BY_HAND[file].values() if isinstance(reason, str)]
    assert all(any(reason in seen for seen in found.reasons) for reason in reasons)


def test_a_file_without_any_output_says_why(tmp_path: Path) -> None:
    lines = (FILES / "promptfoo.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "failed.jsonl").write_text("".join(line for line in lines if "503" in line))
    with pytest.raises(UsageProblem, match=r"no case that can be read \(.*has no output: the server said 503"):
        map_files([str(tmp_path / "failed.jsonl")], "rag")
