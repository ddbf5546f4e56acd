"""What every adapter is tested with: each kind of judge on three samples, one of which has no verdict or two.

`KRINO_TEST_ADAPTERS` is set by `make test-adapters`, which installs the frameworks. Without it these tests are skipped;
with it a framework that is not installed is an error.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import krino
from fake_llm import FakeServer
from fake_llm.replies import ReceivedRequest, what_is_asked
from krino.api.judging import AnyKindOfJudge
from toy_judge import ToyJudge

WITH_FRAMEWORKS = [
    pytest.mark.skipif(
        "KRINO_TEST_ADAPTERS" not in os.environ, reason="the frameworks are installed by `make test-adapters` only"
    ),
    pytest.mark.filterwarnings("ignore"),  # the frameworks' own
]
OFFLINE = {
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "KRINO_THREADS": "1",
    "LANGFUSE_HOST": "http://127.0.0.1:9",
    "LANGFUSE_PUBLIC_KEY": "public",
    "LANGFUSE_SECRET_KEY": "secret",
    "LANGSMITH_API_KEY": "key",
    "LANGSMITH_ENDPOINT": "http://127.0.0.1:9",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # its import may lock where it fetches nothing
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "OPIK_ANALYTICS_ENABLED": "false",
    "OPIK_SENTRY_ENABLE": "false",
    "OPIK_TRACK_DISABLE": "true",
    "OPIK_URL_OVERRIDE": "http://127.0.0.1:9/api",
    "RAGAS_DO_NOT_TRACK": "true",
}
"""No framework may reach anything but this machine, or count who uses it."""
GIBBERISH = "gibberish"
FILE = """---
inputs: {text: {aliases: [answer]}}
labels: {kind: 1, unkind: 0}
---
Is the text kind to its reader?

{text}
"""


@dataclasses.dataclass(frozen=True)
class Sample:
    inputs: Mapping[str, Any]
    answer: str
    status: str


@dataclasses.dataclass(frozen=True)
class Kind:
    """A judge, the samples for it, and the field whose numbers are compared."""

    judge: AnyKindOfJudge
    field: str
    samples: list[Sample]
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return krino.load_judge(self.judge).name if isinstance(self.judge, str) else self.judge.name

    def judgements(self) -> list[krino.Judgement[Any]]:
        """What Krino itself says of the samples."""
        found = [krino.judge(self.judge, {**s.inputs, "answer": s.answer}, **self.settings) for s in self.samples]
        assert [judgement.status for judgement in found] == [sample.status for sample in self.samples]
        return found

    def scores(self) -> list[float | None]:
        """The numbers of the field, None for a sample that has no verdict."""
        return [j.verdict[self.field] if j.status == "ok" and j.verdict else None for j in self.judgements()]

    def statuses(self) -> list[str]:
        return [sample.status for sample in self.samples]


HEIGHT = {"question": "How tall is it?", "context": ["It is 102 metres tall."]}
RAG = [
    Sample(HEIGHT, "It is 102 metres tall.", "ok"),
    Sample(HEIGHT, "It is 99 metres tall.", "ok"),
    Sample(HEIGHT, "", "failed"),
]
TOY = [Sample({}, "all good", "ok"), Sample({}, "unjudgeable", "failed"), Sample({}, "label-explode", "error")]
LETTERS = [
    Sample({}, "Thank you for waiting.", "ok"),
    Sample({}, " ", "failed"),
    Sample({}, f"This is {GIBBERISH}.", "error"),
]
KINDS = ("ready-local", "class", "file", "rubric", "ready-llm")


def make_kind(name: str, server: FakeServer, folder: Path) -> Kind:
    llm = {"labeller": krino.llm("gpt-test", base_url=server.url, api_key="key", cache=None)}
    if name == "ready-local":
        return Kind("rag", "faithfulness", RAG)
    if name == "class":
        return Kind(ToyJudge, "score", TOY, {"mapping": {"text": "answer"}, "options": {"good_is": 0.8}})
    if name == "file":
        path = folder / "kindness.md"
        path.write_text(FILE)
        return Kind(str(path), "score", LETTERS, llm)
    if name == "rubric":
        return Kind(krino.rubric("Is {answer} polite? polite=1 rude=0"), "score", LETTERS, llm)
    return Kind("tone", "score", LETTERS, llm)


def reply(request: ReceivedRequest) -> Any:
    """A model that answers well, but cannot make sense of gibberish."""
    asked = json.dumps(request.body)
    if GIBBERISH in asked:
        return "I looked at it with care and on the whole it seems good."
    properties = (what_is_asked(request).schema or {})["properties"]
    labels = {"label": next(word for word in ("polite", "kind") if f'"{word}"' in json.dumps(properties))}
    labels |= {"quote": "Thank you", "reason": "It thanks the reader."}
    return {name: value for name, value in labels.items() if name in properties}
