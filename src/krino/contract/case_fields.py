"""What a judge's case model says of a record: which fields are text, which are lists, and what a person knows it by."""

from __future__ import annotations

import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import AliasChoices, AliasPath, BaseModel

from krino.text.clean import sound

if TYPE_CHECKING:
    from krino.contract import AnyJudge

LONGEST_INPUT = 20_000
MOST_INPUTS = 8
_FIRST_FEW = 4
_LONGEST_NAME = 60
_NO_INPUTS = frozenset({"id", "case_id", "_id", "uid"})  # a column of its own shows the id
_DATA = re.compile(r"data:[\w/+.-]*[;,]|[A-Za-z0-9+/=_-]{400}")  # a picture as text is nothing to read


# --- what a case is known by -----------------------------------------------------------------------


def inputs_of_case(judge: AnyJudge, case: Any) -> dict[str, str]:
    """The main text fields of a typed case, as far as they hold text."""
    return dict(_texts((name, getattr(case, name, None)) for name in _main_fields(judge)))


def inputs_of_record(judge: AnyJudge, record: Mapping[str, Any]) -> dict[str, str]:
    """The same of a raw record: of each field the first of its names that holds text."""
    found = ((name, _first_text(record, names_of(judge, name))) for name in _main_fields(judge))
    return dict(_texts(found))


def bounded_inputs(given: Mapping[str, str]) -> dict[str, str]:
    """As they are recorded: few, of a bounded length that says so where it was cut, and sound text."""
    if not isinstance(given, Mapping):
        raise TypeError(f"main_inputs gave a {type(given).__name__}, not a dict of texts")
    if wrong := [name for name, value in given.items() if not isinstance(value, str)]:
        raise TypeError(f"main_inputs: `{wrong[0]}` is a {type(given[wrong[0]]).__name__}, not text")
    kept = [(name, value) for name, value in given.items() if value.strip()][:MOST_INPUTS]  # blank tells nothing
    return {sound(str(name)[:_LONGEST_NAME]): _bounded(sound(value)) for name, value in kept}


def _main_fields(judge: AnyJudge) -> Sequence[str]:
    return judge.fields.main or _first_texts(judge.case_model)  # type: ignore[arg-type]  # a class is hashable


@cache
def _first_texts(case_model: type[BaseModel]) -> tuple[str, ...]:
    texts = (name for name in _fields(case_model, _is_text) if name not in _NO_INPUTS)
    return tuple(islice(texts, _FIRST_FEW))


def _texts(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, str]]:
    return ((name, value) for name, value in pairs if isinstance(value, str) and not _DATA.match(value))


def _first_text(record: Mapping[str, Any], names: Iterable[str]) -> str | None:
    return next((value for name in names if isinstance(value := record.get(name), str) and value.strip()), None)


def _bounded(text: str) -> str:
    if len(text) <= LONGEST_INPUT:
        return text
    return f"{text[:LONGEST_INPUT]}… (cut: {LONGEST_INPUT:,} of {len(text):,} characters)"


# --- fields and their names ------------------------------------------------------------------------


def text_names(judge: AnyJudge) -> frozenset[str]:
    """The names in a record whose value the judge reads as text, whatever it looks like."""
    fields = judge.fields.main or _fields(judge.case_model, _is_text)
    return frozenset(name for field in fields for name in names_of(judge, field))


def list_names(judge: AnyJudge) -> frozenset[str]:
    """The names in a record whose value the judge reads as a list."""
    return frozenset(name for field in _fields(judge.case_model, _is_list) for name in names_of(judge, field))


def field_kinds(judge: AnyJudge) -> dict[str, Literal["text", "list", "other"]]:
    """What each field of the case holds, for those who make a form of them."""
    fields = judge.case_model.model_fields.items()
    return {
        name: "text" if _is_text(field.annotation) else "list" if _is_list(field.annotation) else "other"
        for name, field in fields
    }


def names_of(judge: AnyJudge, field: str) -> Sequence[str]:
    """The names under which a record may hold a field of the case, the best first."""
    if names := judge.fields.names.get(field):
        return names
    known = judge.case_model.model_fields.get(field)
    alias = known.validation_alias if known is not None else None
    choices = alias.choices if isinstance(alias, AliasChoices) else [alias] if alias is not None else [field]
    firsts = [choice.path[0] if isinstance(choice, AliasPath) else choice for choice in choices]
    config = judge.case_model.model_config
    by_name = [field] if config.get("populate_by_name") or config.get("validate_by_name") else []
    return [name for name in dict.fromkeys([*firsts, *by_name]) if isinstance(name, str)]


def _fields(case_model: type[BaseModel], wanted: Callable[[Any], bool]) -> list[str]:
    return [name for name, field in case_model.model_fields.items() if wanted(field.annotation)]


def _is_text(annotation: Any) -> bool:
    kinds = list(_kinds(annotation))
    return bool(kinds) and all(isinstance(kind, type) and issubclass(kind, str) for kind in kinds)


def _is_list(annotation: Any) -> bool:
    kinds = list(_kinds(annotation))
    return any(_is_list_type(get_origin(kind) or kind) for kind in kinds) and str not in kinds


def _is_list_type(kind: Any) -> bool:
    return isinstance(kind, type) and not issubclass(kind, str | bytes) and issubclass(kind, Sequence | Set)


def _kinds(annotation: Any) -> Iterator[Any]:
    """The types that an annotation allows beside null."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _kinds(part)
    elif annotation is not type(None):
        yield annotation
