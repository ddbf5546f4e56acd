"""The page of the command line, from the commands themselves."""

from __future__ import annotations

import html
import re
from typing import Any

import typer.main

from krino.cli import EXIT_CODES, app

_COMMAND = re.compile(r"`krino (?P<name>[a-z-]+)`")


def pages() -> dict[str, str]:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    lines = [
        "# Command line",
        "",
        "This page is made from the program: it is what `krino COMMAND --help` prints. Flags of `krino judge` can also",
        "are in [krino.toml](krino_toml.md) or in a variable (`KRINO_MAX_COST` for `--max-cost`).",
        "",
        EXIT_CODES.replace("\n", " ") + " [More](exit_codes.md).",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    lines += [f"| [`krino {name}`](#krino-{name}) | {_first_line(made)} |" for name, made in commands.items()]
    for name, made in commands.items():
        lines += ["", *_section(name, made)]
    return {"reference/command_line.md": "\n".join(lines) + "\n"}


def _first_line(command: Any) -> str:
    return _text(command.help.split("\n\n")[0])


def _section(name: str, command: Any) -> list[str]:
    """One command: how it is called, what it does, its arguments and options by panel."""
    arguments = [each for each in command.params if not _is_option(each)]
    options = [each for each in command.params if _is_option(each) and not each.hidden]
    called = " ".join(["krino", name, *(_argument(each) for each in arguments), *(["[OPTIONS]"] if options else [])])
    lines = [f"## krino {name}", "", f"**`{called}`**", "", *_help(command.help)]
    if arguments:
        lines += [
            "",
            "| argument | |",
            "|---|---|",
            *(f"| `{each.metavar or each.name.upper()}` | {_text(each.help)} |" for each in arguments),
        ]
    panels: dict[str, list[Any]] = {}
    for each in options:
        panels.setdefault(each.rich_help_panel or "Options", []).append(each)
    for panel, members in panels.items():
        lines += ["", f"| {panel} | |", "|---|---|", *(f"| {_names(each)} | {_text(each.help)} |" for each in members)]
    return lines


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts[0].startswith("-"))


def _argument(parameter: Any) -> str:
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    name = name if name.endswith("...") or parameter.nargs == 1 else f"{name}..."
    return name if parameter.required else f"[{name}]"


def _names(option: Any) -> str:
    """The spellings of an option, and its default where that says something."""
    spelt = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    default = option.default
    says = not option.is_flag and default not in (None, "", False) and not callable(default) and not option.multiple
    return f"{spelt} (`{default}`)" if says else spelt


def _help(text: str) -> list[str]:
    """The help of a command as Markdown: its bullets become a list."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    lines: list[str] = []
    for paragraph in paragraphs:
        item = paragraph.startswith("•")
        lines += [] if item and lines and lines[-1].startswith("- ") else [""]
        lines.append(
            f"- {_linked(html.escape(paragraph[1:].strip(), quote=False))}"
            if item
            else _linked(html.escape(paragraph, quote=False))
        )
    return lines[1:]


def _linked(text: str) -> str:
    return _COMMAND.sub(r"[`krino \g<name>`](#krino-\g<name>)", text)


def _text(text: str | None) -> str:
    """Help in a cell of a table."""
    return html.escape(" ".join((text or "").split()), quote=False).replace("|", "\\|").replace("*", "\\*")
