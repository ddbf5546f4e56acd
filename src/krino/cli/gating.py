"""A gate as the command line states it: rules from flags and krino.toml, and the files that keep the result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from krino.engine.case import AnyJudge
    from krino.results.gates.gate import Gate
    from krino.results.gates.result import GateResult
    from krino.results.gates.rules import Rule

TABLES = ("min", "max", "may_fall", "may_rise")
FROM_FILE = frozenset({*TABLES, "not_worse_than", "by", "few", "point", "worst"})
"""Keys of [gate] in krino.toml."""
_LEAST = {"few": 1, "worst": 0}

RuleList = list[str] | None


@dataclass(frozen=True)
class Gating:
    """A gate, and where its result is written."""

    gate: Gate
    junit: Path | None = None
    markdown: Path | None = None

    def hold(self, folder: Path) -> GateResult:
        """Check a run, and write the files."""
        from krino.results.gates.gate import check_run
        from krino.writing import write_text, writing

        self.refuse_itself(folder)
        result = check_run(folder, self.gate)
        if self.junit is not None:
            from krino.render.junit import to_junit

            with writing(self.junit) as sink:
                sink.write(to_junit(result))
        if self.markdown is not None:
            from krino.render.gate import gate_blocks
            from krino.render.markdown import to_markdown

            write_text(self.markdown, to_markdown(gate_blocks(result)))
        return result

    def refuse_itself(self, folder: Path) -> None:
        """No run is worse than itself, so that such a rule would say nothing."""
        from krino.errors import UsageProblem

        if self.gate.base is not None and self.gate.base.resolve() == folder.resolve():
            raise UsageProblem(f"--not-worse-than {self.gate.base}: that is the run itself; name an earlier one")


def gating_of_judge(
    judge: AnyJudge,
    *,
    wanted: bool,
    flags: Mapping[str, RuleList],
    files: Mapping[str, Path | None],
    run: Path | None,
) -> Gating | None:
    """For `krino judge --gate`: whatever is wrong with the rules is said before anything is judged or paid."""
    from krino.errors import UsageProblem
    from krino.results.gates.validate import refuse_for
    from krino.runs.manifest import Manifest

    given = {name: path for name, path in files.items() if path is not None}
    if not wanted and not any(flags.values()):
        if given:
            raise UsageProblem(
                f"--{next(iter(given))} keeps what a gate finds: add --gate, or rules with --min and --max"
            )
        return None
    gating = Gating(read_gate(flags), **files)
    refuse_for(judge, gating.gate.rules)
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
    from krino.cli.settings import load_settings
    from krino.errors import UsageProblem
    from krino.results.gates.gate import Gate
    from krino.results.named_cases import WORST
    from krino.results.slices import parse_columns
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
        worst=stored.get("worst", WORST) if worst is None else worst,
        base=base,
    )


def _rules(flags: Mapping[str, RuleList], stored: Mapping[str, Any], where: str) -> list[Rule]:
    from krino.results.gates.rules import KINDS, joined, parse_flags, parse_table

    from_file = [rule for kind in KINDS for rule in parse_table(kind, stored.get(kind, {}), f"{where}.{kind}]")]
    return joined(from_file, [rule for kind in KINDS for rule in parse_flags(kind, flags.get(kind) or [])])


def _checked(section: Mapping[str, Any], where: str) -> Mapping[str, Any]:
    """What krino.toml says, each value of the kind that is meant."""
    from krino.errors import UsageProblem

    kinds: dict[str, tuple[type, str]] = {name: (dict, f"a table, as [gate.{name}]") for name in TABLES}
    kinds |= {"not_worse_than": (str, "the folder of a run"), "by": (str, 'columns, as "court,language"')}
    kinds |= dict.fromkeys(("few", "worst"), (int, "a whole number of cases")) | {"point": (bool, "true or false")}
    for name, value in section.items():
        kind, words = kinds[name]
        if type(value) is not kind or (name in _LEAST and section[name] < _LEAST[name]):
            raise UsageProblem(f"{where}: `{name}` must be {words}")
    return section
