"""The runs in a folder: which there are, how far each is, and an index of each that is kept current in the background.

Nothing here runs code of a run folder, and nothing outside the folder that is served is opened.
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
from krino.render.at_hand import RunOverview
from krino.results.comparison.compare import compare
from krino.results.comparison.result import Comparison
from krino.results.slices import SliceTable
from krino.results.summary import Collected, Summary, collect
from krino.runs.journal import JOURNAL
from krino.runs.manifest import MANIFEST, Counts, Manifest
from krino.runs.reading import StoredRun
from krino.runs.roll import ROLL
from krino.text.clean import clean_line
from krino.text.guessing import guessed
from krino.web.index.book import VERSION, Book, State, stamp_of
from krino.web.index.pages import Cases
from krino.web.paths import inside_folder

SUMMARY = "summary"
_PATIENCE = 0.25  # seconds that a page waits for the index before it shows what there is
_QUIET = 120.0  # seconds without a word after which a run that says it is going on is called silent
_PAUSE = 20  # a run under way is summed up again after so many times the time that it took
_WORKERS = 2
_MOST_COMPARED = 8
_SHOWN_FLIPS = 200
"""Cases named for each kind of change."""


class NoSuchRun(UsageProblem):
    """There is no run of this name in the folder."""


@dataclass(frozen=True, slots=True)
class Shelved:
    """A run as the list of runs shows it."""

    name: str
    manifest: Manifest | None
    problem: str = ""
    """Why it cannot be read."""
    heard: float = 0.0
    """When one of its files was written last, in seconds since 1970."""

    @property
    def going_on(self) -> bool:
        return self.manifest is not None and self.manifest.state == "running"

    @property
    def silent(self) -> bool:
        """It says that it is going on, and nothing has been written for a while: it may have been killed."""
        return self.going_on and time.time() - self.heard > _QUIET


@dataclass(frozen=True, slots=True)
class Overall:
    """What a run comes to as a whole, as far as it was summed up."""

    found: Collected
    own: list[Block]
    """What the judge says of all its cases."""
    current: bool
    """False while a later state of the run is being summed up."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A run with its index, as it is at this moment."""

    name: str
    run: StoredRun
    book: Book
    state: State
    indexing: bool
    """The index is being made; what is there already can be shown."""
    cases: Cases
    journal_size: int

    @property
    def manifest(self) -> Manifest:
        return self.run.manifest

    @property
    def behind(self) -> bool:
        """Not all that is in the journal is in the index yet: whoever counts cases now counts too few."""
        return self.indexing and self.state.journal.end < self.journal_size

    def counts(self) -> Counts:
        return self.cases.counts()

    def overall(self) -> Overall | None:
        """None until the run was summed up once."""
        made_of, data = self.book.made_of(SUMMARY), self.book.result(SUMMARY)
        if data is None:
            return None
        found = Collected(
            Summary.model_validate(data["summary"]), [SliceTable.model_validate(table) for table in data["slices"]]
        )
        return Overall(found, from_data(data["own"]), made_of == _made_of(self.run, self.state))


class RunShelf:
    """The runs of one folder. Safe to be used by several threads; `close` ends what goes on in the background."""

    def __init__(self, folder: Path, cache: Path | None = None) -> None:
        """`cache`: where the indexes are kept; by default beside the runs, or where that may not be written, with the
        other caches of the user."""
        self.folder = folder
        self._cache = cache or _usual_cache(folder)
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="krino-index")
        self._jobs: dict[str, Future[None]] = {}
        self._done: dict[str, Any] = {}
        """Of each run the stamp of its files when it was last indexed."""
        self._summed: dict[str, tuple[float, float]] = {}
        """When each run was last summed up, and how long that took."""
        self._manifests: dict[str, tuple[Any, Shelved]] = {}
        self._compared: dict[Any, Future[Comparison]] = {}
        self._comparing = threading.Lock()
        """One comparison at a time: each holds both runs in memory."""
        self._lock = threading.Lock()
        self._closing = threading.Event()

    # --- which runs there are --------------------------------------------------------------------

    def runs(self) -> list[Shelved]:
        """The newest first; those that cannot be read come last."""
        found = [self._shelved(path) for path in self._folders()]
        return sorted(
            found, key=lambda run: (run.manifest.started.timestamp() if run.manifest else 0, run.name), reverse=True
        )

    def shelved(self, name: str) -> Shelved:
        """One run as the list shows it."""
        return self._shelved(self.path_of(name))

    def load(self, name: str) -> StoredRun:
        """A run as it lies there, without its index. Raises `NoSuchRun`; no name leads out of the folder."""
        path = self.path_of(name)
        return StoredRun(path, Manifest.load(path))

    def path_of(self, name: str) -> Path:
        """The folder of a run, by its name alone."""
        if self._is_one_run:
            path = self.folder.resolve() if name == self.folder.resolve().name else None
        else:
            path = inside_folder(self.folder, name)
        if path is None or path.name != name or not (path / MANIFEST).is_file():
            guess = guessed(name, (other.name for other in self._folders()))
            raise NoSuchRun(f"there is no run `{clean_line(name, 100)}` here{guess}")
        return path

    @property
    def _is_one_run(self) -> bool:
        return (self.folder / MANIFEST).is_file()

    def _folders(self) -> Iterator[Path]:
        """The served folder itself where it is a run, else what lies in it."""
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

    def _shelved(self, path: Path) -> Shelved:
        stamp = _stamp(path)
        known = self._manifests.get(path.name)
        if known is not None and known[0] == stamp:
            return known[1]
        heard = max((mtime for mtime, _ in stamp), default=0) / 1e9
        try:
            shelved = Shelved(path.name, Manifest.load(path), heard=heard)
        except UsageProblem as problem:
            shelved = Shelved(path.name, None, str(problem), heard)
        self._manifests[path.name] = (stamp, shelved)
        return shelved

    # --- two runs --------------------------------------------------------------------------------

    def comparison(self, a: str, b: str) -> Comparison | None:
        """B against A; None while it is being worked out. Raises `UsageProblem` where the two cannot be compared."""
        first, second = self.path_of(a), self.path_of(b)
        key = (a, b, _stamp(first), _stamp(second))
        with self._lock:
            if key not in self._compared:
                done = [known for known, job in self._compared.items() if job.done()]
                if len(self._compared) >= _MOST_COMPARED:
                    if not done:  # all of them are still to be worked out: nothing more is begun
                        return None
                    self._compared.pop(done[0])
                self._compared[key] = self._begun(first, second)
            job = self._compared[key]
        try:
            return job.result(_PATIENCE)
        except TimeoutError:
            return None

    def _begun(self, first: Path, second: Path) -> Future[Comparison]:
        """In a thread that ends with the program: nobody who stops the server waits for a comparison of large runs."""
        found: Future[Comparison] = Future()

        def work() -> None:
            try:
                with self._comparing:
                    found.set_result(compare(first, second, shown=_SHOWN_FLIPS))
            except BaseException as fault:
                found.set_exception(fault)

        threading.Thread(target=work, name="krino-compare", daemon=True).start()
        return found

    # --- one run and its index -------------------------------------------------------------------

    def open(self, name: str, patience: float = _PATIENCE) -> Opened:
        """The run with what is indexed of it; where that is not all, the rest is read in the background meanwhile."""
        run = self.load(name)
        book = Book(self._index_of(run.folder))
        job = self._refreshed(name, run, book)
        if job is not None:
            wait([job], patience)
        indexing = job is not None and not job.done()
        state = book.state()
        return Opened(name, run, book, state, indexing, Cases(book, run, state), stamp_of(run.journal)[1])

    def _refreshed(self, name: str, run: StoredRun, book: Book) -> Future[None] | None:
        """The work on the index that goes on, or that is begun now; None where it is current."""
        with self._lock:
            job = self._jobs.get(name)
            if job is not None and not job.done():
                return job
            stamp = _stamp(run.folder)
            if self._done.get(name) == stamp and book.path.exists() and not self._summary_is_due(name, run, book):
                return None
            self._jobs[name] = self._pool.submit(self._work, name, run, book, stamp)
            return self._jobs[name]

    def _work(self, name: str, run: StoredRun, book: Book, stamp: Any) -> None:
        try:
            state = book.extend(run, self._go_on)
            self._done[name] = stamp
            if not state.problem and self._summary_is_due(name, run, book):
                self._sum_up(name, run, book, state)
        except _Closing:
            return
        except sqlite3.DatabaseError:  # a damaged cache: it is made again when the run is opened next
            book.discard()
        except Exception as fault:  # whatever it is, the page says so, and tries again when the run has changed
            book.note_problem(f"the run could not be indexed ({type(fault).__name__}: {fault})")

    def _summary_is_due(self, name: str, run: StoredRun, book: Book) -> bool:
        state = book.state()
        if state.problem or book.made_of(SUMMARY) == _made_of(run, state):
            return False
        at, took = self._summed.get(name, (0.0, 0.0))
        return run.manifest.state != "running" or time.monotonic() - at > _PAUSE * took

    def _sum_up(self, name: str, run: StoredRun, book: Book, state: State) -> None:
        began = time.monotonic()
        own = RunOverview(our_judge(run.manifest.plan.judge["name"]))
        try:
            found = collect(self._watched(run.records()), own, schema=run.manifest.about.fields_schema)
        except UsageProblem as problem:  # what only a reader of the whole run can see: a case is missing
            book.note_problem(str(problem))
            return
        data = {
            "summary": found.summary.model_dump(mode="json"),
            "slices": [table.model_dump(mode="json") for table in found.slices],
            "own": as_data(own.blocks()),
        }
        book.keep(SUMMARY, _made_of(run, state), data)
        self._summed[name] = (time.monotonic(), time.monotonic() - began)

    def _watched(self, records: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for record in records:
            self._go_on()
            yield record

    def _go_on(self) -> None:
        if self._closing.is_set():
            raise _Closing

    def _index_of(self, folder: Path) -> Path:
        """By where the run lies: what it is, the index itself knows."""
        key = hashlib.blake2b(os.fsencode(folder.resolve()), digest_size=12).hexdigest()
        return self._cache / f"{key}.v{VERSION}.sqlite"

    def close(self) -> None:
        self._closing.set()
        self._pool.shutdown(wait=True, cancel_futures=True)


class _Closing(Exception):
    """The shelf is being closed: background work ends where it is."""


def _usual_cache(folder: Path) -> Path:
    """They can be deleted at any time. A run folder that is served by itself is not written to: it may be anyone's."""
    if not (folder / MANIFEST).is_file() and os.access(folder, os.W_OK):
        return folder / ".workbench"
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return (Path(base) if base else Path.home() / ".cache") / "krino" / "workbench"


def _stamp(folder: Path) -> tuple[tuple[int, int], ...]:
    """When the files of a run were written last, and how long they are."""
    return tuple(stamp_of(folder / name) for name in (MANIFEST, JOURNAL, ROLL))


def _made_of(run: StoredRun, state: State) -> str:
    """What a summary was made of: should any of it change, the summary is of before."""
    return f"{state.started} {run.manifest.state} {state.journal.end}"
