"""What a comparison says, as data: runs, matching, changes of status, of each field, and of what was spent."""

from __future__ import annotations

from typing import Literal

from krino.results import FrozenModel
from krino.runs.manifest import Counts, RunState

Interval = tuple[float, float]
Direction = Literal["higher", "lower", "no difference shown", "the same", "too few to tell"]
"""Of B against A. `the same`: in every case."""


class Side(FrozenModel):
    """One of the two runs."""

    run: str
    judge: str
    labeller: str
    started: str
    state: RunState
    counts: Counts


class Matching(FrozenModel):
    """Which cases could be compared. Lists of ids are cut to as many as were asked for."""

    matched: int
    both_ok: int
    only_a: int
    only_b: int
    only_a_ids: tuple[str, ...]
    only_b_ids: tuple[str, ...]
    repeated_ids: int
    other_content: int
    other_content_ids: tuple[str, ...]


class Flip(FrozenModel):
    """Cases that went from one value to another."""

    before: str
    after: str
    count: int
    ids: tuple[str, ...]


class LabelChange(FrozenModel):
    """How often one label was given, in the cases that are ok in both runs."""

    label: str
    a: int
    b: int
    lost: int
    gained: int
    difference: float
    """Of the shares, B less A."""
    interval: Interval | None
    p: float | None
    """McNemar's exact test, adjusted for the other labels of the field (Holm); null where cases hang together."""
    says: Direction


class CodeChange(FrozenModel):
    """A field with few values."""

    kind: Literal["codes"] = "codes"
    name: str
    n: int
    changed: int
    labels: tuple[LabelChange, ...]
    flips: tuple[Flip, ...]


class Mover(FrozenModel):
    id: str
    a: float
    b: float


class NumberChange(FrozenModel):
    """A field of numbers, in the cases where both runs have one."""

    kind: Literal["number"] = "number"
    name: str
    n: int
    left_out: int
    """Cases ok in both runs in which one or both have no number (null)."""
    a: float | None
    b: float | None
    difference: float | None
    interval: Interval | None
    risen: int
    fallen: int
    movers: tuple[Mover, ...]
    """The largest changes."""
    says: Direction


class OtherChange(FrozenModel):
    """Free text, or names of things: counted where it changed, not judged."""

    kind: Literal["other"] = "other"
    name: str
    n: int
    changed: int
    ids: tuple[str, ...]


FieldChange = NumberChange | CodeChange | OtherChange


class Spending(FrozenModel):
    """What the matched cases took in each run; null where it is not known."""

    name: str
    a: float | None
    b: float | None


class Comparison(FrozenModel):
    """B against A."""

    a: Side
    b: Side
    settings: tuple[str, ...]
    """What was set otherwise in B."""
    warnings: tuple[str, ...]
    matching: Matching
    cluster: str | None
    clusters: int | None
    statuses: tuple[Flip, ...]
    fields: tuple[FieldChange, ...]
    spending: tuple[Spending, ...]

    @property
    def one_sided(self) -> int:
        """Cases of both runs that only one of them has judged: their verdicts could not be compared."""
        return sum(flip.count for flip in self.statuses if "ok" in (flip.before, flip.after))

    @property
    def whole(self) -> bool:
        """Whether all was compared that the runs share: both are finished, and no case has a verdict in one of them
        alone. A case that neither could judge is the same in both."""
        return self.a.state == self.b.state == "finished" and not self.one_sided


def direction_of(interval: Interval | None, same: bool) -> Direction:
    if same:
        return "the same"
    if interval is None:
        return "too few to tell"
    if interval[0] <= 0.0 <= interval[1]:
        return "no difference shown"
    return "higher" if interval[0] > 0 else "lower"
