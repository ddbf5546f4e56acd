"""What a labeller says about one RAG case, in one reply, and the checks that hold it against the case."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Literal, get_args

from pydantic import BaseModel, ConfigDict
from pydantic.json_schema import SkipJsonSchema

from krino.judges.copies import Copy, drop_copies, find_copies
from krino.judges.rag.facts import RagFacts, opens_with_yes_or_no
from krino.judges.rag.reading.quotations import proves_nothing
from krino.judges.rag.tables import table
from krino.text.clean import clean_name
from krino.text.forms import canonical_text, plain_letters
from krino.text.quoting import TOO_LITTLE, is_whole

ClaimLabel = Literal["supported", "unsupported", "contradicted"]
RefusalCategory = Literal["insufficient_context", "safety", "ambiguous", "out_of_scope"]
Directness = Literal["full", "partly", "no"]
Similarity = Literal["same", "close", "partial", "little", "none"]

AGREEING_STEPS: frozenset[Similarity] = frozenset({"same", "close"})
"""Steps that say that answer and reference agree on the point asked."""

_WORD = re.compile(r"\w+")
_FEW_CLAIMS = 4
"""Claims that even a bare word may make, together with the question."""


class _Strict(BaseModel):
    """No field may be left out and none added: what a reply does not say is never guessed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


# A model writes in the order of the fields: what a label rests on stands before the label.


class Claim(_Strict):
    text: str
    sentence: int
    passage: int | None
    quote: str | None
    why: str
    label: ClaimLabel
    critical: bool
    probability: SkipJsonSchema[float | None] = None
    """That people would call it supported, from labellers that measure; models are not asked for one."""


class Part(_Strict):
    part: str
    sentence: int | None
    """The answer sentence that answers or declines it."""
    answered: bool
    """False with a sentence: that sentence declines the part."""


class PassageUse(_Strict):
    passage: int
    useful_sentences: list[int]


class Need(_Strict):
    need: str
    passage: int | None
    """A passage that holds it."""
    held: bool


class RefusalLabel(_Strict):
    why: str
    is_refusal: bool
    reason_stated: bool
    category: RefusalCategory | None
    validity_shown: bool
    right_to_refuse: bool


class RagLabels(_Strict):
    """Numbers of sentences and passages count from 1, as they are shown."""

    unreadable: str | None
    """Why the case cannot be judged at all; then the judgement is `failed` and the rest is not looked at."""
    claims: list[Claim]
    empty_sentences: list[int]
    parts: list[Part]
    direct: Directness
    passages: list[PassageUse]
    needs: list[Need]
    refusal: RefusalLabel | None
    similarity_why: str | None
    similarity: Similarity | None
    uncertain: str | None
    similarity_score: SkipJsonSchema[float | None] = None
    """A finer measure within the step, from labellers that measure; models are not asked for one."""
    measured: SkipJsonSchema[bool] = False
    """Whether the probabilities are the labeller's own measure, so that a risk can be computed from them."""


# --- the similarity scale ---------------------------------------------------------------------------


@cache
def worth_of(step: Similarity) -> float:
    """Returns the score of a step of the similarity scale."""
    return float(table("scoring")["similarity"][step])


def step_of(score: float) -> Similarity:
    """Returns the step whose worth is nearest; midway, the higher one."""
    steps: tuple[Similarity, ...] = get_args(Similarity)
    return min(steps, key=lambda step: (round(abs(worth_of(step) - score), 9), -worth_of(step)))


# --- copies -----------------------------------------------------------------------------------------


def merge_copies(labels: RagLabels) -> tuple[RagLabels, list[str]]:
    """Returns the labels without copies that say nothing new, and the places of these copies.

    Copies of a claim, part, need or passage would outvote the others. Copies that contradict each other stay:
    `check_labels` refuses them.
    """
    merged: dict[str, list[Any]] = {}
    places: list[str] = []
    for field, copies in _find_copies(labels).items():
        if agreeing := [f"{field}[{copy.place}]" for copy in copies if copy.agrees]:
            merged[field] = drop_copies(getattr(labels, field), copies)
            places.extend(agreeing)
    return (labels.model_copy(update=merged) if merged else labels), places


def _find_copies(labels: RagLabels) -> dict[str, list[Copy]]:
    """Returns by field the labels that were given twice.

    They agree if what a score rests on is the same; evidence and reasons of a copy may differ.
    """
    return {
        "claims": find_copies(labels.claims, _claim_key, lambda claim: (claim.label, claim.critical)),
        "parts": find_copies(
            labels.parts,
            lambda part: _reduce_to_letters(part.part) or None,
            lambda part: (part.answered, part.sentence is None),
        ),
        "passages": find_copies(labels.passages, lambda use: use.passage, lambda use: set(use.useful_sentences)),
        "needs": find_copies(labels.needs, lambda need: _reduce_to_letters(need.need) or None, lambda need: need.held),
    }


def _claim_key(claim: Claim) -> tuple[int, str] | None:
    letters = _reduce_to_letters(claim.text)
    return (claim.sentence, letters) if letters else None


# --- the checks -------------------------------------------------------------------------------------


def answerable_refusal(facts: RagFacts, labels: RagLabels, refusal: RefusalLabel) -> bool:
    """Does a refusal plead a lack of context while the labels say that everything needed is there?"""
    return (
        refusal.category == "insufficient_context"
        and facts.has_context
        and bool(labels.needs)
        and all(item.held for item in labels.needs)
    )


def is_declined_rightly(facts: RagFacts, labels: RagLabels, part: Part) -> bool:
    """Is a part that is not answered declined by a sentence of the answer that meets the refusal criteria?"""
    refusal = labels.refusal
    if part.answered or part.sentence is None or refusal is None:
        return False
    met = refusal.reason_stated and refusal.category is not None and refusal.validity_shown
    return met and refusal.right_to_refuse and not answerable_refusal(facts, labels, refusal)


def check_labels(facts: RagFacts, labels: RagLabels) -> list[str]:
    """Returns everything that is wrong with the labels of a case; what was not asked is not looked at.

    Of labels that call the case unreadable, only that reason is checked.
    """
    if labels.unreadable is not None:
        if _says_nothing(labels.unreadable):
            return ["unreadable is empty or says nothing: say what cannot be read, or null"]
        return []
    problems: list[str] = []
    copies = _find_copies(labels)
    if labels.uncertain is not None and _is_placeholder(labels.uncertain):
        problems.append("uncertain is a text that stands for nothing: say why you could not judge well, or null")
    if facts.open.claims:
        problems.extend(_check_claims(facts, labels, copies))
        problems.extend(_check_cover(facts, labels))
        problems.extend(_check_statements(facts, labels))
    if facts.open.context:
        problems.extend(_check_passages(facts, labels, copies))
    problems.extend(_check_answer(facts, labels, copies))
    problems.extend(_check_similarity(facts, labels))
    return problems


def _check_copies(field: str, copies: Mapping[str, list[Copy]]) -> Iterator[str]:
    for copy in copies[field]:
        if not copy.agrees:
            yield f"{field}[{copy.place}] is {field}[{copy.first}] again with another label: list each once"


def _check_claims(facts: RagFacts, labels: RagLabels, copies: Mapping[str, list[Copy]]) -> Iterator[str]:
    """Yields what is wrong with the claims."""
    yield from _check_copies("claims", copies)
    for place, claim in enumerate(labels.claims):
        where = f"claims[{place}]"
        if _says_nothing(claim.text) and not _is_answered_so(facts, claim):
            yield f"{where}.text is empty or says nothing: write the claim out"
        if not 1 <= claim.sentence <= len(facts.sentences):
            yield f"{where}.sentence is {claim.sentence}: {_range('answer sentences', len(facts.sentences))}"
        if claim.critical and claim.label != "contradicted":
            yield f"{where}.critical is true but label is {claim.label}: only a contradicted claim can be critical"
        yield from _check_quote(facts, claim, where)
    for number, count in Counter(claim.sentence for claim in drop_copies(labels.claims, copies["claims"])).items():
        if 1 <= number <= len(facts.sentences) and count > _most_claims(facts.units[number - 1].sentence.text):
            yield f"sentence {number} has {count} claims, more than it has words: label what it states, once"


def _is_answered_so(facts: RagFacts, claim: Claim) -> bool:
    """Is the text of a claim what its sentence says? An answer may be nothing but "None." itself."""
    said = facts.sentences[claim.sentence - 1].text if 1 <= claim.sentence <= len(facts.sentences) else ""
    return (
        any(map(str.isalnum, claim.text)) and f" {_reduce_to_letters(claim.text)} " in f" {_reduce_to_letters(said)} "
    )


@lru_cache(maxsize=4_096)
def _reduce_to_letters(text: str) -> str:
    """Returns a text as it is compared: without signs, case, accents, and differences in how letters are drawn."""
    if text.isascii():
        return " ".join(_WORD.findall(canonical_text(clean_name(text))))
    plain = unicodedata.normalize("NFKD", plain_letters(clean_name(text)))
    return " ".join(_WORD.findall(canonical_text("".join(sign for sign in plain if not unicodedata.combining(sign)))))


def _says_nothing(text: str) -> bool:
    """Whether a text has no letter or digit that anybody sees, or stands for a field that was left open."""
    return not any(map(str.isalnum, clean_name(text))) or _is_placeholder(text)


def _is_placeholder(text: str) -> bool:
    """ "null", "N/A": how a model writes that it has nothing to say where the format wants null."""
    return _reduce_to_letters(text) in _placeholders()


@cache
def _placeholders() -> frozenset[str]:
    return frozenset(table("words")["placeholders"]["texts"])


def _most_claims(text: str) -> int:
    """A statement takes a word at least."""
    return max(_FEW_CLAIMS, len(text.split()))


def _check_quote(facts: RagFacts, claim: Claim, where: str) -> Iterator[str]:
    """Yields what is wrong with the quotation of one claim."""
    if claim.passage is not None and facts.passage(claim.passage) is None:
        yield f"{where}.passage is {claim.passage}: {_known_passages(facts)}"
        return
    if claim.label != "unsupported" and (claim.passage is None or not claim.quote):
        yield f"{where} is {claim.label}: it needs passage and quote, the words that decide it"
        return
    if not claim.quote:
        return
    place = facts.find_quote(claim.passage, claim.quote)
    if claim.passage is None:
        yield f"{where}.quote is given without passage: name the passage it is copied from"
    elif place is not None:
        yield from _check_evidence(facts, claim, place, where)
    else:
        elsewhere = [item.number for item in facts.passages if facts.find_quote(item.number, claim.quote)]
        hint = f"; it is in passage {elsewhere[0]}" if elsewhere else "; copy it letter by letter, without gaps"
        yield f"{where}.quote does not occur in passage {claim.passage}: {claim.quote[:120]!r}{hint}"


def _check_evidence(facts: RagFacts, claim: Claim, place: tuple[int, int], where: str) -> Iterator[str]:
    """Yields what is wrong with a quotation that its passage has: it says too little, or cuts a word or number."""
    passage = facts.passage(claim.passage)
    assert passage is not None
    if proves_nothing(claim.quote or "", passage.text):
        yield f"{where}.quote is {claim.quote!r}, which {TOO_LITTLE}"
    elif not is_whole(passage.text, *place):
        yield f"{where}.quote cuts a word or number of passage {claim.passage} in two: copy it whole"


def _check_cover(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
    """Yields sentences that are neither covered by claims nor listed as empty, or both."""
    count = len(facts.sentences)
    claimed = {claim.sentence for claim in labels.claims}
    empty = set(labels.empty_sentences)
    for number in sorted(empty):
        if not 1 <= number <= count:
            yield f"empty_sentences holds {number}: {_range('answer sentences', count)}"
    for number in sorted(claimed & empty):
        yield f"sentence {number} has claims and is in empty_sentences: it can be only one of the two"
    for number in range(1, count + 1):
        if number not in claimed and number not in empty:
            yield f"sentence {number} of the answer is not covered: label its claims or list it in empty_sentences"
        elif number in empty and number not in claimed and facts.states_number(number):
            yield f"sentence {number} is in empty_sentences but states a number: label its claims"


def _check_statements(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
    """Yields a problem if an answer that states something has no claim.

    It may have none if it declines, asks, or says nothing of the matter.
    """
    declined = labels.refusal is not None and labels.refusal.is_refusal and facts.may_decline
    if not labels.claims and not declined and (stating := facts.statements):
        shown = ", ".join(str(number) for number in sorted(stating)[:5])
        yield f"claims is empty, but sentence {shown} of the answer states something: label its claims"


def _check_passages(facts: RagFacts, labels: RagLabels, copies: Mapping[str, list[Copy]]) -> Iterator[str]:
    """Yields what is wrong with the labels of passages and needs."""
    known = {item.number: len(item.sentences) for item in facts.passages}
    labelled = [item.passage for item in drop_copies(labels.passages, copies["passages"])]
    if labelled != list(known):  # else each is labelled once, as most labellers do, and in order
        for number in sorted(set(labelled) - known.keys()):
            yield f"passages names passage {number}, which does not exist"
        for number in sorted(known):
            if labelled.count(number) != 1:
                yield f"passages must label passage {number} exactly once, not {labelled.count(number)} times"
    for use in labels.passages:
        count = known.get(use.passage, 0)
        for number in sorted(set(use.useful_sentences).difference(range(1, count + 1))) if count else ():
            yield f"useful_sentences of passage {use.passage} holds {number}: {_range('sentences', count)}"
    if not labels.needs:
        yield "needs is empty: list what the question needs to know, and whether the passages hold it"
    yield from _check_copies("needs", copies)
    yield from _check_texts("needs", [need.need for need in labels.needs])
    for place, need in enumerate(labels.needs):
        if need.passage is not None and need.passage not in known:
            yield f"needs[{place}].passage is {need.passage}: {_known_passages(facts)}"
        elif need.held and need.passage is None:
            yield f"needs[{place}] is held: name a passage that holds it"


def _check_texts(field: str, texts: Sequence[str]) -> Iterator[str]:
    """Each part and need says what it is."""
    for place, text in enumerate(texts):
        if _says_nothing(text):
            yield f"{field}[{place}] is empty or says nothing: say what is asked or needed"


def _check_answer(facts: RagFacts, labels: RagLabels, copies: Mapping[str, list[Copy]]) -> Iterator[str]:
    """Yields what is wrong with the labels of the answer: its parts and its refusal."""
    if not labels.parts:
        yield "parts is empty: list the parts of the question (one at least), each answered or not"
    yield from _check_copies("parts", copies)
    yield from _check_texts("parts", [part.part for part in labels.parts])
    empty = set(labels.empty_sentences) if facts.open.claims else set()
    for place, part in enumerate(labels.parts):
        if part.sentence is not None and not 1 <= part.sentence <= len(facts.sentences):
            yield f"parts[{place}].sentence is {part.sentence}: {_range('answer sentences', len(facts.sentences))}"
        elif part.answered and part.sentence is None:
            yield f"parts[{place}] is answered: name the answer sentence that does so"
        elif part.answered and part.sentence in empty and _is_fully_said(facts, part.sentence):
            yield (
                f"parts[{place}] is answered by sentence {part.sentence}, which is in empty_sentences as if it stated "
                "nothing: label its claims"
            )
    refusal = labels.refusal
    if refusal is None:
        return
    if refusal.is_refusal and not facts.may_decline:
        yield "refusal.is_refusal is true, but no sentence of the answer declines or asks back: correct it"
    if refusal.is_refusal and refusal.right_to_refuse and answerable_refusal(facts, labels, refusal):
        yield (
            "refusal.right_to_refuse is true for insufficient_context, but every need is held: "
            "correct the one or the other"
        )


def _check_similarity(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
    """Yields what is wrong with the labels of similarity."""
    if facts.case.reference is None and labels.similarity is not None:
        yield "similarity must be null: this case has no reference answer"
    if facts.open.similarity and labels.similarity is None:
        yield "similarity is null, but there is a reference answer: choose a step of the scale"
    finer = labels.similarity_score
    if finer is not None and (labels.similarity is None or step_of(finer) != labels.similarity):
        yield f"similarity_score is {finer}, which is not of the step {labels.similarity}: leave it out"


def _is_fully_said(facts: RagFacts, number: int) -> bool:
    """Whether a sentence states something by itself, which a bare yes or no does not."""
    return number in facts.statements and not opens_with_yes_or_no(facts.sentences[number - 1].text)


def _known_passages(facts: RagFacts) -> str:
    return f"the passages are {', '.join(str(item.number) for item in facts.passages[:20])}"


def _range(what: str, count: int) -> str:
    return f"the {what} are 1 to {count}"
