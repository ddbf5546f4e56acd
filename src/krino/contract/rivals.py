"""Finds names of one field that hold different values in the same record: only one of them is judged."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from krino.contract.judgement import Finding, canonical
from krino.text.forms import is_blank

if TYPE_CHECKING:
    from krino.contract import AnyJudge

RIVALS = "KRINO-TWO-VALUES"
_LONGEST_NAME = 60
_DEEPEST = 50


def find_rivals(record: Mapping[str, Any], names: Collection[str]) -> tuple[str, str] | None:
    """The name whose value is taken, and another name of the same field with a different value; None if all agree."""
    given = [(name, record[name]) for name in names if name in record and not is_nothing(record[name])]
    for name, value in given[1:]:
        if comparable(value) != comparable(given[0][1]):
            return given[0][0], name
    return None


def find_rival_fields(judge: AnyJudge, record: Mapping[str, Any]) -> Iterator[Finding]:
    """What a reader must know of a record that gives a field twice, and not alike."""
    if "reads" in vars(type(judge)) and judge.reads(record) is None:
        return  # the record is the case as a whole, and its names are for the judge to understand
    for field in judge.fields.names:
        if rivals := find_rivals(record, _names_here(judge, field, record)):
            taken, other = (name[:_LONGEST_NAME] for name in rivals)
            told = f"`{taken}` and `{other}` both give the {field}, with different values: `{taken}` was read"
            yield Finding(RIVALS, f"{told}; say which it is with --map {field}=FIELD", field)


def _names_here(judge: AnyJudge, field: str, record: Mapping[str, Any]) -> Sequence[str]:
    """A name that is apart means something else beside a better name; where it is the one that is read, all count."""
    names = judge.fields.names.get(field, ())
    read = next((name for name in names if name in record and not is_nothing(record[name])), None)
    return names if read in judge.fields.ambiguous_names.get(field, ()) else compared_names(judge, field)


def compared_names(judge: AnyJudge, field: str) -> list[str]:
    """The names of a field of which a record should hold one value."""
    apart = judge.fields.ambiguous_names.get(field, ())
    return [name for name in judge.fields.names.get(field, ()) if name not in apart]


def is_nothing(value: Any) -> bool:
    """Whether a name is there without a value: null, blank, or a list of nothing else."""
    if isinstance(value, list | tuple):
        return all(_is_no_value(item) for item in value)
    return _is_no_value(value) or value == {}


def _is_no_value(value: Any) -> bool:
    if isinstance(value, str):
        return is_blank(value)
    return value is None or (isinstance(value, float) and math.isnan(value))


def comparable(value: Any) -> bytes:
    """What values that differ only in type or spelling have in common: 27 and "27", one text and a list of it."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    return canonical(_spelled(value, 0))


def _spelled(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFC", value).split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [_spelled(item, depth + 1) for item in value]
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {name: _spelled(item, depth + 1) for name, item in value.items()}
    return value
