"""A judge of one's own is examined when it is loaded: all that is wrong with it, with file, line and what to write."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import krino
from krino.judges.registry import OURS
from toy_judge import ToyJudge, ToyVerdict

HEAD = """from pydantic import BaseModel, RootModel, computed_field

from krino import Judge, Passage, Questions, Ruling, Settlement


class Letter(BaseModel):
    text: str


class Tone(BaseModel):
    polite: bool


class Verdict(BaseModel):
    score: float


class Computed(BaseModel):
    score: float

    @computed_field
    def double(self) -> float:
        return 2 * self.score


class Unfinished(BaseModel):
    tone: "Nowhere"


class Listed(RootModel[list[int]]):
    pass


"""
FAULTLESS = """class Mine(Judge[Letter, int, Tone]):
    name, version, summary = "mine", "1", "Is a letter polite?"
    default_prompt = "Polite?"
    rules = {"TONE": "A polite letter scores 1."}
    case_model = Letter
    labels_model = Tone
    verdict_model = Verdict

    def study(self, case):
        return len(case.text)

    def ask(self, case, facts):
        return Questions((Passage("letter", case.text),), "Polite?")

    def settle(self, case, facts, labels):
        return Settlement({"score": Ruling(1.0 if labels.polite else 0.0, "TONE", from_labels=True)})
"""
TEXT = HEAD + FAULTLESS


def line_of(text: str, piece: str) -> int:
    return text[: text.index(piece)].count("\n") + 1


def loaded(folder: Path, text: str) -> krino.Judge[object, object, object]:  # type: ignore[type-var]
    path = folder / "mine.py"
    path.write_text(text)
    return krino.load_judge(f"{path}:Mine")


def faults(folder: Path, text: str) -> list[str]:
    with pytest.raises(krino.UsageProblem) as refusal:
        loaded(folder, text)
    first, *lines = str(refusal.value).splitlines()
    assert first == "Mine cannot judge yet:"
    return [line.strip() for line in lines]


def test_a_judge_without_faults_is_loaded(tmp_path: Path) -> None:
    assert loaded(tmp_path, TEXT).name == "mine"


@pytest.mark.parametrize("name", OURS)
def test_our_own_judges_have_no_faults(name: str) -> None:
    assert krino.load_judge(name).name == name


CLASS = "class Mine"
ATTRIBUTES = [
    ('name, version, summary = "mine"', 'name, version, summary = ""', "name, version", "`name` is empty"),
    ('"mine", "1"', '"mine", 1', "name, version", '`version` must be a text, not an int; write `version = "1"`'),
    ('"mine"', '"my judge/2"', "name, version", 'write `name = "my-judge-2"`'),
    ('"mine"', '".."', "name, version", "folders are named after it"),
    ('"mine"', '"rag"', "name, version", "krino.judges.rag.judge:RagJudge; write another"),
    ('    default_prompt = "Polite?"\n', "", CLASS, "Mine has no `default_prompt`; write `default_prompt = "),
    ('"Polite?"\n    rules', '"  "\n    rules', "default_prompt", "`default_prompt` is empty"),
    ('{"TONE": "A polite letter scores 1."}', '["TONE"]', "rules =", "`rules` must be a mapping"),
    ('{"TONE": "A polite letter scores 1."}', '{"TONE": 1}', "rules =", "must say in words what 'TONE' means"),
    ("    verdict_model = Verdict\n", "", CLASS, "Mine has no `verdict_model`; write `verdict_model = X`"),
    ("labels_model = Tone", "labels_model = dict", "labels_model =", "is the class `dict`, no pydantic model"),
    ("case_model = Letter", 'case_model = {"text": str}', "case_model =", "`case_model` is a dict, no pydantic model"),
    ("labels_model = Tone", "labels_model = Tone(polite=True)", "labels_model =", "write its class: `labels_m"),
    ("verdict_model = Verdict", "verdict_model = Listed", "verdict_model =", "Listed has no fields"),
    ("verdict_model = Verdict", "verdict_model = Computed", "verdict_model =", "`double` of Computed is computed"),
    ("labels_model = Tone", "labels_model = Unfinished", "labels_model =", "Unfinished has no JSON Schema"),
    ("labels_model = Tone", "labels_model, options_model = Tone, 3", "labels_model,", "`options_model` is an int"),
]
METHODS = [
    ("def study(self, case)", "def study(self)", "def study", "`study` must take self and case"),
    ("def ask(self, case, facts)", "async def ask(self, case, facts)", "async def ask", "`ask` is asynchronous"),
    ("def ask(self, case, facts):", "ask = 3\n\n    def asks(self, case, facts):", "ask = 3", "cannot be called"),
    ("        return len(", "        yield len(", "def study", "`study` has a `yield` in it"),
    ("def settle(", "def settles(", CLASS, "write `def settle(self, case, facts, labels): ...`"),
    (
        "    def study",
        "    def check(self, case):\n        return []\n\n    def study",
        "def check",
        "`check` must take",
    ),
]


@pytest.mark.parametrize(("old", "new", "at", "message"), ATTRIBUTES + METHODS)
def test_a_fault_is_told_with_file_line_and_what_to_write(
    tmp_path: Path, old: str, new: str, at: str, message: str
) -> None:
    assert FAULTLESS.count(old) == 1
    text = HEAD + FAULTLESS.replace(old, new)
    where = f"mine.py:{HEAD.count(chr(10)) + line_of(text[len(HEAD) :], at)}: "
    told = faults(tmp_path, text)
    assert any(line.startswith(where) and message in line for line in told), told


MODELS = "    case_model = Letter\n    labels_model = Tone\n    verdict_model = Verdict\n"


@pytest.mark.parametrize("name", ["case_model", "labels_model", "verdict_model"])
def test_a_model_that_nothing_states_is_told_before_a_case_is_judged(tmp_path: Path, name: str) -> None:
    stated = "".join(line for line in MODELS.splitlines(keepends=True) if name not in line)
    text = HEAD + FAULTLESS.replace("Judge[Letter, int, Tone]", "Judge").replace(MODELS, stated)
    where = f"mine.py:{line_of(text, CLASS)}: "
    assert any(line.startswith(f"{where}Mine has no `{name}`") for line in faults(tmp_path, text))
    (tmp_path / "alone.py").write_text(text + "\n\nimport krino\n\nkrino.judge(Mine, {'text': 'fine'})\n")
    done = subprocess.run([sys.executable, "alone.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert f"Mine has no `{name}`" in done.stderr


@pytest.mark.parametrize(
    "brackets", ["Judge[Letter, int, Tone, Verdict]", "Judge[Letter, int, Tone, Verdict, Letter]", "Mid[Letter, Tone]"]
)
def test_models_are_taken_from_the_brackets(tmp_path: Path, brackets: str) -> None:
    middle = """from typing import TypeVar

CaseT = TypeVar("CaseT", bound=BaseModel)
LabelsT = TypeVar("LabelsT", bound=BaseModel)


class Mid(Judge[CaseT, int, LabelsT, Verdict]):
    def study(self, case):
        return 1


"""
    text = HEAD + middle + FAULTLESS.replace("Judge[Letter, int, Tone]", brackets).replace(MODELS, "")
    if brackets.endswith("Letter]"):
        with pytest.raises(krino.UsageProblem, match="options of judge `mine`: text: Field required"):
            loaded(tmp_path, text)
        return
    judge = loaded(tmp_path, text)
    assert (judge.case_model.__name__, judge.labels_model.__name__) == ("Letter", "Tone")
    assert judge.verdict_model.__name__ == "Verdict"


def test_a_model_that_is_stated_goes_over_the_brackets(tmp_path: Path) -> None:
    text = HEAD + FAULTLESS.replace("Judge[Letter, int, Tone]", "Judge[Letter, int, Computed]")
    assert loaded(tmp_path, text).labels_model.__name__ == "Tone"


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = HEAD + "class Mine(Judge):\n    name = 'a b'\n    rules = 3\n\n    def ask(self):\n        pass\n"
    told = "\n".join(faults(tmp_path, text))
    named = ("name", "default_prompt", "rules", "case_model", "labels_model", "verdict_model")
    assert all(f"`{name}`" in told for name in (*named, "study", "ask", "settle"))


def test_what_the_judge_sets_when_it_is_made_counts(tmp_path: Path) -> None:
    made = '    def __init__(self, options=None, prompt=None):\n        self.rules = {"TONE": "x"}\n'
    text = TEXT.replace('    rules = {"TONE": "A polite letter scores 1."}\n', made)
    assert "super().__init__(options, prompt)" in faults(tmp_path, text)[0]
    assert loaded(tmp_path, text.replace('"x"}\n', '"x"}\n        super().__init__(options, prompt)\n')).rules


def test_an_init_that_takes_nothing_is_a_message(tmp_path: Path) -> None:
    text = TEXT.replace("    def study", "    def __init__(self):\n        pass\n\n    def study")
    with pytest.raises(krino.UsageProblem, match=r"mine\.py:\d+: Mine cannot be made: TypeError.*options=None"):
        loaded(tmp_path, text)


def test_a_fault_of_the_file_names_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = TEXT.replace("case_model = Letter", "case_model = Leter")
    monkeypatch.chdir(tmp_path)
    for folder in (tmp_path, Path()):
        with pytest.raises(krino.UsageProblem, match=rf"Leter.*\(line {line_of(text, 'case_model =')}\)"):
            loaded(folder, text)


def test_a_wrong_class_name_lists_the_judges_there_are(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TEXT)
    with pytest.raises(krino.UsageProblem, match=r"no class `Nine` that is a krino\.Judge; it has Mine$"):
        krino.load_judge(f"{tmp_path}/mine.py:Nine")


class Nameless(ToyJudge):
    name = ""


class Borrowed(ToyJudge):
    name = "citation"


@pytest.mark.parametrize("judge", [Nameless, Nameless(), Borrowed, Borrowed()])
def test_a_class_or_an_object_that_is_handed_in_is_examined_too(judge: type[ToyJudge] | ToyJudge) -> None:
    with pytest.raises(krino.UsageProblem, match=r"test_judge_checks\.py:\d+: `name` is"):
        krino.judge(judge, {"text": "fine"})


def test_what_is_no_judge_is_refused() -> None:
    with pytest.raises(krino.UsageProblem, match="is no judge; give a name"):
        krino.judge(ToyVerdict, {"text": "fine"})  # type: ignore[arg-type]


def test_the_command_ends_with_2_and_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TEXT.replace("    verdict_model = Verdict\n", ""))
    (tmp_path / "cases.jsonl").write_text('{"text": "Thank you."}\n')
    command = [sys.executable, "-m", "krino", "judge", "mine.py:Mine", "cases.jsonl", "--run", "r"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert f"mine.py:{line_of(TEXT, CLASS)}: Mine has no `verdict_model`" in done.stderr
    assert not (tmp_path / "r").exists()
