"""Writes the notes and suggestions of a verdict: what decided, how good the answer is, what to do better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from krino.judges.citation import table
from krino.judges.citation.belgium import table as belgian_table
from krino.judges.citation.belgium.courts import Court, CourtRef, Other, Unknown
from krino.judges.citation.scoring.candidates import Cited
from krino.judges.citation.scoring.ecli_conflicts import court_code_contradicts
from krino.judges.citation.scoring.outcome import Ceiling, Expected, Outcome
from krino.judges.citation.scoring.quality import Deduction
from krino.judges.citation.scoring.truth import Signal
from krino.judges.citation.verdict import GOOD_REASONING, RIGHT, Calibration, ErrorType

_MOST_SUGGESTIONS = 3
_COURT_WORDS = ("court", "tribunal", "council", "state", "peace")
_DUTCH_RESSORTS = frozenset({"antwerpen", "gent"})
_SLIPS = frozenset({"FUZZY", "PARTIAL"})
_ALIGNMENT_WORDS = {
    "SAME": "the cited court",
    "OTHER_JURISDICTION": "a court of the cited type but of another jurisdiction",
    "OTHER_TYPE": "a court of another type",
    "UNKNOWN": "a court that cannot be compared with the cited one",
}
_TRUTH_WORDS: dict[Signal, str] = {
    "given": "The given ground truth decides: {id}.",
    "given_none": "The given ground truth decides: none of the candidates.",
    "ecli": "The cited ECLI decides: it is that of {id}.",
    "number": "The case number decides: {id} carries it{slip}.",
    "only": "The court decides: {id} is the only candidate that it leaves.",
    "lone": "{id} is the only aligned candidate left, and without a known number: nothing contradicts it.",
    "context": "The context decides: the snippet points to {id} ({strength}).",
    "numbers_differ": "The case number decides: every aligned candidate carries another number, and the context "
    "supports none strongly, so none of them is the cited decision.",
    "court": "The court decides: no candidate is of the cited court.",
    "date": "The date decides: no aligned candidate is a judgment of the cited date.",
    "no_candidates": "There are no candidates.",
    "nothing": "Nothing decides between the aligned candidates: for review.",
}


def describe_court(court: CourtRef) -> str:
    """Describes a court, independent of the language and spelling in which it was written."""
    if isinstance(court, Court):
        kind = court.type.replace("_", " ")
        kind += "" if kind.endswith(_COURT_WORDS) else " court"
        place = f" of {place_name(court.place)}" if court.place else ""
        division = f", division {place_name(court.division)}" if court.division else ""
        return f"{kind}{place}{division}" + (f" ({court.language})" if court.language else "")
    if isinstance(court, Other):
        return f"a body outside the Belgian courts ({court.body.replace('_', ' ')})"
    return "not recognised"


def describe_truth(outcome: Outcome) -> str:
    """Says what decided which decision is meant."""
    truth = outcome.truth
    if truth.undecided and len(truth.contenders) == 1:
        name = truth.contenders[0].id or "one candidate"
        words = (
            f"{name} is the only aligned candidate left, but nothing confirms the cited number and the context "
            "does not support it: for review."
        )
        return words + _note_fast_path(outcome)
    slip = " apart from a slip" if truth.candidate is not None and truth.candidate.relation in _SLIPS else ""
    words = _TRUTH_WORDS[truth.signal].format(id=truth.id or "one", slip=slip, strength=truth.strength)
    if truth.signal == "only" and outcome.facts.other_division:
        words = f"The division decides: {truth.id or 'one'} is the only candidate of the cited court that it leaves."
    return words + _note_fast_path(outcome)


def _note_fast_path(outcome: Outcome) -> str:
    """A sentence for cases whose list of candidates was not kept."""
    if outcome.facts.complete:
        return ""
    return " The list of candidates was not kept (fast path): judged from the citation and the match itself."


@cache
def place_name(place: str) -> str:
    """Returns the name of a place in its own language; Brussels in both."""
    row = next(row for row in belgian_table("places")["place"] if row["id"] == place)
    if place == "bruxelles":
        return f"{row['fr']}/{row['nl']}"
    return str(row["nl"] if row["ressort"] in _DUTCH_RESSORTS else row["fr"])


def describe_classification(cited: Cited) -> str:
    """Describes the cited court, its class and the reason for it."""
    source = {"ecli": ", read from the cited ECLI", "number": ", known by the form of the case number"}
    why = _explain_class(cited)
    read = source.get(cited.court_from, "")
    return f"Cited court: {describe_court(cited.court)}{read} ({cited.classification}: {why})."


def _explain_class(cited: Cited) -> str:
    """Says why the cited court is of its class."""
    if isinstance(cited.court, Unknown):
        return "a name that is not understood names no jurisdiction"
    return {
        "NATIONAL": "only one of its kind exists",
        "SPECIFIC": "the citation says which one",
        "GENERIC": "the citation does not say which one",
    }[cited.classification]


def write_notes(
    outcome: Outcome,
    expected: Expected,
    ceiling: Ceiling | None,
    errors: Sequence[ErrorType],
    quality: int,
    lacks: Sequence[Deduction],
) -> str:
    """Writes the evaluation notes: the cited court, what decided, what the matcher did, and what it did wrong."""
    parts = [describe_classification(outcome.facts.cited), describe_truth(outcome), *_describe_answer(outcome)]
    if outcome.top is not None:
        limit = f", ceiling {ceiling.cap} %" if ceiling is not None else ""
        parts.append(
            f"Confidence {outcome.percent:g} % against an expected {expected.low}-{expected.high} %{limit}: "
            f"{expected.says}."
        )
    did = table("suggestions")["did"]
    if wrong := [did[error] for error in errors if error in did]:
        parts.append(f"The matcher {'; it '.join(wrong)}.")
    if quality <= GOOD_REASONING and lacks:
        parts.append(f"Reasoning {quality} of 5: {'; '.join(lack.says for lack in lacks)}.")
    return " ".join(parts)


def _describe_answer(outcome: Outcome) -> list[str]:
    """Describes the first match in sentences: its court, another date, and another court by its ECLI."""
    top, cited = outcome.top, outcome.facts.cited
    if top is None:
        return ["The matcher returned no match."]
    found = top.candidate
    words = [f"The top match {found.id or 'without an id'} is of {_ALIGNMENT_WORDS[found.alignment]}."]
    if found.other_date and found.date is not None and cited.date is not None:
        words.append(f"It is of {found.date.isoformat()}, the citation of {cited.date.isoformat()}.")
    if court_code_contradicts(found, cited):
        words.append(f"The code in its ECLI is that of another court: {describe_court(found.coded)}.")
    return words


@dataclass(frozen=True, slots=True)
class Faults:
    """What went wrong in a case, for the suggestions."""

    errors: tuple[ErrorType, ...]
    calibration: Calibration
    expected: Expected
    ceiling: Ceiling | None
    quality: int
    lacks: tuple[Deduction, ...]


def write_suggestions(outcome: Outcome, advised: Faults) -> str:
    """Writes at most three suggestions, the most specific first."""
    words = table("suggestions")
    cap = advised.ceiling.text if advised.ceiling is not None else ""
    advice = [words["errors"][error].format(ceiling=cap) for error in advised.errors if error in words["errors"]]
    if advised.calibration != "WELL_CALIBRATED":
        expected = advised.expected
        values = {"low": expected.low, "high": expected.high, "says": expected.says}
        advice.append(words["calibration"][advised.calibration].format(**values))
    if outcome.top is not None and outcome.top.candidate in outcome.facts.other_division:
        advice.append(words["division"]["text"])
    if outcome.correctness not in RIGHT:
        advice.append(words["correctness"][outcome.correctness])
    if advised.quality < GOOD_REASONING:
        advice += [lack.advice for lack in advised.lacks if lack.advice]
    return " ".join(dict.fromkeys(advice[:_MOST_SUGGESTIONS]))
