"""Reads `inputs`: what a case holds, under which names, and of which type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from krino.judges.file.definition import Input, InputKind
from krino.judges.file.front_matter import Value
from krino.judges.file.values import Reader, is_scalar
from krino.text.clean import cut
from krino.text.guessing import did_you_mean

KINDS: tuple[InputKind, ...] = get_args(InputKind)
_KEYS = ("type", "required", "aliases", "about", "shown")
_OPTIONAL = "optional"
TAKEN = frozenset({"id", "metadata"})
"""Fields of every record that are not content."""


def read_inputs(reader: Reader, values: Value, placeholders: Sequence[str]) -> tuple[Input, ...]:
    """Returns the inputs that are stated.

    Without them each placeholder of the prompt is a text that every case must have.
    """
    if "inputs" not in values.data:
        return tuple(Input(name) for name in dict.fromkeys(placeholders))
    stated = values.data["inputs"]
    if stated.is_list:  # `inputs: [question, answer]`
        names = reader.names(values, "inputs")
        return tuple(Input(name) for name in names if _is_free(reader, name, stated))
    found = []
    for name, value in reader.mapping(values, "inputs", "inputs: {question: text, answer: text}").items():
        if _is_free(reader, name, stated):
            found.append(_read_input(reader, name, value))
    return tuple(found)


def _is_free(reader: Reader, name: str, stated: Value) -> bool:
    """Is a name free for an input? If not, that is noted as a mistake."""
    place = stated.keys.get(name, stated.place)
    if name in TAKEN:
        reader.problem(place, f"no input can be called `{name}`: every record may have one, and it is not content")
        return False
    return reader.is_name(name, place, "an input")


def _read_input(reader: Reader, name: str, value: Value) -> Input:
    """Reads one input, in its short or its long form. Mistakes are noted, and it is then read as a text."""
    if value.data is None:
        return Input(name)
    if is_scalar(value):
        words = value.raw.split()
        kinds = [word for word in words if word != _OPTIONAL]
        if len(kinds) > 1 and not set(KINDS) & set(kinds):
            reader.problem(
                value.place, f"this is no type; to describe the input write `{name}: {{about: {cut(value.raw, 60)}}}`"
            )
            return Input(name)
        kind = _find_kind(reader, kinds[0] if kinds else "text", value)
        if len(kinds) > 1:
            reader.problem(value.place, f"write `{name}: text` or `{name}: optional text`")
        return Input(name, kind, required=_OPTIONAL not in words)
    if value.is_list:
        reader.problem(value.place, f"write `{name}: text`, or `{name}: {{aliases: [...]}}`")
        return Input(name)
    reader.refuse_unknown(value, _KEYS, f"the input `{name}`")
    stated = value.data.get("type")
    return Input(
        name,
        _find_kind(reader, stated.raw, stated) if stated is not None and is_scalar(stated) else "text",
        required=reader.yes_or_no(value, "required", True),
        aliases=tuple(alias for alias in reader.names(value, "aliases") if alias != name),
        about=reader.text_of(value, "about", ""),
        is_shown=reader.yes_or_no(value, "shown", True),
    )


def _find_kind(reader: Reader, word: str, value: Value) -> InputKind:
    """Returns the type that a word names; an unknown one is noted as a mistake and read as text."""
    for kind in KINDS:
        if kind == word:
            return kind
    reader.problem(value.place, f"there is no type `{word}`{did_you_mean(word, KINDS)}; there are {', '.join(KINDS)}")
    return "text"
