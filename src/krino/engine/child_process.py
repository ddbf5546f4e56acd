"""Starts processes that work for this one: they get none of its keys, and end when it ends."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

_STARTING = threading.Lock()


class ChildProcess:
    """A new process and the pipe to it. When either side is gone, the other one reads the end of the pipe."""

    def __init__(self, work: Callable[..., None], *args: Any, name: str, without: Collection[str] = ()) -> None:
        """Calls `work(pipe, *args)` in a new process. `without`: variables of the environment that it must not inherit.

        Raises `OSError` where no process can be started.
        """
        context = multiprocessing.get_context("spawn")  # a fork would copy event loops, sockets, locks and threads
        self.pipe: Connection[Any, Any]
        self.pipe, theirs = context.Pipe()
        self._process = context.Process(target=_begin, args=(work, theirs, *args), name=name, daemon=True)
        try:
            with environment_without(without):
                self._process.start()
        except BaseException:
            self.pipe.close()
            raise
        finally:
            theirs.close()

    @property
    def pid(self) -> int:
        return self._process.pid or 0

    def kill(self) -> None:
        """Ends it, whatever it is doing. Safe to call from any thread."""
        self._process.kill()

    def terminate(self) -> None:
        """Asks it to end, so that it can remove what it has half written."""
        self._process.terminate()

    def join(self) -> None:
        """Waits until it has ended, and releases what it took."""
        self._process.join()
        self.pipe.close()
        self._process.close()

    def close(self) -> None:
        """Kills the process, waits until it has ended, and releases what it took."""
        self.kill()
        self.join()


def _begin(work: Callable[..., None], pipe: Connection[Any, Any], *args: Any) -> None:
    """Calls `work` in the new process. Ctrl-C is ignored: it goes to the whole group of processes, and the parent alone
    decides what it means. When the parent ends, this process does too, even in the middle of something that may never
    end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    work(pipe, *args)


def _end_with_parent() -> None:
    """Ends this process when its parent ends."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


@contextmanager
def environment_without(names: Collection[str]) -> Iterator[None]:
    """Removes variables from the environment while a process is started that must not inherit them.

    What the process removes itself can still be read in `/proc/self/environ`, also by the code that it runs.
    """
    with _STARTING:
        kept = {name: os.environ.pop(name) for name in names if name in os.environ}
        try:
            yield
        finally:
            os.environ.update(kept)


def keep_to_one_core() -> None:
    """Makes models load for one thread from now on, unless the user has set another number."""
    os.environ.setdefault("KRINO_THREADS", "1")
