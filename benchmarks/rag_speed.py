"""How many cases a second the embedded RAG labeller judges: 3 passages of 120 words, 3 claims that no passage copies.

    python benchmarks/rag_speed.py [--cases 400] [--batch 32] [--threads 2] [--callers 1] [--reference] [--long 1000000]
    python benchmarks/rag_speed.py --command [--cases 1500] [--reference]

With `--command` it is the time of a run: `krino judge` with its usual workers, from the first judgement to the last.
Else the labeller is called in this process.

With `--callers 2` two batches are judged at the same time, as a run does: one caller alone leaves a core idle while
it reads words. With `--reference` each case has a reference of 40 words and a fourth sentence, copied from a passage.

With `--long` it tells instead how long single cases with so many characters of passages take, by their shape.

From raw record to verdict, nothing cached: every case has texts of its own. Loading models and tables is shown apart.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from workload import case, cases, judging_seconds

from krino.judges.rag.judge import RagJudge


def plain(record: dict[str, Any]) -> dict[str, Any]:
    """Without its reference and the sentence that is a copy."""
    _, claims = record["answer"].split(". ", 1)
    return {**record, "reference": None, "answer": claims}


def long_cases(size: int) -> dict[str, dict[str, Any]]:
    """Texts that are long in different ways; a time that grows with the square of the size shows in one of them."""
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefghilmnoprstu", k=rng.randrange(3, 10))) for _ in range(5_000)]

    def prose(length: int, extra: str = "") -> str:
        made = (f"{' '.join(rng.choices(words, k=12)).capitalize()}{extra}." for _ in range(length // 90))
        return " ".join(made)

    question, answer = f"What is said of {words[0]}?", f"{prose(90)} It was 1999 km."
    shapes = {
        "one passage": [prose(size)],
        "passages of a sentence": [prose(90) for _ in range(size // 90)],
        "numbers": [prose(size, " 3 May 1998 at 9:30 pm, 17 km")],
        "no full stop": [prose(size).replace(".", "")],
        "lines": [prose(size).replace(". ", "\n- ")],
    }
    made = {name: {"question": question, "context": context, "answer": answer} for name, context in shapes.items()}
    return {**made, "a long answer": {"question": question, "context": [prose(size // 2)], "answer": prose(size // 50)}}


def judge_all(judge: RagJudge, records: Sequence[dict[str, Any]]) -> None:
    """From records to verdicts."""
    read = [judge.read(record) for record in records]
    batch = [(item, judge.study(item)) for item in read]
    for (case_read, facts), labels in zip(batch, judge.label_locally(batch), strict=True):
        assert not judge.check(case_read, facts, labels)
        judge.settle(case_read, facts, labels)


def tell_long(size: int) -> None:
    judge = RagJudge()
    for name, record in {"warm": plain(case(0)), **long_cases(size)}.items():
        started = time.process_time()
        judge_all(judge, [record])
        print(f"{name:24} {time.process_time() - started:6.2f} s of CPU, models included", flush=True)


def tell_command(records: Iterable[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, run = Path(folder, "cases.jsonl"), Path(folder, "run")
        path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
        command = [sys.executable, "-m", "krino", "judge", "rag", str(path), "--run", str(run)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        count, seconds = len(path.read_text("utf-8").splitlines()), judging_seconds(run)
    print(f"{count} cases by krino judge on {os.cpu_count()} cores: {count / seconds:.1f} cases a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--callers", type=int, default=1)
    parser.add_argument("--reference", action="store_true")
    parser.add_argument("--command", action="store_true")
    parser.add_argument("--long", type=int, metavar="CHARACTERS")
    args = parser.parse_args()
    if args.long:
        tell_long(args.long)
        return
    stream = (record if args.reference else plain(record) for record in cases(args.cases))
    if args.command:
        tell_command(stream)
        return
    os.environ["KRINO_THREADS"] = str(args.threads)
    from krino.models.token_model import Rows, TokenModel

    started = time.perf_counter()
    judge = RagJudge()
    judge_all(judge, [plain(case(-1))])
    print(f"loading models and tables: {time.perf_counter() - started:.2f} s")
    spent, texts, tokens = 0.0, 0, 0
    inner = TokenModel.run

    def timed(self: TokenModel, encoded: Sequence[list[int]], output: str) -> Rows:
        nonlocal spent, texts, tokens
        begun = time.thread_time()
        rows = inner(self, encoded, output)
        spent += time.thread_time() - begun
        texts, tokens = texts + len(encoded), tokens + sum(map(len, encoded))
        return rows

    TokenModel.run = timed  # type: ignore[method-assign]
    batches = list(iter(lambda: list(islice(stream, args.batch)), []))
    with ThreadPoolExecutor(args.callers) as callers:
        started, worked = time.perf_counter(), time.process_time()
        list(callers.map(partial(judge_all, judge), batches))
    wall, cpu = time.perf_counter() - started, time.process_time() - worked
    print(
        f"{args.cases} cases on {args.threads} threads: {args.cases / wall:.1f} cases a second, "
        f"{1000 * cpu / args.cases:.0f} ms of CPU a case; the models read {texts / args.cases:.1f} texts "
        f"and {tokens / args.cases:.0f} word pieces of it"
    )
    if args.threads <= args.callers:  # with more threads than callers others work for them, and are not timed
        print(f"{spent / cpu:.0%} of the CPU in the models")


if __name__ == "__main__":
    main()
