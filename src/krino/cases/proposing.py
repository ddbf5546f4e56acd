"""Proposes a mapping for records of an unknown format: by names, by what values look like, and by which values recur.

A name counts most; values decide between names that fit as well, and rule out those that cannot be meant. Every
proposal says why it was made, and nothing is proposed for a field that the judge finds by itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, NamedTuple

from krino.cases.content import spelling_of
from krino.cases.item import ID_FIELDS, case_id
from krino.cases.mapping import EACH
from krino.contract import AnyJudge
from krino.contract.record_fields import names_of

_DEEPEST = 6
_MOST_COLUMNS = 2_000
_SAMPLES = 40
_MOST_RIVALS = 3
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_ENDING = re.compile(r"(?<=\w{3})(?:ed|s)$")
_SMALL = frozenset({"de", "du", "la", "le", "of", "the", "van", "het", "der", "des", "von"})
_OF_TRUTH = frozenset(
    {
        "gold",
        "golden",
        "truth",
        "expected",
        "correct",
        "ideal",
        *("desired", "should", "target", "perfect", "curated", "expert", "annotator", "sme"),
        *("attendue", "attendu", "verwacht", "juist", "erwartete", "musterloesung", "musterantwort", "esperada"),
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
_TRUTH_OF = {"reference": "answer"}
"""A name of what is judged, below a word for truth, is the truth: `gold.modelAnswer`, `expected.output`."""
_SAYS_NOTHING = frozenset(
    {
        *("name", "naam", "nom", "text", "tekst", "texte", "value", "content", "label", "string", "body", "message"),
        *("markdown", "html", "plain", "raw"),
    }
)
_ID_WORDS = (
    *("id", "uuid", "guid", "uid", "case id", "log id", "record id", "ref", "key", "number", "no", "nr"),
    *("identifiant", "numero", "kenmerk", "nummer"),
)
_HIGHEST = 2
"""How many objects above a text may name it: `virtualAgent.turn.utterance`."""
_BY_OBJECT = 0.8
_BY_ABSENCE = 0.5
_ANY_TEXT = "x"
_FITS = 0.3  # of the values that are looked at
_BY_VALUES_ALONE = 0.95
_LEAST = 0.7
_NEARLY = 0.35
"""A path whose score is this near is named beside the one that is proposed."""
_LINKED = 0.5
_BY_VALUES, _BY_INNER, _BY_LINK = 0.6, 0.25, 1.5


@dataclass(frozen=True, slots=True)
class Proposal:
    """Take a field of the case from a path of the records, and why."""

    target: str
    source: str
    why: str
    by_name: bool = True
    """Whether a name says so, and not only what the values look like."""


class _Score(NamedTuple):
    """How well a column fits a field, why, and whether a name or a recurring value says so."""

    score: float
    why: str = ""
    by_name: bool = False


_NEVER = _Score(-1.0)
"""The values cannot be meant, or the column is about what is known to be right."""


@dataclass(slots=True)
class SeenColumn:
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
        return tuple(word for part in self.path for word in split_name(part))

    @property
    def dotted(self) -> str:
        return ".".join(self.path)


SeenColumns = dict[tuple[str, ...], SeenColumn]


@dataclass(frozen=True, slots=True)
class _Fit:
    """How well a column fits a field; `inner` are the fields of the elements, where it is a list of objects."""

    score: float
    target: str
    column: SeenColumn
    why: str
    by_name: bool
    inner: tuple[Proposal, ...] = ()


def survey(records: Iterable[Mapping[str, Any]]) -> SeenColumns:
    """Every path of the records that does not lead through a list, with how many have it and some of its values; null
    does not count."""
    columns: SeenColumns = {}
    for record in records:
        for path, value in _walk(record, ()):
            if path in columns or len(columns) < _MOST_COLUMNS:
                columns.setdefault(path, SeenColumn(path)).add(value)
    return columns


def _walk(value: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yields every path in a record that a mapping can name, with its value."""
    for name, inner in value.items():
        if inner is None or not isinstance(name, str):
            continue
        if not name or "=" in name or any(not part for part in name.split(".")) or (path and "." in name):
            continue  # a mapping cannot name it
        yield (*path, name), inner
        if isinstance(inner, Mapping) and len(path) < _DEEPEST:
            yield from _walk(inner, (*path, name))


def _share_of_records(column: SeenColumn, records: Sequence[Any]) -> float:
    """The share of the records that have the column, from 0 to 1: of two names, the one that most records have is
    meant."""
    return min(1.0, column.records / max(1, len(records)))


def propose(judge: AnyJudge, records: Sequence[Mapping[str, Any]]) -> tuple[list[Proposal], set[str]]:
    """Proposes a mapping for these records, empty where the judge reads them as they are. Also returns the fields that
    a name identifies, mapped or not."""
    columns = survey(records)
    links = _Links(judge, records)
    chosen: list[Proposal] = [*_propose_id(records, columns)]
    ids = {tuple(item.source.split(".")) for item in chosen}
    fits = sorted(_all_fits(judge, columns, links, records), key=lambda fit: -fit.score)
    first = _settle(fits, ids)  # then once more, where fields that fit alike go to the company of the others
    settled = _settle(sorted(fits, key=lambda fit: (-round(fit.score, 6), -_count_shared_objects(fit, first))), ids)
    taken = {fit.column.path for fit in settled.values()}
    for fit in settled.values():
        rivals = [other for other in fits if other.target == fit.target and _is_nearly(other.score, fit.score)]
        paths = [other.column.dotted for other in rivals if other.column.path not in taken]
        chosen += _as_proposals(judge, fit, paths)
    named = {target for target, fit in settled.items() if fit.by_name}
    return sorted(chosen, key=lambda item: _field_order(judge, item.target)), named


def _settle(fits: Iterable[_Fit], ids: set[tuple[str, ...]]) -> dict[str, _Fit]:
    """Chooses for each field its first fit whose column is free. `fits` are in order of preference, `ids` are taken
    already.

    A column that fits a settled field as well as the chosen one does is kept from fields that it fits less.
    """
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


def _is_nearly(one: float, other: float) -> bool:
    return other - one <= _NEARLY


def _count_shared_objects(fit: _Fit, settled: Mapping[str, _Fit]) -> int:
    """How near a column lies to those settled for other fields: counts the objects that its path shares with each."""
    others = (other.column.path for target, other in settled.items() if target != fit.target)
    return sum(_common_prefix_length(fit.column.path[:-1], path[:-1]) for path in others)


def _common_prefix_length(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    same = (part == its for part, its in zip(one, other, strict=False))
    return next((place for place, is_same in enumerate(same) if not is_same), min(len(one), len(other)))


def _as_proposals(judge: AnyJudge, fit: _Fit, rivals: Sequence[str]) -> list[Proposal]:
    """The proposals of a settled fit: for a list, those of its elements' fields; none for a field that the judge finds
    itself."""
    if fit.inner:
        first, *more = fit.inner
        return [Proposal(first.target, first.source, _with_rivals(first.why, rivals), first.by_name), *more]
    if _is_found(judge, fit.target, fit.column.path):
        return []
    return [Proposal(fit.target, fit.column.dotted, _with_rivals(fit.why, rivals), fit.by_name)]


def _with_rivals(why: str, rivals: Sequence[str]) -> str:
    """The reason, and which other paths have it too: a person must choose."""
    return why + "".join(f", or {path}" for path in rivals[:_MOST_RIVALS])


def _field_order(judge: AnyJudge, target: str) -> tuple[int, int]:
    """Returns the sort key of a field: its place in the judge's model."""
    fields = list(judge.case_model.model_fields)
    top = target.partition(EACH)[0]
    known = list(judge.fields.words)
    return (fields.index(top) if top in fields else -1, known.index(target) if target in known else -1)


# --- how well a column fits ------------------------------------------------------------------------


def _all_fits(judge: AnyJudge, columns: SeenColumns, links: _Links, records: Sequence[Any]) -> Iterator[_Fit]:
    """Yields every column that fits a field of the judge, with its score, which is lower if records lack it."""
    for target in judge.fields.words:
        if EACH in target or target not in judge.case_model.model_fields:
            continue
        for column in columns.values():
            fit = _fit_of(judge, target, column, links)
            if fit is not None:
                yield replace(fit, score=fit.score - _BY_ABSENCE * (1 - _share_of_records(column, records)))


def _fit_of(judge: AnyJudge, target: str, column: SeenColumn, links: _Links) -> _Fit | None:
    """Returns how well a column fits a field, or None if it does not."""
    found = _is_found(judge, target, column.path)
    fit = _score_column(judge, target, target, column, links)
    if found and fit.score >= 0:  # an object under a name that the judge knows, `gold: {...}`, is not what it reads
        fit = _Score(3.0, "found by the judge", by_name=True)
    score, by_name = fit.score, fit.by_name
    inner: tuple[Proposal, ...] = ()
    if target in judge.fields.inner_names and score >= 0:
        inner, weight = _propose_inner(judge, target, column, links)
        score += weight
    if score < _LEAST:
        return None
    return _Fit(score - 0.02 * len(column.path), target, column, fit.why, by_name, inner)


def _is_found(judge: AnyJudge, target: str, path: tuple[str, ...]) -> bool:
    return len(path) == 1 and spelling_of(judge)(path[0]) in names_of(judge, target)


def _score_column(judge: AnyJudge, target: str, key: str, column: SeenColumn, links: _Links) -> _Score:
    """Scores a column for a field by its name, by the form of its values, and by links to other columns; `_NEVER` if
    its name or values rule it out."""
    if not _may_be(target, key, column):
        return _NEVER
    named, word = _name_score(column, judge.fields.words.get(key, ()))
    if not named and target in _TRUTH_OF and _is_about_truth(column):
        named, word = _name_score(column, judge.fields.words.get(_TRUTH_OF[target], ()))
    linked = links.share(key, column)
    kind, test = judge.fields.shapes.get(key, ("a value", lambda value: True))
    fitting = sum(map(test, column.values)) / max(1, len(column.values))
    if fitting < _FITS:
        return _NEVER
    said = f"its values are {kind}" if fitting == 1 else f"{fitting:.0%} of its values are {kind}"
    if linked >= _LINKED:
        said = f"its values are those of `{judge.fields.links[key]}`"
        return _Score(named + _BY_VALUES * fitting + _BY_LINK * linked, said, by_name=True)
    if named:
        return _Score(named + _BY_VALUES * fitting, f"its name fits {word}, {said}", by_name=True)
    if fitting >= _BY_VALUES_ALONE and _is_telling(judge, key, column):
        return _Score(_LEAST + _bonus_for_length(column), said)
    return _Score(0.0)


def _bonus_for_length(column: SeenColumn) -> float:
    """A bonus of at most 0.1 for long texts: of two that nothing names, the longer is the passage and the shorter its
    title."""
    length = sum(len(value) for value in column.values if isinstance(value, str)) / len(column.values)
    return 0.1 * length / (length + 500)


def _may_be(target: str, key: str, column: SeenColumn) -> bool:
    """May a column hold this field? What is judged is not in a column of right answers, or of another system."""
    of_truth, perhaps = not _OF_TRUTH.isdisjoint(column.words), _is_about_truth(column)
    if (of_truth and target not in _TRUTHS) or (not perhaps and target == "ground_truth"):
        return False
    if perhaps and key in _JUDGED:
        return False
    return key.partition(EACH)[0] not in _JUDGED or _OF_OTHERS.isdisjoint(column.words)


def _is_about_truth(column: SeenColumn) -> bool:
    return not (_OF_TRUTH | _PERHAPS_OF_TRUTH).isdisjoint(column.words)


def _is_telling(judge: AnyJudge, key: str, column: SeenColumn) -> bool:
    """Whether values of this kind need no name: no other field of the level has it, and it is not just any text."""
    level = key.rpartition(EACH)[0]
    kind, test = judge.fields.shapes[key]
    if test(_ANY_TEXT) or (not level and any(map(_is_prose, column.values))):
        return False
    kinds = [shape[0] for other, shape in judge.fields.shapes.items() if other.rpartition(EACH)[0] == level]
    return kinds.count(kind) == 1


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) and value.count(" ") > 1


@lru_cache(maxsize=4_096)
def split_name(name: str) -> tuple[str, ...]:
    """`citedCourtName`, `cited-court_name` and `CitedCourtName` alike: cited, court, name; without accents."""
    plain = unicodedata.normalize("NFKD", name[:200])
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return tuple(word for word in map(str.lower, _WORD.findall(plain)) if word not in _SMALL)


def _stems(name: str) -> tuple[str, ...]:
    """The words without the endings of plurals and participles: `docs` and `doc`, `answered` and `answer`."""
    return tuple(_ENDING.sub("", word) for word in split_name(name))


def _name_score(column: SeenColumn, wanted: Iterable[str]) -> tuple[float, str]:
    """Scores the name of a column against words, and returns the best word too: 1 for a name, or the end of a path,
    that is one of them; less where it only holds one."""
    parts = [_stems(part) for part in column.path]
    is_prose = sum(map(_is_prose, column.values)) >= 0.5 * len(column.values)
    best, best_word = 0.0, ""
    for text in wanted:
        score = _likeness(parts, _stems(text), is_prose)
        if score > best:
            best, best_word = score, text
    return best, f"`{best_word}`"


def _likeness(parts: Sequence[tuple[str, ...]], word: tuple[str, ...], is_prose: bool) -> float:
    """How well a path matches a word. The last part counts most; above a part that says nothing, or above prose, the
    objects that hold it count too."""
    best, weight = 0.0, 1.0
    for height in range(min(len(parts), _HIGHEST + 1)):
        shown = parts[: len(parts) - height]
        best = max(best, weight * _likeness_of_end(shown, word, is_prose))
        if _SAYS_NOTHING.issuperset(shown[-1]):
            continue  # court.name, answer.text
        if not is_prose:
            break
        weight *= _BY_OBJECT
    return best


def _likeness_of_end(parts: Sequence[tuple[str, ...]], word: tuple[str, ...], is_prose: bool) -> float:
    """Returns how well the end of a column's name matches a word, from 0 to a little over 1."""
    last, path = parts[-1], tuple(piece for part in parts for piece in part)
    if not word or not last:
        return 0.0
    if "".join(last) == "".join(word) or path[-len(word) :] == word:
        return 1.0 + 0.01 * len(word)
    if last[-len(word) :] == word:
        return 0.85
    if last[: len(word)] == word and (is_prose or _SAYS_NOTHING.issuperset(last[len(word) :])):
        return 0.85  # question_body, and not question_id
    return 0.75 if set(word) <= set(path) and not set(word).isdisjoint(last) else 0.0


# --- fields of elements ----------------------------------------------------------------------------


def _propose_inner(
    judge: AnyJudge, target: str, column: SeenColumn, links: _Links
) -> tuple[tuple[Proposal, ...], float]:
    """Proposes a mapping for the fields of a list's elements; also returns by how much they raise the score of the
    list."""
    elements = [item for value in column.values for item in _objects_in(value)]
    if not elements:
        return (), 0.0
    columns, spell = survey(elements), spelling_of(judge)
    names = judge.fields.inner_names[target]
    found = {
        name for name, known in names.items() if any(spell(path[0]) in known for path in columns if len(path) == 1)
    }
    read = {path for path in columns if len(path) == 1 and any(spell(path[0]) in known for known in names.values())}
    fits = [
        (fit.score - 0.02 * len(inner.path), name, inner, fit)
        for name in names
        for inner in columns.values()
        for fit in [_score_inner(judge, target, name, inner, links)]
        if fit.score >= _LEAST
    ]
    chosen: dict[str, Proposal] = {}
    taken: set[tuple[str, ...]] = set(read)
    for _, name, inner, fit in sorted(fits, key=lambda each: -each[0]):
        # A link also holds where the name is that of another field, as an ECLI by which matches are named.
        linked = links.share(f"{target}{EACH}{name}", inner) >= _LINKED
        if name in chosen or (name in found and not linked) or (inner.path in taken and not linked):
            continue
        if len(inner.path) == 1 and spell(inner.path[0]) == name:
            continue
        chosen[name] = Proposal(f"{target}{EACH}{name}", f"{column.dotted}{EACH}{inner.dotted}", fit.why, fit.by_name)
        taken.add(inner.path)
    weight = _BY_INNER * min(5, len(chosen.keys() | found))
    return tuple(chosen.values()), weight


def _score_inner(judge: AnyJudge, target: str, name: str, inner: SeenColumn, links: _Links) -> _Score:
    key = f"{target}{EACH}{name}"
    return _score_column(judge, name, key, inner, links) if key in judge.fields.words else _NEVER


def _objects_in(value: Any) -> list[Mapping[str, Any]]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items[:_SAMPLES] if isinstance(item, Mapping)]


class _Links:
    """Values that recur: a match names its candidate by the value of one of the candidate's fields."""

    def __init__(self, judge: AnyJudge, records: Sequence[Mapping[str, Any]]) -> None:
        self._judge = judge
        self._ids = _ids_in_lists(records) if judge.fields.links else set()

    def share(self, key: str, column: SeenColumn) -> float:
        """The share of the values of a column (0 to 1) that are values of the field which this one refers to."""
        if key not in self._judge.fields.links or not column.values:
            return 0.0
        plain = [value for value in column.values if isinstance(value, str | int) and not isinstance(value, bool)]
        return sum(str(value) in self._ids for value in plain) / len(column.values)


def _ids_in_lists(records: Sequence[Mapping[str, Any]]) -> set[str]:
    """The short values in lists of two objects or more, if no two in a list are equal."""
    found: set[str] = set()
    for record in records:
        for _, value in _walk(record, ()):
            items = _objects_in(value) if isinstance(value, list) else []
            for name in {name for item in items for name in item} if len(items) > 1 else ():
                values = [item.get(name) for item in items]
                short = [str(it) for it in values if isinstance(it, str | int) and len(str(it)) < 100]
                if len(set(short)) == len(items):
                    found.update(short)
    return found


def _propose_id(records: Sequence[Mapping[str, Any]], columns: SeenColumns) -> Iterator[Proposal]:
    """Yields at most one proposal for the id, if the records have none that is found by itself."""
    if any(case_id(record) is not None for record in records) or len(records) < 2:
        return
    for column in sorted(columns.values(), key=lambda item: len(item.path)):
        values = [str(value) for value in column.values if isinstance(value, str | int) and len(str(value)) < 100]
        named, _ = _name_score(column, _ID_WORDS)
        unlike = len(set(values)) == min(len(records), _SAMPLES)
        if named >= 0.85 and column.records == len(records) and unlike and column.path[-1] not in ID_FIELDS[1:]:
            yield Proposal(ID_FIELDS[0], column.dotted, "every record has another value there")
            return
