"""A judge in one line says what the file of six lines and the class say."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel

import krino
from krino import Judge, Passage, Questions
from krino.judges.file.one_line import split_labels, write_file
from krino.judges.registry import address_of
from scripted_labeller import Scripted

LINE = "Is {text} polite? polite=1 rude=0"
SIX = "---\nname: is-text-polite\nlabels: {polite: 1, rude: 0}\n---\nIs the letter polite?\n{text}\n"
LETTERS = ["Thank you for your help.", "Get lost, all of you!", "I would be grateful.", "No."]


class Letter(BaseModel):
    text: str


class Tone(BaseModel):
    reason: str
    quote: str
    label: Literal["polite", "rude"]


class Verdict(BaseModel):
    label: str
    score: float
    reason: str


class Politeness(Judge[Letter, int, Tone, Verdict]):
    """Is a letter polite?"""

    default_prompt = "Say whether the letter is polite or rude."

    def study(self, case: Letter) -> int:
        return len(case.text.strip())

    def ask(self, case: Letter, facts: int) -> Questions | None:
        return Questions((Passage("letter", case.text),), "Polite or rude?") if facts else None

    def settle(self, case: Letter, facts: int, labels: Tone | None) -> Verdict:
        if labels is None:
            return Verdict(label="rude", score=0.0, reason="")
        return Verdict(label=labels.label, score=float(labels.label == "polite"), reason=labels.reason)


def answer(passages: Any) -> dict[str, Any]:
    (text,) = passages.values()
    polite = "Thank" in text or "grateful" in text
    return {"reason": "Its words.", "quote": text.split(",")[0].rstrip("."), "label": "polite" if polite else "rude"}


def test_one_line_six_lines_and_the_class_give_the_same_verdicts(tmp_path: Path) -> None:
    (tmp_path / "six.md").write_text(SIX)
    judges: list[Any] = [
        krino.rubric("Is {text} polite?", {"polite": 1, "rude": 0}),
        f"rubric:{LINE}",
        str(tmp_path / "six.md"),
        Politeness,
    ]
    verdicts = [
        [krino.judge(judge, {"text": text}, labeller=Scripted(answer)).verdict for text in LETTERS] for judge in judges
    ]
    assert verdicts[0] == verdicts[1] == verdicts[2] == verdicts[3]
    assert [verdict["score"] for verdict in verdicts[0] if verdict] == [1.0, 0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("rubric", "question", "labels"),
    [
        (LINE, "Is {text} polite?", {"polite": 1.0, "rude": 0.0}),
        ("Is {a} right? right=1, close=0.5, wrong=0", "Is {a} right?", {"right": 1.0, "close": 0.5, "wrong": 0.0}),
        ("Rate {a}. good=-1; bad=-2.5", "Rate {a}.", {"good": -1.0, "bad": -2.5}),
        ("Is x=1 in {a}? yes=1 no=0", "Is x=1 in {a}?", {"yes": 1.0, "no": 0.0}),
        ("Is {a} fine?", "Is {a} fine?", {}),
    ],
)
def test_the_labels_end_the_sentence(rubric: str, question: str, labels: dict[str, float]) -> None:
    assert split_labels(rubric) == (question, labels)


@pytest.mark.parametrize(
    ("rubric", "pair"),
    [
        ("Which is better, {answer_a} or {answer_b}?", "compare: [answer_a, answer_b]"),
        ("Which answers {question} better: {mine} vs. {theirs}?", "compare: [mine, theirs]"),
        ("Which is better, {a} or {b}? a=1 b=0", "compare: [a, b]"),
        ("Which is better, {a} or {b}? a=0 b=1 tie=0.5", "compare: [b, a]"),
        ("Does {a} agree with {b}?", "labels"),
        ("Does it say {a} or {b}?", "labels"),
        ("Which is named in {a}? first=1 second=0", "labels"),
    ],
)
def test_a_question_which_of_two_is_better_is_a_comparison(rubric: str, pair: str) -> None:
    assert write_file(rubric).splitlines()[1].startswith(pair)
    assert krino.load_judge(f"rubric:{rubric}").name


def test_a_comparison_in_one_line_asks_in_both_orders_or_not_at_all() -> None:
    case = {"a": "It is 102 m.", "b": "Tall."}
    only_one = Scripted({"reason": "r", "quote": "102 m", "label": "first"})
    judgement = krino.judge(krino.rubric("Which is better, {a} or {b}?"), case, labeller=only_one)
    assert judgement.verdict is None
    assert "both orders" in (judgement.error or "")
    with pytest.raises(krino.UsageProblem, match="it is worth 1, the other 0 and a tie"):
        write_file("Which is better, {a} or {b}? a=2 b=1")
    given = krino.rubric("Which is better, {a} or {b}?", ["a", "b"])
    assert krino.load_judge(address_of(type(given))).fingerprint() == given.fingerprint()


def test_a_question_without_labels_is_answered_yes_or_no() -> None:
    assert 'labels: {"yes":1.0,"no":0.0}' in write_file("Is {text} polite?")


@pytest.mark.parametrize(
    ("rubric", "told"),
    [
        ("Is it polite? polite=1 rude=0", "names no field"),
        ("Rate {text}.", "end it with the labels"),
        ("Is {text} polite? polite=1 polite=0", "given twice"),
        ("Is {text} polite? polite=1", "at least two values"),
        ("Is {text} fine? text=1 no=0", "{label}"),
        ("x" * 5_000, "write a file"),
    ],
)
def test_a_sentence_that_is_no_judge_says_what_is_missing(rubric: str, told: str) -> None:
    if told == "{label}":
        krino.load_judge(f"rubric:{rubric}")  # a value may have the name of a field
        return
    with pytest.raises(krino.UsageProblem, match=told):
        krino.load_judge(f"rubric:{rubric}")


def test_a_judge_in_one_line_is_named_and_can_be_loaded_again() -> None:
    for judge in (
        krino.rubric("Is {text} polite?", {"polite": 1, "rude": 0}),
        krino.rubric("Is {text} polite?", {"polite": None, "rude": None}),
        krino.rubric("Is {text} polite?", ["polite", "rude"], name="manners"),
        krino.rubric(LINE),
    ):
        again = krino.load_judge(address_of(type(judge)))
        assert again.fingerprint() == judge.fingerprint()
    assert krino.rubric(LINE).name == "is-text-polite"


def test_labels_given_as_a_text_are_refused() -> None:
    with pytest.raises(krino.UsageProblem, match="mapping of words"):
        krino.rubric("Is {text} polite?", "polite")
