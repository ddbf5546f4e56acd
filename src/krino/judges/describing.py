"""Describes a judge for people and programs that choose one: its inputs, outputs and options."""

from __future__ import annotations

from typing import Any

from pydantic.fields import FieldInfo

from krino.contract import AnyJudge
from krino.judges.registry import load_judge


def describe(name: str) -> dict[str, Any]:
    """Describes one judge, from its models: inputs, outputs, options, languages, number of rules."""
    judge = load_judge(name)
    return {
        "name": judge.name,
        "version": judge.version,
        "summary": judge.summary,
        "inputs": {
            field: _describe_input(judge, field, info)
            for field, info in judge.case_model.model_fields.items()
            if not _is_filled_by_the_judge(info)
        },
        "outputs": list(judge.verdict_model.model_fields),
        "figures": list(judge.figures_model.model_fields),
        "options": {
            field: {"default": info.get_default(call_default_factory=True), "about": info.description}
            for field, info in type(judge.options).model_fields.items()
        },
        "rules": len(judge.rules),
        "languages": list(judge.languages),
    }


def _describe_input(judge: AnyJudge, field: str, info: FieldInfo) -> dict[str, Any]:
    """Describes an input: required by the whole verdict, by some of its fields (`for`), or optional."""
    wanted_by = judge.fields.needed.get(field)
    return {
        "required": info.is_required() or (wanted_by is not None and not wanted_by),
        "for": list(wanted_by or ()),
        "about": info.description,
        "also": [name for name in judge.fields.names.get(field, ()) if name != field],
    }


def _is_filled_by_the_judge(info: FieldInfo) -> bool:
    return isinstance(info.json_schema_extra, dict) and bool(info.json_schema_extra.get("readOnly"))
