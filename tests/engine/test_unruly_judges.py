"""A judge that ends its process, closes its files or never comes to an end costs its case, and no other."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import krino
from command_line import krino as command
from fake_llm import FakeServer
from krino.cases.item import CaseItem
from krino.contract.code_limit import CodeBroke, CodeLimit
from krino.engine.case import Written
from krino.engine.interface import Assignment, Engine, Finished, opened
from krino.engine.pool import LocalPool
from krino.engine.processes import AllCores
from krino.judges.registry import load_judge
from krino.labellers.local import LocalLabeller
from receiving import one_by_one

UNRULY = f"{Path(__file__).parents[1] / 'unruly_judge.py'}:Unruly"
TELLS = {
    "exit": "SystemExit: a library gave up (unruly_judge.py:",
    "interrupt": "KeyboardInterrupt",
    "cancel": "CancelledError",
    "base": "_Own: no Exception",
    "loop": "took longer than 0.5 seconds",
    "sleep": "took longer than 0.5 seconds",
    "close": "died twice",
    "die": "died twice",
    "swallow": "died twice",
    "junk": "died twice",
    "long": "died twice",
    "other": "died twice",
    "stop": "died twice",
    "mute": "_Mute: (its message cannot be read",
    "half": "ValueError: half a character: ?",
}
STEPS = ("study", "ask", "label", "check", "settle", "metadata")


def judged(texts: Sequence[str], engine: Engine, seconds: float = 0.5) -> list[krino.Judgement]:
    found: dict[int, krino.Judgement] = {}

    async def receive(item: CaseItem, finished: Finished | None) -> None:
        assert finished is not None
        found[item.index] = finished.read() if isinstance(finished, Written) else finished

    items = (CaseItem(place, str(place), {"text": text}) for place, text in enumerate(texts))
    work = Assignment(load_judge(UNRULY), LocalLabeller(), case_seconds=seconds)
    asyncio.run(engine.run(work, opened(items, lambda item, digest: True), one_by_one(receive)))
    return [found[place] for place in range(len(texts))]


def refuse_others_than(texts: Sequence[str], found: Sequence[krino.Judgement]) -> None:
    """Each text with a colon is an error that says what happened, and every other one is judged."""
    for text, judgement in zip(texts, found, strict=True):
        what = text.partition(": ")[2]
        assert judgement.status == ("error" if what else "ok"), (text, judgement.error)
        assert not what or TELLS[what] in str(judgement.error)


def test_in_one_process_each_step_may_raise_anything() -> None:
    texts = [
        "fine",
        *(f"{step}: {what}" for step in STEPS for what in ("exit", "cancel", "base", "mute", "half")),
        "also fine",
    ]
    found = judged(texts, LocalPool())
    refuse_others_than(texts, found)
    assert all(judgement.to_json() for judgement in found)


def test_in_one_process_a_step_that_does_not_end_is_broken_off() -> None:
    texts = ["fine", "study: loop", "settle: loop", "settle: sleep", "label: loop", "also fine"]
    refuse_others_than(texts, judged(texts, LocalPool()))


def test_workers_judge_what_a_case_has_left_of_them() -> None:
    texts = ["fine"] * 20
    texts[3], texts[9], texts[12] = "settle: exit", "settle: interrupt", "settle: loop"
    refuse_others_than(texts, judged(texts, AllCores(2)))


@pytest.mark.parametrize("what", ["close", "swallow", "junk", "long", "other", "stop"])
def test_a_worker_that_cannot_be_saved_is_replaced(what: str) -> None:
    texts = ["fine", f"settle: {what}", "also fine"]  # so few would be judged in this process, if the judge were ours
    refuse_others_than(texts, judged(texts, AllCores(1)))


def test_python_callers_have_the_limit_too() -> None:
    judge = load_judge(UNRULY)
    ended = krino.judge(judge, {"text": "settle: exit"})
    assert TELLS["exit"] in str(ended.error)
    looped = krino.judge(judge, {"text": "settle: loop"}, case_timeout=0.5)
    assert TELLS["loop"] in str(looped.error)
    assert krino.judge(judge, {"text": "fine"}).status == "ok"
    texts = ["study: loop", "study: mute", "settle: half", "fine"]
    many = list(krino.judge_many(judge, [{"text": text} for text in texts], case_timeout=0.5))
    refuse_others_than(texts, many)


def test_a_run_from_python_has_it(tmp_path: Path) -> None:
    records = [{"text": "study: loop"}, {"text": "fine"}, {"text": "settle: exit"}]
    run = krino.run(load_judge(UNRULY), records, into=tmp_path / "r", case_timeout=0.5)
    assert [judgement.status for judgement in run] == ["error", "ok", "error"]
    with pytest.raises(krino.UsageProblem, match=r"case_timeout .* give seconds, or 0"):
        krino.run(load_judge(UNRULY), records, into=tmp_path / "s", case_timeout=-1)


@pytest.mark.parametrize("labeller", ["local", "model"])
def test_the_command_goes_on_to_the_end(tmp_path: Path, labeller: str) -> None:
    texts = ["check: interrupt", "fine", "study: loop", "settle: exit", "settle: close", "label"]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    flags = ["--run", "r", "--case-timeout", "0.5"]
    with FakeServer(reply={"kind": "any"}) as server:
        flags += [] if labeller == "local" else ["-l", "m", "--base-url", server.url]
        done = command("judge", UNRULY, "cases.jsonl", *flags, cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    refuse_others_than(texts, list(krino.load_run(tmp_path / "r")))


def test_an_interrupt_of_the_users_is_none_of_the_judges() -> None:
    from krino.errors import UserInterrupt

    def interrupted() -> Any:
        with CodeLimit():
            raise UserInterrupt

    with pytest.raises(UserInterrupt):
        interrupted()


def test_the_time_of_all_steps_counts_and_the_time_between_them_does_not() -> None:
    """On a thread of its own, where no alarm of the system reaches."""
    found: list[object] = []

    def steps() -> None:
        limit = CodeLimit(0.2)
        with limit:
            pass
        threading.Event().wait(0.4)
        try:
            for _ in range(1_000):
                with limit:
                    threading.Event().wait(0.01)
        except CodeBroke as broke:
            found.append(str(broke))

    thread = threading.Thread(target=steps)
    thread.start()
    thread.join(30)
    assert found
    assert "longer than 0.2 seconds" in str(found[0])


@pytest.mark.parametrize("what", ["die", "close"])
@pytest.mark.parametrize("step", ["study", "ask"])
def test_a_judge_that_ends_its_process_before_it_asks_ends_no_command(tmp_path: Path, step: str, what: str) -> None:
    texts = [f"{step}: {what}", "fine"]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    done = command("judge", UNRULY, "cases.jsonl", "--run", "r", "--gate", "--min", "score=0.1", cwd=tmp_path)
    assert done.returncode == 1, (done.stdout, done.stderr)
    refuse_others_than(texts, list(krino.load_run(tmp_path / "r")))


def test_a_copy_that_a_judge_makes_of_its_process_judges_nothing(tmp_path: Path) -> None:
    texts = ["fine", "study: fork", "settle: fork", "also fine"]
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    done = command("judge", UNRULY, "cases.jsonl", "--run", "r", cwd=tmp_path)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert done.stdout.count("4 cases") == 1
    assert len((tmp_path / "r" / "judgements.jsonl").read_bytes().splitlines()) == len(texts)


@pytest.mark.parametrize("what", ["thread", "at end"])
def test_what_a_judge_leaves_running_does_not_keep_the_command_from_ending(tmp_path: Path, what: str) -> None:
    """The report studies cases in the command's own process."""
    (tmp_path / "cases.jsonl").write_text(json.dumps({"text": f"study: {what}"}) + "\n")
    done = command("judge", UNRULY, "cases.jsonl", "--run", "r", cwd=tmp_path)
    assert done.returncode == 0, (done.stdout, done.stderr)


def test_cases_that_take_for_ever_to_show_are_broken_off_once(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text((json.dumps({"text": "view: loop"}) + "\n") * 40)
    done = command("judge", UNRULY, "cases.jsonl", "--run", "r", "--case-timeout", "2", cwd=tmp_path)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert b"took longer than 2 seconds" in (tmp_path / "r" / "report.html").read_bytes()


@pytest.mark.parametrize("what", ["no output", "close output"])
def test_a_judge_that_takes_the_output_away_fails_no_gate(tmp_path: Path, what: str) -> None:
    """Its worker takes the harm; without a time limit it is judged in the command's own process, which says so."""
    (tmp_path / "cases.jsonl").write_text(json.dumps({"text": f"study: {what}"}) + "\n")
    done = command("judge", UNRULY, "cases.jsonl", "--run", "apart", cwd=tmp_path)
    assert done.returncode == 0 and "1 ok" in done.stdout, (done.stdout, done.stderr)
    done = command("judge", UNRULY, "cases.jsonl", "--run", "here", "--case-timeout", "0", cwd=tmp_path)
    assert done.returncode == 70, (done.stdout, done.stderr)


@pytest.mark.parametrize("step", ["settle", "view"])
def test_a_judge_that_ends_the_command_itself_does_not_end_it_as_a_success(tmp_path: Path, step: str) -> None:
    (tmp_path / "cases.jsonl").write_text(f'{{"text": "{step}: die"}}\n')
    flags = ["--run", "r", "--gate", "--min", "score=0.1", *(["--case-timeout", "0"] if step == "settle" else [])]
    done = command("judge", UNRULY, "cases.jsonl", *flags, cwd=tmp_path)
    assert done.returncode == 3, (done.stdout, done.stderr)
    assert "ended this process" in done.stderr
