"""Decides whether evidence supports a claim: the seam behind which better models can stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.reading.frames import says_the_same
from krino.judges.rag.reading.grammar import verb_form
from krino.judges.rag.reading.scope import same_scope, scope_roots
from krino.judges.rag.reading.sums import reckoning_roots
from krino.judges.rag.reading.words import Reading
from krino.judges.rag.support.claim_and_evidence import ClaimAndEvidence, absent_values, is_english
from krino.judges.rag.support.closeness import is_close
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.support.pair import Pair
from krino.judges.rag.tables import table

MISPLACED = "the passages have it, but not where they speak of what is asked"


@dataclass(frozen=True, slots=True)
class Support:
    """`score` is how likely the claim is supported, in [0, 1]; `why` says what decided."""

    label: ClaimLabel
    score: float
    why: str


class SupportModel(Protocol):
    """Labels claims by their evidence, many at once."""

    def score(self, pairs: Sequence[Pair]) -> list[Support]: ...


class LexicalSupport:
    """Word matching with weights, and letter-exact checks of numbers, dates, names and negations."""

    def score(self, pairs: Sequence[Pair]) -> list[Support]:
        return [self._one(pair) for pair in pairs]

    def _one(self, pair: Pair) -> Support:
        if not pair.found:
            return Support("unsupported", 0.0, "no passage comes near it")
        share = _share_unreckoned(pair) if pair.reckoned else pair.share
        measure = f"{share:.0%} of its weighted words found"
        if (conflict := pair.conflict) and not conflict.hint:
            return Support(conflict.label, share, conflict.text)
        if pair.misplaced:
            return Support("unsupported", share, MISPLACED)
        if absent := [*(value.text for value in absent_values(pair)), *pair.strangers]:
            return Support("unsupported", share, f"no evidence for {', '.join(absent[:5])}; {measure}")
        label: ClaimLabel = "supported" if share >= table("local")["thresholds"]["supported"] else "unsupported"
        return Support(label, share, measure)


def _share_unreckoned(pair: ClaimAndEvidence) -> float:
    """How much the sentences hold of what is not reckoned: a sum stands in none of them."""
    made = {key for value in pair.reckoned for key in value.keys} | reckoning_roots()
    return coverage({root: weight for root, weight in pair.weights.items() if root not in made}, pair.found)


def decide(pair: Pair) -> Support | None:
    """What code settles to the letter, so that no score can outvote it; None where a model must weigh."""
    figures: Mapping[str, float] = table("local")["decided"]
    if pair.misquoted:
        return Support("unsupported", figures["conflict"], "it stands in quotation marks, but so in no passage")
    if not pair.found or pair.misplaced:
        return None
    conflict = None if pair.conflict is not None and pair.conflict.hint else pair.conflict
    if conflict is not None and conflict.plain:
        return Support(conflict.label, figures["conflict"], conflict.text)
    if conflict is None and not pair.strangers and not absent_values(pair) and _agrees(pair):
        return Support("supported", figures["same"], "one sentence says the same in other order or words")
    if conflict is None and pair.reckoned and not absent_values(pair) and _is_about_them(pair):
        told = ", ".join(value.text for value in pair.claimed.values if value in pair.reckoned)
        return Support("supported", figures["same"], f"{told} follows from the values of the passage")
    return None


def _is_about_them(pair: ClaimAndEvidence) -> bool:
    """Whether nothing is claimed but what is done with the values, of things that the evidence speaks of."""
    known = pair.asked.stems.union(*(reading.stems for reading in pair.found)) | reckoning_roots()
    values = pair.claimed.value_keys
    left = [root for root in pair.claimed.content if root not in known and root not in values]
    return pair.claimed.denials == 0 and all(verb_form(pair.claimed.surface[root]) is not None for root in left)


def _agrees(pair: ClaimAndEvidence) -> bool:
    """One sentence has every word of the claim, denies nothing, and has them in the same order or of the same doer."""
    claimed = pair.claimed
    if not is_english(pair):
        first = pair.found[0]
        alike = _in_order(claimed.content, first.content) or _in_order_but_for_a_value(claimed, first)
        alike = alike or (first.stems.issuperset(claimed.content) and _tells_alike(claimed, first))
        return alike and claimed.denials == first.denials
    said = frozenset(claimed.content) - scope_roots(pair.language)
    if said <= pair.found[0].stems and same_scope(pair.claim, pair.evidence[0], pair.language):
        return True
    return any(
        reading.stems.issuperset(claimed.content)
        and is_close(pair, reading)
        and claimed.denials == reading.denials == 0
        and (_tells_alike(claimed, reading) or says_the_same(pair.claim, text))
        for text, reading in zip(pair.evidence, pair.found, strict=True)
    )


def _in_order(words: Sequence[str], among: Sequence[str]) -> bool:
    """Whether all words stand among the others, in the same order."""
    left = iter(among)
    return bool(words) and all(word in left for word in words)


def _in_order_but_for_a_value(claimed: Reading, reading: Reading) -> bool:
    """The same words in the same order, and the only value of both in two spellings: "18 uur", "18:00"."""
    if len(claimed.values) != 1 or len(reading.values) != 1:
        return False
    ours, theirs = ([root for root in one.content if root not in one.value_keys] for one in (claimed, reading))
    return _in_order(ours, theirs)


def _tells_alike(claimed: Reading, reading: Reading) -> bool:
    """The same words in the same order, with a day for the span of days that holds it."""
    if claimed.content == reading.content:
        return True
    days = [value for value in claimed.values if value.kind == "weekday"]
    ours, theirs = ([root for root in one.content if root not in one.value_keys] for one in (claimed, reading))
    return bool(ours) and ours == theirs and len(days) == len(claimed.values) > 0
