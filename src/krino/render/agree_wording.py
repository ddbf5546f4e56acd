"""Words that the reports on agreement share: names of figures, what was compared, where cases went."""

from __future__ import annotations

from collections.abc import Iterator

from krino.results.agreement.result import Agreement, CalibrationResult, FieldAgreement, Figure
from krino.results.wording import figure

KINDS = {
    "category": "classes",
    "order": "classes in order",
    "scale": "steps of a scale",
    "number": "numbers",
}
FIGURES = {
    "agreement": "raw agreement",
    "kappa": "Cohen's kappa",
    "kappa_linear": "kappa, linear weights",
    "kappa_quadratic": "kappa, squared weights",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro F1",
    "spearman": "Spearman's rho",
    "pearson": "Pearson's r",
    "mae": "mean absolute error",
    "difference": "mean difference",
    "alpha_nominal": "Krippendorff, nominal",
    "alpha_ordinal": "Krippendorff, ordinal",
    "alpha_interval": "Krippendorff, interval",
    "mean_agreement": "raw agreement, by rater",
    "mean_kappa": "Cohen's kappa, by rater",
    "mean_kappa_quadratic": "squared kappa, by rater",
    "mean_spearman": "Spearman, by rater",
}
_SHOWN_SKIPPED = 12
_SHOWN_RATERS = 6
_FEW_CLUSTERS = 20


def figure_rows(field: FieldAgreement) -> Iterator[tuple[str, Figure, Figure | None]]:
    """Name, the judge against people, people among themselves; in the order of the table above."""
    for name, words in FIGURES.items():
        if name in field.figures:
            yield words, field.figures[name], field.people.get(name)


def value_text(item: Figure) -> str:
    return "–" if item.value is None else figure(item.value)


def heading(field: FieldAgreement) -> str:
    return f"{KINDS[field.kind]}, {_raters(field)}"


def _raters(field: FieldAgreement) -> str:
    if len(field.raters) == 1:
        return f"one label a case ({field.raters[0]})"
    shown = [*field.raters[:_SHOWN_RATERS], "…"] if len(field.raters) > _SHOWN_RATERS else list(field.raters)
    return f"{len(field.raters)} raters ({', '.join(shown)})"


def counts_text(field: FieldAgreement) -> str:
    counts = field.counts
    parts = [f"{counts.judged:,} judged", f"{counts.failed:,} failed", f"{counts.error:,} error"]
    if counts.absent:
        parts.append(f"{counts.absent:,} not in the run")
    text = f"{counts.labelled:,} labelled: {', '.join(parts)}; {counts.compared:,} compared"
    if counts.null_in_verdict:
        text += f"; {counts.null_in_verdict:,} judged null where people gave a value, not compared"
    if counts.null_in_labels:
        text += f"; {counts.null_in_labels:,} labelled null where the judge gave a value, not compared"
    return text


def basis_text(field: FieldAgreement) -> str:
    """Against what the figures hold the judge."""
    if len(field.raters) == 1:
        return "The judge against the label of each case."
    ties = f" (without the {field.counts.ties:,} where there is none)" if field.counts.ties else ""
    majority = f"the majority of the raters{ties}"
    held = {
        "category": f"The judge against {majority}",
        "order": f"The judge against {majority}",
        "scale": f"Agreement, kappa and F1 against {majority}, correlations and errors against their mean",
        "number": "The judge against the mean of the raters",
    }[field.kind]
    rest = " By rater: the mean over pairs of judge and rater, beside it over pairs of raters." if field.people else ""
    return f"{held}; Krippendorff's alpha takes the judge as one more rater.{rest}"


def reasons(field: FieldAgreement) -> Iterator[str]:
    """Why figures have no value or no interval, each reason once."""
    by_reason: dict[str, list[str]] = {}
    for words, ours, theirs in figure_rows(field):
        for item, whose in ((ours, ""), (theirs, " among people")):
            if item is not None and item.why is not None:
                what = f"{words}{whose}" if item.value is None else f"the interval of {words}{whose}"
                by_reason.setdefault(item.why, []).append(what)
    for why, names in by_reason.items():
        yield f"No value for {', '.join(names)}: {why}."


def calibration_text(item: CalibrationResult) -> str:
    return (
        f"How sure the judge says it is (`{item.field}`), against how often its `{item.of}` is what "
        f"the majority of people say: {item.error.n:,} cases"
    )


def footnotes(agreement: Agreement) -> Iterator[str]:
    draws = {field.draws for field in agreement.fields if field.draws}
    if draws:
        drawn = "cases"
        if (clusters := agreement.clusters) is not None:
            alone = f", {clusters.without:,} cases without one drawn alone" if clusters.without else ""
            few = "; so few make intervals too narrow" if clusters.count < _FEW_CLUSTERS else ""
            drawn = (
                f"clusters of `{clusters.column}` ({clusters.count:,} of them, from the {clusters.source}{alone}{few})"
            )
        many = " to ".join(f"{count:,}" for count in sorted(draws))
        yield f"Intervals: {agreement.level:.0%} of a percentile bootstrap, {many} draws of {drawn}.".replace("%", " %")
    if any(_without_width(item) for field in agreement.fields for item in field.figures.values()):
        yield "An interval without width means that no draw could differ, not that the figure is certain."
    if skipped := agreement.skipped:
        shown = [f"{item.column} ({item.why})" for item in skipped[:_SHOWN_SKIPPED]]
        more = f" and {len(skipped) - _SHOWN_SKIPPED} more" if len(skipped) > _SHOWN_SKIPPED else ""
        yield f"Not compared: {', '.join(shown)}{more}."


def _without_width(item: Figure) -> bool:
    return item.interval is not None and item.interval[0] == item.interval[1]


def rest_text(agreement: Agreement) -> Iterator[str]:
    """Labels without a case, and cases without a label."""
    counts = agreement.counts
    if not agreement.fields:
        yield "no case of the run has a verdict: nothing can be compared"
    if counts.absent:
        yield f"labelled, but not in the run: {counts.absent:,} (as {', '.join(agreement.absent_ids)})"
    if counts.unlabelled:
        yield f"in the run, but not labelled: {counts.unlabelled:,}"
