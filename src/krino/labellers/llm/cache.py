"""Replies already paid for, kept across runs and safe across processes (SQLite).

The key covers everything that can change the answer: endpoint, model, parameters, messages, schema and media.
Only replies that were accepted are kept; keys are hashes, so neither prompts nor secrets are stored. What was found
out about an endpoint is kept beside them for a week: a server may have changed since.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
import warnings
from pathlib import Path

from krino.errors import UsageProblem
from krino.writing import make_own_file, make_own_folder

LEARNT_FOR = 7 * 24 * 3600  # seconds
LOOKS = 256  # looks into the table through one view


def cache_path(setting: Path | str | None = None) -> Path | None:
    """The file that a setting means: it, `KRINO_CACHE`, or one in the user's cache folder; None for `off`."""
    named = setting or os.environ.get("KRINO_CACHE")
    if named is not None:
        return None if str(named) == "off" else Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "krino" / "replies.sqlite"


def open_cache(setting: Path | str | None = None) -> ReplyCache | None:
    path = cache_path(setting)
    return None if path is None else ReplyCache(path)


class ReplyCache:
    """A table from request hash to the reply's bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writable = True
        self.open()

    def open(self) -> None:
        path = self.path
        self._looks = 0
        self.closed = False
        try:
            make_own_folder(path.parent)
            make_own_file(path)
            self._writer, self._reader = _connect(path), _connect(path)
            self._writer.execute("pragma journal_mode=wal")
            # The journal of the run is the record; a reply lost when the power fails only costs one call.
            self._writer.execute("pragma synchronous=off")
            self._writer.execute("create table if not exists replies (key blob primary key, body blob)")
            self._writer.execute("create table if not exists learnt (key blob primary key, body blob, at real)")
        except (OSError, sqlite3.Error) as error:
            raise UsageProblem(f"reply cache {path}: {error}; name another file with --cache, or --cache off") from None

    def get(self, key: bytes) -> bytes | None:
        """What this process or, a moment ago, another one has stored."""
        try:
            if self._looks % LOOKS == 0:  # one view of the table serves many looks: taking the lock is the costly part
                self._end_view()
                self._reader.execute("begin")
            self._looks += 1
            row = self._reader.execute("select body from replies where key = ?", (key,)).fetchone()
        except sqlite3.Error:  # a damaged cache knows nothing; that costs a call, not a verdict
            return None
        # Anything but bytes was not written by us (another program, a damaged file): it is no reply.
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def get_learnt(self, key: bytes) -> bytes | None:
        try:
            row = self._writer.execute("select body, at from learnt where key = ?", (key,)).fetchone()
        except sqlite3.Error:
            return None
        fresh = row is not None and isinstance(row[1], float) and 0 <= time.time() - row[1] < LEARNT_FOR
        return row[0] if fresh and isinstance(row[0], bytes) else None

    def put_learnt(self, key: bytes, body: bytes) -> None:
        self._write("insert or replace into learnt values (?, ?, ?)", (key, body, time.time()))

    def put(self, key: bytes, body: bytes) -> None:
        """Written at once, each reply by itself: a process that is killed a moment later loses nothing.

        A cache that cannot be written (a full disk, a stuck neighbour) costs money later, never a verdict now.
        """
        self._looks = 0  # the reply must be seen in the table
        self._write("insert or replace into replies values (?, ?)", (key, body))

    def _write(self, statement: str, values: tuple[bytes | float, ...]) -> None:
        if not self._writable:
            return
        try:
            with self._writer:
                self._writer.execute("begin immediate")
                self._writer.execute(statement, values)
        except sqlite3.Error as error:
            self._writable = False  # to wait for a lock again with every reply would take longer than the calls
            warnings.warn(f"reply cache {self.path}: {error}; no more replies are kept in it", stacklevel=3)

    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        with contextlib.suppress(sqlite3.Error):
            self._end_view()
        self._reader.close()
        self._writer.close()

    def _end_view(self) -> None:
        if self._reader.in_transaction:
            self._reader.execute("commit")


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
