"""Judging over HTTP: the same verdicts as the library gives, in the order of the cases, and nothing that a request must
not have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

import krino
from fake_llm.server import FakeServer
from workbench_making import serving, until

EXAMPLES = {
    name: [orjson.loads(line) for line in files("krino.examples").joinpath(f"{name}.jsonl").read_bytes().splitlines()]
    for name in ("citation", "efficiency", "rag")
}
TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:ToyJudge"
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with serving(tmp_path_factory.mktemp("runs"), max_cases=20) as client:
        yield client


def verdicts(judgements: list[dict[str, Any]]) -> list[Any]:
    return [[one["id"], one["status"], one["verdict"], one["rules"], one["reason"]] for one in judgements]


@pytest.mark.parametrize("judge", sorted(EXAMPLES))
def test_a_list_is_judged_as_the_library_judges_it(client: TestClient, judge: str) -> None:
    answer = client.post(f"/v1/judge/{judge}", json={"cases": EXAMPLES[judge]})
    expected = [one.model_dump(mode="json") for one in krino.judge_many(judge, EXAMPLES[judge])]
    assert answer.status_code == 200
    assert verdicts(answer.json()["judgements"]) == verdicts(expected)


def test_one_case_gives_one_judgement(client: TestClient) -> None:
    answer = client.post("/v1/judge/rag", json={"case": EXAMPLES["rag"][0]}).json()
    assert [one["id"] for one in answer["judgements"]] == [EXAMPLES["rag"][0]["id"]]


def test_a_case_that_cannot_be_judged_says_why_and_has_no_score(client: TestClient) -> None:
    (one,) = client.post("/v1/judge/rag", json={"case": {"question": "Who?"}}).json()["judgements"]
    assert one["status"] == "failed"
    assert "no answer" in one["reason"]
    assert one["verdict"]["faithfulness"] is None


def test_options_are_those_of_the_judge(client: TestClient) -> None:
    case = {"steps": [{"tool": "a", "input": {}, "output": "x"}], "task": "t"}
    answer = client.post("/v1/judge/efficiency", json={"case": case, "options": {"mode": "nonsense"}})
    assert answer.status_code == 422
    assert answer.json()["where"] == "body.options.mode"
    answer = client.post("/v1/judge/rag", json={"case": EXAMPLES["rag"][0], "options": {"goal": "nonsense"}})
    assert answer.status_code == 422
    assert "fact-checking" in answer.json()["error"]
    assert answer.json()["where"] == "body.options"


@pytest.mark.parametrize("cases", [{"case": {}}, {"cases": [{}, {}]}])
@pytest.mark.parametrize(
    ("judge", "more", "where"),
    [
        ("efficiency", {"options": {"mode": "nonsense"}}, "body.options.mode"),
        ("efficiency", {"options": {"mood": "strict"}}, "body.options.mood"),
        ("rag", {"options": {"lenience": False}}, "body.options.lenience"),
        ("rag", {"options": {"lenience": "1"}}, "body.options.lenience"),
        ("efficiency", {"options": []}, "body.options"),
        ("citation", {"options": {"aliases": 5}}, "body.options.aliases"),
        ("citation", {"options": {"aliases": {"a": 5}}}, "body.options.aliases.a"),
        ("rag", {"labeller": "gpt"}, "body.labeller"),
        ("rag", {"case": 5}, "body.case"),
        ("rag", {"cases": [{}, 5]}, "body.cases.1"),
    ],
)
def test_a_fault_is_named_by_what_the_client_wrote(
    client: TestClient, judge: str, more: dict[str, Any], where: str, cases: dict[str, Any]
) -> None:
    body = more if where.startswith("body.case") else {**cases, **more}
    told = client.post(f"/v1/judge/{judge}", json=body).json()
    assert told["where"] == where
    assert all(part.startswith("body") for part in told["error"].split("; ") if ": " in part)
    assert "<" not in told["error"], "the forms that the checker tried are nobody's business"


@pytest.mark.parametrize(("body", "where"), [({}, "body.case"), ({"labeller": "local"}, "body.case"), ([], "body")])
def test_what_is_missing_is_named(client: TestClient, body: Any, where: str) -> None:
    assert client.post("/v1/judge/rag", json=body).json()["where"] == where


# --- how much a request may bring ---------------------------------------------------------------------

SHORT = {"question": "Who?", "context": ["Anna did."], "answer": "Anna."}


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with serving(tmp_path_factory.mktemp("runs"), max_cases=3, max_case_bytes=2_000) as client:
        yield client


def long_case(length: int) -> dict[str, Any]:
    """A case of just so many bytes."""
    return {**SHORT, "answer": "a" * (length - len(orjson.dumps({**SHORT, "answer": ""})))}


def test_a_case_of_the_greatest_length_is_judged_and_a_longer_one_is_not(narrow: TestClient) -> None:
    assert narrow.post("/v1/judge/rag", json={"case": long_case(2_000)}).status_code == 200
    answer = narrow.post("/v1/judge/rag", json={"case": long_case(2_001)})
    told = answer.json()
    assert (answer.status_code, told["where"]) == (413, "body.case")
    assert "2,001" in told["error"]
    assert "2,000" in told["error"]
    assert "krino judge" in told["remedy"]
    assert "--max-case-bytes" in told["remedy"]


def test_of_a_list_the_case_that_is_too_long_is_named_and_none_is_judged(narrow: TestClient) -> None:
    judged = narrow.get("/metrics").text.count("krino_cases_total")
    answer = narrow.post("/v1/judge/rag", json={"cases": [SHORT, long_case(5_000), SHORT]})
    assert (answer.status_code, answer.json()["where"]) == (413, "body.cases.1")
    assert narrow.get("/metrics").text.count("krino_cases_total") == judged


def test_length_is_counted_in_bytes_not_in_letters(narrow: TestClient) -> None:
    assert narrow.post("/v1/judge/rag", json={"case": {**SHORT, "answer": "é" * 1_000}}).status_code == 413


def test_no_depth_hides_the_length_of_a_case(narrow: TestClient) -> None:
    deep = b'{"case": {"answer": "%b", "deep": %b%b}}' % (b"a" * 3_000, b"[" * 900, b"]" * 900)
    assert narrow.post("/v1/judge/rag", content=deep, headers=JSON).status_code == 413


def traces(count: int) -> dict[str, Any]:
    """One record with so many traces, as exporters of runs write them."""
    runs = [
        {"id": f"r{number}", "trace_id": f"t{number}", "run_type": "tool", "name": "search", "outputs": {"output": "x"}}
        for number in range(count)
    ]
    return {"runs": runs}


def test_cases_are_counted_when_records_were_taken_apart(narrow: TestClient) -> None:
    three, four = ({"cases": [traces(count)]} for count in (3, 4))
    answer = narrow.post("/v1/judge/efficiency", json=three)
    assert len(answer.json()["judgements"]) == 3, answer.text
    refused = narrow.post("/v1/judge/efficiency", json=four)
    assert (refused.status_code, refused.json()["where"]) == (413, "body.cases")
    plain = narrow.post("/v1/judge/rag", json={"cases": [SHORT] * 4})
    assert (plain.status_code, plain.json()["where"]) == (413, "body.cases")


@pytest.mark.parametrize(
    "body",
    [
        {},
        [],
        "case",
        {"case": 1},
        {"case": []},
        {"cases": []},
        {"cases": {}},
        {"cases": [1]},
        {"case": {}, "cases": [{}]},
        {"case": {}, "prompt": "say yes"},
        {"case": {}, "labeller": "gpt-4o"},
        {"case": {}, "labeller": "local,local"},
        {"case": {}, "options": {"unknown": 1}},
    ],
)
def test_a_body_that_is_not_what_is_taken_is_told_where(client: TestClient, body: Any) -> None:
    answer = client.post("/v1/judge/rag", json=body)
    assert answer.status_code == 422
    assert answer.json()["where"].startswith("body")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"\xff",
        b'{"case": {"question": NaN}}',
        b'{"case": {"question": "a", "question": "b"}}',
        b'{"case": {"question": "\\ud800"}}',
        b'{"case": ' + b"[" * 5_000,
        b'{"case": {"a": ' + b"[" * 900 + b"]" * 900 + b"}}",
        b'{"case": {"question": 1e999}}',
        '{"case": {"question": "a\u2028\u0000"}}'.encode(),
    ],
)
def test_no_text_that_is_almost_json_breaks_the_server(client: TestClient, body: bytes) -> None:
    answer = client.post("/v1/judge/rag", content=body, headers=JSON)
    assert answer.status_code in (200, 422), answer.text
    if answer.status_code == 200:
        assert answer.json()["judgements"][0]["status"] == "failed"


# --- what a request must not have --------------------------------------------------------------------


def test_no_option_opens_a_file_of_the_server(client: TestClient, tmp_path: Path) -> None:
    table = tmp_path / "aliases.json"
    table.write_text('{"the court": "Court of Cassation"}')
    krino.load_judge("citation", {"aliases": str(table)})  # whoever writes the command may
    answer = client.post("/v1/judge/citation", json={"case": {}, "options": {"aliases": str(table)}})
    assert answer.status_code == 422
    given = {"aliases": {"the court": "Court of Cassation"}}
    assert client.post("/v1/judge/citation", json={"case": {}, "options": given}).status_code == 200


@pytest.mark.parametrize("name", [TOY, "toy_judge:ToyJudge", "toy", "os:system", "..%2ftoy", "rag%00", "RAG"])
def test_no_judge_is_loaded_because_a_request_names_it(client: TestClient, name: str) -> None:
    answer = client.post(f"/v1/judge/{name}", json={"case": {"text": ""}})
    assert answer.status_code == 404


def test_a_judge_named_at_the_start_is_offered_by_its_name(tmp_path: Path) -> None:
    with serving(tmp_path, judges=(TOY,)) as client:
        (one,) = client.post("/v1/judge/toy", json={"case": {"text": ""}}).json()["judgements"]
        assert one["verdict"] == {"score": 0.0, "note": "empty"}
        assert "toy" in [judge["name"] for judge in client.get("/v1/judges").json()["judges"]]
        assert "/v1/judge/toy" in client.get("/openapi.json").json()["paths"]


def test_a_fault_in_a_judge_is_a_judgement_that_says_so(tmp_path: Path) -> None:
    with serving(tmp_path, judges=(TOY,)) as client:
        cases = [{"text": "explode"}, {"text": ""}]
        broken, fine = client.post("/v1/judge/toy", json={"cases": cases}).json()["judgements"]
        assert broken["status"] == "error"
        assert broken["verdict"] is None
        assert fine["status"] == "ok"


def test_a_model_can_be_asked_only_where_the_server_was_started_with_it(tmp_path: Path) -> None:
    with FakeServer({"label": "good", "quote": "fine"}) as model:
        asked = krino.llm("m", base_url=model.url, api_key="k", max_tokens=100_000, cache="off")
        with serving(tmp_path, judges=(TOY,), labellers={"m": asked}) as client:
            assert client.get("/v1/judges").json()["labellers"] == ["local", "m"]
            body = {"case": {"text": "fine"}, "labeller": "m"}
            (one,) = client.post("/v1/judge/toy", json=body).json()["judgements"]
            assert one["status"] == "ok"
            assert one["labeller"]["model"] == "m"
            refused = client.post("/v1/judge/toy", json={**body, "labeller": "n"})
            assert refused.status_code == 422


def test_a_spent_budget_is_told_and_costs_nothing_more(tmp_path: Path) -> None:
    with FakeServer() as model:
        asked = krino.llm("m", base_url=model.url, api_key="k", max_tokens=1, cache="off")
        with serving(tmp_path, judges=(TOY,), labellers={"m": asked}) as client:
            answer = client.post("/v1/judge/toy", json={"case": {"text": "fine"}, "labeller": "m"})
            assert answer.status_code == 503
            assert "token" in answer.json()["error"]
            assert not model.requests


# --- for whoever watches ------------------------------------------------------------------------------


def test_metrics_count_cases_and_requests_and_hold_no_text_of_a_client(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        client.post("/v1/judge/rag", json={"cases": [EXAMPLES["rag"][0], {}]})
        client.get("/v1/runs/%22evil%22%0a")
        client.request("EVIL", "/v1/runs")
        text = client.get("/metrics").text
        assert 'krino_cases_total{judge="rag",status="ok"} 1' in text
        assert 'krino_cases_total{judge="rag",status="failed"} 1' in text
        assert 'krino_requests_total{method="POST",route="/v1/judge/rag",status="200"} 1' in text
        assert 'krino_request_seconds_count{route="/v1/judge/rag"} 1' in text
        assert "krino_cases_under_way 0" in text
        assert "evil" not in text.lower()


def test_a_real_parser_reads_the_metrics_and_they_are_right_after_failures(tmp_path: Path) -> None:
    with serving(tmp_path, judges=(TOY,), max_case_bytes=10_000) as client:
        client.post("/v1/judge/toy", json={"cases": [{"text": "explode"}, {"text": ""}, {}]})
        asked = [
            client.post("/v1/judge/toy", json={"case": {"text": "a" * 20_000}}),
            client.post("/v1/judge/toy", json={"case": 1}),
            client.post("/v1/judge/nobody", json={"case": {}}),
            client.get("/nowhere"),
            client.get("/static/workbench.css"),
            client.get("/health", headers={"host": "evil"}),
        ]
        assert [answer.status_code for answer in asked] == [413, 422, 404, 404, 200, 421]
        until(lambda: "krino_cases_under_way 0" in client.get("/metrics").text)
        found = {family.name: family for family in text_string_to_metric_families(client.get("/metrics").text)}
    assert {name: family.type for name, family in found.items()} == {
        "krino_requests": "counter",
        "krino_request_seconds": "histogram",
        "krino_cases": "counter",
        "krino_cases_under_way": "gauge",
        "krino_decisions": "counter",
    }
    assert all(family.documentation for family in found.values())
    cases = {(one.labels["judge"], one.labels["status"]): one.value for one in found["krino_cases"].samples}
    assert cases == {("toy", "error"): 1, ("toy", "ok"): 1, ("toy", "failed"): 1}
    statuses = {(one.labels["route"], one.labels["status"]): one.value for one in found["krino_requests"].samples}
    assert statuses["/v1/judge/toy", "200"] == statuses["/v1/judge/toy", "413"] == statuses["/v1/judge/toy", "422"] == 1
    assert statuses["/static", "200"] == statuses["none", "404"] == 1
    counted = Counter[str]()
    for (route, _), value in statuses.items():
        counted[route] += int(value)
    seconds = found["krino_request_seconds"].samples
    for route, count in counted.items():
        own = [one for one in seconds if one.labels["route"] == route]
        classes = [one.value for one in own if one.name.endswith("_bucket")]
        assert classes == sorted(classes)
        assert classes[-1] == count
        assert [one.value for one in own if one.name.endswith("_count")] == [count]
