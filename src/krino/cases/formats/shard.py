"""Shards: parts of an input, cut by content. Each case keeps its position, id and source in the whole input.

A shard is a JSON lines file whose first line describes the whole. Cases with equal content are in the same shard, so
that nothing is paid twice. The content alone decides which shard, so that cutting again gives the same files.
"""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from krino.cases.item import CaseItem, storable_text
from krino.cases.open_files import MAX_CASE_BYTES, OpenFiles
from krino.contract import Source, describe_validation
from krino.errors import UsageProblem
from krino.writing import ANYBODY, replacing

ModelT = TypeVar("ModelT", bound=BaseModel)
SUFFIX = ".shard"
MOST = 1_000
"""Most shards of one input: all of them are open while it is cut."""
LONGEST = 2 * MAX_CASE_BYTES
ADVICE = "cut the input again with krino shard"
HASH_DIGITS = 32


class Whole(BaseModel):
    """The whole input, as a run over all of it would record it."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    inputs: list[str]
    format: str
    mapping: dict[str, str]
    split: dict[str, str]
    cases: int = Field(default=0, ge=0)
    input_hash: str = Field(default="0" * HASH_DIGITS, pattern=f"^[0-9a-f]{{{HASH_DIGITS}}}$")


class ShardHead(BaseModel):
    """The first line of a shard."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    krino_shard: Literal["1"] = "1"
    number: int = Field(ge=1, le=MOST)
    of: int = Field(ge=1, le=MOST)
    whole: Whole


class _Line(BaseModel):
    """One case of a shard."""

    model_config = ConfigDict(extra="forbid", strict=True)

    place: int = Field(ge=0, lt=1 << 62)
    id: str
    source: Source | None = None
    record: dict[str, Any] | None = None
    problem: str | None = None
    raw: str | None = None


# --- cutting ---------------------------------------------------------------------------------------


class Cutter:
    """Writes the shards of one input. They get their names when all of it was read."""

    def __init__(self, folder: Path, shards: int) -> None:
        if not 1 <= shards <= MOST:
            raise UsageProblem(f"--shards must be 1 to {MOST:,}, not {shards:,}")
        self._paths = [folder / f"{number:04d}-of-{shards:04d}{SUFFIX}" for number in range(1, shards + 1)]
        self._folder = folder

    def write(self, cases: Iterable[tuple[CaseItem, str]], whole: Whole) -> list[Path]:
        """Writes the shards of cases given with their content hashes, and returns their paths.

        The count and the hash in `whole` are filled in at the end. Raises if the folder has shards of another cut.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._refuse_others(whole)
        for left in self._folder.glob(f".*{SUFFIX}.*"):  # of a process that was killed
            left.unlink()
        count, digests = 0, hashlib.blake2b(digest_size=HASH_DIGITS // 2)
        with ExitStack() as stack:
            drafts = [stack.enter_context(replacing(_draft(path), mode=ANYBODY)) for path in self._paths]
            for item, digest in cases:
                drafts[int(digest, 16) % len(drafts)].write(_line_of(item))
                digests.update(digest.encode())
                count += 1
        counted = whole.model_copy(update={"cases": count, "input_hash": digests.hexdigest()})
        for number, path in enumerate(self._paths, 1):
            self._finish(path, ShardHead(number=number, of=len(self._paths), whole=counted))
        return self._paths

    def _finish(self, path: Path, head: ShardHead) -> None:
        """Writes a shard: its head line, then the cases from its draft, which is removed."""
        draft = _draft(path)
        with replacing(path, mode=ANYBODY) as shard, draft.open("rb") as body:
            shard.write(orjson.dumps(head.model_dump()) + b"\n")
            shutil.copyfileobj(body, shard, 1 << 20)
        draft.unlink()

    def _refuse_others(self, whole: Whole) -> None:
        """Raises if the folder has shards of another cut: `*.shard` would judge those of both."""
        for path in sorted(self._folder.glob(f"*{SUFFIX}")):
            known = None if path not in self._paths else read_head(path).whole.inputs
            if known != whole.inputs:
                raise UsageProblem(
                    f"{path} is a shard of another cut (other files, or another number of shards); name another folder "
                    "with --into, or remove the shards in it"
                )


def _draft(path: Path) -> Path:
    """The file with the cases of a shard until its head can be written."""
    return path.with_name(f".{path.name}.cases")


def _line_of(item: CaseItem) -> bytes:
    """Returns a case as a line of a shard; raises `UsageProblem` if it is nested too deep to be written."""
    source = item.source and Source(storable_text(item.source.file), item.source.line)
    line: dict[str, Any] = {"place": item.index, "id": storable_text(item.id), "source": source and asdict(source)}
    rest = {"record": item.record} if item.record is not None else {"problem": item.problem, "raw": item.raw}
    try:
        return orjson.dumps({**line, **rest}) + b"\n"
    except TypeError as error:
        problem = f"{source or f'case {item.id}'} cannot be written into a shard: {error}"
        raise UsageProblem(f"{problem}; nest it less deep, or remove it and judge it in a run of its own") from None


# --- reading ---------------------------------------------------------------------------------------


def is_shard(path: str | Path) -> bool:
    """Has the path the suffix of a shard?"""
    return Path(path).suffix == SUFFIX


def heads_of(paths: Sequence[str], files: OpenFiles | None = None) -> list[ShardHead]:
    """Reads the heads of inputs that are shards of one whole; an empty list if none is a shard. Other mixtures are
    refused."""
    shards = [path for path in paths if is_shard(path)]
    if not shards:
        return []
    if len(shards) < len(paths):
        raise UsageProblem(f"{shards[0]} is a shard, and other inputs are not: judge them in runs of their own")
    heads = [read_head(Path(path), files) for path in shards]
    if any((head.whole, head.of) != (heads[0].whole, heads[0].of) for head in heads):
        raise UsageProblem(f"{', '.join(shards)} are shards of different wholes: judge them in runs of their own")
    return heads


def read_head(path: Path, files: OpenFiles | None = None) -> ShardHead:
    """Reads the first line of a shard."""
    with _open(path, files) as lines:
        return _parse_head(lines, path)


def read_shards(paths: Sequence[Path], files: OpenFiles | None = None) -> Iterator[CaseItem]:
    """Yields the cases of all shards. An invalid line raises: skipping it would lose a case of the whole."""
    index = 0
    for path in paths:
        with _open(path, files) as lines:
            _parse_head(lines, path)
            for number, text in enumerate(iter(lambda lines=lines: lines.readline(LONGEST), b""), 2):  # type: ignore[misc]
                line = _parse_line(_Line, text, f"{path}:{number}")
                yield CaseItem(index, line.id, line.record, line.source, line.problem, line.raw, line.place)
                index += 1


def _open(path: Path, files: OpenFiles | None) -> BinaryIO:
    """Opens a shard for reading; raises `UsageProblem` if that fails."""
    try:
        return io.BufferedReader((files or OpenFiles()).open(path))
    except OSError as error:
        raise UsageProblem(f"{path}: the shard cannot be read: {error.strerror}") from None


def _parse_head(lines: BinaryIO, path: Path) -> ShardHead:
    return _parse_line(ShardHead, lines.readline(LONGEST), f"{path}:1")


def _parse_line(model: type[ModelT], text: bytes, where: str) -> ModelT:
    """Parses a line of a shard; raises `UsageProblem` that says where it is wrong."""
    try:
        if not text.endswith(b"\n"):
            raise UsageProblem(f"{where}: the shard ends in the middle of a line; {ADVICE}")
        data = orjson.loads(text)
        if isinstance(data, dict) and isinstance(source := data.get("source"), dict):
            data["source"] = Source(**source)
        return model.model_validate(data)
    except ValidationError as error:
        raise UsageProblem(f"{where}: no line of a shard: {describe_validation(error)}; {ADVICE}") from None
    except (orjson.JSONDecodeError, TypeError) as error:
        raise UsageProblem(f"{where}: no line of a shard: {error}; {ADVICE}") from None
