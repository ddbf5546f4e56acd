"""Decides support by words and two small models together: a logistic rule whose sum is also a probability."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.reading.claims import resolve
from krino.judges.rag.support.claim_and_evidence import Conflict, absent_values, is_bare
from krino.judges.rag.support.lexical_support import MISPLACED, LexicalSupport, Support
from krino.judges.rag.support.nearness import TextPair, measure, reads
from krino.judges.rag.support.pair import Pair
from krino.judges.rag.tables import table

if TYPE_CHECKING:
    from krino.models.entailment import Entailment

_FARTHEST, _NEAREST = 0.15, 0.85
"""Between these lies nearly every claim's nearness to its evidence, so what needs more or less is clear."""
_LEAST = 1e-4
_AMISS = -0.5
_FEW_WORDS = 3
"""Words up to which a claim can be a bare name or value."""
_OUT_OF_PLACE = -2.0
"""The most that a name or value weighs which stands elsewhere in the passages than asked: no model here sees that."""


class EntailedSupport:
    """Each claim is read beside the sentences it could rest on; what letters find and what the model says are weighed.

    The entailment model reads all languages of the labeller, the sentence model English alone. A bare name or value is
    no statement that a model could hold against a text: there words decide.
    """

    def __init__(self) -> None:
        self._by_words = LexicalSupport()

    def score(self, pairs: Sequence[Pair]) -> list[Support]:
        from krino.models.entailment import entail

        told = [bool(pair.found) and not _is_bare(pair) for pair in pairs]
        readable = [pair for pair, whole in zip(pairs, told, strict=True) if whole]
        said = entail([(pair.shown, told_claim(pair)) for pair in readable])
        weighed = iter(_weigh(list(map(Weighing.of, readable, said))))
        return [
            next(weighed) if whole else self._by_words.score([pair])[0] for pair, whole in zip(pairs, told, strict=True)
        ]


def _is_bare(pair: Pair) -> bool:
    """A claim of more words may have a verb that is not known as one: "Marie was born in Ghent"."""
    return len(pair.claim.split()) <= _FEW_WORDS and is_bare(pair.claimed, pair.claim)


@dataclass(frozen=True, slots=True)
class Weighing:
    """A claim with what letters and the entailment model find about it."""

    pair: Pair
    said: Entailment
    share: float
    conflict: Conflict | None

    @classmethod
    def of(cls, pair: Pair, said: Entailment) -> Weighing:
        agreed = said.contradicted >= table("local")["contradiction"]["decisive"]
        conflict = None if pair.conflict is not None and pair.conflict.hint and not agreed else pair.conflict
        return cls(pair, said, pair.share, conflict)

    @property
    def texts(self) -> list[TextPair]:
        return [(self.pair.claim, sentence) for sentence in self.pair.evidence]

    def values(self, nearness: float) -> dict[str, float]:
        """What is weighed, by the names of the weights."""
        return {
            "entailed": _log_odds(self.said.supported),
            "against": _log_odds(self.said.contradicted) * self.pair.anywhere,
            "evidence_words": self.share,
            "passage_words": self.pair.anywhere,
            "nearness": nearness,
            "absent_value": float(bool(absent_values(self.pair))),
            "strange_name": float(bool(self.pair.strangers)),
            "conflict": float(self.conflict is not None),
            "company": float(self.pair.company),
        }

    @property
    def decided(self) -> bool:
        """A conflict to the letter that nothing may outvote: it is plain, or the model speaks against the claim too."""
        against: float = table("local")["contradiction"]["decisive"]
        return self.conflict is not None and (self.conflict.plain or self.said.contradicted >= against)

    @property
    def amiss(self) -> bool:
        """Something is wrong to the letter, and the model does not speak for the claim either.

        One long claim by itself says much else: there it is weighed with the rest.
        """
        limits = table("local")["doubt"]
        if not self.pair.company and len(self.pair.claim.split()) >= limits["long"]:
            return False
        if self.pair.strangers and self.said.supported < limits["strange_name" if self.pair.company else "alone"]:
            return True
        wrong = self.conflict is not None or bool(self.pair.strangers) or bool(absent_values(self.pair))
        return wrong and self.said.supported < float(limits["amiss"])

    @property
    def most(self) -> float:
        """What the balance may be at most, whatever is weighed."""
        if self.pair.misplaced or self.decided:
            return _OUT_OF_PLACE
        return _AMISS if self.amiss else math.inf


def _weigh(readings: Sequence[Weighing]) -> list[Support]:
    """The sentence model is asked only where it can tip the balance; elsewhere a usual nearness stands in."""
    weight: float = table("local")["blend"]["nearness"]
    usual: float = table("local")["calibration"]["usual_nearness"]
    least = [weigh(reading.values(nearness=0.0)) for reading in readings]
    in_doubt = [
        balance + weight * _FARTHEST < 0 <= balance + weight * _NEAREST
        and reading.most >= 0
        and reads(reading.pair.language)
        for reading, balance in zip(readings, least, strict=True)
    ]
    near = measure(texts for reading, open_ in zip(readings, in_doubt, strict=True) if open_ for texts in reading.texts)
    supports = []
    for reading, balance, open_ in zip(readings, least, in_doubt, strict=True):
        balance += weight * (max(near[texts] for texts in reading.texts) if open_ else usual)
        balance = min(balance, reading.most)
        label = _label(balance, reading)
        supports.append(Support(label, _probability(balance), _why(reading, label)))
    return supports


def weigh(values: Mapping[str, float]) -> float:
    weights = table("local")["blend"]
    balance: float = weights["start"] + sum(weights[name] * value for name, value in values.items())
    return balance


def _log_odds(share: float) -> float:
    farthest: float = table("local")["blend"]["farthest"]
    odds = math.log(share + _LEAST) - math.log(1 - share + _LEAST)
    return max(-farthest, min(farthest, odds))


def _probability(balance: float) -> float:
    """How likely people would call it supported."""
    fit = table("local")["calibration"]
    return 1 / (1 + math.exp(-(fit["slope"] * balance + fit["start"])))


def _label(balance: float, reading: Weighing) -> ClaimLabel:
    if balance >= 0:
        return "supported"
    limits = table("local")["contradiction"]
    spoken_against = reading.said.contradicted >= limits["against"] and reading.share >= limits["evidence_words"]
    if reading.conflict is not None:
        return reading.conflict.label
    return "contradicted" if spoken_against else "unsupported"


def _why(reading: Weighing, label: ClaimLabel) -> str:
    """What tipped the balance, with the figures behind it."""
    pair, said = reading.pair, reading.said
    model = f"entailment model: supported {said.supported:.0%}, contradicted {said.contradicted:.0%}"
    figures = f"{reading.share:.0%} of its weighted words found; {model}"
    if label == "supported":
        return figures
    if reading.conflict:
        return f"{reading.conflict.text}; {figures}"
    if pair.misplaced:
        return f"{MISPLACED}; {figures}"
    absent = [*pair.strangers, *(value.text for value in absent_values(pair))]
    return f"no evidence for {', '.join(absent[:5])}; {figures}" if absent and label == "unsupported" else figures


@cache
def _opening() -> re.Pattern[str]:
    openings = table("local")["openings"]
    named = "|".join([*openings["words"].split(), *openings["phrases"], openings["sources"]])
    return re.compile(rf"^(?:(?:(?:{named})[,:]|\d{{1,2}}[.)]|[-*•])\s+)+", re.IGNORECASE)


def told_claim(pair: Pair) -> str:
    """The claim as the model reads it: a pronoun that nothing before it explains stands for what the evidence is about.

    The model was taught that another subject is another claim, and takes "it" for one.
    """
    return resolve([pair.evidence[0], bare_claim(pair.claim)])[-1] if reads(pair.language) else pair.claim


def bare_claim(claim: str) -> str:
    """The claim without what only leads it in: "Third, ..." says nothing about a third thing."""
    bare = _opening().sub("", claim)
    return bare[0].upper() + bare[1:] if bare else claim
