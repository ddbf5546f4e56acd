"""Labels as rows for `krino agree`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.errors import UsageProblem
from krino.people.rows import build_rows, load_rows, order_columns
from krino.people.store import CaseRef, Event, LabelStore, Subject
from krino.runs.stored_run import load_stored_run
from label_making import make_toy_run

SUBJECT = Subject("toy", "0" * 32, "1")


def event(rater: str = "anna", depth: Any = "fields", case: int = 0, **fields: Any) -> Event:
    place = CaseRef(SUBJECT, f"{case:032x}", f"old-{case}", "run")
    if depth == "labels":
        return Event(place, rater, "labels", "label", {"any": "labels"}, fields)
    return Event(place, rater, "fields", "label", fields)


IDS = {f"{case:032x}": f"case-{case}" for case in range(3)}


def plain(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if not name.startswith("label_")} for row in rows]


def test_one_row_a_case_and_rater_by_the_ids_of_the_run() -> None:
    rows = build_rows(
        [event(score=1), event("ben", score=0), event(case=1, score=0.5), event(case=9, score=1)], IDS, "1"
    )
    assert plain(rows) == [
        {"score": 1, "id": "case-0", "rater": "anna"},
        {"score": 0, "id": "case-0", "rater": "ben"},
        {"score": 0.5, "id": "case-1", "rater": "anna"},
    ]


def test_what_a_rater_says_of_a_field_goes_before_what_the_rules_make_of_the_labels() -> None:
    both = [event(depth="labels", score=0.0, kind="A"), event(score=1.0)]
    assert plain(build_rows(both, IDS, "1")) == [{"score": 1.0, "kind": "A", "id": "case-0", "rater": "anna"}]
    assert plain(build_rows(both, IDS, "1", "labels")) == [{"score": 0.0, "kind": "A", "id": "case-0", "rater": "anna"}]
    assert plain(build_rows(both, IDS, "1", "fields")) == [{"score": 1.0, "id": "case-0", "rater": "anna"}]


def test_labels_that_another_version_has_settled_say_nothing_of_this_ones_fields() -> None:
    assert build_rows([event(depth="labels", score=0.0)], IDS, "2") == []
    assert len(build_rows([event(score=0.0)], IDS, "2")) == 1


def test_skips_are_no_labels() -> None:
    assert build_rows([replace(event(score=1), action="skip", answer=None)], IDS, "1") == []


def test_a_row_says_where_its_label_came_from() -> None:
    given = replace(event(score=1), note="sure", why="random", random=True, blind=False, created="2026")
    (row,) = build_rows([given], IDS, "1")
    assert {name: row[name] for name in row if name.startswith("label_")} == {
        "label_note": "sure",
        "label_why": "random",
        "label_random": True,
        "label_blind": False,
        "label_depth": "fields",
        "label_run": "run",
        "label_time": "2026",
    }


def test_a_field_of_the_verdict_that_has_the_name_of_another_column_is_the_field() -> None:
    (row,) = build_rows([event(label_note="B")], IDS, "1")
    assert row["label_note"] == "B"


def test_id_and_rater_come_first_and_where_a_label_came_from_last() -> None:
    names = order_columns(build_rows([event(score=1)], IDS, "1"))
    assert names[:3] == ["id", "rater", "score"]
    assert all(name.startswith("label_") for name in names[3:])


def test_the_labels_of_a_workbench_are_held_against_a_run(database: str, tmp_path: Path) -> None:
    run = load_stored_run(make_toy_run(tmp_path / "run", 4, bad=[1]))
    subject = Subject.of(run.manifest)
    store = LabelStore(database)
    for entry, score in zip(run.roll(), (1.0, 1.0, 1.0), strict=False):
        store.add(Event(CaseRef(subject, entry.input_hash, entry.id), "anna", "fields", "label", {"score": score}))
    store.close()
    assert [row["score"] for row in load_rows(database, run)] == [1.0, 1.0, 1.0]
    found = krino.load_run(run.folder).agree(database)
    assert found.counts.labelled == 3
    assert found.fields[0].figures["agreement"].value == pytest.approx(2 / 3)
    with pytest.raises(UsageProblem, match="nobody has labelled"):
        load_rows(database, run, "labels")
    with pytest.raises(UsageProblem, match="choose one of fields, labels, both"):
        load_rows(database, run, "deep")


def test_labels_of_other_options_do_not_match(tmp_path: Path) -> None:
    run = load_stored_run(make_toy_run(tmp_path / "run", 1))
    store = LabelStore(tmp_path)
    (entry,) = run.roll()
    store.add(Event(CaseRef(Subject("toy", "1" * 32), entry.input_hash, "x"), "anna", "fields", "label", {"score": 1}))
    store.close()
    with pytest.raises(UsageProblem, match="nobody has labelled"):
        load_rows(tmp_path, run)
