"""The result of a comparison: both runs, how cases match, and changes of status, fields and spending."""

from __future__ import annotations

from typing import Literal

from krino.results import FrozenModel, PrintableModel
from krino.runs.manifest import Counts, RunState

Interval = tuple[float, float]
Direction = Literal["higher", "lower", "no difference shown", "the same", "too few to tell"]
"""Of B relative to A. `the same`: equal in every case."""


class Side(FrozenModel):
    """One of the two runs."""

    run: str
    judge: str
    labeller: str
    started: str
    state: RunState
    counts: Counts


class Matching(FrozenModel):
    """Which cases could be compared. Lists of ids are cut to the requested length."""

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
    """Difference of the shares, B minus A."""
    interval: Interval | None
    p: float | None
    """McNemar's exact test, adjusted for the other labels of the field (Holm); null if cases are clustered."""
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
    """A numeric field, in the cases where both runs have a number."""

    kind: Literal["number"] = "number"
    name: str
    n: int
    left_out: int
    """Cases judged in both runs in which at least one has no number (null)."""
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
    """Free text or names: only the changes are counted."""

    kind: Literal["other"] = "other"
    name: str
    n: int
    changed: int
    ids: tuple[str, ...]


FieldChange = NumberChange | CodeChange | OtherChange


class Spending(FrozenModel):
    """What the matched cases cost in each run; null if unknown."""

    name: str
    a: float | None
    b: float | None


class Comparison(PrintableModel):
    """B against A."""

    a: Side
    b: Side
    settings: tuple[str, ...]
    """The settings that differ in B."""
    warnings: tuple[str, ...]
    matching: Matching
    cluster: str | None
    clusters: int | None
    statuses: tuple[Flip, ...]
    fields: tuple[FieldChange, ...]
    spending: tuple[Spending, ...]

    @property
    def one_sided(self) -> int:
        """The number of common cases that only one run has judged, so that their verdicts cannot be compared."""
        return sum(flip.count for flip in self.statuses if "ok" in (flip.before, flip.after))

    @property
    def whole(self) -> bool:
        """Whether everything could be compared: both runs are finished, and no case has a verdict in only one.

        A case that neither run could judge is the same in both.
        """
        return self.a.state == self.b.state == "finished" and not self.one_sided


def direction_of(interval: Interval | None, same: bool) -> Direction:
    """Says which way a difference points, according to its interval."""
    if same:
        return "the same"
    if interval is None:
        return "too few to tell"
    if interval[0] <= 0.0 <= interval[1]:
        return "no difference shown"
    return "higher" if interval[0] > 0 else "lower"
