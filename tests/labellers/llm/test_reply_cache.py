"""The reply cache is shared by processes and never stands in the way of a verdict."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import krino
from fake_llm import FakeServer
from krino.labellers.llm.cache import ReplyCache, cache_path, open_cache
from toy_judge import ToyJudge
from waiting import ended

WRITER = """
import sys
from pathlib import Path
from krino.labellers.llm.cache import ReplyCache
store, who = ReplyCache(Path(sys.argv[1])), sys.argv[2]
for number in range(600):
    key = f"{who}-{number}".encode()
    assert store.get(key) is None
    store.put(key, key * 50)
    assert store.get(key) == key * 50
store.close()
"""


def test_what_was_put_is_there_now_and_later(tmp_path: Path) -> None:
    store = ReplyCache(tmp_path / "c.sqlite")
    for number in range(300):
        store.put(b"%d" % number, b"body %d" % number)
        assert store.get(b"%d" % number) == b"body %d" % number
    assert all(store.get(b"%d" % number) == b"body %d" % number for number in range(300))
    store.close()
    again = ReplyCache(tmp_path / "c.sqlite")
    assert again.get(b"3") == b"body 3"
    assert again.get(b"nothing") is None
    again.close()


def test_processes_write_one_cache_together(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    command = [sys.executable, "-c", WRITER, str(path)]
    with ExitStack() as started:
        writers = [
            started.enter_context(ended(subprocess.Popen([*command, f"p{number}"], stderr=subprocess.PIPE, text=True)))
            for number in range(4)
        ]
        for writer in writers:
            _, said = writer.communicate(timeout=120)
            assert writer.returncode == 0, said
    store = ReplyCache(path)
    kept = sum(store.get(f"p{who}-{number}".encode()) is not None for who in range(4) for number in range(600))
    store.close()
    assert kept == 4 * 600


def test_a_cache_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(krino.UsageProblem, match=r"reply cache .*name another file with --cache, or --cache off"):
        ReplyCache(tmp_path / "file" / "c.sqlite")


def test_a_cache_that_cannot_be_written_warns_and_goes_on(tmp_path: Path) -> None:
    store = ReplyCache(tmp_path / "c.sqlite")
    store._db.execute("drop table replies")
    with pytest.warns(UserWarning, match="no more replies are kept"):
        store.put(b"k", b"v")
    store.put(b"other", b"v")  # without another word, and without waiting for the same lock again
    store.close()


def test_a_reply_is_on_disk_as_soon_as_it_is_put(tmp_path: Path) -> None:
    """Not with the next few hundred: the process may be killed, and the reply is paid for."""
    store, other = ReplyCache(tmp_path / "c.sqlite"), ReplyCache(tmp_path / "c.sqlite")
    store.put(b"k", b"v")
    assert other.get(b"k") == b"v"
    store.close()
    other.close()


@pytest.mark.parametrize("body", ["text", None, 5, 10**15, 0.5, "", b"[1, 2]", b'"text"', b"{", b"\xff"], ids=repr)
async def test_a_row_that_is_no_reply_is_a_miss_and_is_written_anew(tmp_path: Path, body: object) -> None:
    """Of any type: 10**15 was taken for the length of a reply."""
    path = tmp_path / "c.sqlite"
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:

        async def judged() -> krino.Judgement:
            async with krino.llm("m", base_url=server.url, api_key="secret-key", cache=path) as labeller:
                return await krino.ajudge(ToyJudge(), {"text": "a fine text"}, labeller=labeller)

        await judged()
        store = sqlite3.connect(path)
        with store:
            assert store.execute("update replies set body = ?", (body,)).rowcount == 1
        store.close()
        again, third = await judged(), await judged()
        assert server.stats().calls == 2
    assert (again.status, again.usage.calls, third.usage.cached) == ("ok", 1, 1)


@pytest.mark.parametrize("body", ["text", None, 5, 0.5])
def test_only_bytes_come_out_of_the_cache(tmp_path: Path, body: object) -> None:
    store = ReplyCache(tmp_path / "c.sqlite")
    store._db.execute("insert into replies values (?, ?)", (b"k", body))
    assert store.get(b"k") is None
    store.close()


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KRINO_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_path() == tmp_path / "krino" / "replies.sqlite"
    monkeypatch.setenv("KRINO_CACHE", "here.sqlite")
    assert cache_path() == Path("here.sqlite")
    assert cache_path("there.sqlite") == Path("there.sqlite")
    monkeypatch.setenv("KRINO_CACHE", "off")
    assert open_cache() is None
