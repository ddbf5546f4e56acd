"""The judging desk: it takes in the cases of all clients, on a thread with an event loop of its own.

Finding facts and settling is work for the processor: in the server's loop it would hold up every other request. What
the embedded labeller answers is judged at the benches, all else here. Clients take turns at both, so that a list of a
thousand cases does not hold up a single one.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import orjson
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, create_model

from krino.api.judging import as_item
from krino.cases.item import CaseItem
from krino.cases.splitting import split_items
from krino.contract import AnyJudge, describe_validation
from krino.contract.judgement import canonical
from krino.engine.case import Written, judge_item, written
from krino.engine.rehearsal import rehearse
from krino.errors import UsageProblem
from krino.judges.registry import OURS, load_judge
from krino.text.guessing import guessed
from krino.web.bench import MOST_JUDGES, BenchApart, BenchHere
from krino.web.benches import Benches
from krino.web.fair_places import FairPlaces
from krino.web.meters import Meters
from krino.web.problems import Problem
from krino.web.settings import ServeSettings

LOCAL = "local"
MOST_PROCESSES = 4
"""That judge where the user has set no number: each holds the models, a quarter of a gigabyte, and many a server is
started only to look at runs."""


def plain_options(judge: type[AnyJudge]) -> type[BaseModel]:
    """The options of a judge by their types alone. Its own reading of them may open a file that a text names (a table
    of aliases), and whoever can reach the server must not have files opened."""
    fields = {
        name: (info.annotation, info)
        for name, info in judge.options_model.model_fields.items()
        if info.annotation is None or "path" not in str(TypeAdapter(info.annotation).json_schema().get("format"))
    }
    title = judge.name.title().replace("-", "").replace("_", "")
    config, about = ConfigDict(extra="forbid"), judge.options_model.__doc__
    made = create_model(f"{title}Options", __config__=config, __doc__=about, **fields)  # type: ignore[call-overload]
    return cast("type[BaseModel]", made)


def refuse_files(judge: type[AnyJudge], options: Mapping[str, Any]) -> None:
    """Options from outside must have the types that the judge states."""
    try:
        plain_options(judge).model_validate(options)
    except ValidationError as error:
        raise UsageProblem(f"options of judge `{judge.name}`: {describe_validation(error)}") from None


class TooMuch(UsageProblem):
    """More than the server takes on at once: nothing of the request was judged."""

    def __init__(self, told: str, remedy: str, record: int | None = None) -> None:
        super().__init__(f"{told}: {remedy}")
        self.told, self.remedy = told, remedy
        self.record = record
        """The number of the record that is meant, from 0; None: all of them together."""


def admitted(judge: AnyJudge, records: Sequence[Any], settings: ServeSettings) -> list[CaseItem]:
    """The cases of the records, numbered; raises `TooMuch`.

    Finding the facts of a case takes the longer the longer it is, and everybody waits at the same desk. So a request is
    measured by what is judged, after records that hold several cases were taken apart, and before any of it is begun.
    """
    number, items = 0, list[CaseItem]()

    def given() -> Iterator[CaseItem]:
        nonlocal number
        for number, record in enumerate(records):
            yield as_item(number, record)

    for item in split_items(given(), judge):
        _refuse_long(item, number, settings.max_case_bytes)
        items.append(item)
        if len(items) > settings.max_cases:
            raise TooMuch(
                f"the request holds more than {settings.max_cases:,} cases",
                "send fewer at a time (a record may hold several); for files there is `krino judge`",
            )
    return items


def _refuse_long(item: CaseItem, number: int, most: int) -> None:
    length = len(canonical(item.record))
    if length > most:
        raise TooMuch(
            f"the case has {length:,} bytes as JSON, and this server judges cases of at most {most:,}",
            "send only what the case needs; for long cases there is `krino judge`, and whoever runs the server can "
            "allow more with --max-case-bytes",
            number,
        )


class Desk:
    """Judges records. Thread-safe; `judged` is called from the server's event loop."""

    def __init__(self, settings: ServeSettings, meters: Meters) -> None:
        self._settings, self._meters = settings, meters
        self.under_way = 0
        """Cases that are being judged or wait for it; counted by the desk's own thread alone."""
        self._own = {load_judge(address).name: address for address in settings.judges}
        self._ready: OrderedDict[bytes, AnyJudge] = OrderedDict()
        self._lock = threading.Lock()
        self._places = {name: FairPlaces(labeller.workers) for name, labeller in settings.labellers.items()}
        """Of each labeller its own: a model that is slow to answer must not hold up another."""
        self._benches = _benches(settings.apart)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="krino-desk", daemon=True)
        self._thread.start()

    @property
    def judges(self) -> list[str]:
        """The judges that a request may name."""
        return sorted({*OURS, *self._own})

    @property
    def labellers(self) -> list[str]:
        """The labellers that a request may name; the embedded one first."""
        return list(dict.fromkeys((LOCAL, *self._settings.labellers)))

    async def judged(
        self,
        judge: str,
        records: Sequence[Any],
        *,
        options: Mapping[str, Any] | None = None,
        labeller: str = LOCAL,
    ) -> list[Written]:
        """A judgement for each case, in their order; one for each trace where a record holds several.

        Raises `TooMuch` for more cases, or longer ones, than the server takes on at once.
        """
        if labeller not in self.labellers:
            raise Problem(
                422,
                f"this server has no labeller `{labeller}`",
                where="body.labeller",
                remedy=f"one of {', '.join(self.labellers)}; others are allowed at the start: krino serve --labeller",
            )
        work = asyncio.run_coroutine_threadsafe(self._work(judge, options or {}, labeller, records), self._loop)
        return await asyncio.wrap_future(work)

    def ready(self, name: str, options: Mapping[str, Any] | None = None) -> AnyJudge:
        """The judge with these options. Kept: cases are labelled together only where their judge is the same object."""
        if name not in OURS and name not in self._own:
            raise Problem(
                404,
                f"there is no judge `{name[:80]}` here{guessed(name, self.judges)}",
                where="judge",
                remedy=f"one of {', '.join(self.judges)}; others are named at the start: --judge file.py:Class",
            )
        key = orjson.dumps([name, dict(options or {})], option=orjson.OPT_SORT_KEYS)
        with self._lock:
            if key not in self._ready:
                address = self._own.get(name, name)
                if options:
                    refuse_files(type(load_judge(address)), options)
                self._ready[key] = load_judge(address, options)
                if len(self._ready) > MOST_JUDGES:
                    self._ready.popitem(last=False)
            self._ready.move_to_end(key)
            return self._ready[key]

    def close(self) -> None:
        """What waits is given up; connections to models are closed."""
        self._benches.close()
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _end(self) -> None:
        waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for labeller in self._settings.labellers.values():
            await labeller.aclose()

    async def _work(
        self, name: str, options: Mapping[str, Any], labeller: str, records: Sequence[Any]
    ) -> list[Written]:
        judge = self.ready(name, options)
        items = admitted(judge, records, self._settings)
        party = object()

        async def one(item: CaseItem) -> Written:
            if labeller == LOCAL:
                judgement = await asyncio.wrap_future(self._benches.submit(party, judge, item))
            else:
                async with self._places[labeller].place(party):
                    rehearse(judge, item)
                    judgement = written(judge, item, await judge_item(judge, self._settings.labellers[labeller], item))
            self._meters.case(judge.name, judgement.status)
            return judgement

        tasks = [asyncio.ensure_future(one(item)) for item in items]
        self.under_way += len(tasks)
        try:
            return await asyncio.gather(*tasks)
        finally:
            self.under_way -= len(tasks)
            for task in tasks:
                task.cancel()


def _benches(apart: bool) -> Benches:
    """As many as threads run the models: KRINO_THREADS, else one a core, but no more processes than memory bears."""
    from krino.models.token_model import thread_count

    if not apart:
        return Benches(thread_count(), BenchHere)
    return Benches(thread_count() if "KRINO_THREADS" in os.environ else min(thread_count(), MOST_PROCESSES), BenchApart)
