"""An agreement begins with a sentence that needs no statistics, and it says no more than the cases show."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console

import krino
from krino.render.agreement import agreement_blocks
from krino.render.markdown import to_markdown
from krino.render.terminal import show
from krino.results.agreement.result import Agreement, FieldAgreement
from made_judgements import HOSTILE, failed, ok

Rows = list[dict[str, Any]]


def noisy(truth: list[Any], right: float, seed: int, among: list[Any]) -> list[Any]:
    draw = random.Random(seed)
    return [value if draw.random() < right else draw.choice(among) for value in truth]


def made(size: int, judge: float, people: float, among: list[Any], raters: int = 2) -> tuple[Rows, Rows]:
    """Judgements and labels of a truth that each side gets right so often."""
    truth = [among[n % len(among)] for n in range(size)]
    said = noisy(truth, judge, 1, among)
    labels = [noisy(truth, people, 2 + rater, among) for rater in range(raters)]
    return [ok(n, score=value) for n, value in enumerate(said)], [
        {"id": f"case-{n}", **{f"score:r{rater}": labels[rater][n] for rater in range(raters)}} for n in range(size)
    ]


def held(judgements: Rows, labels: Rows, **options: Any) -> Agreement:
    return krino.agree(judgements, labels, **{"draws": 60, **options})


def one(judgements: Rows, labels: Rows, **options: Any) -> FieldAgreement:
    (found,) = held(judgements, labels, **options).fields
    return found


WORDS: list[Any] = ["good", "bad", "ugly"]
STEPS: list[Any] = [0.0, 0.5, 1.0]
NUMBERS: list[Any] = [n / 40 for n in range(41)]


@pytest.mark.parametrize("among", [WORDS, STEPS, NUMBERS])
@pytest.mark.parametrize(
    ("judge", "people", "standing"),
    [(0.4, 0.95, "less"), (0.99, 0.5, "more"), (0.9, 0.9, "about as much")],
)
def test_the_judge_is_held_beside_what_people_reach_among_themselves(
    among: list[Any], judge: float, people: float, standing: str
) -> None:
    found = one(*made(200, judge, people, among))
    assert found.standing == standing
    start, _, rest = found.headline.partition("(")
    assert start.strip() == f"The judge agrees with your raters {standing}"
    than = "as they" if standing == "about as much" else "than they"
    assert f") {than} agree with each other (0." in rest


def test_the_sentence_names_both_values_the_measure_and_the_cases() -> None:
    found = one(*made(400, 0.4, 0.95, WORDS))
    ours, theirs = found.figures["mean_kappa"].value, found.people["mean_kappa"].value
    assert found.headline == (
        f"The judge agrees with your raters less ({ours:.2f}) than they agree with each other ({theirs:.2f}) "
        "(Cohen's kappa over pairs; 1 is full agreement, 0 is chance; 400 cases)."
    )


@pytest.mark.parametrize(
    ("among", "measure"),
    [(WORDS, "Cohen's kappa"), (STEPS, "kappa with squared weights"), (NUMBERS, "Spearman's rank correlation")],
)
def test_the_measure_is_that_of_the_data(among: list[Any], measure: str) -> None:
    assert f"({measure} over pairs" in one(*made(100, 0.9, 0.9, among)).headline


def test_the_gap_is_drawn_on_the_same_cases_for_both() -> None:
    """Overlapping intervals are no proof of equality: a judge a little worse on every draw is worse."""
    found = one(*made(400, 0.8, 0.95, WORDS))
    ours, theirs, gap = (side["mean_kappa"] for side in (found.figures, found.people, found.gap))
    assert ours.value is not None and theirs.value is not None and gap.value is not None and gap.interval is not None
    assert gap.value == pytest.approx(ours.value - theirs.value)
    assert gap.interval[0] < gap.value < gap.interval[1] < 0


def test_about_as_much_says_how_much_room_the_cases_leave() -> None:
    small, large = (one(*made(size, 0.9, 0.9, WORDS)) for size in (40, 4_000))
    assert small.standing == large.standing == "about as much"
    assert " The difference lies between −0." in small.headline
    assert "and +0." in small.headline
    assert "The difference lies between" not in large.headline


@pytest.mark.parametrize(("size", "standing"), [(29, "too few"), (30, "less")])
def test_too_few_cases_are_said_to_be_too_few(size: int, standing: str) -> None:
    found = one(*made(size, 0.0, 1.0, WORDS))
    assert found.standing == standing
    if standing == "too few":
        assert found.headline.startswith(
            "Too few cases to tell (29, and 30 are needed). So far: The judge agrees with your raters at "
        )
        assert "they with each other at 1.00" in found.headline


def test_a_single_cluster_tells_nothing_however_many_its_cases() -> None:
    judgements, labels = made(60, 0.0, 1.0, WORDS)
    assert one(judgements, [{**row, "doc": "d"} for row in labels], cluster="doc").standing == "too few"


def test_one_rater_cannot_be_held_beside_another() -> None:
    found = one(*made(100, 0.9, 0.9, WORDS, raters=1))
    kappa, alike = found.figures["kappa"].value, found.figures["agreement"].value
    assert found.standing == "one rater" and alike is not None
    assert found.headline == (
        f"The judge says what people say in {100 * alike:.0f} % of 100 cases (kappa {kappa:.2f}; 0 is chance). "
        "With one label for each case, agreement among people is unknown."
    )


def test_one_rater_of_numbers_is_told_by_the_distance() -> None:
    found = one(*made(100, 0.9, 0.9, NUMBERS, raters=1))
    mae, rho = found.figures["mae"].value, found.figures["spearman"].value
    start = (
        f"Over 100 cases the judge is {mae:.3g} away from people on average (Spearman's rank correlation {rho:.2f})."
    )
    assert found.headline.startswith(start)


def test_one_rater_of_few_cases_is_told_to_be_few() -> None:
    assert " (9 are few: 30 are needed to rely on it)." in one(*made(9, 0.9, 0.9, STEPS, raters=1)).headline
    assert "few" not in one(*made(30, 0.9, 0.9, STEPS, raters=1)).headline


def test_a_crowd_is_told_by_what_the_judge_adds_to_it() -> None:
    found = one(*made(100, 0.0, 0.95, WORDS, raters=14))
    assert found.standing == "less"
    assert found.headline.startswith("With the judge as one more rater, people agree less (0.")
    assert " than without it (0." in found.headline and "Krippendorff's alpha" in found.headline


def test_where_everything_has_one_value_the_share_of_like_cases_speaks() -> None:
    found = one(
        [ok(n, score="good") for n in range(40)],
        [{"id": f"case-{n}", "score:a": "good", "score:b": "good"} for n in range(40)],
    )
    assert found.standing == "about as much"
    assert "about as much (1.00) as they agree with each other (1.00) (share of cases alike" in found.headline


def test_where_nothing_can_be_measured_that_is_said() -> None:
    nothing = one([ok(0, score=1.0, kind="a"), failed(1)], [{"id": "case-1", "score": 1.0}])
    assert (nothing.standing, nothing.headline) == (
        "nothing",
        "Nothing could be compared: no labelled case has a value of the judge in this field.",
    )


# --- all fields together ---------------------------------------------------------------------------


def two_fields() -> tuple[Rows, Rows]:
    """`kind` is worse than people, `score` as good."""
    kinds, scores = made(400, 0.3, 0.95, WORDS), made(400, 0.9, 0.9, WORDS)
    judgements = [
        ok(n, kind=kind["verdict"]["score"], score=score["verdict"]["score"])
        for n, (kind, score) in enumerate(zip(kinds[0], scores[0], strict=True))
    ]
    renamed = ({name.replace("score", "kind"): value for name, value in row.items()} for row in kinds[1])
    return judgements, [{**kind, **score} for kind, score in zip(renamed, scores[1], strict=True)]


def test_several_fields_are_counted_by_how_the_judge_stands() -> None:
    assert held(*two_fields()).headline == (
        "In 1 of 2 fields the judge agrees with your raters less than they agree with each other: kind. "
        "In 1 of 2 fields the judge agrees with your raters about as much as they agree with each other: score."
    )
    judgements, labels = two_fields()
    assert held(judgements[:9], labels[:9]).headline == (
        "In all 2 fields there are too few cases to compare the judge with your raters: kind, score."
    )


def test_of_one_field_its_own_sentence_speaks_for_all() -> None:
    found = held(*made(100, 0.9, 0.9, WORDS))
    assert found.headline == found.fields[0].headline


def test_cases_without_a_verdict_are_part_of_the_headline() -> None:
    judgements, labels = made(100, 0.9, 0.9, WORDS)
    found = held([*judgements[:98], failed(98), failed(99)], labels)
    assert found.headline.endswith(" No figure counts 2 labelled cases without a verdict.")


def test_a_run_without_verdicts_has_a_headline_too() -> None:
    found = held([failed(0)], [{"id": "case-0", "score": 1}])
    assert found.headline == "Nothing could be compared. No figure counts 1 labelled case without a verdict."


# --- where it disagrees, and why -------------------------------------------------------------------


def explained() -> tuple[Rows, Rows]:
    judgements = [ok(n, score=1.0, score_explanation=f"All of {n} hold.") for n in range(40)]
    labels = [{"id": f"case-{n}", "score:a": 0 if n in (7, 9) else 1, "score:b": 0 if n == 9 else 1} for n in range(40)]
    return judgements, labels


@pytest.mark.parametrize("form", ["list", "iterator", "objects"])
def test_the_worst_cases_have_the_judges_reason(form: str) -> None:
    judgements, labels = explained()
    given: Any = judgements
    if form == "iterator":
        given = iter(judgements)
    elif form == "objects":
        given = [krino.Judgement.model_validate(item) for item in judgements]
    (found,) = krino.agree(given, labels, draws=20).fields
    assert [(case.id, case.reason) for case in found.worst] == [
        ("case-9", "All of 9 hold."),
        ("case-7", "All of 7 hold."),
    ]


def test_where_no_worst_case_is_wanted_nothing_is_read_again() -> None:
    judgements, labels = explained()

    class Once:
        reads = 0

        def __iter__(self) -> Iterator[dict[str, Any]]:
            Once.reads += 1
            return iter(judgements)

    krino.agree(Once(), labels, worst=0, draws=20)
    assert Once.reads == 1


def printed(found: Agreement) -> str:
    out = io.StringIO()
    show(Console(file=out, width=200), agreement_blocks(found, "title"))
    return out.getvalue()


def test_the_sentence_comes_first_then_where_it_disagrees_then_the_coefficients() -> None:
    found = held(*two_fields())
    for text in (printed(found), to_markdown(agreement_blocks(found, "title"))):
        field = found.fields[0].headline[:40]
        places = [text.index(words) for words in ("In 1 of 2 fields", field, "Disagrees most", "Krippendorff")]
        assert places == sorted(places)


def test_of_one_field_the_sentence_stands_there_once() -> None:
    found = held(*explained())
    for text in (printed(found), to_markdown(agreement_blocks(found, "title"))):
        assert text.count("The judge agrees with your raters") == 1
        assert text.count("All of 9 hold.") == 1


def test_reasons_of_strangers_act_on_nothing() -> None:
    judgements, labels = explained()
    judgements[9]["verdict"]["score_explanation"] = HOSTILE
    found = held(judgements, labels)
    assert "\x1b" not in printed(found)
    assert "<script>" not in to_markdown(agreement_blocks(found, "title")).replace("\\<", "")
