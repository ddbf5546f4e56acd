"""`krino show`: shows a run's summary, its worst cases, or one judgement in full."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import options
from krino.cli.printing import print_blocks, print_json, say
from krino.errors import UsageProblem
from krino.text.guessing import did_you_mean

if TYPE_CHECKING:
    from krino.runs.stored_run import StoredRun


def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")],
    case_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a case; without it, the summary.")
    ] = None,
    worst: Annotated[
        int | None,
        options.flag(
            "List this number of the worst cases, each with its id, content and reason; cases that were not judged "
            "come first.",
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
    from krino.runs.stored_run import load_stored_run

    loaded = load_stored_run(run)
    if worst is not None:
        if case_id is not None:
            raise UsageProblem("--worst lists cases, and an ID shows one: give only one")
        _show_worst(loaded, worst, by, json)
        return
    if by is not None:
        _show_slices(loaded.records(), loaded.manifest.about.fields_schema, by, json)
        return
    if not json and case_id is None:
        _show_summary(loaded)
        return
    judged, found = loaded.judged(), False
    for judgement in judged.records(ids=None if case_id is None else {case_id}):
        found = True
        print_json(judgement) if json else _show_judgement(judgement, loaded, labels)
    if case_id is not None and not found:
        ways = f"`krino show {run} --worst 10` lists the worst by their ids, `krino show {run} --json` all of them"
        guess = did_you_mean(case_id, (case.entry.id for case in judged))
        raise UsageProblem(f"{run} has no judgement of a case `{case_id}`{guess}; {ways}")


def _show_worst(run: StoredRun, most: int, by: str | None, json: bool) -> None:
    """Prints the worst cases of a run and those that were not judged."""
    from krino.render.case import worst_blocks
    from krino.results.verdict_schema import declared_scales
    from krino.results.worst_cases import rank_worst

    about = run.manifest.about
    found = rank_worst(run.judged().records, most, by, about.fields_schema)
    if json:
        for judgement in (*found.not_judged, *found.judged):
            print_json(judgement)
    else:
        print_blocks(worst_blocks(found, about.rules, declared_scales(about.fields_schema), run.folder))


def _show_slices(judgements: Iterable[dict[str, Any]], schema: Mapping[str, Any], by: str, json: bool) -> None:
    """Prints the outcome of a run by slices of metadata."""
    from krino.render.summary import slice_blocks
    from krino.results.slices import parse_columns, slice_by

    tables = slice_by(judgements, parse_columns(by), schema)
    print_json([table.model_dump(mode="json") for table in tables]) if json else print_blocks(slice_blocks(tables))


def _show_summary(run: StoredRun) -> None:
    """Shows the summary of a run."""
    from krino.render.summary import summary_blocks
    from krino.results.summary import summarise

    found = summarise(run.records(), run.manifest.about.fields_schema)
    print_blocks(summary_blocks(found, run.manifest, run.folder))


def _show_judgement(judgement: dict[str, Any], run: StoredRun, labels: bool) -> None:
    """Prints one judgement in full, with its view; if there is none, says why on stderr."""
    from krino.contract import Judgement
    from krino.render.case import case_blocks
    from krino.render.terminal import can_be_shown
    from krino.results.verdict_schema import declared_scales
    from krino.runs.views import StoredViews, why_no_view

    about = run.manifest.about
    stored = StoredViews(run.folder).blocks_of(judgement["input_hash"])
    own = stored if stored is not None and can_be_shown(stored) else []
    shown = Judgement.model_validate(judgement)
    print_blocks(case_blocks(shown, about.rules, declared_scales(about.fields_schema), own, labels=labels))
    if stored is None and (why := why_no_view(judgement)):
        say(why)
