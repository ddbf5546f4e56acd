"""Proposes a mapping for records of an unknown format: by names, by what values look like, and by which values recur.

A name counts most; values decide between names that fit as well, and rule out those that cannot be meant. Every
proposal says why it was made, and nothing is proposed for a field that the judge finds by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from krino.cases.content import spelling_of
from krino.cases.item import ID_FIELDS, case_id
from krino.cases.mapping import EACH
from krino.contract import AnyJudge
from krino.contract.case_fields import names_of

_DEEPEST = 6
_MOST_COLUMNS = 2_000
_SAMPLES = 40
_MOST_RIVALS = 3
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_SMALL = frozenset({"de", "du", "la", "le", "of", "the", "van", "het", "der", "des", "von"})
_OF_TRUTH = frozenset(
    {
        "gold",
        "golden",
        "truth",
        "expected",
        "correct",
        "ideal",
        *("attendue", "attendu", "verwacht", "juist", "erwartete"),
    }
)
_OF_OTHERS = frozenset(
    {
        *("reference", "references", "baseline", "baselines", "previous", "prior", "old", "former"),
        *("vorige", "vorig", "oude", "precedent", "precedente", "ancien", "ancienne", "vorherige", "alte"),
    }
)
"""What is not known to be right, and yet not what is judged."""
_PERHAPS_OF_TRUTH = frozenset({"label"})
"""What is known to be right, or just how a thing is called: `court.label`."""
_JUDGED = frozenset({"answer", "trace", "matches", "no_match_reason"})
_TRUTHS = frozenset({"reference", "ground_truth"})
_SAYS_NOTHING = frozenset(
    {"name", "naam", "nom", "text", "tekst", "texte", "value", "content", "label", "string", "body", "message"}
)
_ID_WORDS = ("id", "uuid", "case id", "log id", "record id", "ref", "key", "identifiant", "kenmerk")
_FITS = 0.3  # of the values that are looked at
_BY_VALUES_ALONE = 0.95
_LEAST = 0.7
_LINKED = 0.5
_BY_VALUES, _BY_INNER, _BY_LINK = 0.6, 0.25, 1.5


@dataclass(frozen=True, slots=True)
class Proposal:
    """Take a field of the case from a path of the records, and why."""

    target: str
    source: str
    why: str


@dataclass(slots=True)
class Column:
    """A path in the records: how many have a value there, and some of the values."""

    path: tuple[str, ...]
    records: int = 0
    values: list[Any] = field(default_factory=list)

    def add(self, value: Any) -> None:
        self.records += 1
        if len(self.values) < _SAMPLES:
            self.values.append(value)

    @property
    def words(self) -> tuple[str, ...]:
        return tuple(word for part in self.path for word in words_of(part))

    @property
    def dotted(self) -> str:
        return ".".join(self.path)


Columns = dict[tuple[str, ...], Column]


@dataclass(frozen=True, slots=True)
class _Fit:
    """How well a column fits a field; `inner` are the fields of the elements, where it is a list of objects."""

    score: float
    target: str
    column: Column
    why: str
    inner: tuple[Proposal, ...] = ()


def survey(records: Iterable[Mapping[str, Any]]) -> Columns:
    """Every path of the records that does not lead through a list, with its values that are not null."""
    columns: Columns = {}
    for record in records:
        for path, value in _walk(record, ()):
            if path in columns or len(columns) < _MOST_COLUMNS:
                columns.setdefault(path, Column(path)).add(value)
    return columns


def _walk(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in value.items():
        if inner is None or not isinstance(name, str):
            continue
        if not name or "=" in name or any(not part for part in name.split(".")):
            continue  # a mapping cannot name it
        yield (*path, name), inner
        if isinstance(inner, Mapping) and len(path) < _DEEPEST:
            yield from _walk(inner, (*path, name))


def propose(judge: AnyJudge, records: Sequence[Mapping[str, Any]]) -> tuple[list[Proposal], set[str]]:
    """The mapping for these records, empty where the judge reads them as they are; and the fields that they have."""
    columns = survey(records)
    links = _Links(judge, records)
    chosen: list[Proposal] = [*_propose_id(records, columns)]
    ids = {tuple(item.source.split(".")) for item in chosen}
    fits = sorted(_all_fits(judge, columns, links), key=lambda fit: -fit.score)
    first = _settle(fits, ids)  # then once more, where fields that fit alike go to the company of the others
    settled = _settle(sorted(fits, key=lambda fit: (-round(fit.score, 6), -_company(fit, first))), ids)
    taken = {fit.column.path for fit in settled.values()}
    for fit in settled.values():
        rivals = [other for other in fits if other.target == fit.target and _is_tie(other.score, fit.score)]
        paths = [other.column.dotted for other in rivals if other.column.path not in taken]
        chosen += _as_proposals(judge, fit, paths)
    return sorted(chosen, key=lambda item: _order(judge, item.target)), set(settled)


def _settle(fits: Iterable[_Fit], ids: set[tuple[str, ...]]) -> dict[str, _Fit]:
    """The first fit of each field whose column no other field has, and is no rival for one that it fits better."""
    settled: dict[str, _Fit] = {}
    taken = set(ids)
    rivals: dict[tuple[str, ...], float] = {}
    for fit in fits:
        path = fit.column.path
        if fit.target in settled:
            if _is_tie(fit.score, settled[fit.target].score):
                rivals.setdefault(path, fit.score)
        elif not any(path[: len(other)] == other for other in taken) and (
            path not in rivals or _is_tie(fit.score, rivals[path])
        ):
            settled[fit.target] = fit
            taken.add(path)
    return settled


def _is_tie(one: float, other: float) -> bool:
    return round(one - other, 6) == 0


def _company(fit: _Fit, settled: Mapping[str, _Fit]) -> int:
    """How near a column lies to those of the other fields: the objects that it shares with each."""
    others = (other.column.path for target, other in settled.items() if target != fit.target)
    return sum(_shared(fit.column.path[:-1], path[:-1]) for path in others)


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    same = (part == its for part, its in zip(one, other, strict=False))
    return next((place for place, is_same in enumerate(same) if not is_same), min(len(one), len(other)))


def _as_proposals(judge: AnyJudge, fit: _Fit, rivals: Sequence[str]) -> list[Proposal]:
    """A list whose elements are mapped comes along with them; a field that the judge finds needs no proposal."""
    if fit.inner:
        first, *more = fit.inner
        return [Proposal(first.target, first.source, _with_rivals(first.why, rivals)), *more]
    if _is_found(judge, fit.target, fit.column.path):
        return []
    return [Proposal(fit.target, fit.column.dotted, _with_rivals(fit.why, rivals))]


def _with_rivals(why: str, rivals: Sequence[str]) -> str:
    """The reason, and which other paths have it too: a person must choose."""
    return why + "".join(f", or {path}" for path in rivals[:_MOST_RIVALS])


def _order(judge: AnyJudge, target: str) -> tuple[int, int]:
    fields = list(judge.case_model.model_fields)
    top = target.partition(EACH)[0]
    known = list(judge.fields.words)
    return (fields.index(top) if top in fields else -1, known.index(target) if target in known else -1)


# --- how well a column fits ------------------------------------------------------------------------


def _all_fits(judge: AnyJudge, columns: Columns, links: _Links) -> Iterator[_Fit]:
    for target in judge.fields.words:
        if EACH in target or target not in judge.case_model.model_fields:
            continue
        for column in columns.values():
            fit = _fit_of(judge, target, column, links)
            if fit is not None:
                yield fit


def _fit_of(judge: AnyJudge, target: str, column: Column, links: _Links) -> _Fit | None:
    found = _is_found(judge, target, column.path)
    score, why = _score(judge, target, target, column, links)
    if found:
        score, why = 3.0, "found by the judge"
    inner: tuple[Proposal, ...] = ()
    if target in judge.fields.inner_names and score >= 0:
        inner, weight = _inner(judge, target, column, links)
        score += weight
    return _Fit(score - 0.02 * len(column.path), target, column, why, inner) if score >= _LEAST else None


def _is_found(judge: AnyJudge, target: str, path: tuple[str, ...]) -> bool:
    return len(path) == 1 and spelling_of(judge)(path[0]) in names_of(judge, target)


def _score(judge: AnyJudge, target: str, key: str, column: Column, links: _Links) -> tuple[float, str]:
    """Below 0 where the values cannot be meant, or the column is about what is known to be right."""
    of_truth = not _OF_TRUTH.isdisjoint(column.words)
    perhaps = of_truth or not _PERHAPS_OF_TRUTH.isdisjoint(column.words)
    if (of_truth and target not in _TRUTHS) or (not perhaps and target == "ground_truth"):
        return -1.0, ""
    if perhaps and key in _JUDGED:
        return -1.0, ""
    if key.partition(EACH)[0] in _JUDGED and not _OF_OTHERS.isdisjoint(column.words):
        return -1.0, ""
    named, word = _name_score(column, judge.fields.words.get(key, ()))
    linked = links.share(key, column)
    kind, test = judge.fields.shapes.get(key, ("a value", lambda value: True))
    fitting = sum(map(test, column.values)) / max(1, len(column.values))
    if fitting < _FITS:
        return -1.0, ""
    said = f"its values are {kind}" if fitting == 1 else f"{fitting:.0%} of its values are {kind}"
    if linked >= _LINKED:
        return named + _BY_VALUES * fitting + _BY_LINK * linked, f"its values are those of `{judge.fields.links[key]}`"
    if named:
        return named + _BY_VALUES * fitting, f"its name fits {word}, {said}"
    if fitting >= _BY_VALUES_ALONE and kind in _telling(judge):
        return _LEAST, said
    return 0.0, ""


def _telling(judge: AnyJudge) -> set[str]:
    """Kinds of value that only one field has at its level: they are enough without a name."""
    kinds = [(key.partition(EACH)[0] if EACH in key else "", shape[0]) for key, shape in judge.fields.shapes.items()]
    return {kind for level, kind in kinds if kinds.count((level, kind)) == 1}


@lru_cache(maxsize=4_096)
def words_of(name: str) -> tuple[str, ...]:
    """`citedCourtName`, `cited-court_name` and `CitedCourtName` alike: cited, court, name; without accents."""
    plain = unicodedata.normalize("NFKD", name[:200])
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return tuple(word for word in map(str.lower, _WORD.findall(plain)) if word not in _SMALL)


def _name_score(column: Column, wanted: Iterable[str]) -> tuple[float, str]:
    """1 for a name, or the end of a path, that is one of the words; less where it only holds them."""
    last, path = words_of(column.path[-1]), column.words
    if len(column.path) > 1 and _SAYS_NOTHING.issuperset(last):  # court.name, answer.text
        last = words_of(column.path[-2])
        path = path[: -len(words_of(column.path[-1])) or None]
    best, best_word = 0.0, ""
    for text in wanted:
        word = words_of(text)
        score = _likeness(last, path, word)
        if score > best:
            best, best_word = score, text
    return best, f"`{best_word}`"


def _likeness(last: tuple[str, ...], path: tuple[str, ...], word: tuple[str, ...]) -> float:
    if not word or not last:
        return 0.0
    if "".join(last) == "".join(word) or path[-len(word) :] == word:
        return 1.0 + 0.01 * len(word)
    if last[-len(word) :] == word or last[: len(word)] == word:
        return 0.85
    return 0.75 if set(word) <= set(path) and not set(word).isdisjoint(last) else 0.0


# --- fields of elements ----------------------------------------------------------------------------


def _inner(judge: AnyJudge, target: str, column: Column, links: _Links) -> tuple[tuple[Proposal, ...], float]:
    """Proposals for the fields of a list's elements, and how well they fit the list."""
    elements = [item for value in column.values for item in _elements(value)]
    if not elements:
        return (), 0.0
    columns, spell = survey(elements), spelling_of(judge)
    names = judge.fields.inner_names[target]
    found = {
        name for name, known in names.items() if any(spell(path[0]) in known for path in columns if len(path) == 1)
    }
    read = {path for path in columns if len(path) == 1 and any(spell(path[0]) in known for known in names.values())}
    fits = [
        (score - 0.02 * len(inner.path), name, inner, why)
        for name in names
        for inner in columns.values()
        for score, why in [_score_inner(judge, target, name, inner, links)]
        if score >= _LEAST
    ]
    chosen: dict[str, Proposal] = {}
    taken: set[tuple[str, ...]] = set(read)
    for _, name, inner, why in sorted(fits, key=lambda fit: -fit[0]):
        # A link also holds where the name is that of another field, as an ECLI that matches go by.
        linked = links.share(f"{target}{EACH}{name}", inner) >= _LINKED
        if name in chosen or (name in found and not linked) or (inner.path in taken and not linked):
            continue
        if len(inner.path) == 1 and spell(inner.path[0]) == name:
            continue
        chosen[name] = Proposal(f"{target}{EACH}{name}", f"{column.dotted}{EACH}{inner.dotted}", why)
        taken.add(inner.path)
    weight = _BY_INNER * min(5, len(chosen.keys() | found))
    return tuple(chosen.values()), weight


def _score_inner(judge: AnyJudge, target: str, name: str, inner: Column, links: _Links) -> tuple[float, str]:
    key = f"{target}{EACH}{name}"
    return _score(judge, name, key, inner, links) if key in judge.fields.words else (-1.0, "")


def _elements(value: Any) -> list[Mapping[str, Any]]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items[:_SAMPLES] if isinstance(item, Mapping)]


class _Links:
    """Values that recur: a match names its candidate by the value of one of the candidate's fields."""

    def __init__(self, judge: AnyJudge, records: Sequence[Mapping[str, Any]]) -> None:
        self._judge = judge
        self._ids = _ids_in_lists(records) if judge.fields.links else set()

    def share(self, key: str, column: Column) -> float:
        """How many of the values of a column are values of the field that this one refers to."""
        if key not in self._judge.fields.links or not column.values:
            return 0.0
        plain = [value for value in column.values if isinstance(value, str | int) and not isinstance(value, bool)]
        return sum(str(value) in self._ids for value in plain) / len(column.values)


def _ids_in_lists(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """The short values in lists of two objects or more, no two of which are alike in their list."""
    found: set[str] = set()
    for record in records:
        for _, value in _walk(record, ()):
            items = _elements(value) if isinstance(value, list) else []
            for name in {name for item in items for name in item} if len(items) > 1 else ():
                values = [item.get(name) for item in items]
                short = [str(it) for it in values if isinstance(it, str | int) and len(str(it)) < 100]
                if len(set(short)) == len(items):
                    found.update(short)
    return found


def _propose_id(records: Sequence[Mapping[str, Any]], columns: Columns) -> Iterator[Proposal]:
    """An id of the records, where they have none that is found by itself."""
    if any(case_id(record) is not None for record in records) or len(records) < 2:
        return
    for column in sorted(columns.values(), key=lambda item: len(item.path)):
        values = [str(value) for value in column.values if isinstance(value, str | int) and len(str(value)) < 100]
        named, _ = _name_score(column, _ID_WORDS)
        unlike = len(set(values)) == min(len(records), _SAMPLES)
        if named >= 0.85 and column.records == len(records) and unlike and column.path[-1] not in ID_FIELDS[1:]:
            yield Proposal(ID_FIELDS[0], column.dotted, "every record has another value there")
            return
