"""The embedded labeller, from raw record to verdict."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from krino.errors import CannotJudge
from krino.judges.rag.labels import step_of
from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.verdict import RagVerdict
from rag_making import BRIDGE, case_of, facts_of, judge_locally, values_of


def verdict_of(**changes: Any) -> dict[str, Any]:
    return values_of(judge_locally(case_of(**changes)))


def test_an_answer_from_the_passages_is_faithful_relevant_and_near_its_reference() -> None:
    verdict = verdict_of(answer="It was opened in 1904.", reference="In 1904.")
    assert verdict["faithfulness"] == 1.0
    assert verdict["answer_relevance"] == 1.0
    assert verdict["context_relevance"] == 0.75
    assert verdict["semantic_similarity"] >= 0.8


@pytest.mark.parametrize("answer", ["1904", "In 1904.", "The iron bridge at Varde was opened in 1904 [1]."])
def test_short_and_cited_answers_are_supported(answer: str) -> None:
    assert verdict_of(answer=answer)["faithfulness"] == 1.0


@pytest.mark.parametrize("answer", ["It was opened in 1910.", "1910", "The bridge was not opened in 1904."])
def test_another_year_or_polarity_on_the_fact_asked_is_critical(answer: str) -> None:
    settlement = judge_locally(case_of(answer=answer))
    assert settlement.rulings["faithfulness"].rule == "RAG-F3"
    assert BRIDGE in settlement.rulings["faithfulness_explanation"].value


def test_another_number_of_the_same_thing_contradicts() -> None:
    labels = label_locally([facts_of(answer="The iron bridge carries four railway tracks.")])[0]
    assert labels.claims[0].label == "contradicted"


def test_a_possessive_is_the_same_name() -> None:
    context = ["The tower is a landmark that was built for the World's Fair of 1958."]
    assert (
        verdict_of(context=context, answer="The tower was built for the World's Fair of 1958.")["faithfulness"] == 1.0
    )


@pytest.mark.parametrize(
    ("question", "context"),
    [
        ("Which river flows through Ghent?", ["Ghent lies where the Scheldt and the Lys meet.", "Copper conducts."]),
        ("Who bought whom?", ["Alpha acquired Beta in 2019. Snow fell on the hills."]),
        ("When?", ["The eruption began on 4 March 1902."]),
        ("Why?", ["The road is shut because of ice.", "Bananas are sweet."]),
        ("Wie is de burgemeester van Varde?", ["De burgemeester van Varde is Erik Buhl.", "Varde ligt aan zee."]),
    ],
)
def test_the_relevance_of_a_context_does_not_depend_on_the_answer(question: str, context: list[str]) -> None:
    answers = [
        *context,
        "Beta.",
        "No.",
        "Erik Buhl 1904.",
    ]
    told = [verdict_of(question=question, context=context, answer=answer) for answer in answers]
    assert len({verdict["context_relevance"] for verdict in told}) == 1


def test_a_paraphrase_is_supported_by_its_meaning() -> None:
    context = ["The vaccine was tested on 300 volunteers before it was approved."]
    answer = "Before approval, the vaccine was tried out on 300 volunteers."
    assert verdict_of(question="How was the vaccine checked?", context=context, answer=answer)["faithfulness"] == 1.0


def test_the_opposite_of_a_word_is_not_supported() -> None:
    context = ["After the inspection the bridge stays closed to lorries."]
    labels = label_locally([facts_of(question="Can lorries pass?", context=context, answer="It is open to lorries.")])[
        0
    ]
    assert labels.claims[0].label != "supported"


def test_a_name_that_stands_in_no_passage_is_unsupported_however_near_the_rest() -> None:
    labels = label_locally([facts_of(answer="The iron bridge at Varde was opened in 1904 by Olsen.")])[0]
    assert labels.claims[0].label == "unsupported"
    assert "Olsen" in labels.claims[0].why


def test_a_passage_helps_by_its_meaning_where_it_shares_no_word() -> None:
    context = ["Dogs may not enter.", "The tram stops at the museum."]
    labels = label_locally([facts_of(question="Are pets allowed?", context=context, answer="No.")])[0]
    assert [item.useful_sentences for item in labels.passages] == [[1], []]


def test_similarity_is_measured_within_the_step_it_is_given() -> None:
    labels = label_locally(
        [facts_of(answer="The bridge opened to trains in 1904.", reference="Trains used it in 1904.")]
    )[0]
    assert labels.similarity_score is not None and labels.similarity is not None
    assert step_of(labels.similarity_score) == labels.similarity


def test_half_supported_is_half_faithful() -> None:
    assert verdict_of(answer="The bridge was opened in 1904. It has ninety lamps.")["faithfulness"] == 0.5


def test_courtesy_questions_and_announcements_are_no_claims() -> None:
    answer = "Sure! Here is what I found:\nThe bridge was opened in 1904.\nDo you want more?"
    labels = label_locally([facts_of(answer=answer)])[0]
    assert [claim.text for claim in labels.claims] == ["The bridge was opened in 1904."]
    assert labels.empty_sentences == [1, 2, 4]


def test_a_bare_yes_is_held_against_the_question() -> None:
    facts = facts_of(question="Was the iron bridge at Varde opened in 1904?", answer="Yes.")
    assert label_locally([facts])[0].claims[0].label == "supported"


def test_nothing_retrieved_gives_zero_though_the_answer_is_to_the_point() -> None:
    verdict = verdict_of(context=None)
    assert (verdict["faithfulness"], verdict["context_relevance"]) == (0.0, 0.0)
    assert verdict["answer_relevance"] == 1.0


def test_a_right_refusal_scores_one() -> None:
    answer = "I cannot answer because the context says nothing about the bridge: this falls under insufficient context."
    verdict = verdict_of(context=["Bananas are yellow.", "Giraffes are tall."], answer=answer)
    assert (verdict["faithfulness"], verdict["context_relevance"], verdict["answer_relevance"]) == (1.0, 0.0, 1.0)


def test_refusing_what_the_passages_hold_scores_zero() -> None:
    answer = (
        "I cannot answer because the context does not mention the opening year, which falls under insufficient context."
    )
    assert verdict_of(answer=answer)["answer_relevance"] == 0.0


REFUSAL = "I'm sorry, but the passages do not say who paid for the lamps."


@pytest.mark.parametrize(
    ("answer", "whole"),
    [
        (f"{REFUSAL} They do say that the bridge was opened in 1904.", True),
        (f"The bridge was opened in 1904 and carries trains. {REFUSAL}", False),
    ],
)
def test_an_answer_that_opens_by_declining_is_a_whole_refusal_whatever_background_follows(
    answer: str, whole: bool
) -> None:
    question = "Who paid for the lamps?" if whole else "When was the bridge opened, and who paid for the lamps?"
    refusal = label_locally([facts_of(question=question, answer=answer)])[0].refusal
    assert refusal is not None and refusal.is_refusal == whole


@pytest.mark.parametrize(("answer", "same"), [("Ajax beat Feyenoord.", True), ("Feyenoord beat Ajax.", False)])
def test_the_same_words_in_another_order_may_be_the_opposite(answer: str, same: bool) -> None:
    facts = facts_of(question="Who won?", answer=answer, reference="Ajax beat Feyenoord in the final.")
    score = label_locally([facts])[0].similarity_score
    assert score is not None and (score > 0.5) == same


def test_an_answer_beside_the_question_is_not_relevant() -> None:
    verdict = verdict_of(context=["Bananas are rich in potassium."], answer="Bananas are rich in potassium.")
    assert verdict["faithfulness"] == 1.0
    assert verdict["answer_relevance"] == 0.0
    assert verdict["context_relevance"] == 0.0


def test_a_different_value_is_little_like_the_reference() -> None:
    assert verdict_of(answer="It was opened in 1904.", reference="It was opened in 1910.")["semantic_similarity"] <= 0.2


def test_an_unanswered_part_is_named() -> None:
    question = "When was the iron bridge at Varde opened, and who paid the engineers?"
    assert [part.text for part in question_parts(question)] == [
        "When was the iron bridge at Varde opened",
        "who paid the engineers?",
    ]
    labels = label_locally([facts_of(question=question)])[0]
    assert [part.answered for part in labels.parts] == [True, False]


@pytest.mark.parametrize(
    ("question", "context", "answer"),
    [
        (
            "Quand le pont a-t-il été ouvert ?",
            "Le pont de fer a été ouvert en 1904 par le roi.",
            "Le pont a été ouvert en 1904.",
        ),
        (
            "Wanneer gaat de brug open?",
            "De ijzeren brug gaat in 1904 open.",
            "De brug gaat in 1904 open.",
        ),
    ],
)
def test_other_languages_work_and_are_said_to_be_less_certain(question: str, context: str, answer: str) -> None:
    verdict = verdict_of(question=question, context=[context], answer=answer)
    assert verdict["faithfulness"] == 1.0
    assert "Less certain" in verdict["faithfulness_explanation"]
    assert (
        "which the entailment model was trained on less and the sentence model not at all"
        in verdict["faithfulness_explanation"]
    )
    changed = verdict_of(question=question, context=[context], answer=answer.replace("1904", "1931"))
    assert changed["faithfulness"] == 0.0


def test_a_batch_gives_what_single_cases_give() -> None:
    batch = [facts_of(), facts_of(answer="It was opened in 1910."), facts_of(context=[])]
    assert label_locally(batch) == [label_locally([facts])[0] for facts in batch]


PIECES = """the bridge was not opened in 1904 1910 Varde? Olsen. I cannot answer because context does mention two
hundred tracks, - • 1. yes no none le pont 橋は “ ’ [1] % 1.2.3 million ٣ ² İ"""
WORDS = st.lists(st.sampled_from([*PIECES.split(), "\n", "\n\n"]), max_size=25).map(" ".join)
ANY_TEXT = WORDS | st.text(max_size=60)


@settings(max_examples=150, deadline=None)
@given(ANY_TEXT, st.lists(ANY_TEXT, max_size=3), ANY_TEXT, st.none() | ANY_TEXT)
@example("", ["’"], "the the bridge", None)
@example("", ["% the \n\n bridge"], "#", None)
def test_any_text_gets_a_valid_verdict(question: str, context: list[str], answer: str, reference: str | None) -> None:
    record = {"question": f"q {question}", "context": context, "answer": f"a {answer}", "reference": reference}
    try:
        settlement = judge_locally(record)
    except CannotJudge as refusal:
        assert "cannot be read" in str(refusal) or "gibberish" in str(refusal) or "unsupported language" in str(refusal)
        return
    RagVerdict.model_validate(values_of(settlement))


def test_a_huge_case_is_labelled_in_reasonable_time() -> None:
    started = time.perf_counter()
    judge_locally(case_of(context=[BRIDGE * 40] * 60, answer="The bridge was opened in 1904 by Olsen. " * 300))
    assert time.perf_counter() - started < 10


@pytest.mark.parametrize(
    ("question", "passage", "answer", "label"),
    [
        ("Is the shop open on Sunday?", "The shop is closed on Sundays.", "No, it is closed.", "supported"),
        ("Is the shop open on Sunday?", "The shop is closed on Sundays.", "Yes.", "contradicted"),
        ("Is smoking allowed in the hall?", "Smoking is not allowed in the hall.", "No.", "supported"),
        ("Is smoking allowed in the hall?", "Smoking is not allowed in the hall.", "Yes.", "contradicted"),
        ("Is the charger included?", "The 45 W charger is sold separately.", "No.", "supported"),
        ("Is the charger included?", "The screen has 40 pixels a centimetre.", "No.", "unsupported"),
    ],
)
def test_a_bare_yes_or_no_is_read_with_the_denial_or_the_opposite_in_the_passage(
    question: str, passage: str, answer: str, label: str
) -> None:
    labels = label_locally([facts_of(question=question, context=[passage], answer=answer)])[0]
    assert [claim.label for claim in labels.claims] == [label]


@pytest.mark.parametrize(("answer", "label"), [("Lima", "unsupported"), ("Brussels", "supported")])
def test_a_bare_name_must_stand_where_the_passages_speak_of_what_is_asked(answer: str, label: str) -> None:
    passage = "Brussels is the capital of Belgium. Antwerp has the largest port."
    facts = facts_of(question="What is the capital of Belgium?", context=[passage], answer=answer)
    assert [claim.label for claim in label_locally([facts])[0].claims] == [label]


def test_what_was_retrieved_is_not_worth_less_because_the_answer_says_otherwise() -> None:
    passage, question = "The firm was founded in 2021 in Ghent.", "When was it founded?"
    for year in (2021, 2012):
        facts = facts_of(question=question, context=[passage], answer=f"It was founded in {year}.")
        assert label_locally([facts])[0].needs[0].held


@pytest.mark.parametrize(
    ("answer", "reference", "same"),
    [("Yes", "Yes, it was opened.", True), ("No.", "No, it was closed.", True), ("No", "Yes, it was opened.", False)],
)
def test_a_bare_yes_or_no_is_as_good_as_one_with_its_statement(answer: str, reference: str, same: bool) -> None:
    score = verdict_of(question="Was the bridge opened?", answer=answer, reference=reference)["semantic_similarity"]
    assert score >= 0.8 if same else score <= 0.2


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("No, dogs are welcome in the garden.", "Yes, dogs are welcome in the garden."),
        ("Nee, in de tuin mogen honden mee.", "Ja, in de tuin mogen honden mee."),
    ],
)
def test_yes_and_no_are_opposites_whatever_is_said_with_them(answer: str, reference: str) -> None:
    scores = [
        verdict_of(question="Are dogs allowed?", context=[], answer=said, reference=reference)["semantic_similarity"]
        for said in (answer, reference)
    ]
    assert scores[0] <= 0.3 < scores[1]


def test_no_claim_of_an_answer_is_less_likely_than_its_risk_leaves() -> None:
    answer = "The iron bridge at Varde was opened in 1904. Its towers are 90 metres high and were painted red in 1950."
    settlement = judge_locally(case_of(answer=answer))
    (labels,) = label_locally([facts_of(answer=answer)])
    risk = settlement.figures["hallucination_risk"].value
    assert isinstance(risk, float)
    assert len(labels.claims) > 1
    assert all(risk >= round(1 - (claim.probability or 0.0), 3) for claim in labels.claims)


def test_a_bare_no_is_held_against_the_half_of_the_sentence_that_is_asked_about() -> None:
    context = ["Fishing is allowed from June on with a permit; motor boats are banned."]
    case = {"question": "Are motor boats allowed?", "context": context}
    assert verdict_of(**case, answer="No.")["faithfulness"] == 1.0
    assert verdict_of(**case, answer="Yes.")["faithfulness"] == 0.0


def test_another_measure_is_no_answer_to_a_question_for_a_price() -> None:
    context = ["The van has a range of 280 kilometres. It costs 41,500 euros."]
    case = {"question": "What does the van cost?", "context": context}
    assert verdict_of(**case, answer="It has a range of 280 kilometres.")["answer_relevance"] == 0.0
    assert verdict_of(**case, answer="It costs 41,500 euros.")["answer_relevance"] == 1.0


def test_a_count_is_not_told_as_a_share() -> None:
    told = {"question": "How many members voted?", "context": ["Of the 900 members who could vote, 45 did."]}
    assert verdict_of(**told, answer="45 percent of the members voted.")["faithfulness"] == 0.0
    assert verdict_of(**told, answer="45 of the members voted.")["faithfulness"] == 1.0
    hundred = {**told, "context": ["Of the 100 members who could vote, 60 did."]}
    assert verdict_of(**hundred, answer="60 percent of the members voted.")["faithfulness"] == 1.0
    shares = {**told, "context": ["Turnout in percent: 45 in the north, 61 in the south."]}
    assert verdict_of(**shares, answer="In the north it was 45 percent.")["faithfulness"] == 1.0


@pytest.mark.parametrize(
    ("passage", "answer"),
    [
        ("Of the 800 residents who got the form, 60 sent it back.", "60 residents sent the form back."),
        ("Of 30 pupils, 12 failed the test.", "12 pupils failed the test."),
        ("Of the 900 members who could vote, 45 did.", "45 members voted."),
        ("Van de 30 leerlingen zakten er 12.", "12 leerlingen zakten."),
        ("Sur les 30 élèves, 12 ont échoué.", "12 élèves ont échoué."),
    ],
)
def test_a_part_of_a_whole_is_counted_in_what_the_whole_is(passage: str, answer: str) -> None:
    assert verdict_of(question="How did it end?", context=[passage], answer=answer)["faithfulness"] == 1.0


@pytest.mark.parametrize("passage", ["It has 12 rooms and 48 suites.", "There are 12 rooms, and 48 suites."])
def test_numbers_that_have_changed_places_are_still_told(passage: str) -> None:
    verdict = verdict_of(question="What does it have?", context=[passage], answer="It has 48 rooms and 12 suites.")
    assert verdict["faithfulness"] == 0.0


def test_lenience_moves_the_balance_for_and_against_every_claim() -> None:
    """The option that `krino align` tunes."""
    sound = facts_of(answer="The iron bridge carries four railway tracks.")
    labels = {lenience: label_locally([sound], lenience)[0].claims[0] for lenience in (-6.0, 0.0, 6.0)}
    chances = [labels[lenience].probability or 0.0 for lenience in (-6.0, 0.0, 6.0)]
    assert chances == sorted(chances) and chances[0] < chances[2]
    assert labels[6.0].label == "supported" and labels[-6.0].label != "supported"
    assert label_locally([sound])[0].claims[0] == labels[0.0]
