"""Opens the database of labels: a SQLite file beside the runs, or a PostgreSQL server.

A label that was acknowledged is on disk: SQLite syncs at every commit (`synchronous=FULL`), PostgreSQL by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError

from krino.errors import UsageProblem
from krino.people import FILE, FOLDER, find_runs_folder
from krino.people.tables import latest_version, read_version, upgrade
from krino.writing import make_own_file, make_own_folder

_BUSY_MS = 30_000
_CONNECTIONS, _MORE_CONNECTIONS = 8, 16
_LOCK = 0x6B72696E6F
"""The PostgreSQL advisory lock that is held while the tables are changed."""
_FORMS = "give a folder of runs, a labels.sqlite, or postgresql+psycopg://USER@HOST/DATABASE"


class DatabaseUnavailable(UsageProblem):
    """The database cannot be used at the moment; nothing was written."""


def resolve_database_url(where: str | PathLike[str], *, create: bool = False) -> URL:
    """The URL of the database that the user named by folder, file or URL.

    `create`: make the SQLite file if needed; without it, a missing file raises `UsageProblem`.
    """
    if isinstance(where, str) and "://" in where:
        try:
            url = make_url(where)
        except ArgumentError:
            raise UsageProblem(f"the database URL cannot be parsed; {_FORMS}") from None
        if url.get_backend_name() not in ("sqlite", "postgresql"):
            raise UsageProblem(f"databases of kind {url.get_backend_name()!r} are not supported; {_FORMS}")
        return url
    path = Path(where)
    file = find_runs_folder(path) / FOLDER / FILE if path.is_dir() else path
    if path.is_dir() and (file.is_symlink() or file.parent.is_symlink()):
        raise UsageProblem(
            f"{file} is a link, but labels must be kept in the folder itself; choose another with --database"
        )
    if create:
        try:
            make_own_folder(file.parent)
            make_own_file(file)
        except OSError as error:
            raise UsageProblem(
                f"cannot create {file.parent} for the labels: {error.strerror}; choose another place with --database"
            ) from None
    elif not file.is_file():
        raise UsageProblem(f"{where}: no workbench labels found ({file} does not exist); {_FORMS}")
    return URL.create("sqlite", database=str(file))


def connect(url: URL) -> Engine:
    """Makes a pool of connections to the database; raises `UsageProblem` if its driver is not installed."""
    try:
        engine = create_engine(url, pool_size=_CONNECTIONS, max_overflow=_MORE_CONNECTIONS, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError):
        raise UsageProblem(
            f"{url.drivername}: the driver for this database is not installed; run `pip install 'krino[postgres]'` "
            "and write postgresql+psycopg://..."
        ) from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # we send BEGIN ourselves; the driver would send it too late
    for setting in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={_BUSY_MS}", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    # A transaction that will write takes the write lock at once: upgrading a read lock later fails instead of waiting.
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


@contextmanager
def write_transaction(engine: Engine) -> Iterator[Connection]:
    """A transaction that may write; the changes are on disk once the block is left."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


def migrate(engine: Engine) -> None:
    """Brings the tables to the current version; refuses those of a newer one. If two servers start at once, the second
    one waits."""
    with translate_errors(engine), write_transaction(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        known, latest = read_version(connection), latest_version()
        if known is not None and known > latest:
            raise _wrong_version(known)
        if known != latest:
            upgrade(connection, known)


def refuse_other_version(engine: Engine) -> None:
    """Raises unless the tables have the current version. For readers, which never change the tables."""
    with translate_errors(engine), engine.connect() as connection:
        known = read_version(connection)
    if known is None:
        raise UsageProblem(f"{_without_password(engine)}: not a workbench database; {_FORMS}")
    if known != latest_version():
        raise _wrong_version(known)


@contextmanager
def translate_errors(engine: Engine) -> Iterator[None]:
    """Raises `DatabaseUnavailable` in place of errors of the database driver."""
    try:
        yield
    except DatabaseError as error:
        raise DatabaseUnavailable(f"{_without_password(engine)}: the database cannot be used: {error.orig}") from None


def _wrong_version(known: str) -> UsageProblem:
    """Returns the error for tables of another version."""
    latest = latest_version()
    age, remedy = (
        ("a newer", "use that version")
        if known > latest
        else ("an older", "start `krino serve` once to migrate the tables")
    )
    return UsageProblem(f"the labels were written by {age} version of Krino (tables {known}, here {latest}); {remedy}")


def _without_password(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
