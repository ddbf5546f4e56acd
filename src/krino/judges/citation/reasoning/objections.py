"""Finds what a matcher's reasoning objects to: the court, an open jurisdiction, a missing number; or mere shared words.

A checklist of cues. The text is split into clauses; each cue (agree, differ, unknown, costs, ...) is read with the
negations before it and belongs to the nearest topic of its clause (court, number, ...). It knows common phrases and no
grammar: the card shows what each part of it is worth, measured by `benchmarks/citation_rules.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from krino.judges.citation.belgium.courts import Court
from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.clauses import Clause, Cue, Stance, earlier_topic, split_clauses
from krino.judges.citation.reasoning.court_names import court_names_of, mark_court_names
from krino.judges.citation.reasoning.cues import LONGEST, Cues
from krino.judges.citation.reasoning.patterns import CITED, FOUND, OTHER, denies, objecting_pattern
from krino.judges.citation.scoring.candidates import CandidateFacts, Cited, MatcherAnswer
from krino.judges.lazy import lazy

_SURE = 85  # a match above this confidence needs an explicit objection before it is read closely
_CEILING_PERCENTS = ("90", "95")  # as in `clauses`
_CANDIDATE = re.compile(r"(?:candidate|candidat|kandidaat|kandidat|option|#)\s*(\d{1,2})(?!\d)")
_QUOTED_WORD = re.compile(r"[\"'«“”‘’„]\s?([^\W\d_]{4,})\s?[\"'»“”’]")
_WORD = re.compile(r"[a-z']{3,}")
_OF_COURTS = frozenset({"court", "language", "short", "jurisdiction"})
_NOT_OF_COURTS = frozenset({"number", "context", "date", "ecli"})
_DIFFERENT = frozenset({("differ", False), ("unrelated", False), ("agree", True)})
_SAME = frozenset({("agree", False), ("differ", True), ("known", False), ("unknown", True), ("costs", True)})
_UNCLEAR = frozenset({("unknown", False), ("known", True)})
_FRENCH_AND_DUTCH = frozenset({"fr", "nl"})


class Objection(NamedTuple):
    """The words of an objection and their offsets; of a court, whether its language or short name is the reason."""

    words: str
    start: int
    end: int
    by_language: bool = False
    by_short_name: bool = False
    is_penalty: bool = False
    """Whether it says in so many words that confidence was taken off."""


class Objections:
    """The objections in one reasoning, computed when first read: most cases need none or one of them."""

    def __init__(
        self,
        case: CitationCase,
        cited: Cited,
        candidates: tuple[CandidateFacts, ...],
        answer: MatcherAnswer,
        cues: Cues,
    ) -> None:
        self._case, self._cited, self._candidates, self._answer, self._cues = case, cited, candidates, answer, cues
        self._written = (answer.reasoning or "")[:LONGEST]

    @lazy
    def court(self) -> Objection | None:
        """The clause that takes the cited court for another or an unknown one; None if no candidate is of that court.

        The last clause about it counts.
        """
        if not self._may_object or all(candidate.alignment != "SAME" for candidate in self._candidates):
            return None
        found, agreed = None, False
        for clause in self.clauses:
            stance = self._stance_on_court(clause)
            if stance == "same":
                found, agreed = None, True
            elif stance == "other" or (stance == "unclear" and not agreed):
                found = self._objection_to_court(clause, found, unclear=stance == "unclear")
        return found

    @lazy
    def jurisdiction(self) -> Objection | None:
        """The clause that penalises a match because the citation names no jurisdiction."""
        if not self._may_object:
            return None
        if any(clause.has_phrase("stances", "all_fit") for clause in self.clauses):
            return self._find_penalised_lack("jurisdiction", kinds=("costs", "excused", "unrelated"))
        return self._find_penalised_lack("jurisdiction")

    @lazy
    def number(self) -> Objection | None:
        """The clause that penalises a match because the citation gives no number."""
        return self._find_penalised_lack("number") if self._may_object else None

    @lazy
    def keyword_objection(self) -> Objection | None:
        """The clause that gives shared words as the reason for the match, if no clause gives its subject."""
        found = None
        for clause in self.clauses:
            if clause.affirms_topic("meaning") and not denies("topics", "examined", clause.text):
                return None
            if found is None and (clause.affirms_topic("words") or self._quotes_shared_word(clause)):
                found = clause
        return self._objection(found) if found is not None else None

    @lazy
    def denied_number(self) -> Objection | None:
        """The clause that says that the number of the match differs, if none says that it agrees."""
        found, sentence, named = None, -1, set[int]()
        for clause in self.clauses if self._may_object else ():
            # "Candidate 2 has C.17.0891.N, which differs": the second clause is about candidate 2 as well
            named = _candidate_numbers(clause) or (named if clause.sentence == sentence else set())
            sentence = clause.sentence
            if self._is_about_others(clause) or (named and not any(map(self._is_meant, named))):
                continue
            if clause.has_phrase("who", "nobody") or clause.has_phrase("who", "unlisted"):
                continue
            stances = {(item.kind, item.negated) for item in clause.stances if item.topic == "number"}
            if stances & {("agree", False), ("differ", True), ("excused", False)}:
                return None
            is_another = not stances and "number" in clause.topic_names and clause.has_phrase("who", "is_not")
            found = found or (clause if stances & _DIFFERENT or is_another else None)
        return self._objection(found) if found is not None else None

    # --- the text ------------------------------------------------------------------------------------

    @lazy
    def _may_object(self) -> bool:
        """A sure match whose reasoning holds no word of objection objects to nothing: its clauses are not read."""
        top = self._answer.top
        sure = top is not None and top.percent is not None and top.percent > _SURE
        return self._cues.written and (not sure or objecting_pattern().search(self._cues.text) is not None)

    @lazy
    def clauses(self) -> list[Clause]:
        """The clauses, each with its stances; a cue without a topic continues that of an earlier clause."""
        names = court_names_of(self._case, self._cited, self._candidates)
        found: list[Clause] = []
        for clause in split_clauses(mark_court_names(fold_letters(self._written), names)):
            for cue in (*clause.cues(), *self._find_own_percent(clause)):
                crosses = cue.kind in ("costs", "excused") or (cue.kind == "agree" and cue.negated)
                topic = clause.nearest_topic(cue) or earlier_topic(found, clause, crosses_sentences=crosses)
                clause.stances.append(Stance(cue.kind, cue.negated, topic))
            found.append(clause)
        return found

    def _find_own_percent(self, clause: Clause) -> Iterator[Cue]:
        """Yields a cue "costs" wherever a clause names the confidence of the match: "no number, so 55 %".

        The percentage of a ceiling does not count.
        """
        top = self._answer.top
        if top is not None and top.percent is not None and f"{top.percent:g}" not in _CEILING_PERCENTS:
            written = rf"(?<![\d.,/]){top.percent:g}(?![\d/]|[.,]\d)|0[.,]{top.percent:02g}(?!\d)"
            yield from (Cue("costs", False, *match.span()) for match in re.finditer(written, clause.text))

    def _objection(self, clause: Clause, *, by_language: bool = False, by_short_name: bool = False) -> Objection:
        """Returns the objection that a clause raises, in the words of the reasoning."""
        text = self._written[clause.start : clause.start + len(clause.text)]
        start = clause.start + len(text) - len(text.lstrip(" ,"))
        end = clause.start + len(text.rstrip(" ,"))
        return Objection(" ".join(self._written[start:end].split()), start, end, by_language, by_short_name)

    # --- the court -----------------------------------------------------------------------------------

    def _stance_on_court(self, clause: Clause) -> str | None:
        """Returns what a clause says of the cited court and that of the candidate: same, other, unclear, or None."""
        if self._is_about_others(clause) or (self._cited.classification == "GENERIC" and not clause.is_about_names):
            return None
        stances = {(item.kind, item.negated) for item in clause.stances if item.topic in _OF_COURTS}
        digresses = bool(clause.topic_names & _NOT_OF_COURTS)
        named = bool(clause.topic_names & {"court", "short"})
        if ("excused", False) in stances:
            return "same"
        if named and not digresses and (any(clause.has_phrase("who", name) for name in ("nobody", "unlisted"))):
            return "other"
        if stances & _DIFFERENT or (named and clause.has_phrase("who", "is_not") and not stances & (_SAME | _UNCLEAR)):
            return "other"
        if stances & _UNCLEAR and not digresses:
            return "unclear"
        if stances & _SAME:
            return "same"
        return "unclear" if ("costs", False) in stances and named and not digresses else None

    def _is_about_others(self, clause: Clause) -> bool:
        """Is a clause about candidates that are not the match, or not of the cited court?"""
        if clause.has_phrase("who", "others") or (OTHER in clause.text and FOUND not in clause.text):
            return True
        if numbers := _candidate_numbers(clause):
            return not any(map(self._is_meant, numbers))
        # A match of another court makes it likely that "another court" is said of that one.
        top = self._answer.top
        elsewhere = top is not None and top.candidate.alignment in ("OTHER_TYPE", "OTHER_JURISDICTION")
        return elsewhere and CITED not in clause.text and not clause.is_about_names

    def _is_meant(self, number: int) -> bool:
        """Is the candidate with this number in the record the match, or without a match one of the cited court?

        Also true for a number that no candidate has.
        """
        listed, top = self._case.candidates, self._answer.top
        if not 1 <= number <= len(listed):
            return True
        decision = listed[number - 1].decision_id
        if top is not None:
            return decision == top.candidate.id
        return any(item.id == decision and item.alignment == "SAME" for item in self._candidates)

    def _objection_to_court(self, clause: Clause, before: Objection | None, *, unclear: bool) -> Objection:
        """Returns the objection to the court that a clause raises. Where a court is called unclear and no name or
        language is mentioned, its name was not understood."""
        nameless = not any(
            CITED in item.text or FOUND in item.text or "language" in item.topic_names for item in self.clauses
        )
        same = [item.named for item in self._candidates if item.alignment == "SAME"] if FOUND in clause.text else []
        courts = [self._cited.court, *same] if CITED in clause.text else same
        languages = {court.name_language for court in courts if isinstance(court, Court) and not court.abbreviated}
        return self._objection(
            clause,
            by_language="language" in clause.topic_names
            or languages >= _FRENCH_AND_DUTCH
            or (before is not None and before.by_language),
            by_short_name="short" in clause.topic_names
            or (unclear and nameless and clause.has_phrase("stances", "unknown"))
            or (before is not None and before.by_short_name),
        )

    # --- what a citation leaves open -------------------------------------------------------------------

    def _find_penalised_lack(self, topic: str, kinds: tuple[str, ...] = ()) -> Objection | None:
        """Returns the clause that counts a lack of the citation against a match, or None if it is said not to count.

        Where no other reason is given for too little confidence, the lack itself is the reason. `kinds`: the
        cues that count, by default all.
        """
        against, penalty, unsure = None, None, None
        doubted = elsewhere = False
        for clause in self.clauses:
            if topic == "number" and topic in clause.topic_names and clause.has_phrase("who", "unlisted"):
                against = against or clause
            for item in clause.stances:
                if kinds and item.kind not in kinds:
                    continue
                if item.topic == topic or (topic == "jurisdiction" and self._is_open_court(clause, item)):
                    if item.kind in ("excused", "unrelated") or (item.kind == "costs" and item.negated):
                        # "no seat, ten points off. The rest is fine": a stated penalty is only taken back at once
                        if penalty is None or penalty.sentence == clause.sentence:
                            return None
                        continue
                    if item.is_against and item.kind != "unknown" and not clause.states_ceiling:
                        against = against or clause
                        if item.kind == "costs" and clause.has_phrase("marks", "penalty"):
                            penalty = penalty or clause
                    elif item.is_against or item.is_lack:
                        unsure, doubted = unsure or clause, doubted or item.kind == "unknown"
                elif item.is_against and item.topic is not None:
                    elsewhere = True
        if against is None and not elsewhere and unsure is not None:
            agreed = any(item == Stance("agree", False, topic) for clause in self.clauses for item in clause.stances)
            blamed = not agreed
            if topic == "number":
                blamed = doubted or not self._answer.matches or self._gives_another_reason(unsure)
            against = unsure if blamed else None
        if against is None:
            return None
        return self._objection(penalty or against)._replace(is_penalty=penalty is not None)

    def _gives_another_reason(self, lacking: Clause) -> bool:
        """Does the sentence of `lacking` hold other words than that a number is missing?"""
        clauses = [clause for clause in self.clauses if clause.sentence == lacking.sentence]
        if any(clause.states_ceiling for clause in clauses) or lacking.topic_names - {"number"}:
            return False
        about = [clause for clause in clauses if clause is lacking or not clause.topics]
        return any(word not in _neutral_words() for clause in about for word in _WORD.findall(clause.text))

    def _is_open_court(self, clause: Clause, item: Stance) -> bool:
        return item.topic == "court" and self._cited.classification == "GENERIC" and not clause.is_about_names

    def _quotes_shared_word(self, clause: Clause) -> bool:
        """Does it quote a single word that occurs in the snippet and in the decision that was taken?"""
        written = self._written[clause.start : clause.start + len(clause.text)]
        if not self._answer.matches or not self._case.citation_snippet:
            return False
        texts, snippet = " ".join(self._answer.matches[0].candidate.texts).lower(), self._case.citation_snippet.lower()
        return any((word := match[1].lower()) in texts and word in snippet for match in _QUOTED_WORD.finditer(written))


def _candidate_numbers(clause: Clause) -> set[int]:
    """The candidates that a clause names by their place in the list: "candidate 2"."""
    return {int(number) for number in _CANDIDATE.findall(clause.text)}


@cache
def _neutral_words() -> frozenset[str]:
    return frozenset(table("claims")["neutral"]["words"])
