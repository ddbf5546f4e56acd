"""Whether two runs can be held against each other at all: the same cases, judged by the same judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from krino.results.comparison.columns import RunColumns
from krino.results.comparison.compare import other_settings
from krino.results.comparison.pairs import Pairs, Places
from krino.results.gates.against import Against, Found
from krino.results.gates.result import Check, fact
from krino.text.clean import clean_line

_NAMED = 5


def comparable(base: RunColumns, run: RunColumns, pairs: Pairs) -> Iterator[Found]:
    state = base.manifest.state
    if state != "finished":
        yield Found(fact("other run finished", False, f"{base.folder} is {state}", len(base)))
    yield _same_cases(base, pairs)
    yield _same_content(base, run, pairs)
    yield Found(_same_judge(base, run))


def _same_cases(base: RunColumns, pairs: Pairs) -> Found:
    """A case that the other run has and this one has not may be the one that got worse."""
    if missing := len(pairs.only_a):
        told = f"{missing:,} cases of {base.folder} are not in this run: {_named(base, pairs.only_a)}"
    else:
        told = f"all {len(base):,} cases of {base.folder} are in this run"
    if pairs.repeated:
        told += f"; {pairs.repeated:,} ids are given to several cases, matched in their order"
    lost = Against("not in this run", pairs.only_a, in_base=True, why=f"in {base.folder}, and not in this run")
    return Found(fact("same cases", not missing, told, len(pairs)), lost)


def _same_content(base: RunColumns, run: RunColumns, pairs: Pairs) -> Found:
    """Another answer under the same id is what a new system gives; under the same line number it may be any case."""
    other = pairs.other_content
    in_base, in_run = pairs.a[other], pairs.b[other]
    unknown = in_base[base.positional[in_base] | run.positional[in_run]]
    if len(unknown):
        told = (
            f"{len(unknown):,} cases have other content than in {base.folder}, and no id of their own that says they "
            f"are the same: {_named(base, unknown)}; give each case an `id` that is the same in both inputs"
        )
    elif len(other):
        told = f"{len(other):,} of {len(pairs):,} cases have other content under the same id: {_named(base, in_base)}"
    else:
        told = f"all {len(pairs):,} cases have the same content"
    why = f"other content than in {base.folder}, and no id of its own"
    others = Against("with other content", unknown, in_base=True, why=why)
    return Found(fact("same content", not len(unknown), told, len(pairs)), others)


def _same_judge(base: RunColumns, run: RunColumns) -> Check:
    """Two judges that happen to name a field alike do not measure the same thing."""
    there, here = (clean_line(str(one.manifest.plan.judge.get("name")), 60) for one in (base, run))
    if here != there:
        return fact("same judge", False, f"{base.folder} was judged by {there}, this run by {here}", len(run))
    others = list(other_settings(base, run))
    told = f"{here}; made otherwise (A is {base.folder}): {_listed(others, len(others))}" if others else here
    return fact("same judge", True, told, len(run))


def _named(run: RunColumns, places: Places) -> str:
    return _listed((clean_line(run.ids[place], 60) for place in places[:_NAMED]), len(places))


def _listed(texts: Iterable[str], count: int) -> str:
    shown = list(texts)[:_NAMED]
    return f"{', '.join(shown)}{', …' if count > len(shown) else ''}"
