"""What a reasoning holds against a match, or for it, that the rubric calls an error, by the facts of the case.

Four claims are looked for: that the cited court is another one, that the citation names no jurisdiction, that it gives
no number, and that shared words make a match. Each is kept with the words that make it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from krino.judges.citation.belgium.courts import Court
from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.belgium.gazetteer import Head, gazetteer, words
from krino.judges.citation.candidates import Answer, CandidateFacts, Cited
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.clauses import (
    CITED,
    FOUND,
    OTHER,
    Clause,
    Stance,
    Statement,
    may_object,
    pattern,
    sentences,
)
from krino.judges.citation.reasoning.cues import LONGEST, Cues
from krino.judges.citation.reasoning.names import is_short, kind_of, names_of, pattern_of, written_beside
from krino.judges.lazy import lazy

_OF_COURTS = frozenset({"court", "language", "short", "jurisdiction"})
_OF_NAMES = frozenset({"language", "short"})
_ASIDE = frozenset({"number", "context", "date", "ecli"})
_COURT_FIRST = ("number", "short", "language", "court", "jurisdiction")
_PLACE_FIRST = ("jurisdiction", "number", "short", "language", "court")
_SAME = frozenset({("agree", False), ("differ", True), ("known", False), ("unknown", True), ("costs", True)})
_OTHER = frozenset({("differ", False), ("unrelated", False), ("agree", True)})
_UNCLEAR = frozenset({("unknown", False), ("known", True)})
_UNFOUND = ("nobody", "unlisted")
_REMEMBERED = 3
"""Clauses of earlier sentences in which the reason for a cost is looked for."""
_SURE = 85
_CEILINGS = frozenset({90, 95})
_DUTCH = ("dutch", "niederl", "flem", "fland", "neerl", "flam", "nederl", "vlaams")
_NUMBERED = re.compile(r"(?:candidate|candidat|kandidaat|kandidat|option|#)\s*(\d{1,2})(?!\d)")
_NOT_THE = {
    mark: re.compile(rf"(?<![a-z])(?:not|non|pas|niet|nicht|geen|kein)(?:\s[a-z']{{1,5}}){{0,2}}\s?{mark}")
    for mark in (CITED, FOUND, OTHER)
}
"""The labour tribunal, and not the labour court: what is denied is the court that this mark stands for."""
_QUOTED_WORD = re.compile(r"[\"'«“”‘’„]\s?([^\W\d_]{4,})\s?[\"'»“”’]")
_LONG_WORD = re.compile(r"[a-z']{3,}")

Spoken = tuple[Clause, list[Statement]]


class Claim(NamedTuple):
    """The words that make a claim, where they stand, and, of courts, whether language or a short name is blamed."""

    words: str
    start: int
    end: int
    by_language: bool = False
    by_short_name: bool = False


class Claims:
    """The claims of one reasoning, each looked for when it is first asked for."""

    def __init__(
        self, case: CitationCase, cited: Cited, candidates: tuple[CandidateFacts, ...], answer: Answer, cues: Cues
    ) -> None:
        self._case, self._cited, self._candidates, self._answer, self._cues = case, cited, candidates, answer, cues
        self._written = (answer.reasoning or "")[:LONGEST]

    # --- the cited court said to be another ------------------------------------------------------------

    @lazy
    def court(self) -> Claim | None:
        """What is held against a court that is the cited one. The last word on the courts counts."""
        if not self._may_object or not any(candidate.alignment == "SAME" for candidate in self._candidates):
            return None
        claim, agreed = None, False
        for clause, said in self._said:
            stance = self._court_stance(clause, said)
            if stance == "same":
                claim, agreed = None, True
            elif stance == "other" or (stance == "unclear" and not agreed):
                claim = self._court_claim(clause, claim, unclear=stance == "unclear")
        return claim if claim or agreed else self._set_against_each_other()

    def _court_stance(self, clause: Clause, said: list[Statement]) -> str | None:
        """What one clause says of the cited court and that of the candidate: same, other, unclear or nothing."""
        if clause.link == "concession" or self._is_of_others(clause):
            return None
        if self._cited.classification == "GENERIC" and not _is_of_names(clause):
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
        if stances & _OTHER or (named and clause.says("who", "is_not") and not stances & (_SAME | _UNCLEAR)):
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
        clauses = self._sentence_of(clause)
        return any(
            item.stance == "costs" and not item.denied
            for spoken, said in self._said
            if spoken in clauses
            for item in said
        )

    def _is_of_others(self, clause: Clause) -> bool:
        """Whether a clause speaks of a candidate that is not of the cited court, or of a court of another kind."""
        if clause.says("who", "others") or (OTHER in clause.marks and FOUND not in clause.marks):
            return True
        if _NOT_THE[OTHER].search(clause.text):
            return True
        places = _places(clause)
        if places:
            return not any(self._is_right(place) for place in places) or self._names_another_kind(clause)
        only_right = all(candidate.alignment in ("SAME", "UNKNOWN") for candidate in self._candidates)
        if self._answer.matches and not only_right and not self._is_aimed(clause):
            return True
        return self._names_another_kind(clause)

    def _is_aimed(self, clause: Clause) -> bool:
        """Whether a clause, or one before it in its sentence, names the cited court or speaks of its name."""
        clauses = self._sentence_of(clause)
        return any(
            item.marks & {CITED, FOUND} or item.topic_names & _OF_NAMES for item in clauses[: clauses.index(clause) + 1]
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
        return any(head.target not in ("", cited) for head in _full_names(clause.text))

    @lazy
    def reads_short_name(self) -> bool:
        """Whether the reasoning writes a short name out, so that not the short form but the language misled it."""
        courts = [self._cited.court, *(item.named for item in self._candidates if item.alignment == "SAME")]
        tongues = {court.name_language for court in courts if isinstance(court, Court)}
        if len(tongues) < 2:
            return False
        ours, _ = self._short_and_other
        beside = written_beside(ours, kind_of(self._cited.court)).search(self._marked.lower())
        return beside is not None or any(self._writes_out(clause) for clause, _ in self._said)

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
        heads = {head.text: head.languages for head in _full_names(self._written) if head.target == cited}
        return len(heads) > 1 and bool(frozenset.intersection(*heads.values()))

    def _court_claim(self, clause: Clause, before: Claim | None, *, unclear: bool = False) -> Claim:
        """Where a court is called unclear and no name or language is spoken of, its name was not understood."""
        nameless = not any(
            item.marks & {CITED, FOUND} or "language" in item.topic_names
            for clauses in self._sentences
            for item in clauses
        )
        courts = [self._cited.court] if CITED in clause.marks else []
        if FOUND in clause.marks:
            courts += [item.named for item in self._candidates if item.alignment == "SAME"]
        written = [court for court in courts if isinstance(court, Court) and not court.abbreviated]
        tongues = {court.name_language for court in written if court.name_language}
        return self._claim(
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
        for clauses in self._sentences:
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
            any(_is_wanting(item) and item.topic in _ASIDE for item in said)
            or (clause.topic_names & _ASIDE and any(clause.says("who", name) for name in ("is_not", *_UNFOUND)))
            for clause, said in self._said
        )

    # --- what else is held against a match -------------------------------------------------------------

    @lazy
    def jurisdiction(self) -> Claim | None:
        """That it is held against a court that the citation names none of its kind."""
        if not self._may_object:
            return None
        said = list(self._statements(_PLACE_FIRST))
        if any(clause.says("stances", "all_fit") for clause, _ in said):
            said = [(clause, [item for item in items if item.stance in ("costs", "excused")]) for clause, items in said]
        return self._blame(said, "jurisdiction")

    @lazy
    def number(self) -> Claim | None:
        """That a match is marked down because the citation gives no number."""
        return self._blame(self._said, "number") if self._may_object else None

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
                bad = _is_against(item)
                if item.topic == topic or (topic == "jurisdiction" and self._is_open_court(clause, item)):
                    if item.stance in ("excused", "unrelated") or (item.stance == "costs" and item.denied):
                        return None
                    if bad and item.stance != "unknown" and not _is_ceiling(clause, item):
                        against = against or clause
                    elif bad or _is_lack(item):
                        unsure = unsure or clause
                    sure = not any(other.stance == "unknown" for other in statements)
                    accepted = accepted or (item.stance == "agree" and not item.denied and sure)
                elif bad and item.topic is not None:
                    elsewhere = True
        if against is None and not elsewhere and unsure is not None:
            blamed = not accepted if topic == "jurisdiction" else not self._answer.matches or self._says_more(unsure)
            against = unsure if blamed else None
        return self._claim(against) if against is not None else None

    def _is_open_court(self, clause: Clause, item: Statement) -> bool:
        """Whether it is the court of a citation without a jurisdiction that a clause speaks of, not its name."""
        return item.topic == "court" and self._cited.classification == "GENERIC" and not _is_of_names(clause)

    def _says_more(self, lacking: Clause) -> bool:
        """Whether a clause, or what is said of it, holds other words than that something is lacking."""
        clauses = self._sentence_of(lacking)
        if any(_names_ceiling(clause) for clause in clauses) or lacking.topic_names - {"number"}:
            return False
        told = [clause for clause in clauses if clause is lacking or not clause.topics]
        return any(word not in _neutral_words() for clause in told for word in _LONG_WORD.findall(clause.text))

    @lazy
    def words(self) -> Claim | None:
        """That shared words are the reason for the match, and nothing that the decision is about."""
        found = None
        for clause in (clause for clauses in self._sentences for clause in clauses):
            if "meaning" in clause.affirmed_topics and not clause.denies_examining:
                return None
            if found is None and clause.link != "concession":
                by_words = "words" in clause.affirmed_topics or self._quotes_a_shared_word(clause)
                found = clause if by_words else None
        return self._claim(found) if found is not None else None

    def _quotes_a_shared_word(self, clause: Clause) -> bool:
        """Whether a single word is quoted that stands in the snippet and in the decision that was taken."""
        quoted = [match[1].lower() for match in _QUOTED_WORD.finditer(self._written[clause.start : clause.end])]
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
        if not self._may_object:
            return None
        found = None
        for clause, statements in self._said:
            if self._is_of_others(clause) or self._passes_by_the_match(clause):
                continue
            said = {(item.stance, item.denied) for item in statements if item.topic == topic}
            if said & {("agree", False), ("differ", True), ("excused", False)}:
                return None
            is_another = topic == "number" and not said and clause.says("who", "is_not")
            if said & _OTHER or (is_another and topic in clause.topic_names):
                found = found or clause
        return self._claim(found) if found is not None else None

    def _passes_by_the_match(self, clause: Clause) -> bool:
        """Whether a clause, or the last before it in its sentence to name candidates, names others than the match."""
        clauses = self._sentence_of(clause)
        named = [places for item in clauses[: clauses.index(clause) + 1] if (places := _places(item))]
        top = self._answer.top
        listed = enumerate(self._case.candidates, 1)
        matched = {place for place, item in listed if top is not None and item.decision_id == top.candidate.id}
        return bool(named and matched) and not named[-1] & matched

    @lazy
    def _may_object(self) -> bool:
        """Whether the reasoning can hold anything against a match: one that is sure of it needs a word for that."""
        top = self._answer.matches[0] if self._answer.matches else None
        sure = top is not None and top.percent is not None and top.percent > _SURE
        return self._cues.written and (not sure or may_object(self._cues.text))

    # --- clauses and statements ------------------------------------------------------------------------

    @lazy
    def _marked(self) -> str:
        """The text, with the names of the case's courts, and for an open jurisdiction their places, as marks."""
        names = names_of(self._case, self._cited, self._candidates)
        folded = fold_letters(self._written)
        if not names:
            return folded
        return pattern_of(names).sub(lambda found: names[(found.lastindex or 1) - 1][1] * len(found[0]), folded)

    @lazy
    def _sentences(self) -> list[list[Clause]]:
        return sentences(self._marked)

    @lazy
    def _said(self) -> list[Spoken]:
        """Each clause with what it says and of what; of a court rather than of its place."""
        return list(self._statements(_COURT_FIRST))

    def _statements(self, first: Sequence[str]) -> Iterator[Spoken]:
        before: list[Spoken] = []
        for clauses in self._sentences:
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
        if top is None or top.percent is None or top.percent in _CEILINGS:
            return
        written = rf"(?<![\d.,/]){top.percent:g}(?![\d/]|[.,]\d)|0[.,]{top.percent:02g}(?!\d)"
        for match in re.finditer(written, clause.text):
            yield "costs", False, *match.span()

    def _sentence_of(self, clause: Clause) -> list[Clause]:
        return next(clauses for clauses in self._sentences if clause in clauses)

    def _claim(self, clause: Clause, *, by_language: bool = False, by_short_name: bool = False) -> Claim:
        text = self._written[clause.start : clause.end]
        start = clause.start + len(text) - len(text.lstrip(" ,"))
        end = clause.start + len(text.rstrip(" ,"))
        return Claim(" ".join(self._written[start:end].split()), start, end, by_language, by_short_name)


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
        wanting = [item.topic for _, said in earlier[:_REMEMBERED] for item in reversed(said) if _is_wanting(item)]
        return wanting[0] if wanting else last if stance == "excused" else None
    return last if pattern("who", "back").match(opening) else None


def _last_wanting(clause: Clause, said: Sequence[Statement]) -> str:
    """The last thing that a clause names and does not approve of; where it approves of all, the last of all."""
    approved = {item.topic for item in said if item.stance in ("agree", "known") and not item.denied}
    wanting = {item.topic for item in said if _is_wanting(item)}
    names = [name for name, *_ in clause.topics]
    return next((name for name in reversed(names) if name in wanting or name not in approved), names[-1])


def _is_against(item: Statement) -> bool:
    if item.stance in ("differ", "unknown", "costs"):
        return not item.denied
    return item.stance == "agree" and item.denied


def _is_lack(item: Statement) -> bool:
    return (item.stance == "lack" and not item.denied) or (item.stance in ("given", "known") and item.denied)


def _is_wanting(item: Statement) -> bool:
    return item.topic is not None and (_is_against(item) or _is_lack(item))


@cache
def _ordinal() -> re.Pattern[str]:
    """The first, second or third of the list, where a noun for a decision or a verb shows that it is one of them."""
    links = table("claims")["links"]
    behind = "|".join((*links["candidate"], "decision", "beslissing", "one", *links["singular"]))
    counted = "|".join(f"({'|'.join(words)})" for words in links["ordinals"])
    return re.compile(rf"(?<![a-z])(?:the|le|la|de|der|het|die)\s(?:{counted})(?=,|\s(?:{behind})(?![a-z]))")


def _places(clause: Clause) -> set[int]:
    """The candidates that a clause names by their places in the list: candidate 2, the second."""
    counted = {match.lastindex or 0 for match in _ordinal().finditer(clause.text)}
    return counted | {int(place) for place in _NUMBERED.findall(clause.text)}


def _is_of_names(clause: Clause) -> bool:
    """Whether a clause speaks of a name: of that of a candidate, of a language or of a short form."""
    return FOUND in clause.marks or bool(clause.topic_names & _OF_NAMES)


def _is_ceiling(clause: Clause, item: Statement) -> bool:
    """Whether a clause only names the limit that the rubric itself sets."""
    return item.stance == "costs" and _names_ceiling(clause)


def _names_ceiling(clause: Clause) -> bool:
    limited = any(f"{limit}" in clause.text for limit in _CEILINGS)
    return limited and pattern("marks", "limit").search(clause.text) is not None


@cache
def _neutral_words() -> frozenset[str]:
    return frozenset(table("claims")["neutral"]["words"])


def _tongues(clause: Clause) -> set[str]:
    """The languages that a clause names."""
    said = [clause.text[start:end] for name, start, end in clause.topics if name == "language"]
    french = {"fr" for word in said if word.startswith(("fr", "wa"))}
    return french | {"nl" for word in said if word.startswith(_DUTCH)}


def _full_names(text: str) -> Iterator[Head]:
    """The names of courts that a text writes out."""
    sentence = words(text)
    at = 0
    while at < len(sentence):
        found = gazetteer().heads.longest(sentence, at)
        if found is not None and not found[0].abbreviated:
            yield found[0]
        at += found[1] if found is not None else 1
