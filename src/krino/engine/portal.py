"""Lets ordinary code use the asynchronous engine, also in a notebook whose own event loop is running.

One loop on one background thread serves every synchronous call, so connections stay open from call to call.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import threading
from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import Any, TypeVar
from weakref import WeakSet

from krino.contract import Labeller

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_labellers: WeakSet[Labeller] = WeakSet()


def run(work: Coroutine[Any, Any, T]) -> T:
    """The result of a coroutine, waited for."""
    future = asyncio.run_coroutine_threadsafe(work, _running_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def pull(stream: AsyncGenerator[T, None]) -> Iterator[T]:
    """An asynchronous stream as an ordinary iterator; leaving it early stops the work behind it."""

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
        run(stream.aclose())


def remember(labeller: Any) -> None:
    """A labeller used through here is closed when the program ends, if nobody has closed it before."""
    if isinstance(labeller, Labeller):
        _labellers.add(labeller)


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop
    with _lock:
        if _loop is None:
            _loop = asyncio.new_event_loop()
            threading.Thread(target=_loop.run_forever, name="krino", daemon=True).start()
            atexit.register(_shut)
        return _loop


def _shut() -> None:
    async def close_all() -> None:
        for labeller in list(_labellers):
            with contextlib.suppress(Exception):
                await labeller.aclose()

    if _loop is not None:
        with contextlib.suppress(Exception):
            asyncio.run_coroutine_threadsafe(close_all(), _loop).result(timeout=5)
        _loop.call_soon_threadsafe(_loop.stop)
