"""Where one verdict on a trace ends and the next begins, with labels given by hand."""

from __future__ import annotations

from typing import Any

import pytest

from efficiency_making import ANSWER, JUDGE, SEARCH, labels, settle, study
from krino import CannotJudge
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.labels import EfficiencyLabels
from krino.judges.efficiency.votes import join_votes

BUSY = {**SEARCH, "output": None, "error": "503 service unavailable"}


def page(number: int) -> dict[str, Any]:
    return {"type": "tool", "name": "read_page", "input": {"page": number}, "output": f"the text of page {number}"}


def problems(facts: EfficiencyFacts, *items: dict[str, Any]) -> list[str]:
    case = JUDGE.read({"task": "x", "trace": []})
    given = [{"why": "", "because_of": None, **item} for item in items]
    return JUDGE.check(case, facts, EfficiencyLabels.model_validate({"steps": given}))


# --- the score -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pages", "score"), [(8, 0.75), (7, 0.5)])
def test_an_attempt_that_a_retry_made_good_is_no_step_of_the_count(pages: int, score: float) -> None:
    """Scaled mode: one unnecessary step in ten is 0.75, in nine it is 0.5; the failed attempt is not among them."""
    facts = study(BUSY, SEARCH, *map(page, range(pages)), ANSWER)
    assert facts.recovered == {0: 1}
    given = labels(facts, s1="failed", s3="speculative")
    assert settle(facts, given, "scaled").rulings["score"].value == score


def test_a_failure_that_nothing_made_good_is_an_unnecessary_step() -> None:
    facts = study(BUSY, page(1), page(2), ANSWER)
    settlement = settle(facts, labels(facts, s1="failed"))
    assert settlement.rulings["score"].value == 0.25
    assert "s1" in settlement.rulings["reason"].value


def test_a_retry_that_failed_as_well_stays_what_the_labeller_calls_it() -> None:
    """Only a retry that brought a result is necessary whatever a labeller says."""
    facts = study(BUSY, BUSY, page(1), page(2), ANSWER)
    settlement = settle(facts, labels(facts, s1="failed", s2="redundant s1"))
    assert settlement.rulings["score"].value == 0.25
    assert [item.rule for item in settlement.findings if item.rule == "EFF-F1" and item.where == "s2"] == []


@pytest.mark.parametrize("kind", ["speculative", "indirect", "enrichment"])
def test_a_retry_may_be_unnecessary_in_another_way_than_as_a_repeat(kind: str) -> None:
    facts = study(BUSY, SEARCH, page(1), ANSWER)
    assert settle(facts, labels(facts, s1="failed", s2=kind)).rulings["score"].value == 0.25


def test_the_evidence_names_the_mode_and_every_unnecessary_step_with_its_cause() -> None:
    facts = study(SEARCH, SEARCH, page(1), ANSWER)
    items = {item.step: item for item in labels(facts, s2="redundant s1", s3="speculative").steps}
    items["s3"] = items["s3"].model_copy(update={"why": "nobody asked for the page"})
    ruling = settle(facts, EfficiencyLabels(steps=list(items.values()))).rulings["score"]
    assert ruling.evidence == (
        "mode: strict",
        "step s2 redundant because of step s1",
        "step s3 speculative: nobody asked for the page",
    )


def test_settling_is_pure_and_without_labels_it_fails_closed() -> None:
    facts = study(SEARCH, SEARCH, ANSWER)
    with pytest.raises(CannotJudge, match="no labels"):
        JUDGE.settle(JUDGE.read({"task": "x", "trace": []}), facts, None)
    assert {ruling.from_labels for ruling in settle(facts).rulings.values()} == {True}


# --- labels held against the trace -----------------------------------------------------------------


def test_a_redundant_step_points_at_an_earlier_one_never_at_itself_or_at_none() -> None:
    facts = study(SEARCH, SEARCH)
    first = {"step": "s1", "label": "necessary"}
    again = {"step": "s2", "label": "redundant"}
    assert problems(facts, first, {**again, "because_of": "s1"}) == []
    assert problems(facts, first, {**again, "because_of": "s2"}) == ["step s2: because_of 's2' does not come before it"]
    assert problems(facts, first, {**again, "because_of": "s7"}) == ["step s2: because_of 's7' is no step"]
    assert problems(facts, first, again) == ["step s2: redundant, but because_of names no earlier step"]
    assert problems(facts, first, {**again, "label": "speculative"}) == []


def test_five_steps_are_named_and_the_rest_counted() -> None:
    facts = study(*map(page, range(8)))
    given = [{"step": f"s{n}", "label": "necessary"} for n in range(1, 9)]
    assert problems(facts, *given[5:]) == ["steps: no label for 's1', 's2', 's3', 's4', 's5'"]
    assert problems(facts, *given[6:]) == ["steps: no label for 's1', 's2', 's3', 's4', 's5' and 1 more"]


def test_a_labeller_is_told_twenty_problems_at_most() -> None:
    facts = study(*map(page, range(25)))
    wrong = [{"step": f"s{n}", "label": "redundant"} for n in range(1, 26)]
    assert len(problems(facts, *wrong[:19], *({**item, "label": "necessary"} for item in wrong[19:]))) == 19
    assert len(problems(facts, *wrong)) == 20


# --- several seats ---------------------------------------------------------------------------------


def voted(*words: str) -> tuple[str, tuple[str, ...]]:
    """What the seats make of the third step, each with a word for it."""
    facts = study(SEARCH, page(1), page(2), ANSWER)
    joined = join_votes(facts, [labels(facts, s3=word) for word in words])
    return joined.labels.steps[2].label, joined.ties


@pytest.mark.parametrize(
    ("words", "label", "tied"),
    [
        (("indirect",), "indirect", False),
        (("necessary", "necessary", "speculative"), "necessary", False),
        (("necessary", "indirect", "indirect"), "indirect", False),
        (("necessary", "speculative"), "speculative", True),
        (("necessary", "necessary", "indirect", "indirect"), "indirect", True),
        (("necessary", "necessary", "indirect", "enrichment"), "indirect", True),
        (("necessary", "indirect", "enrichment"), "indirect", True),
        (("speculative", "indirect"), "speculative", True),
        (("indirect", "enrichment"), "indirect", True),
        (("enrichment", "redundant s2"), "enrichment", True),
        (("redundant s2", "failed"), "redundant", True),
        (("failed", "failed", "redundant s2"), "failed", False),
    ],
)
def test_in_doubt_a_step_is_unnecessary_and_the_costlier_kind_wins(
    words: tuple[str, ...], label: str, tied: bool
) -> None:
    taken, ties = voted(*words)
    assert (taken, len(ties)) == (label, int(tied))
    assert all(tie.startswith("step s3: ") and tie.endswith(f"; taken as {label}") for tie in ties)
