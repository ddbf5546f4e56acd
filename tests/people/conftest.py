"""Every test that asks for `database` runs on SQLite and on a real PostgreSQL server."""

from databases import database, postgres_server

__all__ = ["database", "postgres_server"]
