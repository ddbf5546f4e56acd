"""A judge for tests of benches: each case leaves litter that only a collector finds, and something that is kept."""

from __future__ import annotations

import gc
from typing import ClassVar
from weakref import WeakSet

from pydantic import BaseModel

from krino import Judge, Ruling, Settlement

KEPT: list[list[int]] = []
LITTER: WeakSet[Litter] = WeakSet()


class Litter:
    """Holds itself, so that it does not go when nobody holds it any more."""

    def __init__(self) -> None:
        self.itself = self
        LITTER.add(self)


class Text(BaseModel):
    text: str


class NoLabels(BaseModel):
    pass


class Seen(BaseModel):
    litter: int
    searches: int


class Littering(Judge[Text, None, NoLabels, Seen]):
    name = "littering"
    version = "1"
    summary = "Tells what earlier cases left, and how often all was searched for what nobody holds."
    default_prompt = "-"
    rules: ClassVar[dict[str, str]] = {"R1": "As it is found."}

    def study(self, case: Text) -> None:
        return None

    def ask(self, case: Text, facts: None) -> None:
        return None

    def settle(self, case: Text, facts: None, labels: NoLabels | None) -> Settlement:
        found = {"litter": len(LITTER), "searches": gc.get_stats()[2]["collections"]}
        for _ in range(2_000):
            KEPT.append([0])
            Litter()
        return Settlement({name: Ruling(value, "R1") for name, value in found.items()})
