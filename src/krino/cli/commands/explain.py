"""`krino explain`: shows how a judge understands a text. `Judge.explainers` lists what a judge explains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from krino.cli import options
from krino.cli.printing import print_json
from krino.contract import AnyJudge, Explainer
from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean

What = Annotated[
    str,
    typer.Argument(metavar="WHAT", show_default=False, help="court, case-number or ecli; or what --judge explains."),
]
Texts = Annotated[list[str] | None, typer.Argument(metavar="TEXT...", show_default=False)]
ListFile = Annotated[Path | None, options.flag("File with one text a line (`-` is standard input).")]
JudgeName = Annotated[
    str | None, options.flag("The judge to ask: a name or `file.py:Class`. By default the first that explains it.")
]
Aliases = Annotated[
    Path | None,
    options.flag(
        "Names of your own for courts: a TOML, JSON or CSV file. By default those of krino.toml's citation options."
    ),
]


def explain(
    what: What,
    texts: Texts = None,
    file: ListFile = None,
    judge: JudgeName = None,
    option: options.Options = None,
    aliases: Aliases = None,
    json: options.AsJson = False,
) -> None:
    """Show how a judge understands a text: a Belgian court name, case number or ECLI, say."""
    given = [*(option or ()), *([f"aliases={aliases}"] if aliases is not None else ())]
    for found in _find_explainer(what, judge, given)(_collect_texts(texts, file)):
        print_json(found) if json else typer.echo(_format(found))


def _find_explainer(what: str, name: str | None, given: list[str]) -> Explainer:
    """Returns what explains this: of the named judge, or of the first of Krino's judges that does; raises
    `UsageProblem` if none does."""
    from krino.judges.registry import OURS

    known: dict[str, Explainer] = {}
    for candidate in OURS if name is None else [name]:
        known |= _load(candidate, given if name else []).explainers()
        if what in known:
            return _load(candidate, given).explainers()[what]
    there = ", ".join(known) or "nothing that it explains"
    raise UsageProblem(f"no judge explains `{what}`{did_you_mean(what, known)}; there is {there}")


def _load(name: str, given: list[str]) -> AnyJudge:
    """Loads a judge with its options."""
    from krino.cli.commands.judge import judge_options
    from krino.judges.registry import load_judge

    return load_judge(name, judge_options(name, given))


def _collect_texts(texts: list[str] | None, file: Path | None) -> list[str]:
    """Returns the texts to explain, from arguments and file; raises `UsageProblem` if there are none."""
    given = list(texts or ())
    if file is not None:
        given += _read_lines(file)
    if not given:
        raise UsageProblem("nothing to explain: give one or more texts, or --file with one text a line")
    return given


def _read_lines(file: Path) -> list[str]:
    """Returns the lines of a file, or of stdin for `-`, without blank ones; raises `UsageProblem` if it cannot be
    read."""
    try:
        content = typer.get_text_stream("stdin").read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"--file {file} cannot be read: {error}") from None
    return [line for line in content.splitlines() if line.strip()]


def _format(found: Mapping[str, Any]) -> str:
    return "\n".join([str(found["input"]), *_format_fields(found)])


def _format_fields(found: Mapping[str, Any]) -> Iterator[str]:
    """Yields the fields of an explanation as lines."""
    for name, value in found.items():
        if name == "input" or value in (None, []):
            continue
        if isinstance(value, list) and isinstance(value[0], Mapping):
            parts = (", ".join(f"{key} {part}" for key, part in item.items() if part is not None) for item in value)
            yield from (f"  {name}: {shown}" for shown in parts)
        else:
            yield f"  {name}: {', '.join(map(str, value)) if isinstance(value, list) else value}"
