"""What it costs to have Krino: CPU of `import krino` and `krino --help`, packages and megabytes of a plain install.

python benchmarks/startup.py [--install]     # --install makes a fresh virtual environment and measures it
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 7


def cpu_of(command: list[str]) -> float:
    """Median CPU seconds of a command, user and system, over a few rounds."""
    times = []
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)
    return statistics.median(times)


def size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def install(folder: Path) -> tuple[int, float]:
    """Packages (Krino and all it needs, without pip) and their size on disk."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    site = next((folder / "lib").glob("python*/site-packages"))
    before = size_mb(site)
    subprocess.run([python, "-m", "pip", "install", "-q", str(ROOT)], check=True, stderr=subprocess.DEVNULL)
    frozen = subprocess.run([python, "-m", "pip", "freeze"], check=True, capture_output=True, text=True).stdout
    return len(frozen.splitlines()), size_mb(site) - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", action="store_true")
    args = parser.parse_args()
    bare = cpu_of([sys.executable, "-c", "pass"])
    print(f"python itself:  {bare:.3f} s CPU")
    print(f"import krino:   {cpu_of([sys.executable, '-c', 'import krino']):.3f} s CPU  (mark: under 0.3)")
    full = "import krino; krino.judge, krino.llm, krino.Judgement"
    print(f"  and its API:  {cpu_of([sys.executable, '-c', full]):.3f} s CPU")
    command = [os.fspath(Path(sys.executable).with_name("krino")), "--help"]
    print(f"krino --help:   {cpu_of(command):.3f} s CPU  (mark: under 0.4)")
    if args.install:
        with tempfile.TemporaryDirectory() as folder:
            packages, size = install(Path(folder))
        print(f"plain install:  {packages} packages with Krino, {size:.0f} MB  (mark: at most 31 and 250 MB)")


if __name__ == "__main__":
    main()
