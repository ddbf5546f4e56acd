"""A journal or manifest that was tampered with is refused with file and line, by every reader, and takes no memory."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import orjson
import pytest
from pydantic import BaseModel, ConfigDict, Field

import krino
from krino.contract import LEFT_OUT_IF_EMPTY, Judgement
from krino.contract.fingerprint import schema_of
from krino.results.agreement.agree import agree
from krino.results.comparison.compare import compare
from krino.results.gates.gate import Gate, check_run
from krino.results.table import read_table
from krino.runs.checking import LineCheck
from krino.runs.guarded_files import read_lines
from krino.runs.manifest import JudgeCard, Manifest
from krino.runs.stored_run import RecordedLabels
from made_runs import Row, failed_row, make_run, row


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid")

    weight: float = Field(ge=0)
    inner: Part | None = None


class Verdict(BaseModel):
    """Of every kind that verdicts are made of."""

    model_config = ConfigDict(extra="forbid")

    score: float = Field(ge=0, le=1)
    share: float | None = Field(gt=0, lt=1)
    stars: int = Field(ge=1, le=5)
    kind: Literal["A", "B"]
    grade: Literal[1, 2]
    exactly: Literal["x"]
    fine: bool
    pair: tuple[int, int]
    names: list[str]
    part: Part
    table: dict[str, int]
    any: Any
    note: str = Field(alias="remark")


GOOD: Row = {
    "score": 0.5,
    "share": None,
    "stars": 3,
    "kind": "A",
    "grade": 1,
    "exactly": "x",
    "fine": True,
    "pair": [1, 2],
    "names": ["a"],
    "part": {"weight": 1, "inner": {"weight": 0.5, "inner": None}},
    "table": {"a": 1},
    "any": {"whatever": [1, None]},
    "note": "",
}


def stored(folder: Path, *more: Row) -> Path:
    return make_run(folder, [row("a", **GOOD), *more], about=JudgeCard(verdict_schema=schema_of(Verdict)))


def tampered(folder: Path, change: Callable[[Row], object], place: int = 1) -> None:
    """Change one line of the journal."""
    path = folder / "judgements.jsonl"
    texts = path.read_bytes().splitlines(keepends=True)
    data = orjson.loads(texts[place - 1])
    change(data)
    texts[place - 1] = orjson.dumps(data) + b"\n"
    path.write_bytes(b"".join(texts))


def read(folder: Path) -> list[Row]:
    return list(krino.load_run(folder).records())


def test_what_a_later_version_has_added_is_passed_over(tmp_path: Path) -> None:
    plain = read(stored(tmp_path / "plain"))
    folder = stored(tmp_path / "later")

    def add(data: Row) -> None:
        data.update(novelty={"score": 2})
        data["usage"].update(tips=1)

    tampered(folder, add)
    for name in ("run.json", "roll.jsonl"):
        path = folder / name
        texts = [path.read_bytes()] if name == "run.json" else path.read_bytes().splitlines()
        path.write_bytes(b"".join(orjson.dumps({**orjson.loads(text), "novelty": 1}) + b"\n" for text in texts))
    found = krino.load_run(folder)
    (record,) = found.records()
    assert record.pop("usage") == {**plain[0].pop("usage"), "tips": 1}
    assert record == plain[0]
    (judgement,) = found
    assert judgement.verdict == GOOD
    assert found.summary().counts.ok == 1
    assert len(found.frame("arrow")) == 1


def test_what_a_sitting_writes_is_taken(tmp_path: Path) -> None:
    assert read(stored(tmp_path / "r", failed_row("b")))[0]["verdict"] == GOOD


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("score", 1.5),
        ("score", -0.1),
        ("score", "0.5"),
        ("score", True),
        ("score", None),
        ("share", 0),
        ("share", 1.0),
        ("share", "much"),
        ("stars", 0),
        ("stars", 6),
        ("stars", 2.5),
        ("stars", True),
        ("kind", "C"),
        ("kind", None),
        ("grade", 3),
        ("grade", True),
        ("grade", "1"),
        ("exactly", "y"),
        ("fine", 1),
        ("fine", "yes"),
        ("pair", [1]),
        ("pair", [1, 2, 3]),
        ("pair", [1, "2"]),
        ("pair", {"0": 1}),
        ("names", "a"),
        ("names", [1]),
        ("part", {"weight": -1, "inner": None}),
        ("part", {"weight": 1, "inner": {"weight": 1, "inner": 3}}),
        ("part", {"weight": 1, "inner": None, "more": 1}),
        ("part", {}),
        ("table", {"a": "b"}),
        ("table", []),
        ("note", 3),
    ],
)
def test_a_value_outside_the_schema_of_the_verdict_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    run = stored(tmp_path / "r")
    tampered(run, lambda data: data["verdict"].update({field: value}))
    with pytest.raises(krino.UsageProblem, match=rf"judgements.jsonl:1: not a judgement of this run: verdict.{field}"):
        read(run)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data.update(judge="rag"), r"judge: .*'toy'.*\(got 'rag'\)"),
        (lambda data: data.update(judge_version="2"), "judge_version: "),
        (lambda data: data.update(status="fine"), "the line: .*'fine'"),
        (lambda data: data.update(status=None), "the line: "),
        (lambda data: data.pop("status"), "the line: "),
        (lambda data: data.update(index=-1), "index: "),
        (lambda data: data.update(index=2**63), "index: "),
        (lambda data: data.update(index="0"), "index: "),
        (lambda data: data.update(id=3), "id: "),
        (lambda data: data.pop("id"), "id: Field required"),
        (lambda data: data.update(input_hash="a" * 31), "input_hash: "),
        (lambda data: data.update(input_hash="a" * 32 + "\n"), "input_hash: "),
        (lambda data: data.update(input_hash=None), "input_hash: "),
        (lambda data: data.update(labels=[]), "labels: "),
        (lambda data: data.update(metadata=None), "metadata: "),
        (lambda data: data.update(usage={}), "usage.calls: "),
        (lambda data: data["usage"].update(calls=-1), "usage.calls: "),
        (lambda data: data["usage"].update(calls="1"), "usage.calls: "),
        (lambda data: data["usage"].update(cost=-0.5), "usage.cost: "),
        (lambda data: data["usage"].update(cost="free"), "usage.cost: "),
        (lambda data: data["usage"].update(seconds=None), "usage.seconds: "),
        (lambda data: data.update(verdict=None), "verdict: "),
        (lambda data: data["verdict"].pop("score"), "verdict.score: Field required"),
        (lambda data: data["verdict"].update(more=1), "verdict.more: "),
        (lambda data: data.update(decided_by={}), "decided_by: every field of an ok verdict"),
        (lambda data: data["decided_by"].update(more="R1"), "decided_by: every field of an ok verdict"),
        (lambda data: data["decided_by"].update(score=1), "decided_by.score: "),
        (lambda data: data.update(findings=[{"rule": 1, "text": ""}]), "findings.0.rule: "),
        (lambda data: data.update(evidence={"score": "x"}), "evidence.score: "),
        (lambda data: data.update(rules=[]), "rules: "),
        (lambda data: data.update(source={"file": "f"}), "source.line: "),
        (lambda data: data.update(roll_up="great"), "roll_up: "),
        (lambda data: data.update(ballots=[{}]), "ballots.0.member: "),
        (lambda data: data.update(schema_version="9"), "schema_version 9 was written by a newer version of Krino"),
        (lambda data: data.update(schema_version="0"), "schema_version: "),
        (lambda data: data.update(status="failed", reason="r", verdict={"score": 1}), "verdict"),
        (lambda data: data.update(status="failed", reason="r", verdict={"a": {"b": [[0.5]]}}), "verdict"),
        (lambda data: data.update(status="failed", reason=None, verdict=None), "reason: "),
        (lambda data: data.update(status="failed", reason="", verdict=None), "reason: "),
        (lambda data: data.update(status="error", error=None, verdict=None), "error: "),
        (lambda data: data.update(status="error", error="e", verdict={"score": 1}), "verdict"),
    ],
)
def test_a_line_that_no_sitting_of_this_run_writes_is_refused(
    tmp_path: Path, change: Callable[[Row], object], told: str
) -> None:
    run = stored(tmp_path / "r", failed_row("b"))
    tampered(run, change)
    with pytest.raises(krino.UsageProblem, match=rf"r/judgements.jsonl:1: not a judgement of this run: {told}"):
        read(run)


def test_a_failed_form_without_numbers_is_taken(tmp_path: Path) -> None:
    run = stored(tmp_path / "r", failed_row("b"))
    form = {"score": None, "fine": False, "note": "x", "names": ["a", ["b"]], "part": {"weight": None}}
    tampered(run, lambda data: data.update(verdict=form), place=2)
    assert read(run)[1]["verdict"] == form


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused_wherever_they_stand(tmp_path: Path, number: str) -> None:
    run = stored(tmp_path / "r")
    path = run / "judgements.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"whatever":[1,', b'"whatever":[%s,' % number.encode()))
    with pytest.raises(krino.UsageProblem, match=r"judgements.jsonl:1: not JSON"):
        read(run)


READERS: dict[str, Callable[[Path], object]] = {
    "load_run": lambda run: list(krino.load_run(run)),
    "by id": lambda run: krino.load_run(run)["a"],
    "frame": lambda run: krino.frame(run, "arrow"),
    "gate": lambda run: check_run(run, Gate()),
    "compare": lambda run: compare(run, run),
    "agree": lambda run: agree(run, [{"id": "a", "score": 0.5}]),
    "columns": lambda run: read_table(run),
    "resettle": lambda run: RecordedLabels(krino.load_run(run)).close(),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_refuses(tmp_path: Path, reader: str) -> None:
    run = stored(tmp_path / "r")
    READERS[reader](run)
    tampered(run, lambda data: data["verdict"].update(score=7))
    with pytest.raises(krino.UsageProblem, match=r"judgements.jsonl:1: .*verdict.score"):
        READERS[reader](run)


def test_a_foreign_line_is_refused_also_where_no_case_of_the_run_has_its_content(tmp_path: Path) -> None:
    run, other = stored(tmp_path / "r"), make_run(tmp_path / "o", [row("z", x=1)], plan={"judge": {"name": "other"}})
    path = run / "judgements.jsonl"
    path.write_bytes(path.read_bytes() + (other / "judgements.jsonl").read_bytes())
    with pytest.raises(krino.UsageProblem, match=r"judgements.jsonl:2: not a judgement of this run: judge: "):
        read(run)


def test_no_number_in_a_file_asks_for_memory(tmp_path: Path) -> None:
    run = stored(tmp_path / "r")
    tampered(run, lambda data: data.update(index=10**9))
    tracemalloc.start()
    assert read(run)[0]["index"] == 0
    assert len(read_table(run)) == 1
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


def test_a_line_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "f.jsonl"
    path.write_bytes(b'"' + b"x" * 98 + b'"\n' + b'"' + b"x" * 5_000)
    assert [len(line.data) for line in read_lines(path, "do", most_bytes=5_002)] == [98]
    assert [len(line.data) for line in read_lines(path, "do", most_bytes=5_001)] == [98]
    with pytest.raises(krino.UsageProblem, match=r"f.jsonl:2: the line is longer than 5,000 bytes; do"):
        list(read_lines(path, "do", most_bytes=5_000))
    with pytest.raises(krino.UsageProblem, match=r"f.jsonl:1: the line is longer than 100 bytes; do"):
        list(read_lines(path, "do", most_bytes=100))


def test_a_folder_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(krino.UsageProblem, match=f"{tmp_path} is no plain file"):
        list(read_lines(tmp_path, "do"))
    (tmp_path / "run.json").mkdir()
    with pytest.raises(krino.UsageProblem, match=r"run.json is no plain file"):
        Manifest.load(tmp_path)


# --- the manifest ------------------------------------------------------------------------------------


def change_manifest(run: Path, change: Callable[[Row], object]) -> None:
    path = run / "run.json"
    data = orjson.loads(path.read_bytes())
    change(data)
    path.write_bytes(orjson.dumps(data))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data.update(schema_version="1"), "written by another version of Krino .*--fresh"),
        (lambda data: data.update(schema_version="3"), "written by a newer version of Krino .*--fresh"),
        (lambda data: data.update(schema_version=2), "not a manifest of this version: schema_version"),
        (lambda data: data.update(state="fine"), "not a manifest of this version: state"),
        (lambda data: data.pop("plan"), "not a manifest of this version: plan"),
        (lambda data: data["counts"].update(ok=-1), "not a manifest of this version: counts.ok"),
        (lambda data: data.update(cases=-1), "not a manifest of this version: cases"),
        (lambda data: data["plan"]["judge"].pop("name"), "plan.judge.name: must be a text"),
        (lambda data: data["plan"]["judge"].update(version=3), "plan.judge.version: must be a text"),
        (lambda data: data["about"].update(verdict_schema={"$ref": "#/$defs/X"}), "about.verdict_schema cannot be"),
        (lambda data: data["about"].update(verdict_schema={"$ref": "http://x"}), "about.verdict_schema cannot be"),
        (lambda data: data["about"].update(verdict_schema={"type": "number", "minimum": []}), "about.verdict_schema"),
        (
            lambda data: data["about"].update(
                verdict_schema={"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}}
            ),
            "about.verdict_schema cannot be understood .*a reference to itself",
        ),
    ],
)
def test_a_manifest_that_was_changed_is_refused_by_name(
    tmp_path: Path, change: Callable[[Row], object], told: str
) -> None:
    run = stored(tmp_path / "r")
    change_manifest(run, change)
    with pytest.raises(krino.UsageProblem, match=f"r/run.json.* {told}|r/run.json: {told}"):
        read(run)


def test_a_schema_nested_beyond_reason_is_refused(tmp_path: Path) -> None:
    run = stored(tmp_path / "r")
    change_manifest(run, lambda data: data["about"].update(verdict_schema="HERE"))
    path, depth = run / "run.json", 900
    schema = b'{"type":"array","items":' * depth + b"{}" + b"}" * depth
    path.write_bytes(path.read_bytes().replace(b'"HERE"', schema))
    with pytest.raises(krino.UsageProblem, match=r"r/run.json: about.verdict_schema cannot be understood"):
        read(run)


@pytest.mark.parametrize("text", [b"", b"{", b"NaN", b"[" * 5_000, b"\xff"])
def test_a_manifest_that_is_no_json_is_refused_with_the_line(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "run.json").write_bytes(b"\n\n" + text)
    with pytest.raises(krino.UsageProblem, match=r"run.json:\d: not JSON .*put it back, or judge again with --fresh"):
        Manifest.load(tmp_path)


def test_a_manifest_of_a_gigabyte_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "run.json").open("wb") as file:
        file.truncate(1 << 30)
    tracemalloc.start()
    with pytest.raises(krino.UsageProblem, match="has more than 64,000,000 bytes"):
        Manifest.load(tmp_path)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()


# --- the schema --------------------------------------------------------------------------------------


def test_every_judge_of_ours_writes_what_its_schema_takes() -> None:
    for name, file in (("rag", "rag"), ("efficiency", "efficiency"), ("citation", "citation")):
        judge = krino.load_judge(name)
        examples = Path(krino.__file__).parent / "examples" / f"{file}.jsonl"
        records = [orjson.loads(text) for text in examples.read_bytes().splitlines()]
        plan = {"judge": judge.fingerprint(), "labeller": {}, "inputs": []}
        manifest = Manifest.model_validate({"plan": plan, "about": JudgeCard.of(judge).model_dump()})
        check = LineCheck(Path("x"), manifest)
        found = [orjson.loads(judgement.to_json()) for judgement in krino.judge_many(judge, records)]
        assert found[0]["status"] == "ok"
        for item in found:
            check(item)


def test_every_field_of_a_judgement_is_known_to_the_check(tmp_path: Path) -> None:
    data = orjson.loads(Judgement.model_validate({**row("a", **GOOD), **PLACE}).to_json())
    assert data.keys() | set(LEFT_OUT_IF_EMPTY) == Judgement.model_fields.keys()


PLACE = {
    "judge": "toy",
    "judge_version": "1",
    "input_hash": "a" * 32,
    "decided_by": dict.fromkeys(GOOD, "R1"),
}
