"""What a labeller is told as a fact is true to the letter, and says which of several grounds it means."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.judges.efficiency import EfficiencyJudge
from krino.judges.efficiency.finders.similarity import measure_similarity, read_wording
from krino.judges.efficiency.finders.unused_results import find_untouched
from krino.judges.efficiency.labels import StepLabel
from krino.judges.efficiency.local import describe_place
from krino.judges.efficiency.traces.failure import find_error_text
from krino.judges.efficiency.traces.steps import Step
from krino.labellers.llm.prompt import system_text
from krino.labellers.llm.schema import strict_schema

JUDGE = EfficiencyJudge()


def call(name: str, given: Any, brought: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool", "name": name, "input": given, "output": brought, **more}


def facts_of(task: str, *trace: dict[str, Any]) -> list[str]:
    numbered = [{"id": str(number), **step} for number, step in enumerate(trace, 1)]
    facts = JUDGE.study(JUDGE.read({"task": task, "trace": numbered}))
    return [describe_place(facts, place) for place in range(len(facts.steps))]


# --- wordings ----------------------------------------------------------------------------------------

LONG = "Read the following pages with care and sum up what happens to each of the people who appear in them, "


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("chapter one, the first part", "chapter two, the second part"),
        ("chapter two, the second part", "chapter three, the third part"),
        ("le chapitre deux, deuxième partie", "le chapitre trois, troisième partie"),
        ("hoofdstuk twee, tweede deel", "hoofdstuk drie, derde deel"),
        ("Kapitel zwei, zweiter Teil", "Kapitel drei, dritter Teil"),
        ("chapter II of the saga", "chapter III of the saga"),
    ],
)
def test_another_number_in_words_is_another_question(one: str, other: str) -> None:
    assert measure_similarity(read_wording(LONG * 4 + one), read_wording(LONG * 4 + other)) == 0.0
    told = facts_of("Sum up the book.", call("sum_up", {"text": LONG * 4 + one}, "Anna leaves."),
                    call("sum_up", {"text": LONG * 4 + other}, "Ben stays at home."))  # fmt: skip
    assert "nearly the same wording" not in told[1]


def test_one_number_written_in_two_ways_is_the_same_question() -> None:
    for one, other in [("chapter two", "chapter 2"), ("the 2nd chapter", "the second chapter")]:
        assert measure_similarity(read_wording(LONG * 4 + one), read_wording(LONG * 4 + other)) > 0.9


# --- what is taken up --------------------------------------------------------------------------------


def step(number: int, kind: str, name: str, given: Any, brought: Any) -> Step:
    return Step(id=str(number), kind=kind, name=name, input=given, output=brought)  # type: ignore[arg-type]


def untouched(brought: Any, name: str = "close", given: Any = None, answer: str = "Done.") -> bool:
    steps = [step(1, "tool", "look", {"claim": 7}, brought), step(2, "tool", name, given, "ok")]
    return list(find_untouched(steps, "Handle claim 7.", answer, {0})) == [0]


def test_a_result_is_taken_up_by_the_name_of_the_next_tool() -> None:
    assert untouched("escalate urgently storm")
    assert not untouched("escalate urgently storm", name="escalate_claim")
    assert not untouched("escalate urgently storm", name="escalateClaim")


def test_a_result_is_taken_up_by_an_argument_its_key_or_the_answer() -> None:
    assert not untouched("storm damage", given={"kind": "storm"})
    assert not untouched("storm damage", given={"storm": True})
    assert not untouched("storm damage", answer="It was a storm.")


def test_figures_are_known_again_rounded_and_written_otherwise() -> None:
    assert not untouched({"revenue": "12,483,000"}, answer="It was 12.5 million.")
    assert not untouched({"margin": 0.4567}, answer="The margin was 46 %.")
    assert not untouched({"total": "1.234,50"}, answer="1234.50 in all")
    assert untouched({"margin": 0.4567}, answer="It rained.")


def test_nothing_is_said_of_texts_too_long_to_be_read() -> None:
    padding = "lorem " * 4_000
    assert not untouched("storm damage", given={"text": f"{padding} storm"})
    assert not untouched("storm damage", answer=f"{padding} storm")
    assert not untouched(f"{padding} storm", answer="It was a storm.")


def test_words_of_the_task_and_of_the_call_do_not_count() -> None:
    assert untouched("claim 7 handled by nobody", answer="Claim 7 is closed.")


def test_nothing_is_said_of_results_that_the_answer_adds() -> None:
    """The answer quotes the weather: that it goes beyond the question does not make it unused."""
    told = facts_of(
        "What is the capital of Chile?",
        call("search", {"q": "capital of Chile"}, "Santiago is the capital of Chile."),
        call("weather", {"city": "Santiago"}, "sunny, 28 degrees, light wind"),
        {"type": "llm", "name": "answer", "output": "Santiago. By the way, it is sunny there, with light wind."},
    )
    assert "no later step" not in told[1]


# --- repeats -----------------------------------------------------------------------------------------

READ = call("read_file", {"path": "a.txt"}, "alpha beta gamma delta")


def test_the_ground_of_a_repeat_is_named_alone() -> None:
    written = call("write_file", {"path": "a.txt", "text": "epsilon"}, "ok")
    after = call("read_file", {"path": "a.txt"}, "epsilon zeta eta theta")
    assert facts_of("Mend a.txt.", READ, written, after)[2].endswith("after a step in between that changed something")
    status = [call("job_status", {"id": 7}, text) for text in ("running", "running", "done")]
    assert facts_of("Run job 7.", *status)[1].endswith("while a state was waited for")
    rolls = [call("roll_dice", {"sides": 6}, text) for text in ("4", "4")]
    assert facts_of("Roll the dice two times.", *rolls)[1].endswith(
        ("and the task asks for repetition", "with a tool that goes on at each call")
    )
    assert "," not in facts_of("Tell me.", READ, READ)[1], "a plain repeat has no excuse"


def test_the_same_error_again_and_a_retry_that_fails_are_told() -> None:
    lasting = call("read_file", {"path": "b.txt"}, None, error="no such file: b.txt")
    assert facts_of("Tell me.", lasting, lasting)[1] == (
        "step 1 again: the same call with the same arguments and the same error"
    )
    passing = call("fetch", {"url": "u"}, "504 Gateway Time-out")
    told = facts_of("Tell me.", passing, passing, call("fetch", {"url": "u"}, "alpha"))
    assert told[1].startswith("makes the failed call of step 1 again, and fails")
    assert told[2] == "makes the failed call of step 1 again"


# --- errors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "output",
    [
        "504 Gateway Time-out",
        "503 resuming",
        "503: resuming, try again",
        "503 Service Temporarily Unavailable",
        "Gateway time-out",
        "upstream request timeout",
        "Request timed out after 30 seconds",
        "<html>\n<head><title>502 Bad Gateway</title></head></html>",
        {"result": "503 resuming"},
        {"content": [{"type": "text", "text": "504 Gateway Time-out"}]},
    ],
)
def test_what_a_gateway_says_is_an_error(output: Any) -> None:
    assert find_error_text(output) is not None


@pytest.mark.parametrize(
    "output",
    [
        "503 results found",
        "504 units in stock",
        "502 backpacks sold",
        "<html><head><title>Gateway to the Alps</title></head></html>",
        "<html><head><title>News</title></head><body>504 Gateway Time-out explained</body></html>",
        {"result": "503 results found"},
        {"text": "503 resuming", "pages": 3},
    ],
)
def test_counts_and_pages_are_no_errors(output: Any) -> None:
    assert find_error_text(output) is None


def test_a_retry_after_a_gateway_error_costs_nothing() -> None:
    trace = [call("fetch", {"url": "u"}, "503 resuming"), call("fetch", {"url": "u"}, "Total: 42 euros"),
             {"type": "llm", "name": "answer", "output": "42 euros."}]  # fmt: skip
    judgement = krino.judge("efficiency", {"task": "What is the total at u?", "trace": trace})
    assert judgement.verdict is not None
    assert judgement.verdict["score"] == 1.0


# --- prompt ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "settled",
    ["each item that the task names", "finds nothing", "reports in the end", "itself already gives", "stays necessary"],
)
def test_the_prompt_settles_what_traces_leave_open(settled: str) -> None:
    assert settled in JUDGE.default_prompt


def test_the_prompt_stays_short() -> None:
    assert len(JUDGE.default_prompt) < 4_500
    assert len(system_text(JUDGE.prompt, "text", strict_schema(JUDGE.labels_model))) < 6_200


def test_prompt_and_schema_agree_on_because_of() -> None:
    told = StepLabel.model_fields["because_of"].description or ""
    assert "`redundant`" in told and "else null or one" in told
    assert "for other labels null or the earlier step concerned" in JUDGE.default_prompt
