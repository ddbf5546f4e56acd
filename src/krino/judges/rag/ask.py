"""Writes what a labeller is shown and asked about one RAG case."""

from __future__ import annotations

from krino.contract import Passage, Questions
from krino.judges.rag.facts import NumberedPassage, RagFacts
from krino.judges.rag.values.value import Value
from krino.judges.rag.values.vocabulary import any_stop

_OF_HISTORY = (
    "The question is the last of a conversation; history is what was said before it. Read the question with it: what a "
    "word such as it or there means. It is no passage: what history alone says supports no claim."
)
_MOST_HINTS = 8
_MOST_MARKED = 40


def write_questions(facts: RagFacts) -> Questions:
    """Returns what a labeller is shown and asked: the texts of the case, and what the facts leave open."""
    case = facts.case
    numbered = "\n".join(f"[{number}] {unit.sentence.text}" for number, unit in enumerate(facts.units, 1))
    history = [Passage("history", case.history)] if case.history else []
    passages = [
        *history,
        Passage("question", case.question),
        *(Passage(f"passage {item.number}", _number_sentences(item)) for item in facts.passages),
        Passage("answer", numbered),
    ]
    if facts.open.similarity and case.reference is not None:
        passages.append(Passage("reference", case.reference))
    if facts.open.similarity and (difference := facts.exact_difference) is not None:
        passages.append(Passage("differs", difference))
    if facts.open.claims and (absent := _list_absent(facts)):
        passages.append(Passage("absent", absent))
    return Questions(tuple(passages), write_request(facts))


def _number_sentences(item: NumberedPassage) -> str:
    """Returns the passage with the numbers of its sentences, by which a labeller says which of them are useful."""
    text, title = item.passage.text, item.passage.title
    starts = [sentence.start for sentence in item.sentences]
    ends = [*starts[1:], len(text)]
    pieces = [f"[{number}] {text[start:end]}" for number, (start, end) in enumerate(zip(starts, ends, strict=False), 1)]
    shown = "".join([text[: starts[0]], *pieces]) if starts else text
    return f"{title}\n{shown}" if title else shown


def write_request(facts: RagFacts, *, hints: bool = True) -> str:
    """Returns what is open in this case, in words that hold nothing of the case's own text.

    `hints`: also names the sentences that look like no claim to code.
    """
    asked = facts.open
    count = len(facts.sentences)
    lines = [_OF_HISTORY] if facts.case.history else []
    if asked.claims:
        sentences = "sentence 1" if count == 1 else f"sentences 1 to {count}"
        lines.append(f"Label the claims of {sentences}, every passage and the needs.")
        if hints and facts.no_claims:
            shown = ", ".join(map(str, sorted(facts.no_claims)[:_MOST_MARKED]))
            lines.append(f"Perhaps no claim (heading, lead-in, source): {shown}. Read them all the same.")
    else:
        lines.append("Nothing was retrieved: leave claims, empty_sentences, passages and needs empty.")
    lines.append("Label parts, direct, refusal.")
    lines.append("Choose similarity." if asked.similarity else "Leave similarity and similarity_why null.")
    return "\n".join(lines)


def _list_absent(facts: RagFacts) -> str:
    """Returns the values and names of the answer that are in no passage, in one line.

    Given as data, not in the request: these words come from the answer, which is not to be trusted.
    """
    values = [value.text for number, value in facts.absent_values if _tells_something(facts, number, value)]
    names = [name for found in facts.strangers.values() for name in found if not _is_ordinary(name)]
    return ", ".join(list(dict.fromkeys(values + names))[:_MOST_HINTS])


def _tells_something(facts: RagFacts, number: int, value: Value) -> bool:
    """Not the number of an item or a source, nor an everyday word such as "daily", "once" or a bare "two"."""
    if facts.is_numbering(number, value):
        return False
    return any(map(str.isdecimal, value.text)) or (value.kind != "frequency" and bool(value.unit or not value.spelled))


def _is_ordinary(name: str) -> bool:
    """ "Once" or "Note": a function word that has a capital."""
    return name.lower() in any_stop()
