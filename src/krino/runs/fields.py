"""The fields of a verdict on record that results are counted by: the judge's own, and the roll-up before them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from krino.contract import RollUp

ROLL_UP = "roll_up"
ROLL_UPS: tuple[RollUp, ...] = get_args(RollUp)
"""From the best down."""


def fields_of(verdict_holder: Mapping[str, Any]) -> dict[str, Any]:
    """Of a judgement or a ballot; the roll-up only where the judge gives one."""
    fields = dict(verdict_holder.get("verdict") or {})
    return {ROLL_UP: verdict_holder[ROLL_UP], **fields} if verdict_holder.get(ROLL_UP) else fields
