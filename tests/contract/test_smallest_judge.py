"""What a judge may leave out: its name, version, summary and rules, and who decided each field."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

import krino
from krino import Judge, Labelled, Labeller, Passage, Questions, Ruling, Settlement, Task


class Letter(BaseModel):
    text: str


class Tone(BaseModel):
    tone: Literal["polite", "rude"]


class Verdict(BaseModel):
    score: float
    note: str = "from code"


class PoliteLetters(Judge[Letter, int, Tone, Verdict]):
    """Is a letter polite?

    More than that is not asked.
    """

    default_prompt = "Say whether the letter is polite or rude."

    def study(self, case: Letter) -> int:
        return len(case.text)

    def ask(self, case: Letter, facts: int) -> Questions | None:
        return Questions((Passage("letter", case.text),), "Polite or rude?") if facts else None

    def settle(self, case: Letter, facts: int, labels: Tone | None) -> Verdict | Settlement:
        return Verdict(score=float(labels is not None and labels.tone == "polite"))


class AlwaysPolite(Labeller):
    def describe(self) -> dict[str, Any]:
        return {"kind": "always-polite"}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        return Labelled(task.accept({"tone": "polite"}), self.describe())


def judged(judge: type[PoliteLetters], text: str) -> krino.Judgement[Verdict]:
    return krino.judge(judge, {"text": text}, labeller=AlwaysPolite())


def test_a_verdict_is_recorded_without_a_rule_of_its_own() -> None:
    judgement = judged(PoliteLetters, "")
    assert judgement.typed_verdict == Verdict(score=0.0)
    assert judgement.rules == {"score": "judge", "note": "judge"}
    assert judgement.decided_by == {"score": "judge", "note": "judge"}


def test_a_verdict_that_had_labels_counts_as_decided_by_them() -> None:
    judgement = judged(PoliteLetters, "Thank you.")
    assert judgement.typed_verdict.score == 1.0
    assert judgement.rules == {"score": "judge", "note": "judge"}
    assert judgement.decided_by == {"score": "labeller", "note": "labeller"}


class NamesRules(PoliteLetters):
    rules = {"EMPTY": "An empty letter scores 0.", "TONE": "A polite letter scores 1."}  # noqa: RUF012
    stated: bool | None = None

    def settle(self, case: Letter, facts: int, labels: Tone | None) -> Settlement:
        rule = "EMPTY" if labels is None else "TONE"
        score = Ruling(float(labels is not None), rule, from_labels=self.stated)
        return Settlement({"score": score, "note": Ruling("n", rule)})


class SaysYes(NamesRules):
    stated = True


class SaysNo(NamesRules):
    """Honest only because its score is the same for all labels."""

    stated = False


@pytest.mark.parametrize(
    ("judge", "text", "decided_by"),
    [
        (NamesRules, "", {"score": "EMPTY", "note": "EMPTY"}),
        (NamesRules, "Thank you.", {"score": "labeller", "note": "labeller"}),
        (SaysYes, "Thank you.", {"score": "labeller", "note": "TONE"}),
        (SaysNo, "Thank you.", {"score": "TONE", "note": "TONE"}),
    ],
)
def test_a_judge_that_says_nothing_of_labels_counts_as_having_used_them(
    judge: type[NamesRules], text: str, decided_by: dict[str, str]
) -> None:
    assert judged(judge, text).decided_by == decided_by


def test_a_jury_settles_a_judge_without_rulings() -> None:
    jury = krino.repeated(AlwaysPolite(), 2)
    judgement = krino.judge(PoliteLetters, {"text": "Thank you."}, labeller=jury)
    assert [ballot.verdict for ballot in judgement.ballots] == [{"score": 1.0, "note": "from code"}] * 2


def test_name_and_summary_are_those_of_the_class() -> None:
    assert (PoliteLetters.name, PoliteLetters.version) == ("polite-letters", "1")
    assert PoliteLetters.summary == "Is a letter polite?"
    assert (NamesRules.name, NamesRules.summary) == ("names-rules", "")


def test_a_name_that_is_stated_is_inherited() -> None:
    class Stated(PoliteLetters):
        name = "stated"

    class Later(Stated):
        pass

    assert (Stated.name, Later.name) == ("stated", "stated")
