"""Reading large runs: the finish of a run, agree, compare, gate, slices and exports over 100,000 judgements, each in a
process of its own.

    python benchmarks/results_scale.py [--cases 100000] [--keep FOLDER] [--save FILE] [--before FILE]

Makes two runs over the same cases and the labels of two raters. Marks: under 1 GB, and under 20 s where somebody waits
for the answer; an export or the finish of this size may take a minute. `--save` keeps the CPU seconds, and `--before`
takes those of another version and shows how many times as fast this one is. Before the journal was read once at the
end of a run (2026-11), the finish took 63 s of CPU where it takes 25 s now.
"""

from __future__ import annotations

import argparse
import csv
import json
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


def finish(folder: Path) -> None:
    """What `krino judge` does at the end of a run: summary, slices, report and table from one reading."""
    import krino
    from krino.cases import read_cases
    from krino.exports.parquet_file import ParquetBeside
    from krino.render.report import Report
    from krino.results.summary import collect
    from krino.runs.inputs import CasesBeside

    run, judge = krino.load_run(folder), krino.load_judge("rag")
    beside = CasesBeside(lambda: read_cases(run.manifest.plan.inputs, judge=judge))
    with (
        Report(folder, run.manifest, judge, beside.case_of) as report,
        ParquetBeside(folder, run.records) as table,
    ):
        report.write(collect(run.records(), report, table))
        table.write()


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
    parser.add_argument("--save", type=Path, help="write the CPU seconds to this file")
    parser.add_argument("--before", type=Path, help="such a file of another version, to compare with")
    parser.add_argument("--finish", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.finish:
        finish(args.finish)
        return
    before = json.loads(args.before.read_text()) if args.before else {}
    taken: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as spare:
        folder = args.keep or Path(spare)
        for name, better in (("a", 0.0), ("b", 0.01)):
            if not (folder / name).exists():
                make_run(folder / name, args.cases, better)
        write_labels(folder / "labels.csv", folder / "a")
        size = (folder / "a" / "judgements.jsonl").stat().st_size / 1e6
        print(f"two runs of {args.cases:,} judgements, {size:.0f} MB each; load {os.getloadavg()[0]:.1f}")
        asked = {name: ["-m", "krino", *command] for name, command in commands(folder).items()}
        for name, command in {"finish": [__file__, "--finish", str(folder / "b")], **asked}.items():
            found = measured(*command)
            taken[name] = found.cpu
            faster = f"  {before[name] / found.cpu:.1f} times as fast" if name in before else ""
            print(
                found.describe(name, EXPORT_SECONDS if name.startswith(("export", "finish")) else MOST_SECONDS) + faster
            )
    if args.save:
        args.save.write_text(json.dumps(taken, indent=2))


if __name__ == "__main__":
    main()
