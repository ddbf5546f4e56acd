"""How the command ends: every way out of it, expected or not, has its exit code and says why."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from typer.core import TyperGroup

from krino.cli import exits


class CutShort(Exception):
    """Carries past typer what typer would turn into exit code 1 by itself: that one means that a gate failed."""


class Commands(TyperGroup):
    """The group of all commands."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, EOFError, KeyboardInterrupt, SystemExit) as end:
            raise CutShort from end


def end_on_signals() -> None:
    """SIGTERM ends whatever goes on as Ctrl-C does, clearing up behind it; `krino judge` finishes its calls first."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def exit_code_of(command: Callable[[], Any]) -> int:
    """Runs the command. A problem that the user can put right is one clear message, never a traceback."""
    try:
        code = _code_of(command)
        sys.stdout.flush()
    except BrokenPipeError:  # nothing to say to nobody
        _drop_stdout()
        return exits.READER_GONE
    except OSError as problem:  # a folder that cannot be made, a disk that is full
        _drop_stdout()
        return _told(str(problem))
    return code


def _code_of(command: Callable[[], Any]) -> int:
    from krino.errors import KrinoError

    try:
        command()
    except SystemExit as end:  # typer's own: the code of a command, or of wrong usage
        return end.code if isinstance(end.code, int) else exits.DONE if end.code is None else exits.WRONG_USAGE
    except CutShort as cut:
        return _code_of_cut(cut.__cause__)
    except KeyboardInterrupt as end:  # between two commands, so to say
        return _code_of_cut(end)
    except KrinoError as problem:
        return _told(str(problem))
    except OSError:
        raise
    except Exception as fault:
        return _fault(fault)
    return exits.DONE


def _code_of_cut(end: BaseException | None) -> int:
    if isinstance(end, KeyboardInterrupt):
        print("krino: interrupted", file=sys.stderr)
        return exits.INTERRUPTED
    if isinstance(end, OSError):
        raise end
    return _fault(end or RuntimeError("ended without a reason"))


def _told(problem: str) -> int:
    from krino.text.clean import clean

    print(f"krino: {clean(problem)}", file=sys.stderr)  # it may quote what a stranger wrote
    return exits.WRONG_USAGE


def _fault(fault: BaseException) -> int:
    traceback.print_exception(fault)
    print(
        "krino: this is a fault in Krino, or in a judge of your own if the lines above end there; please report it "
        "with them",
        file=sys.stderr,
    )
    return exits.FAULT


def _drop_stdout() -> None:
    """What is still in the buffer cannot be written: Python must not try again when it ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real file behind it
        return
