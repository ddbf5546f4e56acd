"""Finds the facts of a case, which need no opinion: citation, candidates, answer, and the truth if code decides it."""

from __future__ import annotations

import re
from typing import NamedTuple, overload

from krino.judges.citation.belgium.dates import find_dates
from krino.judges.citation.belgium.ecli import ECLI_IN_TEXT, key_of
from krino.judges.citation.belgium.topics import topic_match
from krino.judges.citation.case import CitationCase
from krino.judges.citation.options import WhoReads
from krino.judges.citation.reasoning.cues import Cues, read_reasoning
from krino.judges.citation.reasoning.objections import Objections
from krino.judges.citation.scoring.candidates import (
    CandidateFacts,
    Cited,
    MatcherAnswer,
    merge_duplicates,
    read_cited,
    read_matcher_answer,
    study_candidates,
)
from krino.judges.citation.scoring.truth import (
    CandidatePool,
    Listed,
    Truth,
    decide_by_code,
    find_closest_carriers,
    keep_cited_division,
)

_LONGEST_GAP = 60
"""Characters between two marks of one citation: Cass., 3 mai 2010, C.09.0123.F."""
_SENTENCE_END = re.compile(r"[.;!?]\s+(?=[A-ZÀ-Þ(\"«])")
_FEWEST_LETTERS = 25
"""Letters that a text needs to say what a decision is about."""


class _Mark(NamedTuple):
    """A date, number or ECLI in a snippet; `is_cited`: it is that of the cited decision."""

    start: int
    end: int
    is_cited: bool


@overload
def find_text_about_citation(snippet: str, cited: Cited) -> str: ...


@overload
def find_text_about_citation(snippet: str | None, cited: Cited) -> str | None: ...


def find_text_about_citation(snippet: str | None, cited: Cited) -> str | None:
    """Returns the part of a snippet that is about the cited decision; all of it if the snippet cites only one."""
    if snippet is None:
        return None
    citations = _find_citations(snippet, cited)
    if len(citations) < 2 or not any(citation.is_cited for citation in citations):
        return snippet
    # Texts either name a subject and then cite, or cite and then explain: its opening shows which.
    explains_after = _count_letters(snippet[: citations[0].start]) < _FEWEST_LETTERS
    ends = [0, *(citation.end for citation in citations)]
    starts = [*(citation.start for citation in citations), len(snippet)]
    parts = []
    for place, citation in enumerate(citations):
        if citation.is_cited and explains_after:
            parts.append(snippet[citation.end : starts[place + 1]])
        elif citation.is_cited:
            parts.append(_last_sentence(snippet[ends[place] : citation.start]))
    beside = " ".join(parts)
    return beside if _count_letters(beside) >= _FEWEST_LETTERS else snippet


def _find_citations(snippet: str, cited: Cited) -> list[_Mark]:
    """Returns the citations in a snippet, each a mark from the first to the last of its date, number and ECLI."""
    found: list[_Mark] = []
    for mark in sorted(_find_marks(snippet, cited)):
        if (
            found
            and mark.start - found[-1].end < _LONGEST_GAP
            and not _separates_citations(snippet[found[-1].end : mark.start])
        ):
            last = found.pop()
            mark = _Mark(last.start, max(last.end, mark.end), last.is_cited or mark.is_cited)
        found.append(mark)
    return found


def _find_marks(snippet: str, cited: Cited) -> list[_Mark]:
    """Returns the places in a snippet that may name the cited decision: dates, ECLIs and case numbers."""
    dates = [_Mark(day.start, day.end, day.date == cited.date) for day in find_dates(snippet)]
    eclis = [_Mark(*match.span(), key_of(match[0].upper()) == cited.key) for match in ECLI_IN_TEXT.finditer(snippet)]
    numbers = []
    if cited.number and len(cited.number) > 3:
        numbers = [_Mark(*match.span(), True) for match in re.finditer(re.escape(cited.number), snippet)]
    return [*dates, *eclis, *numbers]


def _separates_citations(between: str) -> bool:
    """Does the text between two marks separate two citations?"""
    return ";" in between or _SENTENCE_END.search(between) is not None or _count_letters(between) >= _FEWEST_LETTERS


def _last_sentence(text: str) -> str:
    """Returns the last sentence; a piece too short to be one is joined to the one before it."""
    pieces = _SENTENCE_END.split(text)
    while len(pieces) > 1 and _count_letters(pieces[-1]) < _FEWEST_LETTERS:
        pieces[-2:] = [f"{pieces[-2]} {pieces[-1]}"]
    return pieces[-1]


def _count_letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


MOST_SHOWN = 24
LONGEST_TEXT = 2_000
LONGEST_SNIPPET = 4_000
"""Characters of a candidate's texts, and of the snippet, that a labeller is shown."""


class CitationFacts(NamedTuple):
    """What code knows of a case.

    `candidates`: each decision once, sorted, with unlisted matches where the list was not kept. `complete`: every
    candidate is listed. `eligible`: those that can be the cited decision by court, division and date. `carriers`: those
    of them with the cited case number. `shown`: those that a labeller is shown, numbered from 1.
    """

    case: CitationCase
    cited: Cited
    candidates: tuple[CandidateFacts, ...]
    duplicates: tuple[str, ...]
    complete: bool
    answer: MatcherAnswer
    cues: Cues
    objections: Objections
    truth: Truth
    eligible: tuple[CandidateFacts, ...]
    carriers: tuple[CandidateFacts, ...]
    shown: tuple[CandidateFacts, ...]
    who_reads: WhoReads = "open"
    other_division: tuple[CandidateFacts, ...] = ()
    """Those of the cited court and date that are left out because the citation names another division."""

    @property
    def number_carried(self) -> bool:
        """Does a candidate that can be meant carry the cited number?"""
        return bool(self.carriers)


def study(case: CitationCase, who_reads: WhoReads = "open") -> CitationFacts:
    """Computes every fact of a case that needs no opinion."""
    cited = read_cited(case)
    candidates, duplicates = merge_duplicates(study_candidates(case.candidates, cited))
    answer = read_matcher_answer(case, cited, candidates)
    complete = case.candidate_count is None or case.candidate_count <= len(case.candidates)
    unlisted = {match.candidate.key: match.candidate for match in answer.matches if not match.candidate.listed}
    if unlisted:
        # With a whole list, an unlisted match counts only if it has the cited ECLI.
        candidates += tuple(item for key, item in unlisted.items() if not complete or key == cited.key)
    aligned = tuple(candidate for candidate in candidates if candidate.eligible)
    carriers = keep_cited_division(cited.court, find_closest_carriers(aligned))
    eligible = keep_cited_division(cited.court, aligned)
    counted: Listed = "all" if complete else "one" if case.candidate_count == 1 else "some"
    cues = read_reasoning(answer.reasoning)
    truth = decide_by_code(
        case, cited, CandidatePool(candidates, eligible, carriers, counted, not complete and cues.claims_ecli_match)
    )
    if truth.signal == "given" and truth.candidate is not None:
        truth = _with_context_strength(case, cited, truth, eligible)
    return CitationFacts(
        case=case,
        cited=cited,
        candidates=candidates,
        duplicates=duplicates,
        complete=complete,
        answer=answer,
        cues=cues,
        objections=Objections(case, cited, candidates, answer, cues),
        truth=truth,
        eligible=eligible,
        carriers=carriers,
        shown=_choose_shown(case, cited, truth) if truth.open else (),
        who_reads=who_reads,
        other_division=tuple(item for item in aligned if item not in eligible) if len(eligible) < len(aligned) else (),
    )


def _with_context_strength(case: CitationCase, cited: Cited, truth: Truth, pool: tuple[CandidateFacts, ...]) -> Truth:
    """Adds to a given truth how strongly the snippet supports it: the confidence expected depends on that."""
    about = find_text_about_citation(case.citation_snippet, cited)
    if about is None or truth.candidate not in pool or truth.candidate.carries_number:
        return truth
    found = topic_match(about, [candidate.texts for candidate in pool])
    points_there = found.index is not None and pool[found.index] == truth.candidate
    return truth._replace(strength=found.strength if points_there else "none")


def _choose_shown(case: CitationCase, cited: Cited, truth: Truth) -> tuple[CandidateFacts, ...]:
    """Returns the contenders whose texts can be compared with the snippet, none if there is no snippet.

    Of many, those that share the most words with it.
    """
    if case.citation_snippet is None:
        return ()
    contenders = [contender for contender in truth.contenders if contender.texts]
    if len(contenders) <= MOST_SHOWN:
        return tuple(contenders)
    scores = topic_match(
        find_text_about_citation(case.citation_snippet, cited), [contender.texts for contender in contenders]
    ).scores
    ranked = sorted(range(len(contenders)), key=lambda place: -scores[place])[:MOST_SHOWN]
    return tuple(contenders[place] for place in sorted(ranked))


def shown_text(candidate: CandidateFacts) -> str:
    """What a labeller is shown of a candidate, and so what it may quote."""
    return full_text(candidate)[:LONGEST_TEXT]


def full_text(candidate: CandidateFacts) -> str:
    """Returns all texts of a candidate, one below the other; `shown_text` is the part that a labeller is shown."""
    return "\n".join(candidate.texts)
