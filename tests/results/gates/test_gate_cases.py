"""A broken gate says which cases broke it: ids, values and reasons, the worst first."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console

import krino
from krino.render.gate import gate_blocks, to_junit
from krino.render.markdown import to_markdown
from krino.render.terminal import show
from krino.results.gates.gate import Gate, check_run
from krino.results.gates.result import Check, GateResult
from krino.results.gates.rules import Rule, parse_flags
from krino.results.table import Table, read_table
from krino.runs.manifest import Counts, JudgeCard
from made_judgements import HOSTILE
from made_runs import Row, error_row, failed_row, make_run, row, scores


def rules(**given: str) -> list[Rule]:
    return [
        rule
        for kind in ("min", "max", "may_fall", "may_rise")
        for rule in parse_flags(kind, given.get(kind, "").split())
    ]


def broken(run: Path, /, worst: int = 10, base: Path | None = None, by: str | None = None, **given: str) -> list[Check]:
    slices = [(by,)] if by else []
    return list(check_run(run, Gate(rules(**given), base=base, point=True, worst=worst, by=slices)).broken)


def told(check: Check) -> list[tuple[str, Any]]:
    return [(case.id, case.value) for case in check.worst]


# --- one run ---------------------------------------------------------------------------------------


def test_a_low_mean_names_the_lowest_cases_and_none_that_keeps_the_limit(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(0.5, 0.1, 0.9, 0.1, 0.8, 0.7))
    (check,) = broken(run, min="score=0.8")
    assert told(check) == [("c1", 0.1), ("c3", 0.1), ("c0", 0.5), ("c5", 0.7)]
    assert (check.against, check.heading()) == (4, "4 cases below 0.8")
    (check,) = broken(run, min="score=0.8", worst=2)
    assert told(check) == [("c1", 0.1), ("c3", 0.1)]
    assert (check.against, check.heading()) == (4, "4 cases below 0.8, the worst 2")
    (check,) = broken(run, min="score=0.8", worst=0)
    assert (check.worst, check.against) == ((), 4)


def test_a_high_mean_names_the_highest_cases(tmp_path: Path) -> None:
    (check,) = broken(make_run(tmp_path / "r", scores(3, 9, 1, 8)), max="score=2")
    assert told(check) == [("c1", 9), ("c3", 8), ("c0", 3)]
    assert check.heading() == "3 cases above 2"


def test_a_value_at_the_limit_is_not_beyond_it_though_binary_fractions_are(tmp_path: Path) -> None:
    (check,) = broken(make_run(tmp_path / "r", scores(0.1 + 0.2, 0.9)), max="score=0.3")
    assert told(check) == [("c1", 0.9)]
    (check,) = broken(make_run(tmp_path / "s", scores(0.3, 0.1)), min=f"score={0.1 + 0.2}")
    assert told(check) == [("c1", 0.1)]


def test_a_rule_that_holds_names_nobody(tmp_path: Path) -> None:
    result = check_run(make_run(tmp_path / "r", scores(0.1, 0.9)), Gate(rules(min="score=0.4"), point=True))
    assert result.passed
    assert all((check.worst, check.against, check.against_words) == ((), 0, "") for check in result.checks)


def test_where_only_the_interval_is_too_wide_it_is_said_that_no_case_is_to_blame(tmp_path: Path) -> None:
    alone = "no single case breaks it: with more cases the interval would be narrower"
    (check,) = check_run(make_run(tmp_path / "r", scores(*[0.9] * 5)), Gate(rules(min="score=0.8"))).broken
    assert check.message.endswith(alone) and check.worst == ()
    (check,) = check_run(make_run(tmp_path / "s", scores(*[0.9] * 5, 0.7)), Gate(rules(min="score=0.8"))).broken
    assert alone not in check.message and told(check) == [("c5", 0.7)]
    (check,) = check_run(make_run(tmp_path / "t", scores(4, 5)), Gate(rules(min="score=2"))).broken
    assert alone not in check.message, "there is no interval at all"


def test_failed_cases_are_named_with_what_went_wrong(tmp_path: Path) -> None:
    (check,) = broken(make_run(tmp_path / "r", [*scores(0.9), failed_row("f"), error_row("e")]))
    assert [(case.id, case.status, case.reason) for case in check.worst] == [
        ("f", "failed", "no text"),
        ("e", "error", "no valid labels"),
    ]
    assert check.heading() == "2 cases without a verdict"


def test_where_nothing_was_judged_it_is_said_of_which_cases(tmp_path: Path) -> None:
    verdicts, *_ = broken(make_run(tmp_path / "r", [failed_row("f")]), max="failed=100%")
    assert (verdicts.rule, told(verdicts)) == ("has verdicts", [("f", None)])


def kinds(*labels: str | None) -> list[Row]:
    return [row(f"c{place}", kind=label) for place, label in enumerate(labels)]


def test_too_many_of_a_label_name_those_that_have_it(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", kinds("A", "B", "A", "C"))
    (check,) = broken(run, max="kind:A=10%")
    assert (told(check), check.heading()) == ([("c0", "A"), ("c2", "A")], "2 cases with kind:A")


def test_too_few_of_a_label_name_those_without_it_and_those_without_a_verdict_last(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [failed_row("f"), *kinds("A", "B", None, "C")])
    (check,) = broken(run, min="kind:A=90%", max="failed=50% kind:null=50%")
    assert told(check) == [("c1", "B"), ("c2", None), ("c3", "C"), ("f", None)]
    assert check.heading() == "4 cases without kind:A"


def test_too_few_that_pass_name_the_fails_before_the_reviews(tmp_path: Path) -> None:
    rows = [row(word + str(n), roll_up=word, score=0.5) for n in range(2) for word in ("pass", "review", "fail")]
    (check,) = broken(make_run(tmp_path / "r", [failed_row("f"), *rows]), min="pass=90%", max="failed=50%")
    assert told(check) == [
        ("fail0", "fail"),
        ("fail1", "fail"),
        ("review0", "review"),
        ("review1", "review"),
        ("f", None),
    ]
    assert check.heading() == "5 cases without pass"


def test_a_list_with_the_label_is_shown_as_the_list_it_is(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", [row("a", errors=["X", "Y"]), row("b", errors=["NONE"])])
    (check,) = broken(run, max="errors:X=10%")
    assert [(case.id, case.shown) for case in check.worst] == [("a", "X, Y")]


def test_nulls_are_named_where_they_are_limited_and_where_they_are_not_allowed(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(0.9, None, 0.1, None))
    (check,) = broken(run, min="score=0.4", max="score:null=10%")
    assert (check.rule, told(check)) == ("max score:null=10%", [("c1", None), ("c3", None)])
    assert check.heading() == "2 cases with null"
    (check,) = broken(run, min="score=0.6")
    assert told(check) == [("c2", 0.1), ("c1", None), ("c3", None)]
    assert (check.against, check.heading()) == (3, "1 case below 0.6, 2 cases with null")
    (check,) = broken(run, min="score=0.6", max="score:null=90%")
    assert told(check) == [("c2", 0.1)]


def test_nulls_have_half_of_the_room_at_most_unless_there_is_more(tmp_path: Path) -> None:
    run = make_run(tmp_path / "r", scores(*[0.1] * 9, *[None] * 9, 1.0))
    assert [value for _, value in told(broken(run, min="score=0.9")[0])] == [*[0.1] * 5, *[None] * 5]
    assert [value for _, value in told(broken(run, min="score=0.9", worst=14)[0])] == [*[0.1] * 7, *[None] * 7]
    assert [value for _, value in told(broken(run, min="score=0.9", worst=3)[0])] == [0.1, 0.1, None]
    few = make_run(tmp_path / "few", scores(0.1, 0.2, *[None] * 9))
    assert [value for _, value in told(broken(few, min="score=0.9")[0])] == [0.1, 0.2, *[None] * 8]
    alone = make_run(tmp_path / "alone", scores(*[0.1] * 12, None))
    assert [value for _, value in told(broken(alone, min="score=0.9")[0])] == [*[0.1] * 9, None]


def test_in_a_slice_only_its_own_cases_are_named(tmp_path: Path) -> None:
    rows = [row(f"{court}{n}", metadata={"court": court}, score=n / 40) for n in range(40) for court in ("a", "b")]
    checks = broken(make_run(tmp_path / "r", rows), min="score=0.6", by="court", worst=2)
    assert [(check.slice, told(check)) for check in checks] == [
        (None, [("a0", 0.0), ("b0", 0.0)]),
        ("court=a", [("a0", 0.0), ("a1", 0.025)]),
        ("court=b", [("b0", 0.0), ("b1", 0.025)]),
    ]


def test_the_reason_is_the_explanation_or_the_rule_in_words(tmp_path: Path) -> None:
    rows = [
        row("a", score=0.1, score_explanation="1 of 10 claims supported."),
        {**row("b", score=0.2), "evidence": {"score": ["claim 1: unsupported"]}},
    ]
    run = make_run(tmp_path / "r", rows, about=JudgeCard(rules={"R1": "The share of supported claims."}))
    (check,) = broken(run, min="score=0.9")
    assert [case.reason for case in check.worst] == [
        "1 of 10 claims supported.",
        "The share of supported claims. (claim 1: unsupported)",
    ]


def test_a_run_that_changes_under_the_gate_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the reason of another case could be told."""
    run = make_run(tmp_path / "r", scores(0.1, 0.9))
    journal = run / "judgements.jsonl"
    whole, other = journal.read_bytes(), make_run(tmp_path / "other", [row("x", score=0.1), row("c1", score=0.9)])
    for changed in ((other / "judgements.jsonl").read_bytes(), b"", whole[1:], b"[]\n" + whole):

        def read_and_change(*args: Any, changed: bytes = changed, **settings: Any) -> Table:
            table = read_table(*args, **settings)
            journal.write_bytes(changed)
            return table

        journal.write_bytes(whole)
        monkeypatch.setattr("krino.results.gates.gate.read_table", read_and_change)
        with pytest.raises(krino.UsageProblem, match="was restarted while it was read"):
            broken(run, min="score=0.8")


# --- two runs --------------------------------------------------------------------------------------


def both(tmp_path: Path, base: list[Row], new: list[Row]) -> tuple[Path, Path]:
    return make_run(tmp_path / "new", new), make_run(tmp_path / "base", base)


def moves(check: Check) -> list[tuple[str, Any, Any]]:
    return [(case.id, case.before, case.value) for case in check.worst]


def test_a_fall_names_the_cases_that_fell_most_with_both_values(tmp_path: Path) -> None:
    run, base = both(tmp_path, scores(0.5, 0.9, 0.4, 0.8), scores(0.4, 0.1, 0.9, 0.8)[::-1])
    (check,) = broken(run, base=base, may_fall="score=0.01")
    assert moves(check) == [("c1", 0.9, 0.1), ("c0", 0.5, 0.4)]
    assert check.heading() == "2 cases that fell"
    assert check.worst[0].shown == "0.900 → 0.100"
    (check,) = broken(base, base=run, may_rise="score=0.01")
    assert moves(check) == [("c1", 0.1, 0.9), ("c0", 0.4, 0.5)]
    assert check.heading() == "2 cases that rose"


def test_a_lost_label_names_those_that_lost_it_by_failing_too(tmp_path: Path) -> None:
    run, base = both(tmp_path, kinds("A", "A", "B", "A"), [*kinds("A", "B", "A"), failed_row("c3")])
    (check,) = broken(run, base=base, may_fall="kind:A=5%", max="failed=1")
    assert moves(check) == [("c1", "A", "B"), ("c3", "A", None)]
    assert (check.heading(), check.worst[1].shown) == ("2 cases that lost kind:A", "A → no verdict")


def test_a_label_that_is_new_names_those_that_got_it(tmp_path: Path) -> None:
    run, base = both(tmp_path, kinds("A", "B", "B", "C"), kinds("A", "A", "B", "A"))
    (check,) = broken(run, base=base, may_rise="kind:A=5%")
    assert (moves(check), check.heading()) == ([("c1", "B", "A"), ("c3", "C", "A")], "2 cases that got kind:A")


def test_a_null_where_there_was_a_value_is_named_once(tmp_path: Path) -> None:
    run, base = both(tmp_path, scores(0.5, 0.5, None), scores(0.4, None, 0.1))
    (check,) = broken(run, base=base, may_fall="score=0.2")
    assert moves(check) == [("c0", 0.5, 0.4), ("c1", 0.5, None)]
    run, base = both(tmp_path / "k", kinds("A", "A", None), kinds("A", None, "A"))
    (check,) = broken(run, base=base, may_fall="kind:A=5%")
    assert (moves(check), check.against) == ([("c1", "A", None)], 1)
    (check,) = broken(run, base=base, may_rise="kind:A=5%")
    assert moves(check) == [("c1", "A", None)], "what was null there did not get the label"
    (check,) = broken(run, base=base, may_fall="kind:A=5%", max="kind:null=50%")
    assert moves(check) == [("c1", "A", None)], "it lost the label all the same"


def test_only_the_cases_of_the_slice_that_fell(tmp_path: Path) -> None:
    def halves(*values: float) -> list[Row]:
        return [row(f"c{n}", metadata={"half": n % 2}, score=values[n % 2]) for n in range(80)]

    run, base = both(tmp_path, halves(0.5, 0.5), halves(0.1, 0.9))
    (check,) = broken(run, base=base, may_fall="score=0.1", by="half", worst=2)
    assert (check.slice, moves(check)) == ("half=0", [("c0", 0.5, 0.1), ("c2", 0.5, 0.1)])


def test_cases_that_failed_there_and_those_that_are_gone_are_named(tmp_path: Path) -> None:
    run, base = both(tmp_path, [*scores(0.5, 0.5), failed_row("c2")], scores(0.5))
    gone, failed = broken(run, base=base, may_fall="score=0.1")
    reason = f"in {base}, and not in this run"
    assert [(case.id, case.reason) for case in gone.worst] == [("c1", reason), ("c2", reason)]
    assert gone.heading() == "2 cases not in this run"
    assert (failed.rule, [(case.id, case.reason) for case in failed.worst]) == (
        "other run: max failed=0",
        [("c2", "no text")],
    )


def test_cases_of_other_content_without_an_id_are_named(tmp_path: Path) -> None:
    def placed(digit: str, *lines: int) -> list[Row]:
        source = {"file": "cases.jsonl"}
        return [
            {**row(f"cases.jsonl:{n}", score=0.5), "input_hash": digit * 32, "source": {**source, "line": n}}
            for n in lines
        ]

    run, base = both(tmp_path, [*placed("1", 1, 2), *placed("3", 3)], [*placed("3", 3), *placed("2", 1, 2)])
    (check,) = broken(run, base=base, may_fall="score=0.1")
    assert [case.id for case in check.worst] == ["cases.jsonl:1", "cases.jsonl:2"]
    assert check.worst[0].reason == f"different content in {base}, and no id of its own"
    assert check.heading() == "2 cases with different content"


def test_ids_and_names_of_judges_in_a_sentence_are_cut(tmp_path: Path) -> None:
    run, base = both(tmp_path, [*scores(0.5), row("x" * 100, score=0.5)], scores(0.5))
    gone, *_ = broken(run, base=base, may_fall="score=0.1")
    assert gone.message.endswith(f": {'x' * 59}…")
    assert gone.worst[0].id == "x" * 100, "but not where the case is named"
    other = make_run(tmp_path / "other", scores(0.5), plan={"judge": {"name": "j" * 100, "version": "1"}})
    (judge,) = broken(other, base=make_run(tmp_path / "toy", scores(0.5)), may_fall="score=0.1")
    assert judge.message.endswith(f"this run by {'j' * 59}…")


# --- where it is told ------------------------------------------------------------------------------


def result(tmp_path: Path, **given: str) -> GateResult:
    rows = [row("good", score=0.9, score_explanation="All hold."), row("bad", score=0.1, score_explanation=HOSTILE)]
    return check_run(make_run(tmp_path / "r", rows), Gate(rules(**given), point=True))


def printed(found: GateResult) -> str:
    out = io.StringIO()
    show(Console(file=out, width=200), gate_blocks(found))
    return out.getvalue()


def test_the_terminal_lists_them_under_their_rule(tmp_path: Path) -> None:
    text = printed(result(tmp_path, min="score=0.8"))
    assert "min score=0.8: 1 case below 0.8" in text
    (line,) = (line for line in text.splitlines() if line.startswith("bad "))
    assert "0.100" in line and "</script>" in line and "\x1b" not in text and "good" not in text


def test_markdown_lists_them_and_opens_nothing(tmp_path: Path) -> None:
    text = to_markdown(gate_blocks(result(tmp_path, min="score=0.8")))
    assert "**min score=0.8: 1 case below 0.8**" in text
    (line,) = (line for line in text.splitlines() if line.startswith("| bad |"))
    assert line.startswith("| bad | 0.100 | ") and "<script>" not in line.replace("\\<", "")


def test_junit_has_them_in_the_text_of_the_failure(tmp_path: Path) -> None:
    (suite,) = ElementTree.fromstring(to_junit(result(tmp_path, min="score=0.8")))
    (text,) = (case[0].text for case in suite if case[0].tag == "failure")
    assert text is not None
    first, heading, case = text.splitlines()
    assert first.startswith("min score=0.8: mean score 0.500 of 2 cases")
    assert heading == "1 case below 0.8:"
    assert case.startswith("  bad: 0.100: </script>")


def test_json_has_them(tmp_path: Path) -> None:
    (check,) = (item for item in result(tmp_path, min="score=0.8").model_dump()["checks"] if item["worst"])
    case = check["worst"][0]
    assert (case["id"], case["status"], case["value"], case["before"]) == ("bad", "ok", 0.1, None)


def test_a_page_of_many_broken_checks_has_an_end() -> None:
    case = {"id": "x", "status": "ok", "value": 0.1, "reason": "why not"}
    checks = tuple(
        Check(rule=f"rule {n}", outcome="broken", message="m", against=1, against_words="1 case", worst=(case,))
        for n in range(20)
    )
    found = GateResult(run="r", judge="j", labeller="l", started="s", counts=Counts(), notes=(), checks=checks)
    for text in (printed(found), to_markdown(gate_blocks(found))):
        assert text.count("why not") == 12
        assert "The cases of 8 more broken checks are not shown here" in text
    assert to_junit(found).count(b"why not") == 20
