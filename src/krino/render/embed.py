"""Embeds judgements in a web page as data: one JSON value a line, safe inside a script element, limited in size.

The table has one short row for each case and the first words of its inputs. A small run has full details of every case;
a large one only of cases that are not ok, and of the first ones. Requests to labellers fill the remaining space.
Everything is collected on disk, so memory does not grow with the run.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import IO, Any

import orjson

from krino.blocks import as_data, from_data
from krino.engine.views import CaseView, bounded, bounded_blocks, broke_unlabelled
from krino.render.case import votes_table
from krino.render.live_views import LiveJudge
from krino.results.field_kinds import fields_of
from krino.results.number_summary import NumberField
from krino.results.opening_words import OpeningWords
from krino.results.summary import CodeField, Summary
from krino.results.verdict_schema import Scales
from krino.runs.views import StoredViews
from krino.text.clean import cut, sound

LARGE_RUN = 5_000
FIRST_DETAILS = 2_000
STATUS_CODES = {"ok": 0, "failed": 1, "error": 2}

CaseOf = Callable[[Mapping[str, Any]], Mapping[str, Any] | None]

_MB = 1_000_000
_DATA = 19 * _MB  # all data: the page stays under 20 MB
_DETAILS = 17 * _MB  # rows, texts and details; the rest is for requests
# Rows of cases that are not ok have their own share, so that many ok cases cannot displace them.
_ROWS_OK, _ROWS_ALL = 9 * _MB, 10 * _MB
_TEXTS = 5 * _MB  # inputs: whole texts in a small run, the first words in a large one
_LONGEST_ID = 200
_LONGEST_NOTE = 140
_LONGEST_FINDING = 100
_MOST_FINDINGS = 3
_LONGEST_CELL = 60
_LONGEST_LIST = 1_000
_MOST_COLUMNS = 8
_MOST_EXTRA = 24
_AROUND = 8  # bytes of a number, or around a text
_NUMBERS = frozenset({int, float})
_DETAIL_KEYS = (
    "input_hash",
    "roll_up",
    "verdict",
    "reason",
    "error",
    "decided_by",
    "rules",
    "evidence",
    "findings",
    "unread",
    "labels",
    "labeller",
    "usage",
    "source",
    "metadata",
    "raw_reply",
)
_UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_UNSAFE_BYTES = tuple((char.encode(), escaped.encode()) for char, escaped in _UNSAFE.items())


def script_json(value: Any) -> bytes:
    """Returns JSON on one line without characters that HTML parsers read as markup."""
    try:
        data = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS, default=str)
    except TypeError:  # a lone surrogate: valid in Python and in JSON, not in UTF-8
        data = json.dumps(value, default=str).encode()
    for char, escaped in _UNSAFE_BYTES:
        data = data.replace(char, escaped)
    return data


@dataclass(slots=True)
class Kept:
    """How much of the run the page holds."""

    cases: int = 0
    not_ok: int = 0
    rows: int = 0
    details: int = 0
    details_not_ok: int = 0
    requests: int = 0
    requests_made: int = 0
    texts: int = 0
    texts_made: int = 0
    cut_texts_at: int | None = None
    """The length to which texts are cut; None if all are complete."""


@dataclass(slots=True)
class _Extra:
    """A column of metadata: the size of its values in bytes, and whether all are numbers."""

    size: int = 0
    numbers: bool = True

    def add(self, cell: Any) -> None:
        self.size += len(cell.encode()) + _AROUND if isinstance(cell, str) else _AROUND
        self.numbers = self.numbers and cell.__class__ in _NUMBERS


@dataclass(slots=True)
class Collector:
    """Takes judgements one at a time. Then `rows`, `texts`, `details` and `requests` give the lines, in this order.

    The caller opens and closes the scratch files: rows; inputs; details of cases that are not ok, of the first ok cases
    and of later ok cases (left out of a large run); requests.
    """

    rows_file: IO[bytes]
    texts_file: IO[bytes]
    not_ok_file: IO[bytes]
    first_file: IO[bytes]
    later_file: IO[bytes]
    requests_file: IO[bytes]
    judge: LiveJudge | None = None
    expected: int = 0
    """The expected number of cases, so that nothing is made that a large run would leave out."""
    case_of: CaseOf = lambda judgement: judgement.get("case")
    stored: StoredViews | None = None
    """The views made when the cases were judged. A missing view is made from the case, if the case is available."""
    kept: Kept = field(default_factory=Kept)
    words: OpeningWords = field(default_factory=OpeningWords)
    _extra: dict[str, _Extra] = field(default_factory=dict)
    _row_bytes: int = 0
    _ok_bytes: int = 0
    _ok_details: int = 0
    _shown: set[int] = field(default_factory=set)
    """The cases that have a row, if the table is a sample."""
    _spooled: int = 0
    _promised: int = 0
    """Bytes of details and requests so far. No more requests are made when they exceed a page."""
    _written: int = 0

    def add(self, judgement: Mapping[str, Any]) -> None:
        """Adds a judgement: its row always, its texts, details and request as far as the size allows."""
        index = int(judgement.get("index", self.kept.cases))
        ok = judgement["status"] == "ok"
        self.kept.cases += 1
        self.kept.not_ok += not ok
        large = max(self.kept.cases, self.expected) > LARGE_RUN
        known = _shorten_cells(judgement.get("metadata") or {})
        for name, value in known.items():
            if (extra := self._extra.get(name)) is None:
                extra = self._extra[name] = _Extra()
            extra.add(value)
        line = orjson.dumps([*_make_raw_row(index, judgement, large), known], default=str) + b"\n"
        self._row_bytes += len(line)
        self._ok_bytes += len(line) * ok
        self.rows_file.write(line)
        if texts := self.words.add(judgement.get("inputs") or {}, large=large):
            self.texts_file.write(orjson.dumps([index, texts]) + b"\n")
        first = ok and self._ok_details < FIRST_DETAILS
        if ok and not first and large:
            return
        view, case = self._view_of(judgement)
        line = script_json([index, detail_of(judgement, [] if view is None else view.blocks)]) + b"\n"
        self._promised += len(line)
        if not ok:
            self._spool_not_ok(line)
        else:
            self._ok_details += 1
            (self.first_file if first else self.later_file).write(line)
        self._spool_request(index, view, case)

    def extra_columns(self) -> list[dict[str, Any]]:
        """Returns columns of metadata, as many as fit into the table."""
        room = _ROWS_OK - self._row_bytes + sum(item.size for item in self._extra.values())
        columns = []
        for name, item in islice(self._extra.items(), _MOST_EXTRA):
            if (room := room - item.size - self.kept.cases) < 0:
                break
            columns.append({"name": name, "number": item.numbers, "extra": True})
        return columns

    def rows(self, columns: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
        """Yields one line for each case: index, id, status, note, then the values of the columns.

        If the run is too large for the page: an even sample of the ok cases, and the first ones, which have details.
        """
        wanted = [(4 + bool(column.get("extra")), column["name"]) for column in columns]
        self.rows_file.seek(0)
        ok_cases = 0
        for stored in self.rows_file:
            row = orjson.loads(stored)
            status = row[2]
            if not status:
                ok_cases += 1
                if ok_cases > FIRST_DETAILS and not _is_drawn(ok_cases, self._sampled()):
                    continue
            line = script_json([*row[:4], *(row[place].get(name) for place, name in wanted)]) + b"\n"
            if not self._fits(line, _ROWS_ALL if status else _ROWS_OK):
                continue
            self.kept.rows += 1
            if self._sampled() < 1.0:
                self._shown.add(row[0])
            yield line

    def _sampled(self) -> float:
        """Returns the share of the ok cases that fits into the table."""
        return min(1.0, _ROWS_OK / max(self._ok_bytes, 1))

    def texts(self) -> Iterator[bytes]:
        """Yields one line for each case: its index and the first words of its inputs, as much as fits."""
        count, longest = self.words.fitting(int(_TEXTS / self._sampled()))
        self.kept.texts_made, self.kept.cut_texts_at = self.words.cases, self.words.cut_at(longest)
        self.texts_file.seek(0)
        used = 0
        for stored in self.texts_file:
            index, texts = orjson.loads(stored)
            if self._sampled() < 1.0 and index not in self._shown:
                continue
            line = script_json([index, *self.words.shown(texts, count, longest)]) + b"\n"
            if used + len(line) > _TEXTS:  # escaped characters take more space than was counted
                continue
            used += len(line)
            self._written += len(line)
            self.kept.texts += 1
            yield line

    def details(self) -> Iterator[bytes]:
        """Yields one line for each case, as many as fit; cases that are not ok come first."""
        ok_files = [self.first_file] if self.kept.cases > LARGE_RUN else [self.first_file, self.later_file]
        for file in (self.not_ok_file, *ok_files):
            file.seek(0)
            for line in file:
                if not self._fits(line, _DETAILS):
                    break
                self.kept.details += 1
                self.kept.details_not_ok += file is self.not_ok_file
                yield line

    def requests(self) -> Iterator[bytes]:
        """Yields one line for each case, as many as fit: its index and its request, null if nothing was asked."""
        self.requests_file.seek(0)
        for line in self.requests_file:
            if not self._fits(line, _DATA):
                return
            self.kept.requests += 1
            yield line

    def _fits(self, line: bytes, room: int) -> bool:
        """Does a line still fit on the page? If so, it is counted as written."""
        fits = self._written + len(line) <= room
        self._written += len(line) if fits else 0
        return fits

    def _spool_not_ok(self, line: bytes) -> None:
        """Writes details of a case that is not ok to their file; no more than a page can hold is kept on disk."""
        if self._spooled <= _DATA:
            self._spooled += len(line)
            self.not_ok_file.write(line)

    def _view_of(self, judgement: Mapping[str, Any]) -> tuple[CaseView | None, Mapping[str, Any] | None]:
        """Returns the stored view, or a view made now, together with the case it was made from; None if there is
        neither.

        A view made now has no request yet: there may be no space for it.
        """
        kept = None if self.stored is None else self.stored.of(judgement["input_hash"])
        if kept is not None:
            return CaseView(as_data(from_data(kept.blocks)), kept.request), None
        if self.judge is None or broke_unlabelled(judgement["status"], judgement.get("labeller")):
            return None, None
        if not (case := self.case_of(judgement)):
            return None, None
        return CaseView(bounded_blocks(self.judge.view(judgement, case)), None), case

    def _spool_request(self, index: int, view: CaseView | None, case: Mapping[str, Any] | None) -> None:
        """Writes the request of a case to its file, as long as a page has room. Called right after `_view_of` for the
        same case, so that a case is studied once for both."""
        if view is None or self.judge is None:
            return
        self.kept.requests_made += 1
        if self._promised <= _DATA:
            request = view.request if case is None else self.judge.request(case)
            line = script_json([index, request]) + b"\n"
            self._promised += len(line)
            self.requests_file.write(line)


def _is_drawn(number: int, share: float) -> bool:
    """Is this item, counted from 1, in an even sample?"""
    return int(number * share) > int((number - 1) * share)


def columns_of(summary: Summary, scales: Scales) -> list[dict[str, Any]]:
    """Returns the columns of the table after the id: roll-up, scores (with their scales), then categories that vary."""
    varied = [item for item in summary.codes if len(item.counts) > 1 or item.nulls]
    shown: list[NumberField | CodeField] = [*summary.numbers, *varied]
    ordered = sorted(shown, key=lambda item: item.name != "roll_up")
    columns: list[dict[str, Any]] = []
    for item in ordered[:_MOST_COLUMNS]:
        column = {"name": item.name, "number": isinstance(item, NumberField)}
        columns.append({**column, "scale": scales[item.name]} if item.name in scales else column)
    return columns


def detail_of(judgement: Mapping[str, Any], own: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Returns everything that the page shows of a case, without empty fields, and with long texts cut.

    `own`: the judge's view of the case as data that is cut already.
    """
    detail = {key: judgement[key] for key in _DETAIL_KEYS if judgement.get(key) not in (None, {}, [])}
    if not own and judgement.get("inputs"):  # the judge's view shows the case better
        detail["inputs"] = judgement["inputs"]
    shown: dict[str, Any] = bounded(detail)
    votes = votes_table(judgement)
    if own or votes:
        shown["blocks"] = [*own, *(bounded_blocks([votes]) if votes else ())]
        shown["own"] = len(own)
    return shown


def _make_raw_row(index: int, judgement: Mapping[str, Any], large: bool) -> list[Any]:
    """Returns the row of a case: index, id, status, note and values; one that is not ok has no values."""
    status = STATUS_CODES.get(str(judgement["status"]), STATUS_CODES["error"])
    values = {} if status else _shorten_cells(fields_of(judgement))
    name = sound(cut(str(judgement.get("id", index)), _LONGEST_ID))
    return [index, name, status, sound(note_of(judgement, large)), values]


def _shorten_cells(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the values that a table shows, shortened; nulls, long texts and nested values are left out."""
    cells: dict[str, Any] = {}
    for key, value in verdict.items():
        if value is None:
            continue
        if isinstance(value, str):  # by far the most
            if len(value) <= _LONGEST_CELL:
                cells[key] = sound(value)
        elif isinstance(value, float):
            cells[key] = float(f"{value:.5g}")
        elif isinstance(value, int):
            cells[key] = value
        elif isinstance(value, list) and all(isinstance(item, str) and len(item) <= _LONGEST_CELL for item in value):
            cells[key] = sound(cut(", ".join(value), _LONGEST_LIST))  # the whole list, because it is searched
    return cells


def note_of(judgement: Mapping[str, Any], large: bool) -> str:
    """Returns why a case was not judged; for a judged case its first findings, each with its rule.

    In a large run only the rules, which take little space: the page adds their texts.
    """
    if judgement["status"] != "ok":
        return cut(" ".join(str(judgement.get("reason") or judgement.get("error") or "").split()), _LONGEST_NOTE)
    findings = judgement.get("findings") or ()
    if not findings:
        return ""
    if large:
        return cut(", ".join(dict.fromkeys(str(finding["rule"]) for finding in findings)), _LONGEST_NOTE)
    notes = [_describe_finding(finding) for finding in findings[:_MOST_FINDINGS]]
    more = len(findings) - len(notes)
    return "; ".join([*notes, f"and {more} more"] if more else notes)


def _describe_finding(finding: Mapping[str, Any]) -> str:
    text = " ".join(str(finding.get("text") or "").split()).rstrip(".")
    return f"{cut(text, _LONGEST_FINDING)} ({cut(str(finding['rule']), _LONGEST_CELL)})".lstrip()
