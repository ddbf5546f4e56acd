"""A run has the name it was given: when `judge --run X` has ended, X speaks of that command and of nothing else."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

import krino as package
from command_here import Done, krino, own_folder
from fake_llm import FakeServer, Faults
from krino.cli.commands import demo

TOY = Path(__file__).parents[1] / "toy_judge.py"


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The commands run in this process, in a folder of their own, with a copy of the judge that can be edited."""
    shutil.copyfile(TOY, tmp_path / "toy.py")
    with own_folder(tmp_path, monkeypatch, "off"):
        yield


def judge(*args: str, stdin: str | None = None) -> Done:
    return krino("judge", "toy.py:ToyJudge", *args, stdin=stdin)


def write(name: str, *texts: str) -> str:
    Path(name).write_text("".join(json.dumps({"id": text, "text": text}) + "\n" for text in texts))
    return name


def snapshot(folder: str = ".") -> dict[str, bytes]:
    files = (path for path in Path(folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path): path.read_bytes() for path in files}


def ids(run: str) -> list[str]:
    return [judgement.id for judgement in package.load_run(run)]


# --- the gate looks at what was just judged ----------------------------------------------------------


def test_a_gate_never_passes_on_the_results_of_another_day() -> None:
    write("mon.jsonl", "fine a", "fine b")
    write("tue.jsonl", "bad a", "bad b")
    outcomes = []
    for day in ("mon", "tue", "mon"):
        assert judge(f"{day}.jsonl", "--run", "ci").code == 0
        outcomes.append(krino("gate", "ci", "--min", "score=0.9", "--point").code)
        assert list(Path().glob("ci*")) == [Path("ci")]
    assert outcomes == [0, 1, 0]


def test_every_figure_is_of_the_cases_of_the_last_command() -> None:
    write("two.jsonl", "fine a", "bad b", "unjudgeable", "bad d")
    write("one.jsonl", "fine c", "fine a")
    assert judge("two.jsonl", "--run", "r").code == 3
    assert judge("one.jsonl", "--run", "r").code == 0
    run = package.load_run("r")
    assert (ids("r"), len(run), run.manifest.counts.total, run.manifest.cases) == (["fine c", "fine a"], 2, 2, 2)
    assert run.manifest.plan.inputs == [str(Path("one.jsonl").resolve())]
    assert [record["source"]["file"] for record in run.records()] == ["one.jsonl"] * 2
    assert package.frame("r", "arrow")["id"].to_pylist() == ["fine c", "fine a"]
    shown = [orjson.loads(line)["id"] for line in krino("show", "r", "--json").out.splitlines()]
    exported = [row["id"] for row in csv.DictReader(io.StringIO(krino("export", "r", "-", "--to", "csv").out))]
    assert shown == exported == ["fine c", "fine a"]
    assert "2 cases in out.csv: 2 ok, 0 failed, 0 error" in krino("export", "r", "out.csv").err
    assert krino("show", "r", "unjudgeable").code == 2
    gate = orjson.loads(krino("gate", "r", "--min", "score=1", "--point", "--json").out)
    assert (gate["counts"], all(check["outcome"] == "holds" for check in gate["checks"])) == (
        {"ok": 2, "failed": 0, "error": 0},
        True,
    )
    compared = orjson.loads(krino("compare", "r", "r", "--json").out)
    assert compared["matching"]["matched"] == 2
    Path("l.csv").write_text("id,score\nfine a,1.0\nbad b,0.0\nfine c,1.0\n")
    assert orjson.loads(krino("agree", "r", "l.csv", "--draws", "10", "--json").out)["counts"]["absent"] == 1
    assert b"unjudgeable" not in Path("r/report.html").read_bytes()


def test_moved_renamed_and_appended_inputs_cost_what_is_new() -> None:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as server:
        model = ("-l", "m", "--base-url", server.url, "--run", "r")
        judge(write("a.jsonl", "fine a", "fine b"), *model)
        judge(write("b.jsonl", "fine b", "fine new", "fine a"), *model)
        assert server.stats().calls == 3
        Path("t.csv").write_text("id,says\nfine a,fine a\nfine new,fine new\n")
        assert judge("t.csv", "--map", "text=says", *model).code == 0
        assert judge("b.jsonl", *model).code == 0
        assert server.stats().calls == 3
    assert ids("r") == ["fine b", "fine new", "fine a"]


def test_a_mapping_that_is_put_right_goes_on_in_the_same_run() -> None:
    Path("t.jsonl").write_text('{"id": "1", "words": "fine"}\n{"id": "2", "words": "fine", "word": "x"}\n')
    assert judge("t.jsonl", "--run", "r", "--map", "text=word").code == 3
    assert judge("t.jsonl", "--run", "r", "--map", "text=words").code == 0
    assert [judgement.status for judgement in package.load_run("r")] == ["ok", "ok"]


def test_cases_that_cannot_be_read_each_keep_their_own_reason() -> None:
    Path("t.jsonl").write_text('{"id": "1"}\n{"id": "2"}\n{bad\n{worse\n{"id": "5", "words": "fine"}\n')
    assert judge("t.jsonl", "--run", "r", "--map", "text=words").code == 3
    reasons = [judgement.reason or "" for judgement in package.load_run("r")][:-1]
    assert len(set(reasons[2:])) == 2 and all(reasons)


# --- what is refused -----------------------------------------------------------------------------------


def edit_settle() -> None:
    source = Path("toy.py").read_text()
    Path("toy.py").write_text(source.replace("else 0.0", "else 0.25"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("--option", "good_is=0.5"), "option good_is: was 1.0, is now 0.5"),
        (("--prompt", "p.md"), "the prompt changed"),
        (("-l", "m", "--base-url", "http://127.0.0.1:9/v1"), "labeller kind: was 'local', is now 'llm'"),
        ((), "the judge's source changed"),
    ],
)
def test_another_judge_or_labeller_is_refused_and_changes_nothing(change: tuple[str, ...], told: str) -> None:
    write("cases.jsonl", "fine a")
    Path("p.md").write_text("Other words.")
    assert judge("cases.jsonl", "--run", "r").code == 0
    if not change:
        edit_settle()
    before = snapshot()
    refused = judge("cases.jsonl", "--run", "r", *change)
    assert refused.code == 2
    assert "r was made with other settings, so it cannot be continued:\n" in refused.err
    assert f"\n  {told}" in refused.err
    assert "name another folder with --run, or judge everything again in this one with --fresh" in refused.err
    assert snapshot() == before


def test_an_edited_judge_is_never_mixed_with_old_verdicts() -> None:
    judge(write("cases.jsonl", "fine a", "bad b"), "--run", "r")
    edit_settle()
    write("cases.jsonl", "fine a", "bad b", "bad c")
    assert judge("cases.jsonl", "--run", "r").code == 2
    assert judge("cases.jsonl", "--run", "r", "--fresh").code == 0
    assert [judgement.verdict["score"] for judgement in package.load_run("r")] == [1.0, 0.25, 0.25]  # type: ignore[index]


def test_a_judge_that_is_edited_and_put_back_goes_on() -> None:
    judge(write("cases.jsonl", "fine a"), "--run", "r")
    source = Path("toy.py").read_text()
    edit_settle()
    assert judge("cases.jsonl", "--run", "r").code == 2
    Path("toy.py").write_text(source)
    assert judge("cases.jsonl", "--run", "r").code == 0


def test_a_judge_in_another_checkout_is_the_same_judge() -> None:
    judge(write("cases.jsonl", "fine a"), "--run", "r")
    Path("elsewhere").mkdir()
    shutil.copyfile("toy.py", "elsewhere/toy.py")
    done = krino("judge", "elsewhere/toy.py:ToyJudge", "cases.jsonl", "--run", "r")
    assert (done.code, "continuing r" in done.err) == (0, True)


@pytest.mark.parametrize(
    ("args", "stdin"),
    [
        (("empty.jsonl",), None),
        (("blank.jsonl",), None),
        (("none.json",), None),
        (("head.csv",), None),
        (("missing.jsonl",), None),
        (("folder",), None),
        (("cases.jsonl", "--option", "good_is=much"), None),
        (("cases.jsonl", "--option", "bad_is=1"), None),
        (("cases.jsonl", "--map", "text"), None),
        (("cases.jsonl", "--prompt", "missing.md"), None),
        (("cases.jsonl", "-l", "local", "--base-url", "http://x"), None),
        (("cases.jsonl", "-l", "m"), None),
        (("cases.jsonl", "--repeat", "0"), None),
        (("-",), ""),
        (("-",), "  \n"),
        (("-",), "[]"),
        (("-", "-"), "{}"),
    ],
)
@pytest.mark.parametrize("there", [False, True])
def test_a_refused_command_claims_no_name_and_changes_no_run(
    args: tuple[str, ...], stdin: str | None, there: bool
) -> None:
    write("cases.jsonl", "fine a")
    for name, text in (("empty.jsonl", ""), ("blank.jsonl", "\n\n"), ("none.json", "[]"), ("head.csv", "id,text\n")):
        Path(name).write_text(text)
    Path("folder").mkdir()
    if there:
        assert judge("-", "--run", "r", stdin='{"text": "fine"}\n').code == 0
    before = snapshot()
    assert judge(*args, "--run", "r", stdin=stdin).code == 2
    assert judge(*args, stdin=stdin).code == 2
    assert snapshot() == before
    assert Path("r").exists() == there
    assert not Path("runs").exists()


def test_a_run_that_was_stopped_before_anything_was_judged_binds_nobody() -> None:
    write("cases.jsonl", "fine a")
    with FakeServer(reply={"label": "good", "quote": "fine"}, faults=Faults(schedule=["404"])) as server:
        stopped, right = (
            judge("cases.jsonl", "-l", name, "--base-url", server.url, "--run", "r") for name in ("typo", "right")
        )
    assert (stopped.code, right.code) == (3, 0)
    assert package.load_run("r").manifest.plan.labeller["model"] == "right"


# --- fresh ---------------------------------------------------------------------------------------------


def test_fresh_leaves_nothing_of_the_run_before() -> None:
    judge(write("two.jsonl", "fine a", "bad b"), "--run", "r")
    assert judge(write("one.jsonl", "fine c"), "--run", "r", "--option", "good_is=0.5", "--fresh").code == 0
    assert ids("r") == ["fine c"]
    assert len(Path("r/judgements.jsonl").read_bytes().splitlines()) == 1
    assert b"bad b" not in b"".join(snapshot("r").values())


def test_fresh_never_touches_what_is_no_run() -> None:
    write("cases.jsonl", "fine a")
    Path("precious").mkdir()
    Path("precious/thesis.txt").write_text("years of work")
    before = snapshot()
    refused = judge("cases.jsonl", "--run", "precious", "--fresh")
    assert (refused.code, "precious exists and is no run folder" in refused.err) == (2, True)
    assert snapshot() == before


def test_without_a_name_the_same_command_goes_on_and_fresh_begins_again() -> None:
    write("cases.jsonl", "fine a")
    first, again, fresh = (judge("cases.jsonl", *more) for more in ((), (), ("--fresh",)))
    assert (first.code, again.code, fresh.code) == (0, 0, 0)
    assert ["continuing" in done.err for done in (first, again, fresh)] == [False, True, False]
    assert len(list(Path("runs").iterdir())) == 1


# --- resettle ------------------------------------------------------------------------------------------


def test_resettle_writes_to_the_place_it_is_told_or_refuses() -> None:
    judge(write("cases.jsonl", "fine a", "bad b"), "--run", "r")
    judge(write("others.jsonl", "fine z"), "--run", "paid")
    before = snapshot("paid")
    again = ("resettle", "r", "cases.jsonl", "--judge", "toy.py:ToyJudge")
    refused = krino(*again, "--run", "paid", "--option", "good_is=0.5")
    assert (refused.code, "paid was made with other settings" in refused.err) == (2, True)
    assert snapshot("paid") == before
    for _ in range(2):
        assert krino(*again, "--run", "new", "--option", "good_is=0.5").code == 0
        assert [judgement.verdict["score"] for judgement in package.load_run("new")] == [0.5, 0.0]  # type: ignore[index]
    assert sorted(path.name for path in Path().iterdir() if path.is_dir() and path.name != "__pycache__") == [
        "new",
        "paid",
        "r",
    ]


def test_labels_are_found_by_content_when_cases_have_moved() -> None:
    judge(write("cases.jsonl", "fine a", "bad b"), "--run", "r")
    write("cases.jsonl", "bad b", "fine a")
    assert judge("cases.jsonl", "--run", "r").code == 0
    assert krino("resettle", "r", "cases.jsonl", "--judge", "toy.py:ToyJudge", "--run", "new").code == 0
    assert ids("new") == ["bad b", "fine a"]
    assert [judgement.verdict["score"] for judgement in package.load_run("new")] == [0.0, 1.0]  # type: ignore[index]


# --- odd names -----------------------------------------------------------------------------------------


def test_a_folder_whose_name_looks_like_markup_is_named_as_it_is() -> None:
    judge(write("cases.jsonl", "fine a"), "--run", "x[/red]")
    assert "continuing x[/red]" in judge("cases.jsonl", "--run", "x[/red]").err
    refused = judge("cases.jsonl", "--run", "x[/red]", "--option", "good_is=0.5")
    assert (refused.code, "x[/red] was made with other settings" in refused.err) == (2, True)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are text there")
def test_a_file_whose_name_is_no_text_is_judged_like_any_other() -> None:
    name = os.fsdecode(b"a\xff.jsonl")
    Path(name).write_text('{"text": "fine"}\n')
    assert judge(name, "--run", "r").code == 0
    assert ids("r") == ["a?.jsonl:1"]


def test_the_judges_of_the_demo_are_judged_anew_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "EXAMPLES", {name: demo.EXAMPLES[name] for name in ("citation", "rag")})
    assert krino("demo").code == 0
    manifest = Path("krino-demo/citation/run.json")
    data = orjson.loads(manifest.read_bytes())
    data["plan"]["judge"]["source"] = "of an older version"
    manifest.write_bytes(orjson.dumps(data))
    assert krino("demo").code == 0


@pytest.mark.parametrize("odd", ["x\u202eb", "x\u00adb", "x\u200bb"])
def test_a_run_is_not_made_under_a_name_with_characters_that_nobody_sees(odd: str) -> None:
    done = judge(write("cases.jsonl", "fine"), "--run", f"runs/{odd}")
    assert done.code == 2
    assert "`xb`" in done.err
    assert "write the name without them" in done.err
    assert odd[1] not in done.err
    assert not Path("runs", odd).exists()


def test_a_run_that_has_such_a_name_is_read_and_the_name_does_not_reach_the_screen() -> None:
    judge(write("cases.jsonl", "fine"), "--run", "runs/plain")
    Path("runs/plain").rename("runs/x\u202eb")
    for done in (
        judge("cases.jsonl", "--run", "runs/x\u202eb"),
        krino("show", "runs/x\u202eb"),
        krino("export", "runs/x\u202eb", "x\u202e.csv"),
    ):
        assert done.code == 0, done
        assert "\u202e" not in done.err + done.out


def test_ids_are_kept_without_characters_that_nobody_sees() -> None:
    Path("cases.jsonl").write_text(json.dumps({"id": "ca\u00adse\u200b-1", "text": "fine"}) + "\n")
    judge("cases.jsonl", "--run", "runs/a")
    assert ids("runs/a") == ["case-1"]
    assert package.load_run("runs/a")["ca\u00adse-1"].status == "ok"
