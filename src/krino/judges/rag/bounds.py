"""What labels of one RAG case can hold: numbers of sentences and passages, lengths, and quotations to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import get_args

from krino.contract.bounds import EMPTY, NULL, Bound
from krino.judges.rag.facts import NumberedPassage, RagFacts
from krino.judges.rag.labels import Similarity
from krino.text.quoting import says_too_little

_CLAIMS_A_SENTENCE = 3
_LISTED = 6  # parts of a question, or needs
_WHY, _CLAIM, _QUOTE, _NAMED = Bound.text(160), Bound.text(300), Bound.text(400), Bound(least=2, most=80)
_MOST_QUOTES, _LONGEST_QUOTE = 20, 300
# Where everything is bound exactly, a small model writes: as little as can be.
_FEW, _SHORT, _BRIEF = 2, Bound.text(60), Bound(least=2, most=40)
_STEP = Bound.one_of(get_args(Similarity))
_NO, _YES = Bound.only(False), Bound.only(True)


def bounds_of(facts: RagFacts, exact: bool) -> Bound:
    """Returns what the labels may hold.

    Loose bounds are the same object for cases of the same shape; exact ones are made for this case.
    """
    asked = facts.open
    sentences = len(facts.sentences)
    passages = tuple((item.number, len(item.sentences)) for item in facts.passages) if asked.context else ()
    declines = facts.may_decline
    shape = _bound_shape(sentences, asked.claims, passages, declines, asked.similarity, exact)
    if not (exact and asked.claims):
        return shape
    empty = _without_claims(facts)
    stated = sorted(set(range(1, len(facts.sentences) + 1)).difference(empty))
    claims = [_bound_claim(facts, number) for number in stated]
    fixed = {"claims": Bound.each(claims), "empty_sentences": Bound.each(map(Bound.only, empty))}
    return Bound(fields=tuple((name, fixed.get(name, bound)) for name, bound in shape.fields))


@lru_cache(maxsize=1_024)
def _bound_shape(
    sentences: int,
    claims: bool,
    passages: tuple[tuple[int, int], ...],
    declines: bool,
    similarity: bool,
    exact: bool,
) -> Bound:
    """Returns the bound for cases of this shape, which many cases share."""
    shown = tuple(passage for passage, _ in passages)
    uses = [_use(passage, count) for passage, count in passages]
    return Bound.holding(
        unreadable=NULL if exact else _WHY,
        claims=_claims(sentences, shown) if claims else EMPTY,
        empty_sentences=_numbers(sentences) if claims else EMPTY,
        parts=_bound_list("part", "sentence", "answered", tuple(range(1, sentences + 1)), exact),
        passages=Bound.each(uses),
        needs=_bound_list("need", "passage", "held", shown, exact) if passages else EMPTY,
        refusal=_refusal(exact) if declines or not exact else NULL,
        similarity_why=(_SHORT if exact else _WHY) if similarity else NULL,
        similarity=_STEP if similarity else NULL,
        uncertain=NULL if exact else _WHY,
    )


# Parts that come back in cases of other shapes are the same object there: what is made of them is made once.


@lru_cache(maxsize=1_024)
def _claims(sentences: int, passages: tuple[int, ...]) -> Bound:
    number, source = Bound.one_of(range(1, sentences + 1)), Bound.one_of((*passages, None))
    claim = Bound.holding(text=_CLAIM, sentence=number, passage=source, quote=_QUOTE, why=_WHY)
    return Bound.many(claim, most=_CLAIMS_A_SENTENCE * sentences + 4)


@lru_cache(maxsize=4_096)
def _use(passage: int, sentences: int) -> Bound:
    return Bound.holding(passage=Bound.only(passage), useful_sentences=_numbers(sentences))


@cache
def _refusal(exact: bool) -> Bound:
    return Bound.holding(why=_SHORT if exact else _WHY)


@lru_cache(maxsize=1_024)
def _numbers(count: int) -> Bound:
    return Bound.many(Bound.one_of(range(1, count + 1)), most=count)


@lru_cache(maxsize=1_024)
def _bound_list(name: str, place: str, said: str, places: tuple[int, ...], exact: bool) -> Bound:
    """Returns the bound of the parts of the question, or of the needs: a name, where it is met, and whether it is."""
    if not exact:
        item = Bound(fields=((name, _NAMED), (place, Bound.one_of((*places, None)))))
        return Bound.many(item, least=1, most=_LISTED)
    met = Bound(fields=((name, _BRIEF), (place, Bound.one_of(places)), (said, _YES)))
    missed = Bound(fields=((name, _BRIEF), (place, NULL), (said, _NO)))
    return Bound.many(Bound.either(met, missed), least=1, most=_FEW)


def _without_claims(facts: RagFacts) -> list[int]:
    """Sentences that are a heading, a lead-in or a source by their markup, and state nothing."""
    return sorted(facts.no_claims)


def _bound_claim(facts: RagFacts, number: int) -> Bound:
    """Allows one claim for the sentence as it stands: with a quotation from a passage, or without any support."""
    said = {"text": Bound.only(facts.units[number - 1].sentence.text), "sentence": Bound.only(number), "why": _SHORT}
    decided = Bound.one_of(("supported", "contradicted"))
    quoted = [
        Bound.holding(**said, passage=Bound.only(item.number), quote=Bound.one_of(quotes), label=decided, critical=_NO)
        for item in facts.passages
        if (quotes := list(_quotes(item)))
    ]
    alone = Bound.holding(**said, passage=NULL, quote=NULL, label=Bound.only("unsupported"), critical=_NO)
    return Bound.either(*quoted, alone)


def _quotes(item: NumberedPassage) -> Iterator[str]:
    for sentence in item.sentences[:_MOST_QUOTES]:
        if len(sentence.text) <= _LONGEST_QUOTE and not says_too_little(sentence.text, item.text):
            yield sentence.text
