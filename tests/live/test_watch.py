"""`krino watch` judges each trace of a file once and writes each score once."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

import krino
from command_line import begun
from command_line import krino as krino_command
from fake_llm import FakeServer
from live_traces import TOY, add_to, export, judged, root, score_server, span, trace_id
from waiting import until


def old(file: Path) -> None:
    """The file was written a while ago, so nobody waits for late spans."""
    os.utime(file, (time.time() - 3_600,) * 2)


def test_each_trace_is_judged_once_and_its_scores_are_written(tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    add_to(spans, export(span(0, 1, parent=0), root(0, "fine")), export(root(1, "bad")), export(root(2, "unjudgeable")))
    old(spans)
    with score_server() as server:
        command = ("watch", TOY, "spans.jsonl", "--run", "run", "--endpoint", server.url, "--once")
        done = krino_command(*command, cwd=tmp_path)
        assert done.returncode == 3, "one of them could not be judged"
        assert server.scores() == {trace_id(0): 1, trace_id(1): 1}
        assert {e["error.type"] for e in server.events.values() if e["trace"] == trace_id(2)} == {"cannot_judge"}
        before = dict(server.deliveries)
        assert krino_command(*command, cwd=tmp_path).returncode == 3
        assert dict(server.deliveries) == before
    found = krino.load_run(tmp_path / "run")
    assert found.manifest.state == "finished"
    assert {case.id: case.status for case in found} == {trace_id(0): "ok", trace_id(1): "ok", trace_id(2): "failed"}
    assert judged(tmp_path / "run") == {trace_id(number): 1 for number in range(3)}


def test_a_trace_is_judged_when_its_root_has_ended_or_it_was_quiet(tmp_path: Path) -> None:
    spans, run = tmp_path / "spans.jsonl", tmp_path / "run"
    add_to(spans, export(span(0, 1, parent=0)), export(span(1, 1, {"input.value": '{"text": "fine"}'}, parent=0)))
    with begun("watch", TOY, "spans.jsonl", "--run", "run", "--quiet", "6", cwd=tmp_path) as process:
        time.sleep(1)
        add_to(spans, export(root(0, "fine")))
        until(lambda: judged(run)[trace_id(0)] == 1)
        assert judged(run)[trace_id(1)] == 0
        until(lambda: judged(run)[trace_id(1)] == 1)
        add_to(spans, export(span(0, 2, parent=0)))
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait() == 0
    assert [len(case.id) for case in krino.load_run(run)] == [32, 32]


def test_scores_wait_for_a_target_that_is_down(tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    add_to(spans, export(root(0, "fine")))
    old(spans)
    with score_server() as server:
        server.status = 400
        command = ("watch", TOY, "spans.jsonl", "--run", "run", "--endpoint", server.url, "--once")
        done = krino_command(*command, cwd=tmp_path)
        assert done.returncode == 3
        assert "scores wait to be written" in done.stderr and "not written yet" in done.stderr
        server.status = 200
        assert krino_command(*command, cwd=tmp_path).returncode == 0
        assert server.scores() == {trace_id(0): 1}
    assert judged(tmp_path / "run") == {trace_id(0): 1}


def test_scores_that_the_target_refuses_are_counted_over_all_starts(tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    add_to(spans, export(root(0, "fine")))
    old(spans)
    with score_server() as server:
        server.reply = b'{"partialSuccess": {"rejectedLogRecords": "1", "errorMessage": "too old"}}'
        command = ("watch", TOY, "spans.jsonl", "--run", "run", "--endpoint", server.url, "--once")
        done = krino_command(*command, cwd=tmp_path)
        assert (done.returncode, "refused by the target: 1 score;" in done.stderr) == (3, True), done.stderr
        assert krino_command(*command, cwd=tmp_path).returncode == 3


def test_a_spent_budget_ends_the_watch_over_all_its_starts(tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    add_to(spans, *(export(root(number, f"fine {number}")) for number in range(6)))
    old(spans)
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        limits = ("--price-in", "1000", "--price-out", "1000", "--max-cost", "0.9", "--concurrency", "1")
        command = ("watch", TOY, "spans.jsonl", "--run", "run", "--once", "-l", "m", "--base-url", server.url, *limits)
        done = krino_command(*command, cwd=tmp_path)
        assert (done.returncode, "stopped: " in done.stderr) == (3, True), done.stderr
        asked = server.stats().calls
        assert 0 < asked < 6
        again = krino_command(*command, cwd=tmp_path)
        assert again.returncode == 3
        assert server.stats().calls == asked


def test_a_bad_line_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    spans.write_text("{nonsense\n")
    add_to(spans, export(root(0, "fine")))
    old(spans)
    done = krino_command("watch", TOY, "spans.jsonl", "--run", "run", "--once", cwd=tmp_path)
    assert done.returncode == 0
    assert "spans.jsonl, at byte 0: a line is no JSON" in done.stderr
    assert judged(tmp_path / "run") == {trace_id(0): 1}


def test_a_file_that_is_not_there_is_waited_for_but_not_by_once(tmp_path: Path) -> None:
    done = krino_command("watch", TOY, "spans.jsonl", "--run", "run", "--once", cwd=tmp_path)
    assert done.returncode == 2
    assert "spans.jsonl cannot be read: No such file" in done.stderr


def test_a_second_watch_in_the_same_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").touch()
    command = ("watch", TOY, "spans.jsonl", "--run", "run")
    with begun(*command, cwd=tmp_path):
        until(lambda: (tmp_path / "run" / "run.json").exists())
        done = krino_command(*command, "--once", cwd=tmp_path)
    assert done.returncode == 2
    assert "another process is writing" in done.stderr


def test_the_folder_of_another_run_is_not_taken_for_that_of_a_watch(tmp_path: Path) -> None:
    krino.run(TOY, [{"id": "1", "text": "fine"}], into=tmp_path / "run")
    (tmp_path / "spans.jsonl").touch()
    before = (tmp_path / "run" / "judgements.jsonl").read_bytes()
    done = krino_command("watch", TOY, "spans.jsonl", "--run", "run", "--once", cwd=tmp_path)
    assert done.returncode == 2
    assert "records.jsonl:1: not a trace that a watch took" in done.stderr
    assert (tmp_path / "run" / "judgements.jsonl").read_bytes() == before
    assert (tmp_path / "run" / "report.html").exists()


@pytest.mark.parametrize("line", ["[]", '{"written": 1}', '"x"'])
def test_a_changed_record_of_what_was_written_is_named(tmp_path: Path, line: str) -> None:
    add_to(tmp_path / "spans.jsonl", export(root(0, "fine")))
    old(tmp_path / "spans.jsonl")
    with score_server() as server:
        command = ("watch", TOY, "spans.jsonl", "--run", "run", "--endpoint", server.url, "--once")
        assert krino_command(*command, cwd=tmp_path).returncode == 0
        (tmp_path / "run" / "written.jsonl").write_text(f"{line}\n")
        done = krino_command(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert "written.jsonl:1: not written by a watch" in done.stderr


def test_an_agents_trace_is_a_case_of_the_efficiency_judge(tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    search = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search"}
    calls = [span(0, place, {**search, "gen_ai.tool.call.arguments": '{"q": 1}'}, parent=0) for place in (1, 2)]
    agent = {"gen_ai.operation.name": "invoke_agent", "input.value": "Find the height.", "output.value": "102 metres."}
    add_to(spans, export(*calls, span(0, 0, agent)))
    old(spans)
    done = krino_command("watch", "efficiency", "spans.jsonl", "--run", "run", "--once", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = krino.load_run(tmp_path / "run")
    assert found.status == "ok", found.reason
