"""How good a number of a verdict is, on the scale that the judge declares: for colours, and for what is worst.

The scale is that of the verdict's schema. A higher number is better, unless the field says otherwise:
`seconds: float = Field(ge=0, le=60, json_schema_extra={"better": "lower"})`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from krino.contract import Judge
from krino.results.closed_labels import Schema
from krino.results.numbers import as_number
from krino.results.scale import declared_scale

Grade = Literal["low", "middle", "high"]
Scales: TypeAlias = Mapping[str, tuple[float, float]]
"""Of verdict fields: the worst value and the best one."""
_MIDDLE, _HIGH = 0.5, 0.75  # of the way from the worst to the best


def scales_of(schema: Schema | None) -> Scales:
    """Every field whose scale the judge declares."""
    found = {name: declared_scale(schema, name) for name in (schema or {}).get("properties", {})}
    lower = lower_is_better(schema)
    return {
        name: (scale[1], scale[0]) if name in lower else scale
        for name, scale in found.items()
        if scale is not None and scale[0] < scale[1]
    }


def judge_scales(judge: Judge[Any, Any, Any]) -> Scales:
    """Of a judge at hand; none where its verdict has no schema: colours are not worth a finished run."""
    try:
        return scales_of(judge.verdict_model.model_json_schema())
    except Exception:  # a verdict of the user's own may hold types that have no schema
        return {}


def lower_is_better(schema: Schema | None) -> frozenset[str]:
    parts = (schema or {}).get("properties", {})
    return frozenset(
        name for name, part in parts.items() if isinstance(part, Mapping) and part.get("better") == "lower"
    )


def standing(scales: Scales, field: str, value: Any) -> float | None:
    """0 at the worst end of the scale, 1 at the best; None without a scale or a number."""
    number, scale = as_number(value), scales.get(field)
    if number is None or scale is None:
        return None
    worst, best = scale
    return min(max((number - worst) / (best - worst), 0.0), 1.0)


def grade(scales: Scales, field: str, value: Any) -> Grade | None:
    place = standing(scales, field, value)
    if place is None:
        return None
    return "low" if place < _MIDDLE else "middle" if place < _HIGH else "high"
