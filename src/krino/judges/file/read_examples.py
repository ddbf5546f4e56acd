"""Reads `examples`: cases with the labels that they get and what must come of them. They run as tests."""

from __future__ import annotations

from typing import Any, Literal

from krino.judges.file.definition import Example, Input, Label, Output
from krino.judges.file.front_matter import Value
from krino.judges.file.problems import Place
from krino.judges.file.values import Reader, is_scalar
from krino.text.guessing import did_you_mean

_KEYS = ("case", "labels", "expect")
_EXAMPLE = "- {case: {text: Thank you}, labels: {label: polite}, expect: {score: 1}}"
_MOST_EXAMPLES = 200
_PARTS = frozenset({"label", "reason", "quote", "other_order"})


def read_examples(
    reader: Reader, values: Value, inputs: tuple[Input, ...], labels: tuple[Label, ...], outputs: tuple[Output, ...]
) -> tuple[Example, ...]:
    """Reads all examples; mistakes are noted, and what is no mapping is left out."""
    stated = values.data.get("examples")
    if stated is None or stated.data is None:
        return ()
    if not stated.is_list:
        reader.problem(stated.place, f"`examples` must be a list; write `{_EXAMPLE}`")
        return ()
    if len(stated.data) > _MOST_EXAMPLES:
        reader.problem(stated.place, f"more than {_MOST_EXAMPLES} examples")
    found = (_read_example(reader, value, inputs, labels, outputs) for value in stated.data[:_MOST_EXAMPLES])
    return tuple(example for example in found if example is not None)


def _read_example(
    reader: Reader, value: Value, inputs: tuple[Input, ...], labels: tuple[Label, ...], outputs: tuple[Output, ...]
) -> Example | None:
    """Reads one example (case, labels, what is expected), or returns None if it is no mapping."""
    if not value.is_mapping:
        reader.problem(value.place, f"an example must be a mapping; write `{_EXAMPLE}`")
        return None
    reader.refuse_unknown(value, _KEYS, "an example")
    case = reader.mapping(value, "case", "case: {text: Thank you}")
    known = [name for item in inputs for name in (item.name, *item.aliases)]
    for name in case:
        if name not in known:
            place = value.data["case"].keys[name]
            reader.problem(
                place, f"there is no input `{name}`{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
    if not case:
        reader.problem(value.place, "an example needs a `case`; write `case: {text: Thank you}`")
    return Example(
        {name: inner.plain() for name, inner in case.items()},
        _read_labels(reader, value, labels),
        _read_expected(reader, value, outputs),
        value.place,
    )


def _read_labels(reader: Reader, value: Value, labels: tuple[Label, ...]) -> dict[str, Any] | None:
    """Reads the labels of an example, or returns None if it states none."""
    if "labels" not in value.data:
        return None
    given = reader.mapping(value, "labels", "labels: {label: polite}")
    named = [label.name for label in labels]
    known = [*named, *(_PARTS if named == ["label"] else ())]
    for name in given:
        if name not in known:
            place: Place = value.data["labels"].keys[name]
            reader.problem(
                place, f"there is no label `{name}`{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
    return {name: inner.plain() for name, inner in given.items()}


def _read_expected(
    reader: Reader, value: Value, outputs: tuple[Output, ...]
) -> dict[str, Any] | Literal["failed", "refused"]:
    """Reads what an example expects: fields of the verdict, `failed` or `refused`. Mistakes are noted."""
    stated = value.data.get("expect")
    if stated is None:
        reader.problem(
            value.place, "an example needs `expect`; write `expect: {score: 1}`, `expect: failed` or `expect: refused`"
        )
        return {}
    if is_scalar(stated):
        if stated.raw == "failed":
            return "failed"
        if stated.raw == "refused":
            return "refused"
        reader.problem(stated.place, "`expect` is the fields of the verdict, `failed` or `refused`")
        return {}
    known = [output.name for output in outputs]
    found = reader.mapping(value, "expect", "expect: {score: 1}")
    for name in found:
        if name not in known:
            place = stated.keys[name]
            reader.problem(
                place, f"there is no output `{name}`{did_you_mean(name, known)}; there are {', '.join(known)}"
            )
    return {name: inner.plain() for name, inner in found.items()}
