"""Fits by what the embedded RAG labeller tells that a sentence answers a question.

    python training/fit_bearing.py

Prints the figures of `[bearing]` in `src/krino/judges/rag/data/local.toml`, from our own questions that were kept out
of training, and how well sentences are told apart by them (each fifth by the others). Needs scikit-learn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from lessons import own_rows
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from krino.judges.rag.case import RagCase
from krino.judges.rag.embedded.evidence import Index
from krino.judges.rag.embedded.relevance import CaseInProgress, traits
from krino.judges.rag.embedded.roles import Roles
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.reading.question import question_parts
from krino.models.entailment import answers

ANSWER = "Whatever is answered is not looked at."


def measured() -> Iterator[tuple[dict[str, float], bool, str]]:
    """For each sentence and question: what is weighed, whether it is useful by who wrote both, and the language."""
    for row in own_rows("questions", kept=True):
        for asked in row["q"]:
            if len(parts := question_parts(asked["t"])) == 1:
                yield from ((values, useful, row["l"]) for values, useful in told_of(row["p"], asked, parts[0]))


def told_of(passages: list[str], asked: dict[str, Any], part: Any) -> Iterator[tuple[dict[str, float], bool]]:
    case = {"question": asked["t"], "context": passages, "answer": ANSWER}
    facts = RagFacts(RagCase.model_validate(case))
    current = CaseInProgress(facts, Index(facts), Roles((), frozenset(), frozenset()), ())
    if not current.index.speakers:
        return
    items = current.index.sentences
    for item, said in zip(items, answers([(item.sentence.text, part.asked) for item in items]), strict=True):
        yield traits(current, item, part, said.whole + said.part), item.passage - 1 in asked["u"]


def main() -> None:
    found = list(measured())
    names = list(found[0][0])
    inputs = np.array([[values[name] for name in names] for values, _, _ in found])
    useful = np.array([told for _, told, _ in found])
    english = np.array([language == "en" for _, _, language in found])
    rule = LogisticRegression(C=10.0, class_weight="balanced", max_iter=2_000)
    said = cross_val_predict(rule, inputs, useful, cv=5)
    fitted = rule.fit(inputs, useful)
    for name, weight in zip(("start", *names), (fitted.intercept_[0], *fitted.coef_[0]), strict=True):
        print(f"{name} = {weight:.2f}")
    for told, kept in (("English", english), ("other languages", ~english)):
        right = [np.mean(said[kept & (useful == way)] == way) for way in (True, False)]
        told_right = f"told right of the useful {right[0]:.2f}, of the others {right[1]:.2f}"
        print(f"{told}: {kept.sum()} sentences; {told_right}")


if __name__ == "__main__":
    main()
