"""Agreement of raters with each other and with the judge, updated as labels arrive."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from krino.errors import UsageProblem
from krino.people.rows import DepthChoice, build_rows, drop_provenance
from krino.people.store import LabelStore, Subject
from krino.results.agreement.agree import agree
from krino.results.agreement.field_agreement import collect_field
from krino.results.agreement.labelled_verdicts import Verdicts, read_verdicts
from krino.results.agreement.labels import labels_from_rows
from krino.results.agreement.result import Agreement, Figure
from krino.results.agreement.statistics import majority_codes
from krino.results.explanations import format_value
from krino.results.field_kinds import fields_of
from krino.results.formatting import format_interval, format_number
from krino.stats.arrays import MISSING
from krino.web.runs_folder import OpenRun

_DRAWS = 200
"""Bootstrap draws: enough to show an interval, and fast enough to follow every label."""
_MOST_KEPT = 16


@dataclass(frozen=True, slots=True)
class LiveAgreement:
    """The current labels of a run and their agreement with its judge. Cases are identified by content hash."""

    edition: int
    """Changes with every label."""
    rows: list[dict[str, Any]]
    ids: Mapping[str, str]
    """Case id by content hash. Ids may repeat, hashes do not."""
    judgements: Mapping[str, Mapping[str, Any]]
    found: Agreement | None = None
    problem: str = ""
    """Why there is no agreement yet."""


@dataclass(frozen=True, slots=True)
class CellCase:
    """A case in a cell of a confusion table."""

    input_hash: str
    id: str
    judge: str
    people: Mapping[str, str]


class AgreementCache:
    """Computes the agreement of a run once per state of its labels."""

    def __init__(self, store: LabelStore) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[str, DepthChoice], tuple[Any, LiveAgreement]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, opened: OpenRun, depth: DepthChoice) -> LiveAgreement:
        """Returns the agreement of a run with its current labels. While a new one is being computed, others get the
        previous one."""
        subject, place = Subject.of(opened.manifest), (opened.name, depth)
        state = (self._store.revision(subject), opened.state.started, opened.state.journal.end)
        before = self._kept.get(place)
        if before is not None and before[0] == state:
            return before[1]
        if not self._lock.acquire(blocking=before is None):
            assert before is not None
            return before[1]
        try:
            before = self._kept.get(place)
            if before is None or before[0] != state:
                self._kept[place] = before = (state, self._compute(opened, subject, state[0], depth))
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
            return before[1]
        finally:
            self._lock.release()

    def _compute(self, opened: OpenRun, subject: Subject, edition: int, depth: DepthChoice) -> LiveAgreement:
        """Compares the labels of a run with its verdicts; without usable labels, the result holds the problem
        instead."""
        events = self._store.current(subject)
        labelled = opened.cases.find_by_hashes(event.place.input_hash for event in events)
        ids = {digest: row.entry.id for digest, row in labelled.items()}
        read = zip(ids, opened.cases.read_judgements(labelled.values()), strict=True)
        judgements = {digest: {**judgement, "id": digest} for digest, judgement in read}
        rows = drop_provenance(build_rows(events, {digest: digest for digest in ids}, subject.version, depth))
        compared = LiveAgreement(edition, rows, ids, judgements)
        if not rows:
            return replace(compared, problem="nobody has labelled a case of this run yet")
        try:
            return replace(compared, found=agree(judgements.values(), rows, draws=_DRAWS))
        except UsageProblem as problem:
            return replace(compared, problem=str(problem))


def find_cell_cases(compared: LiveAgreement, field: str, people: str, judge: str) -> list[CellCase]:
    """Lists the cases for which most raters say `people` and the judge says `judge` in this field."""
    if compared.found is None or field not in {one.field for one in compared.found.fields}:
        return []
    given = labels_from_rows(compared.rows)
    data = collect_field(field, given, read_verdicts(compared.judgements.values(), Verdicts(given)))
    most, names = majority_codes(data.people), data.coding.values
    found = []
    for digest, place in given.ids.items():
        said, own = most[place], data.judge[place]
        if MISSING not in (said, own) and (names[said], names[own]) == (people, judge):
            found.append(_make_cell_case(compared, digest, field))
    return found


def _make_cell_case(compared: LiveAgreement, digest: str, field: str) -> CellCase:
    said = {row["rater"]: format_value(row[field]) for row in compared.rows if row["id"] == digest and field in row}
    judge = format_value(fields_of(compared.judgements[digest]).get(field))
    return CellCase(digest, compared.ids[digest], judge, said)


def hide_unjudged(found: Agreement, judged: Collection[str] | None) -> Agreement:
    """Returns the agreement without the examples (worst cases) that this person has not labelled; its figures stay.
    None: shows all, to people who do not label."""
    if judged is None:
        return found
    fields = tuple(
        field.model_copy(update={"worst": tuple(case for case in field.worst if case.id in judged)})
        for field in found.fields
    )
    return found.model_copy(update={"fields": fields})


def list_named_cases(found: Agreement | None, ids: Mapping[str, str]) -> set[tuple[str, str]]:
    """Returns content hash and id of the cases whose verdicts the agreement shows."""
    return {(case.id, ids[case.id]) for field in found.fields for case in field.worst} if found else set()


# --- summary -----------------------------------------------------------------------------------------

_KAPPA = {"category": "kappa", "order": "kappa_quadratic", "scale": "kappa_quadratic", "number": "spearman"}
_ALPHA = {"category": "alpha_nominal", "order": "alpha_ordinal", "scale": "alpha_interval", "number": "alpha_interval"}
_NAMES = {
    "kappa": "Cohen's kappa",
    "kappa_quadratic": "kappa, squared weights",
    "spearman": "Spearman's rho",
    "mean_kappa": "Cohen's kappa, mean over pairs",
    "mean_kappa_quadratic": "kappa, squared weights, mean over pairs",
    "mean_spearman": "Spearman's rho, mean over pairs",
    **dict.fromkeys(_ALPHA.values(), "Krippendorff's alpha"),
}


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One measure of one field, with its interval: judge against people, and people among themselves."""

    field: str
    n: int
    measure: str
    judge: tuple[str, str]
    people: tuple[str, str]


def summarise_agreement(found: Agreement) -> list[MeasureRow]:
    """Lists the main measures per field: kappa (or rank correlation for numbers) and alpha.

    With several raters, means over pairs: judge with each rater, and raters among themselves.
    """
    lines = []
    for field in found.fields:
        paired = f"mean_{_KAPPA[field.kind]}"
        for measure in (paired if paired in field.people else _KAPPA[field.kind], _ALPHA[field.kind]):
            if (ours := field.figures.get(measure)) is not None:
                pair = _format_figure(ours), _format_figure(field.people.get(measure))
                lines.append(MeasureRow(field.field, ours.n, _NAMES[measure], *pair))
    return lines


def _format_figure(found: Figure | None) -> tuple[str, str]:
    if found is None or found.value is None:
        return "–", ""
    return format_number(found.value), format_interval(found.interval) if found.interval else ""
