"""A recorded run in Python: everything that the commands show about a run, as methods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any

from krino.api.exporting import ExportFormat, export_run
from krino.blocks import Block
from krino.cases.origin import Format
from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.exports.frame import FrameKind, frame
from krino.judges.registry import our_judge
from krino.people import FILE, FOLDER, find_runs_folder
from krino.render import html
from krino.render.agreement import agreement_blocks
from krino.render.comparison import comparison_blocks
from krino.render.report import write_report
from krino.render.summary import summary_blocks
from krino.render.terminal import to_text
from krino.results.agreement.agree import agree as compare_with_labels
from krino.results.agreement.labels import Labels, labels_from_rows, read_labels
from krino.results.agreement.result import Agreement as Agreement
from krino.results.comparison.compare import SHOWN
from krino.results.comparison.compare import compare as compare_folders
from krino.results.comparison.result import Comparison as Comparison
from krino.results.explanations import DEFAULT_WORST
from krino.results.formatting import format_count, format_outcomes, judge_name, run_labeller_name
from krino.results.gates.gate import Gate, check_run
from krino.results.gates.result import GateResult
from krino.results.gates.rules import LimitKind, Rule, parse_table, parse_warnings
from krino.results.slices import SliceTable, parse_columns, slice_by
from krino.results.summary import Summary, collect
from krino.results.worst_cases import WorstCases, rank_worst
from krino.runs import stored_run
from krino.stats.bootstrap import DRAWS
from krino.stats.confidence_intervals import FEW
from krino.text.clean import clean_line

Rules = Mapping[str, float | str]
"""Limits: `{"faithfulness": 0.8, "failed": "1%"}`, as `--min` and `--max` take them."""
AnyRun = str | PathLike[str] | stored_run.StoredRun
Rows = list[dict[str, Any]]
Labelled = str | PathLike[str] | Labels | Iterable[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Run(stored_run.StoredRun):
    """A run on disk, finished or not. Iterate over its judgements, or look one up by its case's id."""

    gated: GateResult | None = None
    """The result of the gate that was given to `krino.run`."""

    def summary(self) -> Summary:
        """Counts, scores with intervals, labels, findings and cost."""
        return collect(self.records(), schema=self.manifest.about.fields_schema).summary

    def slices(self, by: str) -> list[SliceTable]:
        """The outcome by columns of metadata: `court,language`, or `court*language` for both together."""
        return slice_by(self.records(), parse_columns(by), self.manifest.about.fields_schema)

    def worst(self, most: int = DEFAULT_WORST, by: str | None = None) -> WorstCases[Judgement]:
        """The worst cases, and those that were not judged. `by`: `faithfulness`, `seconds:high` or `match:exact`."""
        found = rank_worst(self.judged().records, most, by, self.manifest.about.fields_schema)
        judged: list[Judgement] = [Judgement.model_validate(record) for record in found.judged]
        not_judged: list[Judgement] = [Judgement.model_validate(record) for record in found.not_judged]
        return WorstCases(found.order, judged, found.ranked, found.nulls, not_judged, found.all_not_judged)

    def frame(self, kind: FrameKind = "pandas") -> Any:
        """One row per case, as a data frame of pandas, polars or Arrow."""
        return frame(self, kind)

    def report(self) -> Path:
        """Writes `report.html` again, without the cases: only the original report of a run shows them."""
        return write_report(self.folder, self.manifest, self.records(), our_judge(self.manifest.plan.judge["name"]))

    def agree(self, labels: Labelled, **settings: Any) -> Agreement:
        """Compares the run with people's labels: rows, a file, or a workbench; `settings` as in `krino.agree`."""
        return agree(self.folder, labels, **settings)

    def compare(self, other: AnyRun, *, shown: int = SHOWN, cluster: str | None = None) -> Comparison:
        """Compares this run with `other`, case by case: differences are this one minus the other."""
        return compare(other, self, shown=shown, cluster=cluster)

    def gate(self, gate: Gate | None = None, **rules: Any) -> GateResult:
        """Checks the run against rules: a `Gate`, or the arguments of `krino.gate_rules`."""
        if gate is not None and rules:
            raise UsageProblem("gate: give a Gate, or the rules, not both")
        return check_run(self.folder, gate or gate_rules(**rules))

    def export(
        self,
        file: str | PathLike[str],
        to: ExportFormat | None = None,
        *,
        every_column: bool = False,
        inputs: Sequence[str] | None = None,
    ) -> Path:
        """Writes the run for other tools; `to`: csv, xlsx, parquet, jsonl (by default the ending of the name) or otel.

        `every_column`: in CSV and Excel, also those for machines. `inputs`: for otel, the files that the run was made
        of, so that events point at the traces that its cases name.
        """
        return export_run(self, Path(file), to, every_column=every_column, inputs=inputs)

    def blocks(self) -> Iterator[Block]:
        """The summary as blocks, for renderers."""
        return summary_blocks(self.summary(), self.manifest, self.folder)

    def _repr_html_(self) -> str:
        return html.to_notebook_html(self.blocks())

    def __str__(self) -> str:
        """One line; `summary()` says more."""
        manifest = self.manifest
        who = f"{judge_name(manifest)} ({run_labeller_name(manifest)})"
        counts = manifest.counts
        return clean_line(
            f"{self.folder}: {who}, {manifest.state}, {format_count(counts.total)}: {format_outcomes(counts)}"
        )

    def __repr__(self) -> str:
        return f"<Run {self}>"


def load_run(folder: AnyRun) -> Run:
    """Loads a run from the folder that `krino.run` or `krino judge` wrote."""
    if isinstance(folder, Run):
        return folder
    found = folder if isinstance(folder, stored_run.StoredRun) else stored_run.load_stored_run(folder)
    return Run(found.folder, found.manifest)


_AGREEMENT = "Agreement with people"
Agreement.draw_with(
    to_text=lambda found: to_text(agreement_blocks(found, _AGREEMENT, short=True)),
    to_html=lambda found: html.to_notebook_html(agreement_blocks(found, _AGREEMENT)),
)
Comparison.draw_with(
    to_text=lambda found: to_text(comparison_blocks(found)),
    to_html=lambda found: html.to_notebook_html(comparison_blocks(found)),
)


def is_workbench(labels: object) -> bool:
    """Are the labels a workbench (its folder, SQLite file or database address) and not another file?"""
    if not isinstance(labels, str | PathLike):
        return False
    path = Path(labels)
    return "://" in str(labels) or path.suffix == ".sqlite" or (find_runs_folder(path) / FOLDER / FILE).is_file()


def labels_from(workbench: str | PathLike[str], run: str | PathLike[str], depth: str = "both") -> Rows:
    """Returns people's labels of the cases of a run from a workbench, one row per case and rater; raises `UsageProblem`
    if the packages for it are missing."""
    try:
        from krino.people.rows import drop_provenance, load_rows
    except ModuleNotFoundError as missing:
        raise UsageProblem(f"labels of a workbench need {missing.name}: pip install 'krino[web]'") from None
    return drop_provenance(load_rows(workbench, stored_run.load_stored_run(run), depth))


def agree(
    judgements: AnyRun | Iterable[Judgement | Mapping[str, Any]],
    labels: Labelled,
    *,
    fields: Collection[str] | None = None,
    confidence: Mapping[str, str] | None = None,
    cluster: str | None = None,
    worst: int = DEFAULT_WORST,
    values: Mapping[str, Any] | None = None,
    draws: int = DRAWS,
    seed: int = 0,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
) -> Agreement:
    """Measures how far judgements (or a run) agree with people's labels: rows, a file of them, or a workbench.

    A workbench is named by its folder of runs, its `labels.sqlite` or the address of its database; for a run only.
    `fields`: only these. `confidence`: the field that each confidence is about, if the names do not show it. `cluster`:
    a column of the labels or metadata whose cases the bootstrap draws together. `values`: values for words of the
    labels, as {"good": 1, "bad": 0}, or for one field {"faithfulness": {"good": 1, "bad": 0}}. `format`, `mapping`: as
    `--format` and `--map`, for labels in a file or in rows (mappings, models, dataclasses, or a table of pandas, Polars
    or Arrow). Judgements are read twice, the second time for reasons, so an iterator is kept in memory.
    """
    given = judgements.folder if isinstance(judgements, stored_run.StoredRun) else judgements
    if is_workbench(labels):
        if not isinstance(given, str | PathLike):
            raise UsageProblem("labels of a workbench belong to a run: give the run, not its judgements")
        labels = labels_from(labels, given)  # type: ignore[arg-type]
    elif isinstance(labels, str | PathLike):
        labels = read_labels(labels, format=format, mapping=mapping)
    elif not isinstance(labels, Labels):
        labels = labels_from_rows(labels, mapping)
    return compare_with_labels(
        given,
        labels,
        fields=fields,
        confidence=confidence,
        cluster=cluster,
        worst=worst,
        values=values,
        draws=draws,
        seed=seed,
    )


def compare(a: AnyRun, b: AnyRun, *, shown: int = SHOWN, cluster: str | None = None) -> Comparison:
    """Compares run B with run A, case by case, matched by id: differences are B minus A.

    `shown`: ids named for each kind of change. `cluster`: a column of metadata whose cases belong together.
    """
    return compare_folders(load_run(a).folder, load_run(b).folder, shown=shown, cluster=cluster)


def gate_rules(
    *,
    min: Rules | None = None,  # noqa: A002 - as the flags are called
    max: Rules | None = None,  # noqa: A002
    may_fall: Rules | None = None,
    may_rise: Rules | None = None,
    not_worse_than: AnyRun | None = None,
    by: str | None = None,
    point: bool = False,
    few: int = FEW,
    worst: int = DEFAULT_WORST,
    warn: Sequence[str] = (),
    measured: bool = False,
    labels: str | PathLike[str] | Iterable[Mapping[str, Any]] | None = None,
) -> Gate:
    """Makes rules for `krino.run(gate=...)` and `Run.gate`, as `krino gate` takes them.

    `min={"faithfulness": 0.8, "pass": "90%"}`, `max={"failed": "1%", "errors:X": "2%"}`; `may_fall` and `may_rise` say
    how much less or more than in `not_worse_than`, another run over the same cases. `by`: in every slice too. `point`:
    compare the value itself with the limit, not the worse end of its interval. `few`: slices with fewer cases are
    shown, not gated. `worst`: cases named for each broken rule. `warn`: rules that only warn, as
    `["min faithfulness=0.9"]`. `measured`: refuse a judge without a measured agreement with people (`krino.align`).
    `labels`: rows or a file of labels; rules must hold for the true rates (`krino.true_rate`).
    """
    tables: dict[LimitKind, Rules | None] = {"min": min, "max": max, "may_fall": may_fall, "may_rise": may_rise}
    rules = [rule for kind, table in tables.items() for rule in parse_table(kind, table or {}, kind)]
    rules += parse_warnings(warn, "warn")
    base = None if not_worse_than is None else load_run(not_worse_than).folder
    gate = make_gate(rules, base, by=by, point=point, few=few, worst=worst, measured=measured)
    if labels is None:
        return gate
    given = read_labels(labels) if isinstance(labels, str | PathLike) else labels_from_rows(labels)
    return replace(gate, labels=given)


def make_gate(
    rules: Sequence[Rule],
    base: Path | None,
    *,
    by: str | None,
    point: bool,
    few: int,
    worst: int,
    measured: bool = False,
) -> Gate:
    """Makes a gate; raises `UsageProblem` for rules about changes without a run to compare with, and the reverse."""
    paired = any(rule.compares_runs for rule in rules)
    if base is None and paired:
        raise UsageProblem(
            "--may-fall, --may-rise and FIELD:OLD:to:NEW compare with another run: name it with --not-worse-than RUN"
        )
    if base is not None and not paired:
        raise UsageProblem(
            f"--not-worse-than {base}: say what may change and by how much, as --may-fall faithfulness=0.02"
        )
    columns = parse_columns(by)
    return Gate(rules=rules, by=columns, point=point, few=few, worst=worst, base=base, measured=measured)
