"""What a process does first that Krino has started to help it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

_STARTING = threading.Lock()


@contextmanager
def environment_without(names: Collection[str]) -> Iterator[None]:
    """For the start of a process that must not inherit these variables.

    What the process removes itself, it can still read in `/proc/self/environ`, and so can code that it runs.
    """
    with _STARTING:
        kept = {name: os.environ.pop(name) for name in names if name in os.environ}
        try:
            yield
        finally:
            os.environ.update(kept)


def follow_the_starter() -> None:
    """Ctrl-C goes to the whole group of processes, and the starter alone decides what it means. When the starter ends,
    this process does, also in the middle of something that may never end: nobody waits for it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_the_starter, daemon=True).start()


def _end_with_the_starter() -> None:
    starter = multiprocessing.parent_process()
    assert starter is not None
    starter.join()
    os._exit(1)
