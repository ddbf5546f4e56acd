"""The embedded labeller: the same labels as a model gives, by matching words, values and negations.

It reads words, not meaning: a paraphrase can look unsupported, and a false sentence made of the passages' own
words can look supported. Only the support decision sits behind a seam (`SupportModel`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from krino.judges.rag.asking import QuestionPart, question_parts
from krino.judges.rag.evidence import Evidence, Index, coverage
from krino.judges.rag.facts import Copy, RagFacts
from krino.judges.rag.labels import (
    Claim,
    Directness,
    Need,
    Part,
    PassageUse,
    RagLabels,
    RefusalLabel,
    Similarity,
)
from krino.judges.rag.languages import LANGUAGE_NAMES
from krino.judges.rag.nearness import place_on_scale
from krino.judges.rag.refusals import RefusalReading, asks_for_harm
from krino.judges.rag.support import LexicalSupport, Pair, Support, SupportModel
from krino.judges.rag.tables import table
from krino.judges.rag.words import Reading, read_sentence

_FIRST_WORD = re.compile(r"[^\W\d_]+")
_TERSE = 4
"""Content words up to which an answer to "who" or "when" may be the bare name or date."""


@dataclass(frozen=True, slots=True)
class _Draft:
    """A claim on the desk: which sentence it is, what it could rest on, and whether it is a bare yes or no."""

    sentence: int
    evidence: Evidence
    pair: Pair
    polarity: bool | None


@dataclass(frozen=True, slots=True)
class _Desk:
    """One case while it is labelled."""

    facts: RagFacts
    index: Index
    drafts: tuple[_Draft, ...]
    empty: tuple[int, ...]
    copies: dict[int, Copy]

    def is_copied(self, draft: _Draft) -> bool:
        copy = self.copies.get(draft.sentence)
        return copy is not None and copy.exact


_COPIED = Support("supported", 1.0, "copied from the passage")


def label_locally(batch: Sequence[RagFacts], model: SupportModel | None = None) -> list[RagLabels]:
    """Labels for a batch of cases; their claims go to the support model in one call, exact copies need none."""
    desks = [_lay_out(facts) for facts in batch]
    open_drafts = [draft for desk in desks for draft in desk.drafts if not desk.is_copied(draft)]
    answers = iter((model or LexicalSupport()).score([draft.pair for draft in open_drafts]))
    return [
        _label(desk, [_COPIED if desk.is_copied(draft) else next(answers) for draft in desk.drafts]) for desk in desks
    ]


def _lay_out(facts: RagFacts) -> _Desk:
    index = Index(facts)
    drafts: list[_Draft] = []
    empty: list[int] = []
    for number, reading in enumerate(facts.readings, 1):
        polarity = _yes_or_no(facts, number, reading)
        if not facts.open.claims or _is_empty(facts, number, reading, polarity):
            empty.append(number)
            continue
        drafts.append(_draft(facts, index, number, reading, polarity))
    copies = {copy.sentence: copy for copy in facts.copies} if facts.open.claims else {}
    return _Desk(facts, index, tuple(drafts), tuple(empty), copies)


def _draft(facts: RagFacts, index: Index, number: int, reading: Reading, polarity: bool | None) -> _Draft:
    claimed = reading if polarity is None else facts.question_reading
    weights = index.weigh_claim(claimed)
    evidence = index.find(weights)
    sentence = facts.sentences[number - 1].text
    pair = Pair(
        question=facts.case.question,
        claim=sentence if polarity is None else f"{facts.case.question} {sentence}",
        evidence=tuple(item.sentence.text for item in evidence.sentences),
        asked=facts.question_reading,
        claimed=claimed,
        found=tuple(item.reading for item in evidence.sentences),
        weights=weights,
        strangers=facts.strangers.get(number, ()),
    )
    return _Draft(number, evidence, pair, polarity)


def _label(desk: _Desk, supports: Sequence[Support]) -> RagLabels:
    facts = desk.facts
    claims = [_claim(desk, draft, support) for draft, support in zip(desk.drafts, supports, strict=True)]
    parts = question_parts(facts.case.question)
    declines = facts.refusal is not None and facts.refusal.whole
    answered = [not declines and _is_answered(desk, part) for part in parts]
    cited = {claim.passage for claim in claims}
    useful = {item.number: _is_useful(desk, item.number, item.number in cited) for item in facts.passages}
    grounded = any(claim.label == "supported" and useful[claim.passage] for claim in claims if claim.passage)
    held = [
        facts.has_context and ((done and grounded) or _is_held(desk, part))
        for part, done in zip(parts, answered, strict=True)
    ]
    similarity, why = _similarity(facts)
    return RagLabels(
        claims=claims,
        empty_sentences=list(desk.empty),
        parts=[Part(part=part.text, answered=done) for part, done in zip(parts, answered, strict=True)],
        direct=_directness(desk, any(answered)),
        passages=[PassageUse(passage=number, useful=helps) for number, helps in useful.items()],
        needs=[Need(need=part.text, held=there) for part, there in zip(parts, held, strict=True)],
        refusal=_refusal(facts, all(held)),
        similarity=similarity,
        similarity_why=why,
        uncertain=_uncertainty(facts),
    )


# --- claims ----------------------------------------------------------------------------------------


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


def _claim(desk: _Desk, draft: _Draft, support: Support) -> Claim:
    copy = desk.copies.get(draft.sentence)
    best = copy.source if copy is not None else draft.evidence.best
    label, why = support.label, support.why
    if copy is not None and not copy.exact:
        why = f"{why}; nearly a copy of the passage"
    if draft.polarity is not None and best is not None and label != "unsupported":
        denied = not best.reading.negated.isdisjoint(desk.facts.question_reading.stems)
        label = "supported" if denied != draft.polarity else "contradicted"
        why = "a bare yes or no, held against the sentence nearest to the question"
    quoted = best if label != "unsupported" else None
    return Claim(
        text=desk.facts.sentences[draft.sentence - 1].text,
        sentence=draft.sentence,
        label=label,
        critical=label == "contradicted" and _is_asked(desk, draft),
        passage=quoted.passage if quoted is not None else None,
        quote=quoted.sentence.text if quoted is not None else None,
        why=why,
    )


def _is_asked(desk: _Desk, draft: _Draft) -> bool:
    """A contradiction is critical when the sentence it is held against is what the question is about."""
    best = draft.evidence.best
    limit: float = table("local")["thresholds"]["asked"]
    return best is not None and coverage(desk.index.question_weights, (best.reading,)) >= limit


# --- question, passages, refusal -------------------------------------------------------------------


def _is_held(desk: _Desk, part: QuestionPart) -> bool:
    """Whether one place of the passages has the words of the part, and a value of the kind it asks for."""
    weights = desk.index.weigh(_read_part(desk.facts, part))
    limit: float = table("local")["thresholds"]["held"]
    sentences = desk.index.sentences
    for place, item in enumerate(sentences):
        window = [item.reading]
        if place + 1 < len(sentences) and sentences[place + 1].passage == item.passage:
            window.append(sentences[place + 1].reading)
        if coverage(weights, window) >= limit and any(_has_kind(reading, part) for reading in window):
            return True
    return False


def _has_kind(reading: Reading, part: QuestionPart) -> bool:
    if part.kind == "date":
        return bool(reading.values)
    if part.kind == "number":
        return bool(reading.values)
    return True


def _is_answered(desk: _Desk, part: QuestionPart) -> bool:
    """Whether the answer, read with the sentences it rests on, is about the part and of the kind it asks for."""
    facts = desk.facts
    if part.kind in ("date", "number") and not any(reading.values for reading in facts.readings):
        return False
    weights = desk.index.weigh(_read_part(facts, part))
    if not weights or any(draft.polarity is not None for draft in desk.drafts):
        return True
    readings = [*facts.readings, *(reading for draft in desk.drafts for reading in draft.pair.found[:1])]
    share = coverage(weights, readings)
    if part.kind is not None and (share > 0 or sum(len(item.content) for item in readings) <= _TERSE):
        return True
    limit: float = table("local")["thresholds"]["answered"]
    return share >= limit


def _read_part(facts: RagFacts, part: QuestionPart) -> Reading:
    return read_sentence(part.text, facts.question_language or facts.language)


def _directness(desk: _Desk, any_answered: bool) -> Directness:
    """Full when the first sentence that states anything is on topic, partly when a later one is."""
    if not any_answered:
        return "no"
    limit: float = table("local")["thresholds"]["on_topic"]
    weights = desk.index.question_weights
    if not desk.drafts or not weights:
        return "full"
    first = desk.drafts[0]
    readings = (desk.facts.readings[first.sentence - 1], *first.pair.found[:1])
    return "full" if first.polarity is not None or coverage(weights, readings) >= limit else "partly"


def _is_useful(desk: _Desk, number: int, rests_on_it: bool) -> bool:
    share = coverage(desk.index.question_weights, desk.index.by_passage.get(number, ()))
    limits = table("local")["thresholds"]
    return bool(share >= limits["useful"] or (rests_on_it and share >= limits["useful_as_evidence"]))


def _refusal(facts: RagFacts, all_held: bool) -> RefusalLabel | None:
    reading = facts.refusal
    if reading is None:
        return None
    right = not (facts.has_context and all_held)
    if reading.category == "safety":
        right = asks_for_harm(facts.case.question)
    return RefusalLabel(
        is_refusal=reading.whole,
        reason_stated=reading.reason is not None,
        category=reading.category,
        validity_shown=reading.validity is not None,
        right_to_refuse=right,
        why=_refusal_why(facts, reading, all_held),
    )


def _refusal_why(facts: RagFacts, reading: RefusalReading, all_held: bool) -> str:
    if not reading.meets_all:
        return "its wording shows nothing of the kind"
    if not facts.has_context:
        return "nothing was retrieved"
    return (
        "the passages hold the words of the question in one place"
        if all_held
        else "the passages do not hold what the question asks"
    )


def _similarity(facts: RagFacts) -> tuple[Similarity | None, str | None]:
    reference = facts.case.reference
    if reference is None or not facts.open.similarity:
        return None, None
    return place_on_scale(facts, reference)


def _uncertainty(facts: RagFacts) -> str | None:
    """Word matching was made for English; elsewhere, and across languages, it is said to be weaker."""
    guessed = (facts.question_language, facts.answer_language, facts.context_language)
    seen = [language for language in guessed if language is not None]
    distinct = list(dict.fromkeys(seen))
    if len(distinct) > 1:
        named = " and ".join(LANGUAGE_NAMES[lang] for lang in distinct)
        return f"labelled by word matching across {named}, which finds little in common."
    if distinct and distinct[0] != "en":
        return f"labelled by word matching, which was made for English; this is {LANGUAGE_NAMES[distinct[0]]}."
    return None
