"""Memory stays flat: a file of many cases is never held as a whole."""

from __future__ import annotations

import csv
import gzip
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from krino.cases import read_cases

ROWS = 20_000
PEAK_ALLOWED = 3_000_000
TEXT = "a passage of some length, the same in every row, so that files are larger than memory allowed. " * 4
RECORDS = [{"id": f"c{n}", "question": f"number {n}?", "context": TEXT} for n in range(ROWS)]


def write_jsonl(path: Path) -> None:
    path.write_bytes(b"\n".join(map(orjson.dumps, RECORDS)))


def write_packed(path: Path) -> None:
    path.write_bytes(gzip.compress(b"\n".join(map(orjson.dumps, RECORDS)), compresslevel=1))


def write_json(path: Path) -> None:
    path.write_bytes(orjson.dumps(RECORDS))


def write_csv(path: Path) -> None:
    with path.open("w", newline="") as stream:
        table = csv.DictWriter(stream, list(RECORDS[0]))
        table.writeheader()
        table.writerows(RECORDS)


def write_document(path: Path) -> None:
    items = [{"object": "eval.run.output_item", "datasource_item": one} for one in RECORDS]
    path.write_bytes(orjson.dumps({"data": items}))


def write_parquet(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(RECORDS), path, compression="none", use_dictionary=False)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("cases.jsonl", write_jsonl),
        ("cases.jsonl.gz", write_packed),
        ("cases.json", write_json),
        ("cases.csv", write_csv),
        ("cases.parquet", write_parquet),
        ("document.json", write_document),
    ],
)
def test_reading_many_cases_takes_no_more_memory_than_a_few(
    tmp_path: Path, name: str, write: Callable[[Path], None]
) -> None:
    path = tmp_path / name
    write(path)
    next(iter(read_cases([path])))  # imports and caches are not what is measured
    arrow_before = arrow_peak = pa.total_allocated_bytes()
    tracemalloc.start()
    try:
        count = 0
        for item in read_cases([path]):
            assert item.record is not None
            count += 1
            if count % 500 == 0:
                arrow_peak = max(arrow_peak, pa.total_allocated_bytes())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == ROWS
    assert peak < PEAK_ALLOWED < len(TEXT) * ROWS / 2
    assert arrow_peak - arrow_before < PEAK_ALLOWED


def test_the_first_case_comes_before_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "cases.json"
    write_json(path)
    path.write_bytes(path.read_bytes()[:-1] + b" broken")
    assert next(iter(read_cases([path]))).id == "c0"
