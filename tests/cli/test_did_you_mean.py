"""Whatever a user may misspell, a run, a case, a field, a key or a label, is answered with the name that is near."""

from __future__ import annotations

from pathlib import Path

import pytest

import krino as package
from command_here import ran_main
from made_runs import make_run, row


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two runs and labels for them, where the test stands."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("KRINO_CONFIG", raising=False)
    rows = [
        row(f"case-{n}", metadata={"court": "cass"}, roll_up="pass", score=0.9, match="exact", certainty=0.9)
        for n in range(4)
    ]
    for name in ("monday", "tuesday"):
        make_run(tmp_path / name, rows)
    Path("labels.csv").write_text("id,match,score\n" + "".join(f"case-{n},exact,0.9\n" for n in range(4)))


@pytest.mark.parametrize(
    ("args", "guess"),
    [
        (("show", "mondy"), "monday"),
        (("gate", "mondy", "--min", "score=0.1"), "monday"),
        (("compare", "monday", "tuesdy"), "tuesday"),
        (("show", "monday", "case1"), "case-1"),
        (("show", "monday", "--by", "cort"), "court"),
        (("show", "monday", "--worst", "2", "--by", "scor"), "score"),
        (("compare", "monday", "tuesday", "--cluster", "cort"), "court"),
        (("gate", "monday", "--min", "scre=0.1"), "score"),
        (("gate", "monday", "--min", "score=0.1", "--by", "cort"), "court"),
        (("agree", "mondy", "labels.csv"), "monday"),
        (("agree", "monday", "label.csv"), "labels.csv"),
        (("agree", "monday", "labels.csv", "--field", "mach"), "match"),
        (("agree", "monday", "labels.csv", "--cluster", "mach"), "match"),
        (("agree", "monday", "labels.csv", "--values", "mach:x=exact"), "match"),
        (("agree", "monday", "labels.csv", "--values", "match:exakt=exact"), "exact"),
        (("agree", "monday", "labels.csv", "--confidence", "certanty=match"), "certainty"),
        (("agree", "monday", "labels.csv", "--confidence", "certainty=mach"), "match"),
        (("judge", "citatoin", "labels.csv"), "citation"),
        (("judge", "rag", "labls.csv"), "labels.csv"),
        (("judge", "rag", "labels.csv", "--option", "gaol=legal"), "goal"),
        (("judge", "rag", "labels.csv", "-l", "olama:tiny"), "ollama"),
    ],
)
def test_on_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], args: tuple[str, ...], guess: str
) -> None:
    done = ran_main(monkeypatch, capsys, *args)
    assert done.code == 2
    assert f"(did you mean {guess}?)" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("text", "guess"),
    [("[jugde]\n", "judge"), ("[judge]\nlabeler = 'local'\n", "labeller"), ("[gate]\nmay_fal = {}\n", "may_fall")],
)
def test_in_the_settings_file(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str, guess: str
) -> None:
    Path("krino.toml").write_text(text)
    done = ran_main(monkeypatch, capsys, "gate", "monday", "--min", "score=0.1")
    assert done.code == 2
    assert f"(did you mean {guess}?)" in " ".join(done.err.split())


def test_in_python() -> None:
    with pytest.raises(package.UsageProblem, match=r"\(did you mean temperature\?\)"):
        package.llm("gpt-x", temprature=0.1)  # type: ignore[call-arg]
    with pytest.raises(package.UsageProblem, match=r"\(did you mean faithfulness\?\)"):
        package.assert_verdict("rag", {"question": "?", "answer": "a", "context": ["a"]}, min={"faithfullness": 0.5})
