"""Finds what a matcher's reasoning objects to: the court, an open jurisdiction, a missing number; or mere shared words.

A checklist of cues. The text is split into clauses; each cue (agree, differ, unknown, costs, ...) is read with the
negations before it and belongs to the nearest topic of its clause (court, number, ...). It knows common phrases and no
grammar: the card shows what each part of it is worth, measured by `benchmarks/citation_rules.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from krino.judges.citation.belgium import table as belgian_table
from krino.judges.citation.belgium.courts import Court, CourtRef, Other
from krino.judges.citation.belgium.dates import fold_letters
from krino.judges.citation.case import CitationCase
from krino.judges.citation.reasoning import table
from krino.judges.citation.reasoning.cues import LONGEST, Cues, alternation, aspect_pattern
from krino.judges.citation.scoring.candidates import Answer, CandidateFacts, Cited
from krino.judges.lazy import lazy

CITED, FOUND, OTHER, PLACE = "\ue000", "\ue001", "\ue002", "\ue003"
"""Replace, letter by letter, the names of the cited court, of a candidate of that court, and of another court."""
_ASPECTS = ("number", "court", "context", "date", "ecli")
_TOPICS = ("short", "language", "jurisdiction", "chamber")
_STANCES = ("agree", "known", "differ", "unrelated", "unknown", "given", "lack", "costs")
_NEGATION_REACH = {"wide": 8, "narrow": 3}
"""How many words a negation may stand before a cue: "not" negates a phrase, "without" only what is next to it."""
_FARTHEST = 200  # characters: without a limit, a text without commas takes quadratic time
_SURE = 85  # a match above this confidence needs an explicit objection before it is read closely
_CEILINGS = ("90", "95")
_SENTENCE_END = re.compile(r"[!?](?=\s|$)|\.(?=\s*$|\s+(?![\sa-z\u00bb]))|\n")
_AFTER_NIET = re.compile(r"(?:\s[^\s,]+){0,6}?\s(?:niet|niets)(?:\s[^\s,]+){0,1}[\s,]*$|\s?(?:niet|niets)(?![a-z])")
_QUOTED_WORD = re.compile(r"[\"'«“”‘’„]\s?([^\W\d_]{4,})\s?[\"'»“”’]")
_LONG_WORD = re.compile(r"[a-z']{3,}")
_NUMBERED = re.compile(r"(?:candidate|candidat|kandidaat|kandidat|option|#)\s*(\d{1,2})(?!\d)")
_OF_COURTS = frozenset({"court", "language", "short", "jurisdiction"})
_ASIDE = frozenset({"number", "context", "date", "ecli"})
_DIFFERENT = frozenset({("differ", False), ("unrelated", False), ("agree", True)})
_SAME = frozenset({("agree", False), ("differ", True), ("known", False), ("unknown", True), ("costs", True)})
_UNCLEAR = frozenset({("unknown", False), ("known", True)})
_FRENCH_AND_DUTCH = frozenset({"fr", "nl"})


class Objection(NamedTuple):
    """The words of an objection and their offsets; of a court, whether its language or short name is the reason."""

    words: str
    start: int
    end: int
    by_language: bool = False
    by_short_name: bool = False
    is_penalty: bool = False
    """Whether it says in so many words that confidence was taken off."""


class Stance(NamedTuple):
    """What a cue says, whether it is negated, and of which topic."""

    kind: str
    negated: bool
    topic: str | None

    @property
    def is_against(self) -> bool:
        return (
            self.negated if self.kind == "agree" else self.kind in ("differ", "unknown", "costs") and not self.negated
        )

    @property
    def is_lack(self) -> bool:
        return self.negated if self.kind in ("given", "known") else self.kind == "lack" and not self.negated


class Clause:
    """One clause of a reasoning in small letters, with its place in the text."""

    def __init__(self, text: str, start: int, sentence: int) -> None:
        self.text, self.start, self.sentence = text, start, sentence
        self.stances: list[Stance] = []

    def says(self, section: str, name: str) -> bool:
        return pattern(section, name).search(self.text) is not None

    @lazy
    def topics(self) -> list[tuple[str, int, int]]:
        """What the clause is about, each with its place."""
        text = pattern("who", "idioms").sub(_blank, self.text)
        found = [(name, *match.span()) for name in _ASPECTS for match in aspect_pattern(name).finditer(text)]
        found += [(name, *match.span()) for name in _TOPICS for match in pattern("topics", name).finditer(text)]
        found += [("context", *match.span()) for match in pattern("topics", "meaning").finditer(text)]
        found += [("court", *match.span()) for match in re.finditer(f"[{CITED}{FOUND}]+", text)]
        found += [("jurisdiction", *match.span()) for match in re.finditer(f"{PLACE}+", text)]
        return sorted(found, key=lambda item: item[1])

    @lazy
    def topic_names(self) -> frozenset[str]:
        return frozenset(name for name, *_ in self.topics)

    @property
    def is_of_names(self) -> bool:
        """Whether it is about how a court is called, not only about which court it is."""
        return FOUND in self.text or not self.topic_names.isdisjoint({"language", "short"})

    def affirms(self, topic: str) -> bool:
        found = pattern("topics", topic).finditer(pattern("who", "idioms").sub(_blank, self.text))
        return any(not _is_negated(self.text, *match.span()) for match in found)

    def cues(self) -> Iterator[tuple[str, bool, int, int]]:
        """Every cue with its place, and whether it is negated."""
        for match in pattern("stances", "excused").finditer(self.text):
            yield "excused", False, *match.span()
        text = pattern("stances", "excused").sub(_blank, self.text)
        text = pattern("stances", "names_differ").sub(_blank, text)
        spent = [begins for _, begins, _ in self.topics]
        for kind in _STANCES:
            for match in pattern("stances", kind).finditer(text):
                # "no court mismatch" negates the mismatch, "no number, mismatch" the number
                yield kind, _is_negated(text, *match.span(), () if kind == "differ" else spent), *match.span()
        for match in pattern("stances", "rises").finditer(text):  # "cannot go above" costs, "above" alone says nothing
            if _is_negated(text, *match.span()):
                yield "costs", False, *match.span()

    def nearest_topic(self, start: int, end: int) -> str | None:
        others = [item for item in self.topics if item[1] >= end or item[2] <= start]

        def gap(item: tuple[str, int, int]) -> tuple[int, bool]:
            return max(item[1] - end, start - item[2], 0), item[0] != "jurisdiction"

        best = min(others or self.topics, key=gap, default=None)
        return best[0] if best else None


class Objections:
    """The objections in one reasoning, computed when first read: most cases need none or one of them."""

    def __init__(
        self, case: CitationCase, cited: Cited, candidates: tuple[CandidateFacts, ...], answer: Answer, cues: Cues
    ) -> None:
        self._case, self._cited, self._candidates, self._answer, self._cues = case, cited, candidates, answer, cues
        self._written = (answer.reasoning or "")[:LONGEST]

    @lazy
    def court(self) -> Objection | None:
        """The clause that takes the cited court for another or an unknown one. The last clause about it counts."""
        if not self._can_object or all(candidate.alignment != "SAME" for candidate in self._candidates):
            return None
        found, agreed = None, False
        for clause in self.clauses:
            stance = self._court_stance(clause)
            if stance == "same":
                found, agreed = None, True
            elif stance == "other" or (stance == "unclear" and not agreed):
                found = self._objection_to_court(clause, found, unclear=stance == "unclear")
        return found

    @lazy
    def jurisdiction(self) -> Objection | None:
        """The clause that penalises a match because the citation names no jurisdiction."""
        if not self._can_object:
            return None
        if any(clause.says("stances", "all_fit") for clause in self.clauses):
            return self._blame("jurisdiction", kinds=("costs", "excused", "unrelated"))
        return self._blame("jurisdiction")

    @lazy
    def number(self) -> Objection | None:
        """The clause that penalises a match because the citation gives no number."""
        return self._blame("number") if self._can_object else None

    @lazy
    def words(self) -> Objection | None:
        """The clause that gives shared words as the reason for the match, if no clause gives its subject."""
        found = None
        for clause in self.clauses:
            if clause.affirms("meaning") and not any(
                _is_negated(clause.text, *match.span()) for match in pattern("topics", "examined").finditer(clause.text)
            ):
                return None
            if found is None and (clause.affirms("words") or self._quotes_a_shared_word(clause)):
                found = clause
        return self._objection(found) if found is not None else None

    @lazy
    def denied_number(self) -> Objection | None:
        """The clause that says that the number of the match differs, if none says that it agrees."""
        found, sentence, named = None, -1, set[int]()
        for clause in self.clauses if self._can_object else ():
            named = _places(clause) or (named if clause.sentence == sentence else set())
            sentence = clause.sentence
            if self._is_of_others(clause) or (named and not any(map(self._is_meant, named))):
                continue
            if clause.says("who", "nobody") or clause.says("who", "unlisted"):
                continue
            said = {(item.kind, item.negated) for item in clause.stances if item.topic == "number"}
            if said & {("agree", False), ("differ", True), ("excused", False)}:
                return None
            is_another = not said and "number" in clause.topic_names and clause.says("who", "is_not")
            found = found or (clause if said & _DIFFERENT or is_another else None)
        return self._objection(found) if found is not None else None

    # --- the text ------------------------------------------------------------------------------------

    @lazy
    def _can_object(self) -> bool:
        """Whether there is anything to read: a sure match without any word of objection objects to nothing."""
        top = self._answer.top
        sure = top is not None and top.percent is not None and top.percent > _SURE
        return self._cues.written and (not sure or _objecting().search(self._cues.text) is not None)

    @lazy
    def clauses(self) -> list[Clause]:
        """The clauses, each with its stances; one without a topic is about what was found wanting, or named, before."""
        names = _court_names(self._case, self._cited, self._candidates)
        text = fold_letters(self._written)
        if names:
            text = _names_pattern(names).sub(lambda found: names[(found.lastindex or 1) - 1][1] * len(found[0]), text)
        found: list[Clause] = []
        for clause in _split(text):
            for kind, negated, start, end in (*clause.cues(), *self._own_percent(clause)):
                carries = kind in ("costs", "excused") or (kind == "agree" and negated)
                topic = clause.nearest_topic(start, end) or _earlier_topic(found, clause, carries=carries)
                clause.stances.append(Stance(kind, negated, topic))
            found.append(clause)
        return found

    def _own_percent(self, clause: Clause) -> Iterator[tuple[str, bool, int, int]]:
        """The confidence of the match where it is named as what follows: "no number, so 55 %"."""
        top = self._answer.top
        if top is not None and top.percent is not None and f"{top.percent:g}" not in _CEILINGS:
            written = rf"(?<![\d.,/]){top.percent:g}(?![\d/]|[.,]\d)|0[.,]{top.percent:02g}(?!\d)"
            yield from (("costs", False, *match.span()) for match in re.finditer(written, clause.text))

    def _objection(self, clause: Clause, *, by_language: bool = False, by_short_name: bool = False) -> Objection:
        text = self._written[clause.start : clause.start + len(clause.text)]
        start = clause.start + len(text) - len(text.lstrip(" ,"))
        end = clause.start + len(text.rstrip(" ,"))
        return Objection(" ".join(self._written[start:end].split()), start, end, by_language, by_short_name)

    # --- the court -----------------------------------------------------------------------------------

    def _court_stance(self, clause: Clause) -> str | None:
        """What a clause says of the cited court and that of the candidate: same, other, unclear or nothing."""
        if self._is_of_others(clause) or (self._cited.classification == "GENERIC" and not clause.is_of_names):
            return None
        stances = {(item.kind, item.negated) for item in clause.stances if item.topic in _OF_COURTS}
        aside = bool(clause.topic_names & _ASIDE)
        named = bool(clause.topic_names & {"court", "short"})
        if ("excused", False) in stances:
            return "same"
        if named and not aside and (any(clause.says("who", name) for name in ("nobody", "unlisted"))):
            return "other"
        if stances & _DIFFERENT or (named and clause.says("who", "is_not") and not stances & (_SAME | _UNCLEAR)):
            return "other"
        if stances & _UNCLEAR and not aside:
            return "unclear"
        if stances & _SAME:
            return "same"
        return "unclear" if ("costs", False) in stances and named and not aside else None

    def _is_of_others(self, clause: Clause) -> bool:
        """Whether a clause is about a candidate that is not the match, or not of the cited court."""
        if clause.says("who", "others") or (OTHER in clause.text and FOUND not in clause.text):
            return True
        if places := _places(clause):
            return not any(map(self._is_meant, places))
        # A match of another court makes it likely that "another court" is said of that one.
        top = self._answer.top
        elsewhere = top is not None and top.candidate.alignment in ("OTHER_TYPE", "OTHER_JURISDICTION")
        return elsewhere and CITED not in clause.text and not clause.is_of_names

    def _is_meant(self, place: int) -> bool:
        listed, top = self._case.candidates, self._answer.top
        if not 1 <= place <= len(listed):
            return True
        written = listed[place - 1].decision_id
        if top is not None:
            return written == top.candidate.id
        return any(item.id == written and item.alignment == "SAME" for item in self._candidates)

    def _objection_to_court(self, clause: Clause, before: Objection | None, *, unclear: bool) -> Objection:
        """Where a court is called unclear and no name or language is mentioned, its name was not understood."""
        nameless = not any(
            CITED in item.text or FOUND in item.text or "language" in item.topic_names for item in self.clauses
        )
        same = [item.named for item in self._candidates if item.alignment == "SAME"] if FOUND in clause.text else []
        courts = [self._cited.court, *same] if CITED in clause.text else same
        tongues = {court.name_language for court in courts if isinstance(court, Court) and not court.abbreviated}
        return self._objection(
            clause,
            by_language="language" in clause.topic_names
            or tongues >= _FRENCH_AND_DUTCH
            or (before is not None and before.by_language),
            by_short_name="short" in clause.topic_names
            or (unclear and nameless and clause.says("stances", "unknown"))
            or (before is not None and before.by_short_name),
        )

    # --- what a citation leaves open -------------------------------------------------------------------

    def _blame(self, topic: str, kinds: tuple[str, ...] = ()) -> Objection | None:
        """The clause that holds a lack against a match, unless any clause says that it does not count.

        Where no other reason is given for too little confidence, the lack itself is the reason.
        """
        against, penalty, unsure = None, None, None
        doubted = elsewhere = False
        for clause in self.clauses:
            if topic == "number" and topic in clause.topic_names and clause.says("who", "unlisted"):
                against = against or clause
            for item in clause.stances:
                if kinds and item.kind not in kinds:
                    continue
                if item.topic == topic or (topic == "jurisdiction" and self._is_open_court(clause, item)):
                    if item.kind in ("excused", "unrelated") or (item.kind == "costs" and item.negated):
                        # "no seat, ten points off. The rest is fine": a stated penalty is only taken back at once
                        if penalty is None or penalty.sentence == clause.sentence:
                            return None
                        continue
                    if item.is_against and item.kind != "unknown" and not _names_ceiling(clause):
                        against = against or clause
                        if item.kind == "costs" and clause.says("marks", "penalty"):
                            penalty = penalty or clause
                    elif item.is_against or item.is_lack:
                        unsure, doubted = unsure or clause, doubted or item.kind == "unknown"
                elif item.is_against and item.topic is not None:
                    elsewhere = True
        if against is None and not elsewhere and unsure is not None:
            agreed = any(item == Stance("agree", False, topic) for clause in self.clauses for item in clause.stances)
            blamed = not agreed
            if topic == "number":
                blamed = doubted or not self._answer.matches or self._says_more(unsure)
            against = unsure if blamed else None
        if against is None:
            return None
        return self._objection(penalty or against)._replace(is_penalty=penalty is not None)

    def _says_more(self, lacking: Clause) -> bool:
        """Whether its sentence holds other words than that a number is missing."""
        clauses = [clause for clause in self.clauses if clause.sentence == lacking.sentence]
        if any(_names_ceiling(clause) for clause in clauses) or lacking.topic_names - {"number"}:
            return False
        about = [clause for clause in clauses if clause is lacking or not clause.topics]
        return any(word not in _neutral_words() for clause in about for word in _LONG_WORD.findall(clause.text))

    def _is_open_court(self, clause: Clause, item: Stance) -> bool:
        return item.topic == "court" and self._cited.classification == "GENERIC" and not clause.is_of_names

    def _quotes_a_shared_word(self, clause: Clause) -> bool:
        """Whether a single word is quoted that occurs in the snippet and in the decision that was taken."""
        written = self._written[clause.start : clause.start + len(clause.text)]
        if not self._answer.matches or not self._case.citation_snippet:
            return False
        texts, snippet = " ".join(self._answer.matches[0].candidate.texts).lower(), self._case.citation_snippet.lower()
        return any((word := match[1].lower()) in texts and word in snippet for match in _QUOTED_WORD.finditer(written))


@cache
def _neutral_words() -> frozenset[str]:
    return frozenset(table("claims")["neutral"]["words"])


def _split(text: str) -> Iterator[Clause]:
    at, ends = 0, [match.span() for match in _SENTENCE_END.finditer(text)]
    text = text.lower()
    for sentence, (end, after) in enumerate([*ends, (len(text), len(text))]):
        start = at
        for match in _joins().finditer(text, at, end):
            if text[start : match.start()].strip(" ,"):
                yield Clause(text[start : match.start()], start, sentence)
            start = match.end() if match["mark"] else match.start()
        if text[start:end].strip(" ,"):
            yield Clause(text[start:end], start, sentence)
        at = after


@cache
def _joins() -> re.Pattern[str]:
    """Where a clause ends: at a punctuation mark or before a joining word."""
    words, after_comma = (table("claims")["joins"][name] for name in ("words", "after_comma"))
    forms = alternation(map(_form, sorted(words, key=len, reverse=True)))
    return re.compile(
        rf"(?P<mark>[:;()]|\s[-\u2013\u2014]\s)|(?<![a-z'])(?:{forms})|,\s*(?:{'|'.join(after_comma)})(?![a-z])"
    )


def _places(clause: Clause) -> set[int]:
    """The candidates that a clause names by their place in the list: candidate 2."""
    return {int(place) for place in _NUMBERED.findall(clause.text)}


def _earlier_topic(before: list[Clause], clause: Clause, *, carries: bool) -> str | None:
    """The topic that a clause without one continues; `carries`: into a new sentence too, if something was wanting."""
    inside = [earlier for earlier in before if earlier.sentence == clause.sentence]
    if not inside and not carries:
        return None
    for earlier in reversed(inside or before):
        wanting = [item.topic for item in earlier.stances if item.topic and (item.is_against or item.is_lack)]
        if wanting or (earlier.topics and (inside or not carries)):
            return wanting[-1] if wanting else earlier.topics[-1][0]
    return None


def _is_negated(text: str, start: int, end: int, topics: Iterable[int] = ()) -> bool:
    """Whether a negation reaches a cue; "without" and the like reach no further than the topic behind them."""
    low = max(text.rfind(",", 0, start) + 1, start - _FARTHEST)
    for reach, most in _NEGATION_REACH.items():
        for match in pattern("negation", reach).finditer(text, low, start):
            spent = reach == "narrow" and any(match.end() <= topic < start for topic in topics)
            if not spent and len(text[match.end() : start].split()) <= most:
                return True
    return _AFTER_NIET.match(text, end) is not None  # Dutch negates behind the verb: "ik herken de afkorting niet"


def affirms_mark(name: str, text: str) -> bool:
    """Whether a text holds a word of `marks` that is not negated."""
    return any(not _is_negated(text, *match.span()) for match in pattern("marks", name).finditer(text))


def _names_ceiling(clause: Clause) -> bool:
    """Whether a clause names a limit that the rubric itself sets: stating it takes nothing off."""
    return any(limit in clause.text for limit in _CEILINGS) and clause.says("marks", "limit")


@cache
def pattern(section: str, name: str) -> re.Pattern[str]:
    ends = "|(?<=[a-z])n't(?![a-z])" if section == "negation" else ""
    return re.compile(rf"(?<![a-z0-9])(?:{alternation(map(_form, table('claims')[section][name]))}){ends}")


def _form(phrase: str) -> str:
    """A phrase of the table as a regular expression."""
    joined = ""
    for word in phrase.split():
        if word == "...":
            joined += r"(?:\s\S+){0,3}?"
        else:
            form = word.replace(".", r"\.").replace("*", "[a-z-]*").replace("§", f"[{CITED}{FOUND}]+")
            joined += rf"\s+{form}" if joined else form
    return joined if joined.endswith("'") else rf"{joined}(?![a-z])"


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


@cache
def _objecting() -> re.Pattern[str]:
    """Any word that can object; one search spares most reasonings the reading of their clauses."""
    lists = table("claims")
    stances = [phrase for name in ("differ", "unknown", "costs", "lack") for phrase in lists["stances"][name]]
    phrases = dict.fromkeys([*lists["negation"]["wide"], *lists["negation"]["narrow"], *stances])
    return re.compile(rf"(?<![a-z0-9])(?:{alternation(map(_form, phrases))})|n't")


# --- names of courts -------------------------------------------------------------------------------

Names = tuple[tuple[str, str], ...]


def _court_names(case: CitationCase, cited: Cited, candidates: Iterable[CandidateFacts]) -> Names:
    """The names under which the courts of the case are written, longest first, each with its mark."""
    found: dict[str, str] = {}

    def put(mark: str, *names: str | None) -> None:
        for name in names:
            plain = " ".join(fold_letters(name).lower().split()) if name else ""
            if len(plain) > 1:
                found.setdefault(plain, mark)

    put(CITED, case.cited_court_name, _alias(cited.court))
    for item in candidates:
        if isinstance(item.court, Court) and item.court.place:
            _put_place(put, cited, item, case.cited_court_name)
    for mark, alignments in ((FOUND, ("SAME",)), (OTHER, ("OTHER_TYPE", "OTHER_JURISDICTION"))):
        for item in candidates:
            if item.alignment in alignments:
                put(mark, *item.court_names, _alias(item.named))
    return tuple(sorted(found.items(), key=lambda entry: -len(entry[0])))


def _put_place(put: Callable[..., None], cited: Cited, item: CandidateFacts, cited_name: str | None) -> None:
    """The place of a candidate's court; of the cited court, only if it is written in two ways: Luik, Liège."""
    names = _place_names(item.court.place) if isinstance(item.court, Court) and item.court.place else ()
    if cited.classification == "GENERIC":
        put(PLACE, *names)
    elif item.alignment == "SAME":
        ours, theirs = (
            [name for name in names if fold_letters(name).lower() in fold_letters(text).lower()]
            for text in (cited_name or "", " ".join(item.court_names))
        )
        if ours and theirs and not set(ours) & set(theirs):
            put(CITED, *ours)
            put(FOUND, *theirs)


@cache
def _place_names(place: str) -> tuple[str, ...]:
    row = next(row for row in belgian_table("places")["place"] if row["id"] == place)
    return (row["fr"], row["nl"], *row.get("aliases", ()))


def _alias(court: CourtRef) -> str | None:
    return court.alias if isinstance(court, Court | Other) else None


@lru_cache(maxsize=512)
def _names_pattern(names: Names) -> re.Pattern[str]:
    """One group for each name, in their order."""
    forms = []
    for name, _ in names:
        form = r"\s+".join(re.escape(part) for part in name.rstrip(".").split())
        forms.append(f"({form}" + (r"\.?)" if name.endswith(".") else ")"))
    return re.compile(rf"(?<!\w)(?:{'|'.join(forms)})(?!\w)", re.IGNORECASE)
