"""The language of rules: what can be said, and what is refused with a hint."""

from __future__ import annotations

from typing import Any

import pytest

import krino
from krino.results.gates.rules import LimitKind, Rule, RuleLimit, Target, merge_rules, parse_flags, parse_table


@pytest.mark.parametrize(
    ("kind", "text", "target", "limit"),
    [
        ("min", "faithfulness=0.8", Target("faithfulness"), RuleLimit(0.8)),
        ("min", "quality=-3", Target("quality"), RuleLimit(-3.0)),
        ("min", "pass=90%", Target("roll_up", "pass"), RuleLimit(0.9, is_share=True)),
        ("max", "fail=5%", Target("roll_up", "fail"), RuleLimit(0.05, is_share=True)),
        ("min", "match:exact=95%", Target("match", "exact"), RuleLimit(0.95, is_share=True)),
        ("min", "match:a=b:c=95%", Target("match", "a=b:c"), RuleLimit(0.95, is_share=True)),
        ("max", "failed=1%", Target(None), RuleLimit(0.01, is_share=True)),
        ("max", "failed=3", Target(None), RuleLimit(3.0)),
        ("max", "score:null=5%", Target("score", "null"), RuleLimit(0.05, is_share=True)),
        ("may_fall", "score=0.02", Target("score"), RuleLimit(0.02)),
        ("may_rise", "fail=2%", Target("roll_up", "fail"), RuleLimit(0.02, is_share=True)),
    ],
)
def test_a_rule_says_what_is_limited_and_how(kind: LimitKind, text: str, target: Target, limit: RuleLimit) -> None:
    assert parse_flags(kind, [text]) == [Rule(kind, target, limit)]


@pytest.mark.parametrize(
    "text", ["faithfulness=0.8", "pass=90%", "match:exact=95%", "failed=1%", "failed=3", "a:null=2.5%"]
)
def test_a_rule_is_named_as_it_was_written(text: str) -> None:
    kind: LimitKind = "max"
    assert [str(rule) for rule in parse_flags(kind, [text])] == [f"max {text}"]


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("min", "faithfulness", "write it as FIELD=NUMBER"),
        ("min", "=0.8", "write it as FIELD=NUMBER"),
        ("min", "faithfulness=", "write it as FIELD=NUMBER"),
        ("min", "faithfulness=high", "`high` is not a number"),
        ("min", "faithfulness=nan", "`nan` is not a number"),
        ("min", "faithfulness=80%", "a share is that of a label: write faithfulness:LABEL=80%"),
        ("min", "pass=0.9", "a label has a share: write pass=90%"),
        ("min", "match:exact=95", "a label has a share"),
        ("min", "pass=900%", "a share lies in 0% to 100%"),
        ("max", "failed=0.01", "write a share as 1% or a whole number"),
        ("min", "failed=1%", "only be limited from above"),
        ("may_fall", "failed=1%", "only be limited from above"),
        ("min", "score:null=1%", "only be limited from above"),
        ("may_fall", "score=-0.1", "a margin is not negative"),
        ("min", "pass=0%", "nothing can break this limit"),
        ("max", "match:exact=100%", "nothing can break this limit"),
        ("may_fall", "pass=100%", "nothing can break this limit"),
        ("may_rise", "fail=100%", "nothing can break this limit"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_would(kind: LimitKind, text: str, words: str) -> None:
    with pytest.raises(krino.UsageProblem, match=words):
        parse_flags(kind, [text])


def test_a_table_of_the_settings_file_says_the_same() -> None:
    table: dict[str, Any] = {"faithfulness": 0.8, "pass": "90%", "failed": 2}
    assert parse_table("max", table, "f") == parse_flags("max", ["faithfulness=0.8", "pass=90%", "failed=2"])


@pytest.mark.parametrize("value", [True, [0.8], None, {"a": 1}])
def test_a_limit_in_the_file_is_a_number_or_a_share(value: Any) -> None:
    with pytest.raises(krino.UsageProblem, match="`faithfulness` needs a number"):
        parse_table("min", {"faithfulness": value}, "f")


def test_a_later_rule_about_the_same_thing_takes_the_place_of_the_earlier() -> None:
    first, second = parse_flags("min", ["a=0.1", "b=0.2"]), parse_flags("min", ["a=0.3"])
    assert [str(rule) for rule in merge_rules(first, second, parse_flags("max", ["a=0.9"]))] == [
        "min a=0.3",
        "min b=0.2",
        "max a=0.9",
    ]


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        ("min", ["score=0.99", "score=0.1"]),
        ("min", ["score=0.1", "score=0.1"]),
        ("min", ["pass=90%", "roll_up:pass=10%"]),
        ("max", ["failed=1", "failed=50%"]),
    ],
)
def test_two_limits_on_the_same_thing_in_one_place_are_refused(kind: LimitKind, texts: list[str]) -> None:
    """Whichever was dropped, nobody would see it."""
    with pytest.raises(krino.UsageProblem, match="limit the same thing: keep one"):
        merge_rules([], parse_flags(kind, texts))
