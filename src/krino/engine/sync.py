"""Runs the asynchronous engine for synchronous callers, also in a notebook whose own event loop is running.

One loop on one background thread serves every synchronous call, so connections stay open from call to call.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from concurrent.futures import Future
from typing import Any, TypeVar
from weakref import WeakSet

from krino.contract import Labeller
from krino.errors import UsageProblem

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None
_ended = False
_labellers: WeakSet[Labeller] = WeakSet()


def run(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine on the background loop and returns its result; raises `UsageProblem` if called from that loop
    itself."""
    if threading.current_thread() is _thread:
        work.close()
        raise UsageProblem(
            "krino.judge was called from inside Krino's own event loop, by a judge or by the iterable that gives the "
            "cases; waiting there would never end. Make the list of cases first, or use `await krino.ajudge(...)`"
        )
    future = start(work)
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def start(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Starts a coroutine on the background loop, for callers that wait on a loop of their own."""
    return asyncio.run_coroutine_threadsafe(work, _running_loop())


def pull(stream: AsyncGenerator[T, None]) -> Iterator[T]:
    """Yields the items of an asynchronous stream to a synchronous caller; closing it early stops the work behind it."""

    async def step() -> T:
        return await anext(stream)

    try:
        while True:
            try:
                item = run(step())
            except StopAsyncIteration:
                return
            yield item
    finally:
        if _loop is not None and not _ended:  # an iterator left behind may outlive the loop
            run(stream.aclose())


def remember(labeller: Any) -> None:
    """Notes a labeller, to be closed when the program ends if it was not closed before; anything else is ignored."""
    if isinstance(labeller, Labeller):
        _labellers.add(labeller)


def _running_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop that runs in a thread of its own, and starts it at the first call."""
    global _loop, _thread
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="krino", daemon=True)
            _thread.start()
            atexit.register(_shut)
        return _loop


def _forget() -> None:
    """Starts again in a forked child: it has the loop, but not the thread that ran it."""
    global _loop, _thread, _lock
    _loop, _thread, _lock = None, None, threading.Lock()


def _shut() -> None:
    """Closes all labellers and ends the event loop when the interpreter exits."""
    global _ended

    async def close_all() -> None:
        for labeller in list(_labellers):
            with contextlib.suppress(Exception):
                await labeller.aclose()

    if _loop is not None:
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(close_all(), _loop).result(timeout=5)
        _ended = True
        _loop.call_soon_threadsafe(_loop.stop)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
