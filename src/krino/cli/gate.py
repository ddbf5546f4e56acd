"""`krino gate`: does a run keep its rules? Exit code 1, with the reasons, when it does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import exits, options

if TYPE_CHECKING:
    from krino.gates.gate import Gate
    from krino.gates.rules import Rule

TABLES = ("min", "max", "may_fall", "may_rise")
FROM_FILE = frozenset({*TABLES, "not_worse_than", "by", "few", "point"})
"""Keys of [gate] in krino.toml."""
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
        "Rules in the section gate of krino.toml hold too (tables gate.min, gate.max, gate.may_fall, gate.may_rise; "
        "keys by, few, point, and not_worse_than, a path from the folder of that file); a flag about the same thing "
        "takes the place of the rule there, two limits on the same thing in one place are wrong usage.",
    )
)

_RuleList = list[str] | None


def gate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    min: Annotated[  # noqa: A002 - the flag's name
        _RuleList,
        typer.Option(help="At least: faithfulness=0.8, pass=90%, match:exact=95%.", rich_help_panel=RULES),
    ] = None,
    max: Annotated[  # noqa: A002 - the flag's name
        _RuleList,
        typer.Option(help="At most: failed=1%, fail=5%, errors:X=2%, similarity:null=30%.", rich_help_panel=RULES),
    ] = None,
    not_worse_than: Annotated[
        Path | None, typer.Option(help="Another run over the same cases, to compare with.", rich_help_panel=RULES)
    ] = None,
    may_fall: Annotated[
        _RuleList, typer.Option(help="How much less than there: faithfulness=0.02, pass=2%.", rich_help_panel=RULES)
    ] = None,
    may_rise: Annotated[
        _RuleList, typer.Option(help="How much more than there: fail=2%.", rich_help_panel=RULES)
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
    junit: Annotated[
        Path | None, typer.Option(help="Write JUnit XML to this file.", rich_help_panel=options.OUTPUT)
    ] = None,
    markdown: Annotated[
        Path | None,
        typer.Option(help="Write a summary for a pull request to this file.", rich_help_panel=options.OUTPUT),
    ] = None,
    json: options.AsJson = False,
) -> None:
    from krino.cli.judge import tune_memory
    from krino.gates.gate import check_run
    from krino.writing import write_text, writing

    tune_memory()
    flags = {"min": min, "max": max, "may_fall": may_fall, "may_rise": may_rise}
    result = check_run(run, _gate(flags, not_worse_than, point, by, few))
    if junit is not None:
        from krino.gates.junit import to_junit

        with writing(junit) as sink:
            sink.write(to_junit(result))
    if markdown is not None:
        from krino.gates.summary import to_markdown

        write_text(markdown, to_markdown(result))
    if json:
        typer.echo(result.model_dump_json())
    else:
        from krino.gates.summary import print_gate
        from krino.reports.screen import screen

        print_gate(screen(), result)
    raise typer.Exit(exits.DONE if result.passed else exits.GATE_FAILED)


def _gate(
    flags: Mapping[str, _RuleList], base: Path | None, point: bool | None, by: str | None, few: int | None
) -> Gate:
    from krino.cli.settings import load_settings
    from krino.errors import UsageProblem
    from krino.gates.gate import Gate
    from krino.reports.slices import parse_columns
    from krino.stats.moments import FEW

    settings = load_settings()
    stored = _checked(settings.gate, f"{settings.path}: [gate]")
    rules = _rules(flags, stored, f"{settings.path}: [gate")
    if base is None and settings.path is not None and "not_worse_than" in stored:
        base = settings.path.parent / stored["not_worse_than"]  # the file may lie above the folder we stand in
    paired = any(rule.paired for rule in rules)
    if base is None and paired:
        raise UsageProblem("--may-fall and --may-rise compare with another run: name it with --not-worse-than RUN")
    if base is not None and not paired:
        raise UsageProblem(
            f"--not-worse-than {base}: say what may change and by how much, as --may-fall faithfulness=0.02"
        )
    return Gate(
        rules=rules,
        by=parse_columns(by if by is not None else stored.get("by")),
        point=bool(stored.get("point")) if point is None else point,
        few=few or stored.get("few", FEW),
        base=base,
    )


def _rules(flags: Mapping[str, _RuleList], stored: Mapping[str, Any], where: str) -> list[Rule]:
    from krino.gates.rules import KINDS, joined, parse_flags, parse_table

    from_file = [rule for kind in KINDS for rule in parse_table(kind, stored.get(kind, {}), f"{where}.{kind}]")]
    return joined(from_file, [rule for kind in KINDS for rule in parse_flags(kind, flags[kind] or [])])


def _checked(section: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """What krino.toml says, each value of the kind that is meant."""
    from krino.errors import UsageProblem

    kinds: dict[str, tuple[type, str]] = {name: (dict, f"a table, as [gate.{name}]") for name in TABLES}
    kinds |= {"not_worse_than": (str, "the folder of a run"), "by": (str, 'columns, as "court,language"')}
    kinds |= {"few": (int, "a whole number of cases"), "point": (bool, "true or false")}
    for name, value in section.items():
        kind, words = kinds[name]
        if type(value) is not kind or (name == "few" and section[name] < 1):
            raise UsageProblem(f"{where}: `{name}` must be {words}")
    return section
