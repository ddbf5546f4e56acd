"""What a reasoning claims about courts and missing numbers, clause by clause, held against what is true of the case.

A word decides nothing by itself: "the others are not penalised" holds the word and denies it, "different languages, but
the same court" ends where it does. So each clause is read with its denials, with the courts that it names, and the last
word on a matter counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from krino.judges.citation.belgium.courts import Court, CourtRef, Other
from krino.judges.citation.belgium.gazetteer import Head, gazetteer, plain_words, words
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.cues import Sentence, says_court_absent, speaks_of

_REACH = {"denial": 28, "lack": 14}
"""Letters over which a denial reaches forward: "not" a whole phrase, "without" only what is lacking."""
_TONGUES = ("tongue", "french", "dutch")
_ASIDE = ("number", "context", "date", "ecli")


class CourtClaims(NamedTuple):
    """Whether the cited court is said to be another than the one it is, and what the name is blamed for."""

    mistaken: bool = False
    by_language: bool = False
    by_short_name: bool = False


NO_CLAIM = CourtClaims()


@cache
def _pattern(name: str) -> re.Pattern[str]:
    forms = "|".join(table("cues")["claims"][name])
    return re.compile(rf"(?<![a-z0-9])(?:{forms})")


@cache
def _denial() -> re.Pattern[str]:
    lists = table("cues")["claims"]
    reaching = (rf"(?:{'|'.join(lists[name])})(?![a-z])[^,;:.]{{0,{reach}}}$" for name, reach in _REACH.items())
    return re.compile(rf"(?:(?<![a-z])|(?<=n))(?:{'|'.join(reaching)})")


@cache
def _turns() -> re.Pattern[str]:
    forms = "|".join(table("cues")["claims"]["turns"])
    return re.compile(rf"(?<![a-z])(?:{forms})(?![a-z])|[:;()]")


def says(name: str, text: str) -> bool:
    return _pattern(name).search(text) is not None


def affirms(name: str, text: str) -> bool:
    """Whether one of the words stands there without a denial before it."""
    return any(not _denial().search(text, 0, found.start()) for found in _pattern(name).finditer(text))


def denies(name: str, text: str) -> bool:
    return any(_denial().search(text, 0, found.start()) for found in _pattern(name).finditer(text))


def clauses(sentence: str) -> list[str]:
    """A sentence parted where its sense may turn."""
    return [clause for clause in _turns().split(sentence) if clause.strip()]


# --- courts ----------------------------------------------------------------------------------------


def court_claims(facts: CitationFacts) -> CourtClaims:
    """What the reasoning holds against a court that is the cited one. The last claim about the courts counts."""
    text = facts.cues.text
    if not (says("differ", text) or says("unknown", text) or denies("same", text) or says_court_absent(text)):
        return NO_CLAIM
    if not any(candidate.alignment == "SAME" for candidate in facts.candidates):
        return NO_CLAIM
    last = NO_CLAIM
    for sentence in facts.cues.sentences:
        for clause in clauses(sentence.text):
            found = _claim(clause, sentence, facts)
            last = found if found is not None else last
    return last


def _claim(clause: str, sentence: Sentence, facts: CitationFacts) -> CourtClaims | None:
    """What one clause says about the courts; None where it says nothing about them."""
    named = _named(clause, facts)
    tongue = says("tongue", clause) or (says("french", clause) and says("dutch", clause))
    short = says("short_name", clause)
    if not (named or tongue or short or speaks_of("court", clause)):
        return None
    if says("unknown", clause) and not affirms("same", clause) and not _is_aside(clause):
        return CourtClaims(True, by_language=tongue, by_short_name=not tongue)
    kinds = {_kind(court) for court in named}
    two_of_a_kind = len(named) > 1 and len(kinds) < len(named)
    if len(kinds) > 1 and not two_of_a_kind:
        return None
    differ = denies("same", clause) or affirms("differ", clause) or says_court_absent(clause)
    same = affirms("same", clause) or denies("differ", clause)
    if same:
        return None if _is_aside(clause) else NO_CLAIM
    if not differ:
        return None
    if not two_of_a_kind and (_is_aside(clause) or not _calls_the_right_court_wrong(facts)):
        return None
    languages = {court.name_language for court in named if isinstance(court, Court) and court.name_language}
    by_language = tongue or len(languages) > 1 or any(says(name, sentence.text) for name in _TONGUES)
    return CourtClaims(True, by_language, by_short_name=short)


def _is_aside(clause: str) -> bool:
    """Whether a clause is about numbers, contents or dates rather than about the courts."""
    return any(speaks_of(aspect, clause) for aspect in _ASIDE)


def _calls_the_right_court_wrong(facts: CitationFacts) -> bool:
    """Whether a claim that courts differ must be aimed at a court that is the cited one."""
    if not facts.answer.matches:
        return True
    return all(candidate.alignment in ("SAME", "UNKNOWN") for candidate in facts.candidates)


def _named(clause: str, facts: CitationFacts) -> list[CourtRef]:
    """The courts that a clause names in full, and those it names as the citation or a candidate does."""
    sentence = words(clause)
    own = _own_names(facts)
    found: list[CourtRef] = []
    at = 0
    while at < len(sentence):
        head = gazetteer().heads.longest(sentence, at)
        if head is not None and (not head[0].abbreviated or tuple(sentence[at : at + head[1]]) in own):
            found.append(_court_of(head[0]))
            at += head[1]
        else:
            at += 1
    return found


def _own_names(facts: CitationFacts) -> set[tuple[str, ...]]:
    """The aliases by which the citation and the candidates name their courts."""
    courts: Iterable[CourtRef] = (facts.cited.court, *(candidate.named for candidate in facts.candidates))
    return {plain_words(court.alias) for court in courts if isinstance(court, Court | Other)}


def _court_of(head: Head) -> CourtRef:
    if head.kind != "court":
        return Other(head.target, head.text)
    language = next(iter(head.languages)) if len(head.languages) == 1 else None
    return Court(head.target, None, None, None, "GENERIC", (), head.text, language, head.abbreviated)


def _kind(court: CourtRef) -> str:
    return court.type if isinstance(court, Court) else court.body if isinstance(court, Other) else ""


# --- jurisdiction and number -----------------------------------------------------------------------


def blames_open_jurisdiction(facts: CitationFacts) -> bool:
    """Whether it is held against a court that the citation names none of its kind."""
    text = facts.cues.text
    if not says("which_court", text):
        return False
    sentences, all_fit = facts.cues.sentences, affirms("all_fit", text)
    for place, sentence in enumerate(sentences):
        if not says("which_court", sentence.text):
            continue
        after = sentences[place + 1].text if place + 1 < len(sentences) else ""
        if affirms("costs", sentence.text) or (says("not_said", sentence.text) and not all_fit):
            return True
        if (
            not all_fit
            and affirms("costs", after)
            and not any(speaks_of(aspect, after) for aspect in ("number", "context"))
        ):
            return True
    return False


def blames_missing_number(facts: CitationFacts) -> bool:
    """Whether a match is marked down because the citation gives no number."""
    sentences = facts.cues.sentences
    for place, sentence in enumerate(sentences):
        if not facts.cues.lacks_a_number(sentence):
            continue
        after = sentences[place + 1] if place + 1 < len(sentences) else None
        said = [sentence.text] + ([after.text] if after is not None and not after.mentions else [])
        if any(affirms("costs", text) and not facts.cues.is_rightful_cap(text) for text in said):
            return True
    return False
