"""ASGI middleware in front of all routes: security headers, Host check, access token and CSRF protection.

Each middleware raises `Problem`, and `ProblemResponses` turns it into a response, so that refusals have the same shape
and headers as all other responses. `add_guards` lists them from the innermost to the outermost.
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
from krino.web.problems import Problem, problem_response, route_accepts, wants_html
from krino.web.sessions import TokenAuth
from krino.web.settings import LOOPBACK_NAMES, ServeSettings, is_loopback, parse_address

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
    "referrer-policy": "same-origin",  # `no-referrer` would make browsers send `Origin: null` with our own forms
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
OPEN_PATHS = frozenset({"/login", "/health"})
"""Paths that need no token; `/static/` needs none either."""
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_VISIT = re.compile(r"[\w-]{32}")
_log = logging.getLogger("krino.web")


def add_guards(app: FastAPI, settings: ServeSettings, auth: TokenAuth) -> None:
    """Adds all middleware to `app`."""
    app.add_middleware(AccessCheck, auth=auth, port=settings.port)  # the last one added is the outermost
    app.add_middleware(Limits, settings=settings)
    app.add_middleware(HostCheck, settings=settings)
    app.add_middleware(ProblemResponses)
    app.add_middleware(SecurityHeaders)


class SecurityHeaders:
    """Adds security headers to every response; nothing is cached unless the response says so."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, and adds the security headers to its response."""

        async def with_headers(message: Message) -> None:
            """Adds the headers, and sends the message on."""
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, with_headers)


class ProblemResponses:
    """Turns raised problems into responses. Unexpected errors are logged, and reported without details."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turns exceptions into error responses, as long as no response has started."""
        begun = False

        async def send_and_note(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, send_and_note)
        except Exception as fault:
            if begun or scope["type"] != "http":
                raise
            await problem_response(Request(scope), _to_problem(scope, fault))(scope, receive, send)


def _to_problem(scope: Scope, fault: Exception) -> Problem:
    """Returns the problem for a fault; what is not known goes to the log only."""
    if isinstance(fault, Problem):
        return fault
    where = f"{scope['method']} {scope['path']}"
    _log.error("error at %s", where.encode("unicode_escape").decode(), exc_info=fault)
    return Problem(500, "internal server error", where=where, remedy="see the server's log, and please report it")


class HostCheck:
    """Serves only known host names, against DNS rebinding.

    A website could point its own name at this machine and then read what is served under that name. Allowed are
    loopback names, the host that the server was started with, and --allow-host. If the server listens on a public
    address, any IP address is allowed too: nobody can rebind an address.

    Starlette's `TrustedHostMiddleware` is not used: of two Host headers it checks only the first, it cannot allow all
    IP addresses, and it answers without the shape and headers of other errors.
    """

    def __init__(self, app: ASGIApp, settings: ServeSettings) -> None:
        self.app = app
        self._names = {name.lower() for name in (*LOOPBACK_NAMES, settings.host, *settings.allow_hosts)}
        self._any_address = not is_loopback(settings.host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuses requests for another host name, which is how DNS rebinding reaches a local server."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1003})  # there are no websocket routes
            return
        if scope["type"] == "http":
            given = Headers(scope=scope).getlist("host")
            if len(given) != 1 or not self._is_known(given[0]):
                raise Problem(
                    421,
                    "this server does not serve that host name",
                    where="header Host",
                    remedy="use the address that `krino serve` printed, or start it with --allow-host NAME",
                )
        await self.app(scope, receive, send)

    def _is_known(self, host: str) -> bool:
        name = parse_host_name(host)
        return name is not None and (name in self._names or (self._any_address and parse_address(name) is not None))


def parse_host_name(host: str) -> str | None:
    """Returns the name in a Host header in lower case, without port and brackets; None if it is malformed."""
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?", host)
    return (found[1] or found[2]).lower().rstrip(".") if found else None


class AccessCheck:
    """Requires the token or a session, and accepts changes only from our own pages or from programs."""

    def __init__(self, app: ASGIApp, auth: TokenAuth, port: int) -> None:
        self.app = app
        self._auth = auth
        self._session, self._visit = cookie_names(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Checks the access token or session, and that forms come from our own pages."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        cookies = cookie_parser("; ".join(headers.getlist("cookie")))
        session, visit = cookies.get(self._session, ""), cookies.get(self._visit, "")
        is_new = _VISIT.fullmatch(visit) is None
        if is_new:
            visit = self._auth.new_visit()
        by_token = self._check_bearer_token(headers)
        signed_in = self._auth.requires_token and self._auth.is_session(session)
        state = scope.setdefault("state", {})
        state.update(csrf_token=self._auth.form_token(visit), signed_in=signed_in, session=session)
        if self._auth.requires_token and not (by_token or signed_in or _is_open_path(scope["path"])):
            await _refuse_entry(scope, headers)(scope, receive, send)
            return
        if scope["method"] not in SAFE_METHODS and not by_token:
            receive = await self._check_same_site(scope, visit, headers, receive)
        if is_new:
            send = _add_cookie(make_cookie(scope, self._visit, visit), send)
        await self.app(scope, receive, send)

    def _check_bearer_token(self, headers: Headers) -> bool:
        """Whether the request has the token. Raises `Problem` for an invalid one, even where a token is optional."""
        given = headers.get("authorization")
        if given is None or not self._auth.requires_token:
            return False
        kind, _, token = given.partition(" ")
        if kind.lower() == "bearer" and self._auth.is_token(token.strip()):
            return True
        raise _make_unauthorized("invalid token")

    async def _check_same_site(self, scope: Scope, visit: str, headers: Headers, receive: Receive) -> Receive:
        """Raises `Problem` if a page of another site sent the request, or a form without its CSRF token. Returns what
        the body is read from."""
        foreign, is_form = _find_foreign_header(headers), scope["method"] == "POST" and not _is_json(headers)
        if foreign is None and not is_form:
            return receive
        if not route_accepts(scope, scope["method"]):  # nothing can happen, and the router answers 405
            return receive
        if foreign is not None:
            raise Problem(
                403,
                "a page of another site may not change anything here",
                where=f"header {foreign}",
                remedy="use the pages of the workbench, or a program that sends no Origin",
            )
        return await self._check_form_token(visit, headers, receive)

    async def _check_form_token(self, visit: str, headers: Headers, receive: Receive) -> Receive:
        """Verifies the CSRF token (in the form or in a header), else raises `Problem`. Returns a `receive` that gives
        the body again."""
        body, again = await _read_body(receive)
        given = headers.get("x-csrf-token") or _read_form_field(body, headers, "csrf")
        if not self._auth.is_form_token(visit, given):
            raise Problem(
                403,
                "the form was not sent from a page of this workbench, or the page is outdated",
                where="field csrf",
                remedy="reload the page and send it again; programs send JSON (Content-Type: application/json)",
            )
        return again


def cookie_names(port: int) -> tuple[str, str]:
    """Returns the names of the session cookie and the visit cookie. Browsers share cookies between ports, so the port
    is part of them."""
    return f"krino_session_{port}", f"krino_visit_{port}"


def make_cookie(scope: Scope, name: str, value: str, seconds: int | None = None) -> str:
    """Makes a Set-Cookie value: hidden from scripts, and sent only over TLS if the page came over TLS."""
    age = "" if seconds is None else f"; Max-Age={seconds}"
    secure = "; Secure" if scope.get("scheme") == "https" else ""
    return f"{name}={value}; Path=/{age}; HttpOnly; SameSite=Lax{secure}"


def _is_open_path(path: str) -> bool:
    """Whether a path needs no token."""
    return path in OPEN_PATHS or path.startswith("/static/")


def _make_unauthorized(error: str) -> Problem:
    """Returns the problem for a missing or wrong token."""
    return Problem(
        401,
        error,
        where="header Authorization",
        remedy="send `Authorization: Bearer TOKEN`, or log in at /login with a browser",
        headers={"WWW-Authenticate": "Bearer"},
    )


def _refuse_entry(scope: Scope, headers: Headers) -> ASGIApp:
    """Returns a redirect to the login page for a browser; raises `Problem` for all others."""
    if scope["method"] == "GET" and wants_html(scope["path"], headers.get("accept", "")):
        query = f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
        return RedirectResponse(f"/login?next={quote(quote(scope['path']) + query)}", 303)
    raise _make_unauthorized("this server requires a token")


def _find_foreign_header(headers: Headers) -> str | None:
    """Returns the header that shows that another site's page sent the request, if any. Pages cannot set these headers
    themselves."""
    origin, fetched = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is not None and urlsplit(origin).netloc.lower() != headers.get("host", "").lower():
        return "Origin"
    return None if fetched in (None, "same-origin", "none") else "Sec-Fetch-Site"


def _is_json(headers: Headers) -> bool:
    """Whether the body is JSON. A form cannot send that type to another site without a preflight, which we do not
    answer."""
    return _content_type(headers) == "application/json"


def _content_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


async def _read_body(receive: Receive) -> tuple[bytes, Receive]:
    """Reads the whole body; returns it, and a `receive` that gives it again. `Limits` bounds its size and time."""
    parts: list[bytes] = []
    more = True
    while more:
        message = await receive()
        if message["type"] != "http.request":  # the client disconnected
            break
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    body = b"".join(parts)
    given = False

    async def again() -> Message:
        """Gives the body that was read already, and then whatever comes next."""
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return body, again


def _read_form_field(body: bytes, headers: Headers, name: str) -> str:
    """Returns a field of a URL-encoded form, or an empty text."""
    if _content_type(headers) != "application/x-www-form-urlencoded":
        return ""
    try:
        return parse_qs(body.decode("utf-8", "replace"), max_num_fields=10_000).get(name, [""])[0]
    except ValueError:
        return ""


def _add_cookie(cookie: str, send: Send) -> Send:
    """Wraps `send`: sets the cookie on HTML pages only, since they hold the forms that are checked against it."""

    async def with_cookie(message: Message) -> None:
        """Adds the cookie to pages, and sends the message on."""
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            if headers.get("content-type", "").startswith("text/html"):
                headers.append("set-cookie", cookie)
        await send(message)

    return with_cookie
