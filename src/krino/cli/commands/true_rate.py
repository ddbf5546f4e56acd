"""`krino true-rate`: the true rate or mean over all cases, from all verdicts and the labels of a few cases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import options
from krino.cli.commands.agree import Markdown, RunFolder, Values
from krino.cli.printing import print_blocks, write_markdown
from krino.errors import UsageProblem

LabelSource = Annotated[
    str,
    typer.Argument(
        metavar="LABELS",
        help="File of labels (a column `id` and one a field), or a workbench: its folder of runs or its database.",
    ),
]
Of = Annotated[
    str,
    typer.Option(help="FIELD (the mean of a number), FIELD:LABEL (the share of a label), or pass, review, fail."),
]


def true_rate(
    run: RunFolder,
    labels: LabelSource,
    of: Of,
    values: Values = None,
    by: Annotated[str | None, options.flag("Also in every slice: a column of metadata.")] = None,
    weight: Annotated[
        str | None, options.flag("Column of the labels with sampling weights: one over the chance of being labelled.")
    ] = None,
    than: Annotated[Path | None, options.flag("Another run to compare with (its labels: --than-labels).")] = None,
    than_labels: Annotated[str | None, options.flag("Labels of the run that --than names.")] = None,
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    format: options.Format = "auto",  # noqa: A002 - the flag's name
    markdown: Markdown = None,
    json: options.AsJson = False,
) -> None:
    """Estimate the true rate or mean over all cases of RUN, from its verdicts and the labels of a few cases.

    A judge's average is biased by the judge's errors. The labels correct it, and the verdicts make the correction
    precise. Says which estimate to trust and how many more labels would halve its interval.

    Labels must be a random sample of the cases, or a random sample for each answer of the judge. Of labels from the
    workbench only its random sample counts.
    """
    from krino.api.recorded_run import load_run
    from krino.api.true_rates import labels_for
    from krino.api.true_rates import true_rate as estimate
    from krino.cases import parse_mapping
    from krino.cli.runner import tune_memory
    from krino.render.true_rate import true_rates_blocks
    from krino.results.agreement.labels import parse_values

    tune_memory()
    meant, mapping = parse_values(values or ()), parse_mapping(map or [])
    loaded = load_run(run)
    given = labels_for(loaded, labels, of, values=meant, format=format, mapping=mapping)
    other = None
    if than is not None and than_labels is not None:
        before = load_run(than)
        other = before, labels_for(before, than_labels, of, values=meant, format=format, mapping=mapping)
    elif than is not None or than_labels is not None:
        raise UsageProblem("--than RUN and --than-labels LABELS belong together")
    found = estimate(loaded, given, of, by=by, weight=weight, than=other)
    write_markdown(markdown, true_rates_blocks(found))
    typer.echo(found.model_dump_json()) if json else print_blocks(true_rates_blocks(found))
