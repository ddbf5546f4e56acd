"""Starts the command in processes of their own without importing everything anew each time: a server that forks.

Run with the path of the socket where it is to listen. Each connection is one command: words, folder and environment as
JSON with its standard streams as file descriptors; it is answered with the process id and, in the end, the exit code.
The command is then what `python -m krino` is, down to how the interpreter ends; only the imports are there already.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import socket
import sys
import tempfile
from importlib import import_module

IMPORTED = ("krino.cli.runner", "krino.api.running", "krino.labellers.llm.labeller", "krino.engine.processes")
IF_THERE = ("pyarrow.parquet", "pandas")
MOST_BYTES = 1 << 20


def serve(path: str) -> None:
    """Returns only in a process that is to become the command."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        listener.settimeout(30)
        print("ready", flush=True)
        started_by = os.getppid()
        while True:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                if os.getppid() != started_by:
                    os._exit(0)
                continue
            if os.fork() == 0:
                break
            connection.close()
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
    with connection:
        message, streams, *_ = socket.recv_fds(connection, MOST_BYTES, 3)
        if pid := os.fork():
            connection.send(b"%d\n" % pid)
            _, status = os.waitpid(pid, 0)
            connection.send(b"%d\n" % os.waitstatus_to_exitcode(status))
            os._exit(0)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    job = json.loads(message)
    os.chdir(job["cwd"])
    os.environ.clear()
    os.environ.update(job["env"])
    tempfile.tempdir = None
    sys.path[:1] = [job["cwd"], *filter(None, job["env"].get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv = ["krino", *job["args"]]


if __name__ == "__main__":
    for name in (*IMPORTED, *IF_THERE):
        try:
            import_module(name)
        except ImportError:
            if name in IMPORTED:
                raise
    gc.freeze()
    serve(sys.argv[1])
    runpy.run_module("krino", run_name="__main__", alter_sys=True)
