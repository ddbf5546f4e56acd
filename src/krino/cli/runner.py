"""Runs a judge for a command: shows progress, handles Ctrl-C, prints the results and gives the exit code.

Cases are read on the thread that also runs the event loop. While a read waits for a silent pipe, the loop cannot call a
signal handler of its own; Python calls an ordinary one, which may raise. It does so only in the middle of a read.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from krino.api.running import Running
from krino.cases import CaseItem, count_hint
from krino.cli import exits, printing
from krino.cli.progress import show_progress
from krino.errors import UsageProblem
from krino.labellers.llm.endpoint import masked
from krino.render.gate import gate_blocks
from krino.render.summary import summary_blocks
from krino.render.terminal import screen
from krino.runs.session import CaseSource, Session
from krino.text.clean import clean

if TYPE_CHECKING:
    from rich.console import Console

    from krino.api.recorded_run import Run
    from krino.cli.commands.gate import Gating
    from krino.errors import Limit
    from krino.results.gates.result import GateResult
    from krino.runs.manifest import Manifest

MANY = 20_000  # above this number of cases, summing up takes long enough to be announced
JUDGE_EXITED = "the judge's code ended this process before the run was done: no result; it must not call exit"
FIRST_LIMITS = {"max_tokens": 100_000.0, "max_cost": 1.0}
"""Limits to suggest instead of 0."""


def tune_memory() -> None:
    """Makes garbage collection rarer: a run makes no cycles, and looking for them costs a tenth of its time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def notify(text: str) -> None:
    """Prints a message on stderr, above the progress bar if there is one."""
    screen(stderr=True).print(clean(text), highlight=False, markup=False, soft_wrap=True)


def carry_out(running: Running, as_json: bool, gating: Gating | None = None, every: float | None = None) -> int:
    """Judges, prints the results, checks the gate if there is one, and returns the exit code.

    `every`: seconds between two lines of progress if there is no terminal.
    """
    tune_memory()
    console = screen(stderr=True)

    async def conduct(session: Session, cases: CaseSource) -> Manifest:
        """Judges the cases with a progress display, and lets Ctrl-C interrupt."""
        total = count_hint(running.inputs.paths, running.inputs.files)
        try:
            with show_progress(session.progress, total, console, running.labeller, every):
                return await Interruptible(session, console).run(cases)
        finally:
            await running.labeller.aclose()

    with _forbid_silent_exit():
        run = asyncio.run(running.carry_out(conduct))
    if run.manifest.counts.total > MANY:
        notify(f"summing up {run.manifest.counts.total:,} judgements")
    with _forbid_silent_exit():  # the report has the judge show its cases
        gated = _show_results(run, running, gating, as_json)
    if run.manifest.state != "finished":
        notify(f"{run.manifest.state} before the end of the input: {run.manifest.stop_reason}")
        limit = running.stopped.limit if running.stopped is not None else None
        notify(f"continue with: {command_to_continue(sys.argv[1:], limit)}")
    so_far = running.labeller.so_far()
    if so_far is not None and so_far.left_out:
        notify(f"not sent, because the endpoint does not take it: {', '.join(so_far.left_out)}")
    if running.broken:
        cases = "1 case" if running.broken == 1 else f"{running.broken:,} cases"
        notify(
            f"the judge's own code broke on {cases} after labelling: put that right, and give the same command again"
        )
    return exit_code(run.manifest, gated, has_fault=bool(running.broken))


@contextlib.contextmanager
def _forbid_silent_exit() -> Iterator[None]:
    """Turns `os._exit(0)` and any `sys.exit` inside the block into a failure.

    The code of a judge may run in this process (batch files, `--case-timeout 0`, splitting records, the report). If it
    ended the process with success, a gate would pass that was never checked.
    """
    own, end = os.getpid(), os._exit

    def exit_loudly(status: int) -> NoReturn:
        """Replaces `os._exit`: exit code 0 becomes a failure with a message. Other codes, and child processes, exit as
        usual."""
        if os.getpid() == own and status == exits.DONE:
            os.write(2, f"krino: {JUDGE_EXITED}\n".encode())
            status = exits.CASES_FAILED
        end(status)

    os._exit = exit_loudly
    try:
        yield
    except SystemExit:
        raise UsageProblem(JUDGE_EXITED) from None
    finally:
        os._exit = end


def _show_results(run: Run, running: Running, gating: Gating | None, as_json: bool) -> GateResult | None:
    """Finishes the run, prints summary and gate, or both as JSON, and returns the result of the gate."""
    summed = running.finish(run)
    if not as_json:  # before the gate, so that a rule about a missing field does not hide the summary
        printing.print_blocks(summary_blocks(summed, run.manifest, run.folder))
    gated = gating.check(run.folder) if gating is not None else None
    if as_json:
        found = {} if gated is None else {"gate": gated.model_dump(mode="json")}
        result = {"run": str(run.folder), **run.manifest.model_dump(mode="json")}
        printing.print_json({**result, "summary": summed.model_dump(mode="json"), **found})
    elif gated is not None:
        printing.print_blocks(gate_blocks(gated, known=True))
    return gated


def exit_code(manifest: Manifest, gated: GateResult | None = None, *, has_fault: bool = False) -> int:
    """Returns the exit code of a run: 0 if it is finished and every case is ok; with a gate, if the gate passes.

    An unfinished run has not failed its gate: it can be continued, and 1 only means a failed gate. `has_fault`: the
    judge's own code broke, which is more than a case that failed.
    """
    if manifest.state == "interrupted":
        return exits.INTERRUPTED
    if gated is not None and manifest.state == "finished":
        return exits.DONE if gated.passed else exits.GATE_FAILED
    if manifest.state != "finished" or manifest.counts.failed or manifest.counts.error:
        return exits.FAULT if has_fault else exits.CASES_FAILED
    return exits.DONE


def command_to_continue(arguments: Sequence[str], limit: Limit | None) -> str:
    """Returns the command that continues a stopped run: the same one, with a higher limit if a limit stopped it.

    Without `--fresh`, which would judge everything again. Passwords in addresses are masked.
    """
    arguments = [word for word in arguments if word != "--fresh"]
    if limit is not None:
        value = 2 * limit.value or FIRST_LIMITS[limit.setting]
        flag = f"--{limit.setting.replace('_', '-')}"
        arguments = _set_flag(arguments, flag, f"{value:.0f}" if limit.setting == "max_tokens" else f"{value:g}")
    return shlex.join(["krino", *(masked(word) if "://" in word else word for word in arguments)])


def _set_flag(arguments: Sequence[str], flag: str, value: str) -> list[str]:
    """Returns the arguments with a flag set to this value, in place of an earlier one."""
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == flag:
            next(words, None)
        elif not word.startswith(f"{flag}="):
            kept.append(word)
    return [*kept, flag, value]


# --- Ctrl-C and SIGTERM ------------------------------------------------------------------------------

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class _ReadAborted(BaseException):
    """Aborts a waiting read. Not an `Exception`, because readers and judges may catch those."""


@dataclass(slots=True)
class Interruptible:
    """Runs a session until a signal: the first one lets calls in flight finish, the second ends it at once.

    Finished judgements are kept either way.
    """

    session: Session
    console: Console
    _reading: bool = False
    _signals: int = 0
    _task: asyncio.Future[Manifest] | None = None

    async def run(self, cases: CaseSource) -> Manifest:
        """Runs the session to its end, or until a signal."""
        self._task = asyncio.ensure_future(self.session.run(lambda: self._stop_on_signal(cases())))
        with self._handle_signals(asyncio.get_running_loop()):
            return await self._task

    def _stop_on_signal(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """Yields items until a signal, also one that aborts the read of the next item; then interrupts the session."""
        while True:
            try:
                try:
                    self._reading = True  # from here on a signal raises; an earlier one was counted
                    item = None if self._signals else next(items, None)
                finally:
                    self._reading = False
            except _ReadAborted:
                self._reading = False
                self.session.interrupt()
                return
            if item is None:
                if self._signals:
                    self.session.interrupt()
                return
            yield item

    @contextlib.contextmanager
    def _handle_signals(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Handles signals while a run goes on: the first finishes current cases, the second cancels them."""

        def on_signal(number: int, frame: Any) -> None:
            """Counts the signal, plans what it does, and aborts a read that would wait for ever."""
            self._signals += 1
            loop.call_soon_threadsafe(self._finish_current if self._signals == 1 else self._cancel_now)
            if self._reading:
                self._reading = False
                raise _ReadAborted

        before = {number: signal.signal(number, on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)  # None: not set by Python

    def _finish_current(self) -> None:
        self.console.print("stopping: waiting for replies in flight (Ctrl-C again to leave them)")
        self.session.interrupt()

    def _cancel_now(self) -> None:
        if self._task is not None:
            self._task.cancel()
