"""pydantic-evals gets Krino's numbers, and a case without a verdict is a failure of its evaluator."""

from __future__ import annotations

from typing import Any

from adapter_cases import WITH_FRAMEWORKS, Kind

pytestmark = WITH_FRAMEWORKS


def evaluate(kind: Kind, **more: Any) -> Any:
    from pydantic_evals import Case, Dataset

    from krino.adapters.pydantic_evals import evaluators

    async def task(number: int) -> str:
        return kind.samples[number].answer

    def case(ctx: Any) -> dict[str, Any]:
        return {**kind.samples[ctx.inputs].inputs, "answer": ctx.output}

    cases = [Case(name=str(number), inputs=number) for number in range(len(kind.samples))]
    made = evaluators(kind.judge, case=case, **more, **kind.settings)
    return Dataset(name="krino", cases=cases, evaluators=made).evaluate_sync(task, progress=False)


def test_the_report_has_krinos_numbers_and_counts_what_was_not_judged(kind: Kind) -> None:
    report = evaluate(kind)
    score, status = f"{kind.name}.{kind.field}", f"{kind.name}.status"
    cases = sorted(report.cases, key=lambda case: case.name)
    assert [case.scores[score].value if score in case.scores else None for case in cases] == kind.scores()
    assert [case.labels[status].value for case in cases] == kind.statuses()
    for case, sample in zip(cases, kind.samples, strict=True):
        failures = [failure.error_message for failure in case.evaluator_failures]
        assert len(failures) == (sample.status != "ok")
        assert all(f"not judged ({sample.status})" in message for message in failures)
    counted = report.averages().labels[status]
    assert counted == {end: kind.statuses().count(end) / len(cases) for end in set(kind.statuses())}
