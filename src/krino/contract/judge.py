"""What a judge is: a rubric in code that studies a case, asks what is open, and settles the verdict."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from random import Random
from typing import Any, ClassVar, Generic, Protocol, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import TypeVar

from krino.blocks import Block
from krino.contract.bounds import Bound
from krino.contract.exhibits import Exhibits
from krino.contract.judgement import Finding, Judgement, RollUp, Settlement, Status, VerdictT
from krino.contract.labeller import CaseT, FactsT, LabelsT, Questions, describe_validation
from krino.contract.reads import Reads
from krino.errors import CannotJudge, UsageProblem
from krino.text.guessing import guessed

OptionsT = TypeVar("OptionsT", bound=BaseModel, default=BaseModel, covariant=True)
_MODELS = ("case_model", None, "labels_model", "verdict_model", "options_model")
"""What the parameters of `Judge[...]` stand for; facts need no model."""


class Overview(Protocol):
    """Takes the judgements of a run one at a time, as they stand in the journal; then gives its blocks."""

    def add(self, judgement: Mapping[str, Any], /) -> None: ...

    def blocks(self) -> Sequence[Block]: ...


class NoOptions(BaseModel):
    """For judges that have nothing to set."""

    model_config = ConfigDict(extra="forbid")


class NoFigures(BaseModel):
    """For judges that give nothing but their verdict."""


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


class Judge(ABC, Generic[CaseT, FactsT, LabelsT, VerdictT, OptionsT]):
    """A rubric in code: subclass `Judge[Case, Facts, Labels, Verdict]`, write study, ask and settle.

    The models are taken from the brackets, options too (`Judge[Case, Facts, Labels, Verdict, Options]`); they may be
    stated as attributes instead (`verdict_model = Verdict`).
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    summary: ClassVar[str]
    default_prompt: ClassVar[str]
    """What a labeller is told, the same for every case: it comes first, so that prompt caches hit."""
    rules: ClassVar[Mapping[str, str]] = {}
    """Rule id to what the rule says. Every `Ruling` names one of these; a verdict that `settle` returns needs none."""
    options_model: ClassVar[type[BaseModel]] = NoOptions
    figures_model: ClassVar[type[BaseModel]] = NoFigures
    """Numbers beside the verdict, which are no part of the rubric: every field may be null, and has another name than
    the fields of the verdict. Reports, exports and gates take them like fields of the verdict."""
    main_fields: ClassVar[Sequence[str]] = ()
    """The fields of the case that a person knows it by; empty: its first few text fields."""
    record_names: ClassVar[Mapping[str, Sequence[str]]] = {}
    """The names that a field of the case may have in a record, the best first, where they are not its own."""
    names_apart: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Those of `record_names` that may hold something else beside another name of the field, without contradiction."""
    inner_names: ClassVar[Mapping[str, Mapping[str, Sequence[str]]]] = {}
    """Of fields of the case that are lists of objects: each field of the objects with the names that it may have in a
    record, the best first. For `krino map`."""
    field_words: ClassVar[Mapping[str, Sequence[str]]] = {}
    """For `krino map`: what other systems call a field, in any language; `list.*.field` for a field of elements."""
    field_shapes: ClassVar[Mapping[str, tuple[str, Callable[[Any], bool]]]] = {}
    """For `krino map`: what the values of a field look like, in words and as a test."""
    field_links: ClassVar[Mapping[str, str]] = {}
    """For `krino map`: fields whose value is the value of another field (`matches.*.id` of `candidates.*.id`)."""
    needed: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Fields of the case that are needed though the model has a default for them (so that `study` can say what is
    missing), each with the fields of the verdict that need it; none: the whole verdict does. For `krino judges`."""
    data_files: ClassVar[Sequence[str | PathLike[str]]] = ()
    """Files and folders that `study`, `settle` or `label_locally` read (tables, models), as paths from the folder of
    the class. When one changes, the judge is another judge: verdicts of before are not used again."""
    languages: ClassVar[Sequence[str]] = ()
    """The languages that the embedded labeller reads, by name; empty: it does not go by language."""
    case_model: type[CaseT]
    labels_model: type[LabelsT]
    verdict_model: type[VerdictT]
    options: OptionsT
    _open_models: ClassVar[Mapping[Any, str]] = {}
    """Of a class that is generic itself: which of its parameters stands for which model."""
    _stated: ClassVar[frozenset[str]] = frozenset()
    """Which of `name` and `summary` a class states itself, here or in a base."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Take the models from the brackets, and the name and summary from the class where it states none."""
        super().__init_subclass__(**more)
        opened: dict[Any, str] = {}
        for base in vars(cls).get("__orig_bases__", ()):
            for name, model in _stated_models(base):
                if _is_model(model) and name not in vars(cls):
                    setattr(cls, name, model)
                elif not isinstance(model, type):
                    opened[model] = name
        cls._open_models = opened
        cls._describe_from_class()

    @classmethod
    def _describe_from_class(cls) -> None:
        """`PoliteLetters` is called `polite-letters`, and the first line of its docstring sums it up."""
        cls._stated = cls._stated | ({"name", "summary"} & vars(cls).keys())
        if "name" not in cls._stated:
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()
        if "summary" not in cls._stated:
            cls.summary = (vars(cls).get("__doc__") or "").strip().partition("\n")[0]

    def __init__(self, options: Mapping[str, Any] | BaseModel | None = None, prompt: str | None = None) -> None:
        values = options.model_dump() if isinstance(options, BaseModel) else dict(options or {})
        self._refuse_unknown(values)
        try:
            self.options = cast(OptionsT, self.options_model.model_validate(values))
        except ValidationError as error:
            raise UsageProblem(f"options of judge `{self.name}`: {describe_validation(error)}") from None
        self.prompt = self.default_prompt if prompt is None else prompt

    def _refuse_unknown(self, values: Mapping[str, Any]) -> None:
        """A misspelt option must not be passed over, whatever the model does with names that it does not know."""
        fields = self.options_model.model_fields
        known = [name for field, info in fields.items() for name in (field, info.alias, info.validation_alias) if name]
        unknown = [str(name) for name in values if name not in known]
        takes_more = self.options_model.model_config.get("extra") == "allow"
        if not unknown or takes_more or not all(isinstance(name, str) for name in known):
            return
        there = f"there are {', '.join(fields)}" if fields else "it has none"
        raise UsageProblem(
            f"options of judge `{self.name}`: no option `{unknown[0]}`{guessed(unknown[0], fields)}; {there}"
        )

    def read(self, record: Mapping[str, Any]) -> CaseT:
        """The typed case of a raw record; raises `CannotJudge` naming the field that is wrong."""
        try:
            return self.case_model.model_validate(record)
        except ValidationError as error:
            raise CannotJudge(describe_validation(error)) from None

    def reads(self, record: Mapping[str, Any]) -> Reads | None:
        """The names of this record that `read` reads, at any depth; None: it may read any of them.

        What is left out here is listed as not read, and is no content: if it changes, the case is not judged again.
        """
        return None

    @abstractmethod
    def study(self, case: CaseT) -> FactsT:
        """Every fact that needs no opinion; raises `CannotJudge` when the case rules judging out."""

    @abstractmethod
    def ask(self, case: CaseT, facts: FactsT) -> Questions | None:
        """What the facts leave open, or None: then no labeller is called and nothing is spent."""

    def leaves_open(self, case: CaseT, facts: FactsT) -> bool:
        """Whether `ask` asks anything. Override it where that is known without writing the questions."""
        return self.ask(case, facts) is not None

    def bounds(self, case: CaseT, facts: FactsT, asked: Questions, exact: bool) -> Bound | None:
        """What the labels may hold in this case, for endpoints that hold a reply to a schema: see `Bound`.

        `asked` are the questions of the case, or of one part. `exact`: with what only holds between fields, and with
        texts to choose from, for small models; else the same for cases of the same shape, so that schemas repeat.
        """
        return None

    def check(self, case: CaseT, facts: FactsT, labels: LabelsT) -> list[str]:
        """What is wrong with labels when held against the case (a quote that is not there, an unknown id)."""
        return []

    @abstractmethod
    def settle(self, case: CaseT, facts: FactsT, labels: LabelsT | None) -> Settlement | VerdictT:
        """The verdict, or a `Settlement` that also names the rule and the evidence for each field.

        Pure: the same input always gives the same output. `labels` is None where `ask` asked nothing.
        """

    def reorder(self, case: CaseT, facts: FactsT, draw: Random) -> Reordered[CaseT, FactsT, LabelsT] | None:
        """For repeats: the case with parts whose order must not matter in another order; None if it has no such."""
        return None

    def join_votes(self, case: CaseT, facts: FactsT, ballots: Sequence[LabelsT]) -> Joined[LabelsT]:
        """One set of labels from those of several seats, label by label; raises `CannotJudge` on a hopeless tie.

        Pure, and blind to the order of the ballots. By default the majority decides each field (`contract.joining`).
        """
        from krino.contract.joining import join_labels

        return join_labels(ballots)

    def label_locally(self, batch: Sequence[tuple[CaseT, FactsT]]) -> list[LabelsT]:
        """The embedded labeller: labels without any LLM, for a batch of cases at once."""
        raise UsageProblem(f"judge `{self.name}` has no embedded labeller: name a model with --labeller (or labeller=)")

    def unreadable_locally(self, case: CaseT, facts: FactsT) -> str | None:
        """Why the embedded labeller cannot read this case, which is then `failed` with that reason; None: it can."""
        return None

    def failed_form(self, status: Status, message: str) -> dict[str, Any] | None:
        """The verdict a rubric defines for what could not be judged; None where it defines none."""
        return None

    def metadata(self, case: CaseT) -> dict[str, Any]:
        """Short facts about the case to slice results by."""
        return {}

    def columns(self, case: CaseT, facts: FactsT, settlement: Settlement) -> dict[str, Any]:
        """What tables and exports show of a judged case beside its verdict: short values, kept with the metadata."""
        return {}

    def main_inputs(self, case: CaseT) -> dict[str, str]:
        """What a person knows the case by, in tables and lists: name to text, the first eight of them are kept.

        By default the `main_fields`.
        """
        from krino.contract.case_fields import inputs_of_case

        return inputs_of_case(self, case)

    def raw_inputs(self, record: Mapping[str, Any]) -> dict[str, str]:
        """The same of a record that could not be read as a case, as far as it holds them."""
        from krino.contract.case_fields import inputs_of_record

        return inputs_of_record(self, record)

    def roll_up(self, verdict: Mapping[str, Any], rules: Mapping[str, str]) -> RollUp | None:
        """An ok verdict in one word, from its fields and the rules that gave them; None where a judge has no such."""
        return None

    def view(self, case: CaseT, facts: FactsT, judgement: Judgement) -> Sequence[Block]:
        """How the case is best shown to people, as blocks of `krino.blocks`; empty: what it is about, as text."""
        return ()

    def exhibits(self, case: CaseT, facts: FactsT) -> Exhibits | None:
        """The case as a person sees it who labels it: what was given, never what code found in it or thinks of it.

        None: the fields of the record, as they are. Hints for models belong into `ask`, which people are not shown.
        """
        return None

    def overview(self) -> Overview | None:
        """Collects what the report says of all cases together beside scores and categories; None: nothing more."""
        return None

    def fingerprint(self) -> dict[str, Any]:
        """Everything of this judge that can change a verdict: what a run must share to be gone on with."""
        from krino.contract import fingerprint

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


AnyJudge = Judge[Any, Any, Any]


def _is_model(value: Any) -> bool:
    """A model of one's own: `BaseModel` itself only stands for a parameter that was left out."""
    return isinstance(value, type) and issubclass(value, BaseModel) and value is not BaseModel


def _stated_models(base: Any) -> list[tuple[str, Any]]:
    """What a base such as `Judge[Case, Facts, Labels]` says of the models."""
    origin = get_origin(base)
    if not (isinstance(origin, type) and issubclass(origin, Judge)):
        return []
    if origin is Judge:
        return [(name, model) for name, model in zip(_MODELS, get_args(base), strict=False) if name is not None]
    named = (
        (origin._open_models.get(parameter), model)
        for parameter, model in zip(getattr(origin, "__parameters__", ()), get_args(base), strict=False)
    )
    return [(name, model) for name, model in named if name is not None]


# --- what only some judges need ----------------------------------------------------------------------


class ReadsRecords:
    """For a judge whose records may be more than one case each, or lists (traces, say). Beside `Judge` as a base."""

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


class AsksInParts(ABC, Generic[CaseT, FactsT, LabelsT]):
    """For a judge whose questions may be too long for one call (`Questions.parts`). Beside `Judge` as a base."""

    @abstractmethod
    def check_part(self, case: CaseT, facts: FactsT, part: Questions, labels: LabelsT) -> list[str]:
        """What is wrong with the labels of one part; joined, they have to pass `check` as well."""

    @abstractmethod
    def join_parts(
        self, case: CaseT, facts: FactsT, labelled: Sequence[tuple[Questions, LabelsT]]
    ) -> tuple[LabelsT, tuple[Finding, ...]]:
        """The labels of the whole case from those of its parts, and what is worth knowing about the joining."""
