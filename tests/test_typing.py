"""What a type checker makes of the public interface: verdicts are typed by the judge that gives them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SNIPPET = """
from pydantic import BaseModel

import krino


class Letter(BaseModel):
    text: str


class Tone(BaseModel):
    polite: bool


class Verdict(BaseModel):
    score: float


class Politeness(krino.Judge[Letter, int, Tone, Verdict]):
    name, version, summary = "politeness", "1", "Is a letter polite?"
    default_prompt = "Polite?"
    rules = {"TONE": "A polite letter scores 1."}

    def study(self, case: Letter) -> int:
        return len(case.text)

    def ask(self, case: Letter, facts: int) -> krino.Questions | None:
        return None

    def settle(self, case: Letter, facts: int, labels: Tone | None) -> krino.Settlement:
        return krino.Settlement({"score": krino.Ruling(1.0, "TONE")})


case = {"text": "Thank you."}
reveal_type(krino.judge("rag", case).typed_verdict.faithfulness)
reveal_type(krino.judge("efficiency", case).typed_verdict.score)
reveal_type(krino.judge("citation", case).typed_verdict)
reveal_type(krino.judge(Politeness, case).typed_verdict)
reveal_type(krino.judge(Politeness(), case, labeller="local").typed_verdict.score)
reveal_type([item.typed_verdict for item in krino.judge_many(Politeness, [case])])
reveal_type(krino.judge("mine.py:Mine", case).typed_verdict)
reveal_type(krino.run("rag", "cases.jsonl").summary())
krino.judge("rag", case).typed_verdict.faithfullness
krino.judge("rag", case, lableller="local")
"""
REVEALED = [
    "float | None",
    "float",
    "krino.judges.citation.verdict.CitationVerdict",
    "letters.Verdict",
    "float",
    "list[letters.Verdict]",
    "Any",
    "krino.results.summary.Summary",
]


def test_a_type_checker_knows_every_verdict_and_refuses_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "letters.py").write_text(SNIPPET)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "letters.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    lines = done.stdout.splitlines()
    told = [line.partition('"')[2].rstrip('"') for line in lines if "Revealed type" in line]
    revealed = [line.replace("builtins.", "") for line in told]
    assert revealed == REVEALED, done.stdout
    errors = [line for line in lines if ": error: " in line]
    assert '"RagVerdict" has no attribute "faithfullness"' in errors[0]
    assert "lableller" in errors[1]
