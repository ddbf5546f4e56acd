"""Collects what the verdict has no field for: findings to look at, and text of the case that was not read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from krino.contract import Finding, Unread
from krino.judges.citation.belgium.courts import Court, Other, Unknown, alignment, resolve_court
from krino.judges.citation.belgium.dates import find_dates
from krino.judges.citation.belgium.ecli import key_of, parse_ecli
from krino.judges.citation.case import Named
from krino.judges.citation.facts import LONGEST_SNIPPET, LONGEST_TEXT, MOST_SHOWN, CitationFacts, full_text
from krino.judges.citation.reasoning.cues import LONGEST
from krino.judges.citation.scoring.candidates import CandidateFacts, Cited, reasoning_beside_matches
from krino.judges.citation.scoring.ecli_conflicts import (
    citation_contradicts_itself,
    court_code_contradicts,
    year_contradicts,
)
from krino.judges.citation.scoring.outcome import Outcome, ceiling

_MOST = 8
_LONGEST_NAME = 80
_MOST_MATCHES = 3


def collect_findings(outcome: Outcome) -> tuple[Finding, ...]:
    """Returns all findings of a case, in a fixed order."""
    facts = outcome.facts
    return (
        *_check_citation(facts),
        *_check_identifiers(outcome),
        *_check_candidates(facts),
        *_check_contradictions(facts),
        *_check_list_length(facts),
        *_check_matches(facts),
        *_check_top_match(outcome),
        *_request_review(outcome),
    )


def _check_citation(facts: CitationFacts) -> Iterator[Finding]:
    """Yields findings about the citation: a court, number, date or ECLI that cannot be read or contradicts another."""
    case, cited = facts.case, facts.cited
    if isinstance(cited.court, Unknown):
        name = cited.court.text[:_LONGEST_NAME]
        text = f"the cited court {name!r} is not recognised: look at this case, or add an alias (option aliases)"
        yield Finding("CIT-F1", text if name else "no court is cited", "cited_court_name")
    elif cited.court.mended:
        yield Finding("CIT-F23", f"a typing error was corrected: {', '.join(cited.court.mended)}", "cited_court_name")
    if isinstance(cited.court, Court | Other) and cited.court_from != "name":
        yield Finding("CIT-F1", f"the cited court is read from the {cited.court_from} instead", "cited_court_name")
    elif isinstance(cited.court, Other):
        yield Finding("CIT-F1", f"the cited court is not a Belgian court: {cited.court.body}", "cited_court_name")
    if case.aliases_used:
        yield Finding("CIT-F23", f"read by the aliases given: {', '.join(case.aliases_used[:_MOST])}", None)
    if case.cited_case_number and cited.number is None:
        yield Finding("CIT-F2", f"no case number can be read in {case.cited_case_number!r}", "cited_case_number")
    if case.cited_date and cited.date is None:
        yield Finding("CIT-F2", f"no single date can be read in {case.cited_date!r}", "cited_date")
    if case.cited_ecli and cited.ecli is None:
        yield Finding("CIT-F2", f"no ECLI can be read in {case.cited_ecli!r}", "cited_ecli")
    for warning in cited.ecli.warnings if cited.ecli else ():
        yield Finding("CIT-F3", warning, "cited_ecli")
    if cited.ecli and cited.date and cited.ecli.year != cited.date.year:
        yield Finding(
            "CIT-F3", f"the cited ECLI says {cited.ecli.year}, the cited date {cited.date.year}", "cited_ecli"
        )
    if citation_contradicts_itself(cited):
        yield Finding("CIT-F3", "the cited ECLI is that of another court than the cited one", "cited_ecli")
    if cited.date and case.citation_snippet:
        dates = {found.date for found in find_dates(case.citation_snippet)}
        if dates and cited.date not in dates:
            shown = ", ".join(sorted(day.isoformat() for day in dates)[:_MOST])
            yield Finding("CIT-F4", f"the snippet spells other dates than the cited one: {shown}", "citation_snippet")


def _check_identifiers(outcome: Outcome) -> Iterator[Finding]:
    """Yields findings about identifiers that point to different decisions."""
    facts, truth = outcome.facts, outcome.truth
    cited_ecli = [item for item in facts.candidates if item.key == facts.cited.key]
    if facts.cited.ecli is not None and not cited_ecli:
        then = "" if truth.signal in ("ecli", "given", "given_none") else "; the next signal decides"
        yield Finding("CIT-F5", f"the cited ECLI is that of no candidate{then}", "cited_ecli")
    carriers = facts.carriers
    if len(carriers) > 1:
        yield Finding(
            "CIT-F6", f"several candidates carry the cited number: {_join_ids(carriers)}", "cited_case_number"
        )
    others = [item for item in carriers if truth.key is not None and item.key != truth.key]
    if truth.signal in ("ecli", "given") and others and truth.key not in {item.key for item in carriers}:
        yield Finding(
            "CIT-F7", f"the case number points to {_join_ids(others)}, not to {truth.id}", "cited_case_number"
        )
    if truth.signal == "given" and cited_ecli and cited_ecli[0].key != truth.key:
        yield Finding("CIT-F7", f"the cited ECLI points to {_join_ids(cited_ecli)}, not to {truth.id}", "cited_ecli")
    if truth.signal == "given" and truth.candidate is None:
        yield Finding("CIT-F8", f"the given ground truth {truth.id} is not among the candidates", "ground_truth")
    if truth.candidate is not None and truth.candidate.alignment in ("OTHER_TYPE", "OTHER_JURISDICTION"):
        yield Finding("CIT-F8", f"{truth.id} is the decision meant, but of another court than cited", "candidates")


def _check_candidates(facts: CitationFacts) -> Iterator[Finding]:
    """Yields findings about the list of candidates."""
    if facts.duplicates:
        yield Finding("CIT-F9", f"listed more than once: {', '.join(facts.duplicates[:_MOST])}", "candidates")
    if other := [item for item in facts.candidates if item.other_date]:
        yield Finding(
            "CIT-F10", f"of another date than cited, so not the decision meant: {_join_ids(other)}", "candidates"
        )
    if opinions := [item for item in facts.candidates if item.opinion]:
        yield Finding("CIT-F11", f"an advocate general's opinion, not a judgment: {_join_ids(opinions)}", "candidates")
    if facts.other_division:
        text = f"of another division than the cited one, so not the decision meant: {_join_ids(facts.other_division)}"
        yield Finding("CIT-F21", text, "candidates")
    if unread := [item for item in facts.candidates if isinstance(item.court, Unknown)]:
        yield Finding("CIT-F12", f"the court of these candidates is not recognised: {_join_ids(unread)}", "candidates")
    known = [item.court for item in facts.candidates if not isinstance(item.court, Unknown)]
    if mended := {change for court in known for change in court.mended}:
        changes = ", ".join(sorted(mended)[:_MOST])
        yield Finding("CIT-F23", f"typing errors in the candidates' courts were corrected: {changes}", "candidates")


def _check_contradictions(facts: CitationFacts) -> Iterator[Finding]:
    """Yields findings about entries with contradicting values, or with the cited ECLI under a key that is not read.

    Also about matches that name another court than their candidate does.
    """
    entries: tuple[tuple[str, Sequence[Named]], ...] = (
        ("candidates", facts.case.candidates),
        ("matches", facts.case.matches),
    )
    found = [
        Finding("CIT-F24", conflict, f"{kind}[{place}]")
        for kind, listed in entries
        for place, item in enumerate(listed)
        for conflict in (*item.contradictions, *_two_eclis(item), *_ecli_elsewhere(item, facts.cited))
    ]
    found += [
        Finding("CIT-F24", f"the match says {name!r}, its candidate is of another court", f"matches[{place}]")
        for place, match in enumerate(facts.answer.matches)
        if (name := facts.case.matches[place].court_name) and _names_another_court(name, match.candidate)
    ]
    yield from found[:_MOST]


def _two_eclis(item: Named) -> Iterator[str]:
    if parse_ecli(item.decision_id) is not None:
        yield from (f"is listed as {item.decision_id} and as {other}" for other in item.other_ids if parse_ecli(other))


def _texts_in(value: Any) -> Iterator[str]:
    """A text, those of a list, and those of the objects in a list: `identifiers: [{"type": "ecli", "value": ...}]`."""
    for item in value[:_MOST] if isinstance(value, list | tuple) else [value]:
        texts = item.values() if isinstance(item, Mapping) and item is not value else [item]
        yield from (text for text in texts if isinstance(text, str))


def _ecli_elsewhere(item: Named, cited: Cited) -> Iterator[str]:
    """Yields remarks on the cited ECLI if it is in a field that is not read as the decision's."""
    if cited.key is None or cited.key in {key_of(name) for name in (item.decision_id, *item.other_ids) if name}:
        return
    for name, value in (item.model_extra or {}).items():
        if any(len(text) <= _LONGEST_NAME and key_of(text) == cited.key for text in _texts_in(value)):
            yield f"{name} holds the cited ECLI but is not read as the ECLI of the decision: name it ecli if it is"


def _names_another_court(name: str, candidate: CandidateFacts) -> bool:
    return candidate.listed and alignment(candidate.court, resolve_court(name)) in ("OTHER_TYPE", "OTHER_JURISDICTION")


def _check_list_length(facts: CitationFacts) -> Iterator[Finding]:
    """Yields a finding if the stated number of candidates is not that of the list."""
    count, listed = facts.case.candidate_count, len(facts.case.candidates)
    if not facts.complete:
        yield Finding("CIT-F13", f"{count} candidates are counted, {listed} are listed: a fast path", "candidate_count")
    elif count is not None and count < listed:
        yield Finding("CIT-F13", f"{count} candidates are counted but {listed} are listed", "candidate_count")


def _check_matches(facts: CitationFacts) -> Iterator[Finding]:
    """Yields findings about the matches: remarks, ceilings, number and order."""
    matches = facts.answer.matches
    for place, match in enumerate(matches[:_MOST]):
        for remark in match.remarks:
            yield Finding("CIT-F14", remark, f"matches[{place}]")
        if not match.candidate.listed and facts.complete:
            name = match.candidate.id or "a match without an id"
            yield Finding("CIT-F15", f"{name} is not among the candidates", f"matches[{place}]")
        limit = {"OTHER_TYPE": "court_type", "OTHER_JURISDICTION": "jurisdiction"}.get(match.candidate.alignment)
        if place and limit and (match.percent or 0) > ceiling(limit).tolerated:
            yield Finding("CIT-F16", f"a lower match breaks its ceiling: {ceiling(limit).text}", f"matches[{place}]")
    if len(matches) > _MOST_MATCHES:
        yield Finding("CIT-F17", f"{len(matches)} matches were returned; three are allowed", "matches")
    sure = [match.percent for match in matches if match.percent is not None]
    if sure and max(sure) > sure[0]:
        yield Finding("CIT-F18", "a lower match has more confidence than the first; the first is judged", "matches")
    if matches and facts.case.no_match_reason:
        yield Finding("CIT-F19", "matches are returned together with a reason for no match", "no_match_reason")
    elif not matches and not facts.case.no_match_reason:
        yield Finding("CIT-F19", "neither a match nor a reason for none is returned", "no_match_reason")


def _check_top_match(outcome: Outcome) -> Iterator[Finding]:
    """Yields findings about the first match: warnings on its ECLI, and a year or court that contradicts the
    citation."""
    top = outcome.top
    if top is None:
        return
    for warning in top.candidate.ecli.warnings if top.candidate.ecli else ():
        yield Finding("CIT-F3", warning, "matches[0]")
    if year_contradicts(top.candidate, outcome.facts.cited):
        yield Finding("CIT-F20", "the year in the match's ECLI is not the cited one", "matches[0]")
    if court_code_contradicts(top.candidate, outcome.facts.cited):
        yield Finding("CIT-F20", "the court in the match's ECLI is not the cited one, though its name is", "matches[0]")
    cited, found = outcome.facts.cited.court, top.candidate.court
    if isinstance(cited, Court) and isinstance(found, Court) and top.candidate.alignment == "SAME":
        divisions = {division for division in (cited.division, found.division) if division}
        if len(divisions) > 1:
            yield Finding("CIT-F21", f"divisions of one court differ: {', '.join(sorted(divisions))}", "matches[0]")


def _request_review(outcome: Outcome) -> Iterator[Finding]:
    if outcome.truth.undecided:
        yield Finding("CIT-F22", "nothing decides which decision is meant: look at this case", None)


def _join_ids(candidates: Iterable[CandidateFacts]) -> str:
    names = sorted(candidate.id or "a candidate without an id" for candidate in candidates)
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


_MOST = 20


def find_unread(facts: CitationFacts) -> tuple[Unread, ...]:
    """Returns the texts of the case that are not judged, or that no labeller is shown, each with the reason."""
    return (*_find_unread_reasoning(facts), *(_find_unread_context(facts) if facts.truth.open else ()))


def _find_unread_reasoning(facts: CitationFacts) -> Iterator[Unread]:
    """Yields reasonings, or ends of them, that are not judged: the rubric judges only that of the first match."""
    case, judged = facts.case, facts.answer.reasoning or ""
    if len(judged) > LONGEST:
        yield Unread("reasoning", judged[LONGEST:], f"only the first {LONGEST:,} characters of a reasoning are read")
    for place, match in enumerate(case.matches[1 : _MOST + 1], 1):
        if match.reasoning and match.reasoning != judged:
            yield Unread(f"matches[{place}].reasoning", match.reasoning, "only the first match's reasoning is judged")
    if case.matches and case.no_match_reason:
        yield Unread("no_match_reason", case.no_match_reason, "matches were returned: their reasoning is judged")
    loose = reasoning_beside_matches(case)
    if loose and loose.strip() and loose != judged:
        yield Unread("reasoning", loose, "the match has a reasoning of its own, which is judged")


def _find_unread_context(facts: CitationFacts) -> Iterator[Unread]:
    """Yields the parts of snippet and candidates that no labeller is shown, if the context decides."""
    snippet = facts.case.citation_snippet or ""
    if facts.shown and len(snippet) > LONGEST_SNIPPET:
        left = snippet[LONGEST_SNIPPET:]
        yield Unread("citation_snippet", left, f"a labeller is shown the first {LONGEST_SNIPPET:,} characters")
    for candidate in facts.shown:
        if len(text := full_text(candidate)) > LONGEST_TEXT:
            why = f"a labeller is shown the first {LONGEST_TEXT:,} characters of a candidate"
            yield Unread(f"candidate {candidate.id}", text[LONGEST_TEXT:], why)
    if facts.case.citation_snippet is None:
        return
    for candidate in facts.truth.contenders:
        if candidate.texts and candidate not in facts.shown:
            why = f"a labeller is shown the {MOST_SHOWN} candidates whose words are nearest to the snippet"
            yield Unread(f"candidate {candidate.id}", full_text(candidate), why)
