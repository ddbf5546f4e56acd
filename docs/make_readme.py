"""Fills the README's blocks of printed output with what the program prints.

    python docs/make_readme.py [--check]

A block of output stands under a comment `<!-- printed by: COMMAND, from "WORDS" to "WORDS" -->`: the command is run in
an empty folder, and of what it prints the lines from the first words to before the second are shown. Dates vary, so
they are fixed. `--check` changes nothing and ends with 1 where the README says something else.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"
COLUMNS = "92"
DAY = "2026-11-01 09:30 UTC"
_BLOCK = re.compile(
    r'(?P<head><!-- printed by: (?P<command>krino [^,]+), from "(?P<first>[^"]+)" to "(?P<end>[^"]+)" -->\n+```text\n)'
    r"(?P<shown>.*?)(?=```)",
    re.DOTALL,
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")


def printed(command: str) -> list[str]:
    """What a command prints to its standard output, line by line, with a fixed date."""
    arguments = [sys.executable, "-m", *shlex.split(command)]
    ours = {key: value for key, value in os.environ.items() if not key.startswith("KRINO_")}
    plain = {**ours, "COLUMNS": COLUMNS, "NO_COLOR": "1", "TERM": "dumb", "PYTHONIOENCODING": "utf-8"}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(arguments, cwd=folder, env=plain, capture_output=True, encoding="utf-8", check=True)
    return [_DATE.sub(DAY, line.rstrip()) for line in done.stdout.splitlines()]


def part_of(lines: list[str], first: str, end: str) -> str:
    """The lines from the one that begins with `first` to before the one after it that begins with `end`."""
    start = next(place for place, line in enumerate(lines) if line.startswith(first))
    stop = next(place for place, line in enumerate(lines) if place > start and line.startswith(end))
    return "\n".join(lines[start:stop]).rstrip() + "\n"


def filled(readme: str) -> str:
    """The README with every such block made anew."""
    outputs: dict[str, list[str]] = {}

    def fresh(block: re.Match[str]) -> str:
        command = block["command"]
        if command not in outputs:
            outputs[command] = printed(command)
        return block["head"] + part_of(outputs[command], block["first"], block["end"])

    return _BLOCK.sub(fresh, readme)


def blocks(readme: str) -> list[str]:
    """What the README shows as printed."""
    return [block["shown"] for block in _BLOCK.finditer(readme)]


def main() -> None:
    before = README.read_text("utf-8")
    after = filled(before)
    if "--check" in sys.argv[1:]:
        raise SystemExit(before != after and "README.md shows what the program does not print: docs/make_readme.py")
    README.write_text(after, "utf-8")


if __name__ == "__main__":
    main()
