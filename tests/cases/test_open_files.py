"""Files that several readers share: each reads from its own place, and sees the file that was there at first."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from krino.cases import open_files as module
from krino.cases import read_cases
from krino.cases.open_files import OpenFiles


def open_now() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_readers_of_one_file_do_not_move_each_other(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    with OpenFiles() as files, files.open(path) as first, files.open(path) as second:
        assert (first.read(4), second.read(2), first.read(4), second.read()) == (b"0123", b"01", b"4567", b"23456789")
        assert first.seek(-1, os.SEEK_END) == 9 and first.read() == b"9"
        assert second.seek(1) == 1 and second.seek(2, os.SEEK_CUR) == 3 == second.tell()


def test_a_reader_outlives_what_it_was_opened_by(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"0123456789")
    with OpenFiles() as files:
        reader = files.open(path)
    with reader:
        assert reader.read() == b"0123456789"


def test_a_file_that_is_replaced_meanwhile_stays_the_one_that_was_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text('{"text": "first"}\n')
    with OpenFiles() as files:
        cases = read_cases([path], files=files)
        (tmp_path / "other").write_text('{"text": "second"}\n')
        (tmp_path / "other").replace(path)
        assert [case.record for case in cases] == [{"text": "first"}]
    assert [case.record for case in read_cases([path], files=files)] == [{"text": "second"}]


def test_no_more_files_are_open_than_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OPEN", 2)
    for number in range(20):
        (tmp_path / f"{number}.jsonl").write_text('{"text": "x"}\n')
    before = open_now()
    with OpenFiles() as files:
        for _ in read_cases([tmp_path], files=files):
            assert open_now() <= before + 4
    assert open_now() == before


def test_a_pipe_is_read_as_it_comes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(b"0123",), daemon=True)
    writer.start()
    with OpenFiles() as files, files.open(tmp_path / "pipe") as reader:
        assert reader.read() == b"0123"
    writer.join(5)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with OpenFiles() as files, pytest.raises(IsADirectoryError):
        files.open(tmp_path)
