"""Retells sentences of running text: who did what, how many, how much and when; rightly, and wrongly by the same means.

`retell` gives claims with labels. Rules take only what they fully recognise, and leave every other sentence alone.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import edits
from lexicon import Lexicon
from pairs import CONTRADICTED, NOT_SUPPORTED, SUPPORTED

Retold = tuple[str, int, str]
"""A claim, its label, and the kind of retelling."""

_PROPER = r"[A-Z][\w'’&-]*(?: (?:of |de |van |von |the )?[A-Z0-9][\w'’&-]*)*"
_COMMON = r"(?:[Tt]he|[Aa]n?) (?:[a-z][\w-]* ){0,3}[A-Za-z][\w-]*(?: of (?:the )?[A-Za-z][\w-]*)?"
_PHRASE = rf"(?:{_PROPER}|{_COMMON})"
_PRONOUNS = frozenset(
    ["He", "She", "It", "They", "We", "I", "You", "This", "That", "These", "Those", "There", "Who", "Which", "What"]
)
_YEAR_FIRST = re.compile(r"^In (1\d{3}|20[0-2]\d), ((?:the|a|an|he|she|it|they|[A-Z])\b.{12,110})\.$")
_YEAR_LAST = re.compile(r"^(.{12,110}) in (1\d{3}|20[0-2]\d)\.$")
_APPOSED = re.compile(rf"^({_PROPER}), ((?:a|an|the) [^,;]{{8,80}}), ((?:was|is|has|had|were|\w+ed) [^;]{{8,}})\.$")
_RELATIVE = re.compile(rf"^({_PROPER}), (?:who|which) ([^,;]{{8,80}}), ((?:was|is|has|had|were|\w+ed) [^;]{{8,}})\.$")
_TWO_DEEDS = re.compile(
    rf"^({_PHRASE}) ((?:was|is|has|had|\w+ed) [^,;]{{8,80}}),? and ((?:was|is|has|had|\w+ed) [^,;]{{8,80}})\.$"
)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "retelling.toml").read_text("utf-8"))


def retell(text: str, random: Random, words: Lexicon) -> Iterator[Retold]:
    """Every retelling that the sentence allows."""
    for way in (_active_and_passive, _exchanged, _taken_apart, _amounts, _bounds, _counted, _measured, _whether):
        yield from way(text, random)
    yield from _other_words(text, random, words)


# --- who did what to whom --------------------------------------------------------------------------


@cache
def _deeds() -> tuple[re.Pattern[str], re.Pattern[str]]:
    after = "|".join(_table()["relating"]["after"].split())
    rest = rf"((?: (?:{after}) [^,;]{{2,70}})?)\.$"
    verbs = "|".join(_table()["relating"]["verbs"].split())
    passive = re.compile(rf"^({_PHRASE}) (was|were|is) (?:(?:also|later|originally) )?(\w+) by ({_PHRASE}){rest}")
    return passive, re.compile(rf"^({_PHRASE}) ({verbs}) ({_PHRASE}){rest}")


_MADE_BY = re.compile(
    rf"^({_PROPER})(?: \([^)]*\))? (?:is|was) an? [^,;.]{{3,80}}? (\w+ed|written|made|led|built) "
    rf"by ({_PROPER})(?=[,.;]| and )"
)
"""\"X is a film directed by Y\" tells a deed in passing."""


@cache
def _pasts() -> dict[str, str]:
    """The past of a participle."""
    entries = (entry.split("=") for entry in _table()["relating"]["irregular"].split())
    return dict(entries)


def _read_deed(text: str) -> tuple[str, str, str, str, str, str] | None:
    """Who, past, participle, to whom, the helping verb, and the rest."""
    passive, active = _deeds()
    if match := passive.match(text):
        whom, helper, done, who, rest = match.groups()
        past = _pasts().get(done) or (done if done.endswith("ed") else "")
        found = (who, past, done, whom, helper, rest) if past and helper != "is" else None
    elif match := active.match(text):
        who, past, whom, rest = match.groups()
        backwards = {past: done for done, past in _pasts().items()}
        done = backwards.get(past, past)
        found = (who, past, done, whom, "was", rest) if done.endswith("ed") or past in backwards else None
    elif match := _MADE_BY.match(text):
        whom, done, who = match.groups()
        found = (who, _pasts().get(done, done), done, whom, "was", "")
    else:
        return None
    if found is None or {found[0].split()[0], found[3].split()[0]} & _PRONOUNS or found[0] == found[3]:
        return None
    return found


def _active_and_passive(text: str, random: Random) -> Iterator[Retold]:
    read = _read_deed(text)
    if read is None:
        return
    who, past, done, whom, helper, whole = read
    for rest in dict.fromkeys((whole, "")):
        for one, other, label in ((who, whom, SUPPORTED), (whom, who, NOT_SUPPORTED)):
            ways = [f"{_top(one)} {past} {_low(other)}{rest}.", f"{_top(other)} {helper} {done} by {_low(one)}{rest}."]
            ways.append(f"It was {_low(one)} who {past} {_low(other)}{rest}.")
            yield from ((way, label, "roles") for way in random.sample(ways, 2) if way != text)


def _low(phrase: str) -> str:
    first = phrase.split()[0]
    return phrase[0].lower() + phrase[1:] if first in ("The", "A", "An", "Its", "His", "Her", "Their") else phrase


def _top(phrase: str) -> str:
    return phrase[0].upper() + phrase[1:]


def _exchanged(text: str, random: Random) -> Iterator[Retold]:
    """Two names change places, unless the sentence may be true both ways."""
    names = [match for match in re.finditer(_PROPER, text) if match.group().split()[0] not in _not_names()]
    if random.random() < 0.5:  # else they would be half of all retellings
        return
    choices = [(one, two) for one in names for two in names if one.end() < two.start() and _apart(text, one, two)]
    if not choices:
        return
    one, two = random.choice(choices)
    between = text[one.end() : two.start()]
    yield text[: one.start()] + two.group() + between + one.group() + text[two.end() :], NOT_SUPPORTED, "exchanged"
    kept = edits.rephrase(text, random) or edits.shorten(text, random)
    if kept:
        yield kept, SUPPORTED, "exchanged"


@cache
def _not_names() -> frozenset[str]:
    """Words with a capital that begin sentences."""
    return frozenset(edits.plain_words()) | _PRONOUNS


def _apart(text: str, one: re.Match[str], two: re.Match[str]) -> bool:
    between = text[one.end() : two.start()].lower().split()
    mutual = set(_table()["mutual"]["words"].split())
    return (
        len(between) >= 2
        and not mutual & {word.strip(",;()") for word in between}
        and one.group() not in two.group()
        and two.group() not in one.group()
    )


def _taken_apart(text: str, random: Random) -> Iterator[Retold]:
    """What is said of a name in passing, as a claim of its own; and the same of another name."""
    match = _APPOSED.match(text) or _RELATIVE.match(text)
    if match:
        name, aside, rest = match.groups()
        verb = "is" if rest.startswith(("is", "has")) else "was"
        claim = f"{{}} {aside}." if _RELATIVE.match(text) else f"{{}} {verb} {aside}."
    elif match := _TWO_DEEDS.match(text):
        name, rest, aside = match.groups()
        helper = rest.split()[0]
        if helper in ("was", "is", "has", "had") and aside.split()[0].endswith("ed"):
            aside = f"{helper} {aside}"
        claim = f"{{}} {aside}."
    else:
        return
    if name.split()[0] in _PRONOUNS:
        return
    yield claim.format(name), SUPPORTED, "taken apart"
    yield f"{name} {rest}.", SUPPORTED, "taken apart"
    others = [m.group() for m in re.finditer(_PROPER, rest) if m.group() not in name and name not in m.group()]
    for other in random.sample(others, min(2, len(others))):
        if other.split()[0] not in _not_names():
            yield claim.format(other), NOT_SUPPORTED, "taken apart"


# --- how many, how much ----------------------------------------------------------------------------


_SUPERLATIVE = re.compile(r"\b(?:the|one of|its|his|her|at|not|than|about) $", re.IGNORECASE)
"""Before "most" or "over" these words make something else of it."""


def _groups(name: str) -> dict[str, list[str]]:
    return {group: ways for group, ways in _table()[name].items() if isinstance(ways, list)}


@cache
def _finder(name: str, ending: str) -> re.Pattern[str]:
    ways = sorted((way for ways in _groups(name).values() for way in ways), key=len, reverse=True)
    return re.compile(rf"\b({'|'.join(ways)})(?={ending})", re.IGNORECASE)


def _regrouped(text: str, random: Random, name: str, ending: str, kind: str) -> Iterator[Retold]:
    """The phrase found gives way to one of its own group, or of one it implies, or of one it excludes."""
    found = [match for match in _finder(name, ending).finditer(text) if not _SUPERLATIVE.search(text[: match.start()])]
    if not found:
        return
    match, table, groups = random.choice(found), _table()[name], _groups(name)
    group = next(group for group, ways in groups.items() if match.group().lower() in ways)
    partitive = match.group().lower().endswith((" the", " of"))
    for others, label in (([group, *table["implies"][group]], SUPPORTED), (table["excludes"][group], NOT_SUPPORTED)):
        ways = [way for other in others for way in groups[other] if way != match.group().lower()]
        ways = [way for way in ways if name != "amounts" or way.endswith((" the", " of")) == partitive]
        for way in random.sample(ways, min(2, len(ways))):
            yield edits.put(text, match, way), label, kind


def _amounts(text: str, random: Random) -> Iterator[Retold]:
    yield from _regrouped(text, random, "amounts", r" [a-z]+(?<!ou)(?<!s)(?<!u)(?<!i)s\b", "quantifiers")


def _bounds(text: str, random: Random) -> Iterator[Retold]:
    yield from _regrouped(text, random, "bounds", r" [$€£]?\d", "comparators")


_COUNT = re.compile(r"(?<=[a-z] )([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d{1,2})(?= [a-z]{3,}s\b)")
_VAGUE = re.compile(
    r"\b(?:about|around|approximately|roughly|than|least|most|over|under|up to|nearly|almost|excess|minimum|maximum"
    r"|between|number|no|to|from|age|aged|every)\b",
    re.IGNORECASE,
)


def _counted(text: str, random: Random) -> Iterator[Retold]:
    """A number as a bound that it keeps, and as one that it breaks."""
    found = list(_COUNT.finditer(text))
    if not found or _VAGUE.search(text):
        return
    match = random.choice(found)
    value = int(match.group().replace(",", ""))
    near = max(1, round(value * random.choice((0.1, 0.3, 0.5))))
    if value - near < 1:
        return
    low, high = f"{value - near:,}", f"{value + near:,}"
    true = [f"more than {low}", f"at least {low}", f"fewer than {high}", f"at most {high}", f"over {low}"]
    false = [f"more than {high}", f"at least {high}", f"fewer than {low}", f"at most {low}", f"over {high}"]
    for ways, label in ((true, SUPPORTED), (false, CONTRADICTED)):
        yield edits.put(text, match, random.choice(ways)), label, "comparators"


@cache
def _units() -> tuple[re.Pattern[str], dict[str, list[str]], dict[str, list[str]]]:
    table = _table()["units"]
    same = {name: names.split("=") for names in table["same"] for name in names.split("=")}
    others: dict[str, list[str]] = {}
    for kind in table["kinds"]:
        for name in kind.split():
            for spelled in same[name]:
                others[spelled] = [other for other in kind.split() if other not in same[name]]
    longest = sorted(same, key=len, reverse=True)
    return re.compile(rf"(?<=\d )({'|'.join(map(re.escape, longest))})(?=[\s.,;)])"), same, others


def _measured(text: str, random: Random) -> Iterator[Retold]:
    """A unit under its other name, or another unit."""
    pattern, same, others = _units()
    found = list(pattern.finditer(text))
    if not found:
        return
    match = random.choice(found)
    unit = match.group()
    base = edits.rephrase(text, random) if random.random() < 0.5 else None
    for name in same[unit]:
        if name != unit:
            yield edits.put(text, match, name), SUPPORTED, "units"
    if base and unit in base:
        yield base, SUPPORTED, "units"
        if others.get(unit):
            yield base.replace(unit, random.choice(others[unit]), 1), CONTRADICTED, "units"
    if others.get(unit):
        yield edits.put(text, match, random.choice(others[unit])), CONTRADICTED, "units"


# --- whether, and when -----------------------------------------------------------------------------

_DECIDED = re.compile(
    r"\b(managed to|was able to|were able to|refused to|failed to|declined to|was unable to|neglected to) (?=[a-z]+)"
)


def _whether(text: str, random: Random) -> Iterator[Retold]:
    match = _DECIDED.search(text)
    if match is None:
        return
    way = match.group(1)
    groups = _groups("whether")
    did = way in ("managed to", "was able to", "were able to")
    same, other = (groups["did"][:3], groups["not"]) if did else (["did not"], groups["did"][:2])
    fitting = [new for new in same if new != way]
    if fitting:
        yield text[: match.start()] + random.choice(fitting) + " " + text[match.end() :], SUPPORTED, "negation"
    yield text[: match.start()] + random.choice(other) + " " + text[match.end() :], CONTRADICTED, "negation"


_SUBJECT = re.compile(rf"^({_PROPER}) ((?:was|is|has|had|were|became|won|\w+ed) .{{15,}})$")


def subject_of(text: str) -> tuple[str, str] | None:
    """The name that a sentence begins with, and what is said of it."""
    match = _SUBJECT.match(text)
    return None if match is None or match.group(1).split()[0] in _not_names() else (match.group(1), match.group(2))


def dated_clause(text: str) -> tuple[int, str] | None:
    """The year of what is told, and it without the year."""
    if (match := _YEAR_FIRST.match(text)) and not re.search(r"\d{4}", match.group(2)):
        return int(match.group(1)), edits.lower_first(match.group(2))
    if (match := _YEAR_LAST.match(text)) and not re.search(r"\d{4}", match.group(1)):
        clause = match.group(1)
        told = re.search(r"\b(?:was|were|became|began|had|\w+ed)\b", clause) and "," not in clause
        return (int(match.group(2)), edits.lower_first(clause)) if told else None
    return None


def in_order(clauses: Sequence[tuple[int, str]], random: Random) -> Iterator[Retold]:
    """Of two dated things: which came first, rightly and wrongly."""
    (_, first), (_, second) = sorted(clauses)
    ways: list[Callable[[str, str], str]] = [
        lambda a, b: f"{_top(a)} before {b}.",
        lambda a, b: f"{_top(b)} after {a}.",
        lambda a, b: f"Before {b}, {a}.",
        lambda a, b: f"After {a}, {b}.",
        lambda a, b: f"First {a}, and later {b}.",
    ]
    for way in random.sample(ways, 2):
        yield way(first, second), SUPPORTED, "time order"
        yield way(second, first), CONTRADICTED, "time order"


# --- in other words --------------------------------------------------------------------------------


_SHARE_OF_OTHERS = 0.15
"""WordNet has far more sister terms than synonyms: most are passed over."""


def _other_words(text: str, random: Random, words: Lexicon) -> Iterator[Retold]:
    """A word by one that means the same, and by one that means something near but other."""
    found = [m for m in re.finditer(r"\b[a-z]{5,}\b", text) if m.group() in words.same or m.group() in words.other]
    found = [m for m in found if not m.group().endswith(("ing", "ed"))]
    for match in random.sample(found, min(2, len(found))):
        word = match.group()
        if word in words.same:
            yield edits.put(text, match, random.choice(words.same[word])), SUPPORTED, "synonyms"
        if word in words.other and (word in words.same or random.random() < _SHARE_OF_OTHERS):
            yield edits.put(text, match, random.choice(words.other[word])), NOT_SUPPORTED, "synonyms"


def turned(text: str, random: Random, words: Lexicon, known: frozenset[str]) -> str | None:
    """One word gives way to its opposite by WordNet, if both are words that the texts at hand use."""
    found = [
        (match, others)
        for match in re.finditer(r"\b[a-z]{4,}\b", text)
        if (others := [other for other in words.opposite.get(match.group(), ()) if other in known])
    ]
    if not found:
        return None
    match, others = random.choice(found)
    return edits.put(text, match, random.choice(others))
