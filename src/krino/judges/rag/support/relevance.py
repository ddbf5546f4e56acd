"""What the question asks, what the answer covers of it, and which sentences of the passages help."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nlargest

from krino.judges.rag.facts import PassageSentence, RagFacts
from krino.judges.rag.labels import Directness
from krino.judges.rag.reading.question import QuestionPart, gives_reason, question_parts
from krino.judges.rag.reading.values import Value
from krino.judges.rag.reading.words import Reading, read_sentence
from krino.judges.rag.support.draft_claims import Desk, Draft
from krino.judges.rag.support.evidence import asked_coverage, coverage
from krino.judges.rag.support.nearness import TextPair, reads
from krino.judges.rag.tables import table
from krino.text.words import stem, stop_words

_TERSE = 4
"""Content words up to which an answer to "who" or "when" may be the bare name or date."""
_SPEAKERS = 1
"""Sentences of a passage, those with most words of the question, whose meaning is looked at."""
_SPEAKERS_ALONE = 6
"""The same where there is one passage only."""
_MOST_SPEAKERS = 64
"""The same for all passages together."""
_FEWEST_PADDED = 4
_MEASURES = frozenset({"money", "mass", "area", "speed", "length", "duration", "volume", "data", "power"})
_WORD = re.compile(r"[^\W\d_]+")


def open_pairs(desk: Desk, parts: tuple[QuestionPart, ...]) -> Iterator[TextPair]:
    """The texts whose nearness decides where words alone do not."""
    facts = desk.facts
    question = facts.case.question
    if desk.index.question_weights and reads(facts.matter_language):
        speakers = list(_all_speakers(desk))
        unclear = [item for item in speakers if desk.index.spoken_share(item) < _limit("useful")]
        yield from ((question, item.sentence.text) for item in unclear)
        for part in parts:
            if holding_passage(desk, part) is None:
                yield from ((part.text, item.sentence.text) for item in speakers)
    if not reads(facts.language):
        return
    bare = _bare_answer(desk)
    if bare is not None and bare.evidence.best is not None and desk.index.question_weights:
        yield question, bare.evidence.best.sentence.text
    for part in parts if not declines(facts) else ():
        if _answered_by_words(desk, part)[1] is None:
            yield part.text, facts.said


def _all_speakers(desk: Desk) -> list[PassageSentence]:
    """Sentences that may bear on the question by their meaning: those of each passage that speak of it most."""
    speakers = [item for passage in desk.facts.passages for item in _speakers(desk, passage.number)]
    return nlargest(_MOST_SPEAKERS, speakers, key=desk.index.spoken_share)


def declines(facts: RagFacts) -> bool:
    return facts.refusal is not None and facts.refusal.whole


# --- the passages ----------------------------------------------------------------------------------


def useful_sentences(desk: Desk, number: int, near: Mapping[TextPair, float]) -> list[int]:
    """Numbers of the sentences of a passage that bear on the question, by their words or their meaning.

    What the answer makes of them has no say. Where only the passage as a whole has the words of the question, the
    sentences that add to them do.
    """
    sentences = desk.index.by_passage.get(number, [])
    shares = [desk.index.spoken_share(item) for item in sentences]
    speakers = frozenset(item.number for item in _speakers(desk, number))
    useful = {
        item.number
        for item, share in zip(sentences, shares, strict=True)
        if share >= _limit("useful") or _bears_on(desk, item, near, item.number in speakers)
    }
    together = not useful and _held_together(desk, sentences) >= _limit("useful")
    if together or (useful and _asks_for_all(desk.facts.case.question)):
        least = _limit("useful_together")
        useful |= {item.number for item, share in zip(sentences, shares, strict=True) if share >= least}
    if useful == {0}:  # the title alone speaks of it: what stands below is about it too
        useful = {item.number for item in sentences}
    return sorted(useful - {0})


def _bears_on(desk: Desk, item: PassageSentence, near: Mapping[TextPair, float], speaks: bool) -> bool:
    """A sentence with few of the question's words: by its meaning, whole or of one part that it holds.

    A question without words of its own ("When?") is met by anything of the kind that it asks for.
    """
    parts = question_parts(desk.facts.case.question)
    if not desk.index.question_weights:
        return any(_is_of_kind(desk, item, part) for part in parts)
    weighed = [(desk.index.weigh(_read_part(desk.facts, part)), part) for part in parts if len(parts) > 1]
    if any(_holds_by_words(desk, weights, [item], part) for weights, part in weighed):
        return True
    if not speaks:
        return False
    if near.get((desk.facts.case.question, item.sentence.text), 0.0) >= _limit("useful_by_meaning"):
        return True
    return any(_holds_by_meaning(desk, item, part, near) for part in parts)


def _asks_for_all(question: str) -> bool:
    """ "Describe the ferry": whatever is told of it bears on the question."""
    return not frozenset(table("questions")["open"].split()).isdisjoint(_WORD.findall(question.lower()))


def _is_of_kind(desk: Desk, item: PassageSentence, part: QuestionPart) -> bool:
    """Whether a sentence has what a question of no words asks for: a value, a name, a place, a reason."""
    if part.kind in ("date", "number"):
        return _has_value(item.reading, part)
    if part.kind == "place":
        return bool(item.reading.names) and _tells_place(item.told, item.reading)
    if part.kind == "person":
        return bool(item.reading.names)
    return part.wants_reason and gives_reason(item.told)


def _held_together(desk: Desk, sentences: Sequence[PassageSentence]) -> float:
    return coverage(desk.index.question_weights, (item.reading for item in sentences))


def _speakers(desk: Desk, number: int) -> list[PassageSentence]:
    """The sentences of a passage that are nearest to the question in words."""
    most = _SPEAKERS_ALONE if len(desk.facts.passages) == 1 else _SPEAKERS
    return nlargest(most, desk.index.by_passage.get(number, ()), key=desk.index.spoken_share)


def held_in(desk: Desk, part: QuestionPart, near: Mapping[TextPair, float]) -> int | None:
    """The passage that holds what a part asks for, by its words or by the meaning of a sentence."""
    by_words = holding_passage(desk, part)
    if by_words is not None or not desk.index.question_weights:
        return by_words
    holding = (item.passage for item in _all_speakers(desk) if _holds_by_meaning(desk, item, part, near))
    return next(holding, None)


def _holds_by_meaning(desk: Desk, item: PassageSentence, part: QuestionPart, near: Mapping[TextPair, float]) -> bool:
    """Whether a sentence is near enough in meaning, and has a value of the kind that is asked for.

    Texts about a topic are near to every question about it. So what shares some of the question's words must be the
    nearer, unless it shares many; and where no sentence has any of them, the nearest speaks of it in other words.
    """
    meant = near.get((part.text, item.sentence.text), 0.0)
    if meant < _limit("held_of_kind") or not _could_hold(desk.facts, item.reading, part):
        return False
    share = desk.index.spoken_share(item)
    spoken_of = any(desk.index.asked_share(other) > _limit("held_unspoken") for other in desk.index.sentences)
    if not spoken_of:
        place = part.kind == "place" and _tells_place(item.told, item.reading)
        told = place or (part.kind is not None and _is_of_kind(desk, item, part))
        return told or share >= _limit("held_told") or meant >= _limit("held_in_other_words")
    named = part.wants_name and bool(item.reading.names - desk.facts.question_reading.stems)
    if named and share >= _limit("held_named_in_part") and meant >= _limit("held_named"):
        return True
    return meant >= _limit("held_by_words_and_meaning" if share >= _limit("held_in_part") else "held_by_meaning")


def holding_passage(desk: Desk, part: QuestionPart) -> int | None:
    """The passage that has, in one place, the words of the part and a value of the kind it asks for."""
    weights = desk.index.weigh(_read_part(desk.facts, part))
    sentences = desk.index.sentences
    if not weights:
        return next((item.passage for item in sentences if _is_of_kind(desk, item, part)), None)
    for place, item in enumerate(sentences):
        following = [other for other in sentences[place + 1 : place + 2] if other.passage == item.passage]
        if _holds_by_words(desk, weights, [item, *following], part):
            return item.passage
    return None


def _holds_by_words(
    desk: Desk, weights: Mapping[str, float], items: Sequence[PassageSentence], part: QuestionPart
) -> bool:
    readings = [item.reading for item in items]
    if asked_coverage(weights, readings) < _limit("held"):
        return False
    return any(_could_hold(desk.facts, reading, part) for reading in readings)


def _could_hold(facts: RagFacts, reading: Reading, part: QuestionPart) -> bool:
    """Whether a sentence has a value of the kind that is asked for, or for "who" a name that the question lacks."""
    if part.kind == "person" and facts.matter_language != "de":
        return bool(reading.names - facts.question_reading.stems) or not reading.names
    return _has_value(reading, part)


def several_hold(desk: Desk, part: QuestionPart) -> bool:
    """Whether the passages have more than one value for what is asked, so that the question is ambiguous there."""
    weights = desk.index.weigh(_read_part(desk.facts, part))
    found = {
        value.keys
        for item in desk.index.sentences
        if coverage(weights, (item.reading,)) >= _limit("held")
        for value in item.reading.values
        if _fits(value, part)
    }
    return len(found) > 1


# --- the answer ------------------------------------------------------------------------------------


def answering_sentence(desk: Desk, part: QuestionPart, near: Mapping[TextPair, float]) -> int | None:
    """The answer sentence that is about the part and of the kind it asks for; None where the part goes unanswered."""
    number, by_words = _answered_by_words(desk, part)
    if by_words is not None:
        return number if by_words else None
    alone = part.kind is None and len(question_parts(desk.facts.case.question)) == 1
    limit = _limit("answered_by_meaning" if alone else "answered_elsewise")
    if near.get((part.text, desk.facts.said), 0.0) >= limit or (alone and _is_taken_from_near(desk, near)):
        return number
    return None


def _is_taken_from_near(desk: Desk, near: Mapping[TextPair, float]) -> bool:
    """A bare name or value that stands in the sentence which is nearest to the question in meaning, and not far off."""
    question, bare = desk.facts.case.question, _bare_answer(desk)
    best = bare.evidence.best if bare is not None else None
    if bare is None or best is None or not best.reading.stems.issuperset(bare.pair.claimed.content):
        return False
    said = desk.facts.said
    most = max((value for (first, text), value in near.items() if first == question and text != said), default=0.0)
    return near.get((question, best.sentence.text), 0.0) >= max(_limit("taken_from"), most)


def _bare_answer(desk: Desk) -> Draft | None:
    """The only claim of an answer, where it is a bare name or value."""
    drafts = _answering(desk)
    return drafts[0] if len(drafts) == 1 and len(drafts[0].pair.claimed.content) <= _TERSE else None


def _answered_by_words(desk: Desk, part: QuestionPart) -> tuple[int | None, bool | None]:
    """The sentence that fits best, and whether it answers; None where words leave that open."""
    if part not in desk.answered:
        desk.answered[part] = _answer_by_words(desk, part)
    return desk.answered[part]


def _answer_by_words(desk: Desk, part: QuestionPart) -> tuple[int | None, bool | None]:
    facts = desk.facts
    said = {number: reading for number, reading in enumerate(facts.readings, 1) if number not in facts.instructions}
    fitting = [number for number, reading in said.items() if _has_kind(facts, number, reading, part)]
    if not fitting:
        return None, False
    drafts = {draft.sentence: draft for draft in _answering(desk)}
    if yes_or_no := next((draft for draft in drafts.values() if draft.polarity is not None), None):
        return yes_or_no.sentence, yes_or_no.statement is not None
    asked = _read_part(facts, part)
    weights = _own_weights(desk, part, asked)
    told = {number: _with_evidence(reading, drafts.get(number)) for number, reading in said.items()}
    best = max(fitting, key=lambda number: (coverage(weights, told[number]), -number))
    if not weights:
        return best, True
    # What is asked about, names aside, must be spoken of where something of the right kind stands.
    frame = {root: weight for root, weight in weights.items() if root not in asked.names} or weights
    if _answers_another(desk, part, frame, list(said.values())) or _tells_of_another(desk, asked, frame, said, told):
        return best, False
    if part.kind is None:
        return best, True if coverage(weights, _all_of(told.values())) >= _limit("answered") else None
    if part.measure is not None and any(value.unit == part.measure for value in said[best].values):
        return best, True
    terse = sum(len(reading.content) for reading in said.values()) <= _TERSE
    bare = terse and (part.kind in ("date", "number") or _is_name(facts, best))
    return best, True if bare or coverage(frame, _all_of(told[number] for number in fitting)) > 0 else None


def _answers_another(desk: Desk, part: QuestionPart, weights: Mapping[str, float], said: Sequence[Reading]) -> bool:
    """It speaks of what is asked about, or in so many words of something else, but rests on other sentences than the
    one that speaks of all that is asked."""
    if part.wants_reason and gives_reason(desk.facts.said):
        return False
    grounds = [draft.evidence.best for draft in _answering(desk) if draft.evidence.best is not None]
    shares = [coverage(weights, (item.reading,)) for item in desk.index.sentences]
    most = max(shares, default=0.0)
    ours = coverage(weights, [*said, *(item.reading for item in grounds)])
    told = {root for reading in said for root in reading.content if root not in reading.value_keys}
    speaks = ours > 0 or (len(told) > 1 and any(told <= item.reading.stems for item in grounds))
    return bool(grounds) and most >= _limit("elsewhere") and speaks and ours <= most - _limit("beside")


def _tells_of_another(
    desk: Desk,
    asked: Reading,
    frame: Mapping[str, float],
    said: Mapping[int, Reading],
    told: Mapping[int, tuple[Reading, ...]],
) -> bool:
    """It says what is asked, but of another name, where the passages say it of the one that is asked about."""
    names = asked.names
    others = frozenset[str]().union(*(reading.names for reading in said.values())) - asked.stems
    if not names or not others or coverage(frame, said.values()) < _limit("elsewhere"):
        return False
    if any(not names.isdisjoint(reading.stems) for reading in _all_of(told.values())):
        return False
    return any(
        names <= item.reading.stems
        and others.isdisjoint(item.reading.stems)
        and coverage(frame, (item.reading,)) >= _limit("elsewhere")
        for item in desk.index.sentences
    )


def _own_weights(desk: Desk, part: QuestionPart, asked: Reading) -> dict[str, float]:
    """The words of a part that no other part of the question has, where there are any: they tell the parts apart."""
    others = [other for other in question_parts(desk.facts.case.question) if other != part]
    shared = {root for other in others for root in _read_part(desk.facts, other).content}
    weights = desk.index.weigh(asked)
    return {root: weight for root, weight in weights.items() if root not in shared} or weights


def _is_name(facts: RagFacts, number: int) -> bool:
    """Whether a sentence is a bare name: every word of it but function words has a capital."""
    words = _WORD.findall(facts.sentences[number - 1].text)
    return all(word[0].isupper() for word in words if word.lower() not in stop_words(facts.language))


def _all_of(groups: Iterable[tuple[Reading, ...]]) -> list[Reading]:
    return [reading for group in groups for reading in group]


def _with_evidence(reading: Reading, draft: Draft | None) -> tuple[Reading, ...]:
    """A sentence and what it rests on, where that speaks of it at all: the nearest sentence need not."""
    if draft is None or coverage(draft.pair.weights, draft.pair.found[:1]) < _limit("rests"):
        return (reading,)
    return (reading, draft.pair.found[0])


def _has_value(reading: Reading, part: QuestionPart) -> bool:
    return part.kind not in ("date", "number") or any(_fits(value, part) for value in reading.values)


def _fits(value: Value, part: QuestionPart) -> bool:
    """Whether a value is of the kind that is asked for: a date, time or span for "when", a quantity for "how many"."""
    if part.kind == "date":
        return value.kind != "number" or value.unit == "duration"
    return value.kind == "number" and not _measures_another(value, part)


def _measures_another(value: Value, part: QuestionPart) -> bool:
    """ "280 kilometres" to a question for a price; a number of things may answer anything."""
    measure = part.measure
    return measure is not None and value.unit in _MEASURES and value.unit != measure


def _has_kind(facts: RagFacts, number: int, reading: Reading, part: QuestionPart) -> bool:
    """Whether a sentence could answer a question of this kind: a number is nobody, and a year is no place."""
    if part.kind == "number" and len(reading.content) <= _TERSE and reading.values and part.measure is None:
        return True  # "2000" may be a year, or how many
    if part.kind in ("date", "number"):
        return _has_value(reading, part)
    if part.kind is None or not reading.values:
        return True
    counting = {stem(word) for word in table("questions")["person"]["counting"].split()}
    known = facts.question_reading.stems | reading.value_keys | {value.unit for value in reading.values} | counting
    if all(root in known for root in reading.content):
        return False
    told = facts.sentences[number - 1].text
    return part.kind == "person" or bool(reading.names - known) or _tells_place(told, reading)


def _tells_place(text: str, reading: Reading) -> bool:
    """A word of place with something after it that is no value: "on the coast", but not "in 1875"."""
    before = frozenset(table("questions")["place"]["before"].split())
    words = _WORD.findall(text.lower())
    places = [place for place, word in enumerate(words) if word in before]
    return any(stem(word) in reading.stems for place in places for word in words[place + 1 : place + 4])


def _answering(desk: Desk) -> list[Draft]:
    """The claims of sentences that speak to the one who asked, not to whoever judges the answer."""
    return [draft for draft in desk.drafts if draft.sentence not in desk.facts.instructions]


def directness(desk: Desk, answering: Collection[int]) -> Directness:
    """Full when the first sentence that states anything is on topic; partly when a later one is, or it is padded.

    `answering`: the sentences that answer a part of the question. Those are on topic, right or wrong.
    """
    if not answering:
        return "no"
    drafts = _answering(desk)
    if not drafts or not desk.index.question_weights:
        return "full"
    parts = [desk.index.weigh(_read_part(desk.facts, part)) for part in question_parts(desk.facts.case.question)]
    on_topic = [draft.sentence in answering or _is_on_topic(desk, draft, parts) for draft in drafts]
    return "partly" if not on_topic[0] or _is_padded(desk, on_topic) else "full"


def _is_on_topic(desk: Desk, draft: Draft, parts: Sequence[Mapping[str, float]]) -> bool:
    readings = _with_evidence(desk.facts.readings[draft.sentence - 1], draft)
    return draft.polarity is not None or any(coverage(part, readings) >= _limit("on_topic") for part in parts)


def _is_padded(desk: Desk, on_topic: Sequence[bool]) -> bool:
    """A question for one thing got its answer and, for the greater part, something else. Open ones invite length."""
    closed = all(part.kind is not None or part.wants_name for part in question_parts(desk.facts.case.question))
    beside = on_topic.count(False)
    return closed and len(on_topic) >= _FEWEST_PADDED and beside > _limit("padded") * len(on_topic)


def _read_part(facts: RagFacts, part: QuestionPart) -> Reading:
    return read_sentence(part.matter, facts.matter_language)


def _limit(name: str) -> float:
    limit: float = table("local")["thresholds"][name]
    return limit
