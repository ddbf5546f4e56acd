"""The judging desk: cases of all clients go through one thread with an event loop of its own.

Finding facts and settling is work for the processor: in the server's loop it would hold up every other request. Here
cases of all clients wait together, so that the embedded labeller takes them in batches, and clients take turns, so that
a list of a thousand cases does not hold up a single one.
"""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from krino.api.judging import as_item
from krino.cases.splitting import split_items
from krino.contract import Judge, Judgement, Labeller
from krino.engine.case import judge_item
from krino.judges.registry import OURS, load_judge
from krino.labellers.local import LocalLabeller
from krino.web.problems import Problem
from krino.web.settings import ServeSettings
from krino.web.turns import Turns

AnyJudge = Judge[Any, Any, Any]
PLACES = 32
"""Cases under way at the same time: as many as the embedded labeller takes in one batch."""
MOST_JUDGES = 64
"""Judges with different options that are kept ready."""


class Desk:
    """Judges records. Thread-safe; `judged` is called from the server's event loop."""

    def __init__(self, settings: ServeSettings) -> None:
        self._own = {load_judge(address).name: address for address in settings.judges}
        self._labellers: dict[str, Labeller] = {"local": LocalLabeller(), **settings.labellers}
        self._ready: OrderedDict[bytes, AnyJudge] = OrderedDict()
        self._lock = threading.Lock()
        self._turns = Turns(PLACES)
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
        return list(self._labellers)

    async def judged(
        self,
        judge: str,
        records: Sequence[Any],
        *,
        options: Mapping[str, Any] | None = None,
        labeller: str = "local",
    ) -> list[Judgement]:
        """A judgement for each case, in their order; one for each trace where a record holds several."""
        chosen = self._labellers.get(labeller)
        if chosen is None:
            raise Problem(
                422,
                f"this server has no labeller `{labeller}`",
                where="body.labeller",
                remedy=f"one of {', '.join(self._labellers)}; others are allowed at the start: krino serve --labeller",
            )
        work = asyncio.run_coroutine_threadsafe(self._work(judge, options or {}, chosen, records), self._loop)
        return await asyncio.wrap_future(work)

    def ready(self, name: str, options: Mapping[str, Any] | None = None) -> AnyJudge:
        """The judge with these options. Kept: cases are labelled together only where their judge is the same object."""
        if name not in OURS and name not in self._own:
            raise Problem(
                404,
                f"there is no judge `{name}` here",
                where="path.judge",
                remedy=f"one of {', '.join(self.judges)}; others are named at the start: --judge file.py:Class",
            )
        key = orjson.dumps([name, dict(options or {})], option=orjson.OPT_SORT_KEYS)
        with self._lock:
            if key not in self._ready:
                self._ready[key] = load_judge(self._own.get(name, name), options)
                if len(self._ready) > MOST_JUDGES:
                    self._ready.popitem(last=False)
            self._ready.move_to_end(key)
            return self._ready[key]

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _work(
        self, name: str, options: Mapping[str, Any], labeller: Labeller, records: Sequence[Any]
    ) -> list[Judgement]:
        judge = await asyncio.to_thread(self.ready, name, options)
        items = split_items((as_item(index, record) for index, record in enumerate(records)), judge)
        party = object()

        async def one(item: Any) -> Judgement:
            async with self._turns.place(party):
                return await judge_item(judge, labeller, item)

        tasks = [asyncio.ensure_future(one(item)) for item in items]
        try:
            return await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
