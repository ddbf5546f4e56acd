"""Krino: evaluation by judges whose verdicts can be checked. Models label, code scores.

import krino
judgement = krino.judge("rag", {"question": "…", "context": ["…"], "answer": "…"})
print(judgement.verdict)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0rc1"

if TYPE_CHECKING:
    from krino.api.aligning import align as align
    from krino.api.judging import ajudge as ajudge
    from krino.api.judging import ajudge_many as ajudge_many
    from krino.api.judging import judge as judge
    from krino.api.judging import judge_many as judge_many
    from krino.api.recorded_run import Agreement as Agreement
    from krino.api.recorded_run import Comparison as Comparison
    from krino.api.recorded_run import Run as Run
    from krino.api.recorded_run import agree as agree
    from krino.api.recorded_run import compare as compare
    from krino.api.recorded_run import gate_rules as gate_rules
    from krino.api.recorded_run import load_run as load_run
    from krino.api.resettling import resettle as resettle
    from krino.api.running import Estimate as Estimate
    from krino.api.running import estimate as estimate
    from krino.api.running import run as run
    from krino.api.sharing import merge as merge
    from krino.api.sharing import shard as shard
    from krino.api.true_rates import true_rate as true_rate
    from krino.api.verifying import verify as verify
    from krino.assertions import assert_verdict as assert_verdict
    from krino.contract import Bound as Bound
    from krino.contract import Finding as Finding
    from krino.contract import Judge as Judge
    from krino.contract import Judgement as Judgement
    from krino.contract import Labelled as Labelled
    from krino.contract import Labeller as Labeller
    from krino.contract import Media as Media
    from krino.contract import Passage as Passage
    from krino.contract import Questions as Questions
    from krino.contract import Ruling as Ruling
    from krino.contract import Settlement as Settlement
    from krino.contract import Task as Task
    from krino.contract import Unread as Unread
    from krino.contract import Usage as Usage
    from krino.engine.batch import BatchFiles as BatchFiles
    from krino.errors import CannotJudge as CannotJudge
    from krino.errors import KrinoError as KrinoError
    from krino.errors import LabelFailed as LabelFailed
    from krino.errors import NotJudged as NotJudged
    from krino.errors import RunStopped as RunStopped
    from krino.errors import UsageProblem as UsageProblem
    from krino.exports.frame import frame as frame
    from krino.judges.file.one_line import rubric as rubric
    from krino.judges.registry import load_judge as load_judge
    from krino.labellers.factory import jury as jury
    from krino.labellers.factory import llm as llm
    from krino.labellers.factory import repeated as repeated
    from krino.labellers.replay import ReplayLabeller as ReplayLabeller
    from krino.results.alignment.result import Alignment as Alignment
    from krino.results.gates.gate import Gate as Gate
    from krino.results.gates.result import GateResult as GateResult
    from krino.results.summary import Summary as Summary
    from krino.results.true_rate import TrueRates as TrueRates
    from krino.results.verification import Verification as Verification

# Public name to the module that has it: loaded on first use, so that `import krino` costs next to nothing.
_HOMES = {
    **dict.fromkeys(("ajudge", "ajudge_many", "judge", "judge_many"), "krino.api.judging"),
    **dict.fromkeys(
        ("CannotJudge", "KrinoError", "LabelFailed", "NotJudged", "RunStopped", "UsageProblem"), "krino.errors"
    ),
    **dict.fromkeys(
        (
            "Bound",
            "Finding",
            "Judge",
            "Judgement",
            "Labelled",
            "Labeller",
            "Media",
            "Passage",
            "Questions",
            "Ruling",
            "Settlement",
            "Task",
            "Unread",
            "Usage",
        ),
        "krino.contract",
    ),
    **dict.fromkeys(
        ("Agreement", "Comparison", "Run", "agree", "compare", "gate_rules", "load_run"), "krino.api.recorded_run"
    ),
    **dict.fromkeys(("Estimate", "estimate", "run"), "krino.api.running"),
    "resettle": "krino.api.resettling",
    **dict.fromkeys(("merge", "shard"), "krino.api.sharing"),
    "align": "krino.api.aligning",
    "Alignment": "krino.results.alignment.result",
    "BatchFiles": "krino.engine.batch",
    "Gate": "krino.results.gates.gate",
    "GateResult": "krino.results.gates.result",
    "Summary": "krino.results.summary",
    "TrueRates": "krino.results.true_rate",
    "true_rate": "krino.api.true_rates",
    "Verification": "krino.results.verification",
    "assert_verdict": "krino.assertions",
    "frame": "krino.exports.frame",
    "load_judge": "krino.judges.registry",
    "rubric": "krino.judges.file.one_line",
    **dict.fromkeys(("jury", "llm", "repeated"), "krino.labellers.factory"),
    "verify": "krino.api.verifying",
    "ReplayLabeller": "krino.labellers.replay",
}
__all__ = ["__version__", *sorted(_HOMES)]


if not TYPE_CHECKING:  # a type checker must see that there is no such thing as `krino.jugde`

    def __getattr__(name: str) -> Any:
        """Imports a public name at its first use, so that `import krino` stays fast."""
        if name not in _HOMES:
            raise AttributeError(f"module `krino` has no attribute `{name}`")
        value = getattr(importlib.import_module(_HOMES[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
