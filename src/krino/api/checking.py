"""Checks a judge's file: its mistakes, what is vague in it, and its examples, which run as tests."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from krino.api.judging import judge as judge_case
from krino.contract import AnyJudge, Judgement, Labelled, Labeller, Task
from krino.contract.judge_checks import BrokenContract, settle_case, verdict_of
from krino.errors import CannotJudge, LabelFailed, UsageProblem
from krino.judges.file.definition import ONLY_LABEL, Definition, Example, Label
from krino.judges.file.facts import count_items
from krino.judges.file.judge import FileJudge, class_of_file
from krino.judges.file.problems import FileProblem, Place, Problem
from krino.judges.registry import load_judge
from krino.text.clean import cut

_QUOTE_WORDS = 6
_REASON = "given by the example"
_NEAR = 1e-6
_MADE_UP: Mapping[str, Any] = {
    "text": "Thank you for the letter. It came in time, and it was of use.",
    "list": ["It came in time.", "It was of use."],
    "number": 1,
    "boolean": True,
    "json": {},
    "messages": [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "It is open."}],
}
"""A case to try the rules on where no example leaves anything to ask."""


@dataclass(frozen=True, slots=True)
class Tried:
    """An example that was run; `problem` is empty where it came out as expected."""

    number: int
    place: Place
    problem: str = ""
    skipped: str = ""
    """Why it was not run."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in one file."""

    file: str
    problems: tuple[Problem, ...] = ()
    tried: tuple[Tried, ...] = ()
    judge: str = ""

    @property
    def mistakes(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.fatal)

    @property
    def failures(self) -> tuple[Tried, ...]:
        return tuple(tried for tried in self.tried if tried.problem)

    @property
    def lines(self) -> list[str]:
        """Every finding, with the file, line and column that it is about."""
        found = [problem.in_line(self.file) for problem in self.problems]
        for tried in self.tried:
            outcome = tried.problem or (f"not tried: {tried.skipped}" if tried.skipped else "")
            if outcome:
                place = f"{self.file}:{tried.place.line}:{tried.place.column}"
                found.append(f"{place}: example {tried.number}: {outcome}")
        return found


def check_file(file: str | Path, labeller: str | Labeller | None = None) -> Checked:
    """Reads the file and runs its examples. `labeller`: answers for the examples that state no labels."""
    path = Path(file)
    try:
        kind = class_of_file(path)
        judge = load_judge(str(path))
    except FileProblem as problem:
        return Checked(str(path), tuple(problem.problems))
    except UsageProblem as problem:
        return Checked(str(path), (Problem(Place(1, 1), str(problem)),))
    assert isinstance(judge, FileJudge)
    return check_judge(judge, str(path), kind.definition, labeller)


def check_judge(judge: FileJudge, file: str, definition: Definition, labeller: str | Labeller | None = None) -> Checked:
    """Runs the examples of a judge that was loaded, and returns its problems and how the examples ended."""
    tried = [_run_example(judge, example, number, labeller) for number, example in enumerate(definition.examples, 1)]
    problems = (*definition.warnings, *_find_without_verdict(judge, definition))
    return Checked(file, problems, tuple(tried), judge.name)


def _find_without_verdict(judge: FileJudge, definition: Definition) -> Iterator[Problem]:
    """Yields a problem for each value of a label for which the rules give no verdict, tried before anybody is paid for
    such a label."""
    found = _open_case(judge, [example.case for example in definition.examples])
    if found is None:
        found = _open_case(judge, [{item.name: _MADE_UP[item.kind] for item in definition.inputs}])
        problems = list(_try_values(judge, definition, *found)) if found is not None else []
        tried = sum(len(_list_values(label)) for label in definition.labels)
        yield from problems if len(problems) < tried else ()  # else a rule needs more of a case than a made-up one has
        return
    yield from _try_values(judge, definition, *found)


def values_without_verdict(judge: AnyJudge) -> list[str]:
    """Returns the values of labels without a verdict in words, each with its place, to be shown before a run is paid
    for; none for a judge that is no file."""
    if not isinstance(judge, FileJudge):
        return []
    return [problem.in_line(judge.definition.address) for problem in _find_without_verdict(judge, judge.definition)]


def _try_values(judge: FileJudge, definition: Definition, case: Any, facts: Any) -> Iterator[Problem]:
    """Yields a problem for each value of a label from which no verdict comes, with the usual values of the other
    labels."""
    usual = {label.name: _value_of(label, facts.values, next(iter(_list_values(label)))) for label in definition.labels}
    for label in definition.labels:
        for value in _list_values(label):
            given = {**usual, label.name: _value_of(label, facts.values, value)}
            short = {**given} if not definition.has_one_label else {"label": given[label.name]}
            try:
                labels = judge.labels_model.model_validate(complete(definition, short, facts.values))
                verdict_of(judge, settle_case(judge, case, facts, labels))
            except (CannotJudge, BrokenContract) as problem:
                message = f"no verdict comes of it where `{label.name}` is {_shorten(value)}: {problem}"
                yield Problem(label.place, message, fatal=False)


def _open_case(judge: FileJudge, records: Sequence[Mapping[str, Any]]) -> tuple[Any, Any] | None:
    """Returns the first record that leaves something to ask, as case and facts; None if there is none."""
    for record in records:
        try:
            case = judge.read(record)
            facts = judge.study(case)
        except CannotJudge:
            continue
        if not facts.is_closed:
            return case, facts
    return None


def _list_values(label: Label) -> list[Any]:
    """Returns the values of a label to try: every choice, the ends of a number, a word for a text, and null if it may
    be null."""
    if label.kind == "text":
        found: list[Any] = ["text"]
    elif label.kind == "number":
        found = [int(end) if label.is_whole else end for end in (label.low, label.high)]
    else:
        found = [[choice.value] if label.has_several else choice.value for choice in label.choices]
        found += [[]] if label.has_several else []
    return [*found, None] if label.is_nullable else found


def _value_of(label: Label, values: Mapping[str, Any], value: Any) -> Any:
    """Returns a value in the short form of examples: for a label of each item, a list with the same for all of them."""
    if label.each is None:
        return value
    return [{"label": value} for _ in range(count_items(values[label.each]))]


# --- examples ----------------------------------------------------------------------------------------


def _run_example(judge: FileJudge, example: Example, number: int, labeller: str | Labeller | None) -> Tried:
    """Runs one example with its own labels, or with the named labeller if it has none. It is skipped if labels are
    needed and there is neither."""
    given: GivenLabels | None = None
    if example.labels is not None:
        given = GivenLabels(judge.definition, example.labels)
    elif labeller is None:
        given = GivenLabels(judge.definition, None)
    judgement = judge_case(judge, example.case, labeller=given if given is not None else labeller or "local")
    if given is not None and given.was_asked and example.labels is None:
        return Tried(number, example.place, skipped="it states no `labels`, and no labeller is named (-l MODEL)")
    return Tried(number, example.place, "; ".join(_find_differences(example, judgement, given)))


def _find_differences(example: Example, judgement: Judgement, given: GivenLabels | None) -> Iterator[str]:
    """Yields how the judgement differs from what the example expects; nothing if it came out as expected."""
    refused = given.refused if given is not None else judgement.error if judgement.status == "error" else ""
    if example.expected == "refused":
        if not refused:
            yield f"the labels were expected to be refused, and were accepted: {_shorten(judgement.verdict)}"
        return
    if refused:
        yield f"the labels are refused: {cut(' '.join(refused.split()), 300)}"
        return
    if example.expected == "failed":
        if judgement.status != "failed":
            yield f"the case was expected to fail, and the verdict is {_shorten(judgement.verdict)}"
        return
    if judgement.verdict is None or judgement.status != "ok":
        yield f"there is no verdict: {judgement.reason or judgement.error}"
        return
    for name, wanted in example.expected.items():
        value = judgement.verdict.get(name)
        if not _is_same(value, wanted):
            yield f"`{name}` is {_shorten(value)} by {judgement.rules.get(name)}, and {_shorten(wanted)} is expected"


def _is_same(one: Any, other: Any) -> bool:
    """Are two values the same, numbers up to rounding?"""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_is_same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(one, other, rel_tol=_NEAR, abs_tol=_NEAR)
    return bool(one == other) or (isinstance(one, str) and one == str(other))


def _shorten(value: Any) -> str:
    return cut(str(value), 200)


# --- labels of an example ----------------------------------------------------------------------------


@dataclass(slots=True)
class _Asked:
    refused: str = ""
    was_asked: bool = False


class GivenLabels(Labeller):
    """Answers with the labels of an example; what the example leaves out (reasons, quotations) is filled in."""

    workers = 1

    def __init__(self, definition: Definition, labels: Mapping[str, Any] | None) -> None:
        self._definition = definition
        self._labels = labels
        self._state = _Asked()

    @property
    def refused(self) -> str:
        return self._state.refused

    @property
    def was_asked(self) -> bool:
        return self._state.was_asked

    def describe(self) -> dict[str, Any]:
        return {"kind": "example"}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        """Answers with the labels of the example; if the judge refuses them, keeps the reason in `refused` and raises
        `LabelFailed`."""
        self._state.was_asked = True
        if self._labels is None:
            raise LabelFailed("the example states no labels")
        try:
            return Labelled(task.accept(complete(self._definition, self._labels, task.facts.values)), self.describe())
        except ValueError as problem:
            self._state.refused = str(problem)
            raise LabelFailed(str(problem)) from None


def complete(definition: Definition, labels: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns labels as a model gives them, from the short form of an example: `label: polite`, `kept: [kept,
    broken]`."""
    if definition.has_one_label:
        (label,) = definition.labels
        if label.kind == "text":
            return {ONLY_LABEL: labels.get(ONLY_LABEL, "")}
        same = {"other_order": labels.get(ONLY_LABEL)} if definition.compare else {}
        return _complete_one(label, {**same, **labels}, values)
    return {label.name: _complete(label, labels.get(label.name), values) for label in definition.labels}


def _complete(label: Label, given: Any, values: Mapping[str, Any]) -> Any:
    """Completes a label of an example: one answer, or for a label of each item a list of them. A text stays as it
    is."""
    if label.kind == "text":
        return given
    if label.each is None:
        return _complete_one(label, given if isinstance(given, dict) else {"label": given}, values)
    items: Sequence[Any] = given if isinstance(given, list) else []
    return [
        {"item": number, **_complete_one(label, one if isinstance(one, dict) else {"label": one}, values)}
        for number, one in enumerate(items, 1)
    ]


def _complete_one(label: Label, given: Mapping[str, Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Completes one answer with a made-up reason, and with a quote from the case if it needs one."""
    value = given.get("label")
    stated = {"reason": given.get("reason", _REASON), "label": value}
    stated |= {"other_order": given["other_order"]} if "other_order" in given else {}
    if not label.quote_from:
        return stated
    quote = given.get("quote", _first_words(label, values) if label.needs_quote(value) else "")
    return {**stated, "quote": quote}


def _first_words(label: Label, values: Mapping[str, Any]) -> str:
    """Returns the first words of what may be quoted, for an example that quotes nothing; empty if there is no text."""
    from krino.judges.file.answers import texts_of

    for name in label.quote_from:
        for text in texts_of(values.get(name)):
            if text.strip():
                end = [place for place, char in enumerate(text.strip()) if char.isspace()][:_QUOTE_WORDS]
                return text.strip()[: end[-1]] if len(end) == _QUOTE_WORDS else text.strip()
    return ""


@dataclass(slots=True)
class CheckedFiles:
    """Several files, for commands."""

    files: list[Checked] = field(default_factory=list)

    @property
    def mistakes(self) -> int:
        return sum(len(checked.mistakes) for checked in self.files)

    @property
    def failures(self) -> int:
        return sum(len(checked.failures) for checked in self.files)
