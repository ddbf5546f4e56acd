"""Makes the pictures of the documentation: the terminal summary and the report, from the bundled examples.

    python docs/make_pictures.py [FOLDER]

Needs Chromium and the development tools. The judgements are real; only what would differ from day to day (dates and
seconds) is fixed, so that a picture changes when, and only when, what it shows has changed.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import html
import io
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.terminal_theme import TerminalTheme

import krino
from krino.cases import read_cases
from krino.cases.item import CaseItem
from krino.render.case import case_blocks
from krino.render.report import write_report
from krino.render.summary import summary_blocks
from krino.render.terminal import show
from krino.results.summary import summarise
from krino.results.verdict_schema import declared_scales
from krino.runs.inputs import with_cases
from krino.runs.manifest import Counts, JudgeCard, Manifest, Plan
from krino.runs.roll import RollWriter
from krino.runs.views import StoredViews

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from browser import Tab, chromium, tab  # noqa: E402 - our own driver of Chromium lives with the tests

DAY = datetime(2026, 11, 1, 9, 30, tzinfo=UTC)
SECONDS = 0.01
COLUMNS = 92
GROUND, INK, DIM = (24, 30, 39), (230, 234, 240), (110, 120, 135)
COLOURS = [(238, 153, 170), (120, 200, 150), (238, 204, 102), (102, 153, 204), (200, 160, 220), (120, 190, 210)]
THEME = TerminalTheme(GROUND, INK, [GROUND, *COLOURS, INK], [DIM, *COLOURS, (255, 255, 255)])
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; padding: 24px 28px; background: #181e27; width: max-content; }}
pre {{ margin: 0; font: 15px/1.35 "DejaVu Sans Mono", Menlo, Consolas, monospace; color: #e6eaf0; }}
{stylesheet}
</style><pre>{prompt}{code}</pre>"""


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture of a page: its size on screen, light or dark."""

    name: str
    page: str
    width: int
    height: int
    scheme: str = "light"


SHOTS = (
    Shot("report.png", "rag/report.html#case=half-supported", 1180, 1400),
    Shot("report-overview.png", "citation/report.html", 1180, 2000),
    Shot("report-courts.png", "citation/report.html#reliability", 1180, 1500),
    Shot("report-cases.png", "citation/report.html#cases", 1180, 1300),
    Shot("report-dark.png", "rag/report.html", 1180, 1180, "dark"),
    Shot("report-citation.png", "citation/report.html#case=ranked-second", 1180, 1180),
    Shot("report-timeline.png", "efficiency/report.html#case=one-duplicate", 1180, 980, "dark"),
    Shot("report-narrow.png", "rag/report.html", 390, 1400),
)


def make_run(judge: str, folder: Path, records: Sequence[Mapping[str, Any]] = ()) -> Manifest:
    """The bundled examples of a judge, or other records, judged by the embedded labeller."""
    folder.mkdir(parents=True)
    cases = folder.parent / f"{folder.name if records else judge}.jsonl"
    examples = (HERE.parent / f"src/krino/examples/{judge}.jsonl").read_bytes()
    cases.write_bytes(b"".join(orjson.dumps(record) + b"\n" for record in records) or examples)
    judged = list(krino.judge_many(judge, map(orjson.loads, cases.read_bytes().splitlines())))
    for judgement in judged:  # what varies from day to day
        judgement.usage.seconds = SECONDS if judgement.labels else 0.0
    (folder / "judgements.jsonl").write_bytes(b"".join(judgement.to_json() + b"\n" for judgement in judged))
    with RollWriter(folder) as roll:
        for judgement in judged:
            roll.add(CaseItem(judgement.index, judgement.id, {}), judgement.input_hash)
    ready = krino.load_judge(judge)
    plan = Plan(judge={"address": judge, **ready.fingerprint()}, labeller={"kind": "local"}, inputs=[str(cases)])
    endings = [judgement.status for judgement in judged]
    counts = Counts(ok=endings.count("ok"), failed=endings.count("failed"), error=endings.count("error"))
    manifest = Manifest(plan=plan, about=JudgeCard.of(ready), state="finished", started=DAY, counts=counts)
    manifest.cases, manifest.input_hash = roll.cases, roll.input_hash()
    manifest.write(folder)
    with_inputs = with_cases(krino.load_run(folder).records(), lambda: read_cases([str(cases)]))
    write_report(folder, manifest, with_inputs, ready)
    return manifest


def terminal_pages(base: Path) -> dict[str, str]:
    """What the two commands print, as pages."""
    run = krino.load_run(base / "krino-demo/rag")
    rules, scales = run.manifest.about.rules, declared_scales(run.manifest.about.verdict_schema)
    summary = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    with contextlib.chdir(base):  # so that paths read as they would for a user
        show(
            summary,
            summary_blocks(
                summarise(run.records(), run.manifest.about.verdict_schema), run.manifest, Path("krino-demo/rag")
            ),
        )
    one = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    judgement = run["half-supported"]
    own = StoredViews(run.folder).blocks_of(judgement.input_hash) or []
    show(one, case_blocks(judgement, rules, scales, own))
    return {
        "summary.png": terminal_page(summary, "krino show krino-demo/rag"),
        "case.png": terminal_page(one, "krino show krino-demo/rag half-supported"),
    }


def terminal_page(console: Console, command: str) -> str:
    page = console.export_html(theme=THEME, code_format="{code}\x00{stylesheet}", inline_styles=False)
    code, _, stylesheet = page.partition("\x00")
    return TERMINAL.format(stylesheet=stylesheet, code=code, prompt=f"$ {html.escape(command)}\n")


async def take(window: Tab, target: Path, width: int, height: int) -> None:
    await window.call(
        "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1.5, mobile=False
    )
    await window.run("document.fonts.ready.then(() => new Promise((done) => requestAnimationFrame(done)))")
    shot = await window.call("Page.captureScreenshot", format="png")
    target.write_bytes(base64.b64decode(shot["data"]))


async def take_all(base: Path, out: Path, profile: Path) -> None:
    with chromium(profile) as port:
        async with tab(port) as window:
            for shot in SHOTS:
                media = {"prefers-color-scheme": shot.scheme, "prefers-reduced-motion": "reduce"}
                features = [{"name": name, "value": value} for name, value in media.items()]
                await window.call("Emulation.setEmulatedMedia", features=features)
                await window.open(f"{(base / 'krino-demo').as_uri()}/{shot.page}")
                await take(window, out / shot.name, shot.width, shot.height)
            for name, page in terminal_pages(base).items():
                path = base / f"{name}.html"
                path.write_text(page, "utf-8")
                await window.open(path.as_uri())
                width, height = await window.run("[document.body.offsetWidth, document.body.offsetHeight]")
                await take(window, out / name, width, height)


def main() -> None:
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        base = Path(folder)
        for judge in ("citation", "efficiency", "rag"):
            make_run(judge, base / "krino-demo" / judge)
        asyncio.run(take_all(base, out, base / "profile"))
    for path in sorted(out.glob("*.png")):
        print(f"{path}  {path.stat().st_size // 1024} kB")


if __name__ == "__main__":
    main()
