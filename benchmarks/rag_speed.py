"""How many cases a second the embedded RAG labeller judges: 3 passages of 120 words, 3 claims that no passage copies.

    python benchmarks/rag_speed.py [--cases 400] [--batch 32] [--threads 2] [--reference]

With `--reference` each case has a reference of 40 words and a fourth sentence, copied from a passage.

From raw record to verdict, nothing cached: every case has texts of its own. Loading the model is shown apart.
"""

from __future__ import annotations

import argparse
import os
import time
from itertools import islice
from typing import Any

from workload import cases

from krino.judges.rag.judge import RagJudge


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """Without its reference and the sentence that is a copy."""
    _, claims = record["answer"].split(". ", 1)
    return {**record, "reference": None, "answer": claims}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--reference", action="store_true")
    args = parser.parse_args()
    os.environ["KRINO_THREADS"] = str(args.threads)
    from krino.models import embedder

    started = time.perf_counter()
    embedder.embed(["warm"])
    print(f"loading the model: {time.perf_counter() - started:.2f} s")
    spent = {"embedding": 0.0}
    texts = 0
    inner = embedder.Embedder.embed

    def timed(self: embedder.Embedder, given: list[str]) -> embedder.Vectors:
        nonlocal texts
        begun = time.perf_counter()
        texts += len(given)
        vectors = inner(self, given)
        spent["embedding"] += time.perf_counter() - begun
        return vectors

    embedder.Embedder.embed = timed  # type: ignore[assignment,method-assign]
    judge = RagJudge()
    stream = (record if args.reference else plain(record) for record in cases(args.cases))
    started, worked = time.perf_counter(), time.process_time()
    while records := list(islice(stream, args.batch)):
        read = [judge.read(record) for record in records]
        batch = [(case, judge.study(case)) for case in read]
        for (case, facts), labels in zip(batch, judge.label_locally(batch), strict=True):
            assert not judge.check(case, facts, labels)
            judge.settle(case, facts, labels)
    wall, cpu = time.perf_counter() - started, time.process_time() - worked
    print(
        f"{args.cases} cases on {args.threads} threads: {args.cases / wall:.1f} cases a second, "
        f"{1000 * cpu / args.cases:.0f} ms of CPU and {texts / args.cases:.1f} embedded texts a case, "
        f"{spent['embedding'] / wall:.0%} of the time in the model"
    )


if __name__ == "__main__":
    main()
