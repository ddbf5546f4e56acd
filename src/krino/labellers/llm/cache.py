"""Replies already paid for, kept across runs and safe across processes (SQLite).

The key covers everything that can change the answer: endpoint, model, parameters, messages, schema and media.
Only replies that were accepted are kept; keys are hashes, so neither prompts nor secrets are stored.
"""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from krino.errors import UsageProblem


def default_cache_path() -> Path:
    """`KRINO_CACHE` if set, else the user's cache folder."""
    if named := os.environ.get("KRINO_CACHE"):
        return Path(named)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "krino" / "replies.sqlite"


class ReplyCache:
    """A table from request hash to the reply's bytes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
            self._db.execute("pragma journal_mode=wal")
            # The journal of the run is the record; a reply lost when the power fails only costs one call.
            self._db.execute("pragma synchronous=off")
            self._db.execute("create table if not exists replies (key blob primary key, body blob) without rowid")
        except (OSError, sqlite3.Error) as error:
            raise UsageProblem(f"reply cache {path}: {error}; name another file with --cache, or --cache off") from None

    def get(self, key: bytes) -> bytes | None:
        row = self._db.execute("select body from replies where key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, key: bytes, body: bytes) -> None:
        self._db.execute("insert or replace into replies values (?, ?)", (key, body))

    def close(self) -> None:
        self._db.close()
