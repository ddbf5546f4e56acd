"""Writes `report.html`: one file that holds the whole report, opens from disk and cannot reach any network."""

from __future__ import annotations

import hashlib
import re
import tempfile
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from importlib import resources
from pathlib import Path
from typing import IO, Any, Self

from krino.render.asked import Asked
from krino.render.embed import CaseOf, Collector, columns_of, script_json
from krino.render.markup import join, tag
from krino.render.overview import header, kept_note, overview, prompt_fold, settings
from krino.results.codes import CodeField
from krino.results.finish import Collected, collect
from krino.results.grades import Scales
from krino.results.numbers import NumberField
from krino.results.wording import date_of, judge_of, labeller_of
from krino.runs.manifest import Manifest
from krino.text.clean import clean_line
from krino.writing import replacing

REPORT = "report.html"
_PLACE = re.compile(r"\{\{(\w+)\}\}")


def write_report(
    folder: Path,
    manifest: Manifest,
    judgements: Iterable[Mapping[str, Any]],
    rules: Mapping[str, str],
    asked: Asked | None = None,
    scales: Scales | None = None,
) -> Path:
    """The report of judgements that are read for nothing else."""
    with Report(folder, manifest, rules, asked, scales) as report:
        return report.write(collect(judgements, report))


class Report:
    """Takes judgements one at a time, then writes the page. `asked` shows the prompts, `scales` colour the scores."""

    def __init__(
        self,
        folder: Path,
        manifest: Manifest,
        rules: Mapping[str, str],
        asked: Asked | None = None,
        scales: Scales | None = None,
        case_of: CaseOf | None = None,
    ) -> None:
        """`case_of` finds the case of a judgement; without it, the case is expected in the judgement under `case`."""
        self._target = folder / REPORT
        self._manifest, self._rules, self._scales = manifest, rules, scales or {}
        self._scratch = ExitStack()
        rows, texts, not_ok, first, later, cases = (
            self._scratch.enter_context(tempfile.TemporaryFile(dir=folder))  # noqa: SIM115 - closed with the rest
            for _ in range(6)
        )
        self._collector = Collector(rows, texts, not_ok, first, later, cases, asked, manifest.counts.total)
        if case_of is not None:
            self._collector.case_of = case_of

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._scratch.close()

    def add(self, judgement: Mapping[str, Any]) -> None:
        self._collector.add(judgement)

    def write(self, found: Collected) -> Path:
        """The old report stays until the new one is whole."""
        with replacing(self._target) as page:
            _write_page(page, found, self._collector, self._manifest, self._rules, self._scales)
        return self._target


def _write_page(
    page: IO[bytes],
    found: Collected,
    collector: Collector,
    manifest: Manifest,
    rules: Mapping[str, str],
    scales: Scales,
) -> None:
    """The template's places are filled in their order: the data stands before the note that says how much it is."""
    summary = found.summary
    columns = columns_of(summary)
    style, script = _page_file("report.css"), _page_file("report.js")
    info = {
        "columns": [_column(item, scales) for item in columns],
        "inputs": collector.words.names,
        "counts": summary.counts.model_dump(),
        "rules": dict(rules),
    }
    places: dict[str, Callable[[], Iterable[bytes]]] = {
        "policy": lambda: _text(_policy(style, script)),
        "title": lambda: _text(tag("title", _title(manifest))),
        "style": lambda: [style.encode()],
        "header": lambda: _text(header(manifest)),
        "overview": lambda: _text(overview(summary, manifest, rules, found.slices)),
        "prompt": lambda: _text(prompt_fold(collector.asked, manifest)),
        "settings": lambda: _text(settings(manifest)),
        "info": lambda: [script_json(info)],
        "rows": lambda: collector.rows([item.name for item in columns]),
        "texts": collector.texts,
        "details": collector.details,
        "requests": collector.requests,
        "kept": lambda: _text(kept_note(collector.kept)),
        "script": lambda: [script.encode()],
    }
    for part in _parts(_page_file("report.html"), places):
        page.write(part)


def _column(item: NumberField | CodeField, scales: Scales) -> dict[str, Any]:
    """A number with a scale has its ends, the worst first."""
    column = {"name": item.name, "number": isinstance(item, NumberField)}
    return {**column, "scale": scales[item.name]} if item.name in scales else column


def _parts(template: str, places: Mapping[str, Callable[[], Iterable[bytes]]]) -> Iterator[bytes]:
    for place, text in enumerate(_PLACE.split(template)):
        if place % 2:
            yield from places[text]()
        else:
            yield text.encode()


def _text(markup: str) -> list[bytes]:
    return [markup.encode("utf-8", "replace")]


def _title(manifest: Manifest) -> str:
    return clean_line(f"{judge_of(manifest)} · {labeller_of(manifest)} · {date_of(manifest)} · Krino", 200)


def _policy(style: str, script: str) -> str:
    """Nothing may be fetched or sent; only the two texts that we wrote may run or style."""
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


@cache
def _page_file(name: str) -> str:
    return (resources.files("krino.render") / "page" / name).read_text("utf-8")
