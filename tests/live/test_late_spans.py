"""Spans that come after their trace was judged are reported once, and those that are read again are not."""

from __future__ import annotations

from pathlib import Path

from krino.live.otlp_file import OtlpFile
from live_traces import add_to, export, root, span, trace_id


async def test_late_spans_of_a_file_are_reported_once_and_not_again_after_a_restart(tmp_path: Path) -> None:
    spans, known = tmp_path / "spans.jsonl", {trace_id(0)}
    said: list[str] = []
    add_to(spans, export(root(0, "fine"), span(0, 1)))
    source = OtlpFile(spans, 60.0, known.__contains__, said.append)
    await source.look()
    assert said == [], "an earlier watch judged this trace"
    add_to(spans, export(span(0, 2)))
    await source.look()
    await source.look()
    assert said == ["1 span came after its trace was judged and was left out"]
