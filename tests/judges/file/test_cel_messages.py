"""A mistake in an expression is found before anybody is asked, at its place, with what to write instead."""

from __future__ import annotations

import pytest

from krino.judges.file.cel import (
    BOOL,
    DOUBLE,
    DYN,
    INT,
    STRING,
    ExpressionProblem,
    RuleFault,
    StepBudget,
    compile_expression,
    list_of,
    one_of,
    record,
)

NAMES = {
    "text": STRING,
    "tone": one_of(("polite", "rude")),
    "score": DOUBLE.or_null(),
    "n": INT,
    "ok": BOOL,
    "data": DYN,
    "quotes": record({"tone": STRING}),
    "policies": list_of(record({"label": one_of(("kept", "broken")), "item": INT})),
}


@pytest.mark.parametrize(
    ("source", "offset", "told"),
    [
        ("txt == 'a'", 0, "did you mean text"),
        ("tone == 'plite'", 8, "did you mean polite"),
        ("tone in ['polite', 'rud']", 19, "did you mean rude"),
        ("policies.exists(p, p.label == 'brokn')", 30, "did you mean broken"),
        ("policies.exists(p, p.lable == 'broken')", 21, "did you mean label"),
        ("quotes.tonne == ''", 7, "did you mean tone"),
        ("siez(text) > 1", 0, "did you mean size"),
        ("text.contain('a')", 5, "did you mean contains"),
        ("contains(text, 'a')", 0, "write text.contains"),
        ("size(text, 1)", 0, "write size"),
        ("size(n)", 5, "a whole number"),
        ("text + 1", 5, "got a text"),
        ("n / 2", 2, "double"),
        ("n % 0.5", 2, "whole numbers"),
        ("tone == null", 5, "never null"),
        ("text == 1", 5, "never equal"),
        ("ok < true", 0, "compares numbers or texts"),
        ("text < 1", 5, "cannot compare"),
        ("!text", 1, "true or false"),
        ("text && ok", 0, "true or false"),
        ("n ? 1 : 2", 0, "true or false"),
        ("'a' in text", 7, r"text\.contains"),
        ("1 in ['a']", 2, "never in"),
        ("text.size", 5, "has no"),
        ("text[0]", 4, "has no elements"),
        ("policies['a']", 9, "the index"),
        ("n.all(x, true)", 2, "takes a list"),
        ("policies.all(p)", 9, "your name for the element"),
        ("policies.map(1, p)", 9, "your name for the element"),
        ("has(text)", 0, r"write has\(object"),
        ("fn(1)", 0, "no function"),
        ("package.name", 0, "reserved"),
        ("text ==", 7, "ends here"),
        ("(text", 5, "`\\)` is missing"),
        ("text text", 5, "cannot stand here"),
        ("text == \u201ca\u201d", 8, "quotation marks"),
        ("", 0, "empty"),
    ],
)
def test_a_mistake_is_reported_at_its_place(source: str, offset: int, told: str) -> None:
    with pytest.raises(ExpressionProblem, match=told) as found:
        compile_expression(source, NAMES)
    assert found.value.offset == offset


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("score < 1", True),
        ("score == 1", False),
        ("n * 0.5", 1.5),
        ("double(n) / 2", 1.5),
        ("score == null ? 0 : score", 0.25),
        ("mean(policies.map(p, p.label == 'kept' ? 1 : 0))", 0.5),
        ("policies.filter(p, p.label == 'broken').size() * 0.2", 0.2),
        ("round(2.0 / 3, 2)", 0.67),
        ("max([1, n, 2.5])", 3.0),
    ],
)
def test_numbers_of_both_kinds_mix(source: str, value: object) -> None:
    policies = [{"label": "kept", "item": 1}, {"label": "broken", "item": 2}]
    known = {"n": 3, "score": 0.25, "policies": policies}
    assert compile_expression(source, NAMES).value(StepBudget(known)) == value


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("score > 0.5", "null"),
        ("data.a / 2", "drops what is left over"),
        ("data.b", "no `.b`"),
        ("data.a.b", "a whole number has no `.b`"),
        ("data + 1", "takes numbers"),
        ("1.0 / 0", "division by zero"),
        ("mean([])", "empty list"),
        ("sum([data])", "takes numbers"),
        ("int('abc')", "no whole number"),
        ("double('abc')", "no number"),
        ("json('{')", "no JSON"),
        ("data.a ? 1 : 2", "true or false"),
        ("size(data.a)", "takes a text"),
    ],
)
def test_what_has_no_value_is_a_fault(source: str, told: str) -> None:
    with pytest.raises(RuleFault, match=told):
        compile_expression(source, NAMES).value(StepBudget({"score": None, "data": {"a": 3}}))


def test_a_name_inside_a_macro_hides_one_outside_and_ends_with_it() -> None:
    budget = StepBudget({"n": 3})
    assert compile_expression("[1, 2].map(n, n + 1) == [2, 3] && n == 3", NAMES).value(budget) is True
    assert budget.values == {"n": 3}


def test_an_expression_says_which_names_and_functions_it_uses() -> None:
    made = compile_expression("policies.exists(p, p.label == 'kept') && size(text) > n", NAMES)
    assert made.names == {"policies", "text", "n"}
    assert made.functions == {"size"}
