"""What Krino's pytest plugin costs those who do not use it: start of pytest with it, as a ratio to one without.

    python benchmarks/pytest_cost.py [--rounds 15]

Needs an environment in which Krino is installed (`pip install .`), so that pytest finds the plugin as it would for
its users. Both commands run one test that does nothing; rounds alternate, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import entry_points
from pathlib import Path

COMMANDS = {"with": [], "without": ["-p", "no:krino"]}


def cpu_of(command: list[str], folder: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # As its users have it: pytest keeps the bytecode of plugins, unless it is configured not to.
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run(command, cwd=folder, env=kept, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    args = parser.parse_args()
    if "krino" not in {point.name for point in entry_points(group="pytest11")}:
        sys.exit("the plugin is not installed here: pip install . first")
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_nothing.py").write_text("def test_nothing():\n    pass\n")
        for number in range(args.rounds + 1):
            for name, flags in COMMANDS.items():
                taken = cpu_of([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *flags], folder)
                if number:  # the first round only warms caches
                    times[name].append(taken)
    with_it, without = (statistics.median(times[name]) for name in COMMANDS)
    print(f"pytest without the plugin: {without:.3f} s CPU (median of {args.rounds})")
    print(f"pytest with it, unused:    {with_it:.3f} s CPU")
    print(f"ratio:                     {with_it / without:.3f}  (mark: under 1.05)")


if __name__ == "__main__":
    main()
