"""Reads the evaluation goal, by name or from free text, and gives recall its weight."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache

from krino.judges.rag.tables import table

_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 500


@dataclass(frozen=True, slots=True)
class Goal:
    """`note` says how free text was read; None when the goal was given by name."""

    name: str
    recall_weight: Fraction
    note: str | None = None


@cache
def _goals() -> tuple[tuple[Goal, tuple[str, ...]], ...]:
    """Returns all goals with the words by which they are recognised."""
    return tuple(
        (Goal(item["name"], Fraction(item["recall_weight"])), tuple(item["keywords"]))
        for item in table("goals")["goals"]
    )


@lru_cache(maxsize=1_024)
def read_goal(text: str) -> Goal:
    """Returns the goal that a text names; balanced, with a note, when it names none or goals that disagree."""
    plain = re.sub(r"[\s_]+", "-", text.strip().lower())
    for goal, _ in _goals():
        if plain == goal.name:
            return goal
    balanced = _goals()[0][0]
    if not plain:
        return balanced
    words = _WORD.findall(text[:_LONGEST].lower())
    hits = [
        (goal, word)
        for goal, keywords in _goals()
        if (word := next((word for word in words if word.startswith(keywords)), None)) is not None
    ]
    shown = f"goal {text[:80]!r}"
    if not hits:
        return Goal("balanced", balanced.recall_weight, f"{shown} names no known goal: read as balanced")
    if len({goal.recall_weight for goal, _ in hits}) > 1:
        named = ", ".join(goal.name for goal, _ in hits)
        note = f"{shown} names goals with different weights ({named}): read as balanced"
        return Goal("balanced", balanced.recall_weight, note)
    goal, word = hits[0]
    return Goal(goal.name, goal.recall_weight, f"{shown} read as {goal.name} because of {word!r}")


def goal_names() -> list[str]:
    """Returns the names of all goals, the balanced one first."""
    return [goal.name for goal, _ in _goals()]


def names_a_goal(text: str) -> bool:
    """Does a text say anything about the goal: a name, or words that stand for one?"""
    goal = read_goal(text)
    return goal.note is None or not goal.note.endswith("read as balanced") or "different weights" in goal.note
