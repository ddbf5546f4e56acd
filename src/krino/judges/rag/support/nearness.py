"""How near texts are in meaning, and how near an answer is to its reference (elsewhere than in English by letters)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Similarity, step_of, worth_of
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.reading.values import comparable, find_names, offered, stated
from krino.judges.rag.reading.words import Reading, opposed_words, opposite_words, read_sentence
from krino.judges.rag.tables import table
from krino.text.forms import canonical
from krino.text.words import stem, stop_words

TextPair = tuple[str, str]

_LONGEST = 20_000
_FRAME = 0.6
_MOST_ENTAILED = 200
"""Characters up to which answer and reference are short enough to be worth asking about."""
_MOST_COMPARED = 40
"""Sentences of each side that are held against each other for a conflict."""


def reads(language: str | None) -> bool:
    """The sentence model knows English; a text too short to tell is taken for it."""
    return language is None or language == "en"


def cosines(pairs: Sequence[TextPair]) -> list[float]:
    """One number for each pair, 0.0 where it would be negative; each text is embedded once."""
    if not pairs:
        return []
    from krino.models.embedder import embed

    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    place = {text: number for number, text in enumerate(texts)}
    vectors = embed(texts)
    return [max(0.0, float(vectors[place[first]] @ vectors[place[second]])) for first, second in pairs]


def measure(pairs: Iterable[TextPair]) -> Mapping[TextPair, float]:
    """The same, to look pairs up in."""
    distinct = list(dict.fromkeys(pairs))
    return dict(zip(distinct, cosines(distinct), strict=True))


@dataclass(frozen=True, slots=True)
class Likeness:
    """A score with the step of the scale it belongs to, and why."""

    step: Similarity
    score: float
    why: str


def nearness(answer: str, reference: str) -> float:
    """How near two English texts are in meaning, in [0, 1]; the part of the score that knows no question."""
    overlap = _Overlap.between(_read(answer, "en"), _read(reference, "en"), frozenset())
    return _blend(cosines([(answer, reference)])[0], overlap)


def reference_pair(facts: RagFacts) -> Iterable[TextPair]:
    """The texts whose nearness in meaning `place_on_scale` will look up."""
    if facts.open.similarity and facts.case.reference is not None and reads(facts.language):
        yield facts.case.answer, facts.case.reference


def place_on_scale(facts: RagFacts, near: Mapping[TextPair, float]) -> Likeness | None:
    """None without a reference to compare with. A different value or polarity leaves little, however near the rest."""
    answer, reference = facts.case.answer, facts.case.reference
    if reference is None or not facts.open.similarity:
        return None
    expected, asked = _read(reference, facts.language), facts.question_reading.stems
    overlap = _Overlap.between(facts.readings, expected, asked)
    cosine = near.get((answer, reference))
    score = _blend(_letter_share(answer, reference) if cosine is None else cosine, overlap)
    why = f"{overlap.shared} of the reference's {overlap.theirs} content words found"
    why += "" if cosine is None else f", nearness in meaning {cosine:.2f}"
    if conflict := find_difference(facts, expected):
        score = min(score, worth_of("little"))
        why = f"{why}; {conflict}"
    elif cosine is not None and overlap.shared and _is_paraphrase(answer, reference, score):
        score = table("local")["similarity"]["paraphrase"]
        why = f"{why}; each follows from the other by the entailment model"
    score = round(score, 2)
    return Likeness(step_of(score), score, why)


def _is_paraphrase(answer: str, reference: str, score: float) -> bool:
    """Asked only of texts that are near but not quite: whether the entailment model takes each to follow."""
    limits = table("local")["similarity"]
    if not limits["near"] <= score < limits["paraphrase"] or max(len(answer), len(reference)) > _MOST_ENTAILED:
        return False
    from krino.models.entailment import entail

    both = entail([(answer, reference), (reference, answer)])
    return all(said.supported >= limits["entailed"] for said in both)


@dataclass(frozen=True, slots=True)
class _Overlap:
    """How many content words two texts share, and have."""

    shared: int
    ours: int
    theirs: int

    @classmethod
    def between(cls, ours: Iterable[Reading], theirs: Iterable[Reading], asked: frozenset[str]) -> _Overlap:
        """Words that the question already has say nothing, so they are set aside where others are left."""
        first, second = _content(ours), _content(theirs)
        if first - asked and second - asked:
            first, second = first - asked, second - asked
        return cls(len(first & second), len(first), len(second))

    @property
    def share(self) -> float:
        """The harmonic mean of the shares that each side's words find in the other."""
        return 2 * self.shared / (self.ours + self.theirs) if self.shared else 0.0


def _blend(meaning: float, overlap: _Overlap) -> float:
    weights = table("local")["similarity"]
    score: float = weights["meaning"] * meaning + weights["words"] * overlap.share
    if overlap.theirs and overlap.shared == overlap.theirs:
        score = max(score, weights["contained"])
    return min(max(score, 0.0), 1.0)


def _read(text: str, language: str | None) -> tuple[Reading, ...]:
    return tuple(read_sentence(item.text, language) for item in split_sentences(text[:_LONGEST]))


def _content(readings: Iterable[Reading]) -> frozenset[str]:
    return frozenset(root for reading in readings for root in reading.content)


# --- differences to the letter ---------------------------------------------------------------------


def find_difference(facts: RagFacts, expected: Sequence[Reading]) -> str | None:
    """A value, a denial, an opposite or a name in which the answer cannot agree with the reference."""
    ours, theirs = facts.readings[:_MOST_COMPARED], tuple(expected)[:_MOST_COMPARED]
    if conflict := _other_value(ours, theirs, facts.question_reading.stems):
        return conflict
    for reading in ours:
        for other in theirs:
            if words := opposed_words(reading, other):
                return f"only one of the two denies '{reading.surface[words[0]]}'"
            if (pair := opposite_words(reading, other)) and _same_frame(reading, other, pair):
                return f"the answer says '{pair[0]}', the reference '{pair[1]}'"
    return _other_name(facts, ours, theirs)


def _other_value(ours: Sequence[Reading], theirs: Sequence[Reading], asked: frozenset[str]) -> str | None:
    our_values = [value for reading in ours for value in reading.values]
    their_values = [value for reading in theirs for value in reading.values]
    ours_offered, theirs_offered = offered(our_values), offered(their_values)
    missing = [value for value in their_values if not stated(value, ours_offered)]
    instead = [value for value in our_values if not stated(value, theirs_offered) and asked.isdisjoint(value.keys)]
    for value in missing:
        for other in instead:
            alike = value.kind == other.kind == "number" and value.unit == other.unit
            if alike or comparable(value, other):
                return f"the answer says {other.text}, the reference {value.text}"
    return None


def _same_frame(first: Reading, second: Reading, pair: tuple[str, str]) -> bool:
    """Whether the rest of the two is much the same, or there is no rest."""
    poles = {stem(word) for word in pair}
    ours, theirs = frozenset(first.content) - poles, frozenset(second.content) - poles
    return len(ours & theirs) >= _FRAME * min(len(ours), len(theirs))


def _other_name(facts: RagFacts, ours: Sequence[Reading], theirs: Sequence[Reading]) -> str | None:
    """Each names something that the other does not, and what is left is much the same or what was asked anyway."""
    first, second = _content(ours), _content(theirs)
    here, there = first - second, second - first
    names = _names_of(facts, facts.case.answer), _names_of(facts, facts.case.reference or "")
    if not here or not there or not here <= names[0] or not there <= names[1]:
        return None
    if any(_may_be_short_for(a, b) for a in here for b in there):
        return None
    shown = (", ".join(sorted(here)[:3]), ", ".join(sorted(there)[:3]))
    return f"the answer names {shown[0]}, the reference {shown[1]}"


def _names_of(facts: RagFacts, text: str) -> frozenset[str]:
    """Names inside its sentences; where a name is asked for, also a capitalised word that opens one."""
    if facts.language == "de":
        return frozenset()
    found = {name for item in split_sentences(text) for name in find_names(item.text)}
    if any(part.wants_name for part in question_parts(facts.case.question)):
        openings = (item.text.split()[0].strip("\"'“«(,.") for item in split_sentences(text))
        found.update(word for word in openings if word[:1].isupper() and word.lower() not in stop_words(facts.language))
    return frozenset(stem(name.lower()) for name in found)


def _may_be_short_for(first: str, second: str) -> bool:
    """ "US" for "United", "Rob" for "Robert": a short form is no other name."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short[:3]) or (len(short) <= 4 and long[0] == short[0])


def _letter_share(first: str, second: str) -> float:
    """Cosine of the counts of three-letter pieces: what is left when words are inflected or compounded."""
    ours, theirs = _pieces(first[:_LONGEST]), _pieces(second[:_LONGEST])
    if not ours or not theirs:
        return 0.0
    shared = sum(count * theirs[piece] for piece, count in ours.items() if piece in theirs)
    return shared / sqrt(
        sum(count * count for count in ours.values()) * sum(count * count for count in theirs.values())
    )


def _pieces(text: str) -> Counter[str]:
    plain = f" {canonical(text)} "
    return Counter(plain[place : place + 3] for place in range(len(plain) - 2))
