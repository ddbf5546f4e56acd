"""The manifest of a run (`run.json`): judge, labeller and settings, and how far the run came."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from krino import __version__
from krino.cases.content import names_of_plain_model
from krino.cases.formats.shard import ShardHead
from krino.contract import AnyJudge, Usage, describe_validation
from krino.contract.fingerprint import joined_schema, schema_of
from krino.contract.identity import JudgedBy
from krino.contract.judgement import is_newer
from krino.contract.measured import Measured
from krino.errors import UsageProblem
from krino.runs.guarded_files import inside
from krino.text.guessing import did_you_mean_file
from krino.writing import replacing

MANIFEST = "run.json"
MOST_BYTES = 64_000_000
RunState = Literal["running", "finished", "stopped", "interrupted"]


class Counts(BaseModel):
    """The number of cases by status."""

    model_config = ConfigDict(extra="ignore")

    ok: int = Field(default=0, ge=0)
    failed: int = Field(default=0, ge=0)
    error: int = Field(default=0, ge=0)

    @property
    def total(self) -> int:
        return self.ok + self.failed + self.error


class Part(BaseModel):
    """For a run over shards: their numbers, and the whole input."""

    model_config = ConfigDict(extra="ignore")

    shards: list[int]
    of: int = Field(ge=1)
    cases: int = Field(ge=0)
    input_hash: str


class Plan(BaseModel):
    """The judge's fingerprint, the labeller's description, and where the cases came from."""

    model_config = ConfigDict(extra="ignore")

    judge: dict[str, Any]
    labeller: dict[str, Any]
    inputs: list[str]
    format: str = "auto"
    mapping: dict[str, str] = Field(default_factory=dict)
    split: dict[str, str] = Field(
        default_factory=dict, description="fields that are split into several texts, and their separators"
    )
    part: Part | None = Field(default=None, description="for a run over shards: inputs are those of the whole")

    def identity(self) -> Plan:
        """Returns the settings that must be the same to reuse verdicts. Cases are identified by content, not by
        position. The judge counts by its fingerprint, not by the address it was loaded from."""
        judge = {key: value for key, value in self.judge.items() if key != "address"}
        return Plan(judge=judge, labeller=self.labeller, inputs=[])

    def digest(self) -> str:
        """Returns a hash by which the folder of a run is found. Older versions had no parts, so it leaves an empty one
        out."""
        left_out = {"part"} if self.part is None else None
        data = orjson.dumps(self.model_dump(mode="json", exclude=left_out), option=orjson.OPT_SORT_KEYS)
        return hashlib.blake2b(data, digest_size=4).hexdigest()


def in_part(plan: Plan, heads: Sequence[ShardHead]) -> Plan:
    """Returns the plan of a run over these shards: the plan of the whole, and which part this is."""
    whole = heads[0].whole
    part = Part(
        shards=sorted({head.number for head in heads}),
        of=heads[0].of,
        cases=whole.cases,
        input_hash=whole.input_hash,
    )
    settings = {"inputs": whole.inputs, "format": whole.format, "mapping": whole.mapping, "split": whole.split}
    return plan.model_copy(update={**settings, "part": part})


class JudgeCard(BaseModel):
    """What readers of the run need from its judge, so that verdicts are shown without loading the judge."""

    model_config = ConfigDict(extra="ignore")

    summary: str = ""
    prompt: str = Field(default="", description="instructions for a labeller, the same for every case")
    rules: dict[str, str] = Field(default_factory=dict, description="rule id to what the rule says")
    verdict_schema: dict[str, Any] = Field(default_factory=dict, description="JSON Schema of an ok verdict")
    figures_schema: dict[str, Any] = Field(
        default_factory=dict, description="JSON Schema of the figures beside a verdict; empty for a judge without any"
    )
    labels_schema: dict[str, Any] = Field(default_factory=dict, description="JSON Schema of the labels on record")
    measured: Measured | None = Field(
        default=None, description="the agreement with people that the judge's file or prompt states"
    )
    content_names: list[str] | None = Field(
        default=None, description="names in a record that its plain case model reads: no other field is content"
    )

    @classmethod
    def of(cls, judge: AnyJudge) -> JudgeCard:
        """Copies what a judge says about itself, so that the run can be read without it."""
        return cls(
            summary=judge.summary,
            prompt=judge.prompt,
            rules=dict(judge.rules),
            verdict_schema=schema_of(judge.verdict_model),
            figures_schema=schema_of(judge.figures_model) if judge.figures_model.model_fields else {},
            labels_schema=schema_of(judge.labels_model),
            measured=judge.measured,
            content_names=names if (names := names_of_plain_model(judge)) is None else sorted(names),
        )

    @property
    def fields_schema(self) -> dict[str, Any]:
        """The schema of all fields that results use: those of the verdict, then the figures."""
        return joined_schema(self.verdict_schema, self.figures_schema)


class Manifest(BaseModel):
    """`run.json`."""

    model_config = ConfigDict(extra="ignore")

    schema_version: Literal["2"] = "2"
    krino_version: str = __version__
    plan: Plan
    about: JudgeCard = Field(default_factory=JudgeCard, description="the judge, as of the last command")
    state: RunState = "running"
    stop_reason: str | None = None
    started: AwareDatetime = Field(
        default_factory=lambda: datetime.now(UTC), description="start of the last command that judged in this folder"
    )
    updated: AwareDatetime = Field(default_factory=lambda: datetime.now(UTC))
    cases: int | None = Field(
        default=None, ge=0, description="cases in the input; null until the input was read to its end"
    )
    input_hash: str | None = Field(default=None, description="hash over the content of all cases in order, once read")
    counts: Counts = Field(default_factory=Counts, description="how the cases of the last command ended")
    repeated_ids: int = Field(
        default=0, ge=0, description="cases whose id an earlier case with other content has: give each its own"
    )
    repeated_id: str | None = Field(default=None, description="the first such id")
    usage: Usage = Field(
        default_factory=Usage,
        description="all usage in this folder since it was begun (or started over with --fresh): of every command, "
        "including failed attempts and cases that are no longer in the input",
    )

    def judged_by(self) -> JudgedBy:
        """Returns who judged in this run; single judgements may have asked no labeller."""
        measured = self.about.measured
        belongs = measured is not None and measured.belongs_to(self.plan.judge, self.plan.labeller)
        return JudgedBy.of(self.plan.judge, self.plan.labeller, str(measured) if belongs else None)

    def write(self, folder: Path) -> None:
        """Sets `updated` and writes the file atomically: readers see the old file or the new one."""
        self.updated = datetime.now(UTC)
        try:
            with replacing(folder / MANIFEST) as draft:
                draft.write(orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_INDENT_2))
        except OSError as error:
            raise UsageProblem(f"{folder / MANIFEST} cannot be written: {error.strerror}") from None

    @classmethod
    def load(cls, folder: Path) -> Manifest:
        """Reads the manifest of a run folder; raises `UsageProblem` with why there is none that can be read."""
        path = inside(folder / MANIFEST)
        try:
            if path.stat().st_size > MOST_BYTES:
                raise UsageProblem(f"{path} has more than {MOST_BYTES:,} bytes: no manifest of a run is that long")
            text = path.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            why = f"it has no {MANIFEST}" if folder.is_dir() else "there is no such folder"
            guess = did_you_mean_file(folder, lambda other: (other / MANIFEST).is_file())
            raise UsageProblem(f"{folder} is no run folder: {why}{guess}") from None
        except OSError as error:
            raise UsageProblem(f"{path} cannot be read: {error.strerror}") from None
        return _parse(text, path)


def _parse(text: bytes, path: Path) -> Manifest:
    """Parses a manifest; raises `UsageProblem` for one of another version or with wrong fields."""
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise UsageProblem(f"{path}:{error.lineno}: not JSON ({error.msg}); {DAMAGED}") from None
    version = data.get("schema_version") if isinstance(data, dict) else None
    known = Manifest.model_fields["schema_version"].default
    if isinstance(version, str) and version != known:
        age = "a newer" if is_newer(version, known) else "another"
        raise UsageProblem(
            f"{path}: this run was written by {age} version of Krino ({str(data.get('krino_version'))[:20]}, with "
            f"schema_version {version[:20]!r}; this one reads {known!r}); read it with that version, or judge again: "
            "under another name, or here with --fresh"
        )
    try:
        manifest = Manifest.model_validate(data)
    except ValidationError as error:
        raise UsageProblem(
            f"{path} is not a manifest of this version: {describe_validation(error)}; {DAMAGED}"
        ) from None
    for key in ("name", "version"):
        if not isinstance(manifest.plan.judge.get(key), str):
            raise UsageProblem(f"{path}: plan.judge.{key}: must be a text; {DAMAGED}")
    return manifest


DAMAGED = "the file was changed or damaged: put it back, or judge again with --fresh"


HASHES = {
    "judge.source": "the judge's source",
    "judge.schemas": "the schema of the judge's cases, labels, verdict or options",
    "judge.rules": "the text of the judge's rules",
    "judge.data": "the judge's data",
    "judge.prompt_hash": "the prompt",
}
"""Settings that are recorded as a hash, and the words for them."""


def differences(old: Plan, new: Plan) -> list[str]:
    """Returns the differences of two plans, one line each, for users."""
    return [_in_words(key, was, now) for key, was, now in differing(old, new)]


def _in_words(key: str, was: Any, now: Any) -> str:
    """Returns a difference between two plans as people read it."""
    if key in HASHES:
        return f"{HASHES[key]} changed"
    for prefix, word in (("judge.options.", "option "), ("judge.", "judge "), ("labeller.", "labeller ")):
        if key.startswith(prefix):
            key = word + key.removeprefix(prefix)
            break
    return f"{key}: was {was!r}, is now {now!r}"


def differing(one: Plan, other: Plan) -> list[tuple[str, Any, Any]]:
    """Returns the settings in which two plans differ, with both values."""
    here, there = dict(_leaves(one.model_dump(mode="json"))), dict(_leaves(other.model_dump(mode="json")))
    keys = sorted(here.keys() | there.keys())
    return [(key, here.get(key), there.get(key)) for key in keys if here.get(key) != there.get(key)]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yields every value inside nested mappings, with its dotted path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
