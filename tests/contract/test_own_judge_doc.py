"""`docs/own_judge.md` lists everything that a judge may have, and nothing that it may not."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import krino.contract
from krino.contract import AsksInParts, Judge, ReadsRecords

TEXT = (Path(__file__).parents[2] / "docs" / "own_judge.md").read_text("utf-8")
ROWS = [line.split(" | ")[0] for line in TEXT.splitlines() if line.startswith("| `")]
NAMED = {name for row in ROWS for name in re.findall(r"`(\w+)", row)}
CORE = {"study", "ask", "settle", "default_prompt", "case_model", "labels_model", "verdict_model"}
GIVEN = {"fingerprint", "options", "measured", "stated_measured"}
"""What the engine and the judge itself read, and no judge writes."""


def test_what_signatures_name_can_be_imported_as_the_page_says() -> None:
    (sentence,) = re.findall(r"is in `krino\.contract` \((.*?)\)", TEXT, re.DOTALL)
    named = set(re.findall(r"`(\w+)`", sentence))
    assert named <= set(krino.contract.__all__)
    signatures = [str(inspect.signature(made)) for made in map(hook, NAMED) if callable(made)]
    used = set(re.findall(r"\b[A-Z]\w+", " ".join(signatures)))
    assert used & set(krino.contract.__all__) - {"AnyJudge", "CaseT", "FactsT", "LabelsT"} <= named


def hook(name: str) -> Any:
    return next((getattr(kind, name) for kind in (Judge, ReadsRecords, AsksInParts) if hasattr(kind, name)), None)


def members(kind: type) -> set[str]:
    stated = {name for base in kind.__mro__ for name in vars(base).get("__annotations__", {})}
    return {name for name in {*dir(kind), *stated} if not name.startswith("_")}


def test_the_table_names_every_member_that_is_optional() -> None:
    optional = (members(Judge) | members(ReadsRecords) | members(AsksInParts)) - CORE - GIVEN
    assert NAMED - {"ReadsRecords", "AsksInParts"} == optional
