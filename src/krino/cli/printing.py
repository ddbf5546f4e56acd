"""What commands print: blocks on the screen or in a file, JSON for machines. What draws is loaded when it draws."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import typer

if TYPE_CHECKING:
    from krino.blocks import Block


def say(text: str) -> None:
    """A line on stderr, harmless whatever names it holds."""
    from krino.text.clean import clean

    typer.echo(clean(text), err=True)


def on_screen(blocks: Iterable[Block]) -> None:
    from krino.render.terminal import screen, show

    show(screen(), blocks)


def as_markdown(file: Path | None, blocks: Iterable[Block]) -> None:
    """Into a file, if the user names one."""
    from krino.render.markdown import to_markdown
    from krino.writing import write_text

    if file is not None:
        write_text(file, to_markdown(blocks))


def as_json(value: Any) -> None:
    """On one line."""
    typer.echo(orjson.dumps(value).decode())
