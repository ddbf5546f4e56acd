"""Lists the text of a case that nobody read: cut to fit a prompt, or written where the verdict does not look."""

from __future__ import annotations

from collections.abc import Iterator

from krino.contract import Unread
from krino.judges.citation.candidates import loose_reasoning
from krino.judges.citation.facts import LONGEST_SNIPPET, LONGEST_TEXT, MOST_SHOWN, CitationFacts, full_text
from krino.judges.citation.reasoning.cues import LONGEST

_MOST = 20


def find_unread(facts: CitationFacts) -> tuple[Unread, ...]:
    return (*_of_reasoning(facts), *(_of_context(facts) if facts.truth.open else ()))


def _of_reasoning(facts: CitationFacts) -> Iterator[Unread]:
    """The rubric judges one reasoning, that of the first match; what stands elsewhere is not judged."""
    case, judged = facts.case, facts.answer.reasoning or ""
    if len(judged) > LONGEST:
        yield Unread("reasoning", judged[LONGEST:], f"of a reasoning the first {LONGEST:,} characters are read")
    for place, match in enumerate(case.matches[1 : _MOST + 1], 1):
        if match.reasoning and match.reasoning != judged:
            yield Unread(f"matches[{place}].reasoning", match.reasoning, "only the first match's reasoning is judged")
    if case.matches and case.no_match_reason:
        yield Unread("no_match_reason", case.no_match_reason, "matches were returned: their reasoning is judged")
    loose = loose_reasoning(case)
    if loose and loose.strip() and loose != judged:
        yield Unread("reasoning", loose, "the match has a reasoning of its own, which is judged")


def _of_context(facts: CitationFacts) -> Iterator[Unread]:
    """Where the context decides: what of snippet and candidates no labeller is shown."""
    snippet = facts.case.citation_snippet or ""
    if facts.shown and len(snippet) > LONGEST_SNIPPET:
        left = snippet[LONGEST_SNIPPET:]
        yield Unread("citation_snippet", left, f"a labeller is shown the first {LONGEST_SNIPPET:,} characters")
    for candidate in facts.shown:
        if len(text := full_text(candidate)) > LONGEST_TEXT:
            why = f"a labeller is shown the first {LONGEST_TEXT:,} characters of a candidate"
            yield Unread(f"candidate {candidate.id}", text[LONGEST_TEXT:], why)
    if facts.about is None:
        return
    for candidate in facts.truth.contenders:
        if candidate.texts and candidate not in facts.shown:
            why = f"a labeller is shown the {MOST_SHOWN} candidates whose words are nearest to the snippet"
            yield Unread(f"candidate {candidate.id}", full_text(candidate), why)
