"""What docs/workbench.md shows works as shown: its requests are sent, in their order, to a live server."""

from __future__ import annotations

import re
import shlex
from importlib.resources import as_file, files
from itertools import groupby
from pathlib import Path

import httpx2
import orjson
import pytest

import krino
from live_workbench import live
from workbench_making import until

PAGE = (Path(__file__).parents[2] / "docs" / "workbench.md").read_text("utf-8")
BLOCKS = re.findall(r"(?:^    .+\n)+", PAGE, re.MULTILINE)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs") / "runs"
    with as_file(files("krino.examples") / "rag.jsonl") as examples:
        krino.run("rag", str(examples), into=folder / "my-run")
    return folder


def commands() -> list[list[str]]:
    """The words of every `curl` on the page."""
    words = [word for block in BLOCKS if "curl " in block for word in shlex.split(block, comments=True)]
    parts = groupby(words, lambda word: word == "curl")
    return [list(part) for is_name, part in parts if not is_name]


def sent(address: str, words: list[str]) -> httpx2.Response:
    """As curl sends it: with data it is a POST."""
    url = next(word for word in words if word.startswith("localhost:8321"))
    headers = dict([words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H"])
    data = words[words.index("-d") + 1] if "-d" in words else None
    to = url.replace("localhost:8321", address)
    return httpx2.request("POST" if data else "GET", to, content=data, headers=headers, timeout=60)


def test_every_request_of_the_page_is_answered_as_the_page_says(runs: Path) -> None:
    with live(runs) as address:
        until(lambda: not httpx2.get(f"{address}/runs/my-run/progress", timeout=60).json()["live"])
        answers = [(words, sent(address, words)) for words in commands()]
    assert all(answer.is_success for _, answer in answers), [answer.text for _, answer in answers]
    found = {next(word for word in words if ":8321" in word).split("/", 1)[1]: answer for words, answer in answers}
    assert len(found) == len(answers) >= 7
    assert found["v1/judge/rag"].json()["judgements"][0]["status"] == "ok"
    given = found["v1/labels"].json()
    assert (given["rater"], given["answer"]["faithfulness"], given["blind"]) == ("anna", 0.5, True)
    assert found["v1/labels?run=my-run&rater=anna"].json()["labels"] == [given]
    assert found["v1/labels/next?run=my-run&rater=anna"].json()["case"]
    assert found["v1/labels/agreement?run=my-run&depth=fields"].json()["agreement"]["counts"]["labelled"] == 1
    assert "half-supported,anna" in found["v1/labels/export?run=my-run&format=csv"].text
    assert found["v1/labels/undo"].json()["undone"] == given


def test_the_page_says_what_is_searched_and_what_is_not(runs: Path) -> None:
    case = orjson.loads((files("krino.examples") / "rag.jsonl").read_bytes().splitlines()[0])
    assert "spheres" in " ".join(case["context"])
    assert "spheres" not in case["question"] + case["answer"]
    with live(runs) as address:
        until(lambda: not httpx2.get(f"{address}/runs/my-run/progress", timeout=60).json()["live"])
        assert httpx2.get(f"{address}/v1/runs/my-run/cases?q=fair").json()["found"]
        assert not httpx2.get(f"{address}/v1/runs/my-run/cases?q=spheres").json()["found"]
    assert "Passages, traces and candidates are in no run and are not searched" in PAGE
