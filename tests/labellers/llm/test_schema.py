"""Strict endpoints take closed schemas with few keywords; what a model means by its fields is not lost on the way."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal

from openai.lib._pydantic import to_strict_json_schema
from pydantic import BaseModel, ConfigDict, Field

from krino.labellers.llm.schema import DROPPED, strict_schema


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Named(BaseModel):
    """Fields that are called like keywords."""

    title: str = Field(min_length=1, description="a title")
    default: int = 0
    format: Literal["a", "b"] = "a"
    examples: list[str] = Field(default_factory=list, max_length=3)
    properties: str = ""
    required: bool = True


class Tree(BaseModel):
    name: str
    children: list[Tree] = Field(default_factory=list)


class Labels(BaseModel):
    model_config = ConfigDict(title="Renamed")

    score: float = Field(ge=0, le=1, multiple_of=0.5)
    rank: int = Field(gt=0, lt=9)
    code: str = Field(pattern="^[a-z]+$", max_length=5, examples=["abc"])
    colour: Colour = Field(Colour.RED, description="which colour")
    named: Named = Field(description="a part")
    maybe: Named | None = None
    items: list[Named] = Field(min_length=1, max_length=5)
    label: Literal["yes", "no"]
    only: Literal["one"]


def nodes(value: Any, named: bool = False) -> Iterator[dict[str, Any]]:
    """Every schema in a schema; the values of `properties` and `$defs` are schemas under names."""
    if isinstance(value, list):
        for item in value:
            yield from nodes(item)
    elif isinstance(value, dict):
        if not named:
            yield value
        for key, item in value.items():
            yield from nodes(item, named=not named and key in {"properties", "$defs"})


def test_every_object_is_closed_and_requires_all_its_properties() -> None:
    objects = [node for node in nodes(strict_schema(Labels)) if "properties" in node]
    assert len(objects) == 2
    for node in objects:
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])


def test_keywords_that_not_every_endpoint_takes_are_dropped() -> None:
    assert not [node.keys() & DROPPED for node in nodes(strict_schema(Labels)) if node.keys() & DROPPED]
    source = {key for node in nodes(Labels.model_json_schema()) for key in node}
    assert {"title", "default", "minimum", "exclusiveMaximum", "pattern", "minItems", "multipleOf"} <= source


def test_properties_named_like_keywords_stay() -> None:
    part = strict_schema(Named)
    assert list(part["properties"]) == ["title", "default", "format", "examples", "properties", "required"]
    assert part["properties"]["title"] == {"description": "a title", "type": "string"}
    assert part["properties"]["format"] == {"enum": ["a", "b"], "type": "string"}
    assert part["required"] == list(part["properties"])


def test_choices_constants_references_and_descriptions_stay() -> None:
    schema = strict_schema(Labels)
    fields = schema["properties"]
    assert schema["$defs"].keys() == {"Colour", "Named"}
    assert schema["$defs"]["Colour"]["enum"] == ["red", "blue"]
    assert fields["label"]["enum"] == ["yes", "no"]
    assert fields["only"]["const"] == "one"
    assert fields["maybe"]["anyOf"] == [{"$ref": "#/$defs/Named"}, {"type": "null"}]
    assert fields["items"] == {"items": {"$ref": "#/$defs/Named"}, "type": "array"}


def test_nothing_stands_beside_a_reference() -> None:
    """OpenAI refuses such a schema; the description is kept around the reference."""
    schema = strict_schema(Labels)
    assert all(len(node) == 1 for node in nodes(schema) if "$ref" in node)
    assert schema["properties"]["named"] == {"description": "a part", "anyOf": [{"$ref": "#/$defs/Named"}]}


def test_a_model_that_contains_itself_is_no_trouble() -> None:
    schema = strict_schema(Tree)
    assert schema["$defs"]["Tree"]["properties"]["children"] == {"items": {"$ref": "#/$defs/Tree"}, "type": "array"}


def test_the_openai_sdk_agrees_but_for_what_is_dropped() -> None:
    class Plain(BaseModel):
        label: Literal["yes", "no"]
        part: Named
        more: list[Named] | None = None

    theirs: Any = to_strict_json_schema(Plain)
    for node in list(nodes(theirs)):
        for key in DROPPED & node.keys():
            del node[key]
    assert strict_schema(Plain) == theirs


def test_a_model_without_fields_is_a_closed_object() -> None:
    class Empty(BaseModel):
        pass

    assert strict_schema(Empty) == {"properties": {}, "type": "object", "required": [], "additionalProperties": False}
