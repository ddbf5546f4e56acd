"""Documents and messages of LangChain are taken as passages, texts and conversations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import krino

documents = pytest.importorskip("langchain_core.documents")
messages = pytest.importorskip("langchain_core.messages")

TEXT = "Leave is 20 days."
DOCUMENT = documents.Document(page_content=TEXT, metadata={"title": "Handbook"}, id="7")
CALL = {"name": "search", "args": {"what": "leave"}, "id": "c1"}
TALK = [
    messages.SystemMessage(content="Be brief."),
    messages.HumanMessage(content="How long is leave?"),
    messages.AIMessage(content="", tool_calls=[CALL]),
    messages.ToolMessage(content=TEXT, tool_call_id="c1", name="search"),
    messages.AIMessage(content=TEXT),
]
BLOCKS = messages.AIMessage(content=[{"type": "reasoning", "summary": "x"}, {"type": "text", "text": TEXT}])


@pytest.mark.parametrize("answer", [messages.AIMessage(content=TEXT), BLOCKS, messages.AIMessageChunk(content=TEXT)])
def test_a_message_that_is_a_field_is_its_text(answer: Any, tmp_path: Path) -> None:
    case = {"question": messages.HumanMessage(content="How long is leave?"), "context": [DOCUMENT], "answer": answer}
    wanted = krino.judge("rag", {"question": "How long is leave?", "context": [TEXT], "answer": TEXT}).verdict
    assert krino.judge("rag", case).verdict == wanted
    assert [judged.verdict for judged in krino.judge_many("rag", [case])] == [wanted]
    assert [judged.verdict for judged in krino.run("rag", [case], into=tmp_path / "run")] == [wanted]


@pytest.mark.parametrize("path", ["said", "said.content"])
def test_a_mapping_names_a_message_or_its_content(path: str) -> None:
    case = {"question": "How long is leave?", "found": [DOCUMENT], "said": messages.AIMessage(content=TEXT)}
    assert krino.judge("rag", case, mapping={"context": "found", "answer": path}).status == "ok"


def test_a_list_of_messages_is_a_conversation_and_a_trace() -> None:
    judged = krino.judge("rag", {"messages": TALK})
    assert (judged.status, judged.inputs["question"], judged.inputs["answer"]) == ("ok", "How long is leave?", TEXT)
    assert krino.judge("efficiency", {"messages": TALK}).status == "ok"
    assert krino.judge("efficiency", {"task": "Find out.", "trace": TALK}).status == "ok"
