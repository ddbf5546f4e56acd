"""The page on the architecture says what is so: its rooms are those that the linter holds, its files are there."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
PICTURE = (ROOT / "docs" / "layers.svg").read_text("utf-8")
LAYERS = [
    [room.strip() for room in layer.split("|")]
    for layer in tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"][0][
        "layers"
    ]
]
JUDGES = ("citation", "efficiency", "rag")
ALIKE = (
    "case",
    "facts",
    "ask",
    "labels",
    "rubric",
    "verdict",
    "local",
    "votes",
    "findings",
    "wording",
    "view",
    "exhibits",
    "judge",
)


def test_the_picture_and_the_table_show_the_layers_that_the_linter_holds() -> None:
    drawn = re.findall(r"<text[^>]*>(\w+)</text>", PICTURE)
    listed = re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`[^|]*`) \|", PAGE.partition("## The way")[0], re.M)))
    assert drawn == listed == [room for layer in LAYERS for room in layer]


def test_the_picture_has_one_row_a_layer() -> None:
    height = {room: float(y) for y, room in re.findall(r'<text[^>]* y="([\d.]+)"[^>]*>(\w+)</text>', PICTURE)}
    rows = [{height[room] for room in layer} for layer in LAYERS]
    assert all(len(row) == 1 for row in rows)
    assert all(max(above) < min(below) for above, below in pairwise(rows))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`((?:\w+/)+\w+\.\w+)`", PAGE))))
def test_every_file_that_the_page_names_is_there(name: str) -> None:
    places = (ROOT / name, ROOT / "src" / "krino" / name, ROOT / "src" / "krino" / "judges" / "efficiency" / name)
    assert any(place.is_file() for place in places)


@pytest.mark.parametrize("judge", JUDGES)
def test_the_judges_have_the_same_files_for_the_same_jobs(judge: str) -> None:
    folder = ROOT / "src" / "krino" / "judges" / judge
    wanted = {*(f"{name}.py" for name in ALIKE), "prompt.md", "rules.toml", "card.md"}
    assert wanted - {path.name for path in folder.iterdir()} == set()
