"""Keeps what can be read only once, stdin and pipes, beside the run: it can be continued, shown and settled again."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from krino.cases.origin import known_suffixes
from krino.cases.stream import MAX_CASE_BYTES
from krino.errors import UsageProblem

CHUNK = 1 << 20
PACKED = (b"PAR1", b"\x1f\x8b")
"""How the two kinds of file begin that are no text: Parquet and gzip."""


@dataclass(frozen=True, slots=True)
class Copy:
    """Of one input, the first or another that can be read only once."""

    path: Path
    number: int
    digest: str
    suffix: str

    @property
    def name(self) -> str:
        """How a plan calls it: by its content, as a path does for files."""
        return f"{self._stem}:{self.digest}{self.suffix}"

    @property
    def stored_as(self) -> str:
        """How it is called in the run's folder; `krino.runs.inputs` finds it there by its name."""
        return f"{self._stem}{self.suffix}"

    @property
    def _stem(self) -> str:
        return "stdin" if self.number == 1 else f"stdin-{self.number}"


@dataclass(frozen=True, slots=True)
class KeptStdin:
    """The copies, by what the user called each input."""

    copies: Mapping[str, Copy] = field(default_factory=dict)

    def names(self, files: Sequence[str]) -> list[str]:
        """How a plan calls the inputs."""
        return [self.copies[name].name if name in self.copies else str(Path(name).resolve()) for name in files]

    def paths(self, files: Sequence[str]) -> list[str]:
        """Where to read the inputs for as long as the copies last."""
        return [str(self.copies[name].path) if name in self.copies else name for name in files]

    def settle_in(self, folder: Path, files: Sequence[str]) -> list[str]:
        """Where to read the inputs from now on: the copies move into the run's folder."""
        return [str(_settled(self.copies[name], folder)) if name in self.copies else name for name in files]


def _settled(copy: Copy, folder: Path) -> Path:
    from krino.writing import replacing

    target = folder / copy.stored_as
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(target) as kept, copy.path.open("rb") as source:
        shutil.copyfileobj(source, kept, CHUNK)
    return target


@contextlib.contextmanager
def stdin_kept(files: list[str]) -> Iterator[KeptStdin]:
    """Copies for as long as the block runs; nothing is read where all files are files."""
    once = [name for name in files if name == "-" or _is_pipe(Path(name))]
    if twice := [name for name in once if once.count(name) > 1]:
        raise UsageProblem(f"{_shown(twice[0])} is named twice; it can be read once")
    if not once:
        yield KeptStdin()
        return
    with tempfile.TemporaryDirectory(prefix="krino-") as folder:
        yield KeptStdin({name: _copied(name, number, Path(folder)) for number, name in enumerate(once, 1)})


def _is_pipe(path: Path) -> bool:
    """Or a device, or a socket: anything whose content is gone once it is read."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False  # whoever reads the inputs says what is wrong with it
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _copied(name: str, number: int, folder: Path) -> Copy:
    draft = folder / str(number)
    with _opened(name) as source, draft.open("wb") as copy:
        digest, head = _copy(source, copy, _shown(name))
    if not head:
        raise UsageProblem(f"{_shown(name)} is empty: pipe cases into it, one JSON object a line or a JSON array")
    suffix = known_suffixes(Path(name)) if name != "-" else ""
    suffix = suffix or (".json" if head == b"[" or _is_one_object(draft) else ".jsonl")
    return Copy(draft.rename(folder / f"{number}{suffix}"), number, digest, suffix)


def _opened(name: str) -> contextlib.AbstractContextManager[BinaryIO]:
    if name == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise UsageProblem(f"{name}: the input cannot be read: {error.strerror}") from None


def _copy(source: BinaryIO, copy: BinaryIO, shown: str) -> tuple[str, bytes]:
    """The digest of what was copied, and its first byte that is not blank."""
    digest, head, start = hashlib.blake2b(digest_size=8), b"", b""
    while chunk := source.read(CHUNK):
        start = start or chunk[:4]
        if b"\0" in chunk and not start.startswith(PACKED):  # /dev/zero would fill the disk
            raise UsageProblem(f"{shown} holds zero bytes, so it is no text; give cases as JSON lines, JSON or CSV")
        head = head or chunk.lstrip()[:1]
        digest.update(chunk)
        copy.write(chunk)
    return digest.hexdigest(), head


def _shown(name: str) -> str:
    return "stdin (-)" if name == "-" else name


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
