"""Makes small statements whose truth is known by construction: who did what to whom, how much, how many, when, whether.

Every statement comes with claims that follow from it and claims that do not, made by the same patterns, so that
nothing but the meaning tells them apart. `kinds.toml` holds the words and patterns; each sixth of them is kept for the
pairs that are never trained on.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from pairs import CONTRADICTED, NOT_SUPPORTED, SUPPORTED, UNSUPPORTED, Pair

KEPT = 6
"""One entry in so many of each list is for the pairs kept out."""
_LABELS = {"s": SUPPORTED, "u": UNSUPPORTED, "c": CONTRADICTED}
_INFINITE = float("inf")

Claims = list[tuple[str, int]]
Told = tuple[str, str, Claims]
"""The kind, a text, and claims about it with their labels."""


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "kinds.toml").read_text("utf-8"))


def _listed(text: str) -> list[list[str]]:
    """Entries between commas, their words apart; `_` stands for a space."""
    return [[word.replace("_", " ") for word in entry.split()] for entry in text.replace("\n", " ").split(",")]


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    text = text.strip()
    return text[0].upper() + text[1:] + ("" if text.endswith((".", "!", "?")) else ".")


def plain(text: str) -> str:
    """As a clause inside another sentence: no full stop; the small word in front in lower case."""
    text = text.rstrip(".")
    return text[0].lower() + text[1:] if text.split()[0] in _SMALL else text


_SMALL = frozenset(
    [
        "The",
        "A",
        "An",
        "In",
        "On",
        "At",
        "It",
        "There",
        "Every",
        "Each",
        "All",
        "Most",
        "Some",
        "No",
        "None",
        "Not",
        "Few",
        "Several",
        "Only",
        "You",
        "They",
    ]
)


class Kinds:
    """Makes statements of every kind, in the words for training or in those that are kept out."""

    def __init__(self, seed: int, kept: bool, names: Sequence[str] = ()) -> None:
        self.random = Random(seed)
        self.names = [name for name in names if 1 <= len(name.split()) <= 3]
        self.kept = kept
        self.makers: tuple[Callable[[], Told], ...] = (
            self.relation,
            self.relation,
            self.deed,
            self.deed,
            self.chain,
            self.mutual,
            self.named_deed,
            self.binding,
            self.comparing,
            self.quantified,
            self.counted,
            self.bounded,
            self.measured,
            self.converted,
            self.ordered,
            self.dated,
            self.done,
            self.allowed,
            self.framed,
        )

    def pairs(self, rounds: int, strangers: Sequence[str]) -> Iterator[Pair]:
        """From each statement, one claim that follows and one that does not, in the same surroundings."""
        for number in range(rounds):
            kind, text, claims = self.makers[number % len(self.makers)]()
            good = [claim for claim in claims if claim[1] == SUPPORTED]
            bad = [claim for claim in claims if claim[1] != SUPPORTED]
            premise = self.surrounded(sentence(text), strangers)
            for claim, label in (self.random.choice(good), self.random.choice(bad)):
                yield Pair(premise, self.chatty(claim), label, f"kind: {kind}")

    def surrounded(self, text: str, strangers: Sequence[str]) -> str:
        """The text alone, or among sentences about something else."""
        parts = self.random.sample(strangers, min(len(strangers), self.random.choice((0, 0, 1, 1, 2, 4))))
        parts.insert(self.random.randint(0, len(parts)), text)
        return " ".join(parts)

    def chatty(self, claim: str, share: float = 0.2) -> str:
        """A sentence, sometimes with the small talk that models wrap answers in: it never changes the label."""
        told = sentence(claim)
        if self.random.random() < share:
            opening = self._one(_table()["chat"]["before"])
            told = opening + (told if opening.endswith("! ") else plain(claim) + ".")
        if self.random.random() < share / 2:
            closing = self._one(_table()["chat"]["after"])
            told = told + closing if closing[1].isupper() else told.rstrip(".") + "," + closing
        return told

    # --- choosing ----------------------------------------------------------------------------------

    def _mine(self, entries: Sequence[Any]) -> list[Any]:
        """Of a list, what this side may use; lists too short to divide are shared."""
        return [entry for place, entry in enumerate(entries) if len(entries) < KEPT or self._is_mine(place)]

    def _is_mine(self, place: int) -> bool:
        return (place % KEPT == KEPT - 1) == self.kept

    def _one(self, entries: Sequence[Any]) -> Any:
        return self.random.choice(self._mine(entries))

    def _two(self, entries: Sequence[Any]) -> list[Any]:
        return self.random.sample(self._mine(entries), 2)

    def _three(self) -> list[str]:
        things = _table()["things"]
        if len(self.names) >= 3 and self.random.random() < 0.4:
            return self.random.sample(self.names, 3)
        return self.random.sample(self._mine(things[self.random.choice(("people", "people", "roles", "groups"))]), 3)

    def _setting(self) -> tuple[str, str]:
        """Something around a statement that changes nothing, or nothing."""
        year = self.random.randint(1780, 2023)
        return self.random.choice((("", ""), ("", ""), (f"in {year}, ", ""), ("", f" in {year}"), ("", " last spring")))

    # --- who did what to whom ----------------------------------------------------------------------

    def relation(self) -> Told:
        """One of several ways to state a relation; with the two exchanged it does not follow."""
        group = self.random.choice(("people", "people", "groups", "places"))
        ways = self._one(_table()["relations"][group]).split(" | ")
        a, b = self._two(_table()["things"]["places"]) if group == "places" else self._three()[:2]
        before, after = self._setting()
        text = before + self.random.choice(ways).format(a=a, b=b) + after
        same = [(way.format(a=a, b=b), SUPPORTED) for way in ways]
        return "roles", text, [*same, *((way.format(a=b, b=a), NOT_SUPPORTED) for way in ways)]

    def _verb_ways(self) -> list[str]:
        base, past, done = self._one(_listed(_table()["verbs"]["forms"]))
        return [
            f"{{a}} {past} {{b}}",
            f"{{b}} was {done} by {{a}}",
            f"it was {{a}} who {past} {{b}}",
            f"{{b}} was the one whom {{a}} {past}",
            f"{{a}} was the one who {past} {{b}}",
            f"what {{a}} did was {base} {{b}}",
            f"{{b}} got {done} by {{a}}",
        ]

    def deed(self) -> Told:
        """Active, passive and clefts of one verb."""
        ways, (a, b, c) = self._verb_ways(), self._three()
        before, after = self._setting()
        told = self.random.choice(ways[:2] * 2 + ways[2:]).format(a=a, b=b)
        text = before + told + after
        if self.random.random() < 0.3:
            text = f"{text}, and {c} watched"
        true = [(way.format(a=a, b=b), SUPPORTED) for way in ways]
        false = [(way.format(a=b, b=a), NOT_SUPPORTED) for way in ways]
        if c in text:
            false.append((self.random.choice(ways).format(a=c, b=b), NOT_SUPPORTED))
        return "roles", text, [*true, *false]

    def chain(self) -> Told:
        """A did it to B, and B to C: nothing else follows."""
        ways, (a, b, c) = self._verb_ways(), self._three()
        first, second = self.random.choice(ways[:2]).format(a=a, b=b), self.random.choice(ways[:2]).format(a=b, b=c)
        text = self.random.choice((f"{first}, and {second}", f"{sentence(first)} {sentence(second)}"))
        pattern = self.random.choice(ways[:3])
        true = [(way.format(a=x, b=y), SUPPORTED) for way in ways[:3] for x, y in ((a, b), (b, c))]
        false = [(pattern.format(a=x, b=y), NOT_SUPPORTED) for x, y in ((b, a), (c, b), (a, c), (c, a))]
        return "roles", text, [*true, *false]

    def mutual(self) -> Told:
        """True both ways round; only a third name makes it false."""
        ways, (a, b, c) = self._one(_table()["relations"]["mutual"]).split(" | "), self._three()
        before, after = self._setting()
        text = f"{before}{self.random.choice(ways).format(a=a, b=b)}{after}; {c} was there too"
        true = [(way.format(a=x, b=y), SUPPORTED) for way in ways for x, y in ((a, b), (b, a))]
        false = [(way.format(a=x, b=y), NOT_SUPPORTED) for way in ways for x, y in ((a, c), (c, b))]
        return "roles", text, [*true, *false]

    def named_deed(self) -> Told:
        """A deed told by a verb or by its noun, with its year."""
        past, noun = self._one(_listed(_table()["verbs"]["deeds"]))
        a, b, c = self._three()
        year = self.random.randint(1780, 2023)
        ways = [
            f"{a} {past} {b} in {year}",
            f"the {noun} of {b} by {a} took place in {year}",
            f"in {year}, {b} was {past} by {a}",
            f"{a} was responsible for the {noun} of {b} in {year}",
        ]
        text = self.random.choice(ways)
        other = year + self.random.choice((-30, -7, -1, 1, 4, 20))
        false = [way.replace(a, "#").replace(b, a).replace("#", b) for way in ways]
        false += [self.random.choice(ways).replace(str(year), str(other)), self.random.choice(ways).replace(a, c)]
        return (
            "paraphrase",
            text,
            [(way, SUPPORTED) for way in ways if way != text] + [(way, NOT_SUPPORTED) for way in false],
        )

    def binding(self) -> Told:
        """Two of a kind with a trait each: exchanged, the traits are wrong."""
        first, second = self._one(_table()["binding"]["pairs"]).split("|")
        one, two = (trait.split("|") for trait in self._two(_table()["binding"]["traits"]))
        if first == "adults":
            first, second = "the adults' ticket", "the children's ticket"
        joint = self.random.choice((", while ", ", and ", ", whereas ", "; "))
        text = f"{first} {one[0]}{joint}{second} {two[0]}"
        true = [(f"{first} {way}", SUPPORTED) for way in one] + [(f"{second} {way}", SUPPORTED) for way in two]
        false = [(f"{second} {way}", NOT_SUPPORTED) for way in one] + [(f"{first} {way}", NOT_SUPPORTED) for way in two]
        return "binding", text, [*true, *false]

    # --- how much ----------------------------------------------------------------------------------

    def comparing(self) -> Told:
        """More and less, from either end."""
        if self.random.random() < 0.2:
            a, b = self._two(_table()["comparing"]["trends"])
            verb, base = self.random.choice((("rose", "rise"), ("fell", "fall"), ("grew", "grow")))
            ways = [f"{{a}} {verb} faster than {{b}}", f"{{b}} {verb} more slowly than {{a}}"]
            ways.append(f"{{b}} did not {base} as fast as {{a}}")
        else:
            word, more, _, less = self._one(_listed(_table()["comparing"]["adjectives"]))
            a, b = self._two(_table()["comparing"]["things"])
            ways = [f"{{a}} is {more} than {{b}}", f"{{b}} is {less} than {{a}}", f"{{b}} is not as {word} as {{a}}"]
            ways += [
                f"compared with {{b}}, {{a}} is {more}",
                f"of the two, {{b}} is the {less} one and {{a}} the {more} one",
            ]
        text = self.random.choice(ways).format(a=a, b=b)
        true = [(way.format(a=a, b=b), SUPPORTED) for way in ways]
        return "comparators", text, [*true, *((way.format(a=b, b=a), CONTRADICTED) for way in ways)]

    def quantified(self) -> Told:
        """All, most, some, few and none of them."""
        truth: dict[str, dict[str, str]] = _table()["quantifier_truth"]
        plural, single = self._one(_listed(_table()["counting"]["nouns"]))
        past, _ = self._one(_table()["counting"]["deeds"].split(", ")).split("|")

        def say(level: str) -> str:
            way = self.random.choice(_table()["quantifiers"][level]).format(n=plural, s=single)
            one = way.split()[0] in ("Every", "Each") or way.startswith(("Not every", "Not one", "Not a single"))
            return f"{way} {past.replace('were ', 'was ', 1) if one else past}"

        level = self.random.choice(list(truth))
        claims = [(say(other), _LABELS[label]) for other, label in truth[level].items()]
        return "quantifiers", say(level), claims

    def counted(self) -> Told:
        """So many of so many, against all, most, some and none."""
        plural, single = self._one(_listed(_table()["counting"]["nouns"]))
        past, _ = self._one(_table()["counting"]["deeds"].split(", ")).split("|")
        whole = self.random.randint(3, 40)
        part = self.random.choice((0, whole, whole - 1, self.random.randint(1, whole)))
        text = f"{part or 'none'} of the {whole} {plural} {past}"
        truth = {"all": part == whole, "none": part == 0, "not_all": part < whole}
        if 2 * part != whole:
            truth["most"] = 2 * part > whole
        if part not in (1, 2):
            truth["some"] = part > 0
        claims: Claims = []
        for level, holds in truth.items():
            way = self.random.choice(_table()["quantifiers"][level]).format(n=plural, s=single)
            one = way.split()[0] in ("Every", "Each") or way.startswith(("Not every", "Not one", "Not a single"))
            told = f"{way} {past.replace('were ', 'was ', 1) if one else past}"
            claims.append((told, SUPPORTED if holds else CONTRADICTED))
        claims.append((f"{part or 'none'} out of {whole} {plural} {past}", SUPPORTED))
        return "quantifiers", text, claims

    def bounded(self) -> Told:
        """More than, at least, at most: what follows from a bound is worked out from the ranges."""
        ways = self._one(_table()["comparators"]["frames"]).split("|")
        unit = self.random.choice(
            [names.split("=")[0] for names in _table()["units"][self._kind_of(ways[0])].split(", ")]
        )
        value = self.random.choice((self.random.randint(3, 30), 10 * self.random.randint(2, 90)))
        bound, text = self._bound(ways[:1], value, unit)
        claims: Claims = []
        for other in (value, value, value, max(1, value - self._step(value)), value + self._step(value)):
            for _ in range(3):
                claimed, told = self._bound(ways, other, unit)
                claims.append((told, _follows(bound, claimed)))
        return (
            "comparators",
            text,
            [claim for claim in claims if claim[0] != text] + self._sure(bound, ways, value, unit),
        )

    def _sure(self, bound: tuple[float, float], ways: Sequence[str], value: int, unit: str) -> Claims:
        """One claim that follows and one that does not, whatever the dice said."""
        claims: Claims = []
        while not {SUPPORTED} < {SUPPORTED if label == SUPPORTED else NOT_SUPPORTED for _, label in claims}:
            claimed, told = self._bound(ways, value, unit)
            claims.append((told, _follows(bound, claimed)))
        return claims

    def _kind_of(self, frame: str) -> str:
        """Which units a sentence about amounts can take."""
        clues = {
            "tank": "volume",
            "rope": "length",
            "path": "length",
            "well": "length",
            "dose": "weight",
            "parcel": "weight",
            "site": "area",
        }
        times = {"repair": "time", "journey": "time"}
        return next((kind for word, kind in {**clues, **times}.items() if word in frame), "money")

    def _step(self, value: int) -> int:
        return max(1, round(value * self.random.choice((0.1, 0.3, 0.5))))

    def _bound(self, ways: Sequence[str], value: int, unit: str) -> tuple[tuple[float, float], str]:
        name = self.random.choice(("more", "at_least", "less", "at_most", "exactly"))
        words = self.random.choice(_table()["comparators"][name]).format(q=f"{value} {unit}", v=value, u=unit)
        ranges = {
            "more": (value + 1e-9, _INFINITE),
            "at_least": (value, _INFINITE),
            "less": (-_INFINITE, value - 1e-9),
            "at_most": (-_INFINITE, value),
            "exactly": (value, value),
        }
        return ranges[name], sentence(self.random.choice(ways).format(c=words))

    # --- units -------------------------------------------------------------------------------------

    def measured(self) -> Told:
        """The unit under another name, in another unit, or with another number."""
        kind = self.random.choice(list(_table()["unit_frames"]))
        units = [names.split("=") for names in _table()["units"][kind].split(", ")]
        right, wrong = self.random.sample(units, 2)
        ways = self.random.choice(_table()["unit_frames"][kind]).split("|")
        value = self.random.choice(
            (self.random.randint(2, 12), self.random.randint(13, 990), self.random.randint(2, 99))
        )
        size = self.random.choice(("", "", "", "thousand", "million", "billion")) if kind in ("money", "volume") else ""

        def say(number: int, names: Sequence[str], scale: str = size) -> str:
            amount = _amount(number, scale, self.random.choice(names), self.random)
            return str(self.random.choice(ways).format(q=amount))

        text = ways[0].format(q=_amount(value, size, right[0], self.random))
        true = [(say(value, right), SUPPORTED) for _ in range(3)]
        false = [(say(value, wrong), CONTRADICTED), (say(value, wrong), CONTRADICTED)]
        false.append((say(value + self._step(value), right), CONTRADICTED))
        if size:
            other = self.random.choice([scale for scale in ("thousand", "million", "billion") if scale != size])
            false.append((say(value, right, other), CONTRADICTED))
        return "units", text, true + false

    def converted(self) -> Told:
        """The same amount in a larger or smaller unit, worked out."""
        small, large, ratio, kind = self.random.choice(_CONVERSIONS)
        ways = self.random.choice(_table()["unit_frames"][kind]).split("|")
        count = self.random.randint(1, 6)
        one = f"1 {large[:-1]}" if large.endswith("s") and count == 1 else f"{count} {large}"
        amounts = [f"{count * ratio:,} {small}", one]
        self.random.shuffle(amounts)
        text = ways[0].format(q=amounts[0])
        wrong = count + self.random.choice((1, 2, 3))
        false = f"{wrong * ratio:,} {small}" if amounts[1].endswith(small) else f"{wrong} {large}"
        true = [(way.format(q=amounts[1]), SUPPORTED) for way in ways] + [(ways[-1].format(q=amounts[0]), SUPPORTED)]
        return "units", text, [*true, *((way.format(q=false), CONTRADICTED) for way in ways)]

    # --- when --------------------------------------------------------------------------------------

    def ordered(self) -> Told:
        """One thing before the other, told from either end."""
        a, b = self._two(_table()["time"]["events"])
        ways = _table()["time"]["before"]
        text = self.random.choice(ways).format(A=a, B=b)
        true = [(way.format(A=a, B=b), SUPPORTED) for way in ways]
        return "time order", _capitals(text), [*true, *((way.format(A=b, B=a), CONTRADICTED) for way in ways)]

    def dated(self) -> Told:
        """Two things with their years: which came first follows."""
        a, b = self._two(_table()["time"]["events"])
        first = self.random.randint(1750, 2010)
        second = first + self.random.choice((1, 2, 5, 11, 40))
        text = _capitals(self.random.choice(_table()["time"]["dated"]).format(A=a, B=b, y=first, z=second))
        ways = [*_table()["time"]["before"][:4], f"{{A}} in {first}.", f"{{B}} in {second}."]
        wrong = [f"{{A}} in {second}.", f"{{B}} in {first}."]
        true = [(way.format(A=a, B=b), SUPPORTED) for way in ways]
        false = [(way.format(A=b, B=a), CONTRADICTED) for way in ways[:4]]
        return "time order", text, [*true, *false, *((way.format(A=a, B=b), CONTRADICTED) for way in wrong)]

    # --- whether -----------------------------------------------------------------------------------

    def done(self) -> Told:
        """Did it, did not, or only meant to: verbs that decide it, and verbs that leave it open."""
        words = _table()["doing"]
        base, past, doing = self._one(words["deeds"]).split("|")
        name = self._three()[0]

        def say(pattern: str) -> str:
            return pattern.format(a=name, b=base, p=past, i=doing)

        did, did_not = say("{a} {p}"), say("{a} did not {b}")
        way = self.random.choice(("done", "not_done", "not_done", "open", "denied"))
        text = say(self._one(words[way]))
        after = self.random.choice(("", "", ", although everyone expected otherwise", " that day"))
        if way == "open":
            true = [(say(pattern), SUPPORTED) for pattern in words["open"] if say(pattern) == text]
            return "negation", text + after, [*true, (did, UNSUPPORTED), (did_not, UNSUPPORTED)]
        if way == "denied":
            true = [(say(pattern), SUPPORTED) for pattern in words["denied"]]
            false = [(say(pattern), CONTRADICTED) for pattern in words["admitted"]]
            return "negation", text, [*true, *false, (did, UNSUPPORTED)]
        against = words["not_done" if way == "done" else "done"]
        conclusion, opposite = (did, did_not) if way == "done" else (did_not, did)
        false = [(say(pattern), CONTRADICTED) for pattern in self.random.sample(against, 3)]
        return "negation", text + after, [(conclusion, SUPPORTED), (opposite, CONTRADICTED), *false[:2]]

    def allowed(self) -> Told:
        """May, may not, must, need not."""
        words = _table()["doing"]
        base, _, doing = self._one(words["deeds"]).split("|")
        noun = self._one(
            _listed(_table()["counting"]["nouns"][: _table()["counting"]["nouns"].index("species")].rstrip(", "))
        )[0]
        way, against = self.random.choice(
            (("allowed", "banned"), ("banned", "allowed"), ("duty", "no_duty"), ("no_duty", "duty"))
        )

        def say(pattern: str) -> str:
            return pattern.format(n=noun, b=base, i=doing)

        text = say(self.random.choice(words[way]))
        true = [(say(pattern), SUPPORTED) for pattern in words[way]]
        return "negation", text, [*true, *((say(pattern), CONTRADICTED) for pattern in words[against])]

    def framed(self) -> Told:
        """Another day, month, place or side in the same frame."""
        kind = self.random.choice(("day", "month", "place", "side"))
        values = {
            "day": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
            "month": [
                "January",
                "February",
                "March",
                "April",
                "May",
                "June",
                "July",
                "August",
                "September",
                "October",
                "November",
                "December",
            ],
            "place": self._mine(_table()["things"]["places"]),
            "side": _table()["frames"]["sides"].split(),
        }[kind]
        ways = self._one(_table()["frames"][kind]).split("|")
        right, wrong = self.random.sample(values, 2)
        text = ways[0].format(x=right)
        return (
            "frame",
            text,
            [(way.format(x=right), SUPPORTED) for way in reversed(ways)]
            + [(way.format(x=wrong), CONTRADICTED) for way in ways],
        )


_CONVERSIONS = (
    ("minutes", "hours", 60, "time"),
    ("hours", "days", 24, "time"),
    ("months", "years", 12, "time"),
    ("days", "weeks", 7, "time"),
    ("metres", "kilometres", 1000, "length"),
    ("centimetres", "metres", 100, "length"),
    ("grams", "kilograms", 1000, "weight"),
    ("kilograms", "tonnes", 1000, "weight"),
    ("kilowatts", "megawatts", 1000, "power"),
)
_SPELLED = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def _amount(value: int, scale: str, unit: str, random: Random) -> str:
    """A number and its unit as people write them."""
    number = _SPELLED[value] if value < len(_SPELLED) and not scale and random.random() < 0.3 else f"{value:,}"
    close = unit in ("%", "°C", "°F")
    return f"{number}{' ' + scale if scale else ''}{'' if close else ' '}{unit}"


def _capitals(text: str) -> str:
    """A capital for each sentence."""
    return " ".join(sentence(part) for part in text.split(". "))


def _follows(known: tuple[float, float], claimed: tuple[float, float]) -> int:
    """Whether a range lies within another, apart from it, or across its edge."""
    if claimed[0] <= known[0] and known[1] <= claimed[1]:
        return SUPPORTED
    return CONTRADICTED if known[1] < claimed[0] or claimed[1] < known[0] else UNSUPPORTED
