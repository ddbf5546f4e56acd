"""The driver that puts faults into modules: it notices and misses what it should, and its table is sound."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DRIVER = ROOT / "benchmarks" / "mutants.py"
GUARDS = tomllib.loads((ROOT / "benchmarks" / "guards.toml").read_text("utf-8"))["guard"]
TOY = """
def grade(points):
    return "pass" if points >= 50 else "fail"
"""


def mutants() -> Any:
    spec = spec_from_file_location("mutants", DRIVER)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["mutants"] = module
    spec.loader.exec_module(module)
    return module


def measured(folder: Path, test: str, imports: str = "import toy") -> tuple[int, str]:
    """The exit code and the words of the driver for the toy, watched by one test."""
    (folder / "toy.py").write_text(TOY, "utf-8")
    (folder / "test_toy.py").write_text(f"{imports}\n\n\ndef test_grade():\n    {test}\n", "utf-8")
    command = [sys.executable, str(DRIVER), "toy.py", "test_*.py", "--root", str(folder)]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    return done.returncode, done.stdout + done.stderr


def test_tests_that_stand_at_the_boundary_notice_every_fault(tmp_path: Path) -> None:
    code, told = measured(tmp_path, "assert [toy.grade(n) for n in (49, 50)] == ['fail', 'pass']")
    assert (code, told) == (0, "toy.py: 5 of 5 noticed (5 possible)\n")
    assert (tmp_path / "toy.py").read_text("utf-8") == TOY, "the tree itself is never touched"


def test_tests_that_stay_away_from_the_boundary_miss_it_and_are_told(tmp_path: Path) -> None:
    code, told = measured(tmp_path, "assert [toy.grade(n) for n in (10, 70)] == ['fail', 'pass']")
    assert code == 1
    assert told.splitlines() == [
        "toy.py: 3 of 5 noticed (5 possible)",
        "  toy.py:3 grade: points >= 50 => points > 50",
        "  toy.py:3 grade: points >= 50 => points >= 51",
    ]


@pytest.mark.parametrize(
    ("test", "imports", "message"),
    [
        ("assert toy.grade(50) == 'fail'", "import toy", "toy.py: its tests fail without any fault"),
        ("assert True", "", "toy.py: these tests pass without it"),
    ],
)
def test_a_count_that_would_mean_nothing_is_refused(tmp_path: Path, test: str, imports: str, message: str) -> None:
    code, told = measured(tmp_path, test, imports)
    assert (code, message in told) == (2, True)


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("x = a < b <= c", {"a < b <= c => a <= b <= c", "a < b <= c => a < b < c"}),
        ("x = a and b", {"a and b => a or b"}),
        ("x = not a", {"not a => a"}),
        ("x = a - b", {"a - b => a + b"}),
        ("x = 3", {"x = 3 => x = 4"}),
        ("x = {'a': 3}", {"'a': 3 => 4"}),
        ("x = f(flag=True)", {"flag=True => flag=False"}),
        ("x = [a for a in b if c]", {"c => True"}),
        ("if a is None: x = b", {"a is None => a is not None", "a is None => False", "a is None => True"}),
        ("while a: x = b", {"a => False"}),
        ("x = lru_cache(maxsize=9)", set()),
        ("x = 'text'", set()),
    ],
)
def test_each_kind_of_fault_is_made(line: str, faults: set[str]) -> None:
    assert {fault.name for fault in mutants().faults_of(line)} == {f"module: {fault}" for fault in faults}


def test_faults_with_the_same_words_are_told_apart() -> None:
    names = [fault.name for fault in mutants().faults_of("x = (a + b, a + b)")]
    assert names == ["module: a + b => a - b", "module: a + b => a - b #2"]


@pytest.mark.parametrize("guard", GUARDS, ids=lambda guard: Path(guard["module"]).name)
def test_every_guard_exists_with_its_tests_and_the_faults_that_are_said_to_change_nothing(
    guard: dict[str, Any],
) -> None:
    module = ROOT / guard["module"]
    assert all(any(ROOT.glob(pattern)) for pattern in guard["tests"])
    known = {fault.name for fault in mutants().faults_of(module.read_text("utf-8"))}
    assert guard.get("same", {}).keys() <= known, "take out of guards.toml what the module does not hold any more"
    assert all(len(reason.split()) > 3 for reason in guard.get("same", {}).values())
