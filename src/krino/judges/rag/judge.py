"""The RAG QA judge: reads a case, asks only what is open, and settles the four scores of the rubric."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from krino.blocks import Block
from krino.contract import Bound, Joined, Judge, Judgement, Questions, Reordered, Settlement, Status
from krino.contract.hooks import Exhibits, RecordFields
from krino.contract.record_fields import Reads, find_rivals
from krino.errors import CannotJudge
from krino.judges.rag.ask import write_questions
from krino.judges.rag.bounds import bounds_of
from krino.judges.rag.case import (
    ANSWER_NAMES,
    CONTEXT_NAMES,
    GOAL_NAMES,
    IDEAL_CONTEXT_NAMES,
    PASSAGE_NAMES,
    QUESTION_NAMES,
    REFERENCE_NAMES,
    RagCase,
    reads_of_record,
)
from krino.judges.rag.conversation import MESSAGE_NAMES, find_conversation
from krino.judges.rag.exhibits import rag_exhibits
from krino.judges.rag.facts import RagFacts
from krino.judges.rag.labels import RagLabels, check_labels
from krino.judges.rag.local import label_locally, unreadable
from krino.judges.rag.mapping_hints import FIELD_SHAPES, FIELD_WORDS
from krino.judges.rag.reading.goals import goal_names, names_a_goal, read_goal
from krino.judges.rag.rubric import settle
from krino.judges.rag.tables import package_text
from krino.judges.rag.verdict import RagFigures, RagVerdict, failed_verdict
from krino.judges.rag.view import rag_blocks
from krino.judges.rag.votes import join_votes
from krino.judges.shuffling import shuffled
from krino.text.language import READ_LANGUAGES, language_name

_MOST_FIELDS = 15


class RagOptions(BaseModel):
    """`goal` is for cases that name none themselves; `lenience` tunes the embedded labeller."""

    model_config = ConfigDict(extra="forbid")

    goal: str = Field(
        default="balanced", description=f"what the evaluation is for: {', '.join(goal_names())}, or words"
    )
    lenience: float = Field(
        default=0.0,
        ge=-6.0,
        le=6.0,
        description="of the embedded labeller: added to the balance for and against each claim, in log odds; above 0 "
        "more claims count as supported (`krino align` finds it from labels)",
    )

    @field_validator("goal")
    @classmethod
    def _check_goal(cls, goal: str) -> str:
        """Returns the goal of a run ("balanced" if it is empty, as from an unset variable); refuses an unknown one.

        For a whole run a goal that says nothing is a slip; a single case that has one is read as balanced.
        """
        if not goal.strip():
            return "balanced"
        if not names_a_goal(goal):
            raise ValueError(f"names no known goal; there are {', '.join(goal_names())}")
        return goal


class RagJudge(Judge[RagCase, RagFacts, RagLabels, RagVerdict, RagOptions]):
    """Faithfulness, context relevance, answer relevance and semantic similarity, from labels that can be read."""

    name = "rag"
    version = "0.16.0"
    summary = "Answers from retrieved passages: faithfulness, context and answer relevance, similarity."
    default_prompt: ClassVar[str] = package_text("prompt.md")
    rules: ClassVar[Mapping[str, str]] = tomllib.loads(package_text("rules.toml"))["rules"]
    figures_model: ClassVar[type[BaseModel]] = RagFigures
    data_files = ("../../models",)
    languages = tuple(map(language_name, READ_LANGUAGES))
    tunable: ClassVar[Mapping[str, Sequence[float]]] = {"lenience": (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0)}
    fields = RecordFields(
        main=("question", "answer"),
        names={
            "question": QUESTION_NAMES,
            "context": CONTEXT_NAMES,
            "answer": ANSWER_NAMES,
            "reference": REFERENCE_NAMES,
            "goal": GOAL_NAMES,
            "history": MESSAGE_NAMES,
        },
        ambiguous_names={"question": ("input",), "context": IDEAL_CONTEXT_NAMES},
        needed={
            "question": (),
            "answer": (),
            "context": ("faithfulness", "context_relevance"),
            "reference": ("semantic_similarity",),
        },
        inner_names={"context": PASSAGE_NAMES},
        words=FIELD_WORDS,
        shapes=FIELD_SHAPES,
    )

    def read(self, record: Mapping[str, Any]) -> RagCase:
        """Reads a case; says which names were looked for if question or answer is missing.

        Refuses two different answers.
        """
        for what, names in (("question", QUESTION_NAMES), ("answer", ANSWER_NAMES)):
            if not any(name in record for name in names) and find_conversation(record, QUESTION_NAMES) is None:
                fields = ", ".join(str(name) for name in list(record)[:_MOST_FIELDS])
                raise CannotJudge(
                    f"no {what}: the record has the fields {fields or '(none)'}, and none of {', '.join(names)}, "
                    f"nor messages; say which it is with --map {what}=FIELD (in Python mapping=)"
                )
        if rivals := find_rivals(record, ANSWER_NAMES):
            raise CannotJudge(
                f"`{rivals[0]}` and `{rivals[1]}` both give the answer, with different texts: keep one of them, or say "
                "which is judged with --map answer=FIELD"
            )
        return super().read(record)

    def reads(self, record: Mapping[str, Any]) -> Reads:
        """Returns the names that are read of a record, which are the same for all records."""
        return reads_of_record()

    def study(self, case: RagCase) -> RagFacts:
        """Returns the facts of a case; raises `CannotJudge` if question or answer is missing or cannot be read."""
        return RagFacts(case, self.options.goal)

    def ask(self, case: RagCase, facts: RagFacts) -> Questions:
        """Returns what a labeller is shown and asked; there is always something to ask."""
        return write_questions(facts)

    def bounds(self, case: RagCase, facts: RagFacts, asked: Questions, exact: bool) -> Bound:
        """Returns what the labels may hold: numbers of sentences and passages, and quotations."""
        return bounds_of(facts, exact)

    def leaves_open(self, case: RagCase, facts: RagFacts) -> bool:
        """Always true: whether an answer covers its question is never a fact."""
        return True

    def check(self, case: RagCase, facts: RagFacts, labels: RagLabels) -> list[str]:
        """Returns what is wrong with labels about this case; empty if nothing."""
        return check_labels(facts, labels)

    def settle(self, case: RagCase, facts: RagFacts, labels: RagLabels | None) -> Settlement:
        """Returns the rulings on the eleven fields; labels are always needed."""
        if labels is None:
            raise ValueError("labels are needed: whether an answer covers its question always has to be labelled")
        return settle(facts, labels)

    def reorder(self, case: RagCase, facts: RagFacts, draw: Random) -> Reordered[RagCase, RagFacts, RagLabels] | None:
        """Returns the case with its passages in another order; None if there are fewer than two.

        Passages keep their numbers, which labels and their reasons in free text refer to, so labels need no
        mapping back.
        """
        order = shuffled(len(facts.passages), draw)
        if order is None:
            return None
        moved = facts.with_passages(tuple(facts.passages[place - 1] for place in order))
        return Reordered(case, moved, tuple(item.number for item in moved.passages), lambda labels: labels)

    def join_votes(self, case: RagCase, facts: RagFacts, ballots: Sequence[RagLabels]) -> Joined[RagLabels]:
        """Joins the labels of several seats: claims sentence by sentence, lists as a whole."""
        return join_votes(facts, ballots)

    def label_locally(self, batch: Sequence[tuple[RagCase, RagFacts]]) -> list[RagLabels]:
        """Labels cases with the embedded models; the option `lenience` says how easily claims count as supported."""
        return label_locally([facts for _, facts in batch], self.options.lenience)

    def unreadable_locally(self, case: RagCase, facts: RagFacts) -> str | None:
        """Returns why the embedded labeller cannot read a case, or None."""
        return unreadable(facts)

    def failed_form(self, status: Status, message: str) -> dict[str, Any]:
        """Returns the verdict of a case that could not be judged: no scores, and the reason or error."""
        return failed_verdict(status, message)

    def exhibits(self, case: RagCase, facts: RagFacts) -> Exhibits:
        """Returns what a person sees who labels the case: question and answer beside the passages."""
        return rag_exhibits(facts)

    def view(self, case: RagCase, facts: RagFacts, judgement: Judgement) -> Sequence[Block]:
        """Returns a judgement as blocks: the answer coloured by its claims, and the passages. Empty without labels."""
        return rag_blocks(case, judgement)

    def metadata(self, case: RagCase) -> dict[str, Any]:
        """Returns the number of passages, the goal, and whether there is a reference.

        The goal is the one that the case is judged by, whether it or the run has named it.
        """
        goal = self.options.goal if case.goal is None else case.goal
        return {
            "passages": len(case.context),
            "goal": read_goal(goal).name,
            "has_reference": case.reference is not None,
        }
