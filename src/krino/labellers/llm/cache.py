"""Keeps accepted replies across runs and processes (SQLite).

The key covers everything that can change the answer: endpoint, model, parameters, messages, schema and media. Keys are
hashes, so neither prompts nor secrets are stored. What was found out about an endpoint is kept for a week, since a
server may have changed after that.
"""

from __future__ import annotations

import os
import sqlite3
import time
import warnings
from pathlib import Path

from krino.errors import UsageProblem
from krino.writing import make_own_file, make_own_folder

LEARNT_FOR = 7 * 24 * 3600  # seconds


def cache_path(setting: Path | str | None = None) -> Path | None:
    """The cache file: the setting, else `KRINO_CACHE`, else a file in the user's cache folder; None for `off`."""
    named = setting or os.environ.get("KRINO_CACHE")
    if named is not None:
        return None if str(named) == "off" else Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "krino" / "replies.sqlite"


def open_cache(setting: Path | str | None = None) -> ReplyCache | None:
    """Opens the reply cache; None for `off`. Takes the same setting as `cache_path`."""
    path = cache_path(setting)
    return None if path is None else ReplyCache(path)


class ReplyCache:
    """A table from request hash to the reply's bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writable = True
        self.open()

    def open(self) -> None:
        """Opens the database, and creates file and tables if they do not exist."""
        path = self.path
        self.closed = False
        try:
            make_own_folder(path.parent)
            make_own_file(path)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode=wal")
            # The journal of the run is the record; a reply lost when the power fails only costs one call.
            self._db.execute("pragma synchronous=off")
            self._db.execute("create table if not exists replies (key blob primary key, body blob)")
            self._db.execute("create table if not exists learnt (key blob primary key, body blob, at real)")
        except (OSError, sqlite3.Error) as error:
            raise UsageProblem(f"reply cache {path}: {error}; name another file with --cache, or --cache off") from None

    def get(self, key: bytes) -> bytes | None:
        """Returns the answer stored under a key, by this process or another; None if there is none or it is damaged."""
        try:
            row = self._db.execute("select body from replies where key = ?", (key,)).fetchone()
        except sqlite3.Error:  # a damaged cache costs a call, not a verdict
            return None
        # Anything but bytes was written by another program or is damaged.
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def get_learnt(self, key: bytes) -> bytes | None:
        """Returns what was learnt about an endpoint, unless it is too old."""
        try:
            row = self._db.execute("select body, at from learnt where key = ?", (key,)).fetchone()
        except sqlite3.Error:
            return None
        fresh = row is not None and isinstance(row[1], float) and 0 <= time.time() - row[1] < LEARNT_FOR
        return row[0] if fresh and isinstance(row[0], bytes) else None

    def put_learnt(self, key: bytes, body: bytes) -> None:
        """Stores what was learnt about an endpoint, with the time."""
        self._write("insert or replace into learnt values (?, ?, ?)", (key, body, time.time()))

    def put(self, key: bytes, body: bytes) -> None:
        """Stores an answer at once, so that a process that is killed a moment later loses nothing.

        A cache that cannot be written (a full disk, a lock) costs money later, but never a verdict now.
        """
        self._write("insert or replace into replies values (?, ?)", (key, body))

    def _write(self, statement: str, values: tuple[bytes | float, ...]) -> None:
        """Writes to the database; after the first fault nothing more is written, and a warning says so."""
        if not self._writable:
            return
        try:
            self._db.execute(statement, values)  # a transaction of its own: `isolation_level` is None
        except sqlite3.Error as error:
            self._writable = False  # waiting for the lock with every reply would take longer than the calls
            warnings.warn(f"reply cache {self.path}: {error}; no more replies are kept in it", stacklevel=3)

    def close(self) -> None:
        """Closes the database; a second call does nothing."""
        if self.closed:
            return
        self.closed = True
        self._db.close()
