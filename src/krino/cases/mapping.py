"""Renames fields of records to the names that a judge expects, nested fields included, and splits texts into lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean

EACH = ".*."
"""Between the path of a list and a field of its elements."""
_CONTENT = "content"
"""Below a text it is the text: a message of LangChain that is a field by itself was read as its text."""
_SHOWN_FIELDS = 20
_SHOWN_NAME = 60
_MOST_PATHS = 500
_DEEPEST = 6
_LOOKED_INTO = 5


Pairs = Sequence[tuple[str, str]]
"""Targets with their sources."""


class FieldMissing(Exception):
    """A mapped field is not in the record; the message names it and what is there instead."""


class _Absent(FieldMissing):
    """The field, or the object that should hold it, is missing or null (and not of another type)."""


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Each pair takes the target field from the source: a field's name, or a dotted path (`docs.0.text`).

    `*` means every element of a list: in `candidates.*.court=hits.*.tribunal` both are fields of the elements.
    `splits`: fields, by their new names, whose text is split at a separator. `may_be_absent`: targets whose source some
    record has; in a record without it the field is null. `others`: other names of the targets, which are removed,
    because the mapping decides which value is meant.
    """

    pairs: tuple[tuple[str, str], ...]
    splits: tuple[tuple[str, str], ...] = ()
    may_be_absent: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()

    def apply(self, record: dict[str, Any]) -> dict[str, Any]:
        """A new record with the targets set and texts split; raises `FieldMissing` if a source is not there.

        A top-level source moves, a nested one stays where it is.
        """
        mapped = self._rename_fields(record)
        return mapped | {field: self._split(mapped, field, separator) for field, separator in self.splits}

    def found_in(self, record: dict[str, Any]) -> Iterator[str]:
        """Yields the targets whose source this record has."""
        for target, source in self.pairs:
            source_list, each, path = source.partition(EACH)
            with suppress(FieldMissing):
                found = _take(record, source_list if each else source, target)
                elements = [found] if isinstance(found, dict) else found
                if not each or (isinstance(elements, list) and _is_in_any(elements, path)):
                    yield target

    def _rename_fields(self, record: dict[str, Any]) -> dict[str, Any]:
        """A new record with the targets set, the sources and other names of the targets removed. A target that may be
        absent keeps its own value, or null."""
        plain = [(target, source) for target, source in self.pairs if EACH not in target]
        taken: dict[str, Any] = {}
        for target, source in plain:
            try:
                taken[target] = _take(record, source, target)
            except _Absent:
                if target not in self.may_be_absent:
                    raise
                taken[target] = record.get(target)
        left_out = self.others.union(source for _, source in plain)
        mapped = {name: value for name, value in record.items() if name not in left_out} | taken
        for pairs in self._pairs_by_list():
            optional = all(target in self.may_be_absent for target, _ in pairs)
            with suppress(_Absent) if optional else nullcontext():
                target_list, source_list = (side.partition(EACH)[0] for side in pairs[0])
                is_there = target_list in taken or target_list == source_list
                elements = _find_elements(
                    mapped if is_there else record, target_list if is_there else source_list, pairs[0]
                )
                _map_elements(mapped, elements, pairs, self.may_be_absent)
        return mapped

    def _pairs_by_list(self) -> Iterable[Pairs]:
        """The pairs about elements, grouped by list."""
        lists: dict[str, list[tuple[str, str]]] = {}
        for target, source in self.pairs:
            if EACH in target:
                lists.setdefault(target.partition(EACH)[0], []).append((target, source))
        return lists.values()

    def _split(self, mapped: dict[str, Any], field: str, separator: str) -> Any:
        """The texts between the separators, without blank ones; a value that is not text stays as it is. Raises
        `FieldMissing`."""
        if field not in mapped:
            raise FieldMissing(
                f"field `{field}` (to split) is not there: {_describe_fields(mapped)}; correct --split or the record"
            )
        value = mapped[field]
        if not isinstance(value, str):
            return value
        return [part for part in map(str.strip, value.split(separator)) if part]


def parse_mapping(pairs: Sequence[str]) -> dict[str, str]:
    """Parses `["question=query"]` into `{"question": "query"}`: the target field, then where it is taken from."""
    mapping: dict[str, str] = {}
    for pair in pairs:
        target, equals, source = (part.strip() for part in pair.partition("="))
        if not (target and equals and source):
            raise UsageProblem(f"mapping `{pair}`: write it as target=source, for example question=query")
        if "" in source.split("."):
            raise UsageProblem(f"mapping `{pair}`: the path `{source}` has an empty part; write it as a.b.c")
        if target.count("*") != source.count("*") or target.count("*") != target.count(EACH) or target.count("*") > 1:
            raise UsageProblem(
                f"mapping `{pair}`: write `*` once on both sides, between a list and a field of its elements, for "
                "example candidates.*.court=hits.*.tribunal"
            )
        if target in mapping:
            raise UsageProblem(f"mapping `{pair}`: `{target}` is mapped twice; keep one of them")
        mapping[target] = source
    return mapping


def parse_splits(pairs: Sequence[str]) -> dict[str, str]:
    """Parses `["context=|||"]` into `{"context": "|||"}`: field and separator (`\\n`, `\\t`: escapes)."""
    splits: dict[str, str] = {}
    for pair in pairs:
        field, equals, separator = pair.partition("=")
        field, separator = field.strip(), separator.replace("\\n", "\n").replace("\\t", "\t")
        if not (field and equals and separator):
            raise UsageProblem(f"split `{pair}`: write it as field=separator, for example 'context=|||'")
        if field in splits:
            raise UsageProblem(f"split `{pair}`: `{field}` is split twice; keep one of them")
        splits[field] = separator
    return splits


def field_map(mapping: Mapping[str, str] | None, split: Mapping[str, str] | None = None) -> FieldMap | None:
    """The mapping ready for use; None if there is nothing to map or split."""
    return FieldMap(tuple((mapping or {}).items()), tuple((split or {}).items())) if mapping or split else None


def find_present(fields: FieldMap, records: Iterable[dict[str, Any]]) -> tuple[frozenset[str], dict[str, Any] | None]:
    """The targets whose source at least one record has, and the first record. Reads no further than necessary."""
    missing, first = {target for target, _ in fields.pairs}, None
    for record in records:
        first = record if first is None else first
        missing -= set(fields.found_in(record))
        if not missing:
            break
    return frozenset(target for target, _ in fields.pairs) - missing, first


def describe_missing(fields: FieldMap, targets: Sequence[str], record: dict[str, Any]) -> str:
    """Says what is wrong with a mapping whose source no record has, with the fields of one record and a guess."""
    problems = []
    for target, source in fields.pairs:
        if target in targets:
            guess = did_you_mean(source, paths_in(record))
            problems.append(f"mapping `{target}={source}`: no record has `{source}`{guess}")
    return f"{'; '.join(problems)}; {_describe_fields(record)}"


def paths_in(value: Any, where: str = "", depth: int = 0) -> Iterator[str]:
    """The paths of a record as in a mapping, with `*` for the elements of a list; limited in number and depth."""
    return islice(_list_paths(value, where, depth), _MOST_PATHS)


def _list_paths(value: Any, where: str, depth: int) -> Iterator[str]:
    """Yields the dotted paths of a value down to a fixed depth."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict):
        for name, inner in value.items():
            yield f"{where}{name}"
            yield from _list_paths(inner, f"{where}{name}.", depth + 1)
    elif isinstance(value, list) and where.count("*") == 0:
        for element in value[:_LOOKED_INTO]:
            if isinstance(element, dict):
                yield from _list_paths(element, f"{where}*.", depth + 1)


def _map_elements(mapped: dict[str, Any], elements: list[Any], pairs: Pairs, may_be_absent: Set[str]) -> None:
    """Puts the renamed elements into `mapped` under the target list, and removes the list they came from.

    An element without the source gets no such field; if no element has it, and it may not be absent, this raises
    `_Absent`.
    """
    target_list = pairs[0][0].partition(EACH)[0]
    paths = {target.partition(EACH)[2]: source.partition(EACH)[2] for target, source in pairs}
    made = [_with_fields(element, paths) for element in elements]
    for target, source in pairs:
        if target not in may_be_absent and elements and not _is_in_any(elements, source.partition(EACH)[2]):
            raise _Absent(
                f"field `{source}` (for `{target}`) is in no element: {_describe_fields(elements[0])}; "
                "correct the mapping or the record"
            )
    for _, source in pairs:
        if (source_list := source.partition(EACH)[0]) != target_list:
            mapped.pop(source_list, None)
    mapped[target_list] = made


def _find_elements(record: dict[str, Any], path: str, pair: tuple[str, str]) -> list[Any]:
    """The list at this path, from whose elements a pair takes; one object counts as a list of one. Raises if it is
    neither."""
    target, source = pair
    source_list = source.partition(EACH)[0]
    elements = _take(record, path, target)
    if elements is None:
        raise _Absent(f"field `{source_list}` (for `{target}`) is null; correct the mapping or the record")
    if isinstance(elements, dict):
        return [elements]  # one object instead of a list of one
    if not isinstance(elements, list):
        raise FieldMissing(f"field `{source_list}` (for `{target}`) is no list; correct the mapping or the record")
    return elements


def _is_in_any(elements: list[Any], path: str) -> bool:
    return any(path in element or _has_path(element, path) for element in elements if isinstance(element, dict))


def _has_path(element: dict[str, Any], path: str) -> bool:
    """Is there a value at this path, null included?"""
    try:
        _take(element, path, path)
    except FieldMissing:
        return False
    return True


def _with_fields(element: Any, paths: Mapping[str, str]) -> Any:
    """A copy of an element of a list with its fields renamed; anything but an object is returned unchanged."""
    if not isinstance(element, dict):
        return element
    taken = {field: _take(element, path, field) for field, path in paths.items() if _has_path(element, path)}
    return {name: item for name, item in element.items() if name not in paths.values()} | taken


def _take(record: dict[str, Any], source: str, target: str) -> Any:
    """Returns the value at a dotted path, or raises an error that lists the names that exist."""
    if source in record:  # also a name with dots in it, as table headers have
        return record[source]
    value: Any = record
    for part in source.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, str) and part == _CONTENT and source.endswith(f".{_CONTENT}"):
            break
        elif isinstance(value, list) and part.isdecimal() and len(part) < 10 and int(part) < len(value):
            value = value[int(part)]
        else:
            leads_on = value is None or isinstance(value, dict | list)
            raise (_Absent if leads_on else FieldMissing)(
                f"field `{source}` (for `{target}`) is not there: no `{part}`, {_describe_fields(value)}; "
                "correct the mapping or the record"
            )
    return value


def _describe_fields(value: Any) -> str:
    """Says for an error message which fields a value has."""
    if isinstance(value, dict):
        names = [str(name)[:_SHOWN_NAME] for name in list(value)[:_SHOWN_FIELDS]]
        more = ", …" if len(value) > _SHOWN_FIELDS else ""
        return f"the fields there are: {', '.join(names)}{more}" if names else "there are no fields"
    if isinstance(value, list):
        return f"the list there has {len(value)} elements"
    return "the value there has no fields"
