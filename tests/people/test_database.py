"""Migrations, two servers at once, and addresses of databases."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from krino.errors import UsageProblem
from krino.people.database import address_of, connect, migrate, refuse_other_version, writing
from krino.people.store import LabelStore
from krino.people.tables import HEAD, events, metadata
from waiting import ended


def test_the_migrations_make_the_tables_of_the_code(database: str) -> None:
    engine = connect(address_of(database, create=True))
    migrate(engine)
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
        made = inspect(connection)
        assert {found["name"] for found in made.get_check_constraints("events")} >= {
            constraint.name for constraint in events.constraints if str(constraint.name).startswith("events_")
        }
        assert {tuple(found["column_names"]) for found in made.get_unique_constraints("events")} == {
            ("key",),
            ("undoes",),
        }
    engine.dispose()


def test_there_is_one_head_and_the_code_names_it() -> None:
    config = Config()
    config.set_main_option("script_location", "krino.people:migrations")
    assert ScriptDirectory.from_config(config).get_heads() == [HEAD]


def test_migrating_again_changes_nothing(database: str) -> None:
    engine = connect(address_of(database, create=True))
    for _ in range(2):
        migrate(engine)
    refuse_other_version(engine)
    engine.dispose()


def test_a_migration_that_breaks_leaves_nothing_half_done(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = connect(address_of(database, create=True))

    def breaks(*_: object) -> None:
        raise RuntimeError("power cut")

    with monkeypatch.context() as patch:
        patch.setattr("alembic.op.create_index", breaks)
        with pytest.raises(RuntimeError, match="power cut"):
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


@pytest.mark.parametrize(("version", "told"), [("9999", "newer version"), ("0000", "older version")])
def test_tables_of_another_version_are_not_read(database: str, version: str, told: str) -> None:
    engine = connect(address_of(database, create=True))
    migrate(engine)
    with writing(engine) as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :version"), {"version": version})
    with pytest.raises(UsageProblem, match=told):
        refuse_other_version(engine)
    if version > HEAD:
        with pytest.raises(UsageProblem, match=told):
            migrate(engine)
    engine.dispose()


def test_a_database_of_something_else_is_told(database: str) -> None:
    engine = connect(address_of(database, create=True))
    with pytest.raises(UsageProblem, match="no database of a workbench"):
        refuse_other_version(engine)
    engine.dispose()


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    file = tmp_path / "labels.sqlite"
    file.write_text("not a database, but long enough to be read as one" * 100)
    with pytest.raises(UsageProblem, match="cannot be used"):
        LabelStore(file)


@pytest.mark.parametrize("address", ["mysql://host/labels", "nonsense://x", "://"])
def test_other_kinds_of_database_are_refused(address: str) -> None:
    with pytest.raises(UsageProblem, match="postgresql"):
        address_of(address)


def test_a_password_is_in_no_message(tmp_path: Path) -> None:
    with pytest.raises(UsageProblem) as found:
        LabelStore(f"postgresql+psycopg://anna:secret@/labels?host={tmp_path}")
    assert "secret" not in str(found.value)


def test_a_folder_means_the_file_in_it(tmp_path: Path) -> None:
    LabelStore(tmp_path).close()
    assert (tmp_path / ".workbench" / "labels.sqlite").is_file()
    LabelStore(tmp_path / ".workbench" / "labels.sqlite", read_only=True).close()


def test_a_folder_that_cannot_hold_labels_is_told(tmp_path: Path) -> None:
    (tmp_path / ".workbench").write_text("in the way")
    with pytest.raises(UsageProblem, match="--database"):
        LabelStore(tmp_path)


def test_an_acknowledged_label_is_synced_to_disk(tmp_path: Path) -> None:
    store = LabelStore(tmp_path)
    with store.engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    store.close()
