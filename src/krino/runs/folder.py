"""Finds the folder of a run: the one that the same command began, or a new one with the reason why."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from krino.errors import UsageProblem
from krino.runs.manifest import Manifest, Plan, differences

OUR_FILES = frozenset({"judgements.jsonl", "stdin.jsonl", "stdin.json"})


@dataclass(frozen=True, slots=True)
class Place:
    """Where a run lives, whether it goes on there, and if it could not, why."""

    folder: Path
    continued: bool
    because: list[str] = field(default_factory=list)
    instead_of: Path | None = None


def find_place(plan: Plan, *, named: Path | None = None, base: Path | None = None) -> Place:
    """The same plan continues its folder; another plan gets a folder of its own."""
    return _in_named(plan, named) if named is not None else _in_base(plan, base or Path("runs"))


def _in_named(plan: Plan, named: Path) -> Place:
    if not named.exists():
        return Place(named, continued=False)
    if not (named / "run.json").exists():
        if not named.is_dir() or any(path.name not in OUR_FILES for path in named.iterdir()):
            raise UsageProblem(f"{named} exists and is no run folder; name another with --run")
        return Place(named, continued=False)  # empty, or a run that was killed before its manifest was written
    changed = differences(Manifest.load(named).plan, plan)
    if not changed:
        return Place(named, continued=True)
    beside = named.with_name(f"{named.name}-{plan.digest()}")
    continued = (beside / "run.json").exists() and not differences(Manifest.load(beside).plan, plan)
    return Place(beside, continued, changed, instead_of=named)


def _in_base(plan: Plan, base: Path) -> Place:
    name, digest = plan.judge["name"], plan.digest()
    stem = str(name).replace(":", "-").replace("/", "-")
    for folder in sorted(base.glob(f"{stem}-*-{digest}"), reverse=True):
        known = _plan_of(folder)
        if known is not None and not differences(known.plan, plan):
            return Place(folder, continued=True)
    fresh = base / f"{stem}-{datetime.now().astimezone():%Y%m%d}-{digest}"
    earlier = _latest_alike(plan, base, stem)
    if earlier is None:
        return Place(fresh, continued=False)
    return Place(fresh, False, differences(Manifest.load(earlier).plan, plan), instead_of=earlier)


def _latest_alike(plan: Plan, base: Path, stem: str) -> Path | None:
    """The newest run of the same judge over the same input, if there is one."""
    alike = []
    for folder in base.glob(f"{stem}-*"):
        known = _plan_of(folder)
        if known is not None and known.plan.inputs == plan.inputs:
            alike.append((known.updated, folder))
    return max(alike)[1] if alike else None


def _plan_of(folder: Path) -> Manifest | None:
    """A neighbour's manifest; one that cannot be read is no reason to refuse a new run."""
    try:
        return Manifest.load(folder)
    except UsageProblem:
        return None
