"""Shows the agreement of a run with people: a sentence first, then the largest disagreements, then the figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krino import blocks as b
from krino.results.agreement.result import (
    Agreement,
    CalibrationResult,
    ClassAgreement,
    Confusion,
    Disagreement,
    FieldAgreement,
    Figure,
)
from krino.results.formatting import format_interval, format_number, join_first
from krino.stats.confidence_intervals import FEW
from krino.text.clean import clean_line

_KINDS = {"category": "classes", "order": "classes in order", "scale": "steps of a scale", "number": "numbers"}
_FIGURES = {
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
"""Names of figures, in display order."""
_MOST_CLASSES = 12  # a larger matrix is unreadable
_SHOWN_LABELS = 6
_SHOWN_SKIPPED = 12
_SHOWN_RATERS = 6
_FEW_CLUSTERS = 20
_SHOWN_MISSING = 6
_LONGEST_LINE = 200
_LONGEST_IN_OVERVIEW = 150
_MORE_DETAIL = (
    "--all shows every figure, --field FIELD those of one field, --markdown FILE writes all, --json gives it as data."
)
_MAIN = {"category": "kappa", "order": "kappa_quadratic", "scale": "kappa_quadratic", "number": "spearman"}
"""By kind of field: the figure that a screen shows of each."""
_ON_SCREEN = 6
"""Rows of worst cases and words on a screen."""
_FIELDS_ON_SCREEN = 20


def agreement_blocks(agreement: Agreement, title: str, *, short: bool = False) -> Iterator[b.Block]:
    """Yields the agreement as blocks.

    `short`: for a screen. Of several fields one line each; of a single one its figures and worst cases.
    """
    yield b.Heading(title)
    yield b.Paragraph(agreement.headline, strong=True)
    counts = agreement.counts
    parts = [b.Part("judged", counts.judged, "good"), b.Part("failed", counts.failed, "warn")]
    yield b.Parts("labelled", [*parts, b.Part("error", counts.error, "bad")])
    yield from (b.Paragraph(line, tone="warn") for line in _warn_unmatched(agreement))
    if short and len(agreement.fields) > 1:
        yield from _show_overview(agreement)
    else:
        for field in agreement.fields:
            yield from _show_field(field, alone=len(agreement.fields) == 1, short=short)
        for calibration in agreement.calibration:
            yield from _show_calibration(calibration)
    yield from (b.Paragraph(line, small=True) for line in _list_footnotes(agreement))
    if short:
        yield b.Paragraph(_MORE_DETAIL, tone="plain")


def _show_overview(agreement: Agreement) -> Iterator[b.Block]:
    """Yields every field in one line, the cases that differ most, the words of the first field of lists, and
    calibration errors."""
    fields = agreement.fields[:_FIELDS_ON_SCREEN]
    with_people = any(field.people for field in fields)
    heads = ("Field", "n", "figure", "value", "95 % interval", *(["people"] if with_people else []), "differs in")
    rows: list[Sequence[b.Value]] = []
    for field in fields:
        name = _MAIN[field.kind]
        ours, theirs = field.figures.get(name), field.people.get(name)
        shown = ("–", "–") if ours is None else (_figure_text(ours), format_interval(ours.interval))
        beside = [("" if theirs is None else _figure_text(theirs))] if with_people else []
        differs = f"{field.disagreeing:,} of {field.counts.compared:,}"
        value = b.Cell(shown[0], strong=True)
        rows.append((field.field, f"{field.counts.compared:,}", _FIGURES[name], value, shown[1], *beside, differs))
    yield b.DataTable("", heads, rows, figures=(1, 3, 4))
    if hidden := len(agreement.fields) - len(fields):
        yield b.Paragraph(f"and {hidden:,} more fields", small=True)
    lists = [field for field in fields if field.words]
    for field in lists[:1]:
        yield _make_word_table(field, _ON_SCREEN)
    if worst := _list_worst(fields):
        yield b.BulletList("Disagrees most", worst)
    for calibration in agreement.calibration:
        error = calibration.error
        yield b.Paragraph(
            f"{calibration.field} against {calibration.of}: expected calibration error {_figure_text(error)} "
            f"({format_interval(error.interval)}).",
            small=True,
        )


def _list_worst(fields: Sequence[FieldAgreement]) -> list[str]:
    """Returns the worst case of each field, in one line each."""
    items = []
    for field in [field for field in fields if field.worst][:_ON_SCREEN]:
        case = field.worst[0]
        text = f"{field.field}: {case.id}: judge {case.judge}; {_format_labels(case)}. {case.reason}"
        items.append(clean_line(text, _LONGEST_IN_OVERVIEW))
    return items


def _show_field(field: FieldAgreement, *, alone: bool, short: bool) -> Iterator[b.Block]:
    """Yields the blocks of one field. `alone`: the only field, whose headline has just been shown."""
    yield b.Heading(field.field, note=f"{_KINDS[field.kind]}, {_describe_raters(field)}", level=3)
    if not alone:
        yield b.Paragraph(field.headline, strong=True)
    if field.worst:
        yield _make_worst_list(field, len(field.worst)) if short else _make_worst_table(field)
    yield b.Paragraph(f"{_describe_counts(field)}.", "warn" if field.counts.without_verdict else "plain")
    if field.figures:
        yield b.Paragraph(_describe_basis(field), small=True)
        yield _make_figure_table(field)
    if field.words:
        yield _make_word_table(field, _ON_SCREEN if short else 0)
    elif field.classes:
        yield _make_class_table(field.classes, "Class", "", _ON_SCREEN if short else 0)
    if field.confusion is not None and len(field.confusion.values) <= _MOST_CLASSES and not short:
        yield _make_confusion_table(field.confusion)
    if notes := [*_explain_missing(field), *(f"{note}." for note in field.notes)]:
        yield b.BulletList("", notes)


def _make_word_table(field: FieldAgreement, most: int) -> b.DataTable:
    """Returns a table of the words of a field of lists, those with the lowest F1 first."""
    ranked = sorted(field.words, key=lambda item: -1.0 if item.f1.value is None else item.f1.value)
    return _make_class_table(ranked, "Code", f"Each code of {field.field} by itself", most)


def _list_figures(field: FieldAgreement) -> Iterator[tuple[str, Figure, Figure | None]]:
    """Yields name, figure of the judge, and figure of people among themselves."""
    for name, words in _FIGURES.items():
        if name in field.figures:
            yield words, field.figures[name], field.people.get(name)


def _make_figure_table(field: FieldAgreement) -> b.DataTable:
    """Returns the table of a field's figures, with those of people beside them if there are any."""
    heads = ("Judge and people", "n", "value", "95 % interval", "people", "95 % interval")
    rows: list[Sequence[b.Value]] = []
    for words, ours, theirs in _list_figures(field):
        beside = ("", "") if theirs is None else (_figure_text(theirs), format_interval(theirs.interval))
        rows.append(
            (words, f"{ours.n:,}", b.Cell(_figure_text(ours), strong=True), format_interval(ours.interval), *beside)
        )
    width = 6 if field.people else 4
    return b.DataTable("", heads[:width], [row[:width] for row in rows], figures=range(1, width))


def _make_class_table(items: Sequence[ClassAgreement], what: str, title: str, most: int) -> b.DataTable:
    """Returns a table of precision, recall and F1 of each class. `most`: rows that are shown; 0 shows all."""
    heads = (what, "people", "judge", "precision", "recall", "F1", "interval of F1")
    rows = [
        (
            item.value,
            f"{item.people:,}",
            f"{item.judge:,}",
            *(_figure_text(each) for each in (item.precision, item.recall, item.f1)),
            format_interval(item.f1.interval),
        )
        for item in items[: most or len(items)]
    ]
    if rest := len(items) - len(rows):
        rows.append((f"and {rest:,} more", *[""] * 6))
    return b.DataTable(title, heads, rows, figures=range(1, 7))


def _make_confusion_table(found: Confusion) -> b.DataTable:
    """Returns the table of how often the judge said each class where people said each."""
    rows: list[Sequence[b.Value]] = [
        (
            value,
            *(
                b.Cell(f"{count:,}", "good" if row == column else "bad" if count else "plain")
                for column, count in enumerate(counts)
            ),
        )
        for row, (value, counts) in enumerate(zip(found.values, found.counts, strict=True))
    ]
    heads = ("People say ↓ judge says →", *found.values)
    return b.DataTable("", heads, rows, figures=range(1, len(heads)))


def _make_worst_table(field: FieldAgreement) -> b.DataTable:
    """Returns the table of the cases where judge and people differ most."""
    rows: list[Sequence[b.Value]] = []
    for case in field.worst:
        distance, people = format_number(case.distance), _format_labels(case)
        rows.append((b.Cell(case.id, case=case.id), distance, case.judge, people, case.reason))
    if more := field.disagreeing - len(field.worst):
        rows.append((b.Cell(f"and {more:,} more", "plain"), "", "", "", ""))
    return b.DataTable("", ("Disagrees most", "apart", "judge", "people", "why the judge says so"), rows, figures=(1,))


def _make_worst_list(field: FieldAgreement, most: int) -> b.BulletList:
    """Returns the worst cases as a list, one or two lines each: a table would squeeze the reasons into a narrow
    column."""
    items = []
    for case in field.worst[:most]:
        people = _format_labels(case)
        apart = f"{format_number(case.distance)} apart"
        items.append(clean_line(f"{case.id} ({apart}): judge {case.judge}; {people}. {case.reason}", _LONGEST_LINE))
    more = f", {len(items):,} of {field.disagreeing:,}" if field.disagreeing > len(items) else ""
    return b.BulletList(f"Disagrees most{more}", items)


def _format_labels(case: Disagreement) -> str:
    labels = (f"{rater}: {label}" for rater, label in case.people.items())
    return join_first(labels, _SHOWN_LABELS, len(case.people))


def _show_calibration(found: CalibrationResult) -> Iterator[b.Block]:
    """Yields the calibration of a confidence: sentence, error and reliability diagram."""
    yield b.Heading(found.field, note="a confidence", level=3)
    yield b.Paragraph(
        f"How sure the judge says it is (`{found.field}`), against how often its `{found.of}` is what the majority of "
        f"people say: {found.error.n:,} cases.",
        small=True,
    )
    yield b.Paragraph(
        f"expected calibration error {_figure_text(found.error)} ({format_interval(found.error.interval)}).",
        strong=True,
    )
    bins = [
        b.ReliabilityBin(item.low, item.high, item.n, item.confidence, item.right)
        for item in found.bins
        if item.confidence is not None and item.right is not None
    ]
    yield b.Reliability("", bins)
    if found.notes:
        yield b.BulletList("", [f"{note}." for note in found.notes])


def _figure_text(item: Figure) -> str:
    return "–" if item.value is None else format_number(item.value)


def _describe_raters(field: FieldAgreement) -> str:
    """Says who labelled a field."""
    if len(field.raters) == 1:
        return f"one label a case ({field.raters[0]})"
    shown = join_first(field.raters, _SHOWN_RATERS, len(field.raters))
    return f"{len(field.raters)} raters ({shown})"


def _describe_counts(field: FieldAgreement) -> str:
    """Says how many cases were labelled, judged and compared."""
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


def _describe_basis(field: FieldAgreement) -> str:
    """Says what the judge is compared with: one label, or the majority or mean of the raters."""
    if len(field.raters) == 1:
        return "The judge against the label of each case."
    ties = f" (without the {field.counts.ties:,} where there is none)" if field.counts.ties else ""
    majority = f"the majority of the raters{ties}"
    basis = {
        "category": f"The judge against {majority}",
        "order": f"The judge against {majority}",
        "scale": f"Agreement, kappa and F1 against {majority}, correlations and errors against their mean",
        "number": "The judge against the mean of the raters",
    }[field.kind]
    rest = " By rater: the mean over pairs of judge and rater, beside it over pairs of raters." if field.people else ""
    return f"{basis}; Krippendorff's alpha treats the judge as one more rater.{rest}"


def _explain_missing(field: FieldAgreement) -> Iterator[str]:
    """Yields why figures have no value or no interval, each reason once."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for words, ours, theirs in _list_figures(field):
        for item, whose in ((ours, ""), (theirs, " among people")):
            if item is not None and item.why is not None:
                what = "value" if item.value is None else "interval"
                by_reason.setdefault((what, item.why), []).append(f"{words}{whose}")
    for (what, why), names in by_reason.items():
        more = f" and {len(names) - _SHOWN_MISSING} more" if len(names) > _SHOWN_MISSING else ""
        yield f"No {what} for {', '.join(names[:_SHOWN_MISSING])}{more}: {why}."


def _list_footnotes(agreement: Agreement) -> Iterator[str]:
    """Yields how intervals were computed, and what was not compared."""
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
        level = f"{agreement.level:.0%}".replace("%", " %")
        yield (
            f"Intervals: {level} of a percentile bootstrap, {many} draws of {drawn}; of shares of fewer than {FEW}, or "
            "where all are alike, Wilson's."
        )
    if skipped := agreement.skipped:
        shown = [f"{item.column} ({item.why})" for item in skipped[:_SHOWN_SKIPPED]]
        more = f" and {len(skipped) - _SHOWN_SKIPPED} more" if len(skipped) > _SHOWN_SKIPPED else ""
        yield f"Not compared: {', '.join(shown)}{more}."


def _warn_unmatched(agreement: Agreement) -> Iterator[str]:
    """Yields warnings about labels without a case, and cases without a label."""
    counts = agreement.counts
    if not agreement.fields:
        yield "no case of the run has a verdict: nothing can be compared"
    if counts.absent:
        yield f"labelled, but not in the run: {counts.absent:,} (as {', '.join(agreement.absent_ids)})"
    if counts.unlabelled:
        yield f"in the run, but not labelled: {counts.unlabelled:,}"
