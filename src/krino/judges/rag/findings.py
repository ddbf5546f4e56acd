"""Remarks beside the verdict: what a reader should look at though no score rests on it."""

from __future__ import annotations

from collections.abc import Iterator

from krino.contract import Finding
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import AGREEING_STEPS, RagLabels
from krino.judges.rag.reading.finding_values import find_values, may_hold_values
from krino.judges.rag.reading.sums import cue_words, is_reckoned
from krino.judges.rag.reading.values import Value, comparable, offered, stated
from krino.judges.rag.reading.words import (
    Reading,
    may_be_opposed,
    may_deny,
    opposed_words,
    opposite_words,
    read_sentence,
)
from krino.text.language import language_name
from krino.text.words import word_set

_MOST = 8
_LONGEST = 120


def find_remarks(facts: RagFacts, labels: RagLabels | None) -> tuple[Finding, ...]:
    """Findings that follow from the case and the labels, in a fixed order."""
    return (
        *_goal(facts),
        *_instructions(facts),
        *_absent(facts),
        *_misquoted(facts),
        *_unchecked_numbers(facts, labels),
        *_odd_support(facts, labels),
        *_unseen_refusal(facts, labels),
        *_unlike_value(facts, labels),
        *_uncertainty(labels),
        *_language(facts),
    )


def _goal(facts: RagFacts) -> Iterator[Finding]:
    if facts.goal.note is not None:
        yield Finding("RAG-N1", facts.goal.note, "goal")


def _instructions(facts: RagFacts) -> Iterator[Finding]:
    for number in sorted(facts.instructions)[:_MOST]:
        shown = facts.sentences[number - 1].text[:_LONGEST]
        yield Finding("RAG-N8", f"speaks to whoever judges the answer: {shown}", f"sentence {number}")


def _absent(facts: RagFacts) -> Iterator[Finding]:
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
        yield Finding("RAG-N2", f"stands in no passage: {listed}", f"sentence {number}")


def _misquoted(facts: RagFacts) -> Iterator[Finding]:
    for number, quotation in sorted(facts.misquoted.items())[:_MOST]:
        yield Finding(
            "RAG-N10", f"quoted, but in no passage in these words: {quotation[:_LONGEST]}", f"sentence {number}"
        )


def _unchecked_numbers(facts: RagFacts, labels: RagLabels | None) -> Iterator[Finding]:
    if labels is None or not facts.has_context:
        return
    for number in dict.fromkeys(claim.sentence for claim in labels.claims):
        if not 1 <= number <= len(facts.sentences) or not (told := facts.values[number - 1]):
            continue
        claims = (claim.text for claim in labels.claims if claim.sentence == number)
        keys = offered(value for text in claims for value in find_values(text))
        lost = [value.text for value in told if not stated(value, keys) and not value.spelled]
        if lost:
            listed = ", ".join(lost[:_MOST])
            yield Finding("RAG-N5", f"no claim of this sentence holds {listed}", f"sentence {number}")


def _odd_support(facts: RagFacts, labels: RagLabels | None) -> Iterator[Finding]:
    """Claims called supported by words that say otherwise, as far as letters show."""
    if labels is None or not facts.has_context:
        return
    for claim in labels.claims:
        if claim.label != "supported" or not claim.quote or not _may_conflict(claim.text, claim.quote):
            continue
        where = f"sentence {claim.sentence}"
        claimed, quoted = (read_sentence(text, facts.language) for text in (claim.text, claim.quote))
        if (claimed.negated or quoted.negated) and (words := opposed_words(claimed, quoted)):
            yield Finding("RAG-N7", f"only one of the two denies '{claimed.surface[words[0]]}'", where)
        elif pair := opposite_words(claimed, quoted):
            yield Finding("RAG-N9", f"it says '{pair[0]}', its quotation '{pair[1]}'", where)
        elif values := _other_value(claimed, quoted, cue_words(claim.text, claimed, [claim.quote])):
            yield Finding("RAG-N9", f"it says {values[0].text}, its quotation {values[1].text}", where)


def _may_conflict(claim: str, quote: str) -> bool:
    """A first, cheap look by words alone: most claims are told much as their quotation is."""
    ours, theirs = word_set(claim), word_set(quote)
    if may_deny(claim, ours) or may_deny(quote, theirs) or may_be_opposed(ours, theirs):
        return True
    return may_hold_values(claim, ours) and may_hold_values(quote, theirs)


def _other_value(claimed: Reading, quoted: Reading, words: frozenset[str]) -> tuple[Value, Value] | None:
    known, said = quoted.offered, claimed.offered
    for value in claimed.values:
        if is_reckoned(value, quoted.values, claimed.values, words):
            continue
        for other in quoted.values:
            if not stated(value, known) and not stated(other, said) and comparable(value, other):
                return value, other
    return None


def _unseen_refusal(facts: RagFacts, labels: RagLabels | None) -> Iterator[Finding]:
    if labels is not None and labels.refusal is not None and labels.refusal.is_refusal and facts.refusal is None:
        yield Finding("RAG-N11", "labelled as a refusal, but its wording shows none", "answer")


def _unlike_value(facts: RagFacts, labels: RagLabels | None) -> Iterator[Finding]:
    """A chosen step that agrees is not limited by a value that differs, so a reader should see that one does."""
    if labels is None or labels.similarity_score is not None or labels.similarity not in AGREEING_STEPS:
        return
    if facts.exact_difference is not None:
        yield Finding("RAG-N12", f"labelled {labels.similarity}, but {facts.exact_difference}", "similarity")


def _uncertainty(labels: RagLabels | None) -> Iterator[Finding]:
    if labels is not None and labels.uncertain and labels.uncertain.strip():
        yield Finding("RAG-N4", labels.uncertain.strip())


def _language(facts: RagFacts) -> Iterator[Finding]:
    if " the " in facts.case.question and " the " in facts.case.answer:
        return  # both plainly English, the most common case by far
    asked, answered = facts.question_language, facts.answer_language
    if asked is not None and answered is not None and asked != answered:
        yield Finding("RAG-N6", f"asked in {language_name(asked)}, answered in {language_name(answered)}", "answer")
