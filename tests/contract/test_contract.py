"""What the contract promises whatever a judge does."""

from __future__ import annotations

import math
import pickle
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError, model_validator

import krino
from deadly_judge import Deadly
from krino.contract import Task, describe_validation, hash_record, holds_number
from toy_judge import ToyJudge, ToyVerdict

BASE: dict[str, Any] = {"id": "1", "judge": "toy", "judge_version": "1", "input_hash": "00"}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("status", ["failed", "error"])
@pytest.mark.parametrize("verdict", [{"score": 0.0}, {"range": [1, 2]}, {"deep": {"score": [None, 3]}}])
def test_no_number_stands_beside_a_status_that_is_not_ok(status: str, verdict: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="no number is allowed with"):
        krino.Judgement(**BASE, status=status, verdict=verdict, reason="r", error="e")


def test_a_failed_form_without_numbers_is_allowed() -> None:
    judgement = krino.Judgement(**BASE, status="failed", verdict={"score": None, "ok": False}, reason="r")
    assert judgement.verdict == {"score": None, "ok": False}


def test_a_judgement_prints_its_verdict_field_by_field_and_nothing_that_acts() -> None:
    by = {"score": "T-1", "why": "T-1"}
    verdict = {"score": 0.5, "why": "red\x1b[31m"}
    judgement = krino.Judgement(**BASE, status="ok", verdict=verdict, decided_by=by, rules=by)
    assert str(judgement).splitlines()[:2] == ["1: toy 1, ok", "  score: 0.5"]
    assert "\x1b" not in str(judgement)


def test_a_judgement_cannot_be_changed() -> None:
    judgement = krino.Judgement(**BASE, status="failed", verdict=None, reason="r")
    for name, value in (("verdict", {"score": 1.0}), ("status", "ok"), ("usage", krino.Usage(calls=1))):
        with pytest.raises(ValidationError, match="frozen"):
            setattr(judgement, name, value)


def test_a_score_put_into_a_failed_form_is_never_written() -> None:
    judgement = krino.Judgement(**BASE, status="failed", verdict={"score": None}, reason="r")
    assert judgement.verdict is not None
    judgement.verdict["score"] = 1.0  # what is inside a dict can be changed by whoever wants to
    with pytest.raises(ValueError, match="no number is allowed with status failed"):
        judgement.to_json()


recorded_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.datetimes() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
"""Of what a judge may put beside a verdict: also endless numbers, numbers beyond 64 bits, days and hours."""


@given(recorded_values, st.datetimes(timezones=st.just(UTC)))
def test_the_quick_way_to_write_a_judgement_writes_what_pydantic_does(value: Any, time: datetime) -> None:
    told = {"metadata": {"value": value}, "findings": [krino.Finding("R", "é\x7f\u2028\x01")], "time": time}
    labels = {"many": value, "few": (1, 2)}
    judgement = krino.Judgement(**BASE, status="failed", verdict=None, reason="r", labels=labels, **told)
    unused = {"ballots", "figures", "labeller_findings", "unread"}
    assert judgement.to_json() == judgement.model_dump_json(exclude=unused).encode()


def test_the_verdict_is_had_as_the_judges_model() -> None:
    judgement = krino.judge(ToyJudge, {"text": "a good text"})
    assert judgement.typed_verdict == ToyVerdict(score=1.0, note="labelled good")
    recorded = krino.Judgement.model_validate_json(judgement.to_json())
    assert recorded == judgement == pickle.loads(pickle.dumps(judgement))
    with pytest.raises(krino.UsageProblem, match="verdict_as"):
        _ = recorded.typed_verdict
    assert recorded.verdict_as(ToyVerdict).score == 1.0


def test_where_there_is_no_verdict_none_is_had() -> None:
    judgement = krino.judge(ToyJudge, {"text": "unjudgeable"})
    told = r"was not judged \(failed\): the text says that it cannot be judged"
    with pytest.raises(krino.NotJudged, match=told):
        _ = judgement.typed_verdict
    with pytest.raises(krino.NotJudged, match=told):
        judgement.verdict_as(ToyVerdict)


def test_a_record_of_a_newer_version_is_refused() -> None:
    with pytest.raises(ValidationError, match="schema_version 2 was written by a newer version of Krino"):
        krino.Judgement(**BASE, status="failed", verdict=None, reason="r", schema_version="2")


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"status": "ok", "verdict": None}, "needs a verdict"),
        ({"status": "ok", "verdict": {"score": 1.0}}, "who decided it"),
        ({"status": "failed", "verdict": None}, "needs a reason"),
        ({"status": "error", "verdict": None}, "needs a message"),
        ({"status": "maybe", "verdict": None}, "status"),
    ],
)
def test_a_judgement_that_explains_nothing_cannot_be_made(fields: dict[str, Any], match: str) -> None:
    with pytest.raises(ValidationError, match=match):
        krino.Judgement(**BASE, **fields)


@given(json_values)
def test_numbers_are_found_at_any_depth(value: Any) -> None:
    found: list[Any] = []

    def walk(item: Any) -> None:
        if isinstance(item, dict | list):
            for part in item.values() if isinstance(item, dict) else item:
                walk(part)
        elif isinstance(item, int | float) and not isinstance(item, bool):
            found.append(item)

    walk(value)
    assert holds_number(value) == bool(found)


def test_the_hash_of_a_case_depends_on_content_not_on_key_order() -> None:
    assert hash_record({"a": 1, "b": [2]}) == hash_record({"b": [2], "a": 1})
    assert hash_record({"a": 1, "b": [2]}) != hash_record({"a": 1, "b": [3]})


@given(json_values)
def test_any_record_can_be_hashed(value: Any) -> None:
    assert hash_record({"value": value}) == hash_record({"value": value})


def test_a_lone_surrogate_does_not_stop_hashing() -> None:
    assert hash_record({"text": "\ud800"})


def test_a_record_nested_beyond_reason_does_not_stop_hashing() -> None:
    record: list[Any] = []
    for _ in range(50_000):
        record = [record]
    assert hash_record({"deep": record})
    while record:  # take it apart by hand: freeing it in one go would be just as deep
        record = record.pop()


def test_options_that_a_judge_does_not_have_are_refused_by_name() -> None:
    with pytest.raises(krino.UsageProblem, match=r"options of judge `toy`: no option `wrong`; there are good_is$"):
        ToyJudge(options={"wrong": 1})
    with pytest.raises(krino.UsageProblem, match=r"no option `god_is` \(did you mean good_is\?\); there are good_is$"):
        ToyJudge(options={"god_is": 1})


def test_a_model_of_options_that_passes_over_unknown_names_does_not_hide_a_misspelt_one() -> None:
    with pytest.raises(krino.UsageProblem, match=r"no option `second` \(did you mean seconds\?\)"):
        Deadly(options={"second": 1})


def test_the_fingerprint_changes_with_prompt_and_options() -> None:
    plain = ToyJudge().fingerprint()
    assert plain != ToyJudge(prompt="Another prompt.").fingerprint()
    assert plain != ToyJudge(options={"good_is": 0.5}).fingerprint()
    assert plain == ToyJudge().fingerprint()


def test_labels_are_held_against_the_case() -> None:
    judge = ToyJudge()
    case = judge.read({"text": "a fine text"})
    questions = judge.ask(case, 11)
    assert questions is not None
    task = Task(judge, case, 11, questions)
    assert task.accept({"label": "good", "quote": "fine"}).label == "good"
    with pytest.raises(ValueError, match="'nowhere' does not occur in the text"):
        task.accept({"label": "good", "quote": "nowhere"})
    with pytest.raises(ValueError, match="label: Input should be 'good' or 'bad'"):
        task.accept({"label": "superb", "quote": "fine"})
    with pytest.raises(ValueError, match="the whole object"):
        task.accept(["good"])


class Measured(BaseModel):
    count: int
    share: float
    sure: bool
    text: str | None
    day: date | None = None


class MeasuringJudge(ToyJudge):
    labels_model = Measured  # type: ignore[assignment]

    def check(self, case: Any, facts: Any, labels: Any) -> list[str]:
        return []


MEASURED: dict[str, Any] = {"count": 3, "share": 0.5, "sure": True, "text": "x"}


def accepted(answer: Any) -> Any:
    judge = MeasuringJudge()
    case = judge.read({"text": "a fine text"})
    return Task(judge, case, 1, krino.Questions((), "?")).accept(answer)


def test_labels_are_plain_json_whoever_hands_them_over() -> None:
    labels = accepted({**MEASURED, "share": 1, "day": "2024-01-31"})
    assert labels == Measured(count=3, share=1.0, sure=True, text="x", day=date(2024, 1, 31))
    for same in (labels, labels.model_dump(mode="json"), MappingProxyType(labels.model_dump(mode="json"))):
        assert accepted(same) == labels


@pytest.mark.parametrize(
    "change",
    [
        {"count": "3"},
        {"count": 3.0},
        {"count": True},
        {"share": "0.5"},
        {"share": True},
        {"share": math.inf},
        {"share": math.nan},
        {"sure": 1},
        {"sure": "on"},
        {"text": 3},
        {"text": {1}},
        {"text": "\ud800"},
    ],
)
def test_labels_are_never_converted(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(change))}|finite|JSON"):
        accepted({**MEASURED, **change})


def test_a_rule_of_a_models_own_is_told_in_its_own_words() -> None:
    class Strict(BaseModel):
        low: int
        high: int

        @model_validator(mode="after")
        def _in_order(self) -> Self:
            if self.low > self.high:
                raise ValueError("low must not be above high")
            return self

    with pytest.raises(ValidationError) as fault:
        Strict(low=2, high=1)
    assert describe_validation(fault.value) == "low must not be above high"


def test_calls_without_a_price_are_counted_and_stay_counted_in_a_sum() -> None:
    total = krino.Usage(calls=2, cost=0.5)
    total.add(krino.Usage(calls=3))
    total.add(krino.Usage(cached=1))
    assert (total.calls, total.cost, total.unpriced) == (5, 0.5, 3)
    assert krino.Usage.of({"calls": 4, "cost": None}).unpriced == 4, "a line of an earlier version"
    assert krino.Usage.of({"calls": 4, "cost": 1.0}).unpriced == 0
