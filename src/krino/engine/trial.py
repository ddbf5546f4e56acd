"""Stops a run whose judge breaks on everything that was labelled for it, before more is paid."""

from __future__ import annotations

from dataclasses import dataclass

from krino.contract import Judgement
from krino.errors import RunStopped

MOST_BROKEN = 3


@dataclass(slots=True)
class Trial:
    """Watches the first judgements. One that comes out ends the watch: what breaks after it is an odd case."""

    passed: bool = False
    broken: int = 0

    def check(self, judgement: Judgement) -> None:
        """Raise `RunStopped` where the run must not go on after this judgement."""
        self.passed = self.passed or judgement.status == "ok"
        if self.passed or not _broke_after_payment(judgement):
            return
        self.broken += 1
        if self.broken < MOST_BROKEN:
            return
        raise RunStopped(
            f"the judge's own code broke on each of the first {self.broken} cases that were labelled for it, and on "
            f"none did it come to a verdict: {judgement.error}. Put that right first: going on would only pay "
            "for more of them (replies that are in the cache are not paid again)",
            kind="judge",
        )


def _broke_after_payment(judgement: Judgement) -> bool:
    """An error that has labels came after labelling: from `settle` or what reads its result."""
    return judgement.status == "error" and judgement.labels is not None and judgement.usage.calls > 0
