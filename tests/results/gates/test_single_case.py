"""One case against gate rules: blocked unless every rule surely holds."""

from __future__ import annotations

from typing import Any

import pytest

from krino.errors import UsageProblem
from krino.results.gates.single_case import NOT_JUDGED, decide_case, parse_case_rules


def judged(**fields: Any) -> dict[str, Any]:
    roll_up = fields.pop("roll_up", None)
    return {"id": "a", "status": "ok", "verdict": fields, "roll_up": roll_up}


def decide(judgement: dict[str, Any], *rules: str) -> tuple[str, str | None]:
    found = decide_case(judgement, parse_case_rules([f"rag {rule}" for rule in rules], "--guard")["rag"], {})
    return found.decision, found.rule


@pytest.mark.parametrize(
    ("rule", "passes", "blocked"),
    [
        ("min score=0.8", {"score": 0.8}, {"score": 0.79}),
        ("max risk=0.3", {"risk": 0.3}, {"risk": 0.31}),
        ("max match:INCORRECT=0%", {"match": "CORRECT"}, {"match": "INCORRECT"}),
        ("min match:CORRECT=100%", {"match": "CORRECT"}, {"match": "FALSE_NEGATIVE"}),
        ("max errors:CEILING=0%", {"errors": ["NONE"]}, {"errors": ["OTHER", "CEILING"]}),
        ("min pass=100%", {"roll_up": "pass"}, {"roll_up": "review"}),
        ("max fail=0%", {"roll_up": "review"}, {"roll_up": "fail"}),
        ("max score:below:0.5=0", {"score": 0.5}, {"score": 0.4}),
        ("max risk:above:0.5=0", {"risk": 0.5}, {"risk": 0.6}),
        ("max reference:null=0%", {"reference": 0.1}, {"reference": None}),
    ],
)
def test_a_rule_blocks_what_breaks_it(rule: str, passes: dict[str, Any], blocked: dict[str, Any]) -> None:
    assert decide(judged(**passes), rule) == ("pass", None)
    assert decide(judged(**blocked), rule) == ("block", rule)


@pytest.mark.parametrize(
    "rule",
    ["min score=0", "max score=1", "max score:below:0.5=0", "max match:INCORRECT=0%", "max fail=0%", "min pass=100%"],
)
@pytest.mark.parametrize("fields", [{}, {"score": None, "match": None}, {"score": "high", "match": {"a": 1}}])
def test_a_field_without_a_value_blocks(rule: str, fields: dict[str, Any]) -> None:
    assert decide(judged(**fields), rule) == ("block", rule)


@pytest.mark.parametrize(("status", "why"), [("failed", "no answer"), ("error", "no reply")])
def test_a_case_without_a_verdict_is_blocked_whatever_the_rules_say(status: str, why: str) -> None:
    judgement = {"id": "a", "status": status, "verdict": {"score": 1.0}, "reason": why, "error": None}
    found = decide_case(judgement, parse_case_rules(["rag warn min score=0.5"], "--guard")["rag"], {})
    assert (found.decision, found.rule, found.reason) == ("block", NOT_JUDGED, why)


def test_the_first_broken_rule_decides_and_the_reason_explains_it() -> None:
    rules = parse_case_rules(["rag min b=0.5", "rag min a=0.5", "rag warn max a=0.1"], "--guard")["rag"]
    found = decide_case(judged(a=0.2, b=0.9, a_explanation="one of five"), rules, {})
    assert (found.rule, found.reason) == ("min a=0.5", "a is 0.200, the limit 0.500: one of five")
    assert found.warnings == ("warn max a=0.1: a is 0.200, the limit 0.100: one of five",)


def test_a_warning_blocks_nothing() -> None:
    rules = parse_case_rules(["rag warn min a=0.5"], "--guard")["rag"]
    found = decide_case(judged(a=0.2), rules, {})
    assert (found.decision, len(found.warnings)) == ("pass", 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rag faithfulness=0.8", "write JUDGE, min or max"),
        ("min faithfulness=0.8", "write JUDGE, min or max"),
        ("rag may-fall faithfulness=0.1", "write JUDGE, min or max"),
        ("rag min faithfulness", "write it as FIELD=NUMBER"),
        ("rag max failed=0", "always blocked"),
        ("rag max pass:to:fail=0", "no other run"),
        ("rag max score:below:0.5=1", "cannot break this limit"),
        ("rag max match:INCORRECT=100%", "nothing can break this limit"),
    ],
)
def test_rules_that_mean_nothing_for_one_case_are_refused(text: str, message: str) -> None:
    with pytest.raises(UsageProblem, match=message):
        parse_case_rules([text], "--guard")
