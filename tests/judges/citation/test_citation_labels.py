"""What is asked, what answers are accepted, and what the embedded labeller says."""

from __future__ import annotations

from typing import Any

import pytest

from citation_cases import CASSATION, JUDGE, candidate, citation, label, match, study
from krino.contract import Questions
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.labels import CitationLabels, Reasoning, Subject, YesNo
from krino.labellers.llm.prompt import system_text, user_text
from krino.labellers.llm.schema import strict_schema
from krino.labellers.llm.wire import Channel

RUBRIC_CHARACTERS = 22_977
SNIPPET = "... het ontslag om dringende reden van de werknemer ..."
YES = YesNo(yes=True, why="it does")
ALL_YES = Reasoning(**dict.fromkeys(Reasoning.model_fields, YES))


def open_case(**more: Any) -> CitationFacts:
    listed = [
        candidate(CASSATION.format(1), "Cass.", None, "Bail à ferme, congé pour exploitation personnelle"),
        candidate(CASSATION.format(2), "Cass.", None, "Licenciement pour motif grave d'un travailleur"),
    ]
    answer = {"matches": [match(CASSATION.format(2), 0.8, "Court aligned. Same subject.")]}
    return study(citation("Cass.", candidates=listed, citation_snippet=SNIPPET) | answer | more)


def asked(facts: CitationFacts) -> Questions:
    questions = JUDGE.ask(facts.case, facts)
    assert questions is not None
    return questions


@pytest.mark.parametrize("channel", ["json_schema", "tool", "json_object", "text"])
def test_prompt_and_request_take_at_most_a_quarter_of_the_rubric(channel: Channel) -> None:
    static = system_text(JUDGE.prompt, channel, strict_schema(JUDGE.labels_model))
    request = user_text(Questions((), asked(open_case()).request), ())
    assert len(static) + len(request) <= RUBRIC_CHARACTERS / 4


def test_only_what_is_open_is_shown() -> None:
    names = [passage.name for passage in asked(open_case()).passages]
    assert names == ["citation", "snippet", "candidate 1", "candidate 2", "decisions", "answer", "reasoning"]
    bare = asked(open_case(citation_snippet=None))
    assert [passage.name for passage in bare.passages] == ["citation", "decisions", "answer", "reasoning"]
    assert "candidate and quote are null and strength is `none`" in bare.request, "in the order of the schema"


def block(facts: CitationFacts, name: str) -> str:
    (text,) = (passage.text for passage in asked(facts).passages if passage.name == name)
    return text


def test_courts_places_in_the_list_and_the_choice_are_shown() -> None:
    first, second, other = (CASSATION.format(number) for number in (1, 2, 3))
    listed = [
        candidate(other, "Cour du travail de Mons", "2018/AM/7", "Accident du travail"),
        candidate(second, "Hof van Cassatie", None, "Licenciement pour motif grave d'un travailleur"),
        candidate(first, "Cour de cassation", None, "Bail à ferme, congé pour exploitation personnelle"),
    ]
    facts = open_case(candidates=listed)
    assert block(facts, "decisions").splitlines() == [
        f"1. Cour du travail de Mons, 2018/AM/7, {other}; not shown as a candidate",
        f"2. Hof van Cassatie, no number, {second}; candidate 2",
        f"3. Cour de cassation, no number, {first}; candidate 1",
    ]
    assert block(facts, "answer") == f"match: Hof van Cassatie, no number, {second}; candidate 2, confidence 80 %"
    assert "Hof van Cassatie" not in block(facts, "candidate 2"), "a court is no words to be quoted"


def test_no_match_is_shown_as_the_answer() -> None:
    assert block(open_case(matches=[], no_match_reason="None fits."), "answer") == "no match"


def test_decisions_that_are_not_kept_or_not_listed_are_counted() -> None:
    facts = open_case(candidate_count=5)
    assert block(facts, "decisions").splitlines()[-1] == "(3 more are not listed here)"
    many = [candidate(CASSATION.format(number), "Cass.", None, f"Impôt {number}") for number in range(61)]
    lines = block(open_case(candidates=many), "decisions").splitlines()
    assert len(lines) == 61 and lines[-1] == "(1 more is not listed here)"


def test_a_line_break_in_a_court_makes_no_line_of_its_own() -> None:
    listed = [candidate(CASSATION.format(2), "Cass.\n2. Cour de cassation", None, "Licenciement pour motif grave")]
    assert len(block(open_case(candidates=listed), "decisions").splitlines()) == 1


def test_a_court_field_with_a_whole_citation_does_not_contradict_the_missing_number() -> None:
    text = block(open_case(cited_court_name="Cass., 3 mai 2010, C.09.0123.F"), "citation")
    assert text.splitlines()[0] == "court: Cass., 3 mai 2010, C.09.0123.F"
    assert "case number: none in a field of its own" in text


def test_the_request_says_of_a_number_only_what_the_citation_shows() -> None:
    assert "gives no case number" in asked(open_case()).request
    assert "gives a case number" in asked(open_case(cited_case_number="C.18.0456.N")).request
    unread = open_case(cited_case_number="zie voetnoot")
    assert unread.cited.number is None
    assert "case number: zie voetnoot" in block(unread, "citation")
    assert "gives as case number is none" in asked(unread).request


@pytest.mark.parametrize(
    "settled",
    ["Stating the ceiling", "chose no match", "only one decision", "no content to go by", "rightly or wrongly"],
)
def test_the_prompt_settles_what_reasonings_leave_open(settled: str) -> None:
    assert settled in JUDGE.prompt


def test_the_request_holds_nothing_of_the_case() -> None:
    marked = open_case(cited_court_name="Cass. XYZZY", citation_snippet=f"{SNIPPET} XYZZY")
    assert "XYZZY" not in asked(marked).request


@pytest.mark.parametrize(
    ("subject", "complaint"),
    [
        (Subject(candidate=3, strength="strong", quote="motif grave"), "1 to 2"),
        (Subject(candidate=2, strength="none", quote="motif grave"), "strength is none"),
        (Subject(candidate=None, strength="weak", quote=None), "without a candidate"),
        (Subject(candidate=None, strength="none", quote="motif grave"), "without a candidate"),
        (Subject(candidate=2, strength="strong", quote=None), "missing"),
        (Subject(candidate=2, strength="strong", quote="Bail à ferme"), "does not occur in candidate 2"),
    ],
)
def test_labels_that_do_not_fit_the_case_are_refused(subject: Subject, complaint: str) -> None:
    facts = open_case()
    problems = JUDGE.check(facts.case, facts, CitationLabels(subject=subject, reasoning=ALL_YES))
    assert len(problems) == 1
    assert complaint in problems[0]


@pytest.mark.parametrize("quote", ["pour", "d'un", "POUR"])
def test_a_quote_of_function_words_shows_no_subject(quote: str) -> None:
    facts = open_case()
    subject = Subject(candidate=2, strength="strong", quote=quote)
    told = JUDGE.check(facts.case, facts, CitationLabels(subject=subject, reasoning=ALL_YES))
    assert told == ["subject.quote shows nothing by itself: quote the words that decide it"]


def test_a_quote_may_differ_in_case_and_spacing() -> None:
    facts = open_case()
    subject = Subject(candidate=2, strength="strong", quote="licenciement  pour\nmotif grave")
    assert JUDGE.check(facts.case, facts, CitationLabels(subject=subject, reasoning=ALL_YES)) == []


def test_the_embedded_labeller_points_across_languages() -> None:
    labels = label(open_case())
    assert labels is not None
    assert (labels.subject.candidate, labels.subject.strength) == (2, "strong")
    assert labels.reasoning.court_first.yes
    assert not labels.reasoning.number_compared.yes


def test_many_candidates_are_cut_to_the_likeliest() -> None:
    listed = [candidate(CASSATION.format(number), "Cass.", None, f"Impôt {number}") for number in range(40)]
    listed.append(candidate(CASSATION.format(99), "Cass.", None, "Licenciement pour motif grave"))
    facts = study(citation("Cass.", candidates=listed, citation_snippet=SNIPPET))
    assert len(facts.shown) == 24
    assert CASSATION.format(99) in {item.id for item in facts.shown}
