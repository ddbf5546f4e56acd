"""`docs/files.md` says what is recognised, and its examples work on files that the tools made."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import command_line
from krino.cases.rows import describe_inputs
from krino.cases.tools.recognising import TOOLS

ROOT = Path(__file__).parents[1]
FILES = ROOT / "tests" / "cases" / "tool_files"
PAGE = (ROOT / "docs" / "files.md").read_text("utf-8")
ROWS = [row.split("|")[1:-1] for row in re.findall(r"^\| [^-].*$", PAGE, re.MULTILINE)][1:]
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line[2:] for line in re.search(r"```console\n(.*?)```", PAGE, re.DOTALL)[1].splitlines()]  # type: ignore[index]
NOT_JUDGED = 3


def test_the_page_names_every_tool_that_is_recognised() -> None:
    on_page = {row[0].strip() for row in ROWS}
    assert {name for name in on_page if any(tool.name.startswith(name) for tool in TOOLS)} | {
        "Excel",
        "Hugging Face",
    } == on_page
    for tool in TOOLS:
        assert any(tool.name.startswith(name) for name in on_page), tool.name


def test_every_tool_is_recognised_in_a_file_that_it_made() -> None:
    lines = [line for path in FILES.iterdir() if path.suffix not in (".md", "") for line in described(path)]
    seen = (re.search(r"tool, (?:each (.*)|all of one trace \((.*)s\)) as a case", line) for line in lines)
    found = {match[1] or match[2] for match in seen if match}
    assert {tool.name for tool in TOOLS} - found == {"Langfuse trace"}  # made in test_tool_recognition.py


def described(path: Path) -> list[str]:
    return [] if path.name == "by_hand.json" else describe_inputs([path])


@pytest.mark.parametrize("line", COMMANDS)
def test_the_commands_work(line: str, tmp_path: Path) -> None:
    shutil.copy(FILES / "promptfoo.json", tmp_path / "results.json")
    done = command_line.ran(*shlex.split(line)[1:], cwd=tmp_path)
    assert done.returncode == (NOT_JUDGED if line.startswith("krino judge") else 0), done.stderr
    assert (
        "results.json: read as the file of another tool, each promptfoo result as a case" in done.stdout + done.stderr
    )


def test_what_was_not_judged_there_fails_with_the_reason_on_the_page(tmp_path: Path) -> None:
    shutil.copy(FILES / "promptfoo.json", tmp_path)
    done = command_line.ran("judge", "rag", "promptfoo.json", "--run", "run", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["counts"] == {"ok": 2, "failed": 2, "error": 0}
    (reason,) = re.findall(r"```text\n(.*?)\n```", PAGE, re.DOTALL)
    assert reason in (tmp_path / "run" / "judgements.jsonl").read_text()


def test_a_file_that_is_piped_in_is_recognised_as_well(tmp_path: Path) -> None:
    text = (FILES / "promptfoo.json").read_bytes()
    command = [sys.executable, "-m", "krino", "judge", "rag", "-", "--run", "run"]
    done = subprocess.run(
        command, input=text, cwd=tmp_path, env=command_line.environment(tmp_path), capture_output=True, check=False
    )
    assert done.returncode == NOT_JUDGED, done.stderr
    lines = map(json.loads, (tmp_path / "run" / "judgements.jsonl").read_text().splitlines())
    failed = {line["id"] for line in lines if "the server said 503" in str(line["reason"])}
    assert failed == {"test-0-prompt-1", "test-1-prompt-1"}
    assert done.stderr.decode().startswith("stdin: read as the file of another tool")


def test_the_python_example_prints_what_the_page_says(tmp_path: Path) -> None:
    pytest.importorskip("pandas")
    command = [sys.executable, "-W", "error", "-c", CODE]
    environment = command_line.environment(tmp_path)
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout.split() == re.findall(r"# (\S+)$", CODE, re.MULTILINE), done.stderr
