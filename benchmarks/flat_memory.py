"""Memory of what reads a finished run, at two sizes: finish, show, slices, gate, compare, agree and export.

    python benchmarks/flat_memory.py [--few 200000] [--many 1000000] [--keep FOLDER] [--only finish gate]

Each in a process of its own; prints peak memory at both sizes and the bytes that every further case takes. Flat means
what fits in a few bytes a case: at ten million cases each 100 bytes are a gigabyte.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from big_run import make_run, measured
from results_scale import commands, write_labels

RESULTS = Path(__file__).with_name("results_scale.py")
NAMES = (
    "finish",
    "show",
    "show by slice",
    "gate",
    "gate by slice",
    "gate against a run",
    "compare",
    "agree",
    "export csv",
)


def make(folder: Path, cases: int) -> None:
    """Two runs of so many cases, and labels."""
    for name, better in (("a", 0.0), ("b", 0.01)):
        if not (folder / name).exists():
            make_run(folder / name, cases, better)
    if not (folder / "labels.csv").exists():
        write_labels(folder / "labels.csv", folder / "a")


def made(folder: Path, cases: int) -> dict[str, list[str]]:
    """The runs, made in a process of their own (a child begins with the peak memory of its parent), and commands."""
    subprocess.run([sys.executable, __file__, "--make", str(folder), "--many", str(cases)], check=True)
    asked = {name: ["-m", "krino", *command] for name, command in commands(folder).items()}
    finish = [str(RESULTS), "--finish", str(folder / "b")]
    return {"finish": finish, "show": ["-m", "krino", "show", str(folder / "b")], **asked}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", type=int, default=200_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="where the runs go; by default they are thrown away")
    parser.add_argument("--only", nargs="*", default=NAMES, help="of: " + ", ".join(NAMES))
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.make:
        make(args.make, args.many)
        return
    with tempfile.TemporaryDirectory() as spare:
        folder = args.keep or Path(spare)
        sizes = (args.few, args.many)
        asked = [made(folder / str(cases), cases) for cases in sizes]
        print(f"{'':20} {args.few:>12,} {args.many:>12,} cases   bytes a further case   CPU seconds", flush=True)
        for name in args.only:
            few, many = (measured(*commands[name]) for commands in asked)
            more = (many.peak_mb - few.peak_mb) * 1e6 / (args.many - args.few)
            codes = "" if {few.code, many.code} <= {0, 1, 3} else f"   exit {few.code}, {many.code}"
            print(
                f"{name:20} {few.peak_mb:>9,.0f} MB {many.peak_mb:>9,.0f} MB {more:>24,.0f} {many.cpu:>13.1f}{codes}",
                flush=True,
            )


if __name__ == "__main__":
    main()
