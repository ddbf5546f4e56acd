"""What a comparison of two runs says."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.contract import Usage
from krino.results.comparison.compare import compare
from krino.results.comparison.result import CodeChange, Comparison, NumberChange, OtherChange
from krino.stats.paired_tests import mcnemar_p
from made_runs import Row, error_row, failed_row, make_run, row, scores


def compared(tmp_path: Path, a: list[Row], b: list[Row], **settings: Any) -> Comparison:
    return compare(make_run(tmp_path / "a", a), make_run(tmp_path / "b", b), **settings)


def labelled(*labels: Any, **metadata: Any) -> list[Row]:
    return [row(f"c{place}", metadata=metadata, kind=label) for place, label in enumerate(labels)]


def number(comparison: Comparison, name: str = "score") -> NumberChange:
    (found,) = (item for item in comparison.fields if item.name == name)
    assert isinstance(found, NumberChange)
    return found


def codes(comparison: Comparison, name: str = "kind") -> CodeChange:
    (found,) = (item for item in comparison.fields if item.name == name)
    assert isinstance(found, CodeChange)
    return found


# --- scores ----------------------------------------------------------------------------------------


def test_a_score_has_both_means_and_the_paired_difference_with_its_interval(tmp_path: Path) -> None:
    rng = random.Random(1)
    before = [rng.random() for _ in range(200)]
    after = [value + 0.1 + rng.gauss(0, 0.05) for value in before]
    found = number(compared(tmp_path, scores(*before), scores(*after)))
    assert (found.n, found.left_out, found.says) == (200, 0, "higher")
    assert found.difference == pytest.approx(sum(after) / 200 - sum(before) / 200)
    assert found.interval is not None
    assert 0.08 < found.interval[0] < 0.1 < found.interval[1] < 0.12, "pairing takes the spread between cases out"


def test_where_the_interval_holds_zero_no_difference_is_shown(tmp_path: Path) -> None:
    rng = random.Random(2)
    found = number(compared(tmp_path, *(scores(*(rng.random() for _ in range(60))) for _ in range(2))))
    assert found.says == "no difference shown"


def test_the_same_scores_are_said_to_be_the_same(tmp_path: Path) -> None:
    assert number(compared(tmp_path, scores(0.1, 0.9), scores(0.1, 0.9))).says == "the same"


def test_one_case_is_too_few_to_tell(tmp_path: Path) -> None:
    found = number(compared(tmp_path, scores(0.1), scores(0.9)))
    assert (found.says, found.interval) == ("too few to tell", None)


def test_a_null_on_either_side_leaves_the_case_out_and_is_counted(tmp_path: Path) -> None:
    found = number(compared(tmp_path, scores(0.2, None, 0.4, None), scores(0.3, 0.5, None, None)))
    assert (found.n, found.left_out, found.a, found.b) == (1, 3, 0.2, 0.3)


def test_a_field_that_is_null_in_one_whole_run_has_nothing_to_compare(tmp_path: Path) -> None:
    found = number(compared(tmp_path, scores(0.2, 0.3), scores(None, None)))
    assert (found.n, found.difference, found.says) == (0, None, "too few to tell")


def test_the_largest_moves_are_named(tmp_path: Path) -> None:
    found = number(compared(tmp_path, scores(0.5, 0.5, 0.5, 0.5), scores(0.6, 0.1, 0.5, 0.7), shown=2))
    assert [mover.id for mover in found.movers] == ["c1", "c3"]
    assert (found.risen, found.fallen) == (2, 1)


def test_cases_of_a_cluster_are_drawn_together(tmp_path: Path) -> None:
    """One document, fifty questions: it is one observation, not fifty."""
    shifts = [0.3, -0.2, 0.25, 0.1]
    before = [row(f"c{n}", metadata={"doc": f"d{n % 4}"}, score=0.5) for n in range(200)]
    after = [row(f"c{n}", metadata={"doc": f"d{n % 4}"}, score=0.5 + shifts[n % 4]) for n in range(200)]
    alone = compared(tmp_path / "alone", before, after)
    clustered = compared(tmp_path / "clustered", before, after, cluster="doc")
    assert number(alone).says == "higher"
    assert (number(clustered).says, clustered.clusters) == ("too few to tell", 4)


def test_a_column_to_cluster_by_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match=r"--cluster doc: .* they have court"):
        compared(tmp_path, scores(0.1, court="x"), scores(0.1, court="x"), cluster="doc")


# --- labels ----------------------------------------------------------------------------------------


def test_flips_are_counted_both_ways_with_their_ids(tmp_path: Path) -> None:
    a = labelled("A", "A", "B", "A", "C", "C")
    b = labelled("B", "B", "A", "A", "C", "A")
    found = codes(compared(tmp_path, a, b, shown=1))
    assert [(flip.before, flip.after, flip.count, flip.ids) for flip in found.flips] == [
        ("A", "B", 2, ("c0",)),
        ("B", "A", 1, ("c2",)),
        ("C", "A", 1, ("c5",)),
    ]
    assert (found.n, found.changed) == (6, 4)
    assert {item.label: (item.a, item.b, item.lost, item.gained) for item in found.labels} == {
        "A": (3, 3, 2, 2),
        "B": (1, 2, 1, 2),
        "C": (2, 1, 1, 0),
    }


def test_a_yes_or_no_has_one_test_and_it_is_mcnemars(tmp_path: Path) -> None:
    a = labelled(*[True] * 20, *[False] * 30)
    b = labelled(*[True] * 18, *[False] * 2, *[True] * 12, *[False] * 18)
    (found,) = codes(compared(tmp_path, a, b)).labels
    assert (found.label, found.lost, found.gained, found.says) == ("true", 2, 12, "higher")
    assert found.p == pytest.approx(mcnemar_p(2, 12))


def test_of_the_roll_up_passing_is_tested_and_it_comes_first(tmp_path: Path) -> None:
    a = [row(f"c{n}", roll_up="pass" if n < 30 else "fail", score=1.0) for n in range(40)]
    b = [row(f"c{n}", roll_up="pass" if n < 20 else "review", score=1.0) for n in range(40)]
    comparison = compared(tmp_path, a, b)
    assert comparison.fields[0].name == "roll_up"
    (found,) = codes(comparison, "roll_up").labels
    assert (found.label, found.lost, found.gained, found.says) == ("pass", 10, 0, "lower")


def test_few_flips_show_no_difference_but_leave_room_for_one(tmp_path: Path) -> None:
    (found,) = codes(compared(tmp_path, labelled(*[True] * 50), labelled(*[True] * 48, False, False))).labels
    assert found.says == "no difference shown" and found.p == 0.5
    assert found.interval is not None and found.interval[0] < -0.1


def test_labels_of_a_field_are_tested_together(tmp_path: Path) -> None:
    """Seven flips of eight would be p = 0.07 alone; one of three labels it shows even less."""
    a = labelled(*["A"] * 7, "B", *["C"] * 12)
    b = labelled(*["B"] * 7, "A", *["C"] * 12)
    by_label = {item.label: item for item in codes(compared(tmp_path, a, b)).labels}
    assert by_label["A"].p == pytest.approx(3 * mcnemar_p(7, 1))
    assert by_label["C"].says == "the same" and by_label["C"].p == 1.0


def test_a_list_flips_as_a_set_and_holds_labels(tmp_path: Path) -> None:
    a = labelled(["X", "Y"], ["Y", "X"], [], ["Z"])
    b = labelled(["Y", "X"], ["X"], [], ["Z"])
    found = codes(compared(tmp_path, a, b))
    assert [(flip.before, flip.after) for flip in found.flips] == [("X, Y", "X")]
    assert {item.label: (item.a, item.b) for item in found.labels}["Y"] == (2, 1)


def test_null_is_a_value_that_can_flip(tmp_path: Path) -> None:
    found = codes(compared(tmp_path, labelled(None, "A", "A"), labelled("A", None, "A")))
    assert [(flip.before, flip.after) for flip in found.flips] == [("null", "A"), ("A", "null")]


def test_with_clusters_the_interval_decides_and_no_p_is_given(tmp_path: Path) -> None:
    """All flips lie in one of three documents."""
    a = [row(f"c{n}", metadata={"doc": n % 3}, kind=True) for n in range(90)]
    b = [row(f"c{n}", metadata={"doc": n % 3}, kind=n % 3 != 0) for n in range(90)]
    (alone,) = codes(compared(tmp_path / "alone", a, b)).labels
    (clustered,) = codes(compared(tmp_path / "clustered", a, b, cluster="doc")).labels
    assert alone.says == "lower"
    assert (clustered.says, clustered.p) == ("no difference shown", None)


def test_clusters_without_a_flip_count_as_so_many_cases(tmp_path: Path) -> None:
    rows = [row(f"c{n}", metadata={"doc": n % 3}, kind=n % 2 == 0) for n in range(90)]
    (found,) = codes(compared(tmp_path, rows, rows, cluster="doc")).labels
    assert found.says == "the same"
    assert found.interval is not None and found.interval[1] > 0.3


def test_text_is_counted_where_it_changed_and_not_judged(tmp_path: Path) -> None:
    a = [row(f"c{n}", why=f"It says so in the passage number {n}.") for n in range(3)]
    b = [a[0], *(row(f"c{n}", why=f"Nothing in the passages says {n}.") for n in (1, 2))]
    (found,) = compared(tmp_path, a, b).fields
    assert isinstance(found, OtherChange)
    assert (found.n, found.changed, found.ids) == (3, 2, ("c1", "c2"))


# --- around the fields -----------------------------------------------------------------------------


def test_cases_that_are_not_ok_in_both_count_as_changes_of_status_only(tmp_path: Path) -> None:
    a = [*scores(0.5, 0.5, 0.5), error_row("c3")]
    b = [row("c0", score=0.7), failed_row("c1"), row("c2", score=0.5), row("c3", score=0.1)]
    found = compared(tmp_path, a, b)
    assert [(flip.before, flip.after, flip.ids) for flip in found.statuses] == [
        ("ok", "failed", ("c1",)),
        ("error", "ok", ("c3",)),
    ]
    assert (number(found).n, found.matching.matched, found.matching.both_ok) == (2, 4, 2)
    assert not found.whole
    assert any("B has 1 case without a verdict" in line for line in found.warnings)


def test_a_case_that_failed_in_both_runs_is_no_case_that_could_not_be_compared(tmp_path: Path) -> None:
    found = compared(tmp_path, [*scores(0.5), failed_row("c1")], [*scores(0.7), failed_row("c1")])
    assert found.whole
    assert found.one_sided == 0
    assert any("A has 1 case without a verdict" in line for line in found.warnings)


def test_a_case_with_a_verdict_in_one_run_alone_could_not_be_compared(tmp_path: Path) -> None:
    fixed = compared(tmp_path / "fixed", [failed_row("c0"), *scores(0.5)[1:]], scores(0.5))
    broken = compared(tmp_path / "broken", scores(0.5), [error_row("c0")])
    assert (fixed.whole, fixed.one_sided) == (False, 1)
    assert (broken.whole, broken.one_sided) == (False, 1)


def test_a_run_that_is_not_finished_is_told(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", scores(0.5), state="stopped")
    found = compare(a, make_run(tmp_path / "b", scores(0.5)))
    assert not found.whole
    assert any("A is not finished (stopped)" in line for line in found.warnings)


def test_settings_that_differ_are_told_and_the_same_input_under_another_name_is_not(tmp_path: Path) -> None:
    other = {"judge": {"name": "toy", "version": "2", "options": {"good_is": 0.5}}, "inputs": ["moved.jsonl"]}
    a = make_run(tmp_path / "a", scores(0.5))
    b = make_run(tmp_path / "b", scores(0.5), plan=other, krino_version="0.0.1")
    told = compare(a, b).settings
    assert [line.split(":")[0] for line in told] == ["judge.options.good_is", "judge.version", "krino"]
    assert told[1] == "judge.version: 1 in A, 2 in B"


@pytest.mark.parametrize(
    ("labeller", "told"),
    [
        ({"kind": "llm", "model": "m"}, "labeller: embedded labeller in A, m in B"),
        ({"kind": "panel", "members": {"m": {"kind": "llm"}, "n": {}}}, "labeller: embedded labeller in A, m + n in B"),
        ({"kind": "local", "krino": "9"}, "labeller.krino: nothing in A, 9 in B"),
    ],
)
def test_another_labeller_is_one_line_and_another_setting_of_the_same_is_its_own(
    tmp_path: Path, labeller: Row, told: str
) -> None:
    a = make_run(tmp_path / "a", scores(0.5))
    assert compare(a, make_run(tmp_path / "b", scores(0.5), plan={"labeller": labeller})).settings == (told,)


def test_fields_that_one_run_lacks_are_told(tmp_path: Path) -> None:
    found = compared(tmp_path, [row("c0", old=1.0, both=1.0)], [row("c0", new=1.0, both=1.0)])
    assert [item.name for item in found.fields] == ["both"]
    assert found.warnings == ("only A has the field old", "only B has the field new")


def test_a_field_of_numbers_here_and_words_there_is_not_averaged(tmp_path: Path) -> None:
    found = compared(tmp_path, labelled(0.5, 0.6), labelled("good", "bad"))
    assert isinstance(found.fields[0], OtherChange) and found.fields[0].changed == 2


def test_what_the_matched_cases_took_is_compared(tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", scores(0.5, 0.5), usage=Usage(calls=1, input_tokens=10, cost=0.5, seconds=2.0))
    b = make_run(tmp_path / "b", scores(0.5, 0.5, 0.5), usage=Usage(calls=2, input_tokens=30, seconds=1.0))
    spent = {item.name: (item.a, item.b) for item in compare(a, b).spending}
    assert spent == {
        "calls": (2, 4),
        "input_tokens": (20, 60),
        "cost": (1.0, None),
        "seconds": (4.0, 2.0),
        "unpriced": (0, 4),
    }


@pytest.mark.parametrize("cluster", [None, "doc"])
def test_runs_that_judged_no_case_in_common_are_compared_without_a_figure(tmp_path: Path, cluster: str | None) -> None:
    here, there = (row(name, metadata={"doc": 1}, roll_up="pass", score=0.5, kind="A") for name in ("c0", "c1"))
    a, b = [here, failed_row("c1")], [failed_row("c0"), there]
    found = compared(tmp_path, a, b, cluster=cluster)
    assert (number(found).n, number(found).says) == (0, "too few to tell")
    assert (codes(found).n, codes(found).changed) == (0, 0)
    assert {item.says for item in codes(found).labels} == {"too few to tell"}


@pytest.mark.parametrize(
    ("moves", "says"),
    [
        ([0.1] * 3, "too few to tell"),
        ([0.1] * 5, "too few to tell"),
        ([0.1] * 6, "higher"),
        ([-0.1] * 6, "lower"),
        ([0.0] * 3, "the same"),
        ([0.1, -0.1] * 3, "too few to tell"),
        ([0.1, -0.1] * 15, "no difference shown"),
    ],
)
def test_a_handful_of_cases_shows_nothing_unless_their_signs_do(tmp_path: Path, moves: list[float], says: str) -> None:
    a = make_run(tmp_path / "a", scores(*[0.5] * len(moves)))
    b = make_run(tmp_path / "b", scores(*(0.5 + move for move in moves)))
    assert [item.says for item in compare(a, b).fields if isinstance(item, NumberChange)] == [says]


def test_a_handful_of_clusters_is_a_handful_whatever_their_size(tmp_path: Path) -> None:
    rows = [[row(f"c{n}", metadata={"doc": n % 3}, score=score) for n in range(90)] for score in (0.5, 0.6)]
    a, b = (make_run(tmp_path / name, given) for name, given in zip("ab", rows, strict=True))
    assert [item.says for item in compare(a, b, cluster="doc").fields if isinstance(item, NumberChange)] == [
        "too few to tell"
    ]


def labels_under_test(found: Comparison) -> list[str]:
    return [item.label for field in found.fields if isinstance(field, CodeChange) for item in field.labels]


def test_of_two_labels_one_says_it_all_only_where_each_case_has_exactly_one(tmp_path: Path) -> None:
    a, b = labelled(*["x", "y"] * 20), labelled(*["x"] * 40)
    assert labels_under_test(compared(tmp_path / "one", a, b)) == ["x"]
    nulls = labelled(*["x", None] * 20)
    assert labels_under_test(compared(tmp_path / "null", a, nulls)) == ["x", "y"], "y fell, and x did not rise"
    assert labels_under_test(compared(tmp_path / "null before", nulls, a)) == ["x", "y"]
    lists = labelled(*[["x"], ["x", "y"]] * 20)
    assert labels_under_test(compared(tmp_path / "list", labelled(*[["x"]] * 40), lists)) == ["x", "y"]
