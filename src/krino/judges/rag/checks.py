"""Holds labels against the case: each complaint says which label is wrong and what would be right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Claim, RagLabels
from krino.judges.rag.rubric import answerable_refusal
from krino.judges.rag.scale import step_of
from krino.judges.rag.values import find_values
from krino.text.quoting import TOO_LITTLE, is_whole, says_too_little


def check_labels(facts: RagFacts, labels: RagLabels) -> list[str]:
    """Everything that is wrong with the labels of a case; what was not asked is not looked at."""
    problems: list[str] = []
    if facts.open.claims:
        problems.extend(_check_claims(facts, labels))
        problems.extend(_check_cover(facts, labels))
    if facts.open.context:
        problems.extend(_check_passages(facts, labels))
    if facts.open.answer:
        problems.extend(_check_answer(facts, labels))
    problems.extend(_check_similarity(facts, labels))
    return problems


def _check_claims(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
    for place, claim in enumerate(labels.claims):
        where = f"claims[{place}]"
        if not claim.text.strip():
            yield f"{where}.text is empty: write the claim out"
        if not 1 <= claim.sentence <= len(facts.sentences):
            yield f"{where}.sentence is {claim.sentence}: {_range('answer sentences', len(facts.sentences))}"
        if claim.critical and claim.label != "contradicted":
            yield f"{where}.critical is true but label is {claim.label}: only a contradicted claim can be critical"
        yield from _check_quote(facts, claim, where)


def _check_quote(facts: RagFacts, claim: Claim, where: str) -> Iterator[str]:
    if claim.passage is not None and facts.passage(claim.passage) is None:
        known = ", ".join(str(item.number) for item in facts.passages[:20])
        yield f"{where}.passage is {claim.passage}: the passages are {known}"
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
        hint = f"; it stands in passage {elsewhere[0]}" if elsewhere else "; copy it letter by letter, without gaps"
        yield f"{where}.quote does not occur in passage {claim.passage}: {claim.quote[:120]!r}{hint}"


def _check_evidence(facts: RagFacts, claim: Claim, place: tuple[int, int], where: str) -> Iterator[str]:
    """A quotation that stands in its passage must also say something there."""
    passage = facts.passage(claim.passage)
    assert passage is not None
    if says_too_little(claim.quote or "", passage.text):
        yield f"{where}.quote is {claim.quote!r}, which {TOO_LITTLE}"
    elif not is_whole(passage.text, *place):
        yield f"{where}.quote cuts a word or number of passage {claim.passage} in two: copy it whole"


def _check_cover(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
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
        elif number in empty and number not in claimed and _states_number(facts, number):
            yield f"sentence {number} is in empty_sentences but states a number: label its claims"


def _states_number(facts: RagFacts, number: int) -> bool:
    """A statement with a figure in it is a claim, unless it asks, declines or only announces a list."""
    text = facts.sentences[number - 1].text
    refusal = facts.refusal
    declines = refusal is not None and number in refusal.sentences and number not in refusal.mixed
    if declines or text.endswith(("?", ":")):
        return False
    return any(not value.spelled and value.kind != "month" for value in find_values(text))


def _check_passages(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
    known = {item.number for item in facts.passages}
    counts = Counter(item.passage for item in labels.passages)
    for number in sorted(counts.keys() - known):
        yield f"passages names passage {number}, which does not exist"
    for number in sorted(known):
        if counts[number] != 1:
            yield f"passages must label passage {number} exactly once, not {counts[number]} times"
    if not labels.needs:
        yield "needs is empty: list what the question needs to know, and whether the passages hold it"


def _check_answer(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
    if not labels.parts:
        yield "parts is empty: list the parts of the question (one at least), each answered or not"
    refusal = labels.refusal
    if refusal is None:
        if facts.refusal is not None:
            shown = ", ".join(str(number) for number in facts.refusal.sentences[:5])
            yield f"refusal is null, but answer sentence {shown} reads like one: fill it in (is_refusal may be false)"
        return
    if refusal.is_refusal and refusal.right_to_refuse and answerable_refusal(facts, labels, refusal):
        yield (
            "refusal.right_to_refuse is true for insufficient_context, but every need is held: "
            "correct the one or the other"
        )


def _check_similarity(facts: RagFacts, labels: RagLabels) -> Iterator[str]:
    if facts.case.reference is None and labels.similarity is not None:
        yield "similarity must be null: this case has no reference answer"
    if facts.open.similarity and labels.similarity is None:
        yield "similarity is null, but there is a reference answer: choose a step of the scale"
    finer = labels.similarity_score
    if finer is not None and (labels.similarity is None or step_of(finer) != labels.similarity):
        yield f"similarity_score is {finer}, which is not of the step {labels.similarity}: leave it out"


def _range(what: str, count: int) -> str:
    return f"the {what} are 1 to {count}"
