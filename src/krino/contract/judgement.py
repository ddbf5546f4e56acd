"""What is recorded: rulings, findings, what a case cost, and the judgement that a run's journal holds."""

from __future__ import annotations

import hashlib
import html
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, Literal, NamedTuple, Self, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, field_validator, model_validator
from typing_extensions import TypeVar

from krino.errors import NotJudged, UsageProblem
from krino.text.clean import clean_line

Status = Literal["ok", "failed", "error"]

RollUp = Literal["pass", "review", "fail"]

SCHEMA_VERSION = "1"
"""Of a judgement. Fields may be added under the same version: readers pass over what they do not know."""

VerdictT = TypeVar("VerdictT", bound=BaseModel, default=BaseModel, covariant=True)
ModelT = TypeVar("ModelT", bound=BaseModel)

_LONGEST_CELL = 2_000
LEFT_OUT_IF_EMPTY = ("ballots", "figures", "labeller_findings", "unread")
"""Fields of a judgement that most have no use for."""


UNNAMED_RULE = "judge"
"""Stands for the rule where `settle` returned the verdict itself: the judge's code decided, and names no rule."""


class Ruling(NamedTuple):
    """The value of one verdict field, and the rule that gave it."""

    value: Any
    rule: str
    evidence: tuple[str, ...] = ()
    from_labels: bool | None = None
    """Whether labels, and not facts alone, decided the value.

    Leave it out of all rulings, and wherever there were labels every field counts as decided by them. Say it of one
    field, and the others count as decided by their rules.
    """


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a reader should know that is no field of the verdict (a warning, a suspicious text).

    `where` names a part of the case, or a field of the verdict: then it is shown above the value of that field.
    """

    rule: str
    text: str
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Unread:
    """Text of a case that did not count towards its verdict because nobody read it as content.

    Either no labeller was shown it (it was cut to fit a prompt), or the labeller set it aside. `where` names the part
    of the case ("answer", "step 12"), `why` says who left it out and for what reason.
    """

    where: str
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Settlement:
    """What `settle` returns: one ruling for each field of the verdict, and what is recorded beside the verdict.

    `figures` are numbers that are not in the rubric but useful to a reader (see `Judge.figures_model`); only those that
    this case has. `unread` lists the text that was left out.
    """

    rulings: Mapping[str, Ruling]
    findings: tuple[Finding, ...] = ()
    figures: Mapping[str, Ruling] = field(default_factory=dict)
    unread: tuple[Unread, ...] = ()


@dataclass(slots=True)
class Usage:
    """What one judgement cost. `cached` counts replies from the cache, which cost nothing. `cost` covers the calls that
    have a price and is null if there are none; `unpriced` counts the others.
    """

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    seconds: float = 0.0
    unpriced: int = 0
    cache_read_tokens: int = 0
    """Part of `input_tokens`: read from the provider's prompt cache."""
    cache_write_tokens: int = 0
    """Part of `input_tokens`: written to that cache."""
    cache_saved: float | None = None
    """What that cache saved, if its prices are known; negative if writing cost more than reading saved."""

    def __post_init__(self) -> None:
        if self.cost is None and not self.unpriced:
            self.unpriced = self.calls

    def add(self, other: Usage) -> None:
        """Adds the usage of another call; a cost that is not known stays None."""
        self.calls += other.calls
        self.cached += other.cached
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.seconds += other.seconds
        self.unpriced += other.unpriced
        self.cache_read_tokens += other.cache_read_tokens
        self.cache_write_tokens += other.cache_write_tokens
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost
        if other.cache_saved is not None:
            self.cache_saved = (self.cache_saved or 0.0) + other.cache_saved

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> Usage:
        """Makes it from a recorded usage; fields that a later version has added are ignored."""
        return cls(**{name: recorded[name] for name in cls.__slots__ if name in recorded})

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
    """What one member of a panel answered: its labels, and the verdict that they alone would have given."""

    member: str
    repeat: int = 1
    """The number of this repeat, from 1."""
    order: list[int] | None = None
    """The order in which exchangeable parts were shown, by their numbers in the case; null: as in the case."""
    labels: dict[str, Any] | None = None
    verdict: dict[str, Any] | None = None
    roll_up: RollUp | None = None
    problem: str | None = None
    """Why there are no labels, or no verdict from them."""
    labeller: dict[str, Any] = field(default_factory=dict)
    """How the member differed from its description in the panel, for example in the reply channel."""
    usage: Usage = field(default_factory=Usage)


class Judgement(BaseModel, Generic[VerdictT]):
    """One case, judged: the line that a run's journal holds. It cannot be changed.

    `verdict` is the verdict as it is recorded; `typed_verdict` is the same as an object of the judge's model.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

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
    figures: dict[str, Any] = Field(
        default_factory=dict, description="numbers beside the verdict that the judge declares; only beside status ok"
    )
    rules: dict[str, str] = Field(default_factory=dict, description="per verdict field and figure: the rule applied")
    evidence: dict[str, list[str]] = Field(default_factory=dict)
    findings: list[Finding] = Field(default_factory=list)
    labeller_findings: int = Field(
        default=0, ge=0, description="how many of the findings, the last ones, came with the labels; left out if none"
    )
    unread: list[Unread] = Field(
        default_factory=list, description="text of the case that nobody read as content; left out if none"
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

    _model: type[BaseModel] | None = PrivateAttr(default=None)

    def __str__(self) -> str:
        """The verdict as a list of its fields; `repr()` shows the whole record."""
        why = self.reason or self.error
        head = f"{self.id}: {self.judge} {self.judge_version}, {self.status}" + (f": {why}" if why else "")
        fields = (f"{name}: {value}" for name, value in (self.verdict or {}).items() if value is not None)
        return "\n".join([clean_line(head), *(f"  {clean_line(field)}" for field in fields)])

    @property
    def typed_verdict(self) -> VerdictT:
        """The verdict as the judge's model has it; raises `NotJudged` where there is none.

        For judgements that come from judging. Of a run that was read, the judge is not loaded: use `verdict_as`.
        """
        if self._model is None and self.status == "ok":
            raise UsageProblem("a judgement on record does not know its model: use verdict_as(MyVerdict)")
        return cast(VerdictT, self.verdict_as(self._model or BaseModel))

    def verdict_as(self, model: type[ModelT]) -> ModelT:
        """Returns the verdict as an object of this model; raises `NotJudged` where there is none."""
        if self.status != "ok" or self.verdict is None:
            raise NotJudged(f"case `{self.id}` was not judged ({self.status}): {self.reason or self.error}")
        return model.model_validate(self.verdict)

    def of_model(self, model: type[BaseModel]) -> Self:
        """Sets the model that the verdict was checked by, and returns this same judgement."""
        self._model = model
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Judgement) and self.__dict__ == other.__dict__  # whatever model they know of

    def __getstate__(self) -> dict[Any, Any]:
        return {**super().__getstate__(), "__pydantic_private__": {"_model": None}}  # a model may not travel

    @field_validator("schema_version")
    @classmethod
    def _refuse_newer(cls, version: str) -> str:
        """Raises `ValueError` for a judgement that a newer version of Krino wrote."""
        if is_newer(version, SCHEMA_VERSION):
            raise ValueError(newer_version_message(version))
        return version

    @model_validator(mode="after")
    def _fail_closed(self) -> Self:
        """Refuses a judgement that breaks a rule of its status, such as a number in a failed one."""
        if self.status == "ok":
            if self.verdict is None:
                raise ValueError("status ok needs a verdict")
            if self.decided_by.keys() != self.verdict.keys():
                raise ValueError("every field of an ok verdict must say who decided it")
            if not all(map(is_finite, (*self.verdict.values(), *self.figures.values()))):
                raise ValueError("a verdict holds finite numbers only")
        elif numbers := sorted(key for key, value in (self.verdict or {}).items() if holds_number(value)):
            raise ValueError(f"no number is allowed with status {self.status}: {', '.join(numbers)}")
        if self.figures and self.status != "ok":
            raise ValueError(f"no number is allowed with status {self.status}: {', '.join(self.figures)}")
        if self.status == "failed" and not self.reason:
            raise ValueError("status failed needs a reason")
        if self.status == "error" and not self.error:
            raise ValueError("status error needs a message")
        return self

    def to_json(self) -> bytes:
        """Returns the line of a journal, without optional fields that are empty. A failed form is checked again: its
        fields cannot be changed, what is in them can."""
        if self.status != "ok":
            self._fail_closed()  # type: ignore[operator]
        unused = {name for name in LEFT_OUT_IF_EMPTY if not getattr(self, name)}
        try:
            kept = {name: value for name, value in self.__dict__.items() if name not in unused}
            return orjson.dumps(kept, option=orjson.OPT_UTC_Z | orjson.OPT_PASSTHROUGH_SUBCLASS)
        except TypeError:  # it writes the same bytes much faster, but not all that pydantic can write
            return self.model_dump_json(warnings=False, exclude=unused).encode()

    def _repr_html_(self) -> str:
        """Returns the judgement as HTML for notebooks. Everything in a case is hostile text: it is escaped."""
        rows = [
            (name, value, self.rules.get(name, ""), "; ".join(self.evidence.get(name, ())))
            for name, value in ((self.verdict or {}) | self.figures).items()
        ]
        cells = "".join(f"<tr>{''.join(f'<td>{_escaped(cell)}</td>' for cell in row)}</tr>" for row in rows)
        heads = "<tr><th>field</th><th>value</th><th>rule</th><th>evidence</th></tr>"
        why = "" if self.status == "ok" else f": {_escaped(self.reason or self.error)}"
        title = f"<p><b>{_escaped(self.judge)}</b> on case <b>{_escaped(self.id)}</b>: {self.status}{why}</p>"
        return f"{title}<table>{heads}{cells}</table>" if rows else title


def as_word(value: Any) -> str:
    """Returns a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value, default=repr).decode()


def _escaped(value: Any) -> str:
    text = as_word(value)
    return html.escape(text if len(text) <= _LONGEST_CELL else f"{text[:_LONGEST_CELL]}…")


def is_newer(version: Any, known: str) -> bool:
    """Whether a record has a later version than this program knows."""
    return isinstance(version, str) and version.isdecimal() and int(version) > int(known)


def newer_version_message(version: str) -> str:
    newer = f"schema_version {version} was written by a newer version of Krino (this one reads {SCHEMA_VERSION})"
    return f"{newer}; read it with that version"


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


def is_finite(value: Any) -> bool:
    """Is a value free of infinite and nan floats? Looks inside lists and mappings; anything else (text, null, an
    object) counts as finite."""
    if value is None or value.__class__ is str:  # by far the most
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, list | tuple):
        return all(map(is_finite, value))
    return all(map(is_finite, value.values())) if isinstance(value, Mapping) else True


def hash_record(record: Any) -> str:
    """Returns the identity of a case: a hash of its content, whatever the order of its keys."""
    return hashlib.blake2b(canonical(record), digest_size=16).hexdigest()


def canonical(record: Any) -> bytes:
    """Returns a record as JSON without a space, in one order of its keys; for one that JSON cannot hold, an encoding of
    our own."""
    try:
        return orjson.dumps(record, option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS, default=repr)
    except (orjson.JSONEncodeError, RecursionError):
        return b"".join(_encode_deep(record))  # nested deeper than orjson goes, or not JSON


def _encode_deep(record: Any) -> Iterator[bytes]:
    """Yields the encoding of a value of any depth, piece by piece: how many items follow says where a list or object
    ends."""
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
