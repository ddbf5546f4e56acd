"""Labels of people: nothing is lost, nothing is overwritten, on both kinds of database."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from krino.errors import UsageProblem
from krino.people.database import DatabaseUnavailable
from krino.people.store import CaseRef, Event, KeyReused, LabelStore, Subject, normalise_rater

SUBJECT = Subject("toy", "0" * 32, "1")


@pytest.fixture
def store(database: str) -> Iterator[LabelStore]:
    opened = LabelStore(database)
    yield opened
    opened.close()


def place(case: int = 0, subject: Subject = SUBJECT) -> CaseRef:
    return CaseRef(subject, f"{case:032x}", f"case-{case}", "run")


def label(case: int = 0, rater: str = "anna", score: float = 1.0, **more: object) -> Event:
    return replace(Event(place(case), rater, "fields", "label", {"score": score}), **more)  # type: ignore[arg-type]


def said(store: LabelStore, **wanted: str) -> list[tuple[str, str, float]]:
    found = store.current(SUBJECT, **wanted)
    return [(item.rater, item.place.case_id, item.fields["score"]) for item in found]


def test_what_is_written_is_read_back_as_it_was(store: LabelStore) -> None:
    given = label(note="sure\nof it", why="seats", random=True)
    (found,) = (store.add(given),)
    assert store.current(SUBJECT) == [found]
    assert found == replace(given, id=found.id, created=found.created, blind=True)


def test_the_last_label_of_a_rater_counts_and_the_first_is_kept(store: LabelStore) -> None:
    store.add(label(score=1.0))
    store.add(label(score=0.0))
    store.add(label(rater="ben", score=0.5))
    assert said(store) == [("anna", "case-0", 0.0), ("ben", "case-0", 0.5)]
    assert [event.fields["score"] for event in store.history(SUBJECT)] == [1.0, 0.0, 0.5]


def test_the_two_depths_stand_beside_each_other(store: LabelStore) -> None:
    store.add(label())
    store.add(Event(place(), "anna", "labels", "label", {"label": "good"}, {"score": 0.0}))
    assert said(store) == [("anna", "case-0", 1.0), ("anna", "case-0", 0.0)]


def test_undo_takes_back_one_at_a_time_and_what_stood_before_counts_again(store: LabelStore) -> None:
    store.add(label(0, score=1.0))
    store.add(label(0, score=0.0))
    store.add(label(1, score=0.5))
    store.add(label(1, rater="ben"))
    undone = [store.undo(SUBJECT, "anna") for _ in range(2)]
    assert [(event.place.case_id, event.fields["score"]) for event in undone if event] == [
        ("case-1", 0.5),
        ("case-0", 0),
    ]
    assert said(store) == [("anna", "case-0", 1.0), ("ben", "case-1", 1.0)]
    assert store.undo(SUBJECT, "anna") is not None
    assert store.undo(SUBJECT, "anna") is None
    assert len(store.history(SUBJECT)) == 7


def test_undo_of_one_run_leaves_another_alone(store: LabelStore) -> None:
    store.add(label(0))
    store.add(replace(label(1), place=replace(place(1), run="other")))
    undone = store.undo(SUBJECT, "anna", "run")
    assert undone is not None
    assert undone.place.case_id == "case-0"


def test_undos_at_the_same_moment_take_back_different_labels(store: LabelStore) -> None:
    for case in range(8):
        store.add(label(case))
    undone: list[int] = []
    threads = [threading.Thread(target=lambda: undone.append(store.undo(SUBJECT, "anna").id)) for _ in range(4)]  # type: ignore[union-attr]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(undone)) == 4
    assert len(store.current(SUBJECT)) == 4


WRITES: dict[str, Callable[[LabelStore], object]] = {
    "add": lambda store: store.add(label(1)),
    "undo": lambda store: store.undo(SUBJECT, "anna"),
    "mark_seen": lambda store: store.mark_seen([place()], "anna"),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_write_to_a_locked_database_says_that_it_cannot_be_used(
    write: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("krino.people.database._BUSY_MS", 20)
    file = tmp_path / "labels.sqlite"
    store = LabelStore(file)
    store.add(label())
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DatabaseUnavailable, match="database is locked"):
            WRITES[write](store)
        other.execute("ROLLBACK")
    WRITES[write](store)
    store.close()


def test_a_request_that_is_sent_twice_is_one_label(store: LabelStore) -> None:
    assert store.add(label(), key="k").id == store.add(label(), key="k").id
    assert len(store.history(SUBJECT)) == 1
    with pytest.raises(UsageProblem, match="used for another label"):
        store.add(label(1), key="k")
    changed = (replace(label(), answer={"score": 0.125}), replace(label(), depth="labels"), replace(label(), note="n"))
    for other in changed:
        with pytest.raises(KeyReused):  # what was changed since is another label, and is not dropped in silence
            store.add(other, key="k")


def test_a_database_behind_a_link_is_not_opened(tmp_path: Path) -> None:
    outside = tmp_path / "private.sqlite"
    outside.touch()
    (tmp_path / "runs" / ".workbench").mkdir(parents=True)
    (tmp_path / "runs" / ".workbench" / "labels.sqlite").symlink_to(outside)
    with pytest.raises(UsageProblem, match="is a link"):
        LabelStore(tmp_path / "runs")
    assert outside.stat().st_size == 0


def test_a_label_after_the_verdict_was_shown_is_not_blind(store: LabelStore) -> None:
    assert store.add(label()).blind
    store.mark_seen([place()], "anna")
    store.mark_seen([place()], "anna")
    assert store.has_seen(place(), "anna")
    assert not store.add(label()).blind
    assert store.add(label(1)).blind
    assert store.add(label(rater="ben")).blind


def test_labels_of_another_judge_or_of_other_options_are_not_mixed_in(store: LabelStore) -> None:
    store.add(label())
    for other in (Subject("other", SUBJECT.options), Subject("toy", "1" * 32)):
        assert store.current(other) == []
        assert store.revision(other) == 0
        assert store.undo(other, "anna") is None
    assert store.revision(SUBJECT) > 0
    assert len(store.current(replace(SUBJECT, version="2"))) == 1


def test_current_can_be_asked_of_one_rater_or_one_case(store: LabelStore) -> None:
    for case, rater in ((0, "anna"), (1, "anna"), (1, "ben")):
        store.add(label(case, rater))
    assert len(said(store, rater="anna")) == 2
    assert len(said(store, input_hash=place(1).input_hash)) == 2


@pytest.mark.parametrize(
    "hostile", ["\x00zero", "half \ud800", "<script>alert(1)</script>", "'; DROP TABLE events; --"]
)
def test_hostile_text_is_kept_as_text(store: LabelStore, hostile: str) -> None:
    place_ = CaseRef(SUBJECT, "0" * 32, hostile, "run")
    store.add(Event(place_, hostile, "fields", "label", {"score": 1.0}, note=hostile))
    (found,) = store.current(SUBJECT)
    assert found.rater == normalise_rater(hostile)
    assert "\x00" not in found.note


@pytest.mark.parametrize("name", ["", "  ", "\u200b", "x" * 81])
def test_a_rater_has_a_name_of_bounded_length(name: str) -> None:
    with pytest.raises(UsageProblem, match="name of the rater"):
        normalise_rater(name)


def test_a_name_is_the_same_however_its_letters_are_written() -> None:
    assert normalise_rater(" Zoe\u0308  B ") == normalise_rater("Zoë B")


def test_a_note_without_end_and_an_answer_that_is_no_json_are_refused(store: LabelStore) -> None:
    with pytest.raises(UsageProblem, match="note has more than"):
        store.add(label(note="x" * 4_001))
    with pytest.raises(UsageProblem, match="JSON"):
        store.add(label(answer={"score": object()}))
    assert store.history() == []


def test_writers_at_the_same_time_lose_nothing(store: LabelStore, database: str) -> None:
    second = LabelStore(database)
    threads = [
        threading.Thread(target=lambda own=own, home=home: [home.add(label(case, own)) for case in range(25)])
        for own, home in (("anna", store), ("ben", second), ("cleo", store), ("dan", second))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    second.close()
    assert len(store.current(SUBJECT)) == 100


def test_a_reader_of_a_database_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem, match="no workbench labels found"):
        LabelStore(tmp_path, read_only=True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("odd", ["an\u00adna", "anna\u200b", "\u202eanna\u202c", "\ufeffanna", "a\x00nna"])
def test_a_name_with_unseen_characters_is_no_second_rater(store: LabelStore, odd: str) -> None:
    assert normalise_rater(odd) == "anna"
    store.add(label(score=1.0))
    store.add(label(rater=odd, score=0.0))
    assert [(event.rater, event.fields["score"]) for event in store.current(place().subject)] == [("anna", 0.0)]
