"""The report shows what a labeller was told: the prompt once, each case's own request as far as there is room."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
from typer.testing import CliRunner

from krino import Questions
from krino.cli import app
from krino.labellers.llm.prompt import GUARD
from krino.render.live_views import LiveJudge
from krino.render.report import write_report
from krino.runs.manifest import Manifest
from made_judgements import HOSTILE, error, failed, manifest, ok
from report_page import Page
from toy_judge import ToyCase, ToyJudge

HAND = LiveJudge(ToyJudge())


def with_case(judgement: dict[str, Any], text: str) -> dict[str, Any]:
    return {**judgement, "case": {"text": text}}


def page_of(folder: Path, run: Manifest, *cases: dict[str, Any]) -> Page:
    return Page(write_report(folder, run, iter(cases), ToyJudge()).read_text("utf-8"))


def test_the_prompt_stands_once_and_is_what_a_model_is_told(tmp_path: Path) -> None:
    page = page_of(tmp_path, manifest(), with_case(ok(0, score=1.0), "good"), with_case(ok(1, score=1.0), "fine"))
    assert page.visible.count("Label the text: good or bad. Quote the words that decide.") == 1
    assert GUARD in page.visible
    assert "No model read it in this run" in page.visible


def test_a_run_with_a_model_does_not_say_that_none_read_it(tmp_path: Path) -> None:
    run = manifest()
    run.plan.labeller.update(kind="llm", model="m")
    assert "No model read it" not in page_of(tmp_path, run, ok(0, score=1.0)).visible


def test_a_request_shows_the_case_as_a_model_sees_it() -> None:
    request = HAND.request({"text": "some <|im_end|> text"})
    assert request is not None
    assert "[[TAG text]]\nsome <\u200b|im_end|> text\n[[/TAG]]" in request
    assert request.endswith("Is it good or bad?")


def test_a_case_that_is_nested_too_deep_to_be_written_does_not_cost_the_report(tmp_path: Path) -> None:
    for levels in (900, 940, 980, 1_020):
        deep = orjson.loads("[" * levels + "]" * levels)
        odd = {**with_case(ok(0, score=1.0), "good"), "case": {"text": "good", "metadata": deep}}
        page = page_of(tmp_path, manifest(), odd, with_case(ok(1, score=1.0), "fine"))
    assert [index for index, _ in page.data("requests")] == [0, 1]


def test_a_case_asked_in_parts_shows_every_call() -> None:
    class InParts(ToyJudge):
        def ask(self, case: ToyCase, facts: int) -> Questions:
            return Questions((), "", parts=tuple(Questions((), f"Is {word} good?") for word in case.text.split()))

    request = LiveJudge(InParts()).request({"text": "this that"})
    assert request is not None
    calls = request.split("[call ")
    assert [call[:6] for call in calls] == ["", "1 of 2", "2 of 2"]
    assert "Is this good?" in calls[1] and "Is that good?" in calls[2]


@pytest.mark.parametrize("text", ["", "unjudgeable", "explode"])
def test_what_was_not_asked_has_no_request(text: str) -> None:
    assert HAND.request({"text": text}) is None


def test_requests_are_kept_by_case_and_null_where_nothing_was_asked(tmp_path: Path) -> None:
    cases = [with_case(ok(0, score=1.0), "good"), with_case(ok(1, score=0.0), ""), failed(2)]
    requests = dict(page_of(tmp_path, manifest(), *cases).data("requests"))
    assert requests.keys() == {0, 1}  # of the third the case could not be read again
    assert "good" in requests[0] and requests[1] is None


def test_hostile_requests_never_become_markup(tmp_path: Path) -> None:
    page = page_of(tmp_path, manifest(), with_case(ok(0, score=1.0), HOSTILE))
    assert not [tag for tag, _ in page.tags if tag in {"img", "iframe"}]
    assert "</script><script>alert(1)</script>" in dict(page.data("requests"))[0]


def test_requests_take_only_the_room_that_is_left_and_the_page_says_so(tmp_path: Path) -> None:
    def cases() -> Iterator[dict[str, Any]]:
        for n in range(2_000):
            yield with_case(ok(n, score=0.5), "x" * 15_000)

    path = write_report(tmp_path, manifest(), cases(), ToyJudge())
    assert path.stat().st_size < 20_000_000
    page = Page(path.read_text("utf-8"))
    assert len(page.data("details")) == 2_000
    kept = len(page.data("requests"))
    assert 1_000 < kept < 2_000
    assert f"What a labeller is asked is kept for {kept:,} cases" in page.visible


def test_a_report_without_a_judge_at_hand_shows_no_prompt(tmp_path: Path) -> None:
    page = Page(write_report(tmp_path, manifest(), [with_case(ok(0, score=1.0), "good")]).read_text("utf-8"))
    assert page.data("requests") == [] and "prompt" not in page.visible


def test_the_command_puts_a_prompt_of_ones_own_into_the_report(tmp_path: Path) -> None:
    cases, prompt = tmp_path / "cases.jsonl", tmp_path / "mine.md"
    cases.write_bytes(orjson.dumps({"id": "a", "text": "good"}))
    prompt.write_text("My very own words.")
    judge = f"{Path(__file__).parents[1] / 'toy_judge.py'}:ToyJudge"
    run = tmp_path / "run"
    done = CliRunner().invoke(app, ["judge", judge, str(cases), "--run", str(run), "--prompt", str(prompt)])
    assert done.exit_code == 0
    page = Page((run / "report.html").read_text("utf-8"))
    assert "My very own words." in page.visible
    assert "good" in dict(page.data("requests"))[0]


class Telling(ToyJudge):
    """Remembers what it was made to study."""

    studied: ClassVar[list[str]] = []

    def study(self, case: ToyCase) -> int:
        self.studied.append(case.text)
        return super().study(case)


def test_what_the_judge_broke_on_is_not_studied_for_the_page(tmp_path: Path) -> None:
    Telling.studied.clear()
    broken, unlabelled = error(0), error(1)
    broken["labeller"] = {"kind": "llm"}  # a model was asked, so the case had been studied without harm
    cases = [with_case(broken, "asked"), with_case(unlabelled, "deadly"), with_case(ok(2, score=1.0), "good")]
    write_report(tmp_path, manifest(), iter(cases), Telling())
    assert set(Telling.studied) == {"asked", "good"}
