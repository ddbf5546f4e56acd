"""A run on a Ray cluster of two nodes is the run that one machine makes, whoever is killed on the way."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import krino
from command_line import environment
from fake_llm import FakeServer
from two_nodes import ON_LOOPBACK, Cluster, two_nodes
from waiting import is_alive, until

pytestmark = [
    pytest.mark.skipif("KRINO_TEST_RAY" not in os.environ, reason="Ray is installed and used by `make test-ray` only"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
TESTS = Path(__file__).parents[1]
DEADLY = f"{TESTS / 'deadly_judge.py'}:Deadly"
CASES = 600
SLOW = ["--option", "seconds=0.01"]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with two_nodes() as nodes:
        yield nodes


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps({"id": f"case-{n}-", "text": "x" * (n + 1)}) + "\n" for n in range(CASES)))
    return path


def command(cases: Path, run: str, *more: str, judge: str = DEADLY) -> list[str]:
    return [sys.executable, "-m", "krino", "judge", judge, str(cases), "--run", str(cases.parent / run), *more]


def env(cases: Path) -> dict[str, str]:
    given = environment(cases.parent) | ON_LOOPBACK
    return {name: value for name, value in given.items() if name != "TMPDIR"}  # sockets need short paths


def lines(cases: Path, run: str) -> dict[str, Any]:
    """By id, without times and the seal that covers them: every case must be there once."""
    found: dict[str, Any] = {}
    for line in (cases.parent / run / "judgements.jsonl").read_bytes().splitlines():
        judgement = json.loads(line)
        del judgement["time"], judgement["seal"]
        judgement["usage"].pop("seconds")
        assert judgement["id"] not in found
        found[judgement["id"]] = judgement
    return found


def count(cases: Path, run: str) -> int:
    journal = cases.parent / run / "judgements.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def running_clusters() -> set[str]:
    found = subprocess.run(["pgrep", "-x", "gcs_server"], capture_output=True, text=True, check=False)
    return set(found.stdout.split())


FROM_PYTHON = """
import sys, krino
from krino.engine.ray_cluster import RayEngine
try:
    krino.run(sys.argv[1], sys.argv[2], into=sys.argv[3], engine=lambda: RayEngine(2, "auto"))
except krino.errors.UsageProblem as told:
    print(told, file=sys.stderr)
    raise SystemExit(2)
"""


@pytest.mark.parametrize("way", ["command", "python"])
@pytest.mark.parametrize("killed", [False, True], ids=["never begun", "killed"])
def test_a_cluster_that_is_not_there_is_told_at_once_and_leaves_no_folder(cases: Path, killed: bool, way: str) -> None:
    """A cluster that was killed leaves its address behind, where Ray alone would try for a quarter of an hour."""
    if running_clusters():
        pytest.skip("a cluster runs on this machine, and `auto` would find it")
    if killed:
        left = cases.parent / "ray" / "ray_current_cluster"
        left.parent.mkdir()
        left.write_text("127.0.0.1:9")
    asked = command(cases, "run", "--engine", "ray", "--ray-address", "auto")
    if way == "python":
        asked = [sys.executable, "-c", FROM_PYTHON, DEADLY, str(cases), str(cases.parent / "run")]
    settings = env(cases) | {"RAY_TMPDIR": str(cases.parent)}
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=settings, timeout=100)
    assert done.returncode == 2
    assert "the Ray cluster auto (--ray-address) cannot be reached" in done.stderr
    assert ("Connection refused" if killed else "setting `--ray-address` flag") in done.stderr
    assert not (cases.parent / "run").exists()


def test_a_worker_that_is_killed_costs_no_case_and_every_line_is_the_local_one(cases: Path, cluster: Cluster) -> None:
    assert subprocess.run(command(cases, "here", *SLOW, "--workers", "1"), check=False, env=env(cases)).returncode == 0
    with subprocess.Popen(command(cases, "run", *cluster.flags(), *SLOW), env=env(cases)) as driver:
        until(lambda: count(cases, "run") > 50)
        os.kill(cluster.workers()[0], signal.SIGKILL)
        assert count(cases, "run") < CASES, "it must have been killed on the way: else it proves nothing"
        assert driver.wait(120) == 0
    assert lines(cases, "run") == lines(cases, "here")
    assert len(lines(cases, "run")) == CASES


def test_begun_with_ray_and_killed_a_run_goes_on_with_ray_or_without(cases: Path, cluster: Cluster) -> None:
    for target in (50, 250):
        with subprocess.Popen(command(cases, "run", *cluster.flags(), *SLOW), env=env(cases)) as driver:
            until(lambda: count(cases, "run") > target)  # noqa: B023 - called at once
            at_work = cluster.workers()
            driver.kill()
        assert at_work
        until(lambda: not [pid for pid in at_work if is_alive(pid)])  # noqa: B023 - called at once
    assert count(cases, "run") < CASES, "it must not have ended by itself: that would prove nothing"
    last = subprocess.run(command(cases, "run", "--workers", "1", *SLOW), check=False, env=env(cases))
    assert last.returncode == 0
    assert len(lines(cases, "run")) == CASES
    assert krino.load_run(cases.parent / "run").manifest.state == "finished"


def test_a_case_that_kills_its_worker_is_an_error_and_takes_no_other_with_it(cases: Path, cluster: Cluster) -> None:
    with cases.open("a") as more:
        more.write(json.dumps({"id": "deadly", "text": "die"}) + "\n")
    done = subprocess.run(command(cases, "run", *cluster.flags(), *SLOW), check=False, env=env(cases))
    assert done.returncode == 3
    found = lines(cases, "run")
    assert len(found) == CASES + 1
    assert {name for name, line in found.items() if line["status"] != "ok"} == {"deadly"}
    assert "died twice" in found["deadly"]["error"]


def test_workers_on_a_cluster_ask_a_model_once_a_case_within_one_budget(cases: Path, cluster: Cluster) -> None:
    cases.write_text("".join(cases.read_text().splitlines(keepends=True)[:60]).replace('"text": "', '"text": "fine '))
    toy = f"{TESTS / 'toy_judge.py'}:ToyJudge"
    with FakeServer(reply={"label": "good", "quote": "fine"}, latency=0.05, key=r"fine x+") as server:
        asking = ["--labeller", "m", "--base-url", server.url, "--cache", "off", "--concurrency", "8"]
        asking += cluster.flags(4)
        first = subprocess.run(
            command(cases, "run", *asking, "--max-tokens", "6000", judge=toy), check=False, env=env(cases)
        )
        assert first.returncode == 3
        half = krino.load_run(cases.parent / "run").manifest
        assert half.state == "stopped"
        assert 0 < half.usage.tokens <= 6000
        assert subprocess.run(command(cases, "run", *asking, judge=toy), check=False, env=env(cases)).returncode == 0
        stats = server.stats()
    assert sorted(stats.calls_by_key.values()) == [1] * 60
    assert stats.max_in_flight <= 8


def test_more_workers_than_the_cluster_has_room_for_are_refused(cases: Path, cluster: Cluster) -> None:
    asked = command(cases, "run", *cluster.flags(9))
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=env(cases))
    assert done.returncode == 2
    assert "has 4 CPUs, which are enough for 4 workers" in done.stderr
    assert not (cases.parent / "run").exists()


def test_without_an_address_a_cluster_is_started_on_loopback_and_ends_with_the_run(cases: Path) -> None:
    before = running_clusters()
    assert subprocess.run(command(cases, "run", "--engine", "ray"), check=False, env=env(cases)).returncode == 0
    assert len(lines(cases, "run")) == CASES
    assert running_clusters() <= before
