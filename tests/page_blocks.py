"""The code blocks of a page of documentation, and how each is run: what a page shows must work as shown.

A block with a title (```jsonl title="cases.jsonl"```) is a file, which lies in the page's folder when the blocks
after it run; so is a hidden one, in a comment that begins `file: NAME`; a comment that begins `run` is run before
what follows. In a `console` block each line that begins with `$ ` is run, and the lines below it must be printed, in
that order (`...` leaves lines out); `# exit code N` is how it ends, 0 if nothing is said. A `python` block is run,
and prints what its comments behind or below a `print` say. `sh` blocks are run as they are. Data without a title must
at least be well formed. `no-run="WHY"` marks a block that cannot run here; the site shows the reason.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

import command_line

_PART = re.compile(
    r"^(?P<indent> *)(?P<marks>`{3,})(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)(?P=marks) *$"
    r"|<!-- file: (?P<hidden>\S+)\n(?P<content>.*?)-->"
    r"|<!-- run\n(?P<script>.*?)-->",
    re.MULTILINE | re.DOTALL,
)
_TITLE = re.compile(r'title="([^"]+)"')
_EXIT = re.compile(r"# exit code (\d+)")
_PROMISE = re.compile(r"^ *print\(.*\)(?:  # (.*)|\n# (.*))$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")
DATE = "2026-11-01 09:30 UTC"
ILLUSTRATIONS = {"", "text", "markdown"}
"""Languages that are only shown: pictures in letters, and files that a test of their own reads."""


@dataclass(frozen=True)
class Block:
    """A block of a page; `title` is the file that it is, `why_not` why it is not run."""

    language: str
    text: str
    title: str | None = None
    why_not: str | None = None
    line: int = 0


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page in their order, hidden files among them."""
    return list(_blocks(page))


def _blocks(page: str) -> Iterator[Block]:
    for part in _PART.finditer(page):
        line = page.count("\n", 0, part.start()) + 1
        if part["hidden"]:
            yield Block("", part["content"], part["hidden"], line=line)
            continue
        if part["script"]:
            yield Block("sh", part["script"], line=line)
            continue
        text = re.sub(f"^{part['indent']}", "", part["text"], flags=re.MULTILINE) if part["indent"] else part["text"]
        info = part["info"].strip()
        title = _TITLE.search(info)
        unmarked = re.search(r'no-run(?:="([^"]*)")?', info)
        yield Block(
            language=info.split()[0] if info else "",
            text=text,
            title=title[1] if title else None,
            why_not=None if unmarked is None else unmarked[1] or "it needs a service of yours",
            line=line,
        )


def run_page(page: str, folder: Path, environment: dict[str, str]) -> None:
    """Runs the blocks of a page one after the other, in one folder."""
    for block in blocks_of(page):
        if block.why_not is None:
            run_block(block, folder, environment)


def run_block(block: Block, folder: Path, environment: dict[str, str]) -> None:
    """Runs a block, or writes the file that it is."""
    if block.title:
        _check_form(block)
        goal = folder / block.title
        goal.parent.mkdir(parents=True, exist_ok=True)
        goal.write_text(block.text, "utf-8")
    elif block.language == "console":
        _run_console(block, folder, environment)
    elif block.language == "python":
        _run_python(block, folder, environment)
    elif block.language == "sh":
        done = _shell(block.text, folder, environment)
        assert done.returncode == 0, f"line {block.line}\n{done.stdout}\n{done.stderr}"
    else:
        _check_form(block)


def _check_form(block: Block) -> None:
    """Data must be well formed; a language of which nothing is known here must not be shown untested."""
    if block.language == "json":
        json.loads(block.text)
    elif block.language == "jsonl":
        [json.loads(line) for line in block.text.splitlines()]
    elif block.language == "toml":
        tomllib.loads(block.text)
    elif block.language == "yaml":
        yaml.safe_load(block.text)
    else:
        assert block.title or block.language in ILLUSTRATIONS, f"line {block.line}: how is {block.language} tested?"


def commands(block: Block) -> Iterator[tuple[str, list[str], int]]:
    """Each command of a console block, the lines that it is to print, and its exit code."""
    text = block.text.replace("\\\n", "")
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        lines = [line.rstrip() for line in shown.splitlines() if line.strip()]
        codes = [_EXIT.fullmatch(line) for line in lines]
        code = next((int(found[1]) for found in codes if found), 0)
        yield command.strip(), [line for line, found in zip(lines, codes, strict=True) if not found], code


def _run_console(block: Block, folder: Path, environment: dict[str, str]) -> None:
    for command, shown, code in commands(block):
        if command.startswith("pip install "):  # `make test-release` installs; a test must not change what is here
            continue
        words = shlex.split(command, comments=True)
        if words[0] == "krino" and not {"|", ">", "&&", "||", ";"} & set(words):
            done = command_line.ran(*words[1:], cwd=folder, env=environment)
        else:
            done = _shell(command, folder, environment)
        assert done.returncode == code, f"line {block.line}: {command}\n{done.stdout}\n{done.stderr}"
        check_printed(shown, f"{done.stdout}\n{done.stderr}", f"line {block.line}: {command}")


def check_printed(shown: list[str], printed: str, where: str) -> None:
    """Every line that is shown was printed, in the order in which it is shown."""
    lines = iter([_DATE.sub(DATE, line.rstrip()) for line in printed.splitlines()])
    for line in shown:
        assert line.strip() == "..." or line in lines, f"{where}\nnot printed in this place: {line!r}\n{printed}"


def _run_python(block: Block, folder: Path, environment: dict[str, str]) -> None:
    """Runs a block; what its comments promise must be printed."""
    promised = [behind or below for behind, below in _PROMISE.findall(block.text)]
    command = [sys.executable, "-W", "error", "-c", block.text]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"line {block.line}\n{done.stderr}"
    check_printed(promised, done.stdout, f"line {block.line}")


def _shell(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Runs lines of bash with `krino` and `python` as this Python has them."""
    made = folder / ".bin"
    made.mkdir(exist_ok=True)
    for name, start in {"krino": "-m krino", "python": "", "pytest": "-m pytest"}.items():
        (made / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {start} "$@"\n')
        (made / name).chmod(0o755)
    given = {**environment, "PATH": f"{made}{os.pathsep}{environment['PATH']}"}
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)
