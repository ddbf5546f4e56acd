"""A closed question as the statement that a yes to it makes: "Is it open today?" as "It is open today".

None where that cannot be told: a question for a thing, a choice between two, one that denies, or several at once. A yes
or no to such a question states nothing that could be checked.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from krino.judges.rag.reading.grammar import verb_form, word_list
from krino.judges.rag.reading.question import question_parts
from krino.judges.rag.reading.sentences import split_sentences
from krino.judges.rag.tables import table
from krino.text.forms import straighten

_WORD = re.compile(r"[^\W_]+(?:['-][^\W_]+)*")
_INVERTED = re.compile(r"(?P<verb>[^\W\d_]+)-(?:t-)?(?P<who>il|elle|ils|elles|on|ce|je|tu|nous|vous)\b", re.I)
_LONGEST = 300


@lru_cache(maxsize=4_096)
def statement_of(question: str, language: str | None) -> str | None:
    """What a yes to the question says, in the order of a statement as far as its subject can be told."""
    code = language if language is not None and language in table("questions")["closed"] else "en"
    asked = [item.text for item in split_sentences(question[:_LONGEST]) if item.text.rstrip().endswith("?")]
    if len(asked) != 1 or len(question_parts(question)) != 1:
        return None
    text = straighten(asked[0]).strip(" ¿?\u00a0\u202f")
    if _pattern(code, "open").search(text):
        return None
    told = _pattern(code, "tag").sub("", _pattern(code, "lead").sub("", text)).strip(" ,?")
    if not told or _pattern(code, "or").search(told) or _denies(told, code):
        return None
    words = told.split()
    if len(words) < 2:
        return None
    return _spoken_to(_in_order(told, words, code), code)


def _in_order(told: str, words: list[str], code: str) -> str:
    """The subject first; what has it there already, and Spanish, which may leave it anywhere, stay as they are."""
    if code == "fr":
        return _uninverted(told)
    first = words[0].lower().strip(",")
    if code == "es" or first in _words(code, "before") or first in _words(code, "who"):
        return told
    if code == "en" and first not in _words(code, "verbs"):
        return told
    length = _subject_length(first, words[1:], code)
    return " ".join([*words[1 : 1 + length], first, *words[1 + length :]])


def _uninverted(told: str) -> str:
    """ "Le musée est-il ouvert" as "le musée est ouvert", "est-il ouvert" as "il est ouvert"."""
    found = _INVERTED.search(told)
    if found is None:
        return told
    before = told[: found.start()].strip()
    subject = before or found["who"]
    return f"{subject} {found['verb'].lower()}{told[found.end() :]}"


def _subject_length(verb: str, words: list[str], code: str) -> int:
    """How many words behind the verb are the subject: a pronoun, a name, or an article with what follows it."""
    a_noun_follows = code == "de" and any(word[0].isupper() for word in words[1:3])  # "das neue Museum"
    if words[0].lower() in _words(code, "who") and not a_noun_follows:
        return 1
    if words[0][0].isupper() and words[0].lower() not in _words(code, "before"):
        return next((at for at, word in enumerate(words) if not word[0].isupper()), len(words) - 1) or 1
    opens = int(words[0].lower() in _words(code, "before"))
    if code == "de":
        noun = next((at for at, word in enumerate(words) if word[0].isupper()), opens)
        return min(noun + 1, max(len(words) - 1, 1))
    if code != "en":
        return min(opens + 1, max(len(words) - 1, 1))
    for at in range(opens + 1, len(words)):
        if _begins_predicate(words[at].lower().strip(","), verb):
            return at
    return max(len(words) - 1, 1)


def _begins_predicate(word: str, auxiliary: str) -> bool:
    """A verb, or behind "is" what can stand only after a subject."""
    known = word in word_list("prepositions") or word in word_list("determiners") or word in word_list("beside")
    return verb_form(word) is not None or (auxiliary in word_list("be") and known)


def _spoken_to(statement: str, code: str) -> str:
    """Whoever asks is "you" to the passage."""
    known = table("questions")["closed"][code]["speaker"]
    told = _WORD.sub(lambda found: known.get(found.group().lower(), found.group()), statement)
    return f"{told[0].upper()}{told[1:]}."


def _denies(told: str, code: str) -> bool:
    words = {word.lower() for word in _WORD.findall(told)}
    denials = frozenset(table("words")["negation"][code].split())
    return not words.isdisjoint(denials) or any(word.endswith("n't") or word.startswith("n'") for word in words)


@cache
def _pattern(code: str, name: str) -> re.Pattern[str]:
    return re.compile(table("questions")["closed"][code][name], re.I)


@cache
def _words(code: str, name: str) -> frozenset[str]:
    return frozenset(table("questions")["closed"][code][name].split())
