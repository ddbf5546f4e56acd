"""The fields on record that results are counted by: roll-up, the verdict's own, and the figures beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from krino.contract import RollUp

ROLL_UP = "roll_up"
ROLL_UPS: tuple[RollUp, ...] = get_args(RollUp)
"""From the best down."""


def fields_of(verdict_holder: Mapping[str, Any]) -> dict[str, Any]:
    """Of a judgement or a ballot; the roll-up only where the judge gives one."""
    fields = dict(own_fields(verdict_holder))
    return {ROLL_UP: verdict_holder[ROLL_UP], **fields} if verdict_holder.get(ROLL_UP) else fields


def own_fields(verdict_holder: Mapping[str, Any]) -> Mapping[str, Any]:
    """The judge's own: those of the verdict, and after them the figures, which never stand in for one of them."""
    verdict: Mapping[str, Any] = verdict_holder.get("verdict") or {}
    figures: Mapping[str, Any] = verdict_holder.get("figures") or {}
    return {**verdict, **{name: figures[name] for name in figures if name not in verdict}} if figures else verdict
