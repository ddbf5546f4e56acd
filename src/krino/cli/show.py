"""`krino show`: a run's summary, its worst cases, or one judgement of it in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import options
from krino.cli.printing import as_json, on_screen, say
from krino.errors import UsageProblem
from krino.text.guessing import guessed

if TYPE_CHECKING:
    from krino.runs.reading import StoredRun


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    case_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a case; without it, the summary.")
    ] = None,
    worst: Annotated[
        int | None,
        options.flag(
            "List so many of the worst cases, each with its id, what it is about and why; those that were not "
            "judged come first.",
            min=1,
        ),
    ] = None,
    by: Annotated[
        str | None,
        options.flag(
            "With --worst, the verdict's field that says what is bad: faithfulness (the lowest first), "
            "seconds:high (the highest first), match_correctness:INCORRECT (one label); by default the roll-up or the "
            "first score. Without --worst, slices by columns of metadata: court,language, or court*language."
        ),
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="With an ID: the labels too.")] = False,
    json: options.AsJson = False,
) -> None:
    """Show a run, its worst cases, or one case. With --json: judgements, one a line, in the order of the input."""
    from krino.runs.reading import load_run

    loaded = load_run(run)
    if worst is not None:
        if case_id is not None:
            raise UsageProblem("--worst lists cases, and an ID shows one: give one of the two")
        _worst(loaded, worst, by, json)
        return
    if by is not None:
        _slices(loaded.records(), loaded.manifest.about.fields_schema, by, json)
        return
    if not json and case_id is None:
        _summary(loaded)
        return
    found = 0
    for judgement in loaded.records():
        if case_id is not None and judgement["id"] != case_id:
            continue
        found += 1
        as_json(judgement) if json else _one(judgement, loaded, labels)
    if case_id is not None and not found:
        ways = f"`krino show {run} --worst 10` lists the worst by their ids, `krino show {run} --json` all of them"
        guess = guessed(case_id, (judgement["id"] for judgement in loaded.records()))
        raise UsageProblem(f"{run} has no judgement of a case `{case_id}`{guess}; {ways}")


def _worst(run: StoredRun, most: int, by: str | None, json: bool) -> None:
    from krino.render.case import worst_blocks
    from krino.results.verdict_schema import declared_scales
    from krino.results.worst_cases import rank_worst

    about = run.manifest.about
    found = rank_worst(run.found().records, most, by, about.fields_schema)
    if json:
        for judgement in (*found.not_judged, *found.judged):
            as_json(judgement)
    else:
        on_screen(worst_blocks(found, about.rules, declared_scales(about.fields_schema), run.folder))


def _slices(judgements: Iterable[dict[str, Any]], schema: Mapping[str, Any], by: str, json: bool) -> None:
    from krino.render.summary import slice_blocks
    from krino.results.slices import parse_columns, slice_by

    tables = slice_by(judgements, parse_columns(by), schema)
    as_json([table.model_dump(mode="json") for table in tables]) if json else on_screen(slice_blocks(tables))


def _summary(run: StoredRun) -> None:
    from krino.render.summary import summary_blocks
    from krino.results.summary import summarise

    found = summarise(run.records(), run.manifest.about.fields_schema)
    on_screen(summary_blocks(found, run.manifest, run.folder))


def _one(judgement: dict[str, Any], run: StoredRun, labels: bool) -> None:
    from krino.contract import Judgement
    from krino.render.case import case_blocks
    from krino.render.terminal import can_be_shown
    from krino.results.verdict_schema import declared_scales
    from krino.runs.views import StoredViews, why_no_view

    about = run.manifest.about
    stored = StoredViews(run.folder).blocks_of(judgement["input_hash"])
    own = stored if stored is not None and can_be_shown(stored) else []
    shown = Judgement.model_validate(judgement)
    on_screen(case_blocks(shown, about.rules, declared_scales(about.fields_schema), own, labels=labels))
    if stored is None and (why := why_no_view(judgement)):
        say(why)
