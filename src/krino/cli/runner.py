"""Carries a run out on behalf of a command: shows progress, minds Ctrl-C, tells how it went, gives the exit code.

Cases are read on the thread that also runs the event loop. A signal handler of the loop would never be called while a
read waits for a pipe that gives nothing; an ordinary one is, and may raise: it does so only in the middle of a read.
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
from krino.cli.progress import shown
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
    from krino.cli.gate import Gating
    from krino.errors import Limit
    from krino.results.gates.result import GateResult
    from krino.runs.manifest import Manifest

MANY = 20_000  # from so many cases on, summing up takes long enough to be announced
ENDED = "the judge's code ended this process before the run was done: nothing is decided; it must not call exit"
FROM_NOTHING = {"max_tokens": 100_000.0, "max_cost": 1.0}
"""What to suggest instead of a limit of 0."""


def tune_memory() -> None:
    """A run makes many short-lived objects and no cycles: to look for cycles seldom saves a tenth of the time."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def tell(text: str) -> None:
    """A word to the user, on stderr."""
    screen(stderr=True).print(clean(text), highlight=False, markup=False, soft_wrap=True)


def carry_out(running: Running, as_json: bool, gating: Gating | None = None, every: float | None = None) -> int:
    """Judge, sum up, show; then hold the run against the rules of a gate, if there is one. Gives the exit code.

    `every`: seconds between two lines of progress where there is no terminal.
    """
    tune_memory()
    console = screen(stderr=True)

    async def conduct(session: Session, cases: CaseSource) -> Manifest:
        total = count_hint(running.inputs.paths, running.inputs.files)
        try:
            with shown(session.tally, total, console, running.labeller, every):
                return await Interruptible(session, console).run(cases)
        finally:
            await running.labeller.aclose()

    with _no_quiet_end():
        run = asyncio.run(running.carry_out(conduct))
    if run.manifest.counts.total > MANY:
        tell(f"summing up {run.manifest.counts.total:,} judgements")
    with _no_quiet_end():  # the report has the judge show its cases
        gated = _shown(run, running, gating, as_json)
    if run.manifest.state != "finished":
        tell(f"{run.manifest.state} before the end of the input: {run.manifest.stop_reason}")
        limit = running.stopped.limit if running.stopped is not None else None
        tell(f"continue with: {command_to_continue(sys.argv[1:], limit)}")
    return exit_code(run.manifest, gated)


@contextlib.contextmanager
def _no_quiet_end() -> Iterator[None]:
    """Code of a judge that runs in this process (batch files, `--case-timeout 0`, splitting records, the report) may
    end it with the exit code of a success, and a gate would pass that nobody checked. So it ends as a fault does."""
    own, end = os.getpid(), os._exit

    def end_loudly(status: int) -> NoReturn:
        if os.getpid() == own and status == exits.DONE:
            os.write(2, f"krino: {ENDED}\n".encode())
            status = exits.CASES_FAILED
        end(status)

    os._exit = end_loudly
    try:
        yield
    except SystemExit:
        raise UsageProblem(ENDED) from None
    finally:
        os._exit = end


def _shown(run: Run, running: Running, gating: Gating | None, as_json: bool) -> GateResult | None:
    summed = running.finish(run)
    if not as_json:  # before the gate: a rule about what is not there must not keep it from being shown
        printing.on_screen(summary_blocks(summed, run.manifest, run.folder))
    gated = gating.check(run.folder) if gating is not None else None
    if as_json:
        found = {} if gated is None else {"gate": gated.model_dump(mode="json")}
        result = {"run": str(run.folder), **run.manifest.model_dump(mode="json")}
        printing.as_json({**result, "summary": summed.model_dump(mode="json"), **found})
    elif gated is not None:
        printing.on_screen(gate_blocks(gated, known=True))
    return gated


def exit_code(manifest: Manifest, gated: GateResult | None = None) -> int:
    """Nothing but a finished run in which every case is ok is a success; with a gate, one that keeps its rules.

    A run that did not come to its end has not failed its gate: it can go on, and 1 is kept for what is decided.
    """
    if manifest.state == "interrupted":
        return exits.INTERRUPTED
    if gated is not None and manifest.state == "finished":
        return exits.DONE if gated.passed else exits.GATE_FAILED
    if manifest.state != "finished" or manifest.counts.failed or manifest.counts.error:
        return exits.CASES_FAILED
    return exits.DONE


def command_to_continue(arguments: Sequence[str], limit: Limit | None) -> str:
    """The command that continues a stopped run: the same again, with a higher limit where a limit stopped it, and
    without `--fresh`, which would forget what was judged.

    A password in an address is not shown, and has to be put in again.
    """
    arguments = [word for word in arguments if word != "--fresh"]
    if limit is not None:
        value = 2 * limit.value or FROM_NOTHING[limit.setting]
        flag = f"--{limit.setting.replace('_', '-')}"
        arguments = _with_flag(arguments, flag, f"{value:.0f}" if limit.setting == "max_tokens" else f"{value:g}")
    return shlex.join(["krino", *(masked(word) if "://" in word else word for word in arguments)])


def _with_flag(arguments: Sequence[str], flag: str, value: str) -> list[str]:
    """The arguments with this value for a flag, wherever it was given before or not at all."""
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


class _BrokenOff(BaseException):
    """Leaves a read that waits. No `Exception`: readers and judges may catch those."""


@dataclass(slots=True)
class Interruptible:
    """Once: finish what is in flight. Twice: leave at once. Nothing finished is lost either way."""

    session: Session
    console: Console
    _reading: bool = False
    _signals: int = 0
    _task: asyncio.Future[Manifest] | None = None

    async def run(self, cases: CaseSource) -> Manifest:
        """The session to its end, or until it is told to stop."""
        self._task = asyncio.ensure_future(self.session.run(lambda: self._breakable(cases())))
        with self._handling(asyncio.get_running_loop()):
            return await self._task

    def _breakable(self, items: Iterator[CaseItem]) -> Iterator[CaseItem]:
        """The items, until a signal breaks off the reading of the next one."""
        while True:
            try:
                try:
                    self._reading = True  # from here on a signal raises; one that came before has been counted
                    item = None if self._signals else next(items, None)
                finally:
                    self._reading = False
            except _BrokenOff:
                self._reading = False
                self.session.interrupt()
                return
            if item is None:
                if self._signals:
                    self.session.interrupt()
                return
            yield item

    @contextlib.contextmanager
    def _handling(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        def on_signal(number: int, frame: Any) -> None:
            self._signals += 1
            loop.call_soon_threadsafe(self._stop if self._signals == 1 else self._leave)
            if self._reading:
                self._reading = False
                raise _BrokenOff

        before = {number: signal.signal(number, on_signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler or signal.SIG_DFL)  # None: not set by Python

    def _stop(self) -> None:
        self.console.print("stopping: waiting for replies in flight (Ctrl-C again to leave them)")
        self.session.interrupt()

    def _leave(self) -> None:
        if self._task is not None:
            self._task.cancel()
