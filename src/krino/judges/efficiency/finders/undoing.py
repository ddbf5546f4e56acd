"""Finds work that comes to nothing: acts taken back or written over, results turned back, packages nobody uses."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import cache

from krino.judges.efficiency.finders.calls import texts_in
from krino.judges.efficiency.finders.content_words import MAX_TEXT, forms, tokens_in, tokens_of
from krino.judges.efficiency.finders.effects import name_parts, names, reads_by_name
from krino.judges.efficiency.finders.nearness import are_opposed
from krino.judges.efficiency.finders.readings import acknowledges
from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import dump, text_of
from krino.judges.efficiency.traces.steps import Step

_NEARBY = 20
_LEAST_UNDOING = 4
_INSTALL = re.compile(
    r"\b(?:pip3?|uv pip|conda|mamba|npm|yarn|pnpm|apt|apt-get|brew|gem|cargo)\s+(?:install|add|i)\s+([^\n;&|\"']+)"
)
_PACKAGE = re.compile(r"@?[A-Za-z][\w.-]*(?:/[\w.-]+)?")
_FILE = re.compile(
    r"\w\.(?:py|js|ts|sh|ipynb|toml|json|txt|rb|rs|cfg)\b|\b(?:pytest|make|tox|npm (?:run|test)|cargo)\b"
)
"""What a command runs that the trace does not show: it may need any package."""


def taken_back(steps: Sequence[Step], place: int, asked: Collection[str], turned: bool = False) -> Iterator[int]:
    """The earlier act that this one undoes, if nothing in between made use of it and the task orders no undoing.

    With `turned`, what is undone is itself an undoing: a thing is made anew after it was deleted.
    """
    undone = _redone if turned else _undone
    step = steps[place]
    parts = name_parts(step.name)
    verbs = [verb for verb in parts if undone(verb) and verb not in asked]
    given = tokens_of(step.input)
    things = set(parts) - set(verbs)
    if not verbs or not (given or things) or step.error is not None:
        return
    between: set[str] = set()  # what the steps in between speak of
    for earlier in range(place - 1, max(-1, place - _NEARBY), -1):
        other = steps[earlier]
        if other.talks or other.error is not None:
            return  # after words to the user, or a fault, there may be a ground
        does = set(name_parts(other.name))
        made = tokens_of(other.input) | tokens_of(other.output)
        acts = does & undone(verbs[0])
        if reads_by_name(other.name):  # `open_door` is an act, `order_status` is none
            acts &= words("cues", "read")
        if acts and (forms(does) & things or things <= words("cues", "undone_things")) and given <= made:
            if between.isdisjoint(made):
                yield earlier
            return
        reads = reads_by_name(other.name)
        between |= tokens_of(other.input) if reads else {*does, *tokens_of(other.input)}
        lasts = names(other.name, "waiting") or not (reads or (given and tokens_of(other.input)))
        if lasts or not given.isdisjoint(between):
            return  # it was used, or may have been, before it was taken away


@cache
def _undone_by() -> dict[str, frozenset[str]]:
    return {verb: frozenset(acts) for verb, acts in table("cues")["undoing"].items()}


def _undone(verb: str) -> frozenset[str]:
    """The verbs that this one takes back: those of the table, or what stands behind its "un" (unsnooze)."""
    own = frozenset({verb.removeprefix("un")}) if verb.startswith("un") and len(verb) > _LEAST_UNDOING else frozenset()
    return _undone_by().get(verb, own)


@cache
def _redone(act: str) -> frozenset[str]:
    """The verbs that undo this one."""
    return frozenset(verb for verb, acts in _undone_by().items() if act in acts)


def turned_round(steps: Sequence[Step], place: int, asked: Collection[str]) -> bool:
    """Whether it does the opposite of the step before, with the same tool: a turn the other way, off after on.

    Or it leaves what the task names for what it does not (to the kitchen, as asked, and on to the garage).
    """
    step, other = steps[place], steps[place - 1] if place else None
    if other is None or other.name != step.name or step.error is not None or other.error is not None:
        return False
    one, before = step.input, other.input
    if not isinstance(one, dict) or not isinstance(before, dict) or one.keys() != before.keys():
        return False
    if reads_by_name(step.name) or names(step.name, "paging") or names(step.name, "on_screen"):
        return False
    differ = [key for key in one if one[key] != before[key]]
    if len(differ) != 1:
        return False
    now, then = one[differ[0]], before[differ[0]]
    leaves = bool(tokens_of(then)) and tokens_of(then) <= set(asked) and tokens_of(now).isdisjoint(asked)
    return leaves or _are_opposite(now, then, asked)


def _are_opposite(one: object, other: object, asked: Collection[str]) -> bool:
    if isinstance(one, bool) and isinstance(other, bool):
        return True
    if isinstance(one, int | float) and isinstance(other, int | float):
        return one == -other != 0
    said, before = set(tokens_in(str(one)[:MAX_TEXT])), set(tokens_in(str(other)[:MAX_TEXT]))
    switched = said != before and said | before <= words("cues", "switching")
    return said.isdisjoint(asked) and (switched or are_opposed(said, before))


def overwritten(steps: Sequence[Step], place: int, asked: Collection[str]) -> bool:
    """A value that the next step sets anew, in the same place of the same thing, where the task does not order both."""
    following = steps[place + 1] if place + 1 < len(steps) else None
    last = next((other for other in reversed(steps[place : place + _NEARBY]) if other.name == steps[place].name), None)
    step = steps[place]
    if following is None or following.name != step.name or following.error:
        return False
    one, other = step.input, following.input
    if not isinstance(one, dict) or not isinstance(other, dict) or one.keys() != other.keys():
        return False
    final = set(tokens_in(" ".join(texts_in(last.input)))) if last is not None else set()
    before, after = (set(tokens_in(" ".join(texts_in(given)))) for given in (one, other))
    corrected = acknowledges(step) and before < after <= set(asked)
    if not corrected and (not names(step.name, "setting") or not (len(one) > 1 or final <= set(asked))):
        return False
    differ = [key for key in one if one[key] != other[key]]
    if len(differ) != 1 or any(isinstance(given[differ[0]], bool) for given in (one, other)):
        return False
    first, second = tokens_of(one[differ[0]]), tokens_of(other[differ[0]])
    return differ[0] in words("cues", "value_fields") and (corrected or not first <= set(asked) or first < second)


def went_astray(steps: Sequence[Step], place: int, asked: Collection[str]) -> bool:
    """It went to a place that neither the task nor a result names, and the next step goes on to one of the task."""
    step, following = steps[place], steps[place + 1] if place + 1 < len(steps) else None
    if following is None or following.name != step.name or following.error or not names(step.name, "going"):
        return False
    there, then = tokens_of(step.input), tokens_of(following.input)
    own = there - then  # dock 9, where dock 3 was meant
    if not own or not then or not acknowledges(step) or not then <= set(asked) or not own.isdisjoint(asked):
        return False
    return not any(own & tokens_of(other.output) for other in steps[max(0, place - _NEARBY) : place])


def turned_back(steps: Sequence[Step], place: int) -> Iterator[int]:
    """The earlier call whose result this one was given and turned into what that call had been given."""
    step = steps[place]
    result = _plain(text_of(step.output))
    if len(result) < 2 or not isinstance(step.input, dict):
        return
    given = {_plain(text) for text in texts_in(step.input)}
    for earlier in range(place - 1, max(-1, place - _NEARBY), -1):
        other = steps[earlier]
        if other.kind != step.kind or not isinstance(other.input, dict) or other.input == step.input:
            continue
        made = _plain(text_of(other.output))
        if made and made in given and made != result and result in {_plain(text) for text in texts_in(other.input)}:
            yield earlier
            return


def installs_for_nobody(steps: Sequence[Step], place: int, asked: Collection[str]) -> bool:
    """Packages by name that no later step speaks of, where all that is run later can be read in the trace."""
    if "install" in asked or not names(steps[place].name, "runs"):
        return False
    found = _INSTALL.search(" ".join(texts_in(steps[place].input))[:MAX_TEXT])
    packages = [name for name in _PACKAGE.findall(found.group(1)) if not name.startswith("-")] if found else []
    if found is None or not packages or re.search(r"(?:^|\s)(?:-r|-e|\.)", found.group(1)):
        return False
    later = [dump(step.input)[:MAX_TEXT].lower() for step in steps[place + 1 :] if not step.talks]
    said = set().union(*map(tokens_in, later)) if later else set()
    called = {part for name in packages for part in _names_of(name)}
    return called.isdisjoint(said | set(asked)) and not any(_FILE.search(text) for text in later)


def _names_of(package: str) -> set[str]:
    """The words by which code or a command may call a package."""
    name = package.lower()
    return {*tokens_in(name), *table("cues")["imported_as"].get(name, ())} - words("cues", "stop_words")


def _plain(text: str) -> str:
    return " ".join(tokens_in(text[:MAX_TEXT]))
