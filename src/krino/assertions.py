"""`assert_verdict`: a test fails unless a case was judged, and judged as expected.

Fail closed: a case that could not be judged never passes, a null is no score, and a field that a verdict does not
have is an error of the test, not something to pass over.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, Literal

from krino.api.judging import AnyKindOfJudge, Case, ready_judge
from krino.api.judging import judge as judge_case
from krino.contract import AnyJudge, Judgement, Labeller
from krino.errors import UsageProblem
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean

_WIDTH = 100


class UnexpectedVerdict(AssertionError):
    """The verdict is not as expected, or there is none; `judgement` holds it, `problems` say why."""

    def __init__(self, judgement: Judgement, problems: list[str], message: str) -> None:
        super().__init__(message)
        self.judgement = judgement
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Expected:
    """What a verdict must be: fields at least, at most or exactly so much, and the judge's one word."""

    min: Mapping[str, float] = field(default_factory=dict)
    max: Mapping[str, float] = field(default_factory=dict)
    equals: Mapping[str, Any] = field(default_factory=dict)
    roll_up: str | Collection[str] | None = None

    def __post_init__(self) -> None:
        if not (self.min or self.max or self.equals or self.roll_up):
            raise UsageProblem("assert_verdict: say what you expect, as min={'faithfulness': 0.8} or roll_up='pass'")
        for name, bound in (*self.min.items(), *self.max.items()):
            if isinstance(bound, bool) or not isinstance(bound, int | float):
                raise UsageProblem(f"assert_verdict: the bound of `{name}` is {bound!r}; min and max take numbers")

    def check_names(self, judge: AnyJudge) -> None:
        """Raises `UsageProblem` for an expectation about a field that the judge does not have, before anything is
        spent."""
        self._check_names(judge.name, [*judge.verdict_model.model_fields, *judge.figures_model.model_fields])

    def _check_names(self, judge: str, known: Collection[str]) -> None:
        """Raises `UsageProblem` for an expectation about a field that is not among the known ones."""
        if unknown := sorted({*self.min, *self.max, *self.equals} - set(known)):
            raise UsageProblem(
                f"assert_verdict: judge `{judge}` has no field `{unknown[0]}`{did_you_mean(unknown[0], known)}; "
                f"it has {', '.join(known)}"
            )

    def problems(self, judgement: Judgement) -> list[str]:
        """Returns why the verdict is not as expected, one line each; empty when it is."""
        if judgement.status != "ok" or judgement.verdict is None:
            return [f"the case was not judged ({judgement.status}): {judgement.reason or judgement.error}"]
        verdict = judgement.verdict | judgement.figures
        self._check_names(judgement.judge, verdict)
        found = [_beyond(name, verdict[name], bound, "least") for name, bound in self.min.items()]
        found += [_beyond(name, verdict[name], bound, "most") for name, bound in self.max.items()]
        found += [
            f"{name} is {verdict[name]!r}, expected {value!r}"
            for name, value in self.equals.items()
            if not verdict[name] == value  # noqa: SIM201 - what is expected may be an approximation of its own kind
        ]
        return [problem for problem in (*found, self._of_roll_up(judgement)) if problem]

    def hold(self, judgement: Judgement, rules: Mapping[str, str]) -> Judgement:
        """Returns the judgement if it is as expected, or raises `UnexpectedVerdict`."""
        __tracebackhide__ = True
        if problems := self.problems(judgement):
            raise UnexpectedVerdict(judgement, problems, describe_problems(judgement, problems, rules))
        return judgement

    def _of_roll_up(self, judgement: Judgement) -> str | None:
        """Says how the roll-up differs from the expected one, or returns None. Raises `UsageProblem` if the judge gives
        none."""
        if self.roll_up is None:
            return None
        if judgement.roll_up is None:
            raise UsageProblem(f"assert_verdict: judge `{judgement.judge}` gives no roll-up; expect a field of it")
        allowed = (self.roll_up,) if isinstance(self.roll_up, str) else tuple(self.roll_up)
        return (
            None if judgement.roll_up in allowed else f"roll_up is {judgement.roll_up}, expected {' or '.join(allowed)}"
        )


def assert_verdict(
    judge: AnyKindOfJudge | Judgement,
    case: Case | None = None,
    *,
    min: Mapping[str, float] | None = None,  # noqa: A002 - reads as what it means at the call
    max: Mapping[str, float] | None = None,  # noqa: A002
    equals: Mapping[str, Any] | None = None,
    roll_up: str | Collection[str] | None = None,
    labeller: str | Labeller = "local",
    options: Mapping[str, Any] | None = None,
    prompt: str | None = None,
) -> Judgement:
    """Judge `case` and fail unless its verdict is as expected; gives the judgement.

    A judgement made earlier (`await krino.ajudge(...)`) may replace judge and case.
    """
    __tracebackhide__ = True
    expected = Expected(min or {}, max or {}, equals or {}, roll_up)
    if isinstance(judge, Judgement):
        if case is not None:
            raise UsageProblem("assert_verdict: give a judge and a case, or a judgement alone")
        return expected.hold(judge, _rules_of(judge.judge))
    if case is None:
        raise UsageProblem("assert_verdict: the case is missing: assert_verdict('rag', case, min={...})")
    ready = ready_judge(judge, options, prompt)
    expected.check_names(ready)
    return expected.hold(judge_case(ready, case, labeller=labeller), ready.rules)


def _beyond(name: str, value: Any, bound: float, end: Literal["least", "most"]) -> str | None:
    """Says what is wrong with a number that must be at least, or at most, the bound; None if nothing is. Raises
    `UsageProblem` if it is no number."""
    if value is None:
        return f"{name} is null: there is no score, expected at {end} {bound}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UsageProblem(f"assert_verdict: `{name}` is {value!r}, no number; use equals= for it")
    holds = value >= bound if end == "least" else value <= bound
    return None if holds else f"{name} is {float(value):g}, expected at {end} {bound:g}"


def _rules_of(judge: str) -> Mapping[str, str]:
    """Returns the wording of the rules of one of Krino's own judges; empty for any other: a judgement may come from a
    run folder of anyone's making, so no other judge is loaded because it is named there."""
    from krino.judges.registry import is_ours, load_judge

    return load_judge(judge).rules if is_ours(judge) else {}


def describe_problems(judgement: Judgement, problems: list[str], rules: Mapping[str, str]) -> str:
    """Writes what was expected, then the whole judgement: verdict, who decided it, by which rule and on what
    evidence."""
    from krino.render.case import case_blocks
    from krino.render.terminal import screen, show

    page = StringIO()
    show(screen(file=page, width=_WIDTH, color_system=None), case_blocks(judgement, rules))
    lines = [clean_line(problem, 2_000) for problem in problems]
    return "\n".join([*lines, "", *(line.rstrip() for line in page.getvalue().splitlines())])
