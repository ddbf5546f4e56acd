"""Judges that compare two: both orders are asked, and a label that turns with the order is a tie.

One call cannot show two orders without showing which is which, so a comparison is the one judge from a file that takes
two calls a case. They are the parts of one case: it is judged once, paid for once, and its verdict is one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import BaseModel

from krino.contract import AsksInParts, Finding, Questions
from krino.judges.file.answers import check
from krino.judges.file.definition import PLACES
from krino.judges.file.facts import FileFacts
from krino.judges.file.judge import FileJudge

GIVEN, OTHER = "given order", "other order"
_TURNED = dict(zip(PLACES, reversed(PLACES), strict=True))


class ComparingJudge(FileJudge, AsksInParts[BaseModel, FileFacts, BaseModel]):
    """`first` and `second` are places in the order that is shown; joined labels speak of the order of the case."""

    def ask(self, case: BaseModel, facts: FileFacts) -> Questions | None:
        """Returns the questions in both orders of the two answers."""
        whole = super().ask(case, facts)
        if whole is None:
            return None
        orders = ((GIVEN, facts), (OTHER, self._turned(facts)))
        parts = (Questions(tuple(self._passages(seen)), whole.request, covers=(name,)) for name, seen in orders)
        return replace(whole, parts=tuple(parts))

    def _turned(self, facts: FileFacts) -> FileFacts:
        one, other = self.definition.compare
        return replace(facts, values={**facts.values, one: facts.values[other], other: facts.values[one]})

    def check(self, case: BaseModel, facts: FileFacts, labels: BaseModel) -> list[str]:
        """Returns what is wrong with joined labels.

        A label of one order alone says nothing of position bias, so it gives no verdict.
        """
        if getattr(labels, "other_order", None) is None:
            return ["other_order is missing: a comparison is asked in both orders, one part of the case each"]
        return super().check(case, facts, labels)

    def check_part(self, case: BaseModel, facts: FileFacts, part: Questions, labels: BaseModel) -> list[str]:
        """Returns what is wrong with the labels of one order."""
        if getattr(labels, "other_order", None) is not None:
            return ["other_order is not asked for"]
        return check(self.definition, self._turned(facts) if part.covers == (OTHER,) else facts, labels)

    def join_parts(
        self, case: BaseModel, facts: FileFacts, labelled: Sequence[tuple[Questions, BaseModel]]
    ) -> tuple[BaseModel, tuple[Finding, ...]]:
        """Joins the labels of both orders: label and quote of the given one, and `other_order` read back to it.

        A finding says so if they differ.
        """
        said = {part.covers[0]: labels.model_dump() for part, labels in labelled}
        given, other = said[GIVEN], said[OTHER]
        turned = _TURNED.get(other["label"], other["label"])
        reason = given["reason"]
        findings: tuple[Finding, ...] = ()
        if turned != given["label"]:
            reason = f"In the given order: {given['reason']} In the other order: {other['reason']}"[:4_000]
            orders = f"{given['label']} in the given order, {other['label']} in the other"
            findings = (Finding("TURNED", f"the label turned with the order: {orders}", "winner"),)
        joined = {**given, "reason": reason, "other_order": turned}
        return self.labels_model.model_validate(joined), findings
