"""Runs over shards, merged, are the run over the whole: whatever the split, order, overlap, repetition, or kill."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import krino
from command_line import krino_each
from fake_llm import FakeServer
from krino import writing
from krino.api.running import Running, RunSettings
from krino.labellers.local import LocalLabeller
from krino.runs.inputs import inputs_of
from krino.runs.journal import JOURNAL
from krino.runs.manifest import MANIFEST, Manifest
from krino.runs.roll import ROLL
from toy_judge import ToyJudge, ToyOptions

TIMES = re.compile(rb'"(time|seconds|started|updated|seal)":\s*("[^"]*"|[\d.e-]+)')
POOL = ["fine", "fine too", "bad", "", "unjudgeable", "explode", "good", "so so", "fine indeed", "worse"]
TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"


def judged(inputs: Sequence[Path], folder: Path, judge: ToyJudge | None = None) -> Path:
    """A run without its report."""

    async def carried_out() -> None:
        with inputs_of(list(inputs)) as read:
            await Running(judge or ToyJudge(), "toy", LocalLabeller(), read, RunSettings(folder)).carry_out()

    asyncio.run(carried_out())
    return folder


def written(path: Path, texts: Sequence[str]) -> Path:
    """Cases, of which one in the middle is no JSON and some have no id of their own."""
    lines = [json.dumps({"text": text, **({"id": f"c{n}"} if n % 2 else {})}) for n, text in enumerate(texts)]
    lines.insert(len(lines) // 2, "{ no case")
    path.write_text("\n".join(lines) + "\n")
    return path


def content(folder: Path) -> tuple[bytes, list[bytes], bytes]:
    """All that a run has on record but for times: roll, journal (in the order of the input), manifest."""
    journal = sorted((folder / JOURNAL).read_bytes().splitlines(), key=lambda line: orjson.loads(line)["index"])
    return (
        (folder / ROLL).read_bytes(),
        [TIMES.sub(b"", line) for line in journal],
        TIMES.sub(b"", (folder / MANIFEST).read_bytes()),
    )


@settings(max_examples=25)
@given(data=st.data())
def test_merged_runs_are_the_run_over_the_whole_byte_for_byte(data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.sampled_from(POOL), min_size=1, max_size=12))
    count = data.draw(st.integers(1, 4))
    every = st.lists(st.integers(0, count - 1), min_size=1, max_size=count, unique=True)
    jobs = data.draw(st.lists(every, max_size=3))  # any split, with overlap and repetition
    missing = sorted(set(range(count)) - {number for job in jobs for number in job})
    jobs = data.draw(st.permutations([*jobs, *([number] for number in missing)]))
    steps = data.draw(st.integers(1, len(jobs)))
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        cases = written(folder / "cases.jsonl", texts)
        shards = krino.shard(ToyJudge(), cases, into=folder / "shards", shards=count)
        runs = [judged([shards[n] for n in job], folder / f"run-{place}") for place, job in enumerate(jobs)]
        krino.merge(runs[:steps], folder / "merged")
        merged = krino.merge([*runs[steps:], runs[0]], folder / "merged")  # what is there already is one of them
        assert merged.manifest.state == "finished"
        assert content(folder / "merged") == content(judged([cases], folder / "whole"))
        before = content(folder / "merged")
        krino.merge(runs[::-1], folder / "merged")
        assert content(folder / "merged") == before


def test_cutting_again_gives_the_same_files_and_equal_cases_are_in_one(tmp_path: Path) -> None:
    cases = written(tmp_path / "cases.jsonl", POOL * 3)
    first = {path: path.read_bytes() for path in krino.shard(ToyJudge(), cases, into=tmp_path / "s", shards=4)}
    (tmp_path / "s" / ".0001-of-0004.shard.cases.0123").write_text("left by somebody who was killed")
    again = {path: path.read_bytes() for path in krino.shard(ToyJudge(), cases, into=tmp_path / "s", shards=4)}
    assert again == first
    assert sorted((tmp_path / "s").iterdir()) == sorted(first)
    homes: dict[str, set[Path]] = {}
    for path, text in first.items():
        for line in map(orjson.loads, text.splitlines()[1:]):
            homes.setdefault(str(line.get("record")), set()).add(path)
    assert {len(home) for home in homes.values()} == {1}
    assert len(homes) < 3 * len(POOL), "some stand in the input more than once"
    assert sum(len(text.splitlines()) - 1 for text in first.values()) == 3 * len(POOL) + 1


def test_a_shard_that_is_not_judged_yet_leaves_the_merged_run_unfinished(tmp_path: Path) -> None:
    cases = written(tmp_path / "cases.jsonl", POOL)
    shards = krino.shard(ToyJudge(), cases, into=tmp_path / "shards", shards=3)
    runs = [judged([path], tmp_path / path.stem) for path in shards]
    merged = krino.merge(runs[:2], tmp_path / "merged")
    assert merged.manifest.state == "interrupted"
    assert f"of {len(POOL) + 1} cases, 0 of them not judged" in str(merged.manifest.stop_reason)
    assert merged.manifest.plan.part is not None
    assert merged.manifest.plan.part.shards == [1, 2]
    assert "missing of 3 shards: 0003; judge what is missing, and merge again" in str(merged.manifest.stop_reason)
    (finished,) = [check for check in merged.gate().broken if check.rule == "finished"]
    assert "missing of 3 shards: 0003" in finished.message
    assert krino.merge(runs[2:], tmp_path / "merged").manifest.state == "finished"


def test_runs_over_different_files_are_merged_in_the_order_of_file_and_line(tmp_path: Path) -> None:
    files = [written(tmp_path / f"{name}.jsonl", POOL[start:]) for name, start in (("a", 0), ("b", 3), ("c", 5))]
    runs = [judged([path], tmp_path / path.stem) for path in files]
    krino.merge([runs[2], runs[0], runs[1]], tmp_path / "merged")
    whole = content(judged(files, tmp_path / "whole"))
    assert content(tmp_path / "merged") == whole
    krino.merge([tmp_path / "whole", runs[1]], tmp_path / "again")
    assert content(tmp_path / "again") == whole


def test_the_cases_of_one_record_keep_their_order(tmp_path: Path) -> None:
    trace = {"traces": [{"task": f"t{n}", "steps": [{"action": "look"}]} for n in range(3)]}
    (tmp_path / "traces.json").write_text(json.dumps(trace["traces"]))
    whole = krino.run("efficiency", tmp_path / "traces.json", into=tmp_path / "whole")
    shards = krino.shard("efficiency", tmp_path / "traces.json", into=tmp_path / "shards", shards=2)
    runs = [krino.run("efficiency", path, into=tmp_path / path.stem) for path in shards]
    merged = krino.merge(runs, tmp_path / "merged")
    assert [one.id for one in merged] == [one.id for one in whole]
    assert content(merged.folder) == content(whole.folder)


class Killed(BaseException):
    pass


def test_killed_at_any_point_merging_again_heals_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each file is put into place, and after each."""
    cases = written(tmp_path / "cases.jsonl", POOL)
    shards = krino.shard(ToyJudge(), cases, into=tmp_path / "shards", shards=3)
    runs = [judged([path], tmp_path / path.stem) for path in shards]
    wanted = content(judged([cases], tmp_path / "whole"))
    rename = writing._rename
    for begun in (0, 2):  # into nothing, and into a run that has two of the three shards
        for kill in range(8):
            left = kill

            def dying(draft: Path, target: Path, shown: Path) -> None:
                nonlocal left
                for after in (False, True):
                    if not left:
                        raise Killed
                    left -= 1
                    if not after:
                        rename(draft, target, shown)

            folder = tmp_path / f"merged-{begun}-{kill}"
            if begun:
                krino.merge(runs[:begun], folder)
            with monkeypatch.context() as patched, pytest.raises(Killed):
                patched.setattr(writing, "_rename", dying)
                krino.merge(runs[begun:], folder)
            assert _is_unfinished(folder) or content(folder) == wanted
            krino.merge(runs, folder)
            assert content(folder) == wanted


def _is_unfinished(folder: Path) -> bool:
    """Whatever there is of it can be read."""
    if not (folder / MANIFEST).exists():
        return True
    list(krino.load_run(folder).records())
    return Manifest.load(folder).state != "finished"


# --- what is refused --------------------------------------------------------------------------------


def test_runs_of_other_judges_options_or_labellers_are_refused_with_what_differs(tmp_path: Path) -> None:
    cases = written(tmp_path / "cases.jsonl", POOL)
    plain = judged([cases], tmp_path / "plain")
    other = judged([cases], tmp_path / "other", ToyJudge(ToyOptions(good_is=0.5)))
    with pytest.raises(krino.UsageProblem, match=r"option good_is: was 1\.0, is now 0\.5"):
        krino.merge([plain, other], tmp_path / "merged")
    manifest = Manifest.load(other)
    manifest.plan = Manifest.load(plain).plan.model_copy(update={"labeller": {"kind": "llm", "model": "m"}})
    manifest.write(other)
    with pytest.raises(krino.UsageProblem, match="labeller model: was None, is now 'm'"):
        krino.merge([plain, other], tmp_path / "merged")
    assert not (tmp_path / "merged").exists()


def test_a_shard_of_another_input_is_refused(tmp_path: Path) -> None:
    shards = {}
    for name in "ab":
        cases = written(tmp_path / f"{name}.jsonl", POOL if name == "a" else POOL[2:])
        shards[name] = krino.shard(ToyJudge(), cases, into=tmp_path / f"shards-{name}", shards=2)
    runs = [judged([shards["a"][0]], tmp_path / "one"), judged([shards["b"][1]], tmp_path / "two")]
    with pytest.raises(krino.UsageProblem, match="is no part of the 11 cases"):
        krino.merge(runs, tmp_path / "merged")
    with pytest.raises(krino.UsageProblem, match="shards of different wholes"):
        judged([shards["a"][0], shards["b"][1]], tmp_path / "both")
    with pytest.raises(krino.UsageProblem, match="is a shard, and other inputs are not"):
        judged([shards["a"][0], tmp_path / "b.jsonl"], tmp_path / "both")
    with pytest.raises(krino.UsageProblem, match="is a shard of another cut"):
        krino.shard(ToyJudge(), tmp_path / "b.jsonl", into=tmp_path / "shards-a", shards=2)


def test_runs_of_an_input_that_changed_between_them_are_refused(tmp_path: Path) -> None:
    cases = written(tmp_path / "cases.jsonl", POOL)
    one = judged([cases], tmp_path / "one")
    two = judged([written(cases, POOL[::-1])], tmp_path / "two")
    with pytest.raises(krino.UsageProblem, match="have different cases in one place"):
        krino.merge([one, two], tmp_path / "merged")


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda text: text[:-10], "ends in the middle of a line"),
        (lambda text: text.replace(b'"place"', b'"plaice"'), "no line of a shard"),
        (lambda text: text.replace(b"krino_shard", b"other"), "no line of a shard"),
        (lambda text: b"", "ends in the middle"),
    ],
)
def test_a_damaged_shard_is_refused_and_no_case_is_passed_over(damage: Any, told: str, tmp_path: Path) -> None:
    cases = written(tmp_path / "cases.jsonl", POOL)
    (shard,) = krino.shard(ToyJudge(), cases, into=tmp_path / "shards", shards=1)
    shard.write_bytes(damage(shard.read_bytes()))
    with pytest.raises(krino.UsageProblem, match=told):
        judged([shard], tmp_path / "run")


def test_a_case_that_no_shard_can_hold_is_named_with_the_way_out(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"id": "deep", "text": "t", "metadata": ' + "[" * 500 + "]" * 500 + "}\n")
    with pytest.raises(krino.UsageProblem, match=r"cases.jsonl:1 cannot be written into a shard: .*; nest it less"):
        krino.shard(ToyJudge(), cases, into=tmp_path / "shards", shards=1)


def test_a_shard_cannot_be_mapped_again(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"words": "fine"}\n')
    mapping = {"text": "words"}
    (shard,) = krino.shard(ToyJudge(), tmp_path / "cases.jsonl", into=tmp_path / "s", shards=1, mapping=mapping)
    with pytest.raises(krino.UsageProblem, match="leave out --map"):
        krino.run(ToyJudge(), shard, into=tmp_path / "run", mapping=mapping)
    merged = krino.merge([krino.run(ToyJudge(), shard, into=tmp_path / "run")], tmp_path / "merged")
    whole = krino.run(ToyJudge(), tmp_path / "cases.jsonl", into=tmp_path / "whole", mapping=mapping)
    assert content(merged.folder) == content(whole.folder)


def test_of_two_judgements_of_one_case_the_earlier_settled_one_counts_whatever_their_order(tmp_path: Path) -> None:
    cases = written(tmp_path / "cases.jsonl", ["fine"])
    runs = [judged([cases], tmp_path / name) for name in "ab"]
    for number, run in enumerate(runs):
        text = (run / JOURNAL).read_bytes()
        (run / JOURNAL).write_bytes(re.sub(rb'"time":"\d{4}', b'"time":"%d' % (2031 - number), text))
    for name, order in (("one", runs), ("other", runs[::-1])):
        merged = krino.merge(order, tmp_path / name)
        assert {one.time.year for one in merged if one.time} == {2030}


def asked(cases: Path, folder: Path, server: FakeServer, **settings: Any) -> krino.Run:
    """A run in which a model is asked, at a price."""
    labeller = krino.llm("m", base_url=server.url, cache="off", price_in=1.0, price_out=1.0, **settings)
    return krino.run(ToyJudge, cases, into=folder, labeller=labeller)


def test_what_was_paid_for_and_does_not_count_stays_on_the_bill(tmp_path: Path) -> None:
    """The same cases were paid for twice, the first time for replies that were no good."""
    one, two = written(tmp_path / "cases.jsonl", ["fine", "fine too"]), tmp_path / "two"
    with FakeServer(reply={"label": "good", "quote": "nowhere"}) as broken:
        asked(one, two, broken, reasks=0)
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        asked(one, tmp_path / "one", server)
        for run in (two, tmp_path / "one"):  # the address of the server is part of the plan, and here it is no matter
            manifest = Manifest.load(run)
            manifest.plan.labeller["base_url"] = "http://model"
            manifest.write(run)
        first = krino.load_run(tmp_path / "one")
        manifest, tried = first.manifest, krino.load_run(two).manifest
    assert (manifest.counts.ok, tried.counts.error, tried.usage.calls) == (2, 2, 2)
    merged = krino.merge([two, first.folder], tmp_path / "merged")
    assert merged.manifest.state == "finished"
    assert merged.manifest.counts == manifest.counts
    assert [item.verdict for item in merged] == [item.verdict for item in first]
    assert merged.manifest.usage.calls == manifest.usage.calls + tried.usage.calls == 4
    assert merged.manifest.usage.cost == pytest.approx((manifest.usage.cost or 0) + (tried.usage.cost or 0))
    before = content(merged.folder)
    for again in ([two], [first.folder, two], [first.folder]):
        krino.merge(again, merged.folder)
        assert content(merged.folder) == before, "nothing is counted twice"


def test_a_run_that_is_not_at_its_end_is_named(tmp_path: Path) -> None:
    cases = written(tmp_path / "cases.jsonl", POOL)
    shards = krino.shard(ToyJudge(), cases, into=tmp_path / "shards", shards=2)
    runs = [judged([path], tmp_path / path.stem) for path in shards]
    manifest = Manifest.load(runs[1])
    manifest.state = "stopped"
    manifest.write(runs[1])
    (runs[1] / JOURNAL).write_bytes(b"")
    told = str(krino.merge(runs, tmp_path / "merged").manifest.stop_reason)
    assert f"unfinished: {runs[1]}; judge what is missing" in told
    assert "missing of" not in told


# --- the commands -----------------------------------------------------------------------------------


def test_the_commands_cut_judge_and_merge(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text("".join(json.dumps({"text": f"fine {n}"}) + "\n" for n in range(20)))
    cut, *_ = krino_each([["shard", TOY, "cases.jsonl", "--into", "shards", "--shards", "2"]], tmp_path)
    assert cut[0] == 0, cut
    first, second = cut[1].split()
    done = krino_each(
        [
            ["judge", TOY, first, "--run", "r1"],
            ["merge", "r1", "--into", "merged"],
            ["judge", TOY, second, "--run", "r2"],
            ["merge", "r2", "--into", "merged"],
            ["show", "merged"],
            ["judge", TOY, "cases.jsonl", "--run", "merged"],
        ],
        tmp_path,
    )
    assert [code for code, _, _ in done] == [0, 3, 0, 0, 0, 0], done
    assert "merged: 20 ok, 0 failed, 0 errors" in done[3][1]
    assert len((tmp_path / "merged" / JOURNAL).read_bytes().splitlines()) == 20, "nothing was judged again"
    assert (tmp_path / "merged" / "report.html").exists()
