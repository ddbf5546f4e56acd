"""Reads the samples of an Inspect log in its archive form (`.eval`): a zip with one JSON file a sample.

Described at https://inspect.aisi.org.uk/eval-logs.html. Newer logs are packed with zstandard, which Python unpacks from
3.14 on; here Arrow does.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

import orjson

from krino.cases.item import Row, bad_row, excerpt
from krino.cases.open_files import MAX_CASE_BYTES
from krino.cases.strict_json import explain
from krino.errors import UsageProblem

_SAMPLES = "samples/"
_ZSTANDARD = 93
_LOCAL_HEADER = 30
_NAME_AT, _EXTRA_AT = 26, 28
_FAULTS = (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError)
"""What a damaged archive raises, and one that is encrypted."""


def rows(stream: io.BufferedReader, shown: str) -> Iterator[Row]:
    """One row for each sample, in the order of the archive."""
    with _open(stream, shown) as archive:
        members = [member for member in archive.infolist() if _is_sample(member.filename)]
        for number, member in enumerate(members, 1):
            yield _read_sample(archive, stream, member, number, f"{shown}: {member.filename}")


def check_archive(stream: io.BufferedReader, shown: str) -> None:
    """Raises `UsageProblem` unless the file is an archive with samples."""
    with _open(stream, shown) as archive:
        if not any(_is_sample(name) for name in archive.namelist()):
            raise UsageProblem(f"{shown}: the log holds no samples; it may be of an evaluation that was never run")


def _is_sample(name: str) -> bool:
    return name.startswith(_SAMPLES) and name.endswith(".json")


def _open(stream: io.BufferedReader, shown: str) -> zipfile.ZipFile:
    """Opens the zip archive; raises `UsageProblem` if it is damaged."""
    try:
        return zipfile.ZipFile(stream)
    except _FAULTS as error:
        raise UsageProblem(f"{shown}: this is no readable Inspect log (.eval): {error}; restore the file") from None


def _read_sample(
    archive: zipfile.ZipFile, stream: io.BufferedReader, member: zipfile.ZipInfo, number: int, where: str
) -> Row:
    """Reads the sample in one member as a row, or makes a bad row that says what is wrong with it."""
    try:
        text = _unpack(archive, stream, member)
    except _FAULTS as error:
        return bad_row(number, f"{where}: the sample cannot be unpacked: {error}; restore the file")
    if len(text) > MAX_CASE_BYTES:
        return bad_row(number, f"{where}: the sample is larger than {MAX_CASE_BYTES // 1024**2} MiB")
    try:
        record = orjson.loads(text)
    except orjson.JSONDecodeError:
        return bad_row(number, f"{where}: not valid JSON: {explain(text)}; restore the file", excerpt(text))
    if not isinstance(record, dict):
        return bad_row(number, f"{where}: the sample is no object; restore the file", excerpt(text))
    return number, record, None, None


def _unpack(archive: zipfile.ZipFile, stream: io.BufferedReader, member: zipfile.ZipInfo) -> bytes:
    """The content of a member, read no further than the limit for one case: a small file may unpack to a huge one."""
    if member.compress_type != _ZSTANDARD:
        with archive.open(member) as content:
            return content.read(MAX_CASE_BYTES + 1)
    arrow = _import_arrow()
    stream.seek(member.header_offset)
    header = stream.read(_LOCAL_HEADER)
    lengths = (int.from_bytes(header[at : at + 2], "little") for at in (_NAME_AT, _EXTRA_AT))
    stream.seek(sum(lengths), io.SEEK_CUR)
    packed = arrow.BufferReader(stream.read(member.compress_size))
    with arrow.CompressedInputStream(packed, "zstd") as content:
        unpacked: bytes = content.read(MAX_CASE_BYTES + 1)
    if zlib.crc32(unpacked) != member.CRC and len(unpacked) <= MAX_CASE_BYTES:
        raise zipfile.BadZipFile("the checksum is wrong")
    return unpacked


def _import_arrow() -> Any:
    """Imports pyarrow; raises `UsageProblem` with how to install it if it is missing."""
    try:
        import pyarrow
    except ImportError:
        raise UsageProblem(
            "this Inspect log is packed with zstandard, which is read with pyarrow: pip install 'krino[parquet]' "
            "(or write it with `inspect log convert --to json`)"
        ) from None
    return pyarrow
