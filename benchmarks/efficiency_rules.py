"""What each rule of the embedded efficiency labeller is worth on traces whose author did not write the rule.

    python benchmarks/efficiency_rules.py DATA [--conformance FILE] [--only PART]

DATA is a folder with `real/traces.jsonl` (traces with the calls that were unnecessary) and `traces/` as
`efficiency_traces.py` reads it. Every rule is switched off by itself, then every family. A cell of the table says how
many verdicts change (score, or label of a step), and in brackets how what is right changes: verdicts (conformance),
labels of steps (real, chains, audit), pairs of logs in the right order (agents), needed acts that are called necessary
(airline). Nothing is known of the spans. The audit is the project's own: the authors of its rows wrote the rules too,
so that column shows what a rule was made for, not what it is worth.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from efficiency_traces import JUDGE, rows, stepwise_cases

from krino.errors import CannotJudge
from krino.judges.efficiency.case import EfficiencyCase

AUDIT = Path(__file__).parents[1] / "tests" / "judges" / "efficiency" / "audit"
_ROOM = "krino.judges.efficiency"
_WRITES = ("book_reservation", "cancel_reservation", "update_", "send_certificate")

Off = tuple[str, Callable[[], Any]]
"""A function of the judge (`module:name` or `module:Class.name`), and what it returns when it is switched off."""


RULES: Mapping[str, Sequence[Off]] = {
    "similar wordings": [("finders.repeats:RepeatSearch._match_similar", lambda: None)],
    "useful errors": [("facts:_find_useful_errors", dict)],
    "echoes": [("facts:find_echoes", list)],
    "thinking aloud": [("local:find_thinking", tuple)],
    "rewritten texts": [("local:find_rewrites", tuple)],
    "sums computed again": [("local:find_recomputed", tuple)],
    "late readings": [("facts:find_late_readings", list)],
    "unneeded: additions to the answer": [("finders.unneeded:_find_additions", list)],
    "unneeded: chains of look-ups": [("finders.unneeded:_Pass._find_unused_chains", set)],
    "unneeded: held by an earlier result": [("finders.unneeded:_Pass._find_holder", lambda: None)],
    "needed: checks a silent act": [("finders.unneeded:_Pass._checks_silent_act", lambda: False)],
    "needed: reported to the user": [("finders.unneeded:_Pass._is_reported_to_user", lambda: False)],
    "needed: prepares an act": [("finders.unneeded:_Pass._prepares_act", lambda: False)],
    "needed: searched one by one": [("finders.unneeded:_Pass._is_searched_one_by_one", lambda: False)],
    "needed: opens a page": [("finders.unneeded:_Pass._prepares_next_step", lambda: False)],
    "needed: one of a list": [("finders.unneeded:_Pass._is_of_a_list", lambda: False)],
    "needed: another thing": [("finders.unneeded:_Pass._is_another_thing", lambda: False)],
    "needed: follows an id": [("finders.unneeded:_Pass._follows", lambda: False)],
}
FAMILIES: Mapping[str, Sequence[Off]] = {
    "all of model_texts": [
        ("facts:find_echoes", list),
        ("local:find_thinking", tuple),
    ],
    "all of unneeded": [("facts:find_unneeded_readings", dict), ("local:find_unneeded_readings", dict)],
}


@dataclass(slots=True)
class Row:
    """One trace and what is expected of it: a score, ids of unnecessary steps, or whether it is redundant."""

    group: str
    case: EfficiencyCase
    expected: Mapping[str, Any] = field(default_factory=dict)


Verdict = tuple[float | None, tuple[tuple[str, str], ...]]
"""The score (None: not judged), and label by step."""


def judge(row: Row) -> Verdict:
    try:
        facts = JUDGE.study(row.case)
    except CannotJudge:
        return None, ()
    labels = JUDGE.label_locally([(row.case, facts)])[0]
    settlement = JUDGE.settle(row.case, facts, labels)
    wasted = {finding.where: finding.rule for finding in settlement.findings if finding.rule.startswith("EFF-L")}
    return settlement.rulings["score"].value, tuple((step.id, wasted.get(step.id, "")) for step in facts.steps)


# --- the data ---------------------------------------------------------------------------------------


def read_rows(data: Path, conformance: Path | None) -> Iterator[Row]:
    if conformance is not None:
        for record in _lines(conformance):
            yield Row("conformance", JUDGE.read(record["case"]), record["expected"])
    for record in _lines(data / "real" / "traces.jsonl"):
        case = {"task": record.get("user_task") or record.get("task") or "", "trace": record["trace"]}
        yield Row("real", JUDGE.read(case), record["expected"])
    for record, step, truth in stepwise_cases(data / "traces"):
        redundant = truth["Redundancy"] or truth["Repetition"]
        yield Row("chains", JUDGE.read(record), {"step": step, "redundant": redundant})
    for record in rows(data / "traces" / "mast_human" / "data.jsonl.gz"):
        redundant = bool(record["step_repetition"] or record["trajectory_restart"])
        yield Row("agents", JUDGE.read(record), {"redundant": redundant})
    for record in rows(data / "traces" / "tau_bench_airline" / "data.jsonl.gz"):
        yield Row("airline", JUDGE.read(record), {"acts": record["reference_actions"] if record["reward"] else []})
    for path in sorted((data / "traces" / "otel_samples").glob("*.json")):
        yield Row("spans", JUDGE.read(orjson.loads(path.read_bytes())))
    for path in sorted(AUDIT.glob("*.jsonl")):
        for record in _lines(path):
            if "labels" not in record and "unnecessary" in record["expect"]:
                yield Row("audit", JUDGE.read(record["case"]), record["expect"])


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        if line.strip():
            yield orjson.loads(line)


# --- what is right ----------------------------------------------------------------------------------


def count_right(group: str, judged: Sequence[tuple[Row, Verdict]]) -> tuple[float, float]:
    """How much of a group is as expected, and of how much."""
    if group == "agents":
        return _ordered_pairs(judged)
    counts = [_right_of(row, verdict) for row, verdict in judged]
    return sum(right for right, _ in counts), sum(known for _, known in counts)


def _right_of(row: Row, verdict: Verdict) -> tuple[int, int]:
    """What is right about one trace, and what is known of it: verdicts, else labels of steps."""
    score, labels = verdict
    expected, wasted = row.expected, {step for step, rule in labels if rule}
    if row.group == "conformance":
        if "status" in expected:
            return score is None, 1
        return score == expected["score"] and set(expected.get("names", wasted)) == wasted, 1
    if row.group == "chains":
        return (expected["step"] in wasted) == expected["redundant"], 1
    if row.group == "airline":
        needed = _needed(row)
        return len(needed - wasted), len(needed)
    if row.group == "spans":
        return 0, 0
    unnecessary = (
        _steps_of_calls(row, expected["unnecessary_calls"]) if row.group == "real" else set(expected["unnecessary"])
    )
    return sum((step in wasted) == (step in unnecessary) for step, _ in labels), len(labels)


def _ordered_pairs(judged: Sequence[tuple[Row, Verdict]]) -> tuple[float, float]:
    """Of a log that people call repetitive and one that they do not, the first should have the larger redundant share.

    Every pair counts (the area under the ROC curve), a tie as half.
    """
    shares: dict[bool, list[float]] = {True: [], False: []}
    for row, (_, labels) in judged:
        shares[row.expected["redundant"]].append(sum(rule == "EFF-L1" for _, rule in labels) / len(labels))
    pairs = [(more > less) + 0.5 * (more == less) for more in shares[True] for less in shares[False]]
    return sum(pairs), len(pairs)


def _steps_of_calls(row: Row, numbers: Sequence[int]) -> set[str]:
    """Calls are numbered among the tool calls, in a trace without any among the words of the model."""
    steps = row.case.read_as("auto").steps
    calls = [step for step in steps if step.kind in ("tool", "retrieval")] or steps
    return {calls[number - 1].id for number in numbers}


def _needed(row: Row) -> set[str]:
    """The first call of each act that the task's author made himself, in trajectories that reached the goal."""
    wanted = {orjson.dumps([act["name"], act["kwargs"]], option=orjson.OPT_SORT_KEYS) for act in row.expected["acts"]}
    found: dict[bytes, str] = {}
    for step in row.case.read_as("auto").steps:
        if step.name.startswith(_WRITES) and step.error is None:
            key = orjson.dumps([step.name, step.input], option=orjson.OPT_SORT_KEYS)
            if key in wanted:
                found.setdefault(key, step.id)
    return set(found.values())


# --- the table --------------------------------------------------------------------------------------

GROUPS = ("conformance", "real", "chains", "agents", "airline", "spans", "audit")


@contextlib.contextmanager
def switched_off(offs: Sequence[Off]) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        for where, empty in offs:
            module, _, path = where.partition(":")
            owner: Any = importlib.import_module(f"{_ROOM}.{module}")
            *classes, name = path.split(".")
            for each in classes:
                owner = getattr(owner, each)
            stack.callback(setattr, owner, name, getattr(owner, name))
            setattr(owner, name, lambda *_, empty=empty, **__: empty())
        yield


def print_line(name: str, data: Sequence[Row], base: Sequence[Verdict], verdicts: Sequence[Verdict]) -> None:
    cells = []
    for group in GROUPS:
        mine = [(row, was, now) for row, was, now in zip(data, base, verdicts, strict=True) if row.group == group]
        changed = sum(was != now for _, was, now in mine)
        before, known = count_right(group, [(row, was) for row, was, _ in mine])
        right, _ = count_right(group, [(row, now) for row, _, now in mine])
        cells.append(f"{changed} ({right - before:+g})" if changed and known else str(changed))
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--conformance", type=Path, metavar="FILE")
    parser.add_argument("--only", default="", metavar="PART", help="only rules whose name has this in it")
    given = parser.parse_args()
    data = list(read_rows(given.data, given.conformance))
    base = [judge(row) for row in data]
    counts = []
    for group in GROUPS:
        right, known = count_right(group, [pair for pair in zip(data, base, strict=True) if pair[0].group == group])
        counts.append(f"{right:g} of {known:g}" if known else "?")
    print(f"| switched off | {' | '.join(GROUPS)} |\n|{'---|' * (len(GROUPS) + 1)}")
    print(f"| nothing: right | {' | '.join(counts)} |")
    for name, offs in {**RULES, **FAMILIES}.items():
        if given.only in name:
            with switched_off(offs):
                print_line(name, data, base, [judge(row) for row in data])


if __name__ == "__main__":
    main()
