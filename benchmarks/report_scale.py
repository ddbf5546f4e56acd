"""The report of a large run: time, memory and size to make it, and how quickly it can be used in a browser.

    python benchmarks/report_scale.py [--cases 100000] [--keep FOLDER]

Makes a run of RAG cases and writes its report in a process of its own: under 20 s, 1 GB and 20 MB. Where Chromium is
installed, the page is opened, sorted, filtered, paged and a case is read, timed inside the browser.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from big_run import make_run, measured

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
MOST_PAGE_MB = 20


def write_report(folder: Path) -> None:
    """As `krino judge` does at the end of a run."""

    import krino
    from krino.cases import read_cases
    from krino.render.report import write_report as write
    from krino.runs.inputs import with_cases

    run, judge = krino.load_run(folder), krino.load_judge("rag")
    inputs = run.manifest.plan.inputs
    write(folder, run.manifest, with_cases(run.records(), lambda: read_cases(inputs, judge=judge)), judge)


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
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        write_report(args.keep)
        return
    with ExitStack() as scratch:
        folder = args.keep or Path(scratch.enter_context(tempfile.TemporaryDirectory())) / "run"
        if not folder.exists():
            make_run(folder, args.cases)
        print(measured(__file__, "--child", "--keep", str(folder)).describe("report"))
        size = (folder / "report.html").stat().st_size / 1e6
        print(f"the page has {size:.1f} MB  mark {'kept' if size < MOST_PAGE_MB else 'NOT KEPT'}")
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
