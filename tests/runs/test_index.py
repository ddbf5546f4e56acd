"""The index of a journal: the journal is the truth, and an index that is not of it is made again."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

import krino
from krino.runs.index import INDEX, JournalIndex
from krino.runs.journal import JOURNAL, Journal, open_index
from krino.runs.manifest import Manifest
from krino.runs.stored_run import RecordedLabels, load_stored_run
from made_runs import error_row, failed_row, make_run, row, scores


def lines_of(index: JournalIndex) -> list[tuple[int, ...]]:
    index._lines.values()  # sorts in what waits
    return list(zip(index._lines._firsts, index._lines._seconds, index._lines._values, strict=True))


def made(folder: Path) -> Path:
    return make_run(folder, [*scores(0.1, 0.2, 0.3), failed_row("f"), error_row("e")])


def test_the_index_that_is_kept_is_the_one_that_the_journal_gives(tmp_path: Path) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    kept = JournalIndex.load(run.journal)
    (run.folder / INDEX).unlink()
    again = run.index()
    assert kept is not None and (kept.is_checked, again.is_checked) == (False, True)
    assert lines_of(kept) == lines_of(again)
    assert (kept.usage, kept.unpriced, kept.end) == (again.usage, again.unpriced, again.end)
    assert kept.end == run.journal.stat().st_size
    assert len(kept) == 5 and kept.has_verdicts


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def double(path: Path) -> None:
    path.write_bytes(path.read_bytes() + path.read_bytes()[-24:])


def change(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-9] ^= 1
    path.write_bytes(data)


def change_format(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"format":1', b'"format":2'))


def empty(path: Path) -> None:
    path.write_bytes(b"")


def lead_out(path: Path) -> None:
    path.rename(path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def take_from_another_run(path: Path) -> None:
    other = make_run(path.parent.parent / "other", scores(0.9, 0.8, 0.7, 0.6))
    path.write_bytes((other / INDEX).read_bytes())


@pytest.mark.parametrize(
    "spoil", [Path.unlink, empty, cut, double, change, change_format, lead_out, take_from_another_run]
)
def test_an_index_that_is_not_the_journals_is_not_used(tmp_path: Path, spoil: Callable[[Path], object]) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    whole = list(run.records())
    spoil(run.folder / INDEX)
    assert JournalIndex.load(run.journal) is None
    assert list(run.records()) == whole


def test_a_journal_that_has_changed_since_is_read_again(tmp_path: Path) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    run.journal.write_bytes(run.journal.read_bytes().replace(b'"score":0.1', b'"score":0.4'))  # of the same size
    assert JournalIndex.load(run.journal) is None
    assert run["c0"].verdict == {"score": 0.4}


def test_a_copy_of_a_run_is_read_like_the_run(tmp_path: Path) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in run.folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    assert list(load_stored_run(copy).records()) == list(run.records())


def as_of_now(folder: Path) -> None:
    """Give the index the journal's present size and time of change, as a hostile folder may."""
    head, _, body = (folder / INDEX).read_bytes().partition(b"\n")
    found = (folder / JOURNAL).stat()
    changed = {**orjson.loads(head), "journal": [found.st_size, found.st_mtime_ns]}
    (folder / INDEX).write_bytes(orjson.dumps(changed) + b"\n" + body)


def test_lines_that_are_found_with_a_kept_index_are_checked_too(tmp_path: Path) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    run.journal.write_bytes(run.journal.read_bytes().replace(b'"judge":"toy"', b'"judge":"two"'))
    as_of_now(run.folder)
    assert JournalIndex.load(run.journal) is not None
    with pytest.raises(krino.UsageProblem, match=r"judgements.jsonl:2: not a judgement of this run: judge: "):
        run["c1"]


def test_a_line_of_another_content_is_not_taken(tmp_path: Path) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    lines = run.journal.read_bytes().splitlines(keepends=True)
    lines[0] = lines[0].replace(orjson.loads(lines[0])["input_hash"].encode(), b"f" * 32)
    run.journal.write_bytes(b"".join(lines))
    as_of_now(run.folder)
    with pytest.raises(krino.UsageProblem, match="was restarted while it was read"):
        run["c0"]


def test_a_run_of_no_cases_has_no_index_and_is_read(tmp_path: Path) -> None:
    run = load_stored_run(make_run(tmp_path / "r", []))
    assert not (run.folder / INDEX).exists()
    assert (list(run.records()), len(run.index()), run.index().has_verdicts) == ([], 0, False)


def test_cases_that_share_an_id_are_all_found(tmp_path: Path) -> None:
    run = load_stored_run(make_run(tmp_path / "r", [row("a", score=0.1), row("b", score=0.2), row("a", score=0.3)]))
    found = [record["verdict"]["score"] for record in run.judged().records(ids={"a"})]
    assert found == [0.1, 0.3]
    assert run["a"].verdict == {"score": 0.1}


WRITER = """
import os, sys
from pathlib import Path
from krino.contract import Judgement
from krino.runs.journal import Journal
from krino.runs.manifest import Manifest

folder = Path(sys.argv[1])
journal = Journal(folder)
journal.load(Manifest.load(folder))
judged = {"verdict": {"score": 0.5}, "decided_by": {"score": "R"}}
journal.append(Judgement(index=9, id="new", judge="toy", judge_version="1", status="ok", input_hash="f" * 32, **judged))
os.write(1, b"written")
os.kill(os.getpid(), 9)
"""


def test_a_writer_that_is_killed_leaves_an_older_index_which_nobody_uses(tmp_path: Path) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    before = (run.folder / INDEX).read_bytes()
    done = subprocess.run([sys.executable, "-c", WRITER, str(run.folder)], capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, b"written")
    assert (run.folder / INDEX).read_bytes() == before
    with run.journal.open("ab") as torn:
        torn.write(b'{"index": 1')
    assert run.index().status("f" * 32) == "ok"
    journal = Journal(run.folder)
    journal.load(run.manifest)
    journal.close()
    kept = JournalIndex.load(run.journal)
    assert kept is not None and kept.status("f" * 32) == "ok"
    assert run.journal.read_bytes().endswith(b"}\n")


def test_labels_are_looked_up_with_the_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load_stored_run(made(tmp_path / "r"))
    monkeypatch.setattr("krino.runs.journal.read_journal", None)
    RecordedLabels(run).close()
    assert run["c2"].verdict == {"score": 0.3}


def test_an_index_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    (tmp_path / INDEX).mkdir()  # a file cannot replace a folder
    journal = Journal(tmp_path)
    journal.append(krino.load_run(made(tmp_path / "r"))["c0"])
    journal.close()
    assert (tmp_path / INDEX).is_dir()
    assert len(open_index(tmp_path, Manifest.load(tmp_path / "r"))) == 1
