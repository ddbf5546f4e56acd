"""What the entailment model is asked about a question, and what becomes of its answers."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from krino.judges.rag.facts import PassageSentence
from krino.judges.rag.labels import RagLabels
from krino.judges.rag.local import label_locally
from krino.judges.rag.reading.grammar import root_of
from krino.judges.rag.support.draft_claims import lay_out
from krino.judges.rag.support.evidence import Index, told_for
from krino.judges.rag.support.relevance import asked_of, asked_together
from krino.judges.rag.tables import table
from krino.models import entailment
from krino.models.entailment import Answered
from rag_making import HARBOUR, QUESTION, facts_of

FERRY = "Ferries crossed the water before."
TOLL = "Drivers paid a toll for each crossing."
YES, NO, PART = Answered(0.9, 0.05, 0.05), Answered(0.05, 0.9, 0.05), Answered(0.1, 0.1, 0.8)


def asked(**changes: Any) -> list[tuple[str, str]]:
    """The texts that are put before the model, each with its question."""
    return list(asked_of(lay_out(facts_of(**changes))))


def labelled(monkeypatch: pytest.MonkeyPatch, answers: dict[str, Answered], **changes: Any) -> RagLabels:
    """Labels where the model answers by the text alone; of others it says that they answer nothing."""
    monkeypatch.setattr(entailment, "answers", lambda pairs: [answers.get(text, NO) for text, _ in pairs])
    return label_locally([facts_of(**changes)])[0]


def test_the_answer_and_the_sentences_nearest_to_the_question_are_asked_about_whatever_the_answer_says() -> None:
    context = [f"{FERRY} {TOLL}", HARBOUR]
    question = "Who paid for the water?"
    told = []
    for answer in (
        "Drivers paid a toll and big ships with timber came.",
        "Ferries with horses crossed the cold water before there was a bridge.",
    ):
        texts = [text for text, _ in asked(question=question, answer=answer, context=context)]
        assert answer in texts
        told.append([text for text in texts if text != answer])
    assert told[0] == told[1]
    assert told[0]


def test_of_several_passages_one_sentence_each_and_the_nearest_together_where_none_answers_alone() -> None:
    desk = lay_out(facts_of(context=[f"{FERRY} {TOLL}", f"{HARBOUR} {TOLL}"]))
    pairs = list(asked_of(desk))
    assert len([text for text, _ in pairs if text in (FERRY, TOLL, HARBOUR)]) <= 2
    assert not list(asked_together(desk, dict.fromkeys(pairs, YES)))
    assert all(HARBOUR in text and text != HARBOUR for text, _ in asked_together(desk, dict.fromkeys(pairs, NO)))
    assert list(asked_together(desk, dict.fromkeys(pairs, NO)))


def test_a_sentence_without_a_word_of_the_question_is_left_out_where_others_have_some() -> None:
    other = "Bakers get up early."
    texts = [text for text, _ in asked(question="When did ferries cross the water?", context=[FERRY, other])]
    assert FERRY in texts and other not in texts
    texts = [text for text, _ in asked(question="Where do painters live?", context=[FERRY, other])]
    assert FERRY in texts and other in texts


def test_an_answer_that_declines_is_not_held_against_the_question() -> None:
    declined = "I cannot answer that, because the passages do not say it."
    assert declined not in dict(asked(answer=declined, question="Who painted it?", context=[FERRY]))
    assert "Nobody knows." in dict(asked(answer="Nobody knows.", question="Why was the roof painted?", context=[FERRY]))


def test_a_question_of_two_parts_is_asked_part_by_part_and_whole() -> None:
    question = "When was it opened and who paid for it?"
    questions = {found for _, found in asked(question=question)}
    assert question in questions
    assert len(questions) == 3


def test_what_is_nearest_to_the_question_is_looked_for_once_however_many_passages_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Or a case of many short passages would take a time that grows with their square."""
    looked = 0
    share = Index.spoken_share

    def counting(self: Index, item: PassageSentence) -> float:
        nonlocal looked
        looked += 1
        return share(self, item)

    monkeypatch.setattr(Index, "spoken_share", counting)
    looks = []
    for passages in (100, 400):
        looked = 0
        labelled(monkeypatch, {}, context=[f"{FERRY} It was ship {number}." for number in range(passages)])
        looks.append(looked)
    assert looks[1] < 6 * looks[0]


def test_the_question_is_the_one_that_was_asked() -> None:
    assert {question for _, question in asked()} == {QUESTION}


def test_of_a_long_answer_what_speaks_of_the_question_is_read() -> None:
    padding = " ".join(f"The weather on day {number} was fine and everybody went for a walk." for number in range(40))
    answer = f"{padding} {HARBOUR} {padding}"
    said = max((text for text, _ in asked(answer=answer, context=[FERRY])), key=len)
    assert HARBOUR in said
    assert len(said.split()) <= 200


def test_a_sentence_is_useful_and_holds_the_need_where_it_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = labelled(monkeypatch, {HARBOUR: YES}, context=[f"{FERRY} {TOLL}", HARBOUR])
    assert [use.useful_sentences for use in labels.passages] == [[], [1]]
    assert [(need.held, need.passage) for need in labels.needs] == [(True, 2)]


def test_a_sentence_that_answers_in_part_is_useful_and_an_answer_in_part_holds_half_as_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    half = Answered(0.05, 0.3, 0.65)
    labels = labelled(monkeypatch, {"Storks nest on chimneys.": half}, context=["Storks nest on chimneys."])
    assert [use.useful_sentences for use in labels.passages] == [[1]]
    assert not labels.needs[0].held


def test_words_of_the_question_and_a_value_of_its_kind_count_beside_what_the_model_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    doubtful = Answered(0.3, 0.7, 0.0)
    for text, useful in (
        ("The iron bridge at Varde was opened in 1904.", [1]),
        ("Storks nest on chimneys.", []),
    ):
        labels = labelled(monkeypatch, {text: doubtful}, context=[text])
        assert [use.useful_sentences for use in labels.passages] == [useful]


def test_sentences_that_answer_only_together_are_all_useful(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = labelled(monkeypatch, {f"{FERRY} {TOLL}": YES}, context=[FERRY, TOLL])
    assert [use.useful_sentences for use in labels.passages] == [[1], [1]]
    assert labels.needs[0].held


def test_nothing_is_useful_or_held_where_nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = labelled(monkeypatch, {}, context=[FERRY, TOLL])
    assert [use.useful_sentences for use in labels.passages] == [[], []]
    assert not labels.needs[0].held


@pytest.mark.parametrize(
    ("said", "answered"), [(YES, True), (NO, False), (PART, True), (Answered(0.2, 0.7, 0.1), False)]
)
def test_a_part_is_answered_as_the_model_says(monkeypatch: pytest.MonkeyPatch, said: Answered, answered: bool) -> None:
    labels = labelled(monkeypatch, {TOLL: said}, answer=TOLL)
    assert [part.answered for part in labels.parts] == [answered]
    assert labels.direct == ("full" if answered else "no")


def direct(monkeypatch: pytest.MonkeyPatch, answer: str, passage: str, useful: Answered) -> str:
    said = {answer: YES, passage: useful}
    return labelled(monkeypatch, said, question="Why was the toll dropped?", answer=answer, context=[passage]).direct


def test_an_answer_may_begin_with_a_reason_that_rests_on_a_useful_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = "Ferries crossed the water again. So the toll was dropped."
    assert direct(monkeypatch, answer, FERRY, YES) == "full"
    assert direct(monkeypatch, answer, FERRY, NO) == "partly"


def test_a_bare_no_that_answers_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    question, answer = "Is there a toll?", "No. Ferries crossed the water before."
    labels = labelled(monkeypatch, {answer: YES}, question=question, answer=answer, context=[HARBOUR])
    assert labels.direct == "full"


@pytest.mark.parametrize(("sure", "answered"), [(0.9, False), (0.99, True)])
def test_an_answer_with_other_names_answers_only_where_the_model_is_certain(
    monkeypatch: pytest.MonkeyPatch, sure: float, answered: bool
) -> None:
    answer = "The bridge of Holst was opened in 1911."
    question = "When was the bridge of Varde opened?"
    context = ["The bridge of Varde was opened in 1904.", answer]
    said = {answer: Answered(sure, 1 - sure, 0.0)}
    labels = labelled(monkeypatch, said, question=question, answer=answer, context=context)
    assert [part.answered for part in labels.parts] == [answered]


@pytest.mark.parametrize(("answer", "answered"), [(HARBOUR, True), ("Bakers get up early.", False)])
def test_who_asks_to_be_told_of_something_is_answered_by_whatever_is_told_of_it(
    monkeypatch: pytest.MonkeyPatch, answer: str, answered: bool
) -> None:
    labels = labelled(monkeypatch, {}, question="Tell me about Varde harbour.", answer=answer, context=[HARBOUR, TOLL])
    assert [part.answered for part in labels.parts] == [answered]


def test_an_answer_to_all_of_a_question_answers_each_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    question = "When was it opened and who paid for it?"
    monkeypatch.setattr(entailment, "answers", lambda pairs: [YES if about == question else NO for _, about in pairs])
    labels = label_locally([facts_of(question=question, answer=TOLL)])[0]
    assert [part.answered for part in labels.parts] == [True, True]


@pytest.mark.parametrize("group", table("questions")["told"]["groups"])
def test_each_word_of_a_group_is_told_for_the_others(group: str) -> None:
    for first, second in permutations(map(root_of, group.split()), 2):
        assert first == second or second in told_for(first)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("Who bought whom?", "Alpha acquired Beta in 2019."),
        ("Quel est le prix du billet ?", "Le billet coûte 12 euros."),
        ("Wat is de prijs van een kaartje?", "Een kaartje kost 12 euro."),
        ("Was ist der Preis der Karte?", "Die Karte kostet 12 Euro."),
        ("¿Cuál es el precio de la entrada?", "La entrada cuesta 12 euros."),
    ],
)
def test_a_passage_that_tells_in_another_word_of_the_matter_is_useful(question: str, passage: str) -> None:
    labels = label_locally([facts_of(question=question, context=[passage, TOLL], answer="12.")])[0]
    assert labels.passages[0].useful_sentences == [1]
    assert all(need.held for need in labels.needs)


def test_what_is_told_of_another_name_answers_nothing() -> None:
    context = ["Jan Rot leads the choir of Ulm.", "Eva Lind leads the choir of Bonn."]
    question = "Who leads the choir of Ulm?"
    labels = [
        label_locally([facts_of(question=question, context=context, answer=answer)])[0]
        for answer in ("Eva Lind leads the choir of Bonn.", "Jan Rot leads the choir there.")
    ]
    assert [part.answered for item in labels for part in item.parts] == [False, True]
