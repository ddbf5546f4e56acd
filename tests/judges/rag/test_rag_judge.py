"""The judge as a whole: what it asks, what it spends, and its failed form."""

from __future__ import annotations

import time
from typing import Any

import pytest

import krino
from fake_llm import FakeServer
from krino.contract import Questions, Task
from krino.errors import UsageProblem
from krino.judges.rag import RagJudge
from rag_making import BRIDGE, QUESTION, case_of, claim_of, judge_locally, raw_labels, values_of

JUDGE = RagJudge()


def asked(**changes: Any) -> Questions | None:
    case = JUDGE.read(case_of(**changes))
    return JUDGE.ask(case, JUDGE.study(case))


def blocks(questions: Questions | None) -> dict[str, str]:
    assert questions is not None
    return {passage.name: passage.text for passage in questions.passages}


def test_the_case_is_shown_in_named_blocks_with_numbered_sentences() -> None:
    shown = blocks(asked(reference="In 1904, by the king."))
    assert list(shown) == ["question", "passage 1", "passage 2", "answer", "reference"]
    assert shown["question"] == QUESTION
    assert shown["passage 1"] == f"[1] {BRIDGE}"
    assert shown["answer"] == "[1] The bridge was opened in 1904.\n[2] It carries two railway tracks."


def test_values_that_no_passage_has_are_shown_as_data_never_in_the_request() -> None:
    questions = asked(answer="It was opened in 1910 by Olsen.")
    assert blocks(questions)["absent"] == "1910, Olsen"
    assert questions is not None
    assert "Olsen" not in questions.request


def test_only_what_is_open_is_asked() -> None:
    without_context = asked(context=[])
    assert without_context is not None
    assert "leave claims" in without_context.request
    assert "passage 1" not in blocks(without_context)
    assert "reference" not in blocks(asked(reference="none"))
    same = asked(reference=case_of()["answer"])
    assert same is not None
    assert "Leave similarity" in same.request


def test_a_reply_is_accepted_or_refused_with_its_faults() -> None:
    case = JUDGE.read(case_of())
    facts = JUDGE.study(case)
    questions = JUDGE.ask(case, facts)
    assert questions is not None
    task = Task(JUDGE, case, facts, questions)
    assert JUDGE.settle(case, facts, task.accept(raw_labels())).rulings["faithfulness"].value == 1.0
    with pytest.raises(ValueError, match="parts is empty"):
        task.accept(raw_labels(parts=[]))
    with pytest.raises(ValueError, match="uncertain"):
        task.accept({key: value for key, value in raw_labels().items() if key != "uncertain"})


def test_every_field_of_a_reply_is_required_so_that_strict_schemas_hold() -> None:
    schema = JUDGE.labels_model.model_json_schema()
    for part in (schema, *schema["$defs"].values()):
        assert part["additionalProperties"] is False
        assert set(part["required"]) == set(part["properties"])


@pytest.mark.parametrize(("status", "field", "other"), [("failed", "reason", "error"), ("error", "error", "reason")])
def test_the_failed_form_has_all_keys_and_no_score(status: Any, field: str, other: str) -> None:
    form = JUDGE.failed_form(status, "no question")
    JUDGE.verdict_model.model_validate(form)
    assert list(form) == list(JUDGE.verdict_model.model_fields)
    assert form.pop("evaluation_status") == "failed"
    assert form.pop(field) == "no question"
    assert form.pop(other) is None
    assert set(form.values()) == {None}


def test_an_empty_goal_is_none_and_the_same_run() -> None:
    assert RagJudge({"goal": " "}).fingerprint() == RagJudge().fingerprint()


def test_the_goal_of_the_case_goes_before_the_option() -> None:
    legal = RagJudge({"goal": "legal"})
    assert legal.study(legal.read(case_of())).goal.name == "legal"
    assert legal.study(legal.read(case_of(goal="creative"))).goal.name == "creative"
    recall_only = case_of(context=[BRIDGE, "Bananas are yellow."])
    assert values_of(judge_locally(recall_only, legal))["context_relevance"] == 0.9


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(UsageProblem, match="goals"):
        RagJudge({"goals": "legal"})


def test_the_prompt_is_short_and_says_what_to_judge_by() -> None:
    assert len(JUDGE.default_prompt) < 4_200
    assert "Judge by the passages alone" in JUDGE.default_prompt


def test_a_case_on_its_way_to_a_model_is_studied_in_well_under_a_millisecond() -> None:
    passages = [" ".join(f"Word{n} in sentence {n}." for n in range(start, start + 30)) for start in (0, 30, 60)]
    case = JUDGE.read({"question": QUESTION, "context": passages, "answer": "It was opened then by Ole. " * 10})
    best = min(_seconds(case) for _ in range(20))
    assert best < 0.001


def _seconds(case: Any) -> float:
    started = time.perf_counter()
    JUDGE.ask(case, JUDGE.study(case))
    return time.perf_counter() - started


@pytest.mark.parametrize(("record", "what"), [({"prompt": "q", "answer": "a"}, "question"), ({"query": "q"}, "answer")])
def test_a_record_with_other_names_is_told_what_it_has_and_how_to_map_it(record: dict[str, str], what: str) -> None:
    judgement = krino.judge("rag", record)
    assert judgement.status == "failed"
    reason = judgement.reason or ""
    assert f"no {what}: the record has the fields {', '.join(record)}" in reason
    assert f"--map {what}=FIELD" in reason


@pytest.mark.parametrize("goal", ["legal", "Fact checking of news", "safety-critical"])
def test_a_goal_for_the_run_may_be_a_name_or_words(goal: str) -> None:
    assert krino.load_judge("rag", {"goal": goal})


def test_a_goal_for_the_run_that_says_nothing_is_refused() -> None:
    with pytest.raises(krino.UsageProblem, match="names no known goal; there are balanced, "):
        krino.load_judge("rag", {"goal": "nonsense"})


# --- languages -------------------------------------------------------------------------------------

RUSSIAN = {
    "question": "Когда был открыт мост?",
    "context": ["Мост был открыт в 1904 году."],
    "answer": "Он был открыт в 1904 году.",
}


def test_the_embedded_labeller_fails_what_it_cannot_read_and_says_what_it_can() -> None:
    judgements = list(krino.judge_many("rag", [case_of(), RUSSIAN, case_of()]))
    assert [item.status for item in judgements] == ["ok", "failed", "ok"]
    reason = judgements[1].reason or ""
    assert reason.startswith("unsupported language: the question is in Russian; the embedded labeller reads English, ")
    assert (judgements[1].verdict or {})["evaluation_status"] == "failed"


def test_a_model_may_read_what_the_embedded_labeller_cannot() -> None:
    quoted = {"quote": "открыт в 1904 году", "text": "Мост был открыт в 1904 году."}
    reply = raw_labels(claims=[claim_of(**quoted)], passages=[{"passage": 1, "useful_sentences": [1]}])
    with FakeServer(reply=reply) as server:
        judgement = krino.judge("rag", RUSSIAN, labeller=krino.llm("m", base_url=server.url, cache=None))
    assert judgement.status == "ok", judgement.error or judgement.reason


def test_a_model_that_cannot_read_a_case_says_so_and_its_call_is_on_record() -> None:
    reply = raw_labels(unreadable="Russian", claims=[], passages=[], needs=[], parts=[], direct="no")
    with FakeServer(reply=reply) as server:
        judgement = krino.judge("rag", RUSSIAN, labeller=krino.llm("m", base_url=server.url, cache=None))
    assert (judgement.status, judgement.reason) == ("failed", "the labeller cannot read the case: Russian")
    assert judgement.usage.calls == 1


def test_what_differs_from_the_reference_is_shown_as_data() -> None:
    questions = asked(answer="It was opened in 1904.", reference="It was opened in 1905.")
    assert blocks(questions)["differs"] == "the answer says 1904, the reference 1905"
    assert "differs" not in blocks(asked(reference="In 1904, by the king."))


@pytest.mark.parametrize(
    ("own", "option", "known"),
    [(None, "legal", "legal"), ("Medical", "legal", "medical"), (None, None, "balanced"), ("xyz", "legal", "balanced")],
)
def test_slices_go_by_the_goal_that_the_case_is_judged_by(own: str | None, option: str | None, known: str) -> None:
    judge = RagJudge({} if option is None else {"goal": option})
    case = judge.read(case_of(goal=own))
    assert judge.metadata(case)["goal"] == judge.study(case).goal.name == known
