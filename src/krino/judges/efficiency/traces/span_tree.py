"""Builds the tree of spans from their parent ids, and tells the traces of one file apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from krino.errors import CannotJudge
from krino.judges.efficiency.traces.spans import Span
from krino.judges.efficiency.traces.tree import Node


def grow(spans: Sequence[Span], to_node: Callable[[Span], Node]) -> list[Node]:
    """The roots: spans without a parent, or whose parent is not in the file."""
    one_trace(spans)
    nodes: dict[str, Node] = {}
    made: list[tuple[Span, Node]] = []
    for span in spans:
        if span.id and span.id in nodes:
            continue  # an export that holds a span twice
        node = to_node(span)
        nodes[span.id] = node
        made.append((span, node))
    roots = []
    for span, node in made:
        parent = nodes.get(span.parent) if span.parent and span.parent != span.id else None
        if parent is None:
            roots.append(node)
        else:
            parent.children.append(node)
    return roots


def refuse_fragment(spans: Sequence[Span], roots: Sequence[Node]) -> None:
    """Raise `CannotJudge` for spans that hang on others which are not there, without a root among them.

    Agents and chains with children can be judged without their parent: it lies in the service that called, or was
    never ended and so never exported. Bare calls of models and tools cannot: what held them together is elsewhere.
    """
    if not orphans(spans) or any(not span.parent or span.parent == span.id for span in spans):
        return
    if any(node.role == "container" and node.children for node in roots):
        return
    raise CannotJudge(
        f"the record holds a fragment of a trace: no span is its root, and {orphans(spans)} of {len(spans)} name a "
        "parent that is not there; bring all spans of the trace together in one record"
    )


def orphans(spans: Sequence[Span]) -> int:
    """How many spans name a parent that is not among them."""
    known = {span.id for span in spans}
    return sum(1 for span in spans if span.parent and span.parent not in known)


def one_trace(spans: Sequence[Span]) -> None:
    traces = list(dict.fromkeys(span.trace for span in spans if span.trace))
    if len(traces) > 1:
        shown = ", ".join(traces[:3]) + (", …" if len(traces) > 3 else "")
        raise CannotJudge(
            f"the record holds {len(traces)} traces ({shown}): give one trace a record "
            "(krino.judge_many and the command `krino judge` take them apart)"
        )
