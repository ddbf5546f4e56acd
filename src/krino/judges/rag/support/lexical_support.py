"""Decides whether evidence supports a claim: the seam behind which better models can stand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from krino.judges.lazy import lazy
from krino.judges.rag.labels import ClaimLabel
from krino.judges.rag.reading.amounts import other_amount, share_roots
from krino.judges.rag.reading.claims import clauses, parted_values
from krino.judges.rag.reading.frames import (
    compare_roles,
    of_another,
    other_subject,
    says_the_same,
    told_from_far_end,
)
from krino.judges.rag.reading.grammar import root_of, verb_form, word_list
from krino.judges.rag.reading.leave import other_leave
from krino.judges.rag.reading.lists import added_item
from krino.judges.rag.reading.name_parts import other_part
from krino.judges.rag.reading.narrowing import told_of_all, told_of_whole, told_without
from krino.judges.rag.reading.plans import told_as_certain, told_as_done
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.relations import are_turned, has_another_cause
from krino.judges.rag.reading.scope import is_taken_out, may_be_wider, other_scope, read_scope, same_scope, scope_roots
from krino.judges.rag.reading.sides import are_exchanged
from krino.judges.rag.reading.slots import in_place_of
from krino.judges.rag.reading.sums import cue_words, is_reckoned, reckoning_roots
from krino.judges.rag.reading.values import Value, comparable, stated
from krino.judges.rag.reading.words import (
    Reading,
    opposed_poles,
    opposed_words,
    opposite_words,
    plain_words,
    read_sentence,
)
from krino.judges.rag.support.evidence import coverage
from krino.judges.rag.tables import table

MISPLACED = "the passages have it, but not where they speak of what is asked"
_EXCHANGED = "it has the same words as the passage, with who and whom or first and last exchanged"
_ALIKE = 0.5
"""Share of the deciding sentence that question and claim must repeat before a negation tells them apart."""
_FEWEST_ELSE = 2
"""Words beside a value that a statement must share with the claim to be the one that it is about."""
_MOST_LACKED = 3
_TWICE = 2
_MOST_OF = 0.6
"""Share of the claim's words that must stand with a value for it to be the one that belongs there."""
_SMALL_COUNT = 12
"""Spelled-out numbers up to here often count what the answer lists ("three reasons"), so they prove nothing."""


@dataclass(frozen=True)
class Pair:
    """A claim and the sentences it could rest on, as text for models and as readings for word matching."""

    question: str
    claim: str
    evidence: tuple[str, ...]
    shown: str
    """The evidence and what completes it, as one text for a model."""
    asked: Reading
    claimed: Reading
    found: tuple[Reading, ...]
    weights: Mapping[str, float]
    """How much each word of the claim counts."""
    anywhere: float
    """The share of those words that stand anywhere in the passages."""
    strangers: tuple[str, ...]
    """Names of the claim that stand in no passage and not in the question."""
    absent: tuple[Value, ...]
    """Its values of which that is true."""
    language: str | None
    company: bool
    """Whether the answer makes other claims beside this one."""
    misplaced: bool = False
    """A bare name or value that stands in the passages, but not where they speak of what is asked."""
    misquoted: str = ""
    """What it puts in quotation marks though no passage has these words."""
    nearby: tuple[Value, ...] = ()
    """The values of the passage that it rests on, where some of its own stand in none and there are few."""

    @lazy
    def share(self) -> float:
        """How much of the claim's words the sentences hold."""
        return coverage(self.weights, self.found)

    @lazy
    def conflict(self) -> Conflict | None:
        return find_conflict(self)

    @lazy
    def reckoned(self) -> frozenset[Value]:
        """Its values that stand in no evidence, but follow from those that do."""
        known = _known_keys(self)
        missing = [value for value in self.claimed.values if not stated(value, known)]
        if not missing or len(self.claimed.content) > table("local")["decided"]["words"]:
            return frozenset()
        words = cue_words(self.claim, self.claimed, self.evidence)
        found = [*self.nearby] or [value for reading in self.found for value in reading.values]
        beside = [*self.claimed.values, *self.asked.values]
        return frozenset(value for value in missing if is_reckoned(value, found, beside, words))


@dataclass(frozen=True, slots=True)
class Conflict:
    """What the deciding sentence says otherwise; `plain` where that needs no second opinion, and `hint` where it counts
    only if a model speaks against the claim too."""

    text: str
    plain: bool = False
    label: ClaimLabel = "contradicted"
    hint: bool = False


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


def _share_unreckoned(pair: Pair) -> float:
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


def _is_about_them(pair: Pair) -> bool:
    """Whether nothing is claimed but what is done with the values, of things that the evidence speaks of."""
    known = pair.asked.stems.union(*(reading.stems for reading in pair.found)) | reckoning_roots()
    values = pair.claimed.value_keys
    left = [root for root in pair.claimed.content if root not in known and root not in values]
    return pair.claimed.denials == 0 and all(verb_form(pair.claimed.surface[root]) is not None for root in left)


def _agrees(pair: Pair) -> bool:
    """One sentence has every word of the claim, denies nothing, and has them in the same order or of the same doer."""
    claimed = pair.claimed
    if not _is_english(pair):
        return claimed.denials == pair.found[0].denials and _in_order(claimed.content, pair.found[0].content)
    said = frozenset(claimed.content) - scope_roots(pair.language)
    if said <= pair.found[0].stems and same_scope(pair.claim, pair.evidence[0], pair.language):
        return True
    return any(
        reading.stems.issuperset(claimed.content)
        and _is_close(pair, reading)
        and claimed.denials == reading.denials == 0
        and (_tells_alike(claimed, reading) or says_the_same(pair.claim, text))
        for text, reading in zip(pair.evidence, pair.found, strict=True)
    )


def _in_order(words: Sequence[str], among: Sequence[str]) -> bool:
    """Whether all words stand among the others, in the same order."""
    left = iter(among)
    return bool(words) and all(word in left for word in words)


def _tells_alike(claimed: Reading, reading: Reading) -> bool:
    """The same words in the same order, with a day for the span of days that holds it."""
    if claimed.content == reading.content:
        return True
    days = [value for value in claimed.values if value.kind == "weekday"]
    ours, theirs = ([root for root in one.content if root not in one.value_keys] for one in (claimed, reading))
    return bool(ours) and ours == theirs and len(days) == len(claimed.values) > 0


def _is_english(pair: Pair) -> bool:
    return pair.language is None or pair.language == "en"


def find_conflict(pair: Pair) -> Conflict | None:
    """What the deciding sentence says otherwise: a value, a denial, an opposite, an order, or the name asked for."""
    limits: Mapping[str, Any] = table("local")["thresholds"]
    if conflict := _value_conflict(pair, limits["topical"]) or _borrowed_value(pair, limits["negation"]):
        return conflict
    if conflict := _misjoined_value(pair):
        return conflict
    if conflict := _amount_conflict(pair, limits["negation"]) or _scope_conflict(pair, limits["negation"]):
        return conflict
    if conflict := _narrowing_conflict(pair, limits["negation"]):
        return conflict
    if (pair.share >= limits["negation"] or _matter_share(pair) >= limits["negation"]) and (
        conflict := _negation_conflict(pair)
    ):
        return conflict
    return (
        _leave_conflict(pair, limits["negation"])
        or _opposite_conflict(pair, limits["negation"])
        or _role_conflict(pair)
        or _relation_conflict(pair)
        or _name_conflict(pair, limits["negation"])
        or _slot_conflict(pair)
        or _plan_conflict(pair, limits)
        or _longer_list(pair)
        or _hint(pair, limits["negation"])
    )


def _matter_share(pair: Pair) -> float:
    """How much of the claim the deciding sentence holds, words of how many aside: "lost many races", "never lost"."""
    rest = {root: weight for root, weight in pair.weights.items() if root not in share_roots()}
    return coverage(rest, pair.found[:1])


def _is_close(pair: Pair, reading: Reading, least: str = "back") -> bool:
    """Whether claim and sentence are, but for a word or two, about the same: each has most of the other's words."""
    limits = table("local")["decided"]
    known = pair.claimed.stems | pair.asked.stems
    claimed = [root for root in pair.claimed.content if root not in share_roots()]
    back = sum(root in known for root in reading.content)
    held = sum(root in reading.stems for root in claimed)
    return bool(held >= limits["close"] * len(claimed) and back >= limits[least] * len(reading.content))


def _amount_conflict(pair: Pair, topical: float) -> Conflict | None:
    """All for some, at least for at most, a month for a year, where no other sentence has it as the claim does."""
    told = other_amount(pair.claim, pair.evidence[0]) if _is_english(pair) else None
    if told is None:
        return None
    said = {root_of(word) for word in told[0].split()}
    rest = {root: weight for root, weight in pair.weights.items() if root not in said}
    others = zip(pair.evidence[1:], pair.found[1:], strict=True)
    if coverage(rest, pair.found[:1]) < topical:
        return None
    if any(other_amount(pair.claim, text) is None and _is_close(pair, reading) for text, reading in others):
        return None
    return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)


def _scope_conflict(pair: Pair, topical: float) -> Conflict | None:
    """It holds for all or always what the sentence holds only for some, or of what the sentence takes out."""
    found, best = pair.evidence[0], pair.found[0]
    told = other_scope(pair.claim, found, pair.language)
    if told is None and pair.claimed.denials == 0 and best.denials in (0, -1):
        told = is_taken_out(pair.claim, found, pair.language)
    if told is None or _share_without(pair, told[0]) < topical:
        return None
    if told[1] == read_scope(found, pair.language).condition and not _is_close(pair, best):
        return None
    for text, reading in zip(pair.evidence[1:], pair.found[1:], strict=True):
        if other_scope(pair.claim, text, pair.language) is None and _is_close(pair, reading):
            return None
    return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)


def _narrowing_conflict(pair: Pair, topical: float) -> Conflict | None:
    """It says of all what every sentence about it says of some only, or does without what is a condition there."""
    for look in (told_of_all, told_without, told_of_whole):
        told = look(pair.claim, pair.evidence[0], pair.language)
        if told is None or _share_without(pair, told[0]) < topical:
            continue
        others = zip(pair.evidence[1:], pair.found[1:], strict=True)
        if not any(look(pair.claim, text, pair.language) is None and _is_close(pair, item) for text, item in others):
            return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)
    return None


def _hint(pair: Pair, topical: float) -> Conflict | None:
    """What counts only where the entailment model speaks against the claim too: it could be told in other words."""
    if not _is_english(pair):
        return None
    wider = may_be_wider(pair.claim, pair.evidence[0])
    if wider is not None and _share_without(pair, wider[0]) >= topical:
        return Conflict(f"it says '{wider[0]}', the passage knows {wider[1]}", hint=True)
    if len(pair.claimed.content) <= table("local")["decided"]["words"] and _of_another(pair) == "perhaps":
        return Conflict("the passage says this of another", label="unsupported", hint=True)
    return None


def _of_another(pair: Pair) -> str | None:
    most = table("local")["decided"]["words"]
    told = zip(pair.evidence, pair.found, strict=True)
    return of_another(pair.claim, [clauses(text) for text, reading in told if len(reading.content) <= most])


def _leave_conflict(pair: Pair, topical: float) -> Conflict | None:
    """It gives leave where the sentence refuses it, makes a duty of what is free, or the other way round."""
    halves = clauses(pair.evidence[0]) if _is_english(pair) else pair.evidence[:1]
    for half in halves:
        told = other_leave(pair.claim, half, pair.language)
        if told and _share_without(pair, told[0], (read_sentence(half, pair.language),)) >= topical:
            return Conflict(f"it says '{told[0]}', the passage '{told[1]}'", plain=True)
    return None


def _share_without(pair: Pair, told: str, readings: Sequence[Reading] = ()) -> float:
    """How much of the claim, these words aside, the deciding sentence or other readings hold."""
    said = {root_of(word, pair.language) for word in plain_words(told)} | _light()
    rest = {root: weight for root, weight in pair.weights.items() if root not in said}
    return coverage(rest, readings or pair.found[:1])


@cache
def _light() -> frozenset[str]:
    """Words that change nothing in what a sentence is about."""
    return frozenset(map(root_of, word_list("words", "light")))


def _role_conflict(pair: Pair) -> Conflict | None:
    """The same words with the sides exchanged, or said of another name, where no sentence has them as the claim has."""
    most = table("local")["decided"]["words"]
    if len(pair.claimed.content) > most:
        return None
    if _are_sides_exchanged(pair):
        return Conflict(_EXCHANGED, plain=True)
    if not _is_english(pair):
        return None
    short = [
        (text, reading) for text, reading in zip(pair.evidence, pair.found, strict=True) if len(reading.content) <= most
    ]
    told = {text: compare_roles(pair.claim, text) for text, reading in short if _is_close(pair, reading)}
    if "turned" in told.values() and "same" not in told.values():
        return Conflict(_EXCHANGED, plain=True)
    another = "same" not in told.values() and any(other_subject(pair.claim, text) for text, _ in short)
    if another or _of_another(pair) == "surely":
        return Conflict("the passage says this of another", plain=True, label="unsupported")
    return None


def _relation_conflict(pair: Pair) -> Conflict | None:
    """Cause and effect, or first and then, exchanged; or another cause than the passage tells for the same effect."""
    turned = [are_turned(pair.claim, text, pair.language) for text in pair.evidence]
    if any(turned) and all(way or not _is_close(pair, item) for way, item in zip(turned, pair.found, strict=True)):
        return Conflict("it has cause and effect, or first and then, the other way round", plain=True)
    if has_another_cause(pair.claim, pair.evidence, pair.language):
        return Conflict("the passage tells another cause of it", plain=True, label="unsupported")
    return None


def _are_sides_exchanged(pair: Pair) -> bool:
    """A sentence has who and whom the other way round, and none that holds all of the claim has them as it has."""
    turned = [are_exchanged(pair.claim, text, pair.language) for text in pair.evidence]
    told = zip(turned, pair.found, strict=True)
    return any(turned) and not any(not way and item.stems.issuperset(pair.claimed.content) for way, item in told)


def _slot_conflict(pair: Pair) -> Conflict | None:
    """One thing in the place of another that the passage has there, where no sentence has all of the claim."""
    if not _is_english(pair):
        return None
    told = [
        in_place_of(pair.claim, text) if _lacks_little(pair.claimed, reading) else None
        for text, reading in zip(pair.evidence, pair.found, strict=True)
    ]
    for found, reading in zip(told, pair.found, strict=True):
        if found is None and reading.stems.issuperset(pair.claimed.content):
            return None
    first = next((found for found in told if found is not None), None)
    if first is None:
        return None
    return Conflict(f"it says '{first[0]}', the passage '{first[1]}' in its place", plain=True, label="unsupported")


def _lacks_little(claimed: Reading, found: Reading) -> bool:
    """A first, cheap look: whether a sentence has all of the claim but one thing."""
    return sum(root not in found.stems for root in claimed.content) <= _MOST_LACKED


def _plan_conflict(pair: Pair, limits: Mapping[str, Any]) -> Conflict | None:
    """It tells as done what the passage only expects, or as certain what the passage only holds possible."""
    if not _is_english(pair):
        return None
    share = coverage(pair.weights, pair.found[:1])
    if share >= limits["topical"] and (told := told_as_done(pair.claim, pair.evidence)):
        return Conflict(f"it tells '{told}' as done, the passage as planned", plain=True, label="unsupported")
    if share >= limits["rests"] and (told := told_as_certain(pair.claim, pair.evidence[0])):
        return Conflict(f"it says '{told}', the passage leaves it open", plain=True, label="unsupported")
    return None


def _longer_list(pair: Pair) -> Conflict | None:
    """It lists all that the passage lists, and a thing more that no evidence speaks of."""
    if not _is_english(pair):
        return None
    for text in pair.evidence:
        added = added_item(pair.claim, text)
        if added and all(reading.stems.isdisjoint(added) for reading in (*pair.found, pair.asked)):
            told = ", ".join(pair.claimed.surface.get(root, root) for root in added)
            return Conflict(f"it adds to what the passage lists: {told}", plain=True, label="unsupported")
    return None


def _known_keys(pair: Pair) -> frozenset[str]:
    return pair.asked.offered.union(*(reading.offered for reading in pair.found))


def absent_values(pair: Pair) -> list[Value]:
    """Numbers and dates of the claim that its evidence and the question lack; not what tells how often, nor small
    counts in words."""
    known = _known_keys(pair)
    missing = [value for value in pair.claimed.values if not stated(value, known) and value.kind != "frequency"]
    return [value for value in missing if not _small_count(value) and value not in pair.reckoned]


def _small_count(value: Value) -> bool:
    """A number word that counts things, and may count what the answer lists."""
    return value.spelled and value.keys[0].isdecimal() and int(value.keys[0]) <= _SMALL_COUNT


def _value_conflict(pair: Pair, topical: float) -> Conflict | None:
    """The deciding sentence is about the same thing but has another date, time or quantity of the same kind."""
    known, best = _known_keys(pair), pair.found[0]
    if counted := _counted_otherwise(pair):
        return Conflict(f"it says {counted[0].text} {counted[0].unit}, the passage {counted[1].text}", plain=True)
    missing = [value for value in pair.claimed.values if not stated(value, known) and value not in pair.reckoned]
    if not missing or _topic_share(pair) < topical:
        return None
    claimed = pair.claimed.offered
    for value in missing:
        for other in best.values:
            if comparable(value, other) and not stated(other, claimed):
                plain = any(value.keys == absent.keys for absent in pair.absent)
                return Conflict(f"it says {value.text}, the passage {other.text}", plain)
    return None


def _counted_otherwise(pair: Pair) -> tuple[Value, Value] | None:
    """A number that the sentence has only of other things, where it has another of what the claim counts:
    "12 rooms and 48 suites" for "48 rooms and 12 suites"."""
    told = [value for reading in pair.found for value in reading.values if value.kind == "number"]
    for value in pair.claimed.values if len(told) > 1 else ():
        alike = [other for other in told if other.keys == value.keys]
        instead = [other for other in pair.found[0].values if other.unit == value.unit and other.kind == "number"]
        if value.unit and instead and alike and all(other.unit not in ("", value.unit) for other in alike):
            return value, instead[0]
    return None


def _borrowed_value(pair: Pair, topical: float) -> Conflict | None:
    """A value that only sentences about other names have, where the one about the claim's own has another.

    That one must be about what is claimed, or tell of its name what the others tell of theirs, as rows of a table do.
    """
    names = _named(pair.claimed) | (_named(pair.asked) & pair.claimed.stems)
    own = [reading for reading in pair.found if names and names <= reading.stems]
    foreign = [reading for reading in pair.found if _named(reading) and names.isdisjoint(reading.stems)]
    if not own or not foreign:
        return None
    known = pair.asked.offered.union(*(reading.offered for reading in pair.found if reading not in foreign))
    rest = {root: weight for root, weight in pair.weights.items() if root not in pair.claimed.value_keys}
    if coverage(rest, own[:1]) < topical and _matter(own[0]) not in map(_matter, foreign):
        return None
    for value in pair.claimed.values:
        for other in own[0].values:
            if not stated(value, known) and comparable(value, other) and not stated(other, pair.claimed.offered):
                return Conflict(f"it says {value.text}, the passage {other.text}", plain=True)
    return None


def _misjoined_value(pair: Pair) -> Conflict | None:
    """A value that stands with other things than the claim's, where another stands with those: "a child ticket costs
    12 euros" beside "an adult ticket costs 12 euros and a child ticket 6 euros".
    """
    if not pair.claimed.values:
        return None
    told = [read_sentence(part, pair.language) for text in pair.evidence for part in _statements(text, pair)]
    if len(told) == 1:
        return None
    gapped = [tuple(read_sentence(part, pair.language) for part in parted_values(text)) for text in pair.evidence]
    parts = parted_values(pair.claim)
    for claimed in (read_sentence(part, pair.language) for part in parts if " than " not in part or len(parts) == 1):
        for value in claimed.values:
            other = _bound_to(claimed, value, told) or _paired_with(claimed, value, told)
            other = other or next(filter(None, (_in_later_part(claimed, value, row) for row in gapped)), None)
            if other is not None:
                return Conflict(f"it says {value.text}, the passage {other.text}", plain=True)
    return None


def _in_later_part(claimed: Reading, value: Value, parts: Sequence[Reading]) -> Value | None:
    """The value of the later part of a sentence that the claim is about, where it has that of the first: "le menu du
    jour coûte 16 euros, le menu gourmand 34". What is done stands in the first part only, in whatever language."""
    first, said = parts[0], frozenset(claimed.content)
    for part in parts[1:]:
        own = frozenset(part.content) - first.stems - part.value_keys
        others = frozenset(first.content) - part.stems - first.value_keys
        if not own or not own <= said or others <= said or stated(value, part.offered):
            continue
        if stated(value, first.offered) and said - claimed.value_keys <= first.stems | part.stems:
            return _instead(value, part, claimed)
    return None


def _may_stand_for(value: Value, other: Value) -> bool:
    return comparable(value, other) and value.keys != other.keys


def _statements(text: str, pair: Pair) -> tuple[str, ...]:
    """The parts of a sentence that each tell one thing: its clauses, cut further at commas where each has a value."""
    parts = clauses(text) if _is_english(pair) else (text,)
    return tuple(piece for part in parts for piece in parted_values(part))


def _bound_to(claimed: Reading, value: Value, told: Sequence[Reading]) -> Value | None:
    """The value that stands with all else that is claimed, where none of the parts that have the claim's own does so.

    What is done is left aside: a later part of a sentence leaves it out ("and a child ticket 6 euros").
    """
    rest = frozenset(claimed.content) - frozenset(value.keys)
    things = frozenset(root for root in rest if verb_form(claimed.surface.get(root, "")) is None)
    parts = [reading for reading in told if stated(value, reading.offered)]
    own = [things & reading.stems for reading in parts]
    deeds = (rest - things).intersection(*(reading.stems for reading in parts))
    if len(rest) < _FEWEST_ELSE or not own or any(_may_stand_for(value, other) for other in claimed.values):
        return None
    if not any(rest <= reading.stems for reading in parts):
        whole = (_instead(value, reading, claimed) for reading in told if rest <= reading.stems)
        if (other := next(filter(None, whole), None)) is not None:
            return other
    for reading in told:
        held = things & reading.stems
        if len(held) < _MOST_OF * len(things) or not all(ours < held for ours in own):
            continue
        other = _instead(value, reading, claimed)
        if other is not None and (deeds <= reading.stems or not _tells_a_deed(reading)):
            return other
    return None


def _tells_a_deed(reading: Reading) -> bool:
    forms = map(verb_form, reading.surface.values())
    return any(form is not None and form[1] not in ("base", "gerund") for form in forms)


def _paired_with(claimed: Reading, value: Value, told: Sequence[Reading]) -> Value | None:
    """The value beside another of the claim's, which has this one nowhere beside it: Friday with Thursday's hour."""
    own = [reading for reading in told if stated(value, reading.offered)]
    for beside in claimed.values:
        parts = [reading for reading in told if stated(beside, reading.offered)]
        if comparable(value, beside) or not own or not parts or any(reading in own for reading in parts):
            continue
        if all(_instead(beside, reading, claimed) is not None for reading in own):
            found = [_instead(value, reading, claimed) for reading in parts]
            if found[0] is not None and None not in found:
                return found[0]
    return None


def _instead(value: Value, reading: Reading, claimed: Reading) -> Value | None:
    """What stands in a part for a value of the claim."""
    others = (other for other in reading.values if _may_stand_for(value, other))
    return next((other for other in others if not stated(other, claimed.offered)), None)


def _matter(reading: Reading) -> frozenset[str] | None:
    """What is told of a name, values aside: rows of one table tell the same; None where there is nothing else."""
    return frozenset(reading.content) - reading.names - reading.value_keys or None


def _named(reading: Reading) -> frozenset[str]:
    """Its names, less those of units and months that belong to a value."""
    return reading.names.intersection(reading.content)


def _topic_share(pair: Pair) -> float:
    """How well the deciding sentence matches, values aside; a bare value is matched by the question instead."""
    keys = pair.claimed.value_keys
    weights = {root: weight for root, weight in pair.weights.items() if root not in keys}
    if not weights:
        weights = dict.fromkeys(pair.asked.content, 1.0)
    return coverage(weights, pair.found[:1])


def _negation_conflict(pair: Pair) -> Conflict | None:
    """A word that one side denies and the other states, where no other evidence agrees with the claim."""
    best = pair.found[0]
    if len((pair.claimed.stems | pair.asked.stems) & best.stems) < _ALIKE * len(best.stems):
        return None
    for root in _opposed(pair):
        denied = root in pair.claimed.negated
        if all((root in reading.negated) != denied for reading in pair.found if root in reading.stems):
            return Conflict(
                f"only one of the two denies '{pair.claimed.surface[root]}'", plain=_is_close(pair, best, "denied")
            )
    return None


def _opposed(pair: Pair) -> Iterator[str]:
    """The words that one side denies, in the clause that is about the claim; none of what an exception is made for."""
    if is_taken_out(pair.claim, pair.evidence[0], pair.language):
        return
    best = pair.found[0]
    halves = clauses(pair.evidence[0]) if _is_english(pair) else ()
    if len(halves) > 1:
        best = max(
            (read_sentence(half, pair.language) for half in halves), key=lambda half: coverage(pair.weights, (half,))
        )
    twice = abs(pair.claimed.denials - best.denials) == _TWICE
    if twice and "without" in plain_words(pair.evidence[0]) + plain_words(pair.claim):
        return  # "not without a ticket" and "with a ticket"
    yield from (root for root in opposed_words(pair.claimed, pair.found[0]) if root in best.stems)


def _opposite_conflict(pair: Pair, topical: float) -> Conflict | None:
    """The rest matches closely, and the sentence has the opposite of a word in its place."""
    best = pair.found[0]
    words = opposite_words(pair.claimed, best)
    if words is None or any(words[0] in reading.poles for reading in pair.found):
        return None
    if _is_english(pair) and (_are_hours(words, pair) or told_from_far_end(pair.claim, pair.evidence[0])):
        return None
    if words[0] in _leaning() and _behind(words[0], pair.claim) != _behind(words[1], pair.evidence[0]):
        return None  # "from there" and "into sleep mode" speak of different things
    turned = {root_of(word, pair.language) for word in (words[0], *opposed_poles(pair.claimed, best))} | _light()
    rest = {root: weight for root, weight in pair.weights.items() if root not in turned}
    if not rest or coverage(rest, pair.found[:1]) < topical:
        return None
    return Conflict(f"it says '{words[0]}', the passage '{words[1]}'", plain=True)


def _are_hours(words: tuple[str, str], pair: Pair) -> bool:
    """ "Closes at 17:00" is no opposite of "open until 17:00": both end at a time that the sentence has."""
    times = [value for value in pair.claimed.values if value.kind == "time"]
    return word_list("words", "hours").issuperset(words) and any(stated(time, pair.found[0].offered) for time in times)


@cache
def _leaning() -> frozenset[str]:
    """Words that say something only of the word behind them."""
    return word_list("prepositions") | word_list("adverbs", "quantifiers")


def _behind(leaning: str, text: str) -> str | None:
    """The word that such a word is put before, as its root."""
    words = [word for word in plain_words(text) if word not in word_list("determiners")]
    place = words.index(leaning) + 1 if leaning in words else len(words)
    return root_of(words[place]) if place < len(words) else None


def _name_conflict(pair: Pair, topical: float) -> Conflict | None:
    """A name is asked for, the rest matches closely, and the sentence has another name in its place."""
    parts = other_part(pair.claim, pair.evidence[0]) if pair.language == "de" else None
    if parts and _share_without(pair, parts[0]) >= topical:
        return Conflict(f"it names {parts[0]}, the passage {parts[1]}", plain=True, label="unsupported")
    if not pair.strangers or not any(part.kind in ("person", "place") for part in question_parts(pair.question)):
        return None
    best = pair.found[0]
    others = sorted(best.names - pair.claimed.stems - pair.asked.stems)
    missing = {root_of(name.lower(), pair.language) for name in pair.strangers}
    rest = {root: weight for root, weight in pair.weights.items() if root not in missing}
    if not others or not rest or coverage(rest, pair.found[:1]) < topical:
        return None
    instead = ", ".join(best.surface.get(name, name) for name in others[:3])
    return Conflict(f"it names {', '.join(pair.strangers[:3])}, the passage {instead}")
