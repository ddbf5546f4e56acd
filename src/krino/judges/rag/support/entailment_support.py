"""Decides support by words and the entailment model together: a logistic rule whose sum is also a probability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.support.claim_and_evidence import Conflict, absent_values, is_bare
from krino.judges.rag.support.lexical_support import MISPLACED, LexicalSupport, Support
from krino.judges.rag.support.pair import Pair
from krino.judges.rag.support.telling import told_claim
from krino.judges.rag.tables import table

if TYPE_CHECKING:
    from krino.models.entailment import Entailment

_LEAST = 1e-4
_EVEN = 0.5
_AMISS = -0.5
_FEW_WORDS = 3
"""Words up to which a claim can be a bare name or value."""
_OUT_OF_PLACE = -2.0
"""The most that a name or value weighs which stands elsewhere in the passages than asked: no model here sees that."""


class EntailedSupport:
    """Each claim is read beside the sentences it could rest on; what letters find and what the model says are weighed.

    A short answer of several claims is first read as a whole. Where the model is sure of all of it, no claim is read by
    itself. A bare name or value is no statement that a model could hold against a text: there words decide.
    """

    def __init__(self) -> None:
        self._by_words = LexicalSupport()

    def score(self, pairs: Sequence[Pair]) -> list[Support]:
        told = [bool(pair.found) and not _is_bare(pair) for pair in pairs]
        readable = [pair for pair, whole in zip(pairs, told, strict=True) if whole]
        weighed = iter(map(_weigh, readings_of(readable)))
        return [
            next(weighed) if whole else self._by_words.score([pair])[0] for pair, whole in zip(pairs, told, strict=True)
        ]


def readings_of(pairs: Sequence[Pair]) -> list[Weighing]:
    """What the model says of each: of the whole answer, and of the claim where that leaves a doubt."""
    from krino.models.entailment import entail

    texts = list(dict.fromkeys(pair.whole for pair in pairs if pair.whole is not None))
    wholes = dict(zip(texts, entail(texts), strict=True))
    sure: float = table("local")["doubt"]["whole"]
    found = [wholes[pair.whole] if pair.whole is not None else None for pair in pairs]
    open_ = [pair for pair, whole in zip(pairs, found, strict=True) if whole is None or whole.supported < sure]
    single = iter(entail([(pair.shown, told_claim(pair)) for pair in open_]))
    read = [
        Weighing.of(pair, next(single) if whole is None or whole.supported < sure else whole)
        for pair, whole in zip(pairs, found, strict=True)
    ]
    return _with_wholes(read, found)


def _with_wholes(read: Sequence[Weighing], wholes: Sequence[Entailment | None]) -> list[Weighing]:
    """A good answer speaks for all its claims; one that is not good, only against the worst of them.

    Claims of one case share the very object that is their whole: another case with the same texts has its own.
    """
    worst: dict[int, int] = {}
    for place, reading in enumerate(read):
        case = id(reading.pair.whole)
        if weigh(reading.values()) < weigh(read[worst.setdefault(case, place)].values()):
            worst[case] = place
    return [
        replace(reading, whole=whole)
        if whole is not None and (whole.supported >= _EVEN or worst[id(reading.pair.whole)] == place)
        else reading
        for place, (reading, whole) in enumerate(zip(read, wholes, strict=True))
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
    whole: Entailment | None = None
    """What the model says of the whole answer, where that counts for this claim."""

    @classmethod
    def of(cls, pair: Pair, said: Entailment) -> Weighing:
        agreed = said.contradicted >= table("local")["contradiction"]["decisive"]
        conflict = None if pair.conflict is not None and pair.conflict.hint and not agreed else pair.conflict
        return cls(pair, said, pair.share, conflict)

    def values(self) -> dict[str, float]:
        """What is weighed, by the names of the weights.

        Of short passages the model has read all: there words in common say nothing, and a value that they lack may
        follow from others. Of longer ones it was shown a part, which may not be the right one.
        """
        pair, absent, entailed = self.pair, float(bool(absent_values(self.pair))), _log_odds(self.said.supported)
        weighed = {
            "whole": 0.0 if self.whole is None else _log_odds(self.whole.supported),
            "few": float(pair.few),
            "strange_name": float(bool(pair.strangers)),
            "conflict": float(self.conflict is not None),
        }
        if pair.few:
            return weighed | {"entailed_by_few": entailed, "absent_in_few": absent}
        return weighed | {
            "entailed": entailed,
            "against": _log_odds(self.said.contradicted),
            "shown_words": self.share,
            "passage_words": pair.anywhere,
            "absent_value": absent,
            "company": float(pair.company),
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


def _weigh(reading: Weighing) -> Support:
    balance = min(weigh(reading.values()), reading.most)
    label = _label(balance, reading)
    return Support(label, _probability(balance), _why(reading, label))


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
    if reading.whole is not None:
        model = f"{model}, the whole answer supported {reading.whole.supported:.0%}"
    figures = f"{reading.share:.0%} of its weighted words found; {model}"
    if label == "supported":
        return figures
    if reading.conflict:
        return f"{reading.conflict.text}; {figures}"
    if pair.misplaced:
        return f"{MISPLACED}; {figures}"
    absent = [*pair.strangers, *(value.text for value in absent_values(pair))]
    return f"no evidence for {', '.join(absent[:5])}; {figures}" if absent and label == "unsupported" else figures
