"""Sends batch files to a provider and fetches their results; every step can be interrupted and is then resumed."""

from __future__ import annotations

import asyncio
import hashlib
import time
from functools import partial
from urllib.parse import urlsplit

import orjson

from krino.errors import RunStopped, UsageProblem
from krino.labellers.llm.batch.client import BatchClient, Lost, Unsure
from krino.labellers.llm.batch.ledger import Batch, Ledger
from krino.labellers.llm.batch.providers import Progress, Wanted, provider_of
from krino.labellers.llm.batch.queue import BatchQueue, Sizes
from krino.labellers.llm.labeller import LlmLabeller

READINGS = 3
"""How often a file of results is read if replies that should be there are missing."""


class BatchJobs:
    """The batches of one labeller. Until `aclose`, the labeller's requests go through `queue`."""

    def __init__(self, labeller: LlmLabeller, ledger: Ledger, sizes: Sizes, pause: float, settle: float) -> None:
        self._client = BatchClient(labeller.transport, labeller.local_gateway.has_new_key)
        self.ledger, self.provider = ledger, provider_of(labeller.endpoint, self._client)
        self.queue = labeller.batch_queue = BatchQueue(labeller, ledger, self.provider, _id_of(labeller), sizes)
        labeller.use_price_factor(labeller.settings["batch_price"])
        self._pause, self._settle = pause, settle
        self._missing_since: dict[int, float] = {}
        """When we began to search for batches that may have been created: a provider may list them with a delay."""
        self._resumed = False
        self._trouble = ""
        """What went wrong since the last poll, for the progress display."""
        self._postponed: set[int] = set()
        """Batches that the provider had no room for: they are sent when another one has come back."""
        self._done: dict[int, int] = {}

    async def aclose(self) -> None:
        """Closes the client, and gives the labeller its prices and direct calls back."""
        labeller = self.queue.labeller
        labeller.batch_queue = None
        labeller.use_price_factor(1.0)
        if self._resumed:  # the next session reserves again for what is outstanding
            for batch in self.outstanding():
                self._reserve(-1, batch)
        self.queue.drop_file()
        await self._client.aclose()

    def _reserve(self, sign: int, batch: Batch) -> None:
        """Reserves what a batch may cost (`sign` 1), or releases it (-1)."""
        self.queue.labeller.budget.shared.hold(sign * batch.requests, sign * batch.tokens, sign * batch.cost)

    def resume(self) -> None:
        """Begins a session: reserves for the batches that are outstanding, and counts replies that are paid but not
        recorded in any judgement. A batch whose results were all read before a crash is closed."""
        for batch in self.outstanding():
            if batch.state == "sent" and not self.ledger.missing(batch.number):  # killed after all of it was read
                self.ledger.finish(batch.number, "")
            else:
                self._reserve(1, batch)
        self._resumed = True
        labeller = self.queue.labeller
        if self.ledger.prefix not in labeller.known_ledgers:  # a second pass of one session has counted it already
            labeller.known_ledgers.add(self.ledger.prefix)
            labeller.budget.shared.earlier.add(self.ledger.unrecorded(self.queue.labeller_id))

    def outstanding(self) -> list[Batch]:
        """Returns the batches of this labeller whose results have not all come back."""
        return self.ledger.outstanding(self.queue.labeller_id)

    # --- sending -----------------------------------------------------------------------------------

    async def submit_all(self) -> None:
        """Sends every complete file, except those postponed; first searches for those that may have been sent before a
        crash."""
        for batch in self.outstanding():
            if batch.state in {"ready", "sending"} and batch.number not in self._postponed:
                await self._submit(batch)

    async def _submit(self, batch: Batch) -> None:
        """Sends one batch file to the provider, unless an earlier attempt has, or may have, arrived there."""
        path, label = self.ledger.path(batch.number), f"{self.ledger.prefix}{batch.number}-{batch.tries}"
        if batch.state == "sending" and await self._find_sent(batch, label):
            return
        if not path.is_file():
            raise UsageProblem(f"{path} is gone: put it back, or delete {path.parent} to send everything in it again")
        self.ledger.mark_sending(batch.number)
        try:
            self.ledger.mark_sent(batch.number, await self.provider.send(path, label))
        except Unsure as doubt:  # the next call searches for it, and sends it again only if it does not exist
            self._trouble = f"; batch {batch.number} was sent and not acknowledged: {doubt}"

    async def _find_sent(self, batch: Batch, label: str) -> bool:
        """Searches for a batch that may have been sent and records its id. Returns False only if it certainly was not
        sent; while that is uncertain, True."""
        holds = partial(self.queue.is_waiting, batch.number)
        try:
            found = await self.provider.find(Wanted(label, batch.begun, batch.requests, self.ledger.remotes(), holds))
        except (Unsure, Lost) as doubt:
            self._trouble = f"; batch {batch.number}: {doubt}"
            return True
        if found is not None:
            self.ledger.mark_sent(batch.number, found)
            return True
        if time.monotonic() - self._missing_since.setdefault(batch.number, time.monotonic()) < self._settle:
            self._trouble = f"; batch {batch.number} was not acknowledged, and is not to be found yet"
            return True
        del self._missing_since[batch.number]
        return False

    # --- fetching ----------------------------------------------------------------------------------

    async def poll_all(self) -> list[int]:
        """Asks for the progress of all sent batches and fetches the results of those that have ended; returns the
        numbers of the latter."""
        back = []
        for batch in self.outstanding():
            if batch.state == "sent" and batch.remote is not None:
                progress = await self.provider.poll(batch.remote)
                self._done[batch.number] = progress.done
                if progress.state != "going" and await self._fetch(batch, progress):
                    back.append(batch.number)
        if back:
            self._postponed.clear()
        self._update_status()
        return back

    async def _fetch(self, batch: Batch, progress: Progress) -> bool:
        """Records the results of a batch and closes it: requests without a result count as lost. Returns False if the
        batch will be sent again as it is; raises `RunStopped` if it was cancelled or cannot be read."""
        if progress.state == "failed":
            return self._resend(batch, progress)
        for _ in range(READINGS):
            complete = await self._record_outcomes(batch, progress)
            if complete and (progress.state == "cut" or not self.ledger.missing(batch.number)):
                break
            await asyncio.sleep(self._pause)
        else:
            if not complete:
                raise RunStopped(f"the results of batch {batch.remote} cannot be read to their end", kind="endpoint")
        self.ledger.finish(batch.number, f"the batch is {progress.message}, without an outcome for this request")
        self._reserve(-1, batch)
        if progress.cancelled:
            raise RunStopped(
                f"batch {batch.remote} was cancelled at the provider: what it had answered is kept, the rest is asked "
                "again by the same command",
                kind="endpoint",
            )
        return True

    async def _record_outcomes(self, batch: Batch, progress: Progress) -> bool:
        """Reads the result files and records their outcomes; returns False if one broke off."""
        try:
            for address in progress.files:
                async for line in self.provider.results(address):
                    try:
                        outcome = self.provider.read(line)
                    except ValueError:  # not a result; if it was one, its request counts as missing
                        continue
                    self.queue.record_outcome(batch.number, *outcome)
        except Lost as broken:
            self._trouble = f"; the results of batch {batch.number} broke off: {broken}"
            return False
        finally:
            self.ledger.commit()
        return True

    def _resend(self, batch: Batch, progress: Progress) -> bool:
        """Prepares a failed batch, which costs nothing, to be sent again later, and returns False; stops the run unless
        that can help."""
        others = [other for other in self.outstanding() if other.state == "sent" and other.number != batch.number]
        self.ledger.send_again(batch.number)
        if progress.too_much and others:
            self._postponed.add(batch.number)
            return False
        raise RunStopped(f"the provider refuses the batch: {progress.message}", kind="endpoint")

    def _update_status(self) -> None:
        """Writes the line that the progress display shows about outstanding batches."""
        out = self.outstanding()
        if not out:
            self.queue.status = None
            return
        host = urlsplit(self.queue.labeller.endpoint.base_url).hostname
        done, total = sum(self._done.get(batch.number, 0) for batch in out), sum(batch.requests for batch in out)
        files = "1 batch" if len(out) == 1 else f"{len(out)} batches"
        at = time.strftime("%H:%M:%S")
        status = f"{files} at {host}, {done:,} of {total:,} requests done at {at} (Ctrl-C is safe)"
        self.queue.status, self._trouble = status + self._trouble[:200], ""


def _id_of(labeller: LlmLabeller) -> str:
    """Returns a hash of a labeller's description, which distinguishes the members of a jury."""
    description = orjson.dumps(labeller.describe(), option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(description, digest_size=8).hexdigest()
