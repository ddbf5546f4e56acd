"""Reads what a task asks for: an answer, an act, and how often an act may be repeated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache, lru_cache

from krino.judges.efficiency.data_files import table, words
from krino.judges.efficiency.finders.tokens import tokens_in

_CLAUSE = re.compile(r"[.,;:!\n]\s+|\band\b|\bthen\b|\ben\b|\bet\b|\bund\b", re.IGNORECASE)
_TASK_WORD = re.compile(r"[^\W\d_]+|\d+")
"""Unlike the tokeniser it parts numbers from letters: "2x" holds the number two."""
_ORDERED_TIMES = re.compile(
    r"\b(\w+)[ -]?(?:times|time|x|×|maal|keer|fois|mal)\b(?! (?:an?|per|as|the)\b)", re.IGNORECASE
)
"""How often an act is ordered; "20 times a day" and "3 times the price" order nothing."""
_AMOUNT = re.compile(
    r"(?:^|\b(?:the|add|buy|order|book|send|make|take|print|for|of|with|roll|draw|create|post) )(\d{1,2}) [^\W\d_]"
)
"""A small number that counts things ("add 2 units"); after a noun it is a name ("invoice 2")."""
_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;\n]?")
_ANY_NUMBER = 10**9
_LONG_TASK = 60
_LOOKED_AT = 4_000


@dataclass(frozen=True, slots=True)
class Request:
    """What a task wants. `wants_answer`: an answer, or an act that depends on something to be looked up first."""

    wants_answer: bool
    single: bool
    """One thing is asked, in a question that a few words can answer."""
    seeks: bool
    """Nothing is to be done but to tell, even if it is put as an order to find or list something."""
    orders: frozenset[str]
    """The words that open a clause: the verbs of what is to be done."""


@lru_cache(maxsize=256)
def read_request(task: str) -> Request:
    """Reads from a task whether it asks something, whether that is one question, and which acts it orders."""
    clauses = [tokens for tokens in map(tokens_in, _CLAUSE.split(task[:_LOOKED_AT])) if tokens]
    found = {word for tokens in clauses for word in tokens}
    leads = {word for tokens in clauses for word in (tokens[1:2] if tokens[0] == "please" else tokens[:1])}
    question = "?" in task or not leads.isdisjoint(words("cues", "asking"))
    depends = not found.isdisjoint(words("cues", "depending"))
    wide = not found.isdisjoint(words("cues", "open_ended"))
    single = question and not wide and (len(clauses) == 1 or (len(clauses) == 2 and _is_joined(task, clauses[0])))
    orders = leads & (words("cues", "write") | words("cues", "acting")) or found & words("cues", "polite")
    seeks = (question or task.rstrip().endswith("?")) and not orders
    return Request(question or depends, single, seeks, frozenset(leads))


def _is_joined(task: str, first: list[str]) -> bool:
    """Whether "and" joins two nouns rather than two clauses ("a recipe that uses leeks and potatoes")."""
    return " and " in task and not words("cues", "joining").isdisjoint(first)


# --- repetition -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Repetition:
    """How often a task lets a call be made: `reads` for calls that only look, `acts` for the rest.

    A word that can order a repetition ("again", "each") excuses no more calls than it orders: one more, or none.
    """

    reads: int
    acts: int
    perhaps_reads: bool = False
    """Whether anything in the task can be read as an order to look again: then code never overrules a labeller."""
    perhaps_acts: bool = False
    """The same for doing something again; any amount counts."""


ONCE = Repetition(1, 1)


@lru_cache(maxsize=256)
def read_repetition(task: str) -> Repetition:
    """Reads how often a task lets calls be made again. In a long text a bare "every" orders nothing."""
    text = _drop_statements(task[:_LOOKED_AT].lower())
    found = _TASK_WORD.findall(text)
    said = [_numbers()[word] for word in found if word in words("cues", "how_often")]
    times = max([1, *said, *map(_to_number, _ORDERED_TIMES.findall(text))])
    if times > 1:
        return Repetition(times, times, True, True)
    perhaps_again = any(cue in text if " " in cue else cue in found for cue in _hints_of_repetition())
    several = not words("cues", "amounts").isdisjoint(found)
    number = max([1, *map(int, _AMOUNT.findall(text)), *(_numbers().get(word, 1) for word in found)])
    perhaps = perhaps_again or several or number > 1
    if len(found) > _LONG_TASK:
        return Repetition(1, 1, perhaps_again, perhaps)
    orders = "\n".join(sentence for sentence in _SENTENCE.findall(text) if _is_order(sentence))
    ongoing = _ongoing().search(orders) is not None
    once_more = any(cue in text if " " in cue else cue in found for cue in table("cues")["once_more"])
    reads = _ANY_NUMBER if ongoing else 2 if once_more else 1
    moves = not (words("cues", "amounts") | words("cues", "done_by_repeating")).isdisjoint(_TASK_WORD.findall(orders))
    return Repetition(reads, _ANY_NUMBER if ongoing or moves else max(reads, number), perhaps_again, perhaps)


def _drop_statements(text: str) -> str:
    """The text without what it forbids, and without sentences that state something and ask for nothing."""
    sentences = (sentence for sentence in _SENTENCE.findall(text.replace("’", "'")) if not _is_statement(sentence))
    return "".join(_denied().sub(_keep_if_waiting, sentence) for sentence in sentences)


def _keep_if_waiting(denied: re.Match[str]) -> str:
    """Keeps "do not answer until the job is done": it orders to wait."""
    waits = any(word in denied[0] for word in table("cues")["waits_for"])
    return denied[0] if waits else " "


@cache
def _denied() -> re.Pattern[str]:
    """Returns the pattern of what is negated: from a negation to the end of its clause.

    "do not forget to" and "not only" negate nothing.
    """
    cues = table("cues")
    return re.compile(
        rf"\b(?:{'|'.join(cues['denials'])}|[a-z]{{2,7}}n't)\b(?! (?:{'|'.join(cues['denies_nothing'])})\b)[^.!?;,:\n]*"
    )


def _is_statement(sentence: str) -> bool:
    """Whether a sentence begins with a subject and holds no word of a wish."""
    found = _TASK_WORD.findall(sentence)
    if not found or found[0] not in words("cues", "subjects") or sentence.rstrip().endswith("?"):
        return False
    return words("cues", "wishing").isdisjoint(found)


@cache
def _hints_of_repetition() -> tuple[str, ...]:
    """Returns words that may order a repetition but mostly do not.

    They excuse no repeat; they only leave it to the labeller.
    """
    cues = table("cues")
    verbs = [verb.partition(" ")[0] for verb in cues["ongoing_verbs"]]
    lists = ("once_more", "ongoing", "ongoing_at_end", "distributive", "done_by_repeating")
    return (*verbs, *(cue for name in lists for cue in cues[name]))


def _is_order(sentence: str) -> bool:
    """A question orders nothing, unless it asks somebody to do something ("Can you ...?")."""
    return not sentence.rstrip().endswith("?") or " you " in f" {sentence}"


@cache
def _ongoing() -> re.Pattern[str]:
    """Returns the pattern of an order to keep doing something; "until 21:30" is a time and no such order."""
    cues = table("cues")
    adverbs = rf"\b(?:{'|'.join(cues['ongoing'])})\b(?! (?:\d|{'|'.join(cues['up_to_now'])}))"
    at_end = rf"\b(?:{'|'.join(cues['ongoing_at_end'])})(?=[.,;!\n]|$| (?:and|until)\b)"
    verbs = (
        rf"(?:^|[.,;:!(\n]|\b(?:and|then|please|to|you|en|et|und)\b)\s{{0,9}}(?:{'|'.join(cues['ongoing_verbs'])})\b"
    )
    each = rf"\b(?:{'|'.join(cues['distributive'])})s? (?:\w{{1,20}} )?(?:{'|'.join(cues['time_units'])})\b"
    return re.compile("|".join((adverbs, at_end, verbs, each)))


@cache
def _numbers() -> dict[str, int]:
    """Number words from two on."""
    return {word: number for number, forms in enumerate(table("cues")["numbers"], 2) for word in forms}


def _to_number(word: str) -> int:
    return int(word) if word.isdigit() and len(word) < 4 else _numbers().get(word, 1)
