"""`krino align`: changes of a judge from people's labels, kept if they are proven on labels that were held out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import options
from krino.cli.commands.agree import Values
from krino.cli.printing import print_blocks

_LABELS = Annotated[
    Path, typer.Argument(metavar="LABELS", help="File of labels: a column `id`, and one that is called like the field.")
]
_CASES = Annotated[
    list[str] | None,
    typer.Argument(metavar="[CASES]...", help="The labelled cases; without them LABELS holds the cases too."),
]
_OUT = Annotated[
    Path | None,
    options.flag("The file to write: by default the judge's own file, or JUDGE.aligned.md, a prompt for a run."),
]


@options.llm_flags()
def align(
    ctx: typer.Context,
    judge_name: Annotated[str, typer.Argument(metavar="JUDGE", help="A judge, as `krino judge` takes it.")],
    labels: _LABELS,
    files: _CASES = None,
    labeller: options.Labeller = "local",
    api_key_env: options.ApiKey = None,
    llm: options.LlmFlags = options.NOTHING_SET,
    of: Annotated[str | None, options.flag("The field of the verdict, if the labels have several.")] = None,
    cluster: Annotated[
        str | None, options.flag("A field of the cases whose values stay together (`source` and the like by itself).")
    ] = None,
    values: Values = None,
    out: _OUT = None,
    no_write: Annotated[bool, options.flag("Only say what would be kept.", "--no-write")] = False,
    split_seed: Annotated[int, options.flag("Seed of the split into three parts.")] = 0,
    map: options.MapFields = None,  # noqa: A002 - the flag's name
    option: options.Options = None,
    prompt: options.Prompt = None,
    json: options.AsJson = False,
) -> None:
    """Propose changes of JUDGE from people's LABELS, and keep them if they are proven on labels that were held out.

    A model gets a criterion for each pair of labels that it confuses, and labelled examples; the embedded labeller gets
    other thresholds. The score is never changed. Changes are drawn from three tenths of the labelled cases, chosen by
    three tenths, and tested once on the rest: they are kept if the interval of their gain excludes zero.

    The result is written into the judge's file, with the agreement that it reaches (`krino gate --measured`).
    """
    from krino.api.aligning import align as align_judge
    from krino.cases import parse_mapping
    from krino.cli.commands.judge import judge_options, read_prompt
    from krino.cli.keys import keys_for, refuse_outside_folder
    from krino.cli.settings import load_settings
    from krino.judges.registry import load_judge
    from krino.labellers.factory import names_in
    from krino.render.alignment import alignment_blocks
    from krino.results.agreement.labels import parse_values

    text = read_prompt(refuse_outside_folder(ctx, "prompt", prompt))
    ready = load_judge(judge_name, judge_options(judge_name, option), text)
    keys = keys_for(ctx, names_in(labeller), llm.get("base_url"), api_key_env)
    chosen = options.labeller_of(labeller, 1, llm, keys, prices=load_settings().prices, dry_run=False)
    found = align_judge(
        ready,
        labels,
        files or None,
        labeller=chosen,
        of=of,
        cluster=cluster,
        values=parse_values(values or ()),
        mapping=parse_mapping(map or []),
        out=out,
        write=not no_write,
        seed=split_seed,
    )
    typer.echo(found.model_dump_json()) if json else print_blocks(alignment_blocks(found))
