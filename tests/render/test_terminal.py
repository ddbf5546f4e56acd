"""What is printed on a terminal: complete, narrow enough, and deaf to what case text would like to do."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from krino.contract import Judgement
from krino.render.case import case_blocks
from krino.render.summary import summary_blocks
from krino.render.terminal import show
from krino.results.summary import summarise
from krino.text.clean import clean, clean_line
from made_judgements import HOSTILE, error, failed, manifest, many, ok


def _summary(cases: list[dict[str, Any]], folder: Path = Path("runs/toy"), **changes: Any) -> str:
    out = io.StringIO()
    show(Console(file=out, width=80), summary_blocks(summarise(cases), manifest(**changes), folder))
    return out.getvalue()


def _judgement(
    case: dict[str, Any], rules: dict[str, str] | None = None, *, colour: bool = False, labels: bool = False
) -> str:
    out = io.StringIO()
    console = Console(file=out, width=80, force_terminal=colour)
    show(console, case_blocks(Judgement.model_validate(case), rules, labels=labels))
    return out.getvalue()


def test_summary_says_how_many_cases_ended_how() -> None:
    shown = _summary([ok(score=0.5), ok(score=1.0), failed(), error()])
    assert "toy 1.0" in shown and "embedded labeller" in shown
    assert "✓ 2 ok (50 %)" in shown and "– 1 failed (25 %)" in shown and "✗ 1 error (25 %)" in shown


def test_summary_shows_scores_categories_and_reasons() -> None:
    shown = _summary([*many(40), error(40, "the model was silent")])
    assert "0.190" in shown  # the mean
    assert "A 20 (53 %) · B 18 (47 %)" in shown
    assert "answer is missing" in shown and "the model was silent" in shown
    assert "95 % intervals of the mean" in shown


def test_a_sparkline_shows_where_nothing_lies() -> None:
    shown = _summary([ok(score=value) for value in (0.0, 0.05, 1.0, 1.0)])
    assert "█        █" in shown


def test_a_small_n_is_marked() -> None:
    assert "n < 30" in " ".join(_summary([ok(score=0.5)] * 2).split())
    assert "n < 30" not in " ".join(_summary([ok(score=0.5)] * 30).split())


def test_one_case_has_no_interval_and_no_note_about_intervals() -> None:
    shown = " ".join(_summary([ok(score=0.5)]).split())
    assert "score 1 – 0.500 – " in shown
    assert "intervals of the mean" not in shown


def test_summary_fits_80_columns() -> None:
    wide = ok(a_field_with_a_name_that_nobody_would_like_to_read=0.123456, code="X" * 40)
    assert max(len(line) for line in _summary([wide, *many(100)]).splitlines()) <= 80


def test_summary_names_the_report_where_there_is_one(tmp_path: Path) -> None:
    assert "report.html" not in _summary([failed()], tmp_path)
    (tmp_path / "report.html").touch()
    assert "report.html" in _summary([failed()], tmp_path).replace("\n", "").replace(" ", "")


def test_a_run_that_never_ended_may_have_been_killed() -> None:
    assert "running, or killed: the same command goes on" in " ".join(_summary([ok()], state="running").split())
    assert "killed" not in _summary([ok()], state="finished")


def test_summary_of_nothing_prints() -> None:
    assert "0 cases" in _summary([])


def test_one_judgement_shows_value_decider_rule_and_evidence() -> None:
    shown = _judgement(ok(3, ("N1",), score=0.75), {"R1": "The score is what it is."})
    assert "case-3" in shown and "score  0.75" in shown
    assert "by rule R1: The score is what it is." in shown
    assert "seen in passage 1" in shown and "N1" in shown and "look here" in shown


def test_what_was_not_looked_for_stands_before_the_score() -> None:
    case = {**ok(score=1.0), "findings": [{"rule": "N1", "text": "detours were not looked for", "where": "score"}]}
    shown = _judgement(case)
    assert shown.index("! detours were not looked for (N1)") < shown.index("score  1.0")
    assert shown.count("detours") == 1, "and is not told again among the findings"


def test_text_that_nobody_read_is_shown_with_the_reason() -> None:
    left = {"where": "answer", "text": "Take two at night.", "why": "the labeller called it no claim"}
    shown = _judgement({**ok(score=1.0), "unread": [left]})
    assert "Not read" in shown and "Take two at night." in shown and "the labeller called it no claim" in shown


def test_labels_are_shown_and_named_as_the_decider() -> None:
    shown = _judgement(ok(score=0.75, labelled=True), labels=True)
    assert "by the labeller's labels, R1" in shown and "water is wet" in shown


def test_a_judgement_that_is_not_ok_says_why() -> None:
    assert "answer: missing" in _judgement(failed())
    shown = _judgement(error(0, "no valid labels", raw_reply='{"half": '))
    assert "no valid labels" in shown and '{"half": ' in shown


@pytest.mark.parametrize(
    "case",
    [ok(score=HOSTILE), error(0, HOSTILE, raw_reply=HOSTILE), failed(0, HOSTILE), {**ok(score=1), "id": HOSTILE}],
    ids=["verdict", "error", "reason", "id"],
)
def test_hostile_text_is_printed_as_text(case: dict[str, Any]) -> None:
    for shown in (_judgement(case), _summary([case])):
        assert "\x1b" not in shown and "\x07" not in shown
    assert "[bold red]loud[/]red" in " ".join(_judgement(case).split())
    assert "\x1b[31m" not in _judgement(case, colour=True).replace("\x1b[1;31m", "")


@given(st.text(alphabet=st.sampled_from("\x1b[]0;?31mHAPX^_\\\x9b\x07\r\n\t\u202e\ud800a"), max_size=60) | st.text())
def test_clean_text_has_no_control_characters(text: str) -> None:
    cleaned = clean(text)
    assert not any((ord(char) < 32 and char not in "\n\t") or 127 <= ord(char) < 160 for char in cleaned)
    assert "\u202e" not in cleaned
    cleaned.encode()
    assert len(clean_line(text, 10)) <= 10


def test_clean_keeps_ordinary_text() -> None:
    text = "Straße, «cour», 東京 👩‍⚖️\n\ttabbed"
    assert clean(text) == text


def test_ids_that_several_cases_share_are_told_with_one_of_them() -> None:
    shown = " ".join(_summary([ok(score=0.5)], repeated_ids=3, repeated_id=f"x{HOSTILE}").split())
    assert "3 cases have the id of an earlier case with different content, such as `x" in shown
    assert "\x1b" not in shown
    assert "an earlier case" not in _summary([ok(score=0.5)])


def test_a_judgement_shows_its_roll_up() -> None:
    shown = _judgement({**ok(score=0.5), "roll_up": "review"})
    assert any(line.split()[:2] == ["roll_up", "review"] for line in shown.splitlines())
    assert "roll_up" not in _judgement(ok(score=0.5))
