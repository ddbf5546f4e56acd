"""A judge's reference travels: a fresh process without the judge's files builds the same judge from it."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import krino
from krino.judges.reference import JudgeReference

NEIGHBOUR = 'WORD = "{word}"\n'
MINE = """
from typing import Literal
from pydantic import BaseModel
from krino import Judge, Passage, Questions, Ruling, Settlement
from neighbour import WORD

class Letter(BaseModel):
    text: str

class Tone(BaseModel):
    tone: Literal["polite", "rude"]

class Verdict(BaseModel):
    score: float

class Options(BaseModel):
    good_is: float = 1.0

class Politeness(Judge[Letter, int, Tone]):
    name, version, summary = "politeness", "1", "Is a letter polite?"
    default_prompt = "Say whether the letter is polite or rude."
    rules = {"TONE": "A letter with the word scores."}
    case_model, labels_model, verdict_model, options_model = Letter, Tone, Verdict, Options

    def study(self, case):
        return len(case.text)

    def ask(self, case, facts):
        return None

    def settle(self, case, facts, labels):
        return Settlement({"score": Ruling(self.options.good_is * (WORD in case.text), "TONE")})
"""
ELSEWHERE = """
import pickle, sys, krino
reference = pickle.loads(sys.stdin.buffer.read())
judge = reference.load()
same = judge.fingerprint()["source"] == reference.source_hash
print(judge.prompt, krino.judge(judge, {"text": "please"}).verdict, same)
"""


def elsewhere(reference: JudgeReference, cwd: Path) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", ELSEWHERE]
    return subprocess.run(command, input=pickle.dumps(reference), cwd=cwd, capture_output=True, check=False, timeout=60)


@pytest.fixture
def judge_file(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text(NEIGHBOUR.format(word="please"))
    (tmp_path / "politeness.py").write_text(MINE)
    return tmp_path / "politeness.py"


def test_a_judge_of_a_file_is_built_where_the_file_is_not(judge_file: Path, tmp_path: Path) -> None:
    code = (
        "import pickle, sys, krino; from krino.judges.reference import JudgeReference\n"
        f"judge = krino.load_judge({f'{judge_file}:Politeness'!r}, {{'good_is': 0.5}}, 'My words.')\n"
        "sys.stdout.buffer.write(pickle.dumps(JudgeReference.of(judge)))"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    reference: JudgeReference = pickle.loads(made.stdout)
    assert set(reference.files) == {"politeness.py", "neighbour.py"}
    judge_file.unlink()
    (tmp_path / "neighbour.py").unlink()
    done = elsewhere(reference, tmp_path)
    assert done.stdout.decode().strip() == "My words. {'score': 0.5} True", done.stderr.decode()


def test_a_judge_of_ours_travels_by_its_name(tmp_path: Path) -> None:
    reference = JudgeReference.of(krino.load_judge("rag", {"goal": "legal"}))
    assert (reference.address, reference.files) == ("rag", {})
    again = reference.load()
    assert again.fingerprint() == krino.load_judge("rag", {"goal": "legal"}).fingerprint()


def test_another_version_of_the_judge_is_refused(tmp_path: Path) -> None:
    reference = JudgeReference.of(krino.load_judge("rag"))
    other = JudgeReference(reference.address, reference.options, reference.prompt, "another source")
    with pytest.raises(krino.UsageProblem, match="its source differs"):
        other.load()
