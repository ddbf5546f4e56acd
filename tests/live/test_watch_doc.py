"""The example of docs/watch.md runs, and its tables say what is so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from krino.cli import exits

PAGE = (Path(__file__).parents[2] / "docs" / "watch.md").read_text("utf-8")
(SCRIPT,) = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)


@pytest.mark.skipif(shutil.which("bash") is None, reason="the example is for a shell")
def test_the_example_judges_a_trace(tmp_path: Path) -> None:
    (tmp_path / "krino").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m krino "$@"\n')
    (tmp_path / "krino").chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", SCRIPT], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "1 trace: 1 ok" in done.stderr
    assert "faithfulness" in done.stdout and "contradict" in done.stdout


def test_the_table_has_every_exit_code() -> None:
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert table == {exits.DONE, exits.WRONG_USAGE, exits.CASES_FAILED, exits.INTERRUPTED}
