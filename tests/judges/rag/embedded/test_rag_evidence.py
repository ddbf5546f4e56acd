"""Which sentences of the passages a claim is read beside."""

from __future__ import annotations

from krino.judges.rag.embedded.evidence import Index, Window, coverage
from rag_making import BRIDGE, HARBOUR, facts_of

LONG = "The old mill of Holm grinds oats for the whole valley and is closed in winter because the river freezes over."


def windows_for(claim: str, context: list[str]) -> list[Window]:
    facts = facts_of(context=context, answer=claim)
    index = Index(facts)
    return index.find_windows(index.weigh_claim(facts.readings[0]))


def test_the_nearest_sentences_of_all_passages_are_read_together_in_their_order() -> None:
    first = windows_for("The harbour handles timber and the bridge has two tracks.", [BRIDGE, HARBOUR, LONG])[0]
    assert first.text == f"{BRIDGE} {HARBOUR}"


def test_the_sentence_with_most_of_the_claim_is_the_best_one() -> None:
    assert windows_for("Grain goes through Varde harbour.", [BRIDGE, HARBOUR])[0].best.full_text == HARBOUR


def test_a_window_is_of_one_passage_and_no_longer_than_the_model_reads() -> None:
    windows = windows_for("The mill grinds oats.", [" ".join([LONG] * 20), HARBOUR])
    for window in windows[1:]:
        assert len({item.passage for item in window.sentences}) == 1
    assert all(len(window.text.split()) <= 130 for window in windows)


def test_without_a_word_in_common_the_sentences_nearest_to_the_question_are_read() -> None:
    windows = windows_for("Elle est belle.", [BRIDGE, HARBOUR])
    assert windows[0].best.full_text == BRIDGE


def test_coverage_counts_weighted_words_and_half_known_ones_in_part() -> None:
    reading = facts_of().passage_sentences[0].reading
    assert coverage({"bridg": 1.0, "zebra": 3.0}, (reading,)) == 0.25
    assert coverage({}, (reading,)) == 0.0
