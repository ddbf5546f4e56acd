"""How a server hangs up on its client: at once, or in the middle of a body."""

from __future__ import annotations

import socket
import struct

from aiohttp import web


def reset_connection(http: web.BaseRequest) -> web.StreamResponse:
    """End the connection with a TCP reset: a linger time of zero drops it without the usual goodbye."""
    if (transport := http.transport) is not None:
        connection = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        transport.abort()
    return web.Response()


async def cut_body(http: web.BaseRequest, whole: web.Response) -> web.StreamResponse:
    """Promise the whole body, send half of it, hang up."""
    body = whole.body
    assert isinstance(body, bytes)
    half = web.StreamResponse(headers=whole.headers)
    half.content_length = len(body)
    await half.prepare(http)
    await half.write(body[: len(body) // 2])
    if http.transport is not None:
        http.transport.close()
    return half
