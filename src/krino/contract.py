"""The contract: what a judge is, what a labeller answers, and what a judgement records.

    case ──study──▶ facts ──ask──▶ questions ──labeller──▶ labels ──settle──▶ verdict

Models label, code scores: a labeller only ever returns labels, and `settle` alone, a pure function,
turns case, facts and labels into the verdict. Every field of it says who decided it and on what evidence.
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from os import PathLike
from random import Random
from typing import Any, ClassVar, Generic, Literal, NamedTuple, Self, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticSerializationError, to_json

from krino.errors import CannotJudge, RunStopped, UsageProblem

Status = Literal["ok", "failed", "error"]
RollUp = Literal["pass", "review", "fail"]
SCHEMA_VERSION = "1"
LEFT_OUT_IF_EMPTY = ("ballots", "labeller_findings")
"""Fields of a judgement that most have no use for."""

CaseT = TypeVar("CaseT", bound=BaseModel)
FactsT = TypeVar("FactsT")
LabelsT = TypeVar("LabelsT", bound=BaseModel)


# --- what is asked ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Passage:
    """A named piece of a case, shown to a labeller as data: it is untrusted text, never an instruction."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Media:
    """An image or other medium of a case; sent only to models that are said to take its kind."""

    kind: Literal["image", "audio", "file"]
    mime: str
    data: bytes

    def placeholder(self) -> str:
        return f"[{self.kind} {self.mime}, {len(self.data)} bytes]"


@dataclass(frozen=True, slots=True)
class Questions:
    """What the facts leave open in one case: the data to look at and what is asked about it."""

    passages: tuple[Passage, ...]
    request: str
    media: tuple[Media, ...] = ()
    parts: tuple[Questions, ...] = ()
    """Where one call cannot hold it all: pieces that are whole questions, asked instead of this and joined after."""
    covers: tuple[str, ...] = ()
    """Of a part: the ids of what it wants labels for."""


# --- what is answered ------------------------------------------------------------------------------


class Ruling(NamedTuple):
    """The value of one verdict field, the rule that gave it, and whether labels (not facts alone) fed it."""

    value: Any
    rule: str
    evidence: tuple[str, ...] = ()
    from_labels: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """Something worth a reader's eye that is no field of the verdict (a warning, a suspicious text)."""

    rule: str
    text: str
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Settlement:
    """What `settle` returns: one ruling for each field of the verdict, and findings beside it."""

    rulings: Mapping[str, Ruling]
    findings: tuple[Finding, ...] = ()


# --- what is recorded ------------------------------------------------------------------------------


# These are plain dataclasses: they are made for every case, and pydantic validates them where it matters.


@dataclass(slots=True)
class Usage:
    """What one judgement cost; `cost` is null when no price is known, `cached` counts replies had for free."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0

    def add(self, other: Usage) -> None:
        self.calls += other.calls
        self.cached += other.cached
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.seconds += other.seconds
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens


@dataclass(frozen=True, slots=True)
class Source:
    """Where a case came from, so that an error can name file and line."""

    file: str
    line: int | None = None

    def __str__(self) -> str:
        return self.file if self.line is None else f"{self.file}:{self.line}"


@dataclass(slots=True)
class Ballot:
    """What one seat of a panel said: its labels, and the verdict that they alone would have given."""

    member: str
    repeat: int = 1
    """Which asking of this member it was, from 1."""
    order: list[int] | None = None
    """The order in which exchangeable parts were shown, by their numbers in the case; null: as they stand there."""
    labels: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None
    roll_up: RollUp | None = None
    problem: str | None = None
    """Why there are no labels, or no verdict from them."""
    labeller: dict[str, Any] = field(default_factory=dict)
    """What the member did otherwise than the panel's description of it says (the reply channel that was used)."""
    usage: Usage = field(default_factory=Usage)


class Judgement(BaseModel):
    """One case, judged: the line that a run's journal holds."""

    model_config = ConfigDict(extra="forbid")

    schema_version: str = SCHEMA_VERSION
    index: int = Field(default=0, ge=0, description="position of the case in the input, from 0")
    id: str
    judge: str
    judge_version: str
    status: Status
    verdict: dict[str, Any] | None = Field(
        description="exactly the rubric's keys; null, or the rubric's own failed form, unless status is ok"
    )
    reason: str | None = Field(default=None, description="why the case cannot be judged (status failed)")
    error: str | None = Field(default=None, description="what went wrong (status error)")
    decided_by: dict[str, str] = Field(
        default_factory=dict, description="per verdict field: the id of the rule that decided, or `labeller`"
    )
    rules: dict[str, str] = Field(default_factory=dict, description="per verdict field: the rule applied")
    evidence: dict[str, list[str]] = Field(default_factory=dict)
    findings: list[Finding] = Field(default_factory=list)
    labeller_findings: int = Field(
        default=0, ge=0, description="how many of the findings, the last ones, came with the labels; left out if none"
    )
    labels: dict[str, Any] | None = None
    labeller: dict[str, Any] | None = Field(default=None, description="who labelled: model, parameters, channel")
    usage: Usage = Field(default_factory=Usage)
    input_hash: str
    source: Source | None = None
    roll_up: RollUp | None = Field(default=None, description="one word for reports, where the judge gives one")
    metadata: dict[str, Any] = Field(default_factory=dict, description="short facts about the case to slice by")
    time: datetime | None = Field(default=None, description="when the case was finished (UTC)")
    inputs: dict[str, str] = Field(
        default_factory=dict, description="what the case is known by (question and answer, a citation, a task)"
    )
    raw_reply: str | None = Field(default=None, description="the reply that could not be used (status error)")
    ballots: list[Ballot] = Field(
        default_factory=list, description="of a panel (a jury, repeats): what each seat said; left out otherwise"
    )

    @model_validator(mode="after")
    def _fail_closed(self) -> Self:
        if self.status == "ok":
            if self.verdict is None:
                raise ValueError("status ok needs a verdict")
            if self.decided_by.keys() != self.verdict.keys():
                raise ValueError("every field of an ok verdict must say who decided it")
            if not all(map(_finite, self.verdict.values())):
                raise ValueError("a verdict holds finite numbers only")
        elif numbers := sorted(key for key, value in (self.verdict or {}).items() if holds_number(value)):
            raise ValueError(f"no number may stand beside status {self.status}: {', '.join(numbers)}")
        if self.status == "failed" and not self.reason:
            raise ValueError("status failed needs a reason")
        if self.status == "error" and not self.error:
            raise ValueError("status error needs a message")
        return self

    def to_json(self) -> bytes:
        unused = {name for name in LEFT_OUT_IF_EMPTY if not getattr(self, name)}
        return self.model_dump_json(warnings=False, exclude=unused).encode()


def holds_number(value: Any) -> bool:
    """Whether a number hides anywhere in a verdict value (booleans are labels, not numbers)."""
    if isinstance(value, bool):
        return False
    if isinstance(value, int | float):
        return True
    if isinstance(value, Mapping):
        return any(holds_number(item) for item in value.values())
    if isinstance(value, list | tuple):
        return any(holds_number(item) for item in value)
    return False


def _as_json(answer: Any) -> bytes:
    """`ValueError` for what JSON cannot say, endless numbers among it."""
    try:
        if not _finite(answer):
            raise ValueError("a number in it has no end")  # noqa: TRY301 - told like the other faults
        return to_json(answer, fallback=dict)
    except (PydanticSerializationError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"labels must be plain JSON: {error}") from None


def _finite(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    return all(map(_finite, value.values())) if isinstance(value, Mapping) else True


def hash_record(record: Any) -> str:
    """The identity of a case: a hash of its content, whatever the order of its keys."""
    try:
        canonical = orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr)
    except (orjson.JSONEncodeError, RecursionError):
        canonical = b"".join(_flat(record))  # nested deeper than orjson goes, or not JSON
    return hashlib.blake2b(canonical, digest_size=16).hexdigest()


def _flat(record: Any) -> Iterator[bytes]:
    """A value of any depth, piece by piece: how many items follow says where a list or an object ends."""
    waiting = [record]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            keys = sorted(value, key=repr)
            yield b"{%d" % len(keys)
            waiting += [part for key in keys for part in (key, value[key])]
        elif isinstance(value, list | tuple):
            yield b"[%d" % len(value)
            waiting += value
        else:
            text = repr(value).encode("utf-8", "surrogatepass")
            yield b"%d:" % len(text) + text


# --- the judge -------------------------------------------------------------------------------------


class NoOptions(BaseModel):
    """For judges that have nothing to set."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Task(Generic[CaseT, FactsT, LabelsT]):
    """One case on a labeller's desk."""

    judge: Judge[CaseT, FactsT, LabelsT]
    case: CaseT
    facts: FactsT
    questions: Questions
    index: int = 0
    input_hash: str = ""
    is_part: bool = False
    repeat: int = 0
    """0: asked once. On a panel, which asking of this labeller it is: each from the second on is a call of its own."""

    def pieces(self) -> list[Task[CaseT, FactsT, LabelsT]]:
        """What is asked one by one: the task itself, or a task for each part of its questions."""
        return [replace(self, questions=part, is_part=True) for part in self.questions.parts] or [self]

    def accept(self, answer: Any) -> LabelsT:
        """Labels from a parsed reply, or `ValueError` whose text says exactly what is wrong with it.

        Read as JSON and strictly, whoever says it: no text becomes a number, no number a yes, and none is endless.
        """
        try:
            labels = self.judge.labels_model.model_validate_json(_as_json(answer), strict=True)
        except ValidationError as error:
            raise ValueError(describe_validation(error)) from None
        if problems := self._check(labels):
            raise ValueError("\n".join(f"- {problem}" for problem in problems))
        return labels

    def _check(self, labels: LabelsT) -> list[str]:
        if self.is_part:
            return self.judge.check_part(self.case, self.facts, self.questions, labels)
        return self.judge.check(self.case, self.facts, labels)


@dataclass(frozen=True, slots=True)
class Labelled(Generic[LabelsT]):
    """Accepted labels with what they cost and how they were had."""

    labels: LabelsT
    info: dict[str, Any]
    usage: Usage = field(default_factory=Usage)
    findings: tuple[Finding, ...] = ()
    ballots: tuple[Ballot, ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """What asking about one case would take, before anybody is asked; `input_cost` is null without prices."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    input_cost: float | None = None

    @classmethod
    def total(cls, forecasts: Iterable[Forecast]) -> Forecast:
        """Several askings as one."""
        several = list(forecasts)
        costs = [forecast.input_cost for forecast in several if forecast.input_cost is not None]
        return cls(
            calls=sum(forecast.calls for forecast in several),
            cached=sum(forecast.cached for forecast in several),
            input_tokens=sum(forecast.input_tokens for forecast in several),
            input_cost=sum(costs) if costs else None,
        )


@dataclass(frozen=True, slots=True)
class Reordered(Generic[CaseT, FactsT, LabelsT]):
    """The same case with its exchangeable parts in another order, and how labels about it are read back."""

    case: CaseT
    facts: FactsT
    order: tuple[int, ...]
    """The numbers of the parts, in the order in which they are now shown."""
    restore: Callable[[LabelsT], LabelsT]


@dataclass(frozen=True, slots=True)
class Joined(Generic[LabelsT]):
    """Labels made of several ballots; `ties` says on what the seats were evenly split, and what was taken then."""

    labels: LabelsT
    ties: tuple[str, ...] = ()


class Labeller(ABC):
    """Answers questions with labels: the embedded one, an LLM, a jury or a recording."""

    workers: int = 64
    """How many cases may wait for it at the same time."""
    reads_questions: bool = True
    """False for one that goes by case and facts alone: then no questions are written for it."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Everything that can change its answers, for the run's manifest. Never a secret."""

    @abstractmethod
    async def label(self, task: Task[CaseT, FactsT, LabelsT]) -> Labelled[LabelsT]:
        """Labels that `task.accept` has accepted; raises `LabelFailed` when there are none."""

    def forecast(self, task: Task[Any, Any, Any]) -> Forecast:
        """What `label` would take for this task. Nobody is asked."""
        return Forecast()

    _owed: RunStopped | None = None

    def take_owed(self) -> RunStopped | None:
        """Why the run must stop, once: a case paid for in part goes on record first, and the end of a run asks."""
        owed, self._owed = self._owed, None
        return owed

    def already_spent(self, usage: Usage) -> None:
        """Told at the start of a sitting what earlier sittings of the run have spent."""
        return

    def waiting_for(self) -> str | None:
        """What keeps it from answering at the moment, in a few words for the progress display; None: nothing."""
        return None

    def stop(self) -> None:
        """The run is ending: begin nothing new. What is under way may finish."""
        return

    async def aclose(self) -> None:
        """Give back what it holds (connections, files)."""
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


class Judge(ABC, Generic[CaseT, FactsT, LabelsT]):
    """A rubric in code. Subclass it, name the models, write study, ask and settle."""

    name: ClassVar[str]
    version: ClassVar[str]
    summary: ClassVar[str]
    default_prompt: ClassVar[str]
    """What a labeller is told, the same for every case: it comes first, so that prompt caches hit."""
    rules: ClassVar[Mapping[str, str]]
    """Rule id to what the rule says. Every ruling names one of these."""
    options_model: ClassVar[type[BaseModel]] = NoOptions
    main_fields: ClassVar[Sequence[str]] = ()
    """The fields of the case that a person knows it by; empty: its first few text fields."""
    record_names: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The names that a field of the case may have in a record, the best first, where they are not its own."""
    data_files: ClassVar[Sequence[str | PathLike[str]]] = ()
    """Files and folders that `study`, `settle` or `label_locally` read (tables, models), as paths from the folder of
    the class. When one changes, the judge is another judge: verdicts of before are not used again."""
    case_model: type[CaseT]
    labels_model: type[LabelsT]
    verdict_model: type[BaseModel]

    def __init__(self, options: Mapping[str, Any] | BaseModel | None = None, prompt: str | None = None) -> None:
        values = options.model_dump() if isinstance(options, BaseModel) else dict(options or {})
        try:
            self.options = self.options_model.model_validate(values)
        except ValidationError as error:
            raise UsageProblem(f"options of judge `{self.name}`: {describe_validation(error)}") from None
        self.prompt = self.default_prompt if prompt is None else prompt

    def read(self, record: Mapping[str, Any]) -> CaseT:
        """The typed case of a raw record; raises `CannotJudge` naming the field that is wrong."""
        try:
            return self.case_model.model_validate(record)
        except ValidationError as error:
            raise CannotJudge(describe_validation(error)) from None

    def list_field(self, first: Any) -> str | None:
        """The field that a JSON list is the value of, where a list that begins with `first` is one case as a whole.

        None: the list is a list of cases.
        """
        return None

    def is_case(self, record: Mapping[str, Any]) -> bool:
        """Whether an object whose only field is a list is a case, and no wrapping around a list of cases."""
        return False

    def split(self, record: Mapping[str, Any]) -> Iterable[tuple[str | None, Mapping[str, Any]]]:
        """The cases of one record, each with the id it has by itself: more than one where a record may hold several."""
        return ((None, record),)

    @abstractmethod
    def study(self, case: CaseT) -> FactsT:
        """Every fact that needs no opinion; raises `CannotJudge` when the case rules judging out."""

    @abstractmethod
    def ask(self, case: CaseT, facts: FactsT) -> Questions | None:
        """What the facts leave open, or None: then no labeller is called and nothing is spent."""

    def leaves_open(self, case: CaseT, facts: FactsT) -> bool:
        """Whether `ask` asks anything. Override it where that is known without writing the questions."""
        return self.ask(case, facts) is not None

    def check(self, case: CaseT, facts: FactsT, labels: LabelsT) -> list[str]:
        """What is wrong with labels when held against the case (a quote that is not there, an unknown id)."""
        return []

    def check_part(self, case: CaseT, facts: FactsT, part: Questions, labels: LabelsT) -> list[str]:
        """The same for the labels of one part; joined, they have to pass `check` as well."""
        return []

    def join_parts(
        self, case: CaseT, facts: FactsT, labelled: Sequence[tuple[Questions, LabelsT]]
    ) -> tuple[LabelsT, tuple[Finding, ...]]:
        """The labels of the whole case from those of its parts, and what is worth knowing about the joining."""
        raise NotImplementedError(f"judge `{self.name}` asks in parts and does not say how their labels are joined")

    @abstractmethod
    def settle(self, case: CaseT, facts: FactsT, labels: LabelsT | None) -> Settlement:
        """The verdict, by the rubric's rules. Pure: the same input always gives the same output."""

    def reorder(self, case: CaseT, facts: FactsT, draw: Random) -> Reordered[CaseT, FactsT, LabelsT] | None:
        """For repeats: the case with parts whose order must not matter in another order; None if it has no such."""
        return None

    def join_votes(self, case: CaseT, facts: FactsT, ballots: Sequence[LabelsT]) -> Joined[LabelsT]:
        """One set of labels from those of several seats, label by label; raises `CannotJudge` on a hopeless tie.

        Pure, and blind to the order of the ballots. By default the majority decides each field: see `krino.joining`.
        """
        from krino.joining import join_labels

        return join_labels(ballots)

    def label_locally(self, batch: Sequence[tuple[CaseT, FactsT]]) -> list[LabelsT]:
        """The embedded labeller: labels without any LLM, for a batch of cases at once."""
        raise UsageProblem(f"judge `{self.name}` has no embedded labeller: name a model with --labeller (or labeller=)")

    def failed_form(self, status: Status, message: str) -> dict[str, Any] | None:
        """The verdict a rubric defines for what could not be judged; None where it defines none."""
        return None

    def metadata(self, case: CaseT) -> dict[str, Any]:
        """Short facts about the case to slice results by."""
        return {}

    def main_inputs(self, case: CaseT) -> dict[str, str]:
        """What a person knows the case by, in tables and lists: name to text, the first eight of them are kept.

        By default the `main_fields`.
        """
        from krino.case_fields import inputs_of_case

        return inputs_of_case(self, case)

    def raw_inputs(self, record: Mapping[str, Any]) -> dict[str, str]:
        """The same of a record that could not be read as a case, as far as it holds them."""
        from krino.case_fields import inputs_of_record

        return inputs_of_record(self, record)

    def roll_up(self, verdict: Mapping[str, Any], rules: Mapping[str, str]) -> RollUp | None:
        """An ok verdict in one word, from its fields and the rules that gave them; None where a judge has no such."""
        return None

    def verdict_of(self, settlement: Settlement) -> dict[str, Any]:
        """The checked verdict of a settlement, as it is recorded."""
        rulings = settlement.rulings
        if unknown := sorted({ruling.rule for ruling in rulings.values()} - self.rules.keys()):
            raise ValueError(f"judge `{self.name}` ruled by {', '.join(unknown)}, which its rules do not list")
        validated = self.verdict_model.model_validate({field: ruling.value for field, ruling in rulings.items()})
        return validated.model_dump(mode="json")

    def fingerprint(self) -> dict[str, Any]:
        """Everything of this judge that can change a verdict: what a run must share to be gone on with."""
        from krino import fingerprint

        return {
            "name": self.name,
            "version": self.version,
            "prompt_hash": hashlib.blake2b(self.prompt.encode(), digest_size=8).hexdigest(),
            "options": self.options.model_dump(mode="json"),
            "source": fingerprint.of_source(type(self)),
            "schemas": fingerprint.of_schemas(self),
            "rules": fingerprint.of_rules(self),
            "data": fingerprint.of_data(type(self)),
        }


def describe_validation(error: ValidationError) -> str:
    """A pydantic error as one line a field: which field, what is wrong, what stood there."""
    lines = []
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"]) or "the whole object"
        given = "" if item["type"] == "missing" else f" (got {_short(item['input'])})"
        lines.append(f"{where}: {item['msg']}{given}")
    return "; ".join(lines)


def _short(value: Any, limit: int = 80) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
