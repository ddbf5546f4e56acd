"""How long an online guard waits: p50 and p99 of the embedded judges behind `krino serve`, at 1, 8 and 32 clients.

    python benchmarks/workbench.py [--seconds 8] [--clients 1 8 32] [--only rag]

A server process of its own; each client sends one case, waits for the verdict, and sends the next (no think time, so 8
clients keep the server as busy as it can be). `rag` has 2 passages of 60 words and an answer of 2 sentences, and no two
cases share a sentence; `rag-long` has 3 of 120, 4 sentences and a reference. `guard` and `guard-long` ask the guard of
the same cases. Marks: rag and guard p99 under 150 ms at 8 clients on two cores.

The clients work on the same cores. So requests are written before the clock starts, answers are read when it has
stopped, and between the two a client does no more than send and receive. `labelling` is the mean time in which the
models and rules answered for one case, or its share where two were judged together (as its judgement says): what is
beyond it is waiting, and some HTTP.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workload import GLUE, NOUNS, case

EXAMPLES = Path(__file__).resolve().parents[1] / "src" / "krino" / "examples"
MARKS = {("rag", 8): 150.0, ("guard", 8): 150.0}
RULE = "rag min faithfulness=0.5"
MOST_A_SECOND = 250
"""Requests for which cases are made beforehand."""


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
    "rag": ("judge/rag", short_rag),
    "rag-long": ("judge/rag", case),
    "guard": ("guard/rag", short_rag),
    "guard-long": ("guard/rag", case),
    "citation": ("judge/citation", lambda number: example("citation", number)),
    "efficiency": ("judge/efficiency", lambda number: example("efficiency", number)),
}


@contextmanager
def serving() -> Iterator[int]:
    """A server of its own; its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as runs:
        command = [sys.executable, "-m", "krino", "serve", runs, "--port", str(port), "--guard", RULE]
        server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        try:
            assert server.stderr is not None
            print(server.stderr.readline().strip())
            yield port
        finally:
            server.terminate()
            server.wait()


class Client:
    """One connection that stays open, and what was answered over it."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.answers: list[bytes] = []
        self.taken: list[float] = []
        """Milliseconds of each request."""

    async def send(self, requests: Iterator[bytes], seconds: float) -> None:
        """One after the other, as long as they begin within so many seconds."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        ends = time.perf_counter() + seconds
        while (begun := time.perf_counter()) < ends:
            writer.write(next(requests))
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0])
            answer = await reader.readexactly(length)
            self.taken.append(1000 * (time.perf_counter() - begun))
            assert head.startswith(b"HTTP/1.1 200 "), (head, answer)
            self.answers.append(answer)
        writer.close()


def requests(port: int, kind: str, first: int, prepared: int) -> Iterator[bytes]:
    """Requests with cases of their own, so many of them made at once."""
    route, make = KINDS[kind]

    def request(number: int) -> bytes:
        body = json.dumps({"case": make(number)}, separators=(",", ":")).encode()
        head = f"POST /v1/{route} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    made = [request(number) for number in range(first, first + prepared)]
    return itertools.chain(made, map(request, itertools.count(first + prepared)))


def labelling_of(answers: list[dict[str, Any]]) -> list[float]:
    """Milliseconds of each labelling; a guard does not say. No case may have ended in an error."""
    if "decision" in answers[0]:
        assert all(one["rule"] != "not judged" for answer in answers for one in answer["cases"])
        return []
    judged = [answer["judgements"][0] for answer in answers]
    assert all(one["status"] != "error" for one in judged), judged
    return [1000 * one["usage"]["seconds"] for one in judged]


async def waits(port: int, kind: str, clients: int, seconds: float) -> tuple[list[float], list[float], float]:
    """Milliseconds of each request in order of length, of each labelling, and requests a second."""
    warm = min(2.0, seconds)
    given = requests(port, kind, 1_000 * clients, int(MOST_A_SECOND * (warm + seconds)))
    await Client(port).send(given, 0.01)  # one request: when it is answered, models are loaded
    await asyncio.gather(*(Client(port).send(given, warm) for _ in range(clients)))
    gc.collect()
    gc.freeze()  # all clients are in one process: they must not stop together to look for garbage
    asking, started = [Client(port) for _ in range(clients)], time.perf_counter()
    await asyncio.gather(*(client.send(given, seconds) for client in asking))
    elapsed = time.perf_counter() - started
    answers = [json.loads(answer) for client in asking for answer in client.answers]
    taken = sorted(itertools.chain.from_iterable(client.taken for client in asking))
    return taken, labelling_of(answers), len(taken) / elapsed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--only", nargs="+", choices=KINDS, default=list(KINDS))
    args = parser.parse_args()
    print(f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    missed = False
    with serving() as port:
        for kind, clients in itertools.product(args.only, args.clients):
            taken, labelling, rate = asyncio.run(waits(port, kind, clients, args.seconds))
            p50, p90, p99 = (taken[min(len(taken) - 1, int(share * len(taken)))] for share in (0.5, 0.9, 0.99))
            described = f"{kind:10} {clients:3} clients: p50 {p50:6.1f} ms, p90 {p90:6.1f} ms, p99 {p99:6.1f} ms, "
            described += f"{rate:6.1f} a second"
            described += f", labelling {statistics.fmean(labelling):5.1f} ms" if labelling else ""
            if (mark := MARKS.get((kind, clients))) is not None:
                missed = missed or p99 >= mark
                described += f"  (mark: p99 under {mark:.0f} ms {'MISSED' if p99 >= mark else 'kept'})"
            print(described, flush=True)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
