"""Forms from schemas: what is asked, what a filled form stands for, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from krino.contract.bounds import EMPTY, NULL, Bound
from krino.contract.fingerprint import schema_of
from krino.errors import UsageProblem
from krino.judges.registry import OURS, load_judge
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

VERDICT: dict[str, Any] = {
    "properties": {
        "score": {"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]},
        "grade": {"type": "integer", "minimum": 1, "maximum": 5},
        "count": {"type": "integer"},
        "kind": {"enum": ["A", "B"]},
        "right": {"type": "boolean"},
        "errors": {"type": "array", "items": {"$ref": "#/$defs/Error"}},
        "explanation": {"type": "string"},
        "pair": {"type": "array", "prefixItems": [{"type": "integer"}]},
        "thing": {"type": "object"},
    },
    "$defs": {"Error": {"enum": ["X", "Y"]}},
}


def kinds(node: FormNode) -> dict[str, str]:
    return {child.name: child.kind for child in node.children}


def test_scores_codes_and_yes_or_no_are_asked_and_texts_are_not() -> None:
    assert kinds(build_verdict_form(VERDICT)) == {
        "score": "number",
        "grade": "choice",
        "count": "number",
        "kind": "choice",
        "right": "choice",
        "errors": "many",
    }


@pytest.mark.parametrize("judge", OURS)
def test_every_judge_of_ours_can_be_labelled_by_the_fields_of_its_verdict(judge: str) -> None:
    assert build_verdict_form(schema_of(load_judge(judge).verdict_model)).children


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": 5},
        {"properties": {"a": 5}},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {"properties": {"a": {"anyOf": "x"}}},
        {"properties": {"a": {"type": "array", "items": {"type": "array", "items": {}}}}},
        {"properties": {"a": {"type": "integer", "minimum": "x", "maximum": []}}},
    ],
)
def test_a_schema_that_makes_no_sense_asks_nothing(schema: dict[str, Any]) -> None:
    assert build_verdict_form(schema).children == ()


def test_what_is_left_open_is_left_out() -> None:
    assert read_form_answer(build_verdict_form(VERDICT), SubmittedForm([])) == {}


def test_a_filled_form_is_the_answer() -> None:
    sent = [
        ("f.score", "0.25"),
        ("f.grade", "4"),
        ("f.kind", '"B"'),
        ("f.right", "false"),
        ("f.errors", '"X"'),
        ("f.errors", '"Y"'),
    ]
    sent[0] = ("f.score", "null")
    assert read_form_answer(build_verdict_form(VERDICT), SubmittedForm(sent)) == {
        "score": None,
        "grade": 4,
        "kind": "B",
        "right": False,
        "errors": ["X", "Y"],
    }


@pytest.mark.parametrize(("text", "number"), [("0.33", 0.33), ("0,33", 0.33), (" 1 ", 1.0)])
def test_the_box_takes_any_number_and_goes_before_the_steps(text: str, number: float) -> None:
    assert read_form_answer(build_verdict_form(VERDICT), SubmittedForm([("f.score", "0.0"), ("f.score=", text)])) == {
        "score": number
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("f.kind", '"C"'),
        ("f.kind", "B"),
        ("f.right", "1"),
        ("f.score=", "2"),
        ("f.score=", "nan"),
        ("f.score=", "x"),
        ("f.count=", "1.5"),
        ("f.errors", '"Z"'),
    ],
)
def test_what_the_form_does_not_offer_is_refused(name: str, value: str) -> None:
    with pytest.raises(UsageProblem):
        read_form_answer(build_verdict_form(VERDICT), SubmittedForm([(name, value)]))


def test_what_was_said_before_stands_in_the_form() -> None:
    form = build_verdict_form(VERDICT, {"score": 0.33, "kind": "B", "errors": ["Y"]})
    shown = {child.name: [option.code for option in child.options if option.chosen] for child in form.children}
    assert shown["kind"] == ['"B"']
    assert shown["errors"] == ['"Y"']
    assert next(child for child in form.children if child.name == "score").shown == "0.33"


def test_an_answer_that_came_as_json_is_held_to_the_same() -> None:
    form = build_verdict_form(VERDICT, roll_ups=("pass", "fail"))
    good = {"score": 0.3, "kind": "A", "errors": ["X"], "right": True, "roll_up": "pass", "count": 7}
    assert check_fields(form, good) == good
    wrong: tuple[dict[str, Any], ...] = (
        {},
        {"explanation": "x"},
        {"score": 2},
        {"score": True},
        {"kind": "Z"},
        {"errors": "X"},
        {"errors": ["Q"]},
        {"count": 1.5},
        {"right": 1},
        {"kind": ["A"]},
        {"score": {}},
    )
    for bad in wrong:
        with pytest.raises(UsageProblem):
            check_fields(form, bad)


# --- labels --------------------------------------------------------------------------------------------

LABELS: dict[str, Any] = {
    "properties": {
        "items": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
        "numbers": {"type": "array", "items": {"type": "integer"}},
        "maybe": {"anyOf": [{"$ref": "#/$defs/Item"}, {"type": "null"}]},
        "never": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "none": {"type": "array", "items": {"$ref": "#/$defs/Item"}},
    },
    "type": "object",
    "$defs": {
        "Item": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "of": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
                "label": {"enum": ["yes", "no"]},
            },
        }
    },
}
ITEM = Bound.holding(of=Bound.one_of((1, 2, None)))
LOOSE = Bound.holding(
    items=Bound.many(ITEM, least=1, most=3), numbers=Bound.many(Bound.one_of((1, 2, 3)), most=3), never=NULL, none=EMPTY
)
EXACT = Bound.holding(
    items=Bound.each(
        [
            Bound.either(
                Bound.holding(name=Bound.only("one"), of=Bound.only(1)), Bound.holding(name=Bound.only("one"), of=NULL)
            )
        ]
    )
)


def form() -> FormNode:
    return build_labels_form(LABELS, LOOSE, EXACT)


def test_bounds_say_what_is_asked_and_what_stands_fast() -> None:
    assert kinds(form()) == {"items": "rows", "numbers": "many", "maybe": "group", "never": "fixed", "none": "fixed"}
    rows = form().children[0]
    assert [child.shown for child in rows.children[0].children] == ["one", "", ""]
    assert rows.grows


def test_labels_are_read_from_the_form_with_as_many_rows_as_it_had() -> None:
    sent = SubmittedForm(
        [
            ("l.items#", "2"),
            ("l.items.0.name", "one"),
            ("l.items.0.of", "1"),
            ("l.items.0.label", '"yes"'),
            ("l.items.1.name", "two"),
            ("l.items.1.of", "null"),
            ("l.items.1.label", '"no"'),
            ("l.numbers", "1"),
            ("l.numbers", "3"),
        ]
    )
    answer = read_form_answer(rebuild_form(LABELS, LOOSE, EXACT, sent), sent)
    assert answer == {
        "items": [{"name": "one", "of": 1, "label": "yes"}, {"name": "two", "of": None, "label": "no"}],
        "numbers": [1, 3],
        "maybe": None,
        "never": None,
        "none": [],
    }


def test_a_row_can_be_left_out_and_one_added() -> None:
    sent = SubmittedForm([("l.items#", "2"), ("l.items.0!", "1"), ("l.items.1.name", "two"), ("more", "l.items")])
    answer = add_row(read_form_answer(rebuild_form(LABELS, LOOSE, EXACT, sent), sent), sent)
    assert answer["items"] == [{"name": "two", "of": None}, {}]
    assert len(build_labels_form(LABELS, LOOSE, EXACT, answer).children[0].children) == 2


def test_a_part_that_may_be_missing_is_asked_for_by_a_box() -> None:
    sent = SubmittedForm([("l.maybe?", "1"), ("l.maybe.name", "x"), ("l.maybe.label", '"no"')])
    assert read_form_answer(rebuild_form(LABELS, LOOSE, EXACT, sent), sent)["maybe"] == {
        "name": "x",
        "of": None,
        "label": "no",
    }


@pytest.mark.parametrize("count", ["-1", "x", "", "99999999999", "１"])
def test_a_made_up_number_of_rows_does_no_harm(count: str) -> None:
    sent = SubmittedForm([("l.items#", count)])
    assert len(rebuild_form(LABELS, LOOSE, EXACT, sent).children[0].children) <= 3


@pytest.mark.parametrize("path", ["l.nothing", "x", "l.items.0.name", "l.numbers.7.x", "l.never.x", "l.items.x.y"])
def test_a_made_up_button_does_no_harm(path: str) -> None:
    answer = {"items": [{"name": "a"}], "numbers": [1], "never": None}
    assert add_row(answer, SubmittedForm([("more", path)]))["items"] == [{"name": "a"}]


def test_a_text_without_end_is_refused() -> None:
    sent = SubmittedForm([("l.items#", "1"), ("l.items.0.name", "x" * 20_001)])
    with pytest.raises(UsageProblem, match="more than"):
        read_form_answer(rebuild_form(LABELS, LOOSE, EXACT, sent), sent)


@pytest.mark.parametrize(
    ("schema", "keys"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 5}, ["0", "1", "2", "3", "4", "5"]),
        ({"type": "integer", "minimum": 1, "maximum": 10}, ["1", "2", "3", "4", "5", "6", "7", "8", "9", ""]),
        ({"enum": ["A", "B"]}, ["1", "2"]),
        ({"anyOf": [{"enum": [1, 2]}, {"type": "null"}]}, ["1", "2", ""]),
        ({"type": "number", "minimum": 0, "maximum": 1}, ["1", "2", "3", "4", "5"]),
    ],
)
def test_a_digit_that_is_an_answer_chooses_that_answer(schema: dict[str, Any], keys: list[str]) -> None:
    (node,) = build_verdict_form({"properties": {"field": schema}}).children
    assert [option.key for option in node.options] == keys
