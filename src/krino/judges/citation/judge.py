"""The citation judge: reads a case, asks only what identifiers leave open, and settles the rubric's eleven fields."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, ClassVar

from krino.blocks import Block
from krino.contract import Bound, Joined, Judge, Judgement, Questions, Reordered, RollUp, Settlement
from krino.contract.hooks import Exhibits, Explainer, RecordFields
from krino.contract.record_fields import Reads
from krino.judges.citation import package_text
from krino.judges.citation.ask import ask, bounds_of
from krino.judges.citation.case import CitationCase
from krino.judges.citation.exhibits import exhibit_case
from krino.judges.citation.facts import CitationFacts, study
from krino.judges.citation.labels import CitationLabels, check_labels
from krino.judges.citation.local import label_locally
from krino.judges.citation.options import CitationOptions, apply_aliases
from krino.judges.citation.record.names import FIELD_LINKS, FIELD_SHAPES, FIELD_WORDS, inner_names, reads_of_record
from krino.judges.citation.record.reader import CITED, with_snake_keys
from krino.judges.citation.report.explain import explain_case_numbers, explain_court, explain_ecli
from krino.judges.citation.report.overview import CitationOverview
from krino.judges.citation.report.rollup import answer_columns, as_written, main_inputs, roll_up, slice_columns
from krino.judges.citation.rubric import settle
from krino.judges.citation.verdict import CitationVerdict
from krino.judges.citation.view import show_judgement
from krino.judges.citation.votes import join_votes, reorder


class CitationJudge(Judge[CitationCase, CitationFacts, CitationLabels, CitationVerdict, CitationOptions]):
    """Was the cited Belgian decision found, was the court handled rightly, was the confidence earned?"""

    name = "citation"
    version = "0.7.0"
    summary = "Citations of Belgian case law: the right decision, court alignment, calibration, reasoning."
    default_prompt: ClassVar[str] = package_text("prompt.md")
    rules: ClassVar[Mapping[str, str]] = tomllib.loads(package_text("rules.toml"))["rules"]
    fields = RecordFields(
        main=CITED,
        needed={"matches": ()},
        inner_names=inner_names(),
        words=FIELD_WORDS,
        shapes=FIELD_SHAPES,
        links=FIELD_LINKS,
    )

    def read(self, record: Mapping[str, Any]) -> CitationCase:
        """Reads the case, and replaces the user's aliases of courts."""
        return apply_aliases(super().read(record), self.options.aliases)

    def reads(self, record: Mapping[str, Any]) -> Reads:
        """Returns the names that are read of a record."""
        return reads_of_record(record)

    def study(self, case: CitationCase) -> CitationFacts:
        """Returns every fact of a case that needs no opinion; the option `reasoning` says who reads the reasoning."""
        return study(case, self.options.reasoning)

    def leaves_open(self, case: CitationCase, facts: CitationFacts) -> bool:
        """Is anything asked?

        The candidate if identifiers do not decide, or the reasoning if a labeller always reads it.
        """
        return facts.truth.open or (facts.who_reads == "always" and facts.cues.written)

    def ask(self, case: CitationCase, facts: CitationFacts) -> Questions | None:
        """Returns the questions, or None if nothing is open."""
        return ask(case, facts) if self.leaves_open(case, facts) else None

    def bounds(self, case: CitationCase, facts: CitationFacts, asked: Questions, exact: bool) -> Bound:
        """Returns what the labels may hold: which candidate, how strongly, which quotation."""
        return bounds_of(facts, exact)

    def check(self, case: CitationCase, facts: CitationFacts, labels: CitationLabels) -> list[str]:
        """Returns what is wrong with labels about this case; empty if nothing."""
        return check_labels(facts, labels)

    def settle(self, case: CitationCase, facts: CitationFacts, labels: CitationLabels | None) -> Settlement:
        """Returns the rulings on the eleven fields, with findings and unread texts."""
        return settle(facts, labels)

    def reorder(
        self, case: CitationCase, facts: CitationFacts, draw: Random
    ) -> Reordered[CitationCase, CitationFacts, CitationLabels] | None:
        """Shuffles the candidates that a labeller is shown; None if there are fewer than two."""
        return reorder(case, facts, draw)

    def join_votes(
        self, case: CitationCase, facts: CitationFacts, ballots: Sequence[CitationLabels]
    ) -> Joined[CitationLabels]:
        """Joins the labels of several seats by majority; raises `CannotJudge` on a tie without a way out."""
        return join_votes(facts, ballots)

    def label_locally(self, batch: Sequence[tuple[CitationCase, CitationFacts]]) -> list[CitationLabels]:
        """Labels cases without a model: the subject by legal terms, the reasoning by its words."""
        return label_locally([facts for _, facts in batch])

    def main_inputs(self, case: CitationCase) -> dict[str, str]:
        """Returns the citation as written, and the matcher's first match in short."""
        return main_inputs(case)

    def raw_inputs(self, record: Mapping[str, Any]) -> dict[str, str]:
        """Returns the citation as written in a record that could not be read as a case."""
        return {"citation": as_written(with_snake_keys(record))}

    def metadata(self, case: CitationCase) -> dict[str, Any]:
        """Returns the columns by which results can be sliced: court, place, language, class of the court."""
        return slice_columns(case)

    def columns(self, case: CitationCase, facts: CitationFacts, settlement: Settlement) -> dict[str, Any]:
        """Returns what tables show beside the verdict: what was cited, and the matcher's choice with its confidence."""
        return answer_columns(case, facts, settlement.rulings)

    def overview(self) -> CitationOverview:
        """Returns an empty collector of what the report says about all cases together."""
        return CitationOverview()

    def explainers(self) -> dict[str, Explainer]:
        """Returns what `krino explain` can explain: courts, case numbers and ECLIs."""
        return {
            "court": lambda texts: [explain_court(text, self.options.aliases) for text in texts],
            "case-number": explain_case_numbers,
            "ecli": lambda texts: map(explain_ecli, texts),
        }

    def exhibits(self, case: CitationCase, facts: CitationFacts) -> Exhibits:
        """Returns what a person sees who labels the case: citation and matcher's answer, beside the candidates."""
        return exhibit_case(case, facts)

    def view(self, case: CitationCase, facts: CitationFacts, judgement: Judgement) -> Sequence[Block]:
        """Returns a judgement as blocks: snippet, citation, candidates, answer and texts."""
        return show_judgement(case, facts, judgement)

    def roll_up(self, verdict: Mapping[str, Any], rules: Mapping[str, str]) -> RollUp:
        """Returns the verdict in one word: pass, review or fail."""
        return roll_up(verdict, rules)
