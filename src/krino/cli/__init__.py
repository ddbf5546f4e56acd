"""The command `krino`; each of its commands is a thin module in `cli.commands`."""

from __future__ import annotations

import io
import sys

import typer

from krino.cli.commands import (
    agree,
    align,
    attack,
    compare,
    demo,
    doctor,
    explain,
    export,
    gate,
    judge,
    judges,
    mcp,
    own,
    rank,
    resettle,
    serve,
    shard,
    show,
    trend,
    true_rate,
    verify,
    watch,
)
from krino.cli.commands import map as mapping
from krino.cli.exits import Commands, end_on_signals, end_with, exit_code_of
from krino.cli.settings import load_settings

EXIT_CODES = """Exit codes: 0 done · 1 a gate failed, or a verdict does not follow · 2 wrong usage or input ·
3 some cases failed or were not reached · 70 a fault in Krino or in a judge · 130 interrupted · 141 the reader of its
output has gone."""

app = typer.Typer(
    name="krino",
    cls=Commands,
    help="Evaluation by judges whose verdicts can be checked: models label, code scores.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("judge")(judge.judge)
app.command("new")(own.new)
app.command("check")(own.check)
app.command("import")(own.import_prompt)
app.command("attack")(attack.attack)
app.command("map")(mapping.map_fields)
app.command("judges")(judges.judges)
app.command("show")(show.show)
app.command("agree")(agree.agree)
app.command("align")(align.align)
app.command("trend")(trend.trend)
app.command("true-rate")(true_rate.true_rate)
app.command("compare", help=compare.HELP)(compare.compare)
app.command("rank")(rank.rank)
app.command("gate", help=gate.HELP)(gate.gate)
app.command("export", help=export.HELP)(export.export)
app.command("schema")(judges.schema)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("resettle")(resettle.resettle)
app.command("verify")(verify.verify)
app.command("shard")(shard.shard)
app.command("merge")(shard.merge)
app.command("serve")(serve.serve)
app.command("watch")(watch.watch)
app.command("mcp")(mcp.mcp)
app.command("explain", no_args_is_help=True)(explain.explain)


def _version(wanted: bool) -> None:
    """Prints the version and ends, if the flag is given."""
    if wanted:
        from krino import __version__

        typer.echo(f"krino {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    ctx.default_map = load_settings().defaults()


def main() -> None:
    """Run the command and end with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no ✓ gets a ?, not a crash
    end_on_signals()
    end_with(exit_code_of(app))
