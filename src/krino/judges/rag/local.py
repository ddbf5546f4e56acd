"""The embedded labeller: the same labels as a model gives, from words, values, negations and two small models.

One tells near texts from far ones, one whether sentences support a claim. They have little knowledge: a paraphrase far
from the passages' words can look unsupported. The support decision sits behind a seam (`SupportModel`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Claim, Need, Part, PassageUse, RagLabels, RefusalLabel
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.refusals import RefusalReading, asks_for_harm
from krino.judges.rag.support.draft_claims import Desk, Draft, lay_out
from krino.judges.rag.support.entailment_support import EntailedSupport
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.support.lexical_support import Support, SupportModel
from krino.judges.rag.support.nearness import TextPair, measure, place_on_scale, reference_pair
from krino.judges.rag.support.relevance import directness, is_answered, is_held, is_useful, open_pairs
from krino.judges.rag.tables import table
from krino.text.language import LANGUAGE_NAMES


def label_locally(batch: Sequence[RagFacts], model: SupportModel | None = None) -> list[RagLabels]:
    """Labels for a batch of cases; their claims go to the support model in one call, exact copies need none."""
    desks = [lay_out(facts) for facts in batch]
    open_drafts = [draft for desk in desks for draft in desk.drafts if not desk.is_copied(draft)]
    answers = iter((model or EntailedSupport()).score([draft.pair for draft in open_drafts]))
    near = measure(pair for desk in desks for pair in _pairs(desk))
    return [
        _label(desk, [_copied() if desk.is_copied(draft) else next(answers) for draft in desk.drafts], near)
        for desk in desks
    ]


def _copied() -> Support:
    return Support("supported", table("local")["calibration"]["copied"], "copied from the passage")


def _pairs(desk: Desk) -> list[TextPair]:
    return [*open_pairs(desk, question_parts(desk.facts.case.question)), *reference_pair(desk.facts)]


def _label(desk: Desk, supports: Sequence[Support], near: Mapping[TextPair, float]) -> RagLabels:
    facts = desk.facts
    claims = [_claim(desk, draft, support) for draft, support in zip(desk.drafts, supports, strict=True)]
    parts = question_parts(facts.case.question)
    declines = facts.refusal is not None and facts.refusal.whole
    answered = [not declines and is_answered(desk, part, near) for part in parts]
    cited = {claim.passage for claim in claims}
    useful = {item.number: is_useful(desk, item.number, item.number in cited, near) for item in facts.passages}
    # A claim that is contradicted shows as well that the passages speak of the matter: what the answer makes of it
    # must not change what was retrieved.
    grounded = any(claim.label != "unsupported" and useful[claim.passage] for claim in claims if claim.passage)
    held = [
        facts.has_context and ((done and grounded) or is_held(desk, part))
        for part, done in zip(parts, answered, strict=True)
    ]
    likeness = place_on_scale(facts, near)
    return RagLabels(
        claims=claims,
        empty_sentences=list(desk.empty),
        parts=[Part(part=part.text, answered=done) for part, done in zip(parts, answered, strict=True)],
        direct=directness(desk, any(answered)),
        passages=[PassageUse(passage=number, useful=helps) for number, helps in useful.items()],
        needs=[Need(need=part.text, held=there) for part, there in zip(parts, held, strict=True)],
        refusal=_refusal(facts, all(held)),
        similarity=likeness.step if likeness else None,
        similarity_why=likeness.why if likeness else None,
        similarity_score=likeness.score if likeness else None,
        uncertain=_uncertainty(facts),
    )


# --- claims ----------------------------------------------------------------------------------------


def _claim(desk: Desk, draft: Draft, support: Support) -> Claim:
    copy = desk.copies.get(draft.sentence)
    best = copy.source if copy is not None else draft.evidence.best
    label, why = support.label, support.why
    probability: float | None = round(support.score, 3)
    if copy is not None and not copy.exact:
        why = f"{why}; nearly a copy of the passage"
    if draft.polarity is not None and best is not None:
        why, probability = "a bare yes or no, held against the sentence nearest to the question", None
        label = "unsupported" if draft.denied is None else "supported"
        if draft.denied is not None and draft.denied == draft.polarity:
            label = "contradicted"
    quoted = best if label != "unsupported" else None
    return Claim(
        text=desk.facts.sentences[draft.sentence - 1].text,
        sentence=draft.sentence,
        label=label,
        critical=label == "contradicted" and _is_asked(desk, draft),
        passage=quoted.passage if quoted is not None else None,
        quote=quoted.sentence.text if quoted is not None else None,
        why=why,
        probability=probability,
    )


def _is_asked(desk: Desk, draft: Draft) -> bool:
    """A contradiction is critical when the sentence it is held against is what the question is about."""
    best = draft.evidence.best
    limit: float = table("local")["thresholds"]["asked"]
    return best is not None and coverage(desk.index.question_weights, (best.reading,)) >= limit


# --- refusal and language ---------------------------------------------------------------------------


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


def _uncertainty(facts: RagFacts) -> str | None:
    """The labeller was made for English; elsewhere, and across languages, it says that it is weaker."""
    guessed = (facts.question_language, facts.answer_language, facts.context_language)
    seen = [language for language in guessed if language is not None]
    distinct = list(dict.fromkeys(seen))
    if len(distinct) > 1:
        named = " and ".join(LANGUAGE_NAMES[lang] for lang in distinct)
        return f"labelled across {named}, where words and meanings find little in common."
    if distinct and distinct[0] != "en":
        return f"labelled by word matching, which was made for English; this is {LANGUAGE_NAMES[distinct[0]]}."
    return None
