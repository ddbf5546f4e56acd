"""Waiting for what other processes do, and looking at them."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import AnyStr as S
from typing import TypeVar

T = TypeVar("T")


def until(found: Callable[[], T], seconds: float = 60.0) -> T:
    """What is found in the end; a test that waits in vain fails."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if result := found():
            return result
        time.sleep(0.05)
    raise AssertionError(f"it did not happen in {seconds:.0f} seconds")


def children(pid: int) -> list[int]:
    """Each thread has its own, and may end while it is looked at; another one then has them."""
    found = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):
            found += [int(child) for child in path.read_text().split()]
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def ended(process: subprocess.Popen[S]) -> Iterator[subprocess.Popen[S]]:
    """A process that does not outlive the block: whatever fails in it, nothing is left running and no pipe open."""
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
