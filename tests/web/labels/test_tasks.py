"""What people are asked is what models are asked: the same questions, the same check, the same rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from krino.contract import Task, hash_record
from krino.contract.hooks import Exhibit, Exhibits
from krino.contract.judge_checks import settle_case, verdict_of
from krino.errors import CannotJudge, UsageProblem
from krino.judges.registry import OURS, load_judge, recorded_judge
from krino.people.store import DEPTHS
from krino.runs.manifest import JudgeCard, Manifest, Plan
from krino.web.labels.forms import FormNode, SubmittedForm
from krino.web.labels.tasks import LabelTask, fit_exhibits, make_label_task
from label_making import rag_cases, rag_labels

EXAMPLES = Path(krino.__file__).parent / "examples"


def manifest(judge: str, **options: Any) -> Manifest:
    known = load_judge(judge)
    plan = Plan(judge={"name": judge, "version": known.version, "options": options}, labeller={}, inputs=[])
    return Manifest(plan=plan, about=JudgeCard.of(known))


def asked(judge: str, record: dict[str, Any], **options: Any) -> LabelTask:
    return make_label_task(manifest(judge, **options), record, rolls_up=False, digest=hash_record(record))


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


def as_sent(node: FormNode, labels: Any) -> list[tuple[str, str]]:
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
    answer = at.read(SubmittedForm(as_sent(form, plain)))
    said = at.accept(answer)
    without = {"probability", "similarity_score", "measured"}  # measures that no form asks for
    without |= {child.name for child in form.children if child.kind == "fixed"}  # and what is not asked in this case
    assert _stripped(said.answer, without) == _stripped(plain, without)
    try:
        settlement = settle_case(known, case, facts, known.labels_model.model_validate(answer))
    except CannotJudge:
        assert said.verdict is None
        return
    settled = verdict_of(known, settlement)
    roll_up = known.roll_up(settled, {field: ruling.rule for field, ruling in settlement.rulings.items()})
    assert said.verdict == ({"roll_up": roll_up, **settled} if roll_up else settled)


def _stripped(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: _stripped(item, names) for name, item in value.items() if name not in names}
    return [_stripped(item, names) for item in value] if isinstance(value, list) else value


HINTED: list[tuple[str, dict[str, Any], str]] = [
    (
        "rag",
        {
            "id": "hinted",
            "question": "What does a card cost in Japan?",
            "context": ["A card costs EUR 2.50 in the euro area. It is free for students [1]."],
            "answer": "Hello!\n\n| Where | Fee |\n|---|---|\n| Japan | EUR 100 |\n\nI cannot say more [1].",
            "reference": "It costs EUR 3.",
        },
        "EUR 100",
    ),
    (
        "efficiency",
        {
            "id": "hinted",
            "task": "Find the capital of France.",
            "trace": [
                {"type": "tool", "name": "search", "input": {"q": "capital of France"}, "output": "It is Paris."},
                {"type": "tool", "name": "search", "input": {"q": "capital of France"}, "output": "It is Paris."},
                {"type": "message", "name": "assistant", "output": "Paris is the capital."},
            ],
        },
        "again",
    ),
]


@pytest.mark.parametrize(("judge", "record", "hint"), HINTED, ids=lambda value: value if isinstance(value, str) else "")
def test_a_person_is_shown_the_case_and_none_of_the_hints_that_a_model_gets(
    judge: str, record: dict[str, Any], hint: str
) -> None:
    found = asked(judge, record)
    for_models = "\n".join(passage.text for passage in found.for_models)
    assert hint in for_models
    hints = [line for line in for_models.splitlines() if line.startswith("facts:")]
    hints += [passage.text for passage in found.for_models if passage.name in ("absent", "differs")]
    assert hints
    exhibits = (*found.exhibits.work, *found.exhibits.sources)
    text = "\n".join(f"{one.title}\n{one.text}\n{' '.join(one.sentences)}" for one in exhibits)
    assert "facts:" not in text
    assert not {"absent", "differs", "elsewhere"} & {one.title for one in exhibits}
    assert "reads like" not in found.exhibits.request


def test_the_answer_is_shown_as_it_was_written_and_sentence_numbers_are_no_part_of_the_text() -> None:
    _, record, _ = HINTED[0]
    shown = fit_exhibits(asked("rag", record).exhibits, numbered=False)
    assert {piece.title: piece.text for piece in shown.work}["Answer"] == record["answer"]
    (passage,) = shown.sources
    assert (passage.text, passage.sentences) == (record["context"][0], ())
    numbered = fit_exhibits(asked("rag", record).exhibits, numbered=True)
    assert {piece.title: piece.text for piece in numbered.work}["Answer"] == record["answer"]
    assert numbered.sources[0].sentences == (
        "A card costs EUR 2.50 in the euro area.",
        "It is free for students [1].",
    )


def test_the_form_does_not_begin_with_what_code_takes_for_a_refusal() -> None:
    record = {**rag_cases(1)[0], "answer": "It was built in 1958. I cannot say who designed it."}
    form = asked("rag", record).at("labels").form()
    parts = {child.name: child for child in form.children}
    rows = [{child.name: child.value for child in row.children} for row in parts["claims"].children]
    assert [row["sentence"] for row in rows] == [1, 2]
    assert not any(option.chosen for option in parts["empty_sentences"].options)


def test_neither_request_nor_quotations_say_what_code_takes_for_no_claim() -> None:
    answer = "# Short answer\n\nIt was built in 1958. I cannot say who designed it."
    found = asked("rag", {**rag_cases(1)[0], "answer": answer})
    assert "Perhaps no claim" not in found.exhibits.request
    claims = next(child for child in found.at("labels").form().children if child.name == "claims")
    rows = [{child.name: child for child in row.children} for row in claims.children]
    assert [row["text"].value for row in rows] == [
        "Short answer",
        "It was built in 1958.",
        "I cannot say who designed it.",
    ]
    assert rows[0]["quote"].suggestions
    assert len({row["quote"].suggestions for row in rows}) == 1
    assert not any(row["text"].suggestions for row in rows)


def test_what_an_agent_said_beside_a_call_is_shown() -> None:
    call = {"id": "a", "type": "function", "function": {"name": "search", "arguments": '{"q": "hours"}'}}
    messages = [
        {"role": "user", "content": "Find the opening hours."},
        {"role": "assistant", "content": "I know them already, but look again.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "a", "content": "9 to 17"},
        {"role": "assistant", "content": "From 9 to 17."},
    ]
    steps = asked("efficiency", {"task": "Find the opening hours.", "trace": messages}).exhibits.sources
    assert "I know them already, but look again." in steps[0].text


def test_a_trace_is_shown_with_results_and_messages_and_long_ones_open_on_demand() -> None:
    long = "row of the result " * 2_000
    steps = [
        {"type": "tool", "name": "query", "input": {"sql": "select"}, "output": long},
        {"type": "message", "name": "assistant", "output": "There are seven rows."},
    ]
    record = {"id": "trace", "task": "Count the rows.", "trace": steps, "answer": "Seven."}
    shown = fit_exhibits(asked("efficiency", record).exhibits, numbered=False)
    assert [piece.title for piece in shown.work] == ["Task", "What the agent answered"]
    query, message = shown.sources
    assert "select" in query.text
    assert "row of the result" in query.text
    assert len(query.text) < len(query.rest) < 20_000
    assert query.missing > 10_000
    assert "There are seven rows." in message.text


def test_candidates_are_shown_in_the_order_of_the_record_whatever_code_prefers() -> None:
    name, record = next(pair for pair in OPEN if pair[0] == "citation")
    exhibits = asked(name, record).exhibits
    ids = [item["decision_id"] for item in record["candidates"]]
    assert [given for given, exhibit in zip(ids, exhibits.sources, strict=False) if given in exhibit.text] == ids
    assert not any("candidate" in piece.title for piece in fit_exhibits(exhibits, numbered=False).sources)
    titles = [piece.title for piece in fit_exhibits(exhibits, numbered=True).sources]
    assert any(title.endswith("(candidate 1 in the questions)") for title in titles)


def test_however_much_a_case_holds_the_page_has_an_end() -> None:
    many = tuple(Exhibit(f"step {number}", "x" * 30_000) for number in range(3_000))
    shown = fit_exhibits(Exhibits(many[:1], many), numbered=True)
    assert sum(len(piece.text) + len(piece.rest) for piece in (*shown.work, *shown.sources)) < 3_000_000
    assert shown.left_out == 2_000
    assert all(len(piece.text) + len(piece.rest) + piece.missing == 30_000 for piece in shown.sources)
    (piece,) = fit_exhibits(Exhibits((Exhibit("a", sentences=("y" * 50_000, "z")),), ()), numbered=True).work
    assert sum(map(len, piece.sentences)) + piece.missing == 50_001
    assert sum(map(len, piece.sentences)) == 20_000


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
    with pytest.raises(UsageProblem, match="the facts alone settle this case"):
        found.at("labels")


def test_a_case_that_is_not_at_hand_cannot_be_labelled_at_any_depth() -> None:
    found = make_label_task(manifest("rag"), None, rolls_up=False, digest="0" * 32, missing="cases.jsonl is gone")
    assert not found.forms
    for depth in DEPTHS:
        with pytest.raises(UsageProblem, match=r"cases\.jsonl is gone"):
            found.at(depth)


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
    assert len(found.exhibits.sources) == 60


@pytest.mark.parametrize(
    "options", [{"aliases": "/etc/passwd"}, {"aliases": ["/etc/passwd"]}, "x", ["x"], {"unknown": 1}]
)
def test_options_of_a_strange_run_open_no_file(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.judges.citation.options._load_aliases", lambda _: pytest.fail("a file was opened"))
    with pytest.raises(UsageProblem, match="options of judge"):
        recorded_judge("citation", options)
