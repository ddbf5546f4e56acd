"""The command line shows the case: the worst ones with reasons, one in full, and texts that are several."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import krino
from krino.cli import app
from krino.cli.settings import load_settings
from toy_judge import ToyJudge

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"
CASES = [
    {
        "id": "good",
        "question": "How tall?",
        "context": ["The tower is 99 m tall."],
        "answer": "The tower is 99 m tall.",
    },
    {"id": "wrong", "question": "How tall?", "context": ["The tower is 99 m tall."], "answer": "It is 12 km tall."},
    {"id": "mute", "question": "And how wide is it?", "context": ["The tower is 99 m tall."], "answer": " "},
]


def call(*arguments: object) -> Result:
    return CliRunner(env={"COLUMNS": "100"}).invoke(app, [*map(str, arguments)], catch_exceptions=True)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in CASES))
    assert call("judge", "rag", folder / "cases.jsonl", "--run", folder / "r").exit_code == 3
    (folder / "cases.jsonl").unlink()  # the run folder alone must do
    return folder / "r"


def test_a_case_is_shown_with_its_question_and_answer(judged: Path) -> None:
    shown = call("show", judged, "wrong").stdout
    assert "Question\n  How tall?" in shown and "Answer\n  It is 12 km tall." in shown
    assert "And how wide is it?" in call("show", judged, "mute").stdout, "a failure can be recognised"
    assert krino.load_run(judged)["wrong"].inputs == {"question": "How tall?", "answer": "It is 12 km tall."}


def test_the_worst_cases_have_ids_texts_scores_and_reasons_in_words(judged: Path) -> None:
    shown = call("show", judged, "--worst", 1).stdout
    assert "Not judged: 1" in shown and "mute" in shown and "missing or blank" in shown
    assert "The worst 1 of 2 by faithfulness, the lowest first" in shown
    assert "wrong  0.0  faithfulness" in shown and "It is 12 km tall." in shown and "good" not in shown
    assert "RAG-F3: A claim contradicts" in shown or "RAG-F4: Faithfulness is" in shown
    assert "by answer_relevance" in call("show", judged, "--worst", 1, "--by", "answer_relevance").stdout


def test_the_worst_cases_as_json_are_judgements_worst_first(judged: Path) -> None:
    lines = call("show", judged, "--worst", 5, "--json").stdout.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["mute", "wrong", "good"]


def test_worst_does_not_go_with_an_id_and_by_still_means_slices_without_it(judged: Path) -> None:
    assert "give only one" in str(call("show", judged, "good", "--worst", 1).exception)
    assert "passages" in call("show", judged, "--by", "passages").stdout
    assert call("show", judged, "--worst", 0).exit_code == 2


def test_the_summary_says_how_to_find_ids_and_puts_findings_into_words(judged: Path) -> None:
    shown = call("show", judged).stdout
    assert "--worst 10 (ids and reasons)" in " ".join(shown.split())
    assert "RAG-N2: The answer holds quantities, dates, times or names" in shown
    missing = str(call("show", judged, "nobody").exception)
    assert "--worst 10` lists the worst by their ids" in missing


def test_a_judge_of_ones_own_has_its_worst_cases_too(tmp_path: Path) -> None:
    texts = ["a good one", "a bad one", "unjudgeable"]
    (tmp_path / "c.jsonl").write_text("".join(json.dumps({"id": text, "text": text}) + "\n" for text in texts))
    call("judge", TOY, tmp_path / "c.jsonl", "--run", tmp_path / "r")
    shown = call("show", tmp_path / "r", "--worst", 1).stdout
    assert "a bad one  0.0  score" in shown and "labelled bad" in shown
    assert "a good one" not in shown and shown.index("unjudgeable") < shown.index("a bad one")


# --- texts that are several ------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "cases.csv"
    path.write_text("id,question,context,answer\na,How tall?,It is 99 m tall. ||| The lift is red.,It is 99 m tall.\n")
    return path


def passages(run: Path) -> object:
    return krino.load_run(run)["a"].metadata["passages"]


def test_split_takes_the_passages_apart_and_its_absence_is_told(table: Path, tmp_path: Path) -> None:
    whole = call("judge", "rag", table, "--run", tmp_path / "whole")
    assert passages(tmp_path / "whole") == 1
    assert "is one text that holds `|||`" in whole.stderr and "--split 'context=|||'" in whole.stderr
    split = call("judge", "rag", table, "--split", "context=|||", "--run", tmp_path / "split")
    assert passages(tmp_path / "split") == 2 and "--split" not in split.stderr
    assert krino.load_run(tmp_path / "split").manifest.plan.split == {"context": "|||"}


def test_a_split_is_part_of_the_plan_and_kept_when_a_run_is_settled_again(table: Path, tmp_path: Path) -> None:
    call("judge", "rag", table, "--split", "context=|||", "--run", tmp_path / "r")
    plan = krino.load_run(tmp_path / "r").manifest.plan
    assert plan.digest() != plan.model_copy(update={"split": {}}).digest()
    shutil.copyfile(table, tmp_path / "copy.csv")
    assert call("resettle", tmp_path / "r", table, "--run", tmp_path / "again").exit_code == 0
    assert passages(tmp_path / "again") == 2
    report = (tmp_path / "r" / "report.html").read_text()
    assert "Passage 2" in report, "the report reads the cases again as they were judged"


def test_a_split_may_stand_in_krino_toml(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "krino.toml").write_text("[judge]\nsplit = ['context=|||']\n")
    monkeypatch.setenv("KRINO_CONFIG", str(tmp_path / "krino.toml"))
    load_settings.cache_clear()
    try:
        call("judge", "rag", table, "--run", tmp_path / "r")
    finally:
        load_settings.cache_clear()
    assert passages(tmp_path / "r") == 2


def test_a_case_of_a_finished_run_is_shown_as_its_judge_shows_it(tmp_path: Path) -> None:
    """From the run folder alone: the citation, the candidates and the reasoning are not in the journal."""
    cases = tmp_path / "cases.jsonl"
    cases.write_bytes((Path(krino.__file__).parent / "examples/citation.jsonl").read_bytes())
    call("judge", "citation", cases, "--run", tmp_path / "r")
    cases.unlink()
    shown = " ".join(call("show", tmp_path / "r", "ranked-second").stdout.split())
    for part in ("Citation as written read as", "Candidates decision court date number", "The matcher chose"):
        assert part in shown
    assert "The case number matches 2012/AH/0171 [CASE_NUMBER_FALSE_MATCH]." in shown
    (tmp_path / "r" / "views.jsonl").unlink()
    plain = " ".join(call("show", tmp_path / "r", "ranked-second").stdout.split())
    assert "citation Arbeidshof Antwerpen, afd. Hasselt" in plain and "Candidates" not in plain


def test_a_judge_of_ones_own_shows_its_cases_also_when_its_file_is_gone(tmp_path: Path) -> None:
    judge = tmp_path / "shown_judge.py"
    judge.write_text(
        "from krino.blocks import MarkedText, Segment\n"
        "from toy_judge import ToyJudge\n\n\n"
        "class Shown(ToyJudge):\n"
        "    name = 'shown'\n\n"
        "    def view(self, case, facts, judgement):\n"
        "        return [MarkedText('Weighed', [Segment(case.text, 'heavy')], {'heavy': 'bad'})]\n"
    )
    cases = tmp_path / "cases.jsonl"
    cases.write_text(json.dumps({"id": "a", "text": "good as gold"}) + "\n")
    assert call("judge", f"{judge}:Shown", cases, "--run", tmp_path / "r").exit_code == 0
    judge.unlink()
    cases.unlink()
    shown = call("show", tmp_path / "r", "a").stdout
    assert "Weighed\n  good as gold [heavy]" in shown
