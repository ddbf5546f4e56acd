"""Peak memory of a whole run must not grow with the number of cases.

    python benchmarks/memory.py [--few 2000] [--many 100000]

Runs the RAG judge with an LLM labeller (a fake server on loopback), journal and reply cache, in a process of its own
for each size, and prints the peak resident memory of each. 17 bytes a case are the journal's index.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from client_cost import child, server
from workload import write


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=2_000)
    parser.add_argument("--many", type=int, default=100_000)
    args = parser.parse_args()
    peaks = []
    with server(0) as url, tempfile.TemporaryDirectory() as folder:
        for count in (args.few, args.many):
            path = Path(folder) / f"{count}.jsonl"
            write(path, count)
            result = child("krino", path, url, 64)
            peaks.append(result["peak_mb"])
            print(
                f"{count:>8,} cases: {result['ok']:,} ok, peak {result['peak_mb']:.1f} MB, "
                f"{result['wall']:.0f} s, {count / result['wall']:.0f} cases a second"
            )
    print(f"peak {args.many:,} / {args.few:,}: {peaks[1] / peaks[0]:.2f}  (flat: about 1)")


if __name__ == "__main__":
    main()
