"""Writes the questions for a labeller, all in one call, and bounds what its labels can hold."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import get_args

from krino.contract import Passage, Questions
from krino.contract.bounds import NULL, Bound
from krino.judges.citation.belgium.topics import Strength
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import LONGEST_SNIPPET, CitationFacts, shown_text
from krino.judges.citation.labels import Reasoning
from krino.judges.citation.reasoning.cues import LONGEST
from krino.judges.citation.scoring.candidates import CandidateFacts, study_candidate

_MOST_LISTED = 60
_MOST_MATCHES = 3
_LONGEST_FIELD = 200
"""Characters of a court, number or id in the list of decisions."""


def ask(case: CitationCase, facts: CitationFacts) -> Questions:
    """Returns everything that is asked about a case, as passages and one request."""
    snippet = case.citation_snippet if facts.shown else None
    passages = [Passage("citation", _write_citation(case))]
    if snippet is not None:
        passages.append(Passage("snippet", snippet[:LONGEST_SNIPPET]))
    for number, candidate in enumerate(facts.shown, 1):
        passages.append(Passage(f"candidate {number}", shown_text(candidate)))
    passages.append(Passage("decisions", "\n".join(_list_decisions(case, facts))))
    passages.append(Passage("answer", "\n".join(_write_answer(facts))))
    passages.append(Passage("reasoning", (facts.answer.reasoning or "(none)")[:LONGEST]))
    return Questions(tuple(passages), write_request(facts))


def _write_citation(case: CitationCase) -> str:
    """Returns what was cited, one field a line; only the case number has a line if it is missing.

    A court field may hold a whole citation, date and number included.
    """
    cited = {
        "court": case.cited_court_name,
        "date": case.cited_date,
        "case number": case.cited_case_number or "none in a field of its own",
        "ECLI": case.cited_ecli,
    }
    return "\n".join(f"{name}: {value}" for name, value in cited.items() if value)


def _list_decisions(case: CitationCase, facts: CitationFacts) -> Iterator[str]:
    """Yields one numbered line for each candidate, in the order of the record.

    A reasoning may call them by their place in it. At the end come how many are not listed, or "(none)".
    """
    listed = [study_candidate(candidate, facts.cited) for candidate in case.candidates[:_MOST_LISTED]]
    numbers = _number_shown(facts)
    for place, item in enumerate(listed, 1):
        yield f"{place}. {_describe(item)}; {_describe_number(item, numbers)}"
    more = max(case.candidate_count or 0, len(case.candidates)) - len(listed)
    if more > 0:
        yield f"({more} more {'is' if more == 1 else 'are'} not listed here)"
    elif not listed:
        yield "(none)"


def _write_answer(facts: CitationFacts) -> Iterator[str]:
    """Yields one line for each match of the matcher, or "no match"."""
    numbers = _number_shown(facts)
    for match in facts.answer.matches[:_MOST_MATCHES]:
        sure = "" if match.percent is None else f", confidence {match.percent:g} %"
        yield f"match: {_describe(match.candidate)}; {_describe_number(match.candidate, numbers)}{sure}"
    if not facts.answer.matches:
        yield "no match"


def _number_shown(facts: CitationFacts) -> dict[tuple[object, ...], int]:
    return {item.key: number for number, item in enumerate(facts.shown, 1)}


def _describe(item: CandidateFacts) -> str:
    court = " / ".join(dict.fromkeys(item.court_names)) or "court not given"
    parts = (court, item.number or "no number", item.id or "no id")
    return ", ".join(" ".join(part.split())[:_LONGEST_FIELD] for part in parts)


def _describe_number(item: CandidateFacts, numbers: dict[tuple[object, ...], int]) -> str:
    return f"candidate {numbers[item.key]}" if item.key in numbers else "not shown as a candidate"


def write_request(facts: CitationFacts, *, hints: bool = True) -> str:
    """Returns the question to the labeller. It holds no text of the case, so that no case can change it.

    `hints`: adds whether the citation gives a case number.
    """
    count = len(facts.shown)
    if not count:
        subject = "There is nothing to compare: in subject, candidate and quote are null and strength is `none`."
    elif count == 1:
        subject = "Does the snippet point to candidate 1, and how strongly?"
    else:
        subject = f"Which of candidates 1 to {count} does the snippet point to, and how strongly?"
    return f"{subject}{_write_hint(facts) if hints else ''} Answer the six questions on the reasoning."


def _write_hint(facts: CitationFacts) -> str:
    """Says whether the citation gives a case number, which the labels depend on."""
    if facts.cited.number is not None:
        return " The citation gives a case number."
    written = facts.case.cited_case_number is not None
    return " What the citation gives as case number is none." if written else " The citation gives no case number."


_WHY, _SHORT, _QUOTE = Bound.text(200), Bound.text(60), Bound.text(400)
_STRENGTHS = tuple(strength for strength in get_args(Strength) if strength != "none")
_NOTHING = Bound.holding(candidate=NULL, strength=Bound.only("none"), quote=NULL)
_MOST_QUOTES, _LONGEST_QUOTE, _SHORTEST_QUOTE = 20, 300, 12


def bounds_of(facts: CitationFacts, exact: bool) -> Bound:
    """Returns what the labels may hold.

    `exact`: only candidates with lines to quote, and only these lines as quotes. Otherwise any candidate that is
    shown and any short text, so that all cases with as many candidates share one schema.
    """
    if not exact:
        return _bound_shape(len(facts.shown))
    kinds = [
        Bound.holding(candidate=Bound.only(number), strength=Bound.one_of(_STRENGTHS), quote=Bound.one_of(quotes))
        for number, candidate in enumerate(facts.shown, 1)
        if (quotes := list(_find_quotable_lines(shown_text(candidate))))
    ]
    return Bound.holding(subject=Bound.either(*kinds, _NOTHING), reasoning=_bound_reasoning(exact))


@lru_cache(maxsize=256)
def _bound_shape(candidates: int) -> Bound:
    candidate = Bound.one_of((*range(1, candidates + 1), None))
    subject = Bound.holding(candidate=candidate, quote=_QUOTE) if candidates else _NOTHING
    return Bound.holding(subject=subject, reasoning=_bound_reasoning(False))


@lru_cache(maxsize=2)
def _bound_reasoning(exact: bool) -> Bound:
    return Bound.holding(**dict.fromkeys(Reasoning.model_fields, Bound.holding(why=_SHORT if exact else _WHY)))


def _find_quotable_lines(text: str) -> Iterator[str]:
    lines = (line.strip() for line in text.splitlines())
    useful = [line for line in lines if _SHORTEST_QUOTE <= len(line) <= _LONGEST_QUOTE]
    yield from useful[:_MOST_QUOTES]
