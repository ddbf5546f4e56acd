"""A Python assertion for promptfoo: a file that holds `from krino.adapters.promptfoo import get_assert`.

promptfoo runs that file for `type: python, value: file://krino_assert.py`; `config` beside it names the judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Unpack

import orjson

from krino.adapters.cases import make_case
from krino.adapters.shared_judge import SharedJudge
from krino.adapters.verdict_fields import describe_problem
from krino.api.judging import AnyKindOfJudge, Settings
from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean

_CONFIG = ("judge", "field", "min", "labeller", "options", "mapping", "case_timeout")


def get_assert(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
    """Judge an output as the `config` of the assertion says.

    `judge` (a name, `file.py:Class`, a Markdown file), `field` and `min` (the score that decides), and `labeller`,
    `options`, `mapping` as in `krino.judge`. The variables of the test are fields of the case, the output is `answer`.
    """
    config = dict(context.get("config") or {})
    if unknown := sorted(config.keys() - set(_CONFIG)):
        raise UsageProblem(f"config of the assertion: no `{unknown[0]}`{did_you_mean(unknown[0], _CONFIG)}")
    if not config.get("judge"):
        raise UsageProblem("config of the assertion: name the `judge`, for example `judge: rag`")
    return _assertion_of_config(orjson.dumps(config).decode())(output, context)


@lru_cache
def _assertion_of_config(config: str) -> Callable[[str, Mapping[str, Any]], dict[str, Any]]:
    """Makes the assertion of a configuration (JSON), once: one judge and labeller serve all tests of one process."""
    return assertion(**orjson.loads(config))


def assertion(
    judge: AnyKindOfJudge,
    field: str | None = None,
    *,
    min: float = 0.5,  # noqa: A002 - reads as what it means in a configuration
    case: Callable[[str, Mapping[str, Any]], Mapping[str, Any]] | None = None,
    **settings: Unpack[Settings],
) -> Callable[[str, Mapping[str, Any]], dict[str, Any]]:
    """A `get_assert` for judges that a configuration cannot name: `get_assert = assertion(MyJudge, "score")`.

    The test passes if `field` is at least `min`. Every score is a named score, and so is `judge.judged`: 1 for an
    output that has a verdict, 0 for one that has none, which fails. Without `field` the judge's only score decides.
    """
    shared = SharedJudge(judge, **settings)
    decisive = field or _only_score(shared)
    shared.check_names([decisive])

    def grade(output: str, context: Mapping[str, Any]) -> dict[str, Any]:
        made = case(output, context) if case else make_case(context.get("vars") or {}, output)
        return _grade(shared, shared.decide(made), decisive, min)

    return grade


def _only_score(shared: SharedJudge) -> str:
    """The judge's only score; raises `UsageProblem` if it has several or none."""
    names = shared.score_names
    if len(names) != 1:
        raise UsageProblem(f"judge `{shared.name}`: say which `field` decides; its scores are {', '.join(names)}")
    return names[0]


def _grade(shared: SharedJudge, judgement: Judgement[Any], decisive: str, least: float) -> dict[str, Any]:
    """Makes the result of a test as promptfoo reads it. Without a verdict, or a number to decide by, the test fails."""
    judged = {f"{shared.name}.judged": float(judgement.status == "ok")}
    if judgement.status != "ok":
        return {"pass": False, "score": 0.0, "reason": describe_problem(judgement), "named_scores": judged}
    scores = {item.name: item.score for item in shared.fields(judgement) if item.score is not None}
    found = shared.field(judgement, decisive)
    if found.score is None:
        reason = found.problem or f"{found.name} is {found.label}, no number"
        return {"pass": False, "score": 0.0, "reason": reason, "named_scores": scores | judged}
    reason = f"{found.name} is {found.score:g} ({found.rule}): {found.reason or ''}"
    return {"pass": found.score >= least, "score": found.score, "reason": reason, "named_scores": scores | judged}
