"""How long `krino verify` takes for citation verdicts, and how much memory: judges cases once, then verifies them.

    python benchmarks/verify_speed.py [CASES]

Prints the processor time of the verification, in a process of its own, scaled up to a million, and the peak memory.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from citation_speed import cases

CASES = 100_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=int, nargs="?", default=CASES, metavar="CASES")
    count: int = parser.parse_args().cases
    with tempfile.TemporaryDirectory() as folder:
        source, run = Path(folder) / "cases.jsonl", Path(folder) / "run"
        with source.open("w") as file:
            for number, case in enumerate(cases(1, count)):
                file.write(json.dumps({"id": f"c{number}", **case}) + "\n")
        command = [sys.executable, "-m", "krino"]
        subprocess.run([*command, "judge", "citation", source, "--run", run], check=True, capture_output=True)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        done = subprocess.run([*command, "verify", run, source], check=True, capture_output=True, text=True)
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        work = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(done.stdout.strip())
        print(f"{work:.1f} s of processor time ({seconds:.1f} s passed) for {count:,} verdicts")
        print(f"a million: {work / count * 1e6 / 60:.1f} minutes on one core")
        print(f"peak memory of the largest process (judging included): {after.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
