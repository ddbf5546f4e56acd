"""Prints results: blocks on the screen or to a Markdown file, or JSON. Renderers are imported when they are used."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import typer

if TYPE_CHECKING:
    from krino.blocks import Block


def say(text: str) -> None:
    """Prints a line on stderr, without control characters that a name in it may contain."""
    from krino.text.clean import clean

    typer.echo(clean(text), err=True)


def print_blocks(blocks: Iterable[Block]) -> None:
    from krino.render.terminal import screen, show

    show(screen(), blocks)


def write_markdown(file: Path | None, blocks: Iterable[Block]) -> None:
    """Writes blocks to a file, if the user named one."""
    from krino.render.markdown import to_markdown
    from krino.writing import write_text

    if file is not None:
        write_text(file, to_markdown(blocks))


def print_json(value: Any) -> None:
    """Prints a value as JSON on one line."""
    typer.echo(orjson.dumps(value).decode())
