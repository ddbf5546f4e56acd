"""The page of a RAG judgement: the answer by claims, each pointing at the stretch of a passage that decides it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import krino
from made_views import view_of
from rag_making import BRIDGE, CASE, HARBOUR, claim_of, raw_labels, unsupported_claim

JUDGEMENT = krino.judge("rag", CASE).model_dump(mode="json")


def blocks(labels: Mapping[str, Any] | None) -> dict[str, Any]:
    return {block.title: block for block in view_of("rag", CASE, {**JUDGEMENT, "labels": labels})}


def test_each_sentence_is_coloured_and_points_at_its_passage_span() -> None:
    shown = blocks(raw_labels(claims=[claim_of(), unsupported_claim()]))
    first, _, second = shown["Answer"].segments
    assert (first.text, first.mark) == ("The bridge was opened in 1904.", "supported")
    assert (second.mark, second.target) == ("unsupported", None)
    spans = {item.key: item.text for item in shown["Passage 1, 1 of 1 sentences useful"].segments if item.key}
    assert spans[first.target] == "opened in 1904"
    assert "".join(item.text for item in shown["Passage 1, 1 of 1 sentences useful"].segments) == BRIDGE
    assert "".join(item.text for item in shown["Passage 2, 0 of 1 sentences useful"].segments) == HARBOUR


def test_the_gravest_claim_of_a_sentence_colours_it() -> None:
    wrong = claim_of(text="It opened in 1905.", label="contradicted", critical=True)
    first, *_ = blocks(raw_labels(claims=[claim_of(), wrong, unsupported_claim()]))["Answer"].segments
    assert first.mark == "critical contradiction"
    assert "It opened in 1905." in first.title


def test_overlapping_quotations_become_one_stretch() -> None:
    second = claim_of(sentence=2, quote="in 1904 and carries")
    shown = blocks(raw_labels(claims=[claim_of(), second]))
    first, _, last = shown["Answer"].segments
    assert first.target == last.target
    marked = [item.text for item in shown["Passage 1, 1 of 1 sentences useful"].segments if item.mark]
    assert marked == ["opened in 1904 and carries"]


def test_the_parts_of_the_question_say_where_they_are_answered() -> None:
    parts = [
        {"part": "when it opened", "sentence": 1, "answered": True},
        {"part": "who paid", "sentence": None, "answered": False},
    ]
    table = blocks(raw_labels(claims=[claim_of(), unsupported_claim()], parts=parts))["Parts of the question"]
    assert table.rows == [("when it opened", "answered", "sentence 1"), ("who paid", "not answered", None)]
    assert list(table.tones) == ["good", "bad"]


def test_without_labels_there_is_nothing_to_show() -> None:
    assert blocks(None) == {}
