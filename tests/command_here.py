"""The command in this process, in a folder of its own: starting Python anew each time would take longer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from krino.cli import app, main
from krino.cli.settings import load_settings
from krino.errors import KrinoError


class Done(NamedTuple):
    code: int
    out: str
    err: str


@contextmanager
def own_folder(folder: Path, monkeypatch: pytest.MonkeyPatch, cache: str) -> Iterator[None]:
    for key in [key for key in os.environ if key.startswith(("KRINO_", "OPENAI_", "ANTHROPIC_"))]:
        monkeypatch.delenv(key)
    monkeypatch.setenv("KRINO_CACHE", cache)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("krino.cli.runner.tune_memory", lambda: None)
    monkeypatch.chdir(folder)
    load_settings.cache_clear()
    yield
    load_settings.cache_clear()


def krino(*args: str, stdin: str | None = None) -> Done:
    """As the framework tries commands; what is refused ends with 2, as it does for users."""
    done = CliRunner().invoke(app, args, input=stdin)
    if isinstance(done.exception, KrinoError):
        return Done(2, done.stdout, str(done.exception))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return Done(done.exit_code, done.stdout, done.stderr)


def ran_main(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *args: str) -> Done:
    """From `main` on, with what it makes of errors."""
    load_settings.cache_clear()
    monkeypatch.setattr(sys, "argv", ["krino", *args])
    with pytest.raises(SystemExit) as stop:
        main()
    load_settings.cache_clear()
    said = capsys.readouterr()
    return Done(stop.value.code if isinstance(stop.value.code, int) else 0, said.out, said.err)
