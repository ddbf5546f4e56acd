"""A quotation is evidence if it is whole words of its text, and more than one letter or digit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citation_cases import candidate, citation, match
from krino.contract import Task
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.judge import CitationJudge
from krino.judges.citation.labels import CitationLabels, Reasoning, check_labels
from krino.judges.rag.labels import check_labels as check_rag
from krino.text.quoting import _content, find_whole, is_whole, says_too_little, widened
from rag_making import case_of, claim_of, facts_of, judge_locally, labels_of, values_of


@pytest.mark.parametrize(
    ("quote", "text", "whole"),
    [
        ("possible", "It is impossible.", False),
        ("possible", "It is impossible, or possible.", True),
        ("it is", "Then it is so.", True),
        ("Then it is so", "Then it is so", True),
        ("metre", "The tower is 330 metres tall", False),
        ("330", "The tower is 330 metres tall", True),
        ("33", "The tower is 330 metres tall", False),
        ("30", "The tower is 330 metres tall", False),
        ("33", "The tower is 33.5 metres tall", False),
        ("is 33", "The tower is 33,5 metres tall", False),
        ("33", "The tower is 33. 5 men built it", True),
        ("33", "The tower is 33, built in 1900", True),
        ("55 metres", "The tower is 12.55 metres tall", False),
        ("000 metres", "The tower is 12,000 metres tall", False),
        ("is 12,", "The tower is 12,000 metres tall", False),
        ("5 metres", "The tower is 12.5 metres tall", False),
        ("1,000", "It cost 1,000,000 francs", False),
        ("1,000,000", "It cost 1,000,000 francs", True),
        ("5 of " + "long " * 9, "1.5 of " + "long " * 9, False),
        ("2018", "on 15.03.2018 it fell", True),
        ("15", "on 15.03.2018 it fell", True),
        ("eau", "l'eau est claire", True),
        ("a b", "x_a b_y", True),
        ("330", "高さは330メートルです", True),
        ("メートル", "高さは330メートルです", True),
        ("서울", "서울은 수도이다", True),
        ("можно", "Это невозможно", False),
        ("ήταν", "δεν ήταν εκεί", True),
        ("ḥaqq", "al-ḥaqqa", False),
        ("(a)", "f(a)b", True),
    ],
)
def test_a_quotation_cuts_no_word_and_no_number(quote: str, text: str, whole: bool) -> None:
    start = find_whole(quote, text)
    assert text[start : start + len(quote)] == quote
    assert is_whole(text, start, start + len(quote)) is whole


def test_what_is_nowhere_is_found_nowhere() -> None:
    assert find_whole("nowhere", "somewhere else") == -1


def test_of_many_places_only_so_many_are_looked_at() -> None:
    assert find_whole("ab", "xab" * 999 + " ab") == 3 * 999 + 1
    assert find_whole("ab", "xab" * 1000 + " ab") == 1


@pytest.mark.parametrize(
    ("quote", "text", "too_little"),
    [
        ("a", "a tower", True),
        ("1", "1 tower", True),
        ("–", "a – b", True),
        ("…", "…", False),
        ("no", "no tower", False),
        ("7.", "7.", False),
        ("7.", "7. b", True),
        ("12", "12 towers", False),
        ("塔", "塔高", True),
    ],
)
def test_a_single_letter_or_digit_shows_nothing_unless_it_is_all_there_is(
    quote: str, text: str, too_little: bool
) -> None:
    assert says_too_little(quote, text) is too_little


@pytest.mark.parametrize(
    ("quote", "text", "wide"),
    [
        ("ossib", "It is impossible!", "impossible"),
        ("is", "It is so", "is"),
        ("2 m", "a 12.55 m, 12.2 metres", "12.2 metres"),
        ("12", "a 12.55 m", "12.55"),
    ],
)
def test_a_stretch_is_widened_to_whole_words(quote: str, text: str, wide: str) -> None:
    start = text.rindex(quote)
    begin, end = widened(text, start, start + len(quote))
    assert wide in text[begin:end]
    assert is_whole(text, begin, end)


@given(st.text(), st.data())
def test_any_stretch_can_be_widened(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    begin, stop = widened(text, start, end)
    assert 0 <= begin <= start <= end <= stop <= len(text)
    assert is_whole(text, begin, stop)


# --- in the judges ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("quote", "told"),
    [
        ("a", "shows nothing by itself"),
        ("T", "shows nothing by itself"),
        ("pened in 1904", "cuts a word or number of passage 1 in two"),
        ("opened in 190", "cuts a word or number of passage 1 in two"),
        ("opened in 1905", "does not occur in passage 1"),
        ("1904", None),
        ("OPENED  in 1904", None),
        ("“The iron bridge”", None),
    ],
)
def test_rag_quotations_carry_evidence(quote: str, told: str | None) -> None:
    labels = labels_of(claims=[claim_of(quote=quote), claim_of(sentence=2, quote="carries two railway tracks")])
    problems = check_rag(facts_of(), labels)
    assert [told is not None and told in problem for problem in problems] == ([True] if told else [])


def test_a_passage_of_one_letter_may_be_quoted() -> None:
    facts = facts_of(context=["7", "x"], question="How many?", answer="Seven.")
    labels = labels_of(claims=[claim_of(quote="7")])
    assert check_rag(facts, labels) == []


def test_the_embedded_labeller_cites_nothing_that_shows_nothing() -> None:
    settlement = judge_locally(case_of(question="What rating?", context=["Rating\n7\nReviews are good."], answer="7"))
    assert values_of(settlement)


TEXT = "Le bail commercial (art. 1382bis) est impossible."


@pytest.mark.parametrize(
    ("quote", "told"),
    [
        ("L", "shows nothing by itself"),
        ("1382", "cuts a word or number of candidate 1 in two"),
        ("possible", "cuts a word or number of candidate 1 in two"),
        ("bail civil", "does not occur in candidate 1"),
        ("LE  BAIL", None),
        ("1382bis", None),
    ],
)
def test_citation_quotations_carry_evidence(quote: str, told: str | None) -> None:
    labels = CitationLabels.model_validate(
        {
            "subject": {"candidate": 1, "strength": "weak", "quote": quote},
            "reasoning": {name: {"yes": True, "why": ""} for name in Reasoning.model_fields},
        }
    )
    problems = check_labels(citation_task().facts, labels)
    assert [told is not None and told in problem for problem in problems] == ([True] if told else [])


def test_the_embedded_labeller_quotes_whole_words() -> None:
    task = citation_task(snippet="bail commercial, article 1382 du Code civil")
    labels = task.judge.label_locally([(task.case, task.facts)])[0]
    assert labels.subject.candidate == 1
    assert task.judge.check(task.case, task.facts, labels) == []


def citation_task(snippet: str = "sur le bail") -> Task[CitationCase, CitationFacts, CitationLabels]:
    judge = CitationJudge()
    case = judge.read(
        citation(
            "Cour de cassation",
            citation_snippet=snippet,
            candidates=[
                candidate("ECLI:BE:CASS:2018:ARR.20180315.1", "Cour de cassation", None, TEXT),
                candidate("ECLI:BE:CASS:2018:ARR.20180315.2", "Cour de cassation", None, "La faute grave."),
            ],
            matches=[match("ECLI:BE:CASS:2018:ARR.20180315.1", 0.6, "The court fits.")],
        )
    )
    facts = judge.study(case)
    questions = judge.ask(case, facts)
    assert questions is not None
    return Task(judge, case, facts, questions)


@given(st.text(max_size=6), st.text(max_size=6))
def test_how_a_quotation_begins_never_changes_whether_it_says_too_little(quote: str, text: str) -> None:
    assert says_too_little(quote, text) == (_content(quote) < min(2, _content(text)))
