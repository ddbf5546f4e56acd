"""What a judge may have beside `study`, `ask` and `settle`. `Judge` inherits it; a judge overrides what it needs.

Each class below is one capability, with what happens if a judge does not have it; `docs/own_judge.md` lists them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeAlias, cast

from pydantic import BaseModel

from krino.blocks import Block
from krino.contract.bounds import Bound
from krino.contract.judgement import Judgement, RollUp, Settlement, Status
from krino.contract.labeller import CaseT, FactsT, LabelsT, Questions
from krino.contract.record_fields import Reads
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract.judge import AnyJudge

# --- how a record is read ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The names that the fields of a case have in records, and the fields by which people recognise a case."""

    main: Sequence[str] = ()
    """The fields by which a person recognises a case; empty: its first few text fields."""
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For fields that have other names in records: those names, the best first."""
    ambiguous_names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Those of `names` that may mean something else if the record also has another name of the field."""
    needed: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Fields that are needed although the model has a default for them (so that `study` can say what is missing), each
    with the fields of the verdict that need it; none means the whole verdict. Shown by `krino judges`."""
    inner_names: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    """For `krino map`, of fields that are lists of objects: the names that each field of the objects may have."""
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For `krino map`: what other systems call a field, in any language; `list.*.field` for a field of elements."""
    shapes: Mapping[str, tuple[str, Callable[[Any], bool]]] = field(default_factory=dict)
    """For `krino map`: what the values of a field look like, in words and as a test."""
    links: Mapping[str, str] = field(default_factory=dict)
    """For `krino map`: fields that hold the value of another field (`matches.*.id` that of `candidates.*.id`)."""


class RecordHooks:
    """Records whose names are not those of the case model."""

    fields: ClassVar[RecordFields] = RecordFields()

    def reads(self, record: Mapping[str, Any]) -> Reads | None:
        """Returns the names of this record that `read` reads, at any depth; None: it may read any of them.

        Other names are reported as not read and are not content: when they change, the case is not judged again.
        """
        return None


# --- who labels, and how -----------------------------------------------------------------------------


class LabellingHooks(Generic[CaseT, FactsT, LabelsT]):
    """The embedded labeller, and bounds for models."""

    languages: ClassVar[Sequence[str]] = ()
    """The languages that the embedded labeller reads, by name; empty: it does not depend on the language."""

    tunable: ClassVar[Mapping[str, Sequence[float]]] = {}
    """Options by which the embedded labeller can be tuned to people's labels, each with the values that `krino align`
    tries."""

    def label_locally(self, batch: Sequence[tuple[CaseT, FactsT]]) -> list[LabelsT]:
        """Returns labels for a batch of cases, without a model behind an endpoint: the embedded labeller. By default
        raises `UsageProblem`: there is none."""
        name = cast("AnyJudge", self).name
        raise UsageProblem(f"judge `{name}` has no embedded labeller: name a model with --labeller (or labeller=)")

    def unreadable_locally(self, case: CaseT, facts: FactsT) -> str | None:
        """Says why the embedded labeller cannot read this case, which is then `failed` with that reason; None: it
        can."""
        return None

    def bounds(self, case: CaseT, facts: FactsT, asked: Questions, exact: bool) -> Bound | None:
        """Returns the bounds of the labels of this case (ids to choose from, lengths), for endpoints that enforce a
        schema.

        `asked` are the questions of the case, or of one part. `exact`: with conditions between fields and with texts to
        choose from, for small models; otherwise the same for all cases of one shape, so that schemas repeat.
        """
        return None


# --- votes -------------------------------------------------------------------------------------------


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
    """Labels joined from several ballots; `ties` says where the votes were even, and what was taken then."""

    labels: LabelsT
    ties: tuple[str, ...] = ()


class VotingHooks(Generic[CaseT, FactsT, LabelsT]):
    """Juries and repeats."""

    def reorder(self, case: CaseT, facts: FactsT, draw: Random) -> Reordered[CaseT, FactsT, LabelsT] | None:
        """Returns, for repeats, the case with its exchangeable parts in another order, and how labels about it are read
        back; None if it has no such parts."""
        return None

    def join_votes(self, case: CaseT, facts: FactsT, ballots: Sequence[LabelsT]) -> Joined[LabelsT]:
        """Joins several ballots into one set of labels, label by label; raises `CannotJudge` on a tie without a way
        out.

        Pure, and independent of the order of the ballots. By default the majority decides each field.
        """
        from krino.contract.joining import join_labels

        return join_labels(ballots)


# --- what is recorded beside the verdict -------------------------------------------------------------


class NoFigures(BaseModel):
    """For judges without figures."""


class ResultHooks(Generic[CaseT, FactsT]):
    """What reports, tables and gates take beside the fields of the verdict."""

    figures_model: ClassVar[type[BaseModel]] = NoFigures
    """Numbers beside the verdict that are not part of the rubric. Every field may be null, and none has the name of a
    field of the verdict. Reports, exports and gates treat them like fields of the verdict."""

    def roll_up(self, verdict: Mapping[str, Any], rules: Mapping[str, str]) -> RollUp | None:
        """Sums up an ok verdict in one word, from its fields and their rules; None: the judge has no such word."""
        return None

    def failed_form(self, status: Status, message: str) -> dict[str, Any] | None:
        """Returns the verdict that the rubric defines for cases that could not be judged; None: it defines none."""
        return None

    def metadata(self, case: CaseT) -> dict[str, Any]:
        """Returns short facts about the case to slice results by."""
        return {}

    def columns(self, case: CaseT, facts: FactsT, settlement: Settlement) -> dict[str, Any]:
        """Returns what tables and exports show of a judged case beside its verdict: short values, kept with the
        metadata."""
        return {}


# --- what people see ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exhibit:
    """One piece of a case under a title, as it is shown to a person who labels the case."""

    title: str
    text: str = ""
    """The text as it was written, with Markdown, line breaks and greetings."""
    sentences: tuple[str, ...] = ()
    """The same in sentences, numbered from 1, if labels refer to them; shown only to people who label."""
    number: str = ""
    """What labels call it (`candidate 2`), if that differs from its title; shown only to people who label."""


@dataclass(frozen=True, slots=True)
class Exhibits:
    """A case for a person who labels it: what is judged, and what it is judged by."""

    work: tuple[Exhibit, ...]
    sources: tuple[Exhibit, ...]
    request: str = ""
    """What the person is asked, without hints."""
    start: Mapping[str, Any] = field(default_factory=dict)
    """Labels that are filled in at first because the bounds leave only one choice."""


class Overview(Protocol):
    """Takes the judgements of a run one at a time, as they are recorded in the journal; then gives its blocks."""

    def add(self, judgement: Mapping[str, Any], /) -> None: ...

    def blocks(self) -> Sequence[Block]: ...


Explainer: TypeAlias = Callable[[Sequence[str]], Iterable[Mapping[str, Any]]]
"""Takes the texts of one `krino explain` command and gives an object for each."""


class DisplayHooks(Generic[CaseT, FactsT]):
    """How people are shown a case and a run."""

    def main_inputs(self, case: CaseT) -> dict[str, str]:
        """Returns what a person recognises the case by, in tables and lists: name to text; the first eight are kept.

        By default the main `fields`.
        """
        from krino.contract.record_fields import inputs_of_case

        return inputs_of_case(cast("AnyJudge", self), case)

    def raw_inputs(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Returns the main inputs of a record that could not be read as a case, as far as it holds them."""
        from krino.contract.record_fields import inputs_of_record

        return inputs_of_record(cast("AnyJudge", self), record)

    def view(self, case: CaseT, facts: FactsT, judgement: Judgement) -> Sequence[Block]:
        """Shows the case to people, as blocks of `krino.blocks`; empty: its main inputs are shown, as text."""
        return ()

    def exhibits(self, case: CaseT, facts: FactsT) -> Exhibits | None:
        """Returns the case as a person who labels it sees it: what was given, never what code found in it or thinks of
        it.

        None: the fields of the record, as they are. `ask` may give models hints that code computed; a person who labels
        must be independent of them, so pages show exhibits and never what `ask` writes.
        """
        return None

    def overview(self) -> Overview | None:
        """Collects what the report says about all cases together, beside scores and categories; None: nothing."""
        return None

    def explainers(self) -> Mapping[str, Explainer]:
        """Returns what `krino explain NAME TEXT...` calls to show how this judge understands a text, by NAME."""
        return {}
