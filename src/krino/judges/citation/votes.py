"""Joins the labels of several labellers, and shuffles candidates to test whether their order matters."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from krino.contract import Joined, Reordered
from krino.contract.joining import canonical_labels, leaders, spell
from krino.errors import CannotJudge
from krino.judges.citation.belgium.topics import Strength
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.labels import CitationLabels, Reasoning, Subject, YesNo
from krino.judges.citation.local import reasoning_by_words
from krino.judges.citation.scoring.outcome import score_answer
from krino.judges.citation.verdict import RIGHT
from krino.judges.shuffling import shuffled

_WEAKEST_FIRST: tuple[Strength, ...] = ("none", "weak", "moderate", "strong")
_NOBODY = Subject(candidate=None, strength="none", quote=None)


def reorder(
    case: CitationCase, facts: CitationFacts, draw: Random
) -> Reordered[CitationCase, CitationFacts, CitationLabels] | None:
    """Shuffles and renumbers the shown candidates; None if there are fewer than two.

    The result also holds what turns labels back to the original numbers.
    """
    order = shuffled(len(facts.shown), draw)
    if order is None:
        return None

    def restore(labels: CitationLabels) -> CitationLabels:
        """Returns labels with the candidate's number in the original order."""
        if labels.subject.candidate is None:
            return labels
        subject = labels.subject.model_copy(update={"candidate": order[labels.subject.candidate - 1]})
        return labels.model_copy(update={"subject": subject})

    shown = tuple(facts.shown[number - 1] for number in order)
    return Reordered(case, facts._replace(shown=shown), order, restore)


def join_votes(facts: CitationFacts, ballots: Sequence[CitationLabels]) -> Joined[CitationLabels]:
    """Joins the labels by majority.

    Raises `CannotJudge` if a tie would make an answer right that all tied seats call wrong.
    """
    ties: list[str] = []
    _refuse_lenient_tie(facts, ballots)
    subject = _join_subjects([ballot.subject for ballot in ballots], ties)
    by_words = reasoning_by_words(facts)
    answers = {
        name: _join_answers(
            name, [getattr(ballot.reasoning, name) for ballot in ballots], getattr(by_words, name), ties
        )
        for name in Reasoning.model_fields
    }
    return Joined(CitationLabels(subject=subject, reasoning=Reasoning(**answers)), tuple(ties))


def _refuse_lenient_tie(facts: CitationFacts, ballots: Sequence[CitationLabels]) -> None:
    """Refuses a tie between different candidates if all tied seats agree that the matcher's answer is wrong.

    Without a candidate it would count as right.
    """
    candidates = [ballot.subject.candidate for ballot in ballots]
    best = leaders(candidates)
    if len(best) == 1:
        return
    tied = [ballot for ballot in ballots if ballot.subject.candidate in best]
    nobody = ballots[0].model_copy(update={"subject": _NOBODY})
    if _is_right(facts, nobody) and not any(_is_right(facts, ballot) for ballot in tied):
        raise CannotJudge(
            f"the seats are evenly split: subject.candidate: {spell(candidates)}; all call the answer wrong, but not "
            "for the same decision"
        )


def _is_right(facts: CitationFacts, labels: CitationLabels) -> bool:
    return score_answer(facts, labels).correctness in RIGHT


def _join_subjects(votes: Sequence[Subject], ties: list[str]) -> Subject:
    """Returns the candidate that most seats chose; strength and quotation come only from seats that chose it.

    A tie gives no candidate, and is noted in `ties`.
    """
    candidates = [vote.candidate for vote in votes]
    best = leaders(candidates)
    if len(best) > 1:
        ties.append(f"subject.candidate: {spell(candidates)}; taken as null")
        return _NOBODY
    chosen = [vote for vote in votes if vote.candidate == best[0]]
    strengths = [vote.strength for vote in chosen]
    strongest = leaders(strengths)
    strength = min(strongest, key=_WEAKEST_FIRST.index)
    if len(strongest) > 1:
        ties.append(f"subject.strength: {spell(strengths)}; taken as {strength}")
    return min((vote for vote in chosen if vote.strength == strength), key=canonical_labels)


def _join_answers(name: str, votes: Sequence[YesNo], by_words: YesNo, ties: list[str]) -> YesNo:
    """Returns the answer of most seats to one question.

    A tie is noted in `ties` and decided by the words, as in a case that no labeller is asked about.
    """
    answers = [vote.yes for vote in votes]
    best = leaders(answers)
    if len(best) > 1:
        ties.append(f"reasoning.{name}: {spell(answers)}; read by its words as {str(by_words.yes).lower()}")
        return by_words
    return min((vote for vote in votes if vote.yes == best[0]), key=canonical_labels)
