"""A small judge for tests: is a text good or bad? Empty texts are decided by rule, the rest is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from krino import CannotJudge, Finding, Judge, Media, Passage, Questions, Ruling, Settlement


class ToyCase(BaseModel):
    id: str | None = None
    text: str
    picture: str | None = None


class ToyLabels(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Literal["good", "bad"]
    quote: str


class ToyVerdict(BaseModel):
    model_config = ConfigDict(extra="forbid")

    score: float
    note: str


class ToyOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")

    good_is: float = 1.0


class ToyJudge(Judge[ToyCase, int, ToyLabels, ToyVerdict, ToyOptions]):
    """Is a text good or bad?"""

    name = "toy"
    default_prompt = "Label the text: good or bad. Quote the words that decide."
    rules: ClassVar[dict[str, str]] = {
        "TOY-EMPTY": "An empty text scores 0.",
        "TOY-LABEL": "A good text scores `good_is`, a bad one 0.",
    }

    def study(self, case: ToyCase) -> int:
        if case.text == "unjudgeable":
            raise CannotJudge("the text says that it cannot be judged")
        if case.text == "explode":
            raise RuntimeError("a fault in the judge's own code")
        return len(case.text)

    def ask(self, case: ToyCase, facts: int) -> Questions | None:
        if not facts:
            return None
        media = (Media("image", "image/png", case.picture.encode()),) if case.picture else ()
        return Questions((Passage("text", case.text),), "Is it good or bad?", media)

    def check(self, case: ToyCase, facts: int, labels: ToyLabels) -> list[str]:
        return [] if labels.quote in case.text else [f"quote: {labels.quote!r} does not occur in the text"]

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        if labels is None:
            return Settlement({"score": Ruling(0.0, "TOY-EMPTY"), "note": Ruling("empty", "TOY-EMPTY")})
        score = self.options.good_is if labels.label == "good" else 0.0
        rulings = {
            "score": Ruling(score, "TOY-LABEL", (labels.quote,)),
            "note": Ruling(f"labelled {labels.label}", "TOY-LABEL"),
        }
        return Settlement(rulings, (Finding("TOY-LABEL", "settled from a label"),))

    def label_locally(self, batch: Sequence[tuple[ToyCase, int]]) -> list[ToyLabels]:
        if any(case.text == "label-explode" for case, _ in batch):
            raise RuntimeError("a fault in the labeller")
        return [ToyLabels(label="bad" if "bad" in case.text else "good", quote=case.text[:5]) for case, _ in batch]
