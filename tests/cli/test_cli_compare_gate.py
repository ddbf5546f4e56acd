"""`krino compare`, `krino gate` and `krino show --by`: exit codes of every path, and files."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from command_here import Done, ran_main
from made_runs import error_row, failed_row, make_run, row, scores

Command = Callable[..., Done]


@pytest.fixture
def krino(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command in this process, in a folder with the runs of these tests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("KRINO_CONFIG", raising=False)
    make_run(
        tmp_path / "good", [row(f"c{n}", metadata={"court": "cass"}, roll_up="pass", score=0.9) for n in range(60)]
    )
    make_run(tmp_path / "worse", scores(*[0.5] * 60))
    make_run(tmp_path / "failed", [*scores(*[0.9] * 59), failed_row("c59")])
    make_run(tmp_path / "error", [*scores(*[0.9] * 59), error_row("c59")])
    make_run(tmp_path / "stopped", scores(*[0.9] * 60), state="stopped")
    make_run(tmp_path / "empty", [])
    make_run(tmp_path / "others", [row(f"x{n}", score=0.9) for n in range(60)])

    return partial(ran_main, monkeypatch, capsys)


# --- compare ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("good", "worse"), 0),
        (("good", "good"), 0),
        (("good", "failed"), 3),
        (("error", "good"), 3),
        (("failed", "failed"), 0),
        (("good", "stopped"), 3),
        (("good", "others"), 2),
        (("good", "empty"), 2),
        (("good", "nowhere"), 2),
        (("good",), 2),
        (("good", "worse", "--cluster", "place"), 2),
        (("good", "worse", "--flips", "-1"), 2),
    ],
)
def test_exit_codes_of_compare(krino: Command, args: tuple[str, ...], code: int) -> None:
    done = krino("compare", *args)
    assert done.code == code, done
    assert bool(done.out) == (code != 2) and bool(done.err) == (code == 2)


def test_compare_writes_json_and_markdown(krino: Command, tmp_path: Path) -> None:
    done = krino("compare", "good", "worse", "--json", "--markdown", "c.md", "--flips", "2")
    found = json.loads(done.out)
    (score,) = (item for item in found["fields"] if item["name"] == "score")
    assert (score["says"], len(score["movers"])) == ("lower", 2)
    assert "| score | 60 | 0.900 | 0.500 | −0.400 |" in (tmp_path / "c.md").read_text("utf-8")


def test_a_file_that_cannot_be_written_is_exit_2(krino: Command) -> None:
    assert krino("compare", "good", "worse", "--markdown", "no/such/folder.md").code == 2
    assert krino("gate", "good", "--junit", "no/such/folder.xml").code == 2


# --- gate ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (("good",), 0),
        (("good", "--min", "score=0.7", "--min", "pass=90%", "--max", "failed=0"), 0),
        (("good", "--min", "score=0.95"), 1),
        (("good", "--min", "score=0.9"), 1),
        (("good", "--min", "score=0.9", "--point"), 0),
        (("good", "--min", "pass=99%"), 1),
        (("failed",), 1),
        (("error",), 1),
        (("failed", "--min", "score=0.1", "--point"), 1),
        (("failed", "--max", "failed=2%"), 0),
        (("error", "--max", "failed=1"), 0),
        (("stopped", "--max", "failed=100%"), 1),
        (("empty", "--max", "failed=100%"), 1),
        (("good", "--by", "court", "--min", "score=0.7"), 0),
        (("good", "--by", "court", "--few", "61"), 1),
        (("good", "--not-worse-than", "worse", "--may-fall", "score=0.1"), 0),
        (("worse", "--not-worse-than", "good", "--may-fall", "score=0.1"), 1),
        (("good", "--not-worse-than", "others", "--may-fall", "score=0.1"), 2),
        (("good", "--not-worse-than", "worse"), 2),
        (("good", "--may-fall", "score=0.1"), 2),
        (("good", "--not-worse-than", "../{here}/good", "--may-fall", "score=0.1"), 2),
        (("good", "--worst", "-1"), 2),
        (("good", "--not-worse-than", "nowhere", "--may-fall", "score=0.1"), 2),
        (("good", "--min", "scor=0.7"), 2),
        (("good", "--min", "score"), 2),
        (("good", "--by", "place"), 2),
        (("good", "--by", ""), 2),
        (("good", "--few", "0"), 2),
        (("nowhere",), 2),
        ((), 2),
    ],
)
def test_exit_codes_of_gate(krino: Command, args: tuple[str, ...], code: int) -> None:
    done = krino("gate", *(part.format(here=Path.cwd().name) for part in args))
    assert done.code == code, done
    assert ("Gate passed" in done.out, "Gate failed" in done.out, bool(done.err)) == (code == 0, code == 1, code == 2)


def test_gate_writes_json_junit_and_markdown(krino: Command, tmp_path: Path) -> None:
    done = krino("gate", "failed", "--min", "score=0.5", "--json", "--junit", "g.xml", "--markdown", "g.md")
    assert done.code == 1
    found = json.loads(done.out)
    assert found["passed"] is False
    assert json.loads(krino("gate", "good", "--json").out)["passed"] is True
    outcomes = {item["rule"]: item["outcome"] for item in found["checks"]}
    assert outcomes == {
        "finished": "holds",
        "has cases": "holds",
        "has verdicts": "holds",
        "max failed=0": "broken",
        "min score=0.5": "holds",
    }
    (suite,) = ElementTree.parse(tmp_path / "g.xml").getroot()
    assert suite.attrib["failures"] == "1"
    assert "Gate failed: 1 of 5 checks broken." in (tmp_path / "g.md").read_text("utf-8")


def test_the_worst_cases_are_named_as_many_as_asked_for(krino: Command, tmp_path: Path) -> None:
    make_run(tmp_path / "mixed", scores(*(n / 60 for n in range(60))))

    def named(*args: str) -> list[str]:
        checks = json.loads(krino("gate", "mixed", "--min", "score=0.8", "--json", *args).out)["checks"]
        return [case["id"] for case in next(item for item in checks if item["rule"] == "min score=0.8")["worst"]]

    assert named() == [f"c{n}" for n in range(10)]
    assert named("--worst", "2") == ["c0", "c1"]
    assert named("--worst", "0") == []
    (tmp_path / "krino.toml").write_text("[gate]\nworst = 3\n")
    assert named() == ["c0", "c1", "c2"]
    assert named("--worst", "1") == ["c0"]


def test_rules_come_from_the_file_and_a_flag_takes_the_place_of_one(krino: Command, tmp_path: Path) -> None:
    (tmp_path / "krino.toml").write_text(
        "[gate]\nby = 'court'\nfew = 20\n[gate.min]\nscore = 0.95\npass = '50%'\n[gate.max]\nfailed = 2\n"
    )
    done = krino("gate", "good")
    assert done.code == 1
    assert "min score=0.95" in done.out and "min pass=50%" in done.out and "court=cass" in done.out
    done = krino("gate", "good", "--min", "score=0.5")
    assert done.code == 0
    assert "min score=0.5 " in done.out and "min pass=50%" in done.out and "max failed=2" in done.out


def test_the_other_run_and_point_come_from_the_file_too(krino: Command, tmp_path: Path) -> None:
    (tmp_path / "krino.toml").write_text(
        "[gate]\nnot_worse_than = 'good'\npoint = true\n[gate.min]\nscore = 0.5\n[gate.may_fall]\nscore = 0.4\n"
        "[gate.may_rise]\nscore = 0.1\n"
    )
    assert krino("gate", "worse").code == 0
    assert krino("gate", "worse", "--bound").code == 1


def test_the_other_run_lies_where_the_file_says_from_wherever_the_command_is_called(
    krino: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "krino.toml").write_text("[gate]\nnot_worse_than = 'good'\n[gate.may_fall]\nscore = 0.1\n")
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    make_run(tmp_path / "as good", scores(*[0.9] * 60))
    assert krino("gate", "../as good").code == 0
    assert krino("gate", "../worse").code == 1
    monkeypatch.chdir(tmp_path)
    whole = f"[gate]\nnot_worse_than = '{tmp_path / 'good'}'\n[gate.may_fall]\nscore = 0.1\n"
    (tmp_path / "krino.toml").write_text(whole)
    assert krino("gate", "worse").code == 1


def test_a_byte_order_mark_before_the_settings_is_passed_over(krino: Command, tmp_path: Path) -> None:
    (tmp_path / "krino.toml").write_text("[gate.min]\nscore = 0.95\n", "utf-8-sig")
    done = krino("gate", "good")
    assert (done.code, done.err) == (1, "")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[gate]\nmn = 3\n", "[gate] has no key `mn`"),
        ("[gate.mim]\nscore = 0.5\n", "[gate] has no key `mim`"),
        ("[gate]\nmin = 0.5\n", "`min` must be a table"),
        ("[gate]\nfew = 0\n", "`few` must be a whole number"),
        ("[gate]\nfew = true\n", "`few` must be a whole number"),
        ("[gate]\nworst = -1\n", "`worst` must be a whole number"),
        ("[gate]\nworst = 2.5\n", "`worst` must be a whole number"),
        ("[gate]\npoint = 'yes'\n", "`point` must be true or false"),
        ("[gate]\nby = ['court']\n", "`by` must be columns"),
        ("[gate.min]\nscore = 'high'\n", "[gate.min]: score = high"),
        ("[gate.min]\npass = 0.9\n", "a label has a share"),
        ("gate = 3\n", "must be a section"),
        ("[[gate]]\nmin = 1\n", "must be a section"),
    ],
)
def test_a_slip_in_the_file_is_never_passed_over(krino: Command, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "krino.toml").write_text(text)
    done = krino("gate", "good")
    assert (done.code, words in done.err) == (2, True), done


# --- slices ----------------------------------------------------------------------------------------


def test_show_slices_a_run(krino: Command) -> None:
    done = krino("show", "good", "--by", "court")
    assert done.code == 0
    assert "cass" in done.out and "0.900" in done.out
    (table,) = json.loads(krino("show", "good", "--by", "court", "--json").out)
    assert (table["column"], table["slices"][0]["n"]) == ("court", 60)
    assert krino("show", "good", "--by", "place").code == 2


def test_a_column_of_a_table_can_be_sliced_by(krino: Command, tmp_path: Path) -> None:
    toy = f"{Path(__file__).parents[1] / 'toy_judge.py'}:ToyJudge"
    (tmp_path / "cases.csv").write_text("id,text,court\n1,fine,cass\n2,bad,labour\n3,unjudgeable,labour\n")
    assert krino("judge", toy, "cases.csv", "--run", "r", "--map", "metadata.court=court").code == 3
    (table,) = json.loads(krino("show", "r", "--by", "court", "--json").out)
    assert {item["value"]: (item["n"], item["failed"]) for item in table["slices"]} == {
        "labour": (2, 1),
        "cass": (1, 0),
    }
    assert "Slices by court" in (tmp_path / "r" / "report.html").read_text("utf-8")
