"""What a model was not offered it cannot give: extra keys, other types and other words are told with their place."""

from __future__ import annotations

from datetime import date
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from krino.judges.citation.labels import CitationLabels
from krino.judges.efficiency.labels import EfficiencyLabels
from krino.judges.rag.labels import RagLabels
from krino.labellers.llm.schema import AnswerCheck, strict_schema
from rag_making import raw_labels, refusal_of


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Branch(BaseModel):
    name: str
    twigs: list[Branch]


class Everything(BaseModel):
    """Lenient on purpose: what counts is the schema."""

    model_config = ConfigDict(coerce_numbers_to_str=True)

    text: str
    count: int
    share: float = Field(ge=0)
    sure: bool
    word: Literal["yes", "no"]
    one: Literal["only"]
    level: Literal[1, 2]
    mixed: Literal["a", 1, True, None]
    colour: Colour
    day: date
    maybe: int | None
    either: int | str
    both: int | list[int] | None
    pair: tuple[int, str]
    table: dict[str, int]
    free: dict[str, Any]
    anything: Any
    branch: Branch
    hidden: SkipJsonSchema[float | None] = None


GOOD: dict[str, Any] = {
    "text": "words",
    "count": 3,
    "share": 0.5,
    "sure": True,
    "word": "yes",
    "one": "only",
    "level": 1,
    "mixed": "a",
    "colour": "red",
    "day": "2024-01-01",
    "maybe": None,
    "either": "x",
    "both": [1],
    "pair": [1, "x"],
    "table": {"a": 1},
    "free": {"a": {"b": [None]}},
    "anything": {"x": 1},
    "branch": {"name": "a", "twigs": [{"name": "b", "twigs": []}]},
}
OFFER = AnswerCheck(strict_schema(Everything))


def test_what_was_asked_for_fits() -> None:
    assert OFFER.fault(GOOD) is None
    others: dict[str, Any] = {
        "maybe": 4,
        "either": 4,
        "both": None,
        "share": 1,
        "table": {},
        "anything": None,
        "word": "no",
    }
    assert OFFER.fault({**GOOD, **others}) is None
    assert all(OFFER.fault({**GOOD, "mixed": value}) is None for value in ("a", 1, True, None))


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"text": 3}, "text"),
        ({"text": None}, "text"),
        ({"count": "3"}, "count"),
        ({"count": 3.0}, "count"),
        ({"count": True}, "count"),
        ({"count": None}, "count"),
        ({"share": "0.5"}, "share"),
        ({"share": True}, "share"),
        ({"share": float("inf")}, "share"),
        ({"share": float("nan")}, "share"),
        ({"sure": 1}, "sure"),
        ({"sure": "yes"}, "sure"),
        ({"sure": None}, "sure"),
        ({"word": "Yes"}, "word"),
        ({"word": True}, "word"),
        ({"one": "other"}, "one"),
        ({"level": True}, "level"),
        ({"level": "1"}, "level"),
        ({"level": 3}, "level"),
        ({"mixed": False}, "mixed"),
        ({"mixed": 0}, "mixed"),
        ({"mixed": "b"}, "mixed"),
        ({"colour": "green"}, "colour"),
        ({"day": 20240101}, "day"),
        ({"maybe": "4"}, "maybe"),
        ({"maybe": 4.0}, "maybe"),
        ({"either": 0.5}, "either"),
        ({"both": "1"}, "both"),
        ({"both": ["1"]}, "both"),
        ({"pair": "1x"}, "pair"),
        ({"table": {"a": "1"}}, "table.a"),
        ({"free": []}, "free"),
        ({"branch": {"name": "a", "twigs": [{"name": 1, "twigs": []}]}}, "branch.twigs.0.name"),
        ({"branch": {"name": "a", "twigs": [], "leaf": 1}}, "branch.leaf"),
        ({"branch": {"name": "a"}}, "branch.twigs"),
        ({"hidden": 0.62}, "hidden"),
        ({"hidden": None}, "hidden"),
        ({"extra": None}, "extra"),
    ],
)
def test_what_was_not_asked_for_is_told_with_its_place(change: dict[str, Any], place: str) -> None:
    assert (OFFER.fault({**GOOD, **change}) or "").startswith(place)


@pytest.mark.parametrize("name", GOOD)
def test_nothing_may_be_left_out(name: str) -> None:
    assert OFFER.fault({key: value for key, value in GOOD.items() if key != name}) == f"{name}: Field required"


def test_a_model_may_hold_itself() -> None:
    offer = AnswerCheck(strict_schema(Branch))
    assert offer.fault(GOOD["branch"]) is None
    assert offer.fault({"name": "a", "twigs": [{"name": "b"}]}) == "twigs.0.twigs: Field required"


@pytest.mark.parametrize("answer", [None, [], "text", 3])
def test_an_answer_is_an_object(answer: Any) -> None:
    assert OFFER.fault(answer)


def test_the_words_that_labels_are_chosen_from() -> None:
    assert OFFER.words == {"yes", "no", "only", "red", "blue", "a"}
    assert AnswerCheck(strict_schema(EfficiencyLabels)).words == {
        *("necessary", "redundant", "speculative", "enrichment", "indirect", "failed")
    }
    assert AnswerCheck(strict_schema(CitationLabels)).words == {"strong", "moderate", "weak", "none"}


def test_the_embedded_labellers_own_fields_are_not_offered_to_models() -> None:
    offer = AnswerCheck(strict_schema(RagLabels))
    assert offer.fault(raw_labels(refusal=refusal_of())) is None
    assert "similarity_score" in (offer.fault(raw_labels(similarity_score=0.62)) or "")
    RagLabels.model_validate(raw_labels(similarity_score=0.62))
