"""Toy judges that ask in parts, one a word: one says how the labels are joined, the other does not."""

from __future__ import annotations

from collections.abc import Sequence

from krino import Finding, Passage, Questions
from krino.contract import AsksInParts
from toy_judge import ToyCase, ToyJudge, ToyLabels


class InParts(ToyJudge):
    """One part a word; how their labels are joined is left open."""

    def ask(self, case: ToyCase, facts: int) -> Questions | None:
        parts = [Questions((Passage("word", word),), "Good?", covers=(word,)) for word in case.text.split()]
        return Questions((), "", parts=tuple(parts))


class Joining(InParts, AsksInParts[ToyCase, int, ToyLabels]):
    def check_part(self, case: ToyCase, facts: int, part: Questions, labels: ToyLabels) -> list[str]:
        return []

    def join_parts(
        self, case: ToyCase, facts: int, labelled: Sequence[tuple[Questions, ToyLabels]]
    ) -> tuple[ToyLabels, tuple[Finding, ...]]:
        quote = " ".join(labels.quote for _, labels in labelled)
        return ToyLabels(label="good", quote=quote), (Finding("TOY-LABEL", f"joined {len(labelled)} parts"),)
