"""Summarises agreement in a sentence, for readers who do not know kappa.

The judge is compared with the raters themselves: a judge that agrees with people as much as they agree with each other
does as well as can be expected. The measure depends on the data (classes: kappa, numbers: rank correlation). Whether
the two differ is decided by the interval of their difference, for which both sides share the same draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from krino.results.agreement.result import AgreementCounts, FieldAgreement, Figure, RelativeAgreement
from krino.results.formatting import format_count
from krino.stats.confidence_intervals import FEW

_BY_PAIRS = {
    "category": ("mean_kappa", "mean_agreement"),
    "order": ("mean_kappa_quadratic", "mean_agreement"),
    "scale": ("mean_kappa_quadratic", "mean_agreement"),
    "number": ("mean_spearman",),
}
_BY_ALPHA = ("alpha_nominal", "alpha_interval", "alpha_ordinal")
_MEASURES = {
    "mean_kappa": "Cohen's kappa over pairs; 1 is full agreement, 0 is chance",
    "mean_kappa_quadratic": "kappa with squared weights over pairs; 1 is full agreement, 0 is chance",
    "mean_agreement": "share of cases alike, over pairs",
    "mean_spearman": "Spearman's rank correlation over pairs; 1 is the same order, 0 is none",
    **dict.fromkeys(_BY_ALPHA, "Krippendorff's alpha; 1 is full agreement, 0 is chance"),
}
_NARROW = 0.1
"""A smaller difference does not matter; if it may be larger, the sentence gives its interval."""
_ORDER: tuple[RelativeAgreement, ...] = ("less", "about as much", "more", "too few", "one rater", "nothing")


def add_headline(field: FieldAgreement) -> FieldAgreement:
    """Returns the field with its standing and its sentence."""
    standing, sentence = _compare_with_people(field)
    return field.model_copy(update={"standing": standing, "headline": sentence})


def summarise_headlines(fields: Sequence[FieldAgreement], counts: AgreementCounts) -> str:
    """The sentence of a single field; for several, how many fields have which result."""
    sentences = [fields[0].headline] if len(fields) == 1 else list(_summarise_by_standing(fields))
    if not fields:
        sentences.append("Nothing could be compared.")
    if counts.without_verdict:
        cases = format_count(counts.without_verdict, "labelled case")
        sentences.append(f"No figure counts {cases} without a verdict.")
    return " ".join(sentences)


def _summarise_by_standing(fields: Sequence[FieldAgreement]) -> Iterator[str]:
    """Yields a sentence for each outcome, with the fields it holds for."""
    words = {
        "less": "the judge agrees with your raters less than they agree with each other",
        "about as much": "the judge agrees with your raters about as much as they agree with each other",
        "more": "the judge agrees with your raters more than they agree with each other",
        "too few": "there are too few cases to compare the judge with your raters",
        "one rater": "there is one rater, so that agreement among people is unknown",
        "nothing": "nothing could be compared",
    }
    for standing in _ORDER:
        names = [field.field for field in fields if field.standing == standing]
        if names:
            of = f"{len(names)} of {len(fields)} fields" if len(names) < len(fields) else f"all {len(fields)} fields"
            yield f"In {of} {words[standing]}: {', '.join(names)}."


# --- one field -----------------------------------------------------------------------------------


def _compare_with_people(field: FieldAgreement) -> tuple[RelativeAgreement, str]:
    """Returns how the judge agrees compared with people among themselves, and a sentence about it."""
    if not field.counts.compared:
        return "nothing", "Nothing could be compared: no labelled case has a value of the judge in this field."
    if not field.people:
        unknown = "With one label for each case, agreement among people is unknown."
        return "one rater", f"{_describe_single_rater(field)} {unknown}"
    name = _select_measure(field)
    if name is None:
        return "nothing", f"{_describe_single_rater(field)} Nothing else can be measured: hardly any value differs."
    return _describe_comparison(name, field.figures[name], field.people[name], field.gap[name])


def _select_measure(field: FieldAgreement) -> str | None:
    """The first measure for this kind of field with a value on both sides; None if there is none."""
    for name in (*_BY_PAIRS[field.kind], *_BY_ALPHA):
        ours, theirs = field.figures.get(name), field.people.get(name)
        if ours is not None and theirs is not None and None not in (ours.value, theirs.value):
            return name
    return None


def _describe_comparison(name: str, ours: Figure, theirs: Figure, gap: Figure) -> tuple[RelativeAgreement, str]:
    """Returns whether the judge agrees with people less than, about as much as, or more than they agree with each other
    (or that cases are too few), and a sentence about it."""
    judge, people = _two_decimals(ours), _two_decimals(theirs)
    measure = f"({_MEASURES[name]}; {format_count(gap.n)})"
    by_alpha = name in _BY_ALPHA  # with many raters, pairs are not compared
    agrees = "With the judge as one more rater, people agree" if by_alpha else "The judge agrees with your raters"
    beside = "without it" if by_alpha else "they agree with each other"
    if gap.n < FEW or (gap.interval is None and gap.value):
        other = "without it" if by_alpha else "they with each other"
        so_far = f"{agrees} at {judge}, {other} at {people}"
        return "too few", f"Too few cases to tell ({gap.n:,}, and {FEW} are needed). So far: {so_far} {measure}."
    low, high = gap.interval or (0.0, 0.0)  # no interval in spite of many cases: all draws were equal
    if low > 0 or high < 0:
        standing: RelativeAgreement = "more" if low > 0 else "less"
        return standing, f"{agrees} {standing} ({judge}) than {beside} ({people}) {measure}."
    wide = max(-low, high) > _NARROW
    room = f" The difference lies between {_signed(low)} and {_signed(high)} (95 % interval)." if wide else ""
    return "about as much", f"{agrees} about as much ({judge}) as {beside} ({people}) {measure}.{room}"


def _describe_single_rater(field: FieldAgreement) -> str:
    """A sentence that compares the judge with one label for each case, or with raters who all gave the same labels."""
    figures, n = field.figures, field.counts.compared
    few = f" ({n:,} {'is' if n == 1 else 'are'} few: {FEW} are needed to rely on it)" if n < FEW else ""
    if _has_value(figures.get("agreement")):
        kappa = "kappa" if field.kind == "category" else "kappa_quadratic"
        beyond = f" (kappa {_two_decimals(figures[kappa])}; 0 is chance)" if _has_value(figures.get(kappa)) else ""
        share = f"{100 * _value(figures['agreement']):.0f} %"
        return f"The judge says what people say in {share} of {format_count(n)}{beyond}{few}."
    order = (
        f" (Spearman's rank correlation {_two_decimals(figures['spearman'])})"
        if _has_value(figures.get("spearman"))
        else ""
    )
    return f"Over {format_count(n)} the judge is {_value(figures['mae']):.3g} away from people on average{order}{few}."


def _has_value(item: Figure | None) -> bool:
    return item is not None and item.value is not None


def _value(item: Figure) -> float:
    assert item.value is not None
    return item.value


def _two_decimals(item: Figure) -> str:
    return f"{_value(item):.2f}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:+.2f}".replace("-", "−")
