"""The folder of runs: lists runs, compares two of them, and keeps an index of each run current in the background.

Nothing here runs code from a run folder or opens a file outside the served folder.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from krino.blocks import Block, as_data, from_data
from krino.errors import UsageProblem
from krino.judges.registry import our_judge
from krino.render.live_views import RunOverview
from krino.results.comparison.compare import compare
from krino.results.comparison.result import Comparison
from krino.results.slices import SliceTable
from krino.results.summary import Collected, Summary, collect
from krino.runs.journal import JOURNAL
from krino.runs.manifest import MANIFEST, Counts, Manifest
from krino.runs.roll import ROLL
from krino.runs.stored_run import StoredRun
from krino.text.clean import clean_line
from krino.text.guessing import did_you_mean
from krino.web.index.cases import Cases
from krino.web.index.run_index import VERSION, RunIndex, State, stamp_file
from krino.web.paths import inside_folder

SUMMARY = "summary"
_PATIENCE = 0.25  # seconds that a page waits for the index before it shows what is there
_QUIET = 120.0  # seconds without a write after which a running run is called silent
_PAUSE = 20  # a running run is summarised again after this many times the duration of the last summary
_WORKERS = 2
_MOST_COMPARED = 8
_SHOWN_FLIPS = 200
"""Most cases that are named for each kind of change."""


class NoSuchRun(UsageProblem):
    """The folder has no run of this name."""


@dataclass(frozen=True, slots=True)
class ListedRun:
    """A run in the list of runs."""

    name: str
    manifest: Manifest | None
    problem: str = ""
    """Why the run cannot be read."""
    last_write: float = 0.0
    """Time of the last write to one of its files, in seconds since 1970."""

    @property
    def is_running(self) -> bool:
        return self.manifest is not None and self.manifest.state == "running"

    @property
    def is_silent(self) -> bool:
        """Whether the run says it is running, but has written nothing for a while: it may have been killed."""
        return self.is_running and time.time() - self.last_write > _QUIET


@dataclass(frozen=True, slots=True)
class RunOverall:
    """The summary of a run, possibly of an earlier state of it."""

    found: Collected
    own: list[Block]
    """Blocks that the judge adds for the run as a whole."""
    current: bool
    """False while a later state of the run is being summarised."""


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A snapshot of a run and its index."""

    name: str
    run: StoredRun
    index: RunIndex
    state: State
    is_indexing: bool
    """Whether the index is still growing. What it has already can be shown."""
    cases: Cases
    journal_size: int

    @property
    def manifest(self) -> Manifest:
        return self.run.manifest

    @property
    def is_incomplete(self) -> bool:
        """Whether part of the journal is not indexed yet, so that counts are too low."""
        return self.is_indexing and self.state.journal.end < self.journal_size

    def counts(self) -> Counts:
        return self.cases.counts()

    def overall(self) -> RunOverall | None:
        """Returns the summary of the run; None until it was made once."""
        source_of, data = self.index.source_of(SUMMARY), self.index.result(SUMMARY)
        if data is None:
            return None
        found = Collected(
            Summary.model_validate(data["summary"]), [SliceTable.model_validate(table) for table in data["slices"]]
        )
        return RunOverall(found, from_data(data["own"]), source_of == _source_key(self.run, self.state))


class RunsFolder:
    """The runs of one folder. Thread-safe. `close` ends the background work."""

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        """`cache`: folder for the indexes; by default beside the runs, or in the user's cache if that is not
        writable."""
        self.folder = folder
        self._cache = cache or _default_cache(folder)
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="krino-index")
        self._jobs: dict[str, Future[None]] = {}
        self._done: dict[str, Any] = {}
        """Per run, the file stamps when it was last indexed."""
        self._summarised: dict[str, tuple[float, float]] = {}
        """Per run, when it was last summarised and how long that took."""
        self._manifests: dict[str, tuple[Any, ListedRun]] = {}
        self._compared: dict[Any, Future[Comparison]] = {}
        self._comparing = threading.Lock()
        """Only one comparison runs at a time, because each holds both runs in memory."""
        self._lock = threading.Lock()
        self._closing = threading.Event()

    # --- listing runs -----------------------------------------------------------------------------

    def runs(self) -> list[ListedRun]:
        """Lists all runs, newest first; unreadable ones come last."""
        found = [self._read_run(path) for path in self._folders()]
        return sorted(
            found, key=lambda run: (run.manifest.started.timestamp() if run.manifest else 0, run.name), reverse=True
        )

    def find_run(self, name: str) -> ListedRun:
        """Reads one run as in the list; raises `NoSuchRun`."""
        return self._read_run(self.path_of(name))

    def load(self, name: str) -> StoredRun:
        """Opens a run without its index. Raises `NoSuchRun`; no name leads out of the folder."""
        path = self.path_of(name)
        return StoredRun(path, Manifest.load(path))

    def path_of(self, name: str) -> Path:
        """Returns the folder of a run, by its name; raises `NoSuchRun`."""
        if self._is_one_run:
            path = self.folder.resolve() if name == self.folder.resolve().name else None
        else:
            path = inside_folder(self.folder, name)
        if path is None or path.name != name or not (path / MANIFEST).is_file():
            guess = did_you_mean(name, (other.name for other in self._folders()))
            raise NoSuchRun(f"no run `{clean_line(name, 100)}` in this folder{guess}")
        return path

    @property
    def _is_one_run(self) -> bool:
        return (self.folder / MANIFEST).is_file()

    def _folders(self) -> Iterator[Path]:
        """Yields the run folders: the served folder itself if it is a run, otherwise its subfolders that are runs."""
        if self._is_one_run:
            yield self.folder.resolve()
            return
        try:
            names = sorted(entry.name for entry in os.scandir(self.folder))
        except OSError as error:
            raise UsageProblem(f"{self.folder} cannot be read: {error.strerror}") from None
        for name in names:
            path = inside_folder(self.folder, name)
            if path is not None and path.name == name and (path / MANIFEST).is_file():
                yield path

    def _read_run(self, path: Path) -> ListedRun:
        """Returns a run as in the list. Its manifest is read again only if its files have changed; one that cannot be
        read gives a run with the problem."""
        stamp = _stamp_run(path)
        known = self._manifests.get(path.name)
        if known is not None and known[0] == stamp:
            return known[1]
        last_write = max((mtime for mtime, _ in stamp), default=0) / 1e9
        try:
            listed = ListedRun(path.name, Manifest.load(path), last_write=last_write)
        except UsageProblem as problem:
            listed = ListedRun(path.name, None, str(problem), last_write)
        self._manifests[path.name] = (stamp, listed)
        return listed

    # --- comparing two runs --------------------------------------------------------------------------------

    def comparison(self, a: str, b: str) -> Comparison | None:
        """Compares B with A; None while that is being computed, or waits for other comparisons. Raises `UsageProblem`
        if they cannot be compared."""
        first, second = self.path_of(a), self.path_of(b)
        key = (a, b, _stamp_run(first), _stamp_run(second))
        with self._lock:
            if key not in self._compared:
                done = [known for known, job in self._compared.items() if job.done()]
                if len(self._compared) >= _MOST_COMPARED:
                    if not done:  # all are still being computed: start no more
                        return None
                    self._compared.pop(done[0])
                self._compared[key] = self._start_comparing(first, second)
            job = self._compared[key]
        try:
            return job.result(_PATIENCE)
        except TimeoutError:
            return None

    def _start_comparing(self, first: Path, second: Path) -> Future[Comparison]:
        """Starts a comparison and returns its future: on a daemon thread, so that stopping the server does not wait for
        a comparison of large runs."""
        found: Future[Comparison] = Future()

        def work() -> None:
            """Compares the runs and sets the result."""
            try:
                with self._comparing:
                    found.set_result(compare(first, second, shown=_SHOWN_FLIPS))
            except BaseException as fault:
                found.set_exception(fault)

        threading.Thread(target=work, name="krino-compare", daemon=True).start()
        return found

    # --- indexing one run ------------------------------------------------------------------------

    def open(self, name: str, patience: float = _PATIENCE) -> OpenRun:
        """Opens a run with its index, waiting `patience` seconds for it to be complete; if it is not, it grows in the
        background meanwhile. Raises `NoSuchRun`."""
        run = self.load(name)
        index = RunIndex(self._index_path(run.folder))
        job = self._refresh(name, run, index)
        if job is not None:
            wait([job], patience)
        indexing = job is not None and not job.done()
        state = index.state()
        return OpenRun(name, run, index, state, indexing, Cases(index, run, state), stamp_file(run.journal)[1])

    def _refresh(self, name: str, run: StoredRun, index: RunIndex) -> Future[None] | None:
        """Starts work on the index unless it is running already, and returns its future; None if the index is
        current."""
        with self._lock:
            job = self._jobs.get(name)
            if job is not None and not job.done():
                return job
            stamp = _stamp_run(run.folder)
            if self._done.get(name) == stamp and index.path.exists() and not self._summary_is_due(name, run, index):
                return None
            self._jobs[name] = self._pool.submit(self._update_index, name, run, index, stamp)
            return self._jobs[name]

    def _update_index(self, name: str, run: StoredRun, index: RunIndex, stamp: Any) -> None:
        """Brings the index of a run and its summary up to date; never raises: what went wrong is noted in the index."""
        try:
            state = index.extend(run, self._raise_if_closing)
            self._done[name] = stamp
            if not state.problem and self._summary_is_due(name, run, index):
                self._summarise(name, run, index, state)
        except _Closing:
            return
        except sqlite3.DatabaseError:  # a damaged cache is rebuilt when the run is opened next
            index.discard()
        except Exception as fault:  # the page shows it, and tries again when the run has changed
            index.note_problem(f"the run could not be indexed ({type(fault).__name__}: {fault})")

    def _summary_is_due(self, name: str, run: StoredRun, index: RunIndex) -> bool:
        """Whether the run has changed since its last summary. While it is going on, summaries may take only a part of
        the time."""
        state = index.state()
        if state.problem or index.source_of(SUMMARY) == _source_key(run, state):
            return False
        at, took = self._summarised.get(name, (0.0, 0.0))
        return run.manifest.state != "running" or time.monotonic() - at > _PAUSE * took

    def _summarise(self, name: str, run: StoredRun, index: RunIndex, state: State) -> None:
        """Summarises a run and keeps the result in its index; a problem with the run is noted there instead."""
        began = time.monotonic()
        own = RunOverview(our_judge(run.manifest.plan.judge["name"]))
        try:
            found = collect(self._check_closing(run.records()), own, schema=run.manifest.about.fields_schema)
        except UsageProblem as problem:  # found only by reading the whole run, such as a missing case
            index.note_problem(str(problem))
            return
        data = {
            "summary": found.summary.model_dump(mode="json"),
            "slices": [table.model_dump(mode="json") for table in found.slices],
            "own": as_data(own.blocks()),
        }
        index.keep(SUMMARY, _source_key(run, state), data)
        self._summarised[name] = (time.monotonic(), time.monotonic() - began)

    def _check_closing(self, records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """Passes records on, and raises `_Closing` once the server is closing."""
        for record in records:
            self._raise_if_closing()
            yield record

    def _raise_if_closing(self) -> None:
        if self._closing.is_set():
            raise _Closing

    def _index_path(self, folder: Path) -> Path:
        """Returns the path of a run's index, derived from the run's path. What the run is, the index itself records."""
        key = hashlib.blake2b(os.fsencode(folder.resolve()), digest_size=12).hexdigest()
        return self._cache / f"{key}.v{VERSION}.sqlite"

    def close(self) -> None:
        """Ends the background work and waits for it; what was not done is done when the run is opened again."""
        self._closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Closing(Exception):
    """Ends background work because the server is closing."""


def _default_cache(folder: Path) -> Path:
    """Returns the folder of the indexes, which can be deleted at any time. A run folder served alone is never written
    to: it may come from anyone."""
    if not (folder / MANIFEST).is_file() and os.access(folder, os.W_OK):
        return folder / ".workbench"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "krino" / "workbench"


def _stamp_run(folder: Path) -> tuple[tuple[int, int], ...]:
    """Returns modification time and size of a run's files."""
    return tuple(stamp_file(folder / name) for name in (MANIFEST, JOURNAL, ROLL))


def _source_key(run: StoredRun, state: State) -> str:
    """Describes what a summary was made from; if it changes, the summary is outdated."""
    return f"{state.started} {run.manifest.state} {state.journal.end}"
