"""Limits on the size of a request, the time to receive it, and the time until the response starts."""

from __future__ import annotations

import asyncio

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from krino.web.problems import Problem
from krino.web.settings import ServeSettings

MOST_AT_LOGIN = 65_536
"""Most bytes of a login request: a token and little else."""
CLOSING = {"Connection": "close"}
"""The rest of a refused body is not read, so the connection cannot be used again."""


class Limits:
    """Counts bytes as they arrive, whatever the headers say, and enforces time limits."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app = app
        self._settings = settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, with limits on its size and on the time until the response starts."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        most = MOST_AT_LOGIN if scope["path"] == "/login" else self._settings.max_body
        self._refuse_length(Headers(scope=scope).get("content-length"), most)
        try:
            async with asyncio.timeout(self._settings.timeout) as clock:

                async def send_unlimited(message: Message) -> None:
                    clock.reschedule(None)  # a response that has started may take as long as the client needs
                    await send(message)

                await self.app(scope, self._limit_receive(receive, most), send_unlimited)
        except TimeoutError:
            if not clock.expired():
                raise
            raise self._make_too_slow_problem(scope) from None

    def _make_too_slow_problem(self, scope: Scope) -> Problem:
        """Returns the problem for a response that takes too long."""
        return Problem(
            503,
            f"no response within {self._settings.timeout:g} seconds",
            where=f"{scope['method']} {scope['path']}",
            remedy="send fewer cases at a time, or try again when the server is less busy",
            headers={"Retry-After": "5"},
        )

    def _refuse_length(self, stated: str | None, most: int) -> None:
        """Raises `Problem` for a request whose stated length is no number or too large."""
        if stated is not None and not (stated.isascii() and stated.isdigit()):
            raise Problem(
                400,
                "the length is not a number",
                where="header Content-Length",
                remedy="give it in bytes",
                headers=CLOSING,
            )
        if stated is not None and int(stated[:20]) > most:
            raise self._make_too_long_problem(most)

    def _make_too_long_problem(self, most: int) -> Problem:
        """Returns the problem for a request that is too large."""
        return Problem(
            413,
            f"the request is longer than {most:,} bytes",
            where="body",
            remedy="send fewer cases at a time; for files there is `krino judge`",
            headers=CLOSING,
        )

    def _limit_receive(self, receive: Receive, most: int) -> Receive:
        """Wraps `receive`: the body must arrive within the size limit and the deadline, else `Problem` is raised."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._settings.body_seconds
        taken, complete = 0, False

        async def limited() -> Message:
            """Receives the next piece of the body within size and time."""
            nonlocal taken, complete
            if complete:  # the next message is the client's disconnect, which may come at any time
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise Problem(
                    408,
                    f"the request was not received completely within {self._settings.body_seconds:g} seconds",
                    where="body",
                    remedy="use a faster connection, or send fewer cases at a time",
                    headers=CLOSING,
                ) from None
            taken += len(message.get("body", b""))
            complete = message["type"] != "http.request" or not message.get("more_body", False)
            if taken > most:
                raise self._make_too_long_problem(most)
            return message

        return limited
