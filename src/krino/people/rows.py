"""Labels of people as the rows that `krino agree` reads: one row a case and rater, with where each label came from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from os import PathLike
from typing import Any, Literal, get_args

from krino.errors import UsageProblem
from krino.people.store import DEPTHS, Depth, Event, LabelStore, Subject, by_case
from krino.runs.reading import StoredRun

Depths = Literal["fields", "labels", "both"]
"""`both`: what a rater says of the fields themselves, and for the others what the rules make of the rater's labels."""


def draw(input_hash: str) -> int:
    """Where a case stands in the random order, which is the same for everybody."""
    return int.from_bytes(blake2b(f"krino {input_hash}".encode(), digest_size=8).digest())


def rows_of(
    events: Iterable[Event], ids: Mapping[str, str], version: str, depth: Depths = "both"
) -> list[dict[str, Any]]:
    """`ids`: of each content the id of its case in the run; labels of other cases are left out.

    `version`: of the judge. Labels that the rules of another version have settled say nothing of this one's fields.
    """
    wanted = DEPTHS if depth == "both" else (depth,)
    given = [event for event in events if event.place.input_hash in ids]
    reach = _reach(given)
    rows = []
    for digest, of_case in by_case(given).items():
        by_rater: dict[str, dict[Depth, Event]] = {}
        for event in of_case:
            stale = event.depth == "labels" and event.place.subject.version != version
            if event.action == "label" and event.depth in wanted and event.fields and not stale:
                by_rater.setdefault(event.rater, {})[event.depth] = event
        rows += [_row(ids[digest], rater, found, reach) for rater, found in by_rater.items()]
    return rows


def _row(case: str, rater: str, found: Mapping[Depth, Event], reach: Mapping[Any, int]) -> dict[str, Any]:
    """Fields of the verdict come last: should one have the name of another column, it is the field."""
    events = [found[depth] for depth in reversed(DEPTHS) if depth in found]
    return {
        "label_note": " · ".join(event.note for event in events if event.note),
        "label_why": events[-1].why,
        "label_random": any(draw(event.place.input_hash) <= reach.get(_order(event), -1) for event in events),
        "label_blind": all(event.blind for event in events),
        "label_depth": "both" if len(events) > 1 else events[0].depth,
        "label_run": events[-1].place.run,
        "label_time": events[-1].created,
        **{name: value for event in events for name, value in event.fields.items()},
        "id": case,
        "rater": rater,
    }


def _reach(events: Iterable[Event]) -> dict[tuple[str, str, str], int]:
    """How far each rater has come in the random order of each run.

    A case that was labelled for another reason, and that the random order would have brought by then, belongs to the
    random sample too: without it the sample would lack just the cases that are in dispute.
    """
    found: dict[tuple[str, str, str], int] = {}
    for event in events:
        if event.random:
            found[_order(event)] = max(found.get(_order(event), -1), draw(event.place.input_hash))
    return found


def _order(event: Event) -> tuple[str, str, str]:
    """Whose random order, of which run."""
    return event.place.run, event.rater, event.depth


def plain(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Without where the labels came from: what `agree` reads."""
    return [{name: value for name, value in row.items() if not name.startswith("label_")} for row in rows]


def columns_of(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Id and rater first, then the fields, then where the labels came from."""
    names = dict.fromkeys(name for row in rows for name in row)
    own = [name for name in names if name not in ("id", "rater")]
    return ["id", "rater", *sorted(own, key=lambda name: name.startswith("label_"))]


def rows_for_run(where: str | PathLike[str], run: StoredRun, depth: str = "both") -> list[dict[str, Any]]:
    """What people said of the cases of a run, from a workbench: its folder of runs, or the address of its database."""
    if depth not in get_args(Depths):
        raise UsageProblem(f"--depth {depth}: there are {', '.join(get_args(Depths))}")
    subject = Subject.of(run.manifest)
    store = LabelStore(where, read_only=True)
    try:
        events = store.current(subject)
    finally:
        store.close()
    ids: dict[str, str] = {}
    for entry in run.roll():
        ids.setdefault(entry.input_hash, entry.id)  # a content that several cases have counts once
    rows = rows_of(events, ids, subject.version, depth)  # type: ignore[arg-type]
    if not rows:
        raise UsageProblem(
            f"{run.folder}: nobody has labelled a case of this run, at this depth, in that workbench; labels belong to "
            "the content of a case, the judge and its options"
        )
    return rows
