"""A case is read and studied once: its view is made when it is judged, and everybody who shows it reads that."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest
from typer.testing import CliRunner, Result

import krino
from krino.blocks import Block, MarkedText, Paragraph, Segment, as_data
from krino.cli import app
from krino.contract import Judgement
from krino.contract.judgement import RollUp
from krino.engine import views as making
from krino.engine.processes import AllCores
from krino.engine.views import EMPTY, LONGEST_VIEW, CaseView, bounded, view_line
from krino.runs.stored_run import load_stored_run
from krino.runs.views import MOST_BYTES, VIEWS, StoredViews, ViewFile
from made_judgements import HOSTILE
from report_page import Page
from toy_judge import ToyCase, ToyJudge
from workbench_making import serving

PAGE = {"accept": "text/html"}
HASH = "0123456789abcdef" * 2
OTHER = "fedcba9876543210" * 2
TEXTS = ["a good text", "a bad text", "", "unjudgeable", "explode"]


class Seen(ToyJudge):
    """Counts what is asked of it, by case."""

    calls: ClassVar[Counter[tuple[str, str]]] = Counter()

    def study(self, case: ToyCase) -> int:
        self.calls["study", case.text] += 1
        return super().study(case)

    def ask(self, case: ToyCase, facts: int) -> Any:
        self.calls["ask", case.text] += 1
        return super().ask(case, facts)

    def view(self, case: ToyCase, facts: int, judgement: Judgement) -> Sequence[Block]:
        self.calls["view", case.text] += 1
        return [MarkedText("Seen", [Segment(f"{case.text} has {facts}")])]


class Failing(Seen):
    def roll_up(self, verdict: Mapping[str, Any], rules: Mapping[str, str]) -> RollUp:
        return "fail"


@pytest.fixture(autouse=True)
def uncounted(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The judge was tried before: that is done once for each class, on a first case."""
    for judge in (Seen, Failing):
        judged(tmp_path_factory.mktemp("tried"), ["tried"], judge=judge)
    Seen.calls.clear()


def judged(folder: Path, texts: Sequence[str] = TEXTS, **settings: Any) -> krino.Run:
    records = [{"id": f"c{number}", "text": text} for number, text in enumerate(texts)]
    return krino.run(settings.pop("judge", Seen), records, into=folder, **settings)


def command(*words: Any) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def keep(folder: Path, *lines: bytes) -> None:
    folder.mkdir(exist_ok=True)
    (folder / VIEWS).write_bytes(b"".join(lines))


def a_line(input_hash: str = HASH, *blocks: Block, request: str | None = None) -> bytes:
    return view_line(input_hash, CaseView(as_data(blocks or [Paragraph("shown")]), request))


# --- made once -------------------------------------------------------------------------------------


def test_a_command_studies_and_views_each_case_once(tmp_path: Path) -> None:
    run = judged(tmp_path / "r")
    assert {text: count for (what, text), count in Seen.calls.items() if what == "study"} == dict.fromkeys(TEXTS, 1)
    viewed = {text: count for (what, text), count in Seen.calls.items() if what == "view"}
    assert viewed == dict.fromkeys(TEXTS[:3], 1), "what could not be studied has no view"
    details = dict(Page((run.folder / "report.html").read_text("utf-8")).data("details"))
    assert details[0]["blocks"][0]["segments"] == [{"text": "a good text has 11"}]


def test_showing_a_run_again_studies_nothing(tmp_path: Path) -> None:
    texts = TEXTS[:4]  # an error would be tried again
    run = judged(tmp_path / "r", texts)
    Seen.calls.clear()
    judged(tmp_path / "r", texts)
    run.report()
    assert command("show", run.folder, "c0").exit_code == 0
    assert not Seen.calls


def test_what_a_model_reads_is_written_once(tmp_path: Path) -> None:
    from krino.contract import Labelled, Labeller, Task

    class Reading(Labeller):
        def describe(self) -> dict[str, Any]:
            return {"kind": "test"}

        async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
            return Labelled(labels=task.judge.labels_model(label="good", quote=""), info=self.describe())

    run = judged(tmp_path / "r", ["a good text"], labeller=Reading())
    assert Seen.calls["ask", "a good text"] == 1
    (record,) = run.records()
    view = StoredViews(run.folder).of(record["input_hash"])
    assert view is not None and "a good text" in str(view.request)


def test_workers_send_the_views_of_their_cases(tmp_path: Path) -> None:
    texts = [f"a good text {number}" for number in range(200)]
    records = [
        {"id": text, "question": text, "context": [f"It is {text}."], "answer": f"It is {text}."} for text in texts
    ]
    run = krino.run("rag", records, into=tmp_path / "r", engine=lambda: AllCores(2))
    stored = StoredViews(run.folder)
    for record in run.records():
        shown = stored.of(record["input_hash"])
        assert shown is not None and record["id"] in orjson.dumps(shown.blocks).decode()
        assert shown.request is not None


def test_a_run_that_goes_on_keeps_the_views_it_has_and_a_fresh_one_none(tmp_path: Path) -> None:
    judged(tmp_path / "r", TEXTS[:1])
    first = (tmp_path / "r" / VIEWS).read_bytes()
    judged(tmp_path / "r", TEXTS[:2])
    assert (tmp_path / "r" / VIEWS).read_bytes().startswith(first)
    assert Seen.calls["view", TEXTS[0]] == 1
    judged(tmp_path / "r", TEXTS[1:2], fresh=True)
    assert first not in (tmp_path / "r" / VIEWS).read_bytes()


def test_a_case_whose_view_is_lost_gets_one_from_its_input(tmp_path: Path) -> None:
    run = judged(tmp_path / "r", TEXTS[:1])
    before = Page((run.folder / "report.html").read_text("utf-8")).data("details")
    (run.folder / VIEWS).unlink()
    judged(tmp_path / "r", TEXTS[:1])
    assert Page((run.folder / "report.html").read_text("utf-8")).data("details") == before
    assert Seen.calls["view", TEXTS[0]] == 2


def test_of_a_large_run_the_first_cases_and_all_bad_ones_have_views(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(making, "FIRST_VIEWS", 3)
    run = judged(tmp_path / "r", [*(f"good {n}" for n in range(6)), "unjudgeable"])
    stored = StoredViews(run.folder)
    has_view = [stored.of(record["input_hash"]) is not None for record in run.records()]
    assert has_view == [True, True, True, False, False, False, True]


@pytest.mark.parametrize("room", ["ROOM_FOR_OK", "ROOM_FOR_OTHERS"])
def test_no_more_views_are_made_than_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: str
) -> None:
    monkeypatch.setattr(making, room, 300)
    texts = [f"good {number}" for number in range(20)]
    judged(tmp_path / "r", texts, judge=Seen if room == "ROOM_FOR_OK" else Failing)
    assert 300 <= (tmp_path / "r" / VIEWS).stat().st_size < 1_000


def test_a_view_is_written_after_its_judgement(tmp_path: Path) -> None:
    """So that nothing that was paid for waits for it."""

    class Late(Seen):
        def view(self, case: ToyCase, facts: int, judgement: Judgement) -> Sequence[Block]:
            assert judgement.input_hash in (tmp_path / "r" / "judgements.jsonl").read_text("utf-8")
            return super().view(case, facts, judgement)

    run = judged(tmp_path / "r", TEXTS[:3], judge=Late)
    shown = [StoredViews(run.folder).of(record["input_hash"]) for record in run.records()]
    assert all(view is not None and "has" in str(view.blocks) for view in shown)


# --- the report is an output -----------------------------------------------------------------------


@pytest.mark.parametrize("what", ["deleted", "edited"])
def test_what_becomes_of_the_report_changes_nothing_that_is_shown(tmp_path: Path, what: str) -> None:
    run = judged(tmp_path / "runs" / "r", TEXTS[:2])
    report = run.folder / "report.html"

    def shown() -> tuple[str, str]:
        with serving(tmp_path / "runs") as client:
            page = client.get("/runs/r/cases/c0", headers=PAGE).text
        return command("show", run.folder, "c0").stdout, page[page.index("<main") :]

    before = shown()
    assert all("a good text has 11" in text for text in before)
    if what == "deleted":
        report.unlink()
    else:
        report.write_bytes(report.read_bytes().replace(b"a good text has 11", b"it was edited"))
    assert shown() == before


def test_a_run_of_before_is_shown_by_its_journal_and_says_why(tmp_path: Path) -> None:
    run = judged(tmp_path / "r", TEXTS[:1])
    (run.folder / VIEWS).unlink()
    shown = command("show", run.folder, "c0")
    assert shown.exit_code == 0 and "TOY-LABEL" in shown.stdout
    assert "keeps no view of this case" in " ".join(shown.stderr.split())


# --- hostile files ---------------------------------------------------------------------------------

ODD_LINES: Mapping[str, bytes] = {
    "no JSON": b'{"input_hash":"%s","blocks":[' % HASH.encode() + b"\n",
    "blocks are no list": b'{"input_hash":"%s","blocks":7,"request":null}\n' % HASH.encode(),
    "request is no text": b'{"input_hash":"%s","blocks":[],"request":7}\n' % HASH.encode(),
    "nested without end": b'{"input_hash":"%s","blocks":%s%s}\n' % (HASH.encode(), b"[" * 900, b"]" * 900),
    "of another case": a_line(OTHER),
    "a path for a hash": b'{"input_hash":"../../../../../../../etc/passwd..","blocks":[]}\n',
    "torn": a_line()[:-1],
    "too long": b'{"input_hash":"%s","blocks":["%s"]}\n' % (HASH.encode(), b"x" * LONGEST_VIEW),
    "no text": bytes(range(256)) * 4,
    "empty": b"",
}


@pytest.mark.parametrize("line", ODD_LINES.values(), ids=ODD_LINES)
def test_an_odd_line_is_no_view_and_costs_no_other(tmp_path: Path, line: bytes) -> None:
    keep(tmp_path, line)
    assert StoredViews(tmp_path).of(HASH) is None
    keep(tmp_path, line, b"" if line.endswith(b"\n") else b"\n", a_line("a" * 32))
    assert StoredViews(tmp_path).blocks_of("a" * 32) == [Paragraph("shown")]


def test_a_line_within_a_long_line_is_no_view(tmp_path: Path) -> None:
    keep(tmp_path, b"x" * (LONGEST_VIEW + 1) + a_line())
    assert StoredViews(tmp_path).of(HASH) is None


def test_blocks_of_a_wrong_kind_are_left_out(tmp_path: Path) -> None:
    blocks = [7, None, {"kind": "x"}, {"kind": "paragraph"}, *as_data([Paragraph(HOSTILE)])]
    keep(tmp_path, orjson.dumps({"input_hash": HASH, "blocks": blocks, "request": None}) + b"\n")
    assert StoredViews(tmp_path).blocks_of(HASH) == [Paragraph(HOSTILE)]


def test_a_file_of_nothing_but_line_breaks_is_left_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.runs.views.MOST_LINES", 1_000)
    keep(tmp_path, a_line(OTHER), b"\n" * 999, a_line())
    assert StoredViews(tmp_path).of(OTHER) is not None
    assert StoredViews(tmp_path).of(HASH) is None


def test_a_file_that_is_larger_than_any_of_ours_is_not_read(tmp_path: Path) -> None:
    keep(tmp_path, a_line())
    os.truncate(tmp_path / VIEWS, MOST_BYTES + 1)
    assert StoredViews(tmp_path).of(HASH) is None


def lead_out(folder: Path) -> None:
    secret = folder.parent / "secret.jsonl"
    secret.write_bytes(a_line())
    (folder / VIEWS).symlink_to(secret)


@pytest.mark.parametrize("make", [lead_out, lambda folder: os.mkfifo(folder / VIEWS), lambda folder: None])
def test_what_is_no_file_of_the_folder_is_neither_read_nor_waited_for(
    tmp_path: Path, make: Callable[[Path], None]
) -> None:
    folder = tmp_path / "r"
    folder.mkdir()
    make(folder)
    found: list[Any] = []
    reading = threading.Thread(target=lambda: found.append(StoredViews(folder).of(HASH)), daemon=True)
    reading.start()
    reading.join(10)
    assert found == [None]


def test_hostile_text_is_shown_as_text_everywhere(tmp_path: Path) -> None:
    run = judged(tmp_path / "runs" / "r", TEXTS[:1])
    (record,) = run.records()
    escape = "\x1b]0;owned\x07"
    keep(run.folder, a_line(record["input_hash"], MarkedText(HOSTILE, [Segment(HOSTILE + escape)]), request=HOSTILE))
    shown = command("show", run.folder, "c0")
    assert shown.exit_code == 0 and escape not in shown.stdout
    page = Page(run.report().read_text("utf-8"))
    assert not [tag for tag, _ in page.tags if tag in {"img", "iframe"}]
    with serving(tmp_path / "runs") as client:
        assert "<script>alert" not in client.get("/runs/r/cases/c0", headers=PAGE).text


def test_charts_of_nothing_cost_the_view_and_not_the_command(tmp_path: Path) -> None:
    run = judged(tmp_path / "runs" / "r", TEXTS[:1])
    (record,) = run.records()
    empty = {"name": "s", "n": 0, "nulls": 0, "mean": 0, "interval": None, "least": 0, "most": 0, "low": 0, "step": 0}
    blocks = [{"kind": "scores", "scores": [{**empty, "counts": [], "whole": False}]}]
    keep(run.folder, orjson.dumps({"input_hash": record["input_hash"], "blocks": blocks, "request": None}) + b"\n")
    shown = command("show", run.folder, "c0")
    assert shown.exit_code == 0 and "TOY-LABEL" in shown.stdout
    with serving(tmp_path / "runs") as client:
        assert client.get("/runs/r/cases/c0", headers=PAGE).status_code == 200


# --- writing ---------------------------------------------------------------------------------------


def test_of_several_views_the_last_counts_and_half_a_line_is_not_written_onto(tmp_path: Path) -> None:
    keep(tmp_path, a_line(HASH, Paragraph("first")), a_line(OTHER)[:40])
    views = ViewFile(tmp_path)
    views.append(a_line(HASH, Paragraph("second")))
    views.close()
    assert StoredViews(tmp_path).blocks_of(HASH) == [Paragraph("second")]
    assert StoredViews(tmp_path).of(OTHER) is None


def test_the_file_does_not_grow_beyond_what_is_read_again(tmp_path: Path) -> None:
    keep(tmp_path, a_line(HASH))
    with (tmp_path / VIEWS).open("ab") as file:
        while (left := MOST_BYTES - 10 - file.tell()) > 0:
            file.write(b"x" * (min(left, 1_000_000) - 1) + b"\n")
    views = ViewFile(tmp_path)
    views.append(a_line(OTHER))
    views.close()
    assert (tmp_path / VIEWS).stat().st_size == MOST_BYTES - 10
    assert StoredViews(tmp_path).of(HASH) is not None


def test_a_view_is_cut_to_its_bounds_and_says_so() -> None:
    many = [Paragraph("x" * 9_000) for _ in range(1_000)]
    line = view_line(HASH, CaseView(as_data(many), "asked"))
    assert len(line) <= LONGEST_VIEW
    assert "left out" in orjson.loads(line)["blocks"][-1]["text"]
    (cut,) = bounded(["y" * 20_000])
    assert cut.startswith("y" * 10_000 + "…") and "10,000 of 20,000" in cut


def test_half_characters_and_long_numbers_can_be_kept(tmp_path: Path) -> None:
    odd: list[dict[str, Any]] = [
        {"kind": "paragraph", "text": "half \ud800"},
        {"kind": "paragraph", "text": "n", "small": 1 << 70},
    ]
    line = view_line(HASH, CaseView(odd, None))
    assert orjson.loads(line)["blocks"][0]["text"] == "half ?"


def test_an_empty_view_says_that_there_is_nothing_to_see(tmp_path: Path) -> None:
    keep(tmp_path, view_line(HASH, EMPTY))
    assert StoredViews(tmp_path).blocks_of(HASH) == []


def test_a_view_that_fails_costs_its_blocks_and_not_the_case(tmp_path: Path) -> None:
    class Broken(ToyJudge):
        def view(self, case: ToyCase, facts: int, judgement: Judgement) -> Sequence[Block]:
            raise SystemExit(0)

    run = judged(tmp_path / "r", TEXTS[:1], judge=Broken)
    (record,) = load_stored_run(run.folder).records()
    shown = StoredViews(run.folder).blocks_of(record["input_hash"])
    assert record["status"] == "ok"
    assert "`view` of judge `toy` failed" in str(shown)


def test_a_merged_run_has_the_views_of_its_parts(tmp_path: Path) -> None:
    parts = [judged(tmp_path / name, texts) for name, texts in (("a", TEXTS[:2]), ("b", ["a second good text", ""]))]
    merged = krino.merge(parts, tmp_path / "m")
    stored = StoredViews(merged.folder)
    shown = {record["id"]: str(stored.blocks_of(record["input_hash"])) for record in merged.records()}
    assert len(stored) == 4 and all("has" in view for view in shown.values())
    before = (tmp_path / "m" / VIEWS).read_bytes()
    krino.merge(parts, tmp_path / "m")
    assert (tmp_path / "m" / VIEWS).read_bytes() == before
