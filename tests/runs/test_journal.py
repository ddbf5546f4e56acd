"""The journal: whole lines or nothing, found by content, and the first settled line of a content counts."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import krino
from krino.contract import Status
from krino.runs import journal as journal_module
from krino.runs.checking import LineCheck
from krino.runs.index import is_open
from krino.runs.journal import Journal, read_journal, sealed_line
from krino.runs.manifest import Manifest, Plan

A, B = "ab" * 16, "cd" * 16


def judgement(index: int, status: str = "ok", digest: str | None = None, **extra: Any) -> krino.Judgement:
    fields: dict[str, Any] = {"verdict": {"score": 1.0}, "decided_by": {"score": "R"}}
    if status != "ok":
        fields = {"verdict": None, "reason": "r" if status == "failed" else None, "error": "e"}
    return krino.Judgement(
        index=index,
        id=f"c{index}",
        judge="toy",
        judge_version="1",
        status=status,
        input_hash=digest or f"{index:032x}",
        **fields,
        **extra,
    )


def of_toy() -> Manifest:
    return Manifest(plan=Plan(judge={"name": "toy", "version": "1"}, labeller={}, inputs=[]))


def check(folder: Path) -> LineCheck:
    return LineCheck(folder, of_toy())


def written(folder: Path, *judgements: krino.Judgement) -> Journal:
    """Written by one process, opened by the next."""
    first = Journal(folder)
    for item in judgements:
        first.append(item)
    first.close()
    again = Journal(folder)
    again.load(of_toy())
    return again


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        (["ok"], "ok"),
        (["failed"], "failed"),
        (["error"], "error"),
        (["error", "ok"], "ok"),
        (["error", "error", "failed"], "failed"),
        (["ok", "error"], "ok"),
        (["ok", "failed"], "ok"),
        (["failed", "ok", "error"], "failed"),
    ],
)
def test_the_first_settled_line_of_a_content_counts_and_beats_every_error(
    tmp_path: Path, lines: list[str], counts: str
) -> None:
    journal = written(tmp_path, *(judgement(place, status, A) for place, status in enumerate(lines)))
    assert (journal.index.status(A), journal.index.status(B)) == (counts, None)
    journal.close()


def test_only_what_is_not_settled_is_open() -> None:
    known: list[Status | None] = ["ok", "failed", "error", None]
    assert [is_open(status) for status in known] == [False, False, True, True]


def test_what_is_appended_is_known_at_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal.is_empty
    journal.append(judgement(0, "error", A, usage=krino.Usage(calls=2)))
    assert (journal.index.status(A), journal.index.usage.calls, journal.is_empty) == ("error", 2, False)
    journal.append(judgement(1, "ok", A, usage=krino.Usage(calls=1)))
    assert (journal.index.status(A), journal.index.usage.calls) == ("ok", 3)
    journal.close()


def test_usage_of_all_lines_is_summed(tmp_path: Path) -> None:
    first = judgement(0, "error", A, usage=krino.Usage(calls=2, input_tokens=5, cost=0.5))
    second = judgement(0, "ok", A, usage=krino.Usage(calls=1, input_tokens=7, cost=0.25))
    journal = written(tmp_path, first, second)
    usage = journal.index.usage
    assert (usage.calls, usage.input_tokens, usage.cost) == (3, 12, 0.75)
    journal.close()


@given(st.data())
def test_a_journal_cut_anywhere_loses_at_most_the_torn_line(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written(folder, *(judgement(index) for index in range(3))).close()
        path = folder / "judgements.jsonl"
        whole = path.read_bytes()
        cut = data.draw(st.integers(0, len(whole)))
        path.write_bytes(whole[:cut])
        kept = whole[:cut].count(b"\n")
        again = written(folder)
        assert [again.index.status(f"{index:032x}") for index in range(3)] == ["ok"] * kept + [None] * (3 - kept)
        again.append(judgement(kept))
        again.close()
        lines = [line.data["index"] for line in read_journal(folder, check(folder))]
        assert lines == list(range(kept + 1))
        assert path.read_bytes().endswith(b"\n")


def test_lines_say_where_they_stand(tmp_path: Path) -> None:
    written(tmp_path, judgement(0), judgement(1)).close()
    whole = (tmp_path / "judgements.jsonl").read_bytes()
    lines = list(read_journal(tmp_path, check(tmp_path)))
    assert [line.number for line in lines] == [1, 2]
    assert [whole[line.offset : line.offset + line.size] for line in lines] == whole.splitlines(keepends=True)


def test_a_journal_that_is_cleared_knows_nothing_and_goes_on(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(judgement(0))
    journal.clear()
    assert journal.is_empty
    journal.append(judgement(1))
    journal.close()
    assert [line.data["index"] for line in read_journal(tmp_path, check(tmp_path))] == [1]


@pytest.mark.parametrize("line", ['{"index": 0}', "{", "[]", "3", '{"status": "ok"}', '{"status": []}', ""])
def test_a_line_that_is_no_judgement_is_named_with_what_to_do(tmp_path: Path, line: str) -> None:
    written(tmp_path, judgement(0)).close()
    path = tmp_path / "judgements.jsonl"
    path.write_bytes(path.read_bytes() + line.encode() + b"\n")
    before = path.read_bytes()
    journal = Journal(tmp_path)
    with pytest.raises(krino.UsageProblem, match=r"judgements.jsonl:2: not .*remove the line"):
        journal.load(of_toy())
    journal.close()
    assert path.read_bytes() == before


def test_what_cannot_be_written_is_refused_and_nothing_of_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(sealed_line(judgement(0)))
    monkeypatch.setattr(journal_module, "MOST_BYTES", size)
    journal = Journal(tmp_path)
    journal.append(judgement(0))
    with pytest.raises(ValueError, match=f"has {size + 1:,} bytes, but a line of a journal takes {size:,}"):
        journal.append(judgement(0).model_copy(update={"id": "c10"}))
    journal.close()
    assert (tmp_path / "judgements.jsonl").stat().st_size == size


def test_of_what_is_appended_together_each_line_knows_its_place(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(*(judgement(index, usage=krino.Usage(calls=1)) for index in range(5)))
    assert journal.index.usage.calls == 5
    whole = (tmp_path / "judgements.jsonl").read_bytes()
    numbers = [journal.index.number(f"{index:032x}") for index in range(5)]
    places = [journal.index.offset_at(number) for number in numbers if number is not None]
    assert [json.loads(whole[place:].split(b"\n", 1)[0])["index"] for place in places] == [0, 1, 2, 3, 4]
    journal.close()


def test_of_what_is_appended_together_nothing_is_written_where_one_cannot_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_BYTES", len(sealed_line(judgement(0))))
    journal = Journal(tmp_path)
    with pytest.raises(ValueError, match="but a line of a journal takes"):
        journal.append(judgement(0), judgement(1).model_copy(update={"id": "c10"}))
    assert journal.is_empty and journal.index.status(judgement(0).input_hash) is None
    journal.close()


@pytest.mark.skipif(sys.platform == "win32", reason="no such lock there")
def test_two_processes_cannot_write_one_journal(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    code = f"from pathlib import Path; from krino.runs.journal import Journal; Journal(Path({str(tmp_path)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    journal.close()
    assert f"another process is writing {tmp_path}" in done.stderr


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match=r"nowhere cannot be written: No such file or directory; name another"):
        Journal(tmp_path / "nowhere")


def test_a_journal_knows_that_it_was_deleted_or_replaced(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert journal.is_in_place()
    (tmp_path / "judgements.jsonl").rename(tmp_path / "elsewhere")
    assert not journal.is_in_place()
    (tmp_path / "judgements.jsonl").touch()
    assert not journal.is_in_place()
    journal.close()


def test_a_journal_that_is_a_link_out_of_the_folder_is_neither_read_nor_written(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "judgements.jsonl").symlink_to(tmp_path / "outside")
    check = LineCheck(folder, Manifest(plan=Plan(judge={"name": "toy", "version": "1"}, labeller={}, inputs=[])))
    for there in (False, True):
        if there:
            (tmp_path / "outside").write_bytes(b"")
        with pytest.raises(krino.UsageProblem, match="link"):
            Journal(folder)
        with pytest.raises(krino.UsageProblem, match="link"):
            next(read_journal(folder, check), None)
        assert (tmp_path / "outside").exists() == there


def test_the_journal_knows_where_the_line_of_each_content_begins(tmp_path: Path) -> None:
    """After a torn line, over two sessions, and where an error gives way to a verdict."""
    Journal(tmp_path).close()
    first = written(tmp_path, judgement(0, "error", A), judgement(1, "ok", B))
    first.close()
    with first.path.open("ab") as file:
        file.write(b'{"torn": ')
    journal = Journal(tmp_path)
    journal.load(of_toy())
    journal.append(judgement(0, "failed", A))
    journal.append(judgement(1, "failed", B))  # comes too late to count
    journal.append(judgement(2, "ok"))
    journal.close()
    whole = journal.path.read_bytes()
    places = {}
    for digest in (A, B, f"{2:032x}"):
        number = journal.index.number(digest)
        assert number is not None
        offset = journal.index.offset_at(number)
        places[digest] = whole[:offset].count(b"\n"), journal.index.status(digest)
        assert digest.encode() in whole[offset:].partition(b"\n")[0]
    assert places == {A: (2, "failed"), B: (1, "ok"), f"{2:032x}": (4, "ok")}


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As a disk that is full: what does not fit is written in part, and the rest refused."""
    resource = pytest.importorskip("resource")
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, usual[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)


def test_what_the_disk_has_no_room_for_is_told_and_leaves_no_half_of_a_line(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(judgement(1))
    with (
        files_of_at_most(journal.path.stat().st_size + 50),
        pytest.raises(krino.UsageProblem, match=r"judgements.jsonl cannot be written: .*; make room"),
    ):
        journal.append(judgement(2))
    journal.append(judgement(3))
    journal.close()
    assert [line.data["id"] for line in read_journal(tmp_path, check(tmp_path))] == ["c1", "c3"]
