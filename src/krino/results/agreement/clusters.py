"""Finds the cluster of every labelled case, in the labels or in the run's metadata, for the bootstrap to draw by."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from krino.errors import UsageProblem
from krino.results.agreement.labels import Labels
from krino.results.agreement.result import Clusters
from krino.results.agreement.verdicts import Verdicts
from krino.results.agreement.wording import listed, shown


def find_clusters(column: str, labels: Labels, verdicts: Verdicts) -> tuple[list[Hashable], Clusters]:
    """For each labelled case its cluster; a case without one is a cluster of its own."""
    in_labels = column in labels.columns
    known: dict[int, Any] = _from_labels(column, labels) if in_labels else dict(verdicts.clusters)
    if not known:
        raise UsageProblem(
            f"cluster {shown(column)}: neither the labels nor the metadata of the labelled cases have such a column; "
            f"the labels have {listed(labels.columns)}"
        )
    groups: list[Hashable] = [("named", known[case]) if case in known else case for case in range(len(labels.ids))]
    return groups, Clusters(
        column=column,
        source="labels" if in_labels else "metadata",
        count=len(set(groups)),
        without=len(labels.ids) - len(known),
    )


def _from_labels(column: str, labels: Labels) -> dict[int, str]:
    found: dict[int, str] = {}
    given = labels.columns[column]
    for case, _, number in given.table().tolist():
        value = given.pool.values[number]
        if value is not None and found.setdefault(case, str(value)) != str(value):
            own_id = next(own_id for own_id, at in labels.ids.items() if at == case)
            raise UsageProblem(
                f"cluster {shown(column)}: case {shown(own_id)} has two values: {shown(found[case])}, {shown(value)}"
            )
    return found
