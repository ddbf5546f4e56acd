"""How the command ends: the exit codes, each with one meaning, and every way out that has one.

1 is a gate that failed, or a verdict that does not follow (`krino verify`), and nothing else.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any, NoReturn

from typer.core import TyperGroup

DONE = 0
GATE_FAILED = 1
WRONG_USAGE = 2
CASES_FAILED = 3
FAULT = 70
"""A fault in Krino or in a judge (EX_SOFTWARE of sysexits.h), with a traceback."""
INTERRUPTED = 130
READER_GONE = 141
"""The reader closed the pipe (`krino show RUN | head`); `cat` and similar commands end with this code too."""


class CutShort(Exception):
    """Carries past typer what typer would turn into exit code 1 by itself: that one means that a gate failed."""


class Commands(TyperGroup):
    """The group of all commands."""

    def invoke(self, ctx: Any) -> Any:
        """Runs a command; what would end the process becomes `CutShort`, so that typer does not hide it."""
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, EOFError, KeyboardInterrupt, SystemExit) as end:
            raise CutShort from end


def end_on_signals() -> None:
    """Makes SIGTERM end whatever goes on as Ctrl-C does, clearing up behind it; `krino judge` finishes its calls
    first."""
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where it is ignored (nohup)
        signal.signal(signal.SIGINT, _interrupt)
    if os.name == "posix":
        _wake_main_thread_after_signals()


def _interrupt(number: int, frame: FrameType | None) -> None:
    from krino.errors import UserInterrupt

    raise UserInterrupt


_WAKE_UP_PAUSES = (0.05, 0.2, 1.0, 5.0)
"""Seconds before each wake-up that follows a signal, counted from the one before."""


def _wake_main_thread_after_signals() -> None:
    """Starts a thread that interrupts a blocked read of the main thread after every signal.

    Python runs signal handlers between two bytecodes of the main thread. A signal that arrives just before a read
    blocks is handled only when that read returns, which on a pipe may be never. So the thread learns of every signal
    from Python's wake-up pipe and sends the main thread a few harmless signals (SIGURG), which interrupt the read.
    """
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    signal.signal(signal.SIGURG, lambda number, frame: None)

    def send_wake_ups() -> None:
        """Sends further signals after each real one, in case the main thread missed the first."""
        while numbers := os.read(read_end, 64):
            if set(numbers) == {signal.SIGURG}:
                continue
            for pause in _WAKE_UP_PAUSES:
                time.sleep(pause)
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGURG)

    threading.Thread(target=send_wake_ups, name="krino-wake-up", daemon=True).start()


_LONGEST_END = 10.0
"""Seconds after which the command ends although a judge has left a thread running, or something to do at the end."""


def end_with(code: int) -> NoReturn:
    """Ends this process with a code, whatever a judge has left behind in it: all that counts is written by now. A
    thread or clean-up that goes on too long is cut off."""

    def end() -> None:
        threading.main_thread().join()  # until then a program that called the command itself may go on
        time.sleep(_LONGEST_END)
        os._exit(code)

    threading.Thread(target=end, name="krino-end", daemon=True).start()
    sys.exit(code)


def exit_code_of(command: Callable[[], Any]) -> int:
    """Runs the command and returns its exit code. A problem that the user can put right is one clear message, never a
    traceback."""
    try:
        return _run_and_flush(command)
    except Exception:  # a judge has closed or replaced stdout and stderr: nothing can be printed any more
        sys.stdout = sys.stderr = None
        return FAULT


def _run_and_flush(command: Callable[[], Any]) -> int:
    """Runs a command and flushes stdout; returns the exit code, also if the reader of stdout is gone or the system
    reports an error."""
    try:
        code = _run_for_code(command)
        sys.stdout.flush()
    except BrokenPipeError:  # stdout was closed (`| head`): end quietly
        _drop_stdout()
        return READER_GONE
    except OSError as problem:  # a folder that cannot be made, a disk that is full
        _drop_stdout()
        return _print_usage_error(_describe_os_error(problem))
    return code


def _run_for_code(command: Callable[[], Any]) -> int:
    """Runs a command; returns the exit code, after a message if it failed."""
    from krino.errors import JudgeBroke, KrinoError

    try:
        command()
    except SystemExit as end:  # typer's own: the code of a command, or of wrong usage
        return end.code if isinstance(end.code, int) else DONE if end.code is None else WRONG_USAGE
    except CutShort as cut:
        return _code_of_cut(cut.__cause__)
    except KeyboardInterrupt as end:  # before typer began, or after it ended
        return _code_of_cut(end)
    except JudgeBroke as problem:
        _print_usage_error(str(problem))
        return FAULT
    except KrinoError as problem:
        return _print_usage_error(str(problem))
    except OSError:
        raise
    except Exception as fault:
        return _print_fault(fault)
    return DONE


def _code_of_cut(end: BaseException | None) -> int:
    """Returns the exit code of a command that was cut short, after a message; raises an error of the system again."""
    if isinstance(end, KeyboardInterrupt):
        print("krino: interrupted", file=sys.stderr)
        return INTERRUPTED
    if isinstance(end, OSError):
        raise end
    if isinstance(end, SystemExit) and isinstance(end.__context__, BrokenPipeError):  # how rich ends `--help | head`
        raise end.__context__
    return _print_fault(end or RuntimeError("ended without a reason"))


def _describe_os_error(problem: OSError) -> str:
    """Describes an operating-system error with file and remedy."""
    from krino.writing import is_full

    what = f"{problem.filename or 'a file'}: {problem.strerror}" if problem.strerror else str(problem)
    return f"{what}; make room and give the same command again" if is_full(problem) else what


def _print_usage_error(problem: str) -> int:
    """Prints a problem on stderr; returns the exit code for wrong usage."""
    from krino.text.clean import clean

    print(f"krino: {clean(problem)}", file=sys.stderr)  # it may quote what a stranger wrote
    return WRONG_USAGE


def _print_fault(fault: BaseException) -> int:
    """Prints the traceback of a fault in Krino; returns its exit code."""
    traceback.print_exception(fault)
    print(
        "krino: this is a fault in Krino, or in a judge of your own if the lines above end there; please report it "
        "with them",
        file=sys.stderr,
    )
    return FAULT


def _drop_stdout() -> None:
    """Points stdout at nothing. What is still in the buffer cannot be written: Python must not try again when it
    ends."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError):  # no real file behind it
        return
