"""One case on the embedded labeller's desk: its sentences by what they state, with the evidence each could rest on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from krino.judges.rag.evidence import Evidence, Index
from krino.judges.rag.facts import Copy, RagFacts
from krino.judges.rag.support import Pair
from krino.judges.rag.tables import table
from krino.judges.rag.words import Reading

_FIRST_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim on the desk: which sentence it is, what it could rest on, and whether it is a bare yes or no."""

    sentence: int
    evidence: Evidence
    pair: Pair
    polarity: bool | None


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
        language=facts.language,
        company=company,
    )
    return Draft(number, evidence, pair, polarity)


@cache
def _fillers() -> tuple[str, ...]:
    return tuple(table("local")["filler"]["starts"])


def _yes_or_no(facts: RagFacts, number: int, reading: Reading) -> bool | None:
    """True or False for a sentence that only says yes or no, else None."""
    words = _FIRST_WORD.findall(facts.sentences[number - 1].text[:40].lower())
    filler = table("local")["filler"]
    if not words or len(reading.content) > 1:
        return None
    if words[0] in filler["yes"] and len(words) <= 4:
        return True
    return False if words[0] in filler["no"] and len(words) <= 4 else None


def _is_empty(facts: RagFacts, number: int, reading: Reading, polarity: bool | None) -> bool:
    """Whether a sentence states nothing: it declines, asks, announces, or is a phrase of courtesy."""
    text = facts.sentences[number - 1].text
    if facts.refusal is not None and number in facts.refusal.sentences:
        return number not in facts.refusal.mixed
    if polarity is not None:
        return False
    if text.endswith("?") or not reading.content:
        return True
    if text.endswith(":"):
        return True
    return not reading.values and text.lower().startswith(_fillers())
