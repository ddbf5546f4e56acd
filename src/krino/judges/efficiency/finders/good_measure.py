"""Finds readings that only look once more at what was changed, where the task orders the change alone."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from krino.judges.efficiency.finders.asking import read_task
from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.effects import is_pending
from krino.judges.efficiency.finders.readings import only_reads
from krino.judges.efficiency.traces.steps import Step


def looks_for_good_measure(
    steps: Sequence[Step], calls: Sequence[Call], task: str, handed: Collection[int]
) -> set[int]:
    """Readings that only serve to see a change, if they are made again after it: the task orders the change alone.

    Nothing is being waited for, and no message stands before them after which a user may have asked for them.
    """
    if read_task(task).tells:
        return set()
    found: dict[str, list[int]] = {}
    waited_for: set[str] = set()
    for place, (step, call) in enumerate(zip(steps, calls, strict=True)):
        if place in handed:
            break
        if only_reads(step, call) and call.is_read:
            found.setdefault(step.name, []).append(place)
            if is_pending(step):
                waited_for.add(step.name)
    return {place for name, places in found.items() if name not in waited_for for place in places}
