"""Every way the command ends has an exit code of its own, and no read keeps it from ending."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import termios
import time
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import pytest

from command_line import environment, krino, krino_each
from toy_judge import ToyJudge

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"
CASES = b'{"id": "a", "text": "fine"}\n{"id": "b", "text": "bad"}\n'
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals, pipes and devices as POSIX has them")


def begin(*args: str, cwd: Path, through: tuple[str, str] = ("-m", "krino"), **more: Any) -> subprocess.Popen[str]:
    command = [sys.executable, *through, *args]
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    return subprocess.Popen(command, cwd=cwd, env=environment(cwd), **settings)


def until(happened: Callable[[], bool], what: str) -> None:
    for _ in range(600):
        if happened():
            return
        time.sleep(0.05)
    raise AssertionError(f"never happened: {what}")


@pytest.fixture
def judged(tmp_path: Path) -> Path:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "text": "fine"}\n')
    assert krino("judge", TOY, "cases.jsonl", "--run", "r", cwd=tmp_path).returncode == 0
    return tmp_path


# --- exit codes ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "judge",
    [
        "raise MemoryError('no more')\n",
        "def __getattr__(name):\n    raise SystemExit(1)\n",
        "import sys\nsys.exit(1)\n",
    ],
    ids=["fault", "exit on use", "exit"],
)
def test_a_fault_is_never_exit_1(tmp_path: Path, judge: str) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "text": "fine"}\n')
    (tmp_path / "mine.py").write_text(judge)
    done = krino("judge", "mine.py:Mine", "cases.jsonl", cwd=tmp_path)
    assert done.returncode in (2, 70), done.stderr
    assert done.returncode == 2 or ("Traceback" in done.stderr and "please report it" in done.stderr)


def test_a_fault_of_our_own_is_exit_70_with_its_traceback(judged: Path) -> None:
    broken = "import krino.runs.manifest as m; m.Manifest.load = None; from krino.cli import main; import sys; "
    code = f"{broken} sys.argv = ['krino', 'show', 'r']; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=judged, capture_output=True, text=True, check=False)
    assert done.returncode == 70
    assert "TypeError" in done.stderr
    assert "please report it" in done.stderr


@pytest.mark.parametrize("args", [("nope",), ("show",), ("show", "r", "--nope"), ("gate", "r", "--few", "x[/red]"), ()])
def test_wrong_usage_is_exit_2(judged: Path, args: tuple[str, ...]) -> None:
    done = krino(*args, cwd=judged)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


def test_a_reader_who_has_gone_is_neither_a_failed_gate_nor_a_passed_one(judged: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    told = [("gate", "r", "--min", "score=0.1"), ("show", "r", "--json"), ("export", "r", "-", "--to", "csv")]
    for args in (*told, ("gate", "--help")):
        done = krino(*args, cwd=judged, stdout=writing)
        assert (done.returncode, done.stderr.count("Traceback")) == (141, 0)
    os.close(writing)


def test_output_that_cannot_be_written_is_exit_2(judged: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        for args in (("gate", "r", "--min", "score=0.1"), ("show", "r", "--json"), ("export", "r", "-", "--to", "csv")):
            done = krino(*args, cwd=judged, stdout=full)
            assert (done.returncode, "No space left" in done.stderr) == (2, True)


# --- signals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("args", [("judge", TOY, "-"), ("judge", TOY, "pipe.jsonl"), ("agree", "r", "pipe.jsonl")])
def test_a_signal_ends_a_read_that_waits_for_ever(judged: Path, args: tuple[str, ...], signal_sent: int) -> None:
    os.mkfifo(judged / "pipe.jsonl")
    reading, writing = os.pipe()
    with begin(*args, cwd=judged, stdin=reading) as running:
        if "-" in args:
            until(lambda: any(judged.glob("krino-*")), "stdin is read")
        else:
            filled = os.open(judged / "pipe.jsonl", os.O_WRONLY)  # waits until the command has opened it
        running.send_signal(signal_sent)
        said = last_words(running)
    assert running.returncode == 130, said
    assert "Traceback" not in said
    assert not any(judged.glob("krino-*")), "what was copied is cleared away"
    os.close(writing)
    if "-" not in args:
        os.close(filled)


A_MOMENT_TOO_EARLY = """
import signal, sys, threading, time
from krino.cli import main
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))  # so that thread is handed them, and no read
sys.argv = ["krino", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("args", [("judge", TOY, "pipe.jsonl"), ("agree", "r", "pipe.jsonl")])
def test_a_signal_that_breaks_off_no_read_ends_it_too(judged: Path, args: tuple[str, ...], signal_sent: int) -> None:
    """As one does that comes in the instant before the read begins: Python has noted it, but the read goes on."""
    os.mkfifo(judged / "pipe.jsonl")
    with begin(*args, cwd=judged, through=("-c", A_MOMENT_TOO_EARLY), stdin=subprocess.DEVNULL) as running:
        filled = os.open(judged / "pipe.jsonl", os.O_WRONLY)
        time.sleep(0.5)  # it is now in a read that waits
        running.send_signal(signal_sent)
        said = last_words(running)
    os.close(filled)
    assert running.returncode == 130, said


def last_words(running: subprocess.Popen[str]) -> str:
    """What a command wrote to stderr until it ended; one that does not end is killed and its code tells."""
    try:
        return running.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        running.kill()
        return running.communicate()[1]


def left_in(pipe: BinaryIO) -> int:
    found = array("i", [0])
    fcntl.ioctl(pipe, termios.FIONREAD, found)
    return found[0]


READ_ON_THE_LOOP = """
import sys
from krino.cli import main
from krino.runs import inputs
inputs._is_pipe = lambda path: False  # so that the pipe is read where files are: on the thread of the event loop
sys.argv = ["krino", "judge", sys.argv[1], "pipe", "--format", "jsonl", "--run", "r"]
main()
"""


@pytest.mark.parametrize("signal_sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_breaks_off_a_read_on_the_thread_that_judges(tmp_path: Path, signal_sent: int) -> None:
    """A pipe is copied first, but a disk may be as slow: no handler of the event loop is called during a read."""
    os.mkfifo(tmp_path / "pipe")
    journal = tmp_path / "r" / "judgements.jsonl"
    begun = begin(TOY, cwd=tmp_path, through=("-c", READ_ON_THE_LOOP))
    with begun as running, (tmp_path / "pipe").open("wb", buffering=0) as pipe:  # waits until the command has opened it
        pipe.write(CASES)
        until(lambda: not left_in(pipe), "the command has taken all there is and waits for more")
        until(lambda: (tmp_path / "r" / "run.json").exists(), "its run has begun")
        time.sleep(0.5)  # it is now in a read that waits
        running.send_signal(signal_sent)
        said = last_words(running)
    assert running.returncode == 130, said
    assert "stopping: waiting for replies in flight" in said
    assert json.loads((tmp_path / "r" / "run.json").read_text())["state"] == "interrupted"
    assert all(orjson.loads(line)["status"] == "ok" for line in journal.read_bytes().splitlines())


@pytest.mark.parametrize("name", ["/dev/zero", "-"])
def test_zero_bytes_without_end_are_refused_at_once(tmp_path: Path, name: str) -> None:
    with Path("/dev/zero").open("rb") as zeros:
        done = krino("judge", TOY, name, "--format", "jsonl", "--run", "r", cwd=tmp_path, stdin=zeros)
    assert (done.returncode, "zero bytes" in done.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


# --- pipes -----------------------------------------------------------------------------------------


def feed(pipe: Path, data: bytes) -> subprocess.Popen[bytes]:
    """Opens the pipe once, writes and closes: a second reader would wait for ever."""
    code = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    writer = subprocess.Popen([sys.executable, "-c", code, str(pipe)], stdin=subprocess.PIPE)
    assert writer.stdin is not None
    writer.stdin.write(data)
    writer.stdin.close()
    return writer


@pytest.mark.parametrize(
    ("name", "data", "kept"),
    [
        ("cases.jsonl", CASES, "stdin.jsonl"),
        ("cases", CASES, "stdin.jsonl"),
        ("cases.csv", b"id,text\na,fine\nb,bad\n", "stdin.csv"),
        ("cases.json", b"[" + CASES.strip().replace(b"\n", b",") + b"]", "stdin.json"),
    ],
)
def test_a_named_pipe_is_read_once_and_kept(tmp_path: Path, name: str, data: bytes, kept: str) -> None:
    os.mkfifo(tmp_path / name)
    writer = feed(tmp_path / name, data)
    done = krino("judge", TOY, name, "--run", "r", cwd=tmp_path)
    assert (done.returncode, writer.wait()) == (0, 0), done.stderr
    assert (tmp_path / "r" / kept).read_bytes() == data
    again = krino("resettle", "r", "--judge", TOY, "--run", "again", cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert len((tmp_path / "again" / "judgements.jsonl").read_bytes().splitlines()) == 2


def test_two_pipes_are_two_inputs(tmp_path: Path) -> None:
    writers = []
    for name, line in zip(("one.jsonl", "two.jsonl"), CASES.splitlines(keepends=True), strict=True):
        os.mkfifo(tmp_path / name)
        writers.append(feed(tmp_path / name, line))
    done = krino("judge", TOY, "one.jsonl", "two.jsonl", "--run", "r", cwd=tmp_path)
    assert (done.returncode, [writer.wait() for writer in writers]) == (0, [0, 0]), done.stderr
    assert (tmp_path / "r" / "stdin-2.jsonl").read_bytes() == CASES.splitlines(keepends=True)[1]
    twice = krino("judge", TOY, "one.jsonl", "one.jsonl", "--run", "s", cwd=tmp_path)
    assert (twice.returncode, "one.jsonl is named twice" in twice.stderr) == (2, True)


def test_a_pipe_in_a_folder_of_cases_is_a_failed_case_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / "a.json").write_text('{"text": "fine"}')
    os.mkfifo(tmp_path / "cases" / "b.json")
    done = krino("judge", TOY, "cases", "--run", "r", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "cases/b.json: not a regular file but a pipe" in " ".join(done.stdout.split())


# --- names -----------------------------------------------------------------------------------------


def test_no_name_is_taken_for_markup(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "[/red]", "text": "fine", "metadata": {"[/b]": "[/red]"}}\n')
    names = ("x[/red]", "[bold]x", "x:smile:", "[link=y]")
    shown = krino_each([command for name in names for command in commands_with(name)], cwd=tmp_path)
    for code, printed, raised in shown:
        assert raised in ("None", "SystemExit(0)"), (code, raised, printed)
    for name in names:
        texts = [" ".join(printed.split()) for _, printed, _ in shown]
        assert sum(name in text for text in texts) >= 4, f"{name} is shown as it is"
    other = krino("judge", TOY, "cases.jsonl", "--run", "x[/red]", "--option", "good_is=0.5", cwd=tmp_path)
    assert "Traceback" not in other.stderr
    assert "x[/red]" in other.stderr


def commands_with(name: str) -> list[tuple[str, ...]]:
    return [
        ("judge", TOY, "cases.jsonl", "--run", name),
        ("show", name),
        ("show", name, "[/red]", "--labels"),
        ("show", name, "--by", "[/b]"),
        ("compare", name, name),
        ("gate", name, "--min", "score=0.1"),
    ]
