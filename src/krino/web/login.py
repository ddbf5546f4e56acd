"""The way in and out with a browser. The token is sent once, in the body of a form, and never stands in an address."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from krino.web.security import cookie_names, secure
from krino.web.sessions import SESSION_SECONDS, Doorkeeper
from krino.web.templating import page
from krino.web.workbench import workbench

router = APIRouter(include_in_schema=False)


def _doorkeeper(request: Request) -> Doorkeeper:
    found = request.app.state.doorkeeper
    assert isinstance(found, Doorkeeper)
    return found


@router.get("/login")
def login_page(request: Request, next: str = "/") -> Response:  # noqa: A002 - the parameter's name in addresses
    if not _doorkeeper(request).locked or request.state.signed_in:
        return RedirectResponse(own_path(next), 303)
    return page(request, "login.html", next=own_path(next), problem=None)


@router.post("/login")
def login(request: Request, token: Annotated[str, Form()], next: Annotated[str, Form()] = "/") -> Response:  # noqa: A002
    doorkeeper = _doorkeeper(request)
    if not doorkeeper.locked:
        return RedirectResponse("/", 303)
    if not doorkeeper.knows(token.strip()):
        return page(request, "login.html", status=401, next=own_path(next), problem="That is not the token.")
    name, _ = cookie_names(workbench(request).settings.port)
    answer = RedirectResponse(own_path(next), 303)
    answer.headers.append(
        "set-cookie",
        f"{name}={doorkeeper.new_session()}; Path=/; Max-Age={SESSION_SECONDS}; HttpOnly; SameSite=Lax"
        f"{secure(request.scope)}",
    )
    return answer


@router.post("/logout")
def logout(request: Request) -> Response:
    _doorkeeper(request).end_session(request.state.session)
    name, _ = cookie_names(workbench(request).settings.port)
    answer = RedirectResponse("/login", 303)
    answer.headers.append("set-cookie", f"{name}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax{secure(request.scope)}")
    return answer


def own_path(address: str) -> str:
    """A path of this server, or its first page: a link to the login page must not lead on to somewhere else."""
    is_own = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_own and "\\" not in address else "/"
