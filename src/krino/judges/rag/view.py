"""Shows a RAG judgement as text: the answer with its claims coloured by label, each pointing at its passage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from krino.blocks import Block, DataTable, MarkedText, Segment, Tone
from krino.contract import Judgement
from krino.judges.rag.case import RagCase
from krino.judges.rag.facts import locate_quote
from krino.judges.rag.findings import unsure_claims
from krino.judges.rag.labels import Claim, ClaimLabel, Part, RagLabels, merge_copies
from krino.judges.rag.reading.answer import split_answer
from krino.judges.rag.reading.sentences import split_sentences

_ANSWER_TONES: Mapping[str, Tone] = {
    "supported": "good",
    "unsupported": "warn",
    "contradicted": "bad",
    "critical contradiction": "bad",
    "no claim": "plain",
}
_PASSAGE_TONES: Mapping[str, Tone] = {"supports": "good", "contradicts": "bad", "named": "info"}
_MARKS: Mapping[ClaimLabel, str] = {"supported": "supports", "contradicted": "contradicts", "unsupported": "named"}
_GRAVITY: tuple[ClaimLabel, ...] = ("supported", "unsupported", "contradicted")
_MOST_PASSAGES = 20


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of a passage that a claim rests on, and the key under which it can be pointed at."""

    start: int
    end: int
    mark: str
    key: str
    sentences: tuple[int, ...]


def rag_blocks(case: RagCase, judgement: Judgement) -> Sequence[Block]:
    """Returns question, answer, reference, parts and passages, marked by the labels.

    Empty without labels: then the case is shown as any other.
    """
    if not judgement.labels:
        return ()
    labels, _ = merge_copies(RagLabels.model_validate(judgement.labels))
    spans = {number: _find_spans(passage.shown, number, labels) for number, passage in enumerate(case.context, 1)}
    blocks: list[Block] = [
        *([MarkedText("Said before the question", [Segment(case.history)])] if case.history else []),
        MarkedText("Question", [Segment(case.question)]),
        MarkedText("Answer", list(_show_answer(case.answer, labels, spans)), _ANSWER_TONES),
    ]
    if unsure := unsure_claims(labels):
        blocks.append(_unsure(unsure))
    if case.reference is not None:
        blocks.append(MarkedText("Reference", [Segment(case.reference)]))
    if labels.parts:
        blocks.append(_parts(labels))
    useful = {item.passage: len(set(item.useful_sentences)) for item in labels.passages}
    for number, passage in list(enumerate(case.context, 1))[:_MOST_PASSAGES]:
        title = f"Passage {number}" + (f" ({passage.id})" if passage.id else "")
        if number in useful:
            title += f", {useful[number]} of {len(split_sentences(passage.text))} sentences useful"
        segments = list(_show_passage(passage.shown, spans[number]))
        blocks.append(MarkedText(title, segments, _PASSAGE_TONES, key=_passage_key(number)))
    return blocks


def _unsure(claims: Sequence[Claim]) -> DataTable:
    """What a person should read first: the labels of these claims could as well be others."""
    rows = [(claim.text, claim.label, claim.probability, f"sentence {claim.sentence}") for claim in claims]
    return DataTable("Unsure: read these first", ("claim", "label", "probability of support", "where"), rows)


def _parts(labels: RagLabels) -> DataTable:
    """What the question asks for, and where the answer says it."""
    rows = [(item.part, _said_of(item, labels), item.sentence and f"sentence {item.sentence}") for item in labels.parts]
    tones: list[Tone | None] = ["good" if item.answered else "bad" for item in labels.parts]
    return DataTable("Parts of the question", ("part", "answer", "where"), rows, tones=tones)


def _said_of(part: Part, labels: RagLabels) -> str:
    if part.answered:
        return "answered"
    return "declined" if part.sentence is not None and labels.refusal is not None else "not answered"


def _show_answer(answer: str, labels: RagLabels, spans: Mapping[int, Sequence[_Span]]) -> Iterator[Segment]:
    """Yields the answer sentence by sentence, coloured by the gravest of its claims; text between is left as it is."""
    done = 0
    for number, sentence in enumerate(split_answer(answer), 1):
        claims = [claim for claim in labels.claims if claim.sentence == number]
        if sentence.start > done:
            yield Segment(answer[done : sentence.start])
        done = sentence.end
        if not claims:
            yield Segment(answer[sentence.start : done], "no claim" if number in labels.empty_sentences else None)
            continue
        gravest = max(claims, key=lambda claim: (claim.critical, _GRAVITY.index(claim.label)))
        mark = "critical contradiction" if gravest.critical else gravest.label
        yield Segment(answer[sentence.start : done], mark, _explain(claims, gravest), _find_target(gravest, spans))
    if done < len(answer):
        yield Segment(answer[done:])


def _explain(claims: Sequence[Claim], gravest: Claim) -> str:
    """Returns the reason for the gravest claim, and all claims of the sentence with their labels."""
    where = f" (passage {gravest.passage})" if gravest.passage is not None else ""
    why = f"{gravest.why}{where}"
    if len(claims) == 1:
        return why
    return f"{why}. Its claims: " + "; ".join(f"{claim.text} [{claim.label}]" for claim in claims)


def _find_target(claim: Claim, spans: Mapping[int, Sequence[_Span]]) -> str | None:
    """Returns the key of the place in a passage that a claim points to, or None."""
    if claim.passage is None or claim.passage not in spans:
        return None
    found = next((span for span in spans[claim.passage] if claim.sentence in span.sentences), None)
    return found.key if found is not None else _passage_key(claim.passage)


def _passage_key(number: int) -> str:
    return f"passage-{number}"


def _find_spans(text: str, number: int, labels: RagLabels) -> list[_Span]:
    """Returns where the claims' quotations are; those that overlap become one, marked by the gravest of them."""
    found: list[tuple[int, int, Claim]] = []
    for claim in labels.claims:
        place = locate_quote(claim.quote, text) if claim.passage == number and claim.quote else None
        if place is not None:
            found.append((*place, claim))
    joined: list[tuple[int, int, list[Claim]]] = []
    for start, end, claim in sorted(found, key=lambda item: item[:2]):
        if joined and start < joined[-1][1]:
            first, last, claims = joined[-1]
            joined[-1] = (first, max(last, end), [*claims, claim])
        else:
            joined.append((start, end, [claim]))
    return [_span(number, place, *item) for place, item in enumerate(joined)]


def _span(number: int, place: int, start: int, end: int, claims: Sequence[Claim]) -> _Span:
    gravest = max((claim.label for claim in claims), key=_GRAVITY.index)
    key = f"{_passage_key(number)}-{place}"
    return _Span(start, end, _MARKS[gravest], key, tuple(dict.fromkeys(claim.sentence for claim in claims)))


def _show_passage(text: str, spans: Sequence[_Span]) -> Iterator[Segment]:
    """Yields a passage as segments, quoted parts marked."""
    done = 0
    for span in spans:
        if span.start > done:
            yield Segment(text[done : span.start])
        sentences = ", ".join(map(str, span.sentences))
        yield Segment(text[span.start : span.end], span.mark, f"answer sentence {sentences}", key=span.key)
        done = span.end
    if done < len(text):
        yield Segment(text[done:])
