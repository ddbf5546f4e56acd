"""Finds the folder of a run, says why a command cannot go on in it, and clears away what an earlier command left."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import orjson

from krino.errors import UsageProblem
from krino.labellers.llm.batch.ledger import FOLDER
from krino.runs.files import inside
from krino.runs.inputs import is_kept_input
from krino.runs.journal import JOURNAL
from krino.runs.manifest import MANIFEST, Counts, Manifest, Plan, differences
from krino.runs.roll import ROLL
from krino.runs.views import VIEWS
from krino.text.clean import clean_name, has_unseen
from krino.writing import OWNER_ONLY, make_own_folder

BATCHES = FOLDER
"""What the engine of batch files keeps for as long as anything is out."""
RESULTS = (ROLL, "report.html", "judgements.parquet")
"""What speaks of the cases of one command; the journal and the views outlive them."""
OUR_FILES = frozenset({MANIFEST, JOURNAL, VIEWS, BATCHES, *RESULTS})
"""What a run keeps in its folder, beside its inputs that could be read only once."""
TRYING = f".{MANIFEST}.trying"
"""Lies in the folder while this process tries the judge on the first cases."""
_NO_LINK_OR_PIPE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of `open`: fail where a link lies, and do not wait at a pipe that nobody reads."""
WAYS_OUT = "name another folder with --run, or judge everything anew in this one with --fresh"


@dataclass(frozen=True, slots=True)
class RunLocation:
    """Where a run lives, and whether it goes on there."""

    folder: Path
    continued: bool
    because: list[str] = field(default_factory=list)
    """Of a new folder: in what an earlier run over the same input differs."""
    instead_of: Path | None = None


def find_location(
    plan: Plan, *, named: Path | None = None, base: Path | None = None, fresh: bool = False
) -> RunLocation:
    """A named folder is the folder, or is refused; without a name, every plan has a folder of its own.

    `fresh`: what the folder holds is not to be used. Nothing is changed here.
    """
    if named is not None:
        if has_unseen(named.name) and not named.exists():
            raise UsageProblem(
                f"the run `{clean_name(named.name)}` cannot be made under the name that was given: it holds characters "
                "that nobody sees (soft hyphens, or such as turn the line around); write the name without them"
            )
        return RunLocation(named, continued=_goes_on(plan, named, fresh))
    return _in_base(plan, base or Path("runs"), fresh)


def refuse_other(known: Plan, plan: Plan, folder: Path) -> None:
    """Verdicts of another judge, labeller or option are never mixed with this command's."""
    if changed := differences(known.identity(), plan.identity()):
        told = "".join(f"\n  {line}" for line in changed)
        raise UsageProblem(f"{folder} was judged otherwise, so this command cannot go on there:{told}\n{WAYS_OUT}")


def refuse_batches_out(folder: Path) -> None:
    """For every engine but that of batch files: what is at the provider, or has come back, would be paid again."""
    if (folder / BATCHES).exists():
        raise UsageProblem(
            f"{folder} has requests out in batch files, which are paid for: go on with --engine batch (or delete "
            f"{folder / BATCHES}, and they are asked and paid anew)"
        )


def was_killed(folder: Path) -> bool:
    """Whether the last command in this folder never came to say how it ended: a case may have killed its process."""
    known = _manifest_of(folder)
    return (folder / TRYING).exists() or (known is not None and known.state == "running")


@contextlib.contextmanager
def trying(folder: Path) -> Iterator[None]:
    """While the judge's code is tried before the folder is claimed: if that kills this process, `was_killed` knows."""
    made = make(folder)
    try:
        with contextlib.suppress(OSError):  # where nothing can be written, whoever claims the folder says so
            os.close(os.open(folder / TRYING, os.O_WRONLY | os.O_CREAT | _NO_LINK_OR_PIPE, OWNER_ONLY))
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / TRYING).unlink(missing_ok=True)
            for path in made:
                path.rmdir()


def make(folder: Path) -> list[Path]:
    """The folders that had to be made, the inmost first."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        make_own_folder(folder)
    except OSError as error:
        raise UsageProblem(f"{folder} cannot be made: {error.strerror}; name another folder with --run") from None
    return made


def clear_results(folder: Path) -> None:
    """Killed in between, this leaves an unfinished run: `run.json` says so before anything else goes."""
    known = _manifest_of(folder)
    if known is not None:
        known.state, known.stop_reason = "running", None
        known.cases, known.input_hash, known.counts = None, None, Counts()
        known.repeated_ids, known.repeated_id = 0, None
        known.write(folder)
    else:
        (folder / MANIFEST).unlink(missing_ok=True)
    for name in RESULTS:
        (folder / name).unlink(missing_ok=True)
    for draft in (path for path in folder.iterdir() if _is_draft(path.name)):
        draft.unlink()


def unclaim(folder: Path, made: Sequence[Path]) -> None:
    """Nothing was judged: leave no trace of a folder, and of those above it, that were made for it."""
    with contextlib.suppress(OSError):  # it is gone, or somebody else has put something there
        for path in (path for path in folder.iterdir() if _is_our_file(path.name)):
            path.unlink()
        for path in made:
            path.rmdir()


# --- a folder with a name ----------------------------------------------------------------------------


def _goes_on(plan: Plan, named: Path, fresh: bool) -> bool:
    """Whether there are judgements that the command goes on from; refuses what is not its to touch."""
    if not named.exists():
        return False
    if not named.is_dir() or not (_is_run(named) or _is_ours(named)):
        raise UsageProblem(f"{named} exists and is no run folder; name another with --run")
    if fresh or not _has_lines(named / JOURNAL):
        return False  # nothing in it can be mixed with anything
    if not (named / MANIFEST).exists():
        raise UsageProblem(f"{named} has judgements and no {MANIFEST} that says whose they are; {WAYS_OUT}")
    refuse_other(Manifest.load(named).plan, plan, named)
    return True


def _is_run(folder: Path) -> bool:
    """Whether its `run.json` is one of Krino's, of whatever version."""
    try:
        data = orjson.loads(inside(folder / MANIFEST).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(data, dict) and {"schema_version", "krino_version", "plan"} <= data.keys()


def _is_ours(folder: Path) -> bool:
    """Empty, or with nothing but what a run leaves behind that was killed early or damaged."""
    return all(_is_our_file(path.name) or _is_draft(path.name) for path in folder.iterdir())


def _is_our_file(name: str) -> bool:
    return name in OUR_FILES or is_kept_input(name)


def _is_draft(name: str) -> bool:
    """A file that was not written to its end: its own name, a dot before it and perhaps something after it."""
    return name.startswith(".") and (_is_our_file(name[1:]) or _is_our_file(name[1:].rpartition(".")[0]))


def _has_lines(journal: Path) -> bool:
    return journal.exists() and journal.stat().st_size > 0


# --- a folder of its own for every plan --------------------------------------------------------------


def _in_base(plan: Plan, base: Path, fresh: bool) -> RunLocation:
    name, digest = plan.judge["name"], plan.digest()
    stem = str(name).replace(":", "-").replace("/", "-")
    for folder in sorted(base.glob(f"{stem}-*-{digest}"), reverse=True):
        known = _manifest_of(folder)
        if known is not None and not differences(known.plan, plan):
            return RunLocation(folder, continued=not fresh)
    new = base / f"{stem}-{datetime.now().astimezone():%Y%m%d}-{digest}"
    earlier = _latest_alike(plan, base, stem)
    if earlier is None:
        return RunLocation(new, continued=False)
    return RunLocation(new, False, differences(Manifest.load(earlier).plan, plan), instead_of=earlier)


def _latest_alike(plan: Plan, base: Path, stem: str) -> Path | None:
    """The newest run of the same judge over the same input, if there is one."""
    alike = []
    for folder in base.glob(f"{stem}-*"):
        known = _manifest_of(folder)
        if known is not None and known.plan.inputs == plan.inputs:
            alike.append((known.updated, folder))
    return max(alike)[1] if alike else None


def _manifest_of(folder: Path) -> Manifest | None:
    """None where there is none that can be read: no reason to refuse a new run."""
    try:
        return Manifest.load(folder)
    except UsageProblem:
        return None
