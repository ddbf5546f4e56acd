"""Tells readings from acts: by what a tool does, and by a result that only says that a thing was done."""

from __future__ import annotations

from collections.abc import Collection

from krino.judges.efficiency.finders.calls import Call
from krino.judges.efficiency.finders.content_words import forms, tokens_of
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


def acknowledges(step: Step, of_task: Collection[str] = ()) -> bool:
    """Whether a result only says that a thing was done: then it was an act ("open_door", "door open").

    It does so in words of acknowledgement, of the call itself, and of the task where that is given.
    """
    if len(dump(step.output)) >= _ACKNOWLEDGEMENT or step.observed:
        return False
    said = tokens_of(from_json(step.output))
    more = said - words("cues", "acknowledging")
    own = {*forms(name_parts(step.name)), *tokens_of(step.input), *of_task}
    return not more or ((bool(of_task) or more < said) and more <= own)
