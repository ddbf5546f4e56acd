"""Runs a judge's code so that it can neither end the process nor run for ever: both become errors of its case.

`sys.exit()` in a library that a judge calls raises `SystemExit`, which `except Exception` does not catch; it would end
the run and not the case. An endless loop would block everything. So a judge's code runs inside a `CodeLimit`, which
turns what would end the process, and what takes too long, into a `CodeBroke`.

How code is interrupted depends on the thread. On the main thread an alarm of the system does it, also while a library
waits or a regular expression runs. On other threads only Python's own steps can be interrupted. Where even the alarm
does not help (a library that never returns, a judge that catches everything), a worker ends its process
(`end_if_stuck`).
"""

from __future__ import annotations

import ctypes
import faulthandler
import math
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from krino.errors import UsageProblem, UserInterrupt
from krino.text.faults import describe_exception

CASE_SECONDS = 300.0
"""How long the code of one case may take by default, without the wait for a model."""
AGAIN = 1.0
"""Seconds between two attempts to interrupt code that goes on."""
GRACE = 5.0
"""Seconds after the limit (never more than the limit itself) before the process is ended."""


def seconds_of(given: float) -> float:
    """Returns the limit that a user has set; raises `UsageProblem` if it is negative or not finite."""
    if not 0 <= given < math.inf:
        raise UsageProblem(f"case_timeout (--case-timeout) is {given}: give seconds, or 0 for no limit")
    return given


def longest_silence(seconds: float) -> float:
    """Returns the seconds within which a process with this limit shows a sign of life or is ended."""
    return seconds + min(GRACE, seconds) + 1.0


class CodeBroke(Exception):
    """A judge's code raised what would have ended the process, or took longer than it may."""


class TookTooLong(CodeBroke):
    """A judge's code took longer than it may."""


class _TimeIsUp(BaseException):
    """Raised inside the judge's code. It is no `Exception`, since judges catch those."""


class CodeLimit:
    """The time that the code of one case may take in all its steps; each runs `with` it. 0: no limit."""

    __slots__ = ("_begun", "_left", "_process", "_seconds", "_uses_alarm")

    def __init__(self, seconds: float = CASE_SECONDS) -> None:
        self._seconds = self._left = seconds
        self._uses_alarm: bool | None = None
        """None before the first step: looking costs more than the rest of a step's limit."""
        self._begun = 0.0
        self._process = 0

    def __enter__(self) -> None:
        self._process = os.getpid()
        self._begun = time.monotonic()
        if self._seconds:
            _hard_end.put_off(self._begun)
            if self._uses_alarm is None:
                self._uses_alarm = _can_use_alarm()
            left = max(self._left, 0.001)
            if self._uses_alarm:
                _alarm.begin(left)
            else:
                _watcher.begin(self._begun + left)

    def stop(self) -> None:
        """Ends the alarm or the watch over this thread. Needed on its own only for an exception that came between two
        steps."""
        if self._seconds:
            (_alarm if self._uses_alarm else _watcher).end()

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, _: TracebackType | None) -> None:
        if os.getpid() != self._process:  # the judge has forked, and only the original may write the run
            os._exit(1)
        self.stop()
        self._left -= time.monotonic() - self._begun
        if fault is None or isinstance(fault, Exception) or _is_users_interrupt(fault):
            return
        if isinstance(fault, _TimeIsUp):
            raise TookTooLong(
                f"the judge's code took longer than {self._seconds:g} seconds over this case (--case-timeout)"
            ) from fault
        raise CodeBroke(describe_exception(fault)) from fault


def _is_users_interrupt(fault: BaseException) -> bool:
    """Is this the user's Ctrl-C? If Python's own handler is in charge of Ctrl-C, on the main thread, a
    `KeyboardInterrupt` of the judge cannot be distinguished from it, and counts as the user's."""
    if not isinstance(fault, KeyboardInterrupt):
        return False
    ambiguous = _is_main() and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return isinstance(fault, UserInterrupt) or ambiguous


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


# --- on the main thread ------------------------------------------------------------------------------


class _Alarm:
    """The system's alarm clock. Its handler runs on the main thread, in the middle of the code that it interrupts."""

    def __init__(self) -> None:
        self._is_on = False

    def begin(self, seconds: float) -> None:
        self._is_on = True
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)

    def end(self) -> None:
        self._is_on = False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def ring(self, number: int, frame: FrameType | None) -> None:
        """Handles the alarm: raises `_TimeIsUp` in the interrupted code, unless the limit is off or that code is in
        this file."""
        at_work = frame is None or frame.f_code.co_filename != __file__  # else the step is beginning or ending
        if self._is_on and at_work:
            raise _TimeIsUp


_alarm = _Alarm()


def _can_use_alarm() -> bool:
    """Can this thread use the alarm? If it is free, installs the handler; a test runner that limits its tests may have
    set its own."""
    if not hasattr(signal, "setitimer") or not _is_main():
        return False
    handler = signal.getsignal(signal.SIGALRM)
    if handler is signal.SIG_DFL:
        signal.signal(signal.SIGALRM, _alarm.ring)
        return True
    return handler == _alarm.ring


# --- on other threads --------------------------------------------------------------------------------


class _Watcher:
    """A thread that raises an exception in others whose time is up."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._deadlines: dict[int, float] = {}
        self._rung: set[int] = set()
        self._thread: threading.Thread | None = None

    def begin(self, deadline: float) -> None:
        """Begins to watch this thread; the watching thread is started if there is none."""
        with self._lock:
            self._deadlines[threading.get_ident()] = deadline
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._watch, name="krino-code-limit", daemon=True)
                self._thread.start()

    def end(self) -> None:
        """Ends watching this thread, and drops an exception that was raised too late."""
        own = threading.get_ident()
        while True:
            try:
                with self._lock:
                    self._deadlines.pop(own, None)
                    if own in self._rung:
                        self._rung.discard(own)
                        _raise_in(own, None)  # a pending exception must not be raised in later code
            except _TimeIsUp:  # raised at the last moment, in here: the step is done
                continue
            return

    def _watch(self) -> None:
        """Raises `_TimeIsUp` in every thread whose deadline is past, again every `AGAIN` seconds; ends when there was
        nothing to watch for a while."""
        idle = 0
        while True:
            time.sleep(0.05)
            with self._lock:
                now = time.monotonic()
                for ident, deadline in self._deadlines.items():
                    if now > deadline:
                        self._deadlines[ident] = now + AGAIN
                        self._rung.add(ident)
                        _raise_in(ident, _TimeIsUp)
                idle = 0 if self._deadlines else idle + 1
                if idle > 1_000:
                    self._thread = None
                    return


def _raise_in(ident: int, fault: type[BaseException] | None) -> None:
    """Raises an exception in another thread, between two of Python's own steps; None cancels a pending one."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(ident), None if fault is None else ctypes.py_object(fault)
    )


_watcher = _Watcher()


# --- in processes that may be ended ------------------------------------------------------------------


class _HardEnd:
    """Ends this process if a step goes on long after its time, by a thread that does not need Python's lock. It is put
    off about once a second, since that costs more than a step of a quick judge."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._put_off = 0.0
        self._sink: Any = None
        self._show_life: Callable[[], None] = lambda: None

    def begin(self, seconds: float, show_life: Callable[[], None]) -> None:
        """Sets the limit and the sign of life, and starts the clock."""
        self._seconds, self._show_life = seconds, show_life
        self._sink = Path(os.devnull).open("wb")  # noqa: SIM115 - for as long as the process lives
        self.put_off(time.monotonic())

    def put_off(self, now: float) -> None:
        """Shows that the process is alive, and moves its hard end into the future, at most once a second; does nothing
        without a limit."""
        if self._seconds and now - self._put_off > 1.0:
            self._put_off = now
            self._show_life()
            faulthandler.dump_traceback_later(longest_silence(self._seconds), exit=True, file=self._sink)


_hard_end = _HardEnd()


def end_if_stuck(seconds: float, show_life: Callable[[], None] = lambda: None) -> None:
    """Makes this process end if a step takes longer than these seconds and a grace, or if `is_alive` is not called for
    as long; 0 seconds: no limit. `show_life` is called whenever that is put off, for a watcher outside: a stopped
    process cannot end itself."""
    if seconds:
        _hard_end.begin(seconds, show_life)


def is_alive() -> None:
    """Shows that this process waits for something and is not stuck."""
    _hard_end.put_off(time.monotonic())
