"""Keeps what people say of cases. Nothing is overwritten: a second label is a second line, and so is an undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import blake2b
from os import PathLike
from typing import Any, Literal, Self
from uuid import uuid4

import orjson
from sqlalchemy import Row, Select, Table, exists, func, insert, select
from sqlalchemy.exc import IntegrityError

from krino.errors import UsageProblem
from krino.people.database import address_of, connect, migrate, refuse_other_version, told, writing
from krino.people.tables import events
from krino.runs.manifest import Manifest
from krino.text.clean import clean, clean_line, clean_name

Depth = Literal["fields", "labels"]
DEPTHS: tuple[Depth, ...] = ("fields", "labels")
Why = Literal["seats", "runs", "raters", "unsure", "random", "chosen"]
"""Why the queue brought a case; `chosen`: the person opened it."""
LONGEST_RATER = 80
LONGEST_NOTE = 4_000
LISTED = "in a list"
_MANY = 500  # values in one statement
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """What labels belong to beside a case's content: a judge and its options. Runs come and go."""

    judge: str
    options: str
    """A hash of them."""
    version: str = ""
    """Of the judge, for those who want to know; labels belong to all versions."""

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        judge = manifest.plan.judge
        return cls.of_judge(judge["name"], judge["version"], judge.get("options") or {})

    @classmethod
    def of_judge(cls, name: str, version: str, options: Mapping[str, Any]) -> Self:
        """`options`: all of them, as a run records them."""
        written = orjson.dumps(options, option=orjson.OPT_SORT_KEYS)
        return cls(name, blake2b(written, digest_size=16).hexdigest(), version)


@dataclass(frozen=True, slots=True)
class Place:
    """The case that somebody looks at, and in which run."""

    subject: Subject
    input_hash: str
    case_id: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of what people did: `label` (with an answer), `skip`, `undo` (of an earlier line) or `seen` (with the
    note `LISTED` where it was among others in a list)."""

    place: Place
    rater: str
    depth: Depth
    action: Literal["label", "skip", "undo", "seen"]
    answer: Mapping[str, Any] | None = None
    """Fields of the verdict, or the labels, by the depth."""
    verdict: Mapping[str, Any] | None = None
    """Of labels: what the judge's rules made of them when they were given."""
    note: str = ""
    why: Why = "chosen"
    random: bool = False
    blind: bool = True
    undoes: int | None = None
    created: str = ""
    id: int = 0

    @property
    def fields(self) -> Mapping[str, Any]:
        """What the person says of the fields of the verdict, either way."""
        return (self.verdict if self.depth == "labels" else self.answer) or {}


class LabelStore:
    """The labels of people. May be used by many threads and several servers at the same time."""

    def __init__(self, where: str | PathLike[str], *, read_only: bool = False) -> None:
        """`where`: a folder of runs, a file, or the address of a database. `read_only`: it must be there already."""
        self.engine = connect(address_of(where, create=not read_only))
        if read_only:
            refuse_other_version(self.engine)
        else:
            migrate(self.engine)

    def close(self) -> None:
        self.engine.dispose()

    # --- writing ---------------------------------------------------------------------------------------

    def add(self, event: Event, key: str | None = None) -> Event:
        """Write one line; it is on disk when this returns. With a `key` that was used before, the line of then.

        Whether the person was blind is for the record to say, not for the caller.
        """
        values = _values(event, key or uuid4().hex)
        event = replace(event, rater=values["rater"], note=values["note"])
        with told(self.engine):
            try:
                with writing(self.engine) as connection:
                    seen = _seen(event.place.subject, event.rater, [event.place.input_hash])
                    blind = connection.execute(seen.limit(1)).first() is None
                    written = insert(events).values(**values, blind=blind).returning(events.c.id)
                    number = connection.execute(written).scalar_one()
            except IntegrityError:  # the key was used before
                (before,) = self._read(select(events).where(events.c.key == values["key"]))
                if _said(before) != _said(event):
                    raise KeyUsed("this key was used for another label; give every label a key of its own") from None
                return before
        return replace(event, id=number, blind=blind, created=values["created"])

    def undo(self, subject: Subject, rater: str, run: str = "") -> Event | None:
        """Take back the last label or skip of a rater that still counts; what stood before it counts again.

        `run`: only what was said there. None where there is nothing to take back.
        """
        wanted = _standing(_about(subject)).where(events.c.rater == rater).order_by(events.c.id.desc()).limit(1)
        wanted = wanted.where(events.c.run == clean_name(clean(run))) if run else wanted
        for _ in range(_TRIES):
            found = self._read(wanted)
            if not found:
                return None
            last = found[0]
            undoing = Event(last.place, rater, last.depth, "undo", undoes=last.id)
            try:
                with writing(self.engine) as connection:
                    connection.execute(insert(events).values(**_values(undoing, uuid4().hex), blind=True))
            except IntegrityError:  # somebody has just undone the same line: then the one before it is meant
                continue
            return last
        raise UsageProblem("the last label was undone by somebody else at the same moment; try again")

    def see(self, places: Iterable[Place], rater: str, *, listed: bool = False) -> None:
        """From now on this person has been shown the verdicts of these cases, or what others said of them.

        `listed`: among others in a list. What is said afterwards is not blind either, but the page of such a case goes
        on hiding what the list did not show. The cases are all of one judge with its options.
        """
        wanted = {place.input_hash: place for place in places}
        known = self._seen_of(next(iter(wanted.values())).subject, rater, list(wanted), listed) if wanted else set()
        note = LISTED if listed else ""
        lines = [
            {**_values(Event(place, rater, "fields", "seen", note=note), uuid4().hex), "blind": False}
            for digest, place in wanted.items()
            if digest not in known
        ]
        if lines:
            with told(self.engine), writing(self.engine) as connection:
                connection.execute(insert(events), lines)

    def _seen_of(self, subject: Subject, rater: str, hashes: Sequence[str], listed: bool) -> set[str]:
        """Which of these need no further line: with `listed`, whatever this person has seen of them."""
        found: set[str] = set()
        with told(self.engine), self.engine.connect() as connection:
            for start in range(0, len(hashes), _MANY):
                seen = _seen(subject, rater, hashes[start : start + _MANY])
                found.update(connection.execute(seen if listed else seen.where(events.c.note != LISTED)).scalars())
        return found

    # --- reading ---------------------------------------------------------------------------------------

    def current(self, subject: Subject, *, rater: str | None = None, input_hash: str | None = None) -> list[Event]:
        """The labels and skips that count: of each case, rater and depth the last that was not undone."""
        last = _standing(_about(subject, func.max(events.c.id)))
        if rater is not None:
            last = last.where(events.c.rater == rater)
        if input_hash is not None:
            last = last.where(events.c.input_hash == input_hash)
        last = last.group_by(events.c.input_hash, events.c.rater, events.c.depth)
        return self._read(select(events).where(events.c.id.in_(last)).order_by(events.c.id))

    def history(self, subject: Subject | None = None) -> list[Event]:
        """Every line, in the order in which they were written."""
        wanted = select(events) if subject is None else _about(subject)
        return self._read(wanted.order_by(events.c.id))

    def has_seen(self, place: Place, rater: str, *, listed: bool = True) -> bool:
        """Whether what this person says of the case now is not blind; without `listed`: whether all was shown."""
        return bool(self._seen_of(place.subject, rater, [place.input_hash], listed))

    def edition(self, subject: Subject) -> int:
        """A number that changes with every label, skip and undo about this judge and its options."""
        with told(self.engine), self.engine.connect() as connection:
            return connection.execute(_about(subject, func.count()).where(events.c.action != "seen")).scalar() or 0

    def _read(self, wanted: Select[Any]) -> list[Event]:
        with told(self.engine), self.engine.connect() as connection:
            return [_event(row) for row in connection.execute(wanted)]


# --- names and notes -----------------------------------------------------------------------------------


def rater_name(given: str) -> str:
    """A name as it is kept: one line, nothing invisible, the same letters written the same way."""
    name = clean_name(clean_line(given[: 4 * LONGEST_RATER])).strip()
    if not name:
        raise UsageProblem("the name of the rater is empty; write who labels")
    if len(name) > LONGEST_RATER:
        raise UsageProblem(f"the name of the rater has more than {LONGEST_RATER} characters; write a shorter one")
    return name


def note_text(given: str) -> str:
    if len(given) > LONGEST_NOTE:
        raise UsageProblem(f"the note has more than {LONGEST_NOTE:,} characters; write a shorter one")
    return clean(given).strip()


# --- rows ----------------------------------------------------------------------------------------------


def _about(subject: Subject, *columns: Any) -> Select[Any]:
    return select(*(columns or (events,))).where(events.c.judge == subject.judge, events.c.options == subject.options)


def _standing(wanted: Select[Any]) -> Select[Any]:
    """Of these lines the labels and skips that nobody has taken back."""
    undo: Table = events.alias("undo")  # type: ignore[assignment]
    return wanted.where(events.c.action.in_(("label", "skip")), ~exists().where(undo.c.undoes == events.c.id))


def _seen(subject: Subject, rater: str, hashes: Sequence[str]) -> Select[Any]:
    """Of these contents those that this person was shown."""
    shown = _about(subject, events.c.input_hash).where(events.c.rater == rater, events.c.action == "seen")
    return shown.where(events.c.input_hash.in_(hashes))


class KeyUsed(UsageProblem):
    """A label under a key that another label has: neither is taken for the other."""


def _values(event: Event, key: str) -> dict[str, Any]:
    place = event.place
    return {
        "key": key,
        "judge": place.subject.judge,
        "options": place.subject.options,
        "judge_version": place.subject.version,
        "input_hash": place.input_hash,
        "case_id": clean_name(clean(place.case_id)),
        "run": clean_name(clean(place.run)),
        "rater": rater_name(event.rater),
        "depth": event.depth,
        "action": event.action,
        "answer": _json(event.answer),
        "verdict": _json(event.verdict),
        "note": note_text(event.note),
        "why": event.why,
        "random": event.random,
        "undoes": event.undoes,
        "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


def _json(value: Mapping[str, Any] | None) -> str | None:
    try:
        return None if value is None else orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, TypeError) as error:
        raise UsageProblem(f"the answer cannot be written as JSON: {error}") from None


def _event(row: Row[Any]) -> Event:
    found = row._mapping
    subject = Subject(found["judge"], found["options"], found["judge_version"])
    names = ("rater", "depth", "action", "note", "why", "random", "blind", "undoes", "created", "id")
    return Event(
        Place(subject, found["input_hash"], found["case_id"], found["run"]),
        answer=None if found["answer"] is None else orjson.loads(found["answer"]),
        verdict=None if found["verdict"] is None else orjson.loads(found["verdict"]),
        **{name: found[name] for name in names},
    )


def _said(event: Event) -> tuple[Any, ...]:
    """Who says what of which case: two requests that agree in it are one, sent again because its answer was lost."""
    subject, answer = event.place.subject, orjson.dumps(event.answer, option=orjson.OPT_SORT_KEYS)
    about = (subject.judge, subject.options, event.place.input_hash)
    return (*about, event.rater, event.depth, event.action, answer, event.note)


def by_case(found: Iterable[Event]) -> dict[str, list[Event]]:
    """Lines by the content of the case that they are about."""
    cases: dict[str, list[Event]] = {}
    for event in found:
        cases.setdefault(event.place.input_hash, []).append(event)
    return cases
