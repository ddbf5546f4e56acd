"""The README is short, and what it shows works as shown."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_it_is_short() -> None:
    assert README.count("\n") <= 150


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)#]+)", README)
    assert len(links) > 20
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_what_is_shown_as_printed_is_what_the_program_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    make_readme = importlib.import_module("make_readme")
    shown = make_readme.blocks(README)
    assert shown == re.findall(r"```text\n(.*?)```", README, re.DOTALL), "output without the command that printed it"
    stale = README.replace(shown[0], "what an earlier version printed\n")
    assert make_readme.filled(stale) == README, "run docs/make_readme.py"
