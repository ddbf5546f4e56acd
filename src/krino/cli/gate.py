"""`krino gate`: does a run keep its rules? Exit code 1, with the reasons, when it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from krino.cli import exits, options
from krino.cli.gating import RuleList

RULES = "Rules"

HELP = "\n\n".join(
    (
        "Hold a run against rules: exit code 0 when all hold, 1 with the reasons when not, 2 for wrong usage.",
        "FIELD=NUMBER limits the mean of a score. FIELD:LABEL=SHARE% limits how often a label is given (of a list: "
        "held); pass=SHARE%, review= and fail= do so for the roll-up. failed=SHARE% or failed=COUNT limits the cases "
        "without a verdict, failed or error; without that rule there may be none. FIELD:null=SHARE% limits how often "
        "a field is null; without that rule, a rule over a field with nulls is broken.",
        "A value is held against the worse end of its 95 % interval (shares: Wilson; scores in 0 to 1: Agresti and "
        "Coull; other numbers: normal, from 30 values on; changes: paired). Failed cases and nulls are counted, not "
        "estimated. A case without a value never helps: where a share must be high it counts as not having the "
        "label, where it must be low it is left out.",
        "An unfinished run and one without cases or verdicts break the gate. Without any rule, only they and failed "
        "cases do. So does a run to compare with that is not finished, has more failed cases than are allowed, another "
        "judge or cases that this one has not, or other content and no id of its own to tell that a case is the "
        "same. "
        "Slices with too few cases are shown and not gated; if no slice has enough, the gate is broken.",
        "For each broken rule the worst cases are named, with value and reason: those beyond the limit of a mean, "
        "with a label that is too frequent or without one that is too rare, null, failed, or changed for the worse.",
        "Rules in the section gate of krino.toml hold too (tables gate.min, gate.max, gate.may_fall, gate.may_rise; "
        "keys by, few, point, worst, and not_worse_than, a path from the folder of that file); a flag about the same "
        "thing takes the place of the rule there, two limits on the same thing in one place are wrong usage. "
        "`krino judge ... --gate` judges and holds the run against the rules in one step.",
    )
)


def gate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    min: Annotated[  # noqa: A002 - the flag's name
        RuleList,
        typer.Option(help="At least: faithfulness=0.8, pass=90%, match:exact=95%.", rich_help_panel=RULES),
    ] = None,
    max: Annotated[  # noqa: A002 - the flag's name
        RuleList,
        typer.Option(help="At most: failed=1%, fail=5%, errors:X=2%, similarity:null=30%.", rich_help_panel=RULES),
    ] = None,
    not_worse_than: Annotated[
        Path | None, typer.Option(help="Another run over the same cases, to compare with.", rich_help_panel=RULES)
    ] = None,
    may_fall: Annotated[
        RuleList, typer.Option(help="How much less than there: faithfulness=0.02, pass=2%.", rich_help_panel=RULES)
    ] = None,
    may_rise: Annotated[
        RuleList, typer.Option(help="How much more than there: fail=2%.", rich_help_panel=RULES)
    ] = None,
    point: Annotated[
        bool | None,
        typer.Option(
            "--point/--bound",
            help="Hold the value against the limit, not the end of its 95 % interval.",
            rich_help_panel=RULES,
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(help="Also in every slice: court,language, or court*language.", rich_help_panel=RULES),
    ] = None,
    few: Annotated[
        int | None,
        typer.Option(min=1, help="Slices with fewer cases are shown, not gated (30).", rich_help_panel=RULES),
    ] = None,
    worst: Annotated[
        int | None,
        typer.Option(min=0, help="Cases named for each broken rule (10).", rich_help_panel=options.OUTPUT),
    ] = None,
    junit: options.Junit = None,
    markdown: options.GateMarkdown = None,
    json: options.AsJson = False,
) -> None:
    from krino.cli.gating import Gating, read_gate
    from krino.cli.judge import tune_memory

    tune_memory()
    flags = {"min": min, "max": max, "may_fall": may_fall, "may_rise": may_rise}
    gate = read_gate(flags, base=not_worse_than, point=point, by=by, few=few, worst=worst)
    result = Gating(gate, junit, markdown).hold(run)
    if json:
        typer.echo(result.model_dump_json())
    else:
        from krino.render.gate import gate_blocks
        from krino.render.terminal import screen, show

        show(screen(), gate_blocks(result))
    raise typer.Exit(exits.DONE if result.passed else exits.GATE_FAILED)
