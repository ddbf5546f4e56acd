"""Tries a judge before it costs much: on made-up labels before any call is paid, and on its first paid cases.

`settle` meets labels for the first time when they have been paid for. So it is tried before, on labels made from their
schema: what it gives back must be a settlement with a known rule for every field. Labels that the judge's own `check`
accepts could come from a model, so a field whose value changes with them must say that labels decided it. An exception
counts only where no data could be to blame (an unknown name, a wrong number of arguments): made labels are odd. A judge
that breaks on all of the first cases that were labelled for it stops the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any
from weakref import WeakSet

from pydantic import BaseModel, ValidationError

from krino.cases.item import CaseItem
from krino.contract import AnyJudge, Judge, Judgement, Labeller, Questions, Settlement, describe_validation
from krino.contract.code_limit import CASE_SECONDS, CodeLimit
from krino.contract.return_checks import (
    BrokenContract,
    check_questions,
    find_problems,
    refuse_values,
    settle_case,
    verdict_of,
)
from krino.contract.source_lines import locate_attribute, locate_fault
from krino.engine.case import Written
from krino.engine.sample_labels import make_labels
from krino.errors import RunStopped, UsageProblem
from krino.labellers.local import LocalLabeller
from krino.labellers.panel import Panel
from krino.text.clean import cut
from krino.text.faults import named, words_of

MOST_TRIED = 20
_WRONG_CALL = re.compile(r"missing \d+ required|takes .+ positional argument|unexpected keyword argument")
_WRONG_TYPE = re.compile(r"_type|_parsing$")
_rehearsed: WeakSet[type] = WeakSet()


def rehearsed(items: Iterator[CaseItem], judge: AnyJudge, seconds: float = CASE_SECONDS) -> Iterator[CaseItem]:
    """The items as they are; before the first that leaves something to ask about, `judge` is tried on it."""
    for number, item in enumerate(items):
        if number < MOST_TRIED:
            rehearse(judge, item, seconds)
        yield item


def rehearse_first(judge: AnyJudge, items: Iterator[CaseItem], seconds: float = CASE_SECONDS) -> None:
    """The same with nothing done to the items: for the look before a run begins."""
    for number, item in enumerate(items):
        if _needs_none(judge) or number >= MOST_TRIED:
            return
        rehearse(judge, item, seconds)


def rehearse(judge: AnyJudge, item: CaseItem, seconds: float = CASE_SECONDS) -> None:
    """Nothing, or a `UsageProblem` with what the judge's code must give back instead; once for each class."""
    if item.record is None or _needs_none(judge):
        return
    try:
        with CodeLimit(seconds):
            case = judge.read(item.record)
            facts = judge.study(case)
            questions = check_questions(judge, judge.ask(case, facts))
            if questions is None:
                return
            _try(judge, case, facts, questions)
    except UsageProblem:
        raise
    except Exception as fault:
        if isinstance(fault, BrokenContract):
            raise UsageProblem(f"{words_of(fault)} (seen on case {item.id}, before anybody was asked)") from None
        if _is_certain(fault):
            told = f"{named(fault)}{locate_fault(type(judge), fault)}"
            raise UsageProblem(
                f"judge `{judge.name}` breaks: {told} (on case {item.id}, before anybody was asked)"
            ) from fault
        return  # the case is an odd one, or the judge breaks: the real judgement says which
    _rehearsed.add(type(judge))


def refuse_without_labeller(
    judge: AnyJudge, labeller: Labeller, items: Iterator[CaseItem], seconds: float = CASE_SECONDS
) -> None:
    """For the look before a run begins: a judge without an embedded labeller, and no other one named, yet something to
    ask about. A judge that decides everything by rules needs nobody, so the first cases have to be looked at."""
    first = islice(items, MOST_TRIED)
    if lacks_labeller(judge, labeller) and any(_leaves_open(judge, item, seconds) for item in first):
        judge.label_locally([])  # which says that there is none


def lacks_labeller(judge: AnyJudge, labeller: Labeller) -> bool:
    """Whether the embedded labeller is to be asked, and the judge has none."""
    members = labeller.members.values() if isinstance(labeller, Panel) else [labeller]
    embedded = any(isinstance(member, LocalLabeller) for member in members)
    return embedded and type(judge).label_locally is Judge.label_locally


def _leaves_open(judge: AnyJudge, item: CaseItem, seconds: float) -> bool:
    if item.record is None:
        return False
    try:
        with CodeLimit(seconds):
            case = judge.read(item.record)
            return judge.leaves_open(case, judge.study(case))
    except Exception:  # the judgement of this case will say what is wrong with it
        return False


def _needs_none(judge: AnyJudge) -> bool:
    """Judges that were tried before, and our own: tests try those, and the first trace may be a long one."""
    return type(judge) in _rehearsed or type(judge).__module__.startswith("krino.judges.")


def _try(judge: AnyJudge, case: Any, facts: Any, questions: Questions) -> None:
    accepted: list[Settlement] = []
    for labels in make_labels(judge.labels_model, _texts(questions)):
        try:
            is_accepted = not judge.check(case, facts, labels)
            settlement = settle_case(judge, case, facts, labels)
            again = settle_case(judge, case, facts, labels)
        except BrokenContract:
            raise
        except Exception as fault:
            if _is_certain(fault):
                raise
            continue
        if not is_accepted:
            continue
        if find_problems(judge, settlement):
            verdict_of(judge, settlement)  # which says what is wrong
        if again == settlement:
            accepted.append(settlement)
    _must_fit_the_verdict(judge, accepted)
    for field in judge.verdict_model.model_fields:
        _must_say_from_labels(judge, field, accepted)


def _is_certain(fault: Exception) -> bool:
    """Whether this would happen with any labels: the code itself is wrong, whatever the data."""
    if isinstance(fault, AttributeError):
        return isinstance(fault.obj, BaseModel) and fault.obj.model_config.get("extra") != "allow"
    return type(fault) is NameError or (isinstance(fault, TypeError) and bool(_WRONG_CALL.search(words_of(fault))))


def _must_fit_the_verdict(judge: AnyJudge, settlements: list[Settlement]) -> None:
    """A value of the wrong type in every settlement is no accident of the labels; one out of range may be."""
    why = ""
    for settlement in settlements:
        try:
            judge.verdict_model.model_validate({name: ruling.value for name, ruling in settlement.rulings.items()})
        except ValidationError as error:
            if not all(_WRONG_TYPE.search(item["type"]) for item in error.errors(include_url=False)):
                return
            why = describe_validation(error)
        else:
            return
    if why:
        raise refuse_values(judge, judge.verdict_model, why)


def _must_say_from_labels(judge: AnyJudge, field: str, settlements: list[Settlement]) -> None:
    """The case and its facts are the same in all of them, so what differs comes from the labels."""
    rulings = [settlement.rulings[field] for settlement in settlements]
    silent = [ruling for ruling in rulings if not ruling.from_labels]
    if len(silent) < len(rulings) or not silent:
        return
    for other in silent:
        if other.value != silent[0].value:
            raise BrokenContract(
                f"{locate_attribute(type(judge), 'settle')}settle: `{field}` changes with the labels "
                f"({cut(repr(silent[0].value), 40)} with some, {cut(repr(other.value), 40)} with others) but says that "
                f"the rule {other.rule} alone decided it; write `Ruling(value, {other.rule!r}, from_labels=True)`"
            )


def _texts(questions: Questions) -> list[str]:
    pieces = [questions, *questions.parts]
    return [passage.text for piece in pieces for passage in piece.passages]


MOST_BROKEN = 3


@dataclass(slots=True)
class Trial:
    """Watches the first judgements. One that comes out ends the watch: what breaks after it is an odd case."""

    passed: bool = False
    broken: int = 0

    def check(self, judgement: Judgement | Written) -> None:
        """Raise `RunStopped` where the run must not go on after this judgement."""
        self.passed = self.passed or judgement.status == "ok"
        if self.passed or not _broke_after_payment(judgement):
            return
        self.broken += 1
        if self.broken < MOST_BROKEN:
            return
        raise RunStopped(
            f"the judge's own code broke on each of the first {self.broken} cases that were labelled for it, and on "
            f"none did it come to a verdict: {judgement.error}. Put that right first: going on would only pay "
            "for more of them (replies that are in the cache are not paid again)",
            kind="judge",
        )


def _broke_after_payment(judgement: Judgement | Written) -> bool:
    """An error that has labels came after labelling: from `settle` or what reads its result."""
    return judgement.status == "error" and judgement.labels is not None and judgement.usage.calls > 0
