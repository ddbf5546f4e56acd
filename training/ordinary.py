"""Ordinary texts of our own with claims about them: what leaflets, policies, manuals, reports and pages of answers say.

`ordinary.jsonl` has a group a line: a text `p`, claims that it supports (`s`), that it speaks against (`c`) and that it
leaves open (`u`). False claims are built from the text's own words and true ones from others, so that neither tells
them apart. Slots such as `{day}` take another value each time (`ordinary.toml`). One group in six is kept out. Groups
with a `lang` are in that language; all others are English.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import edits
from kinds import KEPT, Kinds, sentence
from pairs import CONTRADICTED, NOT_SUPPORTED, SUPPORTED, UNSUPPORTED, Pair
from synthesis import sentences_of

_FOLDER = Path(__file__).parent
_SLOT = re.compile(r"\{(\w+?)(\d?)\}")
LABELS = {"s": SUPPORTED, "c": CONTRADICTED, "u": UNSUPPORTED}
_MOST_OF_A_KIND = 3
_BESIDE = 0.25
"""How often a text stands beside another one."""
_SHORTER = 0.4
_FEWEST_WORDS = 4


class Ordinary:
    """Draws pairs from the groups of one side; the same seed draws the same pairs."""

    def __init__(self, seed: int, kept: bool, talk: Kinds) -> None:
        lines = (_FOLDER / "ordinary.jsonl").read_text("utf-8").splitlines()
        self.groups = [json.loads(line) for n, line in enumerate(lines) if (n % KEPT == KEPT - 1) == kept]
        self.words: dict[str, list[str]] = tomllib.loads((_FOLDER / "ordinary.toml").read_text("utf-8"))
        self.random, self.talk = Random(seed), talk

    def pairs(self, rounds: int, strangers: Sequence[str]) -> Iterator[Pair]:
        """In each round, every claim of every group once, with values drawn anew; as many that hold as do not."""
        for _ in range(rounds):
            for group in self.groups:
                yield from self._drawn(group, strangers)

    def _drawn(self, group: dict[str, Any], strangers: Sequence[str]) -> Iterator[Pair]:
        values, english = self.values(), "lang" not in group
        text = filled(group["p"], values)
        premise = self._surrounded(text, group, values, strangers)
        good = [(filled(claim, values), SUPPORTED) for claim in group["s"]]
        bad = [(filled(claim, values), LABELS[key]) for key in "cu" for claim in group.get(key, ())]
        own, denied = self._in_own_words(text, english)
        good += [(claim, SUPPORTED) for claim in own]
        bad += [(claim, NOT_SUPPORTED) for claim in denied]
        count = min(len(good), len(bad))
        origin = f"ordinary: {group['k'] if english else group['lang']}"
        for claim, label in [*self.random.sample(good, count), *self.random.sample(bad, count)]:
            yield Pair(premise, self.talk.chatty(claim, share=0.1) if english else claim, label, origin)

    def _surrounded(self, text: str, group: dict[str, Any], values: dict[str, str], strangers: Sequence[str]) -> str:
        """Alone, among sentences about something else, or beside another text of the same language."""
        if "lang" not in group and self.random.random() > _BESIDE:
            return self.talk.surrounded(text, strangers)
        if self.random.random() > 2 * _BESIDE:
            return text
        others = [other for other in self.groups if other.get("lang") == group.get("lang")]
        parts = [text, filled(self.random.choice(others)["p"], values)]
        self.random.shuffle(parts)
        return " ".join(parts)

    def _in_own_words(self, text: str, english: bool) -> tuple[list[str], list[str]]:
        """A sentence of the text as it stands, or shortened, and one that says its opposite.

        Most false claims are near to the text's words and most true ones far, so "a copy is false" would be learned.
        """
        sentences = [part for part in sentences_of(text) if len(part.split()) >= _FEWEST_WORDS] or [text]
        own = self.random.choice(sentences)
        if not english:
            return [own], []
        shorter = edits.shorten(own, self.random) if self.random.random() < _SHORTER else None
        denied = edits.deny(self.random.choice(sentences), self.random)
        return [shorter or own], [denied] if denied else []

    def cases(self) -> Iterator[tuple[str, str, bool, str]]:
        """Text, answer, whether all of it holds, and the text as it stands here: claims alone, and three in a row."""
        for group in self.groups:
            if "lang" in group:
                continue
            values = self.values()
            text = filled(group["p"], values)
            good = [filled(claim, values) for claim in group["s"]]
            bad = [filled(claim, values) for key in "cu" for claim in group.get(key, ())]
            count = min(len(good), len(bad))
            yield from ((text, claim, claim in good, group["p"]) for claim in [*good[:count], *bad[:count]])
            for worst in (good, bad):
                answer = [*self.random.sample(good, 2), self.random.choice(worst)]
                if len(set(answer)) == len(answer):
                    self.random.shuffle(answer)
                    yield text, " ".join(map(sentence, answer)), worst is good, group["p"]

    def values(self) -> dict[str, str]:
        """A value for every slot; where a kind has an order, the slots keep it."""
        draw = self.random
        found = {kind: draw.sample(words, _MOST_OF_A_KIND) for kind, words in self.words.items()}
        found["year"] = [str(year) for year in sorted(draw.sample(range(1890, 2026), 3))]
        found["n"] = [str(number) for number in sorted(draw.sample(range(2, draw.choice((12, 31, 91))), 3))]
        sign = draw.choice(("%", " percent"))
        found["pct"] = [f"{share}{sign}" for share in draw.sample(range(2, 96), _MOST_OF_A_KIND)]
        found["price"] = self._prices()
        hours = sorted(draw.sample(range(12, 44), 3))
        found["time"] = [f"{half // 2}:{'30' if half % 2 else '00'}" for half in hours]
        return {f"{kind}{place or ''}": value for kind, values in found.items() for place, value in _numbered(values)}

    def _prices(self) -> list[str]:
        amounts = sorted(self.random.sample(range(3, 400), 3))
        pattern = self.random.choice(("€{}", "${}", "£{}", "{} euros", "{} dollars", "{} pounds", "EUR {}"))
        cents = self.random.choice(("", "", ".50", ".99"))
        return [pattern.format(f"{amount}{cents}") for amount in amounts]


def _numbered(values: Sequence[str]) -> list[tuple[str, str]]:
    return [(str(place) if place > 1 else "", value) for place, value in enumerate(values, 1)]


def filled(text: str, values: dict[str, str]) -> str:
    return _SLOT.sub(lambda slot: values[slot[1] + slot[2]], text)
