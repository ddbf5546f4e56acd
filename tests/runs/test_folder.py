"""Which folder a run gets: the one that was named or none, and without a name one for every plan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

import krino
from krino.runs.folder import TRYING, RunLocation, clear_results, find_location, trying, unclaim
from krino.runs.manifest import Counts, Manifest, Plan
from made_runs import make_run, scores

SAME: dict[str, Any] = {
    "judge": {"name": "toy", "version": "1", "prompt_hash": "aa", "source": "bb", "options": {"good_is": 1.0}},
    "labeller": {"kind": "llm", "model": "m"},
    "inputs": ["cases.jsonl"],
}


def plan(**changes: Any) -> Plan:
    return Plan(**{**SAME, **changes})


def judge(**changes: Any) -> dict[str, Any]:
    return {"judge": {**SAME["judge"], **changes}}


def begun(folder: Path, of: Plan) -> Path:
    """A run with a judgement in it."""
    return make_run(folder, scores(0.5), plan=of.model_dump())


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# --- with a name -------------------------------------------------------------------------------------


def test_a_name_that_is_free_is_taken(tmp_path: Path) -> None:
    assert find_location(plan(), named=tmp_path / "mine") == RunLocation(tmp_path / "mine", continued=False)
    (tmp_path / "mine").mkdir()
    assert find_location(plan(), named=tmp_path / "mine") == RunLocation(tmp_path / "mine", continued=False)


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"inputs": ["elsewhere/other.csv"]},
        {"format": "csv"},
        {"mapping": {"question": "q"}},
        judge(address="elsewhere/toy.py:Toy"),
    ],
)
def test_a_named_run_goes_on_whatever_its_cases_are_and_wherever_they_and_the_judge_lie(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    folder = begun(tmp_path / "mine", plan(**judge(address="here/toy.py:Toy")))
    assert find_location(plan(**change), named=folder) == RunLocation(folder, continued=True)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (judge(name="other"), "judge name: was 'toy', is now 'other'"),
        (judge(version="2"), "judge version: was '1', is now '2'"),
        (judge(prompt_hash="bb"), "the prompt changed"),
        (judge(source="cc"), "the judge's source changed"),
        (judge(schemas="cc"), "the schema of the judge's cases, labels, verdict or options changed"),
        (judge(rules="cc"), "the text of the judge's rules changed"),
        (judge(data="cc"), "the judge's data changed"),
        (judge(options={"good_is": 0.5}), "option good_is: was 1.0, is now 0.5"),
        ({"labeller": {"kind": "llm", "model": "n"}}, "labeller model: was 'm', is now 'n'"),
        ({"labeller": {"kind": "llm", "model": "m", "seed": 3}}, "labeller seed: was None, is now 3"),
    ],
)
def test_what_cannot_be_reconciled_is_refused_with_what_differs_and_the_ways_out(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    folder = begun(tmp_path / "mine", plan())
    before = snapshot(tmp_path)
    with pytest.raises(krino.UsageProblem) as refused:
        find_location(plan(**change), named=folder)
    assert str(refused.value).splitlines() == [
        f"{folder} was made with other settings, so it cannot be continued:",
        f"  {words}",
        "name another folder with --run, or judge everything again in this one with --fresh",
    ]
    assert snapshot(tmp_path) == before
    assert find_location(plan(**change), named=folder, fresh=True) == RunLocation(folder, continued=False)


def test_a_run_without_any_judgement_binds_nobody(tmp_path: Path) -> None:
    Manifest(plan=plan()).write(tmp_path)
    (tmp_path / "judgements.jsonl").touch()
    assert find_location(plan(**judge(version="2")), named=tmp_path) == RunLocation(tmp_path, continued=False)


def test_judgements_without_a_manifest_are_nobodys(tmp_path: Path) -> None:
    folder = begun(tmp_path / "mine", plan())
    (folder / "run.json").unlink()
    with pytest.raises(krino.UsageProblem, match=r"mine has judgements and no run.json .*--fresh"):
        find_location(plan(), named=folder)
    assert not find_location(plan(), named=folder, fresh=True).continued


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("other", ["thesis.txt", "run.json", "cases.jsonl"])
def test_a_folder_of_something_else_is_never_written_into(tmp_path: Path, other: str, fresh: bool) -> None:
    (tmp_path / other).write_text('{"plan": "years of work"}')
    (tmp_path / "judgements.jsonl").touch()
    (tmp_path / "more.txt").touch()
    with pytest.raises(krino.UsageProblem, match="exists and is no run folder; name another with --run"):
        find_location(plan(), named=tmp_path, fresh=fresh)


@pytest.mark.parametrize("fresh", [False, True])
def test_a_file_is_no_folder(tmp_path: Path, fresh: bool) -> None:
    (tmp_path / "run").touch()
    with pytest.raises(krino.UsageProblem, match="run exists and is no run folder"):
        find_location(plan(), named=tmp_path / "run", fresh=fresh)


def test_a_run_may_have_other_files_beside_it(tmp_path: Path) -> None:
    folder = begun(tmp_path / "mine", plan())
    (folder / "notes.txt").touch()
    assert find_location(plan(), named=folder).continued
    assert not find_location(plan(), named=folder, fresh=True).continued


def test_a_run_of_an_older_version_is_refused_and_can_be_judged_anew(tmp_path: Path) -> None:
    folder = begun(tmp_path / "mine", plan())
    old = {**orjson.loads((folder / "run.json").read_bytes()), "schema_version": "1"}
    (folder / "run.json").write_bytes(orjson.dumps(old))
    with pytest.raises(krino.UsageProblem, match=r"written by another version of Krino .*--fresh"):
        find_location(plan(), named=folder)
    assert not find_location(plan(), named=folder, fresh=True).continued


def test_whatever_krino_wrote_once_can_be_judged_anew(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text('{"schema_version": "0", "krino_version": "0", "plan": {}}')
    (tmp_path / "notes.txt").touch()
    assert not find_location(plan(), named=tmp_path, fresh=True).continued


def test_a_damaged_manifest_is_refused_and_can_be_judged_anew(tmp_path: Path) -> None:
    folder = begun(tmp_path / "mine", plan())
    (folder / "run.json").write_text("{")
    with pytest.raises(krino.UsageProblem, match=r"run.json:1: not JSON .*--fresh"):
        find_location(plan(), named=folder)
    assert not find_location(plan(), named=folder, fresh=True).continued


# --- without a name ----------------------------------------------------------------------------------


def test_a_new_plan_gets_a_folder_named_by_judge_date_and_hash(tmp_path: Path) -> None:
    place = find_location(plan(), base=tmp_path)
    name, date, digest = place.folder.name.split("-")
    assert (name, len(date), digest, place.continued) == ("toy", 8, plan().digest(), False)


def test_the_same_plan_is_continued_even_on_another_day(tmp_path: Path) -> None:
    old = begun(tmp_path / f"toy-20250101-{plan().digest()}", plan())
    assert find_location(plan(), base=tmp_path) == RunLocation(old, continued=True)
    assert find_location(plan(), base=tmp_path, fresh=True) == RunLocation(old, continued=False)


@pytest.mark.parametrize("change", [judge(version="2"), {"format": "csv"}, {"mapping": {"a": "b"}}])
def test_another_plan_gets_a_folder_of_its_own_and_says_why(tmp_path: Path, change: dict[str, Any]) -> None:
    old = begun(find_location(plan(), base=tmp_path).folder, plan())
    place = find_location(plan(**change), base=tmp_path)
    assert (place.continued, place.instead_of, len(place.because)) == (False, old, 1)
    assert place.folder != old


def test_what_json_cannot_tell_apart_is_the_same_plan(tmp_path: Path) -> None:
    listed = plan(labeller={"kind": "llm", "media": ["image"]})
    paired = plan(labeller={"kind": "llm", "media": ("image",)})
    old = begun(find_location(listed, base=tmp_path).folder, listed)
    assert find_location(paired, base=tmp_path) == RunLocation(old, continued=True)
    assert find_location(paired, named=old) == RunLocation(old, continued=True)


def test_of_several_earlier_runs_the_last_is_named(tmp_path: Path) -> None:
    begun(tmp_path / "toy-20250101-00000001", plan(**judge(version="2")))
    last = begun(tmp_path / "toy-20240101-00000002", plan(**judge(version="3")))
    begun(tmp_path / "toy-20260101-00000003", plan(inputs=["others.jsonl"]))
    assert find_location(plan(), base=tmp_path).instead_of == last


def test_other_cases_are_another_run_and_no_reason_is_given(tmp_path: Path) -> None:
    begun(find_location(plan(), base=tmp_path).folder, plan())
    place = find_location(plan(inputs=["others.jsonl"]), base=tmp_path)
    assert (place.continued, place.instead_of, place.because) == (False, None, [])


def test_a_neighbour_that_cannot_be_read_is_no_obstacle(tmp_path: Path) -> None:
    for name in ("toy-20250101-00000000", f"toy-20250101-{plan().digest()}"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "run.json").write_text("{")
    assert not find_location(plan(), base=tmp_path).continued


# --- clearing ----------------------------------------------------------------------------------------


def test_clearing_leaves_an_unfinished_run_without_results_and_all_that_was_judged(tmp_path: Path) -> None:
    folder = begun(tmp_path / "mine", plan())
    kept = snapshot(folder)["judgements.jsonl"]
    for name in ("report.html", "judgements.parquet", ".run.json.123", ".report.html.9", ".judgements.parquet", "mine"):
        (folder / name).touch()
    clear_results(folder)
    assert snapshot(folder).keys() == {"run.json", "judgements.jsonl", "judgements.index", "mine"}
    assert snapshot(folder)["judgements.jsonl"] == kept
    left = Manifest.load(folder)
    assert (left.state, left.stop_reason, left.cases, left.input_hash) == ("running", None, None, None)
    assert (left.counts, left.plan) == (Counts(), plan())


def test_clearing_takes_away_a_manifest_that_nobody_can_read(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{")
    clear_results(tmp_path)
    assert snapshot(tmp_path) == {}


def test_nothing_of_ours_is_left_of_a_folder_that_was_made_for_nothing(tmp_path: Path) -> None:
    ours = begun(tmp_path / "mine", plan())
    unclaim(ours, [ours])
    assert not ours.exists()
    others = begun(tmp_path / "above" / "mine", plan())
    (others / "mine").touch()
    unclaim(others, [others, others.parent])
    assert snapshot(others).keys() == {"mine"}
    (others / "mine").unlink()
    unclaim(others, [others, others.parent])
    assert list(tmp_path.iterdir()) == []
    unclaim(tmp_path / "nowhere", [tmp_path / "nowhere"])


def test_nothing_is_made_behind_a_link_that_lies_in_wait_in_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / TRYING).symlink_to(tmp_path / "elsewhere")
    with trying(folder):
        assert not (tmp_path / "elsewhere").exists()
