"""`/v1/labels`: what programs read and write."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import krino
from krino.people.database import write_transaction
from krino.people.rows import load_rows
from krino.people.store import CaseRef, Event, LabelStore, Subject
from krino.results.agreement.labels import read_labels
from krino.runs.stored_run import load_stored_run
from label_making import make_toy_run, rag_labels
from made_runs import make_run, row
from workbench_making import serving


def give(client: TestClient, status: int = 201, **label: Any) -> Any:
    sent = client.post("/v1/labels", json={"run": "toy", "case": "case-0", "rater": "anna", **label})
    assert sent.status_code == status, sent.text
    return sent.json()


def test_a_label_is_given_and_read_back(client: TestClient) -> None:
    given = give(client, answer={"score": 0.5}, note="half")
    assert given["answer"] == {"score": 0.5}
    assert given["blind"]
    assert client.get("/v1/labels", params={"run": "toy"}).json() == {"labels": [given], "next": None}
    assert client.get("/v1/labels", params={"run": "rag"}).json()["labels"] == []


def test_labels_themselves_are_settled(client: TestClient) -> None:
    given = give(client, run="rag", depth="labels", answer=rag_labels("unsupported"))
    assert given["verdict"]["faithfulness"] == 0.0


def test_a_label_is_read_by_rater_depth_and_page(client: TestClient) -> None:
    for rater in ("anna", "ben"):
        for case in range(3):
            give(client, rater=rater, case=f"case-{case}", answer={"score": 1})
    assert len(client.get("/v1/labels", params={"run": "toy", "rater": "ben"}).json()["labels"]) == 3
    assert client.get("/v1/labels", params={"run": "toy", "depth": "labels"}).json()["labels"] == []
    first = client.get("/v1/labels", params={"run": "toy", "limit": 4}).json()
    rest = client.get("/v1/labels", params={"run": "toy", "after": first["next"]}).json()
    assert (len(first["labels"]), len(rest["labels"]), rest["next"]) == (4, 2, None)


def test_the_same_key_is_one_label(client: TestClient) -> None:
    assert give(client, answer={"score": 1}, key="k")["number"] == give(client, answer={"score": 1}, key="k")["number"]


def test_undo_gives_what_no_longer_counts(client: TestClient) -> None:
    given = give(client, answer={"score": 1})
    undone = client.post("/v1/labels/undo", json={"run": "toy", "rater": "anna"}).json()
    assert undone["undone"]["number"] == given["number"]
    assert client.post("/v1/labels/undo", json={"run": "toy", "rater": "anna"}).json() == {"undone": None}


def test_the_next_case_comes_with_its_reason(client: TestClient) -> None:
    found = client.get("/v1/labels/next", params={"run": "toy", "rater": "anna"}).json()
    assert found["why"] == "random"
    assert found["random"]
    for case in range(8):
        give(client, case=f"case-{case}", answer={"score": 1})
    assert client.get("/v1/labels/next", params={"run": "toy", "rater": "anna"}).json()["case"] is None


@pytest.mark.parametrize(
    ("label", "status", "where"),
    [
        ({"answer": {}}, 422, "body.answer"),
        ({"answer": {"note": "free text"}}, 422, "body.answer"),
        ({"answer": {"score": "high"}}, 422, "body.answer"),
        ({"answer": {"score": True}}, 422, "body.answer"),
        ({"answer": {"score": 1}, "depth": "labels"}, 422, "body.answer"),
        ({"answer": 1}, 422, "body.answer"),
        ({"answer": {"score": 1}, "depth": "deep"}, 422, "body.depth"),
        ({"answer": {"score": 1}, "run": "none"}, 404, "body.run"),
        ({"answer": {"score": 1}, "run": "../toy"}, 404, "body.run"),
        ({"answer": {"score": 1}, "case": "nobody"}, 404, "body.case"),
        ({"answer": {"score": 1}, "case": None}, 422, "body.case"),
        ({"answer": {"score": 1}, "case": None, "input_hash": "0" * 32}, 404, "body.input_hash"),
        ({"answer": {"score": 1}, "rater": "\u200b"}, 422, "body.rater"),
        ({"answer": {"score": 1}, "extra": 1}, 422, "body.extra"),
        ({"run": "rag", "depth": "labels", "answer": {**rag_labels(), "claims": []}}, 422, "body.answer"),
        ({"run": "rag", "depth": "labels", "answer": {}}, 422, "body.answer"),
    ],
)
def test_what_does_not_hold_is_refused_in_the_one_shape(
    client: TestClient, label: dict[str, Any], status: int, where: str
) -> None:
    told = give(client, status, **label)
    assert told.keys() == {"error", "where", "remedy"}
    assert told["where"] == where
    assert client.get("/v1/labels", params={"run": "toy"}).json()["labels"] == []


def test_a_key_that_another_label_has_is_named(client: TestClient) -> None:
    give(client, answer={"score": 1}, key="k")
    assert give(client, 422, answer={"score": 0}, key="k")["where"] == "body.key"


def test_the_export_is_the_file_that_krino_agree_reads(client: TestClient, runs: Path, tmp_path: Path) -> None:
    for case, (anna, ben) in enumerate([(1, 1), (1, 0), (0, 0)]):
        give(client, case=f"case-{case}", answer={"score": anna}, note="=HYPERLINK(1)")
        give(client, case=f"case-{case}", rater="ben", answer={"score": ben})
    for kind in ("csv", "jsonl"):
        sent = client.get("/v1/labels/export", params={"run": "toy", "format": kind})
        file = tmp_path / f"labels.{kind}"
        file.write_bytes(sent.content)
        found = krino.agree(runs / "toy", read_labels(file))
        assert found.raters == ("anna", "ben")
        assert found.fields[0].counts.compared == 3
    rows = [json.loads(line) for line in sent.text.splitlines()]
    assert {row["label_random"] for row in rows} <= {True, False}
    table = list(csv.DictReader(io.StringIO((tmp_path / "labels.csv").read_text("utf-8"))))
    assert table[0]["label_note"].startswith("'=")
    assert table[0]["label_random"] in ("true", "false")


def test_null_and_lists_survive_the_table(client: TestClient, tmp_path: Path, runs: Path) -> None:
    give(client, run="rag", answer={"faithfulness": None, "context_relevance": 1})
    file = tmp_path / "labels.csv"
    file.write_bytes(client.get("/v1/labels/export", params={"run": "rag"}).content)
    column = read_labels(file).columns["faithfulness"]
    assert column.pool.values == [None]


def test_agreement_changes_with_a_label(client: TestClient) -> None:
    before = client.get("/v1/labels/agreement", params={"run": "toy"}).json()
    assert before["agreement"] is None
    give(client, answer={"score": 1})
    after = client.get("/v1/labels/agreement", params={"run": "toy"}).json()
    assert after["edition"] > before["edition"]
    assert after["agreement"]["counts"]["labelled"] == 1


def test_labels_belong_to_the_content_of_a_case_not_to_a_run(client: TestClient, runs: Path) -> None:
    make_toy_run(runs / "again", 3, bad=[0])
    give(client, answer={"score": 1})
    (found,) = client.get("/v1/labels", params={"run": "again"}).json()["labels"]
    assert found["run"] == "toy"
    assert found["input_hash"] == next(load_stored_run(runs / "again").roll()).input_hash


def test_runs_that_disagree_bring_the_case_first(runs: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for name, bad in (("one", [3]), ("two", [])):
        make_toy_run(folder / name, 6, bad=bad)
    with serving(folder) as client:
        found = client.get("/v1/labels/next", params={"run": "one", "rater": "anna"}).json()
    assert (found["case"], found["why"]) == ("case-3", "runs")


def test_the_api_is_described_with_examples(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {
        "/v1/labels",
        "/v1/labels/undo",
        "/v1/labels/next",
        "/v1/labels/export",
        "/v1/labels/agreement",
    } <= paths.keys()
    assert "404" in paths["/v1/labels"]["post"]["responses"]


def test_a_database_that_fails_is_told_as_such_and_its_address_is_nobodys_business(client: TestClient) -> None:
    store = client.app.state.workbench.labels  # type: ignore[attr-defined]
    with write_transaction(store.engine) as connection:
        connection.exec_driver_sql("DROP TABLE events")
    told = give(client, 503, answer={"score": 1})
    assert "nothing was saved" in told["remedy"]
    assert "sqlite" not in json.dumps(told)


ODD = ("-1", "+2", "=3", "@4", "plain", "x;-y", "'-quoted", "＋wide", "-1; =2")
"""Ids, raters and codes that a spreadsheet would run as formulas, and such as look like marks already."""


def test_a_file_of_labels_says_to_krino_agree_what_the_database_says(database: str, tmp_path: Path) -> None:
    rows = [row(case, code=ODD[place % 2], tags=[case]) for place, case in enumerate(ODD)]
    run = load_stored_run(make_run(tmp_path / "runs" / "odd", rows))
    store = LabelStore(database)
    for place, entry in enumerate(run.roll()):
        where = CaseRef(Subject.of(run.manifest), entry.input_hash, entry.id, "odd")
        answer = {"code": ODD[place % 3], "tags": [ODD[place]]}
        store.add(Event(where, ODD[place % 2], "fields", "label", answer, note="=1+1"))
    store.close()
    direct = krino.agree(run.folder, load_rows(database, run), draws=20)
    address = database if "://" in database else f"sqlite:///{database}"
    with serving(run.folder.parent, database=address) as client:
        for kind in ("csv", "jsonl"):
            file = tmp_path / f"labels.{kind}"
            file.write_bytes(client.get("/v1/labels/export", params={"run": "odd", "format": kind}).content)
            found = krino.agree(run.folder, file, draws=20)
            assert (found.fields, found.raters, found.absent_ids) == (direct.fields, direct.raters, ()), kind
            assert {one.field for one in found.fields} == {"code", "tags"}
            assert found.counts.labelled == len(ODD)
