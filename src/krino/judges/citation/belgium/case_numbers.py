"""Parses Belgian case numbers in all their spellings and compares them, never by edit distance."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, NamedTuple

from krino.judges.citation.belgium import table
from krino.judges.citation.belgium.dates import find_dates, fold_letters, full_year
from krino.judges.citation.belgium.ecli import Ecli, code_aliases

Relation = Literal["EXACT", "NORMALISED", "FUZZY", "PARTIAL", "DIFFERENT", "INCOMPARABLE"]
Family = Literal["cassation", "cassation_old", "roll", "pair", "council_role", "notice", "plain", "other"]

_MAX_TEXT = 600
_RANK: dict[Relation, int] = {
    "EXACT": 5,
    "NORMALISED": 4,
    "FUZZY": 3,
    "PARTIAL": 2,
    "DIFFERENT": 1,
    "INCOMPARABLE": 0,
}


class CaseNumber(NamedTuple):
    """One case number; parts that its family lacks are None. `alternative`: a second reading as year and sequence."""

    family: Family
    text: str
    sequence: int
    year: int | None = None
    matter: str | None = None
    register: str | None = None
    language: str | None = None
    suffix: str | None = None
    office: str | None = None
    repaired: bool = False
    alternative: tuple[int, int] | None = None

    @property
    def key(self) -> tuple[str | int | None, ...]:
        """The number without its spelling and its language letter, for comparison."""
        return (self.family, self.office, self.matter, self.year, self.register, self.sequence, self.suffix)


@dataclass(frozen=True, slots=True)
class NumberComparison:
    """How two case numbers relate, and why."""

    relation: Relation
    why: str


# A digit, or a letter mistyped for one next to a digit.
_D = "[0-9OIL]"
_N = r"(?:[0-9]{1,3}(?:[. ][0-9]{3})+|[0-9OIL]{1,7})"
_WHOLE = "[0-9]{1,3}(?:[. ][0-9]{3})+|[0-9][0-9OIL]{0,8}|O[0-9OIL]{2,8}"
_YEAR = f"(?:{_D}{{4}}|{_D}{{2}})"
_S = " {0,2}"
_GAP = f"{_S}[., /-]{_S}"
_MATTER = "([ACDEFGHMPS])"
_LANGUAGE = "([FN])[VT]?"
# In a list, "F/" and "N/" may end one Cassation number before the next; any other slash is part of a number.
_START = r"(?<![A-Z0-9])(?<![A-Z0-9]\.)(?<![0-9A-EG-MO-Z]/)"
_END = r"(?![A-Z0-9]|[./][A-Z0-9])"
_END_OF_CASSATION = r"(?![A-Z0-9]|\.[0-9])"
_CASSATION_ONLY = re.compile(rf"(?:(?:RG|R\.G\.|AR|A\.R\.) )?{_MATTER}\.?([0-9]{{2}})\.?([0-9]{{4}})\.?{_LANGUAGE}")
# Each form with the name of its parser, first those that begin with a letter, then those that begin with a digit.
_LETTER_FORMS: tuple[tuple[str, str], ...] = (
    ("notice", rf"([A-Z]{{2}})[. ]?([0-9]{{2}})[. ]?([A-Z0-9]{{2}})[. ]([0-9]{{1,7}})[/-]({_YEAR}){_END}"),
    ("role", rf"(?:G/)?A[. ]{_S}([0-9]{{2,3}}\.?[0-9]{{3}}){_S}/{_S}([IVX]{{1,6}}){_S}[-.]{_S}({_N}){_END}"),
    ("role", rf"(?:G/)?A(?:\.\s?|\s)([0-9]{{2,3}}\.?[0-9]{{3}})()(){_END}"),
    (
        "cassation",
        rf"{_MATTER}{_GAP}({_YEAR}){_GAP}({_D}{{1,5}}){_S}[./ -]?{_S}{_LANGUAGE}{_END_OF_CASSATION}",
    ),
    (
        "cassation",
        rf"{_MATTER}[. ]{{0,2}}({_D}{{2}})[. ]?({_D}{{4}})[. ]{{0,2}}{_LANGUAGE}{_END_OF_CASSATION}",
    ),
    ("cassation", rf"{_MATTER}{_S}[. -]{_S}({_YEAR}){_S}[. -]{_S}({_D}{{1,4}})(){_END}"),
    ("cassation", rf"{_MATTER}({_D}{{2}})({_D}{{4}})(){_END}"),
    ("letter_first", rf"([A-Z]{{1,3}}){_S}[/.-]{_S}({_YEAR}){_S}[/.-]{_S}({_N}){_END}"),
    ("old", rf"{_MATTER}[. ]{{0,2}}([0-9]{{2,5}})[. ]{{0,2}}{_LANGUAGE}{_END}"),
)
_DIGIT_FORMS: tuple[tuple[str, str], ...] = (
    ("cassation", rf"()([0-9]{{2}})\.([0-9]{{4}})(?:[. ]?{_LANGUAGE})?{_END}"),
    ("register", rf"({_D}{{1,6}}){_S}/{_S}([A-Z]{{1,4}}){_S}/{_S}({_N}){_END}"),
    ("register", rf"({_D}{{4}}|{_D}{{2}})[.-]([A-Z]{{1,2}})[.-]({_N}){_END}"),
    ("register", rf"((?:19|20)[0-9]{{2}}) ?(REGISTERS) ?([0-9]{{1,6}}){_END}"),
    ("register", rf"([0-9]{{4}}|[0-9]{{2}})([A-HJKMNP-Z]|[A-Z]{{2}})([0-9]{{1,6}}){_END}"),
    ("letter_last", rf"({_YEAR}){_S}[/-]{_S}({_N}){_S}[/-]{_S}([A-Z]{{1,4}}){_END}"),
    ("pair", rf"({_N}){_S}/{_S}({_N}){_END}"),
    ("dash", rf"([0-9]{{1,5}})-([0-9]{{1,5}}){_END}"),
    ("plain", rf"(?<![A-Z]-)({_WHOLE})(?:[. ]?(BIS|TER|QUATER))?(?:\.?([FN]))?{_END}(?!-[A-Z])"),
)
_SLIP = re.compile("[OIL]")
_LETTERS_FOR_DIGITS = str.maketrans("OIL", "011")
_YEARS = range(1900, 2100)
_TOO_LATE = 2036
_DATE_LIKE = re.compile("[0-9][^0-9]{1,3}[A-Z]{3}|[0-9][./-][0-9]{1,2}[./-][0-9]")


@cache
def _data() -> dict[str, list[str]]:
    return table("number_labels")


@cache
def _build_scanner() -> tuple[re.Pattern[str], tuple[tuple[str, int, int], ...]]:
    """Returns one pattern for all forms, and for each form the name of its parser and the slice of its groups."""
    parts, slices, position = [], [], 0
    for index, (name, form) in enumerate((*_LETTER_FORMS, *_DIGIT_FORMS)):
        pattern = form.replace("REGISTERS", "|".join(_data()["registers"]))
        groups = re.compile(pattern).groups
        parts.append(f"(?P<form{index}>{pattern})")
        slices.append((name, position + 1, position + 1 + groups))
        position += groups + 1
    letter, digit = parts[: len(_LETTER_FORMS)], parts[len(_LETTER_FORMS) :]
    # The two lookaheads save trying eighteen forms at most positions.
    first = f"(?=[A-Z]{{1,3}}[./ 0-9-])(?:{'|'.join(letter)})|(?=[0-9OIL])(?:{'|'.join(digit)})"
    return re.compile(f"{_START}(?:{first})"), tuple(slices)


@cache
def _labels() -> re.Pattern[str]:
    words = sorted(_data()["labels"], key=len, reverse=True)
    spelled = (re.escape(word).replace(r"\.", r"\.?\s?").replace(r"\ ", r"\s+") for word in words)
    return re.compile(rf"(?<![A-Z0-9/])(?:{'|'.join(spelled)})(?![A-Z])[\s.:°,]{{0,4}}")


_YEAR_BEFORE = re.compile(r"(?:(?<![0-9])(?:19|20)[0-9]{2}[ ./-]{1,2}|(?<![0-9])[0-9]{2}[./-])$")


def _strip_label(match: re.Match[str]) -> str:
    """Returns what replaces a label such as "A.R.": a space, or the label itself if it is the register of a number."""
    # Between a year and a number the letters are the register: 2017 AR 1, 2017-AR-1.
    before = match.string[max(0, match.start() - 6) : match.start()]
    after = match.string[match.end() : match.end() + 2].lstrip("-/ ")[:1]
    return match.group() if after.isdigit() and _YEAR_BEFORE.search(before) else " "


def _normalise(text: str) -> str:
    if not text.isascii():
        text = fold_letters(unicodedata.normalize("NFKC", text))
    return " ".join(text.upper().split())


@cache
def _absent() -> frozenset[str]:
    return frozenset(_data()["absent"])


def is_absent(text: str | None) -> bool:
    """Is a field empty, or one of the phrases that mean "none"?"""
    return text is None or _normalise(text[:_MAX_TEXT]).strip(" .,;:'\"()[]<>") in _absent() or not text.strip()


def _to_digits(text: str) -> str:
    return text.replace(".", "").replace(" ", "").translate(_LETTERS_FOR_DIGITS)


def _has_mistyped_digits(*parts: str, share: int = 2) -> bool | None:
    """Do letters replace digits (O for 0)?

    None if there are fewer than `share` digits per letter: too many for slips.
    """
    if not any(_SLIP.search(part) for part in parts):
        return False
    letters = sum(character in "OIL" for part in parts for character in part)
    digits = sum(character.isdigit() for part in parts for character in part)
    return True if digits >= share * letters else None


def _full_year(digits: str) -> int | None:
    """Returns a year of two or four digits in full, or None if it is impossible."""
    if len(digits) not in (2, 4):
        return None
    year = full_year(digits)
    return year if year in _YEARS else None


def _year_in_pair(digits: str) -> int | None:
    year = _full_year(digits)
    # 75/41 is number 41 of 1975: there are no such numbers of 1941, and none of 2041 yet.
    return None if year is None or year >= _TOO_LATE else year


def _parse_cassation(text: str, matter: str, year: str, sequence: str, language: str | None) -> list[CaseNumber]:
    """Parses a number of the Court of Cassation, such as C.12.0345.F; empty if its year is impossible."""
    # Letters at both ends identify a number of this court, so half of its digits may be mistyped letters.
    slip, full = (
        _has_mistyped_digits(year, sequence, share=1 if matter and language else 2),
        _full_year(_to_digits(year)),
    )
    if slip is None or full is None:
        return []
    return [
        CaseNumber(
            "cassation",
            text,
            int(_to_digits(sequence)),
            year=full,
            matter=matter or None,
            language=language or None,
            repaired=slip,
        )
    ]


def _parse_old_cassation(text: str, matter: str, sequence: str, language: str) -> list[CaseNumber]:
    return [CaseNumber("cassation_old", text, int(sequence), matter=matter, language=language)]


def _parse_roll(text: str, year: str, letters: str, sequence: str) -> list[CaseNumber]:
    """Parses a roll number, such as 2017/AR/15, in which the year may also come last."""
    slip, first, last = (
        _has_mistyped_digits(year, sequence),
        _full_year(_to_digits(year)),
        _full_year(_to_digits(sequence)),
    )
    if slip is None or (first is None and last is None):
        return []
    if first is None:
        return [CaseNumber("roll", text, int(_to_digits(year)), year=last, register=letters, repaired=slip)]
    # "15/AR/2017": the year may also come last.
    swapped = len(year) == 2 and len(sequence) == 4 and last is not None
    return [
        CaseNumber(
            "roll",
            text,
            int(_to_digits(sequence)),
            year=first,
            register=letters,
            repaired=slip,
            alternative=(last, int(_to_digits(year))) if swapped and last is not None else None,
        )
    ]


def _parse_pair(text: str, left: str, right: str) -> list[CaseNumber]:
    """Parses a number and a year with a separator, and decides which of them is the year.

    If both could be it, the other reading is kept as `alternative`.
    """
    slip = _has_mistyped_digits(left, right)
    a, b = _to_digits(left), _to_digits(right)
    first, last = _year_in_pair(a), _year_in_pair(b)
    if slip is None or (first is None and last is None):
        return []
    if first is None or last is None:
        year, sequence = (first, int(b)) if last is None else (last, int(a))
        return [CaseNumber("pair", text, sequence, year=year, repaired=slip)]
    # A year has four digits rather than two; of two alike the last is the year (44/00), though it could be the first.
    if len(a) > len(b):
        return [CaseNumber("pair", text, int(b), year=first, repaired=slip)]
    other = (first, int(b)) if len(a) == len(b) else None
    return [CaseNumber("pair", text, int(a), year=last, repaired=slip, alternative=other)]


def _parse_dash(text: str, left: str, right: str) -> list[CaseNumber]:
    """Parses two numbers with a dash: one number with its year, or two numbers."""
    years = [len(part) == 4 and int(part) in _YEARS for part in (left, right)]
    if (years[0] and len(right) <= 3) or (years[1] and len(left) <= 3):
        return _parse_pair(text, left, right)
    return [CaseNumber("plain", part, int(part)) for part in (left, right)]


def _parse_council_role(text: str, role: str, chamber: str | None, sequence: str | None) -> list[CaseNumber]:
    tail = str(int(_to_digits(sequence))) if sequence else None
    return [CaseNumber("council_role", text, int(_to_digits(role)), register=chamber or None, suffix=tail)]


def _parse_notice(text: str, office: str, kind: str, part: str, sequence: str, year: str) -> list[CaseNumber]:
    """Parses the number of a notice of a public prosecutor's office."""
    full = _full_year(_to_digits(year))
    if full is None:
        return []
    return [CaseNumber("notice", text, int(sequence), year=full, office=office, register=f"{kind}.{part}")]


def _parse_plain(text: str, number: str, suffix: str | None, language: str | None) -> list[CaseNumber]:
    """Parses a bare number, with its suffix and language letter if there are any."""
    slip = _has_mistyped_digits(number)
    if slip is None:
        return []
    value = int(_to_digits(number))
    return [CaseNumber("plain", text, value, suffix=suffix, language=language, repaired=slip)]


_READERS: dict[str, Callable[..., list[CaseNumber]]] = {
    "notice": _parse_notice,
    "role": _parse_council_role,
    "cassation": _parse_cassation,
    "register": _parse_roll,
    "letter_last": lambda text, year, sequence, letter: _parse_roll(text, year, letter, sequence),
    "letter_first": lambda text, letter, year, sequence: _parse_roll(text, year, letter, sequence),
    "old": _parse_old_cassation,
    "pair": _parse_pair,
    "dash": _parse_dash,
    "plain": _parse_plain,
}


# Lists that write only the end of their later numbers: 2019/AB/456 et 457, C.17.0234.F-0235.F, C.17.0234-0235.F.
_AND = r"\s?(?:[-&+]|ET|EN|UND|AND)\s?"
_SHORT_LIST = re.compile(
    rf"((?:19|20)?[0-9]{{2}}/[A-Z]{{1,3}}/)([0-9]{{1,6}}(?:{_AND}[0-9]{{1,6}}(?![0-9./])){{1,9}})"
    rf"|([ACDEFGHMPS]\.[0-9]{{2}}\.)([0-9]{{4}}\.[FN](?:{_AND}[0-9]{{4}}\.[FN]){{1,9}})"
    rf"|([ACDEFGHMPS]\.[0-9]{{2}}\.)([0-9]{{4}}(?:{_AND}[0-9]{{4}}){{1,9}})(\.[FN])"
)


def _expand_short_list(match: re.Match[str]) -> str:
    register, cassation, one_letter = match.group(1, 2), match.group(3, 4), match.group(5, 6)
    start, ends = next(pair for pair in (register, cassation, one_letter) if pair[0])
    return " ".join(start + end + (match.group(7) or "") for end in re.split(_AND, ends))


def _scan(text: str) -> list[CaseNumber]:
    """Returns every case number in a text, found by one pattern for all forms."""
    pattern, slices = _build_scanner()
    numbers: list[CaseNumber] = []
    for match in pattern.finditer(text):
        name, start, end = slices[int((match.lastgroup or "form0")[4:])]
        numbers += _READERS[name](match.group().strip(), *match.groups()[start:end])
    return numbers


def _drop_loose_numbers(numbers: list[CaseNumber]) -> list[CaseNumber]:
    """Drops loose figures (report numbers, pages) beside a number of a clearer form."""
    families = {number.family for number in numbers}
    loose: set[Family] = set()
    if families & {"cassation", "cassation_old", "notice", "roll"}:
        loose.add("plain")
    if families & {"cassation", "notice"}:
        loose.add("pair")
    return [number for number in numbers if number.family not in loose]


def _drop_truncated(numbers: list[CaseNumber], text: str) -> list[CaseNumber]:
    """Drops the last item of a list if it was truncated because the field was too short."""
    last = numbers[-1]
    cut = last.family == "cassation" and last.language is None and len(last.text.rpartition(".")[2]) < 4
    if len(numbers) > 1 and cut and numbers[0].language and text.endswith(last.text):
        return numbers[:-1]
    return numbers


def _parse_unknown(text: str) -> tuple[CaseNumber, ...]:
    signs = "".join(character for character in text if character.isalnum())
    return (CaseNumber("other", signs, 0),) if any(sign.isdigit() for sign in signs) else ()


@lru_cache(maxsize=1_024)
def _parse(text: str) -> tuple[CaseNumber, ...]:
    """Returns the case numbers in a text, without labels and loose figures; empty if the text says "none".

    Dates are removed only if there would be several numbers. A text without any known form gives one of family
    "other".
    """
    simple = _CASSATION_ONLY.fullmatch(text)
    if simple:
        matter, year, sequence, language = simple.groups()
        number = text[simple.start(1) :]
        return (CaseNumber("cassation", number, int(sequence), full_year(year), matter, language=language),)
    canonical = _normalise(text)
    if canonical.strip(" .,;:'\"()[]<>") in _absent():
        return ()
    canonical = _SHORT_LIST.sub(_expand_short_list, canonical)
    numbers = _scan(_labels().sub(_strip_label, canonical))
    if len(numbers) > 1 and _DATE_LIKE.search(canonical):
        dateless = canonical
        for found in reversed(find_dates(canonical)):
            dateless = f"{dateless[: found.start]} {dateless[found.end :]}"
        if dateless != canonical:
            numbers = _scan(_labels().sub(_strip_label, dateless))
    if not numbers:
        return _parse_unknown(canonical)
    if len(numbers) == 1:
        return tuple(numbers)
    return tuple(dict.fromkeys(_drop_truncated(_drop_loose_numbers(numbers), canonical)))


def parse_case_numbers(text: str | None) -> tuple[CaseNumber, ...]:
    """Parses every case number in a field: splits lists, drops labels and loose figures. Empty if there is none."""
    return _parse(text[:_MAX_TEXT]) if text else ()


def _relate_cassation(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    """Returns how two numbers of the Court of Cassation relate, and why."""
    if (a.year, a.sequence) != (b.year, b.sequence):
        return "DIFFERENT", "the year or the sequence number differs"
    if a.matter != b.matter:
        if a.matter and b.matter:
            return "DIFFERENT", "the letter of the matter differs"
        return "PARTIAL", "one number lacks the letter of the matter"
    return _relate_language(a, b)


def _relate_language(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    """Compares two numbers that are equal apart from their language letters; a repaired letter makes them FUZZY."""
    if a.language != b.language and a.language and b.language:
        return "PARTIAL", "only the language letter differs"
    if a.repaired or b.repaired:
        return "FUZZY", "equal if a letter is read as the digit it looks like"
    if a.language != b.language:
        return "FUZZY", "one number lacks the language letter"
    return "NORMALISED", "same number, written differently"


def _relate_roll(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    """Returns how two roll numbers relate, and why; year and sequence number may have been swapped."""
    if (a.year, a.sequence) != (b.year, b.sequence):
        readings = {(a.year, a.sequence), (b.year, b.sequence)}
        swapped = a.alternative if b.alternative is None else b.alternative if a.alternative is None else None
        if swapped in readings and a.register == b.register:
            return "FUZZY", "equal if year and sequence number are swapped"
        return "DIFFERENT", "the year or the sequence number differs"
    if a.register != b.register:
        if a.register and b.register:
            return "DIFFERENT", "the register letters differ"
        return "PARTIAL", "one number lacks the register letters"
    return _relate_language(a, b)


def _relate_tailed(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    """Returns how two plain numbers or Council of State roles relate, and why.

    Each is a number and perhaps a suffix (bis; a chamber).
    """
    if a.sequence != b.sequence:
        return "DIFFERENT", "the number differs"
    if (a.register, a.suffix) != (b.register, b.suffix):
        if a.suffix and b.suffix:
            return "DIFFERENT", "what follows the number differs"
        return "PARTIAL", "one number lacks what follows it in the other"
    return _relate_language(a, b)


def _relate_old(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    if a.sequence != b.sequence or a.matter != b.matter:
        return "DIFFERENT", "the letter of the matter or the number differs"
    return _relate_language(a, b)


def _relate_key(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    if a.key == b.key:
        return "NORMALISED", "same number, written differently"
    return "DIFFERENT", "the parts of the number differ"


def _relate_unread(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    if a.text == b.text:
        return "NORMALISED", "the same characters, of no known form"
    return "INCOMPARABLE", "neither number has a known form"


_RELATE: dict[Family, Callable[[CaseNumber, CaseNumber], tuple[Relation, str]]] = {
    "cassation": _relate_cassation,
    "cassation_old": _relate_old,
    "roll": _relate_roll,
    "council_role": _relate_tailed,
    "plain": _relate_tailed,
    "notice": _relate_key,
    "other": _relate_unread,
}


def _relate(a: CaseNumber, b: CaseNumber) -> tuple[Relation, str]:
    """Compares two case numbers by the rules of their family.

    A pair counts as a roll number; numbers of other families cannot be compared.
    """
    family_a: Family = "roll" if a.family == "pair" else a.family
    family_b: Family = "roll" if b.family == "pair" else b.family
    if family_a == family_b:
        return _RELATE[family_a](a, b)
    if {family_a, family_b} == {"plain", "cassation_old"} and a.sequence == b.sequence:
        return "PARTIAL", "one number lacks the letter of the matter"
    return "INCOMPARABLE", f"the numbers are of different kinds ({a.family}, {b.family})"


def _best(relations: Iterable[tuple[Relation, str]]) -> NumberComparison:
    relation, why = max(relations, key=lambda item: (_RANK[item[0]], item[1]))
    return NumberComparison(relation, why)


@lru_cache(maxsize=1_024)
def _compare(a: str, b: str) -> NumberComparison:
    """Compares two texts that hold case numbers, and returns the best relation of any two."""
    ours, theirs = _parse(a), _parse(b)
    if not ours or not theirs:
        return NumberComparison("INCOMPARABLE", "a number is missing or cannot be read")
    if a.strip() == b.strip():
        return NumberComparison("EXACT", "the same text")
    if len(ours) == len(theirs) == 1:
        return NumberComparison(*_relate(ours[0], theirs[0]))
    return _best(_relate(x, y) for x in ours for y in theirs)


def compare(a: str | None, b: str | None) -> NumberComparison:
    """Compares two case-number fields; of lists, the pair that agrees best decides."""
    if not a or not b:
        return NumberComparison("INCOMPARABLE", "a number is missing")
    return _compare(a[:_MAX_TEXT], b[:_MAX_TEXT])


def _compare_with_constitutional_court(number: CaseNumber, ecli: Ecli) -> Relation:
    """Compares a case number with an ECLI of the Constitutional Court.

    A bare number can support the judgment but not contradict it.
    """
    if number.family == "plain":
        # A bare number may be a role number, so it can support a judgment but not contradict it.
        return "PARTIAL" if number.sequence == ecli.number else "INCOMPARABLE"
    if number.family != "pair":
        return "INCOMPARABLE"
    if (number.year, number.sequence) == (ecli.year, ecli.number):
        return "FUZZY" if number.repaired else "NORMALISED"
    return "FUZZY" if number.alternative == (ecli.year, ecli.number) else "DIFFERENT"


def _compare_with_council_of_state(number: CaseNumber, ecli: Ecli) -> Relation:
    """Compares a case number with an ECLI of the Council of State."""
    if number.family != "plain":
        return "INCOMPARABLE"
    if number.sequence != ecli.number:
        return "DIFFERENT"
    return "FUZZY" if number.repaired else "NORMALISED"


def compare_with_ecli(number: str | None, ecli: Ecli) -> Relation:
    """Returns how a cited number relates to the judgment number in an ECLI; of several numbers, the best relation.

    Only ECLIs of the Constitutional Court and the Council of State hold one. Everything else, role numbers
    included, is INCOMPARABLE.
    """
    court = code_aliases().get(ecli.court_code, ecli.court_code)
    judge = {"GHCC": _compare_with_constitutional_court, "RVSCE": _compare_with_council_of_state}.get(court)
    if judge is None or ecli.country != "BE" or ecli.number is None:
        return "INCOMPARABLE"
    relations = [judge(parsed, ecli) for parsed in parse_case_numbers(number)]
    return max(relations, key=lambda relation: _RANK[relation], default="INCOMPARABLE")
