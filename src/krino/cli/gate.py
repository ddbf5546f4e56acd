"""`krino gate`: does a run keep its rules? Exit code 1, with the reasons, when it does not.

The rules come from flags and from krino.toml; `krino judge --gate` reads them here too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import exits, options
from krino.cli.printing import as_markdown, on_screen
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract import AnyJudge
    from krino.results.gates.gate import Gate
    from krino.results.gates.result import GateResult
    from krino.results.gates.rules import Rule

TABLES = ("min", "max", "may_fall", "may_rise")
FROM_FILE = frozenset({*TABLES, "not_worse_than", "by", "few", "point", "worst"})
"""Keys of [gate] in krino.toml."""
_rule = partial(options.flag, panel="Rules")
RuleList = list[str] | None
_LEAST = {"few": 1, "worst": 0}

HELP = """\
Hold a run against rules: exit code 0 when all hold, 1 with the reasons when not, 2 for wrong usage.

What a rule can limit:

• FIELD=NUMBER: the mean of a score.

• FIELD:LABEL=SHARE%: how often a label is given (of a list: held). pass=SHARE%, review= and fail= do so for the \
roll-up.

• failed=SHARE% or failed=COUNT: the cases without a verdict, failed or error. Without that rule there may be none.

• FIELD:null=SHARE%: how often a field is null. Without that rule, a rule over a field with nulls is broken.

How it is held:

• A value is held against the worse end of its 95 % interval (shares: Wilson; scores in 0 to 1: Agresti and Coull; \
other numbers: normal, from 30 values on; changes: paired). Failed cases and nulls are counted, not estimated.

• A case without a value never helps: where a share must be high it counts as not having the label, where it must be \
low it is left out.

• An unfinished run, and one without cases or verdicts, never passes. Nor does a run to compare with that is not \
finished, has more failed cases than are allowed, another judge, cases that this one has not, or other content and \
no id of its own to tell that a case is the same.

• Slices with too few cases are shown and not gated; if no slice has enough, the gate is broken.

• For each broken rule the worst cases are named, with value and reason.

Rules in the section gate of krino.toml hold too (tables gate.min, gate.max, gate.may_fall, gate.may_rise; keys by, \
few, point, worst, and not_worse_than, a path from the folder of that file). A flag about the same thing takes the \
place of the rule there; two limits on the same thing in one place are wrong usage.

`krino judge ... --gate` judges and holds the run against the rules in one step."""


def gate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    min: Annotated[RuleList, _rule("At least: faithfulness=0.8, pass=90%, match:exact=95%.")] = None,  # noqa: A002
    max: Annotated[RuleList, _rule("At most: failed=1%, fail=5%, errors:X=2%, similarity:null=30%.")] = None,  # noqa: A002
    not_worse_than: Annotated[Path | None, _rule("Another run over the same cases, to compare with.")] = None,
    may_fall: Annotated[RuleList, _rule("How much less than there: faithfulness=0.02, pass=2%.")] = None,
    may_rise: Annotated[RuleList, _rule("How much more than there: fail=2%.")] = None,
    point: Annotated[bool | None, _rule(options.POINT, "--point/--bound")] = None,
    by: Annotated[str | None, _rule("Also in every slice: court,language, or court*language.")] = None,
    few: Annotated[int | None, _rule("Slices with fewer cases are shown, not gated (30).", min=1)] = None,
    worst: Annotated[
        int | None, options.flag("Cases named for each broken rule (10).", panel=options.OUTPUT, min=0)
    ] = None,
    junit: options.Junit = None,
    markdown: options.GateMarkdown = None,
    json: options.AsJson = False,
) -> None:
    from krino.cli.runner import tune_memory
    from krino.render.gate import gate_blocks

    tune_memory()
    flags = {"min": min, "max": max, "may_fall": may_fall, "may_rise": may_rise}
    stated = read_gate(flags, base=not_worse_than, point=point, by=by, few=few, worst=worst)
    result = Gating(stated, junit, markdown).check(run)
    typer.echo(result.model_dump_json()) if json else on_screen(gate_blocks(result))
    raise typer.Exit(exits.DONE if result.passed else exits.GATE_FAILED)


@dataclass(frozen=True)
class Gating:
    """A gate, and where its result is written."""

    gate: Gate
    junit: Path | None = None
    markdown: Path | None = None

    def check(self, folder: Path) -> GateResult:
        """Hold a run against the gate, and write the files."""
        from krino.render.gate import gate_blocks, to_junit
        from krino.results.gates.gate import check_run
        from krino.writing import writing

        self.refuse_itself(folder)
        result = check_run(folder, self.gate)
        if self.junit is not None:
            with writing(self.junit) as sink:
                sink.write(to_junit(result))
        as_markdown(self.markdown, gate_blocks(result))
        return result

    def refuse_itself(self, folder: Path) -> None:
        """No run is worse than itself, so that such a rule would say nothing."""
        if self.gate.base is not None and self.gate.base.resolve() == folder.resolve():
            raise UsageProblem(f"--not-worse-than {self.gate.base}: that is the run itself; name an earlier one")


def gating_of_judge(
    judge: AnyJudge,
    wanted: bool,
    flags: Mapping[str, RuleList],
    point: bool | None,
    files: Mapping[str, Path | None],
    run: Path | None,
) -> Gating | None:
    """For `krino judge --gate`: whatever is wrong with the rules is said before anything is judged or paid."""
    from krino.results.gates.validate import refuse_for_judge
    from krino.runs.manifest import Manifest

    given = {name: path for name, path in files.items() if path is not None}
    if not wanted and not any(flags.values()):
        if point is not None:
            how = "--point" if point else "--bound"
            raise UsageProblem(f"{how} says how a gate holds its rules: add --gate, or rules with --min and --max")
        if given:
            raise UsageProblem(
                f"--{next(iter(given))} keeps what a gate finds: add --gate, or rules with --min and --max"
            )
        return None
    gating = Gating(read_gate(flags, point=point), **files)
    refuse_for_judge(judge, gating.gate.rules)
    for name, path in given.items():
        if not path.absolute().parent.is_dir():
            raise UsageProblem(f"--{name} {path}: there is no folder {path.parent}")
    if run is not None:
        gating.refuse_itself(run)
    if gating.gate.base is not None:
        Manifest.load(gating.gate.base)
    return gating


def read_gate(
    flags: Mapping[str, RuleList],
    *,
    base: Path | None = None,
    point: bool | None = None,
    by: str | None = None,
    few: int | None = None,
    worst: int | None = None,
) -> Gate:
    """What the flags say, and where they say nothing, krino.toml."""
    from krino.api.recorded_run import made_gate
    from krino.cli.settings import load_settings
    from krino.results.explanations import DEFAULT_WORST
    from krino.stats.confidence_intervals import FEW

    settings = load_settings()
    stored = _checked(settings.gate, f"{settings.path}: [gate]")
    rules = _rules(flags, stored, f"{settings.path}: [gate")
    if base is None and settings.path is not None and "not_worse_than" in stored:
        base = settings.path.parent / stored["not_worse_than"]  # the file may lie above the folder we stand in
    return made_gate(
        rules,
        base,
        by=by if by is not None else stored.get("by"),
        point=bool(stored.get("point")) if point is None else point,
        few=few or stored.get("few", FEW),
        worst=stored.get("worst", DEFAULT_WORST) if worst is None else worst,
    )


def _rules(flags: Mapping[str, RuleList], stored: Mapping[str, Any], where: str) -> list[Rule]:
    from krino.results.gates.rules import KINDS, merge_rules, parse_flags, parse_table

    from_file = [rule for kind in KINDS for rule in parse_table(kind, stored.get(kind, {}), f"{where}.{kind}]")]
    return merge_rules(from_file, [rule for kind in KINDS for rule in parse_flags(kind, flags.get(kind) or [])])


def _checked(section: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """What krino.toml says, each value of the kind that is meant."""
    kinds: dict[str, tuple[type, str]] = {name: (dict, f"a table, as [gate.{name}]") for name in TABLES}
    kinds |= {"not_worse_than": (str, "the folder of a run"), "by": (str, 'columns, as "court,language"')}
    kinds |= dict.fromkeys(("few", "worst"), (int, "a whole number of cases")) | {"point": (bool, "true or false")}
    for name, value in section.items():
        kind, words = kinds[name]
        if type(value) is not kind or (name in _LEAST and section[name] < _LEAST[name]):
            raise UsageProblem(f"{where}: `{name}` must be {words}")
    return section
