"""Lists of codes: every usual spelling is the same list, and each code has a precision and a recall of its own."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino import Agreement, UsageProblem
from krino.results.agreement.result import ClassAgreement
from made_judgements import ok

CODES = ["WRONG_COURT", "WRONG_DATE", "LATE"]
SPELLINGS = [
    "WRONG_COURT, LATE",
    "LATE;WRONG_COURT",
    "wrong_court|late",
    "WRONG_COURT + LATE",
    '["WRONG_COURT", "LATE"]',
    "['WRONG_COURT', 'LATE']",
    "{WRONG_COURT, LATE}",
    "(LATE, WRONG_COURT)",
    "WRONG_COURT LATE",
    "WRONG_COURT / LATE",
    "WRONG_COURT & LATE",
    "WRONG_COURT\nLATE",
    '"WRONG_COURT", "LATE"',
    ["LATE", "WRONG_COURT"],
]


def agreed(judge: list[list[str]], people: list[Any], **settings: Any) -> Agreement:
    judgements = [ok(place, errors=codes) for place, codes in enumerate(judge)]
    labels = [
        {"id": f"case-{place}", "rater": rater, "errors": said}
        for place, given in enumerate(people)
        for rater, said in (given.items() if isinstance(given, dict) else [("anna", given)])
    ]
    return krino.agree(judgements, labels, draws=20, **settings)


def word(found: Agreement, name: str) -> ClassAgreement:
    return next(item for item in found.fields[0].words if item.value == name)


@pytest.mark.parametrize("spelling", SPELLINGS, ids=map(repr, SPELLINGS))
def test_every_usual_spelling_is_the_same_list(spelling: Any) -> None:
    found = agreed([["WRONG_COURT", "LATE"], ["WRONG_DATE"], []], [spelling, "WRONG_DATE", "[]"])
    assert found.fields[0].disagreeing == 0


@pytest.mark.parametrize("label", ["<LATE>", "LATE=WRONG_DATE", "LATE and WRONG_COURT", "LATE?"])
def test_known_codes_in_another_form_are_refused_with_the_place(label: str) -> None:
    with pytest.raises(
        UsageProblem, match=r"row 2 of the labels: .*cannot be read as a list: separate words by a comma"
    ):
        agreed([CODES, ["LATE"]], ["LATE", label])


def test_a_code_that_the_judge_never_gave_is_a_code_of_its_own() -> None:
    found = agreed([["LATE"], ["LATE"]], ["LATE, RUDE", "VERY LATE"])
    assert {item.value for item in found.fields[0].words} == {"LATE", "RUDE", "VERY LATE"}


def test_each_code_counts_whatever_stands_beside_it() -> None:
    judge = [["LATE", "WRONG_DATE"], ["LATE"], ["LATE"], ["WRONG_COURT"], []]
    people = ["LATE", "LATE, WRONG_DATE", "WRONG_DATE", "[]", "LATE"]
    found = agreed(judge, people)
    late, date, court = word(found, "LATE"), word(found, "WRONG_DATE"), word(found, "WRONG_COURT")
    assert (late.precision.value, late.recall.value, late.f1.value) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (date.precision.value, date.recall.value, date.f1.value) == (0.0, 0.0, 0.0)
    assert (court.precision.value, court.recall.value) == (0.0, None)
    assert court.recall.why == "people never give it"
    assert late.f1.interval is not None and late.f1.interval[0] < 2 / 3 < late.f1.interval[1]


def test_more_than_half_of_the_raters_decide_and_a_tie_leaves_the_case_out() -> None:
    three = {"anna": "LATE", "ben": "LATE", "cleo": "[]"}
    two = {"anna": "LATE", "ben": "[]"}
    found = agreed([["LATE"], ["LATE"]], [three, two])
    assert (word(found, "LATE").people, word(found, "LATE").judge) == (1, 1)


def test_clusters_have_no_interval_that_takes_cases_as_separate() -> None:
    judgements = [{**ok(place, errors=["LATE"]), "metadata": {"court": "a"}} for place in range(3)]
    labels = [{"id": f"case-{place}", "errors": "LATE"} for place in range(3)]
    found = krino.agree(judgements, labels, cluster="court", draws=20)
    assert word(found, "LATE").precision.interval is None
    assert "clusters" in (word(found, "LATE").precision.why or "")


def test_a_field_that_is_no_list_has_no_codes() -> None:
    found = krino.agree([ok(0, kind="A"), ok(1, kind="B")], [{"id": "case-0", "kind": "A"}], draws=20)
    assert found.fields[0].words == ()
