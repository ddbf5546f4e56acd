"""`docs/own_judge.md` lists everything that a judge may have, and nothing that it may not."""

from __future__ import annotations

import re
from pathlib import Path

from krino.contract import AsksInParts, Judge, ReadsRecords

TEXT = (Path(__file__).parents[2] / "docs" / "own_judge.md").read_text("utf-8")
ROWS = [line.split(" | ")[0] for line in TEXT.splitlines() if line.startswith("| `")]
NAMED = {name for row in ROWS for name in re.findall(r"`(\w+)", row)}
CORE = {"study", "ask", "settle", "default_prompt", "case_model", "labels_model", "verdict_model"}
GIVEN = {"fingerprint", "options"}
"""What the engine and the judge itself read, and no judge writes."""


def members(kind: type) -> set[str]:
    stated = {name for base in kind.__mro__ for name in vars(base).get("__annotations__", {})}
    return {name for name in {*dir(kind), *stated} if not name.startswith("_")}


def test_the_table_names_every_member_that_is_optional() -> None:
    optional = (members(Judge) | members(ReadsRecords) | members(AsksInParts)) - CORE - GIVEN
    assert NAMED - {"ReadsRecords", "AsksInParts"} == optional
