"""The citation judge: reads a case, asks only what identifiers leave open, and settles the rubric's eleven fields."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from krino.blocks import Block
from krino.contract import Joined, Judge, Judgement, Passage, Questions, Reordered, RollUp, Settlement
from krino.judges.citation.case import CitationCase
from krino.judges.citation.facts import CitationFacts, shown_text, study
from krino.judges.citation.joining import join_votes, reorder
from krino.judges.citation.labels import CitationLabels, check_labels
from krino.judges.citation.local import label_locally
from krino.judges.citation.options import CitationOptions, with_aliases
from krino.judges.citation.record import CITED, snake_keys
from krino.judges.citation.rollup import roll_up, slice_columns
from krino.judges.citation.rubric import settle
from krino.judges.citation.tables import package_text
from krino.judges.citation.verdict import CitationVerdict
from krino.judges.citation.view import citation_blocks

_LONGEST_PASSAGE = 4_000


class CitationJudge(Judge[CitationCase, CitationFacts, CitationLabels]):
    """Was the cited Belgian decision found, was the court handled rightly, was the confidence earned?"""

    name = "citation"
    version = "0.1.0"
    summary = "Citations of Belgian case law: the right decision, court alignment, calibration, reasoning."
    default_prompt: ClassVar[str] = package_text("prompt.md")
    rules: ClassVar[Mapping[str, str]] = tomllib.loads(package_text("rules.toml"))["rules"]
    main_fields = CITED
    options_model = CitationOptions
    case_model = CitationCase
    labels_model = CitationLabels
    verdict_model = CitationVerdict

    def read(self, record: Mapping[str, Any]) -> CitationCase:
        return with_aliases(super().read(record), self._set.aliases)

    def study(self, case: CitationCase) -> CitationFacts:
        return study(case, self._set.reasoning)

    def leaves_open(self, case: CitationCase, facts: CitationFacts) -> bool:
        return facts.truth.open or (facts.who_reads == "always" and facts.cues.written)

    def ask(self, case: CitationCase, facts: CitationFacts) -> Questions | None:
        if not self.leaves_open(case, facts):
            return None
        snippet = case.citation_snippet if facts.shown else None
        passages = [Passage("citation", _citation(case))]
        if snippet is not None:
            passages.append(Passage("snippet", snippet[:_LONGEST_PASSAGE]))
        for number, candidate in enumerate(facts.shown, 1):
            passages.append(Passage(f"candidate {number}", shown_text(candidate)))
        passages.append(Passage("reasoning", (facts.answer.reasoning or "(none)")[:_LONGEST_PASSAGE]))
        return Questions(tuple(passages), _request(facts))

    def check(self, case: CitationCase, facts: CitationFacts, labels: CitationLabels) -> list[str]:
        return check_labels(facts, labels)

    def settle(self, case: CitationCase, facts: CitationFacts, labels: CitationLabels | None) -> Settlement:
        return settle(facts, labels)

    def reorder(
        self, case: CitationCase, facts: CitationFacts, draw: Random
    ) -> Reordered[CitationCase, CitationFacts, CitationLabels] | None:
        return reorder(case, facts, draw)

    def join_votes(
        self, case: CitationCase, facts: CitationFacts, ballots: Sequence[CitationLabels]
    ) -> Joined[CitationLabels]:
        return join_votes(facts, ballots)

    def label_locally(self, batch: Sequence[tuple[CitationCase, CitationFacts]]) -> list[CitationLabels]:
        return label_locally([facts for _, facts in batch])

    def main_inputs(self, case: CitationCase) -> dict[str, str]:
        """The citation as written, and what the matcher answered, in short."""
        written = case.model_dump(include={*CITED, "citation_snippet"})
        return {"citation": _as_written(written), "matched": _matched(case)}

    def raw_inputs(self, record: Mapping[str, Any]) -> dict[str, str]:
        return {"citation": _as_written(snake_keys(record))}

    @property
    def _set(self) -> CitationOptions:
        assert isinstance(self.options, CitationOptions)
        return self.options

    def metadata(self, case: CitationCase) -> dict[str, Any]:
        return slice_columns(case)

    def view(self, case: CitationCase, facts: CitationFacts, judgement: Judgement) -> Sequence[Block]:
        return citation_blocks(case, facts, judgement)

    def roll_up(self, verdict: Mapping[str, Any], rules: Mapping[str, str]) -> RollUp:
        return roll_up(verdict, rules)


def _citation(case: CitationCase) -> str:
    cited = (case.cited_court_name, case.cited_date, case.cited_case_number or "no case number", case.cited_ecli)
    return ", ".join(part for part in cited if part)


def _as_written(fields: Mapping[str, Any]) -> str:
    """The parts of the citation; the snippet where nothing was taken out of it."""
    parts = [value for name in CITED if isinstance(value := fields.get(name), str) and value.strip()]
    snippet = fields.get("citation_snippet")
    return ", ".join(parts) or (snippet if isinstance(snippet, str) else "")


def _matched(case: CitationCase) -> str:
    if not case.matches:
        return "no match"
    top, more = case.matches[0], len(case.matches) - 1
    named = ", ".join(part for part in (top.decision_id or "a decision without id", top.court_name) if part)
    return f"{named} (and {more} more)" if more else named


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
