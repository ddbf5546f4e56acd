"""An answer is the one object of its channel, taken as it stands; what is cut off, doubled or guessed is none."""

from __future__ import annotations

import json
import time
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from krino.labellers.llm.reply import BadReply, parse_reply, serialise_answer
from krino.labellers.llm.wire import TOOL_NAME, Channel, Reply, ToolCall

TAG = "cafe0123"
WHOLE = '{"label": "yes", "why": "it is so", "ids": [1, 2]}'
ANSWER = {"label": "yes", "why": "it is so", "ids": [1, 2]}
OTHER = '{"label": "no", "why": "it is not", "ids": []}'
TEXT_CHANNELS: tuple[Channel, ...] = ("json_schema", "json_object", "text")


def read(text: str | None, channel: Channel = "json_object") -> dict[str, Any]:
    answer = parse_reply(Reply(text=text), channel, TAG)
    assert serialise_answer(answer)  # what cannot be kept is refused like what cannot be read
    return answer


def marked(text: str, tag: str = TAG) -> str:
    return f"<answer-{tag}>{text}</answer-{tag}>"


# --- what is accepted ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        WHOLE,
        f"\n\t {WHOLE} \n",
        json.dumps(ANSWER, indent=4),
        f"```json\n{WHOLE}\n```",
        f"```\n{WHOLE}\n```",
        f"```JSON  \n\n{WHOLE}\n\n ```",
        f"```{WHOLE}```",
        WHOLE[:-1] + ",}",
        WHOLE[:-2] + ",]}",
        WHOLE.replace('"', "'"),
        WHOLE.replace('"label"', "label"),
        WHOLE.replace('", "why', '" "why'),
        WHOLE + "}",
        WHOLE.replace("2]}", "2}"),
        f"```json\n{WHOLE[:-1]}\n```",
    ],
)
def test_punctuation_around_and_inside_is_put_right(text: str) -> None:
    assert read(text) == ANSWER


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": "two\nlines\tand a tab"}', {"a": "two\nlines\tand a tab"}),
        ('{"a": "he said "no" twice",}', {"a": 'he said "no" twice'}),
        ("{'ok': True, 'n': -1.5}", {"ok": True, "n": -1.5}),
        ("{'a': 'é', 'b': \"é\\\"x\"}", {"a": "é", "b": 'é"x'}),
        ('{"a": "he said \\"no\\": twice", "b": [1,],}', {"a": 'he said "no": twice', "b": [1]}),
        ('{"a": "", "b": [],}', {"a": "", "b": []}),
        ('{"a": {"b": {"c": [{"d": 1}]}}}', {"a": {"b": {"c": [{"d": 1}]}}}),
        ('{"a": "{\\"label\\": \\"no\\"}"}', {"a": '{"label": "no"}'}),
        ('{"a": "```json {} ```"}', {"a": "```json {} ```"}),
        ('{"a": "\\u00e9\\ud83d\\ude00"}', {"a": "é😀"}),
        ("{}", {}),
    ],
)
def test_values_are_taken_as_they_stand(text: str, value: dict[str, Any]) -> None:
    assert read(text) == value


# --- what is not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (None, "empty"),
        ("", "empty"),
        (" \n ", "empty"),
        ("The answer is yes.", "not one JSON object"),
        ("[]", "list"),
        (f"[{WHOLE}]", "list"),
        (f"Here: [{WHOLE}]", "not one JSON object"),
        ('"yes"', "str"),
        ("null", "NoneType"),
        ("3", "int"),
        (f"{WHOLE} {WHOLE}", 'after the object stands \'{"label"'),
        (f"{WHOLE}\n{{}}", "after the object stands '{}'"),
        ('{} {"a": 1}', "after the object stands '{\"a\": 1}'"),
        ('First {"a": 1}, then {"a": 2}.', "begins with 'First'"),
        ('{"a": 1, "a": 2}', "twice"),
        ('{"x": {"a": 1, "a": 1}}', "twice"),
        ('So: {"a": 1, "a": 2}', "begins with 'So:'"),
        ('{"a": 1, "a": 2} then', "twice"),
        ('```json\n{"a": 1, "a": 2}\n```', "twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "Infinity"),
        ('{"a": NaN, "b": {"c": 1}}', "NaN"),
        ('{"a": 1,, "a": 2}', "not one JSON object"),
        ("{'a': None}", "not one JSON object"),
    ],
)
def test_what_is_no_single_object_is_refused_with_the_reason(text: str | None, because: str) -> None:
    with pytest.raises(BadReply, match=because):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"label": }',
        '{"label": , "why": "x"}',
        '{"label"}',
        '{"label": undefined}',
        '{"label": yes}',
        '{"score": 1,5}',
        '{"score": 1/2}',
        '{"score": 1.5.2}',
        '{"score": 3,...}',
        '{"score": - 1}',
        '{"score": .5}',
        '{"score": 0x10}',
        '{"items": [{}{}]}',
        '{"items": [{}\n{}]}',
        "{‘label’: ‘yes’}",
        "{'label' 'yes'}",
        '{"label": "yes" "no"}',
        '{"label": "yes", // or no\n}',
        '{"label": "yes" /* or no */}',
    ],
)
def test_a_value_is_never_made_up_lost_or_turned_into_another(text: str) -> None:
    with pytest.raises(BadReply):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        'I say {"label": "no", "example": {"label": "yes"}',
        '{"label": "no", "example": {"label": "yes"}',
        '{"label": "no", "example": {"label": "yes"}, oops}',
        'It was {"label": "yes"} but now {"label": "n',
        '{"label": "yes"}, "more": }',
        'The set {a, b} gives {"label": "yes"}',
    ],
)
def test_an_object_beside_or_inside_a_broken_one_is_not_the_answer(text: str) -> None:
    with pytest.raises(BadReply):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 123456789012345678901234567890}',
        '{"a": "\\ud800"}',
        '{"a":' * 300 + "1" + "}" * 300,
        '{"a":' * 100_000,
        "[" * 100_000,
        "x " + '{"a":' * 5_000,
        '{"a": 1' + "0" * 5_000 + "}",
    ],
    ids=["big number", "half a character", "deep", "deeper", "list", "after prose", "digits"],
)
def test_what_cannot_be_kept_or_read_is_refused(text: str) -> None:
    with pytest.raises(BadReply):
        read(text)


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        "{]" * 60_000 + "}",
        "{" * 49_000 + "]" * 49_000,
        '{"a": "' + 'x"y' * 300_000 + '"}',
        '{"a": "' + '\\"' * 40_000 + "}",
        '{"a":"b' + '"},{' * 20_000 + "}",
        "```\n" + "\n" * 300_000 + "x",
        '{"a":[' * 400 + "1," * 200_000,
        "{" + '"a":1,' * 20_000 + "}",
        "x" * 3_000_000 + "{}{",
    ],
    ids=range(10),
)
def test_hostile_text_is_refused_in_good_time(text: str) -> None:
    started = time.process_time()  # what a busy machine takes for others is not counted
    with pytest.raises(BadReply):
        read(text)
    assert time.process_time() - started < 10


def test_a_large_answer_is_read() -> None:
    large = {"claims": [{"text": f"claim {number}", "label": "yes"} for number in range(20_000)]}
    assert read(json.dumps(large)) == large
    assert read(f"```json\n{json.dumps(large, indent=1)}\n```") == large


# --- channels --------------------------------------------------------------------------------------


def called(*arguments: str, name: str = TOOL_NAME) -> Reply:
    return Reply(text="{}", tool_calls=tuple(ToolCall(name, text) for text in arguments), finish="tool_calls")


def test_a_tool_answer_is_taken_from_its_call_alone() -> None:
    assert parse_reply(called(WHOLE), "tool", TAG) == ANSWER
    reply = Reply(text=None, tool_calls=(ToolCall("other", "{}"), ToolCall(TOOL_NAME, WHOLE)))
    assert parse_reply(reply, "tool", TAG) == ANSWER


@pytest.mark.parametrize(
    ("reply", "because"),
    [
        (Reply(text=WHOLE), "not called"),
        (called(WHOLE, name="other_tool"), "not called"),
        (called(WHOLE, WHOLE), "2 times"),
        (called(""), "not one JSON object"),
        (called("null"), "NoneType"),
        (called(f"[{WHOLE}]"), "list"),
        (called(WHOLE[:-2]), "not one JSON object"),
        (called('{"a": {"b": 1}'), "not one JSON object"),
    ],
)
def test_a_tool_answer_elsewhere_or_twice_is_none(reply: Reply, because: str) -> None:
    with pytest.raises(BadReply, match=because):
        parse_reply(reply, "tool", TAG)


def test_a_call_does_not_answer_a_text_channel() -> None:
    with pytest.raises(BadReply, match="empty"):
        parse_reply(Reply(text=None, tool_calls=(ToolCall(TOOL_NAME, WHOLE),)), "json_schema", TAG)


@pytest.mark.parametrize("channel", ["tool", "json_schema", "json_object"])
@pytest.mark.parametrize("text", ["{}", "```json\n{}\n```", "<think>hm</think>{}"])
def test_text_and_call_that_contradict_each_other_are_no_answer(channel: Channel, text: str) -> None:
    one, other = '{"label": "good"}', '{"label": "bad"}'
    both = Reply(text=text.replace("{}", one), tool_calls=(ToolCall(TOOL_NAME, other),))
    with pytest.raises(BadReply, match="two answers that differ"):
        parse_reply(both, channel, TAG)
    same = Reply(text=text.replace("{}", one), tool_calls=(ToolCall(TOOL_NAME, one),))
    assert parse_reply(same, channel, TAG) == {"label": "good"}


def test_words_beside_a_call_are_no_other_answer() -> None:
    for text in ("I call the tool.", "{not an object", "", None, "```\n```"):
        assert parse_reply(Reply(text=text, tool_calls=(ToolCall(TOOL_NAME, '{"a": 1}'),)), "tool", TAG) == {"a": 1}


def test_markers_with_the_right_word_decide() -> None:
    assert read(marked(WHOLE), "text") == ANSWER
    assert read(marked(f"\n```json\n{WHOLE}\n```\n"), "text") == ANSWER
    assert read(WHOLE, "text") == ANSWER
    about = {"why": f"it says <answer-{TAG}>"}
    assert read(json.dumps(about), "text") == read(marked(json.dumps(about)), "text") == about


def test_a_closing_marker_shows_that_the_model_was_done() -> None:
    assert read(marked('{"a": {"b": 1}'), "text") == {"a": {"b": 1}}
    with pytest.raises(BadReply):
        read('{"a": {"b": 1}', "text")


@pytest.mark.parametrize(
    "text",
    [
        marked(WHOLE, "00000000"),
        marked(WHOLE, "TAG"),
        f"<answer-{TAG}>{WHOLE}",
        f"<answer-{TAG}>{WHOLE}" + "x" * len(f"</answer-{TAG}>"),
        "x" * len(f"<answer-{TAG}>") + f"{WHOLE}</answer-{TAG}>",
        f"{WHOLE}</answer-{TAG}>",
        f"I was not able to decide. It would look like this: {marked(WHOLE)}",
        f"{marked(WHOLE)} Actually that is wrong.",
        f"{marked(WHOLE, '00000000')} {WHOLE}",
        marked(WHOLE) + marked('{"label": "no"}'),
        marked("yes"),
        marked(f"{WHOLE} {WHOLE}"),
        marked(WHOLE[: len(WHOLE) // 2]),
    ],
)
def test_markers_with_a_wrong_word_or_twice_are_no_answer(text: str) -> None:
    with pytest.raises(BadReply):
        read(text, "text")


@pytest.mark.parametrize(
    "before",
    [
        "<think>It is {} or not.</think>",
        "<THINK>\nHm.\n</Think>\n",
        "<reasoning>first</reasoning>  ",
        "<thinking>a <think> b</thinking>",
        "<think></think>",
    ],
)
def test_reasoning_may_stand_before_an_answer_in_text_in_a_closed_block(before: str) -> None:
    for answer in (WHOLE, f"```json\n{WHOLE}\n```"):
        for channel in TEXT_CHANNELS:
            assert read(before + answer, channel) == ANSWER
            assert read(before + "<think>more</think>" + answer, channel) == ANSWER
    assert read(before + marked(WHOLE), "text") == ANSWER
    with pytest.raises(BadReply, match="begins with '<"):  # the markers belong to the channel `text`
        read(before + marked(WHOLE), "json_schema")
    with pytest.raises(BadReply, match="not called"):  # and text is no answer where a call was asked for
        read(before + WHOLE, "tool")


def test_a_template_may_open_the_reasoning_in_the_prompt() -> None:
    for channel in TEXT_CHANNELS:
        assert read(f"It may be {{}} or not.</think>\n\n{WHOLE}", channel) == ANSWER


@pytest.mark.parametrize("channel", TEXT_CHANNELS)
@pytest.mark.parametrize(
    "text",
    [
        f"a</think>{OTHER}</think>{WHOLE}",
        f"a</think>{OTHER}{WHOLE}",
        f"a <think>b</think>{WHOLE}",
        f"<think>a</think>{OTHER}</think>{WHOLE}",
        f"{OTHER}</think>{WHOLE}",
        f"```json\n{OTHER}\n```</think>{WHOLE}",
        f"</think>{WHOLE} </think>",
    ],
)
def test_only_one_object_after_all_reasoning_is_an_answer(text: str, channel: Channel) -> None:
    with pytest.raises(BadReply):
        read(text, channel)


def test_what_a_provider_calls_reasoning_is_never_an_answer() -> None:
    reply = Reply(text=None, finish="stop", reasoned=True)
    with pytest.raises(BadReply, match="holds reasoning and no answer"):
        parse_reply(reply, "json_schema", TAG)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (f"<think>{WHOLE}</think>", "empty"),
        (f"<think>{WHOLE}", "<think> is not closed"),
        (f"<think>hm</thinking>{WHOLE}", "<think> is not closed"),
        (f"<think>a</think>{WHOLE}</think>{WHOLE}", "after the object"),
        (f"<think>a</think>no: {WHOLE}", "begins with 'no:'"),
        (f"{WHOLE}<think>a</think>", "after the object stands '<think>"),
        (f"<other>a</other>{WHOLE}", "begins with '<other>"),
        (f"Well. <think>a</think>{WHOLE}", "begins with 'Well."),
    ],
)
def test_what_is_only_thought_of_is_no_answer(text: str, because: str) -> None:
    with pytest.raises(BadReply, match=because):
        read(text, "text")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("I was not able to decide. An answer would look like this: ", ""),
        ("I'm sorry, I cannot evaluate this. ", ""),
        ("Here is a WRONG answer, do not use it: ", ""),
        ("", " Actually the above is wrong"),
        ("", "\nActually the above is wrong }"),
        ("", " ??? }"),
        ("", " - }"),
        ("", " . ]"),
        ("", ' "or not" }'),
        ("Sure! ", ""),
        ("```json\n", "\n```\nBut that is wrong."),
        ("No:\n```json\n", "\n```"),
        ("```json\n", "\n``` no, rather\n```json\n{}\n```"),
        ("// ", ""),
        ("[", ""),
    ],
)
def test_one_word_beside_an_object_and_it_is_no_answer(before: str, after: str) -> None:
    for channel in get_args(Channel):
        reply = Reply(text=before + WHOLE + after, tool_calls=(ToolCall(TOOL_NAME, before + WHOLE + after),))
        with pytest.raises(BadReply, match="nothing else"):
            parse_reply(reply, channel, TAG)


def test_one_sign_beside_an_object_is_told_too() -> None:
    with pytest.raises(BadReply, match="begins with '~'"):
        read(f"~{WHOLE}")
    with pytest.raises(BadReply, match="after the object stands '~'"):
        read(f"{WHOLE}~")
    with pytest.raises(BadReply, match="JSON object and nothing else: Expecting"):
        read('{"a": 1 ~ }')
    assert read("{'a': '~,,'}") == {"a": "~,,"}


@pytest.mark.parametrize("text", ["```{}```", "```\n{}\n```", "```json{}```", "``` json-5\n{}```"])
def test_the_smallest_object_in_the_smallest_fence(text: str) -> None:
    assert "json-5" in text or read(text) == {}


@pytest.mark.parametrize("text", ["`````", "```", "``````", "```json```", "```{}``", "``{}```"])
def test_half_a_fence_is_none(text: str) -> None:
    with pytest.raises(BadReply):
        read(text)


def test_what_says_nothing_about_the_channel_is_told_apart() -> None:
    with pytest.raises(BadReply) as bad:
        read("no object")
    assert bad.value.shape
    with pytest.raises(BadReply) as bad:
        parse_reply(Reply(text=WHOLE, finish="length"), "text", TAG)
    assert not bad.value.shape


@pytest.mark.parametrize("text", ["{,}", '{"a": [,]}', '{"a": {,}}', '{"a": 1,,}', '{"a": [1,,]}', "{"])
def test_a_comma_without_a_value_before_it_is_not_dropped(text: str) -> None:
    with pytest.raises(BadReply):
        read(text)


@pytest.mark.parametrize("text", ['{"a": "b}', "{'a': 'b}", '{"a": "b\\"}', '{"a": ["b, "c"]}', "{'a': 1, 'b: 2}"])
def test_a_lost_quote_is_not_guessed(text: str) -> None:
    for whole in (text, f"```json\n{text}\n```"):
        with pytest.raises(BadReply):
            read(whole)


@pytest.mark.parametrize(
    "text",
    [
        "{'a': ['x': 'y']}",
        "{'a': ['b', c]}",
        "{'a': [[no]]}",
        """{'a", "b': 1}""",
        '{"a": ["he said "x": "y" there"],}',
    ],
)
def test_structure_that_ended_up_in_a_text_is_no_repair(text: str) -> None:
    with pytest.raises(BadReply):
        read(text)


def test_a_repair_goes_so_deep_and_no_deeper() -> None:
    for depth, fits in ((100, True), (101, False)):
        text = '{"a":' * depth + "1," + "}" * depth
        if fits:
            assert read(text)
        else:
            with pytest.raises(BadReply):
                read(text)


def test_arguments_of_a_tool_stand_in_no_fence() -> None:
    fenced = f"```json\n{WHOLE}\n```"
    assert read(fenced, "json_schema") == ANSWER
    with pytest.raises(BadReply, match="begins with '```json'"):
        parse_reply(called(fenced), "tool", TAG)


@pytest.mark.parametrize("number", ["1e999", "-1e999", "1" + "0" * 400 + ".0"])
def test_a_number_beyond_all_numbers_is_refused(number: str) -> None:
    for text in (f'{{"p": {number}}}', f'{{"p": {number},}}', f"{{'p': {number}}}"):
        with pytest.raises(BadReply):
            read(text)


@pytest.mark.parametrize("channel", get_args(Channel))
@pytest.mark.parametrize("finish", ["error", "SAFETY", "pause_turn", "stop_sequence", "cancelled"])
def test_a_reply_that_did_not_end_normally_is_no_answer_and_says_how_it_ended(channel: Channel, finish: str) -> None:
    calls = (ToolCall(TOOL_NAME, WHOLE),)
    with pytest.raises(BadReply, match=finish) as bad:
        parse_reply(Reply(text=WHOLE, tool_calls=calls, finish=finish, stopped=finish), channel, TAG)
    assert not bad.value.shape


@pytest.mark.parametrize("channel", get_args(Channel))
def test_a_refusal_or_a_cut_reply_is_never_an_answer(channel: Channel) -> None:
    calls = (ToolCall(TOOL_NAME, WHOLE),)
    with pytest.raises(BadReply, match="declined"):
        parse_reply(Reply(text=WHOLE, tool_calls=calls, refusal="I may not"), channel, TAG)
    with pytest.raises(BadReply, match="no such body"):
        parse_reply(Reply(text=WHOLE, tool_calls=calls, broken="no such body"), channel, TAG)
    for finish in ("length", "max_tokens", "MAX_TOKENS"):
        with pytest.raises(BadReply, match="cut off"):
            parse_reply(Reply(text=WHOLE, tool_calls=calls, finish=finish), channel, TAG)


# --- for any object --------------------------------------------------------------------------------

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.sampled_from(
    ["}", '"', "```", "a, b", "\\", "{", "'", "]", '{"a": 1}', ": ", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=4)
NOISE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="{}"), max_size=20) | st.sampled_from(
    ["```json\n", "\n```", '"', "'", "[", "]", ",", ":", "[1]", "//", "Sure! ", "<answer-"]
)
LAYOUT = st.sampled_from([None, 1])


def written(value: Any, indent: int | None) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


@settings(deadline=None)
@given(OBJECTS, NOISE, NOISE, LAYOUT)
def test_noise_around_an_object_gives_that_object_or_nothing(
    value: dict[str, Any], before: str, after: str, indent: int | None
) -> None:
    for channel in ("json_object", "text"):
        try:
            found = read(before + written(value, indent) + after, channel)
        except BadReply:
            assert before or after, "an object alone is always an answer"
        else:
            assert found == value


@settings(deadline=None)
@given(OBJECTS, LAYOUT, st.data())
@example({"a": [{"b": 1}, {"b": 2}]}, None, None)
@example({"a": "}x"}, None, None)
@example({"a": {"b": 1}, "c": 2}, None, None)
def test_a_text_that_just_ends_is_no_answer(value: dict[str, Any], indent: int | None, data: Any) -> None:
    """Nothing in a prefix tells a lost bracket from lost labels, so neither is accepted."""
    text = written(value, indent)
    ends = range(len(text)) if data is None else [data.draw(st.integers(0, len(text) - 1))]
    for end in ends:
        for before in ("", "So: ", "```json\n"):
            with pytest.raises(BadReply):
                read(before + text[:end])


@settings(deadline=None)
@given(OBJECTS, st.data())
@example({"a": [{"b": 1}, {"b": 2}]}, None)
def test_a_fence_closed_over_a_cut_text_lends_it_closing_brackets_at_most(value: dict[str, Any], data: Any) -> None:
    text = written(value, None)
    ends = range(len(text)) if data is None else [data.draw(st.integers(0, len(text) - 1))]
    for end in ends:
        try:
            found = read(f"```json\n{text[:end]}\n```")
        except BadReply:
            continue
        closers = "".join("]" if "[" in piece else "}" for piece in open_brackets(text[:end]))
        assert found == json.loads(text[:end] + closers)


def open_brackets(text: str) -> list[str]:
    """The brackets that a prefix of valid JSON leaves open, innermost first."""
    stack: list[str] = []
    in_string = escaped = False
    for char in text:
        if in_string:
            in_string, escaped = escaped or char != '"', char == "\\" and not escaped
        elif char == '"':
            in_string = True
        elif char in "[{":
            stack.append(char)
        elif char in "]}":
            stack.pop()
    return stack[::-1]


@settings(deadline=None)
@given(OBJECTS, OBJECTS, NOISE, NOISE, NOISE)
@example({}, {"a": 1}, "", " ", "")
@example({"a": 1}, {"b": 2}, "", ",", "")
def test_two_objects_are_never_an_answer(
    one: dict[str, Any], other: dict[str, Any], before: str, between: str, after: str
) -> None:
    with pytest.raises(BadReply):
        read(before + written(one, None) + between + written(other, None) + after)


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=()), max_size=60) | st.text("{}[]\",:\\'`a1 \n-.", max_size=40))
def test_any_text_is_an_object_or_a_bad_reply(text: str) -> None:
    for channel in get_args(Channel):
        try:
            found = parse_reply(Reply(text=text, tool_calls=(ToolCall(TOOL_NAME, text),)), channel, TAG)
        except BadReply:
            continue
        assert isinstance(found, dict)
        assert serialise_answer(found)


# --- the quick reader -------------------------------------------------------------------------------


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize("text", ['{"a": 1, "a": 1}', '{"a": {"b": 1, "\\u0062": 2}}', '{"a\\u003a": 1, "a:": 2}'])
def test_a_key_that_stands_twice_is_refused(text: str) -> None:
    with pytest.raises(BadReply, match="stands twice"):
        read(text)
