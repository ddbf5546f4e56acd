"""A run as columns: the last judgement of each case counts, and each field is what it holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import krino
from krino.cases.item import CaseItem
from krino.contract import Judgement
from krino.results.table import Table, read_table
from krino.runs.journal import Journal
from krino.runs.manifest import Counts, JudgeCard, Manifest
from krino.runs.roll import RollWriter
from made_runs import error_row, failed_row, make_run, row, scores


def appended(folder: Path, like: str, **changes: object) -> None:
    """A later judgement of the content of a case, as a second sitting writes it."""
    known = {**krino.load_run(folder)[like].model_dump(), "error": None, "status": "ok"}
    journal = Journal(folder)
    journal.append(Judgement.model_validate({**known, "decided_by": {"score": "R1"}, **changes}))
    journal.close()


def values(run: Table, name: str = "score") -> list[float]:
    return [float(value) for value in run.fields[name].numbers]


def test_an_error_gives_way_to_a_verdict_a_verdict_to_nothing(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [*scores(0.1, 0.2), error_row("c2")], state="interrupted")
    appended(run, "c2", verdict={"score": 0.9})
    appended(run, "c0", verdict={"score": 0.8})
    found = read_table(run)
    assert (list(found.ids), values(found)) == (["c0", "c1", "c2"], [0.1, 0.2, 0.9])
    assert found.counts().ok == 3


def called_anew(run: Path, *ids: str) -> None:
    """The roll of a later command, over some of the cases."""
    cases = [krino.load_run(run)[case] for case in ids]
    manifest = Manifest.load(run)
    with RollWriter(run) as roll:
        for place, case in enumerate(cases):
            roll.add(CaseItem(place, case.id, {}), case.input_hash)
    manifest.cases, manifest.input_hash, manifest.counts = roll.cases, roll.input_hash(), Counts(ok=len(cases))
    manifest.write(run)


def test_nothing_of_a_case_that_is_no_longer_in_the_input_is_in_the_columns(tmp_path: Path) -> None:
    gone = row("gone", metadata={"court": "old"}, other=1.0, kind="GONE")
    run = make_run(tmp_path / "r", [row("a", kind="A"), gone, row("b", kind="B")])
    called_anew(run, "b", "a")
    found = read_table(run, by=[["court"]])
    assert (list(found.ids), found.field_names, found.metadata) == (["b", "a"], ("kind",), frozenset())
    assert found.fields["kind"].labels() == ["A", "B"]
    assert found.fields["kind"].having("A").tolist() == [False, True]


def test_a_record_that_stands_in_the_input_twice_has_one_verdict_and_one_bill(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(0.1, 0.2))
    called_anew(run, "c1", "c0", "c1")
    found = read_table(run, spending=True)
    assert (list(found.ids), values(found)) == (["c1", "c0", "c1"], [0.2, 0.1, 0.2])
    assert found.spending[:, 0].tolist() == [1.0, 1.0, 0.0]
    assert [item.usage.calls for item in krino.load_run(run)] == [1, 1, 0]


def test_a_torn_last_line_is_passed_over_and_a_bad_one_is_named(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(0.1, 0.2))
    journal = run / "judgements.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole + whole[:50])
    assert len(read_table(run)) == 2
    journal.write_bytes(whole + b'{"index": 2}\n')
    with pytest.raises(krino.UsageProblem, match=r"judgements.jsonl:3: not a judgement of this run: .*status"):
        read_table(run)


def test_a_run_without_a_journal_has_no_cases(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [])
    (run / "judgements.jsonl").unlink()
    assert len(read_table(run)) == 0


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ([0.5, 3, None], "number"),
        ([True, False, None], "codes"),
        (["A", "B", "A"], "codes"),
        ([["A"], ["A", "B"], []], "codes"),
        ([None, None, None], "empty"),
        (["a text of many words, as explanations are", "A", "B"], "other"),
        ([[40, 60], [0, 5], [1, 2]], "other"),
        ([{"a": 1}, {"a": 2}, None], "other"),
        ([0.5, "A", "B"], "number"),
    ],
)
def test_a_field_is_what_it_holds(tmp_path: Path, given: list[object], kind: str) -> None:
    run = make_run(tmp_path / "r", [row(f"c{place}", field=value) for place, value in enumerate(given)])
    assert read_table(run).fields["field"].kind == kind


def test_more_labels_than_a_category_has_are_names(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [row(f"c{n}", field=f"name{n}") for n in range(40)])
    assert read_table(run).fields["field"].kind == "other"


def test_a_closed_list_of_labels_is_a_category_however_many_there_are(tmp_path: Path) -> None:
    schema = {"properties": {"field": {"enum": [f"name{n}" for n in range(8)]}}}
    rows = [row(f"c{n}", field=f"name{n}") for n in range(8)]
    listed = make_run(tmp_path / "r", rows, about=JudgeCard(verdict_schema=schema))
    assert read_table(listed).fields["field"].kind == "codes"
    assert read_table(make_run(tmp_path / "open", rows)).fields["field"].kind == "other"


@pytest.mark.parametrize("name", ["score_explanation", "Rationale", "reviewer_comments"])
def test_words_about_the_verdict_are_no_category_however_short_unless_their_list_is_closed(
    tmp_path: Path, name: str
) -> None:
    verdict: dict[str, Any] = {name: "not supported"}
    rows = [row(f"c{n}", **verdict) for n in range(8)]
    found = read_table(make_run(tmp_path / "r", rows))
    assert found.fields[name].kind == "other"
    assert len(set(found.fields[name].marks(np.arange(8)))) == 1
    closed = JudgeCard(verdict_schema={"properties": {name: {"enum": ["supported", "not supported"]}}})
    assert read_table(make_run(tmp_path / "closed", rows, about=closed)).fields[name].kind == "codes"


def test_equal_values_have_equal_marks_in_two_runs_whatever_stood_before_them(tmp_path: Path) -> None:
    long = "The second passage says so, in other words."
    given = [["B", "A"], "A", long, 0.5, None, {"a": 1}]
    a = make_run(tmp_path / "a", [row(f"c{n}", field=value) for n, value in enumerate(given)])
    b = make_run(tmp_path / "b", [row(f"c{n}", field=value) for n, value in enumerate(["Z", *given])])
    marks = read_table(a).fields["field"].marks(np.arange(len(given)))
    others = read_table(b).fields["field"].marks(np.arange(1, len(given) + 1))
    assert list(marks[2:]) == list(others[2:])
    assert len(set(marks)) == len(given)


def test_a_field_that_some_verdicts_lack_is_absent_there(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "r", [row("c0", old=1.0), failed_row("c1"), row("c2", old=1.0, new="A"), row("c3", new="B")]
    )
    found = read_table(run)
    assert [found.fields["new"].having("A")[place] for place in range(4)] == [False, False, True, False]
    assert list(np.isnan(found.fields["old"].numbers)) == [False, True, False, True]


def test_only_the_fields_asked_for_are_kept_but_all_are_named(tmp_path: Path) -> None:
    found = read_table(make_run(tmp_path / "r", [row("c0", roll_up="pass", a=1.0, b=2.0)]), fields=["b"])
    assert (list(found.fields), found.field_names) == (["b"], ("roll_up", "a", "b"))


def test_a_value_has_the_same_mark_before_and_after_its_field_turned_out_to_be_no_category(tmp_path: Path) -> None:
    names = [f"name-{n}" for n in range(40)]
    a = make_run(tmp_path / "a", [row(name, field=name) for name in names])
    b = make_run(tmp_path / "b", [row(name, field=name) for name in reversed(names)])
    marks = read_table(a).fields["field"].marks(np.arange(40))
    others = read_table(b).fields["field"].marks(np.arange(40)[::-1])
    assert list(marks) == list(others)
