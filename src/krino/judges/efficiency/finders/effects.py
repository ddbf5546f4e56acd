"""Tells what a step does to the world, what a task orders to be repeated, and where waiting forces a repetition."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal

from krino.judges.efficiency.tables import table, words
from krino.judges.efficiency.traces.content import dump
from krino.judges.efficiency.traces.steps import Step

Effect = Literal["none", "waits", "unclear", "changes"]
"""`none`: reads or talks. `waits`: lets time pass. `unclear`: the tool does not say whether it reads or writes."""

_NAME_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_COMMANDS = re.compile(r"&&|\|\||[;\n|]")
_REDIRECT = re.compile(r"(?<![0-9&<>])>(?!&)|\btee\b|\s-i\b|--in-place|--fix\b|--write\b")
_QUERY = re.compile(r'(?:\{"\w+":)?"?\s*(?:select|show|describe|explain|pragma)\s')
"""A database that is only asked."""
_TASK_WORD = re.compile(r"[^\W\d_]+|\d+")
_ORDERED_TIMES = re.compile(
    r"\b(\w+)[ -]?(?:times|time|x|×|maal|keer|fois|mal)\b(?! (?:an?|per|as|the)\b)", re.IGNORECASE
)
"""A count of an order; "20 times a day" and "3 times the price" are none."""
_AMOUNT = re.compile(
    r"(?:^|\b(?:the|add|buy|order|book|send|make|take|print|for|of|with|roll|draw|create|post) )(\d{1,2}) [^\W\d_]"
)
"""A small number that counts things ("add 2 units"); one behind a noun ("invoice 2") is a name."""
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_MANY = 10**9
_LONG_TASK = 60
_LOOKED_AT = 4_000


@dataclass(frozen=True, slots=True)
class Ordered:
    """How often a task orders an act: `reads` for what only looks, `acts` for the rest; 1 where it orders no more.

    A word that can order a repetition ("again", "each") excuses no more calls than it orders: one more, or none.
    """

    reads: int
    acts: int
    perhaps_reads: bool = False
    """Whether anything in it can be read as an order to look again: then no rule of code overrules a labeller."""
    perhaps_acts: bool = False
    """The same for doing something again: any amount will do."""


ONCE = Ordered(1, 1)


@cache
def _numbers() -> dict[str, int]:
    """Words for numbers from two on."""
    return {word: number for number, forms in enumerate(table("cues")["numbers"], 2) for word in forms}


@lru_cache(maxsize=4096)
def name_parts(name: str) -> tuple[str, ...]:
    return tuple(part.lower() for part in _NAME_PART.findall(name[:200]))


def names(name: str, family: str) -> bool:
    """Whether the name of a tool has a word of this family."""
    return not words("cues", family).isdisjoint(name_parts(name))


@lru_cache(maxsize=4096)
def reads_by_name(name: str) -> bool:
    """The verb decides: `get_order` reads though it speaks of an order, and so does `order_search`."""
    parts = name_parts(name)
    looks = words("cues", "read") | words("cues", "search")
    if len(parts) > 1 and parts[-1] in words("cues", "looked_at"):
        acts = words("cues", "write") | words("cues", "acting")
        if parts[0] in words("cues", "named_like_acts") or acts.isdisjoint(parts[:-1]):
            return True
    if not parts or looks.isdisjoint(parts):
        return False
    return parts[0] in looks or parts[-1] in looks or words("cues", "write").isdisjoint(parts)


def effect_of(step: Step) -> Effect:
    if step.kind in ("llm", "retrieval"):
        return "none"
    if step.kind == "message":
        return "unclear"  # it hands the turn to a user, who may act
    if names(step.name, "waiting"):
        return "waits"
    if names(step.name, "answering"):
        return "unclear"  # it speaks to the user, as a message does
    if reads_by_name(step.name):
        return "none"
    if names(step.name, "runs") or name_parts(step.name)[:1] == ("git",):
        return _effect_of_code(dump(step.input))
    return "changes" if names(step.name, "write") else "unclear"


def _effect_of_code(code: str) -> Effect:
    code = code[:_LOOKED_AT].lower()
    if any(sign in code for sign in words("cues", "code_writes")):
        return "changes"
    if _QUERY.match(code):
        return "none"
    found = re.fullmatch(r'\{"(?:command|cmd|script|bash)":"(.*)"\}', code, re.DOTALL)
    lines = [part.split() for part in _COMMANDS.split((found.group(1) if found else code).replace("\\n", "\n"))]
    commands = [line for line in lines if line]
    if commands and all(_looks(line) for line in commands):
        return "changes" if _REDIRECT.search(code) else "none"
    return "changes" if found and not _is_test(commands) else "unclear"


def _looks(line: list[str]) -> bool:
    if line[:2] == ["git", "branch"]:  # with a name it makes one, and with -d it takes one away
        return len(line) == 2 or line[2] in words("cues", "git_branch_reads")
    if line[0] == "git":
        return len(line) > 1 and line[1] in words("cues", "git_reads")
    return line[0] in words("cues", "shell_reads")


def _is_test(commands: list[list[str]]) -> bool:
    """Runs that build or test what is there change nothing that a later run would find."""
    return all(any(part in words("cues", "runs") for part in name_parts(" ".join(line[:3]))) for line in commands)


@lru_cache(maxsize=256)
def ordered_by(task: str) -> Ordered:
    """What a task says about doing something more than once. In a long text a bare "every" orders nothing."""
    text = _what_is_ordered(task[:_LOOKED_AT].lower())
    found = _TASK_WORD.findall(text)
    said = [_numbers()[word] for word in found if word in words("cues", "how_often")]
    times = max([1, *said, *map(_count, _ORDERED_TIMES.findall(text))])
    if times > 1:
        return Ordered(times, times, True, True)
    perhaps_again = any(cue in text if " " in cue else cue in found for cue in _hints_of_repetition())
    several = not words("cues", "amounts").isdisjoint(found)
    number = max([1, *map(int, _AMOUNT.findall(text)), *(_numbers().get(word, 1) for word in found)])
    perhaps = perhaps_again or several or number > 1
    if len(found) > _LONG_TASK:
        return Ordered(1, 1, perhaps_again, perhaps)
    orders = "\n".join(sentence for sentence in _SENTENCE.findall(text) if _is_order(sentence))
    ongoing = _ongoing().search(orders) is not None
    reads = _MANY if ongoing else 2 if any(cue in text if " " in cue else cue in found for cue in _once_more()) else 1
    moves = not (words("cues", "amounts") | words("cues", "done_by_repeating")).isdisjoint(_TASK_WORD.findall(orders))
    return Ordered(reads, _MANY if ongoing or moves else max(reads, number), perhaps_again, perhaps)


def _what_is_ordered(text: str) -> str:
    """The text without what it tells not to do, and without sentences that state something and ask for nothing."""
    sentences = (sentence for sentence in _SENTENCE.findall(text.replace("’", "'")) if not _is_statement(sentence))
    return "".join(_denied().sub(_unless_it_waits, sentence) for sentence in sentences)


def _unless_it_waits(denied: re.Match[str]) -> str:
    """ "Do not answer until the job is done" orders to wait."""
    waits = any(word in denied[0] for word in table("cues")["waits_for"])
    return denied[0] if waits else " "


@cache
def _denied() -> re.Pattern[str]:
    """From a word of denial to the end of its clause; "do not forget to" and "not only" deny nothing."""
    cues = table("cues")
    return re.compile(
        rf"\b(?:{'|'.join(cues['denials'])}|[a-z]{{2,7}}n't)\b(?! (?:{'|'.join(cues['denies_nothing'])})\b)[^.!?;,:\n]*"
    )


def _is_statement(sentence: str) -> bool:
    """Whether it begins with who or what it speaks of, and holds no word of a wish."""
    found = _TASK_WORD.findall(sentence)
    if not found or found[0] not in words("cues", "spoken_of") or sentence.rstrip().endswith("?"):
        return False
    return words("cues", "wishing").isdisjoint(found)


def _once_more() -> tuple[str, ...]:
    return tuple(table("cues")["once_more"])


@cache
def _hints_of_repetition() -> tuple[str, ...]:
    """Words that can order a repetition and mostly do not: they leave the labeller its say, and excuse nothing."""
    cues = table("cues")
    verbs = [verb.partition(" ")[0] for verb in cues["ongoing_verbs"]]
    lists = ("once_more", "ongoing", "ongoing_at_end", "distributive", "done_by_repeating")
    return (*verbs, *(cue for name in lists for cue in cues[name]))


def _is_order(sentence: str) -> bool:
    """A question orders nothing, unless it asks somebody to do something ("Can you ...?")."""
    return not sentence.rstrip().endswith("?") or " you " in f" {sentence}"


@cache
def _ongoing() -> re.Pattern[str]:
    """Finds an order to go on doing something; "until 21:30" is a time and no such order."""
    cues = table("cues")
    adverbs = rf"\b(?:{'|'.join(cues['ongoing'])})\b(?! (?:\d|{'|'.join(cues['up_to_now'])}))"
    at_end = rf"\b(?:{'|'.join(cues['ongoing_at_end'])})(?=[.,;!\n]|$| (?:and|until)\b)"
    verbs = (
        rf"(?:^|[.,;:!(\n]|\b(?:and|then|please|to|you|en|et|und)\b)\s{{0,9}}(?:{'|'.join(cues['ongoing_verbs'])})\b"
    )
    each = rf"\b(?:{'|'.join(cues['distributive'])})s? (?:\w{{1,20}} )?(?:{'|'.join(cues['time_units'])})\b"
    return re.compile("|".join((adverbs, at_end, verbs, each)))


def _count(word: str) -> int:
    return int(word) if word.isdigit() and len(word) < 4 else _numbers().get(word, 1)


@cache
def _pending() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, table('cues')['pending']))})", re.IGNORECASE)


def is_pending(step: Step) -> bool:
    """Whether a short result says that something is still under way."""
    text = dump(step.output)
    return 0 < len(text) < 400 and _pending().search(text) is not None
