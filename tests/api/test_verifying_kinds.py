"""Runs of every kind verify: judges in files, comparisons, conversations, one-line judges, repeats, juries, options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from krino import LabelFailed, Labelled, Labeller, Task, Verification
from krino.api.checking import complete
from krino.contract import Judgement
from krino.judges.file.judge import FileJudge
from krino.judges.registry import SHELF, shelf_names
from krino.runs.journal import sealed_line
from scripted_labeller import Scripted
from toy_judge import ToyJudge

COMPARISON = """\
---
compare: [a, b]
rules: {SAME: {fact: a.trim() == b.trim(), set: {label: tie}, message: They are the same.}}
---
Which is better? {a} {b}
"""
CHAT = """\
---
inputs: {chat: messages, court: {type: text, shown: false}}
labels: {polite: {each: turn, values: {polite: 1, rude: 0}}}
rules: {WEAKEST: {score: "min(polite.map(t, t.score))", message: The weakest turn counts.}}
---
Is every turn polite? {chat}
"""


class FromExamples(Labeller):
    """Answers with the first labels of a judge's examples that fit the case."""

    def describe(self) -> dict[str, Any]:
        return {"kind": "examples"}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        judge: Any = task.judge
        for example in judge.definition.examples:
            try:
                given = complete(judge.definition, example.labels or {}, task.facts.values)
                return Labelled(task.accept(given), self.describe())
            except (ValueError, TypeError, KeyError):
                continue
        raise LabelFailed("no example fits")


def write_cases(folder: Path, cases: list[dict[str, Any]]) -> Path:
    file = folder / "cases.jsonl"
    file.write_bytes(b"".join(orjson.dumps({"id": f"c{n}", **case}) + b"\n" for n, case in enumerate(cases)))
    return file


def check_follows_and_a_changed_score_does_not(run: Path, verify: Callable[[], Verification]) -> None:
    """The run verifies; with one number or word of one verdict changed, that case and field are named."""
    found = verify()
    assert found.verified and found.verdicts, found
    path = run / "judgements.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    place = next(number for number, text in enumerate(lines) if orjson.loads(text)["status"] == "ok")
    line = orjson.loads(lines[place])
    name, value = next((name, value) for name, value in line["verdict"].items() if type(value) in (int, float))
    line["verdict"][name] = 0.125 if value != 0.125 else 0.25
    line.pop("seal")
    lines[place] = sealed_line(Judgement.model_validate(line))
    path.write_bytes(b"".join(lines))
    edited = verify()
    assert not edited.verified and edited.edited >= 1
    assert edited.cases[0].id == line["id"] and edited.cases[0].differences[0].field == f"verdict.{name}"


@pytest.mark.parametrize("name", shelf_names())
def test_the_examples_of_every_ready_judge_verify(name: str, tmp_path: Path) -> None:
    judge = krino.load_judge(name)
    assert isinstance(judge, FileJudge)
    cases = write_cases(tmp_path, [dict(example.case) for example in judge.definition.examples])
    run = krino.run(name, cases, into=tmp_path / "run", labeller=FromExamples())
    assert run.manifest.counts.ok
    check_follows_and_a_changed_score_does_not(run.folder, lambda: krino.verify(run.folder, cases))


@pytest.mark.parametrize("biased", [False, True])
def test_a_comparison_in_both_orders_verifies(tmp_path: Path, biased: bool) -> None:
    judge = tmp_path / "better.md"
    judge.write_text(COMPARISON)

    def answer(passages: Any) -> Any:
        other = "second" if biased else "first"
        return {"reason": "so", "quote": passages["first"], "label": "first", "other_order": other}

    cases = write_cases(tmp_path, [{"a": "one text here", "b": "another text here"}, {"a": "x", "b": "x"}])
    run = krino.run(str(judge), cases, into=tmp_path / "run", labeller=Scripted(answer))
    assert [one.verdict["winner"] for one in run if one.verdict] == ["tie" if biased else "a", "tie"]
    check_follows_and_a_changed_score_does_not(run.folder, lambda: krino.verify(run.folder, cases, judge=str(judge)))


def test_a_conversation_with_a_label_for_every_turn_verifies(tmp_path: Path) -> None:
    judge = tmp_path / "manners.md"
    judge.write_text(CHAT)
    chat = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good day to you"}] * 2
    said = {"polite": [{"item": n, "reason": "so", "quote": "Good day to you", "label": "polite"} for n in (1, 2)]}
    cases = write_cases(tmp_path, [{"chat": chat, "court": "x"}, {"chat": chat[:2], "court": "y"}])
    run = krino.run(str(judge), cases, into=tmp_path / "run", labeller=Scripted(said))
    assert run.manifest.counts.ok == 1, "the other conversation has one turn"
    check_follows_and_a_changed_score_does_not(run.folder, lambda: krino.verify(run.folder, cases, judge=str(judge)))


def test_a_judge_in_one_line_verifies(tmp_path: Path) -> None:
    judge = "rubric:Is {text} kind? kind=1 plain=0.5 rude=0"
    answer: Any = lambda passages: {"reason": "so", "quote": passages["text"], "label": "kind"}  # noqa: E731
    cases = write_cases(tmp_path, [{"text": "thank you very much"}])
    run = krino.run(judge, cases, into=tmp_path / "run", labeller=Scripted(answer))
    check_follows_and_a_changed_score_does_not(run.folder, lambda: krino.verify(run.folder, cases, judge=judge))


def labels_in_turn() -> Labeller:
    """Says good and bad in turn, so that repeats disagree."""
    count = iter(range(1_000))
    return Scripted(lambda passages: {"label": "good" if next(count) % 3 else "bad", "quote": ""})


@pytest.mark.parametrize(
    "make",
    [
        lambda: krino.repeated(labels_in_turn(), 3),
        lambda: krino.jury([Scripted({"label": label, "quote": ""}, label) for label in ("good", "bad")]),
        lambda: krino.jury([Scripted({"label": "good", "quote": ""}, "one"), labels_in_turn()], repeat=2),
        lambda: krino.jury(
            [Scripted({"label": "good", "quote": ""}, "one"), Scripted({"label": "?"}, "broken")], quorum=1
        ),
    ],
    ids=["repeats", "tied jury", "jury with repeats", "a member that fails"],
)
def test_repeats_and_juries_verify(tmp_path: Path, make: Callable[[], Labeller]) -> None:
    cases = write_cases(tmp_path, [{"text": f"text {n}"} for n in range(6)] + [{"text": ""}])
    run = krino.run(ToyJudge, cases, into=tmp_path / "run", labeller=make())
    assert run.manifest.counts.ok
    check_follows_and_a_changed_score_does_not(run.folder, lambda: krino.verify(run.folder, cases, judge=ToyJudge))


def test_a_run_with_a_prompt_of_its_own_options_and_other_names_verifies(tmp_path: Path) -> None:
    cases = write_cases(tmp_path, [{"letter": "a good text"}, {"letter": "a bad text"}])
    made = krino.run(
        ToyJudge,
        cases,
        into=tmp_path / "run",
        labeller="local",
        options={"good_is": 0.75},
        prompt="Another prompt.",
        mapping={"text": "letter"},
    )
    check_follows_and_a_changed_score_does_not(made.folder, lambda: krino.verify(made.folder, cases, judge=ToyJudge))


def test_shards_and_their_merged_run_verify(tmp_path: Path) -> None:
    cases = write_cases(tmp_path, [{"text": f"text {n}"} for n in range(10)])
    shards = krino.shard(ToyJudge, [str(cases)], into=tmp_path / "shards", shards=2)
    folders = []
    for number, shard in enumerate(shards):
        folders.append(krino.run(ToyJudge, shard, into=tmp_path / f"part-{number}", labeller="local").folder)
        assert krino.verify(folders[-1], shard, judge=ToyJudge).verified
    merged = krino.merge(folders, into=tmp_path / "whole")
    check_follows_and_a_changed_score_does_not(
        merged.folder, lambda: krino.verify(merged.folder, cases, judge=ToyJudge)
    )


def test_every_file_of_the_shelf_is_tried() -> None:
    assert {path.stem for path in SHELF.glob("*.md")} == set(shelf_names())
