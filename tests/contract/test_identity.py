"""Who judged: a version and a hash that change with the judge, and the labeller that gave the labels."""

from __future__ import annotations

import pytest

from krino.contract.identity import JudgedBy, hash_fingerprint
from toy_judge import ToyJudge

MODEL = {"kind": "llm", "model": "small-1", "temperature": 0}


def test_a_judge_is_named_with_its_version_hash_and_prompt() -> None:
    judge = ToyJudge()
    who = JudgedBy.of(judge.fingerprint(), MODEL, agreement="kappa 0.8")
    assert (who.judge, who.judge_version) == (judge.name, judge.version)
    assert who.prompt_hash == judge.fingerprint()["prompt_hash"]
    assert (who.labeller, who.model, who.agreement) == ("llm", "small-1", "kappa 0.8")
    assert who.judge_fingerprint is not None and len(who.judge_fingerprint) == 16


def test_another_prompt_or_rule_is_another_judge_and_another_place_is_not() -> None:
    plain, other = ToyJudge().fingerprint(), ToyJudge(prompt="Judge it.").fingerprint()
    assert hash_fingerprint(plain) != hash_fingerprint(other)
    assert hash_fingerprint(plain) != hash_fingerprint({**plain, "rules": "edited"})
    assert hash_fingerprint(plain) == hash_fingerprint({**plain, "address": "judges.py:ToyJudge"})


def test_what_is_not_known_is_left_out() -> None:
    who = JudgedBy.of({"name": "toy", "version": "1"}, None)
    assert who.named() == {"judge": "toy", "judge_version": "1"}


@pytest.mark.parametrize(
    ("labeller", "kind", "model"),
    [
        ({"kind": "local", "krino": "1"}, "local", "embedded labeller"),
        ({"kind": "panel", "members": {"a": {}, "b": {}}, "repeat": 3}, "panel", "a + b, each 3 times"),
        ({"kind": "replay", "of": "x"}, "replay", "recorded labels"),
        ({"odd": 1}, "unknown", "unknown"),
    ],
)
def test_every_kind_of_labeller_has_a_name(labeller: dict[str, object], kind: str, model: str) -> None:
    who = JudgedBy.of({"name": "toy", "version": "1"}, labeller)
    assert (who.labeller, who.model) == (kind, model)


def test_where_no_labeller_was_asked_none_is_named() -> None:
    who = JudgedBy.of({"name": "toy", "version": "1"}, MODEL).with_labeller(None)
    assert (who.labeller, who.model) == (None, None)
