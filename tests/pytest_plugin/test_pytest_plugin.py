"""The pytest plugin: nothing when unused; judging, caching and counting when used, in one process or in several."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

from fake_llm import FakeServer

pytest_plugins = ["pytester"]

HERE = Path(__file__).parents[1]
HEAVY = ("pydantic", "numpy", "aiohttp", "orjson", "rich", "onnxruntime", "krino.contract", "krino.api.judging")
USED = """
    from toy_judge import ToyJudge

    def test_good(assert_verdict):
        assert assert_verdict(ToyJudge, {"id": "g", "text": "good"}, min={"score": 1.0}).status == "ok"

    def test_bad(assert_verdict):
        assert_verdict(ToyJudge, {"id": "b", "text": "bad"}, min={"score": 1.0})

    def test_unjudged(assert_verdict):
        assert_verdict(ToyJudge, {"id": "u", "text": "unjudgeable"}, max={"score": 1.0})

    def test_judge_then_assert(krino_judge, assert_verdict):
        judgement = krino_judge(ToyJudge, {"text": "good"})
        assert_verdict(judgement, min={"score": 1.0})
"""


class Runner:
    """pytest in a process of its own with our plugin, named so that it does not matter whether it is installed."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester

    def __call__(self, *arguments: str) -> pytest.RunResult:
        return self.pytester.runpytest_subprocess("-p", "krino.pytest_plugin", *arguments)


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Runner:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTHONPATH", ":".join([str(HERE), *filter(None, sys.path)]))
    return Runner(pytester)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply={"label": "good", "quote": "text"}) as running:
        yield running


def test_the_entry_point_names_the_plugin() -> None:
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    module = import_module(project["entry-points"]["pytest11"]["krino"])
    assert {"krino_judge", "assert_verdict", "pytest_terminal_summary"} <= vars(module).keys()


def test_a_run_that_does_not_use_it_loads_nothing_and_says_nothing(pytester: pytest.Pytester, run: Runner) -> None:
    pytester.makepyfile(f"""
        import sys

        def test_nothing_is_loaded():
            assert "krino.pytest_plugin" in sys.modules
            assert [name for name in {HEAVY!r} if name in sys.modules] == []
    """)
    result = run()
    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*= krino =*")


def test_a_judgement_counts_also_where_the_expectation_is_refused_afterwards(
    pytester: pytest.Pytester, run: Runner
) -> None:
    pytester.makepyfile("""
        import krino
        from toy_judge import ToyJudge

        def test_refused_once_it_is_judged(assert_verdict):
            assert_verdict(ToyJudge, {"text": "good"}, roll_up="pass")

        def test_refused_for_a_judgement_at_hand(assert_verdict):
            assert_verdict(krino.judge(ToyJudge, {"text": "good"}), roll_up="pass")

        def test_refused_before_anything_is_spent(assert_verdict):
            assert_verdict(ToyJudge, {"text": "good"}, min={"no_such_field": 1.0})
    """)
    result = run()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        ["*judge `toy` gives no roll-up*", "2 cases judged: 2 ok, 0 failed, 0 error; 0 not as expected"]
    )


def test_verdicts_are_asserted_counted_and_summed_up(pytester: pytest.Pytester, run: Runner) -> None:
    pytester.makepyfile(test_used=USED)
    result = run()
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "E *score is 0, expected at least 1",
            "*= krino =*",
            "4 cases judged: 3 ok, 1 failed, 0 error; 2 not as expected",
            "no model calls",
            "test_used.py::test_bad: toy on case `b`: score is 0, expected at least 1",
            "test_used.py::test_unjudged: toy on case `u`: the case was not judged (failed): *",
        ]
    )


def test_junit_properties_of_a_test_say_who_judged(pytester: pytest.Pytester, run: Runner) -> None:
    pytester.makepyfile(test_used=USED)
    run("-k", "test_good or then_assert", "--junitxml", "out.xml")
    tests = ElementTree.parse(pytester.path / "out.xml").getroot().iter("testcase")
    noted = {}
    for test in tests:
        properties = test.iterfind("properties/property")
        noted[test.attrib["name"]] = {item.attrib["name"]: item.attrib["value"] for item in properties}
    assert noted["test_good"]["krino.judge"] == noted["test_judge_then_assert"]["krino.judge"] == "toy"
    assert len(noted["test_good"]["krino.judge_fingerprint"]) == 16
    assert "krino.judge_fingerprint" not in noted["test_judge_then_assert"], "a judgement alone does not know it"


def test_the_traceback_ends_at_the_test(pytester: pytest.Pytester, run: Runner) -> None:
    pytester.makepyfile(test_used=USED)
    result = run("-k", "test_bad")
    result.stdout.fnmatch_lines([">*assert_verdict(ToyJudge*"])
    result.stdout.no_fnmatch_line("*bench.py*")


def test_workers_of_xdist_are_summed_up_together(pytester: pytest.Pytester, run: Runner) -> None:
    pytest.importorskip("xdist")
    pytester.makepyfile(test_used=USED)
    result = run("-p", "xdist", "-n", "2")
    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(["4 cases judged: 3 ok, 1 failed, 0 error; 2 not as expected"])


MODEL = """
    from toy_judge import ToyJudge

    def test_model(assert_verdict):
        assert_verdict(ToyJudge, {"text": "some text"}, min={"score": 1.0})
"""


def test_a_models_replies_are_cached_from_session_to_session(
    pytester: pytest.Pytester, run: Runner, server: FakeServer
) -> None:
    pytester.makepyfile(MODEL)
    pytester.makeini(f"[pytest]\nkrino_labeller = some-model\nkrino_base_url = {server.url}\n")
    first = run()
    first.assert_outcomes(passed=1)
    first.stdout.fnmatch_lines(["1 model call, * tokens in, *"])
    calls = server.stats().calls
    again = run()
    again.assert_outcomes(passed=1)
    again.stdout.fnmatch_lines(["0 model calls, 1 from cache, *"])
    assert server.stats().calls == calls
    assert list((pytester.path / ".pytest_cache").rglob("replies.sqlite"))
    run("--cache-clear").stdout.fnmatch_lines(["1 model call, *"])


def test_the_flag_goes_over_the_ini_file(pytester: pytest.Pytester, run: Runner, server: FakeServer) -> None:
    pytester.makepyfile(MODEL)
    pytester.makeini(f"[pytest]\nkrino_labeller = some-model\nkrino_base_url = {server.url}\n")
    run("--krino-labeller", "other-model", "-p", "no:cacheprovider").assert_outcomes(passed=1)
    assert {request.body["model"] for request in server.requests} == {"other-model"}


def test_several_names_are_a_jury(pytester: pytest.Pytester, run: Runner, server: FakeServer) -> None:
    pytester.makepyfile(MODEL)
    result = run("--krino-labeller", "a,b,local", "--krino-base-url", server.url)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["2 model calls, *"])
    assert {request.body["model"] for request in server.requests} == {"a", "b"}


def test_a_labeller_of_ones_own_is_a_fixture(pytester: pytest.Pytester, run: Runner) -> None:
    pytester.makeconftest("""
        import krino, pytest

        @pytest.fixture(scope="session")
        def krino_labeller():
            return krino.ReplayLabeller(lambda task: {"label": "bad", "quote": "text"})
    """)
    pytester.makepyfile(MODEL.replace("min", "max").replace("1.0", "0.0"))
    run().assert_outcomes(passed=1)


def test_options_of_judges_come_from_the_ini_file_and_the_flag(pytester: pytest.Pytester, run: Runner) -> None:
    pytester.makeini("[pytest]\nkrino_options =\n    rag.goal = legal\n")
    pytester.makepyfile("""
        CASE = {"question": "How tall?", "context": ["It is 102 metres tall."], "answer": "102 metres tall."}

        def test_goal(krino_judge):
            print(krino_judge("rag", CASE).verdict["context_relevance_explanation"])
    """)
    run("-s").stdout.fnmatch_lines(["*(goal legal: *"])
    run("-s", "--krino-option", "rag.goal=medical").stdout.fnmatch_lines(["*(goal medical: *"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--krino-option", "goal=legal"], "write it as rag.goal=legal"),
        (["--krino-option", "rga.goal=legal"], "there are citation, "),
        (["--krino-base-url", "http://localhost:1"], "add --krino-labeller MODEL"),
    ],
)
def test_settings_that_mean_nothing_are_errors(
    pytester: pytest.Pytester, run: Runner, arguments: list[str], told: str
) -> None:
    pytester.makepyfile(MODEL)
    result = run(*arguments)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*UsageProblem: *{told}*"])


def test_a_test_with_an_event_loop_of_its_own_asserts_what_it_awaited(pytester: pytest.Pytester, run: Runner) -> None:
    pytester.makepyfile("""
        import krino
        from toy_judge import ToyJudge

        async def test_awaited(assert_verdict):
            assert_verdict(await krino.ajudge(ToyJudge, {"text": "good"}), min={"score": 1.0})
    """)
    result = run("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["1 case judged: 1 ok*"])


def test_the_examples_of_judges_in_files_are_tests(pytester: pytest.Pytester, run: Runner) -> None:
    example = "examples:\n- {case: {t: x}, labels: {label: a}, expect: {score: 1}}\n"
    example += "- {case: {t: x}, labels: {label: b}, expect: {score: 1}}\n- {case: {t: x}, expect: {score: 1}}\n"
    pytester.mkdir("judges")
    (pytester.path / "judges" / "mine.md").write_text(f"---\nlabels: {{a: 1, b: 0}}\n{example}---\n{{t}}\n")
    (pytester.path / "judges" / "bad.md").write_text("---\nlabels: [a]\n---\n{t}\n")
    (pytester.path / "README.md").write_text("No judge.")
    pytester.makeini("[pytest]\nkrino_judges = judges/*.md\n")
    done = run(".")
    done.assert_outcomes(passed=2, failed=2, skipped=1)
    done.stdout.fnmatch_lines(["*bad.md:2:9: `label` needs at least two values*", "*`score` is 0.0 by TABLE*"])
