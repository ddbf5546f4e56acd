"""Which labels of a RAG case are sent back and which are taken, at the edges of each rule."""

from __future__ import annotations

from typing import Any

import pytest

from krino.judges.rag.labels import RagLabels, check_labels, merge_copies
from krino.judges.rag.rubric import settle
from rag_making import claim_of, facts_of, labels_of, refusal_of, unsupported_claim

SECOND = claim_of(sentence=2, quote="carries two railway tracks")
BY_SECOND = [{"part": "when it was opened", "sentence": 2, "answered": True}]
HELD, NOT_HELD = (
    [{"need": "the year", "passage": 1, "held": True}],
    [{"need": "the year", "passage": None, "held": False}],
)


YEAR_ASKED_TWICE = (("the year", True), ("The year.", False))


def problems(case: dict[str, Any] | None = None, **labels: Any) -> list[str]:
    return check_labels(facts_of(**(case or {})), labels_of(**labels))


# --- quotations ------------------------------------------------------------------------------------


def test_a_quotation_that_stands_nowhere_is_shown_with_120_letters_and_no_passage_is_suggested() -> None:
    told = problems(claims=[claim_of(quote="q" * 130), SECOND])
    assert told == [
        f"claims[0].quote does not occur in passage 1: '{'q' * 120}'; copy it letter by letter, without gaps"
    ]


def test_of_many_passages_twenty_are_named() -> None:
    case = {"context": [f"The bridge was opened in 1904, says source {number}." for number in range(21)]}
    passages = [{"passage": number, "useful_sentences": [1]} for number in range(1, 22)]
    told = problems(case, claims=[claim_of(passage=99), claim_of(sentence=2)], passages=passages)
    assert told == [f"claims[0].passage is 99: the passages are {', '.join(map(str, range(1, 21)))}"]


# --- sentences that are said to claim nothing ------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "claims_something"),
    [
        ("It was opened in 1904.", True),
        ("Was it opened in 1904?", False),
        ("These are the 3 facts:", False),
        ("It was opened in May.", False),
        ("It has two tracks.", False),
    ],
)
def test_a_statement_with_a_figure_is_never_empty(sentence: str, claims_something: bool) -> None:
    case = {"answer": f"{sentence}\nIt carries two railway tracks."}
    told = problems(case, claims=[SECOND], empty_sentences=[1], parts=BY_SECOND)
    wanted = ["sentence 1 is in empty_sentences but states a number: label its claims"] if claims_something else []
    assert told == wanted


@pytest.mark.parametrize(
    ("answer", "complaints"),
    [
        ("I cannot say what happened when it was opened.", []),
        ("I cannot say who built it, but it was opened in 1904.", [2]),
        ("I cannot say. It was opened in 1904.", [3]),
    ],
)
def test_a_figure_in_a_sentence_that_only_declines_claims_nothing(answer: str, complaints: list[int]) -> None:
    empty = list(range(2, answer.count(".") + 2))
    case = {"answer": f"It carries two railway tracks. {answer}"}
    told = problems(
        case, claims=[{**SECOND, "sentence": 1}], empty_sentences=empty, refusal=refusal_of(is_refusal=False)
    )
    assert told == [
        f"sentence {number} is in empty_sentences but states a number: label its claims" for number in complaints
    ]


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("refusal", "needs", "complaint"),
    [
        (refusal_of(), HELD, True),
        (refusal_of(), NOT_HELD, False),
        (refusal_of(right_to_refuse=False), HELD, False),
        (refusal_of(is_refusal=False), HELD, False),
        (refusal_of(category="safety"), HELD, False),
        (refusal_of(is_refusal=False, right_to_refuse=False), NOT_HELD, False),
    ],
)
def test_a_right_to_refuse_for_want_of_context_contradicts_a_context_that_holds_all(
    refusal: dict[str, Any], needs: list[dict[str, Any]], complaint: bool
) -> None:
    case = {"answer": "It was opened in 1904, not before. It carries two railway tracks."}
    told = problems(case, refusal=refusal, needs=needs)
    assert [item.split(" is true")[0] for item in told] == (["refusal.right_to_refuse"] if complaint else [])


# --- similarity ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("step", "score", "fits"),
    [("close", 0.8, True), ("close", 0.65, True), ("close", 0.64, False), ("close", 0.9, False), ("same", 0.9, True)],
)
def test_a_measured_score_must_belong_to_its_step(step: str, score: float, fits: bool) -> None:
    told = problems({"reference": "1904"}, similarity=step, similarity_score=score)
    wanted = [f"similarity_score is {score}, which is not of the step {step}: leave it out"]
    assert told == ([] if fits else wanted)


def test_good_labels_have_no_problem() -> None:
    assert check_labels(facts_of(), labels_of()) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"claims": [claim_of(quote="opened in 1905"), SECOND]}, "claims[0].quote does not occur in passage 1"),
        ({"claims": [claim_of(passage=2), SECOND]}, "it is in passage 1"),
        ({"claims": [claim_of(passage=9), SECOND]}, "claims[0].passage is 9: the passages are 1, 2"),
        ({"claims": [claim_of(quote=None), SECOND]}, "claims[0] is supported: it needs passage and quote"),
        ({"claims": [claim_of(passage=None, label="unsupported"), SECOND]}, "quote is given without passage"),
        ({"claims": [claim_of(critical=True), SECOND]}, "only a contradicted claim can be critical"),
        (
            {"claims": [claim_of(sentence=3), claim_of(), SECOND]},
            "claims[0].sentence is 3: the answer sentences are 1 to 2",
        ),
        ({"claims": [claim_of(text=" "), SECOND]}, "claims[0].text is empty"),
        ({"claims": [claim_of()]}, "sentence 2 of the answer is not covered"),
        ({"empty_sentences": [2]}, "sentence 2 has claims and is in empty_sentences"),
        ({"empty_sentences": [7]}, "empty_sentences holds 7"),
        (
            {"claims": [SECOND], "empty_sentences": [1], "parts": BY_SECOND},
            "sentence 1 is in empty_sentences but states a number",
        ),
        ({"passages": [{"passage": 1, "useful_sentences": [1]}]}, "label passage 2 exactly once, not 0 times"),
        (
            {"passages": [{"passage": n, "useful_sentences": useful} for n, useful in ((1, [1]), (2, [1]), (2, []))]},
            "passage 2 exactly once, not 2 times",
        ),
        ({"passages": [{"passage": n, "useful_sentences": [1]} for n in (1, 2, 5)]}, "passage 5, which does not exist"),
        ({"needs": []}, "needs is empty"),
        ({"parts": []}, "parts is empty"),
        ({"similarity": "same"}, "similarity must be null"),
        ({"similarity_score": 0.5}, "similarity_score is 0.5, which is not of the step None"),
        (
            {"claims": [claim_of(), claim_of(text="the bridge was opened in 1904", label="unsupported"), SECOND]},
            "claims[1] is claims[0] again with another label",
        ),
        ({"claims": [claim_of(quote="was"), SECOND]}, "claims[0].quote is 'was', which shows nothing by itself"),
        ({"claims": [claim_of(quote="and"), SECOND]}, "claims[0].quote is 'and', which shows nothing by itself"),
        ({"needs": [{"need": " ", "passage": 1, "held": True}]}, "needs[0] is empty"),
        ({"needs": [*HELD, *NOT_HELD]}, "needs[1] is needs[0] again with another label"),
        ({"claims": [claim_of(text="- ..."), SECOND]}, "claims[0].text is empty or says nothing"),
        ({"claims": [claim_of(text="\u2800"), SECOND]}, "claims[0].text is empty or says nothing"),
        ({"claims": [claim_of(text="\u3164"), SECOND]}, "claims[0].text is empty or says nothing"),
        ({"claims": [claim_of(text="N/A"), SECOND]}, "claims[0].text is empty or says nothing"),
        (
            {"claims": [claim_of(), claim_of(text="Thé bridge wаs opened in 1904", label="unsupported"), SECOND]},
            "claims[1] is claims[0] again with another label",
        ),
        ({"needs": [{"need": "?", "passage": 1, "held": True}]}, "needs[0] is empty or says nothing"),
        ({"parts": [{"part": "null", "sentence": 1, "answered": True}]}, "parts[0] is empty or says nothing"),
        ({"uncertain": "None."}, "uncertain is a text that stands for nothing"),
        ({"parts": [{"part": "\u200b", "sentence": 1, "answered": True}]}, "parts[0] is empty"),
        (
            {"parts": [{"part": part, "sentence": 1, "answered": said} for part, said in YEAR_ASKED_TWICE]},
            "parts[1] is parts[0] again with another label",
        ),
        (
            {"parts": [{"part": "the year", "sentence": number, "answered": False} for number in (1, None)]},
            "parts[1] is parts[0] again with another label",
        ),
        ({"refusal": refusal_of(), "needs": NOT_HELD}, "no sentence of the answer declines or asks back"),
    ],
)
def test_a_wrong_label_is_named(changes: dict[str, Any], problem: str) -> None:
    problems = check_labels(facts_of(), labels_of(**changes))
    assert len(problems) == 1
    assert problem in problems[0]


COPIED: dict[str, list[dict[str, Any]]] = {
    "claims": [claim_of(), unsupported_claim()],
    "parts": [
        {"part": "the year", "sentence": 1, "answered": True},
        {"part": "who opened it", "sentence": None, "answered": False},
    ],
    "needs": [*HELD, {"need": "who opened it", "passage": None, "held": False}],
    "passages": [{"passage": 1, "useful_sentences": [1]}, {"passage": 2, "useful_sentences": []}],
}


@pytest.mark.parametrize("field", COPIED)
@pytest.mark.parametrize("which", [0, 1])
def test_what_is_listed_twice_with_one_label_moves_no_score_and_is_recorded(field: str, which: int) -> None:
    """Each list has one good and one bad item: counted twice, either would move the score."""
    case = facts_of(answer="The bridge was opened in 1904. It is red.")
    again = {**COPIED[field][which]}
    if "why" in again:
        again |= {"text": f" {again['text'].upper()}", "why": "as said above"}
    once, twice = labels_of(**COPIED), labels_of(**{**COPIED, field: [*COPIED[field], again]})
    assert check_labels(case, twice) == []
    assert settle(case, twice).rulings == settle(case, once).rulings
    assert settle(case, twice).figures == settle(case, once).figures
    recorded = [found.text for found in settle(case, twice).findings if found.rule == "RAG-N13"]
    assert recorded == [f"listed before with the same label, counted once: {field}[2]"]


def test_a_copied_claim_does_not_make_a_sentence_hold_more_claims_than_words() -> None:
    assert problems(claims=[claim_of()] * 30 + [SECOND]) == []


def test_claims_of_other_sentences_and_texts_without_letters_are_no_copies() -> None:
    labels = labels_of(claims=[claim_of(), claim_of(sentence=2), claim_of(text="-"), claim_of(text="?")])
    assert merge_copies(labels) == (labels, [])


def test_a_reference_asks_for_a_step_of_the_scale() -> None:
    assert "choose a step" in check_labels(facts_of(reference="1904"), labels_of())[0]
    assert check_labels(facts_of(reference="1904"), labels_of(similarity="close")) == []


def test_a_quotation_may_differ_in_case_spaces_and_quotes_and_come_from_the_title() -> None:
    facts = facts_of(
        context=[{"title": "Bridges", "text": "It’s\nOPENED in 1904; it carries two railway tracks."}, "x"]
    )
    quotes = ["it's opened  in 1904", "bridges"]
    labels = labels_of(claims=[claim_of(quote=quotes[0]), claim_of(sentence=2, quote=quotes[1])])
    assert check_labels(facts, labels) == []


def test_an_unsupported_claim_needs_no_quotation() -> None:
    assert check_labels(facts_of(), labels_of(claims=[claim_of(), unsupported_claim()])) == []


def test_what_was_not_asked_is_not_looked_at() -> None:
    labels = labels_of(claims=[], passages=[], needs=[])
    assert check_labels(facts_of(context=[]), labels) == []


# --- evidence before labels ------------------------------------------------------------------------


def test_what_a_label_rests_on_stands_before_it_in_the_schema() -> None:
    parts = RagLabels.model_json_schema()["$defs"]
    order = {name: list(part["properties"]) for name, part in parts.items()}
    assert order["Claim"].index("quote") < order["Claim"].index("why") < order["Claim"].index("label")
    assert order["Need"] == ["need", "passage", "held"]
    assert order["Part"] == ["part", "sentence", "answered"]
    assert order["RefusalLabel"][0] == "why"
    whole = list(RagLabels.model_json_schema()["properties"])
    assert whole.index("similarity_why") < whole.index("similarity")
    assert whole[0] == "unreadable"


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"needs": [{"need": "n", "passage": None, "held": True}]}, "needs[0] is held: name a passage that holds it"),
        ({"needs": [{"need": "n", "passage": 7, "held": True}]}, "needs[0].passage is 7: the passages are 1, 2"),
        (
            {"parts": [{"part": "p", "sentence": None, "answered": True}]},
            "parts[0] is answered: name the answer sentence",
        ),
        ({"parts": [{"part": "p", "sentence": 9, "answered": True}]}, "parts[0].sentence is 9"),
        (
            {"passages": [{"passage": 1, "useful_sentences": [2]}, {"passage": 2, "useful_sentences": []}]},
            "useful_sentences of passage 1 holds 2: the sentences are 1 to 1",
        ),
        *(
            ({"unreadable": text}, "unreadable is empty or says nothing")
            for text in (" ", "\u200b", "-", "null", "N/A")
        ),
    ],
)
def test_a_label_without_what_it_rests_on_is_sent_back(changes: dict[str, Any], problem: str) -> None:
    assert problem in "\n".join(problems(**changes))


def test_of_what_cannot_be_read_nothing_else_is_asked() -> None:
    assert problems(unreadable="it is in Frisian", claims=[], passages=[], needs=[], parts=[]) == []


def test_the_number_of_a_sentence_may_be_copied_with_it() -> None:
    numbered = f"[1] {claim_of()['quote']}"
    assert problems(claims=[claim_of(quote=numbered), SECOND]) == []


# --- labels that say nothing -----------------------------------------------------------------------

COMPANY: dict[str, Any] = {
    "question": "Who founded the company?",
    "context": ["The tower was built in 1958. Maria founded the company."],
    "answer": "Jan founded the company. He also owned a horse. His wife was called Eve.",
}
UNANSWERED = [{"part": "who founded it", "sentence": None, "answered": False}]
NOTHING: dict[str, Any] = {
    "claims": [],
    "passages": [{"passage": 1, "useful_sentences": [2]}],
    "parts": UNANSWERED,
}


def test_an_answer_that_states_something_has_claims() -> None:
    told = problems(COMPANY, **NOTHING, empty_sentences=[1, 2, 3])
    assert told == ["claims is empty, but sentence 1, 3 of the answer states something: label its claims"]
    asking = {**COMPANY, "answer": "Shall I look further?"}
    assert problems(asking, **NOTHING, empty_sentences=[1]) == []
    polite = {**COMPANY, "answer": "I hope that helps you, and thank you for asking."}
    assert problems(polite, **NOTHING, empty_sentences=[1]) == []


def test_a_sentence_has_no_more_claims_than_words() -> None:
    claims = [claim_of(text=f"It is so, for the {number}th time.") for number in range(7)]
    assert problems(claims=[*claims[:6], SECOND]) == []
    assert problems(claims=[*claims, SECOND]) == [
        "sentence 1 has 7 claims, more than it has words: label what it states, once"
    ]


def test_an_answer_may_be_a_word_that_stands_for_nothing_elsewhere() -> None:
    case = {"question": "How many tracks does the bridge carry?", "answer": "None."}
    assert problems(case, claims=[claim_of(text="None")]) == []


def test_what_answers_a_part_of_the_question_states_something() -> None:
    answered = [{"part": "who founded it", "sentence": 1, "answered": True}]
    third = claim_of(text="His wife was called Eve", sentence=3, label="unsupported", passage=None, quote=None)
    labels = {**NOTHING, "claims": [third], "empty_sentences": [1, 2]}
    assert problems(COMPANY, **labels) == []
    assert problems(COMPANY, **{**labels, "parts": answered}) == [
        "parts[0] is answered by sentence 1, which is in empty_sentences as if it stated nothing: label its claims"
    ]


def test_an_answer_most_of_which_went_unread_is_never_wholly_faithful() -> None:
    """Sentence 2 has no word of the matter: code alone cannot tell that it is a statement."""
    answer = "Jan founded the company. People generally admire everything about such undertakings. Maria founded it."
    labels = {**NOTHING, "claims": [claim_of(text="Maria", sentence=3, quote="Maria founded the company")]}
    settled = settle(facts_of(**{**COMPANY, "answer": answer}), labels_of(**labels, empty_sentences=[1, 2]))
    assert settled.rulings["faithfulness"].value == 0.5
    assert settled.rulings["faithfulness"].rule == "RAG-F6"


def test_a_passage_of_function_words_alone_may_be_quoted() -> None:
    case = {"context": ["It is.", "The iron bridge at Varde carries two railway tracks."]}
    claims = [claim_of(quote="It is"), {**SECOND, "passage": 2}]
    assert problems(case, claims=claims) == []
