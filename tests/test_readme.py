"""What the README shows works as shown."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from krino.testing import FakeServer

README = (Path(__file__).parents[1] / "README.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


COMMANDS = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ ")]
LABELS: dict[str, object] = {
    "claims": [
        {
            "text": "It is 102 metres.",
            "sentence": 1,
            "label": "supported",
            "critical": False,
            "passage": 1,
            "quote": "102 metres",
            "why": "stated",
        }
    ],
    "empty_sentences": [],
    "parts": [{"part": "how tall", "answered": True}],
    "direct": "full",
    "passages": [{"passage": 1, "useful": True}],
    "needs": [{"need": "the height", "held": True}],
    "refusal": None,
    "similarity": None,
    "similarity_why": None,
    "uncertain": None,
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    case = {"id": "case-1", "question": "How tall?", "context": ["It is 102 metres tall."], "answer": "102 metres."}
    renamed = {**case, "query": case["question"], "reply": case["answer"]}
    (tmp_path / "cases.jsonl").write_text(json.dumps(renamed) + "\n")
    return tmp_path


@pytest.fixture
def environment(place: Path) -> Iterator[dict[str, str]]:
    def answer(request: object) -> dict[str, object]:
        asked = getattr(request, "schema", None) or {}
        return {"colour": "red", "number": 1} if "colour" in asked.get("properties", {}) else LABELS

    with FakeServer(reply=answer) as server:
        yield {
            **os.environ,
            "OPENAI_BASE_URL": server.url,
            "OPENAI_API_KEY": "k",
            "KRINO_CACHE": str(place / "replies.sqlite"),
        }


def test_every_command_line_works(place: Path, environment: dict[str, str]) -> None:
    assert len(COMMANDS) >= 8
    for line in COMMANDS:
        assert line.startswith("krino ")
        command = [sys.executable, "-m", "krino", *shlex.split(line)[1:]]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{line}\n{done.stdout}\n{done.stderr}"


def test_every_python_example_runs(place: Path, environment: dict[str, str]) -> None:
    examples = blocks("python")
    assert len(examples) >= 2
    for code in examples:
        command = [sys.executable, "-W", "error", "-c", code]
        done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        assert done.stdout.strip()


def test_the_settings_file_is_understood(place: Path, environment: dict[str, str]) -> None:
    (text,) = blocks("toml")
    assert tomllib.loads(text)
    (place / "krino.toml").write_text(text)
    command = [sys.executable, "-m", "krino", "judge", "rag", "cases.jsonl", "--run", "r", "--json"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["plan"]["labeller"]["model"] == "gpt-4o-mini"
    assert said["plan"]["judge"]["options"] == {"goal": "legal"}
    assert said["usage"]["cost"] > 0


def test_the_table_of_exit_codes_is_the_real_one() -> None:
    from krino.cli import exits

    table = {int(code) for code in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert table == {exits.DONE, exits.GATE_FAILED, exits.WRONG_USAGE, exits.CASES_FAILED, exits.INTERRUPTED}


def test_every_provider_named_exists() -> None:
    from krino.labellers.llm.endpoint import providers

    named = set(re.findall(r"`(\w+):(?:NAME|DEPLOYMENT)`", README))
    assert named <= providers().keys()
    assert providers().keys() - {"openai", "anthropic"} == named
