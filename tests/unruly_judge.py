"""A judge for tests: in the step that a text names, it does what no judge should."""

from __future__ import annotations

import asyncio
import atexit
import os
import pickle
import signal
import stat
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from krino import Judge, Judgement, Passage, Questions, Ruling, Settlement
from krino.blocks import Block


class Text(BaseModel):
    text: str


class Kind(BaseModel):
    kind: str


class Verdict(BaseModel):
    score: float


class _Own(BaseException):
    pass


class _Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


JUNK = {
    "junk": b"\x00\x00\x00\x04junk",
    "long": b"\xff\xff\xff\xff" + b"\xff" * 8,
    "other": (lambda told: len(told).to_bytes(4, "big") + told)(pickle.dumps("no list of messages")),
}
"""What it writes into the files of its process."""


def _open_files() -> list[int]:
    """Numbers of all open files but the standard ones. A worker keeps its parent's numbers, which may be high."""
    return [number for number in (int(file.name) for file in Path("/dev/fd").iterdir()) if number > 2]


def misbehave(what: str) -> None:
    if what == "exit":
        sys.exit("a library gave up")
    if what == "interrupt":
        raise KeyboardInterrupt
    if what == "cancel":
        raise asyncio.CancelledError
    if what == "base":
        raise _Own("no Exception")
    if what == "close":
        os.closerange(3, max(_open_files()) + 1)
    if what == "thread":
        threading.Thread(target=threading.Event().wait).start()
    if what == "at end":
        atexit.register(threading.Event().wait)
    if what == "no output":
        sys.stdout = sys.stderr = None
    if what == "close output":
        os.closerange(0, 3)
    if what == "fork":
        os.fork()
    if what == "die":
        os._exit(0)
    if what in JUNK:
        for number in _open_files():
            with suppress(OSError):
                if stat.S_ISSOCK(os.fstat(number).st_mode):
                    os.write(number, JUNK[what])
    if what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if what == "mute":
        raise _Mute
    if what == "half":
        raise ValueError("half a character: \ud800")
    while what == "loop":
        pass
    if what == "sleep":
        time.sleep(3600)
    while what == "swallow":
        try:
            while True:
                pass
        except BaseException:
            pass


class Unruly(Judge[Text, None, Kind, Verdict]):
    name = "unruly"
    version = "1"
    summary = "Misbehaves where the text says so, as `settle: exit`."
    default_prompt = "-"
    rules: ClassVar[dict[str, str]] = {"R1": "Always the same."}

    def _at(self, step: str, case: Text) -> None:
        where, _, what = case.text.partition(": ")
        if where == step:
            misbehave(what)

    def study(self, case: Text) -> None:
        self._at("study", case)

    def ask(self, case: Text, facts: None) -> Questions | None:
        self._at("ask", case)
        return Questions((Passage("text", case.text),), "-") if case.text.startswith(("label", "check")) else None

    def label_locally(self, cases: Any) -> list[Kind]:
        for case, _ in cases:
            self._at("label", case)
        return [Kind(kind="any") for _ in cases]

    def check(self, case: Text, facts: None, labels: Kind) -> list[str]:
        self._at("check", case)
        return []

    def settle(self, case: Text, facts: None, labels: Kind | None) -> Settlement:
        self._at("settle", case)
        return Settlement({"score": Ruling(0.5, "R1", from_labels=labels is not None)})

    def view(self, case: Text, facts: None, judgement: Judgement) -> Sequence[Block]:
        self._at("view", case)
        return ()

    def metadata(self, case: Text) -> dict[str, Any]:
        self._at("metadata", case)
        return {}

    def failed_form(self, status: str, message: str) -> dict[str, Any] | None:
        return None
