"""Everything about a case that needs no opinion: citation, candidates, answer, reasoning cues, the truth."""

from __future__ import annotations

from typing import NamedTuple

from krino.judges.citation.answer import Answer, read_answer
from krino.judges.citation.candidates import CandidateFacts, distinct, study_candidates
from krino.judges.citation.case import CitationCase
from krino.judges.citation.cited import Cited, read_cited
from krino.judges.citation.options import WhoReads
from krino.judges.citation.reasoning import Cues, read_reasoning
from krino.judges.citation.snippet import about_the_cited
from krino.judges.citation.topics import topic_match
from krino.judges.citation.truth import Field, Listed, Truth, best_carriers, truth_by_code

MOST_SHOWN = 24
_LONGEST_TEXT = 2_000


class CitationFacts(NamedTuple):
    """`candidates` holds each decision once, in an order of its own, unlisted matches of a fast path included.

    `complete`: every candidate is listed; `in_play`: those that court and date allow to be meant; `carriers`: those of
    them with the cited case number; `shown`: the contenders a labeller is shown, numbered from 1.
    """

    case: CitationCase
    cited: Cited
    candidates: tuple[CandidateFacts, ...]
    duplicates: tuple[str, ...]
    complete: bool
    answer: Answer
    cues: Cues
    truth: Truth
    in_play: tuple[CandidateFacts, ...]
    carriers: tuple[CandidateFacts, ...]
    shown: tuple[CandidateFacts, ...]
    who_reads: WhoReads = "open"
    about: str | None = None
    """What the snippet says about the cited decision, where it cites several."""

    @property
    def number_carried(self) -> bool:
        return bool(self.carriers)


def study(case: CitationCase, who_reads: WhoReads = "open") -> CitationFacts:
    cited = read_cited(case)
    candidates, duplicates = distinct(study_candidates(case.candidates, cited))
    answer = read_answer(case, cited, candidates)
    complete = case.candidate_count is None or case.candidate_count <= len(case.candidates)
    unlisted = {match.candidate.key: match.candidate for match in answer.matches if not match.candidate.listed}
    if unlisted:
        # Without the list the match must speak for itself; with it, only the cited ECLI can vouch for a stranger.
        candidates += tuple(item for key, item in unlisted.items() if not complete or key == cited.key)
    in_play = tuple(candidate for candidate in candidates if candidate.in_play)
    carriers = best_carriers(in_play)
    counted: Listed = "all" if complete else "one" if case.candidate_count == 1 else "some"
    cues = read_reasoning(answer.reasoning)
    truth = truth_by_code(case, cited, Field(candidates, in_play, carriers, counted, cues.claims_ecli_match))
    about = about_the_cited(case.citation_snippet, cited) if case.citation_snippet else None
    if truth.signal == "given" and truth.candidate is not None:
        truth = _supported(about, truth, in_play)
    return CitationFacts(
        case=case,
        cited=cited,
        candidates=candidates,
        duplicates=duplicates,
        complete=complete,
        answer=answer,
        cues=cues,
        truth=truth,
        in_play=in_play,
        carriers=carriers,
        shown=_shown(about, truth) if truth.open else (),
        who_reads=who_reads,
        about=about,
    )


def _supported(about: str | None, truth: Truth, pool: tuple[CandidateFacts, ...]) -> Truth:
    """A truth that was given, with how strongly the snippet points to it: its confidence must still be earned."""
    if about is None or truth.candidate not in pool or truth.candidate.carries_number:
        return truth
    found = topic_match(about, [candidate.texts for candidate in pool])
    points_there = found.index is not None and pool[found.index] == truth.candidate
    return truth._replace(strength=found.strength if points_there else "none")


def _shown(about: str | None, truth: Truth) -> tuple[CandidateFacts, ...]:
    """The contenders whose texts can be held against the snippet; of very many, the likeliest by their words."""
    if about is None:
        return ()
    contenders = [contender for contender in truth.contenders if contender.texts]
    if len(contenders) <= MOST_SHOWN:
        return tuple(contenders)
    scores = topic_match(about, [contender.texts for contender in contenders]).scores
    ranked = sorted(range(len(contenders)), key=lambda place: -scores[place])[:MOST_SHOWN]
    return tuple(contenders[place] for place in sorted(ranked))


def shown_text(candidate: CandidateFacts) -> str:
    """What a labeller reads of a candidate, and so what may be quoted."""
    return "\n".join(candidate.texts)[:_LONGEST_TEXT]
