"""The fake server as a process of its own: `python -m fake_llm --port 0`, until SIGTERM."""

from __future__ import annotations

import argparse
import contextlib
import gc
import signal
import sys
import threading

import orjson

from fake_llm.faults import Faults
from fake_llm.server import FakeServer
from krino.errors import UsageProblem


def main(arguments: list[str] | None = None) -> int:
    options = _read(arguments)
    try:
        faults = Faults.parse(options.faults, seed=options.seed, retry_after=options.retry_after)
    except UsageProblem as problem:
        print(problem, file=sys.stderr)
        return 2
    _allow_many_connections()
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    latency = options.latency_ms / 1000
    with FakeServer(latency=latency, faults=faults, key=options.key_pattern, keep=0, port=options.port) as server:
        print(orjson.dumps({"url": server.url, "port": server.port}).decode(), flush=True)
        gc.freeze()
        stopped.wait()
    return 0


def _read(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fake_llm", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes any free port")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--faults", default="", metavar="NAME=RATE,...")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--retry-after", type=float, default=1.0, metavar="SECONDS")
    parser.add_argument("--key-pattern", metavar="REGEX", help="counts calls by what it finds in the body")
    return parser.parse_args(arguments)


def _allow_many_connections() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    sys.exit(main())
