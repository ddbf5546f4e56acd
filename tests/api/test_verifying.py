"""`verify` names every verdict that does not follow from the recorded labels and the case, whatever was edited."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import orjson
import pytest

import krino
from krino import Verification
from krino.contract import Judgement
from krino.runs.journal import sealed_line
from scripted_labeller import Scripted
from toy_judge import ToyCase, ToyJudge, ToyLabels

TEXTS = {"a": "a fine text", "b": "a bad text", "c": "", "d": "unjudgeable", "e": "explode", "f": "a fine text"}
Line = dict[str, Any]
Edit = Callable[[Line], Any]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    cases = tmp_path / "cases.jsonl"
    cases.write_bytes(b"".join(orjson.dumps({"id": name, "text": text}) + b"\n" for name, text in TEXTS.items()))
    return krino.run(ToyJudge, cases, into=tmp_path / "run").folder


def verified(run: Path, judge: Any = ToyJudge, **settings: Any) -> Verification:
    return krino.verify(run, run.parent / "cases.jsonl", judge=judge, **settings)


def edit(run: Path, name: str, change: Edit, *, sealed_anew: bool = True) -> None:
    """Edit the line of a case. A careful forger seals it anew, so that only what follows can find it out."""
    path = run / "judgements.jsonl"
    lines = []
    for text in path.read_bytes().splitlines(keepends=True):
        line = orjson.loads(text)
        if line["id"] == name:
            change(line)
            line.pop("seal") if sealed_anew else None
            text = sealed_line(Judgement.model_validate(line)) if sealed_anew else orjson.dumps(line) + b"\n"
        lines.append(text)
    path.write_bytes(b"".join(lines))


def edit_manifest(run: Path, change: Edit) -> None:
    manifest = orjson.loads((run / "run.json").read_bytes())
    change(manifest)
    (run / "run.json").write_bytes(orjson.dumps(manifest))


def test_a_run_as_it_was_written_follows(run: Path) -> None:
    found = verified(run)
    assert found.verified
    assert (found.verdicts, found.follow, found.errors) == (5, 5, 1)
    assert found.sentence == "All 5 verdicts follow from the recorded labels and the cases."


@pytest.mark.parametrize("judge", ["rag", "citation", "efficiency"])
def test_the_examples_of_every_judge_verify(judge: str, tmp_path: Path) -> None:
    cases = Path(krino.__file__).parent / "examples" / f"{judge}.jsonl"
    made = krino.run(judge, cases, into=tmp_path / "run")
    found = krino.verify(made, cases)
    assert found.verified, found
    assert found.follow == len(made) > 9


def _set(*path: Any) -> Edit:
    *way, last, value = path

    def change(line: Line) -> None:
        for step in way:
            line = line[step]
        line[last] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "field"),
    [
        ("a", _set("verdict", "score", 0.9), "verdict.score"),
        ("a", _set("verdict", "note", "labelled good!"), "verdict.note"),
        ("a", _set("labels", "label", "bad"), "verdict.score"),
        ("a", _set("labels", "quote", "fine"), "evidence.score.0"),
        ("a", _set("evidence", "score", ["a fine "]), "evidence.score.0"),
        ("a", _set("rules", "score", "TOY-EMPTY"), "rules.score"),
        ("a", _set("decided_by", "note", "TOY-LABEL"), "decided_by.note"),
        ("a", _set("findings", 0, "text", "settled from a labe1"), "findings.0.text"),
        ("a", _set("findings", []), "findings"),
        ("a", _set("metadata", {"court": "x"}), "metadata.court"),
        ("a", _set("inputs", {"text": "another text"}), "inputs"),
        ("c", _set("labels", {"label": "good", "quote": "x"}), "labels"),
        ("d", _set("reason", "the text says otherwise"), "reason"),
    ],
)
def test_an_edited_judgement_is_named_with_the_field(run: Path, name: str, change: Edit, field: str) -> None:
    edit(run, name, change)
    found = verified(run)
    assert not found.verified
    assert found.edited == 1
    (case,) = found.cases
    assert (case.id, case.fault) == (name, "edited")
    assert any(difference.field.startswith(field) for difference in case.differences)
    assert case.line is not None
    assert orjson.loads((run / "judgements.jsonl").read_bytes().splitlines()[case.line - 1])["id"] == name


def test_long_values_are_shown_where_they_begin_to_differ(run: Path) -> None:
    edit(run, "a", _set("verdict", "note", "labelled good" + ", and so on" * 50))
    (difference,) = verified(run).cases[0].differences
    assert difference.computed == '"labelled good"'
    edit(run, "a", _set("findings", 0, "text", "settled from a labels, which is not what the rule says"))
    difference = verified(run).cases[0].differences[-1]
    assert difference.recorded.startswith("…") and "labels, which" in difference.recorded
    assert difference.computed == '…settled from a label"'


def test_labels_that_no_longer_fit_the_case_are_named_with_the_reason(run: Path) -> None:
    edit(run, "a", _set("labels", "quote", "never written"))
    (case,) = verified(run).cases
    assert "does not occur in the text" in case.why


def test_a_change_that_no_rule_reads_breaks_the_seal(run: Path) -> None:
    edit(run, "a", _set("usage", "seconds", 99.0), sealed_anew=False)
    found = verified(run)
    assert found.edited == 1
    assert "seal" in found.cases[0].why
    assert found.sentence == "4 of 5 verdicts follow from the recorded labels and the cases: 1 is edited."


def test_a_line_of_a_version_without_seals_is_not_suspect(run: Path) -> None:
    edit(run, "a", lambda line: line.pop("seal"), sealed_anew=False)
    assert verified(run).verified


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (_set("about", "rules", "TOY-LABEL", "A good text scores 1, a bad one 0."), "text of rule TOY-LABEL"),
        (_set("about", "summary", "Is a text long?"), "about.summary"),
        (_set("about", "prompt", "Label the text: good or bad. Quote the word that decides."), "prompt"),
        (_set("counts", {"ok": 5, "failed": 0, "error": 1}), "run.json says"),
        (_set("cases", 7), "7"),
    ],
)
def test_an_edited_manifest_is_a_problem(run: Path, change: Edit, problem: str) -> None:
    edit_manifest(run, change)
    found = verified(run)
    assert not found.verified
    assert any(problem in line for line in found.problems), found.problems


def test_a_line_that_is_no_judgement_of_the_run_is_named_with_its_number(run: Path) -> None:
    edit(run, "b", _set("verdict", "score", "zero"), sealed_anew=False)
    found = verified(run)
    assert not found.verified
    number = [line["id"] for _, line in _lines((run / "judgements.jsonl").read_bytes())].index("b") + 1
    assert f"judgements.jsonl:{number}: not a judgement of this run: verdict.score" in found.problems[0]


def test_an_index_that_leads_elsewhere_is_a_problem(run: Path) -> None:
    journal = run / "judgements.jsonl"
    first, *rest = sorted(journal.read_bytes().splitlines(keepends=True), key=lambda line: b'"id":"a"' not in line)
    better = orjson.loads(first) | {"verdict": {"score": 0.5, "note": "labelled good"}}
    better.pop("seal")
    assert verified(run).verified
    journal.write_bytes(b"".join([first, *rest, sealed_line(Judgement.model_validate(better))]))
    assert verified(run).verified  # of two settled lines the first counts, and an index of another journal is not used
    from krino.runs.index import JournalIndex

    forged = JournalIndex()
    for offset, line in _lines(journal.read_bytes()[len(first) :], len(first)):
        forged.note(line["input_hash"], line["status"], krino.Usage.of(line["usage"]), offset, 1)
    forged.save(journal)
    found = verified(run)
    assert any("judgements.index" in problem for problem in found.problems)


def _lines(text: bytes, at: int = 0) -> list[tuple[int, Line]]:
    found = []
    for line in text.splitlines(keepends=True):
        found.append((at, orjson.loads(line)))
        at += len(line)
    return found


def test_a_case_that_the_input_does_not_have_is_not_at_hand(run: Path) -> None:
    cases = run.parent / "cases.jsonl"
    lines = cases.read_bytes().splitlines(keepends=True)
    cases.write_bytes(b"".join([lines[5], *lines[2:5], orjson.dumps({"id": "a", "text": "a fine texl"}) + b"\n"]))
    found = verified(run)
    assert (found.follow, found.not_at_hand, found.edited) == (3, 2, 0)
    assert [(case.id, case.fault) for case in found.cases] == [("a", "input missing"), ("b", "input missing")]


class StricterToy(ToyJudge):
    """The same with another rule."""

    name = "toy"
    version = "2"
    rules: ClassVar[dict[str, str]] = {**ToyJudge.rules, "TOY-LABEL": "A good text scores half."}

    def settle(self, case: ToyCase, facts: int, labels: ToyLabels | None) -> Any:
        settled = ToyJudge.settle(self, case, facts, labels)
        if labels is None or labels.label == "bad":
            return settled
        rulings = {**settled.rulings, "score": krino.Ruling(0.5, "TOY-LABEL", (labels.quote,))}
        return krino.Settlement(rulings, settled.findings)


def test_another_version_of_the_judge_is_named_as_that(run: Path) -> None:
    found = verified(run, StricterToy)
    assert (found.follow, found.other_judge, found.edited) == (3, 2, 0)
    assert any("version" in line for line in found.judge_changes)
    assert "made by other rules than those of the installed judge" in found.sentence


def test_cases_that_share_a_judgement_are_counted_one_by_one(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_bytes(b'{"id": "same", "text": "good"}\n' * 3)
    run = krino.run(ToyJudge, cases, into=tmp_path / "run").folder
    assert (verified(run).follow, verified(run).verdicts) == (3, 3)
    edit(run, "same", _set("verdict", "score", 0.0))
    assert verified(run, named=1).edited == 3
    assert len(verified(run, named=1).cases) == 1


def test_ballots_of_a_panel_are_computed_again(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_bytes(b'{"id": "a", "text": "good"}\n{"id": "b", "text": "bad"}\n')
    jury = krino.jury([Scripted({"label": "good", "quote": ""}, name) for name in ("one", "other")])
    run = krino.run(ToyJudge, cases, into=tmp_path / "run", labeller=jury).folder
    assert verified(run).verified
    edit(run, "a", _set("ballots", 1, "verdict", "score", 0.5))
    (case,) = verified(run).cases
    assert case.differences[0].field == "ballots.1.verdict.score"


def test_an_unfinished_run_is_verified_as_far_as_it_came(run: Path) -> None:
    edit_manifest(run, _set("state", "interrupted"))
    lines = (run / "judgements.jsonl").read_bytes().splitlines(keepends=True)
    kept = [line for line in lines if orjson.loads(line)["id"] in "ab"]
    (run / "judgements.jsonl").write_bytes(b"".join(kept))
    found = verified(run)
    assert found.verified
    assert (found.follow, found.not_judged) == (2, 4)
