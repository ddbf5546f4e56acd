"""The mailbox of a labeller whose requests go by batch file: it takes a request in, or gives out the reply that came.

A labeller goes through its conversation from the start each time a case is looked at. What it asked before it finds
here with what was answered, and so comes to the same next question; a question that nobody has answered ends the
conversation for now (`Waiting`). All replies pass the same gate as those of a call.
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
from krino.labellers.llm.batch.ledger import LOST, Ledger, Letter
from krino.labellers.llm.batch.providers import Provider
from krino.labellers.llm.budget import Amount
from krino.labellers.llm.conversation import Talk
from krino.labellers.llm.labeller import LlmLabeller
from krino.labellers.llm.line import CHARS_PER_TOKEN
from krino.labellers.llm.wire import ChatRequest, HttpReply, Params, Reply, read_error
from krino.writing import open_own, unwritten

MOST_LOSSES = 3
"""Times that a request is sent again because it expired or broke at the provider."""
LATER = 0
"""The batch of what is not written yet: the budget has no room for it before others have come back."""


class Sizes(NamedTuple):
    """The most that goes into one file, where that is less than the provider takes."""

    requests: int = 1_000_000
    bytes: int = 1_000_000_000


class Mailbox:
    """Of one labeller."""

    def __init__(self, labeller: LlmLabeller, ledger: Ledger, provider: Provider, desk: str, sizes: Sizes) -> None:
        self.labeller, self.ledger, self.provider, self.desk = labeller, ledger, provider, desk
        self.news: str | None = None
        """What is being waited for, for the progress display."""
        self.read: list[tuple[bytes, int]] = []
        """Replies that were given out since it was last emptied: whoever judges with them has their cost on record."""
        self.has_full = False
        """Whether a file has been filled since somebody last looked."""
        self._most_requests = min(sizes.requests, provider.most_requests)
        self._most_bytes = min(sizes.bytes, provider.most_bytes)
        self._file: _RequestFile | None = None

    async def exchange(self, talk: Talk[Any, Any, Any]) -> tuple[ChatRequest, Reply]:
        """The reply to the next request of a conversation, as `LlmLabeller` gets it from a call."""
        labeller = self.labeller
        key = labeller.cache_key(talk.prepared, talk.text, talk.task)
        talk.tag = self.ledger.tag(key)
        while True:
            letter = self.ledger.letter(key, talk.turn)
            if letter is None or letter.status == LOST:
                raise self._post(key, talk, letter)
            if letter.status is None:
                raise Waiting(letter.batch)
            paid = letter.used or (key, talk.turn) in self.read
            self.read.append((key, talk.turn))
            talk.turn += 1
            request, body = _as_asked(labeller.request(talk), letter.form), letter.reply or b""
            if letter.status == 200:
                reply, spent = labeller.own_line.read(HttpReply(200, body=body), letter.estimate)
                talk.usage.add(Usage(cached=1) if paid else spent)
                labeller.learn_room(talk, request, reply)
                return request, reply
            labeller.take_refusal(talk, request, read_error(letter.status, body))

    def asked_before(self, key: bytes) -> bool:
        """Whether a conversation has begun here: then it is gone through again, and not looked up in the reply cache.

        A case of several seats or parts is carried more than once before its cost is on record, and to the cache every
        answer is free.
        """
        return self.ledger.letter(key, 0) is not None

    def waits(self, number: int, name: str) -> bool:
        """Whether a request of this name waits in a batch."""
        known = self.ledger.named(name)
        return known is not None and self.ledger.waits(number, *known) is not None

    def take_in(self, number: int, name: str, status: int, body: bytes) -> None:
        """The outcome of a request, as a file of results has it; what is not ours, or came before, is passed over."""
        known = self.ledger.named(name)
        estimate = None if known is None else self.ledger.waits(number, *known)
        if known is None or estimate is None:
            return
        usage = Usage()
        if status == 200:
            usage = self.labeller.own_line.read(HttpReply(200, body=body), estimate)[1]
            self.labeller.budget.count(usage, estimate)
        self.ledger.answer(number, *known, status, body, usage)

    def close_file(self) -> None:
        """What was written can be sent."""
        file, self._file = self._file, None
        if file is not None:
            file.close()
            self.ledger.close(file.number, file.requests, file.tokens, file.cost)

    def drop_file(self) -> None:
        """What was written stays unsent, and will be written again."""
        file, self._file = self._file, None
        if file is not None:
            with suppress(UsageProblem):  # it will not be sent, whatever is in it
                file.close()
            self.labeller.budget.shared.hold(-file.requests, -file.tokens, -file.cost)

    def _post(self, key: bytes, talk: Talk[Any, Any, Any], lost: Letter | None) -> Waiting:
        """Write the request into the file that is being filled, if there is money for it."""
        if lost is not None and lost.losses > MOST_LOSSES:
            why = (lost.reply or b"").decode("utf-8", "replace")[:300]
            raise LabelFailed(f"{lost.losses} batch files came back without a reply to this request; the last: {why}")
        labeller, provider = self.labeller, self.provider
        request = labeller.request(talk)
        body = orjson.dumps(labeller.endpoint.dialect.body(request))
        entry = provider.entry(self.ledger.name(key, talk.turn), body)
        if len(entry) + len(provider.head) + len(provider.tail) > self._most_bytes:
            raise LabelFailed(f"the request has {len(entry):,} bytes, and a batch file takes {self._most_bytes:,}")
        estimate = len(body) // CHARS_PER_TOKEN
        aside = labeller.budget.set_aside(estimate, request.reply_limit)
        if aside is None:
            return Waiting(LATER)
        if self._file is not None and not self._file.has_room(len(entry), self._most_requests, self._most_bytes):
            self.close_file()
            self.has_full = True
        if self._file is None:
            number = self.ledger.begin(self.desk)
            self._file = _RequestFile(number, self.ledger.path(number), provider)
        self._file.add(entry, aside)
        self.ledger.put(key, talk.turn, self._file.number, _form(request), estimate)
        return Waiting(self._file.number)


class _RequestFile:
    """A file that is being filled: written as it comes, so that memory holds one request."""

    def __init__(self, number: int, path: Path, provider: Provider) -> None:
        self.number, self._path, self._provider = number, path, provider
        self.requests = self.tokens = 0
        self.cost = 0.0
        with self._told():
            path.unlink(missing_ok=True)  # nothing that lies there, a pipe least of all, is written to
            self._file = open(path, "xb", opener=open_own)  # noqa: SIM115 - closed by `close`
            self._bytes = self._file.write(provider.head)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What cannot be written ends the run: it is no fault of the case at hand, and the file must not be sent."""
        try:
            yield
        except OSError as error:
            raise unwritten(self._path, error) from None

    def has_room(self, size: int, most_requests: int, most_bytes: int) -> bool:
        more = len(self._provider.between) + size + len(self._provider.tail)
        return self.requests < most_requests and self._bytes + more <= most_bytes

    def add(self, entry: bytes, aside: Amount) -> None:
        with self._told():
            self._bytes += self._file.write(self._provider.between + entry if self.requests else entry)
        self.requests += 1
        self.tokens += aside.tokens
        self.cost += aside.cost

    def close(self) -> None:
        with self._told(), self._file:
            self._file.write(self._provider.tail)
            self._file.flush()
            os.fsync(self._file.fileno())


def _form(request: ChatRequest) -> bytes:
    """What must be known of a request to read its reply as that of a call is read."""
    params = request.params
    told = {
        "channel": request.channel,
        "params": asdict(params),
        "completion_limit_name": request.completion_limit_name,
        "reply_limit": request.reply_limit,
        "strength": request.strength,
    }
    return orjson.dumps(told)


def _as_asked(request: ChatRequest, form: bytes) -> ChatRequest:
    """The request as it was written; the labeller may have learnt since to write it otherwise."""
    told = orjson.loads(form)
    return replace(request, **{**told, "params": Params(**told["params"])})
