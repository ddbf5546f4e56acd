"""Compares the citation with each candidate: court, number, ECLI, date."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date
from functools import lru_cache
from typing import Literal, NamedTuple

from krino.errors import CannotJudge
from krino.judges.citation.belgium.case_numbers import Relation, compare, compare_with_ecli, parse_case_numbers
from krino.judges.citation.belgium.courts import (
    Alignment,
    Classification,
    Court,
    CourtRef,
    Other,
    Unknown,
    alignment,
    court_of_ecli_code,
    resolve_court,
    resolve_court_in_citation,
)
from krino.judges.citation.belgium.dates import parse_date
from krino.judges.citation.belgium.ecli import Ecli, cut_ecli, ecli_of_old_id, is_old_id, key_of, parse_ecli
from krino.judges.citation.case import Candidate, CitationCase, Match, Named

CourtSource = Literal["name", "ecli", "number", "nothing"]


class Cited(NamedTuple):
    """The cited decision as parsed; `court_from` says which field named the court."""

    court: CourtRef
    court_from: CourtSource
    classification: Classification
    number: str | None
    ecli: Ecli | None
    key: tuple[object, ...] | None
    date: date | None
    years: frozenset[int]


def read_cited(case: CitationCase) -> Cited:
    """Parses the citation; an ECLI in the place of the case number counts as one."""
    in_number, number = cut_ecli(case.cited_case_number) if case.cited_case_number else (None, None)
    number = number if parse_case_numbers(number) else None
    ecli = parse_ecli(case.cited_ecli) or in_number
    day = parse_date(case.cited_date)
    year = day.year if day else None
    if is_old_id(case.cited_case_number):
        number = None
    if ecli is None:
        ecli = _ecli_of_old_id(case, year)
    court, source = _find_cited_court(case.cited_court_name, case.cited_case_number, year, ecli)
    years = [day.year] if day else []
    if ecli:
        years.append(ecli.year)
    return Cited(
        court=court,
        court_from=source,
        classification=classify(court),
        number=number,
        ecli=ecli,
        key=key_of(ecli.text) if ecli else None,
        date=day,
        years=frozenset(years),
    )


def _ecli_of_old_id(case: CitationCase, year: int | None) -> Ecli | None:
    """Returns the ECLI for a cited identifier from before the ECLI; None if the cited name identifies no court."""
    for written in (case.cited_ecli, case.cited_case_number):
        if written is not None and is_old_id(written):
            court = resolve_court_in_citation(case.cited_court_name, None, year)
            codes = court.ecli_codes if isinstance(court, Court) else ()
            return ecli_of_old_id(written, codes[0]) if len(codes) == 1 else None
    return None


def classify(court: CourtRef) -> Classification:
    """Returns the class of the cited court; one that cannot be read is GENERIC."""
    return court.classification if isinstance(court, Court | Other) else "GENERIC"


def _find_cited_court(
    name: str | None, number: str | None, year: int | None, ecli: Ecli | None
) -> tuple[CourtRef, CourtSource]:
    """Returns the cited court, and the field that named it.

    The name decides; without a readable one the ECLI, then a number that only one court uses.
    """
    named = resolve_court_in_citation(name, number, year)
    if not isinstance(named, Unknown):
        return named, "name"
    if ecli is not None and ecli.country == "BE":
        court = court_of_ecli_code(ecli.court_code)
        if not isinstance(court, Unknown):
            return court, "ecli"
    if any(parsed.family == "cassation" and parsed.matter for parsed in parse_case_numbers(number)):
        return resolve_court("Cour de cassation"), "number"
    return named, "nothing"


RELATIONS: tuple[Relation, ...] = ("EXACT", "NORMALISED", "FUZZY", "PARTIAL", "DIFFERENT", "INCOMPARABLE")
CARRYING = frozenset(RELATIONS[:4])
_UNREAD = Unknown("")


class CandidateFacts(NamedTuple):
    """One decision, compared with the citation.

    `key` identifies the decision: the cited ECLI if that is one of its identifiers, else its own ECLI, else its id.
    `keys`: the keys of all its identifiers. `named`, `coded` and `court`: its court by name, by code and by both.
    `relation`, with `why`: how its case number compares with the cited one. `listed`: it is in the list of candidates.
    """

    id: str | None
    key: tuple[object, ...]
    keys: frozenset[tuple[object, ...]]
    court: CourtRef
    named: CourtRef
    coded: CourtRef
    alignment: Alignment
    ecli: Ecli | None
    number: str | None
    relation: Relation
    why: str
    date: date | None
    other_date: bool
    opinion: bool
    court_names: tuple[str, ...]
    texts: tuple[str, ...]
    listed: bool = True

    @property
    def carries_number(self) -> bool:
        """Is the relation of its number to the cited one close enough to count as the same?"""
        return self.relation in CARRYING

    @property
    def eligible(self) -> bool:
        """Can it be the cited decision, by court, date and kind of document?"""
        return self.alignment in ("SAME", "UNKNOWN") and not self.other_date and not self.opinion


def study_candidates(candidates: Iterable[Candidate], cited: Cited) -> tuple[CandidateFacts, ...]:
    """Compares every candidate with the citation; sorted, so that the order of the list does not matter."""
    found = [study_candidate(candidate, cited) for candidate in candidates]
    return tuple(sorted(found, key=_sort_key)) if len(found) > 1 else tuple(found)


def study_candidate(candidate: Candidate, cited: Cited) -> CandidateFacts:
    """Compares a candidate with the citation."""
    names = (candidate.court_name, candidate.court_name_fr, candidate.court_name_nl)
    return _compare(
        cited,
        ids=_identifiers_of(candidate),
        court_names=tuple(filter(None, names)),
        court_code=candidate.court_ecli_code,
        number=candidate.rol_number,
        day=parse_date(candidate.decision_date),
        texts=candidate.teaching_texts + candidate.summaries,
    )


def study_unlisted(match: Match, cited: Cited) -> CandidateFacts:
    """Compares a match that is not among the candidates."""
    names = (match.court_name,) if match.court_name else ()
    facts = _compare(
        cited,
        ids=_identifiers_of(match),
        court_names=names,
        court_code=None,
        number=match.rol_number,
        day=None,
        texts=(),
    )
    return facts._replace(listed=False)


def _identifiers_of(named: Named) -> tuple[str, ...]:
    """Every identifier of an entry, the main one first."""
    return (named.decision_id, *named.other_ids) if named.decision_id else named.other_ids


def _compare(
    cited: Cited,
    *,
    ids: tuple[str, ...],
    court_names: tuple[str, ...],
    court_code: str | None,
    number: str | None,
    day: date | None,
    texts: tuple[str, ...],
) -> CandidateFacts:
    """Compares a decision with the citation: court, number, ECLI and date."""
    decision_id = ids[0] if ids else None
    ecli = next(filter(None, map(parse_ecli, ids)), None) or _ecli_of_old_candidate(
        decision_id, court_names, court_code
    )
    key = key_of(ecli.text if ecli else decision_id) if decision_id else ("blank", *court_names, number, *texts)
    keys = frozenset((key, *map(key_of, ids)))
    ecli_code = ecli.court_code if ecli and ecli.country == "BE" else None
    named, coded, court = _resolve_courts(court_names, court_code, ecli_code)
    relation, why = _compare_numbers(cited.number, number, ecli)
    day = day or (ecli.date if ecli else None)
    return CandidateFacts(
        id=decision_id,
        key=cited.key if cited.key in keys else key,
        keys=keys,
        court=court,
        named=named,
        coded=coded,
        alignment=alignment(cited.court, court),
        ecli=ecli,
        number=number,
        relation=relation,
        why=why,
        date=day,
        other_date=day is not None and cited.date is not None and day != cited.date,
        opinion=ecli is not None and ecli.document_type == "CONC",
        court_names=court_names,
        texts=texts,
    )


def _ecli_of_old_candidate(decision_id: str | None, names: tuple[str, ...], code: str | None) -> Ecli | None:
    """Returns the ECLI for an identifier from before the ECLI, if the candidate's code or name identifies one court."""
    if decision_id is None or not is_old_id(decision_id):
        return None
    court = _resolve_courts(names, code, None)[2]
    codes = (code.strip().upper(),) if code else court.ecli_codes if isinstance(court, Court) else ()
    return ecli_of_old_id(decision_id, codes[0]) if len(codes) == 1 else None


def is_decision(candidate: CandidateFacts, decision_id: str) -> bool:
    """Does an identifier, in any spelling, belong to this candidate?"""
    return key_of(decision_id) in candidate.keys


@lru_cache(maxsize=16_384)
def _resolve_courts(
    names: tuple[str, ...], code: str | None, ecli_code: str | None
) -> tuple[CourtRef, CourtRef, CourtRef]:
    """Returns the court by its names, by its codes, and by both together; Unknown where nothing can be read."""
    by_name = (resolve_court(name) for name in names)
    by_code = (court_of_ecli_code(item) for item in (ecli_code, code) if item)
    named = next((court for court in by_name if not isinstance(court, Unknown)), _UNREAD)
    coded = next((court for court in by_code if not isinstance(court, Unknown)), _UNREAD)
    return named, coded, _merge_name_and_code(named, coded)


def _merge_name_and_code(named: CourtRef, coded: CourtRef) -> CourtRef:
    """Returns the court by its name.

    The code fills in the place, or the language of the tribunal, that the name leaves open.
    """
    if isinstance(named, Unknown):
        return coded
    if isinstance(named, Court) and isinstance(coded, Court) and named.type in (coded.type, *coded.other_types):
        if named.place is None and coded.place is not None:
            return replace(coded, type=named.type, other_types=())
        if named.place == coded.place and named.language is None and coded.language is not None:
            return replace(named, language=coded.language)
    return named


def _compare_numbers(cited: str | None, number: str | None, ecli: Ecli | None) -> tuple[Relation, str]:
    """Returns how the cited number relates to the candidate's, and why.

    The judgment number inside its ECLI counts if it is nearer.
    """
    if cited is None:
        return "INCOMPARABLE", "the citation gives no number"
    listed = compare(cited, number)
    judged: Relation = compare_with_ecli(cited, ecli) if ecli is not None else "INCOMPARABLE"
    if RELATIONS.index(judged) < RELATIONS.index(listed.relation):
        return judged, "compared with the judgment number in the candidate's ECLI"
    return listed.relation, listed.why


def merge_duplicates(candidates: tuple[CandidateFacts, ...]) -> tuple[tuple[CandidateFacts, ...], tuple[str, ...]]:
    """Returns each decision once, by its most complete entry, and the ids that were listed more than once."""
    if len({candidate.key for candidate in candidates}) == len(candidates):
        return candidates, ()
    best: dict[tuple[object, ...], CandidateFacts] = {}
    repeated: list[str] = []
    for candidate in candidates:
        known = best.get(candidate.key)
        if known is None:
            best[candidate.key] = candidate
            continue
        repeated.append(known.id or "a candidate without an id")
        kept = candidate if _completeness(candidate) > _completeness(known) else known
        best[candidate.key] = kept._replace(keys=known.keys | candidate.keys)
    return tuple(best.values()), tuple(dict.fromkeys(repeated))


def _completeness(candidate: CandidateFacts) -> tuple[bool, int, int]:
    return candidate.eligible, -RELATIONS.index(candidate.relation), len(candidate.texts)


def _sort_key(candidate: CandidateFacts) -> tuple[str, ...]:
    return candidate.id or "", candidate.number or "", str(candidate.date), *candidate.court_names, *candidate.texts


# --- the matcher's answer ----------------------------------------------------------------------------

_SAME_POINTS = 1.0
_DECIMALS = 6
_LONGEST_IDS = 200


class MatchFacts(NamedTuple):
    """One match with the decision it names; `percent` is None if neither confidence nor score can be used."""

    candidate: CandidateFacts
    percent: float | None
    remarks: tuple[str, ...] = ()


class MatcherAnswer(NamedTuple):
    """All matches in the matcher's order, empty if it returned none, and the reasoning that is judged."""

    matches: tuple[MatchFacts, ...]
    reasoning: str | None

    @property
    def top(self) -> MatchFacts | None:
        return self.matches[0] if self.matches else None


def read_matcher_answer(case: CitationCase, cited: Cited, candidates: tuple[CandidateFacts, ...]) -> MatcherAnswer:
    """Returns the matches, each with its candidate, and the reasoning that is judged.

    Raises `CannotJudge` if the first match has no usable confidence.
    """
    known: dict[tuple[object, ...], list[CandidateFacts]] = {}
    for candidate in candidates:
        for key in candidate.keys:
            known.setdefault(key, []).append(candidate)
    matches = tuple(_find_matched(place, match, cited, known) for place, match in enumerate(case.matches))
    if matches and matches[0].percent is None:
        raise CannotJudge("matches.0: neither confidence (0 to 1) nor score (0 to 100) is a usable number")
    reasoning = case.matches[0].reasoning if case.matches else case.no_match_reason
    if reasoning is None:
        reasoning = reasoning_beside_matches(case)
    return MatcherAnswer(matches, reasoning)


def reasoning_beside_matches(case: CitationCase) -> str | None:
    """A reasoning given beside the matches, not in one of them."""
    written = (case.model_extra or {}).get("reasoning")
    return written if isinstance(written, str) else None


def _find_matched(
    place: int, match: Match, cited: Cited, known: Mapping[tuple[object, ...], list[CandidateFacts]]
) -> MatchFacts:
    """Returns the decision that a match names, listed or not, with the confidence in percent.

    Refuses a match whose identifiers name several: the verdict depends on which.
    """
    named = {item.key: item for name in _identifiers_of(match) for item in known.get(key_of(name), ())}
    if len(named) > 1:
        ids = ", ".join(sorted(item.id or "a candidate without an id" for item in named.values()))
        raise CannotJudge(
            f"matches.{place}: its identifiers ({', '.join(_identifiers_of(match))[:_LONGEST_IDS]}) belong to several "
            f"candidates ({ids[:_LONGEST_IDS]}): give the one that was chosen"
        )
    percent, remarks = read_percent(match.confidence, match.score)
    return MatchFacts(next(iter(named.values()), None) or study_unlisted(match, cited), percent, remarks)


def read_percent(confidence: float | None, score: float | None) -> tuple[float | None, tuple[str, ...]]:
    """Returns the confidence in percent, from `confidence` if possible, else from `score`; and remarks on the two."""
    remarks: list[str] = []
    sure = _to_percent("confidence", confidence, whole_is_one=True, remarks=remarks)
    points = _to_percent("score", score, whole_is_one=False, remarks=remarks)
    if sure is None:
        return points, tuple(remarks)
    if points is not None and abs(sure - points) > _SAME_POINTS:
        remarks.append(f"confidence says {sure:g} % and score says {points:g} %: confidence is taken")
    return sure, tuple(remarks)


def _to_percent(name: str, value: float | None, *, whole_is_one: bool, remarks: list[str]) -> float | None:
    """Converts a number to 0 to 100; one outside its scale gives None and a remark."""
    if value is None:
        return None
    if not 0 <= value <= 100:
        remarks.append(f"{name} {value:g} is outside its scale and is ignored")
        return None
    fraction = value <= 1 if whole_is_one else value < 1
    if fraction != whole_is_one and value:
        remarks.append(f"{name} {value:g} is written on the other scale (0 to {'100' if whole_is_one else '1'})")
    # Floating point makes 55.00000000000001 of 0.55, which would break a ceiling of 55.
    return round(value * 100 if fraction else value, _DECIMALS)
