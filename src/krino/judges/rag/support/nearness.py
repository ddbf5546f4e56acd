"""How near texts are in meaning, and how near an answer is to its reference (elsewhere than in English by letters)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt

from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import Similarity, step_of, worth_of
from krino.judges.rag.reading.grammar import verb_form, word_list
from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.tables import table
from krino.text.forms import canonical
from krino.text.words import stop_words

TextPair = tuple[str, str]

_LONGEST = 20_000
_MOST_ASKED = 400
"""Characters up to which answer and reference are short enough for the model to read both."""
_MOST_BARE, _MOST_NAMED = 3, 8
"""Words up to which a reference can be the bare name or value that was asked for; and a name of many words."""
_SAME_WORDS = 0.95
"""Share of words in common from which on two texts differ in their order alone."""
_LEAST = 1e-3
_SPELLED = 4
"""Letters that a word needs to be looked for in other spellings."""


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
    overlap = Overlap.between(_read(answer, "en"), _read(reference, "en"), frozenset(), answer)
    return _blend(cosines([(answer, reference)])[0], overlap)


def is_bare(reference: str) -> bool:
    """Whether a reference only names what was asked for: a few words or one long name, no verb and no full stop."""
    words = reference.split()
    if len(words) > _MOST_NAMED or reference.rstrip().endswith((".", "?", "!")) or any(map(_is_verb, words)):
        return False
    return len(words) <= _MOST_BARE or all(not word[0].islower() or word in stop_words("en") for word in words)


def _is_verb(word: str) -> bool:
    """A word that helps a verb or is one in some form but its plainest; of capitals only one such as "Warns"."""
    form = verb_form(word.lower())
    if form is None:
        return word in word_list("auxiliary")
    return form[1] == "third" or (form[1] != "base" and word[0].islower())


def overlap_with_reference(facts: RagFacts) -> Overlap:
    expected, asked = _read(facts.case.reference or "", facts.language), facts.question_reading.stems
    return Overlap.between(facts.readings, expected, asked, facts.case.answer)


def reference_pair(facts: RagFacts) -> Iterable[TextPair]:
    """The texts whose nearness in meaning `place_on_scale` will look up."""
    if facts.open.similarity and facts.case.reference is not None and reads(facts.language):
        yield facts.case.answer, facts.case.reference


def _is_asked_about(facts: RagFacts) -> bool:
    """Sentences that are short enough to be read together: the entailment model tells whether they say the same."""
    answer, reference = facts.case.answer, facts.case.reference or ""
    return not is_bare(reference) and max(len(answer), len(reference)) <= _MOST_ASKED


def place_on_scale(facts: RagFacts, near: Mapping[TextPair, float]) -> Likeness | None:
    """None without a reference to compare with. A different value or polarity leaves little, however near the rest."""
    answer, reference = facts.case.answer, facts.case.reference
    if reference is None or not facts.open.similarity:
        return None
    overlap = overlap_with_reference(facts)
    cosine = near.get((answer, reference))
    score = _by_nearness(facts, overlap, cosine)
    why = f"{overlap.shared} of the reference's {overlap.theirs} content words found"
    why += "" if cosine is None else f", nearness in meaning {cosine:.2f}"
    agreed = _same_polarity(answer, reference)
    if agreed is not None:
        score = max(score, worth_of("close")) if agreed else min(score, worth_of("little"))
        why = f"{why}; both say {'the same' if agreed else 'the opposite'} to what is asked"
    elif conflict := facts.difference:
        score = min(score, worth_of("little"))
        why = f"{why}; {conflict}"
    elif _is_asked_about(facts):
        found = _alike(facts)
        score = _with_alike(found, score, overlap)
        why = f"{why}; by the entailment model they say the same with probability {found:.2f}"
    score = round(score, 2)
    return Likeness(step_of(score), score, why)


def _by_nearness(facts: RagFacts, overlap: Overlap, cosine: float | None) -> float:
    answer, reference = facts.case.answer, facts.case.reference or ""
    meaning = _letter_share(answer, reference) if cosine is None else cosine
    return _weigh(overlap.values(meaning)) if is_bare(reference) else _blend(meaning, overlap)


def _alike(facts: RagFacts) -> float:
    from krino.models.entailment import same

    return same(facts.case.question, [(facts.case.answer, facts.case.reference or "")])[0]


def _with_alike(found: float, score: float, overlap: Overlap) -> float:
    """The model's word weighs most; but the same words and values in another order are the same, whatever it says."""
    limits = table("local")["similarity"]
    odds = log((found + _LEAST) / (1 - found + _LEAST)) + limits["even"]
    weighed: float = limits["same"] / (1 + exp(-odds)) + (1 - limits["same"]) * score
    return max(weighed, score) if overlap.share >= _SAME_WORDS else weighed


def _same_polarity(answer: str, reference: str) -> bool | None:
    """Whether two texts say the same yes or no. None where one says neither, and where both say the same and more:
    what more they say may differ."""
    ours, theirs = _polarity(answer), _polarity(reference)
    if ours is None or theirs is None:
        return None
    return None if ours == theirs and min(len(answer.split()), len(reference.split())) > 1 else ours == theirs


def _polarity(text: str) -> bool | None:
    """True for a text that opens with a yes, False with a no."""
    known = table("local")["polarity"]
    first = text.split(maxsplit=1)[0].strip(".,;:!*\"'").lower() if text.strip() else ""
    return True if first in known["yes"] else False if first in known["no"] else None


@dataclass(frozen=True, slots=True)
class Overlap:
    """How many content words two texts share, and have."""

    shared: int
    ours: int
    theirs: int
    alike: int
    """Words of the reference that the answer has in another spelling."""

    @classmethod
    def between(cls, ours: Iterable[Reading], theirs: Sequence[Reading], asked: frozenset[str], answer: str) -> Overlap:
        """Words that the question already has say nothing, so they are set aside where others are left."""
        first, second = _content(ours), _content(theirs)
        if first - asked and second - asked:
            first, second = first - asked, second - asked
        missing = second - first
        lowered = answer[:_LONGEST].lower() if missing else ""
        surfaces = [reading.surface[root] for reading in theirs for root in missing & reading.surface.keys()]
        alike = sum(_is_spelled_in(surface, lowered, first) for surface in dict.fromkeys(surfaces))
        return cls(len(first & second), len(first), len(second), min(alike, len(missing)))

    @property
    def share(self) -> float:
        """The harmonic mean of the shares that each side's words find in the other."""
        return 2 * self.shared / (self.ours + self.theirs) if self.shared else 0.0

    def values(self, meaning: float) -> dict[str, float]:
        found = (self.shared + self.alike) / self.theirs if self.theirs else 0.0
        return {
            "meaning": meaning,
            "words": self.share,
            "found": found,
            "all_found": float(found == 1.0),
            "none_found": float(found == 0.0),
            "longer": log((1 + self.ours) / (1 + self.theirs)),
        }


def _is_spelled_in(word: str, answer: str, roots: frozenset[str]) -> bool:
    """ "Lamas" in "Lamas1", "Wimpey" for "Wimpy", "Vince" for "Vincent": figures are never taken for each other."""
    if len(word) < _SPELLED or not word.isalpha():
        return False
    if word in answer:
        return True
    alike = (root for root in roots if root[:_SPELLED] == word[:_SPELLED] and root.isalpha())
    return any(abs(len(root) - len(word)) <= 2 for root in alike)


def _blend(meaning: float, overlap: Overlap) -> float:
    weights = table("local")["similarity"]
    score: float = weights["meaning"] * meaning + weights["words"] * overlap.share
    if overlap.theirs and overlap.shared == overlap.theirs:
        score = max(score, weights["contained"])
    return min(max(score, 0.0), 1.0)


def _weigh(values: Mapping[str, float]) -> float:
    """A logistic rule, fitted to what people said of pairs; [0, 1]."""
    weights = table("local")["similarity"]["bare"]
    return 1 / (1 + exp(-weights["start"] - sum(weights[name] * value for name, value in values.items())))


def _read(text: str, language: str | None) -> tuple[Reading, ...]:
    return tuple(read_sentence(item.text, language) for item in split_sentences(text[:_LONGEST]))


def _content(readings: Iterable[Reading]) -> frozenset[str]:
    return frozenset(root for reading in readings for root in reading.content)


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
