"""`POST /v1/guard/JUDGE`: the decision that the rules given at the start make of each case."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import krino
from command_here import ran_main
from fake_llm.server import FakeServer
from krino.errors import UsageProblem
from krino.results.gates.single_case import parse_case_rules
from workbench_making import serving

RULES = ("rag min faithfulness=0.8", "rag max hallucination_risk=0.6", "citation min pass=100%")
GOOD = {"question": "How tall is it?", "context": ["It is 102 metres tall."], "answer": "It is 102 metres tall."}
BAD = {**GOOD, "answer": "It is 99 metres tall."}


@pytest.fixture(name="client", scope="module")
def _client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with serving(tmp_path_factory.mktemp("runs"), guards=parse_case_rules(RULES, "--guard"), max_cases=5) as client:
        yield client


def ask(client: TestClient, *cases: dict[str, Any]) -> dict[str, Any]:
    answer = client.post("/v1/guard/rag", json={"cases": list(cases)})
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_a_supported_answer_passes_and_a_contradicted_one_is_blocked_by_a_named_rule(client: TestClient) -> None:
    found = ask(client, {**GOOD, "id": "good"}, {**BAD, "id": "bad"})
    assert [(one["id"], one["decision"], one["rule"]) for one in found["cases"]] == [
        ("good", "pass", None),
        ("bad", "block", "min faithfulness=0.8"),
    ]
    assert found["decision"] == "block"
    assert "99" in found["cases"][1]["reason"]
    assert ask(client, GOOD)["decision"] == "pass"


def test_a_case_that_cannot_be_judged_is_blocked(client: TestClient) -> None:
    (one,) = ask(client, {"question": "Who?"})["cases"]
    assert (one["decision"], one["rule"]) == ("block", "not judged")
    assert "no answer" in one["reason"]


def test_a_record_without_a_case_in_it_lets_nothing_pass(tmp_path: Path) -> None:
    rules = parse_case_rules(["efficiency min score=0.1"], "--guard")
    with serving(tmp_path, guards=rules) as client:
        found = client.post("/v1/guard/efficiency", json={"case": {"traces": []}}).json()
    assert found["decision"] == "block"


def test_a_model_that_talks_nonsense_blocks(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.configure(reply="no idea")
        labeller = krino.llm("m", base_url=server.url, cache="off")
        rules = parse_case_rules(["rag min faithfulness=0.1"], "--guard")
        with serving(tmp_path, guards=rules, labellers={"m": labeller}) as client:
            (one,) = client.post("/v1/guard/rag", json={"case": GOOD, "labeller": "m"}).json()["cases"]
    assert (one["decision"], one["rule"]) == ("block", "not judged")


def test_only_judges_with_rules_have_a_guard(client: TestClient) -> None:
    assert client.post("/v1/guard/efficiency", json={"case": {}}).status_code == 404
    assert client.post("/v1/guard/rag", json={"cases": [GOOD] * 6}).status_code == 413
    assert client.post("/v1/guard/rag", json={"case": GOOD, "rules": []}).status_code == 422


def test_decisions_are_counted(client: TestClient) -> None:
    ask(client, BAD)
    assert 'krino_decisions_total{decision="block",judge="rag"}' in client.get("/metrics").text


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("ragg min faithfulness=0.8", "there is no judge `ragg` (did you mean"),
        ("rag min faithfullness=0.8", "did you mean"),
        ("rag min pass=100%", "no roll-up"),
        ("citation max match_correctness:WRONG=0%", "has no label `WRONG`"),
    ],
)
def test_a_rule_that_the_judge_cannot_break_or_keep_stops_the_server_at_the_start(
    tmp_path: Path, rule: str, message: str
) -> None:
    with pytest.raises(UsageProblem) as refused, serving(tmp_path, guards=parse_case_rules([rule], "--guard")):
        pass
    assert message in str(refused.value)


def test_the_command_refuses_a_rule_that_it_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done = ran_main(monkeypatch, capsys, "serve", str(tmp_path), "--guard", "rag faithfulness=0.8")
    assert done.code == 2
    assert "write JUDGE, min or max, and a rule" in " ".join(done.err.split())
