"""Every router of the workbench but that of watching, by the module that has it: a new page or API is a line here."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

from fastapi import APIRouter

ROUTERS = (
    "krino.web.login",
    "krino.web.api.runs",
    "krino.web.labels.api",
    "krino.web.labels.pages",
    "krino.web.pages.runs",
    "krino.web.pages.run",
    "krino.web.pages.case",
    "krino.web.pages.compare",
    "krino.web.pages.try_it",
)
"""Modules with a `router`. The order matters where two paths could mean the same request: the first wins."""


def routers() -> Iterator[APIRouter]:
    for name in ROUTERS:
        yield importlib.import_module(name).router
