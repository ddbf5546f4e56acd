"""`/login` and `/logout`. The token is sent once, in the body of a form, and never appears in a URL."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Form, Request
from starlette.responses import RedirectResponse, Response

from krino.web.rendering import render_page
from krino.web.security import cookie_names, make_cookie
from krino.web.sessions import SESSION_SECONDS
from krino.web.workbench import WorkbenchDep

router = APIRouter(include_in_schema=False)


@router.get("/login")
def login_page(request: Request, workbench: WorkbenchDep, next: str = "/") -> Response:  # noqa: A002 - the parameter's name in addresses
    """Shows the login form; leads on where no login is needed."""
    if not workbench.auth.requires_token or request.state.signed_in:
        return RedirectResponse(local_path(next), 303)
    return render_page(request, "login.html", next=local_path(next), problem=None)


@router.post("/login")
def login(
    request: Request,
    workbench: WorkbenchDep,
    token: Annotated[str, Form()],
    next: Annotated[str, Form()] = "/",  # noqa: A002
) -> Response:
    """Starts a session if the token is right."""
    if not workbench.auth.requires_token:
        return RedirectResponse("/", 303)
    if not workbench.auth.is_token(token.strip()):
        return render_page(request, "login.html", status=401, next=local_path(next), problem="Wrong token.")
    return _redirect(request, workbench, local_path(next), workbench.auth.new_session(), SESSION_SECONDS)


@router.post("/logout")
def logout(request: Request, workbench: WorkbenchDep) -> Response:
    """Ends the session and its cookie, and leads to the login page."""
    workbench.auth.end_session(request.state.session)
    return _redirect(request, workbench, "/login", "", 0)


def _redirect(request: Request, workbench: WorkbenchDep, address: str, session: str, seconds: int) -> Response:
    """Redirects, and sets the session cookie for this many seconds; 0 deletes it."""
    name, _ = cookie_names(workbench.settings.port)
    return RedirectResponse(address, 303, {"set-cookie": make_cookie(request.scope, name, session, seconds)})


def local_path(address: str) -> str:
    """Returns `address` if it is a path of this server, else `/`: a link to the login page must not redirect to another
    site."""
    is_own = address.startswith("/") and not address.startswith(("//", "/\\")) and address.isprintable()
    return address if is_own and "\\" not in address else "/"
