"""A list of words is the same label however people write it; a word that the field cannot have is refused."""

from __future__ import annotations

from typing import Any

import pytest

from krino.errors import UsageProblem
from krino.results.agreement.coding import encode_field
from krino.results.agreement.labels import LabelColumn, Pool

CLOSED = {"WRONG_COURT", "NO_REASON", "NONE"}


def classes(label: Any, closed: set[str] | None = CLOSED) -> list[str]:
    judge, labels = Pool(), LabelColumn()
    for value in (["NONE"], ["WRONG_COURT", "NO_REASON"]):
        judge.number(value)
    labels.add(0, 0, label, "labels.csv:2")
    coding = encode_field("errors", judge, labels, closed=closed)
    return [coding.values[code] for code in coding.people]


@pytest.mark.parametrize(
    "label",
    [
        ["NO_REASON", "WRONG_COURT"],
        "WRONG_COURT + NO_REASON",
        "NO_REASON, WRONG_COURT",
        "NO_REASON; WRONG_COURT",
        "NO_REASON|WRONG_COURT",
        "no_reason\nWrong_Court",
        ["NO_REASON, WRONG_COURT"],
    ],
)
@pytest.mark.parametrize("closed", [CLOSED, None])
def test_lists_are_read_alike(label: Any, closed: set[str] | None) -> None:
    assert classes(label, closed) == ["NO_REASON + WRONG_COURT"]


@pytest.mark.parametrize("label", ["WRONG_CURT", "NO_REASON + WRONG_CURT", ["WRONG_CURT"]])
def test_an_unknown_word_is_refused_with_its_row(label: Any) -> None:
    with pytest.raises(UsageProblem, match=r"labels.csv:2: .*WRONG_CURT.*did you mean WRONG_COURT\?"):
        classes(label)


def test_words_of_an_open_list_that_the_judge_never_said_are_one_label() -> None:
    assert classes("something, else", None) == ["something, else"]
