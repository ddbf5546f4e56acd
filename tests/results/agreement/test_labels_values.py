"""Words of the labels that stand for values: `--values good=1,bad=0`."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.results.agreement.labels import parse_values
from krino.results.agreement.result import Agreement
from made_judgements import ok

JUDGED = [ok(n, score=float(n % 2), kind="AB"[n % 2]) for n in range(4)]


def held(values: dict[str, Any] | None, *columns: tuple[str, list[Any]], **options: Any) -> Agreement:
    rows = [{"id": f"case-{n}", **{name: column[n] for name, column in columns}} for n in range(4)]
    return krino.agree(JUDGED, rows, values=values, **{"draws": 20, **options})


def agreement(found: Agreement, field: str) -> float | None:
    (item,) = (item for item in found.fields if item.field == field)
    return item.figures["agreement"].value


WORDS = ("score", ["bad", "good", " Bad", "GOOD"])


def test_words_are_read_as_what_they_stand_for_whatever_their_capitals() -> None:
    assert agreement(held({"good": 1, "bad": 0}, WORDS), "score") == 1.0
    assert agreement(held({"Good": "0", "BAD": "1"}, WORDS), "score") == 0.0


def test_words_of_one_field_are_its_own() -> None:
    columns = (WORDS, ("kind", ["good", "bad", "good", "bad"]))
    values = {"good": "A", "bad": "B", "score": {"good": 1, "bad": 0}}
    found = held(values, *columns)
    assert (agreement(found, "score"), agreement(found, "kind")) == (1.0, 1.0)


def test_labels_that_are_no_words_are_left_as_they_are() -> None:
    assert agreement(held({"good": 1}, ("score", [0, "good", None, 1.0])), "score") == 1.0


def test_a_scale_of_numbers_can_be_brought_to_that_of_the_judge() -> None:
    assert agreement(held({"1": 0, "5": 1}, ("score", [1, 5.0, "1", "5"])), "score") == 1.0
    assert agreement(held({"true": 1, "false": 0}, ("score", [False, True, "false", True])), "score") == 1.0


def test_the_labels_given_are_not_changed() -> None:
    from krino.results.agreement.labels import labels_from_rows

    labels = labels_from_rows([{"id": f"case-{n}", "score": WORDS[1][n]} for n in range(4)])
    krino.agree(JUDGED, labels, values={"good": 1, "bad": 0}, draws=20)
    assert labels.columns["score"].pool.values == ["bad", "good", " Bad", "GOOD"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (
            {"goood": 1, "bad": 0},
            r"--values goood: no label has it \(did you mean good\?\); the labels have 'bad', 'good'",
        ),
        ({"score": {"fine": 1}}, "--values score:fine: no label has it; the labels have 'bad', 'good'"),
        ({"kind": {"good": "A"}}, "--values kind: no such field in the labels; there are 'score'"),
        (
            None,
            r"with --values score:WORD=NUMBER,... \(words seen: 'bad', 'good', ' Bad', 'GOOD'\)",
        ),
        ({"good": 1}, r"the label 'bad' is not; .* \(words seen: 'bad', ' Bad'\)"),
        ({"good": "high", "bad": 0}, "the label 'high' is not"),
    ],
)
def test_words_that_nobody_knows_are_refused_with_those_that_were_seen(values: Any, words: str) -> None:
    with pytest.raises(krino.UsageProblem, match=words):
        held(values, WORDS)


def test_words_of_a_column_that_is_no_field_are_not_meant() -> None:
    with pytest.raises(krino.UsageProblem, match="no label has it; the labels have 'bad', 'good'"):
        held({"fine": 1}, WORDS, ("note", ["fine"] * 4))


def test_a_word_that_one_of_several_fields_has_is_known() -> None:
    found = held({"good": 1, "bad": 0}, WORDS, ("kind", ["A", "B", "A", "A"]))
    assert (agreement(found, "score"), agreement(found, "kind")) == (1.0, 0.75)


def test_null_is_no_word() -> None:
    with pytest.raises(krino.UsageProblem, match="--values none: no label has it; the labels have '1'"):
        held({"none": 0}, ("score", [None, 1, None, 1]))
    labels = ("score", ["none", 1, None, 1])
    assert held({"none": 0}, labels).fields[0].counts.compared == 3


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["good=1,bad=0"], {"good": "1", "bad": "0"}),
        (["good = 1", " bad=0"], {"good": "1", "bad": "0"}),
        (["score:good=1,bad=0", "other=2"], {"score": {"good": "1", "bad": "0"}, "other": "2"}),
        (["score:good=1", "score:bad=0"], {"score": {"good": "1", "bad": "0"}}),
        ([], {}),
    ],
)
def test_the_command_line_says_the_same(texts: list[str], values: dict[str, Any]) -> None:
    assert parse_values(texts) == values


@pytest.mark.parametrize("text", ["good", "good=", "=1", "good=1,", ":good=1", "score:", "score:good"])
def test_a_slip_is_refused_with_how_it_is_written(text: str) -> None:
    with pytest.raises(krino.UsageProblem, match="write it as good=1,bad=0 or, for one field, FIELD:good=1,bad=0"):
        parse_values([text])


@pytest.mark.parametrize("texts", [["good=1,good=0"], ["good=1", "good=1"], ["s:good=1", "s:good=0"]])
def test_a_word_has_one_meaning(texts: list[str]) -> None:
    with pytest.raises(krino.UsageProblem, match="'good' is given twice"):
        parse_values(texts)
