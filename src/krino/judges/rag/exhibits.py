"""Shows a RAG case to people who label it: question and answer as they were written, beside the passages."""

from __future__ import annotations

from typing import Any

from krino.contract.hooks import Exhibit, Exhibits
from krino.judges.rag.ask import write_request
from krino.judges.rag.facts import NumberedPassage, RagFacts


def rag_exhibits(facts: RagFacts) -> Exhibits:
    """Shows question, answer and passages to a person who labels the case."""
    case = facts.case
    before = [Exhibit("Said before the question", case.history)] if case.history else []
    work = [*before, Exhibit("Question", case.question), Exhibit("Answer", case.answer)]
    if case.reference is not None:
        work.append(Exhibit("Reference answer", case.reference))
    numbered = tuple(sentence.text for sentence in facts.sentences)
    work.append(Exhibit("Sentences of the answer, as labels number them", sentences=numbered))
    return Exhibits(
        tuple(work),
        tuple(map(_exhibit_passage, facts.passages)),
        write_request(facts, hints=False),
        _start_labels(facts),
    )


def _exhibit_passage(item: NumberedPassage) -> Exhibit:
    """Returns a passage cut into its sentences."""
    text, starts = item.passage.text, [sentence.start for sentence in item.sentences]
    pieces = (text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    title = f"{item.label[0].upper()}{item.label[1:]}"
    return Exhibit(f"{title}: {item.passage.title}" if item.passage.title else title, text, tuple(pieces))


def _start_labels(facts: RagFacts) -> dict[str, Any]:
    """Returns the labels to begin with: a claim for every sentence, or nothing without a context.

    To leave out those that code takes for refusals would say which they are.
    """
    if not facts.open.claims:
        return {}
    claims = [{"text": sentence.text, "sentence": number} for number, sentence in enumerate(facts.sentences, 1)]
    return {"claims": claims, "empty_sentences": []}
