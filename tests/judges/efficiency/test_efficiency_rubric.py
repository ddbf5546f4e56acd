"""From labels to score and reason: the published table, what facts overrule, and what a reason may say."""

from __future__ import annotations

from typing import get_args

import pytest

from efficiency_making import ANSWER, JUDGE, SEARCH, labels, settle, study
from krino import CannotJudge, Finding
from krino.judges.efficiency.data_files import package_text, table
from krino.judges.efficiency.judge import EfficiencyJudge
from krino.judges.efficiency.labels import EfficiencyLabels
from krino.judges.efficiency.rubric import Tally, look_up_score
from krino.judges.efficiency.traces.detect import Format
from krino.judges.efficiency.wording import check_reason


@pytest.mark.parametrize(
    ("counted", "wasted", "small", "enrichment", "strict", "scaled"),
    [
        (5, 0, True, False, 1.0, 1.0),
        (5, 1, True, False, 0.75, 0.75),
        (5, 1, True, True, 0.75, 0.75),
        (2, 1, True, False, 0.75, 0.75),
        (10, 1, False, False, 0.25, 0.75),
        (10, 1, False, True, 0.25, 0.25),
        (10, 3, False, False, 0.25, 0.5),
        (3, 1, False, False, 0.25, 0.5),
        (3, 2, False, False, 0.25, 0.25),
        (3, 2, True, True, 0.25, 0.25),
        (12, 10, True, False, 0.0, 0.0),
        (1, 1, False, False, 0.0, 0.0),
    ],
)
def test_score_table(counted: int, wasted: int, small: bool, enrichment: bool, strict: float, scaled: float) -> None:
    tally = Tally(counted, wasted, small, enrichment)
    assert look_up_score(tally, "strict")[0] == strict
    assert look_up_score(tally, "scaled")[0] == scaled


def test_every_rule_of_the_table_is_published() -> None:
    rules = {look_up_score(Tally(20, wasted, small, enrichment), mode)[1]
             for wasted in range(21) for small in (True, False) for enrichment in (True, False)
             for mode in ("strict", "scaled")}  # fmt: skip
    assert rules <= JUDGE.rules.keys()


def test_verdict_has_exactly_score_and_reason() -> None:
    assert settle(study(SEARCH, ANSWER)).rulings.keys() == {"score", "reason"}


def test_one_exact_duplicate_is_three_quarters_and_named() -> None:
    settlement = settle(study(SEARCH, SEARCH, ANSWER))
    assert settlement.rulings["score"].value == 0.75
    assert settlement.rulings["reason"].value == 'Step s2 repeats step s1: search("opening hours").'


def test_one_restyling_alone_is_three_quarters_but_extra_retrieval_is_a_quarter() -> None:
    facts = study(SEARCH, ANSWER, {"type": "llm", "name": "polish", "input": "x", "output": "y"})
    assert settle(facts, labels(facts, s3="enrichment")).rulings["score"].value == 0.75
    facts = study(SEARCH, ANSWER, {"type": "tool", "name": "images", "input": "x", "output": "y"})
    assert settle(facts, labels(facts, s3="enrichment")).rulings["score"].value == 0.25
    assert settle(facts, labels(facts, s3="enrichment"), "scaled").rulings["score"].value == 0.25


def test_a_failed_attempt_whose_retry_succeeded_costs_nothing() -> None:
    failed = {**SEARCH, "output": None, "error": "503 service unavailable"}
    facts = study(failed, SEARCH, ANSWER)
    settlement = settle(facts, labels(facts, s1="failed", s2="redundant s1"))
    assert settlement.rulings["score"].value == 1.0
    assert "No unnecessary step was found" in settlement.rulings["reason"].value
    assert [finding.where for finding in settlement.findings if finding.rule == "EFF-F1"] == ["s2", "s1"]


def test_the_same_error_again_is_a_repeat_unless_it_is_of_the_passing_kind() -> None:
    wrong = {**SEARCH, "output": None, "error": "unknown field"}
    assert [item.label for item in JUDGE.label_locally([(_CASE, study(wrong, wrong, ANSWER))])[0].steps] == [
        "necessary",  # that it fails is the result, and the same error again tells nothing more
        "redundant",
        "necessary",
    ]
    busy = {**SEARCH, "output": None, "error": "429 too many requests"}
    assert settle(study(busy, busy, SEARCH, ANSWER)).rulings["score"].value == 1.0


_CASE = JUDGE.read({"task": "x", "trace": []})


def test_a_model_cannot_call_an_identical_repeat_necessary() -> None:
    facts = study(SEARCH, SEARCH, ANSWER)
    settlement = settle(facts, labels(facts))
    assert settlement.rulings["score"].value == 0.75
    assert [finding.where for finding in settlement.findings if finding.rule == "EFF-F2"] == ["s2"]


def test_a_repeat_with_a_new_result_is_left_to_the_labeller() -> None:
    facts = study({**SEARCH, "name": "get_status"}, {**SEARCH, "name": "get_status", "output": "done"}, ANSWER)
    assert settle(facts).rulings["score"].value == 1.0
    assert settle(facts, labels(facts, s2="redundant s1")).rulings["score"].value == 0.75


def test_findings_list_each_label_the_minimal_sequence_and_the_cost() -> None:
    costly = {**SEARCH, "tokens": 300, "seconds": 2.0}
    settlement = settle(study({**SEARCH, "tokens": 100, "seconds": 2.0}, costly, ANSWER))
    told = {finding.rule: finding.text for finding in settlement.findings}
    assert told["EFF-L1"].startswith("redundant, because of step s1")
    assert told["EFF-N2"] == "minimal sequence, 2 of 3 steps: s1, s3"
    costs = [finding.text for finding in settlement.findings if finding.rule == "EFF-N3"]
    assert costs[0] == "75% (300 of 400 tokens) went into unnecessary steps"
    assert costs[1].startswith("50% (2 of 4 seconds)")
    assert {finding.rule for finding in settlement.findings} <= JUDGE.rules.keys()


def test_a_loop_is_told_in_one_sentence() -> None:
    page = {"type": "tool", "name": "open_page", "input": {"url": "x.example/hours"}, "output": "Mo-Fr 9-17"}
    reason = settle(study(*[SEARCH, page] * 5)).rulings["reason"].value
    assert reason == "Steps s3, s5, s7, s9 repeat step s1; steps s4, s6, s8, s10 repeat step s2."


@pytest.mark.parametrize("words", ["It seems fine. Really! Is it?", "ok. Somewhat reasonable, arguably good. Yes. No."])
def test_words_of_a_call_never_spoil_the_reason(words: str) -> None:
    noisy = {**SEARCH, "name": "okay", "input": {"q": words}}
    reason = settle(study(noisy, noisy, ANSWER)).rulings["reason"].value
    assert check_reason(reason, 0.75, ["s2"], ["okay"]) == []
    assert 'okay("' in reason


@pytest.mark.parametrize("name", ["think", "okay", "check_good"])
def test_a_reason_names_the_tool_whatever_its_name_is_made_of(name: str) -> None:
    noisy = {**SEARCH, "name": name}
    for calls in ((noisy, noisy), (noisy, noisy, noisy)):
        assert f'{name}("opening hours")' in settle(study(*calls, ANSWER)).rulings["reason"].value


def test_a_tool_name_of_several_words_is_no_place_for_opinions() -> None:
    noisy = {**SEARCH, "name": "this is clearly good"}
    reason = settle(study(noisy, noisy, ANSWER)).rulings["reason"].value
    assert check_reason(reason, 0.75, ["s2"]) == []


@pytest.mark.parametrize(
    ("reason", "score", "problem"),
    [
        ("Step 2 seems redundant.", 0.75, "words of opinion: seems"),
        ("Step 2 is sort of redundant.", 0.75, "words of opinion: sort of"),
        ("One. Two. Three. Step 2.", 0.75, "4 sentences"),
        ("", 0.75, "0 sentences"),
        ("A search was repeated.", 0.75, "names no step"),
        ("All steps count.", 1.0, "does not say"),
    ],
)
def test_reasons_that_break_the_rubric_are_found(reason: str, score: float, problem: str) -> None:
    assert any(problem in found for found in check_reason(reason, score, ["2"]))


def test_labels_are_held_against_the_trace() -> None:
    facts = study(SEARCH, SEARCH, ANSWER)
    bad = {
        "steps": [
            {"step": "s1", "label": "redundant", "why": "", "because_of": "s2"},
            {"step": "s1", "label": "necessary", "why": "", "because_of": None},
            {"step": "s2", "label": "redundant", "why": "", "because_of": None},
            {"step": "s9", "label": "necessary", "why": "", "because_of": None},
        ]
    }
    problems = JUDGE.check(_CASE, facts, EfficiencyLabels.model_validate(bad))
    assert problems == [
        "steps: there is no step 's9' to label",
        "steps: labelled more than once, with different labels: 's1'",
        "steps: no label for 's3'",
        "step s1: because_of 's2' does not come before it",
        "step s2: redundant, but because_of names no earlier step",
    ]


def test_a_step_that_is_labelled_twice_alike_counts_once_and_is_recorded() -> None:
    facts = study(SEARCH, SEARCH, ANSWER)
    once = labels(facts, s2="speculative")
    twice = once.model_copy(update={"steps": [*once.steps, once.steps[1].model_copy(update={"why": "again"})]})
    assert JUDGE.check(_CASE, facts, twice) == []
    settled, again = (settle(facts, given, "scaled") for given in (once, twice))
    assert again.rulings == settled.rulings
    assert [found for found in again.findings if found not in settled.findings] == [
        Finding("EFF-N11", "labelled again with the same label, counted once: 's2'")
    ]


def test_no_task_and_no_steps_are_no_score() -> None:
    with pytest.raises(CannotJudge, match="no task"):
        JUDGE.study(JUDGE.read({"task": " ", "trace": [SEARCH]}))
    with pytest.raises(CannotJudge, match="no steps"):
        JUDGE.study(JUDGE.read({"task": "x", "trace": []}))


# --- what is not known -----------------------------------------------------------------------------


BARE = {"type": "llm", "name": "model"}


def test_a_step_of_which_nothing_was_recorded_is_not_counted_and_said_to_be_unknown() -> None:
    facts = study(BARE, SEARCH, ANSWER)
    for given in (labels(facts), labels(facts, s1="speculative")):
        settlement = settle(facts, given)
        assert settlement.rulings["score"].value == 1.0
        assert [finding.where for finding in settlement.findings if finding.rule == "EFF-N8"] == ["s1"]
        assert "in 2 steps. Of 1 more step nothing was recorded." in settlement.rulings["reason"].value
    assert check_reason(settle(facts).rulings["reason"].value, 1.0, []) == []


@pytest.mark.parametrize("mark", [*table("fields")["redacted"], "***", "•••••", " [REDACTED] "])
def test_a_trace_of_nothing_but_marks_of_redaction_is_not_judged(mark: str) -> None:
    with pytest.raises(CannotJudge, match="records nothing"):
        study({"name": "search", "input": mark, "output": mark}, {"name": "search", "input": None, "output": mark})


def test_a_perfect_score_from_facts_alone_says_what_was_not_looked_for() -> None:
    facts = study(SEARCH, ANSWER)
    embedded, model = settle(facts), settle(facts, labels(facts))
    assert (embedded.findings[0].rule, embedded.findings[0].where) == ("EFF-N9", "score")  # shown above the score
    looked_for, _, left = embedded.findings[0].text.partition("does not look for")
    assert "found none" in looked_for
    assert "detours" in left
    assert "not that every step was needed" in EfficiencyJudge.rules["EFF-N9"]
    assert "EFF-N9" not in {finding.rule for finding in model.findings}
    assert "EFF-N9" not in {finding.rule for finding in settle(study(SEARCH, SEARCH, ANSWER)).findings}


def test_a_model_writes_the_shortest_sequence_first_and_the_ground_before_each_label() -> None:
    schema = EfficiencyLabels.model_json_schema()
    assert list(schema["properties"]) == schema["required"] == ["shortest", "steps"]
    assert list(schema["$defs"]["StepLabel"]["properties"]) == ["step", "why", "because_of", "label"]


@pytest.mark.parametrize(
    ("label", "said"),
    [
        ("redundant s1", "was not needed after step s1"),
        ("speculative", "was not asked for"),
        ("enrichment", "goes beyond the task"),
        ("indirect", "takes a detour"),
        ("failed", "brought nothing of use"),
    ],
)
def test_a_reason_says_nothing_that_the_trace_does_not_bear_out(label: str, said: str) -> None:
    used = {"type": "tool", "name": "open_page", "input": {"url": "x"}, "output": "open from nine to five"}
    facts = study(SEARCH, used, {**ANSWER, "input": "from nine to five", "output": "It opens at nine."})
    assert f"Step s2 {said}" in settle(facts, labels(facts, s2=label)).rulings["reason"].value


@pytest.mark.parametrize("name", table("fields")["input"])
def test_arguments_are_read_under_every_name(name: str) -> None:
    step = {"type": "tool", "name": "get_price", "output": "9"}
    facts = study({**step, name: {"item": "tea"}}, {**step, name: {"item": "milk"}})
    assert [found.input for found in facts.steps] == [{"item": "tea"}, {"item": "milk"}]


def test_the_card_tells_of_every_format_and_every_rule_that_needs_words() -> None:
    card = package_text("card.md")
    assert [name for name in get_args(Format) if name != "auto" and f"`{name}`" not in card] == []
    assert [rule for rule in ("EFF-N7", "EFF-N8", "EFF-N9", "EFF-W2") if rule not in card] == []
