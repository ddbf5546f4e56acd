"""What a labeller is shown of a case and asked about it, in one call."""

from __future__ import annotations

from krino.contract import Passage, Questions
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import CitationFacts, shown_text

_LONGEST_PASSAGE = 4_000


def ask(case: CitationCase, facts: CitationFacts) -> Questions:
    snippet = case.citation_snippet if facts.shown else None
    passages = [Passage("citation", _citation(case))]
    if snippet is not None:
        passages.append(Passage("snippet", snippet[:_LONGEST_PASSAGE]))
    for number, candidate in enumerate(facts.shown, 1):
        passages.append(Passage(f"candidate {number}", shown_text(candidate)))
    passages.append(Passage("reasoning", (facts.answer.reasoning or "(none)")[:_LONGEST_PASSAGE]))
    return Questions(tuple(passages), _request(facts))


def _citation(case: CitationCase) -> str:
    cited = (case.cited_court_name, case.cited_date, case.cited_case_number or "no case number", case.cited_ecli)
    return ", ".join(part for part in cited if part)


def _request(facts: CitationFacts) -> str:
    """What is open in this case, in words that hold nothing of the case's own text."""
    count = len(facts.shown)
    if not count:
        subject = "There is nothing to compare: subject is null, `none`, null."
    elif count == 1:
        subject = "Does the snippet point to candidate 1, and how strongly?"
    else:
        subject = f"Which of candidates 1 to {count} does the snippet point to, and how strongly?"
    number = "a" if facts.cited.number is not None else "no"
    return f"{subject} The citation gives {number} case number. Answer the six questions on the reasoning."
