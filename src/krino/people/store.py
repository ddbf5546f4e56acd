"""Reads and writes people's labels. The table is append-only: a second label is a second row, and so is an undo."""

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
from krino.people.database import (
    connect,
    migrate,
    refuse_other_version,
    resolve_database_url,
    translate_errors,
    write_transaction,
)
from krino.people.tables import events
from krino.runs.manifest import Manifest
from krino.text.clean import clean, clean_line, clean_name

Depth = Literal["fields", "labels"]
DEPTHS: tuple[Depth, ...] = ("fields", "labels")
QueueReason = Literal["seats", "runs", "raters", "unsure", "random", "rate", "chosen"]
"""Why the queue offered a case; `rate`: drawn for a true rate; `chosen`: the person opened it."""
LONGEST_RATER = 80
LONGEST_NOTE = 4_000
LISTED = "in a list"
_MANY = 500  # values in one statement
_TRIES = 5


@dataclass(frozen=True, slots=True)
class Subject:
    """The judge and options that labels belong to. Not the run: labels stay valid when the cases are judged again."""

    judge: str
    options: str
    """Hash of the judge's options."""
    version: str = ""
    """Version of the judge, for information only; labels count for every version."""

    @classmethod
    def of(cls, manifest: Manifest) -> Self:
        """The judge and options of a run."""
        judge = manifest.plan.judge
        return cls.of_judge(judge["name"], judge["version"], judge.get("options") or {})

    @classmethod
    def of_judge(cls, name: str, version: str, options: Mapping[str, Any]) -> Self:
        """`options`: all options with their values, as a run records them."""
        written = orjson.dumps(options, option=orjson.OPT_SORT_KEYS)
        return cls(name, blake2b(written, digest_size=16).hexdigest(), version)


@dataclass(frozen=True, slots=True)
class CaseRef:
    """A case, and the run in which a person saw it."""

    subject: Subject
    input_hash: str
    case_id: str = ""
    run: str = ""


@dataclass(frozen=True, slots=True)
class Event:
    """One row: `label` (with an answer), `skip`, `undo` (of an earlier row) or `seen` (the verdict was shown; with the
    note `LISTED` if it was shown in a list of cases)."""

    place: CaseRef
    rater: str
    depth: Depth
    action: Literal["label", "skip", "undo", "seen"]
    answer: Mapping[str, Any] | None = None
    """The fields of the verdict or the labels, depending on `depth`."""
    verdict: Mapping[str, Any] | None = None
    """At depth `labels`: the verdict that the judge's rules derived from them at the time."""
    note: str = ""
    why: QueueReason = "chosen"
    random: bool = False
    target: str = ""
    """The rate that the case was drawn for (`pass`, `match:exact`): at random among those with one answer."""
    blind: bool = True
    undoes: int | None = None
    created: str = ""
    id: int = 0

    @property
    def fields(self) -> Mapping[str, Any]:
        """The person's values for the fields of the verdict, given directly or derived from labels."""
        return (self.verdict if self.depth == "labels" else self.answer) or {}


class LabelStore:
    """The database of labels. Safe for many threads and several servers at the same time."""

    def __init__(self, where: str | PathLike[str], *, read_only: bool = False) -> None:
        """`where`: a folder of runs, a SQLite file or a database URL. `read_only`: the database must exist."""
        self.engine = connect(resolve_database_url(where, create=not read_only))
        try:
            (refuse_other_version if read_only else migrate)(self.engine)
        except BaseException:
            self.engine.dispose()
            raise

    def close(self) -> None:
        self.engine.dispose()

    # --- writing ---------------------------------------------------------------------------------------

    def add(self, event: Event, key: str | None = None) -> Event:
        """Append one row; it is on disk when this returns.

        Returns the earlier row if `key` was used before for the same label; raises `KeyReused` if for another. `blind`
        is looked up here and never taken from the caller.
        """
        values = _row_values(event, key or uuid4().hex)
        event = replace(event, rater=values["rater"], note=values["note"])
        with translate_errors(self.engine):
            try:
                with write_transaction(self.engine) as connection:
                    seen = _select_seen(event.place.subject, event.rater, [event.place.input_hash])
                    blind = connection.execute(seen.limit(1)).first() is None
                    written = insert(events).values(**values, blind=blind).returning(events.c.id)
                    number = connection.execute(written).scalar_one()
            except IntegrityError:  # the key was used before
                (before,) = self._read_events(select(events).where(events.c.key == values["key"]))
                if _identity(before) != _identity(event):
                    raise KeyReused("this key was used for another label; give every label a key of its own") from None
                return before
        return replace(event, id=number, blind=blind, created=values["created"])

    def undo(self, subject: Subject, rater: str, run: str = "") -> Event | None:
        """Undoes the rater's last label or skip that still counts; the one before it counts again.

        `run`: undo only labels given in this run. Returns None if there is nothing to undo.
        """
        wanted = (
            _not_undone(_select_events(subject)).where(events.c.rater == rater).order_by(events.c.id.desc()).limit(1)
        )
        wanted = wanted.where(events.c.run == clean_name(clean(run))) if run else wanted
        for _ in range(_TRIES):
            found = self._read_events(wanted)
            if not found:
                return None
            last = found[0]
            undoing = Event(last.place, rater, last.depth, "undo", undoes=last.id)
            with translate_errors(self.engine):
                try:
                    with write_transaction(self.engine) as connection:
                        connection.execute(insert(events).values(**_row_values(undoing, uuid4().hex), blind=True))
                except IntegrityError:  # a concurrent request undid the same row: undo the one before it
                    continue
            return last
        raise UsageProblem("the last label was undone by another request at the same moment; try again")

    def mark_seen(self, places: Iterable[CaseRef], rater: str, *, listed: bool = False) -> None:
        """Records that this person was shown the verdicts of these cases, or other people's labels.

        `listed`: the verdicts were shown in a list. Later labels are not blind either way, but the page of such a case
        still hides the details that the list did not show. All cases must have the same subject.
        """
        wanted = {place.input_hash: place for place in places}
        known = self._find_seen(next(iter(wanted.values())).subject, rater, list(wanted), listed) if wanted else set()
        note = LISTED if listed else ""
        lines = [
            {**_row_values(Event(place, rater, "fields", "seen", note=note), uuid4().hex), "blind": False}
            for digest, place in wanted.items()
            if digest not in known
        ]
        if lines:
            with translate_errors(self.engine), write_transaction(self.engine) as connection:
                connection.execute(insert(events), lines)

    def _find_seen(self, subject: Subject, rater: str, hashes: Sequence[str], listed: bool) -> set[str]:
        """The hashes that this person has already seen. Without `listed`, being seen in a list does not count."""
        found: set[str] = set()
        with translate_errors(self.engine), self.engine.connect() as connection:
            for start in range(0, len(hashes), _MANY):
                seen = _select_seen(subject, rater, hashes[start : start + _MANY])
                found.update(connection.execute(seen if listed else seen.where(events.c.note != LISTED)).scalars())
        return found

    # --- reading ---------------------------------------------------------------------------------------

    def current(self, subject: Subject, *, rater: str | None = None, input_hash: str | None = None) -> list[Event]:
        """The labels and skips that count: the last one not undone, per case, rater and depth."""
        last = _not_undone(_select_events(subject, func.max(events.c.id)))
        if rater is not None:
            last = last.where(events.c.rater == rater)
        if input_hash is not None:
            last = last.where(events.c.input_hash == input_hash)
        last = last.group_by(events.c.input_hash, events.c.rater, events.c.depth)
        return self._read_events(select(events).where(events.c.id.in_(last)).order_by(events.c.id))

    def history(self, subject: Subject | None = None) -> list[Event]:
        """Every row for this judge and its options, or for all, oldest first: undone and seen ones too."""
        wanted = select(events) if subject is None else _select_events(subject)
        return self._read_events(wanted.order_by(events.c.id))

    def has_seen(self, place: CaseRef, rater: str, *, listed: bool = True) -> bool:
        """Whether this person has seen the verdict. Without `listed`: whether it was shown in full."""
        return bool(self._find_seen(place.subject, rater, [place.input_hash], listed))

    def revision(self, subject: Subject) -> int:
        """A number that changes with every label, skip and undo for this judge and its options."""
        with translate_errors(self.engine), self.engine.connect() as connection:
            return (
                connection.execute(_select_events(subject, func.count()).where(events.c.action != "seen")).scalar() or 0
            )

    def _read_events(self, wanted: Select[Any]) -> list[Event]:
        with translate_errors(self.engine), self.engine.connect() as connection:
            return [_event_from(row) for row in connection.execute(wanted)]


# --- names and notes -----------------------------------------------------------------------------------


def normalise_rater(given: str) -> str:
    """The name as stored: one line, no invisible characters, Unicode-normalised. Refuses an empty or very long one."""
    name = clean_name(clean_line(given[: 4 * LONGEST_RATER])).strip()
    if not name:
        raise UsageProblem("the name of the rater is empty; enter a name")
    if len(name) > LONGEST_RATER:
        raise UsageProblem(f"the name of the rater has more than {LONGEST_RATER} characters; enter a shorter one")
    return name


def normalise_note(given: str) -> str:
    """The note as stored, without control characters; raises `UsageProblem` if it is too long."""
    if len(given) > LONGEST_NOTE:
        raise UsageProblem(f"the note has more than {LONGEST_NOTE:,} characters; shorten it")
    return clean(given).strip()


# --- rows ----------------------------------------------------------------------------------------------


def _select_events(subject: Subject, *columns: Any) -> Select[Any]:
    return select(*(columns or (events,))).where(events.c.judge == subject.judge, events.c.options == subject.options)


def _not_undone(wanted: Select[Any]) -> Select[Any]:
    """Narrow a selection to labels and skips that were not undone."""
    undo: Table = events.alias("undo")  # type: ignore[assignment]
    return wanted.where(events.c.action.in_(("label", "skip")), ~exists().where(undo.c.undoes == events.c.id))


def _select_seen(subject: Subject, rater: str, hashes: Sequence[str]) -> Select[Any]:
    """Selects which of these cases this person was shown."""
    shown = _select_events(subject, events.c.input_hash).where(events.c.rater == rater, events.c.action == "seen")
    return shown.where(events.c.input_hash.in_(hashes))


class KeyReused(UsageProblem):
    """The idempotency key belongs to a different label."""


def _row_values(event: Event, key: str) -> dict[str, Any]:
    """Returns an event as the values of a database row, created now; rater and note are normalised."""
    place = event.place
    return {
        "key": key,
        "judge": place.subject.judge,
        "options": place.subject.options,
        "judge_version": place.subject.version,
        "input_hash": place.input_hash,
        "case_id": clean_name(clean(place.case_id)),
        "run": clean_name(clean(place.run)),
        "rater": normalise_rater(event.rater),
        "depth": event.depth,
        "action": event.action,
        "answer": _to_json(event.answer),
        "verdict": _to_json(event.verdict),
        "note": normalise_note(event.note),
        "why": event.why,
        "random": event.random,
        "target": event.target,
        "undoes": event.undoes,
        "created": datetime.now(UTC).isoformat(timespec="milliseconds"),
    }


def _to_json(value: Mapping[str, Any] | None) -> str | None:
    """Returns a value as JSON text; None stays None. Raises `UsageProblem` if it cannot be written."""
    try:
        return None if value is None else orjson.dumps(value).decode()
    except (orjson.JSONEncodeError, TypeError) as error:
        raise UsageProblem(f"the answer cannot be written as JSON: {error}") from None


def _event_from(row: Row[Any]) -> Event:
    """Makes the event of a database row."""
    found = row._mapping
    subject = Subject(found["judge"], found["options"], found["judge_version"])
    names = ("rater", "depth", "action", "note", "why", "random", "target", "blind", "undoes", "created", "id")
    return Event(
        CaseRef(subject, found["input_hash"], found["case_id"], found["run"]),
        answer=None if found["answer"] is None else orjson.loads(found["answer"]),
        verdict=None if found["verdict"] is None else orjson.loads(found["verdict"]),
        **{name: found[name] for name in names},
    )


def _identity(event: Event) -> tuple[Any, ...]:
    """Returns who says what about which case. Requests with the same identity and key are retries of one request."""
    subject, answer = event.place.subject, orjson.dumps(event.answer, option=orjson.OPT_SORT_KEYS)
    about = (subject.judge, subject.options, event.place.input_hash)
    return (*about, event.rater, event.depth, event.action, answer, event.note)


def group_by_case(found: Iterable[Event]) -> dict[str, list[Event]]:
    """Events by the content hash of their case."""
    cases: dict[str, list[Event]] = {}
    for event in found:
        cases.setdefault(event.place.input_hash, []).append(event)
    return cases
