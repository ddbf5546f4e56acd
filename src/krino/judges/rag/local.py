"""The embedded labeller: the same labels as a model gives, from the entailment model, values and words.

The model has little knowledge: a paraphrase far from the passages' words can look unsupported. Nothing here translates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from krino.judges.rag.embedded.evidence import Index, coverage
from krino.judges.rag.embedded.refusals import read_refusal
from krino.judges.rag.embedded.relevance import (
    CaseInProgress,
    ModelAnswers,
    answering_sentence,
    answers_part,
    claim_pairs,
    directness,
    held_in,
    holds_declined,
    joined_pairs,
    question_pairs,
    useful_sentences,
)
from krino.judges.rag.embedded.roles import Roles, read_roles
from krino.judges.rag.embedded.similarity import Likeness, compare_references
from krino.judges.rag.embedded.support import Draft, Support, deny, draft_claim, read_claims, weigh_claims
from krino.judges.rag.facts import PassageSentence, RagFacts
from krino.judges.rag.labels import Claim, Need, Part, PassageUse, RagLabels
from krino.judges.rag.reading.framing import Scope, Stated, find_retraction, find_stated, is_reported_belief
from krino.judges.rag.tables import table
from krino.text.forms import readable, same_text
from krino.text.language import READ_LANGUAGES, foreign_language, language_name, plain_language

if TYPE_CHECKING:
    from krino.models.entailment import Answered

_MOST_READ = 60
"""Words of a claim that the entailment model is sure to read: it sees 96 tokens."""
_SAMPLE = 300
"""Characters of each of the first passages from which the language of the context is detected."""


def label_locally(batch: Sequence[RagFacts], lenience: float = 0.0) -> list[RagLabels]:
    """Labels for a batch of cases; each model is asked in a few calls for all of them. `lenience`: for every claim."""
    in_progress = [lay_out(facts, roles) for facts, roles in zip(batch, read_roles(batch), strict=True)]
    drafts = [draft for current in in_progress for draft in current.drafts]
    of = [current.facts for current in in_progress for _ in current.drafts]
    copied = {  # a copy of a passage needs no model
        place
        for place, (facts, draft) in enumerate(zip(of, drafts, strict=True))
        if draft.sentence in facts.copies and not draft.denied
    }
    looks = iter(read_claims(drafts, copied))
    supports = [
        weigh_claims(current.facts, current.drafts, [next(looks) for _ in current.drafts], lenience)
        for current in in_progress
    ]
    supports = [_settle(current, found) for current, found in zip(in_progress, supports, strict=True)]
    model_answers = _ask_model({}, (pair for current in in_progress for pair in question_pairs(current)))
    model_answers = _ask_model(
        model_answers, (pair for current in in_progress for pair in joined_pairs(current, model_answers))
    )
    against = [_contradicted(current, found) for current, found in zip(in_progress, supports, strict=True)]
    asked = (
        pair for current, places in zip(in_progress, against, strict=True) for pair in claim_pairs(current, places)
    )
    model_answers = _ask_model(model_answers, asked)
    likenesses = compare_references(batch)
    return [_label(*case, model_answers) for case in zip(in_progress, supports, likenesses, strict=True)]


def _ask_model(model_answers: ModelAnswers, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Answered]:
    """Returns all answers so far with those of the model to new pairs."""
    from krino.models.entailment import answers

    asked = [pair for pair in dict.fromkeys(pairs) if pair not in model_answers]
    return {**model_answers, **dict(zip(asked, answers(asked), strict=True))}


# --- what the answer claims ------------------------------------------------------------------------


def lay_out(facts: RagFacts, roles: Roles) -> CaseInProgress:
    """The sentences that claim something, each with the windows of the passages that it could rest on."""
    index = Index(facts)
    if not facts.open.claims:
        return CaseInProgress(facts, index, roles, ())
    framed = _find_frames(facts)
    denied, denying = _find_denied(facts, framed)
    roles = roles.with_claims((roles.claims | framed.keys()) - (denying - framed.keys()))
    drafts = (
        deny(draft) if number in denied and not after else draft
        for number in sorted(roles.claims)
        for text, after in _texts(facts, number, framed.get(number))
        for draft in (draft_claim(facts, index, number, text, _above(facts, number)),)
    )
    return CaseInProgress(facts, index, roles, tuple(drafts))


def _texts(facts: RagFacts, number: int, framed: Stated | None) -> Iterator[tuple[str, bool]]:
    """What a sentence claims, each text with whether it follows a frame that does not reach it."""
    if framed is None:
        yield from ((text, False) for text in _cut_long(facts.sentences[number - 1].text))
        return
    yield from ((text, False) for text in _cut_long(framed.text))
    yield from ((text, True) for text in _cut_long(framed.rest))


def _cut_long(claim: str) -> Iterator[str]:
    """A claim of more words than the entailment model reads, in pieces that end at a comma, a semicolon or a dash."""
    words = claim.split()
    if len(words) <= _MOST_READ:
        yield from filter(None, (claim,))
        return
    piece: list[str] = []
    for word in words:
        piece.append(word)
        if len(piece) >= _MOST_READ or (word[-1] in ",;:–—" and len(piece) >= _MOST_READ // 4):
            yield " ".join(piece).rstrip(",;:–— ")
            piece = []
    yield from filter(None, (" ".join(piece),))


def _above(facts: RagFacts, number: int) -> str:
    """What a sentence is read with: the heading and lead-in of its list, or the question of a bare yes or no."""
    return facts.case.question if facts.is_bare_answer(number) else facts.units[number - 1].above


def _find_frames(facts: RagFacts) -> dict[int, Stated]:
    """By sentence the statement inside its frame; a sentence of the passages is no frame, nor is the question."""
    framed: dict[int, Stated] = {}
    for number, sentence in enumerate(facts.sentences, 1):
        if number in facts.copies or same_text(sentence.text, facts.case.question):
            continue
        stated = find_stated(sentence.text, facts.language, facts.matter, answered=facts.is_answered(number))
        if stated is not None:
            framed[number] = stated
    return framed


def _find_denied(facts: RagFacts, framed: dict[int, Stated]) -> tuple[set[int], set[int]]:
    """The sentences that the answer calls false, and those that only say so of others.

    Not what it gives as a mere belief, nor what it retells from a passage.
    """
    denied = {number for number, stated in framed.items() if stated.denied}
    denying: set[int] = set()
    for number, sentence in enumerate(facts.sentences, 1):
        scope = find_retraction(sentence.text, facts.language, facts.matter)
        if scope is None or number in facts.copies or (number == 1 and scope != "after"):
            continue
        if scope == "before" and is_reported_belief(facts.sentences[number - 2].text, facts.language):
            continue
        denying.add(number)
        denied |= set(_reach(number, scope, len(facts.sentences)))
    return denied, denying


def _reach(number: int, scope: Scope, last: int) -> range:
    """The sentences that one at this place takes back."""
    if scope == "after":
        return range(number + 1, last + 1)
    return range(1 if scope == "all_before" else number - 1, number)


def _settle(current: CaseInProgress, supports: Sequence[Support]) -> list[Support]:
    """What needs no model: a copy of a passage, or a sentence in another language than the passages."""
    return [_adjust_support(current, draft, support) for draft, support in zip(current.drafts, supports, strict=True)]


def _adjust_support(current: CaseInProgress, draft: Draft, support: Support) -> Support:
    """Returns the support of a claim, unless it is copied from a passage or in a language the passages are not in."""
    figures = table("local")["decided"]
    if draft.sentence in current.facts.copies and not draft.denied:
        return Support("supported", figures["copied"], "copied from the passage", support.window)
    language = plain_language(draft.text)
    context = plain_language(_sample(current.facts)) if language is not None else None
    if language is None or context is None or context == language:
        return support
    why = f"it is in {language_name(language)} and the passages are not: this labeller cannot compare the two"
    return Support("unsupported", figures["foreign"], why, None)


# --- the labels ------------------------------------------------------------------------------------


def _label(
    current: CaseInProgress, supports: Sequence[Support], likeness: Likeness | None, model_answers: ModelAnswers
) -> RagLabels:
    """Puts the labels of a case together."""
    facts = current.facts
    declined = read_refusal(current, model_answers)
    answered = [None if declined.whole else answering_sentence(current, part, model_answers) for part in current.parts]
    useful = useful_sentences(current, model_answers)
    held = [
        None
        if declined.whole and not holds_declined(current, part, model_answers)
        else held_in(current, part, model_answers)
        for part in current.parts
    ]
    claims = [
        _make_claim(current, draft, found, model_answers) for draft, found in zip(current.drafts, supports, strict=True)
    ]
    if any(not facts.is_bare_answer(claim.sentence) for claim in claims):
        # A yes or no that nothing settles adds nothing to a statement that answers.
        claims = [item for item in claims if item.label != "unsupported" or not facts.is_bare_answer(item.sentence)]
    claiming = {claim.sentence for claim in claims}
    declining = min(current.roles.refusals, default=None)
    return RagLabels(
        unreadable=None,
        claims=claims,
        empty_sentences=[number for number in range(1, len(facts.sentences) + 1) if number not in claiming],
        parts=[
            Part(part=part.text, sentence=declining if place is None else place, answered=place is not None)
            for part, place in zip(current.parts, answered, strict=True)
        ],
        direct=directness(current, {place for place in answered if place is not None}, useful),
        passages=[PassageUse(passage=number, useful_sentences=numbers) for number, numbers in useful.items()],
        needs=[
            Need(need=part.text, passage=place, held=place is not None)
            for part, place in zip(current.parts, held, strict=True)
        ],
        refusal=declined.label,
        similarity_why=likeness.why if likeness else None,
        similarity=likeness.step if likeness else None,
        similarity_score=likeness.score if likeness else None,
        uncertain=_uncertainty(facts),
        measured=True,
    )


def _make_claim(current: CaseInProgress, draft: Draft, support: Support, model_answers: ModelAnswers) -> Claim:
    """Makes the claim of a draft with the label that `support` decided and the quotation it rests on.

    The model's answers decide whether a contradiction is critical.
    """
    copy = current.facts.copies.get(draft.sentence)
    window = support.window if support.label != "unsupported" else None
    quoted = copy if copy is not None else _quoted(draft, support) if window is not None else None
    return Claim(
        text=draft.text,
        sentence=draft.sentence,
        passage=quoted.passage if quoted is not None else None,
        quote=quoted.sentence.text if quoted is not None else None,
        why=support.why,
        label=support.label,
        critical=support.label == "contradicted" and _is_asked(current, draft, model_answers),
        probability=None if support.score is None else round(support.score, 3),
    )


def _quoted(draft: Draft, support: Support) -> PassageSentence | None:
    """The sentence of the deciding window that has most of the claim."""
    if support.window is None:
        return draft.best
    return max(support.window.sentences, key=lambda item: coverage(draft.weights, (item.reading,)))


def _contradicted(current: CaseInProgress, supports: Sequence[Support]) -> set[int]:
    return {
        draft.sentence for draft, found in zip(current.drafts, supports, strict=True) if found.label == "contradicted"
    }


def _is_asked(current: CaseInProgress, draft: Draft, model_answers: ModelAnswers) -> bool:
    """A contradiction is critical when the claim is what answers the question, by the model."""
    return any(answers_part(model_answers, draft.hypothesis, part.asked, "critical") for part in current.parts)


# --- language --------------------------------------------------------------------------------------


def _sample(facts: RagFacts) -> str:
    return " ".join(item.text[:_SAMPLE] for item in facts.passages[:4])


def unreadable(facts: RagFacts) -> str | None:
    """Why this labeller cannot read a case: a text of it is surely in a language that it does not know."""
    case = facts.case
    if case.history:
        return (
            "the question is the last of a conversation, and the embedded labeller reads a question by itself. A model "
            "reads it with what was said before: name one with --labeller"
        )
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
    distinct = list(dict.fromkeys(language for language in guessed if language is not None))
    if len(distinct) > 1:
        named = " and ".join(language_name(lang) for lang in distinct)
        return f"labelled across {named}, where words and meanings find little in common."
    if distinct and distinct[0] != "en":
        named = language_name(distinct[0])
        return f"labelled in {named}, which the entailment model was trained on less and the sentence model not at all."
    return None
