"""Reading large runs: agree, compare, gate, slices and exports over 100,000 judgements, each in a process of its own.

    python benchmarks/results_scale.py [--cases 100000] [--keep FOLDER]

Makes two runs over the same cases and the labels of two raters. Marks: under 1 GB, and under 20 s
where somebody waits for the answer; an export of this size may take a minute.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import tempfile
from pathlib import Path

from big_run import COURTS, KINDS, MOST_SECONDS, make_run, measured, verdicts

RATERS = ("anna", "ben")
EXPORTS = ("csv", "parquet", "jsonl", "otel")
EXPORT_SECONDS = 60.0


def write_labels(path: Path, run: Path) -> None:
    """Two raters who agree with the judge most of the time; failed cases are labelled too."""
    rng = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as out:
        table = csv.writer(out)
        table.writerow(["id", "rater", "faithfulness", "kind", "court"])
        for number, (case, verdict) in enumerate(verdicts(run)):
            said = verdict or {}
            score, kind = said.get("faithfulness") or 0.5, said.get("kind", KINDS[0])
            for rater in RATERS:
                near = round(min(1.0, max(0.0, score + rng.gauss(0, 0.1))), 1)
                label = kind if rng.random() < 0.8 else rng.choice(KINDS)
                table.writerow([case, rater, near, label, COURTS[number % 8]])


def commands(folder: Path) -> dict[str, list[str]]:
    a, b, labels = (str(folder / name) for name in ("a", "b", "labels.csv"))
    rules = ["--min", "faithfulness=0.5", "--min", "pass=70%", "--max", "failed=5%", "--max", "errors:DATE=50%"]
    rules += ["--max", "faithfulness:null=10%"]
    slices = ["--by", "court,language,court*language"]
    exports = {f"export {to}": ["export", b, str(folder / f"export.{to}"), "--to", to] for to in EXPORTS}
    return {
        "agree": ["agree", a, labels],
        "agree, clustered": ["agree", a, labels, "--cluster", "court"],
        "compare": ["compare", a, b],
        "compare, clustered": ["compare", a, b, "--cluster", "document"],
        "gate": ["gate", b, *rules],
        "gate by slice": ["gate", b, *rules, *slices],
        "gate against a run": ["gate", b, *rules, "--not-worse-than", a, "--may-fall", "faithfulness=0.01"],
        "show by slice": ["show", b, *slices],
        **exports,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="where the runs go; by default they are thrown away")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        folder = args.keep or Path(spare)
        for name, better in (("a", 0.0), ("b", 0.01)):
            if not (folder / name).exists():
                make_run(folder / name, args.cases, better)
        write_labels(folder / "labels.csv", folder / "a")
        size = (folder / "a" / "judgements.jsonl").stat().st_size / 1e6
        print(f"two runs of {args.cases:,} judgements, {size:.0f} MB each; load {os.getloadavg()[0]:.1f}")
        for name, command in commands(folder).items():
            most = EXPORT_SECONDS if command[0] == "export" else MOST_SECONDS
            print(measured("-m", "krino", *command).told(name, most), flush=True)


if __name__ == "__main__":
    main()
