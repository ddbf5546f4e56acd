"""What a labeller is: it answers the questions of one case with labels, never with a score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, Self, TypeVar, cast

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, to_json

from krino.contract.code_limit import CASE_SECONDS, CodeLimit
from krino.contract.judgement import Ballot, Finding, Usage, is_finite
from krino.text.clean import cut

if TYPE_CHECKING:
    from krino.contract.judge import AsksInParts, Judge


CaseT = TypeVar("CaseT", bound=BaseModel)

FactsT = TypeVar("FactsT")

LabelsT = TypeVar("LabelsT", bound=BaseModel)


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
    """What the facts leave open in one case: the data, and what is asked about it."""

    passages: tuple[Passage, ...]
    request: str
    media: tuple[Media, ...] = ()
    parts: tuple[Questions, ...] = ()
    """If one call cannot hold it all: complete questions that are asked instead of this, and joined afterwards."""
    covers: tuple[str, ...] = ()
    """For a part: the ids that it asks labels for."""


def _as_json(answer: Any) -> bytes:
    """Serialises an answer; raises `ValueError` for what JSON cannot hold, such as infinite numbers."""
    try:
        written = to_json(answer, fallback=dict, inf_nan_mode="constants")
        endless = (b"NaN" in written or b"Infinity" in written) and not is_finite(answer)
    except (PydanticSerializationError, TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"labels must be plain JSON: {error}") from None
    if endless:
        raise ValueError("labels must be plain JSON: a number in it has no end")
    return written


@dataclass(frozen=True, slots=True)
class Task(Generic[CaseT, FactsT, LabelsT]):
    """One case that a labeller is asked about."""

    judge: Judge[CaseT, FactsT, LabelsT]
    case: CaseT
    facts: FactsT
    questions: Questions
    index: int = 0
    input_hash: str = ""
    is_part: bool = False
    repeat: int = 0
    """0: asked once. On a panel, the number of this repeat; from the second on each is a call of its own."""
    seconds: float = CASE_SECONDS
    """How long the judge's own code may take when a labeller calls it."""

    def pieces(self) -> list[Task[CaseT, FactsT, LabelsT]]:
        """Returns the tasks that are asked one by one: this one, or one for each part of its questions."""
        return [replace(self, questions=part, is_part=True) for part in self.questions.parts] or [self]

    def accept(self, answer: Any) -> LabelsT:
        """Labels from a parsed reply, or a `ValueError` that says exactly what is wrong with it.

        They are validated strictly, as JSON: no text becomes a number, no number a yes, and none is infinite.
        """
        return self.accept_json(_as_json(answer))

    def accept_json(self, written: bytes) -> LabelsT:
        """Returns labels from a reply that is already serialised, or raises `ValueError`, as `accept` does."""
        try:
            labels = self.judge.labels_model.model_validate_json(written, strict=True)
        except ValidationError as error:
            raise ValueError(describe_validation(error)) from None
        if problems := self._check(labels):
            raise ValueError("\n".join(f"- {problem}" for problem in problems))
        return labels

    def _check(self, labels: LabelsT) -> list[str]:
        """Returns the judge's objections to labels, of the whole case or of the part that was asked."""
        with CodeLimit(self.seconds):
            if self.is_part:
                return in_parts(self.judge).check_part(self.case, self.facts, self.questions, labels)
            return self.judge.check(self.case, self.facts, labels)


def in_parts(judge: Judge[CaseT, FactsT, LabelsT]) -> AsksInParts[CaseT, FactsT, LabelsT]:
    """Returns the judge unchanged, typed as one that asks in parts; `contract.judge_checks` has made sure of that."""
    return cast("AsksInParts[CaseT, FactsT, LabelsT]", judge)


@dataclass(frozen=True, slots=True)
class Labelled(Generic[LabelsT]):
    """Accepted labels, what they cost, and how they were given."""

    labels: LabelsT
    info: dict[str, Any]
    usage: Usage = field(default_factory=Usage)
    findings: tuple[Finding, ...] = ()
    ballots: tuple[Ballot, ...] = ()


@dataclass(frozen=True, slots=True)
class Forecast:
    """An estimate of what asking about one case takes. `input_cost` covers the calls that have a price; `unpriced`
    counts the others."""

    calls: int = 0
    cached: int = 0
    input_tokens: int = 0
    input_cost: float | None = None
    unpriced: int = 0
    repeated_tokens: int = 0
    """Part of `input_tokens`: the beginning that is the same in every call, if the provider caches it."""
    repeated_saving: float | None = None
    """What is saved if that part is read from the provider's cache; null if its prices are not known."""

    @classmethod
    def total(cls, forecasts: Iterable[Forecast]) -> Forecast:
        """Sums several forecasts; a cost or saving is null only if it is null in all of them."""
        several = list(forecasts)
        costs = [forecast.input_cost for forecast in several if forecast.input_cost is not None]
        savings = [forecast.repeated_saving for forecast in several if forecast.repeated_saving is not None]
        return cls(
            calls=sum(forecast.calls for forecast in several),
            cached=sum(forecast.cached for forecast in several),
            input_tokens=sum(forecast.input_tokens for forecast in several),
            input_cost=sum(costs) if costs else None,
            unpriced=sum(forecast.unpriced for forecast in several),
            repeated_tokens=sum(forecast.repeated_tokens for forecast in several),
            repeated_saving=sum(savings) if savings else None,
        )


@dataclass(frozen=True, slots=True)
class SoFar:
    """What a labeller has done in this run so far, for the progress display."""

    usage: Usage
    retries: int = 0
    timeouts: int = 0
    left_out: tuple[str, ...] = ()
    """Parameters that the user set and the endpoint does not take, so that they are not sent."""


class Labeller(ABC):
    """Answers questions with labels: the embedded one, an LLM, a jury or a recording."""

    workers: int = 64
    """How many cases may be under way at the same time."""
    reads_questions: bool = True
    """False if it needs only case and facts: then no questions are written for it."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Returns everything that can change its answers, for the run's manifest. Never a secret."""

    @abstractmethod
    async def label(self, task: Task[CaseT, FactsT, LabelsT]) -> Labelled[LabelsT]:
        """Returns labels that `task.accept` has accepted; raises `LabelFailed` when there are none.

        `RunStopped` stops the whole run at once. If this case has cost something already, raise `LabelFailed` with
        `stopped=RunStopped(...)` instead: then the cost is recorded before the run stops.
        """

    def forecast(self, task: Task[Any, Any, Any]) -> Forecast:
        """Estimates what `label` takes for this task, without a call."""
        return Forecast()

    def already_spent(self, usage: Usage) -> None:
        """Takes what earlier sessions of the run have spent; called at the start of a session."""
        return

    def waiting_for(self) -> str | None:
        """Says why no answers come at the moment, in a few words for the progress display; None: they come."""
        return None

    def so_far(self) -> SoFar | None:
        """Returns what it has spent so far; None for one that spends nothing."""
        return None

    def stop(self) -> None:
        """Begins nothing new from now on, since the run is ending. What is under way may finish."""
        return

    async def aclose(self) -> None:
        """Closes its connections and files."""
        return

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def describe_validation(error: ValidationError) -> str:
    """Describes a pydantic error in words: for each field its name, what is wrong, and the value."""
    lines = []
    for item in error.errors(include_url=False):
        where = ".".join(str(part) for part in item["loc"])
        if not where and item["type"] == "value_error":  # a rule of the model itself, whose message is enough
            lines.append(item["msg"].removeprefix("Value error, "))
            continue
        where = where or "the whole object"
        given = "" if item["type"] == "missing" else f" (got {cut(repr(item['input']), 80)})"
        lines.append(f"{where}: {item['msg'].removeprefix('Value error, ')}{given}")
    return "; ".join(lines)
