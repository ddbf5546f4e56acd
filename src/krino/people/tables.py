"""The one table of the labels of people. A change here needs a migration beside it: a test holds the two together."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

HEAD = "0001"
"""The migration that makes the table as it stands here."""

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("key", String(64), nullable=False, unique=True),  # of the request: one that is sent twice counts once
    Column("judge", Text, nullable=False),
    Column("options", String(32), nullable=False),  # a hash of the judge's options
    Column("input_hash", String(32), nullable=False),
    Column("case_id", Text, nullable=False),
    Column("run", Text, nullable=False),  # where the person saw the case
    Column("rater", String(80), nullable=False),
    Column("depth", String(8), nullable=False),
    Column("action", String(8), nullable=False),
    Column("answer", Text),  # JSON: the fields of the verdict, or the labels
    Column("verdict", Text),  # JSON: what the judge's rules make of the labels
    Column("judge_version", Text, nullable=False),
    Column("note", Text, nullable=False),
    Column("why", String(8), nullable=False),  # why the queue brought the case
    Column("random", Boolean, nullable=False),  # whether it came by the random share
    Column("blind", Boolean, nullable=False),  # whether the person had not been shown the verdict
    Column("undoes", Integer, ForeignKey("events.id"), unique=True),
    Column("created", String(32), nullable=False),  # UTC, ISO 8601
    CheckConstraint("depth IN ('fields', 'labels')", name="events_depth"),
    CheckConstraint("action IN ('label', 'skip', 'undo', 'seen')", name="events_action"),
    CheckConstraint("(action = 'undo') = (undoes IS NOT NULL)", name="events_undoes"),
    CheckConstraint("(action = 'label') = (answer IS NOT NULL)", name="events_answer"),
    Index("events_subject", "judge", "options", "input_hash", "rater", "depth"),
)
