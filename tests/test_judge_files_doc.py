"""`docs/judge_files.md` works as shown, and says all that there is."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import command_line
from fake_llm import FakeServer
from krino.api.checking import check_file
from krino.judges.file.cel.functions import FUNCTIONS
from krino.judges.file.cel.parse import MACROS
from krino.judges.file.read_inputs import KINDS as INPUT_KINDS
from krino.judges.file.read_rules import KINDS, OURS
from krino.judges.file.reading import KEYS
from krino.judges.registry import shelf_names

PAGE = (Path(__file__).parents[1] / "docs" / "judge_files.md").read_text("utf-8")
FILES = re.findall(r"```markdown\n(.*?)```", PAGE, re.DOTALL)
(CODE,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
CONSOLE = re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)
COMMANDS = [line[2:] for block in CONSOLE for line in block.splitlines() if line.startswith("$ ")]
LABELS = {"reason": "It thanks.", "quote": "Thank you", "label": "polite"}


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[dict[str, str]]:
    (tmp_path / "letters.jsonl").write_text('{"text": "Thank you."}\n{"text": "Thank you so much."}\n')
    (tmp_path / "politeness.md").write_text(FILES[0])
    with FakeServer(reply=lambda request: LABELS) as server:
        given = command_line.environment(tmp_path)
        yield {**given, "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k"}


def test_every_command_works(tmp_path: Path, environment: dict[str, str]) -> None:
    assert len(COMMANDS) >= 4
    for line in COMMANDS:
        done = command_line.ran(*shlex.split(line)[1:], cwd=tmp_path, env=environment)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_the_python_example_runs(tmp_path: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-W", "error", "-c", CODE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "'score': 1.0" in done.stdout


@pytest.mark.parametrize("text", FILES)
def test_the_files_are_judges_and_right_on_their_examples(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.md").write_text(text)
    assert check_file(tmp_path / "mine.md").lines == []


def test_the_first_file_has_six_lines() -> None:
    assert len(FILES[0].splitlines()) == 6


def column(first: str) -> set[str]:
    """The words in code of the first column of the table with this heading."""
    (table,) = [part for part in PAGE.split("\n\n") if part.startswith(f"| {first} |")]
    rows = [re.split(r"(?<!\\)\|", line)[1] for line in table.splitlines()[2:]]
    return set(re.findall(r"[A-Za-z_]+", " ".join(re.findall(r"`([^`]+)`", " ".join(rows)))))


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("key", KEYS),
        ("kind", KINDS),
        ("function", {*FUNCTIONS, *MACROS, "has", "fits"}),
        ("judge", {word for name in shelf_names() for word in name.split("-")}),
    ],
)
def test_the_tables_list_all_that_there_is(heading: str, names: Any) -> None:
    assert set(names) - column(heading) == set()


def test_every_rule_of_ours_and_every_type_is_explained() -> None:
    for name in (*OURS, *INPUT_KINDS):
        assert f"`{name}`" in PAGE
