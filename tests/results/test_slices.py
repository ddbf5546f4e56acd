"""Slices: how many, how they ended and the scores, for each value of a column; also in the reports."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import krino
from krino.render.markdown import to_markdown
from krino.render.report import write_report
from krino.render.summary import slice_blocks
from krino.render.terminal import show
from krino.results.slices import OTHERS, SliceTable, parse_columns, slice_by
from krino.results.summary import collect
from krino.stats.confidence_intervals import Moments, mean_interval
from made_judgements import HOSTILE, failed, manifest, ok


def line(court: Any, status: str = "ok", roll_up: str | None = None, **verdict: Any) -> dict[str, Any]:
    metadata = {"court": court, "language": "fr"}
    return {"status": status, "roll_up": roll_up, "metadata": metadata, "verdict": verdict or None}


LINES = [
    line("cass", roll_up="pass", score=0.5),
    line("cass", roll_up="fail", score=1.0),
    line("cass", roll_up="fail", score=None),
    line("appeal", "failed"),
    line(None, "error"),
]


def few_valued(lines: list[dict[str, Any]]) -> list[SliceTable]:
    return collect(lines).slices


def printed(tables: list[SliceTable], width: int = 100) -> str:
    out = io.StringIO()
    show(Console(file=out, width=width), slice_blocks(tables))
    return out.getvalue()


def test_each_value_has_its_cases_failures_roll_up_and_scores() -> None:
    (table,) = slice_by(LINES, [("court",)])
    by_value = {item.value: item for item in table.slices}
    assert list(by_value) == ["cass", "appeal", "none"]
    cass = by_value["cass"]
    assert (cass.n, cass.not_ok, cass.roll_up) == (3, 0, {"pass": 1, "fail": 2})
    score = cass.numbers["score"]
    interval = mean_interval(Moments.of([0.5, 1.0]))
    assert (score.n, score.nulls, score.mean, score.interval) == (2, 1, 0.75, interval)
    assert (by_value["appeal"].failed, by_value["none"].error) == (1, 1)
    assert by_value["appeal"].numbers["score"].mean is None


def test_columns_are_sliced_apart_or_together() -> None:
    assert parse_columns("court, language") == [("court",), ("language",)]
    assert parse_columns("court*language,court") == [("court", "language"), ("court",)]
    (table,) = slice_by(LINES, parse_columns("court*language"))
    assert [item.value for item in table.slices] == ["cass · fr", "appeal · fr", "none · fr"]


@pytest.mark.parametrize("text", ["", "court,", "court**language", " ,a"])
def test_a_column_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(krino.UsageProblem, match="write columns as court,language"):
        parse_columns(text)


def test_a_column_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(krino.UsageProblem, match=r"--by place: .* they have court, language"):
        slice_by(LINES, [("court",), ("place",)])


def test_fewer_than_thirty_cases_are_marked() -> None:
    (table,) = slice_by([line("cass", score=1.0)] * 30 + [line("police", score=1.0)] * 29, [("court",)])
    assert [item.few for item in table.slices] == [False, True]
    text = printed([table])
    assert "29*" in text and "30*" not in text and "* Fewer than 30 cases" in text


def test_the_table_shows_counts_means_and_intervals() -> None:
    rows = [row.split() for row in printed(slice_by(LINES, [("court",)])).splitlines() if row.strip()]
    assert rows[0] == ["court", "n", "not", "ok", "pass", "fail", "score"]
    assert ["cass", "3*", "0", "1", "2", "0.750"] in rows
    assert ["0.223", "to", "0.948"] in rows
    assert ["appeal", "1*", "1", "0", "0", "–"] in rows


def test_values_without_end_are_counted_together() -> None:
    (table,) = slice_by([line(str(number), score=1.0) for number in range(1_500)], [("court",)])
    assert len(table.slices) == 1_001
    assert (table.slices[-1].value, table.slices[-1].n) == (OTHERS, 500)


# --- in reports ------------------------------------------------------------------------------------


def test_reports_slice_by_columns_with_few_values_and_no_others() -> None:
    lines = [{**line("cass" if number % 2 else "labour"), "index": number} for number in range(40)]
    for number, item in enumerate(lines):
        item["metadata"] |= {"doc": number, "same": "x"}
    assert [table.column for table in few_valued(lines)] == ["court"]


def test_a_column_that_comes_late_counts_the_cases_before_it() -> None:
    late = [{**line("x", score=0.5), "metadata": {}} for _ in range(5)] + [line("x", score=1.0), line("x", "failed")]
    tables = {table.column: table for table in few_valued(late)}
    assert [(item.value, item.n, item.not_ok) for item in tables["court"].slices] == [("none", 5, 0), ("x", 2, 1)]
    assert tables["court"].slices[0].numbers["score"].mean == 0.5


def with_court(court: str, judgement: dict[str, Any]) -> dict[str, Any]:
    return {**judgement, "metadata": {"court": court}}


MIXED = [with_court("cass", ok(0, score=1.0)), with_court(HOSTILE, ok(1, score=0.5)), with_court("cass", failed(2))]


def test_the_html_report_has_a_table_for_each_column(tmp_path: Path) -> None:
    page = write_report(tmp_path, manifest(), MIXED).read_text("utf-8")
    head = page.partition('id="rows"')[0]
    assert 'aria-label="Table by court, scrolls sideways"' in head
    assert (
        '<th scope="row">cass</th><td class="figure">2*</td><td class="figure"><span class="ink-warn">1</span></td>'
        in head
    )
    assert "<script>alert" not in page


def test_slices_stand_open_only_where_one_of_them_is_large_enough_to_say_something(tmp_path: Path) -> None:
    def page(cases: int) -> str:
        many = [with_court("cass", ok(number, score=1.0)) for number in range(cases)]
        lines = [*many, with_court("appeal", ok(cases, score=0.5))]
        return write_report(tmp_path, manifest(), lines).read_text("utf-8")

    assert "<summary>Slices by court</summary>" in page(29)
    assert '<h2 id="slices">Slices</h2>' in page(30)


def test_without_metadata_the_report_has_no_slices(tmp_path: Path) -> None:
    assert "Slices" not in write_report(tmp_path, manifest(), [ok(0, score=1.0)]).read_text("utf-8")


def test_markdown_has_them_too() -> None:
    text = to_markdown(slice_blocks(few_valued(MIXED)))
    assert "| court | n | not ok | score |" in text
    assert "| cass | 2\\* | 1 | **1.000** |" in text
    assert "<script" not in text.replace("\\<", "")


def test_more_scores_than_eighty_columns_hold_go_to_further_tables() -> None:
    names = ("faithfulness", "answer_relevance", "context_precision", "context_recall")
    lines = [
        {**line("cass" if n % 2 else "appeal", roll_up="pass"), "verdict": dict.fromkeys(names, n / 100)}
        for n in range(100)
    ]
    tables = list(slice_by(lines, [("court",)]))
    text = printed(tables, width=80)
    assert all(len(shown) <= 80 for shown in text.splitlines())
    assert all(text.count(name) == 1 for name in names)
    heads = [shown.split() for shown in text.splitlines() if shown.startswith("court")]
    assert len(heads) > 1 and all(head[:2] == ["court", "n"] for head in heads)
    assert sum(shown.startswith("cass") and shown.split()[1] == "50" for shown in text.splitlines()) == len(heads)
    assert sum(shown.startswith("court") for shown in printed(tables, width=200).splitlines()) == 1


def test_a_column_that_is_not_there_is_told_with_the_one_that_may_be_meant() -> None:
    with pytest.raises(krino.UsageProblem, match=r"no such column \(did you mean court\?\); they have court"):
        slice_by([{**ok(0, score=1.0), "metadata": {"court": "a"}}], [("cour",)])
