"""The proof of the Ray engine: nothing lost and nothing double whoever is killed, one limit for all, and what it costs.

    python benchmarks/ray_run.py [--cases 200000] [--small 40000] [--rounds 3] [--parts kills limit ratios rag memory]

Everything runs on this machine: a cluster of two nodes on loopback (Ray's own multi-node test utility) and the local
engine beside it. Needs krino[ray]. Times are given as ratios of runs in one go; run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
sys.path[:0] = [str(HERE), str(TESTS)]

from citation_speed import cases as citations  # noqa: E402
from workload import judging_seconds  # noqa: E402
from workload import write as write_rag  # noqa: E402

from two_nodes import ON_LOOPBACK, Cluster, two_nodes  # noqa: E402
from waiting import is_alive, until  # noqa: E402

LEAST = {"local": 1.8, "ray": 1.7}
A_SECOND, MOST_A_SECOND, LEAST_ON_AVERAGE = 50, 55, 45


def started(judge: str, cases: Path, run: Path, *flags: str, **settings: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "krino", "judge", judge, str(cases), "--run", str(run), *flags]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command, env={**os.environ, **ON_LOOPBACK, **settings}, **quiet)  # type: ignore[call-overload, no-any-return]


class Took(NamedTuple):
    """Of a run: seconds by the clock as a whole, and from the first judgement to the last; CPU of starter and local
    workers; megabytes of the starter."""

    wall: float
    judging: float
    cpu: float
    megabytes: float


def timed(judge: str, cases: Path, run: Path, *flags: str, **settings: str) -> Took:
    begun = time.perf_counter()
    process = started(judge, cases, run, *flags, **settings)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{process.args!r} ended with {process.returncode}")
    wall, cpu = time.perf_counter() - begun, used.ru_utime + used.ru_stime
    return Took(wall, judging_seconds(run), cpu, used.ru_maxrss / 1024)


def lines(run: Path) -> dict[str, Any]:
    """By id and without times; a case that is there twice ends it all."""
    found: dict[str, Any] = {}
    with (run / "judgements.jsonl").open("rb") as journal:
        for line in journal:
            judgement = json.loads(line)
            del judgement["time"]
            judgement["usage"].pop("seconds")
            if judgement["id"] in found:
                raise SystemExit(f"{run}: {judgement['id']} is there twice")
            found[judgement["id"]] = judgement
    return found


def judged(run: Path) -> int:
    """Lines of the journal, about: it is looked at often, and may be large."""
    journal = run / "judgements.jsonl"
    if not journal.exists():
        return 0
    with journal.open("rb") as opened:
        sample = opened.read(200_000)
    return int(journal.stat().st_size * sample.count(b"\n") / max(1, len(sample)))


def kills(folder: Path, count: int, cluster: Cluster) -> None:
    """A worker killed at a quarter, the starter at a half; continued, it must be the local run."""
    cases, run, here = folder / "citations.jsonl", folder / "ray", folder / "here"
    write_citations(cases, count)
    local = timed("citation", cases, here, "--workers", "2")
    first = started("citation", cases, run, *cluster.flags())
    until(lambda: judged(run) > count // 4, seconds=3600)
    os.kill(cluster.workers()[0], signal.SIGKILL)
    until(lambda: judged(run) > count // 2, seconds=3600)
    at_work = cluster.workers()
    first.kill()
    first.wait()
    until(lambda: not [pid for pid in at_work if is_alive(pid)])
    before = len((run / "judgements.jsonl").read_bytes().splitlines())
    timed("citation", cases, run, *cluster.flags())
    # Before the judgements are read here: what this process holds would count as the peak of those that it starts.
    whole = timed("citation", cases, folder / "whole", *cluster.flags())
    same = lines(run) == lines(here)
    print(f"{count:,} citations on two nodes, a worker killed, the starter killed at {before:,} lines, continued:")
    print(f"  every case exactly once, and lines equal to the local engine's but for times: {same}")
    print(f"  Ray against the local engine, two workers each: {whole.judging / local.judging:.2f} times the time")
    print(
        f"  ({whole.judging:.1f} and {local.judging:.1f} s), starter {whole.megabytes:.0f} and {local.megabytes:.0f} MB"
    )
    if not same or len(lines(run)) != count:
        raise SystemExit("lost, double or different")


def ratios(folder: Path, count: int, cluster: Cluster, judge: str, rounds: int) -> None:
    """Two workers against one, in turn, by the middle of several times; a worker keeps to one core, also where the one
    is the starter itself (local)."""
    cases = folder / f"{judge}-{count}.jsonl"
    write_citations(cases, count) if judge == "citation" else write_rag(cases, count)
    for engine in ("local", "ray"):
        took: dict[int, list[Took]] = {1: [], 2: []}
        for turn in range(rounds):
            for workers, found in took.items():
                flags = ["--workers", str(workers)] if engine == "local" else cluster.flags(workers)
                found.append(timed(judge, cases, folder / f"{judge}-{engine}-{workers}-{turn}", *flags))
        one, two = (Took(*map(median, zip(*found, strict=True))) for found in took.values())
        ratio = one.judging / two.judging
        reached = "" if ratio >= LEAST[engine] else f" (mark missed: {LEAST[engine]})"
        print(f"{judge}, {count:,} cases, {engine}: two workers {ratio:.2f} times one{reached}", end="; ")
        print(f"{one.judging:.1f} and {two.judging:.1f} s, as whole commands {one.wall / two.wall:.2f}", end="; ")
        each = [f"{a.judging:.1f}/{b.judging:.1f}" for a, b in zip(*took.values(), strict=True)]
        print(f"{rounds} rounds: {', '.join(each)}")
        if engine == "local":
            print(f"  CPU of the whole command with two workers: {two.cpu / one.cpu:.2f} times that with one")
            most = 2 * one.judging / side_by_side(judge, cases, folder)
            print(f"  two commands of one worker side by side: {most:.2f} times one, the most that this machine gives")


def side_by_side(judge: str, cases: Path, folder: Path) -> float:
    """Seconds of judging of two commands that have nothing to do with each other: cores share caches and more."""
    runs = [folder / f"{judge}-beside-{number}" for number in range(2)]
    with ThreadPoolExecutor(2) as pool:
        took = list(pool.map(lambda run: timed(judge, cases, run, "--workers", "1"), runs))
    return sum(one.judging for one in took) / 2


def memory(folder: Path, count: int, cluster: Cluster) -> None:
    """The starter's peak must not grow with the cases (summing up in the end is in it)."""
    peaks = {}
    for cases in (count // 4, count):
        path = folder / f"memory-{cases}.jsonl"
        write_citations(path, cases)
        peaks[cases] = timed("citation", path, folder / f"memory-{cases}", *cluster.flags(2)).megabytes
    (few, first), (many, last) = peaks.items()
    print(f"Ray's starter: {first:.0f} MB with {few:,} cases, {last:.0f} MB with {many:,}", end=": ")
    print(f"{(last - first) * 1024 * 1024 / (many - few):.0f} bytes a further case")


def limit(folder: Path, cluster: Cluster, seconds: int = 20) -> None:
    """Four workers and fifty requests a second allowed: what the server sees."""
    from fake_llm import FakeServer

    cases, count, arrived = folder / "asked.jsonl", A_SECOND * seconds, []
    texts = ({"id": f"case-{n}-", "text": f"fine case-{n}-"} for n in range(count))
    cases.write_text("".join(json.dumps(text) + "\n" for text in texts))

    def reply(_: Any) -> dict[str, str]:
        arrived.append(time.monotonic())
        return {"label": "good", "quote": "fine"}

    for engine, flags in {"local": ["--workers", "4"], "ray": cluster.flags(4)}.items():
        arrived.clear()
        with FakeServer(reply=reply, latency=0.3, key=r"case-\d+-") as server:
            asking = ["--labeller", "m", "--base-url", server.url, "--cache", "off", "--concurrency", "64"]
            asking += ["--rpm", str(60 * A_SECOND), *flags]
            timed(f"{TESTS / 'toy_judge.py'}:ToyJudge", cases, folder / f"asked-{engine}", *asking)
            once = set(server.stats().calls_by_key.values()) == {1}
        times = sorted(arrived)
        busiest = max(sum(first <= moment < first + 1 for moment in times) for first in times)
        average = (len(times) - 1) / (times[-1] - times[0])
        held = busiest <= MOST_A_SECOND and average >= LEAST_ON_AVERAGE and once
        print(f"{engine}, 4 workers, {A_SECOND} requests a second allowed: at most {busiest} in any second, ", end="")
        print(f"{average:.1f} on average, each case asked about once: {once}{'' if held else ' (mark missed)'}")


def write_citations(path: Path, count: int) -> None:
    with path.open("w", encoding="utf-8") as out:
        for number, record in enumerate(citations(1, count)):
            out.write(json.dumps({"id": f"case-{number}", **record}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=200_000)
    parser.add_argument(
        "--small", type=int, default=40_000, help="citations for the ratios; a fortieth of it RAG cases"
    )
    parser.add_argument("--rounds", type=int, default=3, help="of the ratios; their middle counts")
    parser.add_argument("--parts", nargs="+", default=["kills", "limit", "ratios", "rag", "memory"])
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as name, two_nodes() as cluster:
        folder = Path(name)
        if "kills" in args.parts:
            kills(folder, args.cases, cluster)
        if "limit" in args.parts:
            limit(folder, cluster)
        if "ratios" in args.parts:
            ratios(folder, args.small, cluster, "citation", args.rounds)
        if "rag" in args.parts:
            ratios(folder, args.small // 40, cluster, "rag", args.rounds)
        if "memory" in args.parts:
            memory(folder, args.small, cluster)


if __name__ == "__main__":
    main()
