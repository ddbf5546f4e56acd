"""What is written goes where the user said: no device, pipe or link is replaced, and no half file is left."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from command_line import environment, krino, krino_each
from krino.errors import UsageProblem
from krino.writing import replacing, write_text, writing
from made_runs import make_run, row
from waiting import ended

pytestmark = pytest.mark.skipif(os.name != "posix", reason="devices, pipes and links as POSIX has them")


# --- one file --------------------------------------------------------------------------------------


def test_a_file_is_replaced_as_a_whole_and_keeps_its_rights(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    target.chmod(0o640)
    with writing(target) as sink:
        sink.write(b"new")
        assert target.read_text() == "old"
    assert (target.read_text(), stat.S_IMODE(target.stat().st_mode)) == ("new", 0o640)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_fails_half_way_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    target = tmp_path / "out"
    target.write_text("old")
    with pytest.raises(RuntimeError), writing(target) as sink:
        sink.write(b"half")
        raise RuntimeError
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("out", "old")]


def test_a_new_file_has_the_rights_that_new_files_have(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_text(tmp_path / "out", "\ud800 x")
    assert (tmp_path / "out").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert (tmp_path / "out").read_text() == "\\ud800 x"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_its_target_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "far").mkdir()
    if there:
        (tmp_path / "far" / "real").write_text("old")
    (tmp_path / "middle").symlink_to("far/real")
    (tmp_path / "link").symlink_to("middle")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["real"]
    assert (tmp_path / "far" / "real").read_text() == "new"


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_text(pipe, "through")
    reader.join()
    assert (read, stat.S_ISFIFO(pipe.stat().st_mode)) == ([b"through"], True)


def test_a_device_is_written_to_and_stays() -> None:
    write_text(Path("/dev/null"), "gone")
    with pytest.raises(UsageProblem, match="/dev/full cannot be written: No space left"):
        write_text(Path("/dev/full"), "x")
    for name, number in (("/dev/null", (1, 3)), ("/dev/full", (1, 7))):
        there = Path(name).stat()
        assert stat.S_ISCHR(there.st_mode)
        assert (os.major(there.st_rdev), os.minor(there.st_rdev)) == number


def test_an_open_file_is_gone_on_with(tmp_path: Path) -> None:
    """`/dev/stdout` and `>(...)`: what stands in the file already stays, as with any other program."""
    (tmp_path / "out").write_text("before\n")
    code = "from pathlib import Path; from krino.writing import write_text; write_text(Path('/dev/stdout'), 'after')"
    with (tmp_path / "out").open("ab") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\nafter"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder", "is a folder; name a file in it"),
        ("nowhere/out", "name a file in a folder that is there"),
        ("file/out", "name a file in a folder that is there"),
        ("loop", "Too many levels"),
        ("/dev/fd/77", "Bad file descriptor"),
    ],
)
def test_what_cannot_be_written_is_told_with_its_name(tmp_path: Path, name: str, words: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(UsageProblem, match=words) as told:
        write_text(tmp_path / name, "x")
    assert name in str(told.value)
    assert (tmp_path / "loop").is_symlink()


def test_our_own_files_are_never_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "run.json").symlink_to("precious")
    with replacing(tmp_path / "run.json") as draft:
        draft.write(b"ours")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "run.json").is_symlink()


# --- every command that writes ---------------------------------------------------------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = [row(f"c{n}", score=n % 2, kind="AB"[n % 2]) for n in range(8)]
    make_run(tmp_path / "r", rows)
    (tmp_path / "labels.csv").write_text("id,kind\n" + "".join(f"c{n},{'AB'[n % 2]}\n" for n in range(8)))
    return tmp_path


WRITERS = (
    *(("export", "r", "OUT", "--to", kind) for kind in ("csv", "parquet", "jsonl", "otel")),
    ("gate", "r", "--min", "score=0.1", "--junit", "OUT"),
    ("gate", "r", "--min", "score=0.1", "--markdown", "OUT"),
    ("compare", "r", "r", "--markdown", "OUT"),
    ("agree", "r", "labels.csv", "--draws", "10", "--markdown", "OUT"),
)


def to(target: str) -> list[list[str]]:
    return [[target if part == "OUT" else part for part in command] for command in WRITERS]


def test_no_command_replaces_a_link(place: Path) -> None:
    (place / "real").write_text("old")
    (place / "link").symlink_to("real")
    for command, (code, printed, _) in zip(to("link"), krino_each(to("link"), cwd=place), strict=True):
        assert code == 0, (command, printed)
        assert (place / "link").is_symlink()
    assert (place / "real").read_text() != "old"
    assert not [path for path in place.iterdir() if path.name.startswith(".")]


def test_no_command_replaces_a_device(place: Path) -> None:
    """A full device of our own, where we may make one: should a command replace it, nobody else is harmed."""
    full = place / "full"
    try:
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        full.open("wb").close()
    except OSError:
        full = Path("/dev/full")
    for command, (_, _, raised) in zip(to(str(full)), krino_each(to(str(full)), cwd=place), strict=True):
        assert f"{full} cannot be written: No space left on device" in raised, command
        assert stat.S_ISCHR(full.stat().st_mode)
    done = krino(*to(str(full))[0], cwd=place)
    assert (done.returncode, f"krino: {full} cannot be written" in done.stderr) == (2, True)


def test_no_command_replaces_a_pipe(place: Path) -> None:
    os.mkfifo(place / "pipe")
    for command in (to("pipe")[0], to("pipe")[4]):
        begun = subprocess.Popen(["cat", "pipe"], cwd=place, stdout=subprocess.PIPE, env=environment(place))
        with ended(begun) as reader:
            assert krino(*command, cwd=place).returncode == 0
            assert reader.communicate(timeout=60)[0]
        assert stat.S_ISFIFO((place / "pipe").stat().st_mode)
