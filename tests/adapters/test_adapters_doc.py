"""The examples of docs/adapters.md print what the page says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adapter_cases import OFFLINE, WITH_FRAMEWORKS

pytestmark = WITH_FRAMEWORKS

PAGE = (Path(__file__).parents[2] / "docs" / "adapters.md").read_text("utf-8")
EXAMPLES = {
    title: re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    for title, section in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE)
}
RUN = [(title, example) for title, examples in EXAMPLES.items() for example in examples]


def promised(example: str) -> list[str]:
    """The comments that show output: behind a `print`, or on the line below it."""
    shown = re.findall(r"^ *print\(.*\)(?:  # (.*)|\n# (.*))$", example, re.MULTILINE)
    return [behind or below for behind, below in shown]


def test_every_framework_has_an_example() -> None:
    named = re.findall(r"^\| ([\w -]+) \| [`n]", PAGE, re.MULTILINE)
    assert len(named) == 10
    assert {title for title, _ in RUN} == {*named, "A framework that is not here"} - {"promptfoo"}


@pytest.mark.parametrize(("title", "example"), RUN, ids=[title for title, _ in RUN])
def test_an_example_prints_what_the_page_says(title: str, example: str, tmp_path: Path) -> None:
    assert promised(example)
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", example],
        cwd=tmp_path,
        env={**environment, **OFFLINE},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.splitlines()
    assert [line for line in promised(example) if line in printed] == promised(example), done.stdout
