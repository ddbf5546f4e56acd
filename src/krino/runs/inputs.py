"""The inputs of a run. Inputs that can be read only once (stdin, pipes, records from Python) are copied into the run's
folder, so that the run can be continued, shown and settled again.

A run folder names its input files, but it may come from anyone: only copies inside the folder are opened, never the
files that it names.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from pydantic import BaseModel

from krino.cases.content import content_hash, content_hash_by_names
from krino.cases.from_python import plain_record, rows_of_frame
from krino.cases.item import CaseItem
from krino.cases.open_files import MAX_CASE_BYTES, OpenFiles
from krino.cases.origin import known_suffixes
from krino.contract import AnyJudge, hash_record
from krino.errors import KrinoError, UsageProblem
from krino.runs.guarded_files import inside
from krino.writing import make_own_folder, replacing

Source = str | PathLike[str] | Iterable[str | PathLike[str]] | Iterable[Mapping[str, Any]]
"""Paths of files or folders (`-` is stdin), or the records themselves."""
Identify = Callable[[Mapping[str, Any]], str]
"""Computes the hash that identifies the content of a record."""
RECORDS = "records"
CHUNK = 1 << 20
PACKED = (b"PAR1", b"\x1f\x8b")
"""First bytes of Parquet and gzip, the binary formats."""
_NAME = re.compile(r"(stdin(?:-\d+)?|records):([0-9a-f]*)((?:\.[a-z]+){1,2})", re.IGNORECASE)
_FILE = re.compile(r"(?:stdin(?:-\d+)?|records)(?:\.[a-z]+){1,2}", re.IGNORECASE)


def is_kept_input(file_name: str) -> bool:
    """Whether a file of a run folder is the copy of an input."""
    return _FILE.fullmatch(file_name) is not None


def is_name_of_copy(name: str) -> bool:
    """Whether a plan's name of an input means a copy in the run's folder."""
    return _NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of an input that can be read only once. The plan names it by its content hash."""

    path: Path
    stem: str
    digest: str
    suffix: str

    @property
    def name(self) -> str:
        return f"{self.stem}:{self.digest}{self.suffix}"

    @property
    def stored_as(self) -> str:
        return f"{self.stem}{self.suffix}"


class Inputs:
    """The inputs as the user gave them, and the paths where they can be read at present."""

    def __init__(self, given: Sequence[str], copies: Mapping[str, Copy] | None = None) -> None:
        self.given = list(given)
        self.files = OpenFiles()
        self._copies = dict(copies or {})
        self.paths = [str(self._copies[name].path) if name in self._copies else name for name in given]

    @property
    def names(self) -> list[str]:
        """Their names in a plan."""
        copies = self._copies
        return [copies[name].name if name in copies else str(Path(name).resolve()) for name in self.given]

    @property
    def has_copies(self) -> bool:
        return bool(self._copies)

    def keep_in(self, folder: Path) -> None:
        """Copies stdin and records into the run's folder too; from now on they are read there."""
        for place, name in enumerate(self.given):
            if name in self._copies:
                self.paths[place] = str(_keep(self._copies[name], folder))


def _keep(copy: Copy, folder: Path) -> Path:
    """Copies an input into the run folder, and returns the path of the copy."""
    target = folder / copy.stored_as
    make_own_folder(folder)
    with replacing(target) as kept, copy.path.open("rb") as source:
        shutil.copyfileobj(source, kept, CHUNK)
    return target


@contextlib.contextmanager
def inputs_of(source: Source) -> Iterator[Inputs]:
    """Gives the inputs of a source, each of whose files is opened at most once. What can be read only once is copied
    for as long as the block lasts; if all inputs are files, nothing is copied."""
    with contextlib.ExitStack() as stack:

        def make_folder() -> Path:
            return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="krino-")))

        files, records = _paths_or_records(source)
        if records is not None:
            yield stack.enter_context(opened_once(Inputs([RECORDS], {RECORDS: _write_records(records, make_folder())})))
            return
        once = [name for name in files if name == "-" or _is_pipe(Path(name))]
        if twice := [name for name in once if once.count(name) > 1]:
            raise UsageProblem(f"{_shown(twice[0])} is named twice; it can be read once")
        home = make_folder() if once else Path()
        copies = {name: _copy_once(name, number, home) for number, name in enumerate(once, 1)}
        yield stack.enter_context(opened_once(Inputs(files, copies)))


@contextlib.contextmanager
def opened_once(inputs: Inputs) -> Iterator[Inputs]:
    """Gives the inputs. Inside the block each file is opened at most once."""
    with inputs.files:
        yield inputs


def _paths_or_records(source: Source) -> tuple[list[str], Iterator[Mapping[str, Any]] | None]:
    """Returns the paths, or else the records; raises `UsageProblem` for an empty source and for anything else."""
    if isinstance(source, str | PathLike):
        return [str(source)], None
    if (rows := rows_of_frame(source)) is not None:
        return [], rows
    if isinstance(source, bytes | Mapping | BaseModel) or not isinstance(source, Iterable):
        raise UsageProblem(
            "cases must be paths of files, an iterable of mappings, models or dataclasses, or a table of pandas, "
            f"Polars or Arrow, not a {type(source).__name__}; for one case use krino.judge"
        )
    parts: Iterator[Any] = iter(source)
    first = next(parts, None)
    if first is None:
        raise UsageProblem("there are no cases: the source is empty")
    if isinstance(first, str | PathLike):
        return [str(name) for name in (first, *parts)], None
    return [], chain([first], parts)


def _write_records(records: Iterator[Any], folder: Path) -> Copy:
    """Writes records from Python as JSON lines, and returns that copy; raises `UsageProblem` for one that JSON cannot
    hold."""
    path, digest = folder / f"{RECORDS}.jsonl", hashlib.blake2b(digest_size=8)
    with path.open("wb") as copy:
        for number, record in enumerate(records, 1):
            try:
                line = orjson.dumps(dict(plain_record(record, f"case {number}"))) + b"\n"
            except (TypeError, orjson.JSONEncodeError) as error:
                raise UsageProblem(f"case {number} cannot be written as JSON: {error}; give plain values") from None
            digest.update(line)
            copy.write(line)
    return Copy(path, RECORDS, digest.hexdigest(), ".jsonl")


# --- stdin and pipes ---------------------------------------------------------------------------------


def _is_pipe(path: Path) -> bool:
    """Whether the content can be read only once: a pipe, a device or a socket."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False  # reading it fails with a message
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _copy_once(name: str, number: int, folder: Path) -> Copy:
    """Copies an input that can be read only once, and names the copy by its format: that of its name, else guessed.
    Raises `UsageProblem` if it is empty."""
    draft = folder / str(number)
    with _open(name) as source, draft.open("wb") as copy:
        digest, head = _copy(source, copy, _shown(name))
    if not head:
        raise UsageProblem(f"{_shown(name)} is empty: pipe cases into it, one JSON object a line or a JSON array")
    suffix = known_suffixes(Path(name)) if name != "-" else ""
    suffix = suffix or (".json" if head == b"[" or _is_one_object(draft) else ".jsonl")
    stem = "stdin" if number == 1 else f"stdin-{number}"
    return Copy(draft.rename(folder / f"{number}{suffix}"), stem, digest, suffix)


def _open(name: str) -> contextlib.AbstractContextManager[BinaryIO]:
    """Opens an input, or stdin for `-`."""
    if name == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise UsageProblem(f"{name}: the input cannot be read: {error.strerror}") from None


def _copy(source: BinaryIO, copy: BinaryIO, shown: str) -> tuple[str, bytes]:
    """Copies; returns the content hash and the first byte that is not blank. Raises `UsageProblem` for zero bytes
    outside Parquet and gzip."""
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
    """Whether the text is one pretty-printed JSON value rather than one value a line."""
    with path.open("rb") as text:
        first = next((line for line in text if not line.isspace()), b"")
    if path.stat().st_size > MAX_CASE_BYTES or _is_json(first):
        return False
    return _is_json(path.read_bytes())


def _is_json(text: bytes) -> bool:
    """Does a text parse as JSON?"""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


# --- the inputs of a recorded run ---------------------------------------------------------------


def kept_inputs(folder: Path, names: Sequence[str]) -> Inputs | None:
    """Returns the copies in a run's folder, by the names in its plan; None if an input is not a copy in the folder."""
    copies: dict[str, Copy] = {}
    for name in names:
        if (found := _NAME.fullmatch(name)) is None:
            return None
        path = inside(folder / f"{found[1]}{found[3]}")
        if not path.exists():
            return None
        copies[str(path)] = Copy(path, found[1], found[2], found[3])
    return Inputs(list(copies), copies)


def identify_by(judge: AnyJudge | None, names: Sequence[str] | None) -> Identify:
    """Returns the function that hashes the fields of a record which the judge reads. `names`: those of its plain case
    model, if the judge is not loaded; None: the whole record is hashed."""
    if judge is not None:
        return partial(content_hash, judge)
    return hash_record if names is None else partial(content_hash_by_names, names)


def with_cases(
    judgements: Iterable[Mapping[str, Any]], cases: Callable[[], Iterator[CaseItem]], identify: Identify = hash_record
) -> Iterator[Mapping[str, Any]]:
    """Yields the judgements in the order of the input, each with its raw record under `case`.

    A judgement whose record can no longer be read, or is not the one that was judged, comes without `case`.
    """
    beside = CasesBeside(cases, identify)
    for judgement in judgements:
        record = beside.case_of(judgement)
        yield judgement if record is None else {**judgement, "case": record}


class CasesBeside:
    """Finds the cases of judgements, which must be given in the order of the input.

    The input is read only as far as needed, and only requested cases are compared with the run.
    """

    def __init__(self, cases: Callable[[], Iterator[CaseItem]], identify: Identify = hash_record) -> None:
        self._identify = identify
        self._items = _until_unreadable(cases)
        self._item: CaseItem | None = None
        self._begun = False

    def case_of(self, judgement: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Returns the case of a judgement; None if it can no longer be read, or is not the one that was judged."""
        while not self._begun or (self._item is not None and self._item.index < judgement["index"]):
            self._item, self._begun = next(self._items, None), True
        item = self._item
        if item is None or item.index != judgement["index"] or item.record is None:
            return None
        # Older versions of Krino hashed all fields of a record, also those that the judge does not read.
        hashes = (self._identify(item.record), hash_record(item.record))
        return item.record if judgement.get("input_hash") in hashes else None


def _until_unreadable(cases: Callable[[], Iterator[CaseItem]]) -> Iterator[CaseItem]:
    """Yields cases up to the first that cannot be read; the run itself reports the problem."""
    try:
        yield from cases()
    except (KrinoError, OSError):
        return
