"""How other systems call the fields of a citation case, in four languages, and what their values look like."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from krino.judges.citation.belgium.case_numbers import parse_case_numbers
from krino.judges.citation.belgium.courts import Unknown, resolve_court
from krino.judges.citation.belgium.dates import parse_date
from krino.judges.citation.belgium.ecli import parse_ecli
from krino.judges.citation.record_values import amount

_COURT = ("court", "court name", "cour", "juridiction", "tribunal", "rechtbank", "hof", "gerecht", "rechtscollege")
_COURTS = (*_COURT, "gericht", "instance", "instantie", "court label", "jurisdiction")
_DATE = ("date", "datum", "decision date", "judgment date", "uitspraakdatum", "uitspraak", "date decision", "day")
_NUMBER = ("case number", "case no", "number", "nummer", "numero", "rol", "rolnr", "rolnummer", "rol nr", "rol number")
_NUMBERS = (*_NUMBER, "role", "role number", "numero role", "rg", "docket", "docket number", "zaaknummer", "zaaknr")
_ECLI = ("ecli", "ecli nr", "ecli number", "ecli ref", "ecli code", "ecli nummer", "numero ecli")
_ID = ("id", "doc id", "docid", "decision id", "document id", "key", "identifier", "identifiant", "kenmerk", "ref")
_SUMMARY = ("summary", "summaries", "abstract", "resume", "sommaire", "samenvatting", "zusammenfassung", "excerpt")
_SUMMARIES = (
    *_SUMMARY,
    "keywords",
    "subject",
    "snippet",
    "text",
    "inhoud",
    "onderwerp",
    "extrait",
    "trefwoorden",
    "headnote",
    "headnotes",
)
_CONFIDENCE = (
    "confidence",
    "certainty",
    "probability",
    "zekerheid",
    "vertrouwen",
    "confiance",
    "certitude",
    "sureness",
    "likelihood",
    "trust",
    "betrouwbaarheid",
    "konfidenz",
)
_REASONING = ("reasoning", "reason", "rationale", "explanation", "justification", "motivation", "motivering", "uitleg")

FIELD_WORDS: Mapping[str, Sequence[str]] = {
    "cited_court_name": (*_COURTS, "cited court", "court cited"),
    "cited_date": (*_DATE, "cited date", "date cited"),
    "cited_case_number": (*_NUMBERS, "cited number", "cited case number", "role cited", "number cited"),
    "cited_ecli": (*_ECLI, "cited ecli", "ecli cited"),
    "citation_snippet": (
        "snippet",
        "citation text",
        "raw",
        "raw text",
        "extract",
        "extrait",
        "passage",
        "context",
        "fragment",
    ),
    "candidates": (
        "candidates",
        "hits",
        "candidats",
        "kandidaten",
        "results",
        "options",
        "decisions",
        "pool",
        "retrieved",
    ),
    "matches": (
        "matches",
        "match",
        "picks",
        "pick",
        "choice",
        "choices",
        "selected",
        "selection",
        "keuze",
        "choix",
        "answer",
        "prediction",
    ),
    "no_match_reason": ("no match reason", "reason none", "why none", "reason no match"),
    "ground_truth": ("ground truth", "gold", "truth", "correct", "expected", "label", "id", "decision"),
    "candidates.*.decision_id": _ID,
    "candidates.*.ecli": _ECLI,
    "candidates.*.court_name": _COURTS,
    "candidates.*.decision_date": _DATE,
    "candidates.*.rol_number": _NUMBERS,
    "candidates.*.summaries": _SUMMARIES,
    "matches.*.decision_id": (*_ID, "candidate id", "chosen", "chosen id", "picked", "picked id", "selected id"),
    "matches.*.confidence": (*_CONFIDENCE, "confidence score", "conf"),
    "matches.*.score": ("score", "points", "percent", "percentage"),
    "matches.*.reasoning": (*_REASONING, "begrundung", "redenering", "raisonnement", "why", "thoughts", "analysis"),
}


def _is_court(value: Any) -> bool:
    if not isinstance(value, str) or len(value) > 300 or _is_ecli(value):
        return False
    return not isinstance(resolve_court(value), Unknown)


def _is_date(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 60 and parse_date(value) is not None


def _is_number(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 100 and parse_ecli(value) is None and bool(parse_case_numbers(value))


def _is_ecli(value: Any) -> bool:
    return isinstance(value, str) and len(value) < 200 and parse_ecli(value) is not None


def _is_id(value: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, str) and 0 < len(value) < 100)


def _is_amount(value: Any) -> bool:
    return amount(value, 1.0) is not None


def _is_prose(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and all(map(_is_prose, value[:5]))
    return isinstance(value, str) and value.count(" ") > 2


def _are_objects(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping) for item in value)


def _is_match(value: Any) -> bool:
    return _are_objects(value) or isinstance(value, Mapping)


FIELD_SHAPES: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "cited_court_name": ("a court", _is_court),
    "cited_date": ("a date", _is_date),
    "cited_case_number": ("a case number", _is_number),
    "cited_ecli": ("an ECLI", _is_ecli),
    "citation_snippet": ("a text", _is_prose),
    "candidates": ("a list of objects", _are_objects),
    "matches": ("a list of objects, or one", _is_match),
    "no_match_reason": ("a text", _is_prose),
    "ground_truth": ("an identifier", _is_id),
    "candidates.*.decision_id": ("an identifier", _is_id),
    "candidates.*.ecli": ("an ECLI", _is_ecli),
    "candidates.*.court_name": ("a court", _is_court),
    "candidates.*.decision_date": ("a date", _is_date),
    "candidates.*.rol_number": ("a case number", _is_number),
    "candidates.*.summaries": ("texts", _is_prose),
    "matches.*.decision_id": ("an identifier", _is_id),
    "matches.*.confidence": ("a number", _is_amount),
    "matches.*.score": ("a number", _is_amount),
    "matches.*.reasoning": ("a text", _is_prose),
}
FIELD_LINKS: Mapping[str, str] = {
    "matches.*.decision_id": "candidates.*.decision_id",
    "ground_truth": "candidates.*.decision_id",
}
