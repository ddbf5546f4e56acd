"""How long an online guard waits: p50 and p99 of the embedded judges behind `krino serve`, at 1, 8 and 32 clients.

    python benchmarks/workbench.py [--seconds 8] [--clients 1 8 32] [--only rag]

A server process of its own; each client sends one case, waits for the verdict, and sends the next (no think time, so 8
clients keep the server as busy as it can be). No two cases have the same text. `rag` has 2 passages of 60 words and an
answer of 2 sentences; `rag-long` has 3 of 120, 4 sentences and a reference. Mark: rag p99 under 150 ms at 8 clients on
two cores.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
from workload import GLUE, NOUNS, case

EXAMPLES = Path(__file__).resolve().parents[1] / "src" / "krino" / "examples"
MARK = ("rag", 8, 150.0)


def short_rag(number: int) -> dict[str, Any]:
    rng = random.Random(number)

    def sentence(words: int) -> str:
        said = (rng.choice(NOUNS if place % 3 == 0 else GLUE) for place in range(words))
        return f"{' '.join(said).capitalize()} {rng.randrange(1900, 2030)}."

    passages = [" ".join(sentence(14) for _ in range(4)) for _ in range(2)]
    question = f"What did record {number} say about the {rng.choice(NOUNS)}?"
    return {"question": question, "context": passages, "answer": f"{sentence(12)} {sentence(10)}"}


def example(judge: str, number: int) -> dict[str, Any]:
    """A bundled example with an id of its own."""
    lines = (EXAMPLES / f"{judge}.jsonl").read_text("utf-8").splitlines()
    return {**json.loads(lines[number % len(lines)]), "id": f"case-{number}"}


KINDS = {
    "rag": ("rag", short_rag),
    "rag-long": ("rag", case),
    "citation": ("citation", lambda number: example("citation", number)),
    "efficiency": ("efficiency", lambda number: example("efficiency", number)),
}


@contextmanager
def serving() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "krino", "serve", runs, "--port", str(port)]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            print(server.stderr.readline().strip())
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait()


async def waits(url: str, kind: str, clients: int, seconds: float) -> tuple[list[float], float]:
    """Milliseconds of each request, and requests a second."""
    judge, make = KINDS[kind]
    numbers, taken = itertools.count(1_000 * clients), []
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def client(ends: float) -> None:
            while time.perf_counter() < ends:
                body = {"case": make(next(numbers))}
                begun = time.perf_counter()
                async with session.post(f"{url}/v1/judge/{judge}", json=body) as answer:
                    said = await answer.json()
                taken.append(1000 * (time.perf_counter() - begun))
                assert answer.status == 200, said
                assert said["judgements"][0]["status"] != "error", said

        await client(time.perf_counter() + 0.01)  # one request: when it is answered, models are loaded
        await asyncio.gather(*(client(time.perf_counter() + min(2.0, seconds)) for _ in range(clients)))  # warm
        taken.clear()
        started = time.perf_counter()
        await asyncio.gather(*(client(started + seconds) for _ in range(clients)))
        return sorted(taken), len(taken) / (time.perf_counter() - started)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    args = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    missed = False
    with serving() as url:
        for kind, clients in itertools.product(args.only, args.clients):
            taken, rate = asyncio.run(waits(url, kind, clients, args.seconds))
            p50, p99 = taken[len(taken) // 2], taken[min(len(taken) - 1, int(0.99 * len(taken)))]
            told = f"{kind:10} {clients:3} clients: p50 {p50:6.1f} ms, p99 {p99:6.1f} ms, {rate:6.1f} a second"
            if (kind, clients) == MARK[:2]:
                missed = p99 >= MARK[2]
                told += f"  (mark: p99 under {MARK[2]:.0f} ms {'MISSED' if missed else 'kept'})"
            print(told, flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
