"""What each rule of the embedded efficiency labeller is worth on traces whose author did not write the rule.

    python benchmarks/efficiency_rules.py DATA [--conformance FILE] [--only PART]

DATA is a folder with `real/traces.jsonl` (traces with the calls that were unnecessary) and `traces/` as
`efficiency_traces.py` reads it. Every rule is switched off by itself, then every family. A cell of the table says how many
verdicts change (score, or label of a step), and in brackets by how much what is right changes: verdicts (conformance),
labels of steps (real, chains, audit), pairs of logs in the right order (agents), or needed acts that are called necessary
(airline). Nothing is known of the spans. The audit is the project's own: the authors of its rows wrote the rules too, so
that column shows what a rule was made for, not what it is worth.
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
    "repeats: near wording": [("finders.repeats:RepeatSearch._near_call", lambda: None)],
    "repeats: same result": [("finders.repeats:RepeatSearch._same_result", lambda: None)],
    "repeats: known result": [("finders.repeats:RepeatSearch._known_result", lambda: None)],
    "repeats: same reply": [("finders.repeats:RepeatSearch._same_reply", lambda: None)],
    "repeats: same words": [("finders.repeats:RepeatSearch._same_words", lambda: None)],
    "rephrasings": [("local:rephrased", lambda: [{}])],
    "errors of use": [("facts:errors_of_use", dict)],
    "echoes": [("facts:echoes", list)],
    "after completion": [("facts:after_completion", list)],
    "leaving_out: beyond": [("finders.leaving_out:beyond_the_question", list)],
    "leaving_out: after all is done": [("finders.leaving_out:_Look._comes_after_all", lambda: False)],
    "leaving_out: chains": [("finders.leaving_out:_Look._led_nowhere", set)],
    "leaving_out: pages": [("finders.leaving_out:_Look._pages_on", lambda: False)],
    "leaving_out: checks silence": [("finders.leaving_out:_Look._checks_silence", lambda: False)],
    "leaving_out: chosen from": [("finders.leaving_out:_Look._is_chosen_from", lambda: False)],
    "leaving_out: told on": [("finders.leaving_out:_Look._is_told_on", lambda: False)],
    "leaving_out: prepares": [("finders.leaving_out:_Look._prepares", lambda: False)],
    "leaving_out: gone through": [("finders.leaving_out:_Look._is_gone_through", lambda: False)],
    "leaving_out: moved on": [("finders.leaving_out:_Look._is_moved_on_from", lambda: False)],
    "leaving_out: of a list": [("finders.leaving_out:_Look._is_of_a_list", lambda: False)],
    "leaving_out: another thing": [("finders.leaving_out:_Look._is_another_thing", lambda: False)],
    "leaving_out: follows": [("finders.leaving_out:_Look._follows", lambda: False)],
    "leaving_out: good measure": [("facts:looks_for_good_measure", set)],
    "restyling: a model's text": [("facts:restylings", dict)],
    "extras: talking, asks back": [("finders.talking:Talking._asked_back", tuple)],
    "extras: talking, announces": [("finders.talking:Talking._announced", tuple)],
    "extras: talking, narrates": [("finders.talking:Talking._told_along", tuple)],
    "extras: talking, says again": [("finders.talking:Talking._said_again", tuple)],
    "extras: detours, in the task": [("finders.detours:Detours._stands_in_the_task", tuple)],
    "extras: detours, works over": [("finders.detours:Detours._works_over_a_text", tuple)],
    "extras: detours, asks whether": [("finders.detours:Detours._asks_whether_it_is_so", tuple)],
    "extras: detours, wrong tool": [("finders.detours:Detours._asks_the_wrong_tool", tuple)],
    "extras: detours, sums": [("finders.detours:Detours._searches_for_a_sum", tuple)],
    "extras: models": [("finders.extras:Extras._of_a_model", tuple)],
    "extras: models in between": [("finders.extras:Extras._in_between", tuple)],
    "extras: acts": [("finders.extras:Extras._of_a_tool", tuple)],
    "extras: confirms": [("finders.extras:Extras._asks_for_the_found", tuple)],
    "extras: background": [("finders.extras:Extras._beside_the_point", tuple)],
    "extras: sums again": [("finders.extras:Extras._worked_out_again", tuple)],
    "extras: reads again": [("finders.extras:Extras._read_again", tuple)],
    "extras: a third thing": [("finders.extras:Extras._through_a_third", tuple)],
    "extras: undoing": [("finders.extras:Extras._comes_to_nothing", tuple)],
}
FAMILIES: Mapping[str, Sequence[Off]] = {
    "all of repeats but equal calls": [off for name, offs in RULES.items() if name.startswith("repeats") for off in offs],
    "all of leaving_out": [("facts:spare_readings", dict)],
    "all of talking": [("finders.talking:Talking.look", tuple)],
    "all of detours": [("finders.detours:Detours.look", tuple)],
    "all of extras": [("finders.extras:Extras.found", dict)],
    "extras, restyling, good measure, beyond": [
        ("finders.extras:Extras.found", dict),
        ("facts:restylings", dict),
        ("facts:looks_for_good_measure", set),
        ("finders.leaving_out:beyond_the_question", list),
    ],
}


@dataclass(slots=True)
class Row:
    """One trace, and what is expected of it: ids of unnecessary steps, a score, or a step and whether it is redundant."""

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
