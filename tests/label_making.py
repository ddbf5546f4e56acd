"""Runs to label, made with real judges and a labeller that says what the test wants; and a browser's way to label."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx2
from starlette.testclient import TestClient

import krino
from krino.contract import Labelled, Labeller, Task
from toy_judge import ToyJudge
from workbench_making import csrf_of

PAGE = {"accept": "text/html"}
SECRET = "Never-shown-before-judging"
"""Stands in everything that a verdict is made of."""
Answers = Callable[[Any], Mapping[str, Any]]


class Says(Labeller):
    """Answers about a case what a function says."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers

    def describe(self) -> dict[str, Any]:
        return {"kind": "made up"}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        return Labelled(task.accept(self._answers(task.case)), {"kind": "made up"})


def rag_cases(count: int) -> list[dict[str, Any]]:
    return [
        {
            "id": f"case-{number}",
            "question": "When was the tower built?",
            "context": [f"The tower number {number} was built in 1958 by the engineer Waterkeyn."],
            "answer": "It was built in 1958.",
        }
        for number in range(count)
    ]


def rag_labels(label: str = "supported", *, why: str = "as the passage says", **changes: Any) -> dict[str, Any]:
    """What a labeller says of such a case."""
    quote = None if label == "unsupported" else "was built in 1958"
    claim = {
        "text": "It was built in 1958.",
        "sentence": 1,
        "passage": None if quote is None else 1,
        "quote": quote,
        "why": why,
        "label": label,
        "critical": False,
    }
    labels = {
        "unreadable": None,
        "claims": [claim],
        "empty_sentences": [],
        "parts": [{"part": "when", "sentence": 1, "answered": True}],
        "direct": "full",
        "passages": [{"passage": 1, "useful_sentences": [1]}],
        "needs": [{"need": "the year", "passage": 1, "held": True}],
        "refusal": None,
        "similarity_why": None,
        "similarity": None,
        "uncertain": None,
    }
    return {**labels, **changes}


def make_rag_run(folder: Path, count: int = 3, label: str = "supported") -> Path:
    """Every second case is said to be without support."""
    said = {f"The tower number {n} ": ("unsupported" if n % 2 else label) for n in range(count)}

    def answers(case: Any) -> Mapping[str, Any]:
        text = case.context[0].text
        return rag_labels(next(one for start, one in said.items() if text.startswith(start)), why=SECRET)

    krino.run("rag", rag_cases(count), labeller=Says(answers), into=folder)
    return folder


def make_toy_run(folder: Path, count: int = 8, bad: Sequence[int] = ()) -> Path:
    """A judge of somebody's own, whose code a workbench does not load."""
    cases = [{"id": f"case-{number}", "text": f"text number {number}"} for number in range(count)]

    def answers(case: Any) -> Mapping[str, Any]:
        return {"label": "bad" if int(case.text.split()[-1]) in bad else "good", "quote": "text"}

    krino.run(ToyJudge, cases, labeller=Says(answers), into=folder)
    return folder


class Person:
    """Somebody with a browser, in a run."""

    def __init__(self, client: TestClient, run: str, name: str) -> None:
        self.client, self.run, self.name = client, run, name
        self.client.cookies.clear()
        page = self.get("/label")
        self.post("/rater", page, name=name)

    def get(self, path: str) -> str:
        sent = self.client.get(f"/runs/{self.run}{path}", headers=PAGE, follow_redirects=True)
        assert sent.status_code == 200, sent.text
        return sent.text

    def post(self, path: str, page: str, **data: Any) -> str:
        """Gives where it leads."""
        return self.sent(path, page, 303, data).headers["location"]

    def sent(self, path: str, page: str, status: int, data: dict[str, Any]) -> httpx2.Response:
        """A form of this page, and the answer to it."""
        sent = self.client.post(f"/runs/{self.run}{path}", data={"csrf": csrf_of(page), **data}, headers=PAGE)
        assert sent.status_code == status, sent.text
        return sent

    def next_case(self, depth: str = "fields") -> str:
        """The content of the case that the queue brings; empty where there is none."""
        found = re.search(r"/label/([0-9a-f]{32})\?depth", self.get(f"/label?depth={depth}"))
        return found[1] if found else ""

    def say(self, case: str, depth: str = "fields", **answer: Any) -> str:
        """Gives where it leads."""
        page = self.get(f"/label/{case}?depth={depth}")
        return self.post(f"/label/{case}?depth={depth}", page, key=key_of(page), **answer)

    def refused(self, case: str, depth: str = "fields", **answer: Any) -> str:
        """Gives what the page says."""
        page = self.get(f"/label/{case}?depth={depth}")
        return self.sent(f"/label/{case}?depth={depth}", page, 422, {"key": key_of(page), **answer}).text


def key_of(page: str) -> str:
    found = re.search(r'name="key" value="([0-9a-f]+)"', page)
    assert found
    return found[1]


def filled(labels: Mapping[str, Any], path: str = "l") -> dict[str, Any]:
    """A form with these labels, as a browser would send it."""
    sent: dict[str, Any] = {}
    for name, value in labels.items():
        here = f"{path}.{name}"
        if isinstance(value, list) and value and isinstance(value[0], dict):
            sent[f"{here}#"] = str(len(value))
            for place, item in enumerate(value):
                sent |= filled(item, f"{here}.{place}")
        elif isinstance(value, dict):
            sent |= {f"{here}?": "1", **filled(value, here)}
        elif isinstance(value, list):
            sent[here] = [str(item) for item in value]
        elif isinstance(value, bool | int) or name in ("label", "direct", "category", "similarity", "strength"):
            sent[here] = "" if value is None else f'"{value}"' if isinstance(value, str) else str(value).lower()
        else:
            sent[here] = "" if value is None else value
    return sent
