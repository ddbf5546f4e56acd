"""Opens the database of labels: a file of SQLite beside the runs, or a PostgreSQL server by its address.

Whatever is acknowledged is on disk: SQLite syncs at every commit (`synchronous=FULL`), PostgreSQL does by default.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, NoSuchModuleError

from krino.errors import UsageProblem
from krino.people import FILE, FOLDER, home_of
from krino.people.tables import HEAD
from krino.writing import make_own_file, make_own_folder

_BUSY_MS = 30_000
_CONNECTIONS, _MORE_CONNECTIONS = 8, 16
_LOCK = 0x6B72696E6F
"""The number of the lock of a PostgreSQL server under which one Krino at a time changes the tables."""
_FORMS = "give a folder of runs, a labels.sqlite, or postgresql+psycopg://USER@HOST/DATABASE"


class Unreachable(UsageProblem):
    """The database cannot be used at the moment: nothing was written."""


def address_of(where: str | PathLike[str], *, create: bool = False) -> URL:
    """The database that a word of the user means. `create`: a file of SQLite need not be there yet."""
    if isinstance(where, str) and "://" in where:
        try:
            url = make_url(where)
        except ArgumentError:
            raise UsageProblem(f"the address of the database cannot be read; {_FORMS}") from None
        if url.get_backend_name() not in ("sqlite", "postgresql"):
            raise UsageProblem(f"no database of the kind {url.get_backend_name()!r}; {_FORMS}")
        return url
    path = Path(where)
    file = home_of(path) / FOLDER / FILE if path.is_dir() else path
    if path.is_dir() and (file.is_symlink() or file.parent.is_symlink()):
        raise UsageProblem(f"{file} is a link: labels are kept in the folder itself; name another with --database")
    if create:
        try:
            make_own_folder(file.parent)
            make_own_file(file)
        except OSError as error:
            raise UsageProblem(
                f"{file.parent}, where labels are kept, cannot be made: {error.strerror}; name another with --database"
            ) from None
    elif not file.is_file():
        raise UsageProblem(f"{where}: there is no workbench with labels ({file} is not there); {_FORMS}")
    return URL.create("sqlite", database=str(file))


def connect(url: URL) -> Engine:
    try:
        engine = create_engine(url, pool_size=_CONNECTIONS, max_overflow=_MORE_CONNECTIONS, pool_pre_ping=True)
    except (NoSuchModuleError, ModuleNotFoundError):
        raise UsageProblem(
            f"{url.drivername}: this kind of database needs a driver; `pip install 'krino[postgres]'` "
            "and write postgresql+psycopg://..."
        ) from None
    if engine.dialect.name == "sqlite":
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say so, with `BEGIN`
    for setting in ("journal_mode=WAL", "synchronous=FULL", f"busy_timeout={_BUSY_MS}", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {setting}")


def _begin_sqlite(connection: Connection) -> None:
    """One that will write takes the lock at once: to ask for it later could only fail, not wait."""
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that changes something; when the block is left, it is on disk."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


def migrate(engine: Engine) -> None:
    """Bring the tables to the form of this version. Of two servers that start at once, the second waits."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "krino.people:migrations")
    with told(engine), writing(engine) as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        known = _revision(connection)
        if known is not None and known > HEAD:
            raise _other_version(known)
        if known != HEAD:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")


def refuse_other_version(engine: Engine) -> None:
    """For those who only read: they leave the tables as they are."""
    with told(engine), engine.connect() as connection:
        known = _revision(connection)
    if known is None:
        raise UsageProblem(f"{_shown(engine)}: this is no database of a workbench; {_FORMS}")
    if known != HEAD:
        raise _other_version(known)


@contextmanager
def told(engine: Engine) -> Iterator[None]:
    """A database that cannot be reached or read, in words."""
    try:
        yield
    except DatabaseError as error:
        raise Unreachable(f"{_shown(engine)}: the database cannot be used: {error.orig}") from None


def _revision(connection: Connection) -> str | None:
    if not inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar()


def _other_version(known: str) -> UsageProblem:
    age = "a newer" if known > HEAD else "an older"
    remedy = "use that version" if known > HEAD else "start `krino serve` once: it brings the tables up to date"
    return UsageProblem(f"the labels were written by {age} version of Krino (tables {known}, here {HEAD}); {remedy}")


def _shown(engine: Engine) -> str:
    return engine.url.render_as_string(hide_password=True)
