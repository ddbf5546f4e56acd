"""What stands before every route: headers, the check of the Host, who may enter, and whose form it is.

Pure ASGI, outermost first as `add_guards` lists them. Each raises `Problem`, and `TellsProblems` answers with it, so
that a refusal has the same shape and the same headers as any other answer.
"""

from __future__ import annotations

import logging
import re
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from krino.web.limits import Limits
from krino.web.problems import Problem, answer, takes, wants_page
from krino.web.sessions import Doorkeeper
from krino.web.settings import LOOPBACK_NAMES, ServeSettings, address_in, is_loopback

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with none at all, browsers hide the origin of our own forms too
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
OPEN_PATHS = frozenset({"/login", "/health"})
"""What can be had without the token; and `/static/`, which holds nothing of anybody."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_VISIT = re.compile(r"[\w-]{32}")
_log = logging.getLogger("krino.web")


def add_guards(app: FastAPI, settings: ServeSettings, doorkeeper: Doorkeeper) -> None:
    """Put every guard before the routes of `app`."""
    app.add_middleware(Entrance, doorkeeper=doorkeeper, port=settings.port)  # the last one added is the outermost
    app.add_middleware(Limits, settings=settings)
    app.add_middleware(KnownHosts, settings=settings)
    app.add_middleware(TellsProblems)
    app.add_middleware(SafeHeaders)


class SafeHeaders:
    """Every answer, refusals among them, tells the browser what it must not do; nothing is kept unless it says so."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)


class TellsProblems:
    """Answers with what a guard raised. A fault that nobody foresaw is logged, and told without its details."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, noting)
        except Exception as fault:
            if begun or scope["type"] != "http":
                raise
            await answer(Request(scope), _told(scope, fault))(scope, receive, send)


def _told(scope: Scope, fault: Exception) -> Problem:
    if isinstance(fault, Problem):
        return fault
    where = f"{scope['method']} {scope['path']}"
    _log.error("fault at %s", where.encode("unicode_escape").decode(), exc_info=fault)
    return Problem(500, "something broke in the server", where=where, remedy="its log says what; please report it")


class KnownHosts:
    """A page elsewhere can point its own name at this machine, and read what is served under that name. So only names
    that are known are served: loopback's, the one it was started with, and those allowed with --allow-host. Where it
    serves others, an address in figures is no name that anybody could point here."""

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app = app
        self._names = {name.lower() for name in (*LOOPBACK_NAMES, settings.host, *settings.allow_hosts)}
        self._any_address = not is_loopback(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})  # there are none here
            return
        if scope["type"] == "http":
            given = Headers(scope=scope).getlist("host")
            if len(given) != 1 or not self._is_known(given[0]):
                raise Problem(
                    421,
                    "this server is not known by that name",
                    where="header Host",
                    remedy="use the address that `krino serve` printed, or start it with --allow-host NAME",
                )
        await self.app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        name = host_name(host)
        return name is not None and (name in self._names or (self._any_address and address_in(name) is not None))


def host_name(host: str) -> str | None:
    """The name in a Host header, without port and brackets; None for what is none."""
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?", host)
    return (found[1] or found[2]).lower().rstrip(".") if found else None


class Entrance:
    """Lets in who knows the token, and takes what changes something only from our own pages or from programs."""

    def __init__(self, app: ASGIApp, doorkeeper: Doorkeeper, port: int) -> None:
        self.app = app
        self._doorkeeper = doorkeeper
        self._session, self._visit = cookie_names(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        cookies = cookie_parser("; ".join(headers.getlist("cookie")))
        session, visit = cookies.get(self._session, ""), cookies.get(self._visit, "")
        is_new = _VISIT.fullmatch(visit) is None
        if is_new:
            visit = self._doorkeeper.new_visit()
        by_token = self._has_token(headers)
        signed_in = self._doorkeeper.locked and self._doorkeeper.is_session(session)
        state = scope.setdefault("state", {})
        state.update(csrf_token=self._doorkeeper.form_token(visit), signed_in=signed_in, session=session)
        if self._doorkeeper.locked and not (by_token or signed_in or _is_open(scope["path"])):
            await _turned_away(scope, headers)(scope, receive, send)
            return
        if scope["method"] not in SAFE_METHODS and not by_token:
            receive = await self._ours(scope, visit, headers, receive)
        if is_new:
            send = _setting(cookie(scope, self._visit, visit), send)
        await self.app(scope, receive, send)

    def _has_token(self, headers: Headers) -> bool:
        """A wrong token is told, even where no token was needed: it is never what was meant."""
        given = headers.get("authorization")
        if given is None or not self._doorkeeper.locked:
            return False
        kind, _, token = given.partition(" ")
        if kind.lower() == "bearer" and self._doorkeeper.knows(token.strip()):
            return True
        raise _unknown("that is not the token of this server")

    async def _ours(self, scope: Scope, visit: str, headers: Headers, receive: Receive) -> Receive:
        """What the body is read from, once it is plain that no other site's page sends it."""
        foreign, is_form = _told_by_browser(headers), scope["method"] == "POST" and not _is_json(headers)
        if foreign is None and not is_form:
            return receive
        if not takes(scope, scope["method"]):  # then nothing can happen, and the router says so better (405)
            return receive
        if foreign is not None:
            raise Problem(
                403,
                "a page of another site may not change anything here",
                where=f"header {foreign}",
                remedy="use the pages of the workbench, or a program that sends no Origin",
            )
        return await self._our_form(visit, headers, receive)

    async def _our_form(self, visit: str, headers: Headers, receive: Receive) -> Receive:
        """The body again, once a token in it, or in a header, has shown that the form is one of ours."""
        body, again = await _read(receive)
        given = headers.get("x-csrf-token") or _field(body, headers, "csrf")
        if not self._doorkeeper.is_form_token(visit, given):
            raise Problem(
                403,
                "the form was not sent from a page of this workbench, or the page is an old one",
                where="field csrf",
                remedy="reload the page and send it again; programs send JSON (Content-Type: application/json)",
            )
        return again


def cookie_names(port: int) -> tuple[str, str]:
    """Of the session and of the visit. Browsers share cookies among the ports of a machine: each server has its own."""
    return f"krino_session_{port}", f"krino_visit_{port}"


def cookie(scope: Scope, name: str, value: str, seconds: int | None = None) -> str:
    """As a browser is told to keep it: no script reads it, and where the page came over TLS, it never goes without."""
    age = "" if seconds is None else f"; Max-Age={seconds}"
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return f"{name}={value}; Path=/{age}; HttpOnly; SameSite=Lax{secure}"


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith("/static/")


def _unknown(error: str) -> Problem:
    return Problem(
        401,
        error,
        where="header Authorization",
        remedy="send `Authorization: Bearer TOKEN`, or log in at /login with a browser",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _turned_away(scope: Scope, headers: Headers) -> ASGIApp:
    if scope["method"] == "GET" and wants_page(scope["path"], headers.get("accept", "")):
        query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
        return RedirectResponse(f"/login?next={quote(quote(scope['path']) + query)}", 303)
    raise _unknown("this server wants a token")


def _told_by_browser(headers: Headers) -> str | None:
    """The header by which a browser tells that a page of another site sends this: that page cannot set it."""
    origin, fetched = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        return "Origin"
    return None if fetched in (None, "same-origin", "none") else "Sec-Fetch-Site"


def _is_json(headers: Headers) -> bool:
    """No form of another site can send this type without asking first, and who asks is not answered."""
    return _content_type(headers) == "application/json"


def _content_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def _read(receive: Receive) -> tuple[bytes, Receive]:
    """The whole body, and a way to receive it once more. How long it may be and take is `Limits`' business."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the client has gone
            break
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(parts)
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return body, again


def _field(body: bytes, headers: Headers, name: str) -> str:
    if _content_type(headers) != "application/x-www-form-urlencoded":
        return ""
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=10_000).get(name, [""])[0]
    except ValueError:
        return ""


def _setting(visit: str, send: Send) -> Send:
    """Pages, which have forms, set the cookie that their forms are held against."""

    async def with_cookie(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("content-type", "").startswith("text/html"):
                headers.append("set-cookie", visit)
        await send(message)

    return with_cookie
