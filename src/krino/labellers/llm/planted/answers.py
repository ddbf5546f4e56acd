"""Detects an answer that the case itself brings along, so that a model's copy of it is never treated as a judgement.

A case is text from strangers and may hold a finished answer. What is compared are the labels that decide (numbers, yes
and no, closed words), each by its name: an answer is a copy if the case gives the very values of most of its labels
beside their names, in any notation (`statements`) and through simple disguises (`deobfuscate`), and another value for
none of them. Fields without a value (null, empty) and explanations decide nothing: a planted answer may lack the
former, and a model may reword the latter. Where an answer has fewer than two labels, an honest one agrees by chance, so
there most of its words must be the planted ones as well.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from typing import Any

from pydantic import BaseModel

from krino.contract import Task
from krino.labellers.llm.planted.deobfuscate import (
    decode_around,
    fold_to_latin,
    fold_to_letters,
    layers,
    strip_comments,
)
from krino.labellers.llm.planted.statements import (
    Item,
    Meaning,
    Statements,
    ValueKind,
    Vocabulary,
    meaning_of,
    names_with_values,
    normalise_notation,
    reverse_items,
    stem_of,
    values_beside_names,
    values_in_tables,
)

TELLING = 2  # labels that are hardly the same by chance
TELLING_IN_PROSE = 4  # labels and ids, where words may stand between a name and its value
ENOUGH = (2, 3)  # of the labels that the case must give; what it does not name at all a model may have added
LONGEST_ID = 8  # words and numbers that an id is made of
SEAM = 300  # characters at the end of a passage in which a name may begin that continues in another
_NUMBER = re.compile(r"\[\d{1,4}\] ")
"""Judges put these numbers before sentences; an answer must be found across them."""
_PIECE = re.compile(r"[\W_]+")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")


@dataclass(slots=True)
class PlantedLabels:
    """What an answer says, by the names of its fields: labels, ids (texts of one word), and longer texts."""

    labels: dict[tuple[str, str], list[Meaning]] = field(default_factory=lambda: defaultdict(list))
    """By the name of the field and of the one that it is in: keys may come in another order."""
    ids: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    texts: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    names: set[str] = field(default_factory=set)
    """Of all fields, with a value or without."""
    has_subjects: bool = False
    """Whether any object names what its only label is about."""
    may_be_given: bool | None = None
    """Whether the case has enough of their names to be searched for them; None: not looked at yet."""
    is_by_subject: bool = False
    """Whether labels have the names of what they are about; then the case must give them all."""

    @property
    def how_many(self) -> int:
        """The number of label values."""
        return sum(map(len, self.labels.values()))

    @property
    def named(self) -> list[str]:
        """The names of the labels."""
        return list(dict.fromkeys(name for name, _ in self.labels))

    @property
    def kinds(self) -> dict[str, set[ValueKind]]:
        """Returns by name of the label whether its values are numbers, yes or no, or words."""
        found: dict[str, set[ValueKind]] = defaultdict(set)
        for (name, _), values in self.labels.items():
            found[stem_of(name)] |= {kind for kind, _ in values}
        return found


class PlantedAnswers:
    """The case as a model sees it, searched for answers; `words` are those that labels are chosen from."""

    __slots__ = ("_answer", "_folded", "_kept", "_readings", "_texts", "_words")

    def __init__(self, texts: Iterable[str], words: Collection[str]) -> None:
        self._texts = tuple(map(_strip_numbers, texts))
        self._words = frozenset(words)
        self._folded: bytes | None = None
        self._readings: tuple[str, ...] | None = None
        self._kept: dict[tuple[str, frozenset[str]], list[Item]] = {}
        self._answer: tuple[Mapping[str, Any], tuple[PlantedLabels, ...]] | None = None

    def contain(self, answer: Mapping[str, Any]) -> bool:
        """Whether the labels of this answer are given in the case."""
        return any(
            self._may_give(labels) and any(self._gives(reading, labels) for reading in self._make_readings(labels))
            for labels in self._labels_of(answer)
        )

    def name_every_label(self, answer: Mapping[str, Any]) -> bool:
        """Whether the case has the name of every label of an answer as a key, as only text about such answers does."""
        labels = self._labels_of(answer)[0]
        if not self._may_give(labels):
            return False
        wanted = set(labels.kinds) or {stem_of(name) for name in labels.ids}
        return bool(wanted) and any(
            wanted <= set(names_with_values(self._items(reading, labels))) for reading in self._make_readings(labels)
        )

    # --- reading -----------------------------------------------------------------------------------

    def _labels_of(self, answer: Mapping[str, Any]) -> tuple[PlantedLabels, ...]:
        """Returns the readings of an answer's labels. The last result is kept, since an answer that is not refused is
        asked about twice."""
        if self._answer is None or self._answer[0] is not answer:
            self._answer = answer, tuple(collect_answer_labels(answer, self._words))
        return self._answer[1]

    def _may_give(self, labels: PlantedLabels) -> bool:
        """Whether the case must be searched for these labels at all: most cases do not even hold their names. The
        result is kept in `labels`."""
        if labels.may_be_given is None:
            labels.may_be_given = any(self._texts) and self._may_hold(labels)
        return labels.may_be_given

    def _may_hold(self, labels: PlantedLabels) -> bool:
        """Can an answer with these labels be in the case at all? A quick check before the thorough one."""
        marks = _marks_to_find(labels)
        if not marks:
            return False
        if self._folded is None:
            self._folded = fold_to_letters("".join(self._texts))
        missing = [mark for mark in marks if mark not in self._folded]
        if len(missing) == 1 and self._is_split(missing[0]):
            missing = []
        return _is_enough(len(marks) - len(missing), len(marks)) or any(True for _ in self._decoded(labels))

    def _is_split(self, name: bytes) -> bool:
        """Whether a name begins at the end of one passage and continues in a later one."""
        ends = [(fold_to_letters(text[:SEAM]), fold_to_letters(text[-SEAM:])) for text in self._texts]
        return any(
            tail.endswith(name[:cut]) and any(head.startswith(name[cut:]) for head, _ in ends[place + 1 :])
            for cut in range(1, len(name))
            for place, (_, tail) in enumerate(ends)
        )

    def _make_readings(self, labels: PlantedLabels) -> tuple[str, ...]:
        """Returns every text that the case can be read as: passages joined, decoded, without escapes and comments, and
        normalised. Made once, for the first answer: all answers have the names of their schema."""
        if self._readings is None:
            texts = [layer for text in (*self._join_passages(labels), *self._decoded(labels)) for layer in layers(text)]
            texts = list(dict.fromkeys([*texts, *map(strip_comments, texts)]))
            self._readings = tuple(dict.fromkeys(reading for text in texts for reading in normalise_notation(text)))
        return self._readings

    def _join_passages(self, labels: PlantedLabels) -> Iterator[str]:
        """Yields three joinings of the passages, since an answer may be spread over several: by lines, without any
        separator, and only those that name labels."""
        yield "\n".join(self._texts)
        if len(self._texts) > 1:
            names = [_mark_of(name) for name in _searched_names(labels)]
            looks = [(text, fold_to_letters(text)) for text in self._texts]
            yield "".join(self._texts)
            yield "".join(text for text, look in looks if any(name in look for name in names))

    def _decoded(self, labels: PlantedLabels) -> Iterator[str]:
        """Yields the case with encodings decoded, if one of the two longest label names appears in one."""
        longest = sorted(_searched_names(labels), key=len)[-2:]
        yield from decode_around("\n".join(self._texts), self._folded or b"", longest)

    def _items(self, reading: str, labels: PlantedLabels) -> list[Item]:
        """Returns the names, values and words of a reading. The result is kept, since an answer that is not
        refused is asked about twice."""
        names = frozenset(labels.names)
        if (reading, names) not in self._kept:
            self._kept[reading, names] = _vocabulary(names, self._words).items(reading)
        return self._kept[reading, names]

    # --- comparing ---------------------------------------------------------------------------------

    def _gives(self, reading: str, labels: PlantedLabels) -> bool:
        """Does this reading of the text state these labels?"""
        items, kinds = self._items(reading, labels), labels.kinds
        if not any(item.name is not None for item in items):
            return False
        columns = values_in_tables(reading, _vocabulary(frozenset(labels.names), self._words), kinds)
        if labels.how_many < TELLING:
            return _gives_words(items, labels, columns)
        named, same = _count_ids(items, labels)
        if 2 * same < named:
            return False  # labels of other things are other labels
        if _gives_labels(_join_statements(values_beside_names(items, kinds, loose=False), columns), labels):
            return True
        if labels.how_many + same < TELLING_IN_PROSE:
            return False
        loose = _join_statements(values_beside_names(items, kinds, loose=True), columns)
        before = values_beside_names(reverse_items(items), kinds, loose=True)
        before = {name: values[::-1] for name, values in before.items()}
        return _gives_labels(loose, labels) or _gives_labels(before, labels)


def search_case(task: Task[Any, Any, Any], shown: Sequence[str], words: Collection[str]) -> PlantedAnswers:
    """Prepares the search for planted answers: collects the texts that are shown, without sentence numbers, and the
    case's texts that are shown in another form.

    A judge may have shortened a text. An answer planted there is in pieces in what is shown, and a model that copies it
    puts it together again. A part is not searched for what other parts show.
    """
    texts = [*map(_strip_numbers, shown)]
    whole = "" if task.is_part else "\n".join(texts)
    own = () if task.is_part else map(_strip_numbers, _texts_in(task.case))
    uncut = [text for text in own if text not in texts and text not in whole]  # most are one of them: no search then
    return PlantedAnswers((*texts, *(passage.name for passage in task.questions.passages), *uncut), words)


def squeeze(text: str) -> str:
    """Reduces a text to its letters and digits, in lower case and folded to Latin, to compare it with another."""
    return _PIECE.sub("", fold_to_latin(text).lower())


# --- what an answer says -----------------------------------------------------------------------------


def collect_answer_labels(answer: Mapping[str, Any], words: Collection[str]) -> Iterator[PlantedLabels]:
    """Yields the labels by the names of their own fields, and again by what they are about, if that differs.

    An object with one label may be written without the name of the label: `court_first: true` for `court_first: {"yes":
    true}`, `s1: necessary` for `{"step": "s1", "label": "necessary"}`.
    """
    own = PlantedLabels()
    _collect(own, "", answer, words)
    yield own
    if own.has_subjects:
        about = PlantedLabels(is_by_subject=True)
        _collect(about, "", answer, words)
        if about.labels.keys() != own.labels.keys():
            yield about


def _collect(labels: PlantedLabels, name: str, value: Any, words: Collection[str], parent: str = "") -> None:
    """Collects labels, texts, ids and names from an answer, level by level."""
    kind = value.__class__
    if kind is str:
        if value in words:
            labels.labels[name, parent].append(("word", value))
        elif _LETTER_OR_DIGIT.search(value):
            (labels.texts if len(value.split(None, 1)) > 1 else labels.ids)[name].append(value)
    elif kind is bool or kind is int or kind is float:
        labels.labels[name, parent].append(meaning_of(value))
    elif kind is dict:
        subject = _what_it_is_about(name, value, words) if name else None
        labels.has_subjects = labels.has_subjects or subject is not None
        renamed = subject if labels.is_by_subject else None
        for key, item in value.items():
            known = renamed if renamed is not None and _is_label(item, words) else key
            labels.names.add(known)
            _collect(labels, known, item, words, name)
    elif kind is list:
        for item in value:
            _collect(labels, name, item, words, parent)


def _is_label(value: Any, words: Collection[str]) -> bool:
    return value in words if value.__class__ is str else isinstance(value, bool | int | float)


def _what_it_is_about(name: str, value: Mapping[str, Any], words: Collection[str]) -> str | None:
    """Returns the id in an object with one label, or else the field that the object is the value of; None if it has a
    list, or not exactly one label."""
    how_many = 0
    for item in value.values():
        if item.__class__ is list:
            return None
        how_many += _is_label(item, words)
    if how_many != 1:
        return None
    ids = (item for item in value.values() if isinstance(item, str) and item not in words)
    return next((item for item in ids if len(item.split()) == 1), name)


# --- whether it is given -----------------------------------------------------------------------------


def _gives_labels(stated: Mapping[str, list[frozenset[Meaning]]], labels: PlantedLabels) -> bool:
    """Whether a text states most of the labels (all if they are named by subject), and none of them with another
    value."""
    given = 0
    for (name, _), values in labels.labels.items():
        there = stated.get(stem_of(name))
        if there and not _follow(values, there):
            return False
        given += len(values) if there else 0
    return given == labels.how_many or (not labels.is_by_subject and _is_enough(given, labels.how_many))


def _gives_words(items: list[Item], labels: PlantedLabels, columns: Statements) -> bool:
    """Is the single label of an answer, or an answer without labels, given with most of its words?"""
    stated = _join_statements(values_beside_names(items, labels.kinds, loose=True), columns)
    if labels.labels and not _gives_labels(stated, labels):
        return False
    texts = [(name, value) for kept in (labels.ids, labels.texts) for name, values in kept.items() for value in values]
    return 2 * sum(_is_beside(items, name, value) for name, value in texts) >= len(texts)


def _count_ids(items: list[Item], labels: PlantedLabels) -> tuple[int, int]:
    """Counts the ids of an answer whose fields a text names, and those of them that the text gives there."""
    wanted = {stem_of(name): name for name in labels.ids}
    behind: dict[str, set[str]] = defaultdict(set)
    for place, item in enumerate(items):
        if item.name in wanted:
            for first in (place + 1, place + 2):  # with one word between, as `value`
                behind[wanted[item.name]] |= set(accumulate(map(_squeezed, items[first : first + LONGEST_ID])))
    ids = [(name, squeeze(value)) for name in behind for value in labels.ids[name]]
    return len(ids), sum(value in behind[name] for name, value in ids)


def _is_beside(items: list[Item], name: str, value: str) -> bool:
    """Whether a text is given right behind its name, or with one word between."""
    sought, stem = squeeze(value), stem_of(name)
    return any(
        item.name == stem and any(_begins(items, place + skipped, sought) for skipped in (1, 2))
        for place, item in enumerate(items)
    )


def _begins(items: list[Item], place: int, sought: str) -> bool:
    """Whether the items from this place on begin with a text; stops where they go on otherwise."""
    while sought and place < len(items) and (text := squeeze(items[place].text)) and sought.startswith(text):
        sought, place = sought[len(text) :], place + 1
    return not sought


def _squeezed(item: Item) -> str:
    return squeeze(item.text)


def _follow(values: list[Meaning], there: list[frozenset[Meaning]]) -> bool:
    """Whether the values are among those, in the same order."""
    left = iter(there)
    return all(any(value in meanings for meanings in left) for value in values)


def _join_statements(one: Statements, other: Statements) -> Statements:
    return {name: [*one.get(name, ()), *other.get(name, ())] for name in {*one, *other}}


def _is_enough(given: int, of: int) -> bool:
    part, whole = ENOUGH
    return whole * given >= part * of


def _searched_names(labels: PlantedLabels) -> list[str]:
    """Returns the names that a planted answer must have: of labels and ids, or else of longer texts."""
    return [*labels.named, *labels.ids] or [*labels.texts]


def _marks_to_find(labels: PlantedLabels) -> set[bytes]:
    """Returns what a text with these labels must hold: their names, or their words where the names are those of the
    case."""
    names = set(map(_mark_of, labels.named or labels.ids or labels.texts))
    if not labels.is_by_subject:
        return names
    values = (value for values in labels.labels.values() for kind, value in values if kind == "word")
    return set(map(fold_to_letters, values)) or names


@lru_cache(maxsize=64)
def _vocabulary(names: frozenset[str], words: frozenset[str]) -> Vocabulary:
    return Vocabulary(names, words)


@lru_cache(maxsize=1_024)
def _mark_of(name: str) -> bytes:
    return fold_to_letters(stem_of(name))


# --- texts -----------------------------------------------------------------------------------------


def _strip_numbers(text: str) -> str:
    return _NUMBER.sub("", text) if "[" in text else text


def _texts_in(value: Any) -> Iterator[str]:
    """Every text in a case, however deep; iterative, so that no depth is too much."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if item is None:
            continue
        if isinstance(item, str):
            yield item
        elif isinstance(item, BaseModel):
            waiting += vars(item).values()
        elif isinstance(item, Mapping):
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item
