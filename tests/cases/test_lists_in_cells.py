"""Lists in the cells of a table are read as lists, as JSON, as Python prints them or with bars; or they are refused."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.cases import read_cases
from krino.judges.registry import load_judge

PASSAGES = ["Leave is 20 days.", 'It\'s "paid", too.\nSee page 3.']


def contexts(folder: Path, cell: str, column: str = "contexts", **mapping: str) -> Any:
    file = folder / "cases.csv"
    with file.open("w", newline="", encoding="utf-8") as table:
        csv.writer(table).writerows([["question", column, "answer"], ["How long?", cell, "20 days."]])
    (item,) = read_cases([file], judge=load_judge("rag"), mapping=mapping)
    assert item.record is not None
    return load_judge("rag").read(item.record).context


@pytest.mark.parametrize(
    "cell",
    [
        *(repr(tuple(PASSAGES)), f"array({PASSAGES!r}, dtype=object)", json.dumps(json.dumps(PASSAGES))),
        *(repr(PASSAGES), repr([{"page_content": text} for text in PASSAGES]), f"[{' '.join(map(repr, PASSAGES))}]"),
    ],
)
def test_a_list_as_python_prints_it_is_a_list(tmp_path: Path, cell: str) -> None:
    assert [passage.text for passage in contexts(tmp_path, cell)] == PASSAGES
    assert [passage.text for passage in contexts(tmp_path, cell, "docs", context="docs")] == PASSAGES


def test_texts_with_bars_between_them_are_a_list(tmp_path: Path) -> None:
    assert [passage.text for passage in contexts(tmp_path, "One is here.|Two is there.|Three")] == [
        "One is here.",
        "Two is there.",
        "Three",
    ]


@pytest.mark.parametrize("cell", ["Leave | HR portal. It is 20 days.", "| a | b |\n|---|---|\n| 1 | 2 |", "a || b"])
def test_other_bars_are_text(tmp_path: Path, cell: str) -> None:
    assert [passage.text for passage in contexts(tmp_path, cell)] == [cell]


@pytest.mark.parametrize(
    "cell",
    ["['Leave is 20 days.', 'It is pai", "['a' ... 'z']", "[{'text': 'a'}, Passage('b')]", "{'a', 'b'}", "[b'a']"],
)
def test_a_list_that_cannot_be_read_is_refused_and_never_one_passage(tmp_path: Path, cell: str) -> None:
    with pytest.raises(krino.CannotJudge, match="begins like a list"):
        contexts(tmp_path, cell)


def test_the_same_from_python_or_json_lines() -> None:
    case = {"question": "How long is leave?", "context": repr(PASSAGES), "answer": "20 days."}
    assert len(load_judge("rag").read(case).context) == 2


def test_a_note_in_brackets_is_text(tmp_path: Path) -> None:
    assert [passage.text for passage in contexts(tmp_path, "[1] Leave is 20 days.")] == ["[1] Leave is 20 days."]


def test_an_answer_that_looks_like_a_list_is_an_answer(tmp_path: Path) -> None:
    file = tmp_path / "cases.csv"
    file.write_text("question,context,answer\nq,c,\"['a', 'b']\"\n")
    (item,) = read_cases([file], judge=load_judge("rag"))
    assert item.record is not None
    assert item.record["answer"] == "['a', 'b']"
