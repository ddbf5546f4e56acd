"""Detects ECLIs that contradict the citation: by their year, by their court code, or by each other."""

from __future__ import annotations

from krino.judges.citation.belgium.courts import alignment, court_of_ecli_code
from krino.judges.citation.scoring.candidates import CandidateFacts, Cited


def citation_contradicts_itself(cited: Cited) -> bool:
    """Is the cited ECLI that of another court than the citation names?"""
    if cited.ecli is None or cited.ecli.country != "BE" or cited.court_from != "name":
        return False
    return alignment(cited.court, court_of_ecli_code(cited.ecli.court_code)) in ("OTHER_TYPE", "OTHER_JURISDICTION")


def year_contradicts(match: CandidateFacts, cited: Cited) -> bool:
    """Does the year in the match's ECLI contradict the citation?"""
    if match.ecli is None or match.key == cited.key:
        return False
    # The Council of State numbers its judgments across years, and its ECLIs are known to carry wrong years.
    by_number = match.ecli.number is not None and match.carries_number
    return bool(cited.years) and match.ecli.year not in cited.years and not by_number


def court_code_contradicts(match: CandidateFacts, cited: Cited) -> bool:
    """Does the court fit by its name, but not by the code in its ECLI?"""
    if match.alignment not in ("SAME", "UNKNOWN"):
        return False
    return alignment(cited.court, match.coded) in ("OTHER_TYPE", "OTHER_JURISDICTION")


def court_codes_contradict(match: CandidateFacts, cited: Cited) -> bool:
    """Do the court codes in the cited ECLI and in that of the match mean different courts?"""
    if match.ecli is None or cited.ecli is None or cited.ecli.country != "BE":
        return False
    return alignment(court_of_ecli_code(cited.ecli.court_code), match.coded) in ("OTHER_TYPE", "OTHER_JURISDICTION")
