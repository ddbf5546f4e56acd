"""What tells a reading from an act: words of the tool, and a result that only says that it was done."""

from __future__ import annotations

import pytest

from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.finders.effects import classify_effect, may_be_left_out
from krino.judges.efficiency.traces.steps import Step

CUES = table("cues")


@pytest.mark.parametrize("word", CUES["acting"])
def test_a_tool_that_acts_is_never_left_out_for_its_result(word: str) -> None:
    assert word not in CUES["read"]
    step = Step("1", "tool", word, {"of": "x"}, "nine until five, not on Sunday")
    assert not may_be_left_out(step, classify_effect(step))


@pytest.mark.parametrize("word", CUES["acknowledging"])
def test_a_result_that_only_says_that_it_was_done_tells_of_an_act(word: str) -> None:
    step = Step("1", "tool", "open_door", {"door": "B"}, word)
    assert not may_be_left_out(step, classify_effect(step))
    page = Step("1", "tool", "open_page", {"url": "x"}, f"{word}, nine until five")
    assert may_be_left_out(page, classify_effect(page))
