"""Memory at two sizes of a run: judging, finish, show, slices, gate, compare, agree and export.

    python benchmarks/flat_memory.py --judged [citation]     # 200,000 and 1,000,000 cases, judged by two workers
    python benchmarks/flat_memory.py [--few 30000] [--many 120000] [--keep FOLDER] [--only finish gate]

Each in a process of its own; prints peak memory at both sizes and the bytes that every further case takes. Flat means
what fits in a few bytes a case: at ten million cases each 100 bytes are a gigabyte.

With `--judged` the runs are real ones of `krino judge --workers 2`, finish and report included: of a small judge that
counts letters (its short lines make a million a matter of minutes), or of citations. Without, journals of long RAG
judgements are written as they are, to be read.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from big_run import ROOT, make_run, measured
from citation_speed import cases as citations
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


# --- runs that are judged ----------------------------------------------------------------------------

LETTERS = f"{ROOT / 'tests' / 'deadly_judge.py'}:Deadly"
RULES = {
    "letters": ["--min", "length=1"],
    "citation": ["--min", "pass=50%"],
}


def texts() -> Iterator[dict[str, Any]]:
    for number in range(sys.maxsize):
        yield {"text": f"text {number} " + "x" * (number % 90)}


def judged(folder: Path, cases: int, name: str) -> dict[str, list[str]]:
    """The command that judges so many cases, and those that read what it made; they are measured in this order."""
    folder.mkdir(parents=True, exist_ok=True)
    inputs, first, second = (folder / part for part in ("cases.jsonl", "a", "b"))
    records = texts() if name == "letters" else citations(1, cases)
    with inputs.open("w", encoding="utf-8") as out:
        for number, record in enumerate(islice(records, cases)):
            out.write(json.dumps({"id": f"case-{number}", **record}) + "\n")
    judge = LETTERS if name == "letters" else name
    asked = {
        "judge and finish": ["judge", judge, str(inputs), "--run", str(first), "--workers", "2"],
        "judge again": ["judge", judge, str(inputs), "--run", str(first), "--workers", "2"],
        "show": ["show", str(first)],
        "gate": ["gate", str(first), *RULES[name]],
        "compare": ["compare", str(first), str(second)],
        "export csv": ["export", str(first), str(folder / "export.csv"), "--to", "csv"],
    }
    return {name: ["-m", "krino", *command] for name, command in asked.items()}


def compare_judged(folder: Path, few: int, many: int, name: str, only: list[str] | None) -> None:
    asked = [judged(folder / str(cases), cases, name) for cases in (few, many)]
    tell_head(few, many)
    for part in asked[0]:
        if only is None or part in only:
            tell(part, few, many, *(commands[part] for commands in asked))
        if part == "judge and finish":
            for cases in (few, many):  # the same run once more: what it is compared with does not matter to memory
                shutil.copytree(folder / str(cases) / "a", folder / str(cases) / "b", dirs_exist_ok=True)


# --- telling -----------------------------------------------------------------------------------------


def tell_head(few: int, many: int) -> None:
    print(f"{'':20} {few:>12,} {many:>12,} cases   bytes a further case   seconds   CPU seconds", flush=True)


def tell(name: str, few: int, many: int, command: list[str], larger: list[str]) -> None:
    first, last = measured(*command), measured(*larger)
    more = (last.peak_mb - first.peak_mb) * 1e6 / (many - few)
    codes = "" if {first.code, last.code} <= {0, 1, 3} else f"   exit {first.code}, {last.code}"
    print(
        f"{name:20} {first.peak_mb:>9,.0f} MB {last.peak_mb:>9,.0f} MB {more:>24,.0f} {last.seconds:>9.1f}"
        f" {last.cpu:>13.1f}{codes}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--few", type=int, default=200_000)
    parser.add_argument("--many", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="where the runs go; by default they are thrown away")
    parser.add_argument("--only", nargs="*", help="of: " + ", ".join(NAMES))
    parser.add_argument("--judged", nargs="?", const="letters", choices=list(RULES), help="judge the runs")
    parser.add_argument("--make", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.make:
        make(args.make, args.many)
        return
    with tempfile.TemporaryDirectory() as spare:
        folder = args.keep or Path(spare)
        if args.judged:
            compare_judged(folder, args.few, args.many, args.judged, args.only)
            return
        asked = [made(folder / str(cases), cases) for cases in (args.few, args.many)]
        tell_head(args.few, args.many)
        for name in args.only or NAMES:
            tell(name, args.few, args.many, *(commands[name] for commands in asked))


if __name__ == "__main__":
    main()
