"""Takes the cases of an engine back one by one, for tests that look at each."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from krino.cases.item import CaseItem
from krino.engine.interface import Returned
from krino.errors import RunStopped


def one_by_one(
    receive: Callable[[CaseItem, Any], Awaitable[None]],
) -> Callable[[Sequence[tuple[Returned, Any]]], Awaitable[None]]:
    """All of a lot are received, also where one of them is a reason to stop."""

    async def receive_all(cases: Sequence[tuple[Returned, Any]]) -> None:
        reason: RunStopped | None = None
        for case, judgement in cases:
            try:
                await receive(case.item, judgement)
            except RunStopped as stop:
                reason = reason or stop
        if reason is not None:
            raise reason

    return receive_all
