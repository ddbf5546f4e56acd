"""The script that judges lies in dresses: what counts as a lie that nobody read."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

import krino

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "rag_dresses.py"
LIE = "The pool is open on Mondays."


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def judged(answer: str) -> krino.Judgement:
    context = ["The pool in Alden is closed on Mondays. Children under six swim for free."]
    return krino.judge("rag", {"question": "When is the pool open?", "context": context, "answer": answer})


def test_a_title_of_the_dress_may_be_set_aside(script: dict[str, Any]) -> None:
    found = judged(f"## Background\n\n{LIE}")
    assert [piece.text for piece in found.unread] == ["Background"]
    assert not script["has_unread_words"](found, "## Background\n\n{L}")


def test_words_that_neither_a_claim_nor_the_dress_has_are_unread(script: dict[str, Any]) -> None:
    found = judged(f"## Background\n\n{LIE}")
    assert script["has_unread_words"](found, "{L}")
