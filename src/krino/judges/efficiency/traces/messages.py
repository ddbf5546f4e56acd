"""Reads conversations: OpenAI, Anthropic, LangChain, Gemini, Vercel AI and AutoGen messages, tau-bench, ReAct texts.

All of them are lists of messages that differ in how they write a call and its result, and frameworks mix the ways. So
one function reads any message; the formats differ in how they are recognised and where they keep the task.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from krino.judges.efficiency.data_files import table
from krino.judges.efficiency.traces.content import find_list, first_of, from_json, keep_objects
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.text_actions import find_actions
from krino.judges.efficiency.traces.turns_to_steps import CallMade, CallResult, Turn, build_trace

Message = Mapping[str, Any]
_HOLDERS = ("messages", "traj", "conversation", "contents", "trajectory", "history", "chat_history")
_ROLES: Mapping[str, Literal["user", "assistant", "tool", "other"]] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "system": "other",
    "developer": "other",
    "HumanMessage": "user",
    "AIMessage": "assistant",
    "AIMessageChunk": "assistant",
    "ToolMessage": "tool",
    "SystemMessage": "other",
}
_USES = ("tool_use", "server_tool_use", "mcp_tool_use", "tool-call", "tool_call", "toolCall")
_CALL_PARTS = ("function_call", "functionCall", "toolUse")
_RESULT_PARTS = ("function_response", "functionResponse", "toolResult")
_ANTHROPIC = ("tool_use", "tool_result", "server_tool_use", "thinking", "mcp_tool_use", "redacted_thinking")
_AUTOGEN_CALLS = "ToolCallRequestEvent"
_AUTOGEN_RESULTS = "ToolCallExecutionEvent"


def find_messages(value: Any) -> list[Message]:
    """Returns the messages of a conversation, wherever the record holds them."""
    if isinstance(value, Mapping) and value.get("type") == "message" and isinstance(value.get("content"), list):
        return [value]  # one reply of Anthropic's API by itself
    if isinstance(value, Mapping) and isinstance(value.get("steps"), list) and _is_vercel_step(value["steps"][:1]):
        return [message for step in keep_objects(value["steps"]) for message in _unfold_vercel_step(step)]
    return [unwrap_message(message) for message in keep_objects(find_list(value, *_HOLDERS))]


def is_message(raw: Message) -> bool:
    """Whether this is one message by itself, of whatever format."""
    return "role" in raw or _is_langchain(raw) or _is_autogen(raw)


def read_turns(value: Any) -> list[Turn]:
    """Returns the messages of a conversation as turns, wherever the record holds them."""
    return [_read_turn(message) for message in find_messages(value)]


def read_messages(messages: Iterable[Message]) -> Trace:
    """Returns the trace of messages that were gathered from elsewhere."""
    return _read(list(messages))


# --- one message -----------------------------------------------------------------------------------


def unwrap_message(message: Message) -> Message:
    """Returns a message without LangChain's wrapper: {"type": "ai", "data": …} or {"lc": 1, "kwargs": …}.

    Any other message is returned unchanged.
    """
    inner, kind = message.get("data"), message.get("type")
    if "lc" in message and isinstance(named := message.get("id"), list):
        inner, kind = message.get("kwargs"), str(named[-1]) if named else None
    return {"type": kind, **inner} if isinstance(inner, Mapping) and isinstance(kind, str) else message


def _read_role(message: Message) -> Literal["user", "assistant", "tool", "other"]:
    """Returns who speaks a message: user, assistant, tool, or other."""
    said = message.get("role") or message.get("type")
    if isinstance(said, str) and said in _ROLES:
        return _ROLES[said]
    if "source" in message:  # AutoGen names the speaker
        return "user" if message["source"] == "user" else "assistant"
    return "other"


def _read_turn(message: Message) -> Turn:
    """Returns a message as a turn: what is said, called and returned in it."""
    if message.get("type") == _AUTOGEN_RESULTS:
        return Turn("tool", results=tuple(map(_read_result, keep_objects(find_list(message.get("content"))))))
    if message.get("type") == _AUTOGEN_CALLS:
        return Turn("assistant", calls=tuple(map(read_requested_call, keep_objects(find_list(message.get("content"))))))
    role = _read_role(message)
    content = message.get("content", message.get("parts"))
    if isinstance(content, str) or not isinstance(from_json(content), list):
        blocks: list[Message] = []
    else:
        blocks = keep_objects(from_json(content)) or keep_objects(find_list(message.get("parts")))
    calls = [
        *(read_requested_call(call) for call in keep_objects(find_list(message.get("tool_calls")))),
        *_find_block_calls(blocks),
    ]
    if isinstance(old := message.get("function_call"), Mapping):  # the form before tool_calls
        calls.append(read_requested_call({"function": old}))
    results = list(_find_block_results(blocks))
    if role == "tool" and not results:
        results = [_read_result({**message, "id": None})]
    spoken = not (calls or results or blocks) or (role == "assistant" and isinstance(content, str))
    words = content if spoken else [block for block in blocks if _is_words(block)]
    if role == "user" and results and not words:
        role = "tool"
    return Turn(role, words, str(message.get("id") or ""), tuple(_drop_copies(calls)), tuple(results))


def _drop_copies(calls: list[CallMade]) -> Iterator[CallMade]:
    """Yields the calls without copies of the same id.

    A message may hold a call both as a field and as a content block.
    """
    seen: set[str] = set()
    for call in calls:
        if not call.id or call.id not in seen:
            yield call
        seen.add(call.id)


def _is_words(block: Message) -> bool:
    """Is a content block something that was said, rather than a thought or a call?"""
    kind = str(block.get("type") or "")
    thinks = "thinking" in block or block.get("thought") is True or kind in ("reasoning", "redacted_thinking")
    acts = kind in _USES or kind.startswith("tool-") or kind.endswith(("tool_result", "tool-result", "tool-invocation"))
    holds_call = any(block.get(key) for key in (*_CALL_PARTS, *_RESULT_PARTS))
    return not thinks and not acts and not holds_call and kind != "step-start"


def _find_block_calls(blocks: list[Message]) -> Iterator[CallMade]:
    """Yields the calls among content blocks."""
    for block in blocks:
        kind = str(block.get("type") or "")
        part = next((block[key] for key in _CALL_PARTS if isinstance(block.get(key), Mapping)), None)
        invocation = block.get("toolInvocation")
        if part is not None:
            yield read_requested_call(part)
        elif isinstance(invocation, Mapping):
            yield read_requested_call(invocation)
        elif kind in _USES:
            yield read_requested_call(block)
        elif _is_ui_call(kind):
            yield read_requested_call({"name": kind.removeprefix("tool-"), **block})


def _is_ui_call(kind: str) -> bool:
    """Whether it is a part of Vercel's UI messages with a call, and its result once there is one."""
    return kind == "dynamic-tool" or (kind.startswith("tool-") and kind != "tool-result")


def _find_block_results(blocks: list[Message]) -> Iterator[CallResult]:
    """Yields the results among content blocks."""
    for block in blocks:
        kind = str(block.get("type") or "")
        part = next((block[key] for key in _RESULT_PARTS if isinstance(block.get(key), Mapping)), None)
        invocation = block.get("toolInvocation")
        holder = invocation if isinstance(invocation, Mapping) else block
        if part is not None:
            yield _read_result(part)
        elif kind.endswith(("tool_result", "tool-result")):
            yield _read_result(block)
        elif _is_ui_call(kind) and first_of(holder, ("output", "result", "errorText")) is not None:
            yield _read_result(holder)


def read_requested_call(raw: Message) -> CallMade:
    """Returns a call as any framework writes it; its arguments are None if they are not found."""
    inner = next((raw[key] for key in ("function", "custom") if isinstance(raw.get(key), Mapping)), raw)
    names = table("fields")["input"]
    given = first_of(inner, names)
    if given is None and inner is not raw:
        given = first_of(raw, names)
    own = first_of(raw, ("id", "toolCallId", "tool_call_id", "call_id", "toolUseId"))
    name = first_of(inner, ("name", "toolName", "tool_name"))
    return CallMade(str(own or ""), str(name or ""), {} if given == "" else given)


def _read_result(raw: Message) -> CallResult:
    """Returns the result of a call, and whether it failed."""
    own = first_of(raw, ("tool_call_id", "tool_use_id", "toolCallId", "call_id", "toolUseId", "id"))
    output = first_of(raw, ("output", "result", "response", "errorText", "content"))
    failed = raw.get("is_error") is True or raw.get("isError") is True
    failed = failed or raw.get("status") == "error" or bool(raw.get("errorText"))
    if isinstance(output, Mapping) and output.keys() <= {"type", "value"} and "value" in output:  # Vercel AI
        failed = failed or str(output.get("type")).startswith("error")
        output = output["value"]
    elif isinstance(output, Mapping) and len(output) == 1 and (wrapped := output.keys() & {"result", "output"}):
        output = output[wrapped.pop()]
    return CallResult(str(own or ""), str(raw.get("name") or raw.get("toolName") or ""), output, failed)


def _is_vercel_step(first: list[Any]) -> bool:
    return any(isinstance(step, Mapping) and step.keys() & {"toolCalls", "toolResults"} for step in first)


def _unfold_vercel_step(step: Message) -> Iterator[Message]:
    """Yields a step of generateText as messages: its calls and results, or its words if it makes no call."""
    calls = [{**call, "type": "tool-call"} for call in keep_objects(find_list(step.get("toolCalls")))]
    results = [{**result, "type": "tool-result"} for result in keep_objects(find_list(step.get("toolResults")))]
    if calls:
        yield {"role": "assistant", "content": calls}
        yield {"role": "tool", "content": results}
    if step.get("text") and not calls:
        yield {"role": "assistant", "content": step["text"]}


# --- recognising -----------------------------------------------------------------------------------


def _speaks(message: Message) -> bool:
    return isinstance(role := message.get("role"), str) and role in _ROLES


def _blocks(messages: list[Message]) -> Iterator[Message]:
    for message in messages:
        yield from keep_objects(find_list(message.get("content")))
        yield from keep_objects(find_list(message.get("parts")))


def _recognise_anthropic(value: Any) -> str | None:
    """Returns by what messages of Anthropic's API are recognised, or None."""
    messages = find_messages(value)
    speakers = [message for message in messages if message.get("role") in ("user", "assistant")]
    for block in _blocks([message for message in speakers if "tool_calls" not in message]):
        if block.get("type") in _ANTHROPIC:
            return f"content blocks of type {block['type']}"
    return None


def _recognise_gemini(value: Any) -> str | None:
    """Returns by what contents of Gemini's API are recognised, or None."""
    messages = find_messages(value)
    roles = [message.get("role") for message in messages]
    known = all(role in ("user", "model", "function", "tool", None) for role in roles)
    parted = known and "model" in roles and all("parts" in message for message in messages)
    return "contents with parts" if parted else None


def _is_langchain(raw: Message) -> bool:
    """Is a message one of LangChain?"""
    if "lc" in raw and isinstance(raw.get("id"), list):
        return any(str(part).endswith(("Message", "MessageChunk")) for part in raw["id"][-1:])
    kind, held = raw.get("type"), "content" in raw or isinstance(raw.get("data"), Mapping)
    if kind in ("human", "ai", "system"):
        return held and not raw.get("role")
    return kind == "tool" and ("additional_kwargs" in raw or "data" in raw or ("tool_call_id" in raw and held))


def _recognise_langchain(value: Any) -> str | None:
    raw = keep_objects(find_list(value, *_HOLDERS))
    spoken = any(message.get("type") not in ("system", "tool") for message in raw)
    return "messages of type human, ai and tool" if spoken and all(map(_is_langchain, raw)) else None


def _is_autogen(raw: Message) -> bool:
    return isinstance(raw.get("source"), str) and str(raw.get("type")).endswith(("Message", "Event"))


def _recognise_autogen(value: Any) -> str | None:
    messages = find_messages(value)
    return "messages with source and type" if messages and all(map(_is_autogen, messages)) else None


def _recognise_vercel(value: Any) -> str | None:
    """Returns by what messages or steps of Vercel's AI SDK are recognised, or None."""
    if isinstance(value, Mapping) and isinstance(value.get("steps"), list) and _is_vercel_step(value["steps"][:1]):
        return "steps with toolCalls"
    messages = find_messages(value)
    for block in _blocks([message for message in messages if _speaks(message)]):
        kind = str(block.get("type") or "")
        if kind.startswith("tool-") or kind == "dynamic-tool":
            return f"content parts of type {kind}"
    return None


def _recognise_tau_bench(value: Any) -> str | None:
    """Returns by what a result of tau-bench is recognised, or None."""
    if not isinstance(value, Mapping) or not find_messages(value):
        return None
    if "traj" in value and ("reward" in value or "task_id" in value):
        return "`traj` with `reward` or `task_id`"
    if "task_id" in value and ("trial" in value or "reward" in value):
        return "messages with `task_id` and `trial`"
    return None


def _recognise_openai_chat(value: Any) -> str | None:
    """Returns by what messages of OpenAI's chat API are recognised, or None."""
    messages = find_messages(value)
    if not messages or not all(_speaks(message) for message in messages):
        return None
    if any("tool_calls" in message or "function_call" in message for message in messages):
        return "messages with roles and tool_calls"
    if any(message["role"] in ("assistant", "tool", "function") for message in messages) and not any(
        "name" in message for message in messages if message["role"] != "tool"
    ):
        return "messages with roles"
    return None


def _recognise_react(value: Any) -> str | None:
    return "a text with actions and observations" if isinstance(value, str) and find_actions(value) else None


# --- reading ---------------------------------------------------------------------------------------


def _read(value: Any) -> Trace:
    return build_trace(read_turns(value))


def _read_tau_bench(value: Any) -> Trace:
    return build_trace(read_turns(value), _find_instruction(value))


def _find_instruction(value: Any) -> str | None:
    """Returns the instruction of the simulated user, which is the task, or None."""
    if not isinstance(value, Mapping):
        return None
    info = value.get("info")
    task = info.get("task") if isinstance(info, Mapping) else value.get("task")
    found = task.get("instruction") if isinstance(task, Mapping) else value.get("instruction")
    return found.strip() or None if isinstance(found, str) else None


def _read_text(value: Any) -> Trace:
    question = str(value).partition("\n")[0]
    task = question.partition(":")[2].strip() if question.lower().startswith(("question:", "task:")) else None
    return build_trace([Turn("assistant", value)], task)


TAU_BENCH = Reader("tau_bench", _recognise_tau_bench, _read_tau_bench)
LANGCHAIN = Reader("langchain", _recognise_langchain, _read)
AUTOGEN = Reader("autogen", _recognise_autogen, _read)
GEMINI = Reader("gemini", _recognise_gemini, _read)
VERCEL_AI = Reader("vercel_ai", _recognise_vercel, _read)
ANTHROPIC = Reader("anthropic", _recognise_anthropic, _read)
OPENAI_CHAT = Reader("openai_chat", _recognise_openai_chat, _read)
REACT = Reader("react", _recognise_react, _read_text)
