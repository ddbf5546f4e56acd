"""Parts a reasoning into clauses and reads what each says of what: agreement, difference, doubt, lack or cost.

A word decides nothing by itself: "the others are not penalised" holds the word and denies it, "different languages, but
the same court" ends where it does. So each word of a stance is read with the denials before it in its clause, and is
tied to the nearest thing that the clause speaks about; a clause that names none speaks about that of the clause before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.cues import alternation, aspect_pattern
from krino.judges.lazy import lazy

Stance = Literal[
    "agree",
    "stands_for",
    "known",
    "differ",
    "unrelated",
    "names_differ",
    "unknown",
    "costs",
    "excused",
    "given",
    "lack",
]
Link = Literal["", "contrast", "concession", "cause", "effect", "question"]

CITED, FOUND, OTHER, PLACE = "\ue000", "\ue001", "\ue002", "\ue003"
"""Stand, letter by letter, for the name of the cited court, of a candidate of it, of another court, and of a place."""
_ASPECTS = ("court", "number", "context", "date", "ecli")
_TOPICS = ("language", "short", "jurisdiction", "chamber")
_REACH = {"wide": 8, "narrow": 3}
"""Words over which a denial reaches forward: "not" a whole phrase, "without" only what is lacking."""
_FARTHEST = 200
"""Characters behind which no denial is looked for, so that a text without a comma is not read over and over."""
_ONLY_DENIED = frozenset({"agree_noun", "rises"})
"""Say something only where they are denied."""
_WHOLE: tuple[Stance, ...] = ("excused", "names_differ")
"""Read as they stand, before the words in them are looked at one by one."""
_STANCES: dict[str, Stance] = {
    "agree": "agree",
    "agree_verb": "agree",
    "agree_noun": "agree",
    "stands_for": "stands_for",
    "known": "known",
    "differ": "differ",
    "unrelated": "unrelated",
    "unknown": "unknown",
    "given": "given",
    "lack": "lack",
    "costs": "costs",
    "rises": "costs",
}
"""The lists of the table, and what each says."""
_END = re.compile(r"[!?](?=\s|$)|\.(?=\s*$|\s+(?![\sa-z\u00bb]))|\n")
_NE_PAS = re.compile(r"(?<![a-z])n(?:e\s|')(?:[^,;:]{0,40}?)(?<![a-z])(pas|plus|jamais|guere)(?![a-z])")
_NE_QUE = re.compile(r"(?<![a-z])(n(?:e|'))\s?(?:\w+\s){1,3}qu(?:e\s|')")
_AFTER_NIET = re.compile(r"(?:\s[^\s,]+){0,6}?\s(?:niet|niets)(?:\s[^\s,]+){0,1}[\s,]*$|\s?(?:niet|niets)(?![a-z])")
_WORD = re.compile("[a-z]+|\u2260|!=|<>")
_CHOICE = re.compile(r"\((?!an\))[^()]*(?:\([^()]*\)[^()]*)*\)\??")
_COMMON = frozenset(
    {"and", "the", "is", "are", "an", "et", "en", "de", "confidence", "court", "candidate", "candidat", "kandidaat"}
)
_LEAD = frozenset({"concession", "cause", "question"})
_COURT_MARK = f"[{CITED}{FOUND}{OTHER}{PLACE}]"
_NAME_IN_BRACKETS = re.compile(
    rf"\(\s?({_COURT_MARK}(?:{_COURT_MARK}|[ .])*|[a-z0-9]{{1,20}}[./][\w./-]{{0,30}}\d[\w./-]{{0,10}})\s?\)"
)
"""A bracket that only names what stands before it, a court of the case or a number, parts no clause."""


class Statement(NamedTuple):
    """That something is said, or denied, of a topic."""

    stance: Stance
    denied: bool
    topic: str | None


class Clause:
    """One clause: its words, where it stands in the text, and what joins it to the one before."""

    def __init__(self, text: str, start: int, link: Link) -> None:
        self.text = text
        self.start = start
        self.link = link

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    def says(self, section: str, name: str) -> bool:
        return pattern(section, name).search(self.text) is not None

    @lazy
    def topics(self) -> list[tuple[str, int, int]]:
        """What the clause speaks about, with the places."""
        text = pattern("who", "idioms").sub(_blank, self.text)
        found = [(name, *match.span()) for name in _ASPECTS for match in aspect_pattern(name).finditer(text)]
        found += [(name, *match.span()) for name in _TOPICS for match in pattern("topics", name).finditer(text)]
        found += [("context", *match.span()) for match in pattern("topics", "meaning").finditer(text)]
        found += [("court", *match.span()) for match in re.finditer(f"[{CITED}{FOUND}]+", self.text)]
        found += [("jurisdiction", *match.span()) for match in re.finditer(f"{PLACE}+", self.text)]
        return sorted(found, key=lambda item: item[1])

    @lazy
    def topic_names(self) -> frozenset[str]:
        return frozenset(name for name, *_ in self.topics)

    @lazy
    def marks(self) -> frozenset[str]:
        """Which of the case's courts the clause names."""
        return frozenset(mark for mark in (CITED, FOUND, OTHER, PLACE) if mark in self.text)

    @lazy
    def stances(self) -> list[tuple[Stance, bool, int, int]]:
        """What is said, whether it is denied, and where."""
        found: list[tuple[Stance, bool, int, int]] = []
        text = self.text
        for whole in _WHOLE:
            found += [(whole, False, *match.span()) for match in pattern("stances", whole).finditer(text)]
            text = pattern("stances", whole).sub(_blank, text)
        text = _without_double_denial(text)
        asked = pattern("links", "question").search(text)
        end = asked.start() if asked else len(text)
        for name, stance in _STANCES.items():
            for match in _stance_pattern(name).finditer(text):
                # "no court mismatch" denies the mismatch, "no number, mismatch" the number.
                apart = 1 if stance == "differ" else -1
                spent = [begins for _, begins, ends in self.topics if match.start() - ends > apart]
                if stance == "costs" and name != "rises":
                    spent += [begins for kind, _, begins, _ in found if kind in ("given", "known", "lack")]
                denied = _denied(text, *match.span(), spent, wide=stance == "costs")
                if name in _ONLY_DENIED and not denied:
                    continue
                if match.start() < end or stance == "costs":
                    found.append((stance, denied and name != "rises", *match.span()))
        return sorted(found, key=lambda item: item[2])

    @lazy
    def affirmed_topics(self) -> frozenset[str]:
        """What the clause speaks about without denying it."""
        text = pattern("who", "idioms").sub(lambda match: " " * len(match[0]), _without_double_denial(self.text))
        return frozenset(
            name
            for name in ("words", "meaning")
            for match in pattern("topics", name).finditer(text)
            if not _denied(text, *match.span())
        )

    @lazy
    def denies_examining(self) -> bool:
        text = _without_double_denial(self.text)
        return any(_denied(text, *match.span()) for match in pattern("topics", "examined").finditer(text))

    def nearest_topic(self, start: int, end: int, first: Sequence[str]) -> str | None:
        """What a word at this place is said of: the nearest topic, one behind the same comma before all others."""
        low = self.text.rfind(",", 0, start) + 1
        high = self.text.find(",", end)

        def distance(item: tuple[str, int, int]) -> tuple[int, int]:
            name, begins, ends = item
            gap = max(begins - end, start - ends, 0)
            return gap, first.index(name) if name in first else len(first)

        others = [item for item in self.topics if item[1] >= end or item[2] <= start]
        inside = [item for item in others if low <= item[1] and (high < 0 or item[2] <= high)]
        best = min(inside or others or self.topics, key=distance, default=None)
        return best[0] if best else None


def sentences(text: str) -> list[list[Clause]]:
    """The clauses of a text, sentence by sentence."""
    found: list[list[Clause]] = []
    at = 0
    for end in [match.span() for match in _END.finditer(text)] + [(len(text), len(text))]:
        piece = _NAME_IN_BRACKETS.sub(_unbracketed, text[at : end[0]].lower())
        if piece.strip():
            found.append(list(_clauses(piece, at)))
        at = end[1]
    return found


def _clauses(sentence: str, offset: int) -> Iterator[Clause]:
    at, link = 0, _link("")
    for match in _links().finditer(sentence):
        if match.start() > at and sentence[at : match.start()].strip(" ,"):
            yield from _parted(sentence[at : match.start()], offset + at, link)
            link = ""
        link = _link(match.lastgroup) or link
        at = match.end() if match.lastgroup == "stop" else match.start(match.lastgroup or 0)
    if sentence[at:].strip(" ,"):
        yield from _parted(sentence[at:], offset + at, link)


def _parted(text: str, start: int, link: Link) -> Iterator[Clause]:
    """A clause that opens with a reason or a concession ends at its comma; the main clause follows."""
    comma = text.find(",") if link in _LEAD else -1
    if comma < 0:
        yield Clause(text, start, link)
        return
    yield Clause(text[:comma], start, link)
    if text[comma + 1 :].strip():
        yield Clause(text[comma + 1 :], start + comma + 1, "")


def _link(name: str | None) -> Link:
    if name in ("first", "then"):
        return "cause" if name == "first" else "effect"
    return name if name in ("contrast", "concession", "cause", "effect") else ""  # type: ignore[return-value]


@cache
def _links() -> re.Pattern[str]:
    """What parts two clauses: a mark, or a joining word; one that is written with a comma only behind a comma."""
    lists = table("claims")["links"]

    def joined(name: str) -> str:
        phrases = sorted(lists[name], key=len, reverse=True)
        plain = rf"(?<![a-z'])(?:{alternation(_form(phrase) for phrase in phrases if phrase[0] != ',')})"
        behind_comma = [rf",\s*{_form(phrase[2:])}" for phrase in phrases if phrase[0] == ","]
        return f"(?P<{name}>{'|'.join((plain, *behind_comma))})"

    first, then = "|".join(lists["cause_first"]), "|".join(lists["effect_first"])
    named = "|".join(joined(name) for name in ("concession", "contrast", "effect", "cause"))
    opens = r"(?:^\s*|,\s*|(?<![a-z])(?:and|et|en)\s+)"
    # "candidate 1 has it and candidate 2 has not": a verb in the singular shows that a new clause begins.
    candidate, singular = "|".join(lists["candidate"]), "|".join(lists["singular"])
    known = "|".join((candidate, *lists["list"]))
    listed = rf"(?:{candidate})\s*\d{{1,2}}|(?:the|le|la|de|het|der|die)\s(?:\w+\s)?(?:{known})"
    next_one = rf"\s(?:and|et|en|und)\s+(?=(?:{listed})(?:\s\w+)?\s*(?:{singular})(?![a-z]))"
    return re.compile(
        rf"(?P<stop>[:;()]|\s[-\u2013\u2014]\s|{next_one})|(?:^\s*|,\s*)(?P<first>(?:{first})(?![a-z]))"
        rf"|{opens}(?P<then>(?:{then})(?![a-z]))|{named}"
    )


def may_object(text: str) -> bool:
    """Whether a text holds any phrase that can deny, part or hold against; a cheap look before the dear one."""
    whole, stems, phrases = _objections()
    if not any(word in whole or word.startswith(stems.get(word[:3], ())) for word in _WORD.findall(text)):
        return False
    return phrases.search(text) is not None


@cache
def _objections() -> tuple[frozenset[str], dict[str, tuple[str, ...]], re.Pattern[str]]:
    """The longest telling word of every phrase that objects, whole or a stem by its first letters, and the phrases."""
    lists = table("claims")
    stances = [lists["stances"][name] for name in ("differ", "unrelated", "names_differ", "unknown", "costs", "lack")]
    phrases = [*lists["negation"]["wide"], *lists["negation"]["narrow"], *lists["links"]["contrast"]]
    phrases += [phrase for names in stances for phrase in names]
    whole: set[str] = {"t"}  # "isn't" ends so
    stems: dict[str, tuple[str, ...]] = {}
    for phrase in phrases:
        found = [match for match in _WORD.finditer(_CHOICE.sub(" ", phrase)) if match[0] not in _COMMON]
        for match in sorted(found, key=lambda match: -len(match[0]))[:1]:
            rest = match.string[match.end() : match.end() + 1]
            if rest in ("*", "?", "["):  # "fits?" is the stem "fit"
                stem = match[0][:-1] if rest == "?" else match[0]
                stems[stem[:3]] = (*stems.get(stem[:3], ()), stem)
            else:
                whole.add(match[0])
    forms = (_form(phrase.removeprefix(", ")) for phrase in dict.fromkeys(phrases))
    return frozenset(whole), stems, re.compile(rf"(?<![a-z0-9])(?:{alternation(forms)})|n't")


@cache
def pattern(section: str, name: str) -> re.Pattern[str]:
    forms = (_form(phrase) for phrase in table("claims")[section][name])
    return re.compile(rf"(?<![a-z0-9])(?:{alternation(forms)})")


@cache
def _stance_pattern(name: str) -> re.Pattern[str]:
    if name == "agree_verb":
        # "the match" is what the matcher returned; "no match" and "courts match" speak of agreement.
        before = "".join(rf"(?<!\b{word}\s)" for word in ("the", "a", "any", "this", "that", "my", "our", "le"))
        forms = "|".join(_form(phrase) for phrase in table("claims")["stances"][name])
        return re.compile(rf"{before}(?<![a-z])(?:{forms})")
    return pattern("stances", name)


@cache
def _negation(reach: str) -> re.Pattern[str]:
    forms = "|".join(_form(phrase) for phrase in table("claims")["negation"][reach])
    return re.compile(rf"(?<![a-z'])(?:{forms})|(?<=[a-z])n't(?![a-z])")


def affirms(name: str, text: str) -> bool:
    """Whether a text holds a word of `marks` without a denial before it."""
    return any(not _denied(text, *match.span()) for match in pattern("marks", name).finditer(text))


def _form(phrase: str) -> str:
    """A phrase of the table as a regular expression."""
    joined = ""
    for word in phrase.split():
        if word == "...":
            joined += r"(?:\s\S+){0,3}?"
        else:
            form = word.replace(".", r"\.").replace("*", "[a-z-]*").replace("§", f"[{CITED}{FOUND}]+")
            joined += rf"\s+{form}" if joined else form
    return joined if joined.endswith("'") else rf"{joined}(?![a-z])"


def _without_double_denial(text: str) -> str:
    """French denies with two words: the second is taken out, and "ne ... que" (only) is no denial."""
    for match in list(_NE_PAS.finditer(text)):
        text = text[: match.start(1)] + " " * len(match[1]) + text[match.end(1) :]
    for match in list(_NE_QUE.finditer(text)):
        text = text[: match.start(1)] + " " * len(match[1]) + text[match.end(1) :]
    return text


def _denied(text: str, start: int, end: int, spent: Sequence[int] = (), *, wide: bool = False) -> bool:
    """Whether a denial reaches a word. One that says what is lacking is spent on the thing that it stands before.

    `spent`: where such things stand; `wide`: that a denial of the other kind is spent on them too.
    """
    low = max(text.rfind(",", 0, start) + 1, start - _FARTHEST)
    spent = [place for place in spent if low < place < start]
    for reach, most in _REACH.items():
        for match in _negation(reach).finditer(text, low, start):
            used = (wide or reach == "narrow") and any(match.end() <= place < start for place in spent)
            if not used and len(text[match.end() : start].split()) <= most:
                return True
    # Dutch denies behind the verb: "ik herken de afkorting niet".
    return _AFTER_NIET.match(text, end) is not None


def _unbracketed(match: re.Match[str]) -> str:
    return f" {match[0][1:-1]} "


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])
