"""Figures beside a verdict: declared by a judge, recorded, checked, and counted like fields of the verdict."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pydantic import BaseModel, Field

import krino
from krino import Ruling, Settlement, UsageProblem
from krino.contract import Judgement
from krino.contract.hooks import NoFigures
from krino.exports.columns import find_columns
from krino.render.case import case_blocks
from krino.render.markdown import to_markdown
from krino.results.gates.rules import parse_flags
from krino.results.gates.validate import refuse_for_judge
from toy_judge import ToyCase, ToyJudge, ToyLabels


class ToyFigures(BaseModel):
    risk: float | None = Field(default=None, ge=0, le=1, json_schema_extra={"better": "lower"})


class Level(Enum):
    low = "low"


class RiskyJudge(ToyJudge):
    """The toy judge, with the risk that a text is bad: known of texts of more than three letters."""

    name = "risky"
    figures_model: ClassVar[type[BaseModel]] = ToyFigures
    value: Any = 0.25

    def label_locally(self, batch: Any) -> list[ToyLabels]:
        return [ToyLabels(label="good" if "good" in case.text else "bad", quote=case.text) for case, _ in batch]

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        settled = super().settle(case, facts, labels)
        figures = {"risk": Ruling(self.value, "TOY-LABEL", ("its words",))} if facts > 3 else {}
        return Settlement(settled.rulings, settled.findings, figures)


TEXTS = ["a good text", "bad", "another bad text"]


@pytest.fixture
def run(tmp_path: Path) -> krino.Run:
    cases = [{"id": str(place), "text": text} for place, text in enumerate(TEXTS)]
    return krino.run(RiskyJudge(), cases, into=tmp_path / "run")


def test_a_figure_is_recorded_beside_the_verdict_with_its_rule_and_evidence(run: krino.Run) -> None:
    first, second, _ = list(run)
    assert (first.figures, second.figures) == ({"risk": 0.25}, {"risk": None})
    assert "risk" not in (first.verdict or {})
    assert first.rules["risk"] == "TOY-LABEL"
    assert first.evidence["risk"] == ["its words"]


def test_a_judge_without_figures_writes_none() -> None:
    judgement = krino.judge(ToyJudge(), {"text": ""})
    assert b"figures" not in judgement.to_json()


def test_summary_and_worst_and_exports_take_a_figure_like_a_field(run: krino.Run) -> None:
    (risk,) = [item for item in run.summary().numbers if item.name == "risk"]
    assert (risk.n, risk.nulls, risk.mean) == (2, 1, 0.25)
    assert run.worst(1, by="risk").order.falling, "a figure says which end of it is bad"
    assert find_columns(run.records())["figures_risk"] == "float"


def test_a_gate_holds_a_figure_to_its_limit_and_a_case_without_one_does_not_pass(run: krino.Run) -> None:
    silent = run.gate(max={"risk": 0.3}, point=True)
    assert not silent.passed
    allowed = {"risk:null": "50%"}
    assert run.gate(max={"risk": 0.3, **allowed}, point=True).passed
    assert not run.gate(max={"risk": 0.2, **allowed}, point=True).passed


def test_a_case_shows_its_figures_apart_from_the_verdict(run: krino.Run) -> None:
    page = to_markdown(case_blocks(next(iter(run)), run.manifest.about.rules))
    assert page.index("Beside the verdict") > page.index("Verdict")
    assert "risk" in page


def test_a_rule_about_a_misspelt_figure_is_refused_before_anything_is_judged() -> None:
    refuse_for_judge(RiskyJudge(), parse_flags("max", ["risk=0.3"]))
    with pytest.raises(UsageProblem, match="no field `rixk`"):
        refuse_for_judge(RiskyJudge(), parse_flags("max", ["rixk=0.3"]))


@pytest.mark.parametrize("value", [2.0, "high", float("nan")])
def test_a_value_that_is_no_figure_is_an_error_and_no_number(value: Any) -> None:
    class Odd(RiskyJudge):
        name = "odd-figure"

    Odd.value = value
    judgement = krino.judge(Odd(), {"text": "a good text"})
    assert (judgement.status, judgement.verdict, judgement.figures) == ("error", None, {})


def test_an_undeclared_figure_is_refused_before_anybody_is_asked_and_says_what_to_write() -> None:
    class Undeclared(RiskyJudge):
        name = "undeclared"
        figures_model = NoFigures

    with pytest.raises(UsageProblem, match="`figures_model` has no field for"):
        krino.judge(Undeclared(), {"text": "a good text"})


def test_no_figure_stands_beside_a_case_that_was_not_judged() -> None:
    known = {"id": "1", "judge": "toy", "judge_version": "1", "input_hash": "0" * 32, "verdict": None}
    with pytest.raises(ValueError, match="no number is allowed with status failed"):
        Judgement(**known, status="failed", reason="no text", figures={"risk": 0.5})


@pytest.mark.parametrize("risk", [2, "high", {"deep": 1}])
def test_a_line_whose_figure_breaks_its_schema_is_refused_by_every_reader(run: krino.Run, risk: Any) -> None:
    journal = run.folder / "judgements.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines[0]["figures"]["risk"] = risk
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(UsageProblem, match=r"figures\.risk"):
        list(krino.load_run(run.folder))


def test_a_figure_may_not_be_named_like_a_field_of_the_verdict_nor_be_required() -> None:
    class Twice(BaseModel):
        score: float | None = None

    class Required(BaseModel):
        risk: float

    class Assumed(BaseModel):
        risk: float = 0.5

    class Named(BaseModel):
        level: Level | None = None

    refused: list[tuple[type[BaseModel], str]] = [
        (Twice, "give the figure another name"),
        (Required, "must have a default"),
        (Assumed, "has a value where no rule gave one"),
        (Named, "a figure is a number or null"),
    ]
    for model, told in refused:
        kind = type("Named", (RiskyJudge,), {"name": f"named-{model.__name__}", "figures_model": model})
        with pytest.raises(UsageProblem, match=told):
            krino.judge(kind, {"text": "a good text"})
