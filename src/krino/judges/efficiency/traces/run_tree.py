"""Reads LangSmith and LangChain runs, nested (child_runs) or flat (parent_run_id)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from krino.errors import CannotJudge
from krino.judges.efficiency.traces.content import dump, elapsed, instant, listed, number, objects, whole
from krino.judges.efficiency.traces.steps import Reader, Trace
from krino.judges.efficiency.traces.tree import Node, Role, root_input, tree_steps

ROLES: Mapping[str, Role] = {
    "llm": "llm",
    "chat_model": "llm",
    "tool": "tool",
    "retriever": "retrieval",
    "embedding": "other",
    "chain": "container",
    "agent": "container",
    "prompt": "glue",
    "parser": "glue",
}


def _recognise(value: Any) -> str | None:
    tops = _tops(value)
    return "runs with run_type" if tops and all("run_type" in run for run in tops) else None


def _tops(value: Any) -> list[Mapping[str, Any]]:
    if isinstance(value, Mapping) and "run_type" in value:
        return [value]
    if isinstance(value, Mapping) and isinstance(value.get("run"), Mapping):
        return [value["run"]]
    return objects(listed(value, "runs"))


def _read(value: Any) -> Trace:
    nodes: dict[str, Node] = {}
    made: list[tuple[str, Node]] = []
    for run, holder in _runs(value):
        node = _node(run)
        nodes.setdefault(node.id, node)
        made.append((holder or str(run.get("parent_run_id") or ""), node))
    roots = []
    for parent, node in made:
        if parent and parent in nodes and nodes[parent] is not node:
            nodes[parent].children.append(node)
        else:
            roots.append(node)
    traces = {str(run["trace_id"]) for run in _tops(value) if run.get("trace_id")}
    if len(traces) > 1:
        raise CannotJudge(
            f"the record holds {len(traces)} traces: give one trace a record "
            "(krino.judge_many and the command `krino judge` take them apart)"
        )
    answer = dump(roots[0].output) if len(roots) == 1 and roots[0].children else ""
    return Trace(tuple(tree_steps(roots)), root_input(roots), answer or None)


def runs_by_trace(value: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The outermost runs of a list, each with the id of its trace: its own, or that of the run it belongs to."""
    tops = _tops(value)
    known = {str(run["id"]): str(run["trace_id"]) for run in tops if run.get("id") and run.get("trace_id")}
    for run in tops:
        if "run_type" in run:
            yield str(run.get("trace_id") or known.get(str(run.get("parent_run_id"))) or ""), run


def _runs(value: Any) -> Iterator[tuple[Mapping[str, Any], str]]:
    waiting = [(run, "") for run in reversed(_tops(value))]
    while waiting:
        run, holder = waiting.pop()
        yield run, holder
        own = str(run.get("id") or "")
        waiting.extend((child, own) for child in reversed(objects(listed(run, "child_runs") or [])))


def _node(run: Mapping[str, Any]) -> Node:
    start, end = instant(run.get("start_time")), instant(run.get("end_time"))
    role = ROLES.get(str(run.get("run_type")), "other")
    return Node(
        id=str(run.get("id") or ""),
        name=str(run.get("name") or run.get("run_type") or "run"),
        role=role,
        input=_inner(run.get("inputs")),
        output=_inner(run.get("outputs")),
        error=str(run["error"])[:400] if run.get("error") else None,
        tokens=whole(run.get("total_tokens")) if role == "llm" else None,
        seconds=elapsed(start, end),
        cost=number(run.get("total_cost")) if role == "llm" else None,
        start=start,
    )


def _inner(value: Any) -> Any:
    """Runs wrap single values: {"input": x} and {"output": x} stand for x."""
    if isinstance(value, Mapping) and len(value) == 1:
        name, inner = next(iter(value.items()))
        if name in {"input", "output", "query", "documents"}:
            return inner
    return value


LANGSMITH = Reader("langsmith", _recognise, _read)
