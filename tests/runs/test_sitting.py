"""A sitting: errors come last, moved lines are known again, and what goes wrong is on record."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.cases.item import CaseItem
from krino.labellers.local import LocalLabeller
from krino.runs.folder import find_place
from krino.runs.journal import read_in_order
from krino.runs.manifest import Manifest, Plan
from krino.runs.sitting import Sitting
from krino.testing import FakeServer, Faults
from toy_judge import ToyJudge


def items(*texts: str) -> Iterator[CaseItem]:
    return (CaseItem(index, f"c{index}", {"text": text}) for index, text in enumerate(texts))


def sitting(folder: Path, labeller: krino.Labeller | None = None, **more: Any) -> Sitting:
    labeller = labeller or LocalLabeller()
    plan = Plan(judge=ToyJudge().fingerprint(), labeller=labeller.describe(), inputs=["x"])
    return Sitting(ToyJudge(), labeller, plan, folder, **more)


async def test_lines_that_moved_are_known_again(tmp_path: Path) -> None:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        for texts in (["fine a", "fine b"], ["fine new", "fine a", "fine b"]):
            async with krino.llm("m", base_url=server.url, cache="off") as labeller:
                held = sitting(tmp_path, labeller)
                manifest = await held.hold(lambda texts=texts: items(*texts))  # type: ignore[misc]
        assert server.stats().calls == 3
    assert held.tally.moved == 2
    assert manifest.counts.ok == 3
    assert manifest.usage.calls == 3
    assert [judgement.id for judgement in read_in_order(tmp_path / "judgements.jsonl")] == ["c0", "c1", "c2"]


async def test_removed_cases_no_longer_count(tmp_path: Path) -> None:
    await sitting(tmp_path).hold(lambda: items("fine a", "fine b", "unjudgeable"))
    manifest = await sitting(tmp_path).hold(lambda: items("fine a"))
    assert (manifest.cases, manifest.counts.total) == (1, 1)


async def test_the_input_has_a_hash_that_changes_with_it(tmp_path: Path) -> None:
    first = await sitting(tmp_path).hold(lambda: items("a", "b"))
    same = await sitting(tmp_path).hold(lambda: items("a", "b"))
    other = await sitting(tmp_path).hold(lambda: items("a", "c"))
    assert first.input_hash == same.input_hash != other.input_hash


async def test_cases_that_ended_in_error_are_tried_again_after_the_others(tmp_path: Path) -> None:
    with FakeServer(reply={"label": "good", "quote": "fine"}, key=r"fine \w+") as server:
        server.configure(faults=Faults(schedule=["garbage"]))
        for texts in (["fine a"], ["fine a", "fine b", "fine c"]):
            async with krino.llm("m", base_url=server.url, cache="off", reasks=0, concurrency=1) as labeller:
                manifest = await sitting(tmp_path, labeller).hold(lambda texts=texts: items(*texts))  # type: ignore[misc]
        asked = [request.user_text.split("fine ")[1][0] for request in server.requests]
    assert asked == ["a", "b", "c", "a"]
    assert manifest.counts.ok == 3


async def test_a_stream_that_breaks_half_way_is_on_record_and_what_was_read_is_kept(tmp_path: Path) -> None:
    def broken() -> Iterator[CaseItem]:
        yield from items("fine a", "fine b")
        raise krino.UsageProblem("f.json: broken in the middle")

    with pytest.raises(krino.UsageProblem, match="broken in the middle"):
        await sitting(tmp_path).hold(broken)
    manifest = Manifest.load(tmp_path)
    assert (manifest.state, manifest.counts.ok) == ("stopped", 2)


async def test_any_other_fault_leaves_a_manifest_that_says_so(tmp_path: Path) -> None:
    def broken() -> Iterator[CaseItem]:
        yield from items("fine a")
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        await sitting(tmp_path).hold(broken)
    assert Manifest.load(tmp_path).state == "interrupted"


async def test_a_run_killed_before_its_manifest_was_written_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "judgements.jsonl").touch()
    plan = Plan(judge={"name": "toy"}, labeller={}, inputs=[])
    assert find_place(plan, named=tmp_path).folder == tmp_path


async def test_what_cannot_be_written_as_json_is_an_error_of_its_case(tmp_path: Path) -> None:
    class Odd(ToyJudge):
        def settle(self, case: Any, facts: int, labels: Any) -> krino.Settlement:
            text = "\ud800" if "odd" in case.text else "n"
            return krino.Settlement({"score": krino.Ruling(1.0, "TOY-LABEL"), "note": krino.Ruling(text, "TOY-LABEL")})

    held = sitting(tmp_path)
    held.judge = Odd()
    manifest = await held.hold(lambda: items("fine", "odd", "fine too"))
    assert (manifest.counts.ok, manifest.counts.error) == (2, 1)


async def test_afresh_judges_everything_again(tmp_path: Path) -> None:
    await sitting(tmp_path).hold(lambda: items("fine"))
    again = sitting(tmp_path, afresh=True)
    await again.hold(lambda: items("fine"))
    assert again.tally.counts.ok == 1


async def test_a_stop_in_the_last_case_of_a_panel_leaves_no_finished_run(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"cache": "off", "key": "secret-key", "concurrency": 1}
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        for limit in (2_000, 100_000):
            async with krino.repeated("m", 20, base_url=server.url, max_tokens=limit, **settings) as panel:
                manifest = await sitting(tmp_path, panel).hold(lambda: items("fine"))
            if limit == 2_000:
                assert (manifest.state, manifest.counts.error) == ("stopped", 1)
                assert "limit of 2,000 tokens (--max-tokens) is reached" in (manifest.stop_reason or "")
                assert manifest.usage.calls > 0
    assert (manifest.state, manifest.stop_reason, manifest.counts.ok) == ("finished", None, 1)


async def test_a_stop_between_two_askings_of_the_last_case_leaves_no_finished_run(tmp_path: Path) -> None:
    with FakeServer(reply="prose") as server:
        async with krino.llm("m", base_url=server.url, cache="off", max_tokens=2_000, reasks=99) as labeller:
            manifest = await sitting(tmp_path, labeller).hold(lambda: items("fine"))
    assert (manifest.state, manifest.counts.error) == ("stopped", 1)
    assert "--max-tokens" in (manifest.stop_reason or "")
    assert manifest.usage.calls > 0
