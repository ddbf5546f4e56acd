"""`krino new`, `krino check` and `krino import`: your own judges in files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import exits, options
from krino.cli.printing import print_json, say
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.api.checking import CheckedFiles

_FROM = Annotated[str | None, options.flag("A ready judge to copy (krino judges lists them).", "--from")]
_OUT = Annotated[Path | None, options.flag("The file to write; by default the name of the prompt with `.md`.", "--out")]
_LABELLER = Annotated[
    str | None, options.flag("Who answers for examples that state no labels.", "--labeller", "-l", env="KRINO_LABELLER")
]


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the judge is called; the file is NAME.md.")],
    source: _FROM = None,
) -> None:
    """Write a judge of your own: a commented file that runs, or a copy of a ready one."""
    from krino.judges.file.drafting import new_file
    from krino.judges.registry import is_ours

    file = Path(name if name.endswith(".md") else f"{name}.md")
    if is_ours(file.stem):
        raise UsageProblem(f"`{file.stem}` is a ready judge; choose another name: krino new my-{file.stem}")
    text = new_file(str(file)) if source is None else _read_ready_judge(source)
    _write_new(file, text)
    say(f"wrote {file}; next: krino check {file}, then krino judge {file} CASES -l MODEL")


def _read_ready_judge(source: str) -> str:
    """Returns the text of a ready judge; raises `UsageProblem` with the names of all if there is none of this name."""
    from krino.judges.registry import SHELF, shelf_names
    from krino.text.guessing import did_you_mean

    if source not in shelf_names():
        known = shelf_names()
        raise UsageProblem(
            f"there is no ready judge `{source}`{did_you_mean(source, known)}; there are {', '.join(known)}"
        )
    return (SHELF / f"{source}.md").read_text("utf-8")


def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Judges in Markdown files.")],
    labeller: _LABELLER = None,
    json: options.AsJson = False,
) -> None:
    """Find mistakes in judges, with line and column, and run their examples.

    Exit code 2 if a file has a mistake, 1 if an example comes out otherwise than it says.
    """
    from krino.api.checking import CheckedFiles, check_file

    chosen = None if labeller in (None, "local") else labeller
    found = CheckedFiles([check_file(file, chosen) for file in files])
    _print_findings(found, json)
    raise typer.Exit(exits.WRONG_USAGE if found.mistakes else exits.GATE_FAILED if found.failures else exits.DONE)


def _print_findings(found: CheckedFiles, json: bool) -> None:
    """Prints for each file of a judge what was found in it, and how many examples came out as they say."""
    if json:
        for checked in found.files:
            print_json(
                {"file": checked.file, "ok": not checked.mistakes and not checked.failures, "found": checked.lines}
            )
        return
    for checked in found.files:
        for line in checked.lines:
            say(line)
        if not checked.mistakes:
            ran = [tried for tried in checked.tried if not tried.skipped]
            good = len(ran) - len(checked.failures)
            examples = f"{good} of {len(ran)} examples came out as they say" if ran else "no example was run"
            typer.echo(f"{checked.file}: judge `{checked.judge}`, {examples}")


def import_prompt(
    prompt: Annotated[Path, typer.Argument(metavar="PROMPT", help="A prompt with placeholders, as a text file.")],
    out: _OUT = None,
) -> None:
    """Draft a judge from a prompt with placeholders and a JSON example of its output."""
    from krino.judges.file.drafting import draft
    from krino.judges.file.reading import read_judge_text

    text, notes = draft(read_judge_text(prompt))
    file = out or Path(f"{prompt.stem}.md")
    if file.exists() and file.resolve() == prompt.resolve():
        file = prompt.with_name(f"{prompt.stem}-judge.md")
    _write_new(file, text)
    say(f"wrote {file}; fill in what says TODO, then: krino check {file}")
    for note in notes:
        say(f"- {note}")


def _write_new(file: Path, text: str) -> None:
    """Writes a new file; raises `UsageProblem` if there is one of this name already."""
    from krino.writing import write_failed

    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        raise UsageProblem(f"{file} exists already; choose another name") from None
    except OSError as error:
        raise write_failed(file, error) from None
