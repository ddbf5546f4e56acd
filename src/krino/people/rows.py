"""People's labels as rows for `krino agree`: one row per case and rater, with the provenance of each label."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, get_args

from krino.errors import UsageProblem
from krino.people.sampling import Order, find_random_reach, find_target, order_key, random_rank, weigh_cases
from krino.people.store import DEPTHS, Depth, Event, LabelStore, Subject, group_by_case
from krino.runs.stored_run import StoredRun

DepthChoice = Literal["fields", "labels", "both"]
"""`both`: fields that the rater gave directly; for the other fields, values derived from the rater's labels."""


Answers = Callable[[str], Mapping[str, bool]]
"""From a target (`pass`, `match:exact`) to the judge's answer on it, by content hash of the case."""


def build_rows(
    events: Iterable[Event],
    ids: Mapping[str, str],
    version: str,
    depth: DepthChoice = "both",
    answers: tuple[str, Answers] | None = None,
) -> list[dict[str, Any]]:
    """One row per case and rater.

    `ids`: content hash to case id; events of other cases are dropped. `version`: of the judge; verdicts that another
    version derived from labels are dropped, because this version's rules may derive others. `answers`: the
    name of the run and what its judge says, for the sampling weights of cases that were drawn for a rate.
    """
    wanted = DEPTHS if depth == "both" else (depth,)
    given = [event for event in events if event.place.input_hash in ids]
    reach = find_random_reach(given)
    given = [event for event in given if event.depth in wanted and not _is_stale(event, version)]
    target = find_target(given)
    weights = {} if target is None or answers is None else weigh_cases(given, target, answers[1](target), answers[0])
    rows = []
    for digest, of_case in group_by_case(given).items():
        by_rater: dict[str, dict[Depth, Event]] = {}
        for event in of_case:
            if event.action == "label" and event.fields:
                by_rater.setdefault(event.rater, {})[event.depth] = event
        weight = {"label_weight": weights[digest]} if digest in weights else {}
        rows += [weight | _build_row(ids[digest], rater, found, reach) for rater, found in by_rater.items()]
    return rows


def _is_stale(event: Event, version: str) -> bool:
    """Whether the verdict was derived from labels by the rules of another version."""
    return event.depth == "labels" and event.place.subject.version != version


def _build_row(case: str, rater: str, found: Mapping[Depth, Event], reach: Mapping[Order, int]) -> dict[str, Any]:
    """Returns one row: the fields of a rater's labels with their provenance."""
    # The fields of the verdict come after the provenance, so that a field wins if both have the same name.
    events = [found[depth] for depth in reversed(DEPTHS) if depth in found]
    return {
        "label_note": " · ".join(event.note for event in events if event.note),
        "label_why": events[-1].why,
        "label_random": any(random_rank(event.place.input_hash) <= reach.get(order_key(event), -1) for event in events),
        "label_blind": all(event.blind for event in events),
        "label_depth": "both" if len(events) > 1 else events[0].depth,
        "label_run": events[-1].place.run,
        "label_time": events[-1].created,
        **{name: value for event in events for name, value in event.fields.items()},
        "id": case,
        "rater": rater,
    }


def drop_provenance(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows without provenance columns, as `agree` reads them."""
    return [{name: value for name, value in row.items() if not name.startswith("label_")} for row in rows]


def order_columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Column names: id and rater, then the fields, then the provenance."""
    names = dict.fromkeys(name for row in rows for name in row)
    own = [name for name in names if name not in ("id", "rater")]
    return ["id", "rater", *sorted(own, key=lambda name: name.startswith("label_"))]


def load_rows(
    where: str | PathLike[str], run: StoredRun, depth: str = "both", answers: Answers | None = None
) -> list[dict[str, Any]]:
    """The labels of a run from a workbench, given by its folder of runs or its database URL, as rows of `build_rows`.

    Raises `UsageProblem` if there are none. `answers`: what the judge says, for sampling weights.
    """
    if depth not in get_args(DepthChoice):
        raise UsageProblem(f"--depth {depth}: choose one of {', '.join(get_args(DepthChoice))}")
    subject = Subject.of(run.manifest)
    store = LabelStore(where, read_only=True)
    try:
        events = store.current(subject)
    finally:
        store.close()
    ids: dict[str, str] = {}
    for entry in run.roll():
        ids.setdefault(entry.input_hash, entry.id)  # cases with equal content count once
    named = None if answers is None else (run.folder.resolve().name, answers)
    rows = build_rows(events, ids, subject.version, depth, named)  # type: ignore[arg-type]
    if not rows:
        raise UsageProblem(
            f"{run.folder}: nobody has labelled a case of this run at this depth in that workbench; labels match cases "
            "by content, judge and options"
        )
    return rows
