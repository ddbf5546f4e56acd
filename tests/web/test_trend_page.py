"""The trend page: the runs of one judge as a chart, named as everywhere in the workbench."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from made_runs import make_run, row, scores
from workbench_making import serving


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    runs = tmp_path / "runs"
    for place, mean in enumerate((0.8, 0.79, 0.4)):
        started = datetime(2026, 3, 1, tzinfo=UTC) + timedelta(days=place)
        rows = scores(*[mean + (step % 10 - 5) / 50 for step in range(60)])
        make_run(runs / f"day-{place}", rows, started=started)
    make_run(runs / "other", [row("a", kind="A")], plan={"judge": {"name": "second"}})
    make_run(runs / "unfinished", scores(0.1), state="stopped")
    with serving(runs, database=f"sqlite:///{tmp_path / 'labels.sqlite'}") as opened:
        yield opened


def page(client: TestClient, **query: str) -> str:
    sent = client.get("/trend", params=query, headers={"accept": "text/html"})
    assert sent.status_code == 200, sent.text
    return sent.text


def test_the_runs_of_a_judge_are_a_chart_from_the_oldest_to_the_newest(client: TestClient, tmp_path: Path) -> None:
    shown = page(client, judge="toy", of="score")
    assert "Run 3 (day-2) is the first that differs from the first run: its score is lower." in shown
    (chart,) = re.findall(r'<svg class="trend".*?</svg>', shown, re.DOTALL)
    assert chart.count("<circle") == 3
    assert chart.count('fill="currentColor"') == 1, "the one that differs"
    assert chart.index("day-0") < chart.index("day-1") < chart.index("day-2")
    assert "unfinished" not in shown
    assert str(tmp_path) not in shown


def test_a_field_that_no_run_has_is_a_message_without_the_folder(client: TestClient, tmp_path: Path) -> None:
    shown = page(client, judge="toy", of="nothing")
    assert "the verdicts have no field `nothing`" in shown
    assert str(tmp_path) not in shown


def test_one_run_is_no_trend_and_without_a_choice_there_is_a_form(client: TestClient) -> None:
    assert "a trend needs two runs at least" in page(client, judge="second", of="kind:A")
    assert '<option value="toy">' in page(client)


def test_hostile_words_stay_text(client: TestClient) -> None:
    shown = page(client, judge="toy", of="<script>alert(1)</script>")
    assert "<script>alert(1)" not in shown
