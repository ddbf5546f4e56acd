"""The facts of a case, which need no opinion: citation, candidates, answer, and the truth as far as code decides it."""

from __future__ import annotations

import re
from typing import NamedTuple, overload

from krino.judges.citation.belgium.dates import find_dates
from krino.judges.citation.belgium.ecli import key_of
from krino.judges.citation.belgium.topics import topic_match
from krino.judges.citation.case import CitationCase
from krino.judges.citation.options import WhoReads
from krino.judges.citation.reasoning.cues import Cues, read_reasoning
from krino.judges.citation.reasoning.objections import Objections
from krino.judges.citation.scoring.candidates import (
    Answer,
    CandidateFacts,
    Cited,
    merge_duplicates,
    read_answer,
    read_cited,
    study_candidates,
)
from krino.judges.citation.scoring.truth import Field, Listed, Truth, best_carriers, keep_cited_division, truth_by_code

_ECLI = re.compile(r"ECLI:[A-Z]{2}:[A-Z0-9]{1,7}:\d{4}:[A-Z0-9.]+[A-Z0-9]", re.IGNORECASE)
_ONE_CITATION = 60
"""Marks that stand closer than this belong to one citation: Cass., 3 mai 2010, C.09.0123.F."""
_SENTENCE_END = re.compile(r"[.;!?]\s+(?=[A-ZÀ-Þ(\"«])")
_ENOUGH = 25
"""Letters that are needed before a text says what a decision is about."""


class _Mark(NamedTuple):
    start: int
    end: int
    is_cited: bool


@overload
def about_the_cited(snippet: str, cited: Cited) -> str: ...


@overload
def about_the_cited(snippet: str | None, cited: Cited) -> str | None: ...


def about_the_cited(snippet: str | None, cited: Cited) -> str | None:
    """The part of a snippet beside the cited date, number or ECLI; all of it if only one decision is cited."""
    if snippet is None:
        return None
    citations = _citations(snippet, cited)
    if len(citations) < 2 or not any(citation.is_cited for citation in citations):
        return snippet
    # Texts either name a subject and then cite, or cite and then explain: what opens the snippet tells which.
    explains_after = _letters(snippet[: citations[0].start]) < _ENOUGH
    ends = [0, *(citation.end for citation in citations)]
    starts = [*(citation.start for citation in citations), len(snippet)]
    parts = []
    for place, citation in enumerate(citations):
        if citation.is_cited and explains_after:
            parts.append(snippet[citation.end : starts[place + 1]])
        elif citation.is_cited:
            parts.append(_last_sentence(snippet[ends[place] : citation.start]))
    beside = " ".join(parts)
    return beside if _letters(beside) >= _ENOUGH else snippet


def _citations(snippet: str, cited: Cited) -> list[_Mark]:
    """The decisions that a snippet cites, each with the stretch of text that its date, number and ECLI take."""
    found: list[_Mark] = []
    for mark in sorted(_marks(snippet, cited)):
        if found and mark.start - found[-1].end < _ONE_CITATION and not _parts(snippet[found[-1].end : mark.start]):
            last = found.pop()
            mark = _Mark(last.start, max(last.end, mark.end), last.is_cited or mark.is_cited)
        found.append(mark)
    return found


def _marks(snippet: str, cited: Cited) -> list[_Mark]:
    dates = [_Mark(day.start, day.end, day.date == cited.date) for day in find_dates(snippet)]
    eclis = [_Mark(*match.span(), key_of(match[0].upper()) == cited.key) for match in _ECLI.finditer(snippet)]
    numbers = []
    if cited.number and len(cited.number) > 3:
        numbers = [_Mark(*match.span(), True) for match in re.finditer(re.escape(cited.number), snippet)]
    return [*dates, *eclis, *numbers]


def _parts(between: str) -> bool:
    """Does the text between two marks separate two citations?"""
    return ";" in between or _SENTENCE_END.search(between) is not None or _letters(between) >= _ENOUGH


def _last_sentence(text: str) -> str:
    pieces = _SENTENCE_END.split(text)
    while len(pieces) > 1 and _letters(pieces[-1]) < _ENOUGH:
        pieces[-2:] = [f"{pieces[-2]} {pieces[-1]}"]
    return pieces[-1]


def _letters(text: str) -> int:
    return sum(character.isalpha() for character in text)


MOST_SHOWN = 24
LONGEST_TEXT = 2_000
LONGEST_SNIPPET = 4_000
"""Characters of a candidate's texts, and of the snippet, that a labeller is shown."""


class CitationFacts(NamedTuple):
    """`candidates` holds each decision once, in an order of its own, unlisted matches of a fast path included.

    `complete`: every candidate is listed; `in_play`: those that court, division and date allow to be meant;
    `carriers`: those of the court and date with the cited case number; `shown`: the contenders a labeller is shown,
    numbered from 1.
    """

    case: CitationCase
    cited: Cited
    candidates: tuple[CandidateFacts, ...]
    duplicates: tuple[str, ...]
    complete: bool
    answer: Answer
    cues: Cues
    objections: Objections
    truth: Truth
    in_play: tuple[CandidateFacts, ...]
    carriers: tuple[CandidateFacts, ...]
    shown: tuple[CandidateFacts, ...]
    who_reads: WhoReads = "open"
    other_division: tuple[CandidateFacts, ...] = ()
    """Those of the cited court and date that another division than the cited one rules out."""

    @property
    def number_carried(self) -> bool:
        return bool(self.carriers)


def study(case: CitationCase, who_reads: WhoReads = "open") -> CitationFacts:
    cited = read_cited(case)
    candidates, duplicates = merge_duplicates(study_candidates(case.candidates, cited))
    answer = read_answer(case, cited, candidates)
    complete = case.candidate_count is None or case.candidate_count <= len(case.candidates)
    unlisted = {match.candidate.key: match.candidate for match in answer.matches if not match.candidate.listed}
    if unlisted:
        # Without the list the match must speak for itself; with it, only the cited ECLI can vouch for a stranger.
        candidates += tuple(item for key, item in unlisted.items() if not complete or key == cited.key)
    aligned = tuple(candidate for candidate in candidates if candidate.in_play)
    carriers = keep_cited_division(cited.court, best_carriers(aligned))
    in_play = keep_cited_division(cited.court, aligned)
    counted: Listed = "all" if complete else "one" if case.candidate_count == 1 else "some"
    cues = read_reasoning(answer.reasoning)
    truth = truth_by_code(
        case, cited, Field(candidates, in_play, carriers, counted, not complete and cues.claims_ecli_match)
    )
    if truth.signal == "given" and truth.candidate is not None:
        truth = _supported(case, cited, truth, in_play)
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
        in_play=in_play,
        carriers=carriers,
        shown=_shown(case, cited, truth) if truth.open else (),
        who_reads=who_reads,
        other_division=tuple(item for item in aligned if item not in in_play) if len(in_play) < len(aligned) else (),
    )


def _supported(case: CitationCase, cited: Cited, truth: Truth, pool: tuple[CandidateFacts, ...]) -> Truth:
    """A truth that was given, with how strongly the snippet points to it: its confidence must still be earned."""
    about = about_the_cited(case.citation_snippet, cited)
    if about is None or truth.candidate not in pool or truth.candidate.carries_number:
        return truth
    found = topic_match(about, [candidate.texts for candidate in pool])
    points_there = found.index is not None and pool[found.index] == truth.candidate
    return truth._replace(strength=found.strength if points_there else "none")


def _shown(case: CitationCase, cited: Cited, truth: Truth) -> tuple[CandidateFacts, ...]:
    """The contenders whose texts can be compared with the snippet; of many, those that share most words with it."""
    if case.citation_snippet is None:
        return ()
    contenders = [contender for contender in truth.contenders if contender.texts]
    if len(contenders) <= MOST_SHOWN:
        return tuple(contenders)
    scores = topic_match(
        about_the_cited(case.citation_snippet, cited), [contender.texts for contender in contenders]
    ).scores
    ranked = sorted(range(len(contenders)), key=lambda place: -scores[place])[:MOST_SHOWN]
    return tuple(contenders[place] for place in sorted(ranked))


def shown_text(candidate: CandidateFacts) -> str:
    """What a labeller reads of a candidate, and so what may be quoted."""
    return full_text(candidate)[:LONGEST_TEXT]


def full_text(candidate: CandidateFacts) -> str:
    return "\n".join(candidate.texts)
