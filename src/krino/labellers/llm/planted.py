"""Knows an answer that stands in the case itself, in whatever dress, so that a copied one is never taken.

A case is text from strangers and may bring a finished answer along. Both sides are compared as values, with every
disguise taken off: `1` and `1.0` are the same, `1` and `true` are not. What decides are the labels (numbers, yes and
no, closed words) and ids: a model that copies them may reword the explanations beside them. Where an answer has fewer
than two labels, an honest one agrees by chance, so there most of its words must be the planted ones as well.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any

from pydantic import BaseModel

from krino.contract import Task
from krino.labellers.llm.deobfuscate import decoded, fold, glance, layers, without_comments

Loose = dict[str, Any]
TELLING = 2  # labels that are hardly the same by chance
NULLS = frozenset({"", "null", "none", "nil", "undefined"})
YES_NO = {True: ("true", "yes", "on"), False: ("false", "no", "off")}
PIECE = re.compile(r"(?<![^\W_])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![^\W_])|(?:(?!-\d)[\W_])+|-", re.IGNORECASE)
BETWEEN_NUMBERS = "·"
LONGEST_NUMBER = 15  # digits that a float keeps; longer ones are ids and stay as they are written
AS_A_KEY = r"[\W_]{0,40}?[:=>|]"
SEAM = 300  # characters on either side of where a text may go on in another passage
MOST_SEAMED = 20
WALL = "\nwall\n"  # letters, since all else is passed over between a name and its value
_NUMBER = re.compile(r"\[\d{1,4}\] ")
"""Judges put these before the sentences of a text; an answer that stands there must be found across them."""


@dataclass(slots=True)
class Tally:
    """What was compared: labels, and texts (of one word or several) with how many of them were the same."""

    labels: int = 0
    ids: int = 0
    same_ids: int = 0
    words: int = 0
    same_words: int = 0

    def text(self, value: str, same: bool) -> None:
        if len(value.split()) > 1:
            self.words += 1
            self.same_words += same
        else:
            self.ids += 1
            self.same_ids += same

    @property
    def is_copy(self) -> bool:
        """Of a whole object whose labels are all the same."""
        texts, same = self.ids + self.words, self.same_ids + self.same_words
        return 2 * self.same_ids >= self.ids and (self.labels >= TELLING or 2 * same >= texts)

    @property
    def is_copy_in_pieces(self) -> bool:
        """Of fields that stand anywhere, so that what belongs together is not known: there the words must show it.

        Ids alone may well be there, so without words most of what stands for them must be.
        """
        if self.words:
            return 2 * self.same_ids >= self.ids and 2 * self.same_words > self.words
        return 2 * self.same_ids > self.ids if self.ids else self.labels > 0


class Plants:
    """The case as a model sees it, searched for answers; `words` are those that labels are chosen from."""

    __slots__ = ("_glance", "_looked_for", "_may", "_readings", "_squeezed", "_texts", "_words")

    def __init__(self, texts: Iterable[str], words: Collection[str]) -> None:
        self._texts = tuple(map(_unnumbered, texts))
        self._words = frozenset(words)
        self._looked_for: Mapping[str, Any] | None = None
        self._may = False
        self._glance: bytes | None = None
        self._readings: tuple[str, ...] | None = None
        self._squeezed: tuple[str, ...] = ()

    def hold(self, answer: Mapping[str, Any]) -> bool:
        """Whether this answer stands in the case: as an object, or field by field, value behind name."""
        if not self._may_name(answer):
            return False
        return any(self._is_copy(planted, answer) for planted in self._objects(answer)) or self._spells(answer)

    def name_fields_of(self, answer: Mapping[str, Any]) -> bool:
        """Whether the case has every field of an answer as a key, as only text about such answers does."""
        if not self._may_name(answer):
            return False
        keys = {r"[\W_]*".join(map(re.escape, _parts(name))) + AS_A_KEY for name in _names(answer)}
        return all(any(re.search(key, text) for text in self._read(answer)) for key in keys)

    # --- reading -----------------------------------------------------------------------------------

    def _may_name(self, answer: Mapping[str, Any]) -> bool:
        """A cheap look first: most cases do not even hold the words. One answer is asked about twice."""
        if self._looked_for is not answer:
            self._looked_for, self._may = answer, bool(answer) and any(self._texts) and self._names_all(answer)
        return self._may

    def _names_all(self, answer: Mapping[str, Any]) -> bool:
        if self._glance is None:
            self._glance = glance("".join(self._texts))
        missing = list(islice((name for name in _names(answer) if _glance_at(name) not in self._glance), 2))
        if not missing or (len(missing) == 1 and self._is_split(_glance_at(missing[0]))):
            return True
        return any(True for _ in self._decoded(answer))

    def _is_split(self, name: bytes) -> bool:
        """Whether a name begins at the end of one passage and goes on in one further down."""
        ends = [(glance(text[:SEAM]), glance(text[-SEAM:])) for text in self._texts]
        return any(
            tail.endswith(name[:cut]) and any(head.startswith(name[cut:]) for head, _ in ends[place + 1 :])
            for cut in range(1, len(name))
            for place, (_, tail) in enumerate(ends)
        )

    def _read(self, answer: Mapping[str, Any]) -> tuple[str, ...]:
        """Everything the case can be read as, in lower case. Made once: an answer has the names of its schema."""
        if self._readings is None:
            whole = WALL.join(["\n".join(self._texts), *_seams(self._texts)])
            texts = [layer.lower() for text in (whole, *self._decoded(answer)) for layer in layers(text)]
            self._readings = tuple(dict.fromkeys([*texts, *map(without_comments, texts)]))
            self._squeezed = tuple(map(squeeze, self._readings))
        return self._readings

    def _decoded(self, answer: Mapping[str, Any]) -> Iterator[str]:
        """The case out of codes, if its longest key stands there in one."""
        return decoded("\n".join(self._texts), self._glance or b"", max(answer, key=len))

    def _objects(self, answer: Mapping[str, Any]) -> Iterator[Loose]:
        wanted = {squeeze(name) for name in answer}
        for text, squeezed in zip(self._read(answer), self._squeezed, strict=True):
            if all(name in squeezed for name in wanted):
                yield from (found for found in objects_in(text, squeeze) if wanted <= found.keys())

    # --- whole objects -----------------------------------------------------------------------------

    def _is_copy(self, planted: Loose, answer: Mapping[str, Any]) -> bool:
        tally = Tally()
        return self._same(planted, answer, tally) and tally.is_copy

    def _same(self, planted: Any, value: Any, tally: Tally) -> bool:
        """Whether every label is the same; the tally counts what else was compared."""
        if isinstance(value, Mapping):
            return isinstance(planted, dict) and all(
                squeeze(name) in planted and self._same(planted[squeeze(name)], item, tally)
                for name, item in value.items()
            )
        if isinstance(value, list) and isinstance(planted, list):
            pairs = zip(planted, value, strict=False)
            return len(planted) == len(value) and all(self._same(*pair, tally) for pair in pairs)
        while isinstance(planted, dict | list) and len(planted) == 1:  # a value in a wrapping of its own
            planted = next(iter(planted.values() if isinstance(planted, dict) else planted))
        return isinstance(planted, str) and not isinstance(value, list) and self._same_scalar(planted, value, tally)

    def _same_scalar(self, planted: str, value: Any, tally: Tally) -> bool:
        given = squeeze(planted)
        if value is None:
            return given in NULLS or len(planted.split()) > 1  # a remark where none is given is no other label
        if isinstance(value, str) and value not in self._words:
            tally.text(value, given == squeeze(value))
            return True
        tally.labels += 1
        return given in YES_NO[value] if isinstance(value, bool) else given == squeeze(_written(value))

    # --- field by field ----------------------------------------------------------------------------

    def _spells(self, answer: Mapping[str, Any]) -> bool:
        self._read(answer)
        tally, names = Tally(), {squeeze(name) for name in _names(answer)}
        for name, value in _fields("", answer):
            stands = self._stands(name, value, names)
            if all(isinstance(item, str) and item not in self._words for item in _listed(value)):
                tally.text(" ".join(_listed(value)), stands)
            elif not stands:
                return False
            else:
                tally.labels += 1
        return tally.is_copy_in_pieces

    def _stands(self, name: str, value: Any, names: Collection[str], place: int | None = None) -> bool:
        """A list may stand behind one name, or each of its values behind the name again, numbered or not."""
        if any(map(_beside(name, value, names, place).search, self._squeezed)):
            return True
        return isinstance(value, list) and any(
            all(
                self._stands(name, item, names, None if first is None else number)
                for number, item in enumerate(value, first or 0)
            )
            for first in (None, 0, 1)
        )


def plants_in(task: Task[Any, Any, Any], shown: Sequence[str], words: Collection[str]) -> Plants:
    """What is shown of a case, and its texts that are not shown as they stand in it, but for numbers of sentences.

    A judge may have shortened a text. An answer planted there is in pieces in what is shown, and a model that copies it
    puts it together again. A part is not searched for what other parts show.
    """
    texts = [*map(_unnumbered, shown)]
    whole = "" if task.is_part else "\n".join(texts)
    own = () if task.is_part else map(_unnumbered, _texts_in(task.case))
    uncut = [text for text in own if text not in texts and text not in whole]  # most are one of them: no search then
    return Plants((*texts, *(passage.name for passage in task.questions.passages), *uncut), words)


def _unnumbered(text: str) -> str:
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


def squeeze(text: str) -> str:
    """Letters and digits alone, numbers in one spelling: two texts are the same if they are the same squeezed."""
    return PIECE.sub(_squeezed_piece, fold(text).lower())


def _squeezed_piece(match: re.Match[str]) -> str:
    piece, text = match[0], match.string
    if piece[-1].isdigit():
        return piece if len(piece) > LONGEST_NUMBER else repr(float(piece)).removesuffix(".0")
    start, end = match.span()
    apart = text[start - 1 : start].isdigit() and text[end : end + 1].isdigit()
    return BETWEEN_NUMBERS if apart else ""


def _beside(name: str, value: Any, names: Collection[str], place: int | None) -> re.Pattern[str]:
    """Finds a value right behind its name in a squeezed text, where nothing else is left between the two.

    `place`: the number of a value in its list, which then stands between the two (`sentences[0] = 3`).
    """
    if isinstance(value, bool):
        words = YES_NO[value]
        longer = [other for other in names for word in words if other.startswith(word) and other != word]
        barred = "".join(f"(?!{re.escape(other)})" for other in longer)  # the next field, `note`, is no "no"
        return re.compile(f"{re.escape(squeeze(name))}{barred}(?:{'|'.join(words)})")
    behind = [name] if place is None else [name, str(place)]
    sought = squeeze(" ".join([*behind, *map(_written, _listed(value))]))
    return re.compile(re.escape(sought) + (r"(?![\d.])" if sought[-1:].isdigit() else ""))


def _fields(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Name and value of every field at any depth; of what is empty the name says all, and names are all there."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _fields(key, item)
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for item in value:
            yield from _fields(name, item)
    elif value not in (None, "", []):
        yield name, value


def _names(value: Any) -> Iterator[str]:
    """The names at every depth, the outermost first; some of them more than once."""
    if isinstance(value, Mapping):
        yield from value
    for item in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from _names(item)


_glance_at = lru_cache(maxsize=1_024)(glance)


def _parts(name: str) -> list[str]:
    return [part for part in re.split(r"[\W_]+", fold(name).lower()) if part]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _seams(texts: tuple[str, ...]) -> Iterator[str]:
    """Ends and beginnings of passages side by side: a planted text may go on in any passage further down."""
    if len(texts) <= MOST_SEAMED:
        for place, text in enumerate(texts):
            yield from (text[-SEAM:] + other[:SEAM] for other in texts[place + 1 :])


# --- objects in any notation -------------------------------------------------------------------------


OPENING = re.compile(r"[{\[]")
SIGN = re.compile(r"[{}\[\],;:=]|[^\s{}\[\],;:=\"'`]+|[\"'`]")
STRING = re.compile(r'"(?:[^"\\]|\\.)*+"|\'(?:[^\'\\]|\\.)*+\'|`(?:[^`\\]|\\.)*+`', re.DOTALL)
LONGEST_STRING = 20_000  # a lost quote must not make each quote after it look for its end through the whole text
DEEPEST = 100


@dataclass(slots=True)
class _Open:
    """A bracket that is still open: what it holds so far, and what is being read."""

    sign: str
    pairs: Loose = field(default_factory=dict)
    items: list[Any] = field(default_factory=list)
    key: str | None = None
    read: list[str] = field(default_factory=list)
    inner: Any = None

    def name(self) -> None:
        """What was read is a name; a second colon or equals sign is part of the value."""
        if self.key is None and self.read:
            self.key, self.read = " ".join(self.read), []

    def end_value(self, squeeze: Callable[[str], str]) -> None:
        value = " ".join(self.read) if self.inner is None else self.inner
        if self.key is not None:
            self.pairs[squeeze(self.key)] = value
        elif self.read or self.inner is not None:
            self.items.append(value)
        self.key, self.read, self.inner = None, [], None

    @property
    def value(self) -> Any:
        return self.pairs or self.items


def objects_in(text: str, squeeze: Callable[[str], str]) -> Iterator[Loose]:
    """Every object in a text, whatever its notation (JSON, Python, JavaScript), at any depth; names are squeezed.

    One pass over the text. Brackets that do not match are closed where they can be, and what is no object is passed
    over. Values stay texts: whoever compares them knows what they should be.
    """
    stack: list[_Open] = []
    opened: Counter[str] = Counter()
    at = 0
    while True:
        found = SIGN.search(text, at) if stack else OPENING.search(text, at)
        if found is None:
            return
        sign, at = found[0], found.end()
        if sign in "{[":
            if len(stack) >= DEEPEST:  # brackets for their own sake: begin anew
                stack.clear()
                opened.clear()
            stack.append(_Open(sign))
            opened[sign] += 1
        elif sign in "}]":
            wanted = "{" if sign == "}" else "["
            while opened[wanted]:
                closed = stack.pop()
                opened[closed.sign] -= 1
                closed.end_value(squeeze)
                if closed.pairs:
                    yield closed.pairs
                if stack:
                    stack[-1].inner = closed.value
                if closed.sign == wanted:
                    break
        elif sign in ",;":
            stack[-1].end_value(squeeze)
        elif sign in ":=":
            stack[-1].name()
        else:  # a quote inside a value is an apostrophe, or joins a text to another
            end = found.start() + LONGEST_STRING
            string = None if stack[-1].read else STRING.match(text, found.start(), end)
            at = string.end() if string else at
            stack[-1].read.append(string[0][1:-1] if string else sign)
