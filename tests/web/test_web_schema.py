"""The document of the API says what is so: schemathesis sends what it allows and what it does not, to a live server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from krino.judges.registry import OURS
from made_runs import make_run, row
from workbench_making import running

EXAMPLES = 10
"""Of each operation and kind of data: seconds, not minutes. `st run URL/openapi.json` asks as many as one likes."""


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    runs = tmp_path_factory.mktemp("runs")
    rows = [row("case-1", faithfulness=0.5), row("case-2", faithfulness=1.0)]
    make_run(runs / "my-run", rows)  # the names that the document has for examples
    with running(runs, max_cases=8) as (host, port):
        yield f"http://{host}:{port}"


def document(url: str) -> httpx2.Response:
    """It is made when it is first asked for, which takes a busy machine seconds."""
    return httpx2.get(f"{url}/openapi.json", timeout=60)


CONFIG = "".join(
    f"""
[[operations]]
include-path = "{path}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "404", "422"]
checks.negative_data_rejection.expected-statuses = ["4xx"]
"""
    for path in (*(f"/v1/judge/{judge}" for judge in OURS), "/v1/labels")
)
"""What an option may be is more than its type (a goal that is known, a court), and what can be said of a case depends
on its judge: the others are refused with 422. More cases than are taken at a time are 413."""


def test_schemathesis_finds_nothing(url: str, tmp_path: Path) -> None:
    (tmp_path / "schemathesis.toml").write_text(CONFIG)
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", "schemathesis.toml", "run"]
    asked = [f"{url}/openapi.json", "--max-examples", str(EXAMPLES), "--seed", "17", "--no-color"]
    done = subprocess.run([*command, *asked], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout[-10_000:] + done.stderr[-2_000:]
    assert "Fuzzing" in done.stdout


def test_every_operation_has_an_example_or_needs_none_and_says_how_it_refuses(url: str) -> None:
    told = document(url).json()
    assert {"/v1/judge/rag", "/v1/runs", "/v1/runs/{run}/cases", "/health", "/metrics"} <= told["paths"].keys()
    for path, methods in told["paths"].items():
        for method, operation in methods.items():
            assert operation.get("summary"), (path, method)
            if path != "/metrics":  # which takes nothing
                refused = operation["responses"]["422"]["content"]["application/json"]["schema"]["$ref"]
                assert refused.endswith("/ErrorBody"), (path, method)
    assert told["components"]["schemas"]["RagCase"]["properties"]["case"]["examples"]


def test_the_document_names_no_other_host(url: str) -> None:
    text = document(url).text
    assert "http://" not in text
    assert "https://" not in text


def test_the_examples_of_the_document_are_judged(url: str, tmp_path: Path) -> None:
    schemas = document(url).json()["components"]["schemas"]
    for judge in OURS:
        case = schemas[f"{judge.title()}Case"]["properties"]["case"]["examples"][0]
        answer = httpx2.post(f"{url}/v1/judge/{judge}", json={"case": case}, timeout=60)
        assert answer.json()["judgements"][0]["status"] == "ok", judge
