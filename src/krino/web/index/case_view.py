"""How the judge of a run shows one case: by the view that the run keeps, or of the case where that may be read again.

A run folder may come from anyone. So only Krino's own judges are loaded, a case is read only where its input was kept
in the run's folder or lies in the folder that is served (where it was, or a copy of that name), and only if it is the
one that was judged.
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
from krino.examples import EXAMPLES
from krino.judges.registry import is_ours, our_judge, recorded_judge
from krino.render.html import can_be_drawn
from krino.render.live_views import LiveJudge
from krino.runs.inputs import CasesBeside, identify_by, is_name_of_copy, kept_inputs
from krino.runs.manifest import Manifest
from krino.runs.stored_run import StoredRun
from krino.runs.views import VIEWS, StoredViews
from krino.text.clean import clean_line
from krino.web.index.run_index import stamp_file

_LONGEST_NAMES = 160


def own_blocks(run: StoredRun, judgement: Mapping[str, Any], served: Path) -> list[Block]:
    """Returns the blocks of the view that the run keeps, else of one made from the case; empty if neither is
    available."""
    stored = _open_views(run.folder, stamp_file(run.folder / VIEWS)).blocks_of(judgement["input_hash"])
    if stored is not None and can_be_drawn(stored):
        return stored
    case, judge = case_of(run, judgement, served), judge_of(run.manifest)
    return [] if case is None or judge is None else LiveJudge(judge).view(judgement, case)


def case_of(run: StoredRun, judgement: Mapping[str, Any], served: Path) -> Mapping[str, Any] | None:
    """Reads the case that was judged from its input; None if it cannot be read, or may not be."""
    plan = run.manifest.plan
    paths = find_inputs(run, served)
    if paths is None:
        return None
    how: Any = {"format": plan.format, "mapping": plan.mapping, "split": plan.split}
    judge = judge_of(run.manifest)
    identify = identify_by(judge, run.manifest.about.content_names)
    try:
        return CasesBeside(lambda: read_cases(paths, **how, judge=judge), identify).case_of(judgement)
    except (ValueError, LookupError, TypeError):  # settings of a manifest that somebody made up
        return None


def judge_of(manifest: Manifest) -> AnyJudge | None:
    """Loads the judge of a run, with the options of the run if they are still valid; None for a judge that is not
    Krino's own."""
    name, options = manifest.plan.judge["name"], manifest.plan.judge.get("options")
    if not is_ours(name) or not isinstance(options, Mapping):
        return our_judge(name)
    try:
        return recorded_judge(name, options)
    except KrinoError:
        return our_judge(name)


def find_inputs(run: StoredRun, served: Path) -> list[str] | None:
    """Returns the paths of a run's inputs (the copies that the run kept come first), or None unless all may be read."""
    names = run.manifest.plan.inputs
    try:
        if (kept := kept_inputs(run.folder, names)) is not None:
            return kept.paths
        found = [_find_readable(name, served) for name in names]
    except (KrinoError, OSError, ValueError):
        return None
    paths = [str(path) for path in found if path is not None]
    return paths if paths and len(paths) == len(names) else None


def _find_readable(name: str, served: Path) -> Path | None:
    """Finds an input where it was when it was judged, or a copy of its name in the folder that is served; also an
    example that comes with Krino, for the runs of `krino demo`. None outside of these folders."""
    home = served.resolve()
    for path in (Path(name), home / Path(name).name):
        real = path.resolve()
        if (real.is_relative_to(home) or real.is_relative_to(EXAMPLES)) and real.is_file():
            return real
    return None


def why_not_at_hand(run: StoredRun, served: Path) -> str:
    """Says why a case cannot be read, and what to do about it. It names files, but not where they were."""
    names = run.manifest.plan.inputs
    if not names:
        return "the run does not say which file it came from; judge the cases again"
    if find_inputs(run, served) is not None:
        shown = clean_line(", ".join(Path(name).name for name in names), _LONGEST_NAMES)
        return (
            f"{shown} no longer holds it as it was judged; bring back the file that was "
            "judged, or judge the cases again"
        )
    lacking = [name for name in names if not _is_readable(run, name, served)]
    if is_name_of_copy(lacking[0]):
        return (
            "the copy of the input that the run kept is gone from its folder; bring it back, or judge the cases again"
        )
    shown = clean_line(Path(lacking[0]).name, _LONGEST_NAMES)
    more = f" (and {len(lacking) - 1:,} more files)" if len(lacking) > 1 else ""
    return (
        f"its file {shown}{more} is not in the folder that the workbench serves, and it "
        f"reads no others; put a copy of {shown} into that folder and load this page again"
    )


def _is_readable(run: StoredRun, name: str, served: Path) -> bool:
    """May an input be read: is it kept in the run folder, or inside the served folder?"""
    try:
        return kept_inputs(run.folder, [name]) is not None or _find_readable(name, served) is not None
    except (KrinoError, OSError, ValueError):
        return False


@lru_cache(maxsize=8)
def _open_views(folder: Path, stamp: tuple[int, int]) -> StoredViews:
    """Opens the stored views of a run. They may take fifty megabytes: where each begins is looked for once, and again
    when the file has changed (`stamp`)."""
    return StoredViews(folder)
