"""What labels of one RAG case can hold: numbers of sentences and passages, lengths, and quotations to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from krino.contract.bounds import EMPTY, NULL, Bound
from krino.judges.rag.facts import NumberedPassage, RagFacts
from krino.judges.rag.reading.sentences import split_sentences
from krino.text.quoting import says_too_little

_CLAIMS_A_SENTENCE = 4
_LISTED = 8  # parts of a question, or needs
_WHY, _CLAIM, _QUOTE, _NAMED = Bound.text(160), Bound.text(300), Bound.text(400), Bound(least=2, most=80)
_MOST_QUOTES, _LONGEST_QUOTE = 20, 300
_LABELS = ("supported", "contradicted", "unsupported")


def bounds_of(facts: RagFacts, *, exact: bool) -> Bound:
    asked = facts.open
    shape = _shape(
        len(facts.sentences) if asked.claims else 0,
        tuple(item.number for item in facts.passages) if asked.context else (),
        asked.answer,
        facts.refusal is not None,
        asked.similarity,
        exact,
    )
    if not (exact and asked.claims):
        return shape
    declined = facts.refusal.sentences if facts.refusal is not None else ()
    mixed = facts.refusal.mixed if facts.refusal is not None else ()
    empty = [number for number in declined if number not in mixed]
    claims = Bound.each(_claim(facts, number) for number in range(1, len(facts.sentences) + 1) if number not in empty)
    fixed = {"claims": claims, "empty_sentences": Bound.each(map(Bound.only, empty))}
    return Bound(fields=tuple((name, fixed.get(name, bound)) for name, bound in shape.fields))


@lru_cache(maxsize=1_024)
def _shape(
    sentences: int, passages: tuple[int, ...], answer: bool, reads_like_refusal: bool, similarity: bool, exact: bool
) -> Bound:
    """What depends on the shape of the case alone: the same object for cases that are alike."""
    number = Bound.one_of(range(1, sentences + 1))
    source = Bound.one_of((*passages, None))
    claim = Bound.holding(text=_CLAIM, sentence=number, passage=source, quote=_QUOTE, why=_WHY)
    uses = [Bound.holding(passage=Bound.only(passage)) for passage in passages]
    named = Bound.many(Bound.holding(part=_NAMED), least=1, most=_LISTED)
    needs = Bound.many(Bound.holding(need=_NAMED), least=1, most=_LISTED)
    return Bound.holding(
        claims=Bound.many(claim, most=_CLAIMS_A_SENTENCE * sentences) if sentences else EMPTY,
        empty_sentences=Bound.many(number, most=sentences) if sentences else EMPTY,
        parts=named if answer else EMPTY,
        passages=Bound.each(uses) if passages else EMPTY,
        needs=needs if passages else EMPTY,
        refusal=Bound.holding(why=_WHY) if answer and (reads_like_refusal or not exact) else NULL,
        similarity=Bound.one_of(("same", "close", "partial", "little", "none")) if similarity else NULL,
        similarity_why=_WHY if similarity else NULL,
        uncertain=_WHY,
    )


def _claim(facts: RagFacts, number: int) -> Bound:
    """One claim for the sentence as it stands: with a quotation from a passage, or without any support."""
    said = {"text": Bound.only(facts.sentences[number - 1].text), "sentence": Bound.only(number), "why": _WHY}
    kinds = [
        Bound.holding(
            **said,
            label=Bound.one_of(_LABELS[:2]),
            critical=Bound.only(False),
            passage=Bound.only(item.number),
            quote=Bound.one_of(quotes),
        )
        for item in facts.passages
        if (quotes := list(_quotes(item)))
    ]
    unsupported = Bound.holding(
        **said, label=Bound.only("unsupported"), critical=Bound.only(False), passage=NULL, quote=NULL
    )
    return Bound.either(*kinds, unsupported)


def _quotes(item: NumberedPassage) -> Iterator[str]:
    for sentence in split_sentences(item.text)[:_MOST_QUOTES]:
        if len(sentence.text) <= _LONGEST_QUOTE and not says_too_little(sentence.text, item.text):
            yield sentence.text
