"""What our judges make of several seats: joined labels fit the case, ties are taken as the cards say."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from citation_cases import CASSATION, candidate, citation, match
from krino.contract import Joined, Judge, Task
from krino.contract.judge_checks import settle_case, verdict_of
from krino.errors import CannotJudge
from krino.judges.citation.judge import CitationJudge
from krino.judges.citation.labels import CitationLabels
from krino.judges.efficiency.judge import EfficiencyJudge
from krino.judges.efficiency.labels import EfficiencyLabels
from krino.judges.rag.judge import RagJudge
from krino.judges.rag.labels import RagLabels
from krino.labellers.panel import join
from krino.results.field_kinds import ROLL_UPS
from rag_making import BRIDGE, HARBOUR, case_of, claim_of, raw_labels, refusal_of, unsupported_claim

# --- cases that leave much open ----------------------------------------------------------------------


def task_of(judge: Judge[Any, Any, Any], record: dict[str, Any]) -> Task[Any, Any, Any]:
    case = judge.read(record)
    facts = judge.study(case)
    questions = judge.ask(case, facts)
    assert questions is not None
    return Task(judge, case, facts, questions, input_hash="00")


ANSWER = "The bridge was opened in 1904, not before. It carries two railway tracks."
RAG = task_of(RagJudge(), case_of(answer=ANSWER, reference="It was opened in 1905, and it is red."))
TEXTS = ("Le bail commercial est renouvelé.", "La faute grave du travailleur.", "Droits de succession et donation.")
CITATION = task_of(
    CitationJudge(),
    citation(
        "Cour de cassation",
        citation_snippet="sur la rupture du contrat pour un motif discuté",
        candidates=[candidate(CASSATION.format(n), "Cour de cassation", None, text) for n, text in enumerate(TEXTS, 1)],
        matches=[match(CASSATION.format(1), 0.6, "The court fits. The context fits candidate 1.")],
    ),
)
STEPS: list[dict[str, Any]] = [
    {"id": "s1", "type": "tool", "name": "search", "input": {"q": "weather in Ghent"}, "output": "rain"},
    {"id": "s2", "type": "tool", "name": "search", "input": {"q": "history of Ghent"}, "output": "old"},
    {"id": "s3", "type": "llm", "name": "answer", "input": "weather", "output": "It rains in Ghent."},
]
EFFICIENCY = task_of(EfficiencyJudge(), {"task": "What is the weather in Ghent?", "trace": STEPS})
TASKS = {"rag": RAG, "citation": CITATION, "efficiency": EFFICIENCY}


# --- ballots that a model could give -------------------------------------------------------------------

contradiction = claim_of(label="contradicted", passage=2, quote="timber and grain", text="It is of timber.")
claims = {
    1: [[claim_of()], [claim_of(), unsupported_claim(1)], [contradiction], [{**contradiction, "critical": True}]],
    2: [[], [unsupported_claim(2)], [claim_of(sentence=2, quote="carries two railway tracks")]],
}
claims[2] += [[{**contradiction, "sentence": 2}, claim_of(sentence=2)]]
refusals = st.none() | st.builds(
    refusal_of,
    is_refusal=st.booleans(),
    reason_stated=st.booleans(),
    category=st.sampled_from(["insufficient_context", "safety", None]),
    validity_shown=st.booleans(),
    right_to_refuse=st.booleans(),
    why=st.sampled_from(["w1", "w2"]),
)


def flags(text: str, where: str, flag: str) -> st.SearchStrategy[list[dict[str, Any]]]:
    def told(name: str, yes: bool) -> dict[str, Any]:
        return {text: name, where: 1 if yes else None, flag: yes}

    one = st.builds(told, st.sampled_from(["n1", "n2"]), st.booleans())
    return st.lists(one, min_size=1, max_size=2, unique_by=lambda item: item[text])


@st.composite
def rag_ballots(draw: st.DrawFn) -> RagLabels:
    second = draw(st.sampled_from(claims[2]))
    labels = raw_labels(
        claims=[*draw(st.sampled_from(claims[1])), *second],
        empty_sentences=[] if second else [2],
        parts=draw(flags("part", "sentence", "answered")),
        direct=draw(st.sampled_from(["full", "partly", "no"])),
        passages=[{"passage": number, "useful_sentences": [1] if draw(st.booleans()) else []} for number in (1, 2)],
        needs=draw(flags("need", "passage", "held")),
        refusal=draw(refusals),
        similarity=draw(st.sampled_from(["same", "close", "partial", "little", "none"])),
        similarity_why=draw(st.sampled_from(["s1", "s2", None])),
        uncertain=draw(st.sampled_from([None, "u1"])),
    )
    if labels["refusal"] and all(need["held"] for need in labels["needs"]):
        labels["refusal"]["right_to_refuse"] = False
    accepted: RagLabels = RAG.accept(labels)
    return accepted


@st.composite
def citation_ballots(draw: st.DrawFn) -> CitationLabels:
    shown = len(CITATION.facts.shown)
    chosen = draw(st.none() | st.integers(1, shown))
    text = "" if chosen is None else CITATION.facts.shown[chosen - 1].texts[0]
    subject = {
        "candidate": chosen,
        "strength": "none" if chosen is None else draw(st.sampled_from(["weak", "moderate", "strong"])),
        "quote": None if chosen is None else draw(st.sampled_from([text, " ".join(text.split()[:2])])),
    }
    names = ("court_first", "languages_as_one", "number_compared", "missing_told_apart", "context_cited")
    answers = {
        name: {"yes": draw(st.booleans()), "why": draw(st.sampled_from(["y1", "y2"]))}
        for name in (*names, "others_rejected")
    }
    accepted: CitationLabels = CITATION.accept({"subject": subject, "reasoning": answers})
    return accepted


@st.composite
def efficiency_ballots(draw: st.DrawFn) -> EfficiencyLabels:
    kinds = ["necessary", "redundant", "speculative", "enrichment", "indirect", "failed"]
    steps = []
    for place, step in enumerate(STEPS):
        label = draw(st.sampled_from([kind for kind in kinds if place or kind != "redundant"]))
        earlier = "s1" if label == "redundant" else None
        steps.append(
            {"step": step["id"], "label": label, "why": draw(st.sampled_from(["", "w"])), "because_of": earlier}
        )
    accepted: EfficiencyLabels = EFFICIENCY.accept({"steps": draw(st.permutations(steps))})
    return accepted


BALLOTS = {"rag": rag_ballots(), "citation": citation_ballots(), "efficiency": efficiency_ballots()}
judges = pytest.mark.parametrize("name", sorted(TASKS))


def drawn(name: str, data: st.DataObject) -> list[BaseModel]:
    return list(data.draw(st.lists(BALLOTS[name], min_size=1, max_size=5)))


def outcome_of(task: Task[Any, Any, Any], seats: list[BaseModel]) -> Joined[Any] | str:
    """What is joined, or why a tie leaves the case unjudged."""
    try:
        return join(task, seats)
    except CannotJudge as tie:
        assert "the seats are evenly split" in str(tie)
        return str(tie)


@judges
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_joined_labels_always_fit_the_case_and_can_be_settled(name: str, data: st.DataObject) -> None:
    task = TASKS[name]
    joined = outcome_of(task, drawn(name, data))
    if isinstance(joined, str):
        return
    assert task.judge.check(task.case, task.facts, joined.labels) == []
    verdict_of(task.judge, settle_case(task.judge, task.case, task.facts, joined.labels))


@judges
@settings(max_examples=60, deadline=None)
@given(data=st.data(), draw=st.randoms(use_true_random=False))
def test_the_order_of_the_seats_does_not_matter(name: str, data: st.DataObject, draw: Random) -> None:
    given_ = drawn(name, data)
    moved = list(given_)
    draw.shuffle(moved)
    assert outcome_of(TASKS[name], given_) == outcome_of(TASKS[name], moved)


@judges
@settings(max_examples=30, deadline=None)
@given(data=st.data(), seats=st.integers(1, 5))
def test_what_all_say_is_the_result(name: str, data: st.DataObject, seats: int) -> None:
    one = data.draw(BALLOTS[name])
    joined = join(TASKS[name], [one] * seats)
    assert (joined.labels, joined.ties) == (one, ())


@judges
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_all_but_one_say_decides_every_score(name: str, data: st.DataObject) -> None:
    """Two alike against one: the verdict is that of the two, but for their wording."""
    task = TASKS[name]
    one, other = data.draw(BALLOTS[name]), data.draw(BALLOTS[name])
    joined = join(task, [one, other, one])
    settled = [
        verdict_of(task.judge, settle_case(task.judge, task.case, task.facts, item)) for item in (joined.labels, one)
    ]
    texts = {"reason", "evaluation_notes", "improvement_suggestions"}
    plain = [
        {key: value for key, value in verdict.items() if key not in texts and not key.endswith("_explanation")}
        for verdict in settled
    ]
    assert plain[0] == plain[1]
    assert joined.ties == ()


def scores_of(task: Task[Any, Any, Any], labels: Any) -> dict[str, float]:
    """The numbers of a verdict, and the roll-up as one: the higher the better."""
    settlement = settle_case(task.judge, task.case, task.facts, labels)
    verdict = verdict_of(task.judge, settlement)
    rolled = task.judge.roll_up(verdict, {name: ruling.rule for name, ruling in settlement.rulings.items()})
    found = {name: value for name, value in verdict.items() if isinstance(value, float)}
    return found if rolled is None else {"roll_up": -float(ROLL_UPS.index(rolled))}


@judges
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_two_seats_that_differ_never_score_above_the_better_of_them(name: str, data: st.DataObject) -> None:
    """A tie is no reason to be kinder than anybody was."""
    task = TASKS[name]
    seats = [data.draw(BALLOTS[name]) for _ in range(2)]
    alone = [scores_of(task, labels) for labels in seats]
    joined = outcome_of(task, seats)
    if isinstance(joined, str):  # no score at all is not above anybody's
        return
    for field, score in scores_of(task, joined.labels).items():
        assert score <= max(one[field] for one in alone) + 1e-9, field


# --- RAG -------------------------------------------------------------------------------------------


def rag(*changes: dict[str, Any]) -> Joined[Any]:
    same = {"similarity": "close", "similarity_why": "w"}
    return join(RAG, [RAG.accept(raw_labels(**{**same, **change})) for change in changes])


SUPPORTED = [claim_of(), claim_of(sentence=2, quote="carries two railway tracks")]


def with_first(*first: dict[str, Any]) -> dict[str, Any]:
    return {"claims": [*first, SUPPORTED[1]]}


def test_the_claims_of_a_sentence_are_those_of_one_seat_of_the_majority() -> None:
    two = with_first(claim_of(text="It was opened."), claim_of(text="That was in 1904."))
    joined = rag(with_first(claim_of()), two, with_first(contradiction))
    assert [claim.label for claim in joined.labels.claims if claim.sentence == 1] in (["supported"], ["supported"] * 2)
    assert joined.ties == ()


@pytest.mark.parametrize(
    ("one", "other", "taken"),
    [
        (claim_of(), unsupported_claim(1), "unsupported"),
        (claim_of(), contradiction, "unsupported"),
        (claim_of(), {**contradiction, "critical": True}, "unsupported"),
        (unsupported_claim(1), {**contradiction, "critical": True}, "unsupported"),
        (contradiction, {**contradiction, "critical": True}, "contradicted"),
    ],
)
def test_a_tie_over_a_sentence_leaves_it_unsupported(one: dict[str, Any], other: dict[str, Any], taken: str) -> None:
    joined = rag(with_first(one), with_first(other))
    first = next(claim for claim in joined.labels.claims if claim.sentence == 1)
    assert (first.label, first.critical) == (taken, False)
    assert len(joined.ties) == 1


def test_a_tie_over_whether_a_sentence_claims_anything_counts_what_is_not_supported() -> None:
    joined = rag({"claims": [claim_of(), unsupported_claim(2)]}, {"claims": [claim_of()], "empty_sentences": [2]})
    assert [claim.sentence for claim in joined.labels.claims] == [1, 2]
    assert joined.ties == ("sentence 2: claims 1, none 1; taken as claims",)


def test_a_supported_claim_that_half_of_the_seats_do_not_see_makes_up_for_no_other() -> None:
    seats = {"claims": [unsupported_claim(1), SUPPORTED[1]]}, {"claims": [unsupported_claim(1)], "empty_sentences": [2]}
    joined = rag(*seats)
    assert [claim.sentence for claim in joined.labels.claims] == [1]
    assert joined.labels.empty_sentences == [2]
    assert joined.ties == ("sentence 2: claims 1, none 1; taken as none",)
    judge = RAG.judge
    assert verdict_of(judge, settle_case(judge, RAG.case, RAG.facts, joined.labels))["faithfulness"] == 0.0
    seen_by_most = rag(*seats, seats[0])
    assert [claim.sentence for claim in seen_by_most.labels.claims] == [1, 2]


def test_other_ties_of_rag_labels_take_what_is_shown_least() -> None:
    joined = rag(
        {
            "passages": [{"passage": 1, "useful_sentences": [1]}, {"passage": 2, "useful_sentences": [1]}],
            "direct": "full",
            "similarity": "same",
            "refusal": refusal_of(right_to_refuse=False),
            "needs": [{"need": "n", "passage": 1, "held": True}],
        },
        {
            "passages": [{"passage": 1, "useful_sentences": [1]}, {"passage": 2, "useful_sentences": []}],
            "direct": "partly",
            "similarity": "little",
            "needs": [{"need": "n", "passage": None, "held": False}],
        },
    )
    labels = joined.labels
    assert [item.useful_sentences for item in labels.passages] == [[1], []]
    assert (labels.direct, labels.similarity, labels.refusal) == ("partly", "little", None)
    assert [need.held for need in labels.needs] == [False]
    assert len(joined.ties) == 5


def test_majorities_that_contradict_each_other_are_reconciled_as_the_rubric_settles_them() -> None:
    held, lacking = [{"need": "n", "passage": 1, "held": True}], [{"need": "n", "passage": None, "held": False}]
    joined = rag(
        {"refusal": refusal_of(), "needs": lacking},
        {"refusal": refusal_of(right_to_refuse=False), "needs": held},
        {"refusal": refusal_of(category="safety"), "needs": held},
    )
    assert joined.labels.refusal.right_to_refuse is False
    assert "every need is held" in joined.ties[0]


def test_what_most_take_for_no_refusal_is_no_tie_about_its_right() -> None:
    hedge = refusal_of(is_refusal=False, category="insufficient_context")
    held, lacking = (
        [{"need": "the date", "passage": 1, "held": True}],
        [{"need": "the date", "passage": None, "held": False}],
    )
    sure = {"refusal": {**hedge, "right_to_refuse": False}, "needs": held}
    assert rag(sure, sure, {"refusal": {**hedge, "reason_stated": False}, "needs": lacking}).ties == ()


# --- citation --------------------------------------------------------------------------------------


def pointed(candidate_: int | None, strength: str, **yes: bool) -> CitationLabels:
    text = None if candidate_ is None else CITATION.facts.shown[candidate_ - 1].texts[0]
    names = CitationLabels.model_fields["reasoning"].annotation.model_fields  # type: ignore[union-attr]
    answers = {name: {"yes": yes.get(name, True), "why": "w"} for name in names}
    subject = {"candidate": candidate_, "strength": strength, "quote": text}
    labels: CitationLabels = CITATION.accept({"subject": subject, "reasoning": answers})
    return labels


def test_a_tie_between_candidates_points_to_nobody() -> None:
    joined = join(CITATION, [pointed(1, "strong"), pointed(2, "strong")])
    assert joined.labels.subject.model_dump() == {"candidate": None, "strength": "none", "quote": None}
    assert joined.ties == ("subject.candidate: 1 1, 2 1; taken as null",)


def test_seats_that_all_call_the_answer_wrong_do_not_make_it_right_by_differing() -> None:
    """The matcher took candidate 1. Without a candidate nothing decides, and its answer would be as good as any."""
    with pytest.raises(CannotJudge, match=r"subject\.candidate: 2 1, 3 1; all call the answer wrong"):
        join(CITATION, [pointed(2, "strong"), pointed(3, "strong")])
    assert join(CITATION, [pointed(2, "weak"), pointed(3, "weak")]).labels.subject.candidate is None, "too weak to tell"
    assert join(CITATION, [pointed(2, "strong"), pointed(None, "none")]).labels.subject.candidate is None
    assert join(CITATION, [pointed(2, "strong")] * 2 + [pointed(3, "strong")]).labels.subject.candidate == 2


def test_strength_is_voted_on_by_those_who_chose_the_candidate_and_a_tie_takes_the_weaker() -> None:
    joined = join(CITATION, [pointed(1, "strong"), pointed(1, "moderate"), pointed(2, "weak")])
    assert (joined.labels.subject.candidate, joined.labels.subject.strength) == (1, "moderate")


def test_a_tie_over_the_reasoning_is_read_by_its_words() -> None:
    joined = join(CITATION, [pointed(1, "strong", court_first=True), pointed(1, "strong", court_first=False)])
    assert joined.labels.reasoning.court_first.why.startswith("by its words")
    assert len(joined.ties) == 1


# --- efficiency ------------------------------------------------------------------------------------


def steps(*labels: str) -> EfficiencyLabels:
    made = [
        {"step": step["id"], "label": label, "why": label, "because_of": "s1" if label == "redundant" else None}
        for step, label in zip(STEPS, labels, strict=True)
    ]
    accepted: EfficiencyLabels = EFFICIENCY.accept({"steps": made})
    return accepted


def test_whether_a_step_was_needed_is_decided_before_what_kind_of_waste_it_was() -> None:
    joined = join(
        EFFICIENCY,
        [
            steps("necessary", "necessary", "necessary"),
            steps("necessary", "redundant", "necessary"),
            steps("necessary", "speculative", "necessary"),
        ],
    )
    assert [item.label for item in joined.labels.steps] == ["necessary", "speculative", "necessary"]
    assert joined.ties == ("step s2: necessary 1, redundant 1, speculative 1; taken as speculative",)


def test_in_doubt_a_step_is_unnecessary() -> None:
    needed, wasted = steps("necessary", "necessary", "necessary"), steps("necessary", "redundant", "necessary")
    joined = join(EFFICIENCY, [needed, wasted])
    second = joined.labels.steps[1]
    assert (second.label, second.because_of, second.why) == ("redundant", "s1", "redundant")


# --- another order ---------------------------------------------------------------------------------


def test_citation_labels_about_shuffled_candidates_mean_the_same_candidates() -> None:
    judge, case, facts = CITATION.judge, CITATION.case, CITATION.facts
    moved = judge.reorder(case, facts, Random(1))
    assert moved is not None
    assert sorted(moved.order) == [1, 2, 3]
    assert moved.order != (1, 2, 3)
    for place, number in enumerate(moved.order, 1):
        assert moved.facts.shown[place - 1] == facts.shown[number - 1]
        labels = pointed(number, "strong")
        seen = labels.model_copy(update={"subject": labels.subject.model_copy(update={"candidate": place})})
        assert judge.check(moved.case, moved.facts, seen) == []
        assert moved.restore(seen) == labels
    assert moved.restore(pointed(None, "none")) == pointed(None, "none")


def test_rag_passages_change_places_and_keep_their_numbers() -> None:
    judge, case, facts = RAG.judge, RAG.case, RAG.facts
    moved = judge.reorder(case, facts, Random(1))
    assert moved is not None
    questions = judge.ask(moved.case, moved.facts)
    assert questions is not None
    shown = [(item.name, item.text) for item in questions.passages if item.name.startswith("passage")]
    assert shown == [("passage 2", f"[1] {HARBOUR}"), ("passage 1", f"[1] {BRIDGE}")]
    assert moved.order == (2, 1)
    labels = RAG.accept(raw_labels(similarity="close", similarity_why="w"))
    assert judge.check(moved.case, moved.facts, labels) == []
    assert moved.restore(labels) == labels
    assert [item.number for item in facts.passages] == [1, 2]


@pytest.mark.parametrize(
    "task",
    [EFFICIENCY, task_of(RagJudge(), case_of(context=[BRIDGE]))],
    ids=["steps of a trace", "a single passage"],
)
def test_what_has_only_one_order_is_left_alone(task: Task[Any, Any, Any]) -> None:
    assert task.judge.reorder(task.case, task.facts, Random(1)) is None


@given(st.integers(2, 30), st.integers())
def test_another_order_is_never_the_same_order(count: int, seed: int) -> None:
    from krino.judges.shuffling import shuffled

    order = shuffled(count, Random(seed))
    assert order is not None
    assert sorted(order) == list(range(1, count + 1))
    assert list(order) != sorted(order)
