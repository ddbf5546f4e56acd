"""The judge and the inputs of a run that someone else may have made: only what the user vouches for is loaded or read.

A run folder names its judge and its inputs. Taken at its word, it could name code to run and files to read; so a judge
is one of Krino's own or named by the user, and an input is kept in the folder or named by the user.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.engine.case import AnyJudge
    from krino.runs.manifest import Plan


def address_of(run: Path, plan: Plan, named: str | None, trust: bool, command: str) -> str:
    """Of the judge: as the user names it, or as the run does where that is safe or the user says so."""
    from krino.judges.registry import OURS
    from krino.text.clean import clean_line

    stored = clean_line(str(plan.judge.get("address") or plan.judge.get("name") or ""))
    if named is not None:
        return named
    if stored in OURS or (trust and stored):
        return stored
    raise UsageProblem(
        f"{run} was made with the judge {stored or '(not named)'}, which is no judge of Krino's own: to load it is to "
        f"run its code. If that is your judge: {command} --judge {shlex.quote(stored or 'JUDGE')} (or --trust, to take "
        "whatever the folder names)"
    )


def own_judge(plan: Plan) -> AnyJudge | None:
    """The run's judge, if it is one of Krino's own: those are no stranger's code."""
    from krino.judges.registry import OURS

    stored = str(plan.judge.get("address") or plan.judge.get("name"))
    return judge_of(stored, plan, {}) if stored in OURS else None


def judge_of(address: str, plan: Plan, options: Mapping[str, Any]) -> AnyJudge:
    """With the options of the run, and over them those given now."""
    from krino.judges.registry import load_judge

    stored = plan.judge.get("options")
    return load_judge(address, {**(stored if isinstance(stored, Mapping) else {}), **options})


def kept_inputs(run: Path, plan: Plan) -> list[str] | None:
    """Where the inputs lie that were kept in the folder; None where one of them lies elsewhere, or is gone."""
    from krino.runs.inputs import kept_input

    kept = [kept_input(run, name) for name in plan.inputs]
    return [str(path) for path in kept if path is not None] if all(path and path.exists() for path in kept) else None
