"""Writes a labeller's requests into batch files, and answers them from the replies that came back.

The labeller repeats its conversation from the start each time a case is processed. Requests that were sent earlier are
found in the ledger with their replies, which leads to the same next request; one without a reply ends the conversation
for now (`Waiting`). Replies are checked exactly like those of a live call.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from krino.contract import Usage
from krino.errors import LabelFailed, UsageProblem, Waiting
from krino.labellers.llm.batch.ledger import LOST, BatchRequest, Ledger
from krino.labellers.llm.batch.providers import Provider
from krino.labellers.llm.conversation import Conversation
from krino.labellers.llm.labeller import LlmLabeller
from krino.labellers.llm.sending.budget import Amount
from krino.labellers.llm.sending.gateway import CHARS_PER_TOKEN
from krino.labellers.llm.wire import ChatRequest, HttpReply, Params, Reply, read_error
from krino.writing import open_own, write_failed

MOST_LOSSES = 3
"""How often a request is sent again because it expired or failed at the provider."""
LATER = 0
"""The batch number of a request that is not written yet: the budget has no room for it until others come back."""


class Sizes(NamedTuple):
    """The largest batch file, if smaller than what the provider accepts."""

    requests: int = 1_000_000
    bytes: int = 1_000_000_000


class BatchQueue:
    """The requests of one labeller."""

    def __init__(
        self, labeller: LlmLabeller, ledger: Ledger, provider: Provider, labeller_id: str, sizes: Sizes
    ) -> None:
        self.labeller, self.ledger, self.provider, self.labeller_id = labeller, ledger, provider, labeller_id
        self.status: str | None = None
        """What is being waited for, for the progress display."""
        self.used_replies: list[tuple[bytes, int]] = []
        """Replies used since the list was last cleared: the judgement made from them records their cost."""
        self.has_full_file = False
        """Whether a file has become full since the caller last reset this."""
        self._most_requests = min(sizes.requests, provider.most_requests)
        self._most_bytes = min(sizes.bytes, provider.most_bytes)
        self._file: _RequestFile | None = None

    async def ask(self, talk: Conversation[Any, Any, Any]) -> tuple[ChatRequest, Reply]:
        """Returns the next request of a conversation with its reply. If the reply is not there yet, writes the request
        into a batch file, unless it is in one, and raises `Waiting`."""
        labeller = self.labeller
        key = labeller.writer.cache_key(talk)
        talk.tag = self.ledger.tag(key)
        while True:
            sent = self.ledger.find_request(key, talk.turn)
            if sent is None or sent.status == LOST:
                raise self._write(key, talk, sent)
            if sent.status is None:
                raise Waiting(sent.batch)
            paid = sent.used or (key, talk.turn) in self.used_replies
            self.used_replies.append((key, talk.turn))
            talk.turn += 1
            request, body = _restore(labeller.writer.build_request(talk), sent.form), sent.reply or b""
            if sent.status == 200:
                reply, spent = labeller.local_gateway.read(HttpReply(200, body=body), sent.estimate)
                talk.usage.add(Usage(cached=1) if paid else spent)
                talk.adapt_limit(request, reply, labeller.abilities)
                return request, reply
            labeller.adapt_to_refusal(talk, request, read_error(sent.status, body))

    def asked_before(self, key: bytes) -> bool:
        """Whether the ledger holds a conversation with this key; then it is repeated instead of using the reply cache.

        A case with several seats or parts is processed more than once before its cost is recorded, and an answer from
        the cache would count as free.
        """
        return self.ledger.find_request(key, 0) is not None

    def is_waiting(self, number: int, name: str) -> bool:
        """Whether the request of this name waits for its reply in this batch."""
        known = self.ledger.parse_name(name)
        return known is not None and self.ledger.waiting_estimate(number, *known) is not None

    def record_outcome(self, number: int, name: str, status: int, body: bytes) -> None:
        """Records the outcome of one request and counts its cost; ignores requests of others, and outcomes that are
        known already."""
        known = self.ledger.parse_name(name)
        estimate = None if known is None else self.ledger.waiting_estimate(number, *known)
        if known is None or estimate is None:
            return
        usage = Usage()
        if status == 200:
            usage = self.labeller.local_gateway.read(HttpReply(200, body=body), estimate)[1]
            self.labeller.budget.count(usage, estimate)
        self.ledger.answer(number, *known, status, body, usage)

    def close_file(self) -> None:
        """Completes the current file, so that it can be sent."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self.ledger.close(file.number, file.requests, file.tokens, file.cost)

    def drop_file(self) -> None:
        """Abandons the current file and releases what is reserved for it; its requests are written again later."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(UsageProblem):  # its content no longer matters
                file.close()
            self.labeller.budget.shared.hold(-file.requests, -file.tokens, -file.cost)

    def _write(self, key: bytes, talk: Conversation[Any, Any, Any], lost: BatchRequest | None) -> Waiting:
        """Writes the next request into the current file, if the budget has room for it; returns the `Waiting` to raise.

        A full file is completed first, and a new one begun. Raises `LabelFailed` for a request that was lost too often
        or is too large for any file.
        """
        if lost is not None and lost.losses > MOST_LOSSES:
            why = (lost.reply or b"").decode("utf-8", "replace")[:300]
            raise LabelFailed(f"{lost.losses} batch files came back without a reply to this request; the last: {why}")
        provider = self.provider
        request, body = self.labeller.writer.write(talk)
        entry = provider.entry(self.ledger.name(key, talk.turn), body)
        if len(entry) + len(provider.head) + len(provider.tail) > self._most_bytes:
            raise LabelFailed(f"the request has {len(entry):,} bytes, and a batch file takes {self._most_bytes:,}")
        estimate = len(body) // CHARS_PER_TOKEN
        reserved = self.labeller.budget.reserve_for_batch(estimate, request.reply_limit)
        if reserved is None:
            return Waiting(LATER)
        if self._file is not None and not self._file.has_room(len(entry), self._most_requests, self._most_bytes):
            self.close_file()
            self.has_full_file = True
        if self._file is None:
            number = self.ledger.begin(self.labeller_id)
            self._file = _RequestFile(number, self.ledger.path(number), provider)
        self._file.add(entry, reserved)
        self.ledger.put(key, talk.turn, self._file.number, _serialise_form(request), estimate)
        return Waiting(self._file.number)


class _RequestFile:
    """A batch file in the making. Requests are written as they come, so memory holds one at a time."""

    def __init__(self, number: int, path: Path, provider: Provider) -> None:
        self.number, self._path, self._provider = number, path, provider
        self.requests = self.tokens = 0
        self.cost = 0.0
        with self._fatal_faults():
            path.unlink(missing_ok=True)  # never write to what somebody else has put there, such as a pipe
            self._file = open(path, "xb", opener=open_own)  # noqa: SIM115 - closed by `close`
            self._bytes = self._file.write(provider.head)

    @contextmanager
    def _fatal_faults(self) -> Iterator[None]:
        """Turns a fault of the file into one that ends the run: the case is not to blame, and the file must not be
        sent."""
        try:
            yield
        except OSError as error:
            raise write_failed(self._path, error) from None

    def has_room(self, size: int, most_requests: int, most_bytes: int) -> bool:
        """Whether a request of this many bytes still fits into the file."""
        more = len(self._provider.between) + size + len(self._provider.tail)
        return self.requests < most_requests and self._bytes + more <= most_bytes

    def add(self, entry: bytes, reserved: Amount) -> None:
        """Appends a request to the file, and adds its reserved tokens and cost to the totals."""
        with self._fatal_faults():
            self._bytes += self._file.write(self._provider.between + entry if self.requests else entry)
        self.requests += 1
        self.tokens += reserved.tokens
        self.cost += reserved.cost

    def close(self) -> None:
        """Completes the file and makes sure that it is on the disk before it is sent."""
        with self._fatal_faults(), self._file:
            self._file.write(self._provider.tail)
            self._file.flush()
            os.fsync(self._file.fileno())


def _serialise_form(request: ChatRequest) -> bytes:
    """Serialises the settings of a request, without which its reply cannot be read later."""
    form = {
        "channel": request.channel,
        "params": asdict(request.params),
        "completion_limit_name": request.completion_limit_name,
        "reply_limit": request.reply_limit,
        "strength": request.strength,
    }
    return orjson.dumps(form)


def _restore(request: ChatRequest, form: bytes) -> ChatRequest:
    """Returns the request with the settings it was sent with; today's may differ, since abilities were found out
    since."""
    settings = orjson.loads(form)
    return replace(request, **{**settings, "params": Params(**settings["params"])})
