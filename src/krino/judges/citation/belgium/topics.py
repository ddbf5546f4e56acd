"""Finds the candidate whose subject a snippet shares, across French, Dutch, English and German."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from krino.judges.citation.belgium import table
from krino.judges.citation.belgium.dates import find_dates, fold_letters
from krino.text.quoting import widened

Strength = Literal["strong", "moderate", "weak", "none"]

_MAX_TEXT = 20_000
_MAX_QUOTE = 240
_SAME = 1e-9
# How far ahead the next word of a phrase may be: at most two other words in between.
_REACH = 4
_MAX_WORD = 60
_MAX_VOCABULARY = 200_000
_STRONG, _MODERATE, _WEAK = 1.8, 0.9, 0.45
_STRONG_MARGIN, _MODERATE_MARGIN = 0.9, 0.45
# However many ordinary words agree, they alone never make more than a moderate match.
_WORDS_CAP = 1.6
_LONG_WORD, _SHORT_WORD, _STEM = 0.5, 0.3, 6
_ARTICLE, _COMMON_ARTICLE, _SAME_CODE, _LAW = 0.9, 0.25, 0.8, 1.0

_DIGIT = re.compile("[0-9]")
_WORD = re.compile("[a-z0-9]+")
_SUFFIX = "(?:bis|ter|quater|quinquies|sexies|septies|octies|novies|decies|undecies)"
_NUMBER = rf"[0-9]{{1,4}}(?:[.:/][0-9]{{1,4}}){{0,3}}(?:/[0-9]{{1,2}})?\s?{_SUFFIX}?"
_ARTICLES = re.compile(
    rf"\bart(?:icles?|ikels?|ikelen|t)?\.?\s{{0,2}}({_NUMBER}(?:\s?(?:,|et|en|and|und|a|tot|-)\s?{_NUMBER}\b){{0,6}})"
)
_LAW_WORD = re.compile(
    r"\b(?:loi|wet|decret|decreet|arrete royal|koninklijk besluit|k\.?b\.?|a\.?r\.?|ordonnance|ordonnantie|"
    r"act|law|gesetz|dekret)\s(?:coordonnee?s?\s|programme\s)?(?:du|van|of|vom|d\.d\.)?\s?(?=[0-9])"
)
_CODE_WINDOW = 60


class _Concept(NamedTuple):
    name: str
    weight: float


class _Phrase(NamedTuple):
    """A term of several words: what must follow its first two words, and the concept it names."""

    rest: tuple[int, ...]
    concept: int


class _Word(NamedTuple):
    """An analysed word: the features it names alone, the atoms it matches, and the phrases it can begin."""

    features: tuple[str, ...]
    atoms: tuple[int, ...]
    phrases: dict[int, list[_Phrase]]


_FEATURES_OF, _ATOMS_OF, _PHRASES_OF = map(itemgetter, range(3))
_NOTHING = _Word((), (), {})


class _WordsOnly(dict[int, str]):
    """A translation table to lower-case letters without accents; other characters become spaces."""

    def __missing__(self, code: int) -> str:
        plain = fold_letters(chr(code)).lower()
        self[code] = plain if plain.isascii() and plain.isalnum() else " "
        return self[code]


_WORDS_ONLY = _WordsOnly()


@dataclass(frozen=True, slots=True)
class TopicMatch:
    """The candidate that a snippet is about (None: undecided), how clearly, and the words that show it."""

    index: int | None
    strength: Strength
    scores: tuple[float, ...]
    quote: str
    terms: tuple[str, ...]


class _Lexicon:
    """The table of legal terms as look-ups: word patterns ("atoms"), concepts of one word, and phrases."""

    def __init__(self) -> None:
        """Loads stop words, names of codes and legal terms into the look-ups."""
        stop = table("stopwords")
        self.small = frozenset(stop["small"].split())
        self.silent = frozenset(stop["silent"].split())
        self.court_names = re.compile(rf"\b(?:{'|'.join(stop['court_names'])})")
        self.codes = self._code_pattern(stop["codes"])
        self.concepts: list[_Concept] = []
        self.exact: dict[str, int] = {}
        self.prefixes: dict[str, int] = {}
        self.alone: dict[int, list[int]] = {}
        self.opening: dict[int, dict[int, list[_Phrase]]] = {}
        for name, entry in table("legal_terms")["terms"].items():
            self._add(name, entry)
        self.shortest = min(map(len, self.prefixes))

    @staticmethod
    def _code_pattern(codes: Mapping[str, Sequence[str]]) -> re.Pattern[str]:
        """Returns the pattern that finds the names of codes of law."""
        named = (
            f"(?P<{code}>{'|'.join(re.escape(form) for form in sorted(forms, key=len, reverse=True))})"
            for code, forms in codes.items()
        )
        return re.compile(rf"(?<![a-z])(?:{'|'.join(named)})(?![a-z])")

    def _atom(self, pattern: str) -> int:
        table = self.prefixes if pattern.endswith("*") else self.exact
        return table.setdefault(pattern.rstrip("*"), len(self.exact) + len(self.prefixes))

    def _add(self, name: str, entry: Mapping[str, Any]) -> None:
        """Adds a concept with its words and phrases in all languages."""
        concept = len(self.concepts)
        self.concepts.append(_Concept(name.replace("_", " "), entry.get("weight", 1.0)))
        for language in ("fr", "nl", "en", "de"):
            for form in entry.get(language, ()):
                words = re.findall(r"[a-z0-9]+\*?", fold_letters(form).lower())
                atoms = [self._atom(word) for word in words if word not in self.small]
                if len(atoms) == 1:
                    self.alone.setdefault(atoms[0], []).append(concept)
                elif atoms:
                    phrases = self.opening.setdefault(atoms[0], {}).setdefault(atoms[1], [])
                    phrases.append(_Phrase(tuple(atoms[2:]), concept))

    def atoms(self, word: str) -> set[int]:
        """Returns the numbers of all known words and beginnings of words that fit a word."""
        found = {self.prefixes[word[:n]] for n in range(self.shortest, len(word) + 1) if word[:n] in self.prefixes}
        for form in (word, word.removesuffix("s")):
            if form in self.exact:
                found.add(self.exact[form])
        return found


@cache
def _lexicon() -> _Lexicon:
    return _Lexicon()


def _stem(word: str) -> str:
    """The start of a word, with spelling differences between the four languages removed."""
    level = word.replace("k", "c").replace("ph", "f").replace("y", "i").replace("sch", "sh")
    level = re.sub(r"(.)\1", r"\1", level)
    return level[:_STEM] if len(level) > _STEM else level.rstrip("sen")


def _analyse_word(word: str) -> _Word | None:
    """Returns the concepts and features that a word may stand for.

    None for small words and figures, which are skipped; an unknown word keeps its place as `_NOTHING`.
    """
    lexicon = _lexicon()
    if word in lexicon.small or len(word) > _MAX_WORD or word.isdigit():
        return None
    atoms = lexicon.atoms(word)
    concepts = sorted({concept for atom in atoms for concept in lexicon.alone.get(atom, ())})
    features = tuple(lexicon.concepts[concept].name for concept in concepts)
    if not features and len(word) >= 5 and word not in lexicon.silent and word.isalpha():
        features = ("~" + _stem(word),)
    if not (atoms or features):
        return _NOTHING
    phrases: dict[int, list[_Phrase]] = {}
    for atom in sorted(atoms):
        for second, openings in lexicon.opening.get(atom, {}).items():
            phrases.setdefault(second, []).extend(openings)
    return _Word(features, tuple(sorted(atoms)), phrases)


class _Vocabulary(dict[str, "_Word | None"]):
    """Caches analysed words; None for those that say nothing about a subject."""

    def __missing__(self, word: str) -> _Word | None:
        """Analyses a word at its first use; a vocabulary that has grown too large starts again."""
        if len(self) >= _MAX_VOCABULARY:
            self.clear()
        self[word] = analysis = _analyse_word(word)
        return analysis


_VOCABULARY = _Vocabulary()


def _find_phrase_end(rest: tuple[int, ...], words: Sequence[_Word], position: int) -> int:
    """Returns where a phrase ends whose first words end at `position`, or -1; other words may come between."""
    at = position
    for atom in rest:
        for ahead in range(at + 1, min(at + _REACH, len(words))):
            if atom in words[ahead].atoms:
                at = ahead
                break
        else:
            return -1
    return at


def _find_phrase_concepts(words: Sequence[_Word]) -> list[tuple[str, int, int]]:
    """Returns every concept named by several words, with the places of its first and last word."""
    concepts, found = _lexicon().concepts, []
    absent_from = frozenset(chain.from_iterable(map(_ATOMS_OF, words))).isdisjoint
    openers = [at for at, opened in enumerate(map(_PHRASES_OF, words)) if opened and not absent_from(opened)]
    for position in openers:
        phrases = words[position].phrases
        for ahead in range(position + 1, min(position + _REACH, len(words))):
            for atom in words[ahead].atoms:
                for rest, concept in phrases.get(atom, ()):
                    end = _find_phrase_end(rest, words, ahead)
                    if end >= 0:
                        found.append((concepts[concept].name, position, end))
    return found


def _find_code_near(folded: str, start: int, end: int) -> str:
    """Returns the code of law named right after an article, or an empty text."""
    after = _lexicon().codes.search(folded, end, end + _CODE_WINDOW)
    if after is None or re.search(r"\bart", folded[end : after.start()]):
        return ""
    return after.lastgroup or ""


def _find_statutes(folded: str) -> Iterable[tuple[str, int, int]]:
    """Yields articles (with their code if it is named) and laws by date, with their offsets."""
    if "art" in folded:
        for match in _ARTICLES.finditer(folded):
            code = _find_code_near(folded, *match.span())
            for number in re.findall(_NUMBER, match.group(1)):
                article = number.replace(" ", "")
                yield f"art. {article}", *match.span()
                if code:
                    yield f"art. {article} {code}", *match.span()
    for match in _LAW_WORD.finditer(folded):
        dates = find_dates(folded[match.end() : match.end() + 30])
        if dates and dates[0].start == 0:
            yield f"law of {dates[0].date.isoformat()}", match.start(), match.end() + dates[0].end


@lru_cache(maxsize=32_768)
def _find_features(text: str) -> frozenset[str]:
    """Returns everything in a text that says what it is about: words, phrases, articles and statutes."""
    words = list(filter(None, map(_VOCABULARY.__getitem__, text.translate(_WORDS_ONLY).split())))
    features = set(chain.from_iterable(map(_FEATURES_OF, words)))
    features.update([name for name, _, _ in _find_phrase_concepts(words)])
    if _DIGIT.search(text):
        features.update([name for name, _, _ in _find_statutes(_fold(text))])
    return frozenset(features)


def _fold(text: str) -> str:
    """Folds letters to lower case without changing offsets."""
    folded = fold_letters(text[:_MAX_TEXT])
    lowered = folded.lower()
    # Some capitals become two characters in lower case; offsets must stay those of the text.
    return lowered if len(lowered) == len(folded) else "".join(c.lower() if c.isascii() else c for c in folded)


@lru_cache(maxsize=16_384)
def _find_snippet_features(snippet: str) -> frozenset[str]:
    return _find_features(_lexicon().court_names.sub(" ", _fold(snippet)))


@cache
def _concept_weights() -> dict[str, float]:
    return {concept.name: concept.weight for concept in _lexicon().concepts}


@lru_cache(maxsize=65_536)
def _weigh_feature(feature: str) -> float:
    """Returns how much a shared feature counts: rare ones more than common ones."""
    if feature.startswith("~"):
        return _LONG_WORD if len(feature) > _STEM else _SHORT_WORD
    if feature.startswith("law of "):
        return _LAW
    if feature.startswith("art. "):
        number, _, code = feature[5:].partition(" ")
        if code:
            return _SAME_CODE
        return _ARTICLE if len(number) > 2 else _COMMON_ARTICLE
    return _concept_weights()[feature]


def _score_features(shared: Iterable[str], counts: Mapping[str, int], candidates: int) -> float:
    """Returns the weight of shared features; one that every candidate has weighs nothing.

    Words outside the table of legal terms count up to a cap.
    """
    terms = words = 0.0
    for feature in sorted(shared):
        rarity = (candidates - counts[feature]) / (candidates - 1) if candidates > 1 else 1.0
        if feature.startswith("~"):
            words += _weigh_feature(feature) * rarity
        else:
            terms += _weigh_feature(feature) * rarity
    return terms + min(words, _WORDS_CAP)


def _grade_strength(best: float, second: float) -> Strength:
    """Grades how clearly the best candidate is ahead of the second."""
    margin = best - second
    if best >= _STRONG and margin >= max(_STRONG_MARGIN, best * 0.4):
        return "strong"
    if best >= _MODERATE and margin >= max(_MODERATE_MARGIN, best * 0.2):
        return "moderate"
    return "weak" if best >= _WEAK else "none"


@lru_cache(maxsize=8_192)
def _locate_features(text: str) -> tuple[tuple[int, int, str], ...]:
    """Returns the features of a text with their offsets, in order."""
    letters = text.translate(_WORDS_ONLY)
    read = [(match.span(), _VOCABULARY[match.group()]) for match in _WORD.finditer(letters)]
    spans = [span for span, word in read if word is not None]
    words = [word for _, word in read if word is not None]
    places = [(*span, name) for span, word in zip(spans, words, strict=True) for name in word.features]
    places += [(spans[first][0], spans[last][1], name) for name, first, last in _find_phrase_concepts(words)]
    places += [(start, end, name) for name, start, end in _find_statutes(_fold(text))]
    return tuple(sorted(places))


def _total(names: Iterable[str]) -> float:
    return sum(sorted(map(_weigh_feature, names)))


def _choose_quote(texts: Sequence[str], deciding: frozenset[str]) -> str:
    """Returns the short quotation from the candidate's texts with most of the deciding features, or an empty text."""
    best, quote = 0.0, ""
    promising = [(_total(deciding & _find_features(text[:_MAX_TEXT])), text[:_MAX_TEXT]) for text in texts]
    for limit, text in sorted(promising, key=lambda item: -item[0]):
        if limit <= best + _SAME:
            break
        places = [place for place in _locate_features(text) if place[2] in deciding]
        for position, (start, _, _) in enumerate(places):
            names, end = set(), start
            for first, stop, name in places[position:]:
                if first - start > _MAX_QUOTE:
                    break
                if stop - start <= _MAX_QUOTE:
                    names.add(name)
                    end = max(end, stop)
            value = _total(names)
            if value > best + _SAME:
                best, quote = value, text[slice(*widened(text, start, end))]
    return quote


def topic_match(snippet: str, candidates: Sequence[Sequence[str]]) -> TopicMatch:
    """Finds the candidate, given by its summaries and teachings, that the snippet is about.

    Returns it with its strength, all scores, a quotation and the deciding terms; undecided if two are as near.
    """
    wanted = _find_snippet_features(snippet[:_MAX_TEXT])
    if not wanted:
        return TopicMatch(None, "none", (0.0,) * len(candidates), "", ())
    shared = [
        frozenset(chain.from_iterable([wanted & _find_features(text[:_MAX_TEXT]) for text in texts]))
        for texts in candidates
    ]
    counts = Counter(feature for features in shared for feature in features)
    scores = [_score_features(features, counts, len(candidates)) for features in shared]
    ranked = [*sorted(scores, reverse=True), 0.0, 0.0]
    best, second = ranked[0], ranked[1]
    strength = _grade_strength(best, second)
    if strength == "none" or best - second < _SAME:
        return TopicMatch(None, "none", tuple(scores), "", ())
    index = scores.index(best)
    deciding = frozenset(f for f in shared[index] if len(candidates) == 1 or counts[f] < len(candidates))
    terms = sorted((feature for feature in deciding), key=lambda feature: (-_weigh_feature(feature), feature))
    quote = _choose_quote(candidates[index], deciding)
    return TopicMatch(index, strength, tuple(scores), quote, tuple(term.lstrip("~") for term in terms))


def subjects_of(text: str) -> frozenset[str]:
    """Returns the legal concepts and statutes that a text names, the same in every language.

    Other words do not count.
    """
    return frozenset(feature for feature in _find_snippet_features(text[:_MAX_TEXT]) if not feature.startswith("~"))
