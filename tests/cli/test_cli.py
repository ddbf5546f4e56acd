"""The command line: exit codes, settings, output for people and for machines."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from command_line import environment, ran
from endpoints.labelling import labels_for
from fake_llm import FakeServer, Faults, ReceivedRequest
from fake_llm.replies import what_is_asked
from krino import __version__
from krino.cli import app
from krino.cli.commands.demo import EXAMPLES
from krino.judges.registry import OURS
from toy_judge import ToyJudge
from waiting import ended, until

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"
GOOD = {"label": "good", "quote": "fine"}
STDERR: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply=GOOD) as running:
        yield running


def krino(
    *args: str, cwd: Path, stdin: str | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return ran(*args, cwd=cwd, input=stdin or "", env={**environment(cwd), **(env or {})})


def write(path: Path, *texts: str) -> Path:
    path.write_text("".join(json.dumps({"id": f"c{n}", "text": text}) + "\n" for n, text in enumerate(texts)))
    return path


def judgements(run: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run / "judgements.jsonl").read_bytes().splitlines()]


# --- exit codes ------------------------------------------------------------------------------------------


def test_all_ok_is_exit_0_with_a_summary_and_a_report(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", "fine", "bad")
    done = krino("judge", TOY, "cases.jsonl", "--run", "r", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "score" in done.stdout
    assert {"run.json", "judgements.jsonl", "report.html", "judgements.parquet"} <= {
        p.name for p in (tmp_path / "r").iterdir()
    }


def test_a_failed_case_is_exit_3(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", "fine", "unjudgeable")
    done = krino("judge", TOY, "cases.jsonl", "--run", "r", cwd=tmp_path)
    assert done.returncode == 3
    assert "the text says that it cannot be judged" in done.stdout


def test_a_broken_line_is_a_failed_case_that_names_file_and_line(tmp_path: Path) -> None:
    path = write(tmp_path / "cases.jsonl", "fine")
    path.write_text(path.read_text() + "{broken\n" + json.dumps({"text": "fine again"}) + "\n")
    done = krino("judge", TOY, "cases.jsonl", "--run", "r", cwd=tmp_path)
    assert done.returncode == 3
    by_index = {item["index"]: item for item in judgements(tmp_path / "r")}
    assert [by_index[n]["status"] for n in range(3)] == ["ok", "failed", "ok"]
    assert by_index[1]["reason"].startswith("cases.jsonl:2: not valid JSON")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("judge", "nope", "cases.jsonl"), "no judge `nope`"),
        (("judge", TOY, "missing.jsonl"), "missing.jsonl"),
        (("judge", TOY, "cases.jsonl", "--option", "x"), "name=value"),
        (("judge", TOY, "cases.jsonl", "--option", "x=1"), "options of judge `toy`"),
        (("judge", TOY, "cases.jsonl", "--map", "x"), "write it as target=source"),
        (("judge", TOY, "cases.jsonl", "--labeller", "gpt-x"), "OPENAI_API_KEY"),
        (("judge", TOY, "cases.jsonl", "--labeller", "gpt-x", "--base-url", "ftp://x"), "no http(s) URL"),
        (("judge", TOY, "cases.jsonl", "--prompt", "missing.md"), "missing.md: No such file or directory; name a file"),
        (("judge", TOY, "cases.jsonl", "--option", "god_is=1"), "no option `god_is` (did you mean good_is?)"),
        (("judge", TOY, "cases.jsonl", "--gate", "--min", "scor=1"), "no field `scor` (did you mean score?)"),
        (("judge", "citation", "cases.jsonl", "--gate", "--min", "x=1"), "no field `x`; they have match_correctness"),
        (("judge", TOY, "cases.txt"), "give the format (--format jsonl, json, csv, parquet, arrow or excel)"),
        (
            ("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", "http://x", "--channel", "pigeon"),
            "unknown reply channel",
        ),
        (("show", "nowhere"), "no run folder"),
        (("show", "cases.jsonl"), "no run folder"),
        (("judge", TOY, "cases.jsonl", "--run", "cases.jsonl/x"), "cases.jsonl"),
        (("judge", TOY, "cases.jsonl", "--format", "xml"), "xml"),
        (("judge", TOY, "cases.jsonl", "--base-url", "http://x"), "add --labeller MODEL"),
        (
            ("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", "http://x", "--reasks", "-1"),
            "reasks must be at least 0",
        ),
        (("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", "http://x", "--rpm", "0"), "rpm must be more than 0"),
        (("judge", TOY, "cases.jsonl", "-l", "olama:llama3"), "unknown provider `olama`"),
        (("judge", TOY), "FILE"),
    ],
)
def test_wrong_usage_is_exit_2_with_one_clear_message(tmp_path: Path, args: tuple[str, ...], words: str) -> None:
    write(tmp_path / "cases.jsonl", "fine")
    write(tmp_path / "cases.txt", "fine")
    done = krino(*args, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_server_that_always_answers_garbage_ends_every_case_in_error(tmp_path: Path, server: FakeServer) -> None:
    server.configure(faults=Faults(rates={"garbage": 1.0}))
    write(tmp_path / "cases.jsonl", *[f"fine {n}" for n in range(2_000)])
    done = krino("judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    lines = judgements(tmp_path / "r")
    assert len(lines) == 2_000
    assert {(item["status"], item["verdict"]) for item in lines} == {("error", None)}
    assert all(item["raw_reply"] for item in lines)


def test_two_thousand_cases_survive_a_troubled_server(tmp_path: Path, server: FakeServer) -> None:
    faults = {"429": 0.05, "500": 0.02, "garbage": 0.01, "truncated": 0.003, "cut": 0.01}
    server.configure(faults=Faults(rates=faults, seed=5, retry_after=0.02))
    write(tmp_path / "cases.jsonl", *[f"fine {n}" for n in range(2_000)])
    command = ("judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url)
    done = krino(*command, cwd=tmp_path)
    if done.returncode == 3:  # two cut-off replies for one case end it, once in some fifty such runs; again heals it
        done = krino(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(item["index"] for item in judgements(tmp_path / "r") if item["status"] == "ok") == list(range(2_000))
    assert set(server.stats().faults) == set(faults)


def test_a_refused_key_stops_the_run_and_says_how_to_continue(tmp_path: Path, server: FakeServer) -> None:
    server.configure(faults=Faults(rates={"401": 1.0}))
    write(tmp_path / "cases.jsonl", *[f"fine {n}" for n in range(50)])
    command = ("judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url)
    done = krino(*command, cwd=tmp_path)
    assert done.returncode == 3
    assert "refuses the key" in done.stderr
    assert "continue with: krino judge" in done.stderr
    server.configure(faults=Faults())
    assert krino(*command, cwd=tmp_path).returncode == 0


# --- continuing --------------------------------------------------------------------------------------------


def test_the_same_command_again_judges_nothing_twice(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", "fine 1", "fine 2")
    command = ("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", server.url, "--cache", "off")
    assert krino(*command, cwd=tmp_path).returncode == 0
    again = krino(*command, cwd=tmp_path)
    assert again.returncode == 0
    assert "continuing runs" in again.stderr
    assert server.stats().calls == 2
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_new_cases_at_the_end_of_the_file_are_judged_the_old_ones_are_not(tmp_path: Path, server: FakeServer) -> None:
    command = ("judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url, "--cache", "off")
    write(tmp_path / "cases.jsonl", "fine 1", "fine 2")
    krino(*command, cwd=tmp_path)
    write(tmp_path / "cases.jsonl", "fine 1", "fine 2", "fine 3")
    assert krino(*command, cwd=tmp_path).returncode == 0
    assert server.stats().calls == 3


def test_a_changed_prompt_starts_a_new_run_and_says_why(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", "fine 1")
    (tmp_path / "p.md").write_text("Other words.")
    command = ("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", server.url)
    krino(*command, cwd=tmp_path)
    done = krino(*command, "--prompt", "p.md", cwd=tmp_path)
    assert "so this is a new run" in done.stderr
    assert "  the prompt changed\n" in done.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 2


def test_a_token_budget_ends_cleanly_and_a_higher_one_continues(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", *[f"fine {n}" for n in range(40)])
    command = ("judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url, "--cache", "off")
    first = krino(*command, "--max-tokens", "4000", cwd=tmp_path)
    assert first.returncode == 3
    assert "limit of 4,000 tokens" in first.stderr
    done_so_far = len(judgements(tmp_path / "r"))
    assert 0 < done_so_far < 40
    second = krino(*command, "--max-tokens", "400000", cwd=tmp_path)
    assert second.returncode == 0, second.stderr
    assert server.stats().calls == 40


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
def test_an_interrupt_is_clean_and_says_how_to_continue(tmp_path: Path, server: FakeServer) -> None:
    server.configure(latency=0.05)
    write(tmp_path / "cases.jsonl", *[f"fine {n}" for n in range(500)])
    command = [sys.executable, "-m", "krino", "judge", TOY, "cases.jsonl", "--run", "r", "-l", "m"]
    command += ["--base-url", server.url, "--cache", "off", "--concurrency", "4"]
    with ended(subprocess.Popen(command, cwd=tmp_path, **STDERR)) as process:
        until(lambda: server.stats().calls >= 20 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "continue with: krino judge" in said
    assert len(judgements(tmp_path / "r")) == server.stats().completed
    server.configure(latency=0.0)
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert server.stats().calls == 500


@pytest.mark.skipif(sys.platform == "win32", reason="signals differ there")
@pytest.mark.parametrize("fault", ["429-bare", "500"])
def test_an_interrupt_amid_trouble_sends_nothing_more(tmp_path: Path, server: FakeServer, fault: str) -> None:
    write(tmp_path / "cases.jsonl", *[f"fine {n}" for n in range(200)])
    server.configure(faults=Faults(schedule=[None] * 5, rates={fault: 1.0}))
    command = [sys.executable, "-m", "krino", "judge", TOY, "cases.jsonl", "--run", "r", "-l", "m"]
    command += ["--base-url", server.url, "--cache", "off"]
    with ended(subprocess.Popen(command, cwd=tmp_path, **STDERR)) as process:
        until(lambda: server.stats().calls >= 40 or process.poll() is not None)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)  # a tenth of its patience with an endpoint that answers nobody
    assert process.returncode == 130


# --- settings ------------------------------------------------------------------------------------------------


def test_flags_win_over_the_environment_and_that_over_the_file(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", "fine")
    (tmp_path / "krino.toml").write_text(f'[judge]\nlabeller = "from-file"\nbase_url = "{server.url}"\n')
    krino("judge", TOY, "cases.jsonl", cwd=tmp_path)
    krino("judge", TOY, "cases.jsonl", cwd=tmp_path, env={"KRINO_LABELLER": "from-env"})
    krino("judge", TOY, "cases.jsonl", "-l", "from-flag", cwd=tmp_path, env={"KRINO_LABELLER": "from-env"})
    assert [request.body["model"] for request in server.requests] == ["from-file", "from-env", "from-flag"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_settings_file_that_a_stranger_put_above_is_not_used(tmp_path: Path, server: FakeServer) -> None:
    """It would send the cases to an address of the stranger's, whether a key is needed there or not."""
    here = tmp_path / "mine"
    here.mkdir()
    write(here / "cases.jsonl", "fine")
    above = tmp_path / "krino.toml"
    above.write_text(f'[judge]\nlabeller = "vllm:x"\nbase_url = "{server.url}"\n')
    os.chown(above, 65534, 65534)
    done = krino("judge", TOY, "cases.jsonl", "--run", "r", cwd=here)
    assert "krino.toml is not used: it belongs to another user" in done.stderr
    assert server.stats().calls == 0
    named = krino("judge", TOY, "cases.jsonl", "--run", "s", cwd=here, env={"KRINO_CONFIG": str(above)})
    assert (server.stats().calls, "not used" in named.stderr) == (1, False)


def test_a_settings_file_above_the_repository_is_named_and_one_in_it_is_not(tmp_path: Path) -> None:
    here = tmp_path / "repository" / "evals"
    here.mkdir(parents=True)
    (tmp_path / "krino.toml").write_text("[judge]\nrepeat = 1\n")
    told = f"settings are taken from {tmp_path / 'krino.toml'}"
    assert told in krino("judges", cwd=here).stderr
    (tmp_path / ".git").mkdir()
    assert told not in krino("judges", cwd=here).stderr
    (here.parent / ".git").write_text("gitdir: elsewhere")
    assert told in krino("judges", cwd=here).stderr


def test_options_of_a_judge_and_prices_come_from_the_file(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", "fine")
    (tmp_path / "krino.toml").write_text(
        f'[options."{TOY}"]\ngood_is = 0.5\n[prices.m]\ninput = 1000.0\noutput = 1000.0\n'
    )
    krino("judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url, cwd=tmp_path)
    (item,) = judgements(tmp_path / "r")
    assert item["verdict"]["score"] == 0.5
    assert item["usage"]["cost"] > 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[judge]\nlabeler = 'x'\n", "[judge] has no key `labeler`"),
        ("[juge]\n", "unknown section [juge]"),
        ("[judge\n", "krino.toml"),
        ("judge = 3\n", "must be a section"),
        ("[prices]\nm = 3\n", "must be a section"),
        ("[prices.m]\ninput = 'a'\noutput = 1\n", "needs two numbers"),
    ],
)
def test_a_slip_in_the_file_is_never_passed_over(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path / "cases.jsonl", "fine")
    (tmp_path / "krino.toml").write_text(text)
    done = krino("judge", TOY, "cases.jsonl", cwd=tmp_path)
    assert (done.returncode, words in done.stderr) == (2, True), done.stderr


# --- other inputs and outputs ----------------------------------------------------------------------------------


def test_cases_come_from_stdin_and_are_kept_beside_the_run(tmp_path: Path) -> None:
    done = krino("judge", TOY, "-", "--run", "r", cwd=tmp_path, stdin='{"text": "fine"}\n{"text": "bad"}\n')
    assert done.returncode == 0, done.stderr
    assert len(judgements(tmp_path / "r")) == 2
    again = krino("resettle", "r", "--judge", TOY, "--run", "again", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "again" / "stdin.jsonl").read_text() == (tmp_path / "r" / "stdin.jsonl").read_text()


def test_one_object_over_several_lines_comes_from_stdin_as_one_case(tmp_path: Path) -> None:
    done = krino("judge", TOY, "-", "--run", "r", cwd=tmp_path, stdin='{\n "text":\n  "fine"\n}\n')
    assert done.returncode == 0, done.stderr
    assert [item["status"] for item in judgements(tmp_path / "r")] == ["ok"]


def test_other_data_on_stdin_takes_the_place_of_the_first_in_the_same_run(tmp_path: Path) -> None:
    krino("judge", TOY, "-", "--run", "r", cwd=tmp_path, stdin='{"text": "fine"}\n')
    other = krino("judge", TOY, "-", "--run", "r", cwd=tmp_path, stdin='{"text": "bad", "txet": ""}\n')
    assert (other.returncode, "not read by toy: txet" in other.stderr) == (0, True)
    shown = orjson.loads(krino("show", "r", "--json", cwd=tmp_path).stdout)
    assert (shown["verdict"]["score"], shown["id"]) == (0.0, "stdin.jsonl:1")
    assert (tmp_path / "r" / "stdin.jsonl").read_text() == '{"text": "bad", "txet": ""}\n'


@pytest.mark.parametrize(("files", "stdin"), [(("-",), ""), (("-",), "\n \n"), (("-", "-"), '{"text": "x"}')])
def test_nothing_on_stdin_is_said_and_leaves_nothing_behind(tmp_path: Path, files: tuple[str, ...], stdin: str) -> None:
    done = krino("judge", TOY, *files, "--run", "r", cwd=tmp_path, stdin=stdin)
    assert (done.returncode, "stdin" in done.stderr) == (2, True)
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("def broken(:", "SyntaxError"),
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        (
            "from krino import Judge\nclass Mine(Judge):\n    pass",
            "mine.py:2: Mine does not define `ask`; write",
        ),
        ("class Mine: pass", "is a krino.Judge"),
    ],
)
def test_a_judge_that_does_not_load_is_said_in_one_line(tmp_path: Path, code: str, words: str) -> None:
    write(tmp_path / "cases.jsonl", "fine")
    (tmp_path / "mine.py").write_text(code)
    done = krino("judge", "mine.py:Mine", "cases.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_judge_in_the_working_folder_is_found_by_its_module(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", "fine")
    (tmp_path / "neighbour.py").write_text("from toy_judge import ToyJudge as Mine\n")
    (tmp_path / "mine.py").write_text("from neighbour import Mine\n")
    env = {"PYTHONPATH": str(Path(__file__).parents[1])}
    assert krino("judge", "mine:Mine", "cases.jsonl", cwd=tmp_path, env=env).returncode == 0
    assert krino("judge", "mine.py:Mine", "cases.jsonl", cwd=tmp_path, env=env).returncode == 0


def test_fields_can_be_mapped(tmp_path: Path) -> None:
    (tmp_path / "cases.csv").write_text("name,body\na,fine\nb,bad\n")
    done = krino("judge", TOY, "cases.csv", "--run", "r", "--map", "text=body", "--map", "id=name", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sorted(item["id"] for item in judgements(tmp_path / "r")) == ["a", "b"]


def test_json_output_is_one_object_that_says_it_all(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", "fine", "unjudgeable")
    done = krino("judge", TOY, "cases.jsonl", "--run", "r", "--json", cwd=tmp_path)
    said = json.loads(done.stdout)
    assert (said["run"], said["state"], said["counts"]) == ("r", "finished", {"ok": 1, "failed": 1, "error": 0})


def test_a_dry_run_counts_calls_and_spends_nothing(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", "fine", "", "unjudgeable", "fine too")
    command = ("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", server.url, "--price-in", "1", "--price-out", "1")
    said = json.loads(krino(*command, "--dry-run", "--json", cwd=tmp_path).stdout)
    assert server.stats().calls == 0
    assert {key: said[key] for key in ("cases", "cannot_be_judged", "decided_by_rules", "calls")} == {
        "cases": 4,
        "cannot_be_judged": 1,
        "decided_by_rules": 1,
        "calls": 2,
    }
    krino(*command, "--run", "r", cwd=tmp_path)
    real = json.loads((tmp_path / "r" / "run.json").read_text())["usage"]
    assert said["input_tokens"] == pytest.approx(real["input_tokens"], rel=0.35)
    assert said["input_cost"] == pytest.approx(said["input_tokens"] / 1e6)
    assert not (tmp_path / "runs").exists()
    assert "known from the cache" in krino(*command, "--dry-run", cwd=tmp_path).stdout


def test_a_dry_run_says_what_the_prompt_cache_should_save(tmp_path: Path) -> None:
    cases = [{"question": "How tall?", "context": ["102 m."], "answer": f"It is {n} m."} for n in (1, 2, 3)]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases))
    prices = ("--price-in", "1", "--price-out", "1", "--price-cached", "0.1")
    command = ("judge", "rag", "cases.jsonl", "--dry-run", "--json", *prices, "-l")

    def planned(model: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(krino(*command, model, cwd=tmp_path).stdout)
        return found

    said = planned("openai:gpt-6-luna")
    assert 2 * 1_024 < said["repeated_tokens"] < said["input_tokens"], "the first call finds nothing there"
    assert said["repeated_saving"] == pytest.approx(0.9 * said["repeated_tokens"] / 1e6)
    assert planned("claude-haiku-4-5")["repeated_tokens"] == 0, "this model caches longer prompts only"
    assert planned("groq:some-model")["repeated_tokens"] == 0
    assert "saved by that" in krino(*command[:4], *prices, "-l", "openai:gpt-6-luna", cwd=tmp_path).stdout


@pytest.mark.parametrize("model", ["gpt-4o-mini", "gpt-4o-mini,claude-3-5-haiku-latest"])
def test_a_dry_run_needs_no_key(tmp_path: Path, model: str) -> None:
    write(tmp_path / "cases.jsonl", "fine")
    keyless = {"ANTHROPIC_API_KEY": ""}
    done = krino("judge", TOY, "cases.jsonl", "-l", model, "--dry-run", "--json", cwd=tmp_path, env=keyless)
    assert (done.returncode, json.loads(done.stdout)["calls"]) == (0, len(model.split(",")))
    refused = krino("judge", TOY, "cases.jsonl", "-l", model, cwd=tmp_path, env=keyless)
    assert refused.returncode == 2 and "key" in refused.stderr


@pytest.mark.parametrize("how", [("--dry-run",), ("--run", "r")])
def test_a_field_that_the_judge_does_not_read_is_told_on_stderr(tmp_path: Path, how: tuple[str, ...]) -> None:
    case = {"question": "Where is it?", "contxt": ["It is in Ghent."], "answer": "In Ghent."}
    (tmp_path / "cases.jsonl").write_text(f"{json.dumps(case)}\n" * 2)
    done = krino("judge", "rag", "cases.jsonl", *how, cwd=tmp_path)
    assert done.stderr.count("not read by rag: contxt (did you mean context?)") == 1
    assert "contxt" not in done.stdout


def test_show_gives_the_run_one_case_and_every_line(tmp_path: Path) -> None:
    write(tmp_path / "cases.jsonl", "fine", "bad")
    krino("judge", TOY, "cases.jsonl", "--run", "r", cwd=tmp_path)
    assert "score" in krino("show", "r", cwd=tmp_path).stdout
    one = krino("show", "r", "c1", cwd=tmp_path).stdout
    assert "labelled bad" in one
    assert "TOY-LABEL" in one
    lines = krino("show", "r", "--json", cwd=tmp_path).stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["c0", "c1"]
    missing = krino("show", "r", "nobody", cwd=tmp_path)
    assert (missing.returncode, "no judgement of a case `nobody`" in missing.stderr) == (2, True)


def test_judges_and_schema_describe_what_there_is(tmp_path: Path) -> None:
    listed = json.loads(krino("judges", "--json", cwd=tmp_path).stdout)
    rag = next(entry for entry in listed if entry["name"] == "rag")
    needs = {name: (info["required"], info["for"]) for name, info in rag["inputs"].items()}
    assert needs == {
        "question": (True, []),
        "answer": (True, []),
        "context": (False, ["faithfulness", "context_relevance"]),
        "reference": (False, ["semantic_similarity"]),
        "goal": (False, []),
        "history": (False, []),
    }
    for entry in listed:
        told = {**entry["inputs"], **entry["options"]}
        assert [name for name, info in told.items() if not info["about"]] == []
        assert any(info["required"] for info in entry["inputs"].values())
    assert "faithfulness" in rag["outputs"]
    shown = krino("judges", cwd=tmp_path).stdout
    assert "context    for faithfulness, context_relevance: the passages that were retrieved" in shown
    assert "aliases_used" not in shown  # the judge fills it
    assert "languages of the embedded labeller: English, French, Dutch, German, Spanish" in shown
    schema = json.loads(krino("schema", "rag", cwd=tmp_path).stdout)
    assert set(schema) == {"case", "labels", "verdict", "judgement"}
    verdict = json.loads(krino("schema", "rag", "--part", "verdict", cwd=tmp_path).stdout)
    assert len(verdict["properties"]) == 11


def test_a_dry_run_counts_a_case_on_which_the_judge_breaks(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", "fine", "explode", "unjudgeable")
    options = ["-l", "m", "--base-url", server.url, "--dry-run", "--json"]
    done = krino("judge", TOY, "cases.jsonl", *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["cases"], said["asked"], said["cannot_be_judged"]) == (3, 1, 2)


def test_resettle_applies_new_rules_to_old_labels_without_a_call(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", "fine", "")
    krino("judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url, cwd=tmp_path)
    calls = server.stats().calls
    resettle = ("resettle", "r", "cases.jsonl", "--judge", TOY)
    done = krino(*resettle, "--run", "new", "--option", "good_is=0.5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert server.stats().calls == calls
    scores = {item["id"]: (item["verdict"]["score"], item["usage"]["calls"]) for item in judgements(tmp_path / "new")}
    assert scores == {"c0": (0.5, 0), "c1": (0.0, 0)}
    (tmp_path / "cases.jsonl").unlink()
    gone = krino(*resettle, "--run", "newer", cwd=tmp_path)
    assert (gone.returncode, "cases.jsonl: the input cannot be read" in gone.stderr) == (2, True)


def labels_of(request: ReceivedRequest) -> dict[str, Any]:
    """What a model answers that does its work."""
    return labels_for(request, what_is_asked(request)) or {}


def test_doctor_says_what_an_endpoint_can_do(tmp_path: Path, server: FakeServer) -> None:
    server.configure(reply=labels_of, unsupported={"json_schema", "seed", "temperature"})
    done = krino("doctor", "-l", "m", "--base-url", server.url, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert "ok  a short case: judged (" in done.stdout
    assert "ok  reply channel: tool: the model answers by calling a tool" in done.stdout
    assert "note  left out: the endpoint does not take temperature; requests go without" in done.stdout
    assert "ok  a long case: judged (" in done.stdout
    assert done.stdout.splitlines()[-1] == "  ok  usable: m can judge, short cases and long ones"


def test_doctor_shows_why_a_model_says_that_it_cannot_judge(tmp_path: Path, server: FakeServer) -> None:
    """Nothing is wrong with the endpoint then."""
    server.configure(reply=lambda request: labels_of(request) | {"unreadable": "the answer is a poem"})
    done = krino("doctor", "-l", "m", "--base-url", server.url, cwd=tmp_path)
    assert done.returncode == 2
    assert "the answer is a poem" in done.stdout
    assert "not usable: the model answers, but says that the case cannot be judged" in done.stdout
    assert "refuses" not in done.stdout


def test_doctor_names_what_is_wrong_with_an_endpoint(tmp_path: Path, server: FakeServer) -> None:
    server.configure(faults=Faults(rates={"401": 1.0}))
    done = krino("doctor", "-l", "m", "--base-url", server.url, cwd=tmp_path)
    assert (done.returncode, "refuses the key" in done.stdout) == (2, True)
    away = krino("doctor", "-l", "m", "--base-url", "http://127.0.0.1:9/v1", cwd=tmp_path)
    assert (away.returncode, "no answer from http://127.0.0.1:9/v1" in away.stdout) == (2, True)


def test_the_demo_runs_offline_and_writes_a_report(tmp_path: Path) -> None:
    done = krino("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "krino-demo" / "rag" / "report.html").stat().st_size > 10_000
    assert "recorded as failed" in done.stdout


@pytest.mark.parametrize("name", sorted(EXAMPLES.keys() & OURS.keys()))
def test_every_judge_has_examples_and_the_one_that_the_demo_names(tmp_path: Path, name: str) -> None:
    lines = files("krino").joinpath(f"examples/{name}.jsonl").read_text("utf-8").splitlines()
    assert EXAMPLES[name][0] in {json.loads(line)["id"] for line in lines}


def test_help_names_the_exit_codes(tmp_path: Path) -> None:
    assert "3 some cases failed" in krino("--help", cwd=tmp_path).stdout
    assert krino("--version", cwd=tmp_path).stdout == f"krino {__version__}\n"


@pytest.mark.parametrize(
    ("engine", "words"), [("ray", "pip install 'krino[ray]'"), ("batch", "name one with --labeller")]
)
def test_an_engine_that_cannot_work_is_told_before_a_run_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, engine: str, words: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)  # as where it is not installed
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "cases.jsonl", "fine")
    done = CliRunner().invoke(app, ["judge", TOY, "cases.jsonl", "--engine", engine])
    assert words in str(done.exception) + done.output
    assert "run folder" not in done.output


@pytest.mark.parametrize("form", ["127.0.0.1:{}", "ray://127.0.0.1:{}", "[::1]:{}"])
def test_a_cluster_that_nobody_answers_for_is_told_before_a_run_folder_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setitem(sys.modules, "ray", ModuleType("ray"))  # installed, and never called
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "cases.jsonl", "fine")
    with socket.socket() as unused:  # bound, so that nobody else listens there, and not listening itself
        unused.bind(("127.0.0.1", 0))
        address = form.format(unused.getsockname()[1])
        command = ["judge", TOY, "cases.jsonl", "--engine", "ray", "--ray-address", address]
        done = CliRunner().invoke(app, command)
    assert f"{address} (--ray-address) cannot be reached" in str(done.exception) + done.output
    assert not (tmp_path / "runs").exists()


def test_a_dry_run_says_that_nobody_can_label(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import krino\nfrom toy_judge import ToyJudge\n\n"
        "class Mine(ToyJudge):\n    label_locally = krino.Judge.label_locally\n"
    )
    write(tmp_path / "cases.jsonl", "", "fine")
    command = ("judge", "mine.py:Mine", "cases.jsonl", "--dry-run")
    path = {"PYTHONPATH": str(Path(__file__).parents[1])}
    refused = krino(*command, cwd=tmp_path, env=path)
    assert (refused.returncode, "name a model with --labeller" in refused.stderr) == (2, True)
    write(tmp_path / "cases.jsonl", "")  # decided by rules: nobody is needed
    assert krino(*command, cwd=tmp_path, env=path).returncode == 0
