"""Makes the models of a judge from its file: what a case holds, what is labelled, what the verdict is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, create_model
from pydantic.json_schema import SkipJsonSchema

from krino.judges.file.definition import Definition, Input, Label, Output
from krino.text.forms import is_blank

LONGEST_TEXT = 4_000
"""Characters of a reason, a quotation or a free text."""


class LabelParts(BaseModel):
    """What a labeller says with one label. A model writes in the order of the fields: the label comes last."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ItemParts(LabelParts):
    """The same for one item of a list."""

    vote_key: ClassVar[str] = "item"


@contextmanager
def _any_name() -> Iterator[None]:
    """A field may be called `schema` or `copy`: pydantic warns of methods of its first version."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Field name .* shadows an attribute", category=UserWarning)
        yield


def make_case_model(definition: Definition) -> type[BaseModel]:
    """Makes the model of a case."""
    fields: dict[str, Any] = {item.name: (_case_type(item), _case_field(item)) for item in definition.inputs}
    config = ConfigDict(populate_by_name=True, coerce_numbers_to_str=True, protected_namespaces=())
    with _any_name():
        return create_model("Case", __config__=config, __module__=__name__, **fields)


def _as_list(value: Any) -> Any:
    """One text is a list of one: a cell of a table, or a passage that stands alone. A blank one is none."""
    if not isinstance(value, str):
        return value
    return [] if is_blank(value) else [value]


_LIST = Annotated[list[Any], BeforeValidator(_as_list)]
_NULL_IS_EMPTY = BeforeValidator(lambda value: "" if value is None else value)
"""For what every case must have: an empty cell of a table is read as null, and a rule may say what an empty text is."""


def _case_type(item: Input) -> Any:
    """Returns the type of an input in the model of a case."""
    kinds: dict[str, Any] = {
        "text": Annotated[str, _NULL_IS_EMPTY] if item.required else str,
        "list": Annotated[_LIST, _NULL_IS_EMPTY] if item.required else _LIST,
        "number": float,
        "boolean": bool,
        "json": Any,
        "messages": Any,
    }
    kind = kinds[item.kind]
    return kind if item.required or kind is Any else kind | None


def _case_field(item: Input) -> Any:
    alias = AliasChoices(item.name, *item.aliases) if item.aliases else None
    default = ... if item.required else None
    return Field(default, validation_alias=alias, description=item.about or None)


def make_labels_model(definition: Definition) -> type[BaseModel]:
    """Makes the model of the labels: the parts of a single label, or an object with the parts of each."""
    with _any_name():
        if definition.has_one_label:
            (label,) = definition.labels
            if definition.compare:
                return _make_comparison_model(label)
            return _text_alone(label) if label.kind == "text" else _make_parts_model(label, "Labels")
        fields: dict[str, Any] = {label.name: (_label_field_type(label), ...) for label in definition.labels}
        config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())
        return create_model("Labels", __config__=config, __module__=__name__, **fields)


def _make_comparison_model(label: Label) -> type[BaseModel]:
    """Makes the labels of a comparison, with the label of the other order, read back to this one.

    Joining fills that in, and no model is asked for it.
    """
    other: Any = SkipJsonSchema[_value_type(label) | None]  # type: ignore[misc]
    made: type[BaseModel] = create_model(
        "Labels", __base__=_make_parts_model(label, "Labels"), __module__=__name__, other_order=(other, None)
    )
    return made


def _text_alone(label: Label) -> type[BaseModel]:
    return create_model("Labels", __base__=LabelParts, __module__=__name__, **{label.name: (_text_type(label), ...)})  # type: ignore[call-overload, no-any-return]


def _label_field_type(label: Label) -> Any:
    """Returns the type of one label among several: a text, or a model of its parts (reason, quote, value).

    A label that is given for each item is a list of these.
    """
    if label.kind == "text":
        return _text_type(label)
    name = "".join(word.capitalize() for word in label.name.split("_"))
    parts = _make_parts_model(label, name)
    return list[parts] if label.each is not None else parts  # type: ignore[valid-type]


def _text_type(label: Label) -> Any:
    text = Annotated[str, Field(max_length=LONGEST_TEXT)]
    return text | None if label.is_nullable else text


def _make_parts_model(label: Label, name: str) -> type[BaseModel]:
    """Makes the model of a label's parts: reason, quote if there is one, value; for each item also its number."""
    fields: dict[str, Any] = {"item": (Annotated[int, Field(ge=1)], ...)} if label.each is not None else {}
    fields["reason"] = (Annotated[str, Field(max_length=LONGEST_TEXT)], ...)
    if label.quote_from:
        fields["quote"] = (Annotated[str, Field(max_length=LONGEST_TEXT)], ...)
    fields["label"] = (_value_type(label), ...)
    base = ItemParts if label.each is not None else LabelParts
    made: type[BaseModel] = create_model(name, __base__=base, __module__=__name__, **fields)
    return made


def _value_type(label: Label) -> Any:
    """Returns the type of a label's value."""
    if label.kind == "choice":
        known: Any = Literal[tuple(choice.value for choice in label.choices)]
        known = list[known] if label.has_several else known
    elif label.is_whole:
        known = Annotated[int, Field(ge=int(label.low), le=int(label.high))]
    else:
        known = Annotated[float, Field(ge=label.low, le=label.high, allow_inf_nan=False)]
    return known | None if label.is_nullable else known


def make_verdict_model(definition: Definition) -> type[BaseModel]:
    """Makes the model of the verdict.

    Every field may be null: a verdict whose value is not known says so, and never with a number.
    """
    fields: dict[str, Any] = {
        output.name: (_output_type(output) | None, Field(..., description=output.about or None))
        for output in definition.outputs
    }
    config = ConfigDict(extra="forbid", protected_namespaces=())
    with _any_name():
        return create_model("Verdict", __config__=config, __module__=__name__, **fields)


def _output_type(output: Output) -> Any:
    """Returns the type of an output in the model of the verdict."""
    if output.kind == "choice":
        return Literal[output.choices]
    if output.kind == "list":
        item: Any = Any if output.item is None else _output_type(output.item) | None
        return list[item]
    if output.kind != "number":
        return {"text": str, "boolean": bool}[output.kind]
    number: Any = int if output.is_whole else float
    return Annotated[number, Field(ge=output.low, le=output.high)] if output.low is not None else number
