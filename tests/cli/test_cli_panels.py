"""Juries and repeats from the command line: runs that resume, money, refusals, and what the reports say of votes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest

from command_here import krino, own_folder
from endpoints.labelling import labels_for
from fake_llm import FakeServer, Faults, ReceivedRequest
from fake_llm.replies import what_is_asked
from toy_judge import ToyJudge
from waiting import ended, until

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"
GOOD, BAD = {"label": "good", "quote": "fine"}, {"label": "bad", "quote": "fine"}


def by_model(replies: Mapping[str, Any]) -> Callable[[ReceivedRequest], Any]:
    return lambda request: replies[request.body["model"]]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply=by_model({"a": GOOD, "b": BAD, "c": GOOD})) as running:
        yield running


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with own_folder(tmp_path, monkeypatch, str(tmp_path / "replies.sqlite")):
        yield


def write(path: Path, count: int) -> Path:
    path.write_text("".join(json.dumps({"id": f"c{n}", "text": f"fine {n}"}) + "\n" for n in range(count)))
    return path


def judge(server: FakeServer, labeller: str, *more: str) -> tuple[str, ...]:
    return ("judge", TOY, "cases.jsonl", "--run", "r", "-l", labeller, "--base-url", server.url, *more)


def judgements(run: Path) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (run / "judgements.jsonl").read_bytes().splitlines()]


# --- runs ------------------------------------------------------------------------------------------


def test_a_jury_from_the_command_line(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", 2)
    done = krino(*judge(server, "a,b,c"))
    assert done.code == 0, done.err
    assert server.stats().calls == 6
    assert [len(line["ballots"]) for line in judgements(tmp_path / "r")] == [3, 3]
    labeller = orjson.loads((tmp_path / "r/run.json").read_bytes())["plan"]["labeller"]
    assert (labeller["kind"], list(labeller["members"]), labeller["quorum"]) == ("panel", ["a", "b", "c"], 2)


def test_a_cost_that_some_calls_have_no_price_for_says_so_wherever_it_is_shown(
    tmp_path: Path, server: FakeServer
) -> None:
    write(tmp_path / "cases.jsonl", 2)
    (tmp_path / "krino.toml").write_text("[prices.a]\ninput = 1\noutput = 1\n", encoding="utf-8")
    told = "(4 calls without a price)"
    tried = krino(*judge(server, "a,b,c", "--dry-run")).out
    assert "at the stated price, at least: 4 calls have none" in tried
    done = krino(*judge(server, "a,b,c"))
    assert "cost at least " in done.out and told in " ".join(done.out.split())
    assert [line["usage"]["unpriced"] for line in judgements(tmp_path / "r")] == [2, 2]
    assert orjson.loads((tmp_path / "r/run.json").read_bytes())["usage"]["unpriced"] == 4
    shown = krino("show", "r")
    assert "cost at least " in shown.out and told in " ".join(shown.out.split())
    assert "(2 calls without a price)" in " ".join(krino("show", "r", "c0").out.split())
    assert told in (tmp_path / "r/report.html").read_text("utf-8")
    assert "calls without a price" in krino("compare", "r", "r").out


def test_a_tied_case_is_failed_and_exit_3(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", 1)
    done = krino(*judge(server, "a,b"))
    assert done.code == 3
    assert "the seats are evenly split" in done.out
    assert judgements(tmp_path / "r")[0]["usage"]["calls"] == 2


def test_another_panel_is_refused_in_the_folder_of_the_first(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", 1)
    assert krino(*judge(server, "a", "--repeat", "2")).code == 0
    other = krino(*judge(server, "a", "--repeat", "3"))
    assert (other.code, "labeller repeat: was 2, is now 3" in other.err) == (2, True)
    same = krino(*judge(server, "a", "--repeat", "2"))
    assert "continuing r" in same.err
    assert krino(*judge(server, "a", "--repeat", "3", "--fresh")).code == 0
    assert server.stats().calls == 3  # the third repeat only: the first two were in the cache


def stored_replies(folder: Path) -> int:
    with closing(sqlite3.connect(folder / "replies.sqlite")) as replies, suppress(sqlite3.OperationalError):
        return int(replies.execute("select count(*) from replies").fetchone()[0])
    return 0  # not made yet


def test_a_killed_panel_goes_on_and_pays_no_answered_seat_again(tmp_path: Path, server: FakeServer) -> None:
    cases, seats = 4, 3
    write(tmp_path / "cases.jsonl", cases)
    server.configure(faults=Faults(schedule=[None] * (seats + 2) + ["hang"]))  # in the midst of the second case
    command = judge(server, "a,b,c", "--concurrency", "1")
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with ended(subprocess.Popen([sys.executable, "-m", "krino", *command], **quiet)) as process:
        # The sixth call never ends, and the five that were answered must be on disk all the same.
        until(lambda: stored_replies(tmp_path) == seats + 2 or process.poll() is not None)
        process.kill()
        assert process.wait() == -9, "the run must not have ended by itself: it would prove nothing"
    known, paid = stored_replies(tmp_path), server.stats().calls
    assert (known, paid) == (seats + 2, seats + 3)
    assert known > seats * len(judgements(tmp_path / "r")), "a seat of an unfinished case is among them"
    server.configure(faults=Faults())
    done = krino(*command)
    assert done.code == 0, done.err
    assert server.stats().calls - paid == cases * seats - known
    assert [line["id"] for line in judgements(tmp_path / "r")] == ["c0", "c1", "c2", "c3"]


def test_a_dry_run_counts_the_calls_of_every_seat(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", 3)
    (tmp_path / "krino.toml").write_text(
        "[prices.a]\ninput = 1\noutput = 1\n[prices.b]\ninput = 3\noutput = 3\n", encoding="utf-8"
    )
    once = orjson.loads(krino(*judge(server, "a", "--dry-run", "--json")).out)
    panel = orjson.loads(krino(*judge(server, "a,b", "--repeat", "2", "--dry-run", "--json")).out)
    assert (once["calls"], panel["calls"]) == (3, 12)
    assert panel["input_tokens"] == 4 * once["input_tokens"]
    assert panel["input_cost"] == pytest.approx((2 + 2 * 3) * once["input_cost"])
    assert server.stats().calls == 0
    krino(*judge(server, "a"))
    known = orjson.loads(krino(*judge(server, "a", "--repeat", "2", "--dry-run", "--json")).out)
    assert (known["calls"], known["asked"]) == (3, 3)


def test_resettling_joins_and_settles_every_ballot_again(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", 1)
    krino(*judge(server, "a,b,c"))
    calls = server.stats().calls
    done = krino("resettle", "r", "cases.jsonl", "--judge", TOY, "--option", "good_is=0.5", "--run", "again")
    assert (done.code, server.stats().calls) == (0, calls)
    (line,) = judgements(tmp_path / "again")
    assert line["verdict"]["score"] == 0.5
    assert [ballot["verdict"]["score"] for ballot in line["ballots"]] == [0.5, 0.0, 0.5]
    assert line["usage"]["calls"] == sum(ballot["usage"]["calls"] for ballot in line["ballots"]) == 0


def test_resettling_a_tie_is_still_a_tie(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", 1)
    krino(*judge(server, "a,b"))
    for source, target in (("r", "again"), ("again", "and-again")):
        assert krino("resettle", source, "cases.jsonl", "--judge", TOY, "--run", target).code == 3
        (line,) = judgements(tmp_path / target)
        assert (line["status"], len(line["ballots"])) == ("failed", 2)
        assert line["reason"].startswith("the seats are evenly split")


# --- usage -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--repeat", "3"), "says the same each time"),
        (("-l", "local,ollama:m", "--repeat", "2"), "says the same each time"),
        (("-l", "ollama:m", "--repeat", "0"), "--repeat must be at least 1"),
        (("-l", "ollama:m,ollama:m"), "ollama:m is named twice"),
        (("-l", "ollama:m,"), "a name is missing"),
        (("-l", "ollama:m,ollama:n", "--price-in", "1", "--price-out", "1"), '[prices."MODEL"]'),
        (("-l", "ollama:m,ollama:n", "--api-key-env", "PATH"), "its provider's own variable"),
        (("-l", "ollama:m,ollama:n", "--max-cost", "1"), "--max-cost needs prices"),
        (("-l", "gpt-x,claude-y"), "OPENAI_API_KEY"),
    ],
)
def test_panels_that_make_no_sense_are_exit_2_with_a_clear_message(
    tmp_path: Path, args: tuple[str, ...], words: str
) -> None:
    write(tmp_path / "cases.jsonl", 1)
    done = krino("judge", TOY, "cases.jsonl", *args)
    assert (done.code, done.out) == (2, "")
    assert words in done.err


def test_the_schema_of_a_judgement_knows_ballots(tmp_path: Path) -> None:
    schema = orjson.loads(krino("schema", "rag", "--part", "judgement").out)
    assert schema["version"] == "1"
    assert schema["properties"]["ballots"]["items"] == {"$ref": "#/$defs/Ballot"}
    assert {"member", "labels", "verdict", "usage"} <= schema["$defs"]["Ballot"]["properties"].keys()


def test_the_doctor_tries_every_member(tmp_path: Path, server: FakeServer) -> None:
    with FakeServer(reply=lambda request: labels_for(request, what_is_asked(request)) or {}) as plain:
        done = krino("doctor", "-l", "a,b", "--base-url", plain.url)
        assert done.code == 0, done.out + done.err
        assert {request.body["model"] for request in plain.requests} == {"a", "b"}
