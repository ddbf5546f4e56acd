"""The README is short, and what it shows works as shown."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from page_blocks import blocks_of

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
TYPED = [ROOT / "README.md", ROOT / "docs" / "own_judge.md"]


def test_it_is_short() -> None:
    assert README.count("\n") <= 150


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_python_example_is_typed(tmp_path: Path) -> None:
    examples = [
        block.text for page in TYPED for block in blocks_of(page.read_text("utf-8")) if block.language == "python"
    ]
    assert any("class Politeness" in code for code in examples)
    for number, code in enumerate(examples):
        (tmp_path / f"example_{number}.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_what_is_shown_as_printed_is_what_the_program_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_readme = importlib.import_module("make_readme")
    shown = make_readme.blocks(README)
    assert shown == re.findall(r"```text\n(.*?)```", README, re.DOTALL), "output without the command that printed it"
    stale = README.replace(shown[0], "what an earlier version printed\n")
    assert make_readme.filled(stale) == README, "run docs/make_readme.py"
