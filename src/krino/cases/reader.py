"""Reads cases from any mix of inputs, one at a time, numbered throughout; problems are items too."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

from krino.cases.content import names_read, spelling_of
from krino.cases.formats import parquet, shard
from krino.cases.item import CaseItem, case_id
from krino.cases.mapping import EACH, FieldMap, FieldMissing, describe_missing, field_map, find_present
from krino.cases.open_files import OpenFiles
from krino.cases.origin import Format, Origin, find_origins
from krino.cases.rows import Opener, TableColumns, check_start, holds_rows_of_traces, rows_of
from krino.cases.splitting import split_items
from krino.contract import AnyJudge, Source
from krino.contract.record_fields import compared_names, list_names, names_of, text_names
from krino.errors import UsageProblem


def read_cases(
    inputs: Sequence[str | os.PathLike[str]],
    *,
    format: Format = "auto",  # noqa: A002
    mapping: Mapping[str, str] | None = None,
    split: Mapping[str, str] | None = None,
    stdin: BinaryIO | None = None,
    judge: AnyJudge | None = None,
    files: OpenFiles | None = None,
) -> Iterator[CaseItem]:
    """The cases of all inputs in order. Raises `UsageProblem` at once for an input that cannot be read.

    `mapping` renames fields, `split` names fields whose text is split at a separator (`{"context": "|||"}`). `judge`
    decides which lists are one case, and which records hold several. `files`: for callers that read the same inputs
    more than once.
    """
    opener = Opener(stdin, files or OpenFiles(), {})
    if not inputs:
        raise UsageProblem("no input: name at least one file or folder of cases, or - for stdin")
    origins = list(find_origins(inputs, format))
    if shards := [origin.path for origin in origins if origin.format == "shard" and origin.path is not None]:
        return _read_shards(shards, [os.fspath(name) for name in inputs], opener.files, mapped=bool(mapping or split))
    for origin in origins:
        if origin.is_regular and not origin.in_folder:
            check_start(origin, opener.files)
    fields = _check_mapping(field_map(mapping, split), origins, judge, opener)
    items = _read_items(origins, fields, opener, judge)
    if judge is None:
        return items
    readable_twice = [item for item in origins if item.is_regular]
    return split_items(items, judge, ahead=_read_items(readable_twice, fields, opener, judge))


def _check_mapping(
    fields: FieldMap | None, origins: list[Origin], judge: AnyJudge | None, opener: Opener
) -> FieldMap | None:
    """Returns the mapping after a first pass over the records: a source that some record has may be absent in others.

    Raises `UsageProblem` for a source that no record has. Inputs that can be read only once are not checked.
    """
    if fields is None or not fields.pairs:
        return fields
    fields = replace(fields, others=frozenset(other_names(fields, judge)))
    if not all(origin.is_regular for origin in origins):
        return fields
    columns = _table_columns(fields, judge)
    rows = (row for origin in origins for row in rows_of(origin, opener, judge, columns))
    try:
        present, first = find_present(fields, (record for _, record, _, _ in rows if record is not None))
    except UsageProblem:  # reported later in its place, after the cases before it
        return fields
    nowhere = [target for target, _ in fields.pairs if target not in present]
    if nowhere and first is not None:
        shown = origins[0].shown if len(origins) == 1 else f"{len(origins)} files"
        raise UsageProblem(f"{shown}: {describe_missing(fields, nowhere, first)}")
    return replace(fields, may_be_absent=present)


def optional_targets(fields: FieldMap, judge: AnyJudge) -> Iterator[str]:
    """The mapped fields that a case need not have."""
    needed = {name for name, parts in judge.fields.needed.items() if not parts}
    required = {name for name, field in judge.case_model.model_fields.items() if field.is_required()}
    for target, _ in fields.pairs:
        if EACH in target or not any(target in names_of(judge, field) for field in needed | required):
            yield target


def other_names(fields: FieldMap, judge: AnyJudge | None) -> Iterator[str]:
    """Yields the other names under which a judge would find a mapped field, or content that was mapped."""
    if judge is None:
        return
    targets = {target.partition(EACH)[0] for target, _ in fields.pairs}
    read, spell = names_read(judge) or (), spelling_of(judge)
    for _, source in fields.pairs:
        root = source.partition(".")[0]
        if root != source and spell(root) in read and root not in targets:
            yield root  # its content was mapped, and must not be read again under this name
    for field in judge.fields.names:
        names = compared_names(judge, field)
        if not targets.isdisjoint(names):
            yield from (name for name in names if name not in targets)


def _read_shards(shards: list[Path], inputs: list[str], files: OpenFiles, *, mapped: bool) -> Iterator[CaseItem]:
    """Yields the cases of shards; refuses a mapping, and shards of different wholes."""
    if mapped:
        raise UsageProblem(
            f"{shards[0]}: fields were mapped and split when the shard was cut; leave out --map, --split"
        )
    shard.heads_of(inputs, files)
    return shard.read_shards(shards, files)


def _read_items(
    origins: list[Origin], fields: FieldMap | None, opener: Opener, judge: AnyJudge | None
) -> Iterator[CaseItem]:
    """Yields the cases of all origins, mapped and numbered throughout; a record that cannot be read or mapped is an
    item with a problem."""
    index = 0
    columns = _table_columns(fields, judge)
    for origin in origins:
        given, name, shown = origin.given, origin.name, origin.shown
        for number, record, problem, raw in rows_of(origin, opener, judge, columns):
            own_id = None
            if record is not None:
                own_id = case_id(record)
                if problem is not None:
                    record = None  # a tool's case without an output
                elif fields is not None:
                    record, problem = _apply_mapping(fields, record, f"{shown}:{number}")
                    own_id = case_id(record) if record is not None else own_id
            source = Source(file=given, line=number)
            yield CaseItem(index, own_id or f"{name}:{number}", record, source, problem, raw)
            index += 1


def _apply_mapping(fields: FieldMap, record: dict[str, Any], where: str) -> tuple[dict[str, Any] | None, str | None]:
    """Returns the mapped record and None; or None and the problem, if a field is missing."""
    try:
        return fields.apply(record), None
    except FieldMissing as missing:
        return None, f"{where}: {missing}"


def _table_columns(fields: FieldMap | None, judge: AnyJudge | None) -> TableColumns:
    """Which columns of a table the judge reads as text and which as lists, by their names before mapping."""
    if judge is None:
        return TableColumns()
    pairs = fields.pairs if fields is not None else ()
    inside = {source.partition(".")[0] for _, source in pairs if "." in source}  # a path into it: it is JSON
    split = {field for field, _ in fields.splits} if fields is not None else set()
    texts, lists = text_names(judge), list_names(judge) - split
    return TableColumns(
        frozenset((texts | {source for target, source in pairs if target in texts}) - inside),
        frozenset((lists | {source for target, source in pairs if target in lists}) - inside),
    )


_MAX_COUNTED_BYTES = 200_000_000
_CHUNK_BYTES = 1 << 20


def count_hint(inputs: Sequence[str | os.PathLike[str]], files: OpenFiles | None = None) -> int | None:
    """The number of cases; None if counting would mean reading everything.

    Parquet has it in its metadata; of JSONL files the lines are counted, blank ones included.
    """
    files = files or OpenFiles()
    total = 0
    try:
        for origin in find_origins(inputs, "auto"):
            count = _count(origin, files)
            if count is None:
                return None
            total += count
    except (UsageProblem, OSError):
        return None
    return total


def _count(origin: Origin, files: OpenFiles) -> int | None:
    """Returns the number of cases if it can be found quickly, or None."""
    if origin.path is None or not origin.is_regular or holds_rows_of_traces(origin, files):
        return None
    if origin.format == "parquet":
        return parquet.row_count(origin.path, origin.shown)
    packed = origin.path.suffix.lower() == ".gz"
    if origin.format == "jsonl" and not packed and origin.path.stat().st_size < _MAX_COUNTED_BYTES:
        return _count_lines(origin.path, files)
    return None


def _count_lines(path: Path, files: OpenFiles) -> int:
    """Returns the number of lines of a file, a last one without line end included."""
    lines = 0
    last = b"\n"
    with files.open(path) as stream:
        while chunk := stream.read(_CHUNK_BYTES):
            lines += chunk.count(b"\n")
            last = chunk[-1:]
    return lines + (last != b"\n")
