"""The way in and out with a browser. The token is sent once, in the body of a form, and never stands in an address."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from krino.web.security import cookie, cookie_names
from krino.web.sessions import SESSION_SECONDS
from krino.web.templating import page
from krino.web.workbench import Bench

router = APIRouter(include_in_schema=False)


@router.get("/login")
def login_page(request: Request, bench: Bench, next: str = "/") -> Response:  # noqa: A002 - the parameter's name in addresses
    if not bench.doorkeeper.locked or request.state.signed_in:
        return RedirectResponse(own_path(next), 303)
    return page(request, "login.html", next=own_path(next), problem=None)


@router.post("/login")
def login(
    request: Request,
    bench: Bench,
    token: Annotated[str, Form()],
    next: Annotated[str, Form()] = "/",  # noqa: A002
) -> Response:
    if not bench.doorkeeper.locked:
        return RedirectResponse("/", 303)
    if not bench.doorkeeper.knows(token.strip()):
        return page(request, "login.html", status=401, next=own_path(next), problem="That is not the token.")
    return _sent_on(request, bench, own_path(next), bench.doorkeeper.new_session(), SESSION_SECONDS)


@router.post("/logout")
def logout(request: Request, bench: Bench) -> Response:
    bench.doorkeeper.end_session(request.state.session)
    return _sent_on(request, bench, "/login", "", 0)


def _sent_on(request: Request, bench: Bench, address: str, session: str, seconds: int) -> Response:
    name, _ = cookie_names(bench.settings.port)
    return RedirectResponse(address, 303, {"set-cookie": cookie(request.scope, name, session, seconds)})


def own_path(address: str) -> str:
    """A path of this server, or its first page: a link to the login page must not lead on to somewhere else."""
    is_own = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_own and "\\" not in address else "/"
