"""Judges the cases of requests, on a thread with an event loop of its own.

Requests that are too large, or whose options could make the server open files, are refused first. Finding facts and
settling verdicts takes CPU time, which would block the server's loop: cases for the embedded labeller go to the worker
pool, cases for other labellers are judged here. Clients take turns at both.
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

from krino.api.judging import make_item
from krino.cases.item import CaseItem
from krino.cases.splitting import split_items
from krino.contract import AnyJudge, describe_validation
from krino.contract.judgement import canonical
from krino.engine.case import Written, judge_item, written
from krino.engine.rehearsal import rehearse
from krino.errors import UsageProblem
from krino.judges.registry import OURS, load_judge
from krino.text.guessing import did_you_mean
from krino.web.judging.pool import JudgingPool
from krino.web.judging.turns import FairSemaphore
from krino.web.judging.workers import MOST_JUDGES, ProcessWorker, ThreadWorker
from krino.web.metrics import Metrics
from krino.web.problems import Problem
from krino.web.settings import ServeSettings

LOCAL = "local"
MOST_PROCESSES = 4
"""Default limit: each process holds the models (250 MB), and many servers are only started to look at runs."""


def make_safe_options_model(judge: type[AnyJudge]) -> type[BaseModel]:
    """Makes a model of the judge's options without its validators, and without options that are paths.

    A judge's own validators may open a file that an option names (a table of aliases), and a client must not be able to
    make the server open files. Types are as the schema states them: `false` and "1" are no numbers.
    """
    fields = {
        name: (info.annotation, info)
        for name, info in judge.options_model.model_fields.items()
        if info.annotation is None or "path" not in str(TypeAdapter(info.annotation).json_schema().get("format"))
    }
    title = judge.name.title().replace("-", "").replace("_", "")
    config, about = ConfigDict(extra="forbid", strict=True), judge.options_model.__doc__
    made = create_model(f"{title}Options", __config__=config, __doc__=about, **fields)  # type: ignore[call-overload]
    return cast("type[BaseModel]", made)


def refuse_unsafe_options(judge: type[AnyJudge], options: Mapping[str, Any]) -> None:
    """Raises `UsageProblem` unless a client's options have the types that the judge declares and name no path."""
    try:
        make_safe_options_model(judge).model_validate(options)
    except ValidationError as error:
        raise UsageProblem(f"options of judge `{judge.name}`: {describe_validation(error)}") from None


class RequestTooLarge(UsageProblem):
    """Too many cases or too long a case; nothing of the request was judged."""

    def __init__(self, error: str, remedy: str, record: int | None = None) -> None:
        super().__init__(f"{error}: {remedy}")
        self.error, self.remedy = error, remedy
        self.record = record
        """Index of the record at fault; None if the request as a whole is too large."""


def admit_cases(judge: AnyJudge, records: Sequence[Any], settings: ServeSettings) -> list[CaseItem]:
    """Makes the cases of the records, numbered; raises `RequestTooLarge` for too many or too long ones.

    Limits apply to cases, after records that hold several were split, and before any is judged: long cases take long,
    and all clients share the workers.
    """
    number, items = 0, list[CaseItem]()

    def read_items() -> Iterator[CaseItem]:
        nonlocal number
        for number, record in enumerate(records):
            yield make_item(number, record)

    for item in split_items(read_items(), judge):
        _refuse_long(item, number, settings.max_case_bytes)
        items.append(item)
        if len(items) > settings.max_cases:
            raise RequestTooLarge(
                f"the request holds more than {settings.max_cases:,} cases",
                "send fewer at a time (a record may hold several); for files there is `krino judge`",
            )
    return items


def _refuse_long(item: CaseItem, number: int, most: int) -> None:
    """Raises `RequestTooLarge` for a case that is longer than this server judges."""
    length = len(canonical(item.record))
    if length > most:
        raise RequestTooLarge(
            f"the case has {length:,} bytes as JSON, and this server judges cases of at most {most:,}",
            "send only what the case needs; for long cases there is `krino judge`, and whoever runs the server can "
            "allow more with --max-case-bytes",
            number,
        )


class JudgingService:
    """Judges records. Thread-safe; `judge_cases` is called from the server's event loop."""

    def __init__(self, settings: ServeSettings, metrics: Metrics) -> None:
        self._settings, self._metrics = settings, metrics
        self.pending = 0
        """Cases that are waiting or being judged; changed only by the service's own thread."""
        self._addresses = {load_judge(address).name: address for address in settings.judges}
        self._judges: OrderedDict[bytes, AnyJudge] = OrderedDict()
        self._lock = threading.Lock()
        self._slots = {name: FairSemaphore(labeller.workers) for name, labeller in settings.labellers.items()}
        """Per labeller, so that a slow model does not delay another one."""
        self._pool = _make_pool(settings.in_processes)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="krino-judging", daemon=True)
        self._thread.start()

    @property
    def judges(self) -> list[str]:
        """The judges that a request may name."""
        return sorted({*OURS, *self._addresses})

    @property
    def labellers(self) -> list[str]:
        """The labellers that a request may name, the embedded one first."""
        return list(dict.fromkeys((LOCAL, *self._settings.labellers)))

    async def judge_cases(
        self,
        judge: str,
        records: Sequence[Any],
        *,
        options: Mapping[str, Any] | None = None,
        labeller: str = LOCAL,
    ) -> list[Written]:
        """Judges records and returns one judgement per case, in order; a record that holds several traces gives one for
        each.

        Raises `RequestTooLarge` for too many or too long cases.
        """
        if labeller not in self.labellers:
            raise Problem(
                422,
                f"this server has no labeller `{labeller}`",
                where="body.labeller",
                remedy=f"one of {', '.join(self.labellers)}; start krino serve with --labeller to allow others",
            )
        work = asyncio.run_coroutine_threadsafe(
            self._judge_request(judge, options or {}, labeller, records), self._loop
        )
        return await asyncio.wrap_future(work)

    def get_judge(self, name: str, options: Mapping[str, Any] | None = None) -> AnyJudge:
        """Loads the judge with these options; `Problem` for an unknown one, `UsageProblem` for options it does not
        take. It is cached: only cases of the same judge object are labelled together."""
        if name not in OURS and name not in self._addresses:
            raise Problem(
                404,
                f"there is no judge `{name[:80]}` here{did_you_mean(name, self.judges)}",
                where="judge",
                remedy=f"one of {', '.join(self.judges)}; start krino serve with --judge file.py:Class to add others",
            )
        key = orjson.dumps([name, dict(options or {})], option=orjson.OPT_SORT_KEYS)
        with self._lock:
            if key not in self._judges:
                address = self._addresses.get(name, name)
                if options:
                    refuse_unsafe_options(type(load_judge(address)), options)
                self._judges[key] = load_judge(address, options)
                if len(self._judges) > MOST_JUDGES:
                    self._judges.popitem(last=False)
            self._judges.move_to_end(key)
            return self._judges[key]

    def close(self) -> None:
        """Cancels what is waiting and closes the connections to models."""
        self._pool.close()
        asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_all(self) -> None:
        """Cancels all tasks, and closes the labellers."""
        waiting = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for labeller in self._settings.labellers.values():
            await labeller.aclose()

    async def _judge_request(
        self, name: str, options: Mapping[str, Any], labeller: str, records: Sequence[Any]
    ) -> list[Written]:
        """Judges the cases of one request side by side; if the client leaves, all are cancelled."""
        judge = self.get_judge(name, options)
        items = admit_cases(judge, records, self._settings)
        client = object()

        async def judge_one(item: CaseItem) -> Written:
            """Judges one case on the worker pool, or with the chosen model when it is the client's turn."""
            if labeller == LOCAL:
                judgement = await asyncio.wrap_future(self._pool.submit(client, judge, item))
            else:
                async with self._slots[labeller].acquire(client):
                    rehearse(judge, item)
                    judgement = written(judge, item, await judge_item(judge, self._settings.labellers[labeller], item))
            self._metrics.count_case(judge.name, judgement.status)
            return judgement

        tasks = [asyncio.ensure_future(judge_one(item)) for item in items]
        self.pending += len(tasks)
        try:
            return await asyncio.gather(*tasks)
        finally:
            self.pending -= len(tasks)
            for task in tasks:
                task.cancel()


def _make_pool(in_processes: bool) -> JudgingPool:
    """Makes a pool of KRINO_THREADS workers, by default one per core, but at most `MOST_PROCESSES` processes."""
    from krino.models.token_model import thread_count

    if not in_processes:
        return JudgingPool(thread_count(), ThreadWorker)
    return JudgingPool(
        thread_count() if "KRINO_THREADS" in os.environ else min(thread_count(), MOST_PROCESSES), ProcessWorker
    )
