"""How far seats agree: counted by hand, shown in every report, with hostile names made harmless."""

from __future__ import annotations

import re
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from krino.contract import Judgement
from krino.labellers.panel import TIE
from krino.render.case import case_blocks, votes_table
from krino.render.markdown import to_markdown
from krino.render.report import write_report
from krino.render.summary import summary_blocks
from krino.render.terminal import show
from krino.results.stability import Stability
from krino.results.summary import summarise
from made_judgements import HOSTILE, error, failed, manifest, ok

LONG = "a long explanation that no two seats would word in the same way"


def seat(member: str, repeat: int = 1, order: list[int] | None = None, **verdict: Any) -> dict[str, Any]:
    return {
        "member": member,
        "repeat": repeat,
        "order": order,
        "labels": {"label": "x"} if verdict else None,
        "verdict": verdict or None,
        "roll_up": None,
        "problem": None if verdict else "no valid labels",
        "labeller": {},
        "usage": {},
    }


def judged(index: int, *ballots: dict[str, Any], findings: tuple[str, ...] = (), **verdict: Any) -> dict[str, Any]:
    return {**ok(index, findings, labelled=True, **verdict), "ballots": list(ballots)}


def stability(*judgements: dict[str, Any]) -> Stability:
    found = summarise(judgements).stability
    assert found is not None
    return found


def test_a_run_without_panels_says_nothing_of_stability() -> None:
    assert summarise([ok(score=1.0), failed(1)]).stability is None


def test_agreement_and_spread_are_those_counted_by_hand() -> None:
    found = stability(
        judged(
            0,
            seat("a", score=0.2, kind="x"),
            seat("b", score=0.8, kind="x"),
            seat("c", score=0.8, kind="y"),
            score=0.8,
            kind="x",
        ),
        judged(
            1,
            seat("a", score=1.0, kind="x"),
            seat("b", score=1, kind="x"),
            seat("c", score=1.0, kind="x"),
            score=1.0,
            kind="x",
        ),
    )
    score, kind = found.fields
    assert (score.name, score.n, score.split) == ("score", 2, 1)
    assert score.agreement == pytest.approx((2 / 3 + 1) / 2)
    assert score.spread == pytest.approx(0.3)
    assert score.widest == pytest.approx(0.6)
    assert score.sd == pytest.approx((0.08**0.5) / 2)  # of 0.2, 0.8, 0.8: variance (0.16 + 0.04 + 0.04) / 3
    assert kind.agreement == pytest.approx(5 / 6)
    assert (kind.spread, kind.sd) == (None, None)
    assert (found.cases, found.seats, found.split) == (2, 6, 1)
    assert [(item.name, item.agreement) for item in found.members] == [("a", 0.75), ("b", 1.0), ("c", 0.75)]


def test_ties_empty_seats_and_other_orders_are_counted() -> None:
    found = stability(
        judged(0, seat("a", score=1.0), seat("a", 2, [2, 1], score=1.0), seat("a", 3), findings=(TIE, TIE), score=1.0),
        {**failed(1, "the seats are evenly split"), "ballots": [seat("a", score=1.0), seat("a", 2, [2, 1], score=0.0)]},
        {**error(2), "ballots": [seat("a", score=1.0), seat("a", 2), seat("a", 3)]},
        failed(3),
    )
    counts = (found.cases, found.seats, found.absent, found.shuffled, found.split, found.tied, found.undecided)
    assert counts == (3, 8, 3, 2, 1, 2, 1)
    (score,) = found.fields
    assert (score.n, score.agreement) == (2, 0.75)  # the undecided case counts, the one with a single seat cannot


def test_wording_rules_and_what_nobody_measured_are_no_measure_of_agreement() -> None:
    verdicts: list[dict[str, Any]] = [
        {"score": 1.0, "why": f"{LONG} {n}", "score_explanation": f"short {n}", "none": None, "fixed": "F"}
        for n in range(2)
    ]
    judgement = judged(0, seat("a", **verdicts[0]), seat("b", **verdicts[1]), **verdicts[0])
    judgement["decided_by"]["fixed"] = "R1"
    found = stability(judgement)
    assert [item.name for item in found.fields] == ["score"]
    assert found.split == 0


def test_the_votes_of_a_case_are_a_table_of_seats() -> None:
    votes = votes_table(judged(0, seat("a", score=1.0, kind="x"), seat("a", 2, [2, 1], score=0.5, kind="x"), seat("b")))
    assert votes is not None
    assert votes.columns == ("Field", "a", "a (2)", "b", "Seats")
    assert votes.rows == (
        ("score", "1.0", "0.5", "–", "split"),
        ("kind", "x", "x", "–", ""),
        ("order shown", "as given", "2 1", "as given", ""),
        ("problem", "", "", "no valid labels", ""),
    )
    assert votes_table(ok(score=1.0)) is None


def shown(draw: Callable[[Console], None]) -> str:
    out = StringIO()
    draw(Console(file=out, width=100, color_system=None))
    return out.getvalue()


TWO_CASES = [
    judged(0, seat("m", score=1.0), seat("n", score=0.0), seat(HOSTILE, score=1.0), score=1.0),
    judged(1, seat("m", score=1.0), seat("n", score=1.0), seat(HOSTILE, score=1.0), score=1.0),
]
SUMMARY = list(summary_blocks(summarise(TWO_CASES), manifest(), Path("r")))


def test_the_terminal_shows_agreement_and_votes() -> None:
    summary = shown(lambda console: show(console, SUMMARY))
    case = shown(lambda console: show(console, case_blocks(Judgement.model_validate(TWO_CASES[0]), labels=True)))
    assert "Seats agree on" in summary
    assert "83 %" in summary
    assert "6 seats in 2 cases: they differ in 1 and tie in 0." in summary
    assert "With the panel: m 100 %, n 50 %" in summary
    assert "Votes" in case
    assert "split" in case
    assert "Labels of m" in case
    assert "\x1b" not in summary + case


def test_markdown_shows_agreement() -> None:
    text = to_markdown(SUMMARY)
    assert "| score | 2 | 83 % | 1 | 0.500 | 1.000 | 0.236 |" in text
    assert re.search(r"(?<!\\)<(?!/?sub>)", text) is None, "every < of a name is escaped"


def test_the_page_shows_agreement_and_the_votes_of_a_case(tmp_path: Path) -> None:
    page = write_report(tmp_path, manifest(), TWO_CASES).read_text("utf-8")
    assert '<h2 id="stability">Stability</h2>' in page
    assert '<td class="figure">83 %</td>' in page
    assert '"title":"Votes","columns":["Field","m","n",' in page
    assert "<script>alert" not in page
    assert "Stability</h2>" not in write_report(tmp_path, manifest(), [ok(score=1.0)]).read_text("utf-8")


def test_a_panel_is_called_by_its_members() -> None:
    plan = manifest().plan.model_copy(
        update={"labeller": {"kind": "panel", "members": {"a": {}, "b": {}}, "repeat": 2, "quorum": 3}}
    )
    assert "a + b, each 2 times" in to_markdown(summary_blocks(summarise(TWO_CASES), manifest(plan=plan), Path("r")))
