"""What a process does first that Krino has started to help it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading


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
