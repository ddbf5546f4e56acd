"""Migrations, two servers at once, and addresses of databases."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, text

from krino.errors import UsageProblem
from krino.people.database import connect, migrate, refuse_other_version, resolve_database_url, write_transaction
from krino.people.store import CaseRef, Event, LabelStore, Subject
from krino.people.tables import MIGRATIONS, latest_version
from waiting import ended

WRITTEN_WITH_ALEMBIC = (Path(__file__).parent / "version_0001.sql").read_text(encoding="utf-8")
"""What Alembic made of the first version of the tables, with one label."""


def make_old_database(database: str) -> Engine:
    engine = connect(resolve_database_url(database, create=True))
    with write_transaction(engine) as connection:
        for statement in WRITTEN_WITH_ALEMBIC.split(";\n"):
            connection.exec_driver_sql(statement)
    return engine


def test_an_older_database_opens_with_its_labels(tmp_path: Path) -> None:
    file = tmp_path / "labels.sqlite"
    make_old_database(str(file)).dispose()
    store = LabelStore(file)
    (label,) = store.history()
    assert (label.rater, label.fields) == ("anna", {"score": 0.5})
    store.add(Event(CaseRef(Subject("toy", "0" * 32), "1" * 32), "ben", "fields", "label", {"score": 1.0}))
    assert [event.rater for event in store.history()] == ["anna", "ben"]
    store.close()


def test_new_tables_are_those_of_an_older_database(tmp_path: Path) -> None:
    old = make_old_database(str(tmp_path / "old.sqlite"))
    new = connect(resolve_database_url(tmp_path / "new.sqlite", create=True))
    migrate(old)
    migrate(new)

    def describe(engine: Engine) -> list[object]:
        found = inspect(engine)
        columns = [
            (one["name"], str(one["type"]), one["nullable"])
            for table in ("events", "alembic_version")
            for one in found.get_columns(table)
        ]
        checks = sorted((str(one["name"]), one["sqltext"]) for one in found.get_check_constraints("events"))
        unique = sorted(tuple(one["column_names"]) for one in found.get_unique_constraints("events"))
        indexes = sorted((str(one["name"]), tuple(one["column_names"])) for one in found.get_indexes("events"))
        return [columns, checks, unique, indexes, found.get_foreign_keys("events")]

    assert describe(new) == describe(old)
    assert describe(new)[2] == [("key",), ("undoes",)]
    old.dispose()
    new.dispose()


def test_a_later_version_runs_its_migration_once_and_keeps_the_labels(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    LabelStore(database).close()
    monkeypatch.setitem(MIGRATIONS, "0003", ("ALTER TABLE events ADD COLUMN extra TEXT", "UPDATE events SET extra = 1"))
    with pytest.raises(UsageProblem, match="older version"):
        LabelStore(database, read_only=True)
    for _ in range(2):
        store = LabelStore(database)
        assert "extra" in {column["name"] for column in inspect(store.engine).get_columns("events")}
        store.close()
    monkeypatch.delitem(MIGRATIONS, "0003")
    with pytest.raises(UsageProblem, match="newer version"):
        LabelStore(database)


def test_a_migration_that_fails_half_way_changes_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    LabelStore(database).close()
    with monkeypatch.context() as patch:
        patch.setitem(MIGRATIONS, "0003", ("ALTER TABLE events ADD COLUMN extra TEXT", "SELECT * FROM nowhere"))
        with pytest.raises(UsageProblem, match="cannot be used"):
            LabelStore(database)
    store = LabelStore(database)  # still the version of before
    assert "extra" not in {column["name"] for column in inspect(store.engine).get_columns("events")}
    store.close()


def test_migrating_again_changes_nothing(database: str) -> None:
    engine = connect(resolve_database_url(database, create=True))
    for _ in range(2):
        migrate(engine)
    refuse_other_version(engine)
    engine.dispose()


def test_creating_the_tables_is_all_or_nothing(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = connect(resolve_database_url(database, create=True))
    with monkeypatch.context() as patch:
        patch.setattr("krino.people.tables.VERSION_TABLE", "no table name")
        with pytest.raises(UsageProblem, match="cannot be used"):
            migrate(engine)
    assert inspect(engine).get_table_names() == []
    migrate(engine)
    refuse_other_version(engine)
    engine.dispose()


def test_servers_that_start_at_once_make_the_tables_once(database: str) -> None:
    code = "import sys; from krino.people.store import LabelStore; LabelStore(sys.argv[1]); print('ready')"
    command = [sys.executable, "-c", code, database]
    with ExitStack() as started:
        servers = [
            started.enter_context(ended(subprocess.Popen(command, stdout=subprocess.PIPE, text=True))) for _ in range(4)
        ]
        assert [server.communicate(timeout=120)[0].strip() for server in servers] == ["ready"] * 4
    store = LabelStore(database, read_only=True)
    assert store.history() == []
    store.close()


@pytest.mark.parametrize(("version", "message"), [("9999", "newer version"), ("0000", "older version")])
def test_tables_of_another_version_are_not_read(database: str, version: str, message: str) -> None:
    engine = connect(resolve_database_url(database, create=True))
    migrate(engine)
    with write_transaction(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    with pytest.raises(UsageProblem, match=message):
        refuse_other_version(engine)
    if version > latest_version():
        with pytest.raises(UsageProblem, match=message):
            migrate(engine)
    engine.dispose()


def test_a_database_of_something_else_is_reported(database: str) -> None:
    engine = connect(resolve_database_url(database, create=True))
    with pytest.raises(UsageProblem, match="not a workbench database"):
        refuse_other_version(engine)
    engine.dispose()


def test_a_file_that_is_no_database_is_reported(tmp_path: Path) -> None:
    file = tmp_path / "labels.sqlite"
    file.write_text("not a database, but long enough to be read as one" * 100)
    with pytest.raises(UsageProblem, match="cannot be used"):
        LabelStore(file)


@pytest.mark.parametrize("address", ["mysql://host/labels", "nonsense://x", "://"])
def test_other_kinds_of_database_are_refused(address: str) -> None:
    with pytest.raises(UsageProblem, match="postgresql"):
        resolve_database_url(address)


def test_a_password_is_in_no_message(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as found:
        LabelStore(f"postgresql+psycopg://anna:secret@/labels?host={tmp_path}")
    assert "secret" not in str(found.value)


def test_a_folder_means_the_file_in_it(tmp_path: Path) -> None:
    LabelStore(tmp_path).close()
    assert (tmp_path / ".workbench" / "labels.sqlite").is_file()
    LabelStore(tmp_path / ".workbench" / "labels.sqlite", read_only=True).close()


def test_a_folder_that_cannot_hold_labels_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".workbench").write_text("in the way")
    with pytest.raises(UsageProblem, match="--database"):
        LabelStore(tmp_path)


def test_an_acknowledged_label_is_synced_to_disk(tmp_path: Path) -> None:
    store = LabelStore(tmp_path)
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    store.close()
