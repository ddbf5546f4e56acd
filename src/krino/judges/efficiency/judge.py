"""The efficiency judge: reads any trace, asks for one label a step, and settles score and reason by a table."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from krino.contract import Joined, Judge, Questions, Settlement
from krino.judges.efficiency.asking import ask
from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.facts import EfficiencyFacts, study
from krino.judges.efficiency.joining import join_votes
from krino.judges.efficiency.labels import EfficiencyLabels, check_labels
from krino.judges.efficiency.local import label_locally
from krino.judges.efficiency.rubric import Mode, settle
from krino.judges.efficiency.tables import package_text
from krino.judges.efficiency.traces.detect import Format


class EfficiencyOptions(BaseModel):
    """`mode` chooses the score table, `format` overrides detection, `window_tokens` is what a trace may take."""

    model_config = ConfigDict(extra="forbid")

    mode: Mode = "strict"
    format: Format = "auto"
    window_tokens: Annotated[int, Field(ge=500)] = 100_000


class EfficiencyVerdict(BaseModel):
    """Exactly what the rubric returns."""

    model_config = ConfigDict(extra="forbid")

    score: Annotated[float, Field(ge=0.0, le=1.0)]
    reason: str


class EfficiencyJudge(Judge[EfficiencyCase, EfficiencyFacts, EfficiencyLabels]):
    """How economically an agent carried out a task, step by step."""

    name = "efficiency"
    version = "0.1.0"
    summary = "Execution traces of agents: every step labelled, unnecessary work scored by one table."
    default_prompt: ClassVar[str] = package_text("prompt.md")
    rules: ClassVar[Mapping[str, str]] = tomllib.loads(package_text("rules.toml"))["rules"]
    options_model = EfficiencyOptions
    case_model = EfficiencyCase
    labels_model = EfficiencyLabels
    verdict_model = EfficiencyVerdict

    @property
    def _set(self) -> EfficiencyOptions:
        assert isinstance(self.options, EfficiencyOptions)
        return self.options

    def study(self, case: EfficiencyCase) -> EfficiencyFacts:
        return study(case, self._set.format)

    def ask(self, case: EfficiencyCase, facts: EfficiencyFacts) -> Questions | None:
        return ask(facts, self._set.window_tokens)

    def check(self, case: EfficiencyCase, facts: EfficiencyFacts, labels: EfficiencyLabels) -> list[str]:
        return check_labels(facts, labels)

    def settle(self, case: EfficiencyCase, facts: EfficiencyFacts, labels: EfficiencyLabels | None) -> Settlement:
        return settle(facts, labels, self._set.mode)

    def join_votes(
        self, case: EfficiencyCase, facts: EfficiencyFacts, ballots: Sequence[EfficiencyLabels]
    ) -> Joined[EfficiencyLabels]:
        return join_votes(facts, ballots)

    def label_locally(self, batch: Sequence[tuple[EfficiencyCase, EfficiencyFacts]]) -> list[EfficiencyLabels]:
        return label_locally([facts for _, facts in batch])

    def metadata(self, case: EfficiencyCase) -> dict[str, Any]:
        return {"mode": self._set.mode}
