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
    assert names == ["citation", "snippet", "candidate 1", "candidate 2", "reasoning"]
    bare = asked(open_case(citation_snippet=None))
    assert [passage.name for passage in bare.passages] == ["citation", "reasoning"]
    assert "nothing to compare" in bare.request


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
