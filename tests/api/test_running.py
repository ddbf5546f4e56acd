"""A run from Python: the same as the command, given back as an object on which everything else hangs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import krino
from fake_llm import FakeServer
from krino.engine import sync
from krino.engine.interface import Assignment, OpenCase, ReceiveAny
from krino.runs.session import SessionProgress
from toy_judge import ToyJudge

RECORDS: list[dict[str, Any]] = [
    {"id": "a", "text": "a good text", "metadata": {"language": "fr"}},
    {"id": "b", "text": "a bad text", "metadata": {"language": "nl"}},
    {"id": "c", "text": "unjudgeable", "metadata": {"language": "nl"}},
]


@pytest.fixture
def cases(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in RECORDS))
    return path


def verdicts(run: krino.Run) -> list[tuple[str, str, Any]]:
    return [(judgement.id, judgement.status, judgement.verdict) for judgement in run]


EXPECTED = [
    ("a", "ok", {"score": 1.0, "note": "labelled good"}),
    ("b", "ok", {"score": 0.0, "note": "labelled bad"}),
    ("c", "failed", None),
]


def test_a_run_of_files_is_finished_with_report_and_table(cases: Path, tmp_path: Path) -> None:
    told: list[str] = []
    seen: list[int] = []

    def on_progress(tally: SessionProgress) -> None:
        seen.append(tally.seen)

    run = krino.run(ToyJudge, cases, into=tmp_path / "r", on_message=told.append, on_progress=on_progress)
    assert verdicts(run) == EXPECTED
    assert run.manifest.state == "finished"
    assert {path.name for path in run.folder.iterdir()} >= {"report.html", "judgements.parquet", "run.json"}
    assert (seen, told) == ([1, 2, 3], [f"run folder {tmp_path / 'r'}"])
    assert run.manifest.about.prompt == ToyJudge.default_prompt
    assert krino.load_run(tmp_path / "r").manifest == run.manifest


def test_records_from_python_are_judged_like_a_file_and_kept_beside_the_run(cases: Path, tmp_path: Path) -> None:
    of_file = krino.run(ToyJudge, cases, into=tmp_path / "file")
    run = krino.run(ToyJudge, iter(RECORDS), into=tmp_path / "records")
    assert verdicts(run) == verdicts(of_file)
    assert [item.input_hash for item in run] == [item.input_hash for item in of_file]
    assert (run.folder / "records.jsonl").read_text() == cases.read_text().replace(": ", ":").replace(", ", ",")
    assert "a good text" in (run.folder / "report.html").read_text()
    again = krino.resettle(run, judge=ToyJudge, options={"good_is": 0.5}, into=tmp_path / "again")
    assert again["a"].verdict == {"score": 0.5, "note": "labelled good"}
    assert (again.folder / "records.jsonl").exists()


def test_the_same_call_continues_and_another_judge_is_refused(cases: Path, tmp_path: Path) -> None:
    with FakeServer(reply={"label": "good", "quote": "text"}) as server:
        labeller = krino.llm("m", base_url=server.url, cache="off")
        krino.run(ToyJudge, cases, into=tmp_path / "r", labeller=labeller)
        calls = server.stats().calls
        run = krino.run(ToyJudge, cases, into=tmp_path / "r", labeller=labeller)
        assert (server.stats().calls, run.manifest.usage.calls) == (calls, 2)
        with pytest.raises(krino.UsageProblem, match=r"option good_is: was 1\.0, is now 0\.5"):
            krino.run(ToyJudge, cases, into=tmp_path / "r", labeller=labeller, options={"good_is": 0.5})
        krino.run(ToyJudge, cases, into=tmp_path / "r", labeller=labeller, options={"good_is": 0.5}, fresh=True)


def test_a_stopped_run_is_given_back_unfinished_and_no_gate_lets_it_pass(cases: Path, tmp_path: Path) -> None:
    with FakeServer(reply={"label": "good", "quote": "text"}) as server:
        labeller = krino.llm("m", base_url=server.url, cache="off", max_tokens=1)
        gate = krino.gate_rules(max={"failed": 3})
        run = krino.run(ToyJudge, cases, into=tmp_path / "r", labeller=labeller, gate=gate)
        sync.run(labeller.aclose())
    assert run.manifest.state == "stopped"
    assert "--max-tokens" in (run.manifest.stop_reason or "")
    assert run.gated is not None
    assert not run.gated.passed


def test_a_rule_about_what_the_judge_does_not_give_is_refused_before_anything_is_judged(cases: Path) -> None:
    with pytest.raises(krino.UsageProblem, match="faithfulness"):
        krino.run(ToyJudge, cases, into=cases.parent / "r", gate=krino.gate_rules(min={"faithfulness": 0.5}))
    assert not (cases.parent / "r").exists()


async def test_a_run_works_where_an_event_loop_is_running(cases: Path, tmp_path: Path) -> None:
    assert asyncio.get_running_loop().is_running()
    assert len(krino.run(ToyJudge(), cases, into=tmp_path / "r")) == 3


def test_what_a_run_would_take_is_told_without_asking(cases: Path) -> None:
    found = krino.estimate(ToyJudge, cases)
    assert (found.cases, found.cannot_be_judged, found.asked, found.calls) == (3, 1, 2, 0)


def test_everything_the_commands_say_hangs_on_the_run(cases: Path, tmp_path: Path) -> None:
    run = krino.run(ToyJudge, cases, into=tmp_path / "r")
    other = krino.run(ToyJudge, cases, into=tmp_path / "other", options={"good_is": 0.5})
    assert (run.summary().counts.ok, run.summary().counts.failed) == (2, 1)
    assert [part.value for part in run.slices("language")[0].slices] == ["nl", "fr"]
    assert [case.id for case in run.worst(1, "score").judged] == ["b"]
    assert list(run.frame("pandas")["id"]) == ["a", "b", "c"]
    assert run.report() == run.folder / "report.html"
    assert run.agree([{"id": "a", "score": 1}, {"id": "b", "score": 0}]).counts.judged == 2
    change = other.compare(run)
    assert (change.a.run, change.b.run) == (str(run.folder), str(other.folder))
    assert not run.gate().passed, "a failed case breaks a gate without rules"
    assert run.gate(max={"failed": 1}, min={"score": 0.1}, point=True).passed
    file = run.export(tmp_path / "cases.csv")
    assert file.read_text().splitlines()[1].startswith("a,")
    with pytest.raises(krino.UsageProblem, match="the run's own record"):
        run.export(run.folder / "judgements.jsonl")


HOSTILE = "<script>alert(1)</script>"


def test_what_a_notebook_shows_is_escaped(tmp_path: Path) -> None:
    records = [{"id": HOSTILE, "text": f"good {HOSTILE}"}, {"id": "b", "text": "unjudgeable"}]
    run = krino.run(ToyJudge, records, into=tmp_path / "r")
    agreement = run.agree([{"id": HOSTILE, "score": 1}])
    shown: list[Any] = [run, run[HOSTILE], run["b"], agreement, run.compare(run)]
    for item in shown:
        page = item._repr_html_()
        assert "<script>" not in page
        assert "<p" in page or "<table" in page
    assert "&lt;script&gt;" in run[HOSTILE]._repr_html_()
    assert "it cannot be judged" in run["b"]._repr_html_()


class NoEmbedded(ToyJudge):
    """Has nobody of its own to label: what `Judge` has is all there is."""

    label_locally = krino.Judge.label_locally


@pytest.mark.parametrize("texts", [("a good text",), ("", "unjudgeable", "explode", "a good text")])
def test_without_anybody_to_label_nothing_is_made_that_would_block_the_right_call(
    texts: tuple[str, ...], tmp_path: Path
) -> None:
    records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    told: list[str] = []
    with FakeServer(reply={"label": "good", "quote": "text"}) as server:
        model = krino.llm("m", base_url=server.url, cache="off")
        for labeller in ("local", krino.jury([krino.llm("n", base_url=server.url, cache="off"), "local"])):
            with pytest.raises(krino.UsageProblem, match="has no embedded labeller: name a model with --labeller"):
                krino.run(NoEmbedded, records, into=tmp_path / "r", labeller=labeller, on_message=told.append)
            assert (told, (tmp_path / "r").exists()) == ([], False)
        run = krino.run(NoEmbedded, records, into=tmp_path / "r", labeller=model)
    assert (run.manifest.state, run.manifest.counts.ok) == ("finished", len(texts) if len(texts) == 1 else 2)


def test_a_judge_that_leaves_nothing_open_needs_nobody_to_label(tmp_path: Path) -> None:
    run = krino.run(NoEmbedded, [{"id": "a", "text": ""}], into=tmp_path / "r")
    assert run.manifest.counts.ok == 1


class Refusing:
    """An engine that finds out late that it cannot work at all, as one on a cluster may."""

    async def run(self, assignment: Assignment, cases: AsyncIterator[OpenCase], receive: ReceiveAny) -> None:
        raise krino.UsageProblem("there is no cluster")

    def stop(self) -> None: ...


def test_a_run_folder_that_was_announced_and_not_kept_is_told_of(cases: Path, tmp_path: Path) -> None:
    told: list[str] = []
    with pytest.raises(krino.UsageProblem, match="there is no cluster"):
        krino.run(ToyJudge, cases, into=tmp_path / "r", engine=Refusing, on_message=told.append)
    assert told == [f"run folder {tmp_path / 'r'}", f"nothing was judged, and {tmp_path / 'r'} was not kept"]
    assert not (tmp_path / "r").exists()


def test_what_a_run_gives_can_be_printed(cases: Path, tmp_path: Path) -> None:
    run = krino.run(ToyJudge, cases, into=tmp_path / "r")
    gate = run.gate(min={"score": 0.9}, max={"failed": 1})
    printed = {
        "run": str(run),
        "summary": str(run.summary()),
        "gate": str(gate),
        "agreement": str(run.agree([{"id": "a", "score": 1}, {"id": "b", "score": 1}])),
        "comparison": str(run.compare(run)),
    }
    for name, text in printed.items():
        assert "=" not in text.replace("score=0.9", "").replace("failed=1", ""), name  # no dump of a model
        assert max(map(len, text.splitlines())) <= 300, name
        assert "\x1b" not in text, name
    assert printed["run"] == f"{tmp_path / 'r'}: toy 1 (embedded labeller), finished, 3 cases: 2 ok, 1 failed, 0 error"
    assert "score: mean" in printed["summary"]
    assert "gate failed, 1 of" in printed["gate"]
    assert "broken   min score=0.9" in printed["gate"]
    assert "manifest" not in repr(run)


def test_the_worst_cases_are_judgements_like_all_others(cases: Path, tmp_path: Path) -> None:
    run = krino.run(ToyJudge, cases, into=tmp_path / "r")
    found = run.worst(2, "score")
    assert found.judged == [run[case.id] for case in found.judged]
    assert [case.status for case in found.not_judged] == ["failed"]
