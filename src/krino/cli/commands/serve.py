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
        "Access token. Better set KRINO_TOKEN: other users see flags in the list of processes.",
        env="KRINO_TOKEN",
    ),
]
Database = Annotated[
    str | None,
    options.flag(
        "Database of labels, as postgresql+psycopg://…; by default a SQLite file in RUNS_FOLDER.",
        env="KRINO_DATABASE",
    ),
]
AllowHosts = Annotated[options.Texts, options.flag("Another host name of the server, such as that of a proxy.")]
Judges = Annotated[options.Texts, options.flag("Another judge to offer, as file.py:Class; its code is run.")]
Guards = Annotated[
    options.Texts,
    options.flag('A rule of POST /v1/guard/JUDGE, which answers pass or block, as "rag min faithfulness=0.8".'),
]
Model = Annotated[
    str | None,
    options.flag(
        "A model (or a,b,c: a jury) that requests may use. Needs --max-cost or --max-tokens, a limit for all of them.",
        panel=options.MODEL,
    ),
]
MaxCaseBytes = Annotated[int, typer.Option(min=10_000, help="Longest case of a request, in bytes of JSON.")]
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
    guard: Guards = None,
    max_case_bytes: MaxCaseBytes = 250_000,
    labeller: Model = None,
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    open: OpenPage = False,  # noqa: A002 - the flag's name
) -> None:
    """Look at runs, label and compare them in a browser; judge cases over HTTP (POST /v1/judge/JUDGE)."""
    try:
        from krino.people import FOLDER, find_runs_folder
        from krino.results.gates.single_case import parse_case_rules
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
        guards=parse_case_rules(guard or (), "--guard"),
        max_case_bytes=max_case_bytes,
        in_processes=True,
        labellers={} if labeller is None else {labeller: make_limited_labeller(ctx, labeller, api_key_env, llm)},
    )
    address = f"http://{'localhost' if host in ('127.0.0.1', '::1') else host}:{port}/"

    def listening() -> None:
        """Prints where the workbench is and where labels are kept, and opens a browser if asked to."""
        say(f"the workbench is at {address} (Ctrl-C ends it)")
        if database is None and find_runs_folder(runs) != runs:
            kept = f"labels are kept beside it, in {find_runs_folder(runs) / FOLDER}"
            say(f"{runs} is one run: {kept} (--database names another place)")
        if open:
            typer.launch(address)

    serve_until_ended(settings, listening)


def make_limited_labeller(ctx: typer.Context, name: str, api_key_env: str | None, llm: options.LlmFlags) -> Labeller:
    """Makes the labeller that clients of a server may use. They spend money on it, so without a limit it raises
    `UsageProblem`."""
    from krino.cli.keys import keys_for
    from krino.cli.settings import load_settings
    from krino.labellers.factory import names_in

    if "max_cost" not in llm and "max_tokens" not in llm:
        raise UsageProblem(
            f"--labeller {name}: every client of the server can spend money on it; set a total limit with --max-cost "
            "(and --price-in, --price-out, or prices in krino.toml) or --max-tokens"
        )
    keys = keys_for(ctx, names_in(name), llm.get("base_url"), api_key_env)
    return options.labeller_of(name, 1, llm, keys, prices=load_settings().prices)
