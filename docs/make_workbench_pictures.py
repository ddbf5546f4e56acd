"""Makes the pictures of the workbench: every kind of page over runs of the bundled examples, light and dark.

    python docs/make_workbench_pictures.py [FOLDER]

Needs Chromium and the development tools. The runs are real; their dates are fixed, so that a picture changes when, and
only when, what it shows has changed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from datetime import timedelta
from pathlib import Path

import orjson
from make_pictures import DAY, HERE, Shot, make_run, take

from browser import Tab, chromium, tab
from krino.runs.manifest import Manifest
from live_workbench import live

AFTER = {
    "supported": "The Atomium was built for the World's Fair of 1938.",
    "half-supported": "The Atomium stands 102 metres tall.",
    "contradicted": "The Atomium stands 102 metres tall.",
}
"""What another system answers to some of the questions."""
SHOTS = (
    Shot("workbench-runs.png", "/", 1180, 620),
    Shot("workbench-run.png", "/runs/rag-before?max.faithfulness=0.6&sort=faithfulness", 1180, 1000),
    Shot("workbench-case.png", "/runs/rag-before/cases/half-supported", 1180, 1500),
    Shot("workbench-citation.png", "/runs/citations/cases/ranked-second", 1180, 1180, "dark"),
    Shot("workbench-timeline.png", "/runs/traces/cases/one-duplicate", 1180, 1180),
    Shot("workbench-compare.png", "/compare?a=rag-before&b=rag-after", 1180, 1280),
    Shot("workbench-pair.png", "/compare/case?a=rag-before&b=rag-after&id=half-supported", 1180, 1280),
    Shot("workbench-try.png", "/try?judge=rag&example=half-supported", 1180, 1280),
    Shot("workbench-phone.png", "/runs/rag-before?status=ok", 390, 1100),
)


def make_runs(folder: Path) -> None:
    """Two runs over the same questions, and one of each other judge."""
    make_run("citation", folder / "citations")
    make_run("efficiency", folder / "traces")
    make_run("rag", folder / "rag-before")
    cases = (HERE.parent / "src/krino/examples/rag.jsonl").read_bytes().splitlines()
    changed = [{**case, "answer": AFTER.get(case["id"], case["answer"])} for case in map(orjson.loads, cases)]
    make_run("rag", folder / "rag-after", changed)
    for place, name in enumerate(("citations", "traces", "rag-before", "rag-after")):
        manifest = Manifest.load(folder / name)
        manifest.started = DAY + timedelta(minutes=11 * place)
        manifest.write(folder / name)


async def take_all(address: str, out: Path, profile: Path) -> None:
    with chromium(profile) as port:
        async with tab(port) as window:
            for run in ("citations", "traces", "rag-before", "rag-after"):
                await window.open(f"{address}/runs/{run}")
                await window.until("document.readyState === 'complete' && !document.querySelector('[data-live]')")
            for shot in SHOTS:
                media = {"prefers-color-scheme": shot.scheme, "prefers-reduced-motion": "reduce"}
                features = [{"name": name, "value": value} for name, value in media.items()]
                await window.call("Emulation.setEmulatedMedia", features=features)
                await window.open(f"{address}{shot.page}")
                await prepare(window, shot)
                await take(window, out / shot.name, shot.width, shot.height)


async def prepare(window: Tab, shot: Shot) -> None:
    """Whatever a page shows only after it was asked for."""
    await window.until("document.readyState === 'complete' && !document.querySelector('[data-reload]')")
    if shot.name == "workbench-try.png":
        await window.run("document.querySelector('#as-fields + form').requestSubmit()")
        await window.until("document.readyState === 'complete' && !!document.querySelector('#verdict')")
    await window.run("document.activeElement.blur(); window.scrollTo(0, 0)")


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        runs = Path(folder) / "runs"
        make_runs(runs)
        with live(runs) as address:
            asyncio.run(take_all(address, out, Path(folder) / "profile"))
    for shot in SHOTS:
        print(f"{out / shot.name}  {(out / shot.name).stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
