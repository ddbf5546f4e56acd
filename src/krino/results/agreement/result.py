"""What `krino agree` finds, as data: every figure with its interval, its n, and a reason where it has no value."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from krino.results import FrozenModel
from krino.results.agreement.coding import Kind

RelativeAgreement = Literal["more", "about as much", "less", "too few", "one rater", "nothing"]
"""The judge agrees with people more than they with each other, ...; or why that cannot be told."""


class Figure(FrozenModel):
    """One statistic. `value` is null where it is undefined, `interval` where too few cases can vary: `why` says so."""

    value: float | None
    interval: tuple[float, float] | None = None
    n: int
    """Cases it stands on."""
    why: str | None = None


class ClassAgreement(FrozenModel):
    """One class: how often people (majority) and judge say it, and how well the judge finds it."""

    value: str
    people: int
    judge: int
    precision: Figure
    recall: Figure
    f1: Figure


class Confusion(FrozenModel):
    """Cases by what people say (rows, majority) and what the judge says (columns)."""

    values: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]


class Disagreement(FrozenModel):
    """A case on which judge and people differ."""

    id: str
    judge: str
    people: dict[str, str]
    """Rater to label."""
    reason: str = ""
    """Why the judge says what it says, in words."""
    distance: float
    """Classes: the share of raters that say something else. Numbers: how far from the mean of the raters."""


class LabelledCounts(FrozenModel):
    """Where labelled cases went; nothing is dropped without being counted here."""

    labelled: int
    judged: int
    failed: int
    error: int
    absent: int
    """Labelled, but the run has no such case."""

    @property
    def without_verdict(self) -> int:
        return self.failed + self.error


class FieldCounts(LabelledCounts):
    """Of one field."""

    null_in_verdict: int = 0
    """Judged without a number where people gave one."""
    null_in_labels: int = 0
    """People gave null (or nothing but null) where the judge gave a value."""
    ties: int = 0
    """Compared, but people have no majority: not in the figures against it, in all others."""
    compared: int


class FieldAgreement(FrozenModel):
    """How far judge and people agree in one field of the verdict."""

    field: str
    standing: RelativeAgreement = "nothing"
    """How far the judge agrees with people, beside how far they agree with each other."""
    headline: str = ""
    """The same as a sentence."""
    kind: Kind
    raters: tuple[str, ...]
    counts: FieldCounts
    draws: int = 0
    figures: dict[str, Figure] = Field(default_factory=dict)
    """The judge against people."""
    people: dict[str, Figure] = Field(default_factory=dict)
    """People among themselves, on the same cases; empty where there is one rater."""
    gap: dict[str, Figure] = Field(default_factory=dict)
    """The judge with people less people among themselves, drawn together: whether the two differ is for it to say."""
    classes: tuple[ClassAgreement, ...] = ()
    confusion: Confusion | None = None
    disagreeing: int = 0
    """Cases on which the judge differs from a rater."""
    worst: tuple[Disagreement, ...] = ()
    notes: tuple[str, ...]


class Bin(FrozenModel):
    """Judgements of like confidence."""

    low: float
    high: float
    n: int
    confidence: float | None
    right: float | None


class CalibrationResult(FrozenModel):
    """Whether a confidence means what it says. Right is: the judge's `of` is what the majority of people say."""

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
    """What the bootstrap drew instead of single cases."""

    column: str
    source: Literal["labels", "metadata"]
    count: int
    without: int
    """Cases without a value: each stands for itself."""


class AgreementCounts(LabelledCounts):
    """Of all compared fields together, and the rest of the run."""

    unlabelled: int
    """Cases of the run that nobody labelled."""


class Agreement(FrozenModel):
    """A run against the labels of people."""

    headline: str = ""
    """What was found, in a sentence or two."""
    counts: AgreementCounts
    absent_ids: tuple[str, ...]
    """The first of the labelled ids that the run does not have."""
    raters: tuple[str, ...]
    fields: tuple[FieldAgreement, ...]
    calibration: tuple[CalibrationResult, ...]
    skipped: tuple[Skipped, ...]
    clusters: Clusters | None
    level: float
    seed: int
