"""What a labeller is shown of a case and asked about it, in one call."""

from __future__ import annotations

from krino.contract import Passage, Questions
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import LONGEST_SNIPPET, CitationFacts, shown_text
from krino.judges.citation.reasoning.cues import LONGEST


def ask(case: CitationCase, facts: CitationFacts) -> Questions:
    snippet = case.citation_snippet if facts.shown else None
    passages = [Passage("citation", _citation(case))]
    if snippet is not None:
        passages.append(Passage("snippet", snippet[:LONGEST_SNIPPET]))
    for number, candidate in enumerate(facts.shown, 1):
        passages.append(Passage(f"candidate {number}", shown_text(candidate)))
    passages.append(Passage("reasoning", (facts.answer.reasoning or "(none)")[:LONGEST]))
    return Questions(tuple(passages), write_request(facts))


def _citation(case: CitationCase) -> str:
    cited = (case.cited_court_name, case.cited_date, case.cited_case_number or "no case number", case.cited_ecli)
    return ", ".join(part for part in cited if part)


def write_request(facts: CitationFacts, *, hints: bool = True) -> str:
    """What is open in this case, in words that hold nothing of the case's own text; `hints`: and what code noticed."""
    count = len(facts.shown)
    if not count:
        subject = "There is nothing to compare: subject is null, `none`, null."
    elif count == 1:
        subject = "Does the snippet point to candidate 1, and how strongly?"
    else:
        subject = f"Which of candidates 1 to {count} does the snippet point to, and how strongly?"
    number = "a" if facts.cited.number is not None else "no"
    noticed = f" The citation gives {number} case number." if hints else ""
    return f"{subject}{noticed} Answer the six questions on the reasoning."
