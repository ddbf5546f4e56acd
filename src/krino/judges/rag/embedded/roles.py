"""Classifies the role of each sentence of an answer with the role head of the entailment model.

A sentence that is set aside is checked by nobody, so code looks at it once more: a value of its own, or words that the
passages have and the question has not, make it a claim unless the model is nearly sure that it is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from krino.judges.rag.facts import RagFacts, opens_with_yes_or_no
from krino.judges.rag.reading.framing import cut_at_turn
from krino.judges.rag.reading.words import may_deny
from krino.judges.rag.tables import table
from krino.text.language import plain_language
from krino.text.words import plain_words

if TYPE_CHECKING:
    from krino.models.entailment import RoleInput

CLAIM, REFUSAL = "claim", "refusal"
_STATING = (CLAIM, "hedge")
"""Roles of sentences that say something about the matter."""
_LONGEST = 2_000
_LEAST_FOREIGN = 4
"""Words of weight in a sentence that shares none with question and passages."""
_SHORTEST_TAIL = 3
"""Words from which on what follows a "but" may be a statement."""


@dataclass(frozen=True, slots=True)
class Roles:
    """By number, from 1: the probabilities of the roles of each sentence, and what is made of them."""

    shares: tuple[dict[str, float], ...]
    claims: frozenset[int]
    """Sentences that are checked against the passages."""
    refusals: frozenset[int]
    """Sentences that decline; one of them may be a claim too."""

    def with_claims(self, claims: Set[int]) -> Roles:
        return replace(self, claims=frozenset(claims))


def read_roles(batch: Sequence[RagFacts]) -> list[Roles]:
    """The roles of all sentences of all cases, asked in one call."""
    from krino.models.entailment import ROLES, roles

    def ask(asked: Sequence[RoleInput]) -> Iterator[dict[str, float]]:
        return (dict(zip(ROLES, map(float, row), strict=True)) for row in roles(asked))

    found = ask([asked for facts in batch for asked in _inputs(facts)])
    settled = [_settle(facts, tuple(next(found) for _ in facts.sentences)) for facts in batch]
    turned = [_turned(facts, one) for facts, one in zip(batch, settled, strict=True)]
    tails = ask([asked for inputs in turned for asked in inputs.values()])
    return [
        one.with_claims(
            one.claims | {number for number in inputs if (tail := next(tails))[CLAIM] == max(tail.values())}
        )
        for one, inputs in zip(settled, turned, strict=True)
    ]


def _turned(facts: RagFacts, roles: Roles) -> dict[int, RoleInput]:
    """By number, what a sentence that is set aside says behind its "but": "I cannot say for sure, but it is free"."""
    from krino.models.entailment import RoleInput

    found: dict[int, RoleInput] = {}
    for number, sentence in enumerate(facts.sentences, 1):
        head, tail = cut_at_turn(sentence.text[:_LONGEST])
        if number not in roles.claims and len(tail.split()) >= _SHORTEST_TAIL:
            found[number] = RoleInput(head, tail, "")
    return found


def _inputs(facts: RagFacts) -> Iterator[RoleInput]:
    from krino.models.entailment import RoleInput

    texts = ["", *(unit.sentence.text[:_LONGEST] for unit in facts.units), ""]
    yield from (RoleInput(*texts[place : place + 3]) for place in range(len(facts.units)))


def _settle(facts: RagFacts, shares: tuple[dict[str, float], ...]) -> Roles:
    numbers = range(1, len(shares) + 1)
    refusals = frozenset(number for number in numbers if _declines(facts, number, shares[number - 1]))
    claims = frozenset(number for number in numbers if _is_claim(facts, number, shares[number - 1]))
    if not refusals and all(_declines_rather(facts, number, shares[number - 1]) for number in numbers):
        claims, refusals = frozenset(), frozenset(numbers)
    return Roles(shares, claims if claims or refusals else _all_that_is_said(facts), refusals)


def _declines_rather(facts: RagFacts, number: int, shares: dict[str, float]) -> bool:
    """Whether a sentence denies something and rather declines than states, as "I don't know." does.

    Of answers that say no more than that the model is unsure: it has learned from longer ones.
    """
    text = facts.sentences[number - 1].text
    if facts.states_number(number) or not may_deny(text.lower(), frozenset(plain_words(text.lower()))):
        return False
    least: float = table("local")["roles"]["bare_refusal"]
    return shares[REFUSAL] > max(shares[CLAIM], least)


def _all_that_is_said(facts: RagFacts) -> frozenset[int]:
    """Of an answer in which nothing looks like a claim, everything but questions: a bare name answers, too.

    Where no sentence has a word of weight, small words count as well: "a BE" may look like an answer.
    """
    said = [number for number, item in enumerate(facts.sentences, 1) if not item.text.endswith("?")]
    return frozenset([number for number in said if facts.readings[number - 1].content] or said)


def _declines(facts: RagFacts, number: int, shares: dict[str, float]) -> bool:
    """By the model; where it is unsure, a sentence declines that denies something of sources, scope or safety."""
    limits = table("local")["roles"]
    share = shares[REFUSAL] + shares["about_passages"]
    if shares[REFUSAL] >= limits["refusal"] or share < limits["perhaps_refusal"]:
        return shares[REFUSAL] >= float(limits["refusal"])
    text = facts.sentences[number - 1].text.lower()
    words = frozenset(plain_words(text))
    return may_deny(text, words) and not words.isdisjoint(pleas())


@cache
def pleas() -> frozenset[str]:
    """What a refusal pleads: that a source lacks something, that it is out of scope, or that it would be unsafe."""
    lists = table("words")["refusal"]
    return frozenset(f"{lists['sources']} {lists['scope']} {lists['safety']} {lists['answering']}".split())


def _is_claim(facts: RagFacts, number: int, shares: dict[str, float]) -> bool:
    limits = table("local")["roles"]
    text, reading = facts.sentences[number - 1].text, facts.readings[number - 1]
    if opens_with_yes_or_no(text) or facts.states_number(number):
        return True
    if not reading.content:
        return False
    if _is_in_another_language(facts, text):
        return True
    stating = sum(shares[role] for role in _STATING)
    if stating >= float(limits["claim"]):
        return True
    declining = shares[REFUSAL] + shares["about_passages"]
    if stating >= max(float(limits["foreign"]), declining) and _has_words_of_its_own(facts, number):
        return True
    titles = shares["heading"] + shares["lead_in"] + shares[REFUSAL] >= limits["title"]
    return stating >= float(limits["doubt"]) and _states_matter(
        facts, number, facts.question_reading.stems if titles else ()
    )


def _is_in_another_language(facts: RagFacts, text: str) -> bool:
    """Whether a sentence is surely in another language than the case. The model has learned from no such answers."""
    if facts.language is None or len(text.split()) < _LEAST_FOREIGN:
        return False
    return plain_language(text) not in (None, facts.language)


def _has_words_of_its_own(facts: RagFacts, number: int) -> bool:
    """Whether neither question nor passages have any of its words: another language, or another subject."""
    own = frozenset(facts.readings[number - 1].content)
    known = facts.question_reading.stems.union(*(item.reading.stems for item in facts.passage_sentences))
    return len(own) >= _LEAST_FOREIGN and own.isdisjoint(known)


def _states_matter(facts: RagFacts, number: int, beside: Collection[str]) -> bool:
    """Whether a sentence has a value of its own, or shares words with a sentence of the passages, some left aside.

    Titles and refusals repeat words of the question.
    """
    reading, asked = facts.readings[number - 1], facts.question_reading
    values = (value for value in reading.values if not facts.is_numbering(number, value))
    if any(not asked.offered.issuperset(value.keys) for value in values):
        return True
    own = frozenset(reading.content).difference(beside)
    least = table("local")["roles"]["shared"]
    return any(len(own & item.reading.stems) >= least for item in facts.passage_sentences)
