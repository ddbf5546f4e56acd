"""Splits labelled cases into three parts: to learn from, to choose a change by, and to test the chosen one.

Cases of one source stay together, and so do cases with the same content: a text that was learnt from proves nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random

from krino.errors import UsageProblem
from krino.results.formatting import format_count

SHARES = {"learn": 0.3, "choose": 0.3, "test": 0.4}
FEWEST = 60
"""Labelled cases; with fewer the test could show large gains only."""
FEWEST_SOURCES = 15
_FEWEST_IN_PART = 10
SOURCE_NAMES = ("cluster", "source", "source_id", "document", "document_id", "doc_id", "conversation_id", "session_id")
"""Fields of a case that say where it comes from, if the user names none."""


@dataclass(frozen=True)
class Parts:
    """The numbers of the cases of each part."""

    learn: list[int]
    choose: list[int]
    test: list[int]
    left_out: int
    """Cases that were not labelled at random: they may be learnt from, and never measured on."""


def split_cases(groups: Mapping[int, str], at_random: Set[int], seed: int) -> Parts:
    """Splits labelled cases by source, at random, into parts to learn from, to choose by and to test on.

    `groups`: the source of each case, by its number; `at_random`: those that belong to a random sample, of which alone
    the last two parts consist. Raises `UsageProblem` for too few cases or sources.
    """
    members: dict[str, list[int]] = {}
    for case, group in groups.items():
        members.setdefault(group, []).append(case)
    measurable = len(at_random)
    if measurable < FEWEST:
        raise UsageProblem(
            f"{format_count(measurable, 'labelled case')} that can be used: aligning a judge needs at least {FEWEST}, "
            "to learn from some, choose by others and test on the rest; label more"
        )
    if len(members) < FEWEST_SOURCES:
        raise UsageProblem(
            f"the labelled cases come from {format_count(len(members), 'source')}: at least {FEWEST_SOURCES} are "
            "needed, so that a judge can be tested on others than those it learnt from; name another field with "
            "--cluster"
        )
    order = sorted(members)
    Random(seed).shuffle(order)  # noqa: S311 - a split, no secret
    found: dict[str, list[int]] = {name: [] for name in SHARES}
    for group in order:
        neediest = max(SHARES, key=lambda name: SHARES[name] * len(groups) - len(found[name]))
        found[neediest] += members[group]
    kept = {name: [case for case in found[name] if case in at_random] for name in ("choose", "test")}
    if min(len(found["learn"]), *map(len, kept.values())) < _FEWEST_IN_PART:
        raise UsageProblem(
            f"the sources of the labelled cases are too unequal to split them in parts of {_FEWEST_IN_PART} cases: "
            "name another field with --cluster, or label cases of more sources"
        )
    left_out = sum(len(found[name]) - len(kept[name]) for name in kept)
    return Parts(found["learn"], kept["choose"], kept["test"], left_out)


def find_source(records: Sequence[Mapping[str, object]], named: str | None) -> str | None:
    """The field of the cases that says where they come from: the named one, or one with a usual name; None if there
    is none."""
    if named is not None:
        if not any(named in record for record in records):
            raise UsageProblem(f"--cluster {named}: no case has this field")
        return named
    for name in SOURCE_NAMES:
        values = [record.get(name) for record in records]
        if None not in values and len(set(map(str, values))) >= FEWEST_SOURCES:  # with fewer it is a kind, no source
            return name
    return None
