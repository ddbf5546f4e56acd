"""A run against people: the figures are the references', and no case gets lost without being counted."""

from __future__ import annotations

import random
from typing import Any

import krippendorff
import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import accuracy_score, cohen_kappa_score, f1_score, mean_absolute_error

import krino
from krino import UsageProblem
from krino.contract import Judgement
from krino.results.agreement import field_agreement
from krino.results.agreement.result import Agreement, FieldAgreement
from krino.stats.confidence_intervals import wilson_interval
from made_judgements import error, failed, ok

STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)


def held(judgements: list[dict[str, Any]], labels: list[dict[str, Any]], **options: Any) -> Agreement:
    return krino.agree(judgements, labels, **{"draws": 50, **options})


def one_field(judgements: list[dict[str, Any]], labels: list[dict[str, Any]], **options: Any) -> FieldAgreement:
    (found,) = held(judgements, labels, **options).fields
    return found


def matches(*values: Any) -> list[dict[str, Any]]:
    return [ok(number, match=value) for number, value in enumerate(values)]


def label(number: int, match: Any, **more: Any) -> dict[str, Any]:
    return {"id": f"case-{number}", "match": match, **more}


def value_of(found: FieldAgreement, name: str) -> float:
    value = found.figures[name].value
    assert value is not None
    return value


# --- the figures ------------------------------------------------------------------------------------------


def test_classes_against_one_rater_equal_the_references() -> None:
    rng = random.Random(3)
    judge = [rng.choice("abc") for _ in range(80)]
    people = [value if rng.random() < 0.7 else rng.choice("abc") for value in judge]
    found = one_field(matches(*judge), [label(number, value) for number, value in enumerate(people)])
    assert value_of(found, "agreement") == pytest.approx(accuracy_score(people, judge), abs=1e-9)
    assert value_of(found, "kappa") == pytest.approx(cohen_kappa_score(people, judge), abs=1e-9)
    assert value_of(found, "macro_f1") == pytest.approx(f1_score(people, judge, average="macro"), abs=1e-9)
    numbers = [[ord(value) for value in side] for side in (judge, people)]
    theirs = krippendorff.alpha(np.array(numbers), level_of_measurement="nominal")
    assert value_of(found, "alpha_nominal") == pytest.approx(theirs, abs=1e-9)
    assert found.people == {}


def test_scores_against_several_raters_equal_the_references() -> None:
    rng = random.Random(4)
    judge = [rng.choice(STEPS) for _ in range(60)]
    people = [[value if rng.random() < 0.6 else rng.choice(STEPS) for _ in range(3)] for value in judge]
    labels = [
        {"id": f"case-{number}", "score:a": row[0], "score:b": row[1], "score:c": row[2]}
        for number, row in enumerate(people)
    ]
    found = one_field([ok(number, score=value) for number, value in enumerate(judge)], labels)
    mean = np.array(people).mean(axis=1)
    assert found.kind == "scale"
    assert value_of(found, "spearman") == pytest.approx(stats.spearmanr(judge, mean).statistic, abs=1e-9)
    assert value_of(found, "mae") == pytest.approx(mean_absolute_error(mean, judge), abs=1e-9)
    together = np.column_stack([judge, people]).T
    for level in ("ordinal", "interval"):
        name = f"alpha_{level}"
        theirs = krippendorff.alpha(together, level_of_measurement=level)
        assert value_of(found, name) == pytest.approx(theirs, abs=1e-9)
        among = krippendorff.alpha(np.array(people).T, level_of_measurement=level)
        assert found.people[name].value == pytest.approx(among, abs=1e-9)


def test_people_beside_the_judge_are_means_over_pairs() -> None:
    rng = random.Random(5)
    columns = [[rng.randrange(3) for _ in range(40)] for _ in range(4)]
    judge, *people = columns
    labels = [
        label(number, str(column[number]), rater=rater)
        for rater, column in zip("xyz", people, strict=True)
        for number in range(40)
    ]
    found = one_field(matches(*map(str, judge)), labels)
    with_judge = np.mean([cohen_kappa_score(judge, column) for column in people])
    among = np.mean([cohen_kappa_score(people[a], people[b]) for a, b in ((0, 1), (0, 2), (1, 2))])
    assert found.raters == ("x", "y", "z")
    assert value_of(found, "mean_kappa") == pytest.approx(with_judge, abs=1e-9)
    assert found.people["mean_kappa"].value == pytest.approx(among, abs=1e-9)


def test_every_figure_has_an_interval_around_it_and_its_n() -> None:
    judge = ["a", "b"] * 30
    people = ["a", "b", "a", "b", "b", "a"] * 10
    found = one_field(matches(*judge), [label(number, value) for number, value in enumerate(people)], draws=200)
    for figure in found.figures.values():
        assert figure.n == 60
        assert figure.value is not None
        assert figure.interval is not None
        assert figure.interval[0] < figure.value < figure.interval[1]


def test_confusion_counts_people_in_rows_and_the_judge_in_columns() -> None:
    found = one_field(matches("a", "a", "b"), [label(0, "a"), label(1, "b"), label(2, "b")])
    assert found.confusion is not None
    assert found.confusion.values == ("a", "b")
    assert found.confusion.counts == ((1, 0), (1, 1))
    a, b = found.classes
    assert (a.people, a.judge, a.precision.value, a.recall.value) == (1, 2, 0.5, 1.0)
    assert (b.precision.n, b.recall.n, b.f1.n) == (1, 2, 2)


# --- figures that do not exist ----------------------------------------------------------------------------


def test_one_class_only_has_no_kappa_and_says_why() -> None:
    found = one_field(matches("a", "a"), [label(0, "a"), label(1, "a")])
    assert found.figures["agreement"].value == 1.0
    for name in ("kappa", "alpha_nominal"):
        assert found.figures[name].value is None
        assert "everything got the same value" in str(found.figures[name].why)
    assert found.figures["agreement"].interval == pytest.approx((0.342, 1.0), abs=1e-3)  # Wilson's of 2 in 2


@pytest.mark.parametrize("cases", [1, 2, 5, 40])
def test_no_number_of_cases_without_a_fault_makes_anything_certain(cases: int) -> None:
    said = ["a", "b"] * cases
    labels = [{**label(number, value), "rater": rater} for number, value in enumerate(said) for rater in ("x", "y")]
    found = one_field(matches(*said), labels)
    everything = [*found.figures.values(), *found.people.values(), *found.gap.values()]
    everything += [getattr(item, name) for item in found.classes for name in ("precision", "recall", "f1")]
    assert all(item.value is not None for item in everything)
    assert [item for item in everything if item.interval is None and not item.why] == []
    assert [item for item in everything if item.interval and item.interval[1] - item.interval[0] < 0.04] == []
    least = wilson_interval(2 * cases, 2 * cases)
    assert least and found.figures["agreement"].interval == found.figures["mean_agreement"].interval == least
    recall = found.classes[0].recall
    assert (recall.n, recall.interval) == (cases, wilson_interval(cases, cases))
    assert found.standing == ("about as much" if cases == 40 else "too few")


def test_below_ten_cases_no_interval_is_drawn_and_the_reason_is_told() -> None:
    found = one_field(matches(*"abaabbaba"), [label(number, value) for number, value in enumerate("abababaab")])
    assert found.figures["kappa"].interval is None
    assert found.figures["kappa"].why == "9 cases or clusters are too few, 10 are needed"
    agreed = found.figures["agreement"]
    assert agreed.value is not None
    assert agreed.interval == wilson_interval(agreed.value * 9, 9)


def test_a_judge_that_never_varies_has_no_rank_correlation_and_says_why() -> None:
    judged = [ok(number, score=0.5) for number in range(3)]
    found = one_field(judged, [{"id": f"case-{number}", "score": number / 2} for number in range(3)])
    assert found.figures["spearman"].value is None
    assert found.figures["spearman"].why == "one side never varies"
    assert found.figures["mae"].value == pytest.approx(1 / 3)


def test_a_class_that_one_side_never_says_has_no_precision_or_recall() -> None:
    found = one_field(matches("a", "a", "c"), [label(0, "a"), label(1, "b"), label(2, "a")])
    by_class = {item.value: item for item in found.classes}
    assert by_class["b"].precision.value is None
    assert by_class["b"].precision.why == "the judge never gives it"
    assert by_class["c"].recall.why == "people never give it"


def test_of_a_single_case_a_share_has_a_wide_interval_and_nothing_else_has_one() -> None:
    found = one_field(matches("a"), [label(0, "b")])
    assert found.figures["agreement"].value == 0.0
    assert found.figures["agreement"].interval == pytest.approx((0.0, 0.793), abs=1e-3)
    assert found.figures["kappa"].interval is None
    assert "a single case" in str(found.figures["kappa"].why)


# --- nothing is lost --------------------------------------------------------------------------------------


def test_labelled_cases_without_a_verdict_are_counted_in_every_field() -> None:
    judgements = [*matches("a", "b"), failed(2), error(3), ok(4, match="a")]
    found = held(judgements, [label(number, "a") for number in (0, 1, 2, 3, 77)])
    counts = found.counts
    assert (counts.labelled, counts.judged, counts.failed, counts.error) == (5, 2, 1, 1)
    assert (counts.absent, counts.unlabelled, counts.without_verdict) == (1, 1, 2)
    assert found.absent_ids == ("case-77",)
    (field,) = found.fields
    own = field.counts
    assert (own.labelled, own.judged, own.failed, own.error) == (5, 2, 1, 1)
    assert (own.absent, own.compared) == (1, 2)


def test_a_case_that_failed_counts_only_in_the_fields_that_are_labelled() -> None:
    judgements = [ok(0, match="a", kind="x"), failed(1)]
    labels = [{"id": "case-0", "match": "a", "kind": "x"}, {"id": "case-1", "match": "a"}]
    by_name = {field.field: field.counts for field in held(judgements, labels).fields}
    assert (by_name["match"].failed, by_name["kind"].failed) == (1, 0)


def test_a_run_in_which_everything_failed_still_counts() -> None:
    found = held([failed(0), error(1)], [label(0, "a"), label(1, "a")])
    assert found.fields == ()
    assert (found.counts.labelled, found.counts.without_verdict) == (2, 2)


def test_a_field_whose_labelled_cases_all_failed_is_shown_without_figures() -> None:
    found = one_field([failed(0), *matches("a", "b")[1:]], [label(0, "a")])
    assert found.figures == {}
    assert found.counts.failed == 1
    assert "nothing can be compared" in found.notes[0]


def test_ties_among_people_are_stated_and_still_count_in_alpha() -> None:
    labels = [label(n, v, rater=r) for n, r, v in ((0, "x", "a"), (0, "y", "b"), (1, "x", "a"), (1, "y", "a"))]
    found = one_field(matches("a", "b"), labels)
    assert found.counts.ties == 1
    assert found.figures["agreement"].n == 1
    assert found.figures["alpha_nominal"].n == 2


def test_null_against_a_number_is_counted_and_not_compared() -> None:
    judgements = [ok(0, score=None), ok(1, score=0.5), ok(2, score=1.0)]
    labels = [{"id": f"case-{number}", "score": value} for number, value in enumerate((1.0, None, 1.0))]
    found = one_field(judgements, labels)
    assert (found.counts.null_in_verdict, found.counts.null_in_labels, found.counts.compared) == (1, 1, 1)


def test_null_against_a_class_is_a_disagreement() -> None:
    found = one_field(matches(None, "a"), [label(0, "a"), label(1, None)])
    assert found.figures["agreement"].value == 0.0
    assert found.confusion is not None
    assert found.confusion.values == ("a", "null")


def test_columns_that_are_not_compared_are_named_with_the_reason() -> None:
    judgements = [ok(0, match="a", explanation="so it says in the second passage of the text given")]
    found = held(judgements, [label(0, "a", explanation="x", colour="red")])
    assert {(item.column, item.why) for item in found.skipped} == {
        ("colour", "no field of the verdict"),
        ("explanation", "it is free text"),
    }


# --- what disagrees most ----------------------------------------------------------------------------------


def test_the_worst_cases_come_first_and_those_with_more_raters_against_them_before() -> None:
    labels = [
        *(label(0, "b", rater=rater) for rater in "x"),
        *(label(1, "b", rater=rater) for rater in "xyz"),
        *(label(2, value, rater=rater) for rater, value in zip("xyz", "aab", strict=True)),
        label(3, "a", rater="x"),
    ]
    found = one_field(matches("a", "a", "a", "a"), labels)
    assert [case.id for case in found.worst] == ["case-1", "case-0", "case-2"]
    assert found.worst[0].people == {"x": "b", "y": "b", "z": "b"}
    assert found.worst[2].distance == pytest.approx(1 / 3)
    assert found.disagreeing == 3
    assert [case.id for case in one_field(matches("a", "a", "a", "a"), labels, worst=1).worst] == ["case-1"]


# --- clusters ---------------------------------------------------------------------------------------------


def clustered() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ten groups of twenty cases; a whole group agrees or does not."""
    judgements = [
        {**ok(number, match="a" if number % 2 else "b"), "metadata": {"court": number // 20}} for number in range(200)
    ]
    labels = []
    for number in range(200):
        right = (number // 20) % 2 == 0
        labels.append(label(number, ("a" if number % 2 else "b") if right else "c", author=f"author {number // 20}"))
    return judgements, labels


@pytest.mark.parametrize(("column", "source"), [("author", "labels"), ("court", "metadata")])
def test_cases_of_a_cluster_are_drawn_together_so_that_the_interval_is_honest(column: str, source: str) -> None:
    judgements, labels = clustered()
    alone = one_field(judgements, labels, draws=400).figures["agreement"]
    found = held(judgements, labels, cluster=column, draws=400)
    together = found.fields[0].figures["agreement"]
    assert found.clusters is not None
    assert (found.clusters.source, found.clusters.count, found.clusters.without) == (source, 10, 0)
    assert together.value == alone.value == 0.5
    assert alone.interval is not None
    assert together.interval is not None
    assert together.interval[1] - together.interval[0] > 3 * (alone.interval[1] - alone.interval[0])


def test_a_case_without_a_cluster_stands_for_itself_and_is_counted() -> None:
    labels = [label(0, "a", author="x"), label(1, "a", author="x"), label(2, "a")]
    found = held(matches("a", "a", "b"), labels, cluster="author")
    assert found.clusters is not None
    assert (found.clusters.count, found.clusters.without) == (2, 1)


def test_one_cluster_alone_gives_no_interval() -> None:
    labels = [label(number, "a", author="x") for number in range(3)]
    figure = held(matches("a", "a", "b"), labels, cluster="author").fields[0].figures["agreement"]
    assert figure.value is not None
    assert figure.interval is None


# --- confidences ------------------------------------------------------------------------------------------


def test_a_confidence_is_held_against_how_often_the_main_field_is_right() -> None:
    judgements = [ok(number, match="a", confidence=0.75) for number in range(4)]
    found = held(judgements, [label(number, "a" if number else "b") for number in range(4)])
    (calibration,) = found.calibration
    assert (calibration.field, calibration.of) == ("confidence", "match")
    assert calibration.error.value == 0.0
    (filled,) = [item for item in calibration.bins if item.n]
    assert (filled.n, filled.confidence, filled.right) == (4, 0.75, 0.75)


def test_the_name_of_a_confidence_tells_the_field_and_the_caller_may_overrule_it() -> None:
    judgements = [ok(number, kind="x", match="a", match_confidence=80, sure=1.0) for number in range(3)]
    labels = [label(number, "a", kind="y") for number in range(3)]
    (calibration,) = held(judgements, labels).calibration
    assert calibration.of == "match"
    assert calibration.error.value == pytest.approx(0.2)
    assert "per cent" in calibration.notes[0]
    chosen = held(judgements, labels, confidence={"sure": "kind", "match_confidence": "kind"}).calibration
    assert [(item.field, item.of) for item in chosen] == [("match_confidence", "kind"), ("sure", "kind")]
    assert [item.error.value for item in chosen] == pytest.approx([0.8, 1.0])


def test_what_is_no_probability_is_not_taken_for_one() -> None:
    found = held([ok(0, match="a", confidence=250), ok(1, match="a", confidence=1)], [label(0, "a"), label(1, "a")])
    assert found.calibration == ()
    assert "neither between 0 and 1" in found.skipped[0].why


# --- many raters ------------------------------------------------------------------------------------------


def test_a_crowd_of_raters_is_compared_by_alpha_without_making_pairs() -> None:
    rng = random.Random(6)
    labels = [
        label(number, rng.choice("ab"), rater=f"r{rng.randrange(8) * 5 + turn}")
        for number in range(60)
        for turn in range(4)
    ]
    found = one_field(matches(*(rng.choice("ab") for _ in range(60))), labels)
    assert len(found.raters) > 12
    assert "mean_kappa" not in found.figures
    assert found.people["alpha_nominal"].n == 60
    assert any("too many for pairs" in note for note in found.notes)


def test_names_of_things_are_compared_without_telling_them_apart() -> None:
    judge = [f"decision-{number}" for number in range(50)]
    found = one_field(matches(*judge), [label(number, value) for number, value in enumerate([*judge[:-1], "other"])])
    assert found.figures["agreement"].value == 0.98
    assert found.classes == ()
    assert found.confusion is None


def test_fine_numbers_are_rounded_for_the_draws_only(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    judge = [rng.random() for _ in range(1_000)]
    judgements = [ok(number, score=value) for number, value in enumerate(judge)]
    labels = [
        {"id": f"case-{number}", "rater": rater, "score": value + rng.gauss(0, 0.2)}
        for rater in "xy"
        for number, value in enumerate(judge)
    ]
    exact = one_field(judgements, labels)
    monkeypatch.setattr(field_agreement, "FINE", 100)
    rounded = one_field(judgements, labels)
    assert any("numbers are rounded to 1/1,000 of their range" in note for note in rounded.notes)
    for name, figure in exact.figures.items():
        assert rounded.figures[name].value == figure.value
        assert rounded.figures[name].interval != figure.interval
        assert rounded.figures[name].interval == pytest.approx(figure.interval, abs=1e-3)


def test_many_names_of_things_are_not_rounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(field_agreement, "FINE", 2)
    judge = [f"decision-{number}" for number in range(5)]
    found = one_field(matches(*judge), [label(number, value) for number, value in enumerate(judge)])
    assert found.figures["agreement"].value == 1.0


# --- what is refused --------------------------------------------------------------------------------------


def test_labels_of_other_cases_are_refused_with_ids_of_both_sides() -> None:
    with pytest.raises(UsageProblem, match=r"look like '1', '2', those of the run like 'case-0'"):
        held(matches("a"), [{"id": 1, "match": "a"}, {"id": 2, "match": "a"}])


def test_labels_of_no_field_are_refused_with_the_names_of_both_sides() -> None:
    with pytest.raises(UsageProblem, match=r"the labels have 'verdict', the verdict has 'match'; rename"):
        held(matches("a"), [{"id": "case-0", "verdict": "a"}])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"fields": ["nope"]}, "field 'nope': no such field in the verdict; there are 'match'"),
        ({"cluster": "court"}, "cluster 'court': neither the labels nor the metadata"),
        ({"confidence": {"nope": "match"}}, "confidence `nope`: no such field"),
        ({"confidence": {"match": "nope"}}, "that field is not compared as classes; there are 'match'"),
    ],
)
def test_options_that_name_what_is_not_there_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageProblem, match=words):
        held(matches("a", "b"), [label(0, "a"), label(1, "b")], **options)


def test_a_case_with_two_clusters_is_refused() -> None:
    labels = [label(0, "a", rater="x", author="p"), label(0, "a", rater="y", author="q")]
    with pytest.raises(UsageProblem, match="case 'case-0' has two values: 'p', 'q'"):
        held(matches("a"), labels, cluster="author")


def test_two_cases_of_the_run_with_one_labelled_id_are_refused() -> None:
    with pytest.raises(UsageProblem, match="two cases of the run have the id 'case-0'"):
        held([*matches("a"), {**matches("b")[0], "input_hash": "f" * 32}], [label(0, "a")])


def test_the_same_record_twice_is_one_case_to_a_label() -> None:
    found = held([*matches("a", "b"), matches("a")[0]], [label(0, "a"), label(1, "b")])
    assert found.fields[0].figures["agreement"].n == 2


def test_a_run_without_judgements_is_refused() -> None:
    with pytest.raises(UsageProblem, match="no judgements yet"):
        held([], [label(0, "a")])


# --- the interface ----------------------------------------------------------------------------------------


def test_only_the_fields_asked_for_are_compared() -> None:
    judgements = [ok(number, match="a", kind="x") for number in range(2)]
    labels = [label(number, "a", kind="y") for number in range(2)]
    assert one_field(judgements, labels, fields=["kind"]).field == "kind"


def test_judgements_may_be_objects_and_the_roll_up_is_a_field() -> None:
    judgement = Judgement.model_validate({**ok(0, match="a"), "roll_up": "pass"})
    found = krino.agree([judgement], [{"id": "case-0", "roll_up": "review"}], draws=10)
    assert (found.fields[0].field, found.fields[0].kind) == ("roll_up", "order")
    assert found.fields[0].worst[0].distance == 1.0


def test_the_same_seed_gives_the_same_result() -> None:
    judge, people = ["a", "b", "c"] * 20, ["a", "b", "b", "c"] * 15
    labels = [label(number, value) for number, value in enumerate(people)]
    first, again, other = (held(matches(*judge), labels, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.fields[0].figures["kappa"].interval != other.fields[0].figures["kappa"].interval
