"""docs/guard.md works as shown: its rules, its request and its two applications, against a live server."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from adapter_cases import WITH_FRAMEWORKS
from krino.results.gates.single_case import parse_case_rules
from live_workbench import live

PAGE = (Path(__file__).parents[2] / "docs" / "guard.md").read_text("utf-8")
DECLINED = "I cannot say that for certain."


@pytest.fixture(name="address", scope="module")
def _address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A workbench with the rules of the page."""
    (command,) = [line for line in PAGE.splitlines() if "krino serve" in line]
    words = shlex.split(command)
    rules = [words[at + 1] for at, word in enumerate(words) if word == "--guard"]
    assert len(rules) == 2
    with live(tmp_path_factory.mktemp("runs"), guards=parse_case_rules(rules, "--guard")) as address:
        yield address


def code(name: str, address: str, **changes: str) -> dict[str, Any]:
    """What a block of the page defines, with the address of the live server."""
    (source,) = [block for block in re.findall(r"```python\n(.*?)```", PAGE, re.S) if f"from {name}" in block]
    for old, new in {"http://localhost:8321": address, **changes}.items():
        assert old in source
        source = source.replace(old, new)
    namespace: dict[str, Any] = {"__name__": "page"}
    exec(compile(source, name, "exec", dont_inherit=True), namespace)
    return namespace


def test_the_request_is_answered_as_shown(address: str) -> None:
    body = re.search(r"-d '(.*?)'", PAGE, re.S)
    shown = re.search(r"```json\n(.*?)```", PAGE, re.S)
    assert body is not None
    assert shown is not None
    headers = {"Content-Type": "application/json"}
    answer = httpx2.post(f"{address}/v1/guard/rag", content=body[1], headers=headers, timeout=60).json()
    (one,) = answer["cases"]
    assert (answer["decision"], one["rule"], len(one["warnings"])) == ("block", "min faithfulness=0.8", 1)
    begin, _, _ = one["reason"].partition(": ")
    assert begin in shown[1]


@pytest.mark.parametrize(("said", "expected"), [("99", DECLINED), ("102", "It is 102 metres tall.")])
def test_the_application_shows_only_what_passes(address: str, said: str, expected: str) -> None:
    page = code("fastapi", address, **{"It is 99 metres tall.": f"It is {said} metres tall."})
    found = TestClient(page["app"]).get("/ask", params={"question": "How tall is it?"}).json()
    assert found == {"answer": expected}


@pytest.mark.skipif(*WITH_FRAMEWORKS[0].args, **WITH_FRAMEWORKS[0].kwargs)
@pytest.mark.parametrize(("said", "expected"), [("99", DECLINED), ("102", "It is 102 metres tall.")])
def test_the_graph_shows_only_what_passes(address: str, said: str, expected: str) -> None:
    page = code("langgraph.graph", address, **{"It is 99 metres tall.": f"It is {said} metres tall."})
    assert page["app"].invoke({"question": "How tall is it?"})["answer"] == expected


def test_an_application_whose_guard_is_gone_shows_nothing(address: str) -> None:
    page = code("fastapi", f"{address}/nowhere")
    found = TestClient(page["app"]).get("/ask", params={"question": "How tall is it?"}).json()
    assert found == {"answer": DECLINED}
