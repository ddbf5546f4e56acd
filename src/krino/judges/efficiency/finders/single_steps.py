"""What one step is by its call and its result alone: a reading, something that can be left out, or an act."""

from __future__ import annotations

from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.content_words import tokens_of
from krino.judges.efficiency.finders.effects import is_pending, name_parts, names
from krino.judges.efficiency.tables import words
from krino.judges.efficiency.traces.content import dump, from_json
from krino.judges.efficiency.traces.steps import Step

_ACKNOWLEDGEMENT = 120
_ACTING = (
    "write",
    "acting",
    "moving",
    "answering",
    "runs",
    "musing",
    "bookkeeping",
    "charting",
    "announcing",
    "keeping",
)
"""Families of names that belong to acts."""


def only_reads(step: Step, call: Call) -> bool:
    return step.kind in ("tool", "retrieval") and call.effect == "none"


def may_be_left_out(step: Step, call: Call) -> bool:
    """A reading, or a tool that says neither that it reads nor that it acts and told something ("weather")."""
    if step.kind != "tool" or call.effect not in ("none", "unclear"):
        return step.kind == "retrieval"
    if call.effect == "unclear" and (any(names(step.name, family) for family in _ACTING) or is_pending(step)):
        return False
    opens = call.effect == "unclear" or name_parts(step.name)[:1] == ("open",)
    return not (opens and acknowledges(step))


def acknowledges(step: Step) -> bool:
    """Whether a result only says that a thing was done: then it was an act ("open_door", "ok")."""
    short = len(dump(step.output)) < _ACKNOWLEDGEMENT and not step.observed
    return short and tokens_of(from_json(step.output)) <= words("cues", "acknowledging")
