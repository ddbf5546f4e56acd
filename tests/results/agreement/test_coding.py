"""The kind of a field is decided from its values, and people may write them as people do."""

from __future__ import annotations

from typing import Any

import pytest

from krino import UsageProblem
from krino.results.agreement.coding import Coding, NotComparable, encode_field
from krino.results.agreement.labels import Pool, labels_from_rows


def coding_of(
    judge: list[Any], people: list[Any], name: str = "field", scale: tuple[float, float] | None = None
) -> Coding:
    pool = Pool()
    for value in judge:
        pool.number(value)
    labels = labels_from_rows({"id": str(number), name: value} for number, value in enumerate(people))
    return encode_field(name, pool, labels.columns[name], scale)


def people_as(coding: Coding) -> list[str | None]:
    return [coding.values[code] if code >= 0 else None for code in coding.people]


def test_words_are_classes() -> None:
    coding = coding_of(["yes", "no"], ["no", "maybe"])
    assert (coding.kind, coding.values, coding.positions) == ("category", ("maybe", "no", "yes"), None)


def test_few_numbers_are_steps_of_a_scale_and_many_are_numbers() -> None:
    few, many = coding_of([0.0, 0.5, 1], ["0.25"]), coding_of([step / 20 for step in range(20)], ["0,55"])
    assert few.kind == "scale"
    assert few.values == ("0", "0.25", "0.5", "1")
    assert few.positions is not None
    assert few.positions.tolist() == [0.0, 0.25, 0.5, 1.0]
    assert many.kind == "number"
    assert people_as(many) == ["0.55"]


def test_a_roll_up_has_an_order() -> None:
    coding = coding_of(["pass", "fail"], ["review"], name="roll_up")
    assert (coding.kind, coding.values) == ("order", ("fail", "review", "pass"))


def test_a_roll_up_with_words_of_ones_own_has_none() -> None:
    assert coding_of(["pass", "fail"], ["unsure"], name="roll_up").kind == "category"


@pytest.mark.parametrize("label", ["true", "Yes", "1", True, 1])
def test_true_can_be_written_in_many_ways(label: Any) -> None:
    assert people_as(coding_of([True, False], [label])) == ["true"]


def test_capitals_are_read_as_the_judge_writes_them_and_that_is_said() -> None:
    coding = coding_of(["CORRECT", "INCORRECT"], ["correct"])
    assert people_as(coding) == ["CORRECT"]
    assert "'correct' as 'CORRECT'" in coding.notes[0]


def test_capitals_that_tell_two_classes_apart_are_left_alone() -> None:
    assert people_as(coding_of(["a", "A"], ["a", "A"])) == ["a", "A"]


def test_null_is_a_class_where_the_judge_has_it() -> None:
    assert people_as(coding_of(["C1", None], [None, "C1"])) == ["null", "C1"]


def test_null_is_no_label_where_the_judge_never_has_it() -> None:
    assert people_as(coding_of(["C1"], [None, "C1"])) == [None, "C1"]


def test_null_is_no_number() -> None:
    coding = coding_of([0.5, None], [None, 0.5])
    assert coding.judge.tolist() == [0, -1]
    assert coding.people.tolist() == [-1, 0]


def test_a_list_of_words_is_a_set_and_a_lone_word_a_set_of_one() -> None:
    coding = coding_of([["B", "A"], ["NONE"], []], [["A", "B"], "NONE", []])
    assert people_as(coding) == ["A + B", "NONE", "(empty list)"]
    assert coding.judge.tolist() == coding.people.tolist()


def test_a_list_of_numbers_is_compared_as_it_stands() -> None:
    assert people_as(coding_of([[0, 50], [50, 100]], [[50, 100]])) == ["[50,100]"]


def test_numbers_a_hair_apart_are_the_same_step() -> None:
    coding = coding_of([0.1 + 0.2], [0.3])
    assert coding.values == ("0.3",)


@pytest.mark.parametrize("texts", [(["word " * 12], ["x"]), (["x"], ["y" * 200])])
def test_free_text_is_not_compared(texts: tuple[list[str], list[str]]) -> None:
    with pytest.raises(NotComparable, match="free text"):
        coding_of(*texts)


def test_objects_are_not_compared() -> None:
    with pytest.raises(NotComparable, match="objects"):
        coding_of([{"a": 1}], ["x"])


@pytest.mark.parametrize(
    ("judge", "label", "words"),
    [
        ([0.5], "good", "row 1 of the labels: the judge's `field` is a number, the label 'good' is not"),
        ([0.5], True, "is a number, the label True is not"),
        ([0.5], "nan", "the label 'nan' is not"),
        ([0.5], "1e999", "row 1 of the labels: the label '1e999' is too large for a number"),
        ([True], "perhaps", "is true or false, the label 'perhaps' is neither"),
    ],
)
def test_a_label_that_the_field_cannot_have_is_refused_with_its_place(judge: list[Any], label: Any, words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        coding_of(judge, [label])


def test_scales_that_seem_to_differ_are_pointed_out() -> None:
    assert "if the scales differ" in coding_of([0.2, 1.0], [4, 5]).notes[0]
    assert coding_of([0.2, 1.0], [0, 1]).notes == ()
    assert coding_of([1, 5], [2, 3]).notes == ()


@pytest.mark.parametrize(("people", "place"), [([0, 1, 1, "5"], "row 4"), ([-0.1, 0.5, 0.25], "row 1")])
def test_a_label_outside_a_declared_scale_that_the_others_keep_is_refused(people: list[Any], place: str) -> None:
    with pytest.raises(
        UsageProblem, match=rf"{place} of the labels: `field` lies between 0 and 1, the label .* does not \(1 of"
    ):
        coding_of([0.5, 1], people, scale=(0.0, 1.0))
    assert coding_of([0.5, 1], people).kind == "scale", "where the judge declares nothing, nobody can tell"


def test_labels_on_a_scale_of_their_own_are_compared_and_pointed_out() -> None:
    coding = coding_of([0.5, 1], [1, 2, 3, 4, 5], scale=(0.0, 1.0))
    assert "if the scales differ" in coding.notes[0]
