"""What a reasoning holds against a match, or for it, that the rubric calls an error, by the facts of the case.

Four claims are looked for: that the cited court is another one (`of_courts`), that the citation names no jurisdiction,
that it gives no number, and that shared words make a match. Each is kept with the words that make it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from krino.judges.citation.candidates import Answer, CandidateFacts, Cited
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.clauses import Clause, Statement, pattern
from krino.judges.citation.reasoning.cues import Cues
from krino.judges.citation.reasoning.of_courts import IS_OTHER, OfCourts
from krino.judges.citation.reasoning.statements import (
    CEILINGS,
    Claim,
    Spoken,
    Statements,
    is_against,
    is_lack,
    is_of_names,
    places,
)
from krino.judges.lazy import lazy

_PLACE_FIRST = ("jurisdiction", "number", "short", "language", "court")
_QUOTED_WORD = re.compile(r"[\"'«“”‘’„]\s?([^\W\d_]{4,})\s?[\"'»“”’]")
_LONG_WORD = re.compile(r"[a-z']{3,}")


class Claims:
    """The claims of one reasoning, each looked for when it is first asked for."""

    def __init__(
        self, case: CitationCase, cited: Cited, candidates: tuple[CandidateFacts, ...], answer: Answer, cues: Cues
    ) -> None:
        self._case, self._cited, self._answer, self._cues = case, cited, answer, cues
        self._told = Statements(case, cited, candidates, answer, cues)
        self._courts = OfCourts(self._told, case, cited, candidates, answer)

    @property
    def court(self) -> Claim | None:
        """What is held against a court that is the cited one."""
        return self._courts.claim

    @property
    def reads_short_name(self) -> bool:
        """Whether the reasoning writes a short name out, so that not the short form but the language misled it."""
        return self._courts.reads_short_name

    @property
    def names_one_language(self) -> bool:
        """Whether the reasoning sets two full names of the cited kind against each other that are of one language."""
        return self._courts.names_one_language

    # --- what else is held against a match -------------------------------------------------------------

    @lazy
    def jurisdiction(self) -> Claim | None:
        """That it is held against a court that the citation names none of its kind."""
        if not self._told.may_object:
            return None
        said = list(self._told.statements(_PLACE_FIRST))
        if any(clause.says("stances", "all_fit") for clause, _ in said):
            said = [(clause, [item for item in items if item.stance in ("costs", "excused")]) for clause, items in said]
        return self._blame(said, "jurisdiction")

    @lazy
    def jurisdiction_penalty(self) -> Claim | None:
        """That confidence was taken off, in so many words, because the citation names no jurisdiction."""
        if not self._cues.written:
            return None
        stated: list[Clause] = []
        excused: list[Clause] = []
        for clause, statements in self._told.statements(_PLACE_FIRST):
            for item in statements:
                if item.topic != "jurisdiction" and not self._is_open_court(clause, item):
                    continue
                if item.stance == "excused" or (item.stance == "costs" and item.denied):
                    excused.append(clause)
                elif item.stance == "costs" and clause.says("marks", "penalty") and not _is_ceiling(clause, item):
                    stated.append(clause)
        for clause in stated:
            sentence = self._told.sentence_of(clause)
            if clause.link != "concession" and not any(other in sentence for other in excused):
                return self._told.claim(clause)
        return None

    @lazy
    def number(self) -> Claim | None:
        """That a match is marked down because the citation gives no number."""
        return self._blame(self._told.said, "number") if self._told.may_object else None

    def _blame(self, said: Sequence[Spoken], topic: str) -> Claim | None:
        """A clause that holds it against a match that something is lacking, unless it is said not to count.

        Where no other reason is given for too little confidence, whoever says more than that it is lacking blames it.
        """
        against, unsure, elsewhere, accepted = None, None, False, False
        for clause, statements in said:
            if clause.link == "concession":
                continue
            if topic == "number" and topic in clause.topic_names and clause.says("who", "unlisted"):
                against = against or clause
            for item in statements:
                bad = is_against(item)
                if item.topic == topic or (topic == "jurisdiction" and self._is_open_court(clause, item)):
                    if item.stance in ("excused", "unrelated") or (item.stance == "costs" and item.denied):
                        return None
                    if bad and item.stance != "unknown" and not _is_ceiling(clause, item):
                        against = against or clause
                    elif bad or is_lack(item):
                        unsure = unsure or clause
                    sure = not any(other.stance == "unknown" for other in statements)
                    accepted = accepted or (item.stance == "agree" and not item.denied and sure)
                elif bad and item.topic is not None:
                    elsewhere = True
        if against is None and not elsewhere and unsure is not None:
            blamed = not accepted if topic == "jurisdiction" else not self._answer.matches or self._says_more(unsure)
            against = unsure if blamed else None
        return self._told.claim(against) if against is not None else None

    def _is_open_court(self, clause: Clause, item: Statement) -> bool:
        """Whether it is the court of a citation without a jurisdiction that a clause speaks of, not its name."""
        return item.topic == "court" and self._cited.classification == "GENERIC" and not is_of_names(clause)

    def _says_more(self, lacking: Clause) -> bool:
        """Whether a clause, or what is said of it, holds other words than that something is lacking."""
        clauses = self._told.sentence_of(lacking)
        if any(_names_ceiling(clause) for clause in clauses) or lacking.topic_names - {"number"}:
            return False
        told = [clause for clause in clauses if clause is lacking or not clause.topics]
        return any(word not in _neutral_words() for clause in told for word in _LONG_WORD.findall(clause.text))

    @lazy
    def words(self) -> Claim | None:
        """That shared words are the reason for the match, and nothing that the decision is about."""
        found = None
        for clause in (clause for clauses in self._told.sentences for clause in clauses):
            if "meaning" in clause.affirmed_topics and not clause.denies_examining:
                return None
            if found is None and clause.link != "concession":
                by_words = "words" in clause.affirmed_topics or self._quotes_a_shared_word(clause)
                found = clause if by_words else None
        return self._told.claim(found) if found is not None else None

    def _quotes_a_shared_word(self, clause: Clause) -> bool:
        """Whether a single word is quoted that stands in the snippet and in the decision that was taken."""
        quoted = [match[1].lower() for match in _QUOTED_WORD.finditer(self._told.written[clause.start : clause.end])]
        if not quoted or not self._answer.matches or not self._case.citation_snippet:
            return False
        texts = " ".join(self._answer.matches[0].candidate.texts).lower()
        return any(word in texts and word in self._case.citation_snippet.lower() for word in quoted)

    # --- a match that its own reasoning denies ---------------------------------------------------------

    @lazy
    def denied_number(self) -> Claim | None:
        """That the number of the match is another than the cited one, and nowhere that it is the same."""
        return self._denied("number")

    @lazy
    def denied_court(self) -> Claim | None:
        """That the court of the match is another than the cited one, and nowhere that it is the same."""
        return self._denied("court")

    def _denied(self, topic: str) -> Claim | None:
        if not self._told.may_object:
            return None
        found = None
        for clause, statements in self._told.said:
            if self._courts.is_of_others(clause) or self._passes_by_the_match(clause):
                continue
            said = {(item.stance, item.denied) for item in statements if item.topic == topic}
            if said & {("agree", False), ("differ", True), ("excused", False)}:
                return None
            if topic == "number" and any(clause.says("who", name) for name in ("nobody", "unlisted")):
                continue  # that no candidate carries the number is said of all of them
            is_another = topic == "number" and not said and clause.says("who", "is_not")
            if said & IS_OTHER or (is_another and topic in clause.topic_names):
                found = found or clause
        return self._told.claim(found) if found is not None else None

    def _passes_by_the_match(self, clause: Clause) -> bool:
        """Whether a clause, or the last before it in its sentence to name candidates, names others than the match."""
        clauses = self._told.sentence_of(clause)
        named = [listed for item in clauses[: clauses.index(clause) + 1] if (listed := places(item))]
        top = self._answer.top
        matched = {
            place
            for place, item in enumerate(self._case.candidates, 1)
            if top is not None and item.decision_id == top.candidate.id
        }
        return bool(named and matched) and not named[-1] & matched


def _is_ceiling(clause: Clause, item: Statement) -> bool:
    """Whether a clause only names the limit that the rubric itself sets."""
    return item.stance == "costs" and _names_ceiling(clause)


def _names_ceiling(clause: Clause) -> bool:
    limited = any(f"{limit}" in clause.text for limit in CEILINGS)
    return limited and pattern("marks", "limit").search(clause.text) is not None


@cache
def _neutral_words() -> frozenset[str]:
    return frozenset(table("claims")["neutral"]["words"])
