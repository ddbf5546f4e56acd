"""Cuts an answer into what can be claimed: sentences, rows with their headers, JSON values with their keys, list items.

Greetings, headings, table headers, source lines and fences state nothing: they are left out. So is nothing else: what
speaks to whoever judges the answer stays in and is found by `find_instructions`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import Any

from krino.judges.rag.reading.sentences import PICTURES, Sentence, split_sentences
from krino.judges.rag.reading.triggers import Triggers
from krino.judges.rag.reading.value_words import has_digit
from krino.judges.rag.tables import table
from krino.text.forms import straighten
from krino.text.words import stop_words

_LONGEST = 1_000
"""Characters of a sentence that are looked at."""
_TALK_WORD = re.compile(r"(?<!')\b[^\W\d_]+")
"""A word without what is drawn to it: "I" of "I've"."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*$", re.M)
_RULE = re.compile(r"[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)*\|?[ \t]*")
_LINE = re.compile(r"[^\n]*")
_EMPHASIS = re.compile(r"`|\*\*|__|(?<!\w)[*_](?=\w)|(?<=[\w.!?])[*_](?!\w)")
_PICTURES = re.compile(rf"^(?:[\s>]*[{PICTURES}\ufe0f\u200d]+)+[\s>]*(?=\S)|^>[\s>]*(?=\S)")
"""What stands before a sentence and is no part of it: pictures, and the marks of a quotation."""
_HEADING = re.compile(r"[ \t]*(?:#{1,6}[ \t]|\*\*[^*\n]{1,80}:?\*\*:?[ \t]*$)")
_ITEM = re.compile(r"[ \t]*(?:[-*+•‣◦▪–—]|\(?\d{1,3}[.)])[ \t]+")
_MOST_CELLS = 40
_MOST_JSON = 200_000
_OPENING = 8
_BARE_ITEM = 6
"""Words up to which a list item is no sentence of its own, but completes the line above the list."""


@lru_cache(maxsize=512)
def split_answer(answer: str) -> tuple[Sentence, ...]:
    """What of an answer can be checked, in order; an answer that shows anything gives at least one."""
    fenced = "```" in answer or "~~~" in answer
    bare = _FENCE.sub(lambda found: " " * len(found.group()), answer) if fenced else answer
    found = _json_values(bare)
    if found is None:
        found = [item for item in _units(bare) if not _says_nothing(item.text)]
    kept = tuple(item if _is_plain(item.text) else item._replace(text=_undressed(item.text)) for item in found)
    return kept or tuple(split_sentences(bare)) or split_sentences(answer)


def _is_plain(text: str) -> bool:
    """A first, cheap look: whether nothing in a text could be emphasis, a picture or a lead."""
    if not text[:1].isalnum() and text[:1] not in "\"'“‘«(":
        return False
    marked = "*" in text or "_" in text or "`" in text or ":" in text
    return not marked and not text[:8].lower().startswith(_attributed())


def _undressed(text: str) -> str:
    return _lead().sub("", _PICTURES.sub("", _EMPHASIS.sub("", text)))


# --- tables, lists and lines -----------------------------------------------------------------------


def _units(text: str) -> Iterator[Sentence]:
    """Line by line: a table's rows with its header, a list's items with what introduces it, sentences elsewhere."""
    if text[:1].isalpha() and "\n" not in text and "|" not in text:  # plain prose, in one line
        yield from (item for item in split_sentences(text) if not item.text.rstrip("*_ ").endswith(":"))
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
    return "|" in lines[place].group() and bool(ruled)


def _rows(lines: Sequence[re.Match[str]]) -> Iterator[Sentence]:
    header = _cells(lines[0].group())
    for line in lines[1:]:
        if told := _row(header, line.group()):
            yield Sentence(told, line.start(), line.end())


def _row(header: Sequence[str], line: str) -> str:
    cells = zip(header, _cells(line), strict=False)
    return "; ".join(f"{name}: {cell}" if name else cell for name, cell in cells if cell)


def tell_rows(lines: Sequence[str]) -> list[str]:
    """Sentences of a passage, with the rows of a table told by its header: the first of a run of lines with bars."""
    told: list[str] = []
    header: list[str] = []
    for line in lines:
        in_table = line.startswith("|")
        told.append(_row(header, line) if in_table and header else line)
        header = (header or _cells(line)) if in_table else []
    return told


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")][:_MOST_CELLS]


def _sentences(text: str, start: int, end: int) -> Iterator[Sentence]:
    """The sentences of a stretch, without headings; short list items are told with the line that introduces them."""
    opening = ""
    for item in split_sentences(text[start:end]):
        sentence = Sentence(item.text, item.start + start, item.end + start)
        begin = text.rfind("\n", 0, sentence.start) + 1
        if _HEADING.match(text, begin, sentence.end) and "\n" not in sentence.text:
            continue
        listed = _ITEM.fullmatch(text, begin, sentence.start) is not None
        if sentence.text.rstrip("*_ ").endswith(":"):
            opening = "" if listed else sentence.text.strip("*_ ")
            continue
        if not listed:
            opening = ""
        if opening and _completes(opening, sentence.text):
            sentence = sentence._replace(text=f"{opening} {sentence.text}")
        yield sentence


def _completes(opening: str, item: str) -> bool:
    """Whether a list item is no sentence of its own, and the line above it short enough to be told with each."""
    return len(item.split()) <= _BARE_ITEM and len(opening.split()) <= _OPENING and not item.endswith((".", "!", "?"))


# --- JSON ------------------------------------------------------------------------------------------


def _json_values(text: str) -> list[Sentence] | None:
    """The values of an answer that is one JSON object or list, each with its keys; None where it is none."""
    stripped = text.strip()
    if len(stripped) > _MOST_JSON or stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return None
    try:
        told = json.loads(stripped)
    except (ValueError, RecursionError):
        return None
    found: list[Sentence] = []
    place = 0
    for keys, value in _leaves(told, ()):
        shown = value if isinstance(value, str) else json.dumps(value)
        at = text.find(json.dumps(value, ensure_ascii=False).strip('"'), place)
        start, place = (at, at + len(shown)) if at >= 0 else (place, place)
        found.append(Sentence(": ".join((*keys, shown)), start, max(place, start)))
    return [item for item in found if item.text.strip()] or None


def _leaves(value: Any, keys: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*keys, str(key).replace("_", " ")))
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, keys)
    elif value is not None and value != "":
        yield keys, value


# --- what says nothing -----------------------------------------------------------------------------


def _says_nothing(text: str) -> bool:
    """A greeting, a thank-you, a closing, a name under a letter, or a line that only names sources."""
    plain = straighten(text[:_LONGEST]).lower().strip(" *_¡¿")
    return _whole("sources" if has_digit(plain) else "says_nothing").fullmatch(plain) is not None


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
def _whole(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in table("answers")[name]))


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
