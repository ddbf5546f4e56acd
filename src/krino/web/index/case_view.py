"""How the judge of a run shows one case: as the report recorded it, or of the case itself where that may be read.

A run folder may come from anyone. So only Krino's own judges are loaded, a case is read only where its input was kept
in the run's folder or lies in the folder that is served, and only if it is the one that was judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from krino.blocks import Block
from krino.cases import read_cases
from krino.contract import AnyJudge
from krino.errors import KrinoError
from krino.judges.registry import OURS, our_judge, recorded_judge
from krino.render.at_hand import AtHand
from krino.render.embed import RecordedViews
from krino.render.html import to_html
from krino.render.report import REPORT
from krino.runs.inputs import CasesBeside, kept_inputs
from krino.runs.manifest import Manifest
from krino.runs.reading import StoredRun
from krino.web.index.book import stamp_of


def own_blocks(run: StoredRun, judgement: Mapping[str, Any], served: Path) -> list[Block]:
    """Nothing where neither the report nor the case is at hand; then the judgement speaks for itself."""
    recorded = _recorded(run.folder / REPORT, stamp_of(run.folder / REPORT)).of(judgement)
    if recorded and _can_be_drawn(recorded):
        return recorded
    case, judge = case_of(run, judgement, served), judge_of(run.manifest)
    return [] if case is None or judge is None else AtHand(judge).view(judgement, case)


def _can_be_drawn(blocks: list[Block]) -> bool:
    """A report that somebody made up may hold charts of nothing: that costs its own blocks, never the page."""
    try:
        to_html(blocks)
    except Exception:
        return False
    return True


def case_of(run: StoredRun, judgement: Mapping[str, Any], served: Path) -> Mapping[str, Any] | None:
    """The case that was judged; None where it cannot be read, or may not be."""
    plan = run.manifest.plan
    paths = _inputs(run, served)
    if paths is None:
        return None
    how: Any = {"format": plan.format, "mapping": plan.mapping, "split": plan.split}
    try:
        return CasesBeside(lambda: read_cases(paths, **how, judge=judge_of(run.manifest))).case_of(judgement)
    except (ValueError, LookupError, TypeError):  # settings of a manifest that somebody made up
        return None


def judge_of(manifest: Manifest) -> AnyJudge | None:
    """With the options of the run, where they still are options; None for a judge that is not Krino's own."""
    name, options = manifest.plan.judge["name"], manifest.plan.judge.get("options")
    if name not in OURS or not isinstance(options, Mapping):
        return our_judge(name)
    try:
        return recorded_judge(name, options)
    except KrinoError:
        return our_judge(name)


def _inputs(run: StoredRun, served: Path) -> list[str] | None:
    names = run.manifest.plan.inputs
    try:
        if (kept := kept_inputs(run.folder, names)) is not None:
            return kept.paths
        real = [Path(name).resolve(strict=True) for name in names]
    except (KrinoError, OSError, ValueError):
        return None
    home = served.resolve()
    inside = names and all(path.is_file() and path.is_relative_to(home) for path in real)
    return [str(path) for path in real] if inside else None


@lru_cache(maxsize=8)
def _recorded(report: Path, stamp: tuple[int, int]) -> RecordedViews:
    """A report has up to twenty megabytes: it is gone through once, and again when it has changed."""
    return RecordedViews(report)
