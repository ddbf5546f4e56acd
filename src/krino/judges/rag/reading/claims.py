"""Cuts an English sentence where each half can be wrong by itself, and puts names where pronouns stand for them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice, pairwise

from krino.judges.rag.reading.finding_values import find_values
from krino.judges.rag.reading.grammar import verb_form, word_list
from krino.judges.rag.reading.value_words import any_stop, number_words
from krino.judges.rag.reading.values import Value
from krino.judges.rag.tables import table

_TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_JOINT = re.compile(r",?\s+(?:and|but)\s+|;\s+", re.I)
_PARTED = re.compile(r";\s+|,?\s+(?:and|but|while|whereas)\s+", re.I)
_LISTED = re.compile(r",\s+(?:(?:and|but|et|en|und|y)\s+)?|;\s+|\s+(?:and|but|et|en|und|y)\s+", re.I)
_DONE_BY = re.compile(
    r"\b(?P<done>(?:is|are|was|were|(?:must|will|can|may|should|has|have|had) be(?:en)?) [a-z]+(?: [a-z]+)?) by "
)
_BY = re.compile(r"(?P<what>[^,;:]{2,60}?) by (?P<whom>[^,;:]{2,60})")
_GAP = re.compile(
    r"(?P<what>(?:the|a|an|its|their|his|her|[A-Z])[^,;:]{1,40}?) (?P<by>to|from|by|at|on|in|for|with|until|into) "
    r"(?P<rest>.+)"
)
_VERB = re.compile(r" (?P<verb>[a-z]+(?: [a-z]+ed)?)\b")
_PLURAL = re.compile(r"(?P<who>(?:[^\W\d_]+ )?[^\W\d_]+s) (?P<verb>[a-z]+)\b")
_RELATIVE = re.compile(r"(?P<who>[^,;:]{2,60}), (?:who|which) (?P<said>[^,;:]{4,120}), (?P<rest>[^,;:]+)$")
_LONGEST = 600
_MOST_PARTS = 3
"""As many as a model may name for a sentence."""
_MOST_READ = 60
"""Words of a claim that the entailment model is sure to read: it sees 96 tokens."""
_LONGEST_SUBJECT = 8
_NEAR = 6
"""Words among which a half with a subject of its own must have its verb."""
_ROUGHLY = frozenset({"about", "around", "nearly", "almost", "roughly", "approximately", "over", "some"})
"""What may stand before the number that opens a half."""
_ASIDE = re.compile(r"[(\[\"“«]")
_OPENING = re.compile(
    r"^(?:[^\W\d_]+,\s+|(?:on|in|at|during|since|from|after|before|by|until)\s[^,.;:]{2,30}?,?\s+(?=(?:it|he|she|they|its|his|her|their)\s))?",
    re.I,
)
"""What may stand before a subject: "However, it", "On Thursdays it"."""


@dataclass(frozen=True, slots=True)
class _Head:
    """The subject of a half, with its auxiliary where it has one, as they stand in the text."""

    subject: str
    auxiliary: str
    form: str


@lru_cache(maxsize=4_096)
def split_claims(sentence: str) -> tuple[str, ...]:
    """The claims of a sentence, each with its subject; the sentence itself where it makes one."""
    if len(sentence) > _LONGEST or _ASIDE.search(sentence) or sentence.endswith("?"):
        return (sentence,)
    if (aside := _RELATIVE.match(sentence)) and _head(f"{aside['who']} {aside['rest']}"):
        return (f"{aside['who']} {aside['said']}.", *split_claims(f"{aside['who']} {aside['rest']}"))[:_MOST_PARTS]
    head = _head(sentence)
    claims: list[str] = []
    told, start = sentence, 0
    for joint in _JOINT.finditer(sentence):
        left, right = sentence[start : joint.start()], sentence[joint.end() :]
        following = _completed(head, left, right, joint.group()[0] in ",;")
        if following is None or len(claims) == _MOST_PARTS - 1:
            continue
        claims.append(told[: len(told) - len(sentence) + joint.start()].rstrip(" ,;") + ".")
        told, start = following[0].upper() + following[1:], joint.end()
        if following == right:
            head = _head(right)
    return (*claims, told)


@lru_cache(maxsize=4_096)
def clauses(sentence: str) -> tuple[str, ...]:
    """The statements of a sentence of a passage, cut more freely than claims: wherever a verb follows what joins."""
    pieces = _PARTED.split(sentence) if len(sentence) <= _LONGEST else [sentence]
    head = (_head(sentence, kinds=True) or _plural_head(sentence)) if len(pieces) > 1 else None
    found = pieces[:1]
    for piece in pieces[1:]:
        words = [word.lower() for word in _TOKEN.findall(piece)[:_NEAR]]
        verbs = [word in word_list("auxiliary") or _is_finite(word) for word in words]
        if not any(verbs):
            gapped = _gapped(found[-1], piece, head)
            found[-1:] = [found[-1], gapped] if gapped else [f"{found[-1]} and {piece}"]
        else:
            found.append(f"{head.subject} {piece}" if verbs[0] and head is not None else piece)
    return tuple(found)


def _gapped(left: str, right: str, head: _Head | None) -> str | None:
    """ "The red line goes to the harbour and the green one to the stadium": the right half with the left one's verb."""
    ours, theirs = _GAP.fullmatch(right), head and _VERB.match(left, len(head.subject))
    if (
        ours is None
        or not theirs
        or find_values(ours["what"])
        or ours["by"].lower() not in (word.lower() for word in _TOKEN.findall(left))
    ):
        return None
    return f"{ours['what']} {theirs['verb']} {ours['by']} {ours['rest']}"


@lru_cache(maxsize=4_096)
def parted_values(text: str) -> tuple[str, ...]:
    """A statement cut at its commas and at "and", where every part has a value of one kind, each with the subject of
    the first where it has none: "a ticket is 4 euros in the app and 5 euros on board"; else as it is."""
    pieces = _LISTED.split(text) if len(text) <= _LONGEST and not _spans().search(text) else [text]
    told = [find_values(piece) for piece in pieces]
    alike = [value for value in told[0] if all(any(_is_alike(value, other) for other in others) for others in told)]
    if len(pieces) == 1 or not alike or _stand_together(text):
        return (text,)
    head = _head(pieces[0])
    if head is None or find_values(head.subject):
        return tuple(pieces)
    return (pieces[0], *(piece if _is_named(piece) else f"{head.subject} {piece}" for piece in pieces[1:]))


def _stand_together(text: str) -> bool:
    """Whether two values of a kind have nothing between them but function words: "closed on Sunday and on Monday"."""
    told = find_values(text)
    return any(
        _is_alike(first, second) and any_stop().issuperset(_TOKEN.findall(text[first.end : second.start].lower()))
        for first, second in pairwise(told)
    )


@cache
def _spans() -> re.Pattern[str]:
    """Between two values that belong together, or before them."""
    return re.compile(rf"\b(?:{'|'.join(table('values')['dates']['spans'])})\b", re.I)


def _is_alike(value: Value, other: Value) -> bool:
    return value.kind == other.kind and (value.unit == other.unit or not other.unit)


def _is_named(piece: str) -> bool:
    """Whether a part says of what its value is told: "the battery for two", but not "5 euros on board"."""
    opening = piece[: find_values(piece)[0].start].lower().split()
    return any(word not in _before_nouns() and word not in word_list("beside") for word in opening)


def _is_finite(word: str) -> bool:
    form = verb_form(word)
    return form is not None and form[1] not in ("base", "gerund")


def _completed(head: _Head | None, left: str, right: str, parted: bool) -> str | None:
    """The right half as a sentence of its own, or None where the joint only joins words."""
    words = _TOKEN.findall(right)
    if head is None or not words or (left and not _says_enough(left)):
        return None
    first = next((word for word in words if word.lower() not in word_list("beside")), "")
    if _goes_on(words, first, head):
        auxiliary = f" {head.auxiliary}" if _needs_auxiliary(first.lower(), head) else ""
        return f"{head.subject}{auxiliary} {right}"
    if parted and _has_own_subject(words):
        return _possessed(right, head.subject)
    return _by_another(left, right)


def _by_another(left: str, right: str) -> str | None:
    """ "Repairs are paid for by the owner, and bulbs by the tenant": the second half with the verb of the first."""
    ours, theirs = _DONE_BY.search(left), _BY.fullmatch(right)
    return f"{theirs['what']} {ours['done']} by {theirs['whom']}" if ours and theirs else None


def _says_enough(left: str) -> bool:
    return len(_TOKEN.findall(left)) >= 3


def _goes_on(words: Sequence[str], first: str, head: _Head) -> bool:
    """Whether the half begins with a verb that the subject could have."""
    lowered = first.lower()
    if not first or first[0].isupper():
        return False
    if lowered in word_list("auxiliary"):
        return len(words) > 1
    form = verb_form(lowered)
    if form is None or form[1] in ("base", "gerund"):
        return False
    place = words.index(first)
    after = words[place + 1].lower() if place + 1 < len(words) else ""
    if form[1] == "third" and head.form == "third":
        return bool(after)  # "12 doctors and nurses"
    return after in _openers() or after[:1].isdigit() or (form[1] != "third" and not after)


@cache
def _openers() -> frozenset[str]:
    return word_list("determiners") | word_list("prepositions") | word_list("beside") | {"all", "some", "no", "every"}


def _needs_auxiliary(first: str, head: _Head) -> bool:
    """ "is 50 m tall and made of gold": a participle goes on with the auxiliary."""
    form = verb_form(first)
    if first in word_list("auxiliary") or form is None or not head.auxiliary:
        return False
    if head.auxiliary.lower() not in word_list("be"):
        return form[1] in ("participle", "both") and head.auxiliary.lower() in ("has", "have", "had")
    return form[1] == "participle" or (form[1] == "both" and head.form != "third" and head.form != "past")


def _has_own_subject(words: Sequence[str]) -> bool:
    """ "its battery lasts", "all the miners drowned", "Mia Strand paid", "45 flights were diverted"."""
    if words[0].lower() in _ROUGHLY and len(words) > 1:
        words = words[1:]
    opens = words[0].lower()
    known = word_list("determiners") | word_list("pronouns", "parts") | {"all", "some", "most", "many", "no", "every"}
    counted = opens[0].isdigit() or opens in number_words()  # "4-0 wins" has no verb
    if opens not in known and not words[0][0].isupper() and not counted:
        return False
    for place, word in enumerate(words[1:_NEAR], 1):
        lowered = word.lower()
        form = verb_form(lowered)
        noun = words[place - 1].lower() in _before_nouns() or (counted and form is not None and form[1] == "third")
        if lowered in word_list("auxiliary") or (form is not None and not noun and form[1] not in ("base", "gerund")):
            return True
    return False


@lru_cache(maxsize=8_192)
def _head(text: str, kinds: bool = False) -> _Head | None:
    """What stands before the first verb of a sentence, if that is short enough to be its subject; with `kinds` also one
    that opens with what could be an order ("Express delivery")."""
    tokens = list(islice(_TOKEN.finditer(text), _LONGEST_SUBJECT + 2))
    before_nouns, auxiliaries = _before_nouns(), word_list("auxiliary")
    lowered = before = ""
    for place, token in enumerate(tokens[: _LONGEST_SUBJECT + 1]):
        word = token.group()
        before, lowered = lowered, word.lower()
        form = None if before in before_nouns or (place and word[0].isupper()) else verb_form(lowered)
        auxiliary = lowered in auxiliaries
        if place == 0 and (auxiliary or (form is not None and not (kinds and _names_a_kind(tokens)))):
            return None
        if place == 0:
            continue
        if auxiliary or (form is not None and form[1] not in ("base", "gerund") and not _before_verb(tokens, place)):
            told = "" if form is None else form[1]
            end = place
            while end > 1 and tokens[end - 1].group().lower() in word_list("beside"):
                end -= 1
            return _Head(text[: tokens[end].start()].strip(), word if auxiliary else "", told)
    return None


def _names_a_kind(tokens: Sequence[re.Match[str]]) -> bool:
    """ "Express delivery arrives": the first word is no order, for the next is what it names a kind of."""
    after = tokens[1].group().lower() if len(tokens) > 1 else ""
    return bool(after) and after not in _openers() and verb_form(after) is None and after not in word_list("auxiliary")


def _plural_head(text: str) -> _Head | None:
    """ "Applications open in May and close in June": a plural before a verb in its plainest form."""
    found = _PLURAL.match(text)
    form = verb_form(found["verb"]) if found else None
    return _Head(found["who"], "", "base") if found and form is not None and form[1] == "base" else None


@cache
def _before_nouns() -> frozenset[str]:
    return word_list("determiners") | word_list("prepositions")


def _before_verb(tokens: Sequence[re.Match[str]], place: int) -> bool:
    """A word that could be a verb stands before one that is: "the hunts were"."""
    return place + 1 < len(tokens) and tokens[place + 1].group().lower() in word_list("auxiliary")


# --- pronouns --------------------------------------------------------------------------------------


def resolve(sentences: Sequence[str]) -> list[str]:
    """The sentences with the last subject in place of a pronoun that opens one: "He also paid" as "Ivo Lant also paid".

    The subject of a sentence is what stands before its verb; where there is none, the pronoun stays.
    """
    told: list[str] = []
    subject = ""
    for sentence in sentences:
        sentence = _named(sentence, subject) if subject else sentence
        head = None if sentence.endswith("?") else _head(sentence)  # what is asked about is told in no such order
        found = _OPENING.sub("", head.subject) if head is not None else ""
        if found and not _is_pronoun(found.split()[0].lower()):
            subject = found
        told.append(sentence)
    return told


_MANY, _ONE = frozenset({"they", "their", "these"}), frozenset({"it", "its", "this"})
_BELONGING = re.compile(r" (?:of|in|at|on|for|from|with|to|who|which|that) ")
_OTHERS = frozenset({"there", "that", "those", "i", "we", "you", "one", "what", "here", "if", "when", "as"})


def _is_pronoun(word: str) -> bool:
    return word in word_list("pronouns", "parts") or word in word_list("possessives", "parts") or word in _OTHERS


def _named(sentence: str, subject: str) -> str:
    opening = _OPENING.match(sentence)
    start = opening.end() if opening else 0
    rest = sentence[start:]
    first = _TOKEN.match(rest)
    word = first.group().lower() if first else ""
    if first is None or _empty().match(rest):
        return sentence
    several = _is_plural(subject)
    if (word in _MANY and not several) or (word in _ONE and several):  # "They are divided": not the one engineer before
        return sentence
    if word in word_list("pronouns", "parts") and (head := _head(rest)) is not None and head.subject.lower() == word:
        return f"{sentence[:start]}{subject}{rest[first.end() :]}"
    return sentence[:start] + _possessed(rest, subject)


def _is_plural(subject: str) -> bool:
    """Several, by "and" or by the ending of the noun before what belongs to it: "The Sisters of Mercy"."""
    noun = _BELONGING.split(subject, maxsplit=1)[0].split()[-1]
    return " and " in subject or (noun.endswith("s") and not noun.endswith(("ss", "us", "is", "'s", "’s")))


def _possessed(text: str, subject: str) -> str:
    first = _TOKEN.match(text)
    if first is None or first.group().lower() not in word_list("possessives", "parts"):
        return text
    return f"{subject}'s{text[first.end() :]}"


@cache
def _empty() -> re.Pattern[str]:
    return re.compile(table("english")["parts"]["empty"], re.I)


def cut_long(claim: str) -> Iterator[str]:
    """A claim of more words than the entailment model reads, in pieces that end at a comma, a semicolon or a dash."""
    if len(claim.split()) <= _MOST_READ:
        yield claim
        return
    piece: list[str] = []
    for word in claim.split():
        piece.append(word)
        ends = word[-1] in ",;:–—" and len(piece) >= _MOST_READ // 4
        if ends or len(piece) >= _MOST_READ:
            yield " ".join(piece).rstrip(",;:–— ")
            piece = []
    if piece:
        yield " ".join(piece)
