"""What Krino itself costs: CPU and wall time against a bare aiohttp loop over the same server, in one run.

    python benchmarks/client_cost.py [--cases 2000] [--in-flight 64] [--latency-ms 50] [--rounds 3]

Both sides read the same cases from a file, send the same instructions, schema and data in one request a case, parse
the reply and keep the result. Krino also studies the
case, checks every label, settles, writes the journal and the reply cache. Imports are measured apart.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"  # the fake server lives there


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def bare(cases: Path, url: str, in_flight: int) -> dict[str, Any]:
    """The loop to compare with: nothing but prompts, requests and parsed replies."""
    import aiohttp

    from krino.judges.rag.judge import RagJudge
    from krino.labellers.llm.prompt import system_text
    from krino.labellers.llm.schema import strict_schema

    schema = strict_schema(RagJudge().labels_model)
    instructions = system_text(RagJudge.default_prompt, "json_schema", schema)
    form = {"type": "json_schema", "json_schema": {"name": "labels", "strict": True, "schema": schema}}
    results: list[Any] = []

    def body(case: dict[str, Any]) -> bytes:
        passages = "\n".join(case["contexts"])
        user = f"{case['question']}\n{passages}\n{case['answer']}\n{case['reference']}"
        messages = [{"role": "system", "content": instructions}, {"role": "user", "content": user}]
        return json.dumps({"model": "m", "temperature": 0, "messages": messages, "response_format": form}).encode()

    async def go() -> None:
        lines = iter(cases.open("rb"))
        connector = aiohttp.TCPConnector(limit=in_flight)
        async with aiohttp.ClientSession(connector=connector, headers={"Content-Type": "application/json"}) as session:

            async def worker() -> None:
                for line in lines:
                    async with session.post(url + "/chat/completions", data=body(json.loads(line))) as response:
                        reply = json.loads(await response.read())
                    results.append(json.loads(reply["choices"][0]["message"]["content"]))

            await asyncio.gather(*(worker() for _ in range(in_flight)))

    return _measured(lambda: asyncio.run(go()), lambda: len(results))


def krino_run(cases: Path, url: str, in_flight: int) -> dict[str, Any]:
    """A whole run as the command does it: cases from the file, journal, reply cache."""
    import krino
    from krino.cases import read_cases
    from krino.cli.runner import tune_memory
    from krino.runs.manifest import Plan
    from krino.runs.session import Session

    tune_memory()  # as the command does
    folder = Path(tempfile.mkdtemp())
    judge = krino.load_judge("rag")
    done: list[int] = []

    async def go() -> None:
        async with krino.llm("m", base_url=url, concurrency=in_flight, cache=folder / "replies.sqlite") as labeller:
            plan = Plan(judge=judge.fingerprint(), labeller=labeller.describe(), inputs=[str(cases)])
            manifest = await Session(judge, labeller, plan, folder / "run").run(lambda: read_cases([cases]))
        done.append(manifest.counts.ok)

    import krino.labellers.llm.labeller  # counted as import time, like aiohttp for the bare loop

    return _measured(lambda: asyncio.run(go()), lambda: done[0])


def _measured(work: Any, count: Any) -> dict[str, Any]:
    before, started = cpu(), time.perf_counter()
    work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "cpu": cpu() - before,
        "wall": time.perf_counter() - started,
        "ok": count(),
        "peak_mb": peak,
        "import": before,
    }


@contextmanager
def server(latency_ms: float) -> Iterator[str]:
    sys.path.insert(0, str(HERE))
    from workload import LABELS

    command = [sys.executable, "-m", "fake_llm", "--port", "0", "--latency-ms", str(latency_ms)]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            root = url.removesuffix("/v1")
            request = urllib.request.Request(
                root + "/__configure", json.dumps({"reply": LABELS}).encode(), {"Content-Type": "application/json"}
            )
            urllib.request.urlopen(request).read()
            yield url
        finally:
            process.terminate()


def child(side: str, cases: Path, url: str, in_flight: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--side", side, "--file", str(cases), "--url", url]
    command += ["--in-flight", str(in_flight)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ})
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency-ms", type=float, default=50)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--side")
    parser.add_argument("--file", type=Path)
    parser.add_argument("--url")
    args = parser.parse_args()
    if args.side:
        loop = {"bare": bare, "krino": krino_run}[args.side]
        print(json.dumps(loop(args.file, args.url, args.in_flight)))
        return
    from workload import write

    path = Path(tempfile.mkdtemp()) / "cases.jsonl"
    write(path, args.cases)
    ratios: dict[str, list[float]] = {"cpu": [], "wall": []}
    with server(args.latency_ms) as url:
        print(f"{args.cases} cases, {args.in_flight} in flight, {args.latency_ms:g} ms latency")
        for number in range(args.rounds):
            sides = {side: child(side, path, url, args.in_flight) for side in ("bare", "krino")}
            for side, result in sides.items():
                print(
                    f"round {number + 1} {side:6} ok {result['ok']:6}  cpu {result['cpu']:6.2f} s"
                    f" ({result['cpu'] / args.cases * 1e3:.2f} ms a case)  wall {result['wall']:6.2f} s"
                    f"  peak {result['peak_mb']:.0f} MB  import {result['import']:.2f} s"
                )
            for key, values in ratios.items():
                values.append(sides["krino"][key] / sides["bare"][key])
    print(f"CPU  krino / bare: {statistics.median(ratios['cpu']):.2f}  (mark: at most 3.5)")
    print(f"wall krino / bare: {statistics.median(ratios['wall']):.2f}  (mark: at most 1.5)")


if __name__ == "__main__":
    main()
