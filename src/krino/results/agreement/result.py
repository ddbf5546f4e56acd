"""The result of `krino agree`: every figure with its interval, its n, and the reason if it has no value."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from krino.results import FrozenModel, PrintableModel
from krino.results.agreement.coding import FieldKind

RelativeAgreement = Literal["more", "about as much", "less", "too few", "one rater", "nothing"]
"""How much the judge agrees with people, relative to how much they agree with each other; or why it is unknown."""


class Figure(FrozenModel):
    """One statistic. `value` is null if undefined, `interval` if the cases do not allow one; `why` has the reason."""

    value: float | None
    interval: tuple[float, float] | None = None
    n: int
    """The number of cases that it was computed from."""
    why: str | None = None


class ClassAgreement(FrozenModel):
    """One class: how many times people (by majority) and the judge gave it, and how well the judge detects it."""

    value: str
    people: int
    judge: int
    precision: Figure
    recall: Figure
    f1: Figure


class Confusion(FrozenModel):
    """Counts of cases by the class of people (rows, by majority) and of the judge (columns)."""

    values: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Disagreement(FrozenModel):
    """A case on which judge and people differ."""

    id: str
    judge: str
    people: dict[str, str]
    """Rater to label."""
    reason: str = ""
    """The judge's reason, in words."""
    distance: float
    """For classes: the share of raters who differ. For numbers: the distance from the mean of the raters."""


class LabelledCounts(FrozenModel):
    """What became of the labelled cases; every case is counted here."""

    labelled: int
    judged: int
    failed: int
    error: int
    absent: int
    """Labelled cases that the run does not have."""

    @property
    def without_verdict(self) -> int:
        return self.failed + self.error


class FieldCounts(LabelledCounts):
    """Counts for one field."""

    null_in_verdict: int = 0
    """Judged null where people gave a value."""
    null_in_labels: int = 0
    """Labelled null where the judge gave a value."""
    ties: int = 0
    """Compared cases without a majority of people, which figures against the majority leave out."""
    compared: int


class FieldAgreement(FrozenModel):
    """How far judge and people agree in one field of the verdict."""

    field: str
    standing: RelativeAgreement = "nothing"
    """How much the judge agrees with people, relative to how much they agree with each other."""
    headline: str = ""
    """The same as a sentence."""
    kind: FieldKind
    raters: tuple[str, ...]
    counts: FieldCounts
    draws: int = 0
    figures: dict[str, Figure] = Field(default_factory=dict)
    """The judge compared with people."""
    people: dict[str, Figure] = Field(default_factory=dict)
    """People compared with each other, on the same cases; empty with one rater."""
    gap: dict[str, Figure] = Field(default_factory=dict)
    """`figures` minus `people`, from the same draws: their interval decides whether the two differ."""
    classes: tuple[ClassAgreement, ...] = ()
    words: tuple[ClassAgreement, ...] = ()
    """Of a field of lists: each word (code) by itself."""
    confusion: Confusion | None = None
    disagreeing: int = 0
    """The number of cases in which the judge differs from a rater."""
    worst: tuple[Disagreement, ...] = ()
    notes: tuple[str, ...]


class Bin(FrozenModel):
    """Judgements of similar confidence."""

    low: float
    high: float
    n: int
    confidence: float | None
    right: float | None


class CalibrationResult(FrozenModel):
    """Calibration of a confidence. A judgement is right if its field `of` is what the majority of people gave."""

    field: str
    of: str
    error: Figure
    bins: tuple[Bin, ...]
    notes: tuple[str, ...] = ()


class Skipped(FrozenModel):
    """A column of the labels that was not compared."""

    column: str
    why: str


class Clusters(FrozenModel):
    """The clusters that the bootstrap drew instead of single cases."""

    column: str
    source: Literal["labels", "metadata"]
    count: int
    without: int
    """Cases without a value: each is drawn alone."""


class AgreementCounts(LabelledCounts):
    """Counts for all compared fields together, and the rest of the run."""

    unlabelled: int
    """Cases of the run without a label."""


class Agreement(PrintableModel):
    """A run compared with the labels of people."""

    headline: str = ""
    """The result in a sentence or two."""
    counts: AgreementCounts
    absent_ids: tuple[str, ...]
    """The first labelled ids that the run does not have."""
    raters: tuple[str, ...]
    fields: tuple[FieldAgreement, ...]
    calibration: tuple[CalibrationResult, ...]
    skipped: tuple[Skipped, ...]
    clusters: Clusters | None
    level: float
    seed: int
