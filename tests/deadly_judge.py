"""A judge for tests of workers: counts letters, takes its time over some texts, and dies of others."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel

from krino import Judge, Ruling, Settlement


class Text(BaseModel):
    text: str


class NoLabels(BaseModel):
    pass


class Length(BaseModel):
    length: int
    process: int | None


class DeadlyOptions(BaseModel):
    tell_process: bool = False
    seconds: float = 0.0


class Deadly(Judge[Text, None, NoLabels, Length, DeadlyOptions]):
    name = "deadly"
    version = "1"
    summary = "Counts letters, and dies of some texts."
    default_prompt = "-"
    rules: ClassVar[dict[str, str]] = {"R1": "The number of letters."}

    def study(self, case: Text) -> None:
        time.sleep(self.options.seconds)
        if case.text == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        once = Path(case.text.removeprefix("die once "))
        if case.text.startswith("die once ") and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)

    def ask(self, case: Text, facts: None) -> None:
        return None

    def settle(self, case: Text, facts: None, labels: NoLabels | None) -> Settlement:
        process = os.getpid() if self.options.tell_process else None
        length = len(os.environ.get(case.text.removeprefix("variable "), "")) if "variable " in case.text else None
        told = len(case.text) if length is None else length
        return Settlement({"length": Ruling(told, "R1"), "process": Ruling(process, "R1")})
