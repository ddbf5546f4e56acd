"""Checks that a line of a journal is a judgement of its run; anything else is refused.

Anyone may have written a journal. Every reader (show, gate, compare, agree, export, the report, Python) uses this
check, so that readers only meet what a session writes. Verdicts are checked by the JSON Schema in the manifest.
"""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from krino.contract import LEFT_OUT_IF_EMPTY, SCHEMA_VERSION, Judgement, RollUp
from krino.contract.json_schema import Schema, compiled
from krino.contract.judgement import is_newer, newer_version_message
from krino.errors import UsageProblem
from krino.runs.manifest import DAMAGED, MANIFEST, Manifest
from krino.text.clean import clean_line

TEXT = core_schema.str_schema(strict=True)
COUNT = core_schema.int_schema(strict=True, ge=0, lt=1 << 63)
HASH = core_schema.str_schema(strict=True, pattern="^[0-9a-f]{32}$")


def typed(fields: Mapping[str, CoreSchema], optional: frozenset[str] | set[str] = frozenset()) -> CoreSchema:
    """Returns the schema of an object with these fields; fields that a later version has added are ignored."""
    described = {
        name: core_schema.typed_dict_field(schema, required=name not in optional) for name, schema in fields.items()
    }
    return core_schema.typed_dict_schema(described, extra_behavior="ignore")


SOURCE = typed({"file": TEXT, "line": core_schema.nullable_schema(COUNT)})

ADVICE = "remove the line and run the command again (its case is judged again), or judge everything again with --fresh"

_MOST_FAULTS, _LONGEST = 3, 120

_AMOUNT = core_schema.float_schema(strict=True, ge=0, allow_inf_nan=False)
USAGE = typed(
    {
        **dict.fromkeys(("calls", "cached", "input_tokens", "output_tokens", "unpriced"), COUNT),
        "cost": core_schema.nullable_schema(_AMOUNT),
        "seconds": _AMOUNT,
    },
    optional={"unpriced"},  # older lines have none
)
_OBJECT = core_schema.is_instance_schema(dict)
_TEXTS = core_schema.dict_schema(TEXT, TEXT)


class LineCheck:
    """Made once for each run. Calling it raises `ValueError` that says what is wrong with a line."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        judge = manifest.plan.judge
        path = folder / MANIFEST
        verdict, definitions = _compile_schema(manifest.about.verdict_schema, f"{path}: about.verdict_schema")
        common = _make_common(judge["name"], judge["version"], verdict)
        lines = _make_by_status(common, verdict, _compile_figures(manifest, path))
        whole = core_schema.definitions_schema(lines, [_make_numberless(), *definitions])
        self._validate = SchemaValidator(whole).validate_python

    def __call__(self, data: Any) -> None:
        """Raises `ValueError` if a line is not a judgement of this run."""
        if isinstance(data, dict) and is_newer(version := data.get("schema_version"), SCHEMA_VERSION):
            raise ValueError(newer_version_message(str(version)))
        try:
            self._validate(data)
        except ValidationError as error:
            raise ValueError(_describe(error)) from None
        if data["status"] == "ok" and data["decided_by"].keys() != data["verdict"].keys():
            raise ValueError("decided_by: every field of an ok verdict must say who decided it, and no other")


def _compile_schema(schema: Schema, place: str) -> tuple[CoreSchema, list[CoreSchema]]:
    """Returns the validator of a verdict schema and its definitions. It comes from the manifest, so any fault in it is
    raised as a `UsageProblem` about that file."""
    try:
        check, definitions = compiled(schema)
        SchemaValidator(core_schema.definitions_schema(check, definitions))
    except Exception as error:
        problem = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise UsageProblem(f"{place} cannot be understood ({problem}); {DAMAGED}") from None
    return check, definitions


def _compile_figures(manifest: Manifest, path: Path) -> CoreSchema:
    """Returns the validator of the figures beside a verdict: numbers or null, so that it needs no definitions."""
    schema = manifest.about.figures_schema
    if not schema:
        return core_schema.dict_schema(max_length=0, strict=True)
    return _compile_schema({**schema, "$defs": {}}, f"{path}: about.figures_schema")[0]


def _describe(error: ValidationError) -> str:
    """Describes the first few faults, each with its field, without the claimed status in the location."""
    faults = []
    for item in error.errors(include_url=False)[:_MOST_FAULTS]:
        where = clean_line(".".join(str(part) for part in item["loc"][1:]), _LONGEST) or "the line"
        faults.append(f"{where}: {clean_line(item['msg'], _LONGEST)} (got {reprlib.repr(item['input'])})")
    return "; ".join(faults)


def _make_by_status(common: Mapping[str, CoreSchema], verdict: CoreSchema, figures: CoreSchema) -> CoreSchema:
    """Returns the validator of a line, with one shape for each status: only ok lines have a verdict that counts, and
    only they may have numbers."""
    failed_form = core_schema.nullable_schema(core_schema.definition_reference_schema("numberless"))
    words = core_schema.str_schema(strict=True, min_length=1)
    nothing = core_schema.dict_schema(max_length=0, strict=True)
    shapes: dict[str, dict[str, CoreSchema]] = {
        "ok": {"verdict": verdict, "figures": figures},
        "failed": {"verdict": failed_form, "figures": nothing, "reason": words},
        "error": {"verdict": failed_form, "figures": nothing, "error": words},
    }
    lines = {status: typed({**common, **fields}, optional=set(LEFT_OUT_IF_EMPTY)) for status, fields in shapes.items()}
    return core_schema.tagged_union_schema(dict(lines), discriminator="status")


def _make_common(judge: str, version: str, verdict: CoreSchema) -> dict[str, CoreSchema]:
    """Returns the validator of every field of a judgement; fields without one here may hold any JSON."""
    texts = core_schema.nullable_schema(TEXT)
    roll_up = core_schema.nullable_schema(core_schema.literal_schema(list(get_args(RollUp))))
    finding = typed({"rule": TEXT, "text": TEXT, "where": texts})
    unread = typed(dict.fromkeys(("where", "text", "why"), TEXT))
    known = {
        "schema_version": core_schema.literal_schema([SCHEMA_VERSION]),
        "index": COUNT,
        "id": TEXT,
        "judge": core_schema.literal_schema([judge]),
        "judge_version": core_schema.literal_schema([version]),
        "reason": texts,
        "error": texts,
        "decided_by": _TEXTS,
        "rules": _TEXTS,
        "evidence": core_schema.dict_schema(TEXT, core_schema.list_schema(TEXT, strict=True)),
        "findings": core_schema.list_schema(finding, strict=True),
        "labels": core_schema.nullable_schema(_OBJECT),
        "labeller": core_schema.nullable_schema(_OBJECT),
        "usage": USAGE,
        "input_hash": HASH,
        "source": core_schema.nullable_schema(SOURCE),
        "roll_up": roll_up,
        "metadata": _OBJECT,
        "inputs": _TEXTS,
        "time": texts,
        "labeller_findings": COUNT,
        "unread": core_schema.list_schema(unread, strict=True),
        "raw_reply": texts,
        "ballots": core_schema.list_schema(_make_ballot(verdict, roll_up), strict=True),
    }
    return {name: known.get(name, core_schema.any_schema()) for name in Judgement.model_fields}


def _make_ballot(verdict: CoreSchema, roll_up: CoreSchema) -> CoreSchema:
    """Returns the schema of a ballot."""
    return typed(
        {
            "member": TEXT,
            "repeat": COUNT,
            "order": core_schema.nullable_schema(core_schema.list_schema(COUNT, strict=True)),
            "labels": core_schema.nullable_schema(_OBJECT),
            "verdict": core_schema.nullable_schema(verdict),
            "roll_up": roll_up,
            "problem": core_schema.nullable_schema(TEXT),
            "labeller": _OBJECT,
            "usage": USAGE,
        }
    )


def _make_numberless() -> CoreSchema:
    """Returns the validator of a rubric's failed form: any JSON without numbers (booleans are labels)."""
    again = core_schema.definition_reference_schema("numberless")
    return core_schema.union_schema(
        [
            core_schema.none_schema(),
            TEXT,
            core_schema.bool_schema(strict=True),
            core_schema.list_schema(again, strict=True),
            core_schema.dict_schema(TEXT, again, strict=True),
        ],
        mode="left_to_right",
        ref="numberless",
    )
