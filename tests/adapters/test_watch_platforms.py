"""`krino watch` on Langfuse and MLflow: each trace judged once, each score there once, also after kills."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from adapter_cases import WITH_FRAMEWORKS
from command_line import begun, environment, ran
from command_line import krino as krino_command
from langfuse_platform import Platform, serving
from live_traces import TOY, judged
from waiting import until

pytestmark = WITH_FRAMEWORKS

TEXTS = ["fine", "bad", "unjudgeable", "label-explode"]
SCORES = {"fine": 1.0, "bad": 0.0}
KILLS = 3


def observation(number: int, text: str, *, ended: bool = True) -> dict[str, Any]:
    now = datetime.now(UTC).isoformat()
    return {
        "id": f"{number:016x}",
        "traceId": f"{number + 1:032x}",
        "startTime": now,
        "projectId": "project",
        "type": "SPAN",
        "name": "ask",
        "input": json.dumps({"text": text}),
        "output": json.dumps("done"),
        **({"endTime": now} if ended else {}),
    }


def test_langfuse_has_each_score_once_and_a_status_for_every_trace(tmp_path: Path) -> None:
    texts = [TEXTS[number % len(TEXTS)] for number in range(24)]
    rng = random.Random(7)
    with serving([]) as platform:
        platform.latency = 0.05
        env = {**environment(tmp_path), "LANGFUSE_HOST": platform.url, "LANGFUSE_BASE_URL": platform.url}
        command = ("watch", TOY, "langfuse", "--run", "run", "--every", "0.2", "--quiet", "600")
        for kill in range(KILLS):
            with begun(*command, cwd=tmp_path, env=env) as process:
                until(lambda: (tmp_path / "run" / "since.json").exists())
                for number in range(8 * kill, 8 * kill + 8):
                    platform.observations.append(observation(number, texts[number]))
                time.sleep(rng.uniform(1.0, 4.0))
                process.kill()
        with begun(*command, cwd=tmp_path, env=env):
            until(lambda: len(statuses(platform)) == len(texts))
            time.sleep(1)
        assert judged(tmp_path / "run") == {f"{number + 1:032x}": 1 for number in range(len(texts))}
        held = list(platform.held().values())
    assert Counter(score["traceId"] for score in held if score["name"] == "toy.status") == {
        f"{number + 1:032x}": 1 for number in range(len(texts))
    }
    scores = {int(score["traceId"], 16) - 1: score["value"] for score in held if score["name"] == "toy.score"}
    assert scores == {number: SCORES[text] for number, text in enumerate(texts) if text in SCORES}


def statuses(platform: Platform) -> list[dict[str, Any]]:
    return [score for score in platform.held().values() if score["name"] == "toy.status"]


def test_an_observation_that_goes_on_is_waited_for(tmp_path: Path) -> None:
    with serving([observation(0, "fine", ended=False)]) as platform:
        env = {**environment(tmp_path), "LANGFUSE_HOST": platform.url, "LANGFUSE_BASE_URL": platform.url}
        command = ("watch", TOY, "langfuse", "--run", "run", "--every", "0.2", "--since", "2026-01-01")
        with begun(*command, cwd=tmp_path, env=env):
            time.sleep(4)
            assert judged(tmp_path / "run") == {}
            platform.observations[:] = [observation(0, "fine")]
            until(lambda: len(platform.held()) == 2)
    assert {score["name"]: score["value"] for score in platform.scores} == {"toy.score": 1.0, "toy.status": "ok"}


async def test_observations_that_come_after_their_trace_was_judged_are_reported_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from krino.live.langfuse import LangfuseTraces

    said: list[str] = []
    late = [{**observation(0, "fine"), "id": f"{number:016x}"} for number in (7, 8)]
    with serving([observation(0, "fine")]) as platform:
        monkeypatch.setenv("LANGFUSE_HOST", platform.url)
        monkeypatch.setenv("LANGFUSE_BASE_URL", platform.url)
        known = {observation(0, "fine")["traceId"]}
        source = LangfuseTraces(tmp_path, datetime(2026, 1, 1, tzinfo=UTC), 60.0, known.__contains__, said.append)
        await source.look()
        assert said == [], "an earlier watch judged this trace"
        platform.observations += late
        await source.look()
        await source.look()
        await source.aclose()
    assert said == ["2 spans came after their trace was judged and were left out"]


def test_a_langfuse_that_cannot_be_reached_is_an_error_and_not_silence(tmp_path: Path) -> None:
    env = {**environment(tmp_path), "LANGFUSE_HOST": "http://127.0.0.1:9", "LANGFUSE_BASE_URL": "http://127.0.0.1:9"}
    done = ran("watch", TOY, "langfuse", "--run", "run", "--once", cwd=tmp_path, env=env)
    assert done.returncode == 2
    assert "Langfuse cannot be read" in done.stderr


@pytest.fixture
def experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An experiment in a database of this test, which the command finds by the environment."""
    import mlflow

    uri = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    mlflow.set_tracking_uri(uri)
    mlflow.create_experiment("live", artifact_location=str(tmp_path / "artifacts"))
    mlflow.set_experiment("live")
    return "mlflow:live"


def trace_in_mlflow(text: str) -> None:
    import mlflow

    with mlflow.start_span("ask") as span:
        span.set_inputs({"text": text})
        span.set_outputs("done")


def feedback() -> dict[str, list[Any]]:
    """The feedback of each trace, by its text, all that are there."""
    import mlflow

    found: dict[str, list[Any]] = {}
    for trace in mlflow.search_traces(return_type="list"):
        found.setdefault(json.loads(trace.data.request)["text"], []).extend(trace.info.assessments)
    return found


def test_mlflow_has_each_score_once_and_errors_are_errors(tmp_path: Path, experiment: str) -> None:
    texts = [f"{word} {number}" if word in SCORES else word for number, word in enumerate(TEXTS)]
    texts += [f"fine {number}" for number in range(4, 12)]
    command = ("watch", TOY, experiment, "--run", "run", "--every", "0.2", "--since", "2026-01-01")
    for text in texts:
        trace_in_mlflow(text)
    rng = random.Random(9)
    for _ in range(KILLS):
        with begun(*command, cwd=tmp_path) as process:
            until(lambda: (tmp_path / "run" / "run.json").exists())
            time.sleep(rng.uniform(0.3, 2.0))
            process.kill()
    done = krino_command(*command, "--once", cwd=tmp_path)
    assert done.returncode == 3, "some could not be judged"
    assert set(judged(tmp_path / "run").values()) == {1}
    assert len(judged(tmp_path / "run")) == len(texts)
    for text, found in feedback().items():
        assert Counter(each.name for each in found) == {"toy.score": 1, "toy.status": 1, "toy.judged": 1}, text
        (score,) = [each for each in found if each.name == "toy.score"]
        expected = SCORES.get(text.partition(" ")[0])
        assert score.value == expected
        assert (score.error is not None) == (expected is None)
