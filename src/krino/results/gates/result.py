"""The result of a gate: one check for each rule and slice, with its outcome and the reason."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, computed_field

from krino.results import FrozenModel
from krino.results.explanations import ExplainedCase
from krino.results.formatting import format_count
from krino.runs.manifest import Counts
from krino.text.clean import clean_line

CheckOutcome = Literal["holds", "broken", "warns", "too few"]
"""`warns`: broken, but the rule only warns. `too few`: a slice with too few cases to be gated, which is shown only."""


class Check(FrozenModel):
    rule: str
    slice: str | None = None
    outcome: CheckOutcome
    message: str
    cases: int = 0
    nulls: int = 0
    value: float | None = None
    interval: tuple[float, float] | None = None
    kept_by_repeats: tuple[int, int] | None = None
    """Of a broken rule in a run with repeats: how many askings alone would keep it, of how many."""
    against: int = 0
    """How many cases break the rule."""
    against_words: str = ""
    """Those cases in words: `4 cases below 0.9, 1 case with null`."""
    worst: tuple[ExplainedCase, ...] = ()
    """The worst of them, with their reasons."""

    def heading(self) -> str:
        """The line above the list of cases."""
        return self.against_words + (f", the worst {len(self.worst):,}" if len(self.worst) < self.against else "")

    def __str__(self) -> str:
        place = f" [{self.slice}]" if self.slice else ""
        line = f"{self.outcome:8} {clean_line(f'{self.rule}{place}: {self.message}')}"
        cases = ", ".join(case.id for case in self.worst)
        return f"{line}\n         {clean_line(f'{self.heading()}: {cases}')}" if cases else line


class GateResult(FrozenModel):
    run: str
    judge: str
    labeller: str
    started: str
    counts: Counts
    notes: tuple[str, ...]
    checks: tuple[Check, ...]
    judged_by: dict[str, str] = Field(default_factory=dict)
    """Who judged, as `krino.contract.identity.JudgedBy` names it."""

    @property
    def broken(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome == "broken")

    @property
    def warnings(self) -> tuple[Check, ...]:
        return tuple(check for check in self.checks if check.outcome == "warns")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def passed(self) -> bool:
        return not self.broken

    def __str__(self) -> str:
        """One line for each rule, and the worst cases of broken ones."""
        warned = f", {format_count(len(self.warnings), 'warning')}" if self.warnings else ""
        outcome = (
            f"passed{warned}" if self.passed else f"failed, {len(self.broken):,} of {len(self.checks):,} rules broken"
        )
        return "\n".join([f"{clean_line(self.run)}: gate {outcome}", *(str(check) for check in self.checks)])
