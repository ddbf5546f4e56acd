"""A score over runs: the first that differs is found, and looking after every run raises no false alarms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from krino import UsageProblem
from krino.cli import app
from krino.render.terminal import to_text
from krino.render.trend import trend_blocks
from krino.results.trend import Trend, trend
from krino.stats.confidence_intervals import Moments
from krino.stats.repeated_looks import difference_at_look, quantile_of_look
from made_runs import Row, make_run, row, scores


def series(folder: Path, *means: float, cases: int = 200) -> list[Path]:
    """Runs whose scores alternate about a mean."""
    return [
        make_run(folder / f"r{place}", scores(*(mean + 0.05 * (-1) ** case for case in range(cases))))
        for place, mean in enumerate(means)
    ]


def test_the_first_run_that_differs_is_named(tmp_path: Path) -> None:
    runs = series(tmp_path, 0.8, 0.79, 0.81, 0.5, 0.8)
    found = trend(runs, "score")
    assert found.first_different == str(runs[3])
    assert [point.differs for point in found.points] == [False, False, False, True, False]
    assert "Run 4" in found.sentence and "lower" in found.sentence
    shown = to_text(list(trend_blocks(found)))
    assert "●" in shown and "differs" in shown


def test_where_nothing_differs_it_says_so(tmp_path: Path) -> None:
    found = trend(series(tmp_path, 0.8, 0.8, 0.79), "score")
    assert found.first_different is None
    assert "No run differs" in found.sentence


def test_the_share_of_a_label_and_of_cases_below_a_number(tmp_path: Path) -> None:
    def rows(bad: int) -> list[Row]:
        return [row(f"c{n}", roll_up="fail" if n < bad else "pass", score=float(n >= bad)) for n in range(100)]

    runs = [make_run(tmp_path / f"s{bad}", rows(bad)) for bad in (5, 6, 60)]
    for target in ("fail", "score:below:0.5"):
        found = trend(runs, target)
        assert [point.value for point in found.points] == pytest.approx([0.05, 0.06, 0.6])
        assert found.first_different == str(runs[2])


def test_series_without_a_change_raise_few_alarms_however_often_one_looks() -> None:
    generator = np.random.default_rng(3)
    alarms = 0
    for _ in range(400):
        first, *later = (Moments.of(generator.random(60) < 0.9) for _ in range(20))
        changes = [difference_at_look(first, one, look) for look, one in enumerate(later, 1)]
        alarms += any(change is not None and (change[0] > 0 or change[1] < 0) for change in changes)
    assert alarms / 400 <= 0.05


def test_later_looks_are_stricter_and_all_errors_add_up_to_five_percent() -> None:
    quantiles = [quantile_of_look(look) for look in range(1, 100)]
    assert quantiles == sorted(quantiles)
    assert sum(0.05 * 6 / (np.pi * look) ** 2 for look in range(1, 10_000)) == pytest.approx(0.05, abs=1e-5)


@pytest.mark.parametrize(
    ("of", "words"), [("failed", "name a field"), ("scoer", "did you mean"), ("score:null", "name a field")]
)
def test_what_has_no_trend_is_refused(tmp_path: Path, of: str, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        trend(series(tmp_path, 0.8, 0.8), of)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.cli.runner.tune_memory", lambda: None)
    runs = [str(run) for run in series(tmp_path, 0.8, 0.4)]
    done = CliRunner().invoke(app, ["trend", *runs, "--of", "score"])
    assert done.exit_code == 0
    assert "Run 2" in done.output
    json = CliRunner().invoke(app, ["trend", *runs, "--of", "score", "--json"])
    assert Trend.model_validate_json(json.output).first_different == runs[1]
