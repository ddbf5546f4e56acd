"""How a record is read: the names of its fields, which of them count as content, and which are shown to people."""

from __future__ import annotations

import math
import re
import types
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, Union, get_args, get_origin

from pydantic import AliasChoices, AliasPath, BaseModel

from krino.contract.judgement import Finding, canonical
from krino.text.clean import sound
from krino.text.forms import is_blank

if TYPE_CHECKING:
    from krino.contract import AnyJudge

# --- what a case is known by -------------------------------------------------------------------------

LONGEST_INPUT = 20_000
MOST_INPUTS = 8
_FIRST_FEW = 4
_LONGEST_NAME = 60
_NO_INPUTS = frozenset({"id", "case_id", "_id", "uid"})  # a column of its own shows the id
_DATA = re.compile(r"data:[\w/+.-]*[;,]|[A-Za-z0-9+/=_-]{400}")  # a picture as text is nothing to read


def inputs_of_case(judge: AnyJudge, case: Any) -> dict[str, str]:
    """Returns the main text fields of a typed case, as far as they hold text."""
    return dict(_texts((name, getattr(case, name, None)) for name in _main_fields(judge)))


def inputs_of_record(judge: AnyJudge, record: Mapping[str, Any]) -> dict[str, str]:
    """Returns the main text fields of a raw record: for each field the first of its names that holds text."""
    found = ((name, _first_text(record, names_of(judge, name))) for name in _main_fields(judge))
    return dict(_texts(found))


def bounded_inputs(given: Mapping[str, str]) -> dict[str, str]:
    """Returns main inputs as they are recorded: few, cut to a bound with a note, and without broken characters. Raises
    `TypeError` if the judge gave anything but texts by name."""
    if not isinstance(given, Mapping):
        raise TypeError(f"main_inputs gave a {type(given).__name__}, not a dict of texts")
    if wrong := [name for name, value in given.items() if not isinstance(value, str)]:
        raise TypeError(f"main_inputs: `{wrong[0]}` is a {type(given[wrong[0]]).__name__}, not text")
    kept = [(name, value) for name, value in given.items() if value.strip()][:MOST_INPUTS]
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
    """Returns the names in a record whose value the judge reads as text."""
    fields = judge.fields.main or _fields(judge.case_model, _is_text)
    return frozenset(name for field in fields for name in names_of(judge, field))


def list_names(judge: AnyJudge) -> frozenset[str]:
    """Returns the names in a record whose value the judge reads as a list."""
    return frozenset(name for field in _fields(judge.case_model, _is_list) for name in names_of(judge, field))


def field_kinds(judge: AnyJudge) -> dict[str, Literal["text", "list", "other"]]:
    """Returns the kind of each field of the case, for forms."""
    fields = judge.case_model.model_fields.items()
    return {
        name: "text" if _is_text(field.annotation) else "list" if _is_list(field.annotation) else "other"
        for name, field in fields
    }


def names_of(judge: AnyJudge, field: str) -> Sequence[str]:
    """Returns the names under which a record may hold a field of the case, the best first."""
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
    """Yields the types that an annotation allows beside null."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _kinds(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for part in get_args(annotation):
            yield from _kinds(part)
    elif annotation is not type(None):
        yield annotation


# --- which names are read ----------------------------------------------------------------------------

Reads: TypeAlias = Mapping[str, "Reads | None"]
"""Names that are read, each with the names that are read inside its object, or inside each object of its list.

None: all of it is read, or may be.
"""
Spell: TypeAlias = Callable[[str], str]


class Whole(dict[str, "Reads | None"]):
    """Names that are read inside an object that counts as content as a whole."""

    def __init__(self, names: Reads, in_objects: Collection[str] = ()) -> None:
        """`in_objects`: names that are read in every object inside it."""
        super().__init__(names)
        self.in_objects: Reads = dict.fromkeys(in_objects)


ELEMENT = "*"
"""Stands for every element of a list in a path: `candidates.*.court`."""


def prune(record: Mapping[Any, Any], reads: Reads, spell: Spell = str) -> dict[Any, Any]:
    """Returns the record without the names that are not read, at any depth; an object that counts as a whole stays
    complete."""
    return {name: _prune_value(value, inner, spell) for name, value, inner in _select_read(record, reads, spell)}


def _select_read(record: Mapping[Any, Any], reads: Reads, spell: Spell) -> Iterator[tuple[Any, Any, Reads | None]]:
    """Yields name, value and declared fields for each field of a record that may be read."""
    for name, value in record.items():
        if not isinstance(name, str):
            yield name, value, None  # no judge declares it: whether it is read is not known
        elif (spelled := spell(name)) in reads:
            yield name, value, reads[spelled]


def _prune_value(value: Any, reads: Reads | None, spell: Spell) -> Any:
    """Returns a value without what the judge does not read."""
    if reads is None or isinstance(reads, Whole):
        return value
    if isinstance(value, Mapping):
        return prune(value, reads, spell)
    if isinstance(value, list | tuple):
        return [prune(item, reads, spell) if isinstance(item, Mapping) else item for item in value]
    return value


class UnreadName(NamedTuple):
    """A name that is not read, where it is, and what is read beside it."""

    path: str
    name: str
    value: Any
    known: Reads


def unread_names(record: Mapping[str, Any], reads: Reads, spell: Spell = str) -> Iterator[UnreadName]:
    """Yields every name of a record that is not read, at any depth, without the names inside it."""
    return _find_unread(record, reads, spell, "")


def _find_unread(value: Any, reads: Reads | None, spell: Spell, where: str) -> Iterator[UnreadName]:
    """Yields the names inside a value that the judge does not read."""
    if reads is None:
        return
    if isinstance(value, list | tuple):
        for item in value:
            if isinstance(item, Mapping):
                yield from _find_unread(item, reads, spell, f"{where}{ELEMENT}.")
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(name, str):
                if (spelled := spell(name)) in reads:
                    yield from _find_unread(inner, reads[spelled], spell, f"{where}{name}.")
                elif searched := _find_searched(inner, reads, spell):
                    yield from _find_unread(inner, searched, spell, f"{where}{name}.")
                else:
                    yield UnreadName(f"{where}{name}", name, inner, reads)


def _find_searched(value: Any, reads: Reads, spell: Spell) -> Reads | None:
    """Returns the names that are read in objects of any name, if this value is an object with one of them; otherwise
    None."""
    if not (isinstance(reads, Whole) and isinstance(value, Mapping)):
        return None
    there = any(isinstance(name, str) and spell(name) in reads.in_objects for name in value)
    return reads.in_objects if there else None


# --- names with different values ---------------------------------------------------------------------

RIVALS = "KRINO-TWO-VALUES"
_LONGEST_NAME = 60
_DEEPEST = 50


def find_rivals(record: Mapping[str, Any], names: Collection[str]) -> tuple[str, str] | None:
    """Returns the name whose value is taken, and another name of the same field with a different value; None if all
    agree."""
    given = [(name, record[name]) for name in names if name in record and not is_nothing(record[name])]
    for name, value in given[1:]:
        if comparable(value) != comparable(given[0][1]):
            return given[0][0], name
    return None


def find_rival_fields(judge: AnyJudge, record: Mapping[str, Any]) -> Iterator[Finding]:
    """Yields a finding for each field that a record gives under two names with different values."""
    if "reads" in vars(type(judge)) and judge.reads(record) is None:
        return  # the record is the case as a whole, and its names are for the judge to understand
    for field, names in judge.fields.names.items():
        if sum(name in record for name in names) < 2:  # nearly always
            continue
        if rivals := find_rivals(record, _names_here(judge, field, record)):
            taken, other = (name[:_LONGEST_NAME] for name in rivals)
            conflict = f"`{taken}` and `{other}` both give the {field}, with different values: `{taken}` was read"
            yield Finding(RIVALS, f"{conflict}; say which it is with --map {field}=FIELD", field)


def _names_here(judge: AnyJudge, field: str, record: Mapping[str, Any]) -> Sequence[str]:
    """Returns the names of a field that should agree in this record. Ambiguous names count only if the name that is
    read is one of them."""
    names = judge.fields.names.get(field, ())
    read = next((name for name in names if name in record and not is_nothing(record[name])), None)
    return names if read in judge.fields.ambiguous_names.get(field, ()) else compared_names(judge, field)


def compared_names(judge: AnyJudge, field: str) -> list[str]:
    """Returns the names of a field that should all have the same value in a record: those that are not ambiguous."""
    apart = judge.fields.ambiguous_names.get(field, ())
    return [name for name in judge.fields.names.get(field, ()) if name not in apart]


def is_nothing(value: Any) -> bool:
    """Is a value null, nan, blank or an empty object, or a list of nothing but null, nan and blanks?"""
    if isinstance(value, list | tuple):
        return all(_is_no_value(item) for item in value)
    return _is_no_value(value) or value == {}


def _is_no_value(value: Any) -> bool:
    if isinstance(value, str):
        return is_blank(value)
    return value is None or (isinstance(value, float) and math.isnan(value))


def comparable(value: Any) -> bytes:
    """Returns the same bytes for values that differ only in type or spelling: 27 and "27", a text and a list of it."""
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    return canonical(_normalise_value(value, 0))


def _normalise_value(value: Any, depth: int) -> Any:
    """Normalises a value for comparison: white space and Unicode form of texts; numbers and booleans become text."""
    if isinstance(value, str):
        return " ".join(unicodedata.normalize("NFC", value).split())
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
    if depth < _DEEPEST and isinstance(value, list | tuple):
        return [_normalise_value(item, depth + 1) for item in value]
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {name: _normalise_value(item, depth + 1) for name, item in value.items()}
    return value
