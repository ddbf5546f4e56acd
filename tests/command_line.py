"""The command as users call it, in a process of its own and with none of the settings of whoever runs the tests."""

from __future__ import annotations

import atexit
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, Any, Self

ONE_AFTER_THE_OTHER = """
import json, sys
from typer.testing import CliRunner
from krino.cli import app
for command in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, command)
    print(json.dumps([done.exit_code, done.output, repr(done.exception)]))
"""


def environment(cwd: Path) -> dict[str, str]:
    ours = ("KRINO_", "OPENAI_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(ours) or key == "KRINO_THREADS"}
    return {**kept, "KRINO_CACHE": str(cwd / "replies.sqlite"), "TMPDIR": str(cwd), "COLUMNS": "100"}


class Started:
    """A command at work."""

    def __init__(
        self, args: Sequence[str], cwd: Path | str, env: dict[str, str], streams: Sequence[IO[Any] | int]
    ) -> None:
        self._connection = socket.socket(socket.AF_UNIX)
        self._connection.connect(_server())
        job = {"args": list(args), "cwd": str(cwd), "env": env}
        numbers = [stream if isinstance(stream, int) else stream.fileno() for stream in streams]
        socket.send_fds(self._connection, [json.dumps(job).encode()], numbers)
        self.pid = self._told()

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float = 120) -> int:
        """Its exit code; one that takes longer is killed."""
        self._connection.settimeout(timeout)
        try:
            return self._told()
        except TimeoutError:
            self.kill()
            raise
        finally:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing outlives the block, whatever fails in it."""
        if self._connection.fileno() != -1:
            self.kill()
            self.wait()

    def has_ended(self) -> bool:
        return bool(select.select([self._connection], [], [], 0)[0])

    def _told(self) -> int:
        return int(b"".join(iter(lambda: self._connection.recv(1), b"\n")))


@cache
def _server() -> str:
    """Where the server of this process listens; it ends with this process."""
    path = Path(tempfile.mkdtemp(prefix="krino-forks-")) / "socket"
    script = Path(__file__).with_name("forking_server.py")
    command, env = [sys.executable, str(script), str(path)], environment(path.parent)
    server = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"

    def end() -> None:
        server.kill()
        server.wait()
        server.stdout.close()  # type: ignore[union-attr]
        shutil.rmtree(path.parent)

    atexit.register(end)
    return str(path)


def begun(*args: str, cwd: Path, env: dict[str, str] | None = None) -> Started:
    """At work, and nobody listens to what it says; `with` ends it in every case."""
    with Path(os.devnull).open("r+b") as nothing:
        return Started(args, cwd, environment(cwd) if env is None else env, [nothing] * 3)


@contextmanager
def piped(text: str) -> Iterator[IO[bytes]]:
    """The end of a pipe from which the text is read; it must fit into the pipe."""
    written = text.encode()
    assert len(written) <= 65_536
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as end:
        os.write(writing, written)
        os.close(writing)
        yield end


def ran(
    *args: str,
    cwd: Path | str,
    env: dict[str, str] | None = None,
    input: str = "",  # noqa: A002 - as subprocess.run calls it
    timeout: float = 120,
    **streams: IO[Any],
) -> subprocess.CompletedProcess[str]:
    """Waited for to its end; `streams` are stdin or stdout where they are to be files."""
    given = os.environ if env is None else env
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, piped(input) as typed:
        used = [streams.get("stdin", typed), streams.get("stdout", out), err]
        code = Started(args, cwd, dict(given), used).wait(timeout)
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(args, code, out.read().decode(), err.read().decode())


def krino(*args: str, cwd: Path, **more: Any) -> subprocess.CompletedProcess[str]:
    return ran(*args, cwd=cwd, env=environment(cwd), **more)


def krino_each(commands: Sequence[Sequence[str]], cwd: Path) -> list[tuple[int, str, str]]:
    """Many commands in one process, which is quicker; of each its exit code, what it printed, and what it raised."""
    started = [sys.executable, "-c", ONE_AFTER_THE_OTHER, json.dumps(commands)]
    done = subprocess.run(started, cwd=cwd, check=True, env=environment(cwd), stdout=subprocess.PIPE, text=True)
    return [tuple(json.loads(line)) for line in done.stdout.splitlines()]
