"""How little a judge takes: a judge of politeness in three forms, and three judges of which each has a few lines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import krino
from krino import Labelled, Labeller, Task
from krino.api.checking import check_file
from krino.labellers.split_calls import label_in_parts
from scripted_labeller import Scripted

ROOT = Path(__file__).parents[3]
LETTERS = ["Thank you for your help.", "Get lost, all of you!", "I would be grateful for a reply.", "No.", " "]
RUDE = ("lost", "No.")

TONE = """\
---
labels:
  tone:
    quote_from: letter
    values: {polite: {score: 1, about: it thanks or greets}, rude: {score: 0, about: it insults or orders about}}
---
How does the writer treat the reader? {letter}
"""
POLICIES = """\
---
labels:
  privacy: {kept: 1, broken: 0}
  promises: {kept: 1, broken: 0}
  advice: {kept: 1, broken: 0}
  manners: {kept: 1, broken: 0}
  language: {kept: 1, broken: 0}
rules:
  PRIVACY: {cap: privacy == 'broken', to: 0.2, message: It gives away what is private.}
---
Judge the reply by five policies. `privacy`: it names no customer. `promises`: it promises nothing. `advice`: it gives
no legal advice. `manners`: it insults nobody. `language`: it is written in the language of the question.

{reply}
"""
PAIR = """\
---
compare: [answer_a, answer_b]
---
Which answer serves the person who asked better? {question} {answer_a} {answer_b}
"""


def front_matter(text: str) -> list[str]:
    """The lines between the two marks."""
    lines = text.splitlines()
    return lines[1 : lines.index("---", 1)]


def judge_in(folder: Path, name: str, text: str) -> str:
    """Writes the file, which has no mistake."""
    file = folder / f"{name}.md"
    file.write_text(text)
    assert check_file(file).mistakes == ()
    return str(file)


def politeness(folder: Path) -> list[str]:
    """One line; the six lines that `docs/judge_files.md` shows; the class of `docs/own_judge.md`."""
    (six,) = re.findall(
        r"in six lines:\n\n```markdown\n(.*?)```", (ROOT / "docs" / "judge_files.md").read_text(), re.DOTALL
    )
    assert len(six.splitlines()) == 6
    (code,) = re.findall(
        r"```python[^\n]*\n((?:(?!```).)*?class Politeness.*?)```",
        (ROOT / "docs" / "own_judge.md").read_text(),
        re.DOTALL,
    )
    (folder / "politeness.py").write_text(code)
    line = "rubric:Is {text} polite? polite=1 rude=0"
    return [line, judge_in(folder, "six", six), f"{folder / 'politeness.py'}:Politeness"]


def say_polite_or_rude(passages: Mapping[str, str]) -> dict[str, Any]:
    """One person, who answers in the form that each judge asks for."""
    (name, text), *_ = passages.items()
    label = "rude" if any(word in text for word in RUDE) else "polite"
    return {"tone": label} if name == "letter" else {"reason": "Its words.", "quote": text, "label": label}


def test_one_line_six_lines_and_the_class_of_the_readme_give_the_same_scores(tmp_path: Path) -> None:
    scores = []
    for judge in politeness(tmp_path):
        labeller = Scripted(say_polite_or_rude)
        found = [krino.judge(judge, {"text": text}, labeller=labeller) for text in LETTERS[:-1]]
        assert [judgement.status for judgement in found] == ["ok"] * 4
        assert labeller.asked == 4
        scores.append([judgement.verdict["score"] for judgement in found if judgement.verdict])
    assert scores == [[1.0, 0.0, 1.0, 0.0]] * 3


def test_where_nothing_is_written_the_file_and_the_class_decide_and_the_line_fails_the_case(tmp_path: Path) -> None:
    """One line has no rule that says what an empty letter is, so it is never a number."""
    line, six, own_class = politeness(tmp_path)
    found = [krino.judge(judge, {"text": " "}, labeller=Scripted({})) for judge in (line, six, own_class)]
    assert [judgement.status for judgement in found] == ["failed", "ok", "ok"]
    assert [judgement.verdict and judgement.verdict["score"] for judgement in found] == [None, 0.0, 0.0]


@pytest.mark.parametrize(("text", "most"), [(TONE, 8), (POLICIES, 15), (PAIR, 8)])
def test_a_judge_takes_a_few_lines(tmp_path: Path, text: str, most: int) -> None:
    judge_in(tmp_path, "mine", text)
    assert len(front_matter(text)) <= most


@pytest.mark.parametrize(
    ("quote", "status"), [("Get lost", "ok"), ("get lost, you fool", "error"), ("", "error"), ("Thank you", "error")]
)
def test_tone_with_a_quotation_that_is_checked(tmp_path: Path, quote: str, status: str) -> None:
    labeller = Scripted({"tone": {"reason": "An insult.", "quote": quote, "label": "rude"}})
    judgement = krino.judge(
        judge_in(tmp_path, "tone-of-letters", TONE), {"letter": "Get lost, all of you!"}, labeller=labeller
    )
    assert judgement.status == status
    assert judgement.verdict == ({"tone": "rude", "score": 0.0} if status == "ok" else None)


@pytest.mark.parametrize(("broken", "score"), [((), 1.0), (("manners",), 0.8), (("privacy",), 0.2)])
def test_five_policies_in_one_call_of_which_one_caps_the_score(
    tmp_path: Path, broken: tuple[str, ...], score: float
) -> None:
    names = ("privacy", "promises", "advice", "manners", "language")
    answer = {
        name: {"reason": "Read.", "quote": "Mrs Peeters paid", "label": "broken" if name in broken else "kept"}
        for name in names
    }
    labeller = Scripted(answer)
    case = {"reply": "Mrs Peeters paid yesterday."}
    judgement = krino.judge(judge_in(tmp_path, "policies", POLICIES), case, labeller=labeller)
    assert judgement.verdict is not None
    assert judgement.verdict["score"] == pytest.approx(score)
    assert labeller.asked == 1
    assert judgement.rules["score"] == ("PRIVACY" if "privacy" in broken else "TABLE")


def test_pairwise_asks_in_both_orders_and_a_labeller_that_skips_one_gets_no_verdict(tmp_path: Path) -> None:
    case = {"question": "How tall?", "answer_a": "It is 102 m.", "answer_b": "Quite tall."}
    pair = judge_in(tmp_path, "pair", PAIR)
    judgement = krino.judge(pair, case, labeller=PrefersTheFirst())
    assert judgement.verdict is not None
    assert (judgement.verdict["winner"], judgement.verdict["position_bias"]) == ("tie", True)
    one_order = krino.judge(pair, case, labeller=Scripted({"reason": "It.", "quote": "102 m", "label": "first"}))
    assert (one_order.status, one_order.verdict) == ("error", None)
    assert "asked in both orders" in (one_order.error or "")


class PrefersTheFirst(Labeller):
    """Whatever is shown first is better."""

    def describe(self) -> dict[str, Any]:
        return {"kind": "prefers the first"}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        async def one(piece: Task[Any, Any, Any]) -> Labelled[Any]:
            first = next(passage.text for passage in piece.questions.passages if passage.name == "first")
            return Labelled(piece.accept({"reason": "It.", "quote": first, "label": "first"}), self.describe())

        return await label_in_parts(task, one)
