"""`krino agree`: exit codes for every path, and the three ways to have the result."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from command_here import ran_main
from krino.results.agreement.result import Agreement
from made_judgements import error, failed, manifest, ok
from made_runs import store_run

Run = Callable[..., tuple[int, str, str]]
JUDGED = [ok(number, match="ab"[number % 2], score=number / 4, confidence=0.9) for number in range(4)]
LABELS = "id,match,score\n" + "".join(f"case-{number},{'abbb'[number]},{number / 4}\n" for number in range(4))


@pytest.fixture
def krino(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")

    return lambda *args: ran_main(monkeypatch, capsys, "agree", *args, "--draws", "20")


def made(judgements: Iterable[dict[str, Any]], labels: str = LABELS, **about: Any) -> None:
    """A run `r` and labels `l.csv` in the folder where the test stands."""
    store_run(Path("r"), judgements, manifest(**about))
    Path("l.csv").write_text(labels, "utf-8")


# --- exit codes -------------------------------------------------------------------------------------------


def test_all_judged_is_exit_0(krino: Run) -> None:
    made(JUDGED)
    code, out, _ = krino("r", "l.csv", "--all")
    assert code == 0
    assert "Cohen's kappa" in out
    assert "Spearman's rho" in out
    assert "expected calibration error" in out


@pytest.mark.parametrize("bad", [failed(3), error(3)])
def test_a_labelled_case_without_a_verdict_is_exit_3(krino: Run, bad: dict[str, Any]) -> None:
    made([*JUDGED[:3], bad])
    code, out, _ = krino("r", "l.csv")
    assert code == 3
    assert "4 labelled: ✓ 3 judged" in out


def test_a_run_in_which_all_failed_is_exit_3(krino: Run) -> None:
    made([failed(number) for number in range(4)])
    code, out, _ = krino("r", "l.csv")
    assert code == 3
    assert "nothing can be compared" in out


def test_a_failed_case_that_nobody_labelled_is_exit_0(krino: Run) -> None:
    made([*JUDGED, failed(4)])
    code, out, _ = krino("r", "l.csv")
    assert code == 0
    assert "in the run, but not labelled: 1" in out


@pytest.mark.parametrize("state", ["finished", "interrupted"])
def test_a_labelled_id_that_the_run_does_not_have_is_exit_3(krino: Run, state: str) -> None:
    made(JUDGED[:3], state=state)
    code, out, _ = krino("r", "l.csv")
    assert code == 3
    assert "labelled, but not in the run: 1 (as case-3)" in out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("nowhere", "l.csv"), "no run folder"),
        (("r", "missing.csv"), "missing.csv"),
        (("r",), "LABELS"),
        (("r", "l.csv", "--map", "id=nope"), "nope"),
        (("r", "l.csv", "--field", "nope"), "no such field"),
        (("r", "l.csv", "--cluster", "nope"), "neither the labels nor the metadata"),
        (("r", "l.csv", "--confidence", "x"), "CONFIDENCE=FIELD"),
        (("r", "l.csv", "--confidence", "x=y"), "no such field"),
        (("r", "l.csv", "--worst", "-1"), "--worst"),
        (("r", "l.csv", "--markdown", "no/such/folder.md"), "no/such/folder.md"),
    ],
)
def test_wrong_usage_is_exit_2_with_one_clear_message(krino: Run, args: tuple[str, ...], words: str) -> None:
    made(JUDGED)
    code, _, err = krino(*args)
    assert code == 2
    assert words in err
    assert "Traceback" not in err


def test_labels_of_other_cases_are_exit_2_with_ids_of_both_sides(krino: Run) -> None:
    made(JUDGED, "id,match\nx-1,a\n")
    code, _, err = krino("r", "l.csv")
    assert code == 2
    assert "'x-1'" in err
    assert "'case-0'" in err


def test_a_run_without_judgements_is_exit_2(krino: Run) -> None:
    made([])
    Path("r/judgements.jsonl").unlink()
    code, _, err = krino("r", "l.csv")
    assert code == 2
    assert "no judgements yet" in err


# --- output -----------------------------------------------------------------------------------------------


def test_json_is_the_whole_result_and_can_be_read_back(krino: Run) -> None:
    made(JUDGED)
    code, out, _ = krino("r", "l.csv", "--json")
    assert code == 0
    found = Agreement.model_validate_json(out)
    assert [field.field for field in found.fields] == ["match", "score"]
    assert json.loads(out)["fields"][0]["figures"]["agreement"]["value"] == 0.75


def test_markdown_goes_to_a_file(krino: Run) -> None:
    made(JUDGED)
    krino("r", "l.csv", "--markdown", "a.md")
    text = Path("a.md").read_text("utf-8")
    assert text.startswith("### toy 1.0 (embedded labeller) against l.csv")
    assert "| raw agreement | 4 | **0.750** |" in text


def test_flags_choose_what_is_compared(krino: Run) -> None:
    made(JUDGED, LABELS.replace("match", "verdict"))
    _, out, _ = krino("r", "l.csv", "--map", "match=verdict", "--field", "match", "--worst", "0", "--json")
    (field,) = Agreement.model_validate_json(out).fields
    assert field.field == "match"
    assert field.worst == ()


def test_an_error_that_was_tried_again_does_not_count(krino: Run) -> None:
    made([error(0), *JUDGED])
    code, _, _ = krino("r", "l.csv")
    assert code == 0


def test_words_are_read_by_values_and_the_headline_is_everywhere(krino: Run) -> None:
    words = "id,score\n" + "".join(f"case-{number},{'bad' if number < 2 else 'Good'}\n" for number in range(4))
    made([ok(number, score=float(number > 1)) for number in range(4)], labels=words)
    code, out, _ = krino("r", "l.csv", "--values", "good=1,bad=0", "--markdown", "a.md")
    told = "The judge says what people say in 100 % of 4 cases"
    assert (code, told in out.splitlines()[1]) == (0, True), out
    assert told in Path("a.md").read_text("utf-8").splitlines()[2]
    found = json.loads(krino("r", "l.csv", "--values", "score:good=1,bad=0", "--json")[1])
    assert found["headline"].startswith(told)
    assert (found["fields"][0]["headline"], found["fields"][0]["standing"]) == (found["headline"], "one rater")
    code, _, err = krino("r", "l.csv", "--values", "fine=1,bad=0")
    assert (code, "no label has it; the labels have 'bad', 'good'" in err) == (2, True)
    code, _, err = krino("r", "l.csv", "--values", "good")
    assert (code, "write it as good=1,bad=0" in err) == (2, True)


def test_a_label_outside_the_scale_that_the_judge_declares_is_exit_2_with_its_place(krino: Run) -> None:
    scale = {"type": "number", "minimum": 0, "maximum": 1}
    made(JUDGED, LABELS.replace("0.75", "7.5"), about={"verdict_schema": {"properties": {"score": scale}}})
    code, out, err = krino("r", "l.csv")
    assert (code, out) == (2, "")
    assert "l.csv:5: `score` lies between 0 and 1, the label '7.5' does not (1 of 4 labels)" in " ".join(err.split())


def test_on_a_screen_many_fields_with_long_reasons_stay_readable_and_a_file_has_all(
    krino: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = [f"field_{number}" for number in range(9)]
    rows = [f"case-{number},{','.join(['b'] * 9)}" for number in range(40)]
    verdict: dict[str, Any] = {**dict.fromkeys(names, "a"), "rationale": "a long reason " * 60}
    judged = [ok(number, **verdict) for number in range(40)]
    made(judged, "\n".join([f"id,{','.join(names)}", *rows]))
    _, out, _ = krino("r", "l.csv", "--markdown", "a.md")
    assert len(out.splitlines()) <= 45, "a screen"
    assert all(f"field_{number}" in out for number in range(9))
    assert "40 of 40" in out
    assert "--markdown FILE" in out and "--all" in out
    _, everything, _ = krino("r", "l.csv", "--all")
    assert everything.count("raw agreement") == 9
    assert len(everything.splitlines()) > 200
    assert Path("a.md").read_text("utf-8").count("case-") >= 90
    _, alone, _ = krino("r", "l.csv", "--field", "field_0")
    assert "Disagrees most, 10 of 40" in alone
