"""What is the same in many requests is written once; what is sent is the whole request all the same."""

from __future__ import annotations

import orjson
import pytest

import krino
from krino.labellers.llm.anthropic import AnthropicDialect
from krino.labellers.llm.conversation import Envelope, Prepared
from krino.labellers.llm.openai import OpenAIDialect
from krino.labellers.llm.wire import Channel, ChatRequest, Dialect, Params, Turn

SCHEMA = {"type": "object", "properties": {"label": {"enum": ["yes", "no"]}}}


@pytest.mark.parametrize("channel", ["json_schema", "tool", "text"])
@pytest.mark.parametrize("dialect", [OpenAIDialect(), AnthropicDialect()], ids=["openai", "anthropic"])
@pytest.mark.parametrize("text", ["plain", "", 'a "quote" and \\ and \n', "é \u2028 \U0001f600", "deadbeef" * 4])
def test_a_request_around_a_text_is_the_request_written_whole(dialect: Dialect, channel: Channel, text: str) -> None:
    request = ChatRequest("m", "Be fair.", (), orjson.Fragment(orjson.dumps(SCHEMA)), "labels", channel, Params(0.0, 7))
    whole = request.with_turns((Turn("user", text),))
    assert Envelope.of(request, dialect).around(text) == orjson.dumps(dialect.body(whole))


def test_half_a_character_in_a_case_is_sent_as_a_mark() -> None:
    """From Python a record may hold one; the schema that quotes the case must still be written."""
    case = {
        "question": "Who?",
        "context": ["Ann \ud800 of Ghent came."],
        "answer": "Ann \ud800 came.",
        "reference": "Ann.",
    }
    judge = krino.load_judge("rag")
    read = judge.read(case)
    facts = judge.study(read)
    asked = judge.ask(read, facts)
    assert asked is not None
    bound = judge.bounds(read, facts, asked, True)
    prepared = Prepared.of(judge, ["json_schema"], {})
    assert b"Ann ? came." in orjson.dumps(prepared.form(bound, "exact").schema)
