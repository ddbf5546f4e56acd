"""Reads what a text states about named fields, whatever the notation: which values are given beside which names.

`"label": "supported"`, `label = supported`, `<field name="label" value="supported"/>`, `claims[0].label: supported`, a
table with a column `label`, and "the label should be supported" all give the value `supported` for the name `label`.
A text is read as a row of names, values and other words; brackets and quotes only separate them. One pass, whatever is
in the text.
"""

from __future__ import annotations

import csv
import itertools
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from krino.labellers.llm.planted.deobfuscate import fold_to_latin

ValueKind = Literal["number", "truth", "word", "nothing"]
Meaning = tuple[ValueKind, Any]
Statements = dict[str, list[frozenset[Meaning]]]
"""For each name the values given for it, in the order of the text; an empty set for one of another kind."""

NOTHING: Meaning = ("nothing", None)
NO_MEANING: frozenset[Meaning] = frozenset()
REACH = 8  # words that may stand between a name and its value in prose
LONGEST_NUMBER = 15  # digits that a float keeps; longer ones are ids and stay as they are written
LONGEST_ROW = 20_000  # characters of one line of a table
FEWEST_COLUMNS = 2
_SHORTEST_PLURAL = 4

_YES = "true yes on ja oui si vrai wahr waar verdadero vero richtig y t"
_NO = "false no off nee nein non faux falsch onwaar falso fout n f"
_NOTHING = "null none nil undefined nan na void leeg nul rien keine"
_NUMBERS = (
    "zero one two three four five six seven eight nine ten eleven twelve",
    "nul een twee drie vier vijf zes zeven acht negen tien elf twaalf",
    "zero un deux trois quatre cinq six sept huit neuf dix onze douze",
    "null eins zwei drei vier funf sechs sieben acht neun zehn elf zwolf",
    "cero uno dos tres cuatro cinco seis siete ocho nueve diez once doce",
)
_ROMAN = "i ii iii iv v vi vii viii ix x xi xii"
_TRUTHS = {**dict.fromkeys(_YES.split(), True), **dict.fromkeys(_NO.split(), False)}
_NUMBER_WORDS = {word: float(number) for row in _NUMBERS for number, word in enumerate(row.split())}
_ROMAN_NUMBERS = {word: float(number) for number, word in enumerate(_ROMAN.split(), 1)}
_PLAIN = frozenset({"true", "false", "vrai", "faux", "wahr", "falsch", "onwaar"})
"""Words for yes and no that hardly any prose has. All others are values only right beside a name."""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?%?")
_ORDINAL = re.compile(r"(\d{1,4})(?:st|nd|rd|th|er|e|ste|de|o|a)")
_TOKEN = re.compile(rf"(?<![^\W_]){_NUMBER.pattern}(?![^\W_])|[^\W_]+")
_SIGN = re.compile(r"[^\w\s]")
_KEY_SIGN = re.compile(r"[:=>|]")
_MARKS = str.maketrans(dict.fromkeys("✓✔☑✅", " true ") | dict.fromkeys("✗✘☒❌✕✖", " false "))
_PIECES = re.compile(r"[\"'`]\s{0,9}\+\s{0,9}[\"'`]")
_CLOSING_TAG = re.compile(r"</[\w:.-]{1,80}>")
_INDEX = re.compile(r"(?<=[A-Za-z_])(?:\[\d{1,4}\](?=\s?[.=:\[/|>\"'])|[./]\d{1,4}(?=[./]|[\"'`]?\s?[=:,|>]))")
_EMPTY = re.compile(r"\[\s{0,9}\]|\{\s{0,9}\}|(?<=[:=>\s\[,])(?:\"\"|'')(?=\s{0,9}[,}\])\n])")
_SPELLED = re.compile(r"(?<![^\W_])[a-zA-Z](?:([-. _*·+])[a-zA-Z])(?:\1[a-zA-Z])+(?![^\W_])")
_PERCENT = re.compile(r"(?<=\d)\s%")
_CAMEL = re.compile(r"(?<=[a-z]{2})(?=[A-Z])")


class Item(NamedTuple):
    """A name, a value, or another word of a text."""

    text: str
    name: str | None
    meanings: frozenset[Meaning]
    is_common_word: bool
    """A value that is an ordinary word as well: it counts right beside a name only."""
    gap: str
    """What separates it from the item before."""


class Vocabulary:
    """The names that are looked for, and the words that labels are chosen from."""

    def __init__(self, names: Iterable[str], words: Iterable[str]) -> None:
        self._names = _index_by_first_part((tuple(map(_stem, _parts(name))), stem_of(name)) for name in names)
        self._words = _index_by_first_part((tuple(_parts(word)), word) for word in words)
        self._is_other_word = lru_cache(maxsize=16_384)(self._begins_nothing)

    def _begins_nothing(self, word: str) -> bool:
        return _stem(word) not in self._names and word not in self._words and not common_meanings(word)

    def items(self, text: str) -> list[Item]:
        """Splits a text (as `normalise_notation` gives it) into names, values and other words. The last item is empty:
        its gap is the end of the text."""
        tokens = list(_TOKEN.finditer(text))
        words = [token[0] for token in tokens]
        out: list[Item] = []
        place = end = 0
        while place < len(words):
            gap = text[end : tokens[place].start()]
            if self._is_other_word(words[place]):
                out.append(Item(words[place], None, NO_MEANING, False, gap))
                end, place = tokens[place].end(), place + 1
                continue
            name, of_name = _find_longest_name(self._names, words, place, _stem)
            word, of_word = _find_longest_name(self._words, words, place, str)
            meanings = common_meanings(words[place])
            weak = bool(meanings) and words[place] not in _PLAIN and not words[place][-1:].isdigit()
            if word is not None and of_word >= of_name:
                weak, meanings = bool(meanings), meanings | {("word", word)}
                name = name if of_name == of_word else None
            used = max(of_name, of_word, 1)
            out.append(Item("".join(words[place : place + used]), name, meanings, weak, gap))
            place += used
            end = tokens[place - 1].end()
        out.append(Item("", None, frozenset(), False, text[end:]))
        return _separate_names_from_values(out)


def normalise_notation(text: str) -> Iterator[str]:
    """Yields the text as it is read, with camel case as several words and, where there is some, again as one."""
    yield _normalise_once(text)
    if _CAMEL.search(text):
        yield _normalise_once(text.lower())


def _normalise_once(text: str) -> str:
    """Returns the text in lower case, without what hides names from a simple reader: indices, letters set apart, camel
    case."""
    text = _PIECES.sub("", text.translate(_MARKS))
    text = _EMPTY.sub(" null ", _INDEX.sub("", _CLOSING_TAG.sub(" ", text)))
    text = _SPELLED.sub(lambda spelled: spelled[0].replace(spelled[1], ""), text)
    return _CAMEL.sub("_", _PERCENT.sub("%", text)).lower()


def stem_of(name: str) -> str:
    """Returns a name as it is compared: without case, separators, or the s of a plural in any of its parts."""
    return "".join(map(_stem, _parts(name)))


def meaning_of(value: bool | float | str) -> Meaning:
    """Returns what a label of an answer is compared as: its kind and value. A number with many digits stays a text."""
    if isinstance(value, bool):
        return ("truth", value)
    if isinstance(value, str):
        return ("word", value)
    written = str(value)
    return ("number", written if len(written) > LONGEST_NUMBER else float(value))


# --- statements ------------------------------------------------------------------------------------


def values_beside_names(
    items: Sequence[Item], wanted: Mapping[str, Collection[ValueKind]], *, loose: bool
) -> Statements:
    """Collects the values behind each wanted name, of the kinds wanted for it. `loose`: also with some words between,
    as in prose."""
    found: Statements = defaultdict(list)
    for place, item in enumerate(items):
        if item.name is not None and (kinds := wanted.get(item.name)):
            behind = (items[number] for number in range(place + 1, len(items)))
            found[item.name] += _values_behind(behind, kinds, loose)
    return found


def _values_behind(items: Iterator[Item], kinds: Collection[ValueKind], loose: bool) -> list[frozenset[Meaning]]:
    """Returns the values that follow a name, up to the next name or the reach; one empty set if its value is of another
    kind."""
    values: list[frozenset[Meaning]] = []
    passed, is_signed = 0, False
    for item in items:
        is_signed = is_signed or _SIGN.search(item.gap) is not None
        if item.name is not None or passed > REACH:
            break
        fitting = frozenset(meaning for meaning in item.meanings if meaning[0] in kinds)
        is_beside = is_signed and passed <= 1
        if fitting and (is_beside or (loose and not item.is_common_word)):
            values.append(fitting)
            passed = 0
        elif values and (item.meanings or passed):
            break
        elif item.meanings and is_beside and not passed and (not item.is_common_word or NOTHING in item.meanings):
            return [frozenset()]  # it has a value, of another kind
        else:
            passed += 1
    return values


def names_with_values(items: Sequence[Item]) -> Iterator[str]:
    """Yields the names that are followed by a sign that separates a name from its value."""
    for item, after in itertools.pairwise(items):
        if item.name is not None and _KEY_SIGN.search(after.gap):
            yield item.name


def reverse_items(items: Sequence[Item]) -> list[Item]:
    """Returns the items from the last to the first: what is behind a name now was before it (`supported is the
    label`)."""
    gaps = [item.gap for item in items[1:]] + [""]
    return [item._replace(gap=gap) for item, gap in zip(reversed(items), reversed(gaps), strict=True)]


def values_in_tables(text: str, vocabulary: Vocabulary, wanted: Mapping[str, Collection[ValueKind]]) -> Statements:
    """Collects the values in the columns of tables (Markdown, CSV, tabs) whose first line gives names."""
    found: Statements = defaultdict(list)
    columns: list[str | None] = []
    sign = ""
    for line in text.splitlines():
        if columns and sign in line and len(line) <= LONGEST_ROW:
            cells = _split_cells(line, sign)
            # Where a line has fewer cells, there was other text before the names: the last ones belong together.
            for name, cell in zip(columns[-len(cells) :], cells, strict=False):
                if name is not None and (kinds := wanted.get(name)):
                    found[name] += _values_in_cell(vocabulary.items(cell), kinds)
            continue
        sign, columns = _find_header(line, vocabulary)
    return found


def _find_header(line: str, vocabulary: Vocabulary) -> tuple[str, list[str | None]]:
    """Returns the separator and the column names (None for unknown ones) if a line is the header of a table; else an
    empty separator and no names."""
    for sign in "|\t;,":
        if line.count(sign) and len(line) <= LONGEST_ROW:
            names = [_name_of_column(vocabulary.items(cell)) for cell in _split_cells(line, sign)]
            if len(set(names) - {None}) >= FEWEST_COLUMNS and 2 * sum(map(bool, names)) >= len(names):
                return sign, names
    return "", []


def _split_cells(line: str, sign: str) -> list[str]:
    """Splits a line of a table into cells."""
    if sign == "|":
        return line.split("|")
    try:
        return next(csv.reader([line], delimiter=sign, skipinitialspace=True), [])
    except csv.Error:
        return line.split(sign)


def _name_of_column(items: list[Item]) -> str | None:
    """Returns the last name in a short cell (`claims.label` is the column of `label`); None for a long cell."""
    return next((item.name for item in reversed(items) if item.name), None) if len(items) <= REACH else None


def _values_in_cell(items: list[Item], kinds: Collection[ValueKind]) -> list[frozenset[Meaning]]:
    """Returns the values of these kinds in a cell; one empty set if there are none."""
    values = [frozenset(meaning for meaning in item.meanings if meaning[0] in kinds) for item in items]
    return [value for value in values if value] or [frozenset()]


# --- words -----------------------------------------------------------------------------------------

Table = dict[str, list[tuple[tuple[str, ...], str]]]


def _index_by_first_part(named: Iterable[tuple[tuple[str, ...], str]]) -> Table:
    """Indexes names by the first of their parts, the longest first; a name may also be written in one."""
    table: Table = defaultdict(list)
    for parts, name in set(named):
        for spelling in {parts, ("".join(parts),)} if parts else ():
            table[spelling[0]].append((spelling, name))
    return {first: sorted(spellings, key=lambda one: -len(one[0])) for first, spellings in table.items()}


def _find_longest_name(table: Table, words: list[str], place: int, spelt: Any) -> tuple[str | None, int]:
    """Returns the longest known name that begins at this word, and how many words it has."""
    for parts, name in table.get(spelt(words[place]), ()):
        if len(parts) == 1 or tuple(map(spelt, words[place : place + len(parts)])) == parts:
            return name, len(parts)
    return None, 0


def _separate_names_from_values(items: list[Item]) -> list[Item]:
    """Decides which words are names and which are values. Where a name is a value as well (`yes`, `none`): it is the
    value of a name right before it, unless it has one."""
    out: list[Item] = []
    for item, after in itertools.pairwise(items):
        if item.name is not None and item.meanings:
            has_value = bool(after.meanings and _KEY_SIGN.search(after.gap))
            is_value = not has_value and bool(out) and out[-1].name is not None and bool(_SIGN.search(item.gap))
            item = item._replace(name=None) if is_value else item._replace(meanings=frozenset())
        out.append(item)
    return [*out, *items[-1:]]


@lru_cache(maxsize=4_096)
def _parts(name: str) -> list[str]:
    return _TOKEN.findall(_CAMEL.sub("_", fold_to_latin(name)).lower())


@lru_cache(maxsize=16_384)
def _stem(part: str) -> str:
    return part[:-1] if len(part) >= _SHORTEST_PLURAL and part[-1] == "s" else part


@lru_cache(maxsize=16_384)
def common_meanings(token: str) -> frozenset[Meaning]:
    """What a word or number may mean as a value: `1` is a number and yes, `one` is a number, `50%` is also 0.5."""
    if _NUMBER.fullmatch(token):
        return frozenset(_read_numbers(token))
    found: set[Meaning] = set()
    if ordinal := _ORDINAL.fullmatch(token):
        found.add(("number", float(ordinal[1])))
    for numbers in (_NUMBER_WORDS, _ROMAN_NUMBERS):
        if token in numbers:
            found.add(("number", numbers[token]))
    if token in _TRUTHS:
        found.add(("truth", _TRUTHS[token]))
    if token in _NOTHING.split():
        found.add(NOTHING)
    return frozenset(found)


def _read_numbers(token: str) -> Iterator[Meaning]:
    """Yields what a number may mean: itself, a percentage, or for 0 and 1 a truth value."""
    digits = token.rstrip("%")
    if len(digits) > LONGEST_NUMBER:
        yield ("number", digits)
        return
    value = float(digits)
    yield ("number", value)
    if digits != token:
        yield ("number", value / 100)
    elif value in (0, 1):
        yield ("truth", bool(value))
