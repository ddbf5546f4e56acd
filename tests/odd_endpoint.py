"""An endpoint on loopback that answers whatever a test wants, byte by byte: for what no real provider would send."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Self

from aiohttp import web

Handler = Callable[[web.BaseRequest, bytes], Awaitable[web.StreamResponse]]


class OddEndpoint:
    """`with OddEndpoint(handler) as endpoint: ... endpoint.url`; the handler gets the request and its body."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._ready: Future[int] = Future()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self.calls = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self.port = self._ready.result()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self) -> None:
        self._loop, self._closing = asyncio.get_running_loop(), asyncio.Event()
        runner = web.ServerRunner(web.Server(self._handle, access_log=None), shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            self._ready.set_result(int(runner.addresses[0][1]))
            await self._closing.wait()
        finally:
            await runner.cleanup()

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        self.calls += 1
        return await self._handler(request, await request.read())
