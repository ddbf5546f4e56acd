"""Cuts an answer into units that are read one by one: sentences, rows with their headers, JSON values with their keys.

Nothing is left out but markup: every word of the answer is in some unit. What perhaps makes no claim (a heading, a
line that leads in, a courtesy, a list of sources) is marked by a hint (`reading.hints`) and stays in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple

from krino.judges.rag.reading.hints import Hint, find_hint
from krino.judges.rag.reading.sentences import PICTURES, Sentence, split_sentences
from krino.judges.rag.reading.triggers import Triggers
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

_LONGEST = 1_000
"""Characters of a sentence that are looked at."""
_TALK_WORD = re.compile(r"(?<!')\b[^\W\d_]+")
"""A word without what is drawn to it: "I" of "I've"."""
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*([^\n]*)$", re.M)
"""A line that opens or closes a block of code; behind the marks may stand a language, or text."""
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*")
_LINE = re.compile(r"[^\n]*")
_EMPHASIS = re.compile(r"`|(?<!\w)(?:\*\*|__)|(?:\*\*|__)(?!\w)|(?<![\w*_])[*_](?=\w)|(?<=[\w.!?])[*_](?![\w*_])")
_PICTURES = re.compile(rf"^(?:[\s>]*(?![❌✖✗✘⛔🚫👎])[{PICTURES}\ufe0f\u200d]+)+[\s>]*(?=\S)|^>[\s>]*(?=[^\s\d])")
"""What stands before a sentence and is no part of it: pictures, and the marks of a quotation."""
_CROSS = re.compile("[❌✖✗✘🚫⛔👎]")
_CROSS_BEFORE = re.compile(r"(?:^|\n)[ \t>*+-]*([❌✖✗✘🚫⛔👎])\ufe0f?[ \t*_]*$")
_CROSS_AFTER = re.compile(r"[ \t*_]*([❌✖✗✘🚫⛔👎])")
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\*\*[^*\n]{1,80}:?\*\*:?[ \t]*$)")
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦▪–—]|\(?\d{1,3}[.)])[ \t]+")
_NUMBERED = re.compile(r"[ \t>]*\(?(\d{1,3})[.)][ \t]+")
_MOST_JSON = 200_000
_OPENING = 8
_BARE_ITEM = 6
"""Words up to which a list item is no sentence of its own, but completes the line above the list."""


class Unit(NamedTuple):
    """A piece of the answer that is labelled by itself."""

    sentence: Sentence
    hint: Hint | None
    """What it looks like if it makes no claim; None where nothing suggests that."""
    joined: bool = False
    """Whether it leads in a list and is shown again with the items that it introduces."""


def split_answer(answer: str) -> tuple[Sentence, ...]:
    """The units of an answer as sentences, in order; an answer that shows anything gives at least one."""
    return tuple(unit.sentence for unit in read_units(answer))


@lru_cache(maxsize=512)
def read_units(answer: str) -> tuple[Unit, ...]:
    """The units of an answer, in order, each with the hint that code has about it."""
    fences: list[Unit] = []
    fenced = "```" in answer or "~~~" in answer
    bare = _FENCE.sub(lambda found: _open_fence(found, fences), answer) if fenced else answer
    values = _json_values(bare)
    found = [*fences, *(_units(bare) if values is None else values)]
    if fences:
        found.sort(key=lambda unit: unit.sentence.start)
    kept = tuple(
        unit if _is_plain(unit.sentence.text) else unit._replace(sentence=_undress(unit.sentence)) for unit in found
    )
    if _CROSS.search(answer):
        kept = tuple(unit._replace(sentence=_with_cross(unit.sentence, bare)) for unit in kept)
    return kept or tuple(Unit(item, None) for item in split_sentences(bare) or split_sentences(answer))


def _with_cross(sentence: Sentence, answer: str) -> Sentence:
    """A cross before a sentence in its line, or behind it, is part of what it says."""
    before = _CROSS_BEFORE.search(answer[max(sentence.start - 24, 0) : sentence.start])
    after = _CROSS_AFTER.match(answer, sentence.end)
    if before is not None and not sentence.text.startswith(before[1]):
        return sentence._replace(text=f"{before[1]} {sentence.text}")
    return sentence if after is None else sentence._replace(text=f"{sentence.text} {after[1]}")


def _open_fence(found: re.Match[str], fences: list[Unit]) -> str:
    """Blanks a fence line; what it says beyond the name of a language becomes a unit of its own."""
    said = found.group(1).strip().rstrip("`~").rstrip()
    if any(map(str.isalnum, said)) and said.lower() not in _fence_languages():
        start = found.start(1)
        fences.append(Unit(Sentence(said, start, start + len(said)), find_hint(said, is_heading=False)))
    return " " * len(found.group())


def _is_plain(text: str) -> bool:
    """A first, cheap look: whether nothing in a text could be emphasis or a picture."""
    opens = text[:1].isalnum() or text[:1] in "\"'“‘«("
    return opens and not ("*" in text or "_" in text or "`" in text)


def _undress(sentence: Sentence) -> Sentence:
    return sentence._replace(text=_PICTURES.sub("", _EMPHASIS.sub("", sentence.text)) or sentence.text)


def without_lead(text: str) -> str:
    """The text without "Answer: " or "Volgens de tekst" before it and without the colon behind it."""
    if ":" in text or text[:8].lower().startswith(_attributed()):
        return _lead().sub("", text).rstrip(" :") or text
    return text


# --- tables, lists and lines -----------------------------------------------------------------------


def _units(text: str) -> Iterator[Unit]:
    """Line by line: a table's rows with its header, a list's items with what introduces it, sentences elsewhere."""
    if text[:1].isalpha() and "\n" not in text and "|" not in text:  # plain prose, in one line
        yield from (Unit(item, find_hint(item.text, is_heading=False)) for item in split_sentences(text))
        return
    lines = [found for found in _LINE.finditer(text) if found.group().strip()]
    place = start = 0
    while place < len(lines):
        if _begins_table(lines, place):
            yield from _sentences(text, start, lines[place].start())
            end = next((n for n in range(place, len(lines)) if "|" not in lines[n].group()), len(lines))
            yield from _rows([line for line in lines[place:end] if not _RULE.fullmatch(line.group())])
            start, place = lines[end - 1].end(), end
            continue
        place += 1
    yield from _sentences(text, start, len(text))


def _begins_table(lines: Sequence[re.Match[str]], place: int) -> bool:
    ruled = place + 1 < len(lines) and _RULE.fullmatch(lines[place + 1].group()) and "|" in lines[place + 1].group()
    return "|" in lines[place].group() and bool(ruled) and not _RULE.fullmatch(lines[place].group())


def _rows(lines: Sequence[re.Match[str]]) -> Iterator[Unit]:
    """The rows, each cell with its header; the header alone if one of its columns has no cell in any row."""
    header = _cells(lines[0].group())
    rows = [(line, _cells(line.group())) for line in lines[1:]]
    told = {place for _, cells in rows for place, cell in enumerate(cells) if cell}
    if any(name and place not in told for place, name in enumerate(header)):
        yield Unit(Sentence("; ".join(filter(None, header)), lines[0].start(), lines[0].end()), "heading")
    for line, cells in rows:
        if row := _row(header, cells):
            yield Unit(Sentence(row, line.start(), line.end()), None)


def _row(header: Sequence[str], cells: Sequence[str]) -> str:
    paired = zip_longest(header, cells, fillvalue="")
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in paired if cell)


def tell_rows(lines: Sequence[str]) -> list[str]:
    """Sentences of a passage, with the rows of a table told by its header: the first of a run of lines with bars."""
    told: list[str] = []
    header: list[str] = []
    for line in lines:
        in_table = line.startswith("|")
        told.append(_row(header, _cells(line)) if in_table and header else line)
        header = (header or _cells(line)) if in_table else []
    return told


def _cells(line: str) -> list[str]:
    bare = line.strip()
    return [cell.strip() for cell in bare.removeprefix("|").removesuffix("|").split("|")]


def _sentences(text: str, start: int, end: int) -> list[Unit]:
    """The sentences of a stretch; short list items are joined to the line that introduces them."""
    units: list[Unit] = []
    opening: int | None = None  # the place of that line among the units
    number = 0
    for item in split_sentences(text[start:end]):
        sentence = Sentence(item.text, item.start + start, item.end + start)
        begin = text.rfind("\n", 0, sentence.start) + 1
        heading = _HEADING.match(text, begin, sentence.end) is not None and "\n" not in sentence.text
        listed = _ITEM.fullmatch(text, begin, sentence.start) is not None
        numbered = _NUMBERED.fullmatch(text, begin, sentence.start)
        if numbered is not None:
            before, number = number, int(numbered[1])
            if number not in (1, before, before + 1):  # no list counts so: the number is part of what is said
                sentence = Sentence(text[numbered.start(1) : sentence.end], numbered.start(1), sentence.end)
        unit = Unit(sentence, find_hint(sentence.text, is_heading=heading))
        if unit.hint == "lead-in":
            opening = None if listed else len(units)
        elif heading or not listed:
            opening = None
        elif opening is not None and _completes(lead := units[opening].sentence.text.strip("*_ "), sentence.text):
            unit = unit._replace(sentence=sentence._replace(text=f"{lead} {sentence.text}"))
            units[opening] = units[opening]._replace(joined=True)
        units.append(unit)
    return units


def _completes(opening: str, item: str) -> bool:
    """Whether a list item is no sentence of its own, and the line above it short enough to be told with each."""
    return len(item.split()) <= _BARE_ITEM and len(opening.split()) <= _OPENING and not item.endswith((".", "!", "?"))


# --- JSON ------------------------------------------------------------------------------------------


def _json_values(text: str) -> list[Unit] | None:
    """The values of an answer that is one JSON object or list, each with its keys; None where it is none."""
    stripped = text.strip()
    if len(stripped) > _MOST_JSON or stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return None
    try:  # numbers as they are written, and of a key that stands twice both values
        told = json.loads(stripped, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
        leaves = list(_leaves(told, ()))
    except (ValueError, RecursionError):
        return None
    found: list[Unit] = []
    place = 0
    for keys, value in leaves:
        shown = value if isinstance(value, str) else json.dumps(value)
        at = text.find(json.dumps(value, ensure_ascii=False).strip('"'), place) if shown else -1
        start, place = (at, at + len(shown)) if at >= 0 else (place, place)
        said = ": ".join(filter(None, (*keys, shown)))
        if any(map(str.isalnum, said)):
            hint: Hint | None = None if shown else "heading"
            found.append(Unit(Sentence(said, start, max(place, start)), hint))
    return found or None


class _Pairs(list[tuple[str, Any]]):
    """A JSON object with all that is written in it, in order."""


def _leaves(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every value with its keys; a key that holds nothing gets an empty text."""
    if isinstance(value, _Pairs) and value:
        for key, inner in value:
            yield from _leaves(inner, (*keys, key.replace("_", " ")))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _leaves(inner, keys)
    else:
        yield keys, "" if value is None or isinstance(value, list) else value


# --- talk and orders --------------------------------------------------------------------------------


def is_talk(text: str) -> bool:
    """ "I hope that makes it clearer", "Interesting topic": about the asking and answering, with nothing of the matter.

    What denies may decline, so it is never talk. The model that tells talk (`support.talk`) is not asked where the
    passages hold words of a sentence: with long passages that is so for one talking sentence in twenty.
    """
    told = _harmless().sub(" worry ", straighten(text[:_LONGEST]).lower())
    words = frozenset(_TALK_WORD.findall(told))
    about, known = _talk()
    if words.isdisjoint(about) or "n't" in told or any(map(str.isdecimal, told)):
        return False
    return words <= known and words.isdisjoint(table("words")["negation"]["en"].split())


@cache
def _talk() -> tuple[frozenset[str], frozenset[str]]:
    """The words of which a sentence needs one to be talk, and all that it may have."""
    about, words = (frozenset(table("answers")["talk"][name].split()) for name in ("about", "words"))
    return about, about | words | stop_words("en")


@cache
def _harmless() -> re.Pattern[str]:
    return re.compile(table("answers")["talk"]["harmless"])


@cache
def _fence_languages() -> frozenset[str]:
    return frozenset(table("answers")["fence_languages"].split())


@cache
def _lead() -> re.Pattern[str]:
    """ "Answer: " or "Volgens de tekst" before what is answered."""
    return re.compile(table("answers")["lead"], re.I)


@cache
def _attributed() -> tuple[str, ...]:
    return tuple(table("answers")["attributed"])


def find_instructions(sentences: Sequence[Sentence], question: str) -> frozenset[int]:
    """Numbers, from 1, of sentences that speak to whoever judges; none where the question is about such matters."""
    texts = [straighten(sentence.text[:_LONGEST]).lower() for sentence in sentences]
    if not _triggers().stand_in("\n".join(texts)) or _asked().search(question[:_LONGEST].lower()):
        return frozenset()
    return frozenset(number for number, text in enumerate(texts, 1) if _patterns().search(text))


@cache
def _triggers() -> Triggers:
    return Triggers(table("instructions")["trigger"])


@cache
def _patterns() -> re.Pattern[str]:
    data = table("instructions")
    return re.compile("|".join(f"(?:{pattern.replace('{do}', data['do'])})" for pattern in data["patterns"]))


@cache
def _asked() -> re.Pattern[str]:
    return re.compile(table("instructions")["asked"])
