"""Records in SQLite which batch files were sent and what came back, so that nothing is paid twice after a crash.

A batch goes through these states. Each is on disk before the next step begins:

    writing   its file grows; after a crash, file and requests are discarded, since nothing was sent
    ready     the file is complete
    sending   it is being sent, or was when a crash happened: search for it at the provider before sending it again
    sent      the provider has given it an id
    done      each of its requests has an outcome or counts as lost

A request is identified by the key of the reply cache and its turn in the conversation. So it is never written twice,
whatever the order of the cases, unless the earlier one is known to be lost.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any, NamedTuple

from krino.contract import Usage
from krino.errors import UsageProblem
from krino.writing import make_own_file, make_own_folder

FOLDER = "batches"
"""In the folder of the run."""
CHANGES_PER_COMMIT = 1_000
"""Changes per commit, for changes that can be repeated."""
LOST = 0
"""The status of a request that has no reply and was not billed: it may be sent again."""
_TABLES = """
create table if not exists about (secret blob not null);
create table if not exists batches (
    number integer primary key, desk text not null, state text not null, requests integer not null default 0,
    tokens integer not null default 0, cost real not null default 0, tries integer not null default 0,
    begun real not null default 0, remote text
);
create table if not exists requests (
    key blob not null, turn integer not null, batch integer not null, form blob not null, estimate integer not null,
    losses integer not null default 0, status integer, reply blob, tokens_in integer not null default 0,
    tokens_out integer not null default 0, cost real, used integer not null default 0, primary key (key, turn)
);
create index if not exists waiting on requests (batch) where status is null;
"""


_NAME = re.compile(r"((?:[0-9a-f]{2})+)-([0-9]{1,9})")
"""Of a request, after the prefix: its key and its turn."""


class BatchRequest(NamedTuple):
    """A request that was written, and its outcome if there is one."""

    batch: int
    form: bytes
    """Its settings as JSON: channel, parameters, reply limit."""
    estimate: int
    losses: int
    status: int | None
    reply: bytes | None
    used: int
    """1 if a judgement has recorded its cost."""


class Batch(NamedTuple):
    """One request file and what became of it."""

    number: int
    state: str
    requests: int
    tokens: int
    cost: float
    """What the budget reserves for it."""
    tries: int
    begun: float
    remote: str | None


class _Connection(sqlite3.Connection):
    """Ends the run if a step cannot be written to disk: the case is not to blame, and the next step must not follow."""

    def execute(self, *query: Any) -> sqlite3.Cursor:
        """Runs a query; a fault of the database becomes a `UsageProblem` that says what to do."""
        try:
            return super().execute(*query)
        except sqlite3.Error as error:
            raise UsageProblem(
                f"the ledger of the batches cannot be written: {error}; "
                "make room in the run folder and give the same command again"
            ) from None


class Ledger:
    """Used only by the process that writes the run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        known = [folder, *folder.iterdir()] if folder.is_dir() else [folder]
        if any(path.is_symlink() for path in known) or (folder.exists() and not folder.is_dir()):
            raise UsageProblem(f"{folder}: outstanding requests are kept in the run folder itself, not behind a link")
        try:
            make_own_folder(folder)
            path = folder / "ledger.sqlite"
            make_own_file(path)
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=_Connection)
            self._db.execute("pragma journal_mode=wal")
            self._db.execute("pragma synchronous=full")  # money hangs on it
            self._db.executescript(_TABLES)
        except (OSError, sqlite3.Error) as error:
            raise UsageProblem(f"{folder}: the ledger of the batches cannot be opened: {error}") from None
        self._changes = 0
        self._forget_unfinished()
        found = self._db.execute("select secret from about").fetchone()
        self.is_new = found is None
        self._secret = found[0] if found else secrets.token_bytes(16)
        if found is None:
            self._change("insert into about values (?)", (self._secret,))
            self.commit()
        self.prefix = f"{hashlib.blake2b(self._secret, digest_size=4).hexdigest()}-"
        """The prefix of the names of all requests of this run."""

    def tag(self, key: bytes) -> str:
        """The random word of a conversation: the same each time it is repeated, and known to nobody else."""
        return hashlib.blake2b(key, key=self._secret, digest_size=4).hexdigest()

    def name(self, key: bytes, turn: int) -> str:
        """The name of a request at the provider."""
        return f"{self.prefix}{key.hex()}-{turn}"

    def parse_name(self, name: str) -> tuple[bytes, int] | None:
        """Key and turn of a request from its name; None for a request that is not ours."""
        found = _NAME.fullmatch(name.removeprefix(self.prefix)) if name.startswith(self.prefix) else None
        return None if found is None else (bytes.fromhex(found[1]), int(found[2]))

    def path(self, number: int) -> Path:
        """The path of a request file."""
        return self.folder / f"{number:05d}.jsonl"

    # --- requests ----------------------------------------------------------------------------------

    def find_request(self, key: bytes, turn: int) -> BatchRequest | None:
        """Returns what is known about a request, or None if it was never written into a batch."""
        found = self._db.execute(
            "select batch, form, estimate, losses, status, reply, used from requests where key = ? and turn = ?",
            (key, turn),
        ).fetchone()
        return None if found is None else BatchRequest(*found)

    def put(self, key: bytes, turn: int, batch: int, form: bytes, estimate: int) -> None:
        """Records that a request was written into a file; one that was lost before is now in this file."""
        self._change(
            "insert into requests (key, turn, batch, form, estimate) values (?, ?, ?, ?, ?) on conflict (key, turn) "
            "do update set batch = excluded.batch, form = excluded.form, estimate = excluded.estimate, status = null, "
            "reply = null",
            (key, turn, batch, form, estimate),
        )

    def answer(self, number: int, key: bytes, turn: int, status: int, reply: bytes, usage: Usage) -> None:
        """Records the outcome of a request that waits in this batch; later outcomes are ignored."""
        taken = (status, reply, usage.input_tokens, usage.output_tokens, usage.cost, status == LOST)
        self._change(
            "update requests set status = ?, reply = ?, tokens_in = ?, tokens_out = ?, cost = ?, losses = losses + ? "
            "where key = ? and turn = ? and batch = ? and status is null",
            (*taken, key, turn, number),
        )

    def waiting_estimate(self, number: int, key: bytes, turn: int) -> int | None:
        """The estimated tokens of a request that waits in this batch; None if it does not."""
        found = self._db.execute(
            "select estimate from requests where key = ? and turn = ? and batch = ? and status is null",
            (key, turn, number),
        ).fetchone()
        return None if found is None else int(found[0])

    def missing(self, number: int) -> int:
        """How many requests of a batch have no outcome."""
        query = "select count(*) from requests where batch = ? and status is null"
        return int(self._db.execute(query, (number,)).fetchone()[0])

    def use(self, key: bytes, turn: int) -> None:
        """Notes that a judgement has recorded the cost of this reply."""
        self._change("update requests set used = 1 where key = ? and turn = ?", (key, turn))

    def allow_again(self, key: bytes, turn: int) -> None:
        """Marks a refused request as lost, so that it is sent again: after a refusal that stopped the run, another key
        or model may get it answered."""
        self._change(
            "update requests set status = ? where key = ? and turn = ? and status not in (?, 200)",
            (LOST, key, turn, LOST),
        )

    def unrecorded(self, labeller_id: str) -> Usage:
        """Returns what was paid for replies that are not recorded in a judgement yet."""
        found = self._db.execute(
            "select count(*), sum(tokens_in), sum(tokens_out), sum(requests.cost) from requests join batches on "
            "batch = number where desk = ? and status = 200 and used = 0",
            (labeller_id,),
        ).fetchone()
        return Usage(calls=found[0], input_tokens=found[1] or 0, output_tokens=found[2] or 0, cost=found[3])

    # --- batches -----------------------------------------------------------------------------------

    def begin(self, labeller_id: str) -> int:
        """Begins a new batch, in the state `writing`, and returns its number."""
        self._change("insert into batches (desk, state) values (?, 'writing')", (labeller_id,))
        return int(self._db.execute("select last_insert_rowid()").fetchone()[0])

    def close(self, number: int, requests: int, tokens: int, cost: float) -> None:
        """Notes that its file is complete and on disk, and what is reserved for it."""
        self._change(
            "update batches set state = 'ready', requests = ?, tokens = ?, cost = ? where number = ?",
            (requests, tokens, cost, number),
        )
        self.commit()

    def mark_sending(self, number: int) -> None:
        """Records that the file is being sent from now on: after a crash it must be searched for first."""
        self._change("update batches set state = 'sending', begun = ? where number = ?", (time.time(), number))
        self.commit()

    def mark_sent(self, number: int, remote: str) -> None:
        """Records the id that the provider has given a batch."""
        self._change("update batches set state = 'sent', remote = ? where number = ?", (remote, number))
        self.commit()

    def send_again(self, number: int) -> None:
        """Marks a batch that the provider has failed as ready to be sent again. It gets a new label, to distinguish it
        from the failed one."""
        query = "update batches set state = 'ready', remote = null, tries = tries + 1 where number = ?"
        self._change(query, (number,))
        self.commit()

    def finish(self, number: int, why: str) -> None:
        """Closes a batch and deletes its file; requests without an outcome count as lost, for the reason `why`."""
        self._change(
            "update requests set status = ?, reply = ?, losses = losses + 1 where batch = ? and status is null",
            (LOST, why.encode(), number),
        )
        self._change("update batches set state = 'done' where number = ?", (number,))
        self.commit()
        self.path(number).unlink(missing_ok=True)

    def outstanding(self, labeller_id: str) -> list[Batch]:
        """The batches of a labeller that are ready, being sent or sent, in order."""
        found = self._db.execute(
            "select number, state, requests, tokens, cost, tries, begun, remote from batches where desk = ? and state "
            "not in ('done', 'writing') order by number",
            (labeller_id,),
        )
        return [Batch(*row) for row in found]

    def remotes(self) -> set[str]:
        """The provider's ids of all batches."""
        return {row[0] for row in self._db.execute("select remote from batches where remote is not null")}

    # --- the file ----------------------------------------------------------------------------------

    def commit(self) -> None:
        """Writes all changes so far to disk."""
        if self._db.in_transaction:
            self._db.execute("commit")
        self._changes = 0

    def end(self, *, keep: bool) -> None:
        """Closes the ledger; without `keep`, deletes it."""
        try:
            self.commit()
        finally:
            self._db.close()
        if not keep:
            shutil.rmtree(self.folder)

    def is_out(self) -> bool:
        """Whether any batch is, or may be, at the provider."""
        return self._db.execute("select 1 from batches where state not in ('done', 'writing')").fetchone() is not None

    def has_replies(self) -> bool:
        """Whether there are paid replies that no judgement has recorded."""
        return self._db.execute("select 1 from requests where status = 200 and used = 0").fetchone() is not None

    def _change(self, query: str, values: tuple[Any, ...]) -> None:
        """Runs a writing query, and commits after every `CHANGES_PER_COMMIT` changes."""
        if not self._db.in_transaction:
            self._db.execute("begin immediate")
        self._db.execute(query, values)
        self._changes += 1
        if self._changes >= CHANGES_PER_COMMIT:
            self.commit()

    def _forget_unfinished(self) -> None:
        """Deletes batches that were never completed with their requests, and every file that no open batch needs."""
        for (number,) in self._db.execute("select number from batches where state = 'writing'").fetchall():
            self._change("delete from requests where batch = ?", (number,))
            self._change("delete from batches where number = ?", (number,))
            self.commit()
        kept = {self.path(row[0]).name for row in self._db.execute("select number from batches where state != 'done'")}
        for path in self.folder.iterdir():
            if path.suffix in {".jsonl", ".waiting"} and path.name not in kept:
                path.unlink()


def forget_answered(folder: Path) -> None:
    """Deletes the ledger of a finished run, unless a batch is still at the provider."""
    ledger = Ledger(folder)
    ledger.end(keep=ledger.is_out())
