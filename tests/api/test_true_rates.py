"""`true_rate`: what is estimated, which labels count, and what is refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import krino
from krino import UsageProblem
from krino.cli import app
from made_runs import Row, failed_row, make_run, row

CASES = 400
RANDOM = "label_random"


def is_bad(place: int) -> bool:
    """One case in five is bad."""
    return place % 5 == 0


def verdict(place: int) -> str:
    """The judge misses a quarter of the bad cases and accuses an eighth of the good ones."""
    return "bad" if (is_bad(place) and place % 4) or (not is_bad(place) and place % 8 == 1) else "good"


def truth(place: int) -> str:
    return "bad" if is_bad(place) else "good"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rows = [
        row(
            f"c{place}",
            metadata={"court": "ab"[place % 2]},
            match=verdict(place),
            score=float(verdict(place) == "good"),
        )
        for place in range(CASES)
    ]
    return make_run(tmp_path / "run", rows)


def labels(places: range | list[int], **more: Any) -> list[Row]:
    return [{"id": f"c{place}", "match": truth(place), "score": float(not is_bad(place)), **more} for place in places]


def test_the_true_rate_is_that_of_all_cases_not_what_the_judge_says(run: Path) -> None:
    found = krino.true_rate(run, labels(range(0, CASES, 3)), "match:bad").overall
    said = sum(verdict(place) == "bad" for place in range(CASES)) / CASES
    assert found.judged == said != pytest.approx(0.2)
    assert found.best.value == pytest.approx(0.2, abs=0.02)
    assert found.best.interval[0] < 0.2 < found.best.interval[1]
    assert [one.method for one in found.estimates] == [
        "labels by answer of the judge",
        "prediction-powered, tuned",
        "Rogan-Gladen",
        "labels alone",
    ]
    assert found.sentence.startswith("The true share of match:bad is ")
    assert "Trust the estimate by answer of the judge" in found.sentence
    assert found.more_labels is None or found.more_labels > 0
    assert sum(found.label_next.values()) == pytest.approx(1)


def test_the_judge_makes_the_interval_narrower(run: Path) -> None:
    found = krino.true_rate(run, labels(range(0, CASES, 3)), "match:bad").overall
    width = {one.method: one.interval[1] - one.interval[0] for one in found.estimates}
    assert width["labels by answer of the judge"] < 0.9 * width["labels alone"]


def test_labels_drawn_by_the_answer_of_the_judge_are_weighted_back(run: Path) -> None:
    """Half of the labels from cases that the judge calls bad: their plain mean is far off."""
    chance = random.Random(1)
    bad = [place for place in range(CASES) if verdict(place) == "bad"]
    good = [place for place in range(CASES) if verdict(place) == "good"]
    found = krino.true_rate(run, labels([*chance.sample(bad, 40), *chance.sample(good, 40)]), "match:bad").overall
    assert found.best.value == pytest.approx(0.2, abs=0.06)
    assert found.estimates[-1].value > 0.3


def test_the_mean_of_a_number_is_estimated_by_the_tuned_method(run: Path) -> None:
    found = krino.true_rate(run, labels(range(0, CASES, 3)), "score").overall
    assert found.trusted == "prediction-powered, tuned"
    assert found.best.value == pytest.approx(0.8, abs=0.02)
    assert found.more_labels is None or found.more_labels > 0


def test_of_workbench_labels_only_the_random_sample_counts(run: Path) -> None:
    disputed = [place for place in range(CASES) if verdict(place) != truth(place)][:40]
    drawn = [place for place in range(0, CASES, 3) if place not in disputed]
    rows = labels(drawn, **{RANDOM: True}) + labels(disputed, **{RANDOM: False})
    found = krino.true_rate(run, rows, "match:bad").overall
    assert found.labels == len(drawn)
    assert any("40 labels left out" in note for note in found.notes)


def test_labels_of_disputed_cases_alone_are_refused(run: Path) -> None:
    with pytest.raises(UsageProblem, match="random sample"):
        krino.true_rate(run, labels(range(50), **{RANDOM: False}), "match:bad")


def test_labels_of_which_none_has_a_sampling_weight_are_refused_by_that_column(run: Path) -> None:
    with pytest.raises(UsageProblem, match="has a sampling weight") as refused:
        krino.true_rate(run, labels(range(50), **{RANDOM: True, "label_weight": None}), "match:bad")
    assert "label_weight" in str(refused.value)
    assert RANDOM not in str(refused.value)


def test_sampling_weights_are_used(run: Path) -> None:
    """Bad cases were labelled three times as often: without weights the rate is too high."""
    places = [place for place in range(CASES) if is_bad(place) or place % 3 == 0]
    rows = [{**one, "weight": 1.0 if one["match"] == "bad" else 3.0} for one in labels(places)]
    plain = krino.true_rate(run, labels(places), "match:bad").overall
    weighted = krino.true_rate(run, rows, "match:bad", weight="weight").overall
    assert plain.best.value > 0.3
    assert weighted.best.value == pytest.approx(0.2, abs=0.02)
    assert "Rogan-Gladen" not in [one.method for one in weighted.estimates]


def test_slices_and_too_small_slices(run: Path) -> None:
    found = krino.true_rate(run, labels(range(0, 60, 3)), "match:bad", by="court")
    assert set(found.slices) == {"a", "b"}
    few = krino.true_rate(run, labels([*range(0, 60, 2), 1, 3]), "match:bad", by="court")
    assert set(few.slices) == {"a"}
    assert "Not estimated" in few.not_sliced[0]


def test_an_answer_without_labels_leaves_only_the_labels(run: Path) -> None:
    good = [place for place in range(CASES) if verdict(place) == "good"][:60]
    found = krino.true_rate(run, labels(good), "match:bad").overall
    assert found.trusted == "labels alone"
    assert "has no label" in found.sentence


def test_two_runs_are_compared(run: Path, tmp_path: Path) -> None:
    better = make_run(tmp_path / "better", [row(f"c{place}", match="good", score=1.0) for place in range(CASES)])
    better_labels = [{"id": f"c{place}", "match": "good"} for place in range(0, CASES, 3)]
    found = krino.true_rate(better, [*better_labels[1:], {"id": "c0", "match": "bad"}], "match:bad",
                            than=(run, labels(range(0, CASES, 3))))  # fmt: skip
    assert found.difference is not None
    assert "lower than in" in found.difference
    assert "more than chance explains" in found.difference


def test_cases_without_a_verdict_are_left_out_and_said(tmp_path: Path) -> None:
    rows = [row(f"c{place}", match=verdict(place)) for place in range(100)] + [failed_row("x")]
    found = krino.true_rate(make_run(tmp_path / "r", rows), labels(range(50)), "match:bad").overall
    assert found.cases == 100
    assert any("1 case without a verdict" in note for note in found.notes)


def run_with_a_second_c0(folder: Path, second: Row) -> Path:
    rows = [{**row(f"c{place}", match=verdict(place)), "input_hash": f"{place:032x}"} for place in range(100)]
    return make_run(folder, [*rows, second])


def test_the_same_record_twice_is_two_cases_and_one_label(tmp_path: Path) -> None:
    again = {**row("c0", match=verdict(0)), "input_hash": f"{0:032x}"}
    found = krino.true_rate(run_with_a_second_c0(tmp_path / "r", again), labels(range(50)), "match:bad").overall
    assert (found.cases, found.labels) == (101, 50)


@pytest.mark.parametrize("second", [row("c0", match="good"), failed_row("c0")])
def test_a_label_whose_id_two_different_cases_have_is_refused(tmp_path: Path, second: Row) -> None:
    made = run_with_a_second_c0(tmp_path / "r", {**second, "input_hash": "f" * 32})
    with pytest.raises(UsageProblem, match="two cases of the run have the id 'c0'"):
        krino.true_rate(made, labels(range(50)), "match:bad")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("mathc:bad", "did you mean"),
        ("match", "name one, as match:bad"),
        ("match:awful", "neither a verdict nor a label has it"),
        ("failed", "counted, not estimated"),
    ],
)
def test_a_target_that_cannot_be_estimated_is_refused(run: Path, target: str, message: str) -> None:
    with pytest.raises(UsageProblem, match=message):
        krino.true_rate(run, labels(range(50)), target)


def test_too_few_labels_are_refused(run: Path) -> None:
    with pytest.raises(UsageProblem, match="at least 10"):
        krino.true_rate(run, labels(range(9)), "match:bad")


def test_the_command_says_it_in_a_sentence(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.cli.runner.tune_memory", lambda: None)
    file = tmp_path / "labels.csv"
    file.write_text("id,match\n" + "".join(f"c{place},{truth(place)}\n" for place in range(0, CASES, 3)))
    done = CliRunner().invoke(app, ["true-rate", str(run), str(file), "--of", "match:bad"], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "The true share of match:bad is" in done.output
    assert "Rogan-Gladen" in done.output
    json = CliRunner().invoke(app, ["true-rate", str(run), str(file), "--of", "match:bad", "--json"])
    assert krino.TrueRates.model_validate_json(json.output).overall.labels == len(range(0, CASES, 3))
