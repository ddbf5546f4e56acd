"""One case on the embedded labeller's desk: its sentences by what they state, with the evidence each could rest on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from krino.judges.rag.facts import Copy, PassageSentence, RagFacts
from krino.judges.rag.reading.answer import is_talk
from krino.judges.rag.reading.claims import clauses, cut_long, resolve, split_claims
from krino.judges.rag.reading.closed import statement_of
from krino.judges.rag.reading.dashes import split_at_dashes
from krino.judges.rag.reading.framing import Scope, Stated, find_retraction, find_stated, is_reported_belief
from krino.judges.rag.reading.names import find_names
from krino.judges.rag.reading.sentences import PICTURES
from krino.judges.rag.reading.values import Value, offered, stated
from krino.judges.rag.reading.words import Reading, opposite_words, read_sentence
from krino.judges.rag.support.claim_and_evidence import is_bare
from krino.judges.rag.support.evidence import Evidence, Index, coverage
from krino.judges.rag.support.nearness import reads
from krino.judges.rag.support.pair import Pair
from krino.judges.rag.support.telling import in_its_values
from krino.judges.rag.tables import table
from krino.text.forms import canonical, same_text

_BRIEF = 6
"""Words up to which a cry at either end of an answer is one, whoever it is meant for."""
_CRIED = re.compile(rf"(?:!|\.\.\.|[{PICTURES}\ufe0f])[ *_)\"'”’»]*\Z")
"""How a cry ends: quotes and emphasis may stand behind its last sign."""
_MOST_AS_ONE = 75
"""Words of an answer up to which the entailment model reads all of it."""
_FEW_VALUES = 8
"""Values of a passage up to which an answer may have reckoned with any of them."""
_FIRST_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Draft:
    """A claim on the desk: of which sentence, what it could rest on, and whether it is a bare yes or no.

    Of those the evidence is for what is asked, told as a statement: a yes says it, a no denies it.
    """

    sentence: int
    text: str
    """The claim as it reads by itself: one half of a sentence that makes two, with names for pronouns."""
    evidence: Evidence
    pair: Pair
    polarity: bool | None
    statement: str | None = None
    """What a bare yes says; None where the question cannot be told as a statement."""
    settled: bool = True
    """For a bare yes or no: whether the nearest sentence speaks of nearly all that is asked, or against it."""
    denied: bool = False
    """Whether the answer says that this is false, or takes it back later."""


@dataclass(frozen=True, slots=True)
class Desk:
    """One case while it is labelled."""

    facts: RagFacts
    index: Index
    drafts: tuple[Draft, ...]
    empty: tuple[int, ...]
    copies: dict[int, Copy]

    def is_copied(self, draft: Draft) -> bool:
        copy = self.copies.get(draft.sentence)
        return copy is not None and copy.exact


def lay_out(facts: RagFacts) -> Desk:
    """Tells the sentences that claim something from those that do not, and finds evidence for the claims."""
    index = Index(facts)
    copies = {copy.sentence: copy for copy in facts.copies} if facts.open.claims else {}
    claiming: list[tuple[int, bool | None]] = []
    empty: list[int] = []
    framed = _find_frames(facts, copies)
    for number, reading in enumerate(facts.readings, 1):
        polarity = _yes_or_no(facts, number, reading)
        if not facts.open.claims or (number not in framed and _is_empty(facts, number, reading, polarity)):
            empty.append(number)
        else:
            claiming.append((number, None if number in framed else polarity))
    denied = _find_denied(facts, framed)
    empty.extend(number for number, _ in claiming if number in denied.by and number not in framed)
    claiming = [(number, polarity) for number, polarity in claiming if number not in empty]
    drafts = tuple(
        replace(
            _draft(facts, index, number, text, polarity, company=len(claiming) > 1),
            denied=number in denied.sentences and not after_frame,
        )
        for number, polarity in claiming
        for text, after_frame in _texts(facts, number, polarity, copies.get(number), framed.get(number))
    )
    if any(draft.polarity is None and _speaks_of_question(index, draft) for draft in drafts):
        # A yes or no that nothing settles adds nothing to a statement that answers.
        unsettled = {draft.sentence for draft in drafts if draft.polarity is not None and not draft.settled}
        drafts = tuple(draft for draft in drafts if draft.sentence not in unsettled)
        empty.extend(unsettled)
    return Desk(facts, index, read_as_one(facts, index, drafts), tuple(sorted(set(empty))), copies)


def _speaks_of_question(index: Index, draft: Draft) -> bool:
    limit: float = table("local")["thresholds"]["on_topic"]
    return coverage(index.question_weights, (draft.pair.claimed,)) >= limit


class _Denied(NamedTuple):
    """The sentences that the answer calls false, and those that only say so of others."""

    sentences: frozenset[int]
    by: frozenset[int]


def _find_frames(facts: RagFacts, copies: dict[int, Copy]) -> dict[int, Stated]:
    """By sentence the statement inside its frame; a sentence of the passages is no frame, nor is one that declines."""
    declining = set(facts.refusal.sentences) - set(facts.refusal.mixed) if facts.refusal is not None else ()
    framed: dict[int, Stated] = {}
    for number, sentence in enumerate(facts.sentences, 1):
        copy = copies.get(number)
        copied = copy is not None and copy.exact
        if copied or number in declining or same_text(sentence.text, facts.case.question):
            continue
        follows = facts.sentences[number].text if number < len(facts.sentences) else ""
        stated = find_stated(sentence.text, facts.language, facts.matter, answered=_opens_with_yes_or_no(follows))
        if stated is not None:
            framed[number] = stated
    return framed


def _find_denied(facts: RagFacts, framed: dict[int, Stated]) -> _Denied:
    """What the answer takes back; not what it gives as a mere belief, nor what it retells from a passage."""
    denied = {number for number, stated in framed.items() if stated.denied}
    retold = frozenset(copy.sentence for copy in facts.copies)
    by = set()
    for number, sentence in enumerate(facts.sentences, 1):
        scope = find_retraction(sentence.text, facts.language, facts.matter)
        if scope is None or number in retold or (number == 1 and scope != "after"):
            continue
        if scope == "before" and is_reported_belief(facts.sentences[number - 2].text, facts.language):
            continue
        by.add(number)
        denied |= set(_reach(number, scope, len(facts.sentences)))
    return _Denied(frozenset(denied), frozenset(by))


def _reach(number: int, scope: Scope, last: int) -> range:
    """The sentences that one at this place takes back."""
    if scope == "after":
        return range(number + 1, last + 1)
    return range(1 if scope == "all_before" else number - 1, number)


def _opens_with_yes_or_no(text: str) -> bool:
    words, known = _FIRST_WORD.findall(text[:40].lower()), table("local")["polarity"]
    return bool(words) and words[0] in (*known["yes"], *known["no"])


def read_as_one(facts: RagFacts, index: Index, drafts: tuple[Draft, ...]) -> tuple[Draft, ...]:
    """Where the passages are short, claims know them and the answer: a model tells more of all than of the parts."""
    claiming = dict.fromkeys(draft.sentence for draft in drafts)
    answer = " ".join(facts.sentences[number - 1].text for number in claiming)
    fits = len(drafts) > 1 and len(answer.split()) <= _MOST_AS_ONE
    for draft in drafts if fits else ():
        answer = in_its_values(answer, draft.pair.claimed.values, draft.pair.found)
    # One object for all: by it the claims of a case know each other.
    whole = (index.few, answer) if fits and index.few else None
    return tuple(replace(draft, pair=replace(draft.pair, whole=whole)) for draft in drafts)


def _texts(
    facts: RagFacts, number: int, polarity: bool | None, copy: Copy | None, framed: Stated | None
) -> Iterator[tuple[str, bool]]:
    """What a sentence claims, one by one, each with whether it follows a frame that does not reach it.

    A copy, a yes or no, and what is not English stay as they are.
    """
    if framed is not None:
        yield from ((text, False) for text in _split(facts, framed.text))
        yield from ((text, True) for text in _split(facts, framed.rest) if framed.rest)
    elif polarity is not None or (copy is not None and copy.exact):
        yield facts.sentences[number - 1].text, False
    else:
        yield from ((text, False) for text in _split(facts, facts.told[number - 1]))


def _split(facts: RagFacts, text: str) -> tuple[str, ...]:
    """The claims of a sentence; a long one is cut at its commas, since the model reads only so many words of it."""
    halves = split_at_dashes(text, facts.language)
    if facts.language in (None, "en"):
        halves = tuple(claim for half in resolve(halves) for claim in split_claims(half))
    cut = (piece for claim in halves for piece in cut_long(claim))
    found = {canonical(claim): claim for claim in cut if _says_something(facts, claim)}
    return tuple(found.values()) or (text,)


def _says_something(facts: RagFacts, text: str) -> bool:
    return bool(read_sentence(text, facts.language).content)


def _draft(facts: RagFacts, index: Index, number: int, text: str, polarity: bool | None, *, company: bool) -> Draft:
    if polarity is not None:
        return _draft_yes_or_no(facts, index, number, text, polarity, company=company)
    claimed = read_sentence(text, facts.language)
    absent = tuple(v for v in index.absent.get(number, ()) if claimed.value_keys.issuperset(v.keys))
    evidence, pair = _pair(facts, index, text, claimed, absent, company)
    pair = replace(
        pair,
        strangers=tuple(name for name in facts.strangers.get(number, ()) if name in text),
        misplaced=not company and _is_misplaced(facts, index, claimed, text),
        misquoted=facts.misquoted.get(number, ""),
    )
    return Draft(number, text, evidence, pair, None)


def _pair(
    facts: RagFacts, index: Index, text: str, claimed: Reading, absent: tuple[Value, ...], company: bool
) -> tuple[Evidence, Pair]:
    weights = index.weigh_claim(claimed)
    evidence = index.find(weights)
    return evidence, Pair(
        question=facts.case.question,
        claim=text,
        evidence=tuple(item.told for item in evidence.sentences),
        shown=index.surroundings(weights, evidence),
        asked=facts.question_reading,
        claimed=claimed,
        found=tuple(item.reading for item in evidence.sentences),
        weights=weights,
        anywhere=index.share_anywhere(weights),
        strangers=(),
        absent=absent,
        language=facts.language,
        company=company,
        few=bool(index.few),
        nearby=_nearby(index, evidence) if absent else (),
    )


def _draft_yes_or_no(facts: RagFacts, index: Index, number: int, text: str, polarity: bool, *, company: bool) -> Draft:
    """A bare yes or no is read with the question: its words are claimed now, so none of them counts as known."""
    language = facts.question_language or facts.language
    statement = statement_of(facts.case.question, language)
    told = statement or facts.case.question
    claimed = read_sentence(told, language)
    known = offered(value for item in index.sentences for value in item.reading.values)
    absent = tuple(value for value in claimed.values if not stated(value, known))
    evidence, pair = _pair(facts, index, told, claimed, absent, company)
    names = () if language == "de" else find_names(told)
    strangers = tuple(name for name in names if not facts.stands_in_passage(name))
    pair = replace(pair, asked=read_sentence("", language), strangers=strangers, language=language)
    settled = statement is not None and _is_settled(facts, index, evidence)
    return Draft(number, text, evidence, pair, polarity, statement, settled)


def _nearby(index: Index, evidence: Evidence) -> tuple[Value, ...]:
    """The values of the passage that decides, where there are few enough to reckon with."""
    if evidence.best is None:
        return ()
    found = [value for item in index.by_passage[evidence.best.passage] for value in item.reading.values]
    return tuple(found) if len(found) <= _FEW_VALUES else ()


def _is_settled(facts: RagFacts, index: Index, evidence: Evidence) -> bool:
    """A denial or an opposite in the sentence nearest to the question, or one that holds nearly all of it."""
    if evidence.best is None:
        return False
    asked, best = facts.question_reading, _nearest_clause(facts, index, evidence.best)
    if opposite_words(asked, best) is not None or not best.negated.isdisjoint(asked.stems):
        return True
    near: float = table("local")["thresholds"]["negation"]
    return index.asked_share(evidence.best) >= near


def _nearest_clause(facts: RagFacts, index: Index, sentence: PassageSentence) -> Reading:
    """The half of a sentence that speaks of what is asked: "fishing is allowed; motor boats are banned"."""
    if facts.language not in (None, "en"):
        return sentence.reading
    halves = [read_sentence(text, facts.language) for text in clauses(sentence.told)]
    return (
        max(halves, key=lambda half: coverage(index.question_weights, (half,))) if len(halves) > 1 else sentence.reading
    )


def _is_misplaced(facts: RagFacts, index: Index, claimed: Reading, text: str) -> bool:
    """A bare name or value for an answer that the passages have, but not where they speak of what is asked."""
    if not is_bare(claimed, text) or claimed.stems & facts.question_reading.stems:
        return False
    asked = [(index.asked_share(item), item.reading) for item in index.sentences]
    holding = [share for share, reading in asked if claimed.stems <= reading.stems]
    nearest = max((share for share, _ in asked), default=0.0)
    limit: float = table("local")["thresholds"]["asked"]
    return bool(holding) and nearest >= limit and max(holding) < nearest / 2


def _yes_or_no(facts: RagFacts, number: int, reading: Reading) -> bool | None:
    """True or False for a sentence that only says yes or no, else None."""
    words = _FIRST_WORD.findall(facts.sentences[number - 1].text[:40].lower())
    known = table("local")["polarity"]
    if not words or len(reading.content) > 1 or reading.values:
        return None
    if words[0] in known["yes"] and len(words) <= 4:
        return True
    return False if words[0] in known["no"] and len(words) <= 4 else None


def _is_empty(facts: RagFacts, number: int, reading: Reading, polarity: bool | None) -> bool:
    """Whether a sentence states nothing: it declines, asks, announces or is a courtesy, a title or a source."""
    text = facts.sentences[number - 1].text
    if facts.refusal is not None and (facts.refusal.whole or number in facts.refusal.sentences):
        return number not in facts.refusal.mixed
    if number in facts.no_claims:
        return True
    if polarity is not None:
        return False
    if text.endswith("?") or not reading.content:
        return True
    asked = facts.question_reading.stems
    return (asked.isdisjoint(reading.content) and is_talk(text)) or _is_aside(facts, number, reading)


def _is_aside(facts: RagFacts, number: int, reading: Reading) -> bool:
    """ "Veel plezier met je bezoek!": between writer and reader, first or last, with nothing of the matter.

    In English a model tells (`talk`), which knows more forms of it and takes no advice for one.
    """
    text = facts.sentences[number - 1].text
    others = [place for place in range(1, len(facts.sentences) + 1) if place not in facts.no_claims]
    if reads(facts.language) or len(others) == 1 or number not in (*others[:1], *others[-1:]):
        return False
    if reading.values or reading.names or reading.negated or not facts.matter.isdisjoint(reading.content):
        return False
    words = _FIRST_WORD.findall(text.lower())
    to_reader = not frozenset(table("local")["polarity"]["reader"]).isdisjoint(words)
    return len(words) <= _BRIEF * 2 if to_reader else len(words) <= _BRIEF and _CRIED.search(text) is not None
