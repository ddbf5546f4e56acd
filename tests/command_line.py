"""The command as users call it, in a process of its own and with none of the settings of whoever runs the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ONE_AFTER_THE_OTHER = """
import json, sys
from typer.testing import CliRunner
from krino.cli import app
for command in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, command)
    print(json.dumps([done.exit_code, done.output, repr(done.exception)]))
"""


def environment(cwd: Path) -> dict[str, str]:
    ours = ("KRINO_", "OPENAI_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours) or key == "KRINO_THREADS"}
    return {**kept, "KRINO_CACHE": str(cwd / "replies.sqlite"), "TMPDIR": str(cwd), "COLUMNS": "100"}


def krino(*args: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 120, **more}
    command = [sys.executable, "-m", "krino", *args]
    return subprocess.run(command, cwd=cwd, check=False, env=environment(cwd), **settings)


def krino_each(commands: Sequence[Sequence[str]], cwd: Path) -> list[tuple[int, str, str]]:
    """Many commands in one process, which is quicker; of each its exit code, what it printed, and what it raised."""
    started = [sys.executable, "-c", ONE_AFTER_THE_OTHER, json.dumps(commands)]
    done = subprocess.run(started, cwd=cwd, check=True, env=environment(cwd), stdout=subprocess.PIPE, text=True)
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]
