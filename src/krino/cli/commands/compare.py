"""`krino compare`: compares two runs over the same cases, with intervals and tests of the differences."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import exits, options
from krino.cli.printing import print_blocks, write_markdown

HELP = "\n\n".join(
    (
        "Compare run B with run A, case by case.",
        "Cases are matched by id (several with one id: in their order). For each score: the means, and the paired "
        "bootstrap interval of their difference. For each label: the flips both ways, with McNemar's exact test. "
        "Also status, cost and time. Without a significant difference it says which difference would have been found.",
        "Exit code 0: compared. 2: wrong usage, or no case in common. 3: compared as far as possible, but one of the "
        "runs is unfinished, or a case has a verdict in only one of them: a script that only looks at the code must "
        "not take some of the cases for all. A case that failed in both does not count.",
    )
)


def compare(
    a: Annotated[Path, typer.Argument(metavar="A", help="Folder of the run to compare with.")],
    b: Annotated[Path, typer.Argument(metavar="B", help="Folder of the other run; differences are B minus A.")],
    flips: Annotated[int, options.flag("Ids named for each kind of change (5).", min=0)] = 5,
    cluster: Annotated[
        str | None, options.flag("Column of metadata whose cases belong together, such as those of one document.")
    ] = None,
    markdown: Annotated[Path | None, options.flag("Write the comparison to this file.")] = None,
    json: options.AsJson = False,
) -> None:
    from krino.cli.runner import tune_memory
    from krino.render.comparison import comparison_blocks
    from krino.results.comparison.compare import compare as compare_runs

    tune_memory()
    found = compare_runs(a, b, shown=flips, cluster=cluster)
    write_markdown(markdown, comparison_blocks(found))
    typer.echo(found.model_dump_json()) if json else print_blocks(comparison_blocks(found))
    raise typer.Exit(exits.DONE if found.whole else exits.CASES_FAILED)
