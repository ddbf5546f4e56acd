"""What people are asked is what models are asked: the same questions, the same check, the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from krino.contract import Task, hash_record
from krino.errors import CannotJudge, UsageProblem
from krino.judges.registry import OURS, load_judge, recorded_judge
from krino.runs.manifest import JudgeCard, Manifest, Plan
from krino.web.labels.asking import Asked, ask
from krino.web.labels.forms import Filled, Node
from label_making import rag_cases, rag_labels

EXAMPLES = Path(krino.__file__).parent / "examples"


def manifest(judge: str, **options: Any) -> Manifest:
    known = load_judge(judge)
    plan = Plan(judge={"name": judge, "version": known.version, "options": options}, labeller={}, inputs=[])
    return Manifest(plan=plan, about=JudgeCard.of(known))


def asked(judge: str, record: dict[str, Any], **options: Any) -> Asked:
    return ask(manifest(judge, **options), {}, record, rolls_up=False, digest=hash_record(record))


def records(judge: str) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in (EXAMPLES / f"{judge}.jsonl").read_bytes().splitlines()]


def open_records() -> list[tuple[str, dict[str, Any]]]:
    """The examples of which the facts leave something open."""
    found = []
    for name in OURS:
        judge = load_judge(name)
        for record in records(name):
            try:
                case = judge.read(record)
                if judge.ask(case, judge.study(case)) is not None:
                    found.append((name, record))
            except CannotJudge:
                continue
    return found


OPEN = open_records()


def as_sent(node: Node, labels: Any) -> list[tuple[str, str]]:
    """The labels as a browser would send them from this form."""
    if node.kind in ("fixed", "group", "rows"):
        below = [(child, labels.get(child.name) if isinstance(labels, dict) else None) for child in node.children]
        if node.kind == "rows":
            below = list(zip(node.children, labels, strict=True))
        own = [(f"{node.path}#", str(len(node.children)))] if node.kind == "rows" else []
        own += [(f"{node.path}?", "1")] if node.kind == "group" and node.nullable and labels is not None else []
        return [*own, *(pair for child, value in below if labels is not None for pair in as_sent(child, value))]
    if node.kind == "many":
        return [(node.path, orjson.dumps(item).decode()) for item in labels]
    if node.kind == "choice":
        return [(node.path, orjson.dumps(labels).decode())]
    return [(node.path, "" if labels is None else str(labels))]


@pytest.mark.parametrize(("judge", "record"), OPEN, ids=lambda value: value if isinstance(value, str) else value["id"])
def test_what_the_embedded_labeller_says_can_be_said_with_the_form_and_is_scored_alike(
    judge: str, record: dict[str, Any]
) -> None:
    known = load_judge(judge)
    case = known.read(record)
    facts = known.study(case)
    (labels,) = known.label_locally([(case, facts)])
    plain = labels.model_dump(mode="json")
    at = asked(judge, record).at("labels")
    form = at.form(plain)
    answer = at.read(Filled(as_sent(form, plain)))
    said = at.accept(answer)
    without = {"probability", "similarity_score"}  # measures that no form asks for
    without |= {child.name for child in form.children if child.kind == "fixed"}  # and what is not asked in this case
    assert _stripped(said.answer, without) == _stripped(plain, without)
    try:
        settlement = known.settle(case, facts, known.labels_model.model_validate(answer))
    except CannotJudge:
        assert said.verdict is None
        return
    settled = known.verdict_of(settlement)
    roll_up = known.roll_up(settled, {field: ruling.rule for field, ruling in settlement.rulings.items()})
    assert said.verdict == ({"roll_up": roll_up, **settled} if roll_up else settled)


def _stripped(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _stripped(item, names) for name, item in value.items() if name not in names}
    return [_stripped(item, names) for item in value] if isinstance(value, list) else value


def test_a_person_is_shown_what_a_labeller_is_shown() -> None:
    record = rag_cases(1)[0]
    judge = load_judge("rag")
    case = judge.read(record)
    questions = judge.ask(case, judge.study(case))
    assert questions is not None
    found = asked("rag", record)
    assert [(piece.name, piece.text) for piece in found.shown] == [
        (passage.name, passage.text) for passage in questions.passages
    ]
    assert found.request == questions.request
    assert found.instructions == judge.prompt


def test_what_a_model_would_be_refused_for_a_person_is_refused_for() -> None:
    record = rag_cases(1)[0]
    judge = load_judge("rag")
    case = judge.read(record)
    facts = judge.study(case)
    questions = judge.ask(case, facts)
    assert questions is not None
    wrong = rag_labels("supported", passages=[])
    with pytest.raises(ValueError, match="passage") as model:
        Task(judge, case, facts, questions).accept(wrong)
    with pytest.raises(UsageProblem) as person:
        asked("rag", record).at("labels").accept(wrong)
    assert str(person.value) == str(model.value)


def test_where_the_facts_settle_all_only_the_fields_are_asked() -> None:
    settled = next(record for record in records("citation") if ("citation", record) not in OPEN)
    found = asked("citation", settled)
    assert set(found.forms) == {"fields"}
    with pytest.raises(UsageProblem, match="the facts settle this case"):
        found.at("labels")


def test_a_case_that_is_not_at_hand_is_shown_as_far_as_the_run_keeps_it() -> None:
    found = ask(manifest("rag"), {"question": "When?"}, None, rolls_up=False, digest="0" * 32)
    assert [(piece.name, piece.text) for piece in found.shown] == [("question", "When?")]
    assert "not at hand" in found.without["labels"]


def test_a_long_trace_is_asked_as_a_whole() -> None:
    steps = [
        {"type": "tool", "name": f"look-{n}", "input": {"q": f"{n} " * 200}, "output": f"found {n}"} for n in range(60)
    ]
    record = {"id": "long", "task": "Look.", "trace": steps}
    judge = load_judge("efficiency", {"window_tokens": 500})
    case = judge.read(record)
    questions = judge.ask(case, judge.study(case))
    assert questions is not None
    assert questions.parts
    found = asked("efficiency", record, window_tokens=500)
    (rows,) = [child for child in found.at("labels").form().children if child.kind == "rows"]
    assert len(rows.children) == 60
    assert len(found.shown) > 1


@pytest.mark.parametrize(
    "options", [{"aliases": "/etc/passwd"}, {"aliases": ["/etc/passwd"]}, "x", ["x"], {"unknown": 1}]
)
def test_options_of_a_strange_run_open_no_file(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.judges.citation.options._table", lambda _: pytest.fail("a file was opened"))
    with pytest.raises(UsageProblem, match="options of judge"):
        recorded_judge("citation", options)
