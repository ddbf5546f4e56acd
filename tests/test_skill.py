"""The skill for coding agents has the form of the standard, and its commands run as it says."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import typer
import yaml

import command_line
from krino.cli import app
from page_blocks import run_page

SKILL = Path(__file__).parents[1] / "skills" / "krino" / "SKILL.md"
_, HEAD, BODY = SKILL.read_text("utf-8").split("---\n", 2)


def test_the_head_has_the_form_of_the_standard() -> None:
    head = yaml.safe_load(HEAD)
    assert head.keys() <= {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
    assert head["name"] == SKILL.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", head["name"])
    assert 0 < len(head["description"]) <= 1024
    assert len(head["compatibility"]) <= 500
    assert len(BODY.splitlines()) < 500


def test_its_commands_run_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_bytes((files("krino.examples") / "rag.jsonl").read_bytes())
    run_page(BODY, tmp_path, command_line.environment(tmp_path))
    assert (tmp_path / "runs" / "second" / "report.html").exists()


def test_every_flag_that_it_names_is_there() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for command, rest in re.findall(r"krino ([a-z]+)([^`\n]*)", BODY):
        assert command in commands, command
        known = {option for parameter in commands[command].params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", rest)) <= known
    assert set(re.findall(r"`(--[a-z-]+)`", BODY)) <= {
        option for parameter in commands["judge"].params for option in parameter.opts
    }
