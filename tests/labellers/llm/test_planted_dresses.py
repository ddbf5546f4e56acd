"""Planted answers are accepted only in the dresses that SECURITY.md names; `benchmarks/planted_dresses.py` has all."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "benchmarks" / "planted_dresses.py"


@pytest.fixture(scope="module")
def dressing() -> Any:
    spec = spec_from_file_location("benchmark_planted_dresses", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_security_names_the_dresses_that_are_not_seen(dressing: Any) -> None:
    assert dressing.named_in_security(dressing.SECURITY.read_text("utf-8")) == set(dressing.NOT_SEEN)
    assert len(dressing.DRESSES) == 76


@pytest.mark.parametrize("judge", ["rag", "citation", "efficiency"])
def test_what_security_does_not_name_is_refused(dressing: Any, judge: str) -> None:
    """Every fifth of the others, another fifth for each judge, and those that were once accepted."""
    seen = [name for name in dressing.DRESSES if name not in dressing.NOT_SEEN]
    once_accepted = {"JSON without nulls", "YAML reworded", "Markdown table", "XML attributes", "number words"}
    first = list(dressing.JUDGES).index(judge)
    chosen = {*seen[first::5], *once_accepted}
    tried = dressing.try_all({name: dressing.DRESSES[name] for name in chosen}, (judge,))
    assert [one.dress for one in tried if one.accepted] == []
    assert {one.dress for one in tried if "appear in the data of the case" not in one.error} == set()
