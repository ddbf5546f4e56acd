"""Every group of `ordinary.jsonl` can be drawn, and nothing but the meaning tells true claims from false ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

import ordinary
import pytest
from kinds import Kinds
from ordinary import Ordinary
from pairs import SUPPORTED

LINES = (Path(ordinary.__file__).parent / "ordinary.jsonl").read_text("utf-8").splitlines()
SLOT = re.compile(r"\{\w+\}")


def _drawn(kept: bool) -> list[tuple[str, str, int]]:
    drawn = Ordinary(1, kept, Kinds(1, kept)).pairs(rounds=1, strangers=())
    return [(pair.premise, pair.claim, pair.label) for pair in drawn]


def test_each_group_has_a_text_and_claims_of_both_sides() -> None:
    for number, line in enumerate(LINES, 1):
        group = json.loads(line)
        assert group["p"].strip() and group["k"].isalpha(), number
        claims = [claim for key in "scu" for claim in group.get(key, ())]
        assert group["s"] and group["c"] and len(set(claims)) == len(claims), number


def test_no_text_stands_twice() -> None:
    texts = [json.loads(line)["p"] for line in LINES]
    assert len(set(texts)) == len(texts)


def test_a_true_claim_names_no_value_that_its_text_lacks() -> None:
    for number, line in enumerate(LINES, 1):
        group = json.loads(line)
        assert set(SLOT.findall(" ".join(group["s"]))) <= set(SLOT.findall(group["p"])), number


@pytest.mark.parametrize("kept", [False, True])
def test_every_slot_is_filled(kept: bool) -> None:
    assert not [text for pair in _drawn(kept) for text in pair[:2] if SLOT.search(text)]


@pytest.mark.parametrize("kept", [False, True])
def test_as_many_claims_hold_as_do_not(kept: bool) -> None:
    labels = [label for _, _, label in _drawn(kept)]
    assert 2 * labels.count(SUPPORTED) == len(labels)


def test_a_copy_of_the_text_is_true_and_what_denies_it_is_not() -> None:
    drawn = _drawn(kept=True)
    copies = [label for premise, claim, label in drawn if claim in premise]
    assert len(copies) > 100 and copies.count(SUPPORTED) > 0.95 * len(copies)
    denied = [label for premise, claim, label in drawn if " not " in claim and claim.replace(" not ", " ") in premise]
    assert len(denied) > 50 and SUPPORTED not in denied


def test_what_is_kept_out_is_not_learned_from() -> None:
    learned = {group["p"] for group in Ordinary(1, False, Kinds(1, False)).groups}
    kept = {group["p"] for group in Ordinary(1, True, Kinds(1, True)).groups}
    assert kept and not learned & kept
    assert len(kept) == len(LINES) // 6


def test_values_keep_the_order_that_their_slots_promise() -> None:
    drawn = Ordinary(2, False, Kinds(2, False))
    for _ in range(50):
        values = drawn.values()
        assert int(values["n"]) < int(values["n2"]) < int(values["n3"])
        assert int(values["year"]) < int(values["year2"])
        assert values["day"] != values["day2"] and values["person"] != values["person2"] != values["person3"]
