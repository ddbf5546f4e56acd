"""Finds the folder of a run, refuses folders that cannot be continued, and clears the results of earlier commands."""

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
from krino.runs.guarded_files import inside
from krino.runs.index import INDEX
from krino.runs.inputs import is_kept_input
from krino.runs.journal import JOURNAL
from krino.runs.manifest import MANIFEST, Counts, Manifest, Plan, differences
from krino.runs.roll import ROLL
from krino.runs.views import VIEWS
from krino.text.clean import clean_name, has_unseen
from krino.writing import OWNER_ONLY, make_own_folder

BATCHES = FOLDER
"""The ledger of the engine for batch files, while batches are pending."""
RESULTS = (ROLL, "report.html", "judgements.parquet")
"""Files about the cases of one command; journal, index and views are kept for the next."""
WRITTEN, SPOOL, SINCE = "written.jsonl", "spans.jsonl", "since.json"
"""Files of `krino watch`: traces whose scores were written, spans that were sent to it, where it goes on reading."""
OUR_FILES = frozenset({MANIFEST, JOURNAL, INDEX, VIEWS, BATCHES, WRITTEN, SPOOL, SINCE, *RESULTS})
"""The files of a run, apart from copies of inputs."""
TRYING = f".{MANIFEST}.trying"
"""A file that exists while this process tries the judge on the first cases."""
_NO_LINK_OR_PIPE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags of `open`: fail on a link, and do not block on a pipe."""
REMEDY = "name another folder with --run, or judge everything again in this one with --fresh"


@dataclass(frozen=True, slots=True)
class RunLocation:
    """The folder of a run, and whether the run is continued there."""

    folder: Path
    continued: bool
    because: list[str] = field(default_factory=list)
    """For a new folder: how an earlier run over the same input differs."""
    instead_of: Path | None = None


def find_location(
    plan: Plan, *, named: Path | None = None, base: Path | None = None, fresh: bool = False
) -> RunLocation:
    """Returns the folder of a plan's run, and whether that run is continued. A named folder is used or refused with a
    `UsageProblem`; without a name, every plan has its own folder. Nothing is changed here.

    `fresh`: do not use what the folder holds.
    """
    if named is not None:
        if has_unseen(named.name) and not named.exists():
            raise UsageProblem(
                f"the run `{clean_name(named.name)}` cannot be made under this name: it contains invisible characters "
                "(soft hyphens, or marks that reverse the text direction); write the name without them"
            )
        return RunLocation(named, continued=_can_continue(plan, named, fresh))
    return _in_base(plan, base or Path("runs"), fresh)


def refuse_other(known: Plan, plan: Plan, folder: Path) -> None:
    """Raises if the folder's verdicts are of another judge, labeller or options: they are never mixed."""
    if changed := differences(known.identity(), plan.identity()):
        reasons = "".join(f"\n  {line}" for line in changed)
        raise UsageProblem(f"{folder} was made with other settings, so it cannot be continued:{reasons}\n{REMEDY}")


def refuse_batches_out(folder: Path) -> None:
    """Raises if batches are pending: with any other engine they would be paid again."""
    if (folder / BATCHES).exists():
        raise UsageProblem(
            f"{folder} has outstanding requests in batch files, which are paid for: continue with --engine batch "
            f"(or delete {folder / BATCHES}, and they are sent and paid again)"
        )


def was_killed(folder: Path) -> bool:
    """Did the last command in this folder end without saying so? Then a case may have killed its process."""
    known = _manifest_of(folder)
    return (folder / TRYING).exists() or (known is not None and known.state == "running")


@contextlib.contextmanager
def trying(folder: Path) -> Iterator[None]:
    """Marks the folder while the judge's code is tried: if that kills this process, `was_killed` is true. Afterwards
    removes the mark, and the folders that it had to make."""
    made = make(folder)
    try:
        with contextlib.suppress(OSError):  # if nothing can be written, claiming the folder fails with a message
            os.close(os.open(folder / TRYING, os.O_WRONLY | os.O_CREAT | _NO_LINK_OR_PIPE, OWNER_ONLY))
        yield
    finally:
        with contextlib.suppress(OSError):
            (folder / TRYING).unlink(missing_ok=True)
            for path in made:
                path.rmdir()


def make(folder: Path) -> list[Path]:
    """Makes the folder; returns the folders that were made, innermost first. Raises `UsageProblem` if it cannot be
    made."""
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        make_own_folder(folder)
    except OSError as error:
        raise UsageProblem(f"{folder} cannot be made: {error.strerror}; name another folder with --run") from None
    return made


def clear_results(folder: Path) -> None:
    """Deletes the results of the last command and drafts of files. `run.json` says first that the run is unfinished, in
    case this is killed."""
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
    """Removes the files of a run in which nothing was judged, and the folders that were made for it. Stops without a
    word at what cannot be removed."""
    with contextlib.suppress(OSError):  # it is gone, or has files of others
        for path in (path for path in folder.iterdir() if _is_our_file(path.name)):
            path.unlink()
        for path in made:
            path.rmdir()


# --- a folder with a name ----------------------------------------------------------------------------


def _can_continue(plan: Plan, named: Path, fresh: bool) -> bool:
    """Are there judgements to continue from? Raises `UsageProblem` if the folder is no run's, or another run's."""
    if not named.exists():
        return False
    if not named.is_dir() or not (_is_run(named) or _is_ours(named)):
        raise UsageProblem(f"{named} exists and is no run folder; name another with --run")
    if fresh or not _has_lines(named / JOURNAL):
        return False  # nothing is there that could be mixed
    if not (named / MANIFEST).exists():
        raise UsageProblem(f"{named} has judgements and no {MANIFEST} that says whose they are; {REMEDY}")
    refuse_other(Manifest.load(named).plan, plan, named)
    return True


def _is_run(folder: Path) -> bool:
    """Whether its `run.json` is Krino's, of any version."""
    try:
        data = orjson.loads(inside(folder / MANIFEST).read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return False
    return isinstance(data, dict) and {"schema_version", "krino_version", "plan"} <= data.keys()


def _is_ours(folder: Path) -> bool:
    """Whether it is empty or has only files of a run that was killed early or damaged."""
    return all(_is_our_file(path.name) or _is_draft(path.name) for path in folder.iterdir())


def _is_our_file(name: str) -> bool:
    return name in OUR_FILES or is_kept_input(name)


def _is_draft(name: str) -> bool:
    """Whether it is an incomplete file: a dot before a known name, perhaps with a suffix."""
    return name.startswith(".") and (_is_our_file(name[1:]) or _is_our_file(name[1:].rpartition(".")[0]))


def _has_lines(journal: Path) -> bool:
    return journal.exists() and journal.stat().st_size > 0


# --- folders without a name --------------------------------------------------------------


def _in_base(plan: Plan, base: Path, fresh: bool) -> RunLocation:
    """Finds the run to continue in a base folder, or names a new one after judge, day and plan."""
    name, digest = plan.judge["name"], plan.digest()
    stem = str(name).replace(":", "-").replace("/", "-")
    for folder in sorted(base.glob(f"{stem}-*-{digest}"), reverse=True):
        known = _manifest_of(folder)
        if known is not None and not differences(known.plan, plan):
            return RunLocation(folder, continued=not fresh)
    new = base / f"{stem}-{datetime.now().astimezone():%Y%m%d}-{digest}"
    earlier = _latest_over_same_input(plan, base, stem)
    if earlier is None:
        return RunLocation(new, continued=False)
    return RunLocation(new, False, differences(Manifest.load(earlier).plan, plan), instead_of=earlier)


def _latest_over_same_input(plan: Plan, base: Path, stem: str) -> Path | None:
    """Returns the newest run of the same judge over the same input; None if there is none."""
    alike = []
    for folder in base.glob(f"{stem}-*"):
        known = _manifest_of(folder)
        if known is not None and known.plan.inputs == plan.inputs:
            alike.append((known.updated, folder))
    return max(alike)[1] if alike else None


def _manifest_of(folder: Path) -> Manifest | None:
    """Returns the manifest; None if it cannot be read, which is no reason to refuse a new run."""
    try:
        return Manifest.load(folder)
    except UsageProblem:
        return None
