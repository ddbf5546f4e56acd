"""`/compare`: two runs side by side, flips first; each flip links to both cases with their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from krino.blocks import Block, Cell, DataTable, MarkedText, Segment, Value
from krino.errors import UsageProblem
from krino.render.comparison import comparison_blocks
from krino.results.comparison.result import CodeChange, Comparison, NumberChange, OtherChange
from krino.results.explanations import describe_rule
from krino.results.field_kinds import fields_of
from krino.results.formatting import format_number
from krino.web.labels.service import get_rater, record_seen
from krino.web.pages.case import find_row, show_case
from krino.web.rendering import describe_inputs, render_blocks, render_page, row_address
from krino.web.runs_folder import NoSuchRun
from krino.web.workbench import Workbench, WorkbenchDep

router = APIRouter(include_in_schema=False)

_PATIENCE = 30.0  # seconds to wait for the index, which knows cases by content
_LONG = 60  # longer texts are compared word by word
_LONGEST_COMPARED = 4_000
_TEXTS = ("another text",)
_TONES: Any = {"only in A": "bad", "only in B": "good"}


@dataclass(frozen=True, slots=True)
class Change:
    """One kind of change and its cases: id, URL and details of each."""

    field: str
    description: tuple[str, ...]
    """Value before and after, or a description."""
    count: int
    cases: list[tuple[str, str, str]]


@router.get("/compare")
def compare_page(request: Request, workbench: WorkbenchDep, a: str = "", b: str = "") -> Response:
    """Shows the comparison of two runs, or the form to choose them."""
    names = [run.name for run in workbench.runs.runs()]
    context: dict[str, Any] = {"names": names, "a": a, "b": b, "problem": "", "waiting": False, "rest": None}
    if a and b:
        try:
            found = workbench.runs.comparison(a, b)
        except NoSuchRun:
            raise
        except UsageProblem as problem:
            context["problem"] = str(problem)
        else:
            context["waiting"] = found is None
            context |= {} if found is None else _describe_comparison(request, workbench, found, a, b)
    return render_page(request, "compare.html", **context)


def _describe_comparison(request: Request, workbench: Workbench, found: Comparison, a: str, b: str) -> dict[str, Any]:
    """Makes the template variables of a comparison. The verdicts of the listed cases count as seen."""
    changes = sorted(_list_changes(found, a, b), key=lambda change: change.description == _TEXTS)
    if (rater := get_rater(request)) is not None:
        ids = [case for change in changes for case, _, _ in change.cases]
        for run in (a, b):
            opened = workbench.runs.open(run, _PATIENCE)
            record_seen(request, opened, opened.cases.find_by_ids(ids))
    rest = render_blocks(comparison_blocks(_hide_paths(found, workbench, a, b), flips=False), a)
    return {"changes": changes, "rest": rest, "rater": rater}


@router.get("/compare/case")
def pair_page(
    request: Request,
    workbench: WorkbenchDep,
    a: str,
    b: str,
    id: str,  # noqa: A002 - the parameter's name in addresses
    again: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """Shows a case of two runs side by side."""
    sides: list[dict[str, Any]] = []
    for name in (a, b):
        opened = workbench.runs.open(name)
        row, rules = find_row(opened, id, again=again), opened.manifest.about.rules
        sides.append({"name": name, "address": row_address(name, row), **show_case(request, workbench, opened, row)})
    one, other = (side["judgement"] for side in sides)
    context = {
        "id": id,
        "sides": sides,
        "changed": render_blocks(_show_differences(one, other, rules), a),
        "other_content": one["input_hash"] != other["input_hash"],
        "back": f"/compare?{urlencode({'a': a, 'b': b})}",
    }
    return render_page(request, "pair.html", **context)


# --- what changed between two runs -----------------------------------------------------------------


def _list_changes(found: Comparison, a: str, b: str) -> Iterator[Change]:
    """Yields the kinds of change, each with its cases: status changes first, then fields in their order."""

    def make_links(ids: tuple[str, ...], details: Mapping[str, str] | None = None) -> list[tuple[str, str, str]]:
        """Makes id, URL and details of each case."""
        query = [(name, urlencode({"a": a, "b": b, "id": name})) for name in ids]
        return [(name, f"/compare/case?{asked}", (details or {}).get(name, "")) for name, asked in query]

    for flip in found.statuses:
        yield Change("status", (flip.before, flip.after), flip.count, make_links(flip.ids))
    for field in found.fields:
        if isinstance(field, CodeChange):
            for flip in field.flips:
                yield Change(field.name, (flip.before, flip.after), flip.count, make_links(flip.ids))
        elif isinstance(field, NumberChange) and field.movers:
            moves = {mover.id: f"{format_number(mover.a)} → {format_number(mover.b)}" for mover in field.movers}
            description = f"{field.risen:,} up, {field.fallen:,} down"
            yield Change(field.name, (description,), field.risen + field.fallen, make_links(tuple(moves), moves))
        elif isinstance(field, OtherChange) and field.changed:
            yield Change(field.name, _TEXTS, field.changed, make_links(field.ids))


def _hide_paths(found: Comparison, workbench: Workbench, a: str, b: str) -> Comparison:
    """Returns the comparison with runs and inputs by name: where they are on this machine is private."""
    settings = [line for line in found.settings if not line.startswith("inputs:")]
    if len(settings) < len(found.settings):
        ours, theirs = (describe_inputs(workbench.runs.load(run).manifest) for run in (a, b))
        settings.append(f"inputs: {ours} in A, {theirs} in B")
    sides = {"a": found.a.model_copy(update={"run": a}), "b": found.b.model_copy(update={"run": b})}
    return found.model_copy(update={**sides, "settings": tuple(settings)})


# --- what changed in one case ----------------------------------------------------------------------


def _show_differences(a: Mapping[str, Any], b: Mapping[str, Any], rules: Mapping[str, str]) -> Iterator[Block]:
    """Yields the differing values in a table with their rules, and long texts as a word diff each."""
    here, there = {"status": a["status"], **fields_of(a)}, {"status": b["status"], **fields_of(b)}
    both = (here, a), (there, b)
    differing = [name for name in dict.fromkeys((*here, *there)) if here.get(name) != there.get(name)]
    long = [name for name in differing if len(str(here.get(name))) > _LONG or len(str(there.get(name))) > _LONG]
    rows: list[tuple[Value, ...]] = [
        (
            name,
            *(
                Cell(_format_value(held.get(name)), strong=True, below=_explain_rule(side, name, rules))
                for held, side in both
            ),
        )
        for name in differing
        if name not in long
    ]
    if rows:
        yield DataTable("", ("field", "A", "B"), rows)
    for name in long:
        segments = list(_diff_words(_format_value(here.get(name)), _format_value(there.get(name))))
        yield MarkedText(name.replace("_", " "), segments, _TONES)


def _diff_words(a: str, b: str) -> Iterator[Segment]:
    """Yields the words of two texts, marked where only one has them."""
    one, other = a[:_LONGEST_COMPARED].split(" "), b[:_LONGEST_COMPARED].split(" ")
    for kind, start, end, first, last in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if kind == "equal":
            yield Segment(" ".join(one[start:end]) + " ")
            continue
        if end > start:
            yield Segment(" ".join(one[start:end]), "only in A")
            yield Segment(" ")
        if last > first:
            yield Segment(" ".join(other[first:last]), "only in B")
            yield Segment(" ")


def _format_value(value: Any) -> str:
    """Formats a value for the comparison."""
    if value is None:
        return "null"
    if isinstance(value, list):
        return ", ".join(map(_format_value, value)) or "(empty list)"
    return format_number(value) if isinstance(value, float) else str(value)


def _explain_rule(side: Mapping[str, Any], name: str, rules: Mapping[str, str]) -> str:
    rule = (side.get("rules") or {}).get(name)
    return describe_rule(str(rule), rules) if rule else ""
