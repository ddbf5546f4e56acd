"""Labellers that owe a stop: a case that is paid for in part goes on record first, and the run stops after it."""

from __future__ import annotations

from krino.contract import Labeller
from krino.errors import RunStopped


class OwesStop(Labeller):
    """Where no case follows that would raise the stop, the end of the run asks for it."""

    _owed: RunStopped | None = None

    def take_owed(self) -> RunStopped | None:
        """Why the run must stop, once."""
        owed, self._owed = self._owed, None
        return owed
