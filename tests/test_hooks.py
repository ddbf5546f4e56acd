"""The hooks of .pre-commit-hooks.yaml start commands that there are, with the files that they are for."""

from __future__ import annotations

import re
import shlex
from importlib.resources import files
from pathlib import Path

import yaml

from command_line import krino
from krino.cli import exits

ROOT = Path(__file__).parents[1]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))}


def started(hook: str, *more: str) -> list[str]:
    """The arguments of the command that the hook starts."""
    program, *arguments = shlex.split(HOOKS[hook]["entry"])
    assert program == "krino"
    return [*arguments, *more]


def test_every_hook_says_what_it_does_and_is_installed_with_krino() -> None:
    for hook in HOOKS.values():
        assert hook["language"] == "python" and hook["description"]


def test_krino_check_finds_a_mistake_in_a_judge(tmp_path: Path) -> None:
    assert re.search(HOOKS["krino-check"]["files"], "evals/judges/kindness.md")
    assert not re.search(HOOKS["krino-check"]["files"], "README.md")
    (tmp_path / "judges").mkdir()
    assert krino("new", "judges/kindness.md", cwd=tmp_path).returncode == 0
    assert krino(*started("krino-check", "judges/kindness.md"), cwd=tmp_path).returncode == 0
    (tmp_path / "judges" / "kindness.md").write_text("---\nlabels: {kind: 1\n---\nIs it kind?\n")
    assert krino(*started("krino-check", "judges/kindness.md"), cwd=tmp_path).returncode == exits.WRONG_USAGE


def test_krino_gate_holds_a_run_against_the_rules(tmp_path: Path) -> None:
    assert HOOKS["krino-gate"]["pass_filenames"] is False
    (tmp_path / "cases.jsonl").write_bytes((files("krino.examples") / "rag.jsonl").read_bytes())
    (tmp_path / "krino.toml").write_text('[gate.max]\nfailed = "50%"\n')
    krino("judge", "rag", "cases.jsonl", "--run", "runs/ci", cwd=tmp_path)
    assert krino(*started("krino-gate", "runs/ci", "--point"), cwd=tmp_path).returncode == 0
    (tmp_path / "krino.toml").write_text('[gate.max]\nfailed = "1%"\n')
    assert krino(*started("krino-gate", "runs/ci", "--point"), cwd=tmp_path).returncode == exits.GATE_FAILED
