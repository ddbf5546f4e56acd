"""Every block of code in the documentation works as shown, page by page."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import command_line
from endpoints.labelling import labels_for
from fake_llm import FakeServer
from fake_llm.replies import ReceivedRequest, what_is_asked
from page_blocks import blocks_of, run_page

DOCS = Path(__file__).parents[1] / "docs"
TESTED_ELSEWHERE = {
    "adapters.md": "adapters/test_adapters_doc.py",
    "ci.md": "test_ci_docs.py",
    "files.md": "test_files_doc.py",
    "guard.md": "web/test_guard_docs.py",
    "judge_files.md": "test_judge_files_doc.py",
    "watch.md": "live/test_watch_doc.py",
    "workbench.md": "web/test_workbench_docs.py",
}
"""Pages that a test of their own runs, because they need a server or another framework."""
PAGES = ["../README.md", *sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))]
RUN_HERE = [page for page in PAGES if page not in TESTED_ELSEWHERE]
MOST_NOT_RUN = 9
"""How many blocks of all pages may be marked as not run. Lower it when one less is; a new one needs a good reason."""


def text_of(page: str) -> str:
    return (DOCS / page).read_text("utf-8")


def answer(request: ReceivedRequest) -> dict[str, Any]:
    """What a model might say: a letter that thanks is polite, and any other question of a judge has a valid answer."""
    asked = what_is_asked(request)
    known = labels_for(request, asked)
    if known is not None:
        return known
    if "'tone'" in str(asked.schema):
        return {"tone": "polite"}
    thanks, scolds = (request.user_text.find(words) for words in ("Thank you", "You again"))
    if "'first'" in str(asked.schema):
        return {"reason": "It thanks.", "quote": "Thank you", "label": "first" if thanks < scolds else "second"}
    return _one_letter(thanks >= 0)


def _one_letter(thanks: bool) -> dict[str, Any]:
    return {
        "reason": "It thanks." if thanks else "It scolds.",
        "quote": "Thank you" if thanks else "You again",
        "label": "polite" if thanks else "rude",
    }


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with FakeServer(reply=answer) as server:
        yield server.url


@pytest.fixture
def environment(tmp_path: Path, address: str) -> dict[str, str]:
    given = {**command_line.environment(tmp_path), "COLUMNS": "92", "OPENAI_BASE_URL": address, "OPENAI_API_KEY": "k"}
    return {**given, "ANTHROPIC_BASE_URL": address.removesuffix("/v1"), "ANTHROPIC_API_KEY": "k", "NO_COLOR": "1"}


@pytest.mark.parametrize("page", [page for page in RUN_HERE if blocks_of(text_of(page))])
def test_every_block_works_as_shown(page: str, tmp_path: Path, environment: dict[str, str]) -> None:
    run_page(text_of(page), tmp_path, environment)


@pytest.mark.parametrize(("page", "test"), TESTED_ELSEWHERE.items())
def test_pages_that_are_not_run_here_have_a_test_of_their_own(page: str, test: str) -> None:
    assert f'"{page}"' in (Path(__file__).parent / test).read_text("utf-8")


def test_few_blocks_are_not_run_and_each_says_why() -> None:
    marked = [(page, block.why_not) for page in PAGES for block in blocks_of(text_of(page)) if block.why_not]
    assert len(marked) <= MOST_NOT_RUN, marked


def test_every_python_example_is_typed(tmp_path: Path) -> None:
    examples = [(page, block) for page in RUN_HERE for block in blocks_of(text_of(page)) if block.language == "python"]
    assert len(examples) >= 8
    for page, block in examples:
        (tmp_path / f"{page.strip('./').replace('/', '_').removesuffix('.md')}_{block.line}.py").write_text(block.text)
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("```console\n$ krino --version\nKrino 99\n```\n", "not printed in this place"),
        ("```console\n$ krino gate nowhere --min pass=1%\n```\n", "nowhere"),
        ("```console\n$ krino --version\n# exit code 3\n```\n", "krino --version"),
        ("```python\nprint(1 + 1)  # 3\n```\n", "not printed in this place"),
        ("```python\nraise SystemExit(1)\n```\n", "line 1"),
        ("```ruby\nputs 1\n```\n", "how is ruby tested"),
        ("```sh\nfalse\n```\n", "line 1"),
    ],
)
def test_a_page_that_does_not_work_as_shown_is_noticed(
    page: str, problem: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    with pytest.raises(AssertionError, match=problem):
        run_page(page, tmp_path, environment)


def test_data_that_is_not_well_formed_is_noticed(tmp_path: Path, environment: dict[str, str]) -> None:
    for language, text in {"json": "{", "jsonl": '{"a": 1}\n{', "toml": "a = ", "yaml": "a: [1"}.items():
        with pytest.raises((ValueError, yaml.YAMLError)):
            run_page(f"```{language}\n{text}\n```\n", tmp_path, environment)
