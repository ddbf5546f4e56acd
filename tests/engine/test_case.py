"""One case through a judge: whatever happens, a judgement comes out that says what happened."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

import krino
from krino.cases.item import CaseItem
from krino.contract import Settlement, Source, Status, Usage
from krino.engine.case import judge_item, written
from krino.engine.interface import Trial
from krino.errors import RunStopped
from krino.labellers.local import LocalLabeller
from toy_judge import ToyCase, ToyJudge, ToyLabels


async def judged(text: object, judge: ToyJudge | None = None) -> krino.Judgement:
    return await judge_item(judge or ToyJudge(), LocalLabeller(), CaseItem(0, "c", {"text": text}))


async def test_what_the_facts_decide_asks_nobody() -> None:
    judgement = await judged("")
    assert judgement.verdict == {"score": 0.0, "note": "empty"}
    assert judgement.decided_by == {"score": "TOY-EMPTY", "note": "TOY-EMPTY"}
    assert (judgement.labels, judgement.labeller, judgement.usage.calls) == (None, None, 0)


async def test_every_field_says_who_decided_it_and_by_which_rule() -> None:
    judgement = await judged("a good text")
    assert judgement.decided_by == {"score": "labeller", "note": "labeller"}
    assert judgement.rules == {"score": "TOY-LABEL", "note": "TOY-LABEL"}
    assert judgement.evidence == {"score": ["a goo"]}
    assert judgement.findings[0].rule == "TOY-LABEL"


class _LeavesOut(ToyJudge):
    """Reads the first word only, and says so."""

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        settlement = super().settle(case, facts, labels)
        left = tuple(krino.Unread("text", word, "only the first word is read") for word in case.text.split()[1:])
        return replace(settlement, unread=left)


async def test_text_that_was_left_out_is_on_record() -> None:
    judgement = await judged("good rest", _LeavesOut())
    assert judgement.unread == [krino.Unread("text", "rest", "only the first word is read")]
    recorded = krino.Judgement.model_validate_json(judgement.to_json())
    assert recorded == judgement
    assert b"unread" not in (await judged("good", _LeavesOut())).to_json()


async def test_text_that_was_left_out_does_not_fill_the_journal() -> None:
    judgement = await judged(f"good {'x' * 1_000} {'word ' * 500}", _LeavesOut())
    assert len(judgement.unread) == 51 and judgement.unread[-1].text == "451 more pieces of text"
    assert len(judgement.unread[0].text) <= 300


@pytest.mark.parametrize("unread", [["rest"], "rest", (krino.Finding("TOY-LABEL", "rest"),)])
async def test_left_out_text_in_another_form_is_a_fault_of_the_judge(unread: Any) -> None:
    class Wrong(ToyJudge):
        def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
            return replace(super().settle(case, facts, labels), unread=unread)

    judgement = await judged("a good text", Wrong())
    assert judgement.status == "error" and "unread must be a tuple of krino.Unread" in str(judgement.error)


@pytest.mark.parametrize("text", ["a good text", "", "unjudgeable", "explode", 3])
async def test_every_judgement_says_when_it_was_finished(text: object) -> None:
    before = datetime.now(UTC)
    judgement = await judged(text)
    assert judgement.time is not None and before <= judgement.time <= datetime.now(UTC)
    assert krino.Judgement.model_validate_json(judgement.to_json()) == judgement


@pytest.mark.parametrize("text", ["a good text", "unjudgeable", "explode"])
async def test_a_judgement_that_is_written_is_its_line_and_what_a_run_must_know(text: str) -> None:
    judgement = await judged(text)
    line = written(ToyJudge(), CaseItem(0, "c", {"text": text}), judgement)
    assert line.to_json() == judgement.to_json()
    assert line.read() == judgement
    known = (judgement.input_hash, judgement.status, judgement.usage, judgement.error)
    assert (line.input_hash, line.status, line.usage, line.error) == known


async def test_what_cannot_be_written_down_is_an_error_with_what_it_cost() -> None:
    odd = (await judged("a good text")).model_copy(update={"evidence": {"score": ["\ud800"]}, "usage": Usage(calls=1)})
    line = written(ToyJudge(), CaseItem(0, "c", {"text": "a good text"}), odd)
    assert (line.status, line.read().status, line.usage.calls) == ("error", "error", 1)
    assert "surrogate" in str(line.read().error)


async def test_a_judge_that_breaks_after_payment_is_known_by_its_lines_too() -> None:
    broken = (await judged("explode")).model_copy(update={"labels": {"label": "good"}, "usage": Usage(calls=1)})
    line = written(ToyJudge(), CaseItem(0, "c", {"text": "explode"}), broken)
    trial = Trial()
    trial.check(line)
    trial.check(line)
    with pytest.raises(RunStopped, match="own code failed on each of the first 3 labelled cases"):
        trial.check(line)


async def test_a_missing_field_is_a_failed_judgement_that_names_it() -> None:
    judgement = await judge_item(ToyJudge(), LocalLabeller(), CaseItem(0, "c", {"txt": "typo"}))
    assert judgement.status == "failed"
    assert judgement.reason == "text: Field required"


async def test_what_cannot_be_judged_is_failed_with_the_reason() -> None:
    judgement = await judged("unjudgeable")
    assert (judgement.status, judgement.verdict) == ("failed", None)
    assert judgement.reason == "the text says that it cannot be judged"


async def test_a_fault_in_the_judge_is_an_error_that_says_where() -> None:
    judgement = await judged("explode")
    assert judgement.status == "error"
    assert judgement.error == "RuntimeError: a fault in the judge's own code (toy_judge.py:53, in study)"


async def test_a_fault_in_the_labeller_is_an_error() -> None:
    judgement = await judged("label-explode")
    assert judgement.status == "error"
    assert "a fault in the labeller" in (judgement.error or "")


async def test_a_line_that_could_not_be_read_is_failed_with_file_and_line() -> None:
    item = CaseItem(3, "f:4", None, Source(file="f.jsonl", line=4), problem="f.jsonl:4: not valid JSON", raw="{")
    judgement = await judge_item(ToyJudge(), LocalLabeller(), item)
    assert (judgement.status, judgement.reason, str(judgement.source)) == ("failed", item.problem, "f.jsonl:4")


async def test_a_verdict_with_a_missing_field_never_comes_out() -> None:
    class Forgetful(ToyJudge):
        def settle(self, case: object, facts: object, labels: object) -> Settlement:
            return Settlement({"score": krino.Ruling(1.0, "TOY-LABEL")})

    judgement = await judged("fine", Forgetful())
    assert (judgement.status, judgement.verdict) == ("error", None)
    assert "note" in (judgement.error or "")


async def test_a_ruling_by_an_unlisted_rule_never_comes_out() -> None:
    class Lawless(ToyJudge):
        def settle(self, case: object, facts: object, labels: object) -> Settlement:
            ruling = krino.Ruling(1.0, "MADE-UP")
            return Settlement({"score": ruling, "note": krino.Ruling("n", "MADE-UP")})

    judgement = await judged("fine", Lawless())
    assert judgement.status == "error"
    assert "rules by 'MADE-UP', which `rules` does not list" in (judgement.error or "")


async def test_one_bad_case_does_not_spoil_its_batch() -> None:
    texts = ["fine", "label-explode", "bad"]
    judgements = [j async for j in krino.ajudge_many(ToyJudge(), [{"text": text} for text in texts])]
    assert [judgement.status for judgement in judgements] == ["ok", "error", "ok"]


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
async def test_a_number_that_is_none_never_comes_out(number: float) -> None:
    class Wild(ToyJudge):
        def settle(self, case: object, facts: object, labels: object) -> Settlement:
            return Settlement({"score": krino.Ruling(number, "TOY-LABEL"), "note": krino.Ruling("n", "TOY-LABEL")})

    judgement = await judged("fine", Wild())
    assert (judgement.status, judgement.verdict) == ("error", None)
    assert "finite numbers only" in (judgement.error or "")


class Measured(ToyJudge):
    """Knows something of a case, and not the same as its record says."""

    def metadata(self, case: Any) -> dict[str, Any]:
        return {"length": len(case.text)}


@pytest.mark.parametrize("text", ["fine", "unjudgeable", "explode", "label-explode"])
async def test_metadata_of_the_record_is_kept_whatever_becomes_of_the_case(text: str) -> None:
    record = {"text": text, "metadata": {"court": "cass", "length": -1}}
    judgement = await judge_item(Measured(), LocalLabeller(), CaseItem(0, "c", record))
    kept = {"court": "cass", "metadata.length": -1}
    assert judgement.metadata == {**kept, "length": len(text)}, "the judge knows better"


async def test_a_record_that_is_no_case_keeps_its_own_metadata() -> None:
    judgement = await judge_item(
        Measured(), LocalLabeller(), CaseItem(0, "c", {"txt": "", "metadata": {"court": "cass"}})
    )
    assert (judgement.status, judgement.metadata) == ("failed", {"court": "cass"})


async def test_metadata_that_cannot_be_written_is_an_error_of_the_case() -> None:
    class Odd(ToyJudge):
        def metadata(self, case: object) -> dict[str, Any]:
            return {"when": object()}

    assert (await judged("fine", Odd())).status == "error"


@pytest.mark.parametrize("form", [{"score": 0.0}, {"score": float("nan")}])
async def test_a_failed_form_with_a_number_is_not_used(form: dict[str, Any]) -> None:
    class Scoring(ToyJudge):
        def failed_form(self, status: Status, message: str) -> dict[str, Any]:
            return form

    judgement = await judged("unjudgeable", Scoring())
    assert (judgement.status, judgement.verdict) == ("error", None)
    assert "the text says that it cannot be judged; and the judge's failed form" in (judgement.error or "")


async def test_what_was_paid_for_is_on_record_when_settling_fails() -> None:
    class Broken(ToyJudge):
        def settle(self, case: object, facts: object, labels: object) -> Settlement:
            raise RuntimeError("no verdict today")

    judgement = await judged("a good text", Broken())
    assert judgement.status == "error"
    assert judgement.labels == {"label": "good", "quote": "a goo"}
