"""The embedded labeller: the same labels as a model gives, from words, values, negations and two small models.

One tells whether a text supports a claim, answers a question or says the same as another, one how near two texts are.
They have little knowledge: a paraphrase far from the passages' words can look unsupported. The support decision sits
behind a seam (`SupportModel`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Claim, ClaimLabel, Need, Part, PassageUse, RagLabels, RefusalLabel
from krino.judges.rag.reading.framing import is_reported_belief
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.refusals import RefusalReading, asks_for_harm, is_warning
from krino.judges.rag.risk import at_level_of_answer
from krino.judges.rag.support.draft_claims import Desk, Draft, lay_out
from krino.judges.rag.support.entailment_support import EntailedSupport
from krino.judges.rag.support.lexical_support import Support, SupportModel, decide
from krino.judges.rag.support.nearness import TextPair, measure, place_on_scale, reference_pair
from krino.judges.rag.support.relevance import (
    Heard,
    answering_sentence,
    asked_of,
    asked_together,
    declines_all,
    directness,
    held_in,
    holds_declined,
    several_hold,
    several_named,
    useful_sentences,
)
from krino.judges.rag.support.talk import without_talk
from krino.judges.rag.tables import table
from krino.text.language import READ_LANGUAGES, foreign_language, language_name, plain_language
from krino.text.letters import readable

if TYPE_CHECKING:
    from krino.models.entailment import Answered

_SAMPLE = 300
"""Characters of each of the first passages by which the language of the context is told."""


def label_locally(batch: Sequence[RagFacts], model: SupportModel | None = None) -> list[RagLabels]:
    """Labels for a batch of cases; what copies or code settle needs no model, all other claims go to it in one call."""
    desks = without_talk([lay_out(facts) for facts in batch])
    settled = [[_settle(desk, draft) for draft in desk.drafts] for desk in desks]
    left = [
        draft.pair
        for desk, decided in zip(desks, settled, strict=True)
        for draft, support in zip(desk.drafts, decided, strict=True)
        if support is None
    ]
    answers = iter((model or EntailedSupport()).score(left))
    claims = [
        at_level_of_answer(
            desk.facts,
            [
                _claim(desk, draft, next(answers) if support is None else support)
                for draft, support in zip(desk.drafts, decided, strict=True)
            ],
            [support is not None and support.label != "supported" for support in decided],
        )
        for desk, decided in zip(desks, settled, strict=True)
    ]
    heard = _hear(pair for desk in desks for pair in asked_of(desk))
    heard |= _hear(pair for desk in desks for pair in asked_together(desk, heard))
    near = measure(pair for desk in desks for pair in reference_pair(desk.facts))
    return [_label(*case, heard, near) for case in zip(desks, claims, strict=True)]


def _hear(pairs: Iterable[TextPair]) -> dict[TextPair, Answered]:
    from krino.models.entailment import answers

    asked = list(dict.fromkeys(pairs))
    return dict(zip(asked, answers(asked), strict=True))


def _settle(desk: Desk, draft: Draft) -> Support | None:
    """What needs no model: a copy, a conflict that code finds, a sentence in another language than the passages."""
    if desk.is_copied(draft):
        return Support("supported", table("local")["calibration"]["copied"], "copied from the passage")
    if (language := _foreign(desk.facts, draft.text)) is not None:
        why = f"it is in {language_name(language)} and the passages are not: this labeller cannot compare the two"
        return Support("unsupported", table("local")["calibration"]["foreign"], why)
    return decide(draft.pair)


def _foreign(facts: RagFacts, text: str) -> str | None:
    """The language of a sentence that is surely another than that of the passages."""
    language = plain_language(text)
    context = plain_language(_sample(facts)) if language is not None else None
    return language if context is not None and context != language else None


def _label(desk: Desk, claims: list[Claim], heard: Heard, near: Mapping[TextPair, float]) -> RagLabels:
    facts = desk.facts
    parts = question_parts(facts.case.question)
    declined = declines_all(facts, heard)
    answered = [None if declined else answering_sentence(desk, part, heard) for part in parts]
    useful = useful_sentences(desk, heard)
    held = [
        None if declined and not holds_declined(desk, part, heard) else held_in(desk, part, heard) for part in parts
    ]
    likeness = place_on_scale(facts, near)
    return RagLabels(
        unreadable=None,
        claims=claims,
        empty_sentences=list(desk.empty),
        parts=[
            Part(part=part.text, sentence=place, answered=place is not None)
            for part, place in zip(parts, answered, strict=True)
        ],
        direct=directness(desk, {place for place in answered if place is not None}, useful),
        passages=[PassageUse(passage=number, useful_sentences=numbers) for number, numbers in useful.items()],
        needs=[
            Need(need=part.text, passage=place, held=place is not None) for part, place in zip(parts, held, strict=True)
        ],
        refusal=_refusal(desk, declined, all(place is not None for place in held)),
        similarity_why=likeness.why if likeness else None,
        similarity=likeness.step if likeness else None,
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
    if draft.polarity is not None:
        label, why, probability = _yes_or_no(desk, draft, support)
    if draft.denied:
        label, why, probability = _denied(desk, draft, support)
    quoted = best if label != "unsupported" else None
    return Claim(
        text=draft.text,
        sentence=draft.sentence,
        passage=quoted.passage if quoted is not None else None,
        quote=quoted.sentence.text if quoted is not None else None,
        why=why,
        label=label,
        critical=label == "contradicted" and _is_asked(desk, draft),
        probability=probability,
    )


def _yes_or_no(desk: Desk, draft: Draft, support: Support) -> tuple[ClaimLabel, str, float | None]:
    """A yes is what it says; a no is right where that is contradicted, and wrong where it is supported.

    How likely a no is right was never measured, so no probability is told for it.
    """
    if draft.statement is None:
        return "unsupported", "a bare yes or no to a question that cannot be told as a statement", None
    says = "says" if draft.polarity else "denies"
    why = f'with the question it {says} "{draft.statement}": {support.why}'
    if draft.polarity:
        return support.label, why, round(support.score, 3)
    return _label_of_denial(desk, draft, support), why, None


def _denied(desk: Desk, draft: Draft, support: Support) -> tuple[ClaimLabel, str, float | None]:
    """A statement that the answer calls false or takes back; how likely that is right was never measured."""
    return _label_of_denial(desk, draft, support), f"the answer says that this is false; {support.why}", None


def _label_of_denial(desk: Desk, draft: Draft, support: Support) -> ClaimLabel:
    """A denial is right where the statement is contradicted, or where the passages give it as a mere belief."""
    best = draft.evidence.best
    if support.label == "supported" and best is not None and is_reported_belief(best.told, desk.facts.matter_language):
        return "supported"
    turned: dict[ClaimLabel, ClaimLabel] = {"supported": "contradicted", "contradicted": "supported"}
    return turned.get(support.label, "unsupported")


def _is_asked(desk: Desk, draft: Draft) -> bool:
    """A contradiction is critical when the sentence it is held against is what the question is about."""
    best = draft.evidence.best
    limit: float = table("local")["thresholds"]["asked"]
    return best is not None and desk.index.asked_share(best) >= limit


# --- refusal and language ---------------------------------------------------------------------------


def _refusal(desk: Desk, declined: bool, all_held: bool) -> RefusalLabel | None:
    facts = desk.facts
    reading = facts.refusal
    if reading is None:
        return None
    right = not (facts.has_context and all_held)
    if reading.category == "safety":
        right = asks_for_harm(facts.case.question) or _is_warned_of(desk)
    elif reading.category == "ambiguous" and all_held:
        parts = question_parts(facts.case.question)
        right = any(several_hold(desk, part) or several_named(desk, part) for part in parts)
    return RefusalLabel(
        why=_refusal_why(facts, reading, all_held, right),
        is_refusal=declined,
        reason_stated=reading.reason is not None,
        category=reading.category,
        validity_shown=reading.validity is not None,
        right_to_refuse=right,
    )


def _is_warned_of(desk: Desk) -> bool:
    """Whether the sentence of the passages that has most of the question is a warning."""
    nearest = max(desk.index.sentences, key=desk.index.asked_share, default=None)
    return nearest is not None and desk.index.asked_share(nearest) > 0 and is_warning(nearest.sentence.text)


def _refusal_why(facts: RagFacts, reading: RefusalReading, all_held: bool, right: bool) -> str:
    if not reading.meets_all:
        return "its wording shows nothing of the kind"
    if not facts.has_context:
        return "nothing was retrieved"
    if reading.category == "safety" and not right:
        return "its reason is one of safety, and nothing in question or passages speaks of harm"
    return "the passages hold what the question asks" if all_held else "the passages do not hold what the question asks"


def _sample(facts: RagFacts) -> str:
    return " ".join(item.text[:_SAMPLE] for item in facts.passages[:4])


def unreadable(facts: RagFacts) -> str | None:
    """Why this labeller cannot read a case: a text of it is surely in a language that it does not know."""
    case = facts.case
    context = _sample(facts)
    answer = readable(facts.answer)
    texts = {"question": case.question, "answer": answer, "context": context, "reference": case.reference or ""}
    for what, text in (*texts.items(), ("case", " ".join(texts.values()))):
        if (code := foreign_language(text)) is not None:
            known = ", ".join(map(language_name, READ_LANGUAGES))
            return (
                f"unsupported language: the {what} is in {language_name(code)}; the embedded labeller reads {known}. "
                "A model may read it: name one with --labeller"
            )
    return _across_languages(facts)


def _across_languages(facts: RagFacts) -> str | None:
    """Why answer and passages cannot be compared: both are plainly written, in two languages.

    Nothing in this labeller translates: of 32 lies in another language than the passage it called 17 supported.
    """
    answer, context = plain_language(readable(facts.answer)), plain_language(_sample(facts))
    if answer is None or context is None or answer == context:
        return None
    return (
        f"the answer is in {language_name(answer)} and the passages are in {language_name(context)}; the embedded "
        "labeller compares texts of one language. A model can compare these: name one with --labeller"
    )


def _uncertainty(facts: RagFacts) -> str | None:
    """The models know English best; elsewhere, and across languages, the labeller says that it is weaker."""
    guessed = (facts.question_language, facts.answer_language, facts.context_language)
    seen = [language for language in guessed if language is not None]
    distinct = list(dict.fromkeys(seen))
    if len(distinct) > 1:
        named = " and ".join(language_name(lang) for lang in distinct)
        return f"labelled across {named}, where words and meanings find little in common."
    if distinct and distinct[0] != "en":
        named = language_name(distinct[0])
        return f"labelled in {named}, of which the entailment model has read less and the sentence model nothing."
    return None
