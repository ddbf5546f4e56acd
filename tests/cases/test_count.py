"""The count for a progress bar: exact where it is cheap, else none."""

from __future__ import annotations

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krino.cases import count_hint, reader


def test_lines_and_metadata_are_counted_over_all_inputs(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"{}\n{}\n")
    (tmp_path / "b.ndjson").write_bytes(b"{}\n{}")
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "c.parquet")
    assert count_hint([tmp_path / "a.jsonl"]) == 2
    assert count_hint([tmp_path / "b.ndjson"]) == 2
    assert count_hint([tmp_path / "a.jsonl", tmp_path / "b.ndjson", tmp_path / "c.parquet"]) == 7


@pytest.mark.parametrize(
    ("name", "data"),
    [("a.json", b"[{}]"), ("a.csv", b"a\n1\n"), ("a.jsonl.gz", gzip.compress(b"{}\n", mtime=0)), ("a.parquet", b"no")],
)
def test_what_is_not_cheap_to_count_is_unknown(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    (tmp_path / "known.jsonl").write_bytes(b"{}\n")
    assert count_hint([tmp_path / "known.jsonl", tmp_path / name]) is None


def test_stdin_and_missing_files_are_unknown(tmp_path: Path) -> None:
    assert count_hint(["-"]) is None
    assert count_hint([tmp_path / "nowhere.jsonl"]) is None


def test_a_large_file_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"{}\n{}\n")
    monkeypatch.setattr(reader, "_MAX_COUNTED_BYTES", 5)
    assert count_hint([tmp_path / "a.jsonl"]) is None
