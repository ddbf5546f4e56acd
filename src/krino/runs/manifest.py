"""The manifest of a run (`run.json`): what was asked of whom, with which settings, and how far it came."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from krino import __version__
from krino.contract import Judge, Usage, describe_validation
from krino.errors import UsageProblem

RunState = Literal["running", "finished", "stopped", "interrupted"]


class Counts(BaseModel):
    """How many cases ended how."""

    model_config = ConfigDict(extra="forbid")

    ok: int = 0
    failed: int = 0
    error: int = 0

    @property
    def total(self) -> int:
        return self.ok + self.failed + self.error


class Plan(BaseModel):
    """Everything that can change a verdict of the run. Two runs with equal plans are the same run."""

    model_config = ConfigDict(extra="forbid")

    judge: dict[str, Any]
    labeller: dict[str, Any]
    inputs: list[str]
    format: str = "auto"
    mapping: dict[str, str] = Field(default_factory=dict)

    def digest(self) -> str:
        data = orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(data, digest_size=4).hexdigest()


class JudgeCard(BaseModel):
    """What a reader of the run needs to know of its judge: nobody has to load the judge to show its verdicts."""

    model_config = ConfigDict(extra="forbid")

    summary: str = ""
    prompt: str = Field(default="", description="what a labeller was told, the same for every case")
    rules: dict[str, str] = Field(default_factory=dict, description="rule id to what the rule says")
    verdict_schema: dict[str, Any] = Field(default_factory=dict, description="JSON Schema of an ok verdict")
    labels_schema: dict[str, Any] = Field(default_factory=dict, description="JSON Schema of the labels on record")

    @classmethod
    def of(cls, judge: Judge[Any, Any, Any]) -> JudgeCard:
        return cls(
            summary=judge.summary,
            prompt=judge.prompt,
            rules=dict(judge.rules),
            verdict_schema=judge.verdict_model.model_json_schema(mode="serialization"),
            labels_schema=judge.labels_model.model_json_schema(mode="serialization"),
        )


class Manifest(BaseModel):
    """`run.json`."""

    model_config = ConfigDict(extra="forbid")

    schema_version: Literal["2"] = "2"
    krino_version: str = __version__
    plan: Plan
    about: JudgeCard = Field(default_factory=JudgeCard, description="of the judge, as it was when the run went on")
    state: RunState = "running"
    stop_reason: str | None = None
    started: datetime = Field(default_factory=lambda: datetime.now(UTC))
    updated: datetime = Field(default_factory=lambda: datetime.now(UTC))
    cases: int | None = Field(default=None, description="cases in the input; null until the input was read to its end")
    input_hash: str | None = Field(default=None, description="over the content of all cases in order, once read")
    counts: Counts = Field(default_factory=Counts)
    usage: Usage = Field(default_factory=Usage)

    def write(self, folder: Path) -> None:
        """In one step: a reader sees the old file or the new one, never half of it."""
        self.updated = datetime.now(UTC)
        target = folder / "run.json"
        draft = folder / f".run.json.{os.getpid()}"
        draft.write_bytes(orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2))
        draft.replace(target)

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        path = folder / "run.json"
        try:
            return cls.model_validate_json(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            raise UsageProblem(f"{folder} is no run folder: it has no run.json") from None
        except ValidationError as error:
            raise UsageProblem(f"{path} is not a manifest of this version: {describe_validation(error)}") from None


def differences(old: Plan, new: Plan) -> list[str]:
    """What changed between two plans, one line each, in words a user can act on."""
    return [f"{key}: was {was!r}, is now {now!r}" for key, was, now in differing(old, new)]


def differing(one: Plan, other: Plan) -> list[tuple[str, Any, Any]]:
    """Every setting in which two plans differ, with its value in each."""
    here, there = dict(_leaves(one.model_dump(mode="json"))), dict(_leaves(other.model_dump(mode="json")))
    keys = sorted(here.keys() | there.keys())
    return [(key, here.get(key), there.get(key)) for key in keys if here.get(key) != there.get(key)]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
