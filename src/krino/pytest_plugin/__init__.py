"""The pytest plugin: fixtures that judge and assert. It costs nothing until one of them is used.

pytest loads this module in every run of everyone who has Krino installed, so it imports nothing but pytest, which is
there already: the rest comes with the first test that asks for a fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from krino.contract import Labeller
    from krino.pytest_plugin.bench import AssertVerdict, Bench, JudgeCase, Tally

_TALLY: pytest.StashKey[Tally] = pytest.StashKey()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of the plugin to pytest."""
    group = parser.getgroup("krino", "judging with Krino")
    group.addoption(
        "--krino-labeller", metavar="NAME", help="`local`, a model, or a jury: a,b,c (ini key krino_labeller)."
    )
    group.addoption("--krino-base-url", metavar="URL", help="Address of the model's endpoint.")
    group.addoption(
        "--krino-option",
        metavar="JUDGE.NAME=VALUE",
        action="append",
        default=[],
        help="An option of a judge, as rag.goal=legal; over the ini key krino_options.",
    )
    parser.addini("krino_labeller", "Who labels: `local` (no key), a model, or a jury: a,b,c.", default="local")
    parser.addini("krino_base_url", "Address of the model's endpoint.", default="")
    parser.addini("krino_options", "Options of judges, one a line, as rag.goal=legal.", type="linelist")
    parser.addini("krino_judges", "Judges in files whose examples are tests: judges/*.md, one a line.", type="linelist")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collects a judge's file that the ini key `krino_judges` names, with one test for each of its examples; None for
    any other file."""
    root = parent.config.rootpath
    patterns: list[str] = parent.config.getini("krino_judges") if file_path.suffix == ".md" else []
    if not patterns or not file_path.is_relative_to(root):
        return None
    from krino.pytest_plugin.judge_files import JudgeFile

    named = any(file_path.relative_to(root).match(pattern) for pattern in patterns)
    return JudgeFile.from_parent(parent, path=file_path) if named else None


@pytest.fixture(scope="session")
def krino_labeller(request: pytest.FixtureRequest) -> Iterator[str | Labeller]:
    """Who labels in this session. Define a fixture of this name to use a labeller of your own making."""
    from krino.pytest_plugin.bench import closed, labeller_of

    made = labeller_of(request.config)
    yield made
    closed(made)


@pytest.fixture(scope="session")
def _krino_bench(request: pytest.FixtureRequest, krino_labeller: str | Labeller) -> Bench:
    """Returns labeller and options that all tests of the session share."""
    from krino.pytest_plugin.bench import Bench, Tally, options_of

    tally = request.config.stash.setdefault(_TALLY, Tally())
    return Bench(krino_labeller, options_of(request.config), tally)


@pytest.fixture
def krino_judge(_krino_bench: Bench) -> JudgeCase:
    """`krino_judge("rag", case)` gives a judgement, with the session's labeller, options and reply cache."""
    from krino.pytest_plugin.bench import JudgeCase

    return JudgeCase(_krino_bench)


@pytest.fixture
def assert_verdict(request: pytest.FixtureRequest, _krino_bench: Bench) -> AssertVerdict:
    """`assert_verdict("rag", case, min={"faithfulness": 0.8})` fails unless the verdict is as expected."""
    from krino.pytest_plugin.bench import AssertVerdict

    return AssertVerdict(_krino_bench, request.node.nodeid, request.node.user_properties)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hands the figures of a worker of pytest-xdist to the process that prints them."""
    tally = session.config.stash.get(_TALLY, None)
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if tally is not None and output is not None:
        output["krino"] = tally.packed()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds the figures of a worker; pytest-xdist calls it in the process that prints them when the worker is done."""
    packed = getattr(node, "workeroutput", {}).get("krino")
    if packed:
        from krino.pytest_plugin.bench import Tally

        node.config.stash.setdefault(_TALLY, Tally()).add_packed(packed)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Prints how many cases were judged and which were unexpected."""
    tally = config.stash.get(_TALLY, None)
    if tally is not None and tally.judged:
        terminalreporter.section("krino")
        for line in tally.lines():
            terminalreporter.line(line)
