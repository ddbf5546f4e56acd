"""Redacts our own secrets from replies: an endpoint that echoes a key must not get it into a record."""

from __future__ import annotations

import base64
import html.entities
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from urllib.parse import parse_qsl, unquote, urlsplit

from krino.text.clean import unescape_html

REDACTED = "***"
SHORTEST = 8
"""Shorter values are placeholders for servers without keys (`EMPTY`, `none`); redacting those would spoil replies."""
PLAIN_HEADERS = frozenset({"anthropic-version"})
"""Headers without a secret. Any other may have been added by the user."""
_PERCENT = re.compile(rb"%(?:25)*([0-9a-fA-F]{2})")
_ENTITY = re.compile(rb"&(?:#|[A-Za-z]{2,9};)")
_BREAK = re.compile(rb"(?<!\\)\\++[nrt]")
WHITESPACE = b" \t\r\n\f\v"
_WRAPPED = rb"(?:\s|\\+[nrt]){0,8}"
"""What may separate two characters of a secret that was wrapped."""
SHORTEST_PIECE = 12
"""The shortest part (first or last two thirds) of a secret that is redacted as well."""
_UNICODE = re.compile(rb"(?<!\\)\\++(?:u00|x)([0-9a-fA-F]{2})")
"""Matched only at the first of a run of backslashes: from each of them, it would take quadratic time."""


class Secrets:
    """Finds secrets in any encoding: plain, JSON-escaped, HTML, percent-encoded, and base64 at any offset."""

    __slots__ = ("_codes", "_plain")

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {secret.encode("utf-8", "surrogatepass") for secret in secrets if len(secret) >= SHORTEST}
        plain = {needle for secret in known for needle in (secret, *_long_parts(secret), *_in_base64(secret))}
        self._plain = tuple(sorted(plain, key=len, reverse=True))
        self._codes = frozenset(b"%02x" % byte for needle in plain for byte in needle)

    def with_more(self, others: Secrets) -> Secrets:
        """Returns the secrets of both: an old key is still a secret."""
        both = Secrets(())
        both._plain = tuple(sorted({*self._plain, *others._plain}, key=len, reverse=True))
        both._codes = self._codes | others._codes
        return both

    def redact(self, text: bytes) -> bytes:
        """Returns the text with `***` in place of secrets. The slow pattern is only used if a quick search has found
        one."""
        return _compile_pattern(self._plain).sub(REDACTED.encode(), text) if self._occurs_in(text) else text

    def redact_text(self, text: str) -> str:
        return self.redact(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def _occurs_in(self, text: bytes) -> bool:
        """Does a text contain one of the secrets, also escaped or broken by white space?"""
        if any(needle in text for needle in self._plain):
            return True
        if not self._plain:
            return False
        bare = _unescape(text) if self._may_be_escaped(text) else text
        bare = _BREAK.sub(b"", bare).translate(None, WHITESPACE)
        return any(needle in bare for needle in self._plain)

    def _may_be_escaped(self, text: bytes) -> bool:
        """Whether any escape encodes a character of a secret: most encode accents and quotes."""
        if (b"&" in text and _ENTITY.search(text)) or b"\\/" in text:
            return True
        found = {*_PERCENT.findall(text), *_UNICODE.findall(text)} if b"%" in text or b"\\" in text else set()
        return any(code.lower() in self._codes for code in found)


def secrets_of(url: str, headers: Mapping[str, str]) -> Secrets:
    """Collects the secrets of an endpoint: the values of all headers but the plain ones, and the user, password and
    query of the address."""
    parts = urlsplit(url)
    found = [value.removeprefix("Bearer ") for name, value in headers.items() if name.lower() not in PLAIN_HEADERS]
    for user, password in {(parts.username, parts.password), (_bare(parts.username), _bare(parts.password))}:
        found += [password or "", f"{user or ''}:{password}" if password else user or ""]
    found += [value for name, value in parse_qsl(parts.query) if name != "api-version"]
    return Secrets(found)


def _bare(text: str | None) -> str | None:
    return None if text is None else unquote(text)


def _long_parts(secret: bytes) -> Iterator[bytes]:
    """Yields the first and the last two thirds of a secret, if they are long enough to be unmistakable."""
    length = -(-2 * len(secret) // 3)
    if length >= SHORTEST_PIECE:
        yield secret[:length]
        yield secret[-length:]


def _in_base64(secret: bytes) -> set[bytes]:
    """Returns the parts of the base64 form that are the same at any offset (`user:key` puts something before the
    secret).

    Four characters encode three bytes; groups that also encode a neighbouring byte are left out.
    """
    found = set()
    for before in range(3):
        first = -before % 3  # bytes of the secret that share a group with the text before it
        whole = secret[first : first + (len(secret) - first) // 3 * 3]
        coded = base64.b64encode(whole)
        found |= {coded, coded.replace(b"+", b"-").replace(b"/", b"_")}
    return {coded for coded in found if len(coded) >= SHORTEST}


@cache
def _compile_pattern(needles: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """Compiles a pattern that finds these secrets in any disguise, only when one is first seen: it is slow, and most
    endpoints never quote one."""
    return re.compile(b"|".join(map(_disguise_pattern, needles)))


def _disguise_pattern(needle: bytes) -> bytes:
    """Writes a pattern for one secret, whose bytes may be escaped and separated by line breaks."""
    alone = b"" if b"\\" in needle else rb"(?<!\\)"
    return _WRAPPED.join((_byte_pattern(needle[0], alone), *map(_byte_pattern, needle[1:])))


def _byte_pattern(byte: int, alone: bytes = b"") -> bytes:
    """Writes a pattern for a byte, plain or escaped as in JSON, URLs or HTML; escapes may be escaped again.

    `alone`: a lookbehind that lets a search begin only once in each run of backslashes.
    """
    itself = re.escape(bytes([byte]))
    hexed = b"".join(b"[%c%c]" % (digit, digit ^ 0x20) if digit > 57 else bytes([digit]) for digit in b"%02x" % byte)
    forms = [
        alone + rb"\\*" + itself,
        alone + rb"\\+(?:u00|x)" + hexed,
        rb"%(?:25)*" + hexed,
        rb"&#0*" + b"%d" % byte + rb";?",
        rb"&#[xX]0*" + hexed + rb";?",
        *(b"&" + name.encode() for name in _names_of(chr(byte))),
    ]
    return b"(?:" + b"|".join(forms) + b")"


@cache
def _names_of(char: str) -> tuple[str, ...]:
    """Returns the HTML names of a character, such as `equals;`."""
    return tuple(name for name, meant in html.entities.html5.items() if meant == char and name.endswith(";"))


def _unescape(text: bytes) -> bytes:
    """Returns the text with all escapes undone, to search it for secrets."""
    if b"&" in text:
        text = unescape_html(text.decode("latin-1")).encode("latin-1", "replace")
    if b"%" in text:
        text = _PERCENT.sub(_decode_byte, text)
    if b"\\" in text:
        text = _UNICODE.sub(_decode_byte, text).replace(b"\\", b"")
    return text


def _decode_byte(found: re.Match[bytes]) -> bytes:
    return bytes([int(found[1], 16)])
