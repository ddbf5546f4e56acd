"""One case on the embedded labeller's desk: its sentences by what they state, with the evidence each could rest on."""

from __future__ import annotations

import re
from dataclasses import dataclass

from krino.judges.rag.facts import Copy, RagFacts
from krino.judges.rag.reading.words import Reading, opposite_words
from krino.judges.rag.support.evidence import Evidence, Index, coverage
from krino.judges.rag.support.lexical_support import Pair
from krino.judges.rag.tables import table

_BARE = 3
"""Content words up to which an answer is the bare name or value that was asked for."""
_FIRST_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim on the desk: which sentence it is, what it could rest on, and whether it is a bare yes or no."""

    sentence: int
    evidence: Evidence
    pair: Pair
    polarity: bool | None
    denied: bool | None = None
    """For a bare yes or no: whether the nearest sentence denies what is asked; None where that cannot be told."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One case while it is labelled."""

    facts: RagFacts
    index: Index
    drafts: tuple[Draft, ...]
    empty: tuple[int, ...]
    copies: dict[int, Copy]

    def is_copied(self, draft: Draft) -> bool:
        copy = self.copies.get(draft.sentence)
        return copy is not None and copy.exact


def lay_out(facts: RagFacts) -> Desk:
    """Tells the sentences that claim something from those that do not, and finds evidence for the claims."""
    index = Index(facts)
    claiming: list[tuple[int, Reading, bool | None]] = []
    empty: list[int] = []
    for number, reading in enumerate(facts.readings, 1):
        polarity = _yes_or_no(facts, number, reading)
        if not facts.open.claims or _is_empty(facts, number, reading, polarity):
            empty.append(number)
        else:
            claiming.append((number, reading, polarity))
    drafts = tuple(_draft(facts, index, *claim, company=len(claiming) > 1) for claim in claiming)
    if any(draft.polarity is None for draft in drafts):  # a yes or no that nothing settles adds nothing to the rest
        unsettled = {draft.sentence for draft in drafts if draft.polarity is not None and draft.denied is None}
        drafts = tuple(draft for draft in drafts if draft.sentence not in unsettled)
        empty = sorted({*empty, *unsettled})
    copies = {copy.sentence: copy for copy in facts.copies} if facts.open.claims else {}
    return Desk(facts, index, drafts, tuple(empty), copies)


def _draft(
    facts: RagFacts, index: Index, number: int, reading: Reading, polarity: bool | None, *, company: bool
) -> Draft:
    claimed = reading if polarity is None else facts.question_reading
    weights = index.weigh_claim(claimed)
    evidence = index.find(weights)
    sentence = facts.sentences[number - 1].text
    pair = Pair(
        question=facts.case.question,
        claim=sentence if polarity is None else f"{facts.case.question} {sentence}",
        evidence=tuple(item.sentence.text for item in evidence.sentences),
        shown=index.surroundings(weights, evidence),
        asked=facts.question_reading,
        claimed=claimed,
        found=tuple(item.reading for item in evidence.sentences),
        weights=weights,
        anywhere=index.share_anywhere(weights),
        strangers=facts.strangers.get(number, ()),
        absent=tuple(value for place, value in facts.absent_values if place == number),
        language=facts.language,
        company=company,
        misplaced=polarity is None and not company and _is_misplaced(facts, index, claimed),
    )
    return Draft(number, evidence, pair, polarity, None if polarity is None else _denied(facts, index, evidence))


def _denied(facts: RagFacts, index: Index, evidence: Evidence) -> bool | None:
    """A denial or an opposite in the sentence nearest to the question; agreement where it holds nearly all of it."""
    if evidence.best is None:
        return None
    asked, best = facts.question_reading, evidence.best.reading
    if opposite_words(asked, best) is not None:
        return True
    if not best.negated.isdisjoint(asked.stems):
        return True
    near: float = table("local")["thresholds"]["negation"]
    return False if coverage(index.question_weights, (best,)) >= near else None


def _is_misplaced(facts: RagFacts, index: Index, claimed: Reading) -> bool:
    """A bare name or value for an answer that the passages have, but not where they speak of what is asked."""
    if not 0 < len(claimed.content) <= _BARE or claimed.stems & facts.question_reading.stems:
        return False
    asked = [(coverage(index.question_weights, (item.reading,)), item.reading) for item in index.sentences]
    holding = [share for share, reading in asked if claimed.stems <= reading.stems]
    nearest = max((share for share, _ in asked), default=0.0)
    limit: float = table("local")["thresholds"]["asked"]
    return bool(holding) and nearest >= limit and max(holding) < nearest / 2


def _yes_or_no(facts: RagFacts, number: int, reading: Reading) -> bool | None:
    """True or False for a sentence that only says yes or no, else None."""
    words = _FIRST_WORD.findall(facts.sentences[number - 1].text[:40].lower())
    known = table("local")["polarity"]
    if not words or len(reading.content) > 1:
        return None
    if words[0] in known["yes"] and len(words) <= 4:
        return True
    return False if words[0] in known["no"] and len(words) <= 4 else None


def _is_empty(facts: RagFacts, number: int, reading: Reading, polarity: bool | None) -> bool:
    """Whether a sentence states nothing: it declines, asks or announces. Courtesies are no sentences of the answer."""
    text = facts.sentences[number - 1].text
    if facts.refusal is not None and (facts.refusal.whole or number in facts.refusal.sentences):
        return number not in facts.refusal.mixed
    if polarity is not None:
        return False
    return text.endswith(("?", ":")) or not reading.content
