"""How traces lie in files: a bare list is one trace or many cases, an export may hold several traces."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from command_line import begun, ran
from fake_llm import FakeServer, ReceivedRequest
from krino import CannotJudge, judge_many
from krino.cases import read_cases
from krino.judges.efficiency import EfficiencyJudge, split_traces
from waiting import until

Record = dict[str, Any]
CHAT: list[Record] = [
    {"role": "user", "content": "What does item 7 cost?"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "get_price", "arguments": '{"id": 7}'}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "12.50"},
    {"role": "assistant", "content": "It costs 12.50."},
]
ANTHROPIC: list[Record] = [
    {"role": "user", "content": "What does item 7 cost?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "u1", "name": "get_price", "input": {"id": 7}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "u1", "content": "12.50"}]},
    {"role": "assistant", "content": "It costs 12.50."},
]
RESPONSES: list[Record] = [
    {"type": "function_call", "call_id": "c1", "name": "get_price", "arguments": '{"id": 7}'},
    {"type": "function_call_output", "call_id": "c1", "output": "12.50"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It costs 12.50."}]},
]
PLAIN: list[Record] = [{"name": "get_price", "input": {"id": 7}, "output": "12.50"}, {"type": "llm", "output": "12.50"}]
LEAVES: list[Record] = [
    {"name": "get_price", "type": "tool", "input": {"id": 7}, "output": "12.50", "children": []}
] * 2
AGENTS: list[Record] = [
    {"name": "user_proxy", "role": "user", "content": "What does item 7 cost?"},
    {"name": "clerk", "role": "assistant", "content": "It costs 12.50."},
]


def span(trace: str, number: int) -> Record:
    said = [{"role": "user", "content": f"What does item {trace} cost?"}]
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": orjson.dumps(said).decode()}
    return {
        "traceId": trace,
        "spanId": f"{trace}-{number}",
        "name": "chat",
        "startTimeUnixNano": str(number),
        "attributes": [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()],
    }


def otlp(*spans: Record) -> Record:
    return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]} for one in spans]}


def runs(trace: str, **more: Any) -> list[Record]:
    top = {"id": f"{trace}-0", "run_type": "chain", "name": "agent", "inputs": {"input": "What does it cost?"}, **more}
    tool = {"id": f"{trace}-1", "run_type": "tool", "name": "get_price", "outputs": {"output": "12.50"}, **more}
    return [top, {**tool, "parent_run_id": top["id"]}]


SPANS = [span("a", 0), span("b", 0), span("a", 1), span("c", 0)]
RUNS = [*runs("t1", trace_id="t1"), *runs("t2", trace_id="t2")]
TREES: list[Record] = [{**top, "child_runs": [child]} for top, child in (runs("t1"), runs("t2"))]


def ids(path: Path, data: Any) -> list[str]:
    path.write_bytes(data if isinstance(data, bytes) else orjson.dumps(data))
    return [item.id for item in read_cases([path], judge=EfficiencyJudge())]


@pytest.mark.parametrize("trace", [CHAT, ANTHROPIC, RESPONSES, PLAIN, LEAVES, AGENTS, ["Looked it up.", "Said it."]])
def test_a_list_of_messages_items_or_steps_is_one_trace(tmp_path: Path, trace: list[Any]) -> None:
    assert ids(tmp_path / "t.json", trace) == ["t.json:1"]
    assert ids(tmp_path / "t.jsonl", orjson.dumps(trace) + b"\n" + orjson.dumps(trace)) == ["t.jsonl:1", "t.jsonl:2"]
    judge = EfficiencyJudge({"task": "Find the price."})
    (tmp_path / "t.json").write_bytes(orjson.dumps(trace))
    (item,) = read_cases([tmp_path / "t.json"], judge=judge)
    assert item.record is not None
    assert judge.study(judge.read(item.record)).task in ("Find the price.", "What does item 7 cost?")


@pytest.mark.parametrize(
    "cases",
    [
        [{"task": "x", "trace": PLAIN}, {"task": "y", "trace": PLAIN}],
        [{"messages": CHAT}, {"messages": CHAT}],
        [{"name": "first", "messages": CHAT}, {"name": "second", "messages": CHAT}],
        [
            {"name": "agent", "type": "agent", "children": LEAVES},
            {"name": "agent", "type": "agent", "children": LEAVES},
        ],
        [{"task_id": 1, "reward": 0.0, "traj": CHAT}, {"task_id": 2, "reward": 1.0, "traj": CHAT}],
        [{"task": "a case without its trace", "name": "x"}, {"task": "another", "name": "y"}],
        TREES,
    ],
)
def test_a_list_of_cases_stays_a_list_of_cases(tmp_path: Path, cases: list[Record]) -> None:
    assert len(ids(tmp_path / "cases.json", cases)) == 2


@pytest.mark.parametrize("record", [{"messages": CHAT}, {"steps": PLAIN}, {"trace": PLAIN}, {"spans": [span("a", 0)]}])
def test_an_object_that_holds_nothing_but_a_trace_is_a_case(tmp_path: Path, record: Record) -> None:
    assert len(ids(tmp_path / "case.json", record)) == 1


@pytest.mark.parametrize(
    "export",
    [
        otlp(*SPANS),
        {"trace": otlp(*SPANS), "task": "x"},
        {"trajectory": orjson.dumps(otlp(*SPANS)).decode()},
        {"spans": SPANS},
        SPANS,
        [otlp(*SPANS[:2]), otlp(*SPANS[2:])],
    ],
)
def test_an_otlp_export_is_one_case_for_each_trace_named_by_its_id(tmp_path: Path, export: Any) -> None:
    assert ids(tmp_path / "otlp.json", export) == ["a", "b", "c"]
    lines = orjson.dumps(export) + b"\n" + orjson.dumps(otlp(span("d", 0), span("e", 0)))
    assert ids(tmp_path / "otlp.jsonl", lines) == ["a", "b", "c", "d", "e"]


def test_a_langsmith_export_is_one_case_for_each_trace_named_by_its_id(tmp_path: Path) -> None:
    assert ids(tmp_path / "runs.json", RUNS) == ["t1", "t2"]
    assert ids(tmp_path / "runs.json", {"runs": RUNS}) == ["t1", "t2"]
    assert ids(tmp_path / "runs.json", {"id": "mine", "task": "x", "runs": RUNS}) == ["mine:t1", "mine:t2"]
    part, _ = split_traces({"task": "x", "runs": RUNS})
    assert part == {"task": "x", "id": "t1", "trace": {"runs": RUNS[:2]}}


def test_spans_without_a_trace_id_do_not_split_the_one_trace_there_is() -> None:
    nameless = {**span("a", 2), "traceId": ""}
    assert split_traces(otlp(span("a", 0), nameless)) == [otlp(span("a", 0), nameless)]


def test_spans_whose_parent_is_elsewhere_are_told_of() -> None:
    judge = EfficiencyJudge()
    case = judge.read(otlp(span("a", 0), {**span("a", 1), "parentSpanId": "gone"}))
    facts = judge.study(case)
    settlement = judge.settle(case, facts, judge.label_locally([(case, facts)])[0])
    told = [found.text for found in settlement.findings if found.rule == "EFF-N7"]
    assert told == ["1 of its spans name a parent that is not in the record"]


def with_parent(one: Record, parent: str, operation: str = "chat") -> Record:
    kind = {"key": "gen_ai.operation.name", "value": {"stringValue": operation}}
    return {**one, "parentSpanId": parent, "attributes": [*one["attributes"], kind]}


@pytest.mark.parametrize(
    "spans",
    [
        [with_parent(span("a", 1), "gone")],
        [with_parent(span("a", 1), "gone"), with_parent(span("a", 2), "gone")],
        [with_parent(span("a", 1), "gone", "execute_tool"), with_parent(span("a", 2), "a-1")],
    ],
)
def test_spans_without_a_root_that_hang_on_spans_elsewhere_are_a_fragment(spans: list[Record]) -> None:
    judge = EfficiencyJudge()
    with pytest.raises(CannotJudge, match="fragment of a trace"):
        judge.study(judge.read(otlp(*spans)))


@pytest.mark.parametrize("agents", [1, 2])
def test_agents_with_their_calls_are_judged_without_the_span_that_held_them(agents: int) -> None:
    judge = EfficiencyJudge()
    tops = [with_parent(span("a", number), "elsewhere, or never ended", "invoke_agent") for number in range(agents)]
    calls = [with_parent(span("a", 10 + number), f"a-{number}") for number in range(agents)]
    facts = judge.study(judge.read(otlp(*tops, *calls)))
    assert (len(facts.steps), facts.trace.orphans) == (agents, agents)


def test_a_trace_in_several_lines_has_no_score_from_any_of_them(tmp_path: Path) -> None:
    path = tmp_path / "batches.jsonl"
    batches = (otlp(span("a", 0), span("b", 0)), otlp(span("c", 0)), otlp(span("a", 1)), otlp(span("a", 2)))
    path.write_bytes(b"\n".join(orjson.dumps(batch) for batch in batches))
    items = list(read_cases([path], judge=EfficiencyJudge()))
    assert [(item.id, item.record is not None) for item in items] == [
        ("a", False),
        ("b", True),
        ("c", True),
        ("a", False),
        ("a", False),
    ]
    assert all("trace a lies in several records (lines 1 and 3)" in str(items[place].problem) for place in (0, 3, 4))


def test_the_same_trace_in_two_files_is_a_case_in_each(tmp_path: Path) -> None:
    for name in ("one.jsonl", "two.jsonl"):
        (tmp_path / name).write_bytes(orjson.dumps(otlp(span("a", 0))))
    items = list(read_cases([tmp_path / "one.jsonl", tmp_path / "two.jsonl"], judge=EfficiencyJudge()))
    assert [item.problem for item in items] == [None, None]


def test_where_reading_twice_is_impossible_the_later_part_says_that_the_first_was_judged() -> None:
    lines = b"\n".join(orjson.dumps(otlp(span("a", number))) for number in (0, 1))
    first, second = read_cases(["-"], stdin=io.BytesIO(lines), judge=EfficiencyJudge())
    assert (first.problem, second.record) == (None, None)
    assert "(lines 1 and 2)" in str(second.problem) and "the first part was read as a case" in str(second.problem)
    one, two = judge_many("efficiency", [otlp(span("a", number)) for number in (0, 1)])
    assert (one.status, two.status) == ("ok", "failed")


# --- runs over exports -----------------------------------------------------------------------------------


def krino(folder: Path, *args: str) -> list[str]:
    return ["judge", "efficiency", *args, "--run", str(folder / "run"), "--json"]


def test_several_files_of_several_formats_are_one_run(tmp_path: Path) -> None:
    files = {"chat": CHAT, "otlp": otlp(*SPANS), "steps": PLAIN, "tree": TREES[0], "obj": {"messages": ANTHROPIC}}
    paths = []
    for name, data in files.items():
        paths.append(str(tmp_path / f"{name}.json"))
        (tmp_path / f"{name}.json").write_bytes(orjson.dumps(data))
    done = ran(*krino(tmp_path, *paths, "--option", "task=Find the price."), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [orjson.loads(line) for line in (tmp_path / "run" / "judgements.jsonl").read_bytes().splitlines()]
    found = sorted((line["index"], line["id"]) for line in lines)
    assert [name for _, name in found] == ["chat.json:1", "a", "b", "c", "steps.json:1", "t1-0", "obj.json:1"]
    assert [index for index, _ in found] == list(range(7))


def test_killed_in_the_middle_of_a_record_a_run_goes_on_with_its_other_traces(tmp_path: Path) -> None:
    names = [f"trace-{number}-" for number in range(40)]
    export = tmp_path / "otlp.json"
    export.write_bytes(orjson.dumps(otlp(*(span(name, 0) for name in names))))

    def answer(request: ReceivedRequest) -> Record:
        name = next(name for name in names if name in request.user_text)
        return {"shortest": "", "steps": [{"step": f"{name}-0", "label": "necessary", "why": "", "because_of": None}]}

    with FakeServer(reply=answer, latency=0.1, key=r"trace-\d+-") as server:
        ask = ("--labeller", "m", "--base-url", server.url, "--cache", "off", "--concurrency", "2")
        command = krino(tmp_path, str(export), *ask)
        journal = tmp_path / "run" / "judgements.jsonl"
        with begun(*command, cwd=tmp_path) as process:
            until(lambda: (journal.exists() and journal.read_bytes().count(b"\n") >= 5) or process.has_ended())
            process.kill()
            assert process.wait() == -9, "the run must not have ended by itself: it would prove nothing"
        finished = {orjson.loads(line)["id"] for line in journal.read_bytes().split(b"\n")[:-1]}
        server.configure(latency=0.0)
        done = ran(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        paid = server.stats().calls_by_key
    assert 5 <= len(finished) < len(names)
    assert {name: paid[name] for name in finished} == dict.fromkeys(finished, 1)
    lines = [orjson.loads(line) for line in journal.read_bytes().splitlines()]
    assert sorted((line["index"], line["id"]) for line in lines) == list(enumerate(names))
    assert json.loads(done.stdout)["counts"] == {"ok": len(names), "failed": 0, "error": 0}
