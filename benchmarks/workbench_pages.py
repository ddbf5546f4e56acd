"""How quickly the workbench shows a large run: the time that the server takes for each page, once and with the index.

    python benchmarks/workbench_pages.py [--cases 100000] [--keep FOLDER]

A server in this process, asked over loopback by one client. First it is asked for a run that it has never seen: that
page must come at once, with what is read so far, while the index is made in the background. Then every kind of page
is asked for ten times. Mark: the first page of the run under 300 ms.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import orjson
from big_run import make_run

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
MARK_MS = 300
TIMES = 10
PAGES = {
    "list of runs": "/",
    "first page of the run": "/runs/big",
    "last page": "/runs/big?page=2000",
    "sorted by a score": "/runs/big?sort=faithfulness",
    "failures": "/runs/big?status=failed",
    "a range and a code": "/runs/big?max.faithfulness=0.3&is.errors=COURT",
    "a slice, sorted": "/runs/big?in.court=appeal&sort=confidence&down=1",
    "searched for a word": "/runs/big?q=Atomium",
    "searched for an id": "/runs/big?q=case-77777",
    "a case": "/runs/big/cases/case-1234",
    "a case in a sorted filter": "/runs/big/cases/case-1234?min.faithfulness=0.1&sort=faithfulness",
}


def timed(address: str) -> float:
    """Milliseconds until the whole page is there."""
    began = time.perf_counter()
    request = urllib.request.Request(address, headers={"accept": "text/html"})
    with urllib.request.urlopen(request) as reply:
        reply.read()
    return (time.perf_counter() - began) * 1_000


def index(address: str) -> None:
    """Until the run is read and summed up, with how it goes on the way."""
    began = time.perf_counter()
    print(f"{timed(f'{address}/runs/big'):8.0f} ms  first page of a run that was never seen")
    described = ""
    while True:
        with urllib.request.urlopen(f"{address}/runs/big/progress") as reply:
            now = orjson.loads(reply.read())
        if not now["live"]:
            break
        if now["message"].split(":")[0] != described:
            described = now["message"].split(":")[0]
            print(f"{time.perf_counter() - began:8.1f} s   {described} …")
        time.sleep(0.5)
    print(f"{time.perf_counter() - began:8.1f} s   the index is there\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="a folder of runs to make the run in; by default it is thrown away")
    args = parser.parse_args()
    from live_workbench import live

    with ExitStack() as scratch:
        runs = args.keep or Path(scratch.enter_context(tempfile.TemporaryDirectory()))
        if not (runs / "big").exists():
            make_run(runs / "big", args.cases)
        address = scratch.enter_context(live(runs))
        index(address)
        print(f"{'median':>8} {'most':>8}  milliseconds")
        for name, path in PAGES.items():
            took = [timed(address + path) for _ in range(TIMES)]
            mark = ""
            if name == "first page of the run":
                mark = f"  mark {MARK_MS}: {'kept' if statistics.median(took) < MARK_MS else 'NOT KEPT'}"
            print(f"{statistics.median(took):8.0f} {max(took):8.0f}  {name}{mark}")
        size = sum(file.stat().st_size for file in (runs / ".workbench").iterdir()) / 1e6
        journal = (runs / "big" / "judgements.jsonl").stat().st_size / 1e6
        print(f"\nthe index has {size:.0f} MB, the journal {journal:.0f}")


if __name__ == "__main__":
    main()
