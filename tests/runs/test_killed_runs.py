"""A run killed at any moment is continued by the same command: nothing lost, nothing double, nothing paid twice."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from pathlib import Path

import orjson
import pytest

import krino
from command_line import begun, ran
from command_line import krino as krino_command
from fake_llm import FakeServer
from toy_judge import ToyJudge

CASES = 2_000
KILLS = 20
DEADLY = f"{Path(__file__).parents[1] / 'deadly_judge.py'}:Deadly"
TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"


def write_cases(path: Path, *, backwards: bool) -> None:
    lines = [json.dumps({"id": f"case-{n}-", "text": f"fine case-{n}-"}) + "\n" for n in range(CASES)]
    path.write_text("".join(lines[::-1] if backwards else lines))


def command(cases: Path, run: Path, url: str, *more: str) -> list[str]:
    return [
        *("judge", TOY, str(cases), "--run", str(run)),
        *("--labeller", "m", "--base-url", url, "--cache", "off", "--concurrency", "8", *more),
    ]


def finished_ids(journal: Path) -> set[str]:
    """Whole lines only: a torn one is a call that was in flight."""
    if not journal.exists():
        return set()
    return {orjson.loads(line)["id"] for line in journal.read_bytes().split(b"\n")[:-1]}


def test_killed_twenty_times_a_run_ends_whole_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    """Each time with the cases turned around: what is known of a case does not hang on its line."""
    cases, run = tmp_path / "cases.jsonl", tmp_path / "run"
    rng = random.Random(20)
    with FakeServer(reply={"label": "good", "quote": "fine"}, latency=0.1, key=r"case-\d+-") as server:
        paid_when_finished: dict[str, int] = {}

        def check_nothing_finished_was_paid_again() -> None:
            paid = server.stats().calls_by_key
            assert {name: paid[name] for name in paid_when_finished} == paid_when_finished
            for name in finished_ids(run / "judgements.jsonl") - paid_when_finished.keys():
                paid_when_finished[name] = paid[name]

        for kill in range(KILLS):
            write_cases(cases, backwards=kill % 2 == 1)
            with begun(*command(cases, run, server.url), cwd=tmp_path) as process:
                if kill % 4:  # while it judges; the others before it has got so far
                    wait_for_more(run / "judgements.jsonl")
                time.sleep(rng.uniform(0.0, 0.7))
                process.kill()
                assert process.wait() == -9, "the run must not have ended by itself: it would prove nothing"
            check_nothing_finished_was_paid_again()
            if (run / "run.json").exists():
                check_that_it_is_unfinished(run, finished_ids(run / "judgements.jsonl"))
        assert 0 < len(paid_when_finished) < CASES
        server.configure(latency=0.0)  # the rest may go quickly
        last = ran(*command(cases, run, server.url), cwd=tmp_path)
        assert last.returncode == 0, last.stderr
        check_nothing_finished_was_paid_again()
    found = krino.load_run(run)
    assert [judgement.id for judgement in found] == [f"case-{n}-" for n in range(CASES)][::-1]
    assert {judgement.status for judgement in found} == {"ok"}
    lines = (run / "judgements.jsonl").read_bytes().splitlines()
    assert Counter(orjson.loads(line)["id"] for line in lines).most_common(1)[0][1] == 1
    assert (len(found), found.manifest.counts.ok, found.manifest.state) == (CASES, CASES, "finished")


def wait_for_more(journal: Path, most: float = 60.0) -> None:
    """Until the process has judged something."""
    before, started = _size(journal), time.monotonic()
    while _size(journal) == before:
        assert time.monotonic() - started < most, "nothing was judged"
        time.sleep(0.01)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def check_that_it_is_unfinished(folder: Path, finished: set[str]) -> None:
    """Of what was read of the input before the kill, and of nothing that is not judged."""
    run = krino.load_run(folder)
    assert run.manifest.state == "running"
    shown = [record["id"] for record in run.records()]
    assert set(shown) <= finished
    assert len(shown) == len(set(shown)) == len(run)


@pytest.mark.parametrize("place", [2, 30], ids=["while the judge is tried", "while it judges"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_case_that_kills_a_small_run_is_an_error_when_the_command_is_given_again(
    tmp_path: Path, place: int, workers: str
) -> None:
    texts = ["x" * number for number in range(40)]
    texts[place] = "die"
    lines = (json.dumps({"id": str(number), "text": text}) + "\n" for number, text in enumerate(texts))
    (tmp_path / "cases.jsonl").write_text("".join(lines))
    # Without a limit the judge is run in the process of the command, as judges of Krino's own are.
    given = ("judge", DEADLY, "cases.jsonl", "--run", "run", "--workers", workers, "--case-timeout", "0")
    assert krino_command(*given, cwd=tmp_path).returncode == -9
    again = krino_command(*given, cwd=tmp_path)
    assert again.returncode == 3, again.stderr
    found = krino.load_run(tmp_path / "run")
    assert (found.manifest.state, found.manifest.counts.ok, found.manifest.counts.error) == ("finished", 39, 1)
    assert "died twice" in str(found[str(place)].error)


def test_a_case_that_kills_whoever_settles_it_is_an_error_again_when_its_run_is_settled_again(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "text": "abc"}\n{"id": "b", "text": "die"}\n')
    judged = ("judge", DEADLY, "cases.jsonl", "--run", "run")
    assert krino_command(*judged, cwd=tmp_path).returncode == 3
    settled = krino_command("resettle", "run", "cases.jsonl", "--judge", DEADLY, "--run", "again", cwd=tmp_path)
    assert settled.returncode == 3, settled.stderr
    found = krino.load_run(tmp_path / "again")
    assert (found["a"].verdict, found["b"].status) == ({"length": 3, "process": None}, "error")
    assert "died twice" in str(found["b"].error)


def test_a_rule_of_today_that_kills_whoever_settles_by_it_is_an_error_when_the_command_is_given_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "text": "fine"}\n{"id": "b", "text": "fine too"}\n')
    toy = Path(TOY.partition(":")[0]).read_text()
    (tmp_path / "toy.py").write_text(toy)
    assert krino_command("judge", "toy.py:ToyJudge", "cases.jsonl", "--run", "run", cwd=tmp_path).returncode == 0
    deadly = '        if case.text == "fine too":\n            import os\n            os.kill(os.getpid(), 9)\n'
    (tmp_path / "toy.py").write_text(toy.replace("-> Settlement:\n", f"-> Settlement:\n{deadly}", 1))
    again = ("resettle", "run", "cases.jsonl", "--judge", "toy.py:ToyJudge", "--run", "again")
    assert [krino_command(*again, cwd=tmp_path).returncode for _ in range(2)] == [3, 3]
    found = krino.load_run(tmp_path / "again")
    assert (found["a"].verdict, found["b"].status) == (krino.load_run(tmp_path / "run")["a"].verdict, "error")


def test_a_dry_run_counts_a_case_that_kills_whoever_studies_it(tmp_path: Path) -> None:
    texts = ["abc", "die", *("x" * number for number in range(40)), "die"]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    done = krino_command("judge", DEADLY, "cases.jsonl", "--dry-run", "--json", "-l", "gpt-x", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["cases"], said["cannot_be_judged"], said["decided_by_rules"]) == (43, 2, 41)


def test_a_case_that_kills_whoever_judges_it_with_a_model_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "text": "abc"}\n{"id": "b", "text": "die"}\n')
    with FakeServer() as server:
        given = ("judge", DEADLY, "cases.jsonl", "--run", "run", "--labeller", "m", "--base-url", server.url)
        assert krino_command(*given, cwd=tmp_path).returncode == 3  # it is judged in a process apart
    found = krino.load_run(tmp_path / "run")
    assert (found["a"].status, found["b"].status) == ("ok", "error")
    assert "died twice" in str(found["b"].error)
