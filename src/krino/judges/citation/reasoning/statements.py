"""What a reasoning says and of what: its clauses, each with what it holds for or against which of the topics.

A clause may leave out what it speaks of; then it is that of the reason behind it, or what was spoken of before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.candidates import Answer, CandidateFacts, Cited
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.clauses import FOUND, Clause, Stance, Statement, may_object, pattern, sentences
from krino.judges.citation.reasoning.cues import LONGEST, Cues
from krino.judges.citation.reasoning.names import names_of, pattern_of
from krino.judges.lazy import lazy

CEILINGS = frozenset({90, 95})
OF_NAMES = frozenset({"language", "short"})
_COURT_FIRST = ("number", "short", "language", "court", "jurisdiction")
_REMEMBERED = 3
"""Clauses of earlier sentences in which the reason for a cost is looked for."""
_SURE = 85
_NUMBERED = re.compile(r"(?:candidate|candidat|kandidaat|kandidat|option|#)\s*(\d{1,2})(?!\d)")

Spoken = tuple[Clause, list[Statement]]


class Claim(NamedTuple):
    """The words that make a claim, where they stand, and, of courts, whether language or a short name is blamed."""

    words: str
    start: int
    end: int
    by_language: bool = False
    by_short_name: bool = False


class Statements:
    """Of one reasoning, about one case."""

    def __init__(
        self, case: CitationCase, cited: Cited, candidates: tuple[CandidateFacts, ...], answer: Answer, cues: Cues
    ) -> None:
        self._case, self._cited, self._candidates, self._answer, self._cues = case, cited, candidates, answer, cues
        self.written = (answer.reasoning or "")[:LONGEST]

    @lazy
    def may_object(self) -> bool:
        """Whether the reasoning can hold anything against a match: one that is sure of it needs a word for that."""
        top = self._answer.matches[0] if self._answer.matches else None
        sure = top is not None and top.percent is not None and top.percent > _SURE
        return self._cues.written and (not sure or may_object(self._cues.text))

    @lazy
    def marked(self) -> str:
        """The text, with the names of the case's courts, and for an open jurisdiction their places, as marks."""
        names = names_of(self._case, self._cited, self._candidates)
        folded = fold_letters(self.written)
        if not names:
            return folded
        return pattern_of(names).sub(lambda found: names[(found.lastindex or 1) - 1][1] * len(found[0]), folded)

    @lazy
    def sentences(self) -> list[list[Clause]]:
        return sentences(self.marked)

    @lazy
    def said(self) -> list[Spoken]:
        """Each clause with what it says and of what; of a court rather than of its place."""
        return list(self.statements(_COURT_FIRST))

    def statements(self, first: Sequence[str]) -> Iterator[Spoken]:
        """The same with other topics first, where a clause names several."""
        before: list[Spoken] = []
        for clauses in self.sentences:
            for place, clause in enumerate(clauses):
                after = clauses[place + 1] if place + 1 < len(clauses) else None
                found = []
                for stance, denied, start, end in [*clause.stances, *self._own_percent(clause)]:
                    topic = clause.nearest_topic(start, end, first)
                    if topic is None:
                        topic = _inherited(before[-place:] if place else [], before, after, clause, stance)
                    found.append(Statement(stance, denied, topic))
                before.append((clause, found))
                yield clause, found

    def _own_percent(self, clause: Clause) -> Iterator[tuple[Stance, bool, int, int]]:
        """The confidence of the match, named as the outcome of what is said."""
        top = self._answer.matches[0] if self._answer.matches else None
        if top is None or top.percent is None or top.percent in CEILINGS:
            return
        written = rf"(?<![\d.,/]){top.percent:g}(?![\d/]|[.,]\d)|0[.,]{top.percent:02g}(?!\d)"
        for match in re.finditer(written, clause.text):
            yield "costs", False, *match.span()

    def sentence_of(self, clause: Clause) -> list[Clause]:
        """The clauses of the sentence that it stands in."""
        return next(clauses for clauses in self.sentences if clause in clauses)

    def claim(self, clause: Clause, *, by_language: bool = False, by_short_name: bool = False) -> Claim:
        """The words of a clause as they were written, as a claim."""
        text = self.written[clause.start : clause.end]
        start = clause.start + len(text) - len(text.lstrip(" ,"))
        end = clause.start + len(text.rstrip(" ,"))
        return Claim(" ".join(self.written[start:end].split()), start, end, by_language, by_short_name)


def _inherited(
    inside: Sequence[Spoken], before: Sequence[Spoken], after: Clause | None, clause: Clause, stance: Stance
) -> str | None:
    """What a clause without a topic speaks of: that of the reason behind it, else what was spoken of last.

    From one sentence to the next a cost is carried over to what was found wanting there, and anything by a word that
    points back.
    """
    if after is not None and after.topics and (after.link == "cause" or not inside):
        return after.topics[0][0]
    for spoken, said in reversed(inside):
        if spoken.topics and (spoken.link != "concession" or stance == "costs"):
            return _last_wanting(spoken, said)
    if inside and clause.link == "effect":
        return None  # the reason is in this sentence, and it is none of the topics
    if stance == "costs" and any(denied and kind in ("given", "known", "agree") for kind, denied, *_ in clause.stances):
        return None
    opening = clause.text.strip()
    earlier = [item for item in reversed(before[: len(before) - len(inside)]) if item[0].topics]
    if not earlier:
        return None
    last = earlier[0][0].topics[-1][0]
    if pattern("who", "latter").match(opening):
        return last
    if stance in ("costs", "excused"):
        wanting = [item.topic for _, said in earlier[:_REMEMBERED] for item in reversed(said) if is_wanting(item)]
        return wanting[0] if wanting else last if stance == "excused" else None
    return last if pattern("who", "back").match(opening) else None


def _last_wanting(clause: Clause, said: Sequence[Statement]) -> str:
    """The last thing that a clause names and does not approve of; where it approves of all, the last of all."""
    approved = {item.topic for item in said if item.stance in ("agree", "known") and not item.denied}
    wanting = {item.topic for item in said if is_wanting(item)}
    names = [name for name, *_ in clause.topics]
    return next((name for name in reversed(names) if name in wanting or name not in approved), names[-1])


def is_against(item: Statement) -> bool:
    """Whether it holds something against a match."""
    if item.stance in ("differ", "unknown", "costs"):
        return not item.denied
    return item.stance == "agree" and item.denied


def is_lack(item: Statement) -> bool:
    """Whether it says that something is not there."""
    return (item.stance == "lack" and not item.denied) or (item.stance in ("given", "known") and item.denied)


def is_wanting(item: Statement) -> bool:
    return item.topic is not None and (is_against(item) or is_lack(item))


@cache
def _ordinal() -> re.Pattern[str]:
    """The first, second or third of the list, where a noun for a decision or a verb shows that it is one of them."""
    links = table("claims")["links"]
    behind = "|".join((*links["candidate"], "decision", "beslissing", "one", *links["singular"]))
    counted = "|".join(f"({'|'.join(words)})" for words in links["ordinals"])
    return re.compile(rf"(?<![a-z])(?:the|le|la|de|der|het|die)\s(?:{counted})(?=,|\s(?:{behind})(?![a-z]))")


def places(clause: Clause) -> set[int]:
    """The candidates that a clause names by their places in the list: candidate 2, the second."""
    counted = {match.lastindex or 0 for match in _ordinal().finditer(clause.text)}
    return counted | {int(place) for place in _NUMBERED.findall(clause.text)}


def is_of_names(clause: Clause) -> bool:
    """Whether a clause speaks of a name: of that of a candidate, of a language or of a short form."""
    return FOUND in clause.marks or bool(clause.topic_names & OF_NAMES)
