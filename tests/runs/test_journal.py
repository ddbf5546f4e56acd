"""The journal: whole lines or nothing, the last line of a case counts, order comes back on reading."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import krino
from krino.errors import UsageProblem
from krino.runs.journal import Journal, read_in_order, read_raw, scan


def judgement(index: int, status: str = "ok", digest: str = "ab" * 16, **extra: Any) -> krino.Judgement:
    fields: dict[str, Any] = {"verdict": {"score": 1.0}, "decided_by": {"score": "R"}}
    if status != "ok":
        fields = {"verdict": None, "reason": "r" if status == "failed" else None, "error": "e"}
    return krino.Judgement(
        index=index, id=f"c{index}", judge="toy", judge_version="1", status=status, input_hash=digest, **fields, **extra
    )


def test_order_is_restored_on_reading(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    for index in (3, 0, 2, 1):
        journal.append(judgement(index))
    journal.close()
    assert [item.index for item in read_in_order(tmp_path / "j.jsonl")] == [0, 1, 2, 3]


def test_the_last_line_of_a_case_counts(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append(judgement(0, "error"))
    journal.append(judgement(0, "ok"))
    journal.close()
    assert [item.status for item in read_in_order(tmp_path / "j.jsonl")] == ["ok"]
    assert scan(tmp_path / "j.jsonl").counts().model_dump() == {"ok": 1, "failed": 0, "error": 0}


def test_an_error_is_tried_again_a_settled_case_is_not(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    for index, status in enumerate(("ok", "failed", "error")):
        journal.append(judgement(index, status))
    journal.close()
    assert [journal.progress.is_done(index, "ab" * 16) for index in range(4)] == [True, True, False, False]


def test_a_case_whose_content_changed_is_judged_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append(judgement(0, digest="ab" * 16))
    journal.close()
    assert not journal.progress.is_done(0, "cd" * 16)


@given(st.data())
def test_a_journal_cut_anywhere_loses_at_most_the_torn_line(data: st.DataObject) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "j.jsonl"
        journal = Journal(path)
        for index in range(3):
            journal.append(judgement(index))
        journal.close()
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        again = Journal(path)
        kept = whole[:cut].count(b"\n")
        assert again.progress.counts().ok == kept
        again.append(judgement(kept))
        again.close()
        assert [item.index for item in read_in_order(path)] == list(range(kept + 1))


def test_a_line_that_is_no_judgement_is_named(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    path.write_text('{"index": 0}\n')
    with pytest.raises(krino.UsageProblem, match=r"j.jsonl:1: not a judgement .*remove the line"):
        scan(path)


def test_usage_of_all_lines_is_summed(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j.jsonl")
    journal.append(judgement(0, "error", usage=krino.Usage(calls=2, input_tokens=5, cost=0.5)))
    journal.append(judgement(0, "ok", usage=krino.Usage(calls=1, input_tokens=7, cost=0.25)))
    journal.close()
    usage = scan(tmp_path / "j.jsonl").usage
    assert (usage.calls, usage.input_tokens, usage.cost) == (3, 12, 0.75)


@pytest.mark.skipif(sys.platform == "win32", reason="no such lock there")
def test_two_processes_cannot_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    journal = Journal(path)
    code = f"from pathlib import Path; from krino.runs.journal import Journal; Journal(Path({str(path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    journal.close()
    assert "another process is writing" in done.stderr


def test_a_journal_that_is_a_link_out_of_the_folder_is_neither_read_nor_written(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    link = tmp_path / "run" / "judgements.jsonl"
    link.symlink_to(tmp_path / "outside")
    for there in (False, True):
        if there:
            (tmp_path / "outside").write_bytes(b"")
        with pytest.raises(UsageProblem, match="a link"):
            Journal(link)
        with pytest.raises(UsageProblem, match="a link"):
            scan(link)
        with pytest.raises(UsageProblem, match="a link"):
            next(read_raw(link), None)
        assert (tmp_path / "outside").exists() == there
