"""What a judge is: a rubric in code that studies a case, asks what is open, and settles the verdict."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Generic, cast, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError
from typing_extensions import TypeVar

from krino.contract.hooks import DisplayHooks, LabellingHooks, RecordHooks, ResultHooks, VotingHooks
from krino.contract.judgement import Finding, Settlement, VerdictT
from krino.contract.labeller import CaseT, FactsT, LabelsT, Questions, describe_validation
from krino.contract.measured import Measured, split_measured
from krino.errors import CannotJudge, UsageProblem
from krino.text.guessing import did_you_mean

OptionsT = TypeVar("OptionsT", bound=BaseModel, default=BaseModel, covariant=True)
_MODELS = ("case_model", None, "labels_model", "verdict_model", "options_model")
"""The attributes that the parameters of `Judge[...]` set; facts need no model."""


class NoOptions(BaseModel):
    """For judges that have nothing to set."""

    model_config = ConfigDict(extra="forbid")


class Judge(
    RecordHooks,
    LabellingHooks[CaseT, FactsT, LabelsT],
    VotingHooks[CaseT, FactsT, LabelsT],
    ResultHooks[CaseT, FactsT],
    DisplayHooks[CaseT, FactsT],
    ABC,
    Generic[CaseT, FactsT, LabelsT, VerdictT, OptionsT],
):
    """A rubric in code: subclass `Judge[Case, Facts, Labels, Verdict]`, write a prompt, study, ask and settle.

    The models are taken from the brackets, options too (`Judge[Case, Facts, Labels, Verdict, Options]`); they may be
    stated as attributes instead (`verdict_model = Verdict`).
    """

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    summary: ClassVar[str]
    default_prompt: ClassVar[str]
    """The instructions for a labeller. They are the same for every case and come first, so that prompt caches hit."""
    rules: ClassVar[Mapping[str, str]] = {}
    """Rule id to what the rule says. Every `Ruling` names one of these; a verdict that `settle` returns needs none."""
    options_model: ClassVar[type[BaseModel]] = NoOptions
    data_files: ClassVar[Sequence[str | PathLike[str]]] = ()
    """Files and folders that `study`, `settle` or `label_locally` read (tables, models), as paths from the folder of
    the class. When one changes, the judge counts as another: earlier verdicts are not used again."""
    stated_measured: ClassVar[Measured | None] = None
    """The agreement with people that the judge's file states."""
    measured: Measured | None
    """The agreement that the file or the prompt states; whether it belongs to this judge, `belongs_to` says."""
    case_model: type[CaseT]
    labels_model: type[LabelsT]
    verdict_model: type[VerdictT]
    options: OptionsT
    _open_models: ClassVar[Mapping[Any, str]] = {}
    """For a class that is generic itself: the model that each of its parameters means."""
    _stated: ClassVar[frozenset[str]] = frozenset()
    """Which of `name` and `summary` the class or a base of it states."""

    def __init_subclass__(cls, **more: Any) -> None:
        """Takes the models from the brackets, and name and summary from the class if it states none."""
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
        """Names and summarises a judge after its class: `PoliteLetters` is called `polite-letters`, and the first line
        of its docstring sums it up."""
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
        self.prompt, measured = split_measured(self.default_prompt if prompt is None else prompt)
        self.measured = self.stated_measured if prompt is None and measured is None else measured

    def _refuse_unknown(self, values: Mapping[str, Any]) -> None:
        """Raises `UsageProblem` for misspelt options, whatever the model does with unknown names, unless it takes extra
        ones."""
        fields = self.options_model.model_fields
        known = [name for field, info in fields.items() for name in (field, info.alias, info.validation_alias) if name]
        unknown = [str(name) for name in values if name not in known]
        takes_more = self.options_model.model_config.get("extra") == "allow"
        if not unknown or takes_more or not all(isinstance(name, str) for name in known):
            return
        there = f"there are {', '.join(fields)}" if fields else "it has none"
        raise UsageProblem(
            f"options of judge `{self.name}`: no option `{unknown[0]}`{did_you_mean(unknown[0], fields)}; {there}"
        )

    def read(self, record: Mapping[str, Any]) -> CaseT:
        """Makes the typed case of a raw record; raises `CannotJudge` naming the field that is wrong."""
        try:
            return self.case_model.model_validate(record)
        except ValidationError as error:
            raise CannotJudge(describe_validation(error)) from None

    @abstractmethod
    def study(self, case: CaseT) -> FactsT:
        """Returns every fact that needs no opinion; raises `CannotJudge` when the case rules judging out."""

    @abstractmethod
    def ask(self, case: CaseT, facts: FactsT) -> Questions | None:
        """Returns what the facts leave open, or None: then no labeller is called and nothing is spent."""

    def leaves_open(self, case: CaseT, facts: FactsT) -> bool:
        """Whether `ask` asks anything. Override it if that is known without writing the questions."""
        return self.ask(case, facts) is not None

    def check(self, case: CaseT, facts: FactsT, labels: LabelsT) -> list[str]:
        """Returns what is wrong with labels about this case (a quote that is not there, an unknown id); empty:
        nothing."""
        return []

    @abstractmethod
    def settle(self, case: CaseT, facts: FactsT, labels: LabelsT | None) -> Settlement | VerdictT:
        """Returns the verdict, or a `Settlement` that also names the rule and the evidence for each field.

        Pure: the same input always gives the same output. `labels` is None where `ask` asked nothing.
        """

    def fingerprint(self) -> dict[str, Any]:
        """Returns everything of this judge that can change a verdict, mostly as hashes: a run can only be continued
        with the same."""
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
    """Is this a model of the author's own? `BaseModel` itself means a parameter that was left out."""
    return isinstance(value, type) and issubclass(value, BaseModel) and value is not BaseModel


def _stated_models(base: Any) -> list[tuple[str, Any]]:
    """Returns what a base such as `Judge[Case, Facts, Labels]` names, each with its attribute (`case_model`); nothing
    for a base that is no judge."""
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
    """For a judge whose records may hold several cases or be lists (traces, for example). A base beside `Judge`."""

    def list_field(self, first: Any) -> str | None:
        """Returns the field that a JSON list belongs to, if a list that begins with `first` is one case as a whole.

        None: the list is a list of cases.
        """
        return None

    def is_case(self, record: Mapping[str, Any]) -> bool:
        """Whether an object whose only field is a list is a case, and not a wrapper around a list of cases."""
        return False

    def split(self, record: Mapping[str, Any]) -> Iterable[tuple[str | None, Mapping[str, Any]]]:
        """Yields the cases of one record, each with an id of its own or None. By default the record is one case."""
        return ((None, record),)


class AsksInParts(ABC, Generic[CaseT, FactsT, LabelsT]):
    """For a judge whose questions may be too long for one call (`Questions.parts`). A base beside `Judge`."""

    @abstractmethod
    def check_part(self, case: CaseT, facts: FactsT, part: Questions, labels: LabelsT) -> list[str]:
        """Returns what is wrong with the labels of one part; the joined labels must pass `check` as well."""

    @abstractmethod
    def join_parts(
        self, case: CaseT, facts: FactsT, labelled: Sequence[tuple[Questions, LabelsT]]
    ) -> tuple[LabelsT, tuple[Finding, ...]]:
        """Joins the labels of the parts into those of the whole case, and returns them with findings about the
        joining."""
