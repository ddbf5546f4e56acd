"""promptfoo itself gets Krino's numbers, and an output without a verdict fails and is counted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import krino
from adapter_cases import WITH_FRAMEWORKS, Kind
from fake_llm import FakeServer

pytestmark = WITH_FRAMEWORKS

TESTS = Path(__file__).parents[1]
PROMPTFOO = Path(sys.prefix) / "promptfoo" / "node_modules" / "promptfoo" / "dist" / "src" / "main.js"
PROVIDER = """
def call_api(prompt, options, context):
    return {"output": context["vars"]["recorded"]}
"""
BY_CONFIG = "from krino.adapters.promptfoo import get_assert\n"
BY_CODE = """
import krino
from krino.adapters.promptfoo import assertion

get_assert = assertion(krino.rubric("Is {answer} polite? polite=1 rude=0"), labeller="gpt-test")
"""
CONFIGS: dict[str, dict[str, Any]] = {
    "rag": {"judge": "rag", "field": "faithfulness"},
    "toy": {
        "judge": f"{TESTS / 'toy_judge.py'}:ToyJudge",
        "mapping": {"text": "answer"},
        "options": {"good_is": 0.8},
    },
    "tone": {"judge": "tone", "labeller": "gpt-test"},
}


def run(kind: Kind, server: FakeServer, folder: Path) -> list[dict[str, Any]]:
    """The results of `promptfoo eval`, in the order of the samples."""
    chosen = CONFIGS.get(kind.name, {"judge": kind.judge, "labeller": "gpt-test"})
    by_code = kind.name.startswith("is-")
    (folder / "provider.py").write_text(PROVIDER)
    (folder / "krino_assert.py").write_text(BY_CODE if by_code else BY_CONFIG)
    check: dict[str, Any] = {
        "type": "python",
        "value": "file://krino_assert.py",
        **({} if by_code else {"config": chosen}),
    }
    variables = [dict(sample.inputs) | {"recorded": sample.answer} for sample in kind.samples]
    whole = {
        "prompts": ["{{recorded}}"],
        "providers": ["file://provider.py"],
        "defaultTest": {"options": {"disableVarExpansion": True}},
        "tests": [{"vars": values, "assert": [check]} for values in variables],
    }
    (folder / "promptfooconfig.json").write_text(json.dumps(whole))
    return results_of("promptfooconfig.json", server, folder)


def results_of(config: str, server: FakeServer, folder: Path) -> list[dict[str, Any]]:
    node = str(Path(sys.prefix) / "bin" / "node")
    command = [node, str(PROMPTFOO), "eval", "-c", config, "-o", "out.json", "--no-cache", "--no-table"]
    done = subprocess.run(
        command, cwd=folder, env=environment(server, folder), capture_output=True, text=True, timeout=300, check=False
    )
    assert (folder / "out.json").exists(), done.stdout + done.stderr
    results = json.loads((folder / "out.json").read_text())["results"]["results"]
    return sorted(results, key=lambda result: int(result["testIdx"]))


def environment(server: FakeServer, folder: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PROMPTFOO_PYTHON": sys.executable,
        "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo"),
        "PROMPTFOO_DISABLE_TELEMETRY": "1",
        "PROMPTFOO_DISABLE_UPDATE": "1",
        "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
        "OPENAI_API_KEY": "key",
        "OPENAI_BASE_URL": server.url,
        "KRINO_THREADS": "1",
    }


def test_the_results_have_krinos_numbers_and_failures_say_why(kind: Kind, server: FakeServer, tmp_path: Path) -> None:
    results = run(kind, server, tmp_path)
    score, judged, scores = f"{kind.name}.{kind.field}", f"{kind.name}.judged", kind.scores()
    assert [result["namedScores"].get(score) for result in results] == scores
    assert [result["namedScores"][judged] for result in results] == [end == "ok" for end in kind.statuses()]
    assert [result["success"] for result in results] == [value is not None and value >= 0.5 for value in scores]
    for result, sample in zip(results, kind.samples, strict=True):
        reason = result["gradingResult"]["componentResults"][0]["reason"]
        assert (f"not judged ({sample.status})" in reason) == (sample.status != "ok")


def test_the_example_of_the_page_runs(server: FakeServer, tmp_path: Path) -> None:
    page = (TESTS.parent / "docs" / "adapters.md").read_text("utf-8")
    (config,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "promptfooconfig.yaml").write_text(config)
    (tmp_path / "krino_assert.py").write_text(BY_CONFIG)
    (result,) = results_of("promptfooconfig.yaml", server, tmp_path)
    # the echo provider answers with the question, which says nothing of a height
    case = {"question": "How tall is it?", "context": ["It is 102 metres tall."], "answer": "How tall is it?"}
    verdict = krino.judge("rag", case).verdict or {}
    assert result["namedScores"]["rag.answer_relevance"] == verdict["answer_relevance"]
    assert result["success"] == (verdict["answer_relevance"] >= 0.8)
