"""Who does what to whom, and what comes before what: tells two English sentences apart by the order of their words.

No parser: a frame is a pivot that both sentences have (a verb, "deeper than", "before", "the father of") with what
stands on either side of it. Passives and pairs such as lend and borrow turn the sides round. Where a sentence does not
fit, nothing is said about it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Literal

from krino.judges.rag.reading.grammar import in_one_word, root_of, verb_form, word_list
from krino.judges.rag.reading.sides import find_exchange
from krino.judges.rag.tables import table

_TOKEN = re.compile(r"['’]s\b|[^\W_]+(?:[.,]\d+)*|[,;:()]")
_STOPS = frozenset(",;:()")
_SPEAKERS = frozenset({"you", "we", "i"})
_RELATIVE = frozenset({"who", "which", "that"})
_STANDING_IN = _SPEAKERS | {"it", "he", "she", "they", "this", "re", "ve", "ll", "d"}
"""Who or what may be anybody: "you", "they" of "they're"."""
_LONGEST = 600
_MOST_PIVOTS = 12
_MOST_OF = 0.7
"""Share of a claim's words that a frame must hold to be what it says."""
_LONGEST_NAME = 4
"""Words that whoever stands behind "by" may have."""
_CLEFT = re.compile(
    r"^it (?:is|was) (?P<who>(?:the |an? )?[^,;:.]{2,60}?) (?:that|who|which) (?=(?P<verb>[a-z]+))", re.I
)
Voice = Literal["active", "by", "passive"]


_HE, _THEY = re.compile(r"\b(?:[Hh]e|[Hh]im)\b"), re.compile(r"\b(?:[Tt]hey|[Tt]hem)\b")


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a sentence, determiners aside: in lower case, its root, and whether it is written as a name."""

    text: str
    root: str
    name: bool
    said: bool
    """Whether it says something of its own: no function word, auxiliary or sign."""
    verb: bool
    opens: bool = False
    """Whether a determiner stands before it, so that a thing begins here."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A pivot with its two sides; `doer` is whoever acts, as far as the sentence says."""

    pivot: str
    voice: Voice
    subject: frozenset[str]
    right: frozenset[str]
    doer: frozenset[str]
    names: frozenset[str]
    """The names in the subject."""


Verdict = Literal["same", "turned"] | None


def compare_roles(claim: str, found: str) -> Verdict:
    """ "turned": the same words with the sides exchanged; "same": the sides are as they were; None: cannot be told."""
    order, far_end = _compare_order(claim, found)
    if order == "turned" or far_end:
        return order
    if _are_exchanged(read_words(claim), read_words(found)):
        return "turned"
    seen: Verdict = order
    for ours in frames(claim):
        for theirs in frames(found):
            told = _compare(ours, theirs)
            if told == "turned":
                return told
            seen = seen or told
    return seen


def _are_exchanged(ours: tuple[Word, ...], theirs: tuple[Word, ...]) -> bool:
    """The same words throughout but for two stretches that have changed places, with something between that tells."""
    stretch = find_exchange([word.root for word in ours], [word.root for word in theirs])
    if stretch is None:
        return False
    start, head, tail, end = stretch
    return _tells(ours[start + head : end - tail])


def _tells(between: tuple[Word, ...]) -> bool:
    """Whether what stands between two things relates them, one way: no mere list and nothing that holds both ways."""
    if any(word.text == "then" for word in between):
        return True
    said = [word for word in between if word.said] or between  # of "must be asked" only what is asked
    if any(word.root in _symmetric() for word in said):
        return False
    joined = any(word.text in _STOPS or word.text in word_list("conjunctions") for word in between)
    if joined and not any(word.verb for word in between):  # a list, and no two statements
        return False
    return any(word.said or word.text in word_list("directions") for word in between)


def told_from_far_end(claim: str, found: str) -> bool:
    """ "A is deeper than B" and "B is shallower than A", "A sold to B" and "B bought from A": opposites that agree."""
    told, far_end = _compare_order(claim, found)
    if far_end:
        return told == "same"
    return any(
        ours.pivot != theirs.pivot and _compare(ours, theirs) == "same"
        for ours in frames(claim)
        for theirs in frames(found)
    )


def says_the_same(claim: str, found: str) -> bool:
    """Whether a sentence that has all words of the claim says it of the same doer, and takes nothing of it back."""
    claim, found = _with_names(claim), _with_names(found)
    ours_said, theirs_said = (frozenset(word.text for word in read_words(text)) for text in (claim, found))
    if not (theirs_said - ours_said).isdisjoint(word_list("hedges")) or compare_roles(claim, found) != "same":
        return False
    return any(
        _compare(ours, theirs) == "same" and (ours.doer or ours.subject) == (theirs.doer or theirs.subject)
        for ours in frames(claim)
        for theirs in frames(found)
    )


def _with_names(text: str) -> str:
    """A name for who is only "he" or "him": "he was paid by Anna" is then "Anna paid him" told from the other side."""
    return _HE.sub("Johndoe", _THEY.sub("Johndoes", text))


def other_subject(claim: str, found: str) -> bool:
    """Whether the sentence says all that the claim says, of another name."""
    return any(_is_of_another(ours, theirs) for ours in frames(claim) for theirs in frames(found))


def of_another(claim: str, found: Iterable[Sequence[str]]) -> Literal["surely", "perhaps"] | None:
    """Whether sentences, given by their clauses, say it of another: surely where they tell something else of the
    claim's own in the same words or beside it ("the landlord pays for repairs, the tenant for bulbs"), else perhaps:
    the other could be another word for the same."""
    told = [[[frame for frame in frames(clause) if frame.doer] for clause in sentence] for sentence in found]
    for ours in frames(claim):
        said = frozenset(root for root in _undergone(ours) if not root.isdecimal())
        whole = len(said | ours.doer) + 1 >= _MOST_OF * len(_said(read_words(claim)))
        if not said or not whole or not ours.doer.isdisjoint(_STANDING_IN):
            continue
        alike = [frame for frame in _all(told) if frame.pivot == ours.pivot and _undergone(frame)]
        own = [frame for frame in alike if ours.doer <= frame.doer]
        holding = [frame for frame in alike if said <= _undergone(frame) and _are_two(frame.doer, ours.doer)]
        if not holding or any(not said.isdisjoint(_undergone(frame)) for frame in own):
            continue
        beside = [clause for sentence in told if holding[0] in _all([sentence]) for clause in sentence]
        others = [frame for clause in beside if holding[0] not in clause for frame in clause]
        apart = [frame for sentence in told for clause in sentence if holding[0] not in clause for frame in clause]
        if any(frame in apart for frame in own) or any(ours.doer <= frame.doer for frame in others):
            return "surely"
        if all(ours.doer.isdisjoint(frame.doer | _undergone(frame)) for frame in alike):
            return "perhaps"
    return None


def _all(told: Iterable[Iterable[Iterable[Frame]]]) -> list[Frame]:
    return [frame for sentence in told for clause in sentence for frame in clause]


def _are_two(first: frozenset[str], second: frozenset[str]) -> bool:
    return not first <= second and not second <= first and first.isdisjoint(_STANDING_IN)


def _undergone(frame: Frame) -> frozenset[str]:
    """What is done to, or with: of a passive its subject."""
    return frame.subject if frame.voice == "by" else frame.right


def _is_of_another(ours: Frame, theirs: Frame) -> bool:
    if ours.pivot != theirs.pivot or ours.voice != theirs.voice or not ours.names or ours.names != ours.subject:
        return False
    alike = ours.right <= theirs.right and bool(ours.right) == bool(theirs.right) and not ours.subject & theirs.right
    return alike and bool(theirs.names) and are_others(ours.names, theirs.names)


def are_others(ours: frozenset[str], theirs: frozenset[str]) -> bool:
    """Two names of which neither is part of the other or short for it ("EU")."""
    if ours <= theirs or theirs <= ours:
        return False
    first, second = (frozenset(root[0] for root in roots) for roots in (ours, theirs))
    return not any(len(a) == 1 and frozenset(*a) == letters for a, letters in ((ours, second), (theirs, first)))


# --- reading ---------------------------------------------------------------------------------------


@cache
def _dated() -> re.Pattern[str]:
    """A date that opens a sentence, with or without a comma: nobody's name."""
    dates = table("values")["dates"]
    named = "|".join(word for names in (*dates["months"], *dates["weekdays"]) for word in names.split())
    return re.compile(
        rf"^(?:in|on|since|during) (?:(?:\d{{1,2}} )?(?:{named})\b(?:,? \d{{4}}\b)?|\d{{1,4}}\b),? +(?=\w)", re.I
    )


@lru_cache(maxsize=8_192)
def read_words(text: str) -> tuple[Word, ...]:
    """The words in order; "After X, Y" is read as "Y after X", and "it was X that did" as "X did"."""
    found = _TOKEN.findall(in_one_word(_straight(_dated().sub("", text[:_LONGEST]))))
    if found and found[0].lower() in _relations() and "," in found:
        cut = found.index(",")
        found = [*found[cut + 1 :], found[0].lower(), *found[1:cut]]
    words: list[Word] = []
    for place, token in enumerate(found):
        lowered = token.lower()
        before = found[place - 1].lower() if place else ""
        if lowered in word_list("determiners"):
            continue
        words.append(_word(token, lowered, before, place))
    return tuple(
        replace(word, verb=False, root=root_of(word.text)) if word.verb and _is_noun(words, place) else word
        for place, word in enumerate(words)
    )


def _straight(text: str) -> str:
    """ "It was Alpha that acquired Beta" names who did it; "it is clear that" names nobody."""
    found = _CLEFT.match(text)
    if found is None or not (found["who"][0].isupper() or found["who"].startswith(("the ", "a ", "an "))):
        return text
    acts = found["verb"] in word_list("auxiliary") or verb_form(found["verb"]) is not None
    return f"{found['who']} {text[found.end() :]}" if acts else text


def _is_noun(words: list[Word], place: int) -> bool:
    """A word that could be a verb, before another that is one: "the harbour board lent"."""
    form, after = verb_form(words[place].text), words[place + 1 : place + 2]
    beside_verb = bool(after) and (after[0].verb or after[0].text in word_list("auxiliary"))
    counted = place > 0 and words[place - 1].text.isdecimal()  # "the 6% fall in sales"
    return form is not None and form[1] in ("base", "third", "gerund") and (beside_verb or counted)


def _word(token: str, lowered: str, before: str, place: int) -> Word:
    glue = lowered in _STOPS or lowered in _glue()
    form = None if glue or token[:1].isdigit() else verb_form(lowered)
    capital = token[:1].isupper()
    opens = before in word_list("determiners")
    noun = opens or (before in word_list("prepositions") and before != "to")
    verb = form is not None and not noun and not (capital and place)
    root = root_of(form[0] if form and not noun else lowered)
    return Word(lowered, root, capital and not (place == 0 and verb), not glue, verb and not glue, opens)


@cache
def _glue() -> frozenset[str]:
    names = ("prepositions", "conjunctions", "auxiliary", "beside", "determiners")
    return frozenset({"'s", "’s", "it", "he", "she", "they", "him", "them", "there"}).union(*map(word_list, names))


@lru_cache(maxsize=8_192)
def frames(text: str) -> tuple[Frame, ...]:
    words = read_words(text)
    return tuple(_frames(words))[:_MOST_PIVOTS]


def _frames(words: tuple[Word, ...]) -> Iterator[Frame]:
    for place, word in enumerate(words):
        if not (word.verb or _is_office(words, place) or _is_copula(words, place)):
            continue
        voice = _voice(words, place)
        subject = _subject(words, place)
        if not subject:
            continue
        right = _said(_to_end_of_clause(words, place + 1))
        agent = _agent(words, place) if voice == "by" else frozenset[str]()
        roots = frozenset(item.root for item in subject)
        pivot = "be" if word.text in word_list("be") else word.root
        yield Frame(pivot, voice, roots, right, agent if voice == "by" else roots, _names(subject))


def _to_end_of_clause(words: tuple[Word, ...], start: int) -> tuple[Word, ...]:
    """The words from a place on, up to where another statement is set against this one."""
    end = next((at for at in range(start, len(words)) if words[at].text in word_list("parting")), len(words))
    return words[start:end]


def _names(subject: tuple[Word, ...]) -> frozenset[str]:
    """A word alone in the plural is hardly a name, though it opens the sentence with a capital, nor what "you" do."""
    if len(subject) == 1 and subject[0].text.endswith("s"):
        return frozenset()
    if any(word.text in _SPEAKERS for word in subject):
        return frozenset()
    return frozenset(item.root for item in subject if item.name)


def _is_copula(words: tuple[Word, ...], place: int) -> bool:
    """ "was also a surgeon", but not "was built"."""
    if words[place].text not in word_list("be"):
        return False
    after = next((word for word in words[place + 1 :] if word.text not in word_list("beside")), None)
    return after is not None and after.said and not after.verb


def _said(words: tuple[Word, ...]) -> frozenset[str]:
    return frozenset(word.root for word in words if word.said)


def _is_office(words: tuple[Word, ...], place: int) -> bool:
    """ "is the father of": a noun that relates two things as a verb does."""
    if not 0 < place < len(words) - 1 or not words[place].said or words[place].name:
        return False
    return words[place - 1].text in word_list("be") and words[place + 1].text in ("of", "to")


def _voice(words: tuple[Word, ...], place: int) -> Voice:
    form = verb_form(words[place].text)
    before = place - 1
    while before >= 0 and words[before].text in word_list("beside"):
        before -= 1
    if form is None or form[1] not in ("participle", "both"):
        return "active"
    if words[place + 1 : place + 2] and words[place + 1].text == "by" and _agent(words, place):
        return "by"  # "the council headed by Spain" too
    if before < 0 or words[before].text not in word_list("be"):
        return "active"
    return "by" if _agent(words, place) else "passive"


def _agent(words: tuple[Word, ...], place: int) -> frozenset[str]:
    """Whoever stands behind "by", amounts and times aside ("by two goals", "by half", "by the due date")."""
    for at in range(place + 1, len(words) - 1):
        if words[at].verb:
            break
        if words[at].text == "by":
            named = list(_phrase(words, at + 1))
            halved = bool(named) and named[0].text in word_list("half", "quantifiers")
            timed = any(word.text in word_list("by_when") for word in words[at + 1 : at + 1 + _LONGEST_NAME])
            return frozenset() if halved or timed else frozenset(word.root for word in named)
    return frozenset()


def _phrase(words: tuple[Word, ...], start: int) -> Iterator[Word]:
    for word in words[start:]:
        if not word.said and word.text not in ("of", "and"):
            return
        if word.verb:
            return
        if word.said:
            yield word


def _subject(words: tuple[Word, ...], place: int) -> tuple[Word, ...]:
    """The words before the verb up to a sign, another verb or a preposition; nobody where that opens the clause."""
    at = place - 1
    while at >= 0 and (words[at].text in word_list("auxiliary") or words[at].text in word_list("beside")):
        at -= 1
    if at >= 1 and words[at].text in _RELATIVE:
        at -= 2 if words[at - 1].text == "," else 1
    found: list[Word] = []
    while at >= 0:
        word = words[at]
        if word.said and not word.verb:
            found.append(word)
        elif word.text in ("of", "and"):
            pass
        elif word.text in word_list("prepositions") and found:
            if at == 0 or words[at - 1].text in _STOPS:
                return _behind_opening(found)
            found = []
        else:
            break
        at -= 1
    return tuple(found)


def _behind_opening(found: list[Word]) -> tuple[Word, ...]:
    """The subject behind what opens a clause: of "in this lake the pike" only "pike"; the words are told backwards."""
    begins = next((at for at, word in enumerate(found) if word.opens), len(found))
    return tuple(found[: begins + 1]) if begins + 1 < len(found) else ()


# --- comparing -------------------------------------------------------------------------------------


@cache
def _converses() -> frozenset[tuple[str, str]]:
    pairs: set[tuple[str, str]] = set()
    for line in table("english")["verbs"]["converse"]:
        ours, theirs = (frozenset(map(root_of, side.split())) for side in line.split("/"))
        pairs.update((a, b) for a in ours for b in theirs)
        pairs.update((b, a) for a in ours for b in theirs)
    return frozenset(pairs)


@cache
def _symmetric() -> frozenset[str]:
    return frozenset(map(root_of, word_list("symmetric")))


def _compare(ours: Frame, theirs: Frame) -> Verdict:
    if ours.pivot in _symmetric() or theirs.pivot in _symmetric():
        return None
    if ours.pivot != theirs.pivot:
        if (ours.pivot, theirs.pivot) not in _converses():
            return None
        return _flip(_sides(ours.subject, ours.right, theirs.subject, theirs.right))
    if ours.voice == theirs.voice:
        return _sides(ours.subject, ours.right, theirs.subject, theirs.right)
    if "passive" in (ours.voice, theirs.voice):
        return None
    # One of the two is told from its other end: the doer of each must be found where the other has its doer.
    if ours.voice == "by":
        return _sides(ours.doer, ours.subject, theirs.subject, theirs.right)
    return _sides(ours.subject, ours.right, theirs.doer, theirs.subject)


def _flip(told: Verdict) -> Verdict:
    return None if told is None else "turned" if told == "same" else "same"


def _sides(ours: frozenset[str], others: frozenset[str], theirs: frozenset[str], rest: frozenset[str]) -> Verdict:
    """Whether what stands before and behind one pivot stands before and behind the other, or the other way round.

    Words that one of the two has on both sides say nothing.
    """
    twice = (ours & others) | (theirs & rest)
    first, second, third, fourth = (side - twice for side in (ours, others, theirs, rest))
    if (first - third) & (fourth - second) and (third - first) & (second - fourth):
        return "turned"
    return "same" if first & third and second & fourth and not first & fourth else None


# --- before and after, deeper than -----------------------------------------------------------------


def _relations() -> frozenset[str]:
    return frozenset({"before", "after"})


def _compare_order(claim: str, found: str) -> tuple[Verdict, bool]:
    """By the one word of order or the one comparison that both have; and whether it is told from its far end."""
    ours, theirs = _ordered(claim), _ordered(found)
    if ours is None or theirs is None:
        return None, False
    far_end = _opposed(ours[0], theirs[0])
    if far_end is None:
        return None, False
    told = _sides(ours[1], ours[2], theirs[1], theirs[2])
    return (_flip(told), told is not None) if far_end else (told, False)


@lru_cache(maxsize=8_192)
def _ordered(text: str) -> tuple[tuple[str, str], frozenset[str], frozenset[str]] | None:
    """The word of order, or the degree that is compared, and the two sides."""
    words = read_words(text)
    places = [at for at, word in enumerate(words) if word.text in _relations() or word.text == "than"]
    if len(places) != 1:
        return None
    at = places[0]
    left, right = words[:at], words[at + 1 :]
    if words[at].text != "than":
        return ("", words[at].text), _said(left), _said(right)
    degree = _degree(left)
    if degree is None:
        return None
    start, sign, told = degree
    return (sign, told), _said(left[:start]), _said(right)


def _degree(left: tuple[Word, ...]) -> tuple[int, str, str] | None:
    """Where the comparison begins, whether it is by more or less, and of what: "deeper", "more expensive"."""
    for at in range(len(left) - 1, max(-1, len(left) - 6), -1):
        text = left[at].text
        if text in ("more", "less", "fewer") and at + 1 < len(left):
            return at, "less" if text != "more" else "more", left[at + 1].text
        if text.endswith("er") and len(text) > 4 and not left[at].name:
            return at, "more", _plain_degree(text)
    return None


def _plain_degree(text: str) -> str:
    """ "deeper" is deep, "bigger" big, "heavier" heavy, "larger" large."""
    base = text[:-2]
    if base.endswith("i"):
        return f"{base[:-1]}y"
    if len(base) > 3 and base[-1] == base[-2]:
        return base[:-1]
    return f"{base}e" if f"{base}e" in _degrees() else base


@cache
def _degrees() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for line in table("english")["degrees"]["pairs"]:
        ours, theirs = (side.split() for side in line.split("/"))
        for first, second in ((ours, theirs), (theirs, ours)):
            for word in first:
                found.setdefault(word, set()).update(second)
    return {word: frozenset(others) for word, others in found.items()}


def _opposed(ours: tuple[str, str], theirs: tuple[str, str]) -> bool | None:
    """Whether one relation is the other from its far end; None where they have nothing to do with each other."""
    if ours[1] == theirs[1]:
        return ours[0] != theirs[0]
    if (root_of(ours[1]), root_of(theirs[1])) in _converses():
        return True
    others = _degrees().get(ours[1], frozenset())
    return ours[0] == theirs[0] if theirs[1] in others else None
