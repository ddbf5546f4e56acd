"""Writes `report.html`: one file that holds the whole report, opens from disk and cannot reach any network."""

from __future__ import annotations

import hashlib
import re
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePath
from typing import IO, Any

import orjson

from krino.blocks import Block
from krino.contract import AnyJudge
from krino.contract.code_limit import CASE_SECONDS
from krino.render.embed import CaseOf, Collector, Kept, columns_of, script_json
from krino.render.html import draw_folded, page_file, to_html
from krino.render.live_views import LiveJudge, RunOverview
from krino.render.markup import Markup, join, tag
from krino.render.summary import page_blocks
from krino.results.formatting import format_start, judge_name, run_labeller_name
from krino.results.summary import Collected, collect
from krino.results.verdict_schema import declared_scales
from krino.runs.manifest import Manifest
from krino.runs.views import StoredViews
from krino.text.clean import clean_line
from krino.writing import replacing

REPORT = "report.html"
_READS_NO_PROMPT = ("local", "replay")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def write_report(
    folder: Path, manifest: Manifest, judgements: Iterable[Mapping[str, Any]], judge: AnyJudge | None = None
) -> Path:
    """Writes the report of some judgements; each may have its record under `case`."""
    with Report(folder, manifest, judge) as report:
        return report.write(collect(judgements, report, schema=manifest.about.fields_schema))


class Report(ExitStack):
    """Takes judgements one at a time, then writes the page. Leaving the context closes its scratch files."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        judge: AnyJudge | None = None,
        case_of: CaseOf | None = None,
        seconds: float = CASE_SECONDS,
    ) -> None:
        """`judge`: the judge of the run, if it is loaded. Its prompt is shown, and it makes missing views.

        `case_of` finds the case of a judgement for that; without it, the case is expected in the judgement under
        `case`. `seconds` limits the judge's code for each case.
        """
        super().__init__()
        self._target, self._manifest, self._own = folder / REPORT, manifest, RunOverview(judge)
        rows, texts, not_ok, first, later, requests = (
            self.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - closed with the rest
            for _ in range(6)
        )
        live = None if judge is None else LiveJudge(judge, seconds)
        stored = self.enter_context(StoredViews(folder))
        expected = manifest.counts.total
        self._collector = Collector(rows, texts, not_ok, first, later, requests, live, expected, stored=stored)
        if case_of is not None:
            self._collector.case_of = case_of

    def add(self, judgement: Mapping[str, Any], /) -> None:
        self._collector.add(judgement)
        self._own.add(judgement)

    def write(self, found: Collected) -> Path:
        """Writes the page and returns its path. The old report stays until the new one is complete."""
        with replacing(self._target) as page:
            _write_page(page, found, self._own.blocks(), self._collector, self._manifest)
        return self._target


def _write_page(
    page: IO[bytes], found: Collected, own: Sequence[Block], collector: Collector, manifest: Manifest
) -> None:
    """Writes `report.html` into `page`, place by place in the order of the template.

    A place is computed when it is reached, because the note about sizes counts what was written before it. `own` are
    the blocks of the judge's overview.
    """
    scales = declared_scales(manifest.about.fields_schema)
    info: dict[str, Any] = {
        "columns": columns_of(found.summary, scales) + collector.extra_columns(),
        "inputs": collector.words.names,
        "counts": found.summary.counts.model_dump(),
        "rules": manifest.about.rules,
    }
    title = f"{judge_name(manifest)} · {run_labeller_name(manifest)} · {format_start(manifest)} · Krino"
    style, script = page_file("report.css"), page_file("report.js")
    places: dict[str, Callable[[], Iterable[bytes]]] = {
        "policy": lambda: _text(_write_policy(style, script)),
        "title": lambda: _text(tag("title", clean_line(title, 200))),
        "style": lambda: [style.encode()],
        "header": lambda: _text(_draw_header(manifest)),
        "overview": lambda: _text(to_html(page_blocks(found.summary, manifest, found.slices, own))),
        "prompt": lambda: _text(_draw_prompt(collector.judge, manifest)),
        "settings": lambda: _text(_draw_settings(manifest)),
        "info": lambda: [script_json(info)],
        "rows": lambda: collector.rows(info["columns"]),
        "texts": collector.texts,
        "details": collector.details,
        "requests": collector.requests,
        "kept": lambda: _text(_draw_kept_notes(collector.kept)),
        "script": lambda: [script.encode()],
    }
    for part in _fill_template(page_file("report.html"), places):
        page.write(part)


def _fill_template(template: str, places: Mapping[str, Callable[[], Iterable[bytes]]]) -> Iterator[bytes]:
    """Yields the text of the template, with content in place of its markers."""
    for place, text in enumerate(_PLACE.split(template)):
        if place % 2:
            yield from places[text]()
        else:
            yield text.encode()


def _text(markup: str) -> list[bytes]:
    return [markup.encode("utf-8", "replace")]


def _write_policy(style: str, script: str) -> str:
    """Writes the page's security policy: nothing may be fetched or sent; only our own script and style sheet are
    allowed."""
    rules = [
        "default-src 'none'",
        f"style-src '{_digest(style)}'",
        f"script-src '{_digest(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return join(tag("meta", http_equiv="Content-Security-Policy", content="; ".join(rules)))


def _digest(text: str) -> str:
    return f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def _draw_header(manifest: Manifest) -> Markup:
    """Draws the header of the report."""
    facts = [
        ("Labeller", run_labeller_name(manifest)),
        ("Started", format_start(manifest)),
        ("State", _state(manifest)),
    ]
    facts.append(("Input", ", ".join(_list_input_names(manifest))))
    shown = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value]
    return tag(
        "header",
        tag("p", "Krino · evaluation report", class_="eyebrow"),
        tag("h1", tag("span", judge_name(manifest))),
        tag("dl", *shown, class_="facts"),
        class_="top",
    )


def _draw_settings(manifest: Manifest) -> Markup:
    """Draws the settings of the run, collapsed, at the end."""
    settings = {**manifest.plan.model_dump(mode="json"), "inputs": _list_input_names(manifest)}
    plan = orjson.dumps(settings, option=orjson.OPT_INDENT_2).decode()
    note = tag("p", f"Krino {manifest.krino_version}, plan {manifest.plan.digest()}", class_="note")
    return draw_folded("How this run was made", tag("pre", plan, class_="code"), note)


def _draw_prompt(judge: LiveJudge | None, manifest: Manifest) -> Markup:
    """Draws the judge's instructions to a model, collapsed; nothing if no judge is loaded. The page shows them with the
    request of each case."""
    if judge is None:
        return join()
    note = None
    if manifest.plan.labeller.get("kind") in _READS_NO_PROMPT:
        text = "No model read it in this run: the embedded labeller and recorded labels need no prompt."
        note = tag("p", text, class_="note")
    return draw_folded("The judge's prompt", note, tag("pre", judge.prompt(), class_="code", id="prompt"))


def _draw_kept_notes(kept: Kept) -> Markup:
    """Draws notes about what the page leaves out."""
    lines = []
    if kept.rows < kept.cases:
        lines.append(
            f"The table is a sample: {kept.rows:,} of {kept.cases:,} cases, drawn evenly from the whole run; more "
            "would make the page too large. Scores and counts above are of all cases."
        )
    if kept.details < kept.cases:
        lines.append(
            f"Full details are kept for {kept.details:,} of {kept.cases:,} cases: {kept.details_not_ok:,} of the "
            f"{kept.not_ok:,} that are not ok, and the first {kept.details - kept.details_not_ok:,} that are. "
            "The run folder holds all; `krino show RUN ID` prints a case."
        )
    if kept.cut_texts_at is not None or kept.texts < kept.texts_made:
        letters = f", {kept.cut_texts_at:,} letters at most" if kept.cut_texts_at is not None else ""
        cases = f"{kept.texts:,} cases" if kept.texts < kept.texts_made else "each case"
        lines.append(
            f"The table has the first words of {cases}{letters}: the filter finds no others. "
            "`krino export RUN cases.csv` has them all."
        )
    if kept.requests < min(kept.requests_made, kept.details):
        lines.append(
            f"What a labeller is asked is kept for {kept.requests:,} cases: more would make the page too large."
        )
    return join(*(tag("p", line, class_="notice", role="note") for line in lines))


def _state(manifest: Manifest) -> str:
    return manifest.state if manifest.stop_reason is None else f"{manifest.state}: {manifest.stop_reason}"


def _list_input_names(manifest: Manifest) -> list[str]:
    """Returns the file names of the inputs without folders: reports are passed on, and paths are private."""
    return [PurePath(name).name or name for name in manifest.plan.inputs]
