"""`krino serve`: the workbench in a browser, and judging over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import options
from krino.cli.printing import say
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract import Labeller


RunsFolder = Annotated[Path, typer.Argument(metavar="[RUNS_FOLDER]", help="Folder of run folders.", show_default=True)]
Host = Annotated[str, typer.Option(help="Address to listen at; one that others can reach needs a token.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port to listen at.")]
Token = Annotated[
    str | None,
    options.flag(
        "Who knows it may enter. Better in the variable: other users see flags in the list of processes.",
        env="KRINO_TOKEN",
    ),
]
Database = Annotated[
    str | None,
    options.flag(
        "Where labels are kept: a URL of SQLAlchemy, as postgresql+psycopg://…; by default a SQLite file in "
        "RUNS_FOLDER.",
        env="KRINO_DATABASE",
    ),
]
AllowHosts = Annotated[options.Texts, options.flag("A name under which browsers reach the server, as a proxy's.")]
Judges = Annotated[options.Texts, options.flag("A further judge to offer, as file.py:Class: its code is run.")]
Model = Annotated[
    str | None,
    options.flag(
        "A model that requests may ask for beside `local`, or several with commas (a jury); needs --max-cost "
        "or --max-tokens, which hold for the server's whole life.",
        panel=options.MODEL,
    ),
]
MaxCaseBytes = Annotated[
    int, typer.Option(min=10_000, help="Longest case that requests may bring, in bytes of JSON; a long one delays all.")
]
OpenPage = Annotated[bool, typer.Option("--open", help="Open the first page in a browser.")]


@options.llm_flags()
def serve(
    ctx: typer.Context,
    runs: RunsFolder = Path("runs"),
    host: Host = "127.0.0.1",
    port: Port = 8321,
    token: Token = None,
    database: Database = None,
    allow_host: AllowHosts = None,
    judge: Judges = None,
    max_case_bytes: MaxCaseBytes = 250_000,
    labeller: Model = None,
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    open: OpenPage = False,  # noqa: A002 - the flag's name
) -> None:
    """Look at runs, label and compare them in a browser; judge cases over HTTP (POST /v1/judge/JUDGE)."""
    try:
        from krino.people import FOLDER, find_runs_folder
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
        max_case_bytes=max_case_bytes,
        in_processes=True,
        labellers={} if labeller is None else {labeller: _asked(ctx, labeller, api_key_env, llm)},
    )
    address = f"http://{'localhost' if host in ('127.0.0.1', '::1') else host}:{port}/"

    def listening() -> None:
        say(f"the workbench is at {address} (Ctrl-C ends it)")
        if database is None and find_runs_folder(runs) != runs:
            kept = f"what people say of it is kept beside it, in {find_runs_folder(runs) / FOLDER}"
            say(f"{runs} is one run: {kept} (--database names another place)")
        if open:
            typer.launch(address)

    serve_until_ended(settings, listening)


def _asked(ctx: typer.Context, name: str, api_key_env: str | None, llm: options.LlmFlags) -> Labeller:
    """The model that clients may spend money on: never without an end."""
    from krino.cli.keys import keys_for
    from krino.cli.settings import load_settings
    from krino.labellers.factory import names_in

    if "max_cost" not in llm and "max_tokens" not in llm:
        raise UsageProblem(
            f"--labeller {name}: every client of the server could spend on it; say how much in all with --max-cost "
            "(and --price-in, --price-out, or prices in krino.toml) or --max-tokens"
        )
    keys = keys_for(ctx, names_in(name), llm.get("base_url"), api_key_env)
    return options.labeller_of(name, 1, llm, keys, prices=load_settings().prices)
