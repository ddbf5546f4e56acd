"""The embedded labeller: compares legal terms to find the snippet's subject, and reads the reasoning by its words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from krino.judges.citation.belgium.topics import subjects_of, topic_match
from krino.judges.citation.facts import CitationFacts, find_text_about_citation, shown_text
from krino.judges.citation.labels import CitationLabels, Reasoning, Subject, YesNo


class Answers(NamedTuple):
    """The six answers about a reasoning, given by a labeller or found by its words."""

    court_first: bool
    languages_as_one: bool
    number_compared: bool
    missing_told_apart: bool
    context_cited: bool
    others_rejected: bool

    def words(self) -> tuple[str, ...]:
        """Returns each answer as a line of evidence: "court first: yes"."""
        named = (
            ("court first", self.court_first),
            ("FR/NL as one", self.languages_as_one),
            ("number compared", self.number_compared),
            ("missing kept apart from mismatched", self.missing_told_apart),
            ("context cited", self.context_cited),
            ("others rejected", self.others_rejected),
        )
        return tuple(f"{name}: {'yes' if answer else 'no'}" for name, answer in named)


def choose_answers(facts: CitationFacts, labels: CitationLabels | None) -> Answers:
    """Returns the six answers about the reasoning: the labeller's, or those found by its words.

    The words answer if there are no labels, or if the option `reasoning` is "never".
    """
    if labels is None or facts.who_reads == "never":
        return answer_by_words(facts)
    given = labels.reasoning
    return Answers(
        court_first=given.court_first.yes,
        languages_as_one=given.languages_as_one.yes,
        number_compared=given.number_compared.yes,
        missing_told_apart=given.missing_told_apart.yes,
        context_cited=given.context_cited.yes,
        others_rejected=given.others_rejected.yes,
    )


def answer_by_words(facts: CitationFacts) -> Answers:
    """Answers the questions about the reasoning from its words."""
    cues = facts.cues
    return Answers(
        # Who mentions the jurisdiction mentions the court.
        court_first=cues.court_comes_first(numbered=facts.cited.number is not None)
        or (cues.court_at is None and facts.objections.jurisdiction is not None),
        languages_as_one=facts.objections.court is None,
        number_compared=cues.number_at is not None
        and not (facts.cited.number and not facts.number_carried and cues.says_number_is_missing),
        missing_told_apart=_separates_missing_from_mismatch(facts),
        context_cited=cues.context_at is not None or bool(_find_shared_subjects(facts)),
        others_rejected=cues.rejects_others,
    )


def _find_shared_subjects(facts: CitationFacts) -> frozenset[str]:
    """Returns the legal concepts of the reasoning that the snippet or a candidate names too, in whatever language."""
    named = subjects_of(facts.answer.reasoning or "")
    if not named:
        return named
    texts = (facts.case.citation_snippet or "", *(text for item in facts.candidates for text in item.texts))
    return named & frozenset().union(*map(subjects_of, texts))


def reasoning_by_words(facts: CitationFacts) -> Reasoning:
    """Returns the answers found by the words, in the form of a labeller's."""
    answers = answer_by_words(facts)
    shown = dict(zip(Reasoning.model_fields, answers.words(), strict=True))
    return Reasoning(**{name: YesNo(yes=getattr(answers, name), why=f"by its words: {shown[name]}") for name in shown})


def _separates_missing_from_mismatch(facts: CitationFacts) -> bool:
    """Does the reasoning treat a missing number differently from one that differs?"""
    cues = facts.cues
    if facts.cited.number is None:
        return facts.objections.number is None
    return facts.number_carried or not cues.says_number_is_missing


def label_locally(batch: Sequence[CitationFacts]) -> list[CitationLabels]:
    """Labels cases without a model: the subject by legal terms, the reasoning by its words."""
    return [CitationLabels(subject=_find_subject(facts), reasoning=reasoning_by_words(facts)) for facts in batch]


def _find_subject(facts: CitationFacts) -> Subject:
    """Returns the shown candidate whose subject the snippet shares, by its legal terms, with a quotation.

    Without such a candidate or a quotation the label names none.
    """
    nowhere = Subject(candidate=None, strength="none", quote=None)
    about = find_text_about_citation(facts.case.citation_snippet, facts.cited)
    if about is None or not facts.shown:
        return nowhere
    texts = [shown_text(candidate) for candidate in facts.shown]
    found = topic_match(about, [(text,) for text in texts])
    if found.index is None or not found.quote.strip():
        return nowhere
    return Subject(candidate=found.index + 1, strength=found.strength, quote=found.quote)
