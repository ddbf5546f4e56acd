"""The table of people's labels, and the migrations that bring an older database up to date."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    inspect,
    text,
)

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),  # idempotency key of the request
    Column("judge", Text, nullable=False),
    Column("options", String(32), nullable=False),  # hash of the judge's options
    Column("input_hash", String(32), nullable=False),
    Column("case_id", Text, nullable=False),
    Column("run", Text, nullable=False),  # where the person saw the case
    Column("rater", String(80), nullable=False),
    Column("depth", String(8), nullable=False),
    Column("action", String(8), nullable=False),
    Column("answer", Text),  # JSON: the fields of the verdict, or the labels
    Column("verdict", Text),  # JSON: the verdict that the judge's rules derive from the labels
    Column("judge_version", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("why", String(8), nullable=False),  # why the queue offered the case
    Column("random", Boolean, nullable=False),  # whether the case belongs to the random sample
    Column("blind", Boolean, nullable=False),  # whether the person had not seen the verdict
    Column("undoes", Integer, ForeignKey("events.id"), unique=True),
    Column("created", String(32), nullable=False),  # UTC, ISO 8601
    Column("target", Text, nullable=False, server_default=""),  # the rate that the case was drawn for
    CheckConstraint("depth IN ('fields', 'labels')", name="events_depth"),
    CheckConstraint("action IN ('label', 'skip', 'undo', 'seen')", name="events_action"),
    CheckConstraint("(action = 'undo') = (undoes IS NOT NULL)", name="events_undoes"),
    CheckConstraint("(action = 'label') = (answer IS NOT NULL)", name="events_answer"),
    Index("events_subject", "judge", "options", "input_hash", "rater", "depth"),
)

MIGRATIONS: dict[str, tuple[str, ...]] = {
    "0001": (),
    "0002": ("ALTER TABLE events ADD COLUMN target TEXT NOT NULL DEFAULT ''",),
}
"""Each version of the tables, oldest first, with the SQL that leads to it from the version before.

A new database gets the tables as they are above, so the first version needs no SQL. Never edit a published entry: add
the next one, and change the table above in the same commit.
"""
VERSION_TABLE = "alembic_version"
"""Earlier versions of Krino used Alembic. Its table keeps its name, so that their databases still open."""


def latest_version() -> str:
    """The version of the tables as this version of Krino writes them."""
    return max(MIGRATIONS)


def read_version(connection: Connection) -> str | None:
    """The version of the tables in this database; None if there are none."""
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608 - our constant


def upgrade(connection: Connection, known: str | None) -> None:
    """Creates the tables, or runs the migrations that are missing, inside the caller's transaction."""
    if known is None:
        metadata.create_all(connection)
        connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)"))
        statement = f"INSERT INTO {VERSION_TABLE} VALUES (:version)"  # noqa: S608 - our constant
    else:
        for version in sorted(MIGRATIONS):
            for sql in MIGRATIONS[version] if version > known else ():
                connection.execute(text(sql))
        statement = f"UPDATE {VERSION_TABLE} SET version_num = :version"  # noqa: S608 - our constant
    connection.execute(text(statement), {"version": latest_version()})
