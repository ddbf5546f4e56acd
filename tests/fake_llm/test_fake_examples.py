"""The example builder: whatever a schema asks for, the example is an instance of it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from fake_llm import ReceivedRequest, example_of
from fake_llm.replies import quoted_schema


class Span(BaseModel):
    start: int = Field(ge=3)
    quote: str = Field(min_length=200)


class Labels(BaseModel):
    label: Literal["supported", "refuted"]
    sure: bool
    weight: float = Field(gt=0, le=1)
    rank: int = Field(gt=4, multiple_of=5)
    spans: list[Span] = Field(min_length=2)
    note: str | None
    first: Span | None
    pair: tuple[int, str]
    short: str = Field(max_length=5)
    below: Annotated[int, Field(lt=-10)]


class Tree(BaseModel):
    name: str
    branches: list[Tree] = Field(default_factory=list)
    parent: Tree | None = None


@pytest.mark.parametrize("model", [Labels, Tree, Span])
def test_the_example_of_a_models_schema_validates_against_the_model(model: type[BaseModel]) -> None:
    model.model_validate(example_of(model.model_json_schema()), strict=False)


def test_the_first_enum_value_and_the_first_branch_that_is_not_null_are_taken() -> None:
    schema = {
        "type": "object",
        "properties": {
            "enum": {"enum": ["b", "a"]},
            "const": {"const": 7},
            "any": {"anyOf": [{"type": "null"}, {"type": "integer", "minimum": 4}]},
            "types": {"type": ["null", "boolean"]},
        },
    }
    assert example_of(schema) == {"enum": "b", "const": 7, "any": 4, "types": True}


def test_arrays_hold_the_fewest_items_allowed_but_one_where_free() -> None:
    boolean = {"type": "boolean"}
    assert example_of({"type": "array", "items": boolean}) == [True]
    assert example_of({"type": "array", "items": boolean, "minItems": 3}) == [True] * 3
    assert example_of({"type": "array", "items": boolean, "maxItems": 0}) == []


def test_all_of_is_merged() -> None:
    schema = {
        "allOf": [{"$ref": "#/$defs/a"}, {"properties": {"y": {"const": 2}}, "required": ["y"]}],
        "$defs": {"a": {"type": "object", "properties": {"x": {"const": 1}}, "required": ["x"]}},
    }
    assert example_of(schema) == {"x": 1, "y": 2}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}},
        {"$ref": "#", "type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]},
    ],
)
def test_a_schema_without_finite_instance_is_named_as_such(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"without end|no finite instance"):
        example_of(schema)


def test_a_schema_quoted_after_the_words_is_found() -> None:
    text = 'Answer by this JSON schema:\n```json\n{"type": "object", "properties": {"a": {"const": 1}}}\n```\nGo.'
    assert quoted_schema(text) == {"type": "object", "properties": {"a": {"const": 1}}}


@pytest.mark.parametrize(
    "text", ["", "JSON schema", "JSON schema {", 'JSON schema {"a": 1}', '{"type": "object"}', "json schema" * 999]
)
def test_no_schema_is_found_where_none_is_quoted(text: str) -> None:
    assert quoted_schema(text) is None


@given(st.text())
def test_no_prompt_breaks_the_search(text: str) -> None:
    quoted_schema(f"JSON schema {text}")
    quoted_schema('JSON schema {"a":' + "{" * 5000 + text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["messages", "role", "content", "text", "system", "tools", "function", "type"]),
                inner,
                max_size=4,
            )
        ),
    )
)
def test_no_body_breaks_the_reading_of_a_request(value: Any) -> None:
    body = value if isinstance(value, dict) else {"messages": value, "tools": value, "response_format": value}
    for dialect in ("openai", "azure", "anthropic"):
        request = ReceivedRequest("POST", "/", {}, {}, body, dialect)
        assert isinstance(request.text, str)
        assert request.schema is None or isinstance(request.schema, dict)
