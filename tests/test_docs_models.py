"""Examples name models that can be had: those of docs/models.toml, and no others."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest
from anthropic.types import Model
from openai.types.shared import ChatModel

ROOT = Path(__file__).parents[1]
NAMED = tomllib.loads((ROOT / "docs" / "models.toml").read_text("utf-8"))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), *sorted((ROOT / "src").rglob("card.md"))]
_MODEL = re.compile(r"\b(?:gpt-[\w.-]*\w|claude-[\w.-]*\w|o[1-9]-[\w-]+)")


def known() -> set[str]:
    choices = [*get_args(ChatModel), *(name for part in get_args(Model) for name in get_args(part))]
    return {name for name in choices if isinstance(name, str)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_name_no_other_models(page: Path) -> None:
    assert set(_MODEL.findall(page.read_text("utf-8"))) <= set(NAMED.values())


def test_the_models_are_named_somewhere_and_known_to_the_sdks() -> None:
    text = "".join(page.read_text("utf-8") for page in PAGES)
    assert all(name in text for name in NAMED.values())
    assert set(NAMED.values()) <= known()
