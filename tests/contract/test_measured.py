"""The measured agreement of a judge stands in one line at the end of its file, and belongs to that judge alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from krino.contract.identity import JudgedBy, hash_fingerprint
from krino.contract.measured import Measured, hash_labeller, split_measured, with_measured
from toy_judge import ToyJudge

LABELLER = {"kind": "llm", "model": "m", "temperature": 0}
FIGURE = Measured("j", hash_labeller(LABELLER), "m", "label", 0.9, 0.8, 0.95, 120)


@pytest.mark.parametrize("text", ["", "one line", "one line\n", "\n\n", "---\nname: x\n---\nIs {text} kind?\n\n"])
def test_the_text_comes_back_as_it_was(text: str) -> None:
    once = with_measured(text, FIGURE)
    assert split_measured(once) == (text, FIGURE)
    other = replace(FIGURE, agreement=0.85)
    assert with_measured(once, other).count("krino measured") == 1
    assert split_measured(with_measured(once, other)) == (text, other)


def test_nothing_in_the_line_ends_the_comment() -> None:
    nasty = replace(FIGURE, labelled_by="--> <script> --> <!-- {text}")
    written = with_measured("prompt", nasty)
    assert written.count("-->") == 1 and "<script>" not in written
    assert split_measured(written)[1] == nasty


@pytest.mark.parametrize(
    "line",
    [
        "{}",
        '{"judge": 1}',
        '{"judge":"j","labeller":"l","labelled_by":"m","field":"f","agreement":2,"low":0,"high":1,"labels":3}',
        '{"judge":"j","labeller":"l","labelled_by":"m","field":"f","agreement":0.5,"low":0.6,"high":1,"labels":3}',
        '{"judge":"j","labeller":"l","labelled_by":"m","field":"f","agreement":0.5,"low":0.4,"high":1,"labels":0}',
        '{"judge":"j","labeller":"l","labelled_by":"m","field":"f","agreement":"x","low":0,"high":1,"labels":3}',
    ],
)
def test_a_line_that_is_no_figure_is_dropped_and_gives_none(line: str) -> None:
    assert split_measured(f"prompt\n<!-- krino measured {line} -->\n") == ("prompt", None)


def test_a_judge_whose_prompt_states_a_figure_does_not_send_it() -> None:
    judge = ToyJudge(prompt=with_measured("Label the text.", FIGURE))
    assert judge.prompt == "Label the text."
    assert judge.measured == FIGURE
    assert ToyJudge().measured is None


def test_the_figure_belongs_to_this_judge_with_this_labeller_only() -> None:
    plain = ToyJudge(prompt="Label the text.")
    figure = replace(FIGURE, judge=str(hash_fingerprint(plain.fingerprint())))

    def agreement(labeller: dict[str, Any], **settings: Any) -> str | None:
        given = {"prompt": with_measured("Label the text.", figure), **settings}
        return JudgedBy.of_judge(ToyJudge(**given), labeller).agreement

    assert agreement(LABELLER) == "90.0% (80.0% to 95.0%) of `label` on 120 labels that were held out, with m"
    assert agreement({**LABELLER, "model": "another"}) is None
    assert agreement(LABELLER, options={"good_is": 0.9}) is None
    assert agreement(LABELLER, prompt=with_measured("Label the text!", figure)) is None
