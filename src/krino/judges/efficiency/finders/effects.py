"""Classifies what a step does to the world: it reads, lets time pass, changes something, or does not say."""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache
from typing import Literal

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.tokens import has_name_part, inflect, name_parts, tokens_of
from krino.judges.efficiency.traces.content import from_json, to_text
from krino.judges.efficiency.traces.steps import Step

Effect = Literal["none", "waits", "unclear", "changes"]
"""`none`: reads or talks. `waits`: lets time pass. `unclear`: the tool does not say whether it reads or writes."""

_COMMANDS = re.compile(r"&&|\|\||[;\n|]")
_REDIRECT = re.compile(r"(?<![0-9&<>])>(?!&)|\btee\b|\s-i\b|--in-place|--fix\b|--write\b")
_QUERY = re.compile(r'(?:\{"\w+":)?"?\s*(?:select|show|describe|explain|pragma)\s')
"""SQL that only reads."""
_LOOKED_AT = 4_000
_LONGEST_ACKNOWLEDGEMENT = 120
_LONGEST_STATUS = 400
_ACTING = ("write", "acting", "moving", "answering", "runs", "thinking", "side_work")


@lru_cache(maxsize=4096)
def reads_by_name(name: str) -> bool:
    """Does the verb in a tool's name read? `get_order` and `order_search` do, though orders can be placed."""
    parts = name_parts(name)
    looks = words("cues", "read") | words("cues", "search")
    if len(parts) > 1 and parts[-1] in words("cues", "looked_at"):
        acts = words("cues", "write") | words("cues", "acting")
        if parts[0] in words("cues", "named_like_acts") or acts.isdisjoint(parts[:-1]):
            return True
    if not parts or looks.isdisjoint(parts):
        return False
    return parts[0] in looks or parts[-1] in looks or words("cues", "write").isdisjoint(parts)


def classify_effect(step: Step) -> Effect:
    """Returns the effect of a step: none (it reads), waits, changes, or unclear."""
    if step.kind in ("llm", "retrieval"):
        return "none"
    if step.kind == "message":
        return "unclear"  # the user may act on it
    if has_name_part(step.name, "waiting"):
        return "waits"
    if has_name_part(step.name, "answering"):
        return "unclear"  # it speaks to the user, as a message does
    if reads_by_name(step.name):
        return "none"
    if has_name_part(step.name, "runs") or name_parts(step.name)[:1] == ("git",):
        return _classify_code(to_text(step.input))
    return "changes" if has_name_part(step.name, "write") else "unclear"


def _classify_code(code: str) -> Effect:
    """Returns the effect of code or of a shell command: none, changes, or unclear."""
    code = code[:_LOOKED_AT].lower()
    if any(sign in code for sign in words("cues", "code_writes")):
        return "changes"
    if _QUERY.match(code):
        return "none"
    found = re.fullmatch(r'\{"(?:command|cmd|script|bash)":"(.*)"\}', code, re.DOTALL)
    lines = [part.split() for part in _COMMANDS.split((found.group(1) if found else code).replace("\\n", "\n"))]
    commands = [line for line in lines if line]
    if commands and all(_only_looks(line) for line in commands):
        return "changes" if _REDIRECT.search(code) else "none"
    return "changes" if found and not _is_test(commands) else "unclear"


def _only_looks(line: list[str]) -> bool:
    """Does a command only read?"""
    if line[:2] == ["git", "branch"]:  # with a name it makes one, and with -d it deletes one
        return len(line) == 2 or line[2] in words("cues", "git_branch_reads")
    if line[0] == "git":
        return len(line) > 1 and line[1] in words("cues", "git_reads")
    return line[0] in words("cues", "shell_reads")


def _is_test(commands: list[list[str]]) -> bool:
    """Builds and tests change nothing that a later run would find."""
    return all(has_name_part(" ".join(line[:3]), "runs") for line in commands)


# --- readings and acts ------------------------------------------------------------------------------


def only_reads(step: Step, effect: Effect) -> bool:
    """Is the step a call that only reads, by its effect?"""
    return step.kind in ("tool", "retrieval") and effect == "none"


def may_be_left_out(step: Step, effect: Effect) -> bool:
    """Is it a reading, or a tool ("weather") that returned something and by its name neither reads nor acts?"""
    if step.kind != "tool" or effect not in ("none", "unclear"):
        return step.kind == "retrieval"
    acts = any(has_name_part(step.name, family) for family in _ACTING)
    if effect == "unclear" and (acts or is_pending(step)):
        return False
    opens = effect == "unclear" or name_parts(step.name)[:1] == ("open",)
    return not (opens and acknowledges(step))


def acknowledges(step: Step, task: Collection[str] = ()) -> bool:
    """Does a result only say that a thing was done, so that the call was an act ("open_door", "door open")?

    It has no words but those of acknowledgement, of the call itself, and of the task where that is given.
    """
    if len(to_text(step.output)) >= _LONGEST_ACKNOWLEDGEMENT or step.observed:
        return False
    said = tokens_of(from_json(step.output))
    more = said - words("cues", "acknowledging")
    own = {*inflect(name_parts(step.name)), *tokens_of(step.input), *task}
    return not more or ((bool(task) or more < said) and more <= own)


def is_pending(step: Step) -> bool:
    """Whether a short result says that something is still under way."""
    text = to_text(step.output)
    return 0 < len(text) < _LONGEST_STATUS and _pending().search(text) is not None


@cache
def _pending() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, table('cues')['pending']))})", re.IGNORECASE)
