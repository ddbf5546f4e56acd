"""What a reasoning holds against the cited court: that it is another one than that of the candidate.

The same court has names in several languages and short ones. Who speaks of another candidate, or of a court of another
kind, holds nothing against it.
"""

from __future__ import annotations

import re

from krino.judges.citation.belgium.courts import Court
from krino.judges.citation.candidates import Answer, CandidateFacts, Cited
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning.clauses import CITED, FOUND, OTHER, Clause, Statement, pattern
from krino.judges.citation.reasoning.names import full_names, is_short, kind_of, written_beside
from krino.judges.citation.reasoning.statements import OF_NAMES, Claim, Statements, is_of_names, is_wanting, places
from krino.judges.lazy import lazy

IS_OTHER = frozenset({("differ", False), ("unrelated", False), ("agree", True)})
"""What says of two things that they are not the same, each with whether it is denied."""
_OF_COURTS = frozenset({"court", "language", "short", "jurisdiction"})
_ASIDE = frozenset({"number", "context", "date", "ecli"})
_SAME = frozenset({("agree", False), ("differ", True), ("known", False), ("unknown", True), ("costs", True)})
_UNCLEAR = frozenset({("unknown", False), ("known", True)})
_UNFOUND = ("nobody", "unlisted")
_DUTCH = ("dutch", "niederl", "flem", "fland", "neerl", "flam", "nederl", "vlaams")
_NOT_THE = {
    mark: re.compile(rf"(?<![a-z])(?:not|non|pas|niet|nicht|geen|kein)(?:\s[a-z']{{1,5}}){{0,2}}\s?{mark}")
    for mark in (CITED, FOUND, OTHER)
}
"""The labour tribunal, and not the labour court: what is denied is the court that this mark stands for."""


class OfCourts:
    """What is said of the cited court and of that of the candidates."""

    def __init__(
        self,
        told: Statements,
        case: CitationCase,
        cited: Cited,
        candidates: tuple[CandidateFacts, ...],
        answer: Answer,
    ) -> None:
        self._told, self._case, self._cited, self._candidates, self._answer = told, case, cited, candidates, answer

    @lazy
    def claim(self) -> Claim | None:
        """What is held against a court that is the cited one. The last word on the courts counts."""
        if not self._told.may_object or not any(candidate.alignment == "SAME" for candidate in self._candidates):
            return None
        claim, agreed = None, False
        for clause, said in self._told.said:
            stance = self._court_stance(clause, said)
            if stance == "same":
                claim, agreed = None, True
            elif stance == "other" or (stance == "unclear" and not agreed):
                claim = self._court_claim(clause, claim, unclear=stance == "unclear")
        return claim if claim or agreed else self._set_against_each_other()

    def _court_stance(self, clause: Clause, said: list[Statement]) -> str | None:
        """What one clause says of the cited court and that of the candidate: same, other, unclear or nothing."""
        if clause.link == "concession" or self.is_of_others(clause):
            return None
        if self._cited.classification == "GENERIC" and not is_of_names(clause):
            return None
        if self._writes_out(clause) and _NOT_THE[self._short_and_other[1]].search(clause.text):
            return "other"
        about = [item for item in said if item.topic in _OF_COURTS]
        stances = {(item.stance, item.denied) for item in about}
        if (CITED in clause.marks or "short" in clause.topic_names) and not self._only_writes_out(clause):
            stances |= {("agree", item.denied) for item in about if item.stance == "stands_for"}
        aside = bool(clause.topic_names & _ASIDE)
        named = bool(clause.marks & {CITED, FOUND} or clause.topic_names & {"court", "short"})
        if ("excused", False) in stances:
            return "same"
        if named and not aside and any(clause.says("who", name) for name in _UNFOUND):
            return "other"
        if stances & IS_OTHER or (named and clause.says("who", "is_not") and not stances & (_SAME | _UNCLEAR)):
            return "other"
        if stances & _UNCLEAR and not aside:
            return "unclear"
        if stances & _SAME:
            return "same"
        costs = ("costs", False) in stances and clause.topic_names & _OF_COURTS and not aside
        if costs:
            return "unclear"
        return "unclear" if ("names_differ", False) in stances and self._costs_something(clause) else None

    def _costs_something(self, clause: Clause) -> bool:
        """Whether the sentence of a clause takes confidence off."""
        clauses = self._told.sentence_of(clause)
        return any(
            item.stance == "costs" and not item.denied
            for spoken, said in self._told.said
            if spoken in clauses
            for item in said
        )

    def is_of_others(self, clause: Clause) -> bool:
        """Whether a clause speaks of a candidate that is not of the cited court, or of a court of another kind."""
        if clause.says("who", "others") or (OTHER in clause.marks and FOUND not in clause.marks):
            return True
        if _NOT_THE[OTHER].search(clause.text):
            return True
        listed = places(clause)
        if listed:
            return not any(self._is_right(place) for place in listed) or self._names_another_kind(clause)
        only_right = all(candidate.alignment in ("SAME", "UNKNOWN") for candidate in self._candidates)
        if self._answer.matches and not only_right and not self._is_aimed(clause):
            return True
        return self._names_another_kind(clause)

    def _is_aimed(self, clause: Clause) -> bool:
        """Whether a clause, or one before it in its sentence, names the cited court or speaks of its name."""
        clauses = self._told.sentence_of(clause)
        return any(
            item.marks & {CITED, FOUND} or item.topic_names & OF_NAMES for item in clauses[: clauses.index(clause) + 1]
        )

    def _is_right(self, place: int) -> bool:
        """Whether the candidate at a place of the list is of the cited court."""
        listed = self._case.candidates
        if not 1 <= place <= len(listed):
            return True
        written = listed[place - 1].decision_id
        return any(item.id == written and item.alignment == "SAME" for item in self._candidates)

    def _names_another_kind(self, clause: Clause) -> bool:
        """Whether a court of another type than the cited one is named in full."""
        cited = kind_of(self._cited.court)
        return any(head.target not in ("", cited) for head in full_names(clause.text))

    @lazy
    def reads_short_name(self) -> bool:
        """Whether the reasoning writes a short name out, so that not the short form but the language misled it."""
        courts = [self._cited.court, *(item.named for item in self._candidates if item.alignment == "SAME")]
        tongues = {court.name_language for court in courts if isinstance(court, Court)}
        if len(tongues) < 2:
            return False
        ours, _ = self._short_and_other
        beside = written_beside(ours, kind_of(self._cited.court)).search(self._told.marked.lower())
        return beside is not None or any(self._writes_out(clause) for clause, _ in self._told.said)

    @property
    def _short_and_other(self) -> tuple[str, str]:
        """The mark of the court that is named in short, and of the one that it is held against."""
        return (CITED, FOUND) if is_short(self._cited.court) else (FOUND, CITED)

    def _writes_out(self, clause: Clause) -> bool:
        """Whether a clause says what a short name of the case stands for, before it names the court beside it."""
        ours, theirs = self._short_and_other
        before = clause.text.partition(theirs)[0]
        runs = list(re.finditer(f"{ours}+", before))
        said = {(stance, denied) for stance, denied, _, end in clause.stances if end <= len(before)}
        if not runs or said & (_UNCLEAR | {("stands_for", True)}):
            return False
        if ("stands_for", False) in said:
            return True
        return len(runs) > 1 and pattern("who", "is_not").search(before, runs[0].end(), runs[1].start()) is None

    def _only_writes_out(self, clause: Clause) -> bool:
        """Whether a clause says what a short name stands for, and nothing yet of the candidate."""
        ours, theirs = self._short_and_other
        if theirs in clause.marks or not self._writes_out(clause):
            return False
        last = clause.text.rindex(ours) + 1
        # "Cass. stands for the court of the candidate" speaks of it, "..., the candidate comes" begins anew.
        told = clause.text[:last] + clause.text[last:].partition(",")[0]
        return pattern("links", "candidate").search(told) is None

    @lazy
    def names_one_language(self) -> bool:
        """Whether the reasoning sets two full names of the cited kind against each other that are of one language."""
        cited = kind_of(self._cited.court)
        heads = {head.text: head.languages for head in full_names(self._told.written) if head.target == cited}
        return len(heads) > 1 and bool(frozenset.intersection(*heads.values()))

    def _court_claim(self, clause: Clause, before: Claim | None, *, unclear: bool = False) -> Claim:
        """Where a court is called unclear and no name or language is spoken of, its name was not understood."""
        nameless = not any(
            item.marks & {CITED, FOUND} or "language" in item.topic_names
            for clauses in self._told.sentences
            for item in clauses
        )
        courts = [self._cited.court] if CITED in clause.marks else []
        if FOUND in clause.marks:
            courts += [item.named for item in self._candidates if item.alignment == "SAME"]
        written = [court for court in courts if isinstance(court, Court) and not court.abbreviated]
        tongues = {court.name_language for court in written if court.name_language}
        return self._told.claim(
            clause,
            by_language="language" in clause.topic_names
            or len(tongues) > 1
            or (before is not None and before.by_language),
            by_short_name="short" in clause.topic_names
            or (unclear and nameless and clause.says("stances", "unknown"))
            or (before is not None and before.by_short_name),
        )

    def _set_against_each_other(self) -> Claim | None:
        """The cited court and that of the candidate contrasted in one sentence, with nothing else said of them."""
        for clauses in self._told.sentences:
            links = {clause.link for clause in clauses}
            if "concession" in links or ("contrast" not in links and self._objects_elsewhere):
                continue
            marks = [clause.marks & {CITED, FOUND} for clause in clauses]
            both = {CITED, FOUND} <= set().union(*marks) and not any({CITED, FOUND} <= mark for mark in marks)
            tongues = [_tongues(clause) for clause in clauses]
            two = {"fr", "nl"} <= set().union(*tongues) and any(len(item) == 1 for item in tongues)
            one = any(tongues) and any(clause.link == "contrast" and CITED in clause.marks for clause in clauses)
            if both or two or one:
                return self._court_claim(clauses[-1], None)
        return None

    @lazy
    def _objects_elsewhere(self) -> bool:
        """Whether number, context, date or ECLI are held against a candidate: then courts side by side say nothing."""
        return any(
            any(is_wanting(item) and item.topic in _ASIDE for item in said)
            or (clause.topic_names & _ASIDE and any(clause.says("who", name) for name in ("is_not", *_UNFOUND)))
            for clause, said in self._told.said
        )


def _tongues(clause: Clause) -> set[str]:
    """The languages that a clause names."""
    said = [clause.text[start:end] for name, start, end in clause.topics if name == "language"]
    french = {"fr" for word in said if word.startswith(("fr", "wa"))}
    return french | {"nl" for word in said if word.startswith(_DUTCH)}
