"""Remarks beside the verdict: what a reader should look at though no score rests on it."""

from __future__ import annotations

from collections.abc import Iterator

from krino.contract import Finding
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import AGREEING_STEPS, Claim, RagLabels
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.tables import table
from krino.judges.rag.values.finding import find_values, may_hold_values
from krino.judges.rag.values.sums import cue_words, follows_from
from krino.judges.rag.values.value import Value, comparable, offered, stated
from krino.text.language import language_name
from krino.text.words import word_set

_MOST = 8
_LONGEST = 120


def find_remarks(facts: RagFacts, labels: RagLabels) -> tuple[Finding, ...]:
    """Returns the findings that follow from the case and the labels, in a fixed order."""
    return (
        *_goal(facts),
        *_find_absent(facts),
        *_find_misquoted(facts),
        *_find_unchecked_numbers(facts, labels),
        *_find_odd_support(facts, labels),
        *_unsure(labels),
        *_find_unlike_value(facts, labels),
        *_uncertainty(labels),
        *_compare_languages(facts),
    )


def _goal(facts: RagFacts) -> Iterator[Finding]:
    if facts.goal.note is not None:
        yield Finding("RAG-N1", facts.goal.note, "goal")


def _find_absent(facts: RagFacts) -> Iterator[Finding]:
    """Yields findings on values and names of the answer that occur in no passage."""
    if not facts.has_context:
        return
    by_sentence: dict[int, list[str]] = {}
    for number, value in facts.absent_values:
        if not facts.is_numbering(number, value):
            by_sentence.setdefault(number, []).append(value.text)
    for number, name in facts.absent_names:
        by_sentence.setdefault(number, []).append(name)
    for number in sorted(by_sentence)[:_MOST]:
        listed = ", ".join(dict.fromkeys(by_sentence[number][:_MOST]))
        yield Finding("RAG-N2", f"in no passage: {listed}", f"sentence {number}")


def _find_misquoted(facts: RagFacts) -> Iterator[Finding]:
    """Yields findings on quotations that no passage has in these words."""
    for number, quotation in sorted(facts.misquoted.items())[:_MOST]:
        yield Finding(
            "RAG-N10", f"quoted, but in no passage in these words: {quotation[:_LONGEST]}", f"sentence {number}"
        )


def _find_unchecked_numbers(facts: RagFacts, labels: RagLabels) -> Iterator[Finding]:
    """Yields findings on numbers of a sentence that none of its claims holds."""
    if not facts.has_context:
        return
    for number in dict.fromkeys(claim.sentence for claim in labels.claims):
        if not 1 <= number <= len(facts.sentences) or not (given := facts.values[number - 1]):
            continue
        claims = (claim.text for claim in labels.claims if claim.sentence == number)
        keys = offered(value for text in claims for value in find_values(text))
        lost = [value.text for value in given if not stated(value, keys) and not value.spelled]
        if lost:
            listed = ", ".join(lost[:_MOST])
            yield Finding("RAG-N5", f"no claim of this sentence holds {listed}", f"sentence {number}")


def _find_odd_support(facts: RagFacts, labels: RagLabels) -> Iterator[Finding]:
    """Yields findings on claims called supported whose quotation has another value in place of theirs."""
    if not facts.has_context:
        return
    for claim in labels.claims:
        if claim.label != "supported" or not claim.quote or not _may_conflict(claim.text, claim.quote):
            continue
        claimed, quoted = (read_sentence(text, facts.language) for text in (claim.text, claim.quote))
        if values := _find_other_value(claimed, quoted, cue_words(claim.text, claimed, [claim.quote])):
            message = f"it says {values[0].text}, its quotation {values[1].text}"
            yield Finding("RAG-N9", message, f"sentence {claim.sentence}")


def _may_conflict(claim: str, quote: str) -> bool:
    """A first, cheap look by words alone: whether both may hold values."""
    return may_hold_values(claim, word_set(claim)) and may_hold_values(quote, word_set(quote))


def _find_other_value(claimed: Reading, quoted: Reading, words: frozenset[str]) -> tuple[Value, Value] | None:
    """Returns a claimed value and the other one that the quotation has in its place, or None."""
    known, said = quoted.offered, claimed.offered
    for value in claimed.values:
        if follows_from(value, quoted.values, claimed.values, words):
            continue
        for other in quoted.values:
            if not stated(value, known) and not stated(other, said) and comparable(value, other):
                return value, other
    return None


def unsure_claims(labels: RagLabels) -> list[Claim]:
    """Returns the claims that could as well have another label, by the labeller's own measure; the least sure first."""
    limits = table("scoring")["unsure"]
    unsure = [
        (abs(claim.probability - limits["even"]), place, claim)
        for place, claim in enumerate(labels.claims)
        if claim.probability is not None and limits["from"] <= claim.probability <= limits["to"]
    ]
    return [claim for _, _, claim in sorted(unsure, key=lambda item: item[:2])]


def _unsure(labels: RagLabels) -> Iterator[Finding]:
    for claim in unsure_claims(labels)[:_MOST]:
        message = f"unsure, supported with probability {claim.probability:.2f}: {claim.text[:_LONGEST]}"
        yield Finding("RAG-N14", message, f"sentence {claim.sentence}")


def _find_unlike_value(facts: RagFacts, labels: RagLabels) -> Iterator[Finding]:
    """Yields a finding if the answer is labelled as agreeing with the reference although a value differs.

    Such a label is not limited by the difference, so a reader should see it.
    """
    if labels.similarity_score is not None or labels.similarity not in AGREEING_STEPS:
        return
    if facts.exact_difference is not None:
        yield Finding("RAG-N12", f"labelled {labels.similarity}, but {facts.exact_difference}", "similarity")


def _uncertainty(labels: RagLabels) -> Iterator[Finding]:
    if labels.uncertain and labels.uncertain.strip():
        yield Finding("RAG-N4", labels.uncertain.strip())


def _compare_languages(facts: RagFacts) -> Iterator[Finding]:
    """Yields a finding if the answer is in another language than the question."""
    if " the " in facts.case.question and " the " in facts.case.answer:
        return  # both plainly English, the most common case by far
    asked, answered = facts.question_language, facts.answer_language
    if asked is not None and answered is not None and asked != answered:
        yield Finding("RAG-N6", f"asked in {language_name(asked)}, answered in {language_name(answered)}", "answer")
