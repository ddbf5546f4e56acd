"""What the README shows works as shown."""

from __future__ import annotations

import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import command_line
from endpoints.labelling import labels_for
from fake_llm import FakeServer
from fake_llm.replies import ReceivedRequest, what_is_asked

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
LABELS: dict[str, Any] = {
    "unreadable": None,
    "claims": [
        {
            "text": "It is 102 metres tall.",
            "sentence": 1,
            "passage": 1,
            "quote": "102 metres tall",
            "why": "stated",
            "label": "supported",
            "critical": False,
        }
    ],
    "empty_sentences": [],
    "parts": [{"part": "how tall", "sentence": 1, "answered": True}],
    "direct": "full",
    "passages": [{"passage": 1, "useful_sentences": [1]}],
    "needs": [{"need": "the height", "passage": 1, "held": True}],
    "refusal": None,
    "similarity": None,
    "similarity_why": None,
    "uncertain": None,
}
TRACE = [
    {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "look_up", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "open from nine to five"},
    {"role": "assistant", "content": "It is open from nine to five."},
]


def python_block(holding: str) -> str:
    (found,) = (block for block in blocks("python") if holding in block)
    return found


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The files that the README shows or speaks of."""
    (cases,) = blocks("jsonl")
    (labels,) = blocks("csv")
    (tmp_path / "cases.jsonl").write_text(cases)
    (tmp_path / "labels.csv").write_text(labels)
    (tmp_path / "logs.csv").write_text(
        "query,context,reply,court\nHow tall?,It is 102 metres tall.,102 metres.,Ghent\n"
    )
    (tmp_path / "trace.json").write_text(json.dumps(TRACE))
    (tmp_path / "letters.jsonl").write_text('{"text": "Thank you."}\n{"text": "Thank you again."}\n')
    (tmp_path / "politeness.py").write_text(python_block("class Politeness"))
    return tmp_path


@pytest.fixture
def environment(place: Path) -> Iterator[dict[str, str]]:
    def answer(request: ReceivedRequest) -> dict[str, Any]:
        asked = what_is_asked(request)
        if asked.schema is not None and "tone" in asked.schema.get("properties", {}):
            return {"tone": "polite"}
        if asked.schema is not None and "quote" in asked.schema.get("properties", {}):
            return {"reason": "It thanks.", "quote": "Thank you", "label": "polite"}
        return LABELS if "102 metres tall" in request.text else labels_for(request, asked) or {}

    with FakeServer(reply=answer) as server:
        yield {
            **os.environ,
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "k",
            "ANTHROPIC_BASE_URL": server.url.removesuffix("/v1"),
            "ANTHROPIC_API_KEY": "k",
            "KRINO_CACHE": str(place / "replies.sqlite"),
        }


def ran(place: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)


def test_every_command_line_works(place: Path, environment: dict[str, str]) -> None:
    assert len(COMMANDS) >= 18
    for line in COMMANDS:
        assert line.startswith("krino ")
        done = command_line.ran(*shlex.split(line)[1:], cwd=place, env=environment)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_every_python_example_runs(place: Path, environment: dict[str, str]) -> None:
    examples = [code for code in blocks("python") if "print(" in code]
    assert len(examples) == len(blocks("python")) - 2, "the judge and the test are run by other tests here"
    for code in examples:
        done = ran(place, environment, "-W", "error", "-c", code)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        assert done.stdout.strip()


def test_every_python_example_is_typed(tmp_path: Path) -> None:
    for number, code in enumerate(blocks("python")):
        (tmp_path / f"example_{number}.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_the_test_passes(place: Path, environment: dict[str, str]) -> None:
    (place / "test_answers.py").write_text(python_block("def test_answer"))
    alone = {**environment, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # whether it is installed or not
    done = ran(place, alone, "-m", "pytest", "-q", "-p", "krino.pytest_plugin", "test_answers.py")
    assert done.returncode == 0, done.stdout
    assert "1 case judged: 1 ok" in done.stdout


def test_what_is_shown_as_printed_is_what_the_program_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "docs"))
    make_readme = importlib.import_module("make_readme")
    shown = make_readme.blocks(README)
    assert shown == blocks("text"), "a block of output without the command that printed it"
    stale = README.replace(shown[0], "what an earlier version printed\n")
    assert make_readme.filled(stale) == README, "run docs/make_readme.py"


def test_the_settings_file_is_understood(place: Path, environment: dict[str, str]) -> None:
    (text,) = blocks("toml")
    assert tomllib.loads(text)
    (place / "krino.toml").write_text(text)
    command = [sys.executable, "-m", "krino", "judge", "rag", "cases.jsonl", "--run", "r", "--json"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["plan"]["labeller"]["model"] == "gpt-6-luna"
    assert said["plan"]["judge"]["options"]["goal"] == "legal"
    assert said["usage"]["cost"] > 0


def test_the_table_of_exit_codes_is_the_real_one() -> None:
    from krino.cli import exits

    table = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert table == {value for name, value in vars(exits).items() if name.isupper() and name[0] != "_"}


def test_every_provider_named_exists() -> None:
    from krino.labellers.llm.endpoint import providers

    named = set(re.findall(r"`(\w+):(?:NAME|DEPLOYMENT)`", README))
    assert named <= providers().keys()
    assert providers().keys() == named


def test_what_a_case_without_a_verdict_has_in_its_place_is_told(tmp_path: Path) -> None:
    from krino import judge, load_run, run
    from krino.judges.registry import OURS

    shapes = {name: judge(name, {"id": "blank"}).verdict for name in OURS}
    (told,) = re.findall(r"it is None, and\s+of `(\w+)` a dict of its fields", README)
    assert [name for name, verdict in shapes.items() if verdict is not None] == [told]
    assert {key for key, value in (shapes[told] or {}).items() if value is not None} == {"evaluation_status", "reason"}
    made = run(told, [{"id": "blank"}], into=tmp_path / "run")
    (line,) = (tmp_path / "run" / "judgements.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["verdict"], *(item.verdict for item in load_run(made.folder))] == [shapes[told]] * 2
