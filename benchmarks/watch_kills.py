"""Kills `krino watch` at random moments (SIGKILL) and counts: each trace judged once, each score written once.

    python benchmarks/watch_kills.py [--kills 20] [--traces 300] [--seed 1]

Spans are added to the watched file all the while, a model on loopback labels, and a server on loopback takes the
scores. A score that was sent just before a kill may be sent again; it has the same `log.record.uid`, and the server
keeps one. How many came twice is printed too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))


def main() -> int:
    from live_kills import kill_again_and_again

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--traces", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_again_and_again(Path(folder), given.traces, given.kills, given.seed)
    once = dict.fromkeys(found.traces, 1)
    print(f"{found.kills} kills, {len(found.traces)} traces, {found.judged_before_the_last_start} judged when killed")
    for title, counts in (("judged", found.judged), ("scores at the server", found.written), ("paid", found.paid)):
        times = Counter(counts.values())
        shown = ", ".join(f"{number} traces {often} times" for often, number in sorted(times.items()))
        print(f"{title}: {shown}; {len(found.traces) - len(counts)} traces never")
    print(f"events that came twice and were dropped by their id: {found.sent_again}")
    return 0 if found.judged == once and found.written == once else 1


if __name__ == "__main__":
    sys.exit(main())
