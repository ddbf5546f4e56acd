"""What a task wants: to be told something, to have something done, or to have it done if something holds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from krino.judges.efficiency.finders.content_words import tokens_in
from krino.judges.efficiency.tables import words

_CLAUSE = re.compile(r"[.,;:!\n]\s+|\band\b|\bthen\b|\ben\b|\bet\b|\bund\b", re.IGNORECASE)
_ORDER = re.compile(r"[.;!\n]\s|\b(?:and|then|en|et|und|dann|puis|daarna)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """`tells`: something is to be told, or an act depends on something that must be looked up or waited for.

    `single`: one thing is asked, in a question that a few words can answer.
    """

    tells: bool
    single: bool
    only_asks: bool
    """Whether nothing is to be done but to tell."""
    seeks: bool = False
    """The same, where it is put as an order to find or list something."""
    one_order: bool = False
    """Whether one thing is to be done, and nothing to be told."""
    orders: frozenset[str] = frozenset()
    """The words that open a clause: the verbs of what is to be done."""


@lru_cache(maxsize=256)
def read_task(task: str) -> Wanted:
    clauses = [tokens for tokens in map(tokens_in, _CLAUSE.split(task[:4_000])) if tokens]
    found = {word for tokens in clauses for word in tokens}
    leads = {word for tokens in clauses for word in (tokens[1:2] if tokens[0] == "please" else tokens[:1])}
    question = "?" in task or not leads.isdisjoint(words("cues", "asking"))
    depends = not found.isdisjoint(words("cues", "depending"))
    wide = not found.isdisjoint(words("cues", "open_ended"))
    single = question and not wide and (len(clauses) == 1 or (len(clauses) == 2 and _is_joined(task, clauses[0])))
    orders = leads & (words("cues", "write") | words("cues", "acting")) or found & words("cues", "polite")
    one_order = not question and not depends and len(_ORDER.findall(task.strip(" .!\n"))) == 0
    only_asks = task.rstrip().endswith("?") and not orders
    seeks = only_asks or (question and not orders)
    return Wanted(question or depends, single, only_asks, seeks, one_order, frozenset(leads))


def _is_joined(task: str, first: list[str]) -> bool:
    """Whether the two parts are joined inside a clause ("a recipe that uses leeks and potatoes", "between A and B")."""
    return " and " in task and not words("cues", "joining").isdisjoint(first)
