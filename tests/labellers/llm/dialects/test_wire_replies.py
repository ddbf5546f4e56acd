"""What endpoints send back is read for what it is worth: odd shapes never crash, and never become an answer."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from krino.labellers.llm.dialects.anthropic import AnthropicDialect
from krino.labellers.llm.dialects.openai import AzureDialect, OpenAIDialect
from krino.labellers.llm.wire import Dialect, Reply, UnreadableReply, read_error

OPENAI, ANTHROPIC = OpenAIDialect(), AnthropicDialect()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def openai_body(**changes: Any) -> bytes:
    message = {"role": "assistant", "content": "hi", **changes.pop("message", {})}
    choice = {"index": 0, "message": message, "finish_reason": changes.pop("finish", "stop")}
    return orjson.dumps({"model": "m", "choices": [choice], **changes})


def anthropic_body(*blocks: Any, **changes: Any) -> bytes:
    return orjson.dumps({"model": "m", "content": list(blocks), "stop_reason": "end_turn", **changes})


# --- pages that are no reply -----------------------------------------------------------------------


@pytest.mark.parametrize("dialect", [OPENAI, AzureDialect(), ANTHROPIC])
@pytest.mark.parametrize(
    "body", [b"", b"<html>Sign in</html>", b"[]", b'"text"', b"null", b"{}", b'{"choices": [', b"\xff\xfe"]
)
def test_a_page_that_is_not_the_dialects_is_unreadable(dialect: Dialect, body: bytes) -> None:
    with pytest.raises(UnreadableReply):
        dialect.read(body)


@pytest.mark.parametrize("choices", [None, [], {}, [None], ["x"], [{}], [{"message": None}], [{"message": "hi"}]])
def test_a_reply_without_a_message_is_unreadable(choices: Any) -> None:
    with pytest.raises(UnreadableReply):
        OPENAI.read(orjson.dumps({"choices": choices}))


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC])
@settings(deadline=None)
@given(data=st.data())
def test_any_json_is_read_or_unreadable_but_never_crashes(dialect: Dialect, data: st.DataObject) -> None:
    message = st.fixed_dictionaries({}, optional={"content": JSON, "refusal": JSON, "tool_calls": JSON})
    call = st.fixed_dictionaries({"function": st.fixed_dictionaries({}, optional={"name": JSON, "arguments": JSON})})
    choice = st.fixed_dictionaries(
        {"message": message | st.fixed_dictionaries({"tool_calls": st.lists(call, max_size=2)})},
        optional={"finish_reason": JSON},
    )
    block = JSON | st.fixed_dictionaries(
        {"type": st.sampled_from(["text", "tool_use", "thinking"])},
        optional={"text": JSON, "input": JSON, "name": JSON},
    )
    usage = st.dictionaries(
        st.sampled_from(["prompt_tokens", "completion_tokens", "input_tokens", "cost", "prompt_tokens_details"]), JSON
    )
    body = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "choices": JSON | st.lists(choice, max_size=2),
                "content": JSON | st.lists(block, max_size=3),
                "usage": JSON | usage,
                "model": JSON,
                "stop_reason": JSON,
            },
        )
    )
    try:
        reply = dialect.read(orjson.dumps(body))
    except UnreadableReply:
        return
    assert isinstance(reply.text, str | None)
    assert isinstance(reply.finish, str | None)
    assert isinstance(reply.model, str | None)
    assert min(reply.input_tokens, reply.output_tokens, reply.cached_tokens, reply.cost or 0) >= 0
    assert isinstance(reply.raw(), str)
    assert reply.cut_off in {True, False}


# --- OpenAI and its imitators ----------------------------------------------------------------------


def test_content_in_parts_is_joined() -> None:
    parts = [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}, {"type": "image"}, "noise"]
    assert OPENAI.read(openai_body(message={"content": parts})).text == "one two"


def test_missing_usage_counts_as_nothing() -> None:
    reply = OPENAI.read(openai_body())
    assert (reply.input_tokens, reply.output_tokens, reply.cached_tokens, reply.cost) == (0, 0, 0, None)


@pytest.mark.parametrize("bad", [None, -5, "12", 1.5, True, [3]])
def test_nonsense_counts_count_as_nothing(bad: Any) -> None:
    assert OPENAI.read(openai_body(usage={"prompt_tokens": bad, "completion_tokens": 4})) == Reply(
        text="hi", finish="stop", output_tokens=4, model="m"
    )


def test_a_price_stated_by_the_endpoint_is_taken_but_never_a_negative_one() -> None:
    assert OPENAI.read(openai_body(usage={"cost": 0.002})).cost == 0.002
    assert OPENAI.read(openai_body(usage={"cost": -1})).cost is None


def test_tool_arguments_given_as_an_object_are_the_same_json() -> None:
    calls = [
        {"function": {"name": "give_labels", "arguments": {"ok": True, "why": None}}},
        {"function": {"name": "give_labels", "arguments": '{"ok": true}'}},
        {"function": None},
        "noise",
    ]
    reply = OPENAI.read(openai_body(message={"content": None, "tool_calls": calls}))
    assert [call.arguments for call in reply.tool_calls] == ['{"ok":true,"why":null}', '{"ok": true}']
    assert reply.raw() == '{"ok":true,"why":null}\n{"ok": true}'


@pytest.mark.parametrize("kind", ["reasoning", "thinking", "refusal", "summary", None])
def test_only_parts_of_text_are_text(kind: str | None) -> None:
    hidden = {"type": kind, "text": '{"label": "good"}', "refusal": "no", "thinking": "hm"}
    parts = [hidden, {"type": "text", "text": "one "}, {"type": "output_text", "text": "two"}, {"type": "text"}]
    assert OPENAI.read(openai_body(message={"content": parts})).text == "one two"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ({"refusal": "I may not"}, "I may not"),
        ({"refusal": True}, "True"),
        ({"refusal": {"reason": "policy"}}, "policy"),
        ({"refusal": ["no"]}, "no"),
        ({"content": [{"type": "refusal", "refusal": "never"}, {"type": "text", "text": "{}"}]}, "never"),
        ({"content": [{"type": "refusal", "text": "nor this"}]}, "nor this"),
        ({"content": [{"type": "refusal"}]}, "refusal"),
    ],
)
def test_a_refusal_in_any_form_is_one(message: dict[str, Any], told: str) -> None:
    assert told in (OPENAI.read(openai_body(message=message)).refusal or "")


@pytest.mark.parametrize("nothing", [None, "", False, {}, []])
def test_an_empty_refusal_is_none(nothing: Any) -> None:
    assert OPENAI.read(openai_body(message={"refusal": nothing})).refusal is None


@pytest.mark.parametrize("finish", ["stop", "STOP", "eos", "eos_token", "tool_calls", "function_call", None])
def test_the_normal_ends_of_an_openai_reply(finish: str | None) -> None:
    reply = OPENAI.read(openai_body(finish=finish))
    assert (reply.finish, reply.stopped) == (finish, None)


@pytest.mark.parametrize("finish", ["error", "SAFETY", "cancelled", "Stop", "", "length", True, 3, {"type": "error"}])
def test_every_other_end_of_an_openai_reply_is_told(finish: Any) -> None:
    assert OPENAI.read(openai_body(finish=finish)).stopped == (finish if isinstance(finish, str) else repr(finish))


@pytest.mark.parametrize("place", ["body", "choice", "message"])
@pytest.mark.parametrize("error", [{"message": "boom", "code": 502}, "boom", ["boom"], {"code": "boom"}])
def test_an_error_beside_a_reply_breaks_it(place: str, error: Any) -> None:
    data = orjson.loads(openai_body(usage={"prompt_tokens": 7}))
    choice = data["choices"][0]
    holder = {"body": data, "choice": choice, "message": choice["message"]}[place]
    holder["error"] = error
    reply = OPENAI.read(orjson.dumps(data))
    assert "boom" in (reply.broken or "")
    assert reply.input_tokens == 7
    holder["error"] = None
    assert OPENAI.read(orjson.dumps(data)).broken is None


def test_an_error_instead_of_a_reply_is_told() -> None:
    for dialect in (OPENAI, ANTHROPIC):
        with pytest.raises(UnreadableReply, match="boom"):
            dialect.read(b'{"type": "error", "error": {"type": "x", "message": "boom"}}')


def test_of_several_choices_none_is_taken() -> None:
    data = orjson.loads(openai_body())
    data["choices"] *= 2
    assert "2 choices" in (OPENAI.read(orjson.dumps(data)).broken or "")


@pytest.mark.parametrize(
    ("body", "key"),
    [
        (b'{"choices": [], "choices": [{"message": {"content": "x"}}]}', "choices"),
        (b'{"choices": [{"message": {"content": "x", "content": "y"}}]}', "content"),
        (b'{"choices": [{"message": {"tool_calls": [{"function": {"arguments": {"a": 1, "a": 2}}}]}}]}', "a"),
        (b'{"content": [{"type": "tool_use", "input": {"a": {"b": 1, "b": 1}}}]}', "b"),
        (b'{"content": [{"type": "tool_use", "input"\n: [{"b": 1, "b": 1}]}]}', "b"),
        (b'{"content": [{"type": "text", "t\\u0065xt": "x", "text": "y"}]}', "text"),
    ],
)
def test_a_body_that_says_a_thing_twice_is_unreadable(body: bytes, key: str) -> None:
    for dialect in (OPENAI, ANTHROPIC):
        with pytest.raises(UnreadableReply, match=f"has the key {key} twice"):
            dialect.read(body)


def test_a_body_nested_beyond_reason_is_unreadable() -> None:
    with pytest.raises(UnreadableReply):
        OPENAI.read(b'{"a":' * 990 + b"1" + b"}" * 990)


def test_a_filtered_reply_is_a_refusal_whatever_text_came_with_it() -> None:
    assert OPENAI.read(openai_body(finish="content_filter")).refusal


@pytest.mark.parametrize(
    ("finish", "cut"),
    [
        ("length", True),
        ("max_tokens", True),
        ("MAX_TOKENS", True),
        ("model_length", True),
        ("model_context_window_exceeded", True),
        ("stop", False),
        (None, False),
    ],
)
def test_what_counts_as_cut_off(finish: str | None, cut: bool) -> None:
    assert Reply(text="x", finish=finish).cut_off is cut


# --- Anthropic -------------------------------------------------------------------------------------


def test_text_blocks_are_joined_and_thinking_is_left_out() -> None:
    reply = ANTHROPIC.read(
        anthropic_body(
            {"type": "thinking", "thinking": '{"label": "no"}'},
            {"type": "text", "text": "one "},
            {"type": "text", "text": None},
            {"type": "text", "text": "two"},
        )
    )
    assert (reply.text, reply.tool_calls) == ("one two", ())


@pytest.mark.parametrize(
    ("stop", "stopped"),
    [
        ("end_turn", None),
        ("tool_use", None),
        (None, None),
        ("stop_sequence", "stop_sequence"),
        ("pause_turn", "pause_turn"),
        ("max_tokens", "max_tokens"),
        (1, "1"),
    ],
)
def test_the_ends_of_an_anthropic_reply(stop: Any, stopped: str | None) -> None:
    assert ANTHROPIC.read(anthropic_body({"type": "text", "text": "x"}, stop_reason=stop)).stopped == stopped


def test_a_refusal_or_an_error_of_anthropic_is_told() -> None:
    text = {"type": "text", "text": "x"}
    assert ANTHROPIC.read(anthropic_body(text)).refusal is None
    assert ANTHROPIC.read(anthropic_body(text, stop_reason="refusal")).refusal
    assert ANTHROPIC.read(anthropic_body(text, {"type": "refusal", "refusal": "no"})).refusal
    assert "boom" in (ANTHROPIC.read(anthropic_body(text, error={"message": "boom"})).broken or "")


def test_tool_input_nested_beyond_reason_is_unreadable() -> None:
    deep = b'{"a":' * 400 + b"1" + b"}" * 400
    body = b'{"content": [{"type": "tool_use", "name": "give_labels", "input": ' + deep + b"}]}"
    with pytest.raises(UnreadableReply, match="tool call"):
        ANTHROPIC.read(body)


def test_cached_and_written_input_is_part_of_the_input() -> None:
    usage = {
        "input_tokens": 10,
        "output_tokens": 3,
        "cache_read_input_tokens": 100,
        "cache_creation_input_tokens": 1000,
    }
    reply = ANTHROPIC.read(anthropic_body({"type": "text", "text": "x"}, usage=usage))
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (1110, 100, 3)


# --- errors ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message", "code", "kind"),
    [
        (b'{"error": {"message": "no", "type": "t", "code": "c"}}', "no", "c", "t"),
        (b'{"error": {"message": "no", "code": 400}}', "no", "400", None),
        (b'{"type": "error", "error": {"type": "t", "message": "no"}}', "no", None, "t"),
        (b'{"error": {}}', "no message", None, None),
        (b'{"error": "model not found"}', "model not found", None, None),
        (b'{"detail": "Not Found"}', "Not Found", None, None),
        (b"<html>Bad Gateway</html>", "<html>Bad Gateway</html>", None, None),
        (b"[1]", "[1]", None, None),
        (b"", "empty reply", None, None),
        (b"\xff\xfe", "\ufffd\ufffd", None, None),
    ],
)
def test_errors_say_what_they_can(body: bytes, message: str, code: str | None, kind: str | None) -> None:
    error = read_error(418, body)
    assert (error.status, error.message, error.code, error.kind) == (418, message, code, kind)
    assert str(error).startswith("HTTP 418")


def test_a_long_error_page_is_cut() -> None:
    assert len(read_error(502, b"x" * 100_000).message) == 300


@settings(deadline=None)
@given(st.binary(max_size=50) | JSON.map(orjson.dumps) | JSON.map(lambda value: orjson.dumps({"error": value})))
def test_any_error_body_is_read(body: bytes) -> None:
    assert read_error(400, body).message


# --- replies that are marked as none ------------------------------------------------------------------


@pytest.mark.parametrize(
    "mark",
    [
        {"object": "error"},
        {"type": "error"},
        {"status": "failed"},
        {"status": "CANCELLED"},
        {"errors": [{"message": "partial"}]},
        {"errors": ["partial"]},
        {"errors": {"message": "partial"}},
        {"error": "overloaded"},
    ],
)
def test_an_error_beside_a_reply_makes_it_none_whatever_its_shape(mark: dict[str, Any]) -> None:
    assert OPENAI.read(openai_body(**mark)).broken
    assert OPENAI.read(openai_body(message=mark)).broken
    assert ANTHROPIC.read(anthropic_body({"type": "text", "text": "hi"}, **mark)).broken


@pytest.mark.parametrize(
    "mark", [{"errors": []}, {"errors": None}, {"status": "completed"}, {"object": "chat.completion"}, {"error": None}]
)
def test_marks_of_a_sound_reply_are_no_error(mark: dict[str, Any]) -> None:
    assert OPENAI.read(openai_body(**mark)).broken is None
    assert ANTHROPIC.read(anthropic_body({"type": "text", "text": "hi"}, **mark)).broken is None


@pytest.mark.parametrize("role", ["user", "system", "tool", 7])
def test_a_message_of_somebody_else_is_no_reply(role: Any) -> None:
    assert "role" in (OPENAI.read(openai_body(message={"role": role})).broken or "")
    assert "role" in (ANTHROPIC.read(anthropic_body({"type": "text", "text": "hi"}, role=role)).broken or "")


@pytest.mark.parametrize("role", ["assistant", "Assistant", "model", None, ""])
def test_the_models_own_message_is_a_reply(role: Any) -> None:
    assert OPENAI.read(openai_body(message={"role": role})).broken is None
