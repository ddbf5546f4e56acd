"""`krino agree`: measures how far a run's verdicts agree with people's labels of the same cases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from krino.cli import exits, options
from krino.cli.printing import print_blocks, write_markdown
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.results.agreement.result import Agreement


RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run.")]
LabelFile = Annotated[
    str | None,
    typer.Argument(
        metavar="[LABELS]",
        help="File of labels: a column `id` and one a field; several raters in a column `rater`, or FIELD:RATER.",
    ),
]
FromWorkbench = Annotated[
    str | None,
    options.flag(
        "Take the labels from a workbench instead of a file: its folder of runs, its labels.sqlite, or the address of "
        "its database.",
        "--labels",
    ),
]
LabelDepth = Annotated[
    str,
    typer.Option(
        help="With --labels: people's values of the `fields`, their `labels` as settled by the rules, or both."
    ),
]
Fields = Annotated[options.Texts, options.flag("Compare this field only; may be repeated.")]
Confidence = Annotated[
    options.Texts,
    options.flag("Field that a confidence is about, as certainty=match (if names do not show it)."),
]
Cluster = Annotated[str | None, options.flag("Column of the labels or metadata: cases that belong together.")]
Values = Annotated[
    options.Texts,
    options.flag(
        "Values for words of the labels: good=1,bad=0, or for one field faithfulness:good=1,bad=0; may be repeated. "
        "Case does not matter.",
    ),
]
Markdown = Annotated[Path | None, options.flag("Write it to this file too.", panel=options.OUTPUT)]


def agree(
    run: RunFolder,
    labels: LabelFile = None,
    workbench: FromWorkbench = None,
    depth: LabelDepth = "both",
    field: Fields = None,
    confidence: Confidence = None,
    cluster: Cluster = None,
    values: Values = None,
    worst: Annotated[int, typer.Option(min=0, help="Cases to list per field that disagree most.")] = 10,
    draws: Annotated[int, typer.Option(min=1, help="Draws of the bootstrap behind the intervals.")] = 1_000,
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    format: options.Format = "auto",  # noqa: A002 - the flag's name
    every: Annotated[bool, options.flag("Every figure of every field.", "--all", panel=options.OUTPUT)] = False,
    markdown: Markdown = None,
    json: options.AsJson = False,
) -> None:
    """Compare RUN with the labels of people.

    First a sentence: does the judge agree with people as they agree with each other? Then one line a field, and where
    it disagrees most. --all has the rest: kappa, alpha, F1, rank correlation and calibration, with intervals; for
    lists of codes the precision and recall of each code.

    Exit code 3 when a labelled case has no verdict, or is not in the run at all.
    """
    from krino.api.recorded_run import Rows, labels_from
    from krino.cases import parse_mapping
    from krino.render.agreement import agreement_blocks
    from krino.results.agreement.agree import agree as compare_with_labels
    from krino.results.agreement.labels import Labels, parse_values, read_labels
    from krino.results.formatting import judge_name, run_labeller_name
    from krino.runs.manifest import Manifest

    manifest = Manifest.load(run)
    given: Labels | Rows
    if workbench is not None and labels is None:
        given = labels_from(workbench, run, depth)
    elif labels is not None and workbench is None:
        given = read_labels(labels, format=format, mapping=parse_mapping(map or []))
    else:
        raise UsageProblem("name a file of LABELS, or a workbench with --labels WORKBENCH, one of the two")
    found = compare_with_labels(
        run,
        given,
        fields=field,
        confidence=_parse_pairs(confidence or ()),
        cluster=cluster,
        worst=worst,
        values=parse_values(values or ()),
        draws=draws,
    )
    people = Path(labels).name if labels else "the workbench"
    title = f"{judge_name(manifest)} ({run_labeller_name(manifest)}) against {people}"
    write_markdown(markdown, agreement_blocks(found, title))
    typer.echo(found.model_dump_json()) if json else print_blocks(agreement_blocks(found, title, short=not every))
    raise typer.Exit(exit_code(found))


def exit_code(found: Agreement) -> int:
    """Returns 3 if a labelled case has no verdict or is not in the run, so that a script notices; else 0."""
    return exits.CASES_FAILED if found.counts.without_verdict or found.counts.absent else exits.DONE


def _parse_pairs(given: Sequence[str]) -> dict[str, str]:
    """Parses `CONFIDENCE=FIELD` into the field that each confidence is about; raises `UsageProblem` for anything
    else."""
    pairs = {}
    for pair in given:
        name, equals, about = (part.strip() for part in pair.partition("="))
        if not (name and equals and about):
            raise UsageProblem(f"--confidence {pair!r}: write it as CONFIDENCE=FIELD, for example certainty=match")
        pairs[name] = about
    return pairs
