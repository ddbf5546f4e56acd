"""What rules cost a case: expressions one by one, then all steps of ready judges without the labeller.

    python benchmarks/rule_cost.py

Other CEL packages (`cel-expr-python`, `common-expression-language`, `cel-python`) are timed on the same expressions
where they are installed. Each runs in a process of its own, because two of them share a module name.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

TEXT = "Dear all, thank you for the letter. " * 200
VALUES: dict[str, Any] = {
    "text": TEXT,
    "label": "polite",
    "score": 0.7,
    "policies": [{"id": f"p{number}", "label": "kept" if number % 2 else "broken"} for number in range(5)],
}
EXPRESSIONS = [
    "size(text) == 0",
    "label == 'rude' && score < 0.5",
    "double(policies.filter(p, p.label == 'broken').size()) * 0.2",
    "policies.exists(p, p.label == 'broken') ? 0.2 : 1.0",
    "text.matches('(?i)thank (you|u)')",
]
ROUNDS = 100
SERIES = 100


def micros(work: Callable[[], Any], rounds: int = ROUNDS) -> float:
    """Microseconds of one call, the best of many short series: other programs disturb some of them, and not all."""
    best = float("inf")
    for _ in range(SERIES):
        begun = time.perf_counter()
        for _ in range(rounds):
            work()
        best = min(best, (time.perf_counter() - begun) / rounds)
    return 1e6 * best


def ours() -> Iterator[Callable[[], Any]]:
    from krino.judges.file.cel import DOUBLE, DYN, STRING, StepBudget, compile_expression

    names = {"text": STRING, "label": STRING, "score": DOUBLE, "policies": DYN}
    for source in EXPRESSIONS:
        made = compile_expression(source, names)
        yield lambda made=made: made.value(StepBudget(dict(VALUES)))  # type: ignore[misc]


def google() -> Iterator[Callable[[], Any]]:
    from cel_expr_python import cel

    kinds = cel.Type
    types = {"text": kinds.STRING, "label": kinds.STRING, "score": kinds.DOUBLE, "policies": kinds.DYN}
    env = cel.NewEnv(variables=types)
    for source in EXPRESSIONS:
        made = env.compile(source)
        yield lambda made=made: made.eval(data=VALUES).value()  # type: ignore[misc]


def rust() -> Iterator[Callable[[], Any]]:
    import cel  # type: ignore[import-not-found, unused-ignore]

    for source in EXPRESSIONS:
        made = cel.compile(source)
        yield lambda made=made: made.execute(VALUES)  # type: ignore[misc]


def pure() -> Iterator[Callable[[], Any]]:
    import celpy  # type: ignore[import-not-found, unused-ignore]

    env = celpy.Environment()
    for source in EXPRESSIONS:
        made = env.program(env.compile(source))
        yield lambda made=made: made.evaluate({name: celpy.json_to_cel(value) for name, value in VALUES.items()})  # type: ignore[misc]


PACKAGES = {"krino": ours, "cel-expr-python": google, "common-expression-language": rust, "cel-python": pure}


def time_package(name: str) -> None:
    rounds = 10 if name == "cel-python" else ROUNDS
    print(f"{name:28}", *(f"{micros(work, rounds):10.1f}" for work in PACKAGES[name]()))


def time_judges() -> None:
    import krino
    from krino.api.checking import complete
    from krino.contract.judge_checks import settle_case

    print("\nall steps of a case but the labeller: read, study, ask, check, settle")
    for name in ("tone", "correctness", "policy", "summary-quality"):
        judge: Any = krino.load_judge(name)
        example = next(one for one in judge.definition.examples if one.labels and one.expected != "refused")
        case = judge.read(example.case)
        facts = judge.study(case)
        labels = judge.labels_model.model_validate(complete(judge.definition, example.labels, facts.values))
        steps: dict[str, Callable[[], Any]] = {
            "read": partial(judge.read, example.case),
            "study": partial(judge.study, case),
            "ask": partial(judge.ask, case, facts),
            "check": partial(judge.check, case, facts, labels),
            "settle": partial(settle_case, judge, case, facts, labels),
        }
        taken = {step: micros(work) for step, work in steps.items()}
        print(
            f"{name:28}",
            *(f"{step} {value:6.1f}" for step, value in taken.items()),
            f"  all {sum(taken.values()):6.1f}",
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", nargs="?", choices=PACKAGES, help="time this one alone")
    package = parser.parse_args().package
    if package is not None:
        time_package(package)
        return
    print("microseconds a case, values given anew each time:")
    for number, source in enumerate(EXPRESSIONS, 1):
        print(f"  {number}: {source}")
    print(f"{'':28}", *(f"{number:10}" for number in range(1, len(EXPRESSIONS) + 1)), flush=True)
    for name in PACKAGES:
        done = subprocess.run([sys.executable, __file__, name], capture_output=True, text=True, check=False)
        print(done.stdout.rstrip() or f"{name:28} not installed", flush=True)
    time_judges()


if __name__ == "__main__":
    main()
