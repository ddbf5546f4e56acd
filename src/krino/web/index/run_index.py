"""The index of one run, a SQLite file with one row per case: where its journal line begins, and columns to filter by.

It is a cache: if anything is odd about it, it is deleted and rebuilt. It grows with the journal in batches, so that
readers see the first cases while the rest is read. A run folder may come from anyone, so every line passes the check
that all readers of journals share (`krino.runs.checking`).
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from krino.errors import UsageProblem
from krino.runs.checking import LineCheck
from krino.runs.guarded_files import FilePosition, Line, inside
from krino.runs.index import is_open
from krino.runs.journal import read_journal
from krino.runs.roll import ROLL, Entry, read_entries, read_roll
from krino.runs.stored_run import StoredRun
from krino.web.index.columns import FIELDS, METADATA, field_names, field_values, metadata_values, searchable_text
from krino.writing import make_own_file, make_own_folder

VERSION = 2
"""Version of the tables. It is part of the file name, so that an index of another version is never read."""
_BATCH = 1_000
_MARK = 4_096  # bytes before the end of the indexed journal that must be unchanged
_TABLES = f"""
CREATE TABLE state (one INTEGER PRIMARY KEY CHECK (one = 1), data BLOB NOT NULL);
CREATE TABLE result (name TEXT PRIMARY KEY, source_of TEXT NOT NULL, data BLOB NOT NULL);
CREATE TABLE entry (place INTEGER PRIMARY KEY, id TEXT NOT NULL, digest BLOB NOT NULL, source BLOB);
CREATE INDEX entry_digest ON entry (digest);
CREATE INDEX entry_id ON entry (id);
CREATE TABLE line (digest BLOB UNIQUE NOT NULL, number INTEGER PRIMARY KEY, offset INTEGER NOT NULL,
    status TEXT NOT NULL, roll_up TEXT,
    {", ".join((*FIELDS, *METADATA))});
CREATE VIRTUAL TABLE words USING fts5(body, content='', tokenize='unicode61 remove_diacritics 2')"""
_CASES = ("DELETE FROM entry",)
_LINES = ("DELETE FROM line", "INSERT INTO words(words) VALUES ('delete-all')")
JUDGED = "FROM entry JOIN line USING (digest)"
"""The cases that are judged."""
_INSERT_LINE = f"INSERT OR REPLACE INTO line VALUES (?, ?, ?, ?, ?{', ?' * len((*FIELDS, *METADATA))})"  # noqa: S608


@dataclass(slots=True)
class State:
    """How far the index has read its run."""

    folder: str = ""
    started: str = ""
    """Start of the command whose cases are indexed; every command rewrites the roll."""
    whole: bool = False
    """Whether the complete roll of a finished run is indexed."""
    roll: FilePosition = field(default_factory=FilePosition)
    journal: FilePosition = field(default_factory=FilePosition)
    mark: str = ""
    """Hash of the last bytes of the indexed journal. If it no longer matches, the journal was rewritten."""
    fields: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    counts: dict[str, int] | None = None
    """Number of cases by status; None while more are being read."""
    problem: str = ""
    """Why the run cannot be read."""

    @classmethod
    def of(cls, data: bytes | None) -> State:
        """Reads the stored state; without one, that of an empty index."""
        if data is None:
            return cls()
        values = orjson.loads(data)
        return cls(**{**values, "roll": FilePosition(*values["roll"]), "journal": FilePosition(*values["journal"])})

    def to_json(self) -> bytes:
        return orjson.dumps({**asdict(self), "roll": list(self.roll), "journal": list(self.journal)})


class RunIndex:
    """One process writes at a time; any number of readers have a connection each."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- reading ---------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Opens a connection for reading. Half-written batches are not visible."""
        db = self._connect()
        try:
            db.execute("PRAGMA query_only = ON")
            yield db
        finally:
            db.close()

    def state(self) -> State:
        """Reads the stored state; that of an empty index if there is none yet."""
        return State.of(self._read_value("SELECT data FROM state"))

    def source_of(self, name: str) -> Any:
        """Returns what a stored result was computed from; None if there is none. See `keep`."""
        return self._read_value("SELECT source_of FROM result WHERE name = ?", name)

    def result(self, name: str) -> Any:
        """Returns a result stored with `keep`; None if there is none."""
        found = self._read_value("SELECT data FROM result WHERE name = ?", name)
        return None if found is None else orjson.loads(found)

    def _read_value(self, sql: str, *values: str) -> Any:
        """Reads one value from the index, or None if there is no index yet."""
        if not self.path.exists():
            return None
        with self.reading() as db:
            return _fetch_value(db, sql, values)

    # --- writing ---------------------------------------------------------------------------------

    def keep(self, name: str, source_of: str, data: Any) -> None:
        """Stores a result under a name, with what it was computed from; it replaces an earlier one."""
        with self._writing() as db:
            value = orjson.dumps(data, option=orjson.OPT_NON_STR_KEYS)
            db.execute("INSERT OR REPLACE INTO result VALUES (?, ?, ?)", (name, source_of, value))

    def note_problem(self, problem: str) -> None:
        """Stores why the run cannot be indexed."""
        with self._writing() as db:
            state = _read_state(db)
            state.problem = problem
            _save_state(db, state)

    def extend(self, run: StoredRun, go_on: Callable[[], None]) -> State:
        """Indexes what was added to the run and returns the new state. A problem with the run is stored in
        `State.problem` and ends the reading.

        The roll is read first, because a case is on the roll before its verdict is in the journal. `go_on` may raise to
        stop.
        """
        state = self.state()
        try:
            with self._writing() as db:
                state = self._start(db, run)
                state.counts = None
                self._add_cases(db, run, state)
            lines = read_journal(run.folder, LineCheck(run.folder, run.manifest), state.journal)
            while batch := list(islice(lines, _BATCH)):
                with self._writing() as db:
                    _add_lines(db, batch, state)
                    state.journal, state.mark = batch[-1].place, _hash_end(run.journal, batch[-1].place.end)
                    _save_state(db, state)
                go_on()
            state.problem = ""
        except UsageProblem as problem:
            state.problem = str(problem)
        with self._writing() as db:
            state.counts = count_by_status(db)
            _save_state(db, state)
        return state

    def _start(self, db: sqlite3.Connection, run: StoredRun) -> State:
        """Deletes what no longer matches the run, and returns the state to continue from."""
        state, started = _read_state(db), run.manifest.started.isoformat()
        fields = field_names(run.manifest.about.fields_schema)
        same = state.folder == str(run.folder) and state.fields == fields
        if not same or _hash_end(run.journal, state.journal.end) != state.mark:
            _forget(db, *_CASES, *_LINES)
            state = State(folder=str(run.folder), mark=_hash_end(run.journal, 0), fields=fields)
        if state.started != started or stamp_file(run.folder / ROLL)[1] < state.roll.end:
            _forget(db, *_CASES)
            state.started, state.roll, state.whole = started, FilePosition(), False
        return state

    def _add_cases(self, db: sqlite3.Connection, run: StoredRun, state: State) -> None:
        """Adds the cases of the run: of a finished one the whole roll, otherwise what is new in it."""
        if run.manifest.state == "finished":
            if not state.whole:
                _forget(db, *_CASES)
                _add_entries(db, 0, read_roll(run.folder, run.manifest))
                state.whole = True
        else:
            for entry, place in read_entries(run.folder, state.roll):
                _add_entries(db, place.lines - 1, iter([entry]))
                state.roll = place
        _save_state(db, state)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Opens a connection with a write transaction, which is committed unless the block raises."""
        db = self._connect()
        try:
            db.execute("BEGIN IMMEDIATE")
            yield db
            db.commit()
        finally:
            db.close()

    def _connect(self) -> sqlite3.Connection:
        """Opens the database, and rebuilds a damaged one."""
        try:
            return _open_database(self.path)
        except sqlite3.OperationalError:  # locked, or the disk is full; the file itself is fine
            raise
        except sqlite3.DatabaseError:
            self.discard()
            return _open_database(self.path)

    def discard(self) -> None:
        """Deletes the files of the index; it is built anew when it is needed."""
        for name in (self.path.name, f"{self.path.name}-wal", f"{self.path.name}-shm"):
            (self.path.parent / name).unlink(missing_ok=True)


def _open_database(path: Path) -> sqlite3.Connection:
    """Opens the database file, and creates it with its tables if it does not exist."""
    make_own_folder(path.parent)
    make_own_file(path)
    db = sqlite3.connect(path, timeout=60, isolation_level=None)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = OFF")  # a cache: it can be rebuilt after a crash
        if not _fetch_value(db, "PRAGMA user_version"):
            _make_tables(db)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _make_tables(db: sqlite3.Connection) -> None:
    """Creates the tables, unless another process was faster."""
    db.execute("BEGIN IMMEDIATE")
    if not _fetch_value(db, "PRAGMA user_version"):
        for statement in _TABLES.split(";\n"):
            db.execute(statement)
        db.execute("PRAGMA user_version = 1")
    db.commit()


def count_by_status(db: sqlite3.Connection) -> dict[str, int]:
    """Counts the judged cases by status."""
    return dict(db.execute(f"SELECT line.status, count(*) {JUDGED} GROUP BY line.status"))


def _fetch_value(db: sqlite3.Connection, sql: str, values: Sequence[Any] = ()) -> Any:
    """Returns the first column of the first row that a query finds; None without a row."""
    row = db.execute(sql, values).fetchone()
    return None if row is None else row[0]


def _read_state(db: sqlite3.Connection) -> State:
    return State.of(_fetch_value(db, "SELECT data FROM state"))


def _save_state(db: sqlite3.Connection, state: State) -> None:
    db.execute("INSERT OR REPLACE INTO state VALUES (1, ?)", (state.to_json(),))


def _forget(db: sqlite3.Connection, *statements: str) -> None:
    for statement in statements:
        db.execute(statement)


def _add_entries(db: sqlite3.Connection, first: int, entries: Iterator[Entry]) -> None:
    """Adds entries of the roll to the database."""
    rows = (
        (place, entry.id, bytes.fromhex(entry.input_hash), orjson.dumps(entry.source))
        for place, entry in enumerate(entries, first)
    )
    db.executemany("INSERT INTO entry VALUES (?, ?, ?, ?)", rows)


def _add_lines(db: sqlite3.Connection, lines: list[Line], state: State) -> None:
    """Adds those of the lines that count: per content, the first settled judgement or the last error."""
    for line in lines:
        data, digest = line.data, bytes.fromhex(line.data["input_hash"])
        if not is_open(_fetch_value(db, "SELECT status FROM line WHERE digest = ?", (digest,))):
            continue
        values = (*field_values(data, state.fields), *metadata_values(data, state.metadata))
        db.execute(_INSERT_LINE, (digest, line.number, line.offset, data["status"], data.get("roll_up"), *values))
        db.execute("INSERT INTO words(rowid, body) VALUES (?, ?)", (line.number, searchable_text(data)))


def _hash_end(journal: Path, end: int) -> str:
    """Hashes the bytes just before a position in the journal; a missing journal counts as empty."""
    try:
        with inside(journal).open("rb") as file:
            file.seek(max(end - _MARK, 0))
            return hashlib.blake2b(file.read(min(end, _MARK)), digest_size=16).hexdigest()
    except FileNotFoundError:
        return hashlib.blake2b(b"", digest_size=16).hexdigest()


def stamp_file(path: Path) -> tuple[int, int]:
    """Returns modification time and size of a file of a run; zeros if it is missing or outside the run."""
    try:
        found = inside(path).stat()
    except (OSError, UsageProblem):
        return 0, 0
    return found.st_mtime_ns, found.st_size
