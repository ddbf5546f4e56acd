"""Remembers over restarts from which time on traces are read, for sources that are asked by time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson

from krino.errors import UsageProblem
from krino.runs.folder import SINCE
from krino.runs.guarded_files import inside
from krino.writing import make_own_folder, replacing

OVERLAP = timedelta(minutes=10)
"""What is stored late, or began before others and ended after them, is still found."""


class Since:
    """The time from which the next look reads. It moves on only when all that was given before was taken."""

    def __init__(self, folder: Path, start: datetime | None) -> None:
        """`start`: for a folder that has none yet; without it, now."""
        self._path = folder / SINCE
        self._newest: datetime | None = None
        self._reach: datetime | None = None
        try:
            self.time = datetime.fromisoformat(orjson.loads(inside(self._path).read_bytes())["since"])
        except FileNotFoundError:
            self.time = start or datetime.now(UTC)
            self._write()
        except (ValueError, KeyError, TypeError):
            raise UsageProblem(f"{self._path}: not a time that a watch wrote; name another folder with --run") from None

    def begin_look(self) -> None:
        """Moves the time on and stores it, since all that the last look gave was taken."""
        if self._reach is not None and self._reach > self.time:
            self.time = self._reach
            self._write()

    def end_look(self, started: list[datetime], open_since: datetime | None) -> None:
        """Notes how far the next look may move the time on: to some minutes before the newest of what was read
        (`started`), but not past the earliest trace that still goes on."""
        self._newest = max([*started, *([self._newest] if self._newest else [])], default=None)
        if self._newest is not None:
            back = self._newest - OVERLAP
            self._reach = back if open_since is None else min(back, open_since)

    def _write(self) -> None:
        make_own_folder(self._path.parent)
        with replacing(self._path) as draft:
            draft.write(orjson.dumps({"since": self.time.isoformat()}))
