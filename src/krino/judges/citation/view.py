"""Shows a citation judgement: the citation as it was read, the candidates side by side, and the matcher's answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from krino.blocks import Block, Cell, DataTable, Field, Fields, MarkedText, Segment, Tone, Value
from krino.contract import Judgement
from krino.judges.citation import table
from krino.judges.citation.belgium.courts import Alignment
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.labels import CitationLabels
from krino.judges.citation.report.rollup import roll_up_with_reason
from krino.judges.citation.scoring.candidates import CandidateFacts, is_decision
from krino.judges.citation.scoring.errors import objections_behind
from krino.judges.citation.verdict import ErrorType
from krino.judges.citation.wording import describe_court

_MOST_CANDIDATES = 60
_LONGEST_TEXT = 5_000
_COURTS: Mapping[Alignment, str] = {
    "SAME": "the cited court",
    "OTHER_JURISDICTION": "another place",
    "OTHER_TYPE": "another kind",
    "UNKNOWN": "cannot be compared",
}
_LONG_FIELDS = ("summaries", "teaching_texts", "reasoning")
_CANDIDATE_COLUMNS = ("", "decision", "court", "date", "number")


def show_judgement(case: CitationCase, facts: CitationFacts, judgement: Judgement) -> Sequence[Block]:
    """Shows snippet, citation, candidates, answer and texts of one judgement."""
    right = (judgement.verdict or {}).get("correct_decision_id")
    chosen = facts.answer.top.candidate if facts.answer.top else None
    blocks: list[Block] = []
    if case.citation_snippet:
        blocks.append(MarkedText("Snippet", [Segment(case.citation_snippet)]))
    blocks += [_show_citation(case, facts), _show_candidates(facts, chosen, right), _show_answer(facts, judgement)]
    return [*blocks, *_show_texts(facts, chosen, right, judgement.labels), *_show_roll_up(judgement)]


def _show_roll_up(judgement: Judgement) -> Iterator[Fields]:
    if judgement.verdict is not None and judgement.roll_up is not None:
        _, why = roll_up_with_reason(judgement.verdict, judgement.rules)
        yield Fields("Roll-up", [Field(judgement.roll_up, why)])


def _show_citation(case: CitationCase, facts: CitationFacts) -> DataTable:
    """Returns the citation as written, and as it was read."""
    cited = facts.cited
    court = f"{describe_court(cited.court)}, {cited.classification.lower()}"
    if cited.court_from not in ("name", "nothing"):
        court += f" (by the {cited.court_from})"
    rows = [
        ("court", case.cited_court_name, court),
        ("date", case.cited_date, cited.date.isoformat() if cited.date else "not readable"),
        ("case number", case.cited_case_number, "readable" if cited.number else "none that counts"),
        ("ECLI", case.cited_ecli, cited.ecli.text if cited.ecli else "not readable"),
    ]
    return DataTable(
        "Citation", ("", "as written", "read as"), [row if row[1] else (row[0], "not given", None) for row in rows]
    )


def _show_candidates(facts: CitationFacts, chosen: CandidateFacts | None, right: str | None) -> DataTable:
    """Returns the table of candidates, the chosen and the right one first."""
    known = list(facts.candidates)
    if chosen is not None and chosen not in known:
        known.insert(0, chosen)
    ranked = sorted(known, key=lambda item: (item is not chosen, not _is_decision(item, right)))[:_MOST_CANDIDATES]
    title = "Candidates"
    if len(known) > len(ranked):
        title += f" (the first {len(ranked)} of {len(known)})"
    elif not facts.complete:
        title += " (the list was not kept whole)"
    rows = [_candidate_row(item, chosen, right) for item in ranked]
    return DataTable(title, _CANDIDATE_COLUMNS, rows, tones=[_row_tone(item, chosen, right) for item in ranked])


def _candidate_row(item: CandidateFacts, chosen: CandidateFacts | None, right: str | None) -> tuple[Value, ...]:
    """Returns one candidate as a row."""
    marks = [mark for mark, holds in (("chosen", item == chosen), ("correct", _is_decision(item, right))) if holds]
    marks += [] if item.listed else ["not in the list"]
    court = item.court_names[0] if item.court_names else describe_court(item.court)
    day = item.date.isoformat() if item.date else "not known"
    compared = item.why if item.relation == "INCOMPARABLE" else item.relation.lower()
    return (
        ", ".join(marks),
        item.id,
        Cell(court, below=_COURTS[item.alignment]),
        Cell(day, below="another date" if item.other_date else ""),
        Cell(item.number or "none", below=compared),
    )


def _row_tone(item: CandidateFacts, chosen: CandidateFacts | None, right: str | None) -> Tone | None:
    if item == chosen:
        return "good" if _is_decision(item, right) else "bad"
    return "info" if _is_decision(item, right) else None


def _is_decision(item: CandidateFacts, decision: str | None) -> bool:
    return decision is not None and is_decision(item, decision)


def _show_answer(facts: CitationFacts, judgement: Judgement) -> MarkedText:
    """Returns the matcher's answer, with its errors marked at the words that show them."""
    top = facts.answer.top
    if top is None:
        title = "The matcher found no match"
    else:
        sure = "no confidence" if top.percent is None else f"{top.percent:g} % sure"
        more = len(facts.answer.matches) - 1
        title = f"The matcher chose {top.candidate.id or 'a decision without id'}, {sure}"
        title += f" ({more} more match{'' if more == 1 else 'es'} below it)" if more else ""
    if not facts.answer.reasoning:
        return MarkedText(title, [Segment("It gave no reasoning.")])
    segments = list(_mark_errors(facts.answer.reasoning, _find_error_words(facts, judgement)))
    return MarkedText(title, segments, {segment.mark: "bad" for segment in segments if segment.mark})


def _find_error_words(facts: CitationFacts, judgement: Judgement) -> dict[str, list[str]]:
    """Returns passages of the reasoning, each with the errors that it shows; many errors show in no words."""
    reasoning = facts.answer.reasoning or ""
    errors: Sequence[ErrorType] = (judgement.verdict or {}).get("errors", ())
    found: dict[str, list[str]] = {}
    for error, claim in objections_behind(errors, facts):
        found.setdefault(reasoning[claim.start : claim.end], []).append(error)
    for sentence in facts.cues.sentences:
        written = reasoning[sentence.start : sentence.end].strip()
        if "CASE_NUMBER_FALSE_MATCH" in errors and sentence.claims_number_match():
            found.setdefault(written, []).append("CASE_NUMBER_FALSE_MATCH")
        if "ECLI_MISMATCH_IGNORED" in errors and sentence.claims_ecli_match():
            found.setdefault(written, []).append("ECLI_MISMATCH_IGNORED")
    return found


def _mark_errors(text: str, errors: Mapping[str, Sequence[str]]) -> Iterator[Segment]:
    """Yields the whole text with the passages that show errors marked; of two that overlap, the first."""
    did, done = table("suggestions")["did"], 0
    found = sorted((start, words) for words in errors if words and (start := text.find(words)) >= 0)
    for start, words in found:
        if start < done:
            continue
        if start > done:
            yield Segment(text[done:start])
        done = start + len(words)
        yield Segment(words, ", ".join(errors[words]), "; ".join(did.get(error, error) for error in errors[words]))
    if done < len(text):
        yield Segment(text[done:])


def _show_texts(
    facts: CitationFacts, chosen: CandidateFacts | None, right: str | None, labels: Mapping[str, object] | None
) -> Iterator[MarkedText]:
    """Yields the texts of the chosen, the right and the labelled decision, with the labeller's quotation marked."""
    subject = CitationLabels.model_validate(labels).subject if labels else None
    pointed = facts.shown[subject.candidate - 1] if subject and subject.candidate else None
    for item in facts.candidates:
        if item.texts and (item in (chosen, pointed) or _is_decision(item, right)):
            whole = "\n".join(item.texts)
            text = whole if len(whole) <= _LONGEST_TEXT else f"{whole[:_LONGEST_TEXT]}…"
            quote = subject.quote if subject is not None and item == pointed else None
            title = f"Text of {item.id or 'a candidate without id'}"
            yield MarkedText(title, list(_mark_quotation(text, quote)), {"snippet's subject": "info"})


def _mark_quotation(text: str, quote: str | None) -> Iterator[Segment]:
    """Yields a text with the labeller's quotation marked in it."""
    start = text.casefold().find(quote.casefold()) if quote else -1
    if quote is None or start < 0:
        yield Segment(text)
        return
    end = start + len(quote)
    yield Segment(text[:start])
    yield Segment(text[start:end], "snippet's subject", "the labeller quotes it")
    yield Segment(text[end:])
