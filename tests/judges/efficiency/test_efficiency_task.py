"""What a task wants: every word that says so is read."""

from __future__ import annotations

import pytest

from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.finders.task import read_request

CUES = table("cues")


@pytest.mark.parametrize("word", CUES["asking"])
def test_every_opening_of_an_order_to_tell_is_seen_at_the_head_of_a_clause_only(word: str) -> None:
    assert read_request(f"{word} the lamp").wants_answer
    assert read_request(f"Dim it, then {word} the lamp").wants_answer
    assert read_request("Dim the lamp").wants_answer is False


@pytest.mark.parametrize("word", CUES["depending"])
def test_every_condition_is_seen_wherever_it_stands(word: str) -> None:
    assert read_request(f"Dim the lamp {word} Mia is in").wants_answer


@pytest.mark.parametrize("word", CUES["open_ended"])
def test_every_word_that_widens_a_question_is_seen(word: str) -> None:
    assert not read_request(f"How high is the belfry {word}?").single


@pytest.mark.parametrize("word", CUES["polite"])
def test_an_order_put_as_a_question_is_no_mere_question(word: str) -> None:
    assert not read_request(f"{word} dim the lamp?").seeks


def test_a_question_of_one_clause_asks_one_thing_and_nothing_else() -> None:
    assert read_request("How high is the belfry?").single
    assert read_request("How high is the belfry?").seeks
    assert not read_request("How high is the belfry, and who built it?").single
    assert not read_request("Please dim the lamp.").wants_answer


@pytest.mark.parametrize("word", CUES["joining"])
def test_two_things_joined_inside_one_question_are_one_question(word: str) -> None:
    assert read_request(f"Find a road {word} Ghent and Bruges").single
    assert not read_request("Find the road and the height").single


def test_an_order_to_find_one_thing_seeks_and_one_to_do_something_does_not() -> None:
    assert read_request("Find a flight to Porto").seeks
    assert not read_request("Find a flight to Porto and book it").seeks
