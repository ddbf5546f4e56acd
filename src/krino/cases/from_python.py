"""Converts Python objects to plain records: data frames, models and documents. Other objects are refused by name."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import math
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic import BaseModel

from krino.errors import UsageProblem

_PLAIN = (str, int, float, bool, type(None))
_DEEPEST = 200
_SHOWN_NAME = 60
_MESSAGES = "langchain_core.messages"
_ROW_METHODS = ("to_dicts", "to_pylist")
"""Of Polars and Arrow tables."""


def rows_of_frame(source: Any) -> Iterator[Mapping[str, Any]] | None:
    """The rows of a pandas, Polars or Arrow table as mappings; None for anything else.

    An index of pandas that has a name is a column. A Polars query is run; Arrow batches are read one at a time.
    """
    if isinstance(source, Mapping | str | bytes):
        return None
    if hasattr(source, "read_next_batch"):
        return (row for batch in source for row in rows_of_frame(batch) or ())
    if hasattr(source, "collect_schema") and hasattr(source, "collect"):
        source = source.collect()
    if not hasattr(source, "columns"):
        return None
    for method in _ROW_METHODS:
        if callable(getattr(source, method, None)):
            _refuse_duplicate_columns(getattr(source, "column_names", ()))
            rows: Iterator[Mapping[str, Any]] = iter(getattr(source, method)())
            return rows
    if hasattr(source, "to_dict") and hasattr(source, "iloc"):
        if named := [name for name in source.index.names if name is not None and name not in source.columns]:
            source = source.reset_index(level=named)
        names = [str(name) for name in source.columns]
        _refuse_duplicate_columns(names)
        return (dict(zip(names, row, strict=True)) for row in source.itertuples(index=False, name=None))
    return None


def _refuse_duplicate_columns(names: Iterable[str]) -> None:
    """Raises `UsageProblem` if two columns have the same name: a row would silently keep only the last."""
    if twice := [name for name, times in Counter(names).items() if times > 1]:
        raise UsageProblem(f"the table has two columns named `{twice[0][:_SHOWN_NAME]}`; rename one of them")


def plain_record(case: Any, name: str) -> Mapping[str, Any]:
    """A case as a mapping of plain values; raises `UsageProblem` that names what cannot be converted.

    `name` is the case in messages. A mapping that is plain already is returned unchanged.
    """
    if rows_of_frame(case) is not None:
        kind = type(case).__name__
        raise UsageProblem(f"{name} is a {kind}, a table of cases: give it to krino.judge_many or krino.run")
    if isinstance(case, tuple) and hasattr(case, "_asdict"):  # of pandas' itertuples
        case = case._asdict()
    if hasattr(case, "to_dict") and hasattr(case, "index") and not hasattr(case, "columns"):
        _refuse_duplicate_columns(map(str, getattr(case.index, "tolist", tuple)()))
        case = case.to_dict()  # a row of a frame
    if isinstance(case, Mapping) and any(map(_is_message, case.values())):
        case = {field: _text_of_message(value) if _is_message(value) else value for field, value in case.items()}
    found = plain_value(case, name)
    if not isinstance(found, Mapping):
        raise UsageProblem(
            f"{name} is a {type(case).__name__}, not a mapping of fields (or a model, a dataclass, a row of a table)"
        )
    return found


def _is_message(value: Any) -> bool:
    """Is a value a message of LangChain? Its classes are not imported: whoever has one has them."""
    return any(kind.__module__.startswith(_MESSAGES) for kind in type(value).__mro__)


def _text_of_message(message: Any) -> str:
    """The text of a message that is a field by itself, as an answer is; its blocks of text joined by line ends."""
    content = message.content
    blocks = [content] if isinstance(content, str) else content
    texts = (block if isinstance(block, str) else block.get("text") for block in blocks)
    return "\n".join(text for text in texts if isinstance(text, str))


def plain_value(value: Any, where: str, depth: int = 0) -> Any:
    """The value as JSON types; the same object if nothing has to be changed. NaN becomes None.

    Raises `UsageProblem` for an object of unknown kind; `where` names it in the message.
    """
    if type(value) in _PLAIN:
        return None if isinstance(value, float) and math.isnan(value) else value
    if depth > _DEEPEST:
        return value  # writing it will fail with a message about the depth
    if isinstance(value, Mapping):
        made = {key: plain_value(item, f"{where}: `{str(key)[:60]}`", depth + 1) for key, item in value.items()}
        return value if all(made[key] is item for key, item in value.items()) else made
    if isinstance(value, list | tuple):
        items = [plain_value(item, f"{where}[{place}]", depth + 1) for place, item in enumerate(value)]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if isinstance(value, _PLAIN):
        return value  # a subclass of a plain type
    found = _fields_of(value)
    if found is value:
        raise UsageProblem(
            f"{where} is a {type(value).__module__}.{type(value).__qualname__}, which is no plain value: give text, a "
            "number, a list, a mapping, a table, a model, a dataclass, or a document or message of LangChain"
        )
    return plain_value(found, where, depth + 1)


def _fields_of(value: Any) -> Any:
    """The content of an object of a known kind (model, dataclass, document, date, number, array); otherwise the
    object itself."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if hasattr(value, "page_content"):  # a LangChain document, or one like it
        names = ("page_content", "metadata", "id")
        return {name: found for name in names if (found := getattr(value, name, None)) is not None}
    if isinstance(value, datetime.date | datetime.time):
        return None if value != value else value.isoformat()  # NaT of pandas
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, decimal.Decimal):
        return float(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if type(value).__module__.partition(".")[0] in ("numpy", "pandas", "polars", "pyarrow"):
        rows = rows_of_frame(value)
        return _from_array(value) if rows is None else list(rows)
    return value


def _from_array(value: Any) -> Any:
    """The content of an array or scalar of NumPy, pandas, Polars or Arrow; None if missing, itself if unknown."""
    for method in ("tolist", "to_list", "to_pylist", "as_py", "isoformat"):
        if callable(getattr(value, method, None)):
            found = getattr(value, method)()
            return value if type(found) is type(value) else found
    return None if type(value).__name__ in ("NAType", "NaTType") else value
