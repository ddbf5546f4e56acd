"""Keeps what comes on stdin beside the run, so that it can be continued and settled again."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from krino.cases.stream import MAX_CASE_BYTES
from krino.errors import UsageProblem

CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class KeptStdin:
    """A copy of stdin; `name` tells it apart by content, as a path does for files."""

    path: str = ""
    name: str = "-"

    def settle_in(self, folder: Path) -> str:
        """The copy in the run's folder, in place of that of an earlier command."""
        target = folder / f"stdin{Path(self.name).suffix}"
        draft = folder / f".{target.name}.{os.getpid()}"
        shutil.copyfile(self.path, draft)
        draft.replace(target)
        return str(target)


@contextlib.contextmanager
def stdin_kept(files: list[str]) -> Iterator[KeptStdin]:
    """A copy for as long as the block runs; nothing is read where no file is `-`."""
    if "-" not in files:
        yield KeptStdin()
        return
    if files.count("-") > 1:
        raise UsageProblem("stdin (-) is named twice; it can be read once")
    with tempfile.TemporaryDirectory(prefix="krino-") as folder:
        draft = Path(folder) / "stdin"
        digest = hashlib.blake2b(digest_size=8)
        head = b""
        with draft.open("wb") as copy:
            while chunk := sys.stdin.buffer.read(CHUNK):
                head = head or chunk.lstrip()[:1]
                digest.update(chunk)
                copy.write(chunk)
        if not head:
            raise UsageProblem("stdin is empty: pipe cases into it, one JSON object a line or a JSON array")
        suffix = ".json" if head == b"[" or _is_one_object(draft) else ".jsonl"
        path = draft.rename(draft.with_suffix(suffix))
        yield KeptStdin(str(path), f"stdin:{digest.hexdigest()}{suffix}")


def _is_one_object(path: Path) -> bool:
    """Whether the text is one JSON value over several lines, as pretty-printers write it, and not one a line."""
    with path.open("rb") as text:
        first = next((line for line in text if not line.isspace()), b"")
    if path.stat().st_size > MAX_CASE_BYTES or _is_json(first):
        return False
    return _is_json(path.read_bytes())


def _is_json(text: bytes) -> bool:
    import orjson

    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True
