"""A PostgreSQL server for tests, on a socket in a folder of its own; nothing of it is left behind."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

BINARIES = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None, key=lambda path: int(path.parent.name))
MISSING = "no PostgreSQL here: `apt-get install postgresql`, then these tests run too"
_numbers = count(1)


@contextmanager
def postgres() -> Iterator[str]:
    """Gives the address of its database `postgres`. Root may not run one: then it runs as `nobody`."""
    assert BINARIES is not None
    user = "nobody" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="krino-postgres-"))
    if user:
        owner = pwd.getpwnam(user)
        os.chown(folder, owner.pw_uid, owner.pw_gid)
    data, log = folder / "data", folder / "log"

    def run(program: str, *arguments: str) -> None:
        command = [str(BINARIES / program), *arguments]
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=60)

    try:
        run("initdb", "-D", str(data), "-U", "krino", "-A", "trust", "-E", "UTF8", "--no-sync")
        run("pg_ctl", "-D", str(data), "-w", "-l", str(log), "-o", f"-h '' -k {folder}", "start")
        try:
            yield f"postgresql+psycopg://krino@/postgres?host={folder}"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fresh_database(server: str) -> str:
    """The address of a new, empty database of the server."""
    from sqlalchemy import create_engine, text

    name = f"labels_{os.getpid()}_{next(_numbers)}"
    engine = create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return server.replace("/postgres?", f"/{name}?")
