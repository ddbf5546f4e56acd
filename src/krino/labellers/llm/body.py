"""Reads the body of a reply up to a bound: what an endpoint sends must not fill the memory, packed or not."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator

MOST_BYTES = 4 * 1024 * 1024
"""Of a reply, unpacked. The longest useful answer is a small part of it."""
MOST_ERROR_BYTES = 64 * 1024
"""Of a refusal, which nobody reads further than its first sentences."""
PIECE = 64 * 1024
ENCODINGS = "gzip, deflate"
"""What we say we can unpack. We unpack it ourselves, piece by piece: the HTTP library may unpack a bomb in one go."""


class BadBody(Exception):
    """The body cannot be unpacked."""


async def read_bounded(pieces: AsyncIterator[bytes], encoding: str | None, most: int) -> tuple[bytes, bool]:
    """The body as far as `most` bytes, and whether that is all of it. Nothing is unpacked beyond the bound."""
    named = (encoding or "identity").strip().lower()
    if named not in {"identity", "gzip", "deflate"}:
        raise BadBody(f"the reply is packed as {named[:40]!r}, which was not asked for")
    kept = bytearray()
    unpack = None
    async for packed in pieces:
        if named == "identity":
            kept += packed
        else:
            unpack = unpack or _unpacker(named, packed)
            try:
                kept += unpack.decompress(packed, most + 1 - len(kept))
            except zlib.error as error:
                raise BadBody(f"the reply cannot be unpacked: {error}") from None
        if len(kept) > most:
            return bytes(kept[:most]), False
    if unpack is not None and not unpack.eof:
        raise BadBody("the reply ends before it is unpacked")
    return bytes(kept), True


def _unpacker(named: str, first: bytes) -> zlib._Decompress:
    """`deflate` means a zlib stream, but some servers send a bare one: the low half of its first byte tells."""
    if named == "gzip":
        return zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    return zlib.decompressobj(wbits=zlib.MAX_WBITS if first[:1] and first[0] & 0x0F == 8 else -zlib.MAX_WBITS)
