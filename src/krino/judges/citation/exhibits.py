"""Shows a citation case to people who label it: citation and matcher's answer, beside the candidates as listed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import orjson
from pydantic import BaseModel

from krino.contract.hooks import Exhibit, Exhibits
from krino.judges.citation.ask import write_request
from krino.judges.citation.case import Candidate, CitationCase
from krino.judges.citation.facts import CitationFacts
from krino.judges.citation.record.reader import CITED
from krino.judges.citation.scoring.candidates import study_candidate

_LONG_FIELDS = ("summaries", "teaching_texts", "reasoning")


def exhibit_case(case: CitationCase, facts: CitationFacts) -> Exhibits:
    """Shows citation, answer and candidates to a person who labels the case."""
    cited = ((name.removeprefix("cited_"), getattr(case, name) or "not given") for name in CITED)
    work = [Exhibit("Citation", _lines(cited))]
    if case.citation_snippet:
        work.append(Exhibit("Snippet", case.citation_snippet))
    work += _exhibit_answer(case)
    if case.ground_truth_known:
        work.append(Exhibit("Right decision, as the record says", case.ground_truth or "none of the candidates"))
    return Exhibits(tuple(work), tuple(_exhibit_candidates(case, facts)), write_request(facts, hints=False))


def _exhibit_answer(case: CitationCase) -> Iterator[Exhibit]:
    """Yields the matcher's matches, or its reason for none."""
    if not case.matches:
        yield Exhibit("The matcher chose none", case.no_match_reason or "It gave no reason.")
    for place, match in enumerate(case.matches, 1):
        title = "The matcher's choice" if place == 1 else f"Its match number {place}"
        yield Exhibit(title, _exhibit_record(match))


def _exhibit_candidates(case: CitationCase, facts: CitationFacts) -> Iterator[Exhibit]:
    """Yields the candidates in the order of the record: that of the facts would show which of them code prefers.

    Then come decisions that labellers are shown although the record does not list them.
    """
    numbers = {item.key: f"candidate {number}" for number, item in enumerate(facts.shown, 1)}
    for place, candidate in enumerate(case.candidates, 1):
        number = numbers.pop(_key(candidate, facts), "")
        yield Exhibit(f"Decision {place} of {len(case.candidates)}", _exhibit_record(candidate), number=number)
    for item in facts.shown:
        if (number := numbers.pop(item.key, "")) != "":
            yield Exhibit(f"Decision {item.id or 'without id'}", "\n".join(item.texts), number=number)


def _key(candidate: Candidate, facts: CitationFacts) -> tuple[object, ...]:
    return study_candidate(candidate, facts.cited).key


def _exhibit_record(record: BaseModel) -> str:
    """Returns every field of a record as text, also those that the judge does not read; long texts last."""
    given = [(name, value) for name, value in record if value is not None and value != ()]
    short = ((name, value) for name, value in given if name not in _LONG_FIELDS)
    texts = (f"\n{_with_spaces(name)}:\n{_as_text(value)}" for name, value in given if name in _LONG_FIELDS)
    return "\n".join([_lines(short), *texts])


def _lines(pairs: Iterable[tuple[str, object]]) -> str:
    return "\n".join(f"{_with_spaces(name)}: {_as_text(value)}" for name, value in pairs)


def _with_spaces(name: str) -> str:
    return name.replace("_", " ")


def _as_text(value: object) -> str:
    """Returns a value as text for people: a list of texts one a line, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, tuple | list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    return orjson.dumps(value, default=str).decode()
