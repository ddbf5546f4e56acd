"""What docs/ci.md shows works as shown: its commands are run, under the shell options of build servers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest

from krino.cli import exits

PAGE = (Path(__file__).parents[1] / "docs" / "ci.md").read_text("utf-8")
SETTINGS, *_ = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
WORKFLOWS = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
SCRIPTS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="build servers run these with bash")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A repository with cases and rules, and the command `krino`."""
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "cases.jsonl").write_bytes((files("krino.examples") / "rag.jsonl").read_bytes())
    (tmp_path / "krino.toml").write_text(SETTINGS, "utf-8")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "krino").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m krino "$@"\n')
    (tmp_path / "bin" / "krino").chmod(0o755)
    return tmp_path


def shell(place: Path, script: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("KRINO_")}
    environment = {
        **clean,
        "PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
    }
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def commands(workflow: str) -> list[str]:
    """The lines that a build server runs; installing is not for a test."""
    found = re.findall(r"^\s*(?:- )?run: (.+)$|^\s*- ((?:krino|pip) .+)$", workflow, re.MULTILINE)
    return [line for line in map("".join, found) if not line.startswith("pip install ")]


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_the_workflows_judge_gate_and_keep_the_results(place: Path, workflow: str) -> None:
    lines = commands(workflow)
    assert any("--gate" in line for line in lines)
    for line in lines:
        done = shell(place, line)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"
    (suite,) = ElementTree.parse(place / "gate.xml").getroot()
    assert (suite.attrib["failures"], suite.attrib["tests"]) == ("0", "5")
    assert (place / "runs" / "ci" / "report.html").exists()
    assert (place / "gate.md").read_text("utf-8").startswith("### ✓ Gate passed")


def test_the_workflow_fails_with_the_cases_named_when_a_rule_is_broken(place: Path) -> None:
    (place / "krino.toml").write_text(SETTINGS.replace("faithfulness = 0.3", "faithfulness = 0.9"), "utf-8")
    step, summary = commands(WORKFLOWS[0])
    assert shell(place, step).returncode == exits.GATE_FAILED
    assert shell(place, summary).returncode == 0
    text = (place / "summary.md").read_text("utf-8")
    assert "Gate failed" in text and "| contradicted | 0.000 |" in text


def test_every_script_works_in_the_order_of_the_page(place: Path) -> None:
    one_step, two_steps, compared = SCRIPTS
    for script in (one_step, two_steps, compared):
        done = shell(place, script)
        assert done.returncode == 0, f"{script}\n{done.stdout}\n{done.stderr}"
        shutil.copytree(place / "runs" / "ci", place / "runs" / "main", dirs_exist_ok=True)


def test_without_letting_3_pass_the_gate_would_never_be_asked(place: Path) -> None:
    _, two_steps, _ = SCRIPTS
    done = shell(place, two_steps.replace(" || test $? -eq 3", ""))
    assert done.returncode == exits.CASES_FAILED
    assert not (place / "gate.xml").exists()


def test_the_table_has_every_exit_code() -> None:
    table = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    assert table == {exits.DONE, exits.GATE_FAILED, exits.WRONG_USAGE, exits.CASES_FAILED, exits.INTERRUPTED}
