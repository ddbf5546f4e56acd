"""Makes pairs from running text: sentences against the window they stand in, edited, cut short, joined, taken away."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

import edits
import retelling
from kinds import Kinds
from lexicon import Lexicon
from neighbours import Neighbours
from pairs import CONTRADICTED, NOT_SUPPORTED, SUPPORTED, UNSUPPORTED, Pair

_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[A-Z0-9\"'(\[])")
_WORD = re.compile(r"[a-z0-9]+")
_SHORTEST, _LONGEST = 6, 60
_TOLD_ALREADY = 0.75
"""A sentence of whose words the rest of the window holds more than this share may be told there in other words."""

_BY_WORDS = 0.4
"""Share of windows that are gathered by words instead of by place."""
_TURNED = 0.4
"""Share of sentences of which a word may be turned into its opposite."""


def sentences_of(text: str) -> list[str]:
    """Sentences of a useful length, in order."""
    parts = (part.strip() for part in _END.split(text))
    return [part for part in parts if _SHORTEST <= len(part.split()) <= _LONGEST]


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _held(claim: str, window: str) -> float:
    words = _words(claim)
    return len(words & _words(window)) / len(words) if words else 1.0


def _with(parts: Sequence[str], place: int, new: str) -> list[str]:
    return [*parts[:place], new, *parts[place + 1 :]]


def _evenly(found: Sequence[retelling.Retold], random: Random) -> Iterator[retelling.Retold]:
    """Of each kind as many that hold as do not."""
    for kind in sorted({kind for _, _, kind in found}):
        good = [item for item in found if item[2] == kind and item[1] == SUPPORTED]
        bad = [item for item in found if item[2] == kind and item[1] != SUPPORTED]
        count = min(len(good), len(bad), 2)
        if kind == "synonyms" or not count:
            count = max(count, 1)
        yield from random.sample(good, min(count, len(good)))
        yield from random.sample(bad, min(count, len(bad)))


class Maker:
    """Makes pairs from a collection of documents; the same seed makes the same pairs."""

    def __init__(self, documents: Sequence[str], seed: int) -> None:
        self.random = Random(seed)
        self.documents = [found for found in map(sentences_of, documents) if found]
        everything = [sentence for document in self.documents for sentence in document]
        self.neighbours = Neighbours(everything)
        self.phrases = [phrase for sentence in everything for phrase in edits.phrases_of(sentence)]
        self.known = frozenset(word for sentence in everything for word in _words(sentence))
        self.details = [detail for sentence in everything for detail in edits.details_of(sentence)]
        self.names = sorted({match.group() for sentence in everything for match in edits.names_of(sentence)})

    def pairs(self, most_a_document: int) -> Iterator[Pair]:
        """For some sentences of each document: one pair of every kind that its words allow."""
        for document in self.documents:
            places = list(range(len(document)))
            for place in self.random.sample(places, min(most_a_document, -(-2 * len(places) // 3))):
                yield from self._around(document, place)
                if len(document) > 2:
                    yield from self._summaries(document, place)

    def _around(self, document: Sequence[str], place: int) -> Iterator[Pair]:
        window, rest = self._windows(document, place)
        base = self._retold(document[place])
        yield Pair(window, base, SUPPORTED, "made: stated")
        short = edits.shorten(base, self.random)
        if short is not None:
            yield Pair(window, short, SUPPORTED, "made: shortened")
        for name, label, edit in self._edits(document):
            changed = edit(base, self.random)
            if changed is not None and changed != base:
                yield Pair(window, changed, label, f"made: {name}")
        if rest and _held(base, rest) < _TOLD_ALREADY:
            yield Pair(rest, base, UNSUPPORTED, "made: not stated")

    def _retold(self, sentence: str) -> str:
        """Shortened or in other words more often than not: else any change at all would give the false ones away."""
        if self.random.random() < 0.4:
            sentence = edits.shorten(sentence, self.random) or sentence
        if self.random.random() < 0.7:
            sentence = edits.rephrase(sentence, self.random) or sentence
        return sentence

    def _summaries(self, document: Sequence[str], place: int) -> Iterator[Pair]:
        """One claim from two or three sentences of a window; then with one of them false, or from elsewhere."""
        start = max(0, place - self.random.randint(0, 4))
        window = list(document[start : start + self.random.randint(3, 9)])
        if len(window) < 3:
            return
        told = [self._retold(sentence) for sentence in self.random.sample(window, self.random.choice((2, 2, 3)))]
        premise = " ".join(window)
        yield Pair(premise, self._join(told), SUPPORTED, "made: summary")
        wrong = self.random.randrange(len(told))
        for name, label, edit in self._edits(document)[:2]:
            changed = edit(told[wrong], self.random)
            if changed is not None and changed != told[wrong]:
                yield Pair(premise, self._join(_with(told, wrong, changed)), label, f"made: summary, {name}")
        elsewhere = [sentence for sentence in document if sentence not in window]
        other = self.random.choice(elsewhere) if elsewhere else self._stranger()
        if _held(other, premise) < _TOLD_ALREADY:
            yield Pair(premise, self._join(_with(told, wrong, other)), UNSUPPORTED, "made: summary, one not stated")

    def _join(self, parts: Sequence[str]) -> str:
        """Statements in one sentence."""
        words = [self.random.choice((", and", ", while", "; also,", ",")) for _ in parts[1:]]
        text = parts[0].rstrip(".")
        for word, part in zip(words, parts[1:], strict=True):
            text += f"{word} {edits.lower_first(part).rstrip('.')}"
        return text + "."

    def _edits(self, document: Sequence[str]) -> list[tuple[str, int, edits.Edit]]:
        """A few of them for each sentence: all would drown the rest."""
        near = sorted({match.group() for sentence in document for match in edits.names_of(sentence)})
        everything: list[tuple[str, int, edits.Edit]] = [
            ("number", CONTRADICTED, edits.change_number),
            ("denial", CONTRADICTED, edits.deny),
            ("opposite", CONTRADICTED, edits.turn_round),
            ("name", NOT_SUPPORTED, edits.change_name(near if self.random.random() < 0.6 else self.names)),
            ("stronger", UNSUPPORTED, edits.make_stronger),
            ("detail", UNSUPPORTED, edits.add_detail(self.details)),
            ("phrase", UNSUPPORTED, edits.add_phrase(self.phrases)),
        ]
        return self.random.sample(everything, 3)

    def _windows(self, document: Sequence[str], place: int) -> tuple[str, str]:
        """The sentence among its neighbours or among those nearest to it in words; and the same without it."""
        if self.random.random() < _BY_WORDS:
            return self._nearest(document[place])
        reach = self.random.choice((1, 2, 2, 5))
        before, after = self.random.randint(0, reach), self.random.randint(0, reach)
        neighbours = list(document[max(0, place - before) : place])
        following = list(document[place + 1 : place + 1 + after])
        if self.random.random() < 0.3:
            (neighbours if self.random.random() < 0.5 else following).append(self._stranger())
        return " ".join([*neighbours, document[place], *following]), " ".join([*neighbours, *following])

    def _nearest(self, sentence: str) -> tuple[str, str]:
        """As the judge gathers them: from anywhere, a few sentences that share words with this one."""
        near = self.neighbours.nearest(sentence, self.random.randint(1, 4))
        near = [other for other in near if _held(sentence, other) < _TOLD_ALREADY]
        rest = self.random.sample(near, len(near))
        whole = [*rest]
        whole.insert(self.random.randint(0, len(rest)), sentence)
        return " ".join(whole), " ".join(rest)

    def _stranger(self) -> str:
        return self.random.choice(self.random.choice(self.documents))

    def retold(self, words: Lexicon, talk: Kinds) -> Iterator[Pair]:
        """Sentences retold rightly and wrongly, as many of each kind either way, against the window they stand in."""
        dated: list[tuple[str, tuple[int, str]]] = []
        for document in self.documents:
            for place, sentence in enumerate(document):
                window, _ = self._windows(document, place)
                found = list(retelling.retell(sentence, self.random, words))
                for claim, label, kind in _evenly(found, self.random):
                    yield Pair(window, talk.chatty(claim, 0.1), label, f"retold: {kind}")
                if self.random.random() < _TURNED:
                    yield from self._turned(sentence, window, words)
                clause = retelling.dated_clause(sentence)
                if clause is not None:
                    dated.append((sentence, clause))
        yield from self._in_order(dated)
        yield from self._of_another()

    def _turned(self, sentence: str, window: str, words: Lexicon) -> Iterator[Pair]:
        """Retold in slightly other words, and the same with one word turned into its opposite."""
        told = self._retold(sentence)
        wrong = retelling.turned(told, self.random, words, self.known)
        if wrong is not None:
            yield Pair(window, told, SUPPORTED, "retold: opposite")
            yield Pair(window, wrong, CONTRADICTED, "retold: opposite")

    def _in_order(self, dated: Sequence[tuple[str, tuple[int, str]]]) -> Iterator[Pair]:
        """Each dated sentence beside some others of other years: which came first."""
        for sentence, clause in dated:
            for other, second in self.random.sample(dated, min(6, len(dated))):
                if clause[0] == second[0]:
                    continue
                parts = [sentence, other, *(self._stranger() for _ in range(self.random.randint(0, 2)))]
                premise = " ".join(self.random.sample(parts, len(parts)))
                for claim, label, kind in retelling.in_order((clause, second), self.random):
                    yield Pair(premise, claim, label, f"retold: {kind}")

    def _of_another(self) -> Iterator[Pair]:
        """Two sentences about two names: what is said of one is claimed of that one, or of the other."""
        sentences = [sentence for document in self.documents for sentence in document]
        told = [(sentence, found) for sentence in sentences if (found := retelling.subject_of(sentence))]
        for sentence, (name, rest) in self.random.sample(told, len(told) // 2):
            other, (wrong, _) = self.random.choice(told)
            if wrong in sentence or name in other:
                continue
            parts = [sentence, other, *(self._stranger() for _ in range(self.random.randint(0, 2)))]
            premise = " ".join(self.random.sample(parts, len(parts)))
            claim = self._retold(f"{name} {rest}")
            if claim.count(name) == 1:
                yield Pair(premise, claim, SUPPORTED, "retold: of another")
                yield Pair(premise, claim.replace(name, wrong), NOT_SUPPORTED, "retold: of another")

    # --- from pairs that people labelled -----------------------------------------------------------

    def surrounded(self, pairs: Sequence[Pair], share: float) -> Iterator[Pair]:
        """Some of the pairs again, their premise among sentences of another text: the label stays."""
        for pair in pairs:
            if self.random.random() >= share or len(pair.premise.split()) > 90:
                continue
            document = self.random.choice(self.documents)
            start = self.random.randrange(len(document))
            strangers = list(document[start : start + self.random.choice((1, 2, 3, 6))])
            strangers.insert(self.random.randint(0, len(strangers)), pair.premise)
            yield Pair(" ".join(strangers), pair.claim, pair.label, f"{pair.origin}: surrounded")

    def composed(self, pairs: Sequence[Pair], count: int) -> Iterator[Pair]:
        """Two or three pairs as one: their premises as one text, their claims as one sentence. At most one is false."""
        short = [pair for pair in pairs if 4 <= len(pair.premise.split()) <= 45]
        pools = {label: [pair for pair in short if pair.label == label] for label in {pair.label for pair in short}}
        for _ in range(count):
            chosen = self.random.sample(pools[SUPPORTED], self.random.choice((2, 2, 3)))
            label = self.random.choice(
                (SUPPORTED, SUPPORTED, *(other for other in sorted(pools) if other != SUPPORTED))
            )
            chosen[0] = self.random.choice(pools[label])
            told = [pair.claim for pair in self.random.sample(chosen, len(chosen))]
            texts = [pair.premise for pair in self.random.sample(chosen, len(chosen))]
            if self.random.random() < 0.3:
                texts.insert(self.random.randint(0, len(texts)), self._stranger())
            yield Pair(" ".join(texts), self._join(told), label, "composed")

    def edited(self, pairs: Sequence[Pair], share: float) -> Iterator[Pair]:
        """Supported claims of people, edited so that they no longer are."""
        ways: list[tuple[str, int, Callable[[str, Random], str | None]]] = [
            ("number", CONTRADICTED, edits.change_number),
            ("denial", CONTRADICTED, edits.deny),
            ("opposite", CONTRADICTED, edits.turn_round),
            ("name", NOT_SUPPORTED, edits.change_name(self.names)),
            ("detail", UNSUPPORTED, edits.add_detail(self.details)),
        ]
        for pair in pairs:
            if pair.label != SUPPORTED or self.random.random() >= share:
                continue
            name, label, edit = self.random.choice(ways)
            changed = edit(pair.claim, self.random)
            if changed is not None and changed != pair.claim:
                yield Pair(pair.premise, changed, label, f"edited: {name}")
