"""Whoever asks a script of the benchmarks how it is used is told, and nothing is measured."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

SCRIPTS = sorted(
    path
    for path in (Path(__file__).resolve().parents[2] / "benchmarks").glob("*.py")
    if "add_argument" in path.read_text("utf-8") or "sys.argv" in path.read_text("utf-8")
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.stem))
def test_help_is_given(script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    monkeypatch.syspath_prepend(str(script.parent))
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out
