"""`krino gate`: checks a run against rules from flags and krino.toml. Exit code 1 if one is broken."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from krino.cli import exits, options
from krino.cli.printing import print_blocks, write_markdown
from krino.errors import UsageProblem

if TYPE_CHECKING:
    from krino.contract import AnyJudge
    from krino.results.gates.gate import Gate
    from krino.results.gates.result import GateResult
    from krino.results.gates.rules import Rule

TABLES = ("min", "max", "may_fall", "may_rise")
FROM_FILE = frozenset({*TABLES, "warn", "not_worse_than", "by", "few", "point", "worst", "measured"})
"""Keys of [gate] in krino.toml."""
_rule = partial(options.flag, panel="Rules")
RuleList = list[str] | None
_LEAST = {"few": 1, "worst": 0}

HELP = """\
Check a run against rules. Exit code 0 if all hold, 1 (with the reasons) if not, 2 for wrong usage.

What a rule can limit:

• FIELD=NUMBER: the mean of a score.

• FIELD:LABEL=SHARE%: the share of cases with a label (of a list: that contain it). For the roll-up: pass=SHARE%, \
review= and fail=.

• failed=SHARE% or failed=COUNT: cases without a verdict (failed or error). Without this rule none is allowed.

• FIELD:below:NUMBER=SHARE% or FIELD:above:NUMBER=SHARE%: the share of cases whose score is beyond a number \
(--max faithfulness:below:0.5=5%); with --max also their count (=0: none at all).

• FIELD:OLD:to:NEW=COUNT or SHARE%: the cases whose label changed from that of the other run (--max pass:to:fail=0 \
--not-worse-than RUN: no case that passed may fail).

• FIELD:null=SHARE%: the share of nulls. Without this rule, a rule about a field with nulls is broken.

How rules are evaluated:

• A rule must hold at the worse end of the 95 % interval (shares: Wilson; scores in 0 to 1: Agresti and Coull; other \
numbers: normal, from 30 values; changes: paired). Failed cases and nulls are counted, not estimated.

• Cases without a value never count in favour of a rule: in a share that must be high they count as not having the \
label; in one that must be low they are left out.

• An unfinished run, or one without cases or verdicts, never passes. Nor does a comparison with a run that is not \
finished, has more failed cases than allowed, was made by another judge, or has cases that are missing here, or whose \
content differs and that have no id to match by.

• Slices with too few cases are shown, not gated; if no slice has enough, the gate fails.

• For each broken rule the worst cases are listed, with value and reason.

• In a run with --repeat, a broken rule that some repeats alone would keep says so. It is still broken.

• --warn: a rule that only warns if it is broken, as --warn "min faithfulness=0.9". The exit code stays 0.

• --labels: rules must hold for the true rate or mean, estimated from all verdicts and these labels of people (see \
`krino true-rate`), not for what the judge says.

• --measured: the judge of the run must have an agreement with people that was measured for it and its labeller \
(`krino align`). One that was edited has none any more.

The section [gate] of krino.toml can hold rules too: tables gate.min, gate.max, gate.may_fall and gate.may_rise; keys \
warn (a list), by, few, point, worst, measured, and not_worse_than (a path relative to that file). A flag overrides \
the rule there about the same thing; two limits on the same thing in one place are wrong usage.

`krino judge ... --gate` judges and checks the rules in one step."""


def gate(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of the run.")],
    min: Annotated[RuleList, _rule("At least: faithfulness=0.8, pass=90%, match:exact=95%.")] = None,  # noqa: A002
    max: Annotated[RuleList, _rule("At most: failed=1%, fail=5%, errors:X=2%, similarity:null=30%.")] = None,  # noqa: A002
    not_worse_than: Annotated[Path | None, _rule("Another run over the same cases, to compare with.")] = None,
    may_fall: Annotated[RuleList, _rule("How much less than there: faithfulness=0.02, pass=2%.")] = None,
    may_rise: Annotated[RuleList, _rule("How much more than there: fail=2%.")] = None,
    warn: Annotated[RuleList, _rule('A rule that only warns: "min pass=95%".')] = None,
    measured: Annotated[bool | None, _rule("Refuse a judge without a measured agreement with people.")] = None,
    labels: Annotated[str | None, _rule("Labels of people (file or workbench): check the true rates.")] = None,
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
    flags = {"min": min, "max": max, "may_fall": may_fall, "may_rise": may_rise, "warn": warn}
    stated = read_gate(flags, base=not_worse_than, point=point, by=by, few=few, worst=worst, measured=measured)
    if labels is not None:
        from krino.api.recorded_run import load_run
        from krino.api.true_rates import read_all_labels

        stated = replace(stated, labels=read_all_labels(load_run(run), labels))
    result = Gating(stated, junit, markdown).check(run)
    typer.echo(result.model_dump_json()) if json else print_blocks(gate_blocks(result))
    raise typer.Exit(exits.DONE if result.passed else exits.GATE_FAILED)


@dataclass(frozen=True)
class Gating:
    """A gate, and where its result is written."""

    gate: Gate
    junit: Path | None = None
    markdown: Path | None = None

    def check(self, folder: Path) -> GateResult:
        """Checks a run, writes the result files, and returns the result; raises `UsageProblem` if the run would be
        compared with itself."""
        from krino.render.gate import gate_blocks, to_junit
        from krino.results.gates.gate import check_run
        from krino.writing import writing

        self.refuse_self_comparison(folder)
        result = check_run(folder, self.gate)
        if self.junit is not None:
            with writing(self.junit) as sink:
                sink.write(to_junit(result))
        write_markdown(self.markdown, gate_blocks(result))
        return result

    def refuse_self_comparison(self, folder: Path) -> None:
        """Raises `UsageProblem` if a run would be compared with itself: it is never worse, so the rule would always
        hold."""
        if self.gate.base is not None and self.gate.base.resolve() == folder.resolve():
            raise UsageProblem(f"--not-worse-than {self.gate.base}: that is the run itself; name an earlier one")


def make_gating(
    judge: AnyJudge,
    wanted: bool,
    flags: Mapping[str, RuleList],
    point: bool | None,
    files: Mapping[str, Path | None],
    run: Path | None,
) -> Gating | None:
    """Makes the gate of `krino judge --gate`; None if no gate is wanted. Wrong rules are refused with a `UsageProblem`
    before anything is judged or paid."""
    from krino.results.gates.validate import refuse_for_judge
    from krino.runs.manifest import Manifest

    given = {name: path for name, path in files.items() if path is not None}
    if not wanted and not any(flags.values()):
        if point is not None:
            how = "--point" if point else "--bound"
            raise UsageProblem(f"{how} is about the rules of a gate: add --gate, or rules with --min and --max")
        if given:
            raise UsageProblem(
                f"--{next(iter(given))} writes the result of a gate: add --gate, or rules with --min and --max"
            )
        return None
    gating = Gating(read_gate(flags, point=point), **files)
    refuse_for_judge(judge, gating.gate.rules)
    for name, path in given.items():
        if not path.absolute().parent.is_dir():
            raise UsageProblem(f"--{name} {path}: there is no folder {path.parent}")
    if run is not None:
        gating.refuse_self_comparison(run)
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
    measured: bool | None = None,
) -> Gate:
    """Makes the gate from flags; what they do not set comes from krino.toml."""
    from krino.api.recorded_run import make_gate
    from krino.cli.settings import load_settings
    from krino.results.explanations import DEFAULT_WORST
    from krino.stats.confidence_intervals import FEW

    settings = load_settings()
    stored = _check_types(settings.gate, f"{settings.path}: [gate]")
    rules = _merge_rules(flags, stored, f"{settings.path}: [gate")
    if base is None and settings.path is not None and "not_worse_than" in stored:
        base = settings.path.parent / stored["not_worse_than"]  # relative to the file, which may be in a folder above
    return make_gate(
        rules,
        base,
        by=by if by is not None else stored.get("by"),
        point=bool(stored.get("point")) if point is None else point,
        few=few or stored.get("few", FEW),
        worst=stored.get("worst", DEFAULT_WORST) if worst is None else worst,
        measured=bool(stored.get("measured")) if measured is None else measured,
    )


def _merge_rules(flags: Mapping[str, RuleList], stored: Mapping[str, Any], where: str) -> list[Rule]:
    """Merges the rules of flags with those of the settings file; a flag wins."""
    from krino.results.gates.rules import KINDS, merge_rules, parse_flags, parse_table, parse_warnings

    from_file = [rule for kind in KINDS for rule in parse_table(kind, stored.get(kind, {}), f"{where}.{kind}]")]
    from_flags = [rule for kind in KINDS for rule in parse_flags(kind, flags.get(kind) or [])]
    from_file += parse_warnings(stored.get("warn", []), f"{where}] warn:")
    from_flags += parse_warnings(flags.get("warn") or [], "--warn")
    return merge_rules(from_file, from_flags)


def _check_types(section: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """Returns this section of krino.toml unchanged; raises `UsageProblem` if a value has the wrong type."""
    kinds: dict[str, tuple[type, str]] = {name: (dict, f"a table, as [gate.{name}]") for name in TABLES}
    kinds |= {"not_worse_than": (str, "the folder of a run"), "by": (str, 'columns, as "court,language"')}
    kinds |= dict.fromkeys(("few", "worst"), (int, "a whole number of cases")) | dict.fromkeys(
        ("point", "measured"), (bool, "true or false")
    )
    kinds["warn"] = (list, 'a list of rules, as ["min faithfulness=0.9"]')
    for name, value in section.items():
        kind, words = kinds[name]
        if name == "warn" and not all(isinstance(rule, str) for rule in value):
            raise UsageProblem(f"{where}: `{name}` must be {words}")
        if type(value) is not kind or (name in _LEAST and section[name] < _LEAST[name]):
            raise UsageProblem(f"{where}: `{name}` must be {words}")
    return section
