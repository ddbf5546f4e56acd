"""The schema of a request is narrowed to its case as far as an endpoint takes it, and says how long a reply can be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

import krino
from citation_cases import candidate, citation, match
from krino.contract import Bound
from krino.contract.bounds import EMPTY, NULL
from krino.labellers.llm.schema import STRENGTHS, bind, reply_tokens, strict_schema
from krino.labellers.llm.wire import Strength


class Item(BaseModel):
    model_config = ConfigDict(extra="forbid")

    id: str
    why: str = Field(description="a few words")
    place: int | None
    label: Literal["good", "bad", "ugly"]
    sure: bool


class Labels(BaseModel):
    model_config = ConfigDict(extra="forbid")

    items: list[Item]
    best: Item | None = Field(description="the best of them")
    remark: str | None


SCHEMA = strict_schema(Labels)
ITEM = Bound.holding(id=Bound.one_of(["a", "b"]), why=Bound.text(50), place=Bound.one_of([1, 2, 3, None]))
BOUND = Bound.holding(items=Bound.many(ITEM, least=2, most=2), best=NULL, remark=Bound.text(20))
LENGTHS = {"minItems", "maxItems", "minimum", "maximum"}
EXACT_ONLY = {"minLength", "maxLength", "prefixItems"}


def keywords(node: Any, named: bool = False) -> Iterator[str]:
    if isinstance(node, list):
        for item in node:
            yield from keywords(item)
    elif isinstance(node, dict):
        for key, item in node.items():
            if not named:
                yield key
            yield from keywords(item, named=not named and key in {"properties", "$defs"})


def item_of(schema: dict[str, Any]) -> dict[str, Any]:
    properties: dict[str, Any] = schema["properties"]["items"]["items"]["properties"]
    return properties


def test_each_strength_sends_only_what_its_endpoints_take() -> None:
    used = {strength: set(keywords(bind(SCHEMA, BOUND, strength))) for strength in STRENGTHS}
    assert bind(SCHEMA, BOUND, "plain") == SCHEMA
    assert not used["choices"] & (LENGTHS | EXACT_ONLY)
    assert used["bounded"] >= {"minItems", "maxItems", "minimum", "maximum"}
    assert not used["bounded"] & EXACT_ONLY
    assert "maxLength" in used["sized"] & used["exact"]
    assert "prefixItems" not in used["sized"]


@pytest.mark.parametrize("strength", STRENGTHS[1:])
def test_ids_are_an_enumeration(strength: Strength) -> None:
    assert item_of(bind(SCHEMA, BOUND, strength))["id"] == {"type": "string", "enum": ["a", "b"]}


def test_a_run_of_numbers_is_a_range_where_ranges_are_taken_and_an_enumeration_elsewhere() -> None:
    place = {strength: item_of(bind(SCHEMA, BOUND, strength))["place"]["anyOf"] for strength in STRENGTHS[1:]}
    assert place["choices"] == [{"type": "integer", "enum": [1, 2, 3]}, {"type": "null"}]
    assert (
        place["bounded"]
        == place["sized"]
        == place["exact"]
        == [{"type": "integer", "minimum": 1, "maximum": 3}, {"type": "null"}]
    )
    gap = Bound.holding(items=Bound.many(Bound.holding(place=Bound.one_of([1, 5])), most=1))
    assert item_of(bind(SCHEMA, gap, "bounded"))["place"] == {"type": "integer", "enum": [1, 5]}


def test_the_order_of_the_fields_is_kept() -> None:
    """A model writes in the order of the schema: what a label rests on comes before it."""
    for strength in STRENGTHS[1:]:
        bound = bind(SCHEMA, BOUND, strength)
        assert list(bound["properties"]) == list(Labels.model_fields)
        assert list(item_of(bound)) == list(Item.model_fields)
        assert bound["properties"]["items"]["items"]["required"] == list(Item.model_fields)


def test_what_must_be_null_or_empty_can_be_nothing_else() -> None:
    bound = bind(SCHEMA, Bound.holding(items=EMPTY, best=NULL, remark=NULL), "bounded")
    assert bound["properties"]["best"] == {"description": "the best of them", "type": "null"}
    assert bound["properties"]["remark"] == {"type": "null"}
    assert bound["properties"]["items"]["maxItems"] == 0


def test_descriptions_stay_and_definitions_that_nobody_refers_to_go() -> None:
    bound = bind(SCHEMA, BOUND, "bounded")
    assert item_of(bound)["why"]["description"] == "a few words"
    assert "$defs" not in bound
    assert "$defs" in bind(SCHEMA, Bound.holding(remark=NULL), "bounded")


def test_items_one_by_one_are_in_order_where_that_can_be_said_and_all_of_them_elsewhere() -> None:
    each = Bound.holding(items=Bound.each(Bound.holding(id=Bound.only(name)) for name in "abc"))
    exact = bind(SCHEMA, each, "exact")["properties"]["items"]
    assert [item["properties"]["id"]["enum"] for item in exact["prefixItems"]] == [["a"], ["b"], ["c"]]
    assert "items" not in exact, "llama.cpp would read it instead of prefixItems"
    loose = bind(SCHEMA, each, "bounded")
    assert (loose["properties"]["items"]["minItems"], loose["properties"]["items"]["maxItems"]) == (3, 3)
    assert item_of(loose)["id"]["enum"] == ["a", "b", "c"]


def test_fields_that_go_together_are_kept_together_where_that_can_be_said() -> None:
    either = Bound.either(
        Bound.holding(label=Bound.only("good"), place=Bound.only(1), sure=Bound.only(True)),
        Bound.holding(label=Bound.only("bad"), place=NULL),
    )
    bound = Bound.holding(items=Bound.many(either, most=3))
    kinds = bind(SCHEMA, bound, "exact")["properties"]["items"]["items"]["anyOf"]
    assert [kind["properties"]["label"]["enum"] for kind in kinds] == [["good"], ["bad"]]
    assert [kind["properties"]["place"]["type"] for kind in kinds] == ["integer", "null"]
    loose = item_of(bind(SCHEMA, bound, "bounded"))
    assert loose["label"]["enum"] == ["good", "bad"]
    assert loose["sure"] == {"type": "boolean"}, "one of the kinds leaves it open"


def test_kinds_that_cannot_be_kept_apart_still_bound_the_items_of_their_lists() -> None:
    def listing(*names: str) -> Bound:
        return Bound.holding(items=Bound.each(Bound.holding(id=Bound.only(name)) for name in names))

    loose = bind(SCHEMA, Bound.either(listing("a", "b"), listing("c", "b", "d")), "bounded")
    assert (loose["properties"]["items"]["minItems"], loose["properties"]["items"]["maxItems"]) == (2, 3)
    assert item_of(loose)["id"]["enum"] == ["a", "b", "c", "d"]


def test_an_enumeration_that_no_endpoint_takes_is_left_out() -> None:
    many = Bound.holding(items=Bound.many(Bound.holding(id=Bound.one_of([f"step {n}" for n in range(500)])), most=500))
    assert item_of(bind(SCHEMA, many, "exact"))["id"] == {"type": "string"}


def test_a_bound_on_a_field_that_there_is_not_is_a_fault_of_the_judge() -> None:
    with pytest.raises(ValueError, match="no field `itmes`"):
        bind(SCHEMA, Bound.holding(itmes=EMPTY), "choices")


# --- how long a reply can be -----------------------------------------------------------------------


def longest(bound: Bound) -> int:
    return reply_tokens(bind(SCHEMA, bound, "exact"))


def test_the_limit_follows_from_how_much_may_be_written() -> None:
    assert longest(BOUND) == 512, "never less: a model may write blanks and line breaks"
    long = [longest(Bound.holding(items=Bound.many(ITEM, most=count), best=NULL)) for count in (20, 40, 80)]
    assert 512 < long[0] < long[1] < long[2]
    assert longest(Bound.holding(items=Bound.many(ITEM, most=100_000))) == 16_384


class Tree(BaseModel):
    children: list[Tree]


def test_a_schema_that_goes_in_circles_has_a_limit_too() -> None:
    assert 512 <= reply_tokens(strict_schema(Tree)) <= 16_384


# --- the bundled judges ----------------------------------------------------------------------------

RAG = {"question": "When?", "context": ["It opens at 9:00. It is blue.", "Far."], "answer": "At 9:00. It is red."}
CITED = citation(
    "Hof van Cassatie",
    candidates=[candidate("D1", "Hof van Cassatie", None, "The lease of a shop ends with the notice.")],
    matches=[match("D1", 0.8, "The court is the same.")],
    citation_snippet="on the lease of a shop",
)
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TRACE = {
    "trace": [
        {"role": "user", "content": "Look it up."},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "assistant", "content": "Found."},
    ]
}


@pytest.mark.parametrize(("name", "record"), [("rag", RAG), ("citation", CITED), ("efficiency", TRACE)])
def test_whatever_fits_an_exactly_bound_schema_fits_the_case(name: str, record: dict[str, Any]) -> None:
    judge = krino.load_judge(name)
    case = judge.read(record)
    facts = judge.study(case)
    asked = judge.ask(case, facts)
    assert asked is not None
    bound = judge.bounds(case, facts, asked, True)
    assert bound is not None
    schema = bind(strict_schema(judge.labels_model), bound, "exact")
    for pick in range(3):
        labels = judge.labels_model.model_validate_json(json.dumps(made(schema, pick)), strict=True)
        assert judge.check(case, facts, labels) == []


@pytest.mark.parametrize(("name", "record"), [("rag", RAG), ("citation", CITED), ("efficiency", TRACE)])
def test_cases_of_the_same_shape_have_the_same_schema(name: str, record: dict[str, Any]) -> None:
    """Then an endpoint need not compile it again, and a prompt cache still hits."""
    judge = krino.load_judge(name)
    found = []
    for number in range(2):
        case = judge.read({**record, "id": str(number)})
        facts = judge.study(case)
        asked = judge.ask(case, facts)
        assert asked is not None
        found.append(judge.bounds(case, facts, asked, False))
    assert found[0] is not None
    assert found[0] is found[1]
    for strength in STRENGTHS:
        bind(strict_schema(judge.labels_model), found[0], strength)


def made(node: dict[str, Any], pick: int) -> Any:
    """Some value that fits: the `pick`th alternative, wherever there is one."""
    if "anyOf" in node:
        return made(node["anyOf"][pick % len(node["anyOf"])], pick)
    if "enum" in node:
        return node["enum"][pick % len(node["enum"])]
    match node["type"]:
        case "object":
            return {name: made(item, pick) for name, item in node["properties"].items()}
        case "array":
            if "prefixItems" in node:
                return [made(item, pick) for item in node["prefixItems"]]
            count = max(node.get("minItems", 0), min(pick, node.get("maxItems", pick), 1))
            return [made(node["items"], pick) for _ in range(count)]
        case "integer":
            return min(node.get("minimum", 0) + pick, node.get("maximum", 9))
        case "boolean":
            return pick % 2 == 0
        case "null":
            return None
    return "word"[: node.get("maxLength", 9)]
