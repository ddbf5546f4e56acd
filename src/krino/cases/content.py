"""The content of a record, which makes the `input_hash` of a case: its id, its metadata and what its judge reads."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from typing import Any

from pydantic import AliasChoices, AliasPath, BaseModel

from krino.cases.item import ID_FIELDS
from krino.cases.metadata import PREFIX
from krino.contract import AnyJudge, Judge, hash_record
from krino.contract.record_fields import Reads, Spell, prune

_ALWAYS: Reads = dict.fromkeys((*ID_FIELDS, PREFIX.rstrip(".")))


def content_hash(judge: AnyJudge, record: Mapping[str, Any]) -> str:
    """The identity of a case: a hash of the fields that its judge reads, its id and its metadata."""
    return hash_record(content_of(judge, record))


def content_of(judge: AnyJudge, record: Mapping[str, Any]) -> Mapping[str, Any]:
    """The record without the fields that its judge certainly does not read; the whole record if that is not known.

    Leaving a field out by mistake would give two different cases one verdict. So a name counts as unread only if the
    judge declares what it reads, or if its case is a plain model that can read nothing else.
    """
    reads = _declared_reads(judge, record)
    if reads is None:
        names = names_of_plain_model(judge)
        reads = None if names is None else dict.fromkeys(names)
    return record if reads is None else _prune(record, reads, spelling_of(judge))


def content_hash_by_names(names: Collection[str], record: Mapping[str, Any]) -> str:
    """The content hash of a record where the judge is not at hand: by the names that its plain case model reads."""
    return hash_record(_prune(record, dict.fromkeys(names), str))


def _prune(record: Mapping[str, Any], reads: Reads, spell: Spell) -> Mapping[str, Any]:
    """The record with nothing but what is in `reads`, its id fields and its metadata (`metadata.NAME` columns too)."""
    columns = (spell(name) for name in record if isinstance(name, str) and name.startswith(PREFIX))
    return prune(record, {**reads, **_ALWAYS, **dict.fromkeys(columns)}, spell)


def reads_of(judge: AnyJudge, record: Mapping[str, Any]) -> Reads | None:
    """What a judge reads of a record, ids and metadata included; None if it may read anything. For notes to users."""
    if (reads := _declared_reads(judge, record)) is None:
        names = names_read(judge)
        reads = None if names is None else dict.fromkeys(names)
    return None if reads is None else {**reads, **_ALWAYS}


def spelling_of(judge: AnyJudge) -> Spell:
    """Returns the function by which the judge's case model normalises keys of a record; `str` if it does not."""
    spelled: Spell = getattr(judge.case_model, "spelled", str)
    return spelled


def names_read(judge: AnyJudge) -> frozenset[str] | None:
    """Every name that the judge looks up in a record, ids included; None if it takes the whole record.

    Unless the case model declares them, they are found by giving it an empty record that notes the lookups. A case
    model that takes whole records to rename their keys declares what it reads: `names_read()`, and `spelled(key)` if
    keys may be written in several ways.
    """
    if (stated := getattr(judge.case_model, "names_read", None)) is not None:
        return frozenset({*stated(), *_ALWAYS})
    asked = _Asked()
    with suppress(Exception):  # an empty record is rarely valid; only the names that were looked up matter
        judge.case_model.model_validate(asked)
    if asked.taken_whole or judge.case_model.model_config.get("extra") == "allow":
        return None
    return frozenset({*asked.names, *_declared_names(judge.case_model), *_ALWAYS})


class _Asked(Mapping[str, Any]):
    """A record without fields that records which ones were looked up."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.taken_whole = False

    def __getitem__(self, name: str) -> Any:
        self.names.add(name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        self.taken_whole = True
        return iter(())

    def __len__(self) -> int:
        return 0


def _declared_reads(judge: AnyJudge, record: Mapping[str, Any]) -> Reads | None:
    """What the judge declares to read; None if it declares nothing, or if a subclass of the declaring class reads
    records in another way."""
    for cls in type(judge).__mro__:
        if "reads" in vars(cls):
            return judge.reads(record)
        if not {"read", "case_model"}.isdisjoint(vars(cls)):
            return None
    return None


def names_of_plain_model(judge: AnyJudge) -> frozenset[str] | None:
    """The names of a case model that pydantic alone fills; None if code of the judge sees the record."""
    model = judge.case_model
    config, decorators = model.model_config, model.__pydantic_decorators__
    sees_record = (
        type(judge).read is not Judge.read
        or config.get("extra") in ("allow", "forbid")
        or any(found.info.mode != "after" for found in decorators.model_validators.values())
        or bool(decorators.root_validators)
        or getattr(model, "__pydantic_custom_init__", False)
        or any("__get_pydantic_core_schema__" in vars(cls) for cls in model.__mro__ if cls is not BaseModel)
        or any("model_validate" in vars(cls) for cls in model.__mro__ if cls is not BaseModel)
        or getattr(model, "__pydantic_root_model__", False)
    )
    return None if sees_record else frozenset(_declared_names(model))


def _declared_names(model: type[BaseModel]) -> Iterator[str]:
    """Yields every name under which a model accepts one of its fields."""
    config = model.model_config
    by_name = config.get("populate_by_name") or config.get("validate_by_name")
    for name, field in model.model_fields.items():
        alias = field.validation_alias
        if alias is None or by_name:
            yield name
        for choice in alias.choices if isinstance(alias, AliasChoices) else [alias]:
            first = choice.path[0] if isinstance(choice, AliasPath) else choice
            if isinstance(first, str):
                yield first
