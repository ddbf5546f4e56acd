"""`krino serve`: the workbench in a browser, and judging over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.errors import UsageProblem


def serve(
    runs: Annotated[
        Path, typer.Argument(metavar="[RUNS_FOLDER]", help="Folder of run folders.", show_default=True)
    ] = Path("runs"),
    host: Annotated[
        str, typer.Option(help="Address to listen at; one that others can reach needs a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")] = 8321,
    token: Annotated[
        str | None,
        typer.Option(
            help="Who knows it may enter. Better in the variable: other users see flags in the list of processes.",
            envvar="KRINO_TOKEN",
            show_default=False,
            show_envvar=True,
        ),
    ] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="Where labels are kept: a URL of SQLAlchemy, as postgresql+psycopg://…; by default a SQLite file in "
            "RUNS_FOLDER.",
            envvar="KRINO_DATABASE",
            show_default=False,
            show_envvar=True,
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name under which browsers reach the server, as a proxy's.", show_default=False),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(help="A further judge to offer, as file.py:Class: its code is run.", show_default=False),
    ] = None,
    open: Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")] = False,  # noqa: A002 - the flag's name
) -> None:
    """Look at runs, label and compare them in a browser; judge cases over HTTP (POST /v1/judge/JUDGE)."""
    try:
        from krino.web.server import serve as serve_until_ended
        from krino.web.settings import ServeSettings
    except ModuleNotFoundError as missing:
        raise UsageProblem(f"the workbench needs {missing.name}: pip install 'krino[web]'") from None
    settings = ServeSettings(
        runs=runs,
        host=host,
        port=port,
        token=token,
        database=database,
        allow_hosts=tuple(allow_host or ()),
        judges=tuple(judge or ()),
    )
    address = f"http://{'localhost' if host in ('127.0.0.1', '::1') else host}:{port}/"
    typer.echo(f"the workbench is at {address} (Ctrl-C ends it)", err=True)
    serve_until_ended(settings, open_at=address if open else None)
