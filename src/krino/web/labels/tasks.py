"""A case as a labelling task: what a person is shown, the forms to fill in, and how an answer is checked.

People answer the same questions as models: `Task.accept` checks both, and the judge's rules score both. But people see
the case as it was given (`Judge.exhibits`), never the hints that code writes for models, and the recorded verdict is
not used here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from krino.contract import AnyJudge, Passage, Questions, Task
from krino.contract.bounds import Bound
from krino.contract.fingerprint import schema_of
from krino.contract.hooks import Exhibit, Exhibits
from krino.contract.judge_checks import check_questions, settle_case, verdict_of
from krino.errors import CannotJudge, UsageProblem
from krino.judges.registry import is_ours, recorded_judge
from krino.people.store import DEPTHS, Depth
from krino.results.field_kinds import ROLL_UPS
from krino.runs.manifest import Manifest
from krino.web.labels.forms import (
    FormNode,
    SubmittedForm,
    add_row,
    build_labels_form,
    build_verdict_form,
    check_fields,
    read_form_answer,
    rebuild_form,
)

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AcceptedAnswer:
    """An accepted answer. At depth `labels` also the verdict that the rules derive from it, if any."""

    answer: dict[str, Any]
    verdict: dict[str, Any] | None = None


class FieldsForm:
    """Form for the fields of the verdict. It uses the schema stored with the run, so it works without the judge's
    code."""

    def __init__(self, manifest: Manifest, rolls_up: bool) -> None:
        self._schema = manifest.about.verdict_schema
        self._roll_ups: Sequence[str] = ROLL_UPS if rolls_up else ()

    def form(self, given: Mapping[str, Any] | None = None) -> FormNode:
        """Builds the form, filled in with the answer that was given."""
        return build_verdict_form(self._schema, given, self._roll_ups)

    def read(self, filled: SubmittedForm) -> dict[str, Any]:
        """Reads the answer from a submitted form, without the fields that were left empty."""
        answer: dict[str, Any] = read_form_answer(self.form(), filled)
        return answer

    def accept(self, answer: Mapping[str, Any]) -> AcceptedAnswer:
        """Checks an answer against what the form offers; raises `UsageProblem`."""
        return AcceptedAnswer(check_fields(self.form(), answer))


class LabelsForm:
    """Form for the labels themselves."""

    def __init__(self, task: Task[Any, Any, Any], start: Mapping[str, Any]) -> None:
        self._task, self._start = task, start
        self._schema = schema_of(task.judge.labels_model)

    @cached_property
    def _bounds(self) -> tuple[Bound | None, Bound | None]:
        """The possible choices for the case, and the values that are certain."""
        task = self._task
        loose, exact = (task.judge.bounds(task.case, task.facts, task.questions, exact) for exact in (False, True))
        return loose, exact

    def form(self, given: Mapping[str, Any] | None = None) -> FormNode:
        """Builds the form, filled in with the answer that was given, else with what is certain."""
        return build_labels_form(self._schema, *self._bounds, given, start=self._start)

    def read(self, filled: SubmittedForm) -> dict[str, Any]:
        """Reads the answer from a submitted form; one more row if the button for it was pressed."""
        answer = read_form_answer(rebuild_form(self._schema, *self._bounds, filled), filled)
        return add_row(answer, filled)

    def accept(self, answer: Mapping[str, Any]) -> AcceptedAnswer:
        """Checks an answer as the judge checks a labeller's (`UsageProblem`), and settles the verdict from it; without
        a verdict if the judge cannot judge by these labels."""
        judge, case, facts = self._task.judge, self._task.case, self._task.facts
        try:
            labels = self._task.accept(answer)
        except ValueError as problem:
            raise UsageProblem(str(problem)) from None
        try:
            settlement = settle_case(judge, case, facts, labels)
        except CannotJudge:
            return AcceptedAnswer(labels.model_dump(mode="json"))
        verdict = verdict_of(judge, settlement)
        roll_up = judge.roll_up(verdict, {field: ruling.rule for field, ruling in settlement.rulings.items()})
        return AcceptedAnswer(labels.model_dump(mode="json"), {"roll_up": roll_up, **verdict} if roll_up else verdict)


@dataclass(frozen=True, slots=True)
class LabelTask:
    """What a person is shown, and the form for each depth; `without` says why a depth is not available."""

    exhibits: Exhibits
    instructions: str
    forms: Mapping[Depth, FieldsForm | LabelsForm]
    without: Mapping[Depth, str]
    for_models: tuple[Passage, ...] = ()
    """What a model is shown, including hints; shown only to people who asked to see the verdict."""

    def at(self, depth: Depth) -> FieldsForm | LabelsForm:
        """Returns the form for a depth; `UsageProblem` with the reason if this case has none."""
        if depth not in self.forms:
            raise UsageProblem(f"this case cannot be labelled at depth `{depth}`: {self.without[depth]}")
        return self.forms[depth]


def make_label_task(
    manifest: Manifest, record: Record | None, *, rolls_up: bool, digest: str, missing: str = ""
) -> LabelTask:
    """Makes a task for a person from a case. `record`: the input, or None if it cannot be read, for the reason
    `missing`; then nobody can label it. Labels can be given only for Krino's own judges, and where there are
    questions."""
    prompt = manifest.about.prompt
    if record is None:
        return LabelTask(Exhibits((), ()), prompt, {}, dict.fromkeys(DEPTHS, missing))
    fields, name = FieldsForm(manifest, rolls_up), manifest.plan.judge["name"]
    exhibits = _show_fields(record)
    if not is_ours(name):
        without = (
            f"`{name}` is a custom judge whose code is not loaded here; only the fields of its verdict can be labelled"
        )
        return LabelTask(exhibits, prompt, {"fields": fields}, {"labels": without})
    try:
        judge = recorded_judge(name, manifest.plan.judge.get("options") or {})
        case = judge.read(record)
        facts = judge.study(case)
        exhibits = judge.exhibits(case, facts) or exhibits
        task = _make_task(judge, case, facts, digest)
    except (CannotJudge, UsageProblem) as problem:
        return LabelTask(exhibits, prompt, {"fields": fields}, {"labels": str(problem)})
    labels = LabelsForm(task, exhibits.start)
    return LabelTask(exhibits, prompt, {"fields": fields, "labels": labels}, {}, _passages_for_models(task.questions))


def _make_task(judge: AnyJudge, case: Any, facts: Any, digest: str) -> Task[Any, Any, Any]:
    """Makes the task of a case, or raises `CannotJudge` if nothing is to be asked."""
    questions = check_questions(judge, judge.ask(case, facts))
    if questions is None:
        raise CannotJudge("the facts alone settle this case, so there are no questions to answer")
    return Task(judge, case, facts, questions, input_hash=digest)


def _passages_for_models(questions: Questions) -> tuple[Passage, ...]:
    """Returns all passages that a model is shown, for all parts of a long case, each once."""
    passages = [passage for part in questions.parts or (questions,) for passage in part.passages]
    return tuple(dict.fromkeys(passages))


def _show_fields(record: Record) -> Exhibits:
    return Exhibits(tuple(Exhibit(str(name), _to_text(value)) for name, value in record.items()), ())


def _to_text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode()


# --- exhibits on a page --------------------------------------------------------------------------------

_LONGEST = 20_000
"""Most characters of one text; the page says how much of a longer one is left out."""
_MOST_OPEN = 24_000
_LEAST_OPEN, _WIDEST_OPEN = 600, 6_000
"""Characters that a source shows unfolded; fewer if there are many sources."""
_MOST_PIECES = 1_000
_MOST_TEXT = 2_000_000


@dataclass(frozen=True, slots=True)
class Piece:
    """One exhibit; `rest` is folded, and `missing` characters are not on the page."""

    title: str
    text: str
    rest: str = ""
    missing: int = 0
    sentences: tuple[str, ...] = ()


@dataclass(slots=True)
class FittedExhibits:
    """Exhibits within the limits of a page; `left_out` counts those that do not fit."""

    work: list[Piece] = field(default_factory=list)
    sources: list[Piece] = field(default_factory=list)
    left_out: int = 0


def fit_exhibits(exhibits: Exhibits, *, numbered: bool) -> FittedExhibits:
    """Cuts exhibits to the size of a page. `numbered`: with the numbers that labels refer to."""
    shown = FittedExhibits()
    sources = exhibits.sources[:_MOST_PIECES]
    at_once = min(max(_MOST_OPEN // max(len(sources), 1), _LEAST_OPEN), _WIDEST_OPEN)
    shown.work = _fit_pieces(exhibits.work[:_MOST_PIECES], _LONGEST, _MOST_TEXT // 2, numbered)
    shown.sources = _fit_pieces(sources, at_once, _MOST_TEXT // 2, numbered)
    shown.left_out = max(len(exhibits.work) - _MOST_PIECES, 0) + len(exhibits.sources) - len(sources)
    return shown


def _fit_pieces(exhibits: Iterable[Exhibit], at_once: int, room: int, numbered: bool) -> list[Piece]:
    """Shortens the exhibits of a case to the room on the page; empty ones are left out unless they are numbered."""
    found = []
    for exhibit in exhibits:
        if not exhibit.text and not numbered:
            continue
        piece = _fit_piece(exhibit, at_once, min(_LONGEST, max(room, _LEAST_OPEN)), numbered)
        room -= len(piece.text) + len(piece.rest) + sum(map(len, piece.sentences))
        found.append(piece)
    return found


def _fit_piece(exhibit: Exhibit, at_once: int, longest: int, numbered: bool) -> Piece:
    """Shortens one exhibit: what is open at once, what unfolds, and how much is missing."""
    title = f"{exhibit.title} ({exhibit.number} in the questions)" if numbered and exhibit.number else exhibit.title
    if numbered and exhibit.sentences:
        kept = _cut_to_total(exhibit.sentences, longest)
        return Piece(title, "", missing=sum(map(len, exhibit.sentences)) - sum(map(len, kept)), sentences=kept)
    text = exhibit.text
    opened = text if len(text) <= min(2 * at_once, longest) else text[:at_once]
    return Piece(title, opened, text[len(opened) : longest], max(len(text) - longest, 0))


def _cut_to_total(texts: Sequence[str], most: int) -> tuple[str, ...]:
    """Cuts texts so that they have at most `most` characters together."""
    kept: list[str] = []
    for text in texts:
        if most <= 0:
            break
        kept.append(text[:most])
        most -= len(text)
    return tuple(kept)
