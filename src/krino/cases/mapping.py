"""Rename fields of records to the names a judge expects, also from deep inside, and split texts that are several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from krino.errors import UsageProblem

EACH = ".*."
"""Between the path of a list and a field of its elements."""
_SHOWN_FIELDS = 20
_SHOWN_NAME = 60


class FieldMissing(Exception):
    """A mapped field is not in the record; the text says which, and what is there instead."""


@dataclass(frozen=True, slots=True)
class FieldMap:
    """Each pair takes the target field from the source: a field's name, or a dotted path (`docs.0.text`).

    With `*` for every element of a list, as `candidates.*.court=hits.*.tribunal`, both are fields of the elements.
    `splits` are fields, by their new names, whose text holds several with a separator between them.
    """

    pairs: tuple[tuple[str, str], ...]
    splits: tuple[tuple[str, str], ...] = ()

    def apply(self, record: dict[str, Any]) -> dict[str, Any]:
        """A new record with the targets set. A top-level source moves, a nested one stays where it is."""
        mapped = self._mapped(record)
        return mapped | {field: _split(mapped, field, separator) for field, separator in self.splits}

    def _mapped(self, record: dict[str, Any]) -> dict[str, Any]:
        plain = [(target, source) for target, source in self.pairs if EACH not in target]
        taken = {target: _take(record, source, target) for target, source in plain}
        moved = {source for _, source in plain}
        mapped = {name: value for name, value in record.items() if name not in moved} | taken
        for target, source in self.pairs:
            if EACH in target:
                _map_elements(mapped, record, target, source)
        return mapped


def parse_mapping(pairs: Sequence[str]) -> dict[str, str]:
    """`["question=query"]` as `{"question": "query"}`: the target field, then where it is taken from."""
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
    """`["context=|||"]` as `{"context": "|||"}`: the field, then what stands between its texts."""
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
    """The mapping ready for use; None when there is nothing to map or split."""
    return FieldMap(tuple((mapping or {}).items()), tuple((split or {}).items())) if mapping or split else None


def _split(record: dict[str, Any], field: str, separator: str) -> Any:
    """The texts between the separators, without what is blank; what is no text (a list, null) stays as it is."""
    if field not in record:
        raise FieldMissing(f"field `{field}` (to split) is not there: {_there(record)}; correct --split or the record")
    value = record[field]
    if not isinstance(value, str):
        return value
    return [part for part in map(str.strip, value.split(separator)) if part]


def _map_elements(mapped: dict[str, Any], record: dict[str, Any], target: str, source: str) -> None:
    """Set a field of every element of a list; elements that do not have the source are left as they are."""
    target_list, _, field = target.partition(EACH)
    source_list, _, path = source.partition(EACH)
    elements = mapped[target_list] if target_list in mapped else _take(record, source_list, target)
    if not isinstance(elements, list):
        raise FieldMissing(f"field `{source_list}` (for `{target}`) is no list; correct the mapping or the record")
    made = [_with_field(element, field, path, target) for element in elements]
    if elements and all(new is old for new, old in zip(made, elements, strict=True)):
        raise FieldMissing(
            f"field `{source}` (for `{target}`) is in no element: {_there(elements[0])}; "
            "correct the mapping or the record"
        )
    mapped[target_list] = made
    if source_list != target_list:
        mapped.pop(source_list, None)


def _with_field(element: Any, field: str, path: str, target: str) -> Any:
    if not isinstance(element, dict):
        return element
    try:
        value = _take(element, path, target)
    except FieldMissing:
        return element
    return {name: item for name, item in element.items() if name != path} | {field: value}


def _take(record: dict[str, Any], source: str, target: str) -> Any:
    if source in record:  # also a flat name with dots in it, as table headers have
        return record[source]
    value: Any = record
    for part in source.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and len(part) < 10 and int(part) < len(value):
            value = value[int(part)]
        else:
            raise FieldMissing(
                f"field `{source}` (for `{target}`) is not there: no `{part}`, {_there(value)}; "
                "correct the mapping or the record"
            )
    return value


def _there(value: Any) -> str:
    if isinstance(value, dict):
        names = [str(name)[:_SHOWN_NAME] for name in list(value)[:_SHOWN_FIELDS]]
        more = ", …" if len(value) > _SHOWN_FIELDS else ""
        return f"the fields there are: {', '.join(names)}{more}" if names else "there are no fields"
    if isinstance(value, list):
        return f"the list there has {len(value)} elements"
    return "what stands there has no fields"
