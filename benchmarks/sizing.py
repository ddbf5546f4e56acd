"""Measures what a judgement costs on this machine, and prints what a million and ten million of them would take.

    python benchmarks/sizing.py [--cases 400] [--price-in 0.15] [--price-out 0.60] [--rpm 10000] [--flight 500]

Costs are seconds of CPU, so that a busy machine measures nearly what an idle one does: each is the slope between a run
of some cases and one of three times as many, which leaves out starting up and most of summing up. The workload is
that of `workload.py` (RAG: three passages of 120 words, an answer of four sentences) and `citation_speed.py`.
The tables are those that docs/cluster.md shows (`--into docs/cluster.md`); the model behind them stands there.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from citation_speed import cases as citations  # noqa: E402
from client_cost import server  # noqa: E402
from workload import cases as rag_cases  # noqa: E402

SIZES = (1_000_000, 10_000_000)
CORES = 16
BEGIN, END = "<!-- sizing.py writes from here -->", "<!-- to here -->"


class Constants(NamedTuple):
    """Seconds of CPU, tokens and bytes, each of one case."""

    citation: float
    rag: float
    asked: float
    starter: float
    tokens_in: float
    tokens_out: float
    journal: float


def run_cpu(folder: Path, judge: str, count: int, *flags: str) -> tuple[float, Path]:
    """A whole command in one process: the CPU that it took, and its run."""
    cases, run = folder / f"{judge}-{count}.jsonl", folder / f"{judge}-{count}-{len(flags)}"
    with cases.open("w", encoding="utf-8") as out:
        for number, record in enumerate(citations(1, count) if judge == "citation" else rag_cases(count)):
            out.write(json.dumps({**record, "id": f"case-{number}"}) + "\n")
    command = [sys.executable, "-m", "krino", "judge", judge, str(cases), "--run", str(run), "--workers", "1", *flags]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, run


def slope(folder: Path, judge: str, count: int, *flags: str) -> tuple[float, Path]:
    few, _ = run_cpu(folder, judge, count, *flags)
    many, run = run_cpu(folder, judge, 3 * count, *flags)
    return (many - few) / (2 * count), run


def starter_cost(run: Path, cases: Path) -> float:
    """What the one process must do for each case however many workers there are: read, look up, hand over, write."""
    import asyncio

    import krino
    from krino.cases import read_cases
    from krino.engine.interface import Assignment
    from krino.labellers.local import LocalLabeller
    from krino.runs.manifest import Plan
    from krino.runs.session import Session

    judge, known = krino.load_judge("rag"), [pickle.dumps(judgement) for judgement in krino.load_run(run)]

    class Echo:
        """An engine that has every judgement at hand; what goes over a link is packed and unpacked as it would be."""

        async def run(self, assignment: Assignment, cases: Any, receive: Any) -> None:
            async for case in cases:
                pickle.dumps(case)
                await receive(case.item, pickle.loads(known[case.item.index]))

        def stop(self) -> None: ...

    with tempfile.TemporaryDirectory() as name:
        plan = Plan(judge=judge.fingerprint(), labeller=LocalLabeller().describe(), inputs=[str(cases)])
        session = Session(judge, LocalLabeller(), plan, Path(name, "run"), make_engine=Echo)
        begun = time.process_time()
        asyncio.run(session.run(lambda: read_cases([cases])))
        return (time.process_time() - begun) / len(known)


def measured(count: int) -> Constants:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        citation, _ = slope(folder, "citation", 5 * count)
        rag, judged = slope(folder, "rag", count)
        starter = starter_cost(judged, folder / f"rag-{3 * count}.jsonl")
        with server(latency_ms=0) as url:
            asked, run = slope(folder, "rag", count, "--labeller", "m", "--base-url", url, "--cache", "off")
        usage = json.loads((run / "run.json").read_bytes())["usage"]
        size = (judged / "judgements.jsonl").stat().st_size / (3 * count)
    calls = usage["calls"]
    return Constants(citation, rag, asked, starter, usage["input_tokens"] / calls, usage["output_tokens"] / calls, size)


def table(found: Constants, args: argparse.Namespace) -> Iterator[str]:
    yield "| one case | measured |"
    yield "|---|---:|"
    yield f"| citation, embedded | {1000 * found.citation:.2f} ms of CPU, {1 / found.citation:,.0f} a second a core |"
    yield f"| RAG, embedded | {1000 * found.rag:.1f} ms of CPU, {1 / found.rag:,.0f} a second a core |"
    yield f"| RAG, a model asked: our own part | {1000 * found.asked:.2f} ms of CPU, {1 / found.asked:,.0f} a second |"
    yield f"| the starter's part of a run on workers | {1000 * found.starter:.2f} ms of CPU |"
    yield f"| tokens of one RAG call | {found.tokens_in:,.0f} in, {found.tokens_out:,.0f} out |"
    yield f"| journal | {found.journal / 1000:.1f} kB |"
    yield ""
    by_rate, by_flight = args.rpm / 60, args.flight / args.latency
    a_second = min(by_rate, by_flight, 1 / found.asked)
    bound = {by_rate: "--rpm", by_flight: "requests in flight", 1 / found.asked: "our own part"}[a_second]
    yield "| judgements | calls | tokens | money (batch files) | with a model | embedded RAG | citation | journal |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    for size in SIZES:
        tokens = size * (found.tokens_in + found.tokens_out)
        money = size * (found.tokens_in * args.price_in + found.tokens_out * args.price_out) / 1e6
        embedded = [max(cost / CORES, found.starter) * size / 3600 for cost in (found.rag, found.citation)]
        yield (
            f"| {size:,} | {size:,} | {tokens / 1e9:,.1f} billion | {money:,.0f} ({money / 2:,.0f}) "
            f"| {size / a_second / 3600:,.1f} h ({bound}) | {embedded[0]:,.1f} h | {embedded[1]:,.2f} h "
            f"| {size * found.journal / 1e9:,.0f} GB |"
        )


def put_into(page: Path, lines: list[str]) -> None:
    before, _, rest = page.read_text("utf-8").partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise SystemExit(f"{page} has no {BEGIN} and {END} to write between")
    page.write_text(before + "\n".join([BEGIN, *lines, END]) + after, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--price-in", type=float, default=0.15)
    parser.add_argument("--price-out", type=float, default=0.60)
    parser.add_argument("--rpm", type=float, default=10_000)
    parser.add_argument("--latency", type=float, default=2.0, help="seconds until a reply")
    parser.add_argument("--flight", type=int, default=500, help="requests in flight")
    parser.add_argument("--into", type=Path, help="write the tables into this page (docs/cluster.md)")
    args = parser.parse_args()
    lines = list(table(measured(args.cases), args))
    print("\n".join(lines))
    if args.into is not None:
        put_into(args.into, lines)


if __name__ == "__main__":
    main()
