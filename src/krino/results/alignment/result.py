"""What `krino align` found and did."""

from __future__ import annotations

from pydantic import BaseModel

from krino.stats.confidence_intervals import Interval


class TriedChange(BaseModel):
    """A proposed change, and what it gained on the cases that changes are chosen by."""

    words: str
    gain: float
    error: float
    """The standard error of the gain."""
    chosen: bool


class Gain(BaseModel):
    """What the chosen changes gained together, on labelled cases that had no part in choosing them."""

    value: float
    interval: Interval

    @property
    def is_proven(self) -> bool:
        return self.interval[0] > 0


class Alignment(BaseModel):
    """A judge, the changes that were proposed to it, and the agreement with people that it reaches."""

    judge: str
    labeller: str
    field: str
    source: str | None
    """The field of the cases whose values stayed together."""
    learnt: int
    chosen_by: int
    tested_on: int
    notes: list[str] = []
    before: float
    """The agreement of the judge as it was, on the cases of the test."""
    tried: list[TriedChange] = []
    gain: Gain | None = None
    """None if no change was good enough to be tested."""
    kept: list[str] = []
    """The changes that were kept, in words; none if the interval of the gain does not exclude zero."""
    agreement: float
    interval: Interval
    """The agreement of the judge as it is now, on the cases of the test."""
    not_judged: int = 0
    """Cases of the test to which the judge as it is now gave no verdict: they count as disagreement."""
    options: dict[str, float] = {}
    """Options of the embedded labeller that a run must name."""
    file: str | None = None
    """Where the judge or prompt was written."""

    @property
    def sentence(self) -> str:
        reached = f"{self.agreement:.1%} ({self.interval[0]:.1%} to {self.interval[1]:.1%})"
        where = f"on {self.tested_on:,} labelled cases that were held out"
        if self.gain is not None and self.kept:
            low, high = self.gain.interval
            more = f"{self.gain.value:.1%} more than before ({low:.1%} to {high:.1%})"
            return f"{self.judge} now agrees with people on `{self.field}` in {reached} {where}, {more}."
        why = "no change promised a gain" if self.gain is None else _describe_unproven(self.gain)
        return f"Nothing was changed: {why}. {self.judge} agrees with people on `{self.field}` in {reached} {where}."


def _describe_unproven(gain: Gain) -> str:
    low, high = gain.interval
    return f"the gain of {gain.value:.1%} ({low:.1%} to {high:.1%}) may be chance"
