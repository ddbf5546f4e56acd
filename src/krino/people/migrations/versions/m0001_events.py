"""The first form: one table. It repeats `tables.py` on purpose: a step must not change when the table does."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision: str | None = None


def upgrade() -> None:
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("key", sa.String(64), nullable=False, unique=True),
        sa.Column("judge", sa.Text, nullable=False),
        sa.Column("options", sa.String(32), nullable=False),
        sa.Column("input_hash", sa.String(32), nullable=False),
        sa.Column("case_id", sa.Text, nullable=False),
        sa.Column("run", sa.Text, nullable=False),
        sa.Column("rater", sa.String(80), nullable=False),
        sa.Column("depth", sa.String(8), nullable=False),
        sa.Column("action", sa.String(8), nullable=False),
        sa.Column("answer", sa.Text),
        sa.Column("verdict", sa.Text),
        sa.Column("judge_version", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("why", sa.String(8), nullable=False),
        sa.Column("random", sa.Boolean, nullable=False),
        sa.Column("blind", sa.Boolean, nullable=False),
        sa.Column("undoes", sa.Integer, sa.ForeignKey("events.id"), unique=True),
        sa.Column("created", sa.String(32), nullable=False),
        sa.CheckConstraint("depth IN ('fields', 'labels')", name="events_depth"),
        sa.CheckConstraint("action IN ('label', 'skip', 'undo', 'seen')", name="events_action"),
        sa.CheckConstraint("(action = 'undo') = (undoes IS NOT NULL)", name="events_undoes"),
        sa.CheckConstraint("(action = 'label') = (answer IS NOT NULL)", name="events_answer"),
    )
    op.create_index("events_subject", "events", ["judge", "options", "input_hash", "rater", "depth"])


def downgrade() -> None:
    op.drop_table("events")
