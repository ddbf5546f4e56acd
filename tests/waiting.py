"""Waiting for what other processes do, and looking at them."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
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
    listed = Path(f"/proc/{pid}/task").glob("*/children")  # each thread has its own
    return [int(child) for path in listed for child in path.read_text().split()]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
