"""The embedded labeller: the snippet's subject by shared legal terms, the reasoning by its words."""

from __future__ import annotations

from collections.abc import Sequence

from krino.judges.citation.belgium.topics import topic_match
from krino.judges.citation.facts import CitationFacts, shown_text
from krino.judges.citation.labels import CitationLabels, Subject
from krino.judges.citation.reasoning.checklist import reasoning_by_words


def label_locally(batch: Sequence[CitationFacts]) -> list[CitationLabels]:
    return [CitationLabels(subject=_subject(facts), reasoning=reasoning_by_words(facts)) for facts in batch]


def _subject(facts: CitationFacts) -> Subject:
    nowhere = Subject(candidate=None, strength="none", quote=None)
    if facts.about is None or not facts.shown:
        return nowhere
    texts = [shown_text(candidate) for candidate in facts.shown]
    found = topic_match(facts.about, [(text,) for text in texts])
    if found.index is None or not found.quote.strip():
        return nowhere
    return Subject(candidate=found.index + 1, strength=found.strength, quote=found.quote)
