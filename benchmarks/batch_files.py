"""How many requests become which batch files, what that costs a case, and in how much memory.

    python benchmarks/batch_files.py [--cases 120000] [--judge toy|long|rag] [--provider openai|anthropic]

Judges made-up cases by batch file, against a fake provider in a process of its own, and prints the files that reached
it, whether each request was paid for once, CPU a case and peak memory of the client. With the toy judge files are full
by count (50,000 + 50,000 + 20,000, and 100,000 + 20,000); with long texts, and with the RAG judge, whose requests have
some ten thousand bytes, they are full by size.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import workload
from client_cost import TESTS, _measured

TOY = f"{TESTS / 'toy_judge.py'}:ToyJudge"
LIMITS = {"openai": (50_000, 200_000_000), "anthropic": (100_000, 256_000_000)}
KEY = r"case-\d+\b"


def write_toys(path: Path, count: int, more: str = "") -> None:
    with path.open("w") as cases:
        for number in range(count):
            cases.write(json.dumps({"id": f"case-{number}", "text": f"fine words of case-{number} here{more}"}) + "\n")


def write_long(path: Path, count: int) -> None:
    write_toys(path, count, " and many more of them" * 400)


def write_rag(path: Path, count: int) -> None:
    """The case's number is in its question too, where the server can see it."""
    with path.open("w") as cases:
        for number in range(count):
            record = workload.case(number)
            cases.write(json.dumps({**record, "question": f"In case-{number}: {record['question']}"}) + "\n")


JUDGES: dict[str, tuple[str, Any, Any]] = {
    "toy": (TOY, {"label": "good", "quote": "fine"}, write_toys),
    "long": (TOY, {"label": "good", "quote": "fine"}, write_long),
    "rag": ("rag", workload.LABELS, write_rag),
}


def judged(judge_name: str, provider: str, cases: Path, url: str) -> dict[str, Any]:
    """In a process of its own: one run, without its report."""
    import krino
    from krino.cases import read_cases
    from krino.cli.runner import tune_memory
    from krino.engine.batch import BatchFiles
    from krino.runs.manifest import Plan
    from krino.runs.session import Session

    tune_memory()
    judge = krino.load_judge(judge_name)
    done: list[int] = []

    async def go() -> None:
        model = "claude-x" if provider == "anthropic" else "openai:m"
        with tempfile.TemporaryDirectory() as folder:
            async with krino.llm(model, base_url=url, api_key="k", cache="off", env={}) as labeller:
                plan = Plan(judge=judge.fingerprint(), labeller=labeller.describe(), inputs=[str(cases)])
                session = Session(judge, labeller, plan, Path(folder) / "run")
                session.make_engine = lambda: BatchFiles(pilot=0)
                manifest = await session.run(lambda: read_cases([cases]))
        done.append(manifest.counts.ok)

    return _measured(lambda: asyncio.run(go()), lambda: done[0])


@contextmanager
def provider_server(reply: Any) -> Iterator[str]:
    command = [sys.executable, "-m", "fake_llm", "--port", "0", "--key-pattern", KEY]
    with subprocess.Popen(command, cwd=TESTS, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            root = json.loads(process.stdout.readline())["url"].removesuffix("/v1")
            asked(f"{root}/__configure", json.dumps({"reply": reply}).encode())
            yield root
        finally:
            process.terminate()


def asked(url: str, body: bytes | None = None) -> Any:
    with urllib.request.urlopen(urllib.request.Request(url, body)) as answer:
        return json.loads(answer.read())


def measure(judge: str, provider: str, count: int) -> bool:
    address, reply, write = JUDGES[judge]
    with provider_server(reply) as root, tempfile.TemporaryDirectory() as folder:
        cases = Path(folder) / "cases.jsonl"
        write(cases, count)
        url = root if provider == "anthropic" else f"{root}/v1"
        command = [sys.executable, __file__, "--child", address, "--provider", provider, "--file", str(cases)]
        started = time.perf_counter()
        done = subprocess.run([*command, "--url", url], stdout=subprocess.PIPE, text=True, check=True)
        result = json.loads(done.stdout.splitlines()[-1])
        wall = time.perf_counter() - started
        files, paid = asked(f"{root}/__batches"), asked(f"{root}/__stats")["completed_by_key"]
    most_requests, most_bytes = LIMITS[provider]
    within = all(file["requests"] <= most_requests and file["bytes"] <= most_bytes for file in files)
    once = len(paid) == count and set(paid.values()) == {1}
    described = " + ".join(f"{file['requests']:,}" for file in files)
    sizes = ", ".join(f"{file['bytes'] / 1e6:.1f}" for file in files)
    print(f"{provider}, {judge}: {count:,} requests became {described} ({sizes} MB)")
    print(
        f"  {result['ok']:,} ok, within the limits: {within}, each paid once: {once}, "
        f"{1000 * result['cpu'] / count:.2f} ms of CPU a case, peak {result['peak_mb']:.0f} MB, {wall:.0f} s in all",
        flush=True,
    )
    return bool(within and once and result["ok"] == count)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=120_000)
    parser.add_argument("--judge", choices=[*JUDGES], default="toy")
    parser.add_argument("--provider", choices=[*LIMITS])
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(judged(args.child, args.provider, args.file, args.url)))
        return
    providers = [args.provider] if args.provider else [*LIMITS]
    held = [measure(args.judge, provider, args.cases) for provider in providers]
    if not all(held):
        raise SystemExit("a file was too large, a case was not judged, or a request was paid for twice")


if __name__ == "__main__":
    main()
