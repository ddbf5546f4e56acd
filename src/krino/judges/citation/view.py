"""Shows a citation judgement: the citation as it was read, the candidates side by side, and the matcher's answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from krino.blocks import Block, Cell, DataTable, Field, Fields, MarkedText, Segment, Tone, Value
from krino.contract import Judgement
from krino.judges.citation import table
from krino.judges.citation.belgium.courts import Alignment
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.labels import CitationLabels
from krino.judges.citation.reasoning.cues import read_reasoning
from krino.judges.citation.report.rollup import roll_up_with_reason
from krino.judges.citation.scoring.candidates import CandidateFacts, is_decision
from krino.judges.citation.scoring.errors import objections_behind
from krino.judges.citation.verdict import ErrorType
from krino.judges.citation.wording import court_words

_MOST_CANDIDATES = 60
_SENTENCE = re.compile(r".+?(?:[.;!?]\s+|\n\s*|$)", re.DOTALL)
_LONGEST_TEXT = 5_000
_COURTS: Mapping[Alignment, str] = {
    "SAME": "the cited court",
    "OTHER_JURISDICTION": "another place",
    "OTHER_TYPE": "another kind",
    "UNKNOWN": "cannot be compared",
}
_CANDIDATE_COLUMNS = ("", "decision", "court", "date", "number")


def citation_blocks(case: CitationCase, facts: CitationFacts, judgement: Judgement) -> Sequence[Block]:
    right = (judgement.verdict or {}).get("correct_decision_id")
    chosen = facts.answer.top.candidate if facts.answer.top else None
    blocks: list[Block] = []
    if case.citation_snippet:
        blocks.append(MarkedText("Snippet", [Segment(case.citation_snippet)]))
    blocks += [_cited(case, facts), _candidates(facts, chosen, right), _answer(facts, judgement)]
    return [*blocks, *_texts(facts, chosen, right, judgement.labels), *_rolled_up(judgement)]


def _rolled_up(judgement: Judgement) -> Iterator[Fields]:
    """The word for the whole verdict, with the reason."""
    if judgement.verdict is not None and judgement.roll_up is not None:
        _, why = roll_up_with_reason(judgement.verdict, judgement.rules)
        yield Fields("Roll-up", [Field(judgement.roll_up, why)])


def _cited(case: CitationCase, facts: CitationFacts) -> DataTable:
    cited = facts.cited
    court = f"{court_words(cited.court)}, {cited.classification.lower()}"
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


def _candidates(facts: CitationFacts, chosen: CandidateFacts | None, right: str | None) -> DataTable:
    known = list(facts.candidates)
    if chosen is not None and chosen not in known:
        known.insert(0, chosen)
    ranked = sorted(known, key=lambda item: (item is not chosen, not _is(item, right)))[:_MOST_CANDIDATES]
    title = "Candidates"
    if len(known) > len(ranked):
        title += f" (the first {len(ranked)} of {len(known)})"
    elif not facts.complete:
        title += " (the list was not kept whole)"
    rows = [_row(item, chosen, right) for item in ranked]
    return DataTable(title, _CANDIDATE_COLUMNS, rows, tones=[_tone(item, chosen, right) for item in ranked])


def _row(item: CandidateFacts, chosen: CandidateFacts | None, right: str | None) -> tuple[Value, ...]:
    marks = [mark for mark, holds in (("chosen", item == chosen), ("correct", _is(item, right))) if holds]
    marks += [] if item.listed else ["not in the list"]
    court = item.court_names[0] if item.court_names else court_words(item.court)
    day = item.date.isoformat() if item.date else "not known"
    compared = item.why if item.relation == "INCOMPARABLE" else item.relation.lower()
    return (
        ", ".join(marks),
        item.id,
        Cell(court, below=_COURTS[item.alignment]),
        Cell(day, below="another date" if item.other_date else ""),
        Cell(item.number or "none", below=compared),
    )


def _tone(item: CandidateFacts, chosen: CandidateFacts | None, right: str | None) -> Tone | None:
    if item == chosen:
        return "good" if _is(item, right) else "bad"
    return "info" if _is(item, right) else None


def _is(item: CandidateFacts, decision: str | None) -> bool:
    return decision is not None and is_decision(item, decision)


def _answer(facts: CitationFacts, judgement: Judgement) -> MarkedText:
    """What the matcher said, its errors marked at the words that they come from."""
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
    segments = list(_marked(facts.answer.reasoning, _error_words(facts, judgement)))
    return MarkedText(title, segments, {segment.mark: "bad" for segment in segments if segment.mark})


def _error_words(facts: CitationFacts, judgement: Judgement) -> dict[str, list[str]]:
    """The words of the reasoning that show errors of the verdict; many errors show in no words."""
    reasoning = facts.answer.reasoning or ""
    errors: Sequence[ErrorType] = (judgement.verdict or {}).get("errors", ())
    found: dict[str, list[str]] = {}
    for error, claim in objections_behind(errors, facts):
        found.setdefault(reasoning[claim.start : claim.end], []).append(error)
    for sentence in _SENTENCE.findall(reasoning):
        cues = read_reasoning(sentence)
        if "CASE_NUMBER_FALSE_MATCH" in errors and cues.claims_number_match:
            found.setdefault(sentence.strip(), []).append("CASE_NUMBER_FALSE_MATCH")
        if "ECLI_MISMATCH_IGNORED" in errors and cues.claims_ecli_match:
            found.setdefault(sentence.strip(), []).append("ECLI_MISMATCH_IGNORED")
    return found


def _marked(text: str, told: Mapping[str, Sequence[str]]) -> Iterator[Segment]:
    """The whole text with the words that show errors marked; of two that overlap, the first."""
    did, done = table("suggestions")["did"], 0
    places = sorted((start, words) for words in told if words and (start := text.find(words)) >= 0)
    for start, words in places:
        if start < done:
            continue
        if start > done:
            yield Segment(text[done:start])
        done = start + len(words)
        yield Segment(words, ", ".join(told[words]), "; ".join(did.get(error, error) for error in told[words]))
    if done < len(text):
        yield Segment(text[done:])


def _texts(
    facts: CitationFacts, chosen: CandidateFacts | None, right: str | None, labels: Mapping[str, object] | None
) -> Iterator[MarkedText]:
    """The texts of the chosen, the right and the labelled decision, with the labeller's quotation marked."""
    subject = CitationLabels.model_validate(labels).subject if labels else None
    pointed = facts.shown[subject.candidate - 1] if subject and subject.candidate else None
    for item in facts.candidates:
        if item.texts and (item in (chosen, pointed) or _is(item, right)):
            whole = "\n".join(item.texts)
            text = whole if len(whole) <= _LONGEST_TEXT else f"{whole[:_LONGEST_TEXT]}…"
            quote = subject.quote if subject is not None and item == pointed else None
            title = f"Text of {item.id or 'a candidate without id'}"
            yield MarkedText(title, list(_quoted(text, quote)), {"snippet's subject": "info"})


def _quoted(text: str, quote: str | None) -> Iterator[Segment]:
    start = text.casefold().find(quote.casefold()) if quote else -1
    if quote is None or start < 0:
        yield Segment(text)
        return
    end = start + len(quote)
    yield Segment(text[:start])
    yield Segment(text[start:end], "snippet's subject", "the labeller quotes it")
    yield Segment(text[end:])
