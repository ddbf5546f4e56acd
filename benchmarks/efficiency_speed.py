"""Time and memory of studying long traces: both must grow in a straight line with the number of steps.

python benchmarks/efficiency_speed.py [STEPS ...]
"""

from __future__ import annotations

import argparse
import random
import time
import tracemalloc
from typing import Any

from krino.judges.efficiency.judge import EfficiencyJudge

_WORDS = [
    f"{stem}{ending}" for stem in ("atl", "bor", "cam", "del", "fen", "gor", "hul", "kis") for ending in range(40)
]


def varied(count: int, dice: random.Random) -> list[dict[str, Any]]:
    """Searches, page reads and model calls of the usual size, some of them repeats."""
    steps: list[dict[str, Any]] = []
    for number in range(count):
        query = " ".join(dice.choices(_WORDS, k=8))
        if steps and dice.random() < 0.1:
            steps.append({**dice.choice(steps), "id": str(number)})
            continue
        kind = dice.choice(("search", "open_page", "answer"))
        output = " ".join(dice.choices(_WORDS, k=200))
        step_type = "llm" if kind == "answer" else "tool"
        steps.append({"id": str(number), "type": step_type, "name": kind, "input": {"q": query}, "output": output})
    return steps


def alike(count: int, dice: random.Random) -> list[dict[str, Any]]:
    """The worst case for a search for near-repeats: one tool, and questions that share most of their words."""
    stem = " ".join(_WORDS[:10])
    return [
        {"id": str(n), "name": "search", "input": {"q": f"{stem} {n} {dice.choice(_WORDS)}"}, "output": f"result {n}"}
        for n in range(count)
    ]


def measure(name: str, steps: list[dict[str, Any]]) -> None:
    judge = EfficiencyJudge()
    case = judge.read({"task": "Find everything there is to know.", "trace": steps})
    started = time.process_time()
    facts = judge.study(case)
    studied = time.process_time() - started
    labels = judge.label_locally([(case, facts)])[0]
    judge.settle(case, facts, labels)
    total = time.process_time() - started
    del facts, labels
    tracemalloc.start()
    facts = judge.study(case)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(
        f"{name:>7} {len(steps):>6} steps: studied in {studied:.3f} CPU s, settled after {total:.3f}, "
        f"peak {peak / 2**20:.1f} MiB ({peak / len(steps) / 1024:.1f} KiB a step), {len(facts.repeats)} repeats"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", type=int, nargs="*", default=[500, 1000, 2000, 4000, 8000])
    for count in parser.parse_args().steps:
        dice = random.Random(7)
        measure("varied", varied(count, dice))
        measure("alike", alike(count, dice))


if __name__ == "__main__":
    main()
