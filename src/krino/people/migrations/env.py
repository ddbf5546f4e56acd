"""What alembic runs: the steps on the connection that it is handed, in the transaction that is open there."""

from __future__ import annotations

from alembic import context

from krino.people.tables import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, transactional_ddl=True)
context.run_migrations()
