"""Reads nested span dicts as DeepEval makes them: name, type, input, output, children."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from krino.judges.efficiency.traces.content import dump, elapsed, instant, listed, number, objects, whole
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.tree import Node, Role, root_input, tree_steps

_ROLES: Mapping[str, Role] = {
    "llm": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "agent": "container",
    "base": "container",
    "span": "container",
    "chain": "container",
}
_MAX_SPANS = 200_000


def _recognise(value: Any) -> str | None:
    tops = _tops(value)
    if tops and any(isinstance(top.get("children"), list) for top in tops) and all(_is_span(top) for top in tops):
        return "spans with type and children"
    return None


def _tops(value: Any) -> list[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        inner = value.get("root_spans") or value.get("rootSpans")
        return objects(inner) if isinstance(inner, list) else [value]
    return objects(listed(value))


def _is_span(raw: Mapping[str, Any]) -> bool:
    return "run_type" not in raw and ("name" in raw or "type" in raw) and ("children" in raw or "type" in raw)


def _read(value: Any) -> Trace:
    tops = _tops(value)
    roots = [_grow(top) for top in tops]
    answer = dump(tops[0].get("output")) if len(tops) == 1 and roots[0].children else ""
    return Trace(tuple(tree_steps(roots)), root_input(roots), answer or None)


def _grow(top: Mapping[str, Any]) -> Node:
    root = _node(top)
    waiting = [(top, root)]
    count = 0
    while waiting and count < _MAX_SPANS:
        raw, node = waiting.pop()
        for child in objects(listed(raw, "children") or []):
            grown = _node(child)
            node.children.append(grown)
            waiting.append((child, grown))
            count += 1
    return root


def _node(raw: Mapping[str, Any]) -> Node:
    start = instant(raw.get("start_time", raw.get("startTime")))
    end = instant(raw.get("end_time", raw.get("endTime")))
    counts = [whole(raw.get(name)) for name in ("input_token_count", "output_token_count")]
    known = [count for count in counts if count is not None]
    failed = raw.get("error") or (str(raw.get("status")).lower().endswith("errored") and "errored")
    role = _ROLES.get(str(raw.get("type") or "base").lower(), "other")
    return Node(
        id=str(raw.get("uuid") or raw.get("id") or raw.get("span_id") or ""),
        name=str(raw.get("name") or raw.get("type") or "span"),
        role=role,
        input=raw.get("input"),
        output=raw.get("output"),
        error=str(failed)[:400] if failed else None,
        tokens=sum(known) if known else None,
        seconds=elapsed(start, end),
        cost=number(raw.get("cost")),
        start=start,
    )


DEEPEVAL = Reader("deepeval", _recognise, _read)
