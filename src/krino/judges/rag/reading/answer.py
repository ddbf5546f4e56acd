"""Cuts an answer into sentences, table rows and JSON values, and finds headings, lead-ins and sources by their markup.

Nothing is left out but markup: every word of the answer is in some unit. What makes no claim by its markup (a heading,
a line that leads in, a line of sources) is marked by a hint and stays in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Literal, NamedTuple

from krino.judges.rag.reading.same_length import without_numbering
from krino.judges.rag.reading.sentences import PICTURES, Sentence, split_sentences

Hint = Literal["heading", "lead-in", "source"]

_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[ \t]*([^\n]*)$", re.M)
"""A line that opens or closes a block of code; behind the marks may stand a language, or text."""
_FENCE_LANGUAGE = re.compile(r"[a-z+#-]{1,12}\d?")
"""One word in small letters behind a fence names the language of the code."""
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
    above: str = ""
    """The heading and the lead-in that it stands below: of an item of a list they say what it is an item of."""


def split_answer(answer: str) -> tuple[Sentence, ...]:
    """Returns the units of an answer as sentences, in order; an answer that shows anything gives at least one."""
    return tuple(unit.sentence for unit in read_units(answer))


@lru_cache(maxsize=512)
def read_units(answer: str) -> tuple[Unit, ...]:
    """Returns the units of an answer, in order, each with what its markup says about it."""
    fences: list[Unit] = []
    fenced = "```" in answer or "~~~" in answer
    bare = _FENCE.sub(lambda found: _open_fence(found, fences), answer) if fenced else answer
    values = _split_json(bare)
    found = [*fences, *(_split_units(bare) if values is None else values)]
    if fences:
        found.sort(key=lambda unit: unit.sentence.start)
    kept = tuple(
        unit if _is_plain(unit.sentence.text) else unit._replace(sentence=_undress(unit.sentence)) for unit in found
    )
    if _CROSS.search(answer):
        kept = tuple(unit._replace(sentence=_add_cross(unit.sentence, bare)) for unit in kept)
    return kept or tuple(Unit(item, None) for item in split_sentences(bare) or split_sentences(answer))


def _find_hint(text: str, *, is_heading: bool) -> Hint | None:
    """Returns what a unit is by its markup if it makes no claim; None where nothing suggests that."""
    if is_heading:
        return "heading"
    if text.rstrip("*_ ").endswith(":"):
        return "lead-in"
    return None if any(map(str.isalnum, without_numbering(text))) else "source"


def _add_cross(sentence: Sentence, answer: str) -> Sentence:
    """Returns a sentence with the cross before or behind it in its line, which is part of what it says."""
    before = _CROSS_BEFORE.search(answer[max(sentence.start - 24, 0) : sentence.start])
    after = _CROSS_AFTER.match(answer, sentence.end)
    if before is not None and not sentence.text.startswith(before[1]):
        return sentence._replace(text=f"{before[1]} {sentence.text}")
    return sentence if after is None else sentence._replace(text=f"{sentence.text} {after[1]}")


def _open_fence(found: re.Match[str], fences: list[Unit]) -> str:
    """Returns spaces in place of a fence line.

    What the line says beyond the name of a language becomes a unit in `fences`.
    """
    said = found.group(1).strip().rstrip("`~").rstrip()
    if any(map(str.isalnum, said)) and _FENCE_LANGUAGE.fullmatch(said) is None:
        start = found.start(1)
        fences.append(Unit(Sentence(said, start, start + len(said)), _find_hint(said, is_heading=False)))
    return " " * len(found.group())


def _is_plain(text: str) -> bool:
    """A first, cheap look: whether nothing in a text could be emphasis or a picture."""
    opens = text[:1].isalnum() or text[:1] in "\"'“‘«("
    return opens and not ("*" in text or "_" in text or "`" in text)


def _undress(sentence: Sentence) -> Sentence:
    return sentence._replace(text=_PICTURES.sub("", _EMPHASIS.sub("", sentence.text)) or sentence.text)


# --- tables, lists and lines -----------------------------------------------------------------------


def _split_units(text: str) -> Iterator[Unit]:
    """Yields the units of a text: a table's rows with its header, and sentences elsewhere."""
    if text[:1].isalpha() and "\n" not in text and "|" not in text:  # plain prose, in one line
        yield from (Unit(item, _find_hint(item.text, is_heading=False)) for item in split_sentences(text))
        return
    lines = [found for found in _LINE.finditer(text) if found.group().strip()]
    place = start = 0
    while place < len(lines):
        if _begins_table(lines, place):
            yield from _split_stretch(text, start, lines[place].start())
            end = next((n for n in range(place, len(lines)) if "|" not in lines[n].group()), len(lines))
            yield from _read_rows([line for line in lines[place:end] if not _RULE.fullmatch(line.group())])
            start, place = lines[end - 1].end(), end
            continue
        place += 1
    yield from _split_stretch(text, start, len(text))


def _begins_table(lines: Sequence[re.Match[str]], place: int) -> bool:
    ruled = place + 1 < len(lines) and _RULE.fullmatch(lines[place + 1].group()) and "|" in lines[place + 1].group()
    return "|" in lines[place].group() and bool(ruled) and not _RULE.fullmatch(lines[place].group())


def _read_rows(lines: Sequence[re.Match[str]]) -> Iterator[Unit]:
    """Yields the rows of a table, each cell with its header.

    The header alone comes first if one of its columns has no cell in any row.
    """
    header = _cells(lines[0].group())
    rows = [(line, _cells(line.group())) for line in lines[1:]]
    filled = {place for _, cells in rows for place, cell in enumerate(cells) if cell}
    if any(name and place not in filled for place, name in enumerate(header)):
        yield Unit(Sentence("; ".join(filter(None, header)), lines[0].start(), lines[0].end()), "heading")
    for line, cells in rows:
        if row := _row(header, cells):
            yield Unit(Sentence(row, line.start(), line.end()), None)


def _row(header: Sequence[str], cells: Sequence[str]) -> str:
    paired = zip_longest(header, cells, fillvalue="")
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in paired if cell)


def add_headers(lines: Sequence[str]) -> list[str]:
    """Returns the sentences of a passage, each table cell with its header: the first of a run of lines with bars."""
    texts: list[str] = []
    header: list[str] = []
    for line in lines:
        in_table = line.startswith("|")
        texts.append(_row(header, _cells(line)) if in_table and header else line)
        header = (header or _cells(line)) if in_table else []
    return texts


def _cells(line: str) -> list[str]:
    bare = line.strip()
    return [cell.strip() for cell in bare.removeprefix("|").removesuffix("|").split("|")]


def _split_stretch(text: str, start: int, end: int) -> list[Unit]:
    """Returns the sentences of a stretch, each with what it stands below.

    Short list items are joined to their lead-in.
    """
    units: list[Unit] = []
    title = lead = ""
    number = 0
    for item in split_sentences(text[start:end]):
        sentence = Sentence(item.text, item.start + start, item.end + start)
        begin = text.rfind("\n", 0, sentence.start) + 1
        heading = _is_heading(text, begin, sentence)
        listed = _ITEM.fullmatch(text, begin, sentence.start) is not None
        numbered = _NUMBERED.fullmatch(text, begin, sentence.start)
        if numbered is not None:
            before, number = number, int(numbered[1])
            if number not in (1, before, before + 1):  # no list counts so: the number is part of what is said
                sentence = Sentence(text[numbered.start(1) : sentence.end], numbered.start(1), sentence.end)
        unit = Unit(sentence, _find_hint(sentence.text, is_heading=heading))
        bare = sentence.text.strip("*_# ")
        if heading:
            title, lead = bare, ""
        elif unit.hint == "lead-in":
            lead = "" if listed else bare
        elif not listed:
            lead = ""
        if unit.hint is None and listed:
            unit = unit._replace(above=" ".join(filter(None, (title and f"{title.rstrip(':')}:", lead))))
            if lead and _completes(lead, sentence.text):
                unit = unit._replace(sentence=sentence._replace(text=f"{lead} {sentence.text}"))
        units.append(unit)
    return units


def _is_heading(text: str, begin: int, sentence: Sentence) -> bool:
    """Whether a line is a title by its markup. One in bold that ends as a sentence does is a sentence."""
    if "\n" in sentence.text or _HEADING.match(text, begin, sentence.end) is None:
        return False
    return text.startswith("#", begin) or not sentence.text.rstrip("*_ ").endswith((".", "!", "?"))


def _completes(opening: str, item: str) -> bool:
    """Whether a list item is no sentence of its own, and the line above it short enough to be repeated with each."""
    return len(item.split()) <= _BARE_ITEM and len(opening.split()) <= _OPENING and not item.endswith((".", "!", "?"))


# --- JSON ------------------------------------------------------------------------------------------


def _split_json(text: str) -> list[Unit] | None:
    """Returns the values of an answer that is one JSON object or list, each with its keys; None where it is none."""
    stripped = text.strip()
    if len(stripped) > _MOST_JSON or stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return None
    try:  # numbers as they are written, and of a key that stands twice both values
        parsed = json.loads(stripped, object_pairs_hook=_Pairs, parse_int=str, parse_float=str)
        leaves = list(_list_leaves(parsed, ()))
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


def _list_leaves(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields every value with its keys; a key that holds nothing gets an empty text."""
    if isinstance(value, _Pairs) and value:
        for key, inner in value:
            yield from _list_leaves(inner, (*keys, key.replace("_", " ")))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from _list_leaves(inner, keys)
    else:
        yield keys, "" if value is None or isinstance(value, list) else value
