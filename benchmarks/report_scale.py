"""The report of a large run: time, memory and size to make it, and how quickly it can be used in a browser.

    python benchmarks/report_scale.py [--cases 100000] [--keep FOLDER]

Makes a run folder of RAG cases (a few real judgements, repeated with other ids and scores; every twentieth failed),
then writes the report and the exports from it, each in a process of its own. Where Chromium is installed, the page is
opened, sorted, filtered, paged and a case is read, timed inside the browser.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import orjson

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
MARKS = {"seconds": 20, "peak_mb": 1_000, "size_mb": 20}
EXPORTS = ("csv", "parquet", "jsonl", "otel")


def make_run(folder: Path, count: int) -> None:
    """Real judgements of the bundled RAG examples, over and over; the cases stand beside them."""
    import krino
    from krino.contract import hash_record
    from krino.runs.manifest import Counts, Manifest, Plan

    folder.mkdir(parents=True)
    lines = (ROOT / "src/krino/examples/rag.jsonl").read_bytes().splitlines()
    records = [orjson.loads(line) for line in lines]
    judged = list(krino.judge_many("rag", records))
    good = [(r, j.model_dump(mode="json")) for r, j in zip(records, judged, strict=True) if j.status == "ok"]
    bad = [(r, j.model_dump(mode="json")) for r, j in zip(records, judged, strict=True) if j.status != "ok"]
    with (folder / "cases.jsonl").open("wb") as cases, (folder / "judgements.jsonl").open("wb") as journal:
        for index in range(count):
            pool = bad if index % 20 == 19 else good
            record, judgement = pool[index // 3 % len(pool)]
            record = {**record, "id": f"case-{index}"}
            judgement = {**judgement, "index": index, "id": record["id"], "input_hash": hash_record(record)}
            if pool is good:
                judgement["verdict"] = {**judgement["verdict"], "faithfulness": index % 101 / 100}
            cases.write(orjson.dumps(record) + b"\n")
            journal.write(orjson.dumps(judgement) + b"\n")
    failed = count // 20
    plan = Plan(
        judge={"address": "rag", **krino.load_judge("rag").fingerprint()},
        labeller={"kind": "local"},
        inputs=[str(folder / "cases.jsonl")],
    )
    Manifest(plan=plan, state="finished", cases=count, counts=Counts(ok=count - failed, failed=failed)).write(folder)


def write_report(folder: Path) -> Path:
    """As `krino judge` does at the end of a run."""
    import krino
    from krino.reports.asked import Asked
    from krino.reports.html import write_report as write
    from krino.runs.rereading import with_cases

    run, judge = krino.load_run(folder), krino.load_judge("rag")
    return write(folder, run.manifest, with_cases(run.records(), folder, run.manifest.plan), judge.rules, Asked(judge))


def export(folder: Path, to: str) -> Path:
    target = folder / f"export.{to}"
    subprocess.run([sys.executable, "-m", "krino", "export", str(folder), str(target), "--to", to], check=True)
    return target


def measured(work: Callable[[], Path]) -> dict[str, float]:
    started = time.perf_counter()
    made = work()
    seconds = time.perf_counter() - started
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {
        "seconds": seconds,
        "cpu": sum(each.ru_utime + each.ru_stime for each in used),  # on a busy machine the fairer figure
        "peak_mb": max(each.ru_maxrss for each in used) / 1_000,
        "size_mb": made.stat().st_size / 1e6,
    }


def child(folder: Path, job: str) -> dict[str, float]:
    command = [sys.executable, __file__, "--child", job, "--keep", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


# --- in the browser --------------------------------------------------------------------------------

TIMED = """(async () => {
    const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    const times = {};
    const timed = async (name, work) => {
        const began = performance.now();
        await work();
        await painted();
        times[name] = Math.round(performance.now() - began);
    };
    const byId = (id) => document.getElementById(id);
    const first = () => document.querySelector('#table td.id a').textContent;
    const changed = async (before) => { while (byId('found').textContent === before) await painted(); };
    const search = (text) => async () => {
        const before = byId('found').textContent;
        byId('query').value = text;
        byId('query').dispatchEvent(new Event('input'));
        await changed(before);
    };
    const heads = [...document.querySelectorAll('#table th button')];
    await timed('sort by score', async () => heads.find((head) => head.textContent === 'faithfulness').click());
    await timed('sort by id', async () => heads[0].click());
    await timed('filter by text', search('case-9999'));
    await timed('filter by score', search('faithfulness<0.2'));
    await timed('next page', async () => byId('forth').click());
    await timed('last page', async () => byId('last').click());
    await timed('open a case', async () => { document.querySelector('#table td.id a').click(); await painted(); });
    times.open = byId('case').open;
    times.title = byId('case-title').textContent;
    return times;
})()"""


async def browse(page: Path, profile: Path) -> dict[str, Any]:
    from browser import chromium, tab

    with chromium(profile) as port:
        async with tab(port) as window:
            started = time.perf_counter()
            await window.open(page.as_uri())
            await window.until("document.querySelectorAll('#table td.id').length > 0")
            ready = round((time.perf_counter() - started) * 1_000)
            times: dict[str, Any] = await window.run(TIMED)
            heap = await window.run("performance.memory.usedJSHeapSize")
            return {"open the page": ready, **times, "heap (MB)": round(heap / 1e6)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--keep", type=Path, help="where the run goes; by default it is thrown away")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        job = (lambda: write_report(args.keep)) if args.child == "report" else (lambda: export(args.keep, args.child))
        print(json.dumps(measured(job)))
        return
    with ExitStack() as scratch:
        folder = args.keep or Path(scratch.enter_context(tempfile.TemporaryDirectory())) / "run"
        if not folder.exists():
            make_run(folder, args.cases)
        for job in ("report", *EXPORTS):
            found = child(folder, job)
            print(f"{job:8} " + ", ".join(f"{key} {value:.1f}" for key, value in found.items()), flush=True)
            if job == "report":
                print("         marks: " + ", ".join(f"{key} under {value}" for key, value in MARKS.items()))
        from browser import CHROMIUM

        if CHROMIUM is None:
            print("no Chromium here: the page was not opened")
            return
        profile = Path(scratch.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        print("in the browser, milliseconds:")
        for what, taken in asyncio.run(browse(folder / "report.html", profile)).items():
            print(f"  {what:16} {taken}")


if __name__ == "__main__":
    main()
