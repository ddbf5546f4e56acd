"""`krino map`: proposes how the fields of a file are mapped for a judge, and shows a case as it will be read."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import exits, options
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.api.mapping import Mapped

JudgeName = Annotated[
    str | None, typer.Option("--judge", help="The judge that the cases are for; else the one that fits best.")
]
Write = Annotated[
    Path | None, typer.Option("--write", metavar="KRINO.TOML", help="Write the mapping into this settings file.")
]
_SHOWN_UNREAD = 200


def map_fields(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files of cases, as `krino judge` takes them.")],
    judge: JudgeName = None,
    format: options.Format = "auto",  # noqa: A002 - the flag's name
    write: Write = None,
) -> None:
    """Look at the first cases of FILE... and propose the --map flags, or the lines of krino.toml, for a judge.

    Each proposal gives its reason. Then follow one case as it will be read, and all fields that are not read.
    """
    from krino.api.mapping import map_files

    found = map_files(files, judge, format=format)
    typer.echo(found.summary())
    if found.proposals:
        _print_proposals(found)
        _print_use(found, files, write)
    _print_rest(found)
    raise typer.Exit(exits.DONE if found.readable else exits.CASES_FAILED)


def _print_proposals(found: Mapped) -> None:
    """Prints the proposed mapping with reasons."""
    typer.echo("\nProposed mapping")
    wide = max(len(f"{item.target}={item.source}") for item in found.proposals)
    for item in found.proposals:
        typer.echo(f"  {f'{item.target}={item.source}':<{min(wide, 70)}}  {item.why}")


def _print_use(found: Mapped, files: list[str], write: Path | None) -> None:
    """Prints how to use the mapping, or writes it into a settings file."""
    lines = toml_lines(found.pairs)
    if write is not None:
        write_settings(write, lines)
        typer.echo(f"\nWritten to {write}. Judge with: krino judge {shlex.join([found.address, *files])}")
        return
    flags = " \\\n    ".join(f"--map {shlex.quote(pair)}" for pair in found.pairs)
    typer.echo(f"\nOn the command line\n  krino judge {shlex.join([found.address, *files])} \\\n    {flags}")
    typer.echo("\nOr in krino.toml (krino map ... --write krino.toml)\n  [judge]")
    typer.echo("\n".join(f"  {line}" for line in lines))


def _print_rest(found: Mapped) -> None:
    """Prints an example case, notes, and the fields that are not read."""
    if found.shown is not None:
        name, fields = found.shown
        typer.echo(f"\nCase {name} as it will be read")
        for field, text in fields:
            typer.echo(f"  {field:<20}  {text}")
    for note in found.notes:
        typer.echo(f"\n{note}")
    if found.unread:
        typer.echo(f"\nNot read by {found.judge} (of {found.records:,} cases)")
        for path, count in found.unread[:_SHOWN_UNREAD]:
            typer.echo(f"  {count:>6,}  {path}")
        if len(found.unread) > _SHOWN_UNREAD:
            typer.echo(f"          and {len(found.unread) - _SHOWN_UNREAD:,} more")
        for name in found.missing:
            pair = shlex.quote(f"{name}={found.unread[0][0]}")
            typer.echo(f"\nNothing is proposed for `{name}`, which every case must have: name a field, as --map {pair}")
        for name, wanted_by in found.missing_for.items():
            pair = shlex.quote(f"{name}={found.unread[0][0]}")
            typer.echo(
                f"\nNothing is proposed for `{name}`, which is needed for {', '.join(wanted_by)}: "
                f"if the cases have it, name it, as --map {pair}"
            )
    else:
        typer.echo(f"\nEvery field is read by {found.judge}.")


def toml_lines(pairs: list[str]) -> list[str]:
    """Returns the mapping as lines of krino.toml: the key `map` of the section `judge`."""
    import orjson

    return ["map = [", *(f"    {orjson.dumps(pair).decode()}," for pair in pairs), "]"]


def write_settings(path: Path, lines: list[str]) -> None:
    """Adds the mapping to a settings file and keeps the rest; raises `UsageProblem` for a file that has a mapping
    already."""
    from krino.cli.settings import read_toml

    text = path.read_text("utf-8-sig") if path.exists() else ""
    known = read_toml(path).get("judge", {}) if text else {}
    if not isinstance(known, dict) or "map" in known:
        raise UsageProblem(
            f"{path} has a mapping already; put this in its place, or remove it and try again:\n" + "\n".join(lines)
        )
    rows = text.splitlines()
    header = next((place for place, row in enumerate(rows) if row.split("#")[0].strip() == "[judge]"), None)
    if header is None:
        rows += [*([""] if rows else []), "[judge]", *lines]
    else:
        rows[header + 1 : header + 1] = lines
    try:
        path.write_text("\n".join(rows) + "\n", "utf-8")
    except OSError as error:
        raise UsageProblem(f"--write {path}: {error.strerror}") from None
