"""How near an answer is to its reference: by the entailment model, the sentence model and words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import TYPE_CHECKING, NamedTuple

from krino.judges.rag.facts import RagFacts, opens_with_yes_or_no
from krino.judges.rag.labels import Similarity, step_of, worth_of
from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.tables import table
from krino.text.forms import canonical_text
from krino.text.words import stop_words

if TYPE_CHECKING:
    from krino.models.entailment import Entailment

TextPair = tuple[str, str]

_LONGEST = 20_000
_MOST_ASKED = 400
"""Characters up to which answer and reference are short enough for the model to read both as one."""
_MOST_BARE, _MOST_NAMED = 3, 8
"""Words up to which a reference can be the bare name or value that was asked for; and a name of many words."""
_WINDOW = 130
"""Words of an answer that the model reads beside a sentence of the reference."""
_MOST_SENTENCES, _MOST_WINDOWS = 6, 6
_LEAST = 1e-3
_SAME_WORDS = 0.95
"""Share of words in common from which on two texts differ in their order alone."""
_SPELLED = 4
"""Letters that a word needs to be looked for in other spellings."""


class Likeness(NamedTuple):
    """A score with the step of the scale it belongs to, and why."""

    step: Similarity
    score: float
    why: str


def compare_references(batch: Sequence[RagFacts]) -> list[Likeness | None]:
    """For each case how near its answer is to its reference; None without one to compare with."""
    near, held = _asked(batch)
    return [_place_on_scale(facts, near, held) for facts in batch]


def _asked(batch: Sequence[RagFacts]) -> tuple[Mapping[TextPair, float], Mapping[TextPair, Entailment]]:
    """What the sentence model and the entailment model say of all pairs of a batch."""
    from krino.models.entailment import entail

    near = _measure(pair for facts in batch for pair in _meant(facts))
    asked = list(dict.fromkeys(pair for facts in batch for pair in _held_pairs(facts)))
    return near, dict(zip(asked, entail(asked), strict=True))


def nearness(answer: str, reference: str) -> float:
    """How near two English texts are in meaning, in [0, 1]; the part of the score that knows no question."""
    overlap = Overlap.between(_read(answer, "en"), _read(reference, "en"), frozenset(), answer)
    return _blend(cosines([(answer, reference)])[0], overlap)


def cosines(pairs: Sequence[TextPair]) -> list[float]:
    """One number for each pair, 0.0 where it would be negative; each text is embedded once."""
    if not pairs:
        return []
    from krino.models.embedder import embed

    texts = list(dict.fromkeys(text for pair in pairs for text in pair))
    place = {text: number for number, text in enumerate(texts)}
    vectors = embed(texts)
    return [max(0.0, float(vectors[place[first]] @ vectors[place[second]])) for first, second in pairs]


def _measure(pairs: Iterable[TextPair]) -> Mapping[TextPair, float]:
    distinct = list(dict.fromkeys(pairs))
    return dict(zip(distinct, cosines(distinct), strict=True))


def _meant(facts: RagFacts) -> Iterable[TextPair]:
    """The texts that the sentence model compares: it knows English."""
    if facts.open.similarity and facts.case.reference is not None and facts.language in (None, "en"):
        yield facts.case.answer, facts.case.reference


def is_bare(reference: str) -> bool:
    """Whether a reference only names what was asked for: a few words or one long name, and no full stop."""
    words = reference.split()
    if len(words) > _MOST_NAMED or reference.rstrip().endswith((".", "?", "!")):
        return False
    return len(words) <= _MOST_BARE or all(not word[0].islower() or word in stop_words("en") for word in words)


# --- whether the answer holds the reference -----------------------------------------------------------


def _held_pairs(facts: RagFacts) -> Iterable[TextPair]:
    """Each sentence of the reference beside each window of the answer."""
    reference = facts.case.reference
    if reference is not None and facts.open.similarity and not is_bare(reference) and not _is_short(facts):
        yield from ((window, sentence) for sentence in _sentences_of(reference) for window in _windows_of(facts))


def _sentences_of(reference: str) -> list[str]:
    return [item.text for item in split_sentences(reference[:_LONGEST])[:_MOST_SENTENCES]]


def _windows_of(facts: RagFacts) -> list[str]:
    """The answer in stretches of whole sentences that the model can read at once."""
    windows: list[list[str]] = [[]]
    room = _WINDOW
    for sentence in facts.sentences:
        length = sentence.text.count(" ") + 1
        if length > room and windows[-1]:
            windows.append([])
            room = _WINDOW
        windows[-1].append(sentence.text)
        room -= length
    return [" ".join(texts) for texts in windows[:_MOST_WINDOWS]]


def _held(facts: RagFacts, held: Mapping[TextPair, Entailment]) -> tuple[float, float]:
    """How much of the reference the answer supports, and how strongly it contradicts any sentence of it."""
    windows = _windows_of(facts)
    said = [[held[window, sentence] for window in windows] for sentence in _sentences_of(facts.case.reference or "")]
    if not said:
        return 0.0, 0.0
    best = [max(found, key=lambda one: one.supported) for found in said]
    against = max(min(one.contradicted for one in found) for found in said)
    return sum(one.supported for one in best) / len(best), against


# --- the score ---------------------------------------------------------------------------------------


def _place_on_scale(
    facts: RagFacts, near: Mapping[TextPair, float], held: Mapping[TextPair, Entailment]
) -> Likeness | None:
    answer, reference = facts.case.answer, facts.case.reference
    if reference is None or not facts.open.similarity:
        return None
    overlap, meaning = _overlap(facts), _meaning(facts, near)
    cosine = near.get((answer, reference))
    why = f"{overlap.shared} of the reference's {overlap.theirs} content words found"
    why += "" if cosine is None else f", nearness in meaning {cosine:.2f}"
    if is_bare(reference):
        score = _weigh("bare", overlap.values(meaning))
    elif _is_short(facts):
        same = _same(facts)
        score = _with_same(same, _blend(meaning, overlap), overlap)
        why += f"; by the entailment model they say the same with probability {same:.2f}"
    else:
        score = _weigh("long_texts", _signs(facts, near, held))
        why += f"; the answer holds {_held(facts, held)[0]:.0%} of it by the entailment model"
    if conflict := facts.exact_difference:
        score = min(score, worth_of("little"))
        why = f"{why}; {conflict}"
    elif (agreed := _agree_on_yes(answer, reference)) is not None:
        score = max(score, worth_of("close")) if agreed else min(score, worth_of("little"))
        why = f"{why}; both say {'the same' if agreed else 'the opposite'} to what is asked"
    score = round(score, 2)
    return Likeness(step_of(score), score, why)


def _with_same(found: float, score: float, overlap: Overlap) -> float:
    """The model's word weighs most; but the same words and values in another order are the same where it is unsure."""
    limits = table("local")["similarity"]
    weighed: float = limits["same"] / (1 + exp(-_log_odds(found) - limits["even"])) + (1 - limits["same"]) * score
    same_words = overlap.share >= _SAME_WORDS and found >= limits["unsure"]
    return max(weighed, score) if same_words else weighed


def signs_of(batch: Sequence[RagFacts]) -> list[dict[str, float] | None]:
    """What is weighed where answer or reference is long, by the names in `[similarity] long_texts`; None elsewhere."""
    near, held = _asked(batch)
    have_reference = (facts.case.reference is not None and not _is_short(facts) for facts in batch)
    long = (one and not is_bare(facts.case.reference or "") for one, facts in zip(have_reference, batch, strict=True))
    return [_signs(facts, near, held) if one else None for one, facts in zip(long, batch, strict=True)]


def _signs(facts: RagFacts, near: Mapping[TextPair, float], held: Mapping[TextPair, Entailment]) -> dict[str, float]:
    share, against = _held(facts, held)
    found = _overlap(facts).values(_meaning(facts, near))
    return found | {"held": _log_odds(share), "against": _log_odds(against)}


def _meaning(facts: RagFacts, near: Mapping[TextPair, float]) -> float:
    answer, reference = facts.case.answer, facts.case.reference or ""
    cosine = near.get((answer, reference))
    return _letter_share(answer, reference) if cosine is None else cosine


def _is_short(facts: RagFacts) -> bool:
    return max(len(facts.case.answer), len(facts.case.reference or "")) <= _MOST_ASKED


def _same(facts: RagFacts) -> float:
    from krino.models.entailment import same

    return same(facts.case.question, [(facts.case.answer, facts.case.reference or "")])[0]


def _log_odds(share: float) -> float:
    return log((share + _LEAST) / (1 - share + _LEAST))


def _agree_on_yes(answer: str, reference: str) -> bool | None:
    """Whether both say the same yes or no. None where one says neither, and where both say the same and more."""
    ours, theirs = _says_yes(answer), _says_yes(reference)
    if ours is None or theirs is None:
        return None
    return None if ours == theirs and min(len(answer.split()), len(reference.split())) > 1 else ours == theirs


def _says_yes(text: str) -> bool | None:
    """True for a text that opens with a yes, False with a no."""
    if not opens_with_yes_or_no(text):
        return None
    first = text.split(maxsplit=1)[0].strip(".,;:!*\"'").lower()
    return first in table("words")["polarity"]["yes"]


def _overlap(facts: RagFacts) -> Overlap:
    expected, asked = _read(facts.case.reference or "", facts.language), facts.question_reading.stems
    return Overlap.between(facts.readings, expected, asked, facts.case.answer)


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


def _weigh(kind: str, values: Mapping[str, float]) -> float:
    """A logistic rule, fitted to what people said of pairs; [0, 1]."""
    weights = table("local")["similarity"][kind]
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
    plain = f" {canonical_text(text)} "
    return Counter(plain[place : place + 3] for place in range(len(plain) - 2))
