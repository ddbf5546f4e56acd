"""Carries batch files to a provider and replies back; each step can be cut off, and is taken up where it was."""

from __future__ import annotations

import asyncio
import hashlib
import time
from functools import partial
from urllib.parse import urlsplit

import orjson

from krino.errors import RunStopped, UsageProblem
from krino.labellers.llm.batch.calling import Caller, Lost, Unsure
from krino.labellers.llm.batch.ledger import Batch, Ledger
from krino.labellers.llm.batch.mailbox import Mailbox, Sizes
from krino.labellers.llm.batch.providers import Look, Wanted, provider_of
from krino.labellers.llm.labeller import LlmLabeller

READINGS = 3
"""Times that a file of results is read while replies are missing in it that should be there."""


class Courier:
    """Of one labeller, from now on until `aclose`: its requests go through a mailbox."""

    def __init__(self, labeller: LlmLabeller, ledger: Ledger, sizes: Sizes, pause: float, settle: float) -> None:
        self._caller = Caller(labeller.transport, labeller.own_line.has_new_key)
        self.ledger, self.provider = ledger, provider_of(labeller.endpoint, self._caller)
        self.mailbox = labeller.mailbox = Mailbox(labeller, ledger, self.provider, _desk(labeller), sizes)
        labeller.at_price(labeller.settings["batch_price"])
        self._pause, self._settle = pause, settle
        self._not_found: dict[int, float] = {}
        """Since when batches are looked for that may have been made: a provider may still be about to list them."""
        self._took_up = False
        self._trouble = ""
        """What went wrong since the last look, for the progress display."""
        self._held: set[int] = set()
        """Batches that the provider had no room for: they go when another one has come back."""
        self._done: dict[int, int] = {}

    async def aclose(self) -> None:
        self.mailbox.labeller.mailbox = None
        self.mailbox.labeller.at_price(1.0)
        if self._took_up:  # what is out is held again by whoever takes it up next
            for batch in self.outstanding():
                self._hold(-1, batch.requests, batch.tokens, batch.cost)
        self.mailbox.drop_file()
        await self._caller.aclose()

    def _hold(self, sign: int, requests: int, tokens: int, cost: float) -> None:
        self.mailbox.labeller.budget.shared.hold(sign * requests, sign * tokens, sign * cost)

    def take_up(self) -> None:
        """A new session: what is out is still to be paid, and what came back and is in no judgement has been paid."""
        for batch in self.outstanding():
            if batch.state == "sent" and not self.ledger.missing(batch.number):  # killed when all of it was read
                self.ledger.finish(batch.number, "")
            else:
                self._hold(1, batch.requests, batch.tokens, batch.cost)
        self._took_up = True
        labeller = self.mailbox.labeller
        if self.ledger.prefix not in labeller.known_ledgers:  # a second pass of one session has counted it already
            labeller.known_ledgers.add(self.ledger.prefix)
            labeller.budget.shared.earlier.add(self.ledger.unrecorded(self.mailbox.desk))

    def outstanding(self) -> list[Batch]:
        return self.ledger.outstanding(self.mailbox.desk)

    async def send_all(self) -> None:
        """Send what is written; of what may have been sent before, find out whether it was."""
        for batch in self.outstanding():
            if batch.state in {"ready", "sending"} and batch.number not in self._held:
                await self._send(batch)

    async def look_at_all(self) -> list[int]:
        """The batches that have come back since the last look, their replies taken in."""
        back = []
        for batch in self.outstanding():
            if batch.state == "sent" and batch.remote is not None:
                look = await self.provider.look(batch.remote)
                self._done[batch.number] = look.done
                if look.state != "going" and await self._fetch(batch, look):
                    back.append(batch.number)
        if back:
            self._held.clear()
        self._tell()
        return back

    async def _send(self, batch: Batch) -> None:
        path, label = self.ledger.path(batch.number), f"{self.ledger.prefix}{batch.number}-{batch.tries}"
        if batch.state == "sending":
            holds = partial(self.mailbox.waits, batch.number)
            wanted = Wanted(label, batch.begun, batch.requests, self.ledger.remotes(), holds)
            try:
                found = await self.provider.find(wanted)
            except (Unsure, Lost) as doubt:
                self._trouble = f"; batch {batch.number}: {doubt}"
                return
            if found is not None:
                self.ledger.sent(batch.number, found)
                return
            if time.monotonic() - self._not_found.setdefault(batch.number, time.monotonic()) < self._settle:
                self._trouble = f"; batch {batch.number} was not acknowledged, and is not to be found yet"
                return
            del self._not_found[batch.number]
        if not path.is_file():
            raise UsageProblem(f"{path} is gone: put it back, or delete {path.parent} to ask everything in it anew")
        self.ledger.sending(batch.number)
        try:
            self.ledger.sent(batch.number, await self.provider.send(path, label))
        except Unsure as doubt:  # at the next look it is searched for, and sent again only if it is not there
            self._trouble = f"; batch {batch.number} was sent and not acknowledged: {doubt}"

    async def _fetch(self, batch: Batch, look: Look) -> bool:
        """Take in what came of a batch; False where it goes out once more as it is."""
        if look.state == "failed":
            return self._failed(batch, look)
        for _ in range(READINGS):
            complete = await self._read(batch, look)
            if complete and (look.state == "cut" or not self.ledger.missing(batch.number)):
                break
            await asyncio.sleep(self._pause)
        else:
            if not complete:
                raise RunStopped(f"the results of batch {batch.remote} cannot be read to their end", kind="endpoint")
        self.ledger.finish(batch.number, f"the batch is {look.told}, without an outcome for this request")
        self._hold(-1, batch.requests, batch.tokens, batch.cost)
        if look.cancelled:
            raise RunStopped(
                f"batch {batch.remote} was cancelled at the provider: what it had answered is kept, the rest is asked "
                "again by the same command",
                kind="endpoint",
            )
        return True

    async def _read(self, batch: Batch, look: Look) -> bool:
        """Whether every file of results came to its end."""
        try:
            for address in look.files:
                async for line in self.provider.results(address):
                    try:
                        outcome = self.provider.read(line)
                    except ValueError:  # no line of results: its request, if it was one, is missing
                        continue
                    self.mailbox.take_in(batch.number, *outcome)
        except Lost as broken:
            self._trouble = f"; the results of batch {batch.number} broke off: {broken}"
            return False
        finally:
            self.ledger.commit()
        return True

    def _failed(self, batch: Batch, look: Look) -> bool:
        """The provider took nothing of it, and bills nothing."""
        others = [other for other in self.outstanding() if other.state == "sent" and other.number != batch.number]
        self.ledger.send_again(batch.number)
        if look.too_much and others:
            self._held.add(batch.number)
            return False
        raise RunStopped(f"the provider refuses the batch: {look.told}", kind="endpoint")

    def _tell(self) -> None:
        out = self.outstanding()
        if not out:
            self.mailbox.news = None
            return
        host = urlsplit(self.mailbox.labeller.endpoint.base_url).hostname
        done, total = sum(self._done.get(batch.number, 0) for batch in out), sum(batch.requests for batch in out)
        files = "1 batch" if len(out) == 1 else f"{len(out)} batches"
        at = time.strftime("%H:%M:%S")
        told = f"{files} at {host}, {done:,} of {total:,} requests done at {at} (Ctrl-C is safe)"
        self.mailbox.news, self._trouble = told + self._trouble[:200], ""


def _desk(labeller: LlmLabeller) -> str:
    """Tells the labellers of a jury apart."""
    described = orjson.dumps(labeller.describe(), option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(described, digest_size=8).hexdigest()
