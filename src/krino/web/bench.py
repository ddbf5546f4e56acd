"""One bench: it judges cases with the embedded labeller, from record to verdict, on the thread that sits at it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol, Self

from krino.cases.item import CaseItem
from krino.contract import AnyJudge
from krino.engine.case import Written, judge_item, written
from krino.engine.rehearsal import rehearse
from krino.errors import RunStopped, UsageProblem
from krino.labellers.local import LocalLabeller

BATCH = 8
"""Cases that one bench takes together, at most."""
MOST_JUDGES = 64
"""Judges with different options that are kept ready."""

Case = tuple[AnyJudge, CaseItem]
Outcome = Written | BaseException
"""A judgement, or why there is none."""


class BenchDied(Exception):
    """Whoever judged is gone, and nothing is known of the cases that it had. The next ones find another there."""


class Bench(Protocol):
    """Used by one thread, but for `stop`."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *fault: object) -> None: ...

    def open(self) -> None:
        """Get ready for the first cases, if that takes long. Raises `BenchDied`."""

    def judged(self, cases: Sequence[Case]) -> list[Outcome]:
        """An outcome for each case, in their order. Raises `BenchDied`."""

    def stop(self) -> None:
        """Judge nothing more, and give up what is under way where that can be done. Any thread may call it."""


class BenchHere:
    """A bench in this process."""

    def __init__(self) -> None:
        self._labeller = LocalLabeller(BATCH, one_core=True)
        self._runner = asyncio.Runner()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        self._runner.close()

    def open(self) -> None:
        """Models are loaded with the first case that needs them."""

    def judged(self, cases: Sequence[Case]) -> list[Outcome]:
        return self._runner.run(self._together(cases))

    def stop(self) -> None:
        """What a thread has begun it finishes."""

    async def _together(self, cases: Sequence[Case]) -> list[Outcome]:
        return await asyncio.gather(*(self._one(judge, item) for judge, item in cases))

    async def _one(self, judge: AnyJudge, item: CaseItem) -> Outcome:
        try:
            rehearse(judge, item)
            return written(judge, item, await judge_item(judge, self._labeller, item))
        except (UsageProblem, RunStopped) as told:
            return told
        except BaseException as fault:  # a judge's SystemExit among them: told to its client, and nobody else
            return RuntimeError(f"{type(fault).__name__}: {fault}")
