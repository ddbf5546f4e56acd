"""Valid answers to the judges' prompts, read off the prompt as a model would: the endpoint knows nothing else."""

from __future__ import annotations

import re
from typing import Any

from fake_llm.replies import Answer, Asked, ReceivedRequest, answer_from, default_answer, spoken
from krino.judges.citation.labels import Reasoning

_BLOCK = re.compile(r"\[\[(\w+) ([^\]\n]+)\]\]\n(.*?)\n\[\[/\1\]\]", re.DOTALL)
_TAG = re.compile(r"The random word is (\w+)\.")
_SENTENCE = re.compile(r"^\[(\d+)\] ", re.MULTILINE)
_STEP = re.compile(r"^step (.+?) \[", re.MULTILINE)


def answer_to(request: ReceivedRequest, asked: Asked) -> Answer:
    """An answer in the form that the request asks for: JSON, or JSON between the tags that the prompt names."""
    labels = labels_for(request, asked)
    answer = default_answer(asked) if labels is None else answer_from(labels)
    first = next((text for role, text in spoken(request.body) if role == "user"), "")
    if "<answer-TAG>" in request.text and (tag := _TAG.search(first)):
        return Answer(f"<answer-{tag[1]}>{answer.text}</answer-{tag[1]}>", answer.value)
    return answer


def labels_for(request: ReceivedRequest, asked: Asked) -> dict[str, Any] | None:
    """Labels that pass the checks of the judge whose schema is asked for; None for a schema of nobody we know."""
    names = set((asked.schema or {}).get("properties", {}))
    prompt = next((text for role, text in spoken(request.body) if role == "user"), "")
    blocks = {name: text for _, name, text in _BLOCK.findall(prompt)}
    if {"claims", "needs"} <= names:
        return _rag(blocks, prompt)
    if {"subject", "reasoning"} <= names:
        return _citation()
    if {"shortest", "steps"} <= names:
        return _efficiency(blocks)
    if names == {"label", "quote"}:
        return {"label": "good", "quote": blocks.get("text", "")[:5]}
    return None


def _rag(blocks: dict[str, str], prompt: str) -> dict[str, Any]:
    """Every sentence makes one claim that no passage supports: true of no case, and valid for all."""
    wanted = prompt.rpartition("The data ends here.")[2]
    sentences = [int(number) for number in _SENTENCE.findall(blocks.get("answer", ""))]
    passages = [int(name.split()[1]) for name in blocks if name.startswith("passage ")]
    retrieved = "Nothing was retrieved" not in wanted
    open_answer = "The refusal is settled" not in wanted
    similar = "Choose similarity" in wanted
    claims = [
        {
            "text": f"what sentence {number} states",
            "sentence": number,
            "passage": None,
            "quote": None,
            "why": "no passage says so",
            "label": "unsupported",
            "critical": False,
        }
        for number in sentences
    ]
    refusal = {
        "why": "it only reads like one",
        "is_refusal": False,
        "reason_stated": False,
        "category": None,
        "validity_shown": False,
        "right_to_refuse": False,
    }
    return {
        "unreadable": None,
        "claims": claims if retrieved else [],
        "empty_sentences": [],
        "parts": [{"part": "what is asked", "sentence": None, "answered": False}] if open_answer else [],
        "direct": "partly" if open_answer else "no",
        "passages": [{"passage": number, "useful_sentences": []} for number in passages] if retrieved else [],
        "needs": [{"need": "what is asked", "passage": None, "held": False}] if retrieved else [],
        "refusal": refusal if "fill in refusal" in wanted else None,
        "similarity_why": "they share little" if similar else None,
        "similarity": "little" if similar else None,
        "uncertain": None,
    }


def _citation() -> dict[str, Any]:
    answers = {name: {"why": "it is there", "yes": True} for name in Reasoning.model_fields}
    return {"subject": {"candidate": None, "quote": None, "strength": "none"}, "reasoning": answers}


def _efficiency(blocks: dict[str, str]) -> dict[str, Any]:
    steps = dict.fromkeys(_STEP.findall(blocks.get("trace", "")))
    labels = [{"step": step, "why": "", "because_of": None, "label": "necessary"} for step in steps]
    return {"shortest": "the same steps", "steps": labels}
