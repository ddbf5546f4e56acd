"""Streams the judgements of a run and keeps the compared fields of labelled cases."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.results.agreement.labels import Labels, Pool
from krino.results.field_kinds import fields_of
from krino.results.formatting import quote
from krino.runs.index import CODES
from krino.text.clean import clean_name

ABSENT = 0
"""In place of a status code: the run has no such case."""
_CONFIDENCE = re.compile(r"(?:.*_)?(?:confidence|certainty|probability)")
_SHOWN_IDS = 3


def names_confidence(field_name: str) -> bool:
    """Does the name of a field say that it is a confidence (`match_confidence`, `certainty`)?"""
    return _CONFIDENCE.fullmatch(field_name) is not None


def note_content(judgement: Mapping[str, Any], case: int, contents: dict[int, str | None]) -> bool:
    """Notes the content of a labelled case; returns whether the same content came before, so that both copies have one
    verdict.

    `contents`: the content hash of each labelled case so far; a new case is added. Raises `UsageProblem` if the id
    belongs to two cases with different content: the label could be about either of them.
    """
    content = judgement.get("input_hash")
    if case not in contents:
        contents[case] = content
        return False
    if content is not None and contents[case] == content:
        return True
    raise UsageProblem(
        f"two cases of the run have the id {quote(judgement['id'])}, so a label is ambiguous; give every case an id of "
        "its own and judge again"
    )


@dataclass(slots=True)
class VerdictColumn:
    """One field of the verdict: the value number of each labelled case, -1 if it has no verdict."""

    values: array[int]
    pool: Pool = field(default_factory=Pool)


@dataclass(slots=True)
class Verdicts:
    """The verdicts of labelled cases, and the number of other cases in the run."""

    labels: Labels
    confidences: frozenset[str] = frozenset()
    """Further fields to keep for calibration."""
    cluster: str | None = None
    """A metadata column to keep."""
    status: bytearray = field(init=False)
    """The status of each labelled case."""
    places: array[int] = field(init=False)
    """The position of each labelled case in the input."""
    fields: dict[str, VerdictColumn] = field(default_factory=dict)
    names: dict[str, None] = field(default_factory=dict)
    """All fields of the verdict; empty if no case of the run was judged."""
    cases: int = 0
    unlabelled: int = 0
    first_ids: list[str] = field(default_factory=list)
    clusters: dict[int, str] = field(default_factory=dict)
    _contents: dict[int, str | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.status = bytearray(len(self.labels.ids))
        self.places = array("q", [-1]) * len(self.labels.ids)

    def add(self, judgement: Mapping[str, Any]) -> None:
        """Adds a judgement; only labelled cases and wanted fields are kept. Raises `UsageProblem` if two labelled cases
        with different content have one id."""
        self.cases += 1
        if len(self.first_ids) < _SHOWN_IDS:
            self.first_ids.append(str(judgement["id"]))
        values = fields_of(judgement) if judgement["status"] == "ok" else {}
        if not values.keys() <= self.names.keys():
            self.names.update(dict.fromkeys(values))
        case = self.labels.ids.get(clean_name(judgement["id"]))
        if case is None:
            self.unlabelled += 1
            return
        if note_content(judgement, case, self._contents):
            return
        self.status[case] = CODES[judgement["status"]]
        self.places[case] = judgement.get("index", -1)
        for name, value in values.items():
            if name in self.fields or self._start_column(name):
                column = self.fields[name]
                column.values[case] = column.pool.number(value)
        if self.cluster is not None and (group := (judgement.get("metadata") or {}).get(self.cluster)) is not None:
            self.clusters[case] = str(group)

    def _start_column(self, name: str) -> bool:
        """Starts a column if the field is labelled or is a confidence; returns whether it did."""
        wanted = name in self.labels.columns or name in self.confidences or names_confidence(name)
        if wanted:
            self.fields[name] = VerdictColumn(array("q", [-1]) * len(self.labels.ids))
        return wanted


def read_verdicts(judgements: Iterable[Mapping[str, Any] | Judgement], verdicts: Verdicts) -> Verdicts:
    """Adds all judgements to `verdicts`, and returns it."""
    for judgement in judgements:
        verdicts.add(judgement.model_dump() if isinstance(judgement, Judgement) else judgement)
    return verdicts
