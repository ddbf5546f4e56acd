"""How well the efficiency judge's facts and embedded labels agree with what people and counts say of real traces.

    python benchmarks/efficiency_traces.py DATA [--logs FILE]

DATA is a folder with `tau_bench_airline`, `mast_human`, `roscoe_stepwise` (each a `data.jsonl.gz`) and
`otel_samples` (JSON files). FILE has a trace on each line with the score that a careful rater expects (by default
`traces_by_another_hand.jsonl.gz` beside this script, 60 traces whose author saw no code). Every trace
is read; numbers are printed, nothing is written.
"""

from __future__ import annotations

import argparse
import gzip
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from krino.judges.efficiency.case import EfficiencyCase
from krino.judges.efficiency.facts import EfficiencyFacts
from krino.judges.efficiency.judge import EfficiencyJudge
from krino.judges.efficiency.labels import EfficiencyLabels

JUDGE = EfficiencyJudge()
BY_ANOTHER_HAND = Path(__file__).with_name("traces_by_another_hand.jsonl.gz")
_CHAIN_STEP = re.compile(r"Step (\d+) - (.*)")


@dataclass(slots=True)
class Score:
    """Counts of one yes-or-no question."""

    hit: int = 0
    false_alarm: int = 0
    missed: int = 0
    right_no: int = 0

    def add(self, said: bool, truth: bool) -> None:
        if said:
            self.hit += truth
            self.false_alarm += not truth
        else:
            self.missed += truth
            self.right_no += not truth

    def __str__(self) -> str:
        precision = self.hit / max(self.hit + self.false_alarm, 1)
        recall = self.hit / max(self.hit + self.missed, 1)
        return (
            f"precision {precision:.2f} recall {recall:.2f} "
            f"(hits {self.hit}, false alarms {self.false_alarm}, missed {self.missed}, right no {self.right_no})"
        )


def rows(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path) as lines:
        for line in lines:
            yield orjson.loads(line)


def study(record: Mapping[str, Any]) -> tuple[EfficiencyFacts, EfficiencyLabels, float]:
    case: EfficiencyCase = JUDGE.read(record)
    facts = JUDGE.study(case)
    JUDGE.ask(case, facts)
    labels = JUDGE.label_locally([(case, facts)])[0]
    assert not JUDGE.check(case, facts, labels)
    return facts, labels, JUDGE.settle(case, facts, labels).rulings["score"].value


def tau_bench(data: Path) -> None:
    counts: Counter[str] = Counter()
    scores: Counter[float] = Counter()
    labelled: Counter[str] = Counter()
    for record in rows(data / "tau_bench_airline" / "data.jsonl.gz"):
        facts, labels, score = study(record)
        exact = (repeat for repeat in facts.repeats.values() if repeat.level == "exact")
        found = sum(facts.steps[repeat.place].kind == "tool" for repeat in exact)
        calls = sum(1 for step in facts.steps if step.kind == "tool")
        counts["read"] += 1
        counts["steps"] += len(facts.steps)
        counts["call counts right"] += calls == record["n_tool_calls"]
        counts["traces with duplicates"] += record["n_exact_duplicate_calls"] > 0
        counts["duplicate counts right"] += found == record["n_exact_duplicate_calls"]
        counts["duplicates there"] += record["n_exact_duplicate_calls"]
        counts["duplicates found"] += found
        scores[score] += 1
        labelled.update(item.label for item in labels.steps)
    print("tau-bench", dict(counts))
    print("  labels", dict(labelled), "scores", dict(sorted(scores.items())))


def multi_agent(data: Path) -> None:
    questions = {"step repetition": Score(), "trajectory restart": Score(), "either": Score()}
    alarms = Score()
    read = steps = 0
    for record in rows(data / "mast_human" / "data.jsonl.gz"):
        facts, labels, _ = study(record)
        read += 1
        steps += len(facts.steps)
        redundant = [item for item in labels.steps if item.label == "redundant"]
        repeated, restarted = bool(record["step_repetition"]), bool(record["trajectory_restart"])
        again = _repeats_at_length(facts, len(redundant))
        questions["step repetition"].add(again, repeated)
        questions["trajectory restart"].add(bool(facts.restarts), restarted)
        questions["either"].add(again or bool(facts.restarts), repeated or restarted)
        alarms.add(bool(redundant), repeated or restarted)
    print(f"multi-agent logs: {read} read, {steps} steps")
    for name, score in questions.items():
        print(f"  {name}: {score}")
    print(f"  any redundant step against either: {alarms}")


def _repeats_at_length(facts: EfficiencyFacts, redundant: int) -> bool:
    """People call a log of dozens of steps repetitive when much of it is; a fifth was chosen on these very logs."""
    return redundant * 5 >= len(facts.steps)


def stepwise_cases(data: Path) -> Iterator[tuple[dict[str, Any], str, dict[str, bool]]]:
    """Each chain of reasoning as a case, the id of the step that people looked at, and what they said of it."""
    for record in rows(data / "roscoe_stepwise" / "data.jsonl.gz"):
        context, _, rest = record["instance"].partition("GENERATED RESPONSE:")
        chain, _, judged = rest.partition("JUDGE:")
        steps = [{"id": number, "type": "llm", "text": text} for number, text in _CHAIN_STEP.findall(chain)]
        wanted = _CHAIN_STEP.search(judged)
        if steps and wanted is not None:
            truth = {key: value["majority_human"] == "yes" for key, value in record["labels"].items()}
            yield {"task": context.partition("CONTEXT:")[2], "trace": steps}, wanted.group(1), truth


def reasoning_steps(data: Path) -> None:
    redundancy, repetition, either = Score(), Score(), Score()
    for record, step, truth in stepwise_cases(data):
        _, labels, _ = study(record)
        said = any(item.label != "necessary" for item in labels.steps if item.step == step)
        redundancy.add(said, truth["Redundancy"])
        repetition.add(said, truth["Repetition"])
        either.add(said, truth["Redundancy"] or truth["Repetition"])
    print(f"reasoning steps\n  redundancy: {redundancy}\n  repetition: {repetition}\n  either: {either}")


def samples(data: Path) -> None:
    for path in sorted((data / "otel_samples").glob("*.json")):
        facts, labels, score = study(orjson.loads(path.read_bytes()))
        kinds = Counter(step.kind for step in facts.steps)
        print(f"{path.name}: {facts.trace.format}, {len(facts.steps)} steps {dict(kinds)}, score {score}")
        print(f"  {dict(Counter(item.label for item in labels.steps))}, task {facts.task[:60]!r}")


def expected_scores(file: Path) -> None:
    """Traces like production: how many scores are as expected, and how many at least on the right side of 1.0."""
    exact: Counter[str] = Counter()
    right_side: Counter[str] = Counter()
    count: Counter[str] = Counter()
    for record in rows(file):
        kind, wanted = record["kind"], record["expected"]["score"]
        *_, score = study({"trace": record["trace"], "task": record["task"] or record["user_task"]})
        count[kind] += 1
        exact[kind] += score == wanted
        right_side[kind] += (score == 1) == (wanted == 1)
    print(f"{file.name}")
    for kind, total in count.items():
        print(f"  {kind}: {exact[kind]} of {total} scores as expected, {right_side[kind]} on the right side of 1.0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--logs", type=Path, default=BY_ANOTHER_HAND, metavar="FILE")
    given = parser.parse_args()
    data: Path = given.data
    tau_bench(data)
    multi_agent(data)
    reasoning_steps(data)
    samples(data)
    expected_scores(given.logs)


if __name__ == "__main__":
    main()
