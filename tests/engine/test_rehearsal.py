"""Before anybody is paid, `settle` is tried on labels that are made up: what it gives back must be what is promised."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Literal

import orjson
import pytest
from pydantic import BaseModel, Field
from typer.testing import CliRunner

import krino
from fake_llm import FakeServer
from krino.cases.item import CaseItem
from krino.cli import app
from krino.cli.exits import exit_code_of
from krino.contract import Questions, Ruling, Settlement
from krino.engine.rehearsal import _rehearsed, rehearse
from krino.engine.sample_labels import make_labels
from krino.errors import JudgeBroke
from krino.judges.registry import OURS
from toy_judge import ToyCase, ToyJudge, ToyLabels

EXAMPLES = Path(krino.__file__).parent / "examples"
CASE = {"text": "a fine text"}


@pytest.fixture(autouse=True)
def _plain_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("krino.cli.runner.tune_memory", lambda: None)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply={"label": "good", "quote": "fine"}) as running:
        yield running


def judged(judge: krino.Judge[Any, Any, Any], server: FakeServer) -> krino.Judgement:
    async def one() -> krino.Judgement:
        async with krino.llm("m", base_url=server.url, api_key="k", cache="off") as labeller:
            return await krino.ajudge(judge, CASE, labeller=labeller)

    return asyncio.run(one())


class Kept(ToyJudge):
    """Keeps what it rules in a variable, so that its source shows nothing."""

    def rulings(self, labels: ToyLabels) -> Any:
        return {"score": Ruling(1.0, "TOY-LABEL"), "note": Ruling("n", "TOY-LABEL")}

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        assert labels is not None
        found: Settlement = self.rulings(labels)
        return found


class GivesDict(Kept):
    pass


class UnknownField(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Settlement({**super().rulings(labels), "extra": Ruling(1, "TOY-LABEL")})


class MissingField(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Settlement({"note": Ruling("n", "TOY-LABEL")})


class UnknownRule(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Settlement({name: Ruling(1, f"TOY-{name.upper()}") for name in ("score", "note")})


class BareValues(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Settlement({"score": 1.0, "note": ("n", "TOY-LABEL")})  # type: ignore[dict-item]


class TextAsEvidence(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Settlement({**super().rulings(labels), "note": Ruling("n", "TOY-LABEL", "a quote")})  # type: ignore[arg-type]


class WrongType(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Settlement({**super().rulings(labels), "score": Ruling(labels.label, "TOY-LABEL", from_labels=True)})


class Forgetful(Kept):
    """Says of one field that labels decide it, and nothing of another that they decide too."""

    def rulings(self, labels: ToyLabels) -> Any:
        note = Ruling("n", "TOY-LABEL", from_labels=True)
        return Settlement({"note": note, "score": Ruling(float(labels.label == "good"), "TOY-LABEL")})


class UnknownLabel(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return labels.tone  # type: ignore[attr-defined]


class WrongCall(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Settlement({"score": Ruling(1.0)})  # type: ignore[call-arg]


class UnknownName(Kept):
    def rulings(self, labels: ToyLabels) -> Any:
        return Setlement({})  # type: ignore[name-defined]  # noqa: F821


class AsksText(ToyJudge):
    def ask(self, case: ToyCase, facts: int) -> Questions | None:
        question: Any = f"Is {case.text} good?"
        return question  # type: ignore[no-any-return]


class StudiesNothing(ToyJudge):
    def study(self, case: ToyCase) -> int:
        return len(case.txt)  # type: ignore[attr-defined]


BROKEN = [
    (GivesDict, r"settle must return a ToyVerdict or a krino\.Settlement, not a dict; write `return ToyVerdict"),
    (UnknownField, "a ruling for `extra`, which `ToyVerdict` has no field for"),
    (MissingField, "no ruling for `score` of `ToyVerdict`"),
    (UnknownRule, "rules by 'TOY-SCORE', which `rules` does not list"),
    (BareValues, r"`score` is a float, not a krino\.Ruling.*`note` is a tuple, not a krino\.Ruling"),
    (TextAsEvidence, "evidence of `note` must be a tuple of texts"),
    (WrongType, "score: Input should be a valid number"),
    (Forgetful, r"`score` changes with the labels .*write `Ruling\(value, 'TOY-LABEL', from_labels=True\)`"),
    (UnknownLabel, r"no attribute 'tone' \(test_rehearsal\.py:\d+, in rulings\)"),
    (WrongCall, r"missing 1 required.*test_rehearsal\.py:\d+"),
    (UnknownName, "'Setlement' is not defined"),
    (AsksText, r"test_rehearsal\.py:\d+: ask must return krino\.Questions or None, not a str"),
    (StudiesNothing, r"no attribute 'txt' \(test_rehearsal\.py:\d+, in study\)"),
]


@pytest.mark.parametrize(("kind", "message"), BROKEN)
def test_a_fault_of_the_judge_is_told_before_anybody_is_asked(
    kind: type[ToyJudge], message: str, server: FakeServer
) -> None:
    with pytest.raises(krino.UsageProblem, match=message):
        judged(kind(), server)
    assert len(server.requests) == 0


def test_a_sound_judge_is_tried_and_paid_once(server: FakeServer) -> None:
    assert judged(ToyJudge(), server).status == "ok"
    assert len(server.requests) == 1


class Odd(ToyJudge):
    """Breaks on labels that no model gives; on others it is a good judge."""

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        if labels is not None and labels.quote != "fine":
            raise IndexError("an odd label")
        return super().settle(case, facts, labels)


class Lucky(ToyJudge):
    """Never the same twice: then nothing follows from values that differ."""

    calls = 0

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        type(self).calls += 1
        return Settlement({"score": Ruling(self.calls, "TOY-LABEL"), "note": Ruling("n", "TOY-LABEL")})


class Checked(ToyJudge):
    """Trusts its own check: what that refuses may break it."""

    def check(self, case: ToyCase, facts: int, labels: ToyLabels) -> list[str]:
        return [] if labels.quote == "fine" else ["quote the word"]

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        assert labels is not None
        rule = {"fine": "TOY-LABEL"}.get(labels.quote, "NO-SUCH-RULE")
        score = Ruling(float(labels.label == "good"), rule, from_labels=True)
        return Settlement({"score": score, "note": Ruling("n", rule)})


class Loose(ToyJudge):
    """Its cases take any field, and this one is not in every case."""

    class LooseCase(ToyCase, extra="allow"):
        pass

    case_model = LooseCase

    def study(self, case: ToyCase) -> int:
        return len(case.topic)  # type: ignore[attr-defined]


def test_a_field_that_only_some_cases_have_is_no_fault_of_the_judge(server: FakeServer) -> None:
    judgement = judged(Loose(), server)
    assert (judgement.status, "no attribute 'topic'" in (judgement.error or "")) == ("error", True)


@pytest.mark.parametrize("kind", [Odd, Lucky, Checked])
def test_what_odd_labels_may_be_to_blame_for_is_left_to_the_real_ones(kind: type[ToyJudge], server: FakeServer) -> None:
    assert judged(kind(), server).status == "ok"


def test_the_rehearsal_leaves_the_facts_of_the_case_alone(server: FakeServer) -> None:
    class Greedy(ToyJudge):
        def study(self, case: ToyCase) -> Any:
            return [case.text]

        def settle(self, case: ToyCase, facts: Any, labels: ToyLabels | None) -> Settlement:
            note = facts.pop() if facts else "taken"
            return Settlement({"score": Ruling(1.0, "TOY-LABEL"), "note": Ruling(note, "TOY-LABEL")})

    assert (judged(Greedy(), server).verdict or {})["note"] == CASE["text"]


@pytest.mark.parametrize("name", OURS)
def test_our_own_judges_pass_on_every_example(name: str) -> None:
    judge: Any = krino.load_judge(name)
    tried = 0
    for number, line in enumerate((EXAMPLES / f"{name}.jsonl").read_bytes().splitlines()):
        kind = type("Again", (type(judge),), {"__module__": __name__})  # one that is not ours, and not tried before
        rehearse(kind(), CaseItem(number, str(number), orjson.loads(line)))
        tried += kind in _rehearsed
    assert tried > 3


class Inner(BaseModel):
    kind: Literal["a", "b", "c"]
    note: str | None


class Outer(BaseModel):
    sure: bool
    share: float = Field(ge=0, le=1)
    items: list[Inner]
    word: str


def test_made_labels_differ_in_every_choice() -> None:
    made = [label for label in make_labels(Outer, ["first words", "second words"]) if isinstance(label, Outer)]
    assert {label.sure for label in made} == {True, False}
    assert {label.share for label in made} == {0, 1}
    assert {item.kind for label in made for item in label.items} >= {"a", "b"}
    assert {len(label.items) for label in made} == {0, 1}
    assert {item.note for label in made for item in label.items} >= {None, "first words"}
    assert {label.word for label in made} == {"first words", "second words"}


def test_a_model_that_nothing_can_be_made_for_gives_none() -> None:
    class Coded(BaseModel):
        code: str = Field(pattern="^[A-Z]{4}-[0-9]{9}$")

    assert list(make_labels(Coded, ["text"])) == []


def test_the_command_ends_with_2_asks_nobody_and_claims_no_folder(tmp_path: Path, server: FakeServer) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"text": ""}\n{"text": "a fine text"}\n' * 3)
    arguments = ["judge", "test_rehearsal:Forgetful", str(cases), "--run", str(tmp_path / "r"), "--labeller", "m"]
    done = CliRunner().invoke(
        app, [*arguments, "--base-url", server.url, "--cache", "off"], env={"OPENAI_API_KEY": "k"}
    )
    assert isinstance(done.exception, krino.UsageProblem)
    assert "from_labels=True" in str(done.exception)
    assert len(server.requests) == 0
    assert not (tmp_path / "r").exists()


# --- what only the real labels show ---------------------------------------------------------------


class BreaksOnReal(Odd):
    """Its fault shows with real labels only."""

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        if labels is not None and labels.quote == "fine" and "odd" not in case.text[:3]:
            raise ZeroDivisionError("nothing to divide by")
        return ToyJudge.settle(self, case, facts, labels)


class OneOddCase(ToyJudge):
    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        if case.text.startswith("odd"):
            raise ZeroDivisionError("an odd case")
        return super().settle(case, facts, labels)


def run_of(kind: str, cases: int, odd: int, tmp_path: Path, server: FakeServer) -> Any:
    file = tmp_path / "cases.jsonl"
    texts = [f"{'odd' if number < odd else 'a'} fine text {number}" for number in range(cases)]
    file.write_text("".join(f'{{"text": "{text}"}}\n' for text in texts))
    arguments = ["judge", f"test_rehearsal:{kind}", str(file), "--run", str(tmp_path / "r"), "--labeller", "m"]
    arguments += ["--base-url", server.url, "--cache", str(tmp_path / "replies.sqlite"), "--concurrency", "2"]
    return CliRunner().invoke(app, arguments, env={"OPENAI_API_KEY": "k"})


def test_a_judge_that_breaks_on_all_that_was_paid_stops_the_run(tmp_path: Path, server: FakeServer) -> None:
    done = run_of("BreaksOnReal", 40, 0, tmp_path, server)
    assert done.exit_code == 70
    assert "own code failed on each of the first 3 labelled cases" in done.output
    assert "ZeroDivisionError: nothing to divide by (test_rehearsal.py:" in done.output
    assert 3 <= len(server.requests) <= 5  # the third stops it; two may be in flight
    run = krino.load_run(tmp_path / "r")
    assert run.manifest.state == "stopped"
    assert sum(judgement.usage.calls for judgement in run) == len(server.requests), "what was paid is on record"


def test_an_odd_case_of_a_good_judge_is_an_error_of_that_case(tmp_path: Path, server: FakeServer) -> None:
    done = run_of("OneOddCase", 20, 2, tmp_path, server)
    assert done.exit_code == 70
    assert "own code broke on 2 cases after labelling" in done.output
    counts = krino.load_run(tmp_path / "r").manifest.counts
    assert (counts.ok, counts.error) == (18, 2)


def test_odd_cases_that_are_tried_again_at_the_end_do_not_stop_the_run(tmp_path: Path, server: FakeServer) -> None:
    for _ in range(3):
        run_of("OneOddCase", 20, 6, tmp_path, server)
    manifest = krino.load_run(tmp_path / "r").manifest
    assert (manifest.state, manifest.counts.ok, manifest.counts.error) == ("finished", 14, 6)


def test_judge_many_stops_as_well(server: FakeServer) -> None:
    async def all_of_them() -> list[krino.Judgement]:
        taken: list[krino.Judgement] = []
        async with krino.llm("m", base_url=server.url, api_key="k", cache="off", concurrency=1) as labeller:
            cases = ({"text": f"a fine text {number}"} for number in range(200))
            try:
                async for judgement in krino.ajudge_many(BreaksOnReal(), cases, labeller=labeller):
                    taken.append(judgement)
            except krino.RunStopped as stop:
                assert "own code failed" in str(stop)
                return taken
        raise AssertionError("it went on to the end")

    taken = asyncio.run(all_of_them())
    assert [judgement.status for judgement in taken[:3]] == ["error"] * 3
    assert len(server.requests) < 20


# --- every choice is tried, and a fault of the judge has an exit code of its own --------------------


class Part(BaseModel):
    kind: Literal["whole", "half", "none"] | None


class Shades(ToyLabels):
    """More choices than variants are made up, one of them inside an object of a list."""

    shade: Literal["a", "b", "c", "d", "e", "f", "g", "h", "i"]
    parts: list[Part]


class ForgotShade(ToyJudge):
    """Works for all choices but one."""

    labels_model = Shades
    bad: ClassVar[Any] = "h"

    def check(self, case: ToyCase, facts: int, labels: ToyLabels) -> list[str]:
        return []

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        assert isinstance(labels, Shades)
        if self.bad in (labels.shade, *(part.kind for part in labels.parts)):
            raise KeyError(self.bad)
        score = Ruling(float(len(labels.shade)), "TOY-LABEL", from_labels=True)
        return Settlement({"score": score, "note": Ruling("n", "TOY-LABEL", from_labels=True)})


class ForgotKind(ForgotShade):
    bad: ClassVar[Any] = "none"


class RefusesShade(ForgotShade):
    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Settlement:
        try:
            return super().settle(case, facts, labels)
        except KeyError:
            raise krino.CannotJudge("this shade says nothing") from None


class ChecksShade(ForgotShade):
    def check(self, case: ToyCase, facts: int, labels: ToyLabels) -> list[str]:
        return ["no such shade"] if getattr(labels, "shade", "") == self.bad else []


@pytest.mark.parametrize(
    ("kind", "told"), [(ForgotShade, "label `shade` is 'h'"), (ForgotKind, r"label `parts\.0\.kind` is 'none'")]
)
def test_every_value_of_every_enum_is_tried_before_anybody_is_asked(
    kind: type[ToyJudge], told: str, server: FakeServer
) -> None:
    with pytest.raises(krino.UsageProblem, match=rf"breaks where the {told}.*KeyError.*test_rehearsal\.py:\d+"):
        judged(kind(), server)
    assert len(server.requests) == 0


@pytest.mark.parametrize("kind", [RefusesShade, ChecksShade])
def test_a_value_that_a_judge_refuses_is_no_fault(kind: type[ToyJudge], server: FakeServer) -> None:
    judged(kind(), server)
    assert len(server.requests) >= 1


def test_a_fault_that_the_rehearsal_finds_is_exit_70(tmp_path: Path, server: FakeServer) -> None:
    done = run_of("ForgotShade", 3, 0, tmp_path, server)
    assert isinstance(done.exception, JudgeBroke)

    def again() -> None:
        raise JudgeBroke(str(done.exception))

    assert exit_code_of(again) == 70
    assert len(server.requests) == 0
