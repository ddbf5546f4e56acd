"""`krino judge --gate`: one step that judges, holds the run against rules, and keeps both results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command_here import Done, ran_main
from fake_llm import FakeServer
from krino.cli import exits
from krino.cli.runner import exit_code
from krino.results.gates.gate import Gate, check_run
from krino.runs.manifest import Manifest
from made_runs import make_run, scores
from toy_judge import ToyJudge
from waiting import ended, until

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"


Judged = Callable[..., Done]


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Judged:
    """`krino judge` in this process, on one text a case, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("KRINO_CONFIG", "KRINO_RUN", "KRINO_LABELLER"):
        monkeypatch.delenv(name, raising=False)

    def run(texts: list[str], *args: str, by: str = TOY) -> Done:
        lines = (json.dumps({"id": f"c{n}", "text": text}) + "\n" for n, text in enumerate(texts))
        (tmp_path / "cases.jsonl").write_text("".join(lines))
        return ran_main(monkeypatch, capsys, "judge", by, "cases.jsonl", "--run", "ci", *args)

    return run


FINE = ["fine"] * 40
ONE_FAILED = [*FINE, "unjudgeable"]


@pytest.mark.parametrize(
    ("texts", "args", "code"),
    [
        (FINE, (), 0),
        (FINE, ("--min", "score=0.8"), 0),
        (FINE, ("--gate", "--min", "score=0.8"), 0),
        (["fine", "bad"] * 20, ("--min", "score=0.8"), 1),
        (["fine", "bad"] * 20, ("--max", "score=0.2"), 1),
        ([*FINE, "bad"], ("--min", "score=0.95"), 1),
        ([*FINE, "bad"], ("--min", "score=0.95", "--point"), 0),
        ([*FINE, "bad"], ("--min", "score=0.95", "--bound"), 1),
        (ONE_FAILED, (), 3),
        (ONE_FAILED, ("--gate",), 1),
        (ONE_FAILED, ("--gate", "--max", "failed=1"), 0),
        (ONE_FAILED, ("--max", "failed=5%", "--min", "score=0.8"), 0),
        ([], ("--gate",), 2),
    ],
)
def test_the_exit_code_is_the_gates_where_there_is_one(
    judge: Judged, texts: list[str], args: tuple[str, ...], code: int
) -> None:
    done = judge(texts, *args)
    assert done.code == code, done
    gated = bool(args) and code != 2
    assert ("Gate passed" in done.out, "Gate failed" in done.out) == (gated and code == 0, gated and code == 1)


def test_both_results_are_kept(judge: Judged, tmp_path: Path) -> None:
    done = judge([*FINE, "bad luck"], "--min", "score=0.99", "--junit", "gate.xml", "--markdown", "gate.md")
    assert done.code == 1
    assert "40 ok" not in done.out and "41 ok" in done.out, "the summary of the run stands before the gate"
    assert done.out.index("41 ok") < done.out.index("Gate failed")
    assert "c40" in done.out and "A good text scores `good_is`, a bad one 0." in done.out
    assert (tmp_path / "ci" / "report.html").exists()
    (suite,) = ElementTree.parse(tmp_path / "gate.xml").getroot()
    assert suite.attrib["failures"] == "1"
    assert "| c40 | 0.000 |" in (tmp_path / "gate.md").read_text("utf-8")


def test_json_is_one_object_with_both(judge: Judged) -> None:
    found = json.loads(judge(FINE, "--min", "score=0.8", "--json").out)
    assert (found["state"], found["counts"]["ok"], found["gate"]["passed"]) == ("finished", 40, True)
    assert "gate" not in json.loads(judge(FINE, "--json").out)


def test_the_rules_of_the_settings_file_hold(judge: Judged, tmp_path: Path) -> None:
    (tmp_path / "krino.toml").write_text("[gate.min]\nscore = 0.8\n[gate.max]\nfailed = 1\n")
    assert judge(["bad"] * 40).code == 0, "without --gate nobody asked"
    assert judge(["bad"] * 40, "--gate").code == 1
    assert judge(ONE_FAILED, "--gate").code == 0
    assert judge(ONE_FAILED, "--gate", "--max", "failed=0").code == 1, "a flag takes the place of the rule there"
    (tmp_path / "krino.toml").write_text("[gate]\npoint = true\n[gate.min]\nscore = 0.95\n")
    assert judge([*FINE, "bad"], "--gate").code == 0
    assert judge([*FINE, "bad"], "--gate", "--bound").code == 1
    (tmp_path / "krino.toml").write_text("[judge]\ngate = true\n[gate.min]\nscore = 0.8\n")
    assert judge(["bad"] * 40).code == 1


# --- refused before anything is judged -------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ("--min", "scor=0.8"),
            "min scor=0.8: the verdicts of judge `toy` have no field `scor` (did you mean score?); they have",
        ),
        (("--min", "pass=90%"), "judge `toy` has no roll-up (pass, review or fail); name a field: score, note"),
        (("--min", "score"), "write it as FIELD=NUMBER"),
        (("--point",), "--point is about the rules of a gate: add --gate"),
        (("--bound",), "--bound is about the rules of a gate: add --gate"),
        (("--junit", "gate.xml"), "--junit writes the result of a gate: add --gate"),
        (("--markdown", "gate.md"), "--markdown writes the result of a gate: add --gate"),
        (("--gate", "--junit", "no/such/gate.xml"), "--junit no/such/gate.xml: there is no folder no/such"),
        (("--gate", "--markdown", "no/such/gate.md"), "--markdown no/such/gate.md: there is no folder no/such"),
    ],
)
def test_what_is_wrong_with_the_gate_is_said_before_a_case_is_judged(
    judge: Judged, tmp_path: Path, args: tuple[str, ...], words: str
) -> None:
    done = judge(FINE, *args)
    assert (done.code, words in done.err) == (2, True), done
    assert not (tmp_path / "ci").exists()


@pytest.mark.parametrize(
    ("base", "words"), [("nowhere", "nowhere is no run folder"), ("ci", "that is the run itself; name an earlier one")]
)
def test_the_run_to_compare_with_must_be_there_and_be_another(
    judge: Judged, tmp_path: Path, base: str, words: str
) -> None:
    (tmp_path / "krino.toml").write_text(f"[gate]\nnot_worse_than = '{base}'\n[gate.may_fall]\nscore = 0.1\n")
    done = judge(FINE, "--gate")
    assert (done.code, words in done.err) == (2, True), done
    assert not (tmp_path / "ci").exists()


def test_it_is_compared_with_an_earlier_run(judge: Judged, tmp_path: Path) -> None:
    (tmp_path / "krino.toml").write_text("[gate]\nnot_worse_than = 'before'\n[gate.may_fall]\nscore = 0.1\n")
    make_run(tmp_path / "before", scores(*[1.0] * 40), plan={"judge": {"name": "toy", "version": "1"}})
    assert judge(FINE, "--gate").code == 0
    done = judge(["bad"] * 40, "--gate", "--run", "second")
    assert done.code == 1
    assert "1.000 → 0.000" in done.out


def test_a_rule_that_only_the_run_can_refuse_leaves_its_summary_to_be_read(judge: Judged, tmp_path: Path) -> None:
    (tmp_path / "krino.toml").write_text("[gate]\nby = 'court'\n")
    done = judge(FINE, "--gate")
    assert (done.code, "by court: the judgements have no such column" in done.err) == (2, True), done
    assert "40 ok" in done.out and (tmp_path / "ci" / "report.html").exists()


@pytest.mark.parametrize("key", ["min", "max", "junit", "markdown"])
def test_the_section_of_judge_sets_no_rules(judge: Judged, tmp_path: Path, key: str) -> None:
    (tmp_path / "krino.toml").write_text(f"[judge]\n{key} = ['score=0.1']\n")
    done = judge(FINE)
    assert (done.code, f"[judge] has no key `{key}`" in done.err) == (2, True), done


# --- a run that did not come to its end ------------------------------------------------------------


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as running:
        yield running


def test_a_run_out_of_money_never_passes_and_can_go_on(judge: Judged, tmp_path: Path, server: FakeServer) -> None:
    texts = [f"fine {n}" for n in range(40)]
    asking = ("-l", "m", "--base-url", server.url, "--cache", "off", "--concurrency", "1")
    rules = ("--max", "failed=100%", "--min", "score=0.5", "--junit", "gate.xml")
    done = judge(texts, *asking, *rules, "--max-tokens", "4000")
    assert done.code == 3, done
    assert "the run is stopped" in done.out and "Gate failed" in done.out and "continue with" in done.err
    assert "the run is stopped" in (tmp_path / "gate.xml").read_text("utf-8")
    done = judge(texts, *asking, *rules, "--max-tokens", "400000")
    assert done.code == 0, done
    assert "the run is stopped" not in (tmp_path / "gate.xml").read_text("utf-8")


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_an_interrupt_is_130_with_a_gate_too(tmp_path: Path, server: FakeServer) -> None:
    server.configure(latency=0.05)
    (tmp_path / "cases.jsonl").write_text("".join(f'{{"text": "fine {n}"}}\n' for n in range(500)))
    command = [sys.executable, "-m", "krino", "judge", TOY, "cases.jsonl", "--run", "ci", "-l", "m", "--cache", "off"]
    command += ["--base-url", server.url, "--concurrency", "4", "--gate", "--max", "failed=100%"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("KRINO_")}
    begun = subprocess.Popen(command, cwd=tmp_path, env=clean, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with ended(begun) as process:
        until(lambda: server.stats().calls >= 20 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Gate failed" in said and b"the run is interrupted" in said


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ("finished", exits.DONE),
        ("stopped", exits.CASES_FAILED),
        ("running", exits.CASES_FAILED),
        ("interrupted", exits.INTERRUPTED),
    ],
)
def test_every_end_of_a_run_has_its_exit_code(tmp_path: Path, state: str, code: int) -> None:
    run = make_run(tmp_path / "r", scores(1.0, 1.0), state=state)
    gated = check_run(run, Gate())
    assert exit_code(Manifest.load(run), gated) == code
    assert gated.passed is (code == exits.DONE)
