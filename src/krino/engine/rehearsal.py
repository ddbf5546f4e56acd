"""Tries a judge on made-up labels before any call is paid for.

`settle` sees labels for the first time when they have been paid for. So it is called before, with labels made from
their schema: what it returns must be a settlement with a known rule for every field. Labels that the judge's own
`check` accepts could come from a model, so a field whose value changes with them must say that labels decided it. An
exception counts only if no data could be to blame (an unknown name, a wrong number of arguments), since made-up labels
are odd. But where the judge settles some labels, it must settle those that differ in one choice alone: every value of
every enum is tried, and a value on which it breaks is a fault of the judge.

A judge whose cases go to workers is tried in a process of its own: its code may end its process or close its files.
There that costs the rehearsal and nothing else, and the workers find out which case it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any
from weakref import WeakSet

from pydantic import BaseModel, ValidationError

from krino.cases.item import CaseItem
from krino.contract import AnyJudge, Judge, Labeller, Questions, Settlement, describe_validation
from krino.contract.code_limit import CASE_SECONDS, CodeLimit, end_if_stuck, longest_silence
from krino.contract.judge_checks import (
    BrokenContract,
    check_questions,
    find_problems,
    refuse_values,
    settle_case,
    verdict_of,
)
from krino.contract.source_lines import locate_attribute, locate_fault
from krino.engine.child_process import ChildProcess, keep_to_one_core
from krino.engine.interface import Engine, OpenCase
from krino.engine.processes import AllCores, is_apart
from krino.engine.ray_cluster import RayEngine
from krino.engine.sample_labels import make_labels, vary_choices
from krino.engine.worker_messages import pack_cases, unpack_cases
from krino.errors import CannotJudge, JudgeBroke, UsageProblem
from krino.judges.reference import JudgeReference
from krino.labellers.local import LocalLabeller
from krino.labellers.panel import Panel
from krino.labellers.remote import key_variables_of
from krino.text.clean import cut
from krino.text.faults import describe_exception, fault_message

MOST_TRIED = 20
"""Cases at the start of a run that are looked at."""
START = 60.0
"""Seconds that the process and its judge may take to start; after that the run begins without a rehearsal."""
ALIVE, DONE = "alive", "done"
_WRONG_CALL = re.compile(r"missing \d+ required|takes .+ positional argument|unexpected keyword argument")
_WRONG_TYPE = re.compile(r"_type|_parsing$")
_rehearsed: WeakSet[type] = WeakSet()


def rehearsed(items: Iterator[CaseItem], judge: AnyJudge, seconds: float = CASE_SECONDS) -> Iterator[CaseItem]:
    """Yields the items unchanged, and tries the judge on the first of them until one leaves something to ask about;
    raises the `UsageProblem` that was found."""
    for number, item in enumerate(items):
        if number < MOST_TRIED:
            rehearse(judge, item, seconds)
        yield item


def rehearse_first(judge: AnyJudge, items: Iterator[CaseItem], seconds: float = CASE_SECONDS) -> None:
    """Tries the judge on these items until one leaves something to ask about; raises the `UsageProblem` found there."""
    for number, item in enumerate(items):
        if _needs_no_rehearsal(judge) or number >= MOST_TRIED:
            return
        rehearse(judge, item, seconds)


def rehearse(judge: AnyJudge, item: CaseItem, seconds: float = CASE_SECONDS) -> None:
    """Tries the judge on one case, once for each class; raises the `UsageProblem` that says what its code must return
    instead. An exception that may come from an odd case is ignored."""
    if item.record is None or _needs_no_rehearsal(judge):
        return
    try:
        with CodeLimit(seconds):
            case = judge.read(item.record)
            facts = judge.study(case)
            questions = check_questions(judge, judge.ask(case, facts))
            if questions is None:
                return
            _try_labels(judge, case, facts, questions)
    except UsageProblem:
        raise
    except Exception as fault:
        if isinstance(fault, BrokenContract):
            raise UsageProblem(f"{fault_message(fault)} (seen on case {item.id}, before anybody was asked)") from None
        if _is_certain(fault):
            where = f"{describe_exception(fault)}{locate_fault(type(judge), fault)}"
            raise JudgeBroke(
                f"judge `{judge.name}` breaks: {where} (on case {item.id}, before anybody was asked)"
            ) from fault
        return  # the case is an odd one, or the judge breaks: the real judgement says which
    _rehearsed.add(type(judge))


def refuse_without_labeller(
    judge: AnyJudge, labeller: Labeller, items: Iterator[CaseItem], seconds: float = CASE_SECONDS
) -> None:
    """Raises `UsageProblem` if the judge has no embedded labeller, none was named, and one of the first cases has open
    questions. A judge that decides everything by rules needs no labeller."""
    first = islice(items, MOST_TRIED)
    if lacks_labeller(judge, labeller) and any(_leaves_open(judge, item, seconds) for item in first):
        judge.label_locally([])  # raises the error that says so


def lacks_labeller(judge: AnyJudge, labeller: Labeller) -> bool:
    """Would the embedded labeller be asked although the judge has none?"""
    members = labeller.members.values() if isinstance(labeller, Panel) else [labeller]
    embedded = any(isinstance(member, LocalLabeller) for member in members)
    return embedded and type(judge).label_locally is Judge.label_locally


def _leaves_open(judge: AnyJudge, item: CaseItem, seconds: float) -> bool:
    """Does the judge leave questions of this case to a labeller?"""
    if item.record is None:
        return False
    try:
        with CodeLimit(seconds):
            case = judge.read(item.record)
            return judge.leaves_open(case, judge.study(case))
    except Exception:  # the judgement of this case will say what is wrong with it
        return False


def _needs_no_rehearsal(judge: AnyJudge) -> bool:
    """Is no rehearsal needed? True of judges that were tried before, and of our own: tests try those, and the first
    trace may be a long one."""
    return type(judge) in _rehearsed or type(judge).__module__.startswith("krino.judges.")


def _try_labels(judge: AnyJudge, case: Any, facts: Any, questions: Questions) -> None:
    """Settles the case with made-up labels, twice each, and raises `BrokenContract` or `JudgeBroke` if the results show
    a fault of the judge."""
    accepted: list[Settlement] = []
    settled: BaseModel | None = None
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
            verdict_of(judge, settlement)  # raises the error that says what is wrong
        if again == settlement:
            accepted.append(settlement)
        settled = settled or labels
    if settled is not None:
        _must_settle_every_choice(judge, case, facts, settled)
    _must_fit_the_verdict(judge, accepted)
    for field in judge.verdict_model.model_fields:
        _must_say_from_labels(judge, field, accepted)


def _must_settle_every_choice(judge: AnyJudge, case: Any, facts: Any, settled: BaseModel) -> None:
    """Raises `JudgeBroke` if the judge breaks on labels that differ in one choice from labels that it has settled."""
    for path, value, labels in vary_choices(settled):
        try:
            if not judge.check(case, facts, labels):
                settle_case(judge, case, facts, labels)
        except (BrokenContract, CannotJudge):
            continue  # it may rightly refuse to judge; what it returns was looked at before
        except Exception as fault:
            where = f"{describe_exception(fault)}{locate_fault(type(judge), fault)}"
            raise JudgeBroke(
                f"judge `{judge.name}` breaks where the label `{path}` is {value!r}, which a model may give: {where}"
            ) from fault


def _is_certain(fault: Exception) -> bool:
    """Does an exception show a fault of the code, whatever the labels are: an unknown name, field or argument?"""
    if isinstance(fault, AttributeError):
        return isinstance(fault.obj, BaseModel) and fault.obj.model_config.get("extra") != "allow"
    return type(fault) is NameError or (isinstance(fault, TypeError) and bool(_WRONG_CALL.search(fault_message(fault))))


def _must_fit_the_verdict(judge: AnyJudge, settlements: list[Settlement]) -> None:
    """Raises `BrokenContract` if every settlement has a value of the wrong type: that is no accident of the labels. A
    value that is only out of range may be one."""
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
    """Raises `BrokenContract` if a field changes between settlements and none says that labels decided it. Case and
    facts are the same in all of them, so a difference comes from the labels."""
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


# --- in a process of its own ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Work:
    judge: JudgeReference
    batches: list[bytes]
    seconds: float
    lacks_labeller: bool

    def items(self) -> Iterator[CaseItem]:
        return (case.item for batch in self.batches for case in unpack_cases(batch))


def goes_to_workers(engine: Engine, judge: AnyJudge, seconds: float) -> bool:
    """Whether this engine judges every case of this judge in processes that may die."""
    return isinstance(engine, AllCores | RayEngine) and is_apart(judge, seconds)


def rehearse_apart(judge: AnyJudge, labeller: Labeller, items: Iterator[CaseItem], seconds: float) -> None:
    """Tries the judge on the first of these cases in another process; raises the `UsageProblem` found there."""
    batches = [pack_cases([OpenCase(item, "")]) for item in islice(items, MOST_TRIED)]
    work = _Work(JudgeReference.of(judge), batches, seconds, lacks_labeller(judge, labeller))
    child = ChildProcess(_rehearse, work, name="krino-rehearsal", without=key_variables_of(labeller))
    try:
        _await_rehearsal(child.pipe, longest_silence(seconds))
    finally:
        child.close()


def _await_rehearsal(pipe: Connection[Any, Any], patience: float) -> None:
    """Waits until the rehearsal is over, or its process is dead, silent for too long, or sends nonsense; raises the
    `UsageProblem` that it sends."""
    for number in range(2 * MOST_TRIED + 2):
        try:
            message = pipe.recv() if pipe.poll(patience + (0.0 if number else START)) else DONE
        except Exception:  # the judge has closed its files or written into them
            return
        if isinstance(message, UsageProblem):
            raise message
        if message != ALIVE:
            return


def _rehearse(pipe: Connection[Any, Any], work: _Work) -> None:
    """Runs the rehearsal in the new process, and sends signs of life and then the problem found or `DONE`."""
    keep_to_one_core()
    try:
        judge = work.judge.load()
    except Exception:  # a worker cannot load it either, and says so
        pipe.send(DONE)
        return
    end_if_stuck(work.seconds)

    def each() -> Iterator[CaseItem]:
        """Yields the items, and sends a sign of life before each."""
        for item in work.items():
            pipe.send(ALIVE)
            yield item

    try:
        rehearse_first(judge, each(), work.seconds)
        if work.lacks_labeller:
            refuse_without_labeller(judge, LocalLabeller(), each(), work.seconds)
        pipe.send(DONE)
    except UsageProblem as problem:
        pipe.send((JudgeBroke if isinstance(problem, JudgeBroke) else UsageProblem)(str(problem)))
