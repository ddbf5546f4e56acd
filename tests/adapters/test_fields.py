"""What all adapters are made of: the fields of a judgement, and one verdict a case however many ask for it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

import krino
from adapter_cases import GIBBERISH, HEIGHT, Kind
from fake_llm import FakeServer
from krino.adapters import Field, SharedJudge, fields, status
from krino.adapters.cases import make_case
from toy_judge import ToyJudge

GOOD = {**HEIGHT, "answer": "It is 102 metres tall."}


@pytest.fixture
def tone(server: FakeServer) -> krino.Labeller:
    return krino.llm("gpt-test", base_url=server.url, api_key="key", cache=None)


def test_a_field_has_a_value_with_reason_and_rule() -> None:
    found = {field.name: field for field in fields(krino.judge("rag", GOOD))}
    assert found["rag.faithfulness"] == Field(
        "rag.faithfulness", 1.0, "1 of 1 claim supported by the context.", "RAG-F4"
    )
    assert found["rag.evaluation_status"].label == "success"
    assert "rag.faithfulness_explanation" not in found
    assert "rag.semantic_similarity" not in found  # null: there is no reference to compare with


def test_a_null_that_was_asked_for_is_a_problem() -> None:
    (found,) = fields(krino.judge("rag", GOOD), ["semantic_similarity"])
    assert found.value is None
    assert found.problem == "semantic_similarity has no value (RAG-S1): Not scored: no reference answer was given."


def test_a_case_that_was_not_judged_has_a_problem_in_every_field() -> None:
    judgement = krino.judge("rag", {**GOOD, "answer": ""})
    found = SharedJudge("rag").fields(judgement)
    names = ["faithfulness", "context_relevance", "answer_relevance", "semantic_similarity"]
    assert [field.name for field in found] == [f"rag.{name}" for name in names]
    assert {field.value for field in found} == {None}
    assert all("not judged (failed): no answer" in (field.problem or "") for field in found)
    assert [field.name for field in fields(judgement)] == ["rag"]


def test_the_status_says_why() -> None:
    assert status(krino.judge("rag", GOOD)) == Field("rag.status", "ok")
    failed = status(krino.judge(ToyJudge, {"text": "unjudgeable"}))
    assert (failed.label, failed.reason) == (
        "failed",
        "not judged (failed): the text says that it cannot be judged",
    )


def test_a_field_that_the_judge_does_not_have_is_refused_before_anything_is_judged() -> None:
    with pytest.raises(krino.UsageProblem, match=r"no score or label `faithfullness` .did you mean faithfulness"):
        SharedJudge("rag", ["faithfullness"])


def test_the_verdicts_are_those_of_krino_judge(kind: Kind) -> None:
    shared = SharedJudge(kind.judge, **kind.settings)
    for sample, judgement in zip(kind.samples, kind.judgements(), strict=True):
        mine = shared.decide({**sample.inputs, "answer": sample.answer})
        assert (mine.verdict, mine.status) == (judgement.verdict, judgement.status)


def test_many_askers_in_threads_and_loops_pay_for_one_verdict(server: FakeServer, tone: krino.Labeller) -> None:
    shared, case = SharedJudge("tone", labeller=tone), {"text": "Thank you for asking."}
    before = server.stats().calls

    async def ask(by: str) -> krino.Judgement:
        return await shared.adecide(case, by=by)

    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(shared.decide, case, str(number)) for number in range(8)]
        asked += [threads.submit(asyncio.run, ask(f"loop {number}")) for number in range(8)]
        assert {str(future.result().verdict) for future in asked} == {str(shared.decide(case).verdict)}
    assert server.stats().calls == before + 1


def test_an_error_is_said_to_each_asker_once_and_then_tried_again(server: FakeServer, tone: krino.Labeller) -> None:
    shared, case = SharedJudge("tone", labeller=tone), {"text": f"{GIBBERISH}!"}
    before = server.stats().calls
    assert [shared.decide(case, by).status for by in ("one", "other")] == ["error", "error"]
    after_both = server.stats().calls
    assert shared.decide(case, "one").status == "error"
    assert (after_both - before, server.stats().calls - after_both) == (3, 3)


def test_a_spent_budget_is_an_error_of_each_case(server: FakeServer) -> None:
    labeller = krino.llm("gpt-test", base_url=server.url, api_key="key", cache=None, max_tokens=1)
    shared = SharedJudge("tone", labeller=labeller)
    found = [shared.decide({"text": f"Thank you, {number}."}) for number in range(3)]
    assert [judgement.status for judgement in found] == ["error"] * 3
    assert all("max-tokens" in (judgement.error or "") for judgement in found)


def test_one_who_gives_up_does_not_stop_the_others(server: FakeServer, tone: krino.Labeller) -> None:
    shared, case = SharedJudge("tone", labeller=tone), {"text": "Thank you, slowly."}

    async def give_up() -> krino.Judgement:
        impatient = asyncio.create_task(shared.adecide(case, by="impatient"))
        patient = asyncio.create_task(shared.adecide(case, by="patient"))
        await asyncio.sleep(0)
        impatient.cancel()
        return await patient

    assert asyncio.run(give_up()).status == "ok"


def test_what_is_judged_wins_over_what_was_given() -> None:
    assert make_case("How?", "So.", "Thus.") == {"input": "How?", "answer": "So.", "reference": "Thus."}
    made = make_case({"question": "How?", "answer": "old"}, {"answer": "new"}, {"answer": "right", "court": "Ghent"})
    assert made == {"question": "How?", "answer": "new", "reference": "right", "court": "Ghent"}
    assert make_case({}, None) == {}


@pytest.mark.parametrize("module", ["deepeval", "pydantic_evals", "inspect_ai"])
def test_a_missing_framework_is_named_with_its_extra(module: str) -> None:
    code = f"import sys; sys.modules['{module}'] = None; import krino.adapters.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"pip install 'krino[{module.replace('_', '-')}]'" in done.stderr
