"""What words of the labels stand for: `good=1,bad=0`, in every field that says so or in one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from krino.errors import UsageProblem
from krino.results.agreement.labels import LabelColumn, Labels
from krino.results.agreement.wording import listed, shown


def parse_values(texts: Iterable[str]) -> dict[str, Any]:
    """`good=1,bad=0`, or of one field `faithfulness:good=1,bad=0`; the form that `agree` takes."""
    values: dict[str, Any] = {}
    for text in texts:
        field, colon, pairs = text.partition(":")
        field, pairs = (field.strip(), pairs) if colon else ("", text)
        home = values.setdefault(field, {}) if field else values
        for pair in pairs.split(","):
            word, equals, value = (part.strip() for part in pair.partition("="))
            if not (word and equals and value) or (colon and not field):
                raise UsageProblem(f"--values {text}: write it as good=1,bad=0 or, for one field, FIELD:good=1,bad=0")
            if word in home:
                raise UsageProblem(f"--values {text}: {shown(word)} is given twice; keep one")
            home[word] = value
    return values


def with_values(labels: Labels, values: Mapping[str, Any], fields: Collection[str]) -> Labels:
    """The labels with those words replaced, in the columns that are fields of the verdict.

    A word that no label has is refused: a slip must not leave the labels as they were in silence.
    """
    if not values or not fields:
        return labels
    common = {_word(key): value for key, value in values.items() if not isinstance(value, Mapping)}
    own = {key: value for key, value in values.items() if isinstance(value, Mapping)}
    columns = {name: column for name, column in labels.columns.items() if name in fields}
    for name in own:
        if name not in columns:
            raise UsageProblem(f"--values {name}: no such field in the labels; there are {listed(columns)}")
    seen = {
        name: {_word(value) for value in column.pool.values if value is not None} for name, column in columns.items()
    }
    _refuse_unseen(common, set().union(*seen.values()), "")
    meanings = {}
    for name in columns:
        mine = {_word(key): value for key, value in own.get(name, {}).items()}
        _refuse_unseen(mine, seen[name], f"{name}:")
        meanings[name] = {**common, **mine}
    read = {name: _replaced(column, meanings[name]) for name, column in columns.items()}
    return replace(labels, columns={**labels.columns, **read})


def _refuse_unseen(meant: Mapping[str, Any], seen: set[str], field: str) -> None:
    for word in meant:
        if word not in seen:
            raise UsageProblem(f"--values {field}{word}: no label says so; the labels say {listed(sorted(seen))}")


def _replaced(column: LabelColumn, meanings: Mapping[str, Any]) -> LabelColumn:
    def meant(value: Any) -> Any:
        return value if value is None else meanings.get(_word(value), value)

    return LabelColumn(column.pool.replaced(meant), column.places, column.labels)


def _word(value: Any) -> str:
    """A label as somebody would type it; capitals do not matter."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:g}"
    return str(value).strip().casefold()
