"""A session: errors come last, moved lines are known again, and what goes wrong is on record."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from fake_llm import FakeServer, Faults
from krino.cases.item import CaseItem
from krino.engine.case import carry
from krino.engine.interface import Assignment, OpenCase, ReceiveAny
from krino.labellers.local import LocalLabeller
from krino.runs import journal as journal_module
from krino.runs.folder import RunLocation, find_location
from krino.runs.manifest import Manifest, Plan
from krino.runs.session import Session
from toy_judge import ToyJudge


def items(*texts: str) -> Iterator[CaseItem]:
    return (CaseItem(index, f"c{index}", {"text": text}) for index, text in enumerate(texts))


def session(folder: Path, labeller: krino.Labeller | None = None, **more: Any) -> Session:
    labeller = labeller or LocalLabeller()
    plan = Plan(judge=ToyJudge().fingerprint(), labeller=labeller.describe(), inputs=["x"])
    return Session(ToyJudge(), labeller, plan, folder, **more)


async def labelled(folder: Path, server: FakeServer, *texts: str, **settings: Any) -> Manifest:
    """A session with a model, over these texts."""
    async with krino.llm("m", base_url=server.url, cache="off", **settings) as labeller:
        return await session(folder, labeller).run(lambda: items(*texts))


@pytest.mark.parametrize(
    ("later", "calls"),
    [
        (["fine new", "fine a", "fine b"], 3),
        (["fine b", "fine a"], 2),
        (["fine b"], 2),
        (["fine a", "fine a", "fine b", "fine a"], 2),
        (["fine c", "fine c"], 3),
    ],
)
async def test_a_content_is_judged_once_wherever_it_stands(tmp_path: Path, later: list[str], calls: int) -> None:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        await labelled(tmp_path, server, "fine a", "fine b")
        manifest = await labelled(tmp_path, server, *later)
        assert server.stats().calls == calls
    assert (manifest.counts.ok, manifest.cases, manifest.usage.calls) == (len(later), len(later), calls)
    run = krino.load_run(tmp_path)
    assert [judgement.id for judgement in run] == [f"c{place}" for place in range(len(later))]
    assert len(run) == len(later)


async def test_edited_and_put_back_nothing_is_judged_again(tmp_path: Path) -> None:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        for texts in (["fine a", "fine b"], ["fine a", "fine edited"], ["fine a", "fine b"]):
            manifest = await labelled(tmp_path, server, *texts)
        assert server.stats().calls == 3
    assert (manifest.counts.ok, manifest.usage.calls) == (2, 3)


async def test_removed_cases_no_longer_count(tmp_path: Path) -> None:
    await session(tmp_path).run(lambda: items("fine a", "fine b", "unjudgeable"))
    manifest = await session(tmp_path).run(lambda: items("fine a"))
    assert (manifest.cases, manifest.counts.total) == (1, 1)
    assert [judgement.id for judgement in krino.load_run(tmp_path)] == ["c0"]


async def test_how_far_a_session_is_counts_what_it_need_not_judge(tmp_path: Path) -> None:
    await session(tmp_path).run(lambda: items("fine a", "unjudgeable"))
    held = session(tmp_path)
    await held.run(lambda: items("fine a", "fine b", "fine b", "unjudgeable"))
    assert (held.progress.skipped, held.progress.counts.total, held.progress.seen) == (3, 1, 4)


async def test_what_an_interrupted_session_has_read_is_what_the_run_is_about(tmp_path: Path) -> None:
    await session(tmp_path).run(lambda: items("fine a", "fine b", "fine c"))
    again = session(tmp_path)

    def interrupted() -> Iterator[CaseItem]:
        yield from items("fine c", "fine a")
        again.interrupt()
        yield CaseItem(2, "c2", {"text": "fine b"})

    manifest = await again.run(interrupted)
    assert (manifest.state, manifest.cases, manifest.counts.ok) == ("interrupted", None, 2)
    assert [judgement.input_hash for judgement in krino.load_run(tmp_path)] == [
        krino.contract.hash_record({"text": text}) for text in ("fine c", "fine a")
    ]
    assert len(krino.load_run(tmp_path)) == 2


async def test_the_labeller_is_told_once_what_was_spent_before(tmp_path: Path) -> None:
    told: list[krino.Usage] = []

    class Frugal(LocalLabeller):
        def already_spent(self, usage: krino.Usage) -> None:
            told.append(usage)

    for text in ("fine a", "fine b"):
        await session(tmp_path, Frugal()).run(lambda text=text: items(text))  # type: ignore[misc]
    spent = orjson.loads((tmp_path / "judgements.jsonl").read_bytes().splitlines()[0])["usage"]
    assert told == [krino.Usage(), krino.Usage(**spent)]


async def test_what_was_asked_without_a_price_counts_against_every_later_limit(tmp_path: Path) -> None:
    prices = {"price_in": 10.0, "price_out": 100.0}
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        assert (await labelled(tmp_path, server, "fine a", "fine b", "fine c")).usage.cost is None
        one = (await labelled(tmp_path, server, "fine d", **prices)).usage.cost
        assert one is not None
        stopped = await labelled(tmp_path, server, "fine e", max_cost=4 * one, **prices)
        assert (stopped.state, server.stats().completed) == ("stopped", 4)


# --- what is in the folder while it lasts, and when it is refused ------------------------------------


async def test_while_a_session_lasts_the_folder_is_an_unfinished_run_of_the_cases_read_so_far(tmp_path: Path) -> None:
    await session(tmp_path).run(lambda: items("fine a", "fine b", "fine c"))
    (tmp_path / "report.html").touch()
    (tmp_path / "judgements.parquet").touch()
    seen: list[tuple[str, list[str], list[str], int]] = []

    def watched() -> Iterator[CaseItem]:
        for item in items("fine c", "", "fine a"):
            run = krino.load_run(tmp_path)
            there = sorted(path.name for path in tmp_path.iterdir())
            seen.append((run.manifest.state, [record["id"] for record in run.records()], there, len(run)))
            yield item

    plan = session(tmp_path).plan.model_copy(update={"inputs": ["y"]})
    one_by_one = LocalLabeller()
    one_by_one.workers = 1  # a case is read when the one before it is on record
    held = session(tmp_path, one_by_one)
    held.plan = plan
    await held.run(watched)
    files = ["judgements.index", "judgements.jsonl", "roll.jsonl", "run.json", "views.jsonl"]
    assert seen[0] == ("running", [], files, 0)
    assert seen[2] == ("running", ["c0", "c1"], files, 2)
    assert Manifest.load(tmp_path).plan.inputs == ["y"]


async def test_a_run_of_another_judge_is_refused_at_the_last_moment_too(tmp_path: Path) -> None:
    """Two commands may find the folder empty at the same time; the second to get it finds judgements in it."""
    await session(tmp_path).run(lambda: items("fine a"))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    other = session(tmp_path)
    other.plan = other.plan.model_copy(update={"judge": {**other.plan.judge, "source": "edited"}})
    with pytest.raises(krino.UsageProblem, match="the judge's source changed"):
        await other.run(lambda: items("fine a"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


async def test_a_damaged_journal_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    await session(tmp_path).run(lambda: items("fine a"))
    with (tmp_path / "judgements.jsonl").open("ab") as journal:
        journal.write(b"{}\n{torn")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(krino.UsageProblem, match=r"judgements.jsonl:2: not a judgement of this run"):
        await session(tmp_path).run(lambda: items("fine a"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


class NobodyAtHome(LocalLabeller):
    async def label(self, task: Any) -> Any:
        raise krino.UsageProblem("there is no such labeller")


async def test_a_command_that_turns_out_wrong_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="no such labeller"):
        await session(tmp_path / "runs" / "new", NobodyAtHome()).run(lambda: items("fine a"))
    assert list(tmp_path.iterdir()) == []


async def test_a_command_that_turns_out_wrong_keeps_what_was_judged_and_the_folder_it_found(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for name, texts in (("there", ["fine a"]), ("new", ["", "fine a"])):
        with pytest.raises(krino.UsageProblem, match="no such labeller"):
            await session(tmp_path / name, NobodyAtHome()).run(lambda texts=texts: items(*texts))  # type: ignore[misc]
        assert Manifest.load(tmp_path / name).state == "interrupted"
    assert len(krino.load_run(tmp_path / "new")) == 1


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(krino.UsageProblem, match=r"file/run cannot be made: Not a directory; name another folder"):
        await session(tmp_path / "file" / "run").run(lambda: items("fine a"))


@pytest.mark.parametrize("how", ["deleted", "replaced"])
async def test_a_folder_that_goes_away_during_the_run_is_named(tmp_path: Path, how: str) -> None:
    folder = tmp_path / "run"

    def gone() -> Iterator[CaseItem]:
        yield from items("fine a")
        shutil.rmtree(folder)
        if how == "replaced":
            folder.mkdir()
            (folder / "judgements.jsonl").touch()

    with pytest.raises(krino.UsageProblem, match=f"{folder} was deleted, moved or replaced while the run was going on"):
        await session(folder).run(gone)


async def test_the_input_has_a_hash_that_changes_with_it(tmp_path: Path) -> None:
    first = await session(tmp_path).run(lambda: items("a", "b"))
    same = await session(tmp_path).run(lambda: items("a", "b"))
    other = await session(tmp_path).run(lambda: items("a", "c"))
    assert first.input_hash == same.input_hash != other.input_hash


async def test_cases_that_ended_in_error_are_tried_again_after_the_others(tmp_path: Path) -> None:
    with FakeServer(reply={"label": "good", "quote": "fine"}, key=r"fine \w+") as server:
        server.configure(faults=Faults(schedule=["garbage"]))
        for texts in (["fine a"], ["fine a", "fine b", "fine c"]):
            async with krino.llm("m", base_url=server.url, cache="off", reasks=0, concurrency=1) as labeller:
                manifest = await session(tmp_path, labeller).run(lambda texts=texts: items(*texts))  # type: ignore[misc]
        asked = [request.user_text.split("fine ")[1][0] for request in server.requests]
    assert asked == ["a", "b", "c", "a"]
    assert manifest.counts.ok == 3


async def test_a_stream_that_breaks_half_way_is_on_record_and_what_was_read_is_kept(tmp_path: Path) -> None:
    def broken() -> Iterator[CaseItem]:
        yield from items("fine a", "fine b")
        raise krino.UsageProblem("f.json: broken in the middle")

    with pytest.raises(krino.UsageProblem, match="broken in the middle"):
        await session(tmp_path).run(broken)
    manifest = Manifest.load(tmp_path)
    assert (manifest.state, manifest.counts.ok) == ("stopped", 2)


async def test_any_other_fault_leaves_a_manifest_that_says_so(tmp_path: Path) -> None:
    def broken() -> Iterator[CaseItem]:
        yield from items("fine a")
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await session(tmp_path).run(broken)
    assert Manifest.load(tmp_path).state == "interrupted"


async def test_a_run_killed_before_its_manifest_was_written_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "judgements.jsonl").touch()
    (tmp_path / "roll.jsonl").touch()
    assert find_location(session(tmp_path).plan, named=tmp_path) == RunLocation(tmp_path, continued=False)
    assert (await session(tmp_path).run(lambda: items("fine"))).counts.ok == 1


class Stopping(LocalLabeller):
    """Stops the run at the first case that is asked about."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        self.kind = kind

    async def label(self, task: Any) -> Any:
        raise krino.RunStopped("that was it", kind=self.kind)


@pytest.mark.parametrize(("kind", "state"), [("interrupt", "interrupted"), ("budget", "stopped")])
async def test_a_run_that_a_labeller_stops_says_whether_the_user_wanted_it(
    tmp_path: Path, kind: str, state: str
) -> None:
    manifest = await session(tmp_path, Stopping(kind)).run(lambda: items("fine a"))
    assert (manifest.state, manifest.stop_reason, manifest.cases) == (state, "that was it", None)


async def test_errors_are_not_tried_again_once_the_run_is_to_stop(tmp_path: Path) -> None:
    await session(tmp_path).run(lambda: items("label-explode"))
    stopped = session(tmp_path)

    def interrupted() -> Iterator[CaseItem]:
        yield from items("label-explode")
        stopped.interrupt()

    def broken() -> Iterator[CaseItem]:
        yield from items("label-explode")
        raise krino.UsageProblem("broken in the middle")

    assert (await stopped.run(interrupted)).state == "interrupted"
    ended = session(tmp_path)
    with pytest.raises(krino.UsageProblem, match="broken in the middle"):
        await ended.run(broken)
    assert (stopped.progress.counts.error, ended.progress.counts.error) == (0, 0)
    again = session(tmp_path)
    await again.run(lambda: items("label-explode"))
    assert again.progress.counts.error == 1


async def test_a_sitting_that_is_interrupted_before_it_begins_judges_nothing(tmp_path: Path) -> None:
    held = session(tmp_path)
    held.interrupt()
    manifest = await held.run(lambda: items("fine a"))
    assert (manifest.state, manifest.counts.total, held.progress.seen) == ("interrupted", 0, 0)


async def test_the_input_is_read_a_second_time_only_for_errors(tmp_path: Path) -> None:
    read: list[int] = []

    def cases() -> Iterator[CaseItem]:
        read.append(1)
        return items("fine a", "label-explode")

    await session(tmp_path).run(cases)
    assert len(read) == 1
    await session(tmp_path).run(cases)
    assert len(read) == 3


async def test_an_input_that_changes_between_two_readings_never_takes_another_case_for_the_one_to_try_again(
    tmp_path: Path,
) -> None:
    """Errors are tried again at the end, and the input is read a second time for it."""
    await session(tmp_path).run(lambda: items("label-explode", "fine a", "label-explode too"))
    held, readings = session(tmp_path), iter([["label-explode", "fine a"], ["fine a"]])
    manifest = await held.run(lambda: items(*next(readings)))
    assert (manifest.cases, manifest.counts.error, manifest.counts.ok) == (2, 1, 1)
    assert held.progress.counts.total == 0


async def test_what_cannot_be_written_as_json_is_an_error_of_its_case(tmp_path: Path) -> None:
    class Odd(ToyJudge):
        def settle(self, case: Any, facts: int, labels: Any) -> krino.Settlement:
            text = "\ud800" if "odd" in case.text else "n"
            return krino.Settlement({"score": krino.Ruling(1.0, "TOY-LABEL"), "note": krino.Ruling(text, "TOY-LABEL")})

    held = session(tmp_path)
    held.judge = Odd()
    manifest = await held.run(lambda: items("fine", "odd", "fine too"))
    assert (manifest.counts.ok, manifest.counts.error) == (2, 1)
    assert krino.load_run(tmp_path)["c1"].usage.seconds > 0  # what was spent on it stays on the bill


async def test_fresh_judges_everything_again_whatever_stood_there(tmp_path: Path) -> None:
    await session(tmp_path).run(lambda: items("fine", "fine b"))
    (tmp_path / "report.html").touch()
    again = session(tmp_path, fresh=True)
    again.plan = again.plan.model_copy(update={"labeller": {"kind": "another"}})
    manifest = await again.run(lambda: items("fine"))
    assert (again.progress.counts.ok, manifest.counts.ok, manifest.plan.labeller) == (1, 1, {"kind": "another"})
    assert len((tmp_path / "judgements.jsonl").read_bytes().splitlines()) == 1
    assert not (tmp_path / "report.html").exists()
    assert manifest.usage.seconds == krino.load_run(tmp_path)["c0"].usage.seconds


async def test_fresh_takes_the_place_of_a_run_that_nobody_can_read(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    (tmp_path / "judgements.jsonl").write_text("no judgement\n")
    manifest = await session(tmp_path, fresh=True).run(lambda: items("fine"))
    assert (manifest.counts.ok, len(krino.load_run(tmp_path))) == (1, 1)


async def test_a_stop_in_the_last_case_of_a_panel_leaves_no_finished_run(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"cache": "off", "api_key": "secret-key", "concurrency": 1}
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        for limit in (2_000, 100_000):
            async with krino.repeated("m", 20, base_url=server.url, max_tokens=limit, **settings) as panel:
                manifest = await session(tmp_path, panel).run(lambda: items("fine"))
            if limit == 2_000:
                assert (manifest.state, manifest.counts.error) == ("stopped", 1)
                assert "limit of 2,000 tokens (--max-tokens) is reached" in (manifest.stop_reason or "")
                assert manifest.usage.calls > 0
    assert (manifest.state, manifest.stop_reason, manifest.counts.ok) == ("finished", None, 1)


async def test_a_stop_between_two_askings_of_the_last_case_leaves_no_finished_run(tmp_path: Path) -> None:
    with FakeServer(reply="prose") as server:
        async with krino.llm("m", base_url=server.url, cache="off", max_tokens=2_000, reasks=99) as labeller:
            manifest = await session(tmp_path, labeller).run(lambda: items("fine"))
    assert (manifest.state, manifest.counts.error) == ("stopped", 1)
    assert "--max-tokens" in (manifest.stop_reason or "")
    assert manifest.usage.calls > 0


@pytest.mark.parametrize(
    ("cases", "count", "example"),
    [
        ([("a", "x"), ("b", "x"), ("c", "y")], 0, None),
        ([("a", "x"), ("a", "x")], 0, None),
        ([("a", "x"), ("b", "y"), ("b", "z"), ("a", "z"), ("b", "y")], 2, "b"),
    ],
)
async def test_ids_that_stand_for_several_contents_are_counted_with_an_example(
    tmp_path: Path, cases: list[tuple[str, str]], count: int, example: str | None
) -> None:
    stream = [CaseItem(index, own_id, {"text": text}) for index, (own_id, text) in enumerate(cases)]
    manifest = await session(tmp_path).run(lambda: iter(stream))
    assert (manifest.repeated_ids, manifest.repeated_id) == (count, example)
    again = await session(tmp_path).run(lambda: items("x"))
    assert (again.repeated_ids, again.repeated_id) == (0, None)


class Together:
    """An engine that hands all of its cases back at once, the one with a long id with more than a journal takes."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        found = []
        async for case in cases:
            judgement, *_ = await carry(assignment.judge, assignment.labeller, case.item, case.digest)
            if case.number == 1:
                judgement = judgement.model_copy(update={"id": f"{'long ' * 200}"})
            found.append((case, judgement))
        await receive(found)

    def stop(self) -> None:
        raise AssertionError


async def test_of_cases_that_come_back_together_only_the_one_that_cannot_be_written_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "MOST_BYTES", 1_000)
    manifest = await session(tmp_path, make_engine=Together).run(lambda: items("fine a", "fine b", "fine c"))
    assert (manifest.counts.ok, manifest.counts.error, manifest.state) == (2, 1, "finished")
    told = {judgement.id: judgement.error for judgement in krino.load_run(tmp_path)}
    assert {name: bool(error) for name, error in told.items()} == {"c0": False, "c1": True, "c2": False}
    assert "but a line of a journal takes 1,000" in str(told["c1"])
