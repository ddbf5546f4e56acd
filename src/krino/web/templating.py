"""Pages from templates: everything is escaped, and a name that a template misspells is an error."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from krino import __version__
from krino.text.clean import clean
from krino.web.drawing import run_address


def _harmless(value: Any) -> Any:
    """Text without what acts unseen: control characters, and those that turn the line around."""
    return clean(value) if type(value) is str else value


@cache
def environment() -> Environment:
    made = Environment(
        loader=PackageLoader("krino.web", "templates"),
        autoescape=True,  # in every template, whatever its name ends with
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["run_address"] = run_address
    return made


def page(
    request: Request, name: str, *, status: int = 200, headers: Mapping[str, str] | None = None, **context: Any
) -> HTMLResponse:
    """The template as a response.

    A template knows `request`, `csrf_token` (every form that posts needs a hidden field `csrf` with it), `signed_in`
    (whether there is something to log out of) and `version`.
    """
    text = (
        environment()
        .get_template(name)
        .render(
            request=request,
            csrf_token=getattr(request.state, "csrf_token", ""),  # a request that was refused at the door has none
            signed_in=getattr(request.state, "signed_in", False),
            version=__version__,
            **context,
        )
    )
    return HTMLResponse(text, status, headers=dict(headers or {}))
