"""The report as one file: complete, closed to the network, safe against what cases say, and not too large."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import krino
from krino.blocks import Block, BulletList, DataTable, MarkedText, Score, Scores, Section, Segment, as_data
from krino.contract import Judgement, Overview
from krino.engine.views import CaseView, view_line
from krino.render import embed
from krino.render.embed import script_json
from krino.render.report import write_report
from krino.runs.manifest import JudgeCard
from krino.runs.views import ViewFile
from made_judgements import HOSTILE, error, failed, manifest, many, ok
from report_page import Page
from toy_judge import ToyCase, ToyJudge

ODD_FIELD: dict[str, Any] = {HOSTILE: 0.5}
RULES = {"R1": "The score is what it is.", "N1": "Something to look at."}


ABOUT = JudgeCard(rules=RULES)


def _page(folder: Path, *cases: Mapping[str, Any], judge: ToyJudge | None = None) -> Page:
    return Page(write_report(folder, manifest(about=ABOUT), iter(cases), judge).read_text("utf-8"))


def test_report_holds_summary_rows_and_details(tmp_path: Path) -> None:
    page = _page(tmp_path, ok(0, ("N1",), score=0.25, labelled=True), ok(1, score=0.75), failed(2), error(3, "silent"))
    assert "toy 1.0" in page.visible and "0.500" in page.visible and "silent" in page.visible
    assert page.data("rows") == [
        [0, "case-0", 0, "look here (N1)", 0.25],
        [1, "case-1", 0, "", 0.75],
        [2, "case-2", 1, "answer: missing", None],
        [3, "case-3", 2, "silent", None],
    ]
    details = dict(page.data("details"))
    assert details[0]["labels"]["claims"][0]["text"] == "water is wet"
    assert details[0]["evidence"] == {"score": ["seen in passage 1"]}
    assert details[3]["error"] == "silent"
    assert page.data("info")[0]["rules"] == RULES


def test_what_the_cases_are_about_stands_beside_the_rows(tmp_path: Path) -> None:
    first = {**ok(0, score=0.5), "inputs": {"question": "How  tall\nis it?", "answer": "99 m\ud800"}}
    second = {**failed(1), "inputs": {"question": "And how wide?"}}
    page = _page(tmp_path, first, second, ok(2, score=0.5))
    assert page.data("info")[0]["inputs"] == ["question", "answer"]
    assert page.data("texts") == [[0, "How tall is it?", "99 m?"], [1, "And how wide?", ""]]
    details = dict(page.data("details"))
    assert details[1]["inputs"] == {"question": "And how wide?"} and "inputs" not in details[2]


def test_in_a_large_run_the_first_words_stay_and_the_page_says_how_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_TEXTS", 1_000_000)  # as a hundred thousand cases have it
    words = {"question": "Which of the 1,000 towers? " * 40, "answer": "The tall one. " * 100}
    page = _page(tmp_path, *({**case, "inputs": words} for case in many(8_000)))
    told = re.search(r"first words of each case, (\d+) letters at most", page.visible)
    texts = page.data("texts")
    assert told is not None and len(texts) == len(page.data("rows")) == 8_000, "no case loses its row to the texts"
    assert {len(line) for line in texts} == {2}, "one text that is long enough tells more than two short ones"
    assert 60 < max(len(line[1].encode()) for line in texts) <= int(told.group(1)) <= 110
    assert sum(len(json.dumps(line)) for line in texts) < 1_000_000


def test_texts_that_fit_are_whole_and_nothing_is_said(tmp_path: Path) -> None:
    words = {"question": "Which of the 1,000 towers? " * 40, "answer": "The tall one."}
    page = _page(tmp_path, *({**ok(n, score=0.5), "inputs": words} for n in range(50)))
    assert page.data("texts")[0] == [0, words["question"].strip(), words["answer"]]
    assert "first words" not in page.visible


def test_texts_that_grow_when_escaped_cannot_make_the_page_too_large(tmp_path: Path) -> None:
    page = _page(tmp_path, *({**ok(n, score=0.5), "inputs": {"text": "<" * 3_000}} for n in range(4_000)))
    assert (tmp_path / "report.html").stat().st_size < 20_000_000
    kept = len(page.data("texts"))
    assert 0 < kept < 4_000 and f"first words of {kept:,} cases" in page.visible


def test_notes_are_words_with_the_rules_that_found_them(tmp_path: Path) -> None:
    finding = {"rule": "N1", "text": "names Ostend, which stands nowhere.", "where": None}
    others = [{"rule": f"N{n}", "text": f"text {n}", "where": None} for n in range(2, 6)]
    page = _page(tmp_path, {**ok(0, score=1.0), "findings": [finding, *others]}, ok(1, score=0.0))
    told = "names Ostend, which stands nowhere (N1); text 2 (N2); text 3 (N3); and 2 more"
    assert [row[3] for row in page.data("rows")] == [told, ""]


def test_nothing_is_cut_in_the_view_of_a_case_without_saying_so(tmp_path: Path) -> None:
    page = _page(tmp_path, {**ok(0, score=1.0), "evidence": {"score": ["x" * 50_000]}})
    (shown,) = dict(page.data("details"))[0]["evidence"]["score"]
    assert shown.endswith("… (cut: 10,000 of 50,000 characters; krino show RUN ID --json has all)")


def test_a_score_brings_its_declared_scale_the_worst_end_first(tmp_path: Path) -> None:
    ends = {"type": "number", "minimum": 0, "maximum": 60, "better": "lower"}
    schema = {"properties": {"score": {"type": "number", "minimum": 0, "maximum": 1}, "seconds": ends}}
    run = manifest(about=JudgeCard(verdict_schema=schema))
    text = write_report(tmp_path, run, [ok(0, score=0.5, seconds=3.0, free=7.0)]).read_text("utf-8")
    columns = {column["name"]: column.get("scale") for column in Page(text).data("info")[0]["columns"]}
    assert columns == {"score": [0.0, 1.0], "seconds": [60.0, 0.0], "free": None}


def test_categories_that_vary_are_columns_too(tmp_path: Path) -> None:
    page = _page(tmp_path, *(ok(n, kind="AB"[n % 2], fixed="same") for n in range(4)))
    assert page.data("info")[0]["columns"] == [{"name": "kind", "number": False}]
    assert [row[-1] for row in page.data("rows")] == ["A", "B", "A", "B"]


def test_all_codes_of_a_list_stand_in_the_cell(tmp_path: Path) -> None:
    codes = [f"A_RATHER_LONG_CODE_OF_AN_ERROR_{n}" for n in range(8)]
    cases = [ok(n, errors=codes if n % 2 else ["NONE"]) for n in range(40)]
    page = _page(tmp_path, *cases)
    assert page.data("rows")[1][-1] == ", ".join(codes), "so that each of them is found"
    assert page.data("rows")[0][-1] == "NONE"


def test_what_is_known_beside_the_verdict_is_a_column(tmp_path: Path) -> None:
    known: list[dict[str, Any]] = [{"court": "cass", "confidence": 97.0}, {"court": HOSTILE, "confidence": 40.0}]
    cases = [{**ok(n, score=0.5), "metadata": known[n]} for n in range(2)]
    page = _page(tmp_path, *cases, failed(2))
    score, court, confidence = page.data("info")[0]["columns"]
    assert (court["name"], court["number"], court["extra"]) == ("court", False, True)
    assert (confidence["name"], confidence["number"], confidence["extra"]) == ("confidence", True, True)
    assert "extra" not in score
    assert [row[5:] for row in page.data("rows")] == [["cass", 97.0], [None, 40.0], [None, None]]


def test_columns_beside_the_verdict_never_cost_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embed, "_ROWS_OK", 60_000)
    cases = [{**ok(n, score=0.5), "metadata": {"a": n, "long": "x" * 60, "last": n}} for n in range(800)]
    page = _page(tmp_path, *cases)
    assert len(page.data("rows")) == 800
    assert [column["name"] for column in page.data("info")[0]["columns"]] == ["score", "a"]


def test_a_run_too_large_for_the_page_is_sampled_evenly_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "_ROWS_OK", 20_000)
    monkeypatch.setattr(embed, "FIRST_DETAILS", 10)
    cases = [{**ok(n, score=0.5), "inputs": {"text": f"words {n}"}} for n in range(2_000)]
    page = _page(tmp_path, *cases, failed(2_000))
    shown = [row[0] for row in page.data("rows")]
    assert shown[:10] == list(range(10)), "cases whose details the page has are in the table"
    assert shown[-1] == 2_000, "and what failed"
    quarters = [sum(500 * part <= place < 500 * (part + 1) for place in shown[10:-1]) for part in range(4)]
    assert min(quarters) > 50
    assert max(quarters) - min(quarters) <= 5
    assert {line[0] for line in page.data("texts")} == set(shown) - {2_000}
    assert f"The table is a sample: {len(shown):,} of 2,001 cases" in page.visible


def test_the_whole_closed_list_is_shown_with_what_was_never_given(tmp_path: Path) -> None:
    schema = {"properties": {"errors": {"type": "array", "items": {"enum": ["NONE", "WRONG_COURT", "NEVER_SEEN"]}}}}
    run = manifest(about=JudgeCard(verdict_schema=schema))
    cases = [ok(n, errors=["WRONG_COURT"] if n % 4 == 0 else ["NONE"]) for n in range(8)]
    page = Page(write_report(tmp_path, run, cases).read_text("utf-8"))
    shown = " ".join(page.visible.split())
    assert "NONE675 %" in shown and "WRONG_COURT225 %" in shown and "NEVER_SEEN00 %" in shown


def test_the_judges_one_word_is_the_first_column(tmp_path: Path) -> None:
    cases = [{**ok(n, score=0.5), "roll_up": ("pass", "fail")[n % 2]} for n in range(4)]
    page = _page(tmp_path, *cases, failed(4))
    assert [column["name"] for column in page.data("info")[0]["columns"]] == ["roll_up", "score"]
    assert [row[4] for row in page.data("rows")] == ["pass", "fail", "pass", "fail", None]
    assert dict(page.data("details"))[0]["roll_up"] == "pass"


def test_an_empty_run_makes_a_report(tmp_path: Path) -> None:
    assert _page(tmp_path).data("rows") == []


@pytest.mark.parametrize(
    "case",
    [
        ok(0, score=HOSTILE),
        ok(0, **ODD_FIELD),
        ok(0, code="<b>&\"'"),
        {**ok(0, score=1.0), "id": HOSTILE, "evidence": {"score": [HOSTILE]}, "labels": {HOSTILE: HOSTILE}},
        failed(0, HOSTILE),
        error(0, HOSTILE, raw_reply=HOSTILE),
    ],
    ids=["value", "field", "code", "everywhere", "reason", "reply"],
)
def test_case_text_never_becomes_markup(tmp_path: Path, case: dict[str, Any]) -> None:
    page = _page(tmp_path, case)
    plain = _page(tmp_path, ok(0, score=0.5))
    assert [tag for tag, _ in page.tags].count("script") == [tag for tag, _ in plain.tags].count("script")
    assert not any(tag in {"img", "b", "iframe", "object", "link"} for tag, _ in page.tags)
    assert not any(name.startswith("on") or name == "style" for _, attributes in page.tags for name in attributes)
    (row,) = page.data("rows")
    assert row[1] == case["id"][:200]


def test_hostile_settings_are_escaped_too(tmp_path: Path) -> None:
    run = manifest(stop_reason=HOSTILE, state="stopped", about=JudgeCard(rules={"R1": HOSTILE}))
    run.plan.judge["name"] = HOSTILE
    page = Page(write_report(tmp_path, run, [ok(0, score=1.0)]).read_text("utf-8"))
    assert not any(tag == "img" for tag, _ in page.tags)


def test_embedded_json_has_no_character_that_html_or_javascript_minds() -> None:
    data = script_json({"a": "<!--<script>&\u2028\u2029\ud800"}).decode()
    assert not re.search("[<>&\u2028\u2029]", data)
    assert json.loads(data) == {"a": "<!--<script>&\u2028\u2029\ud800"}


def test_nothing_may_be_loaded_and_only_our_own_script_may_run(tmp_path: Path) -> None:
    page = _page(tmp_path, ok(0, score=0.5))
    policy = page.policy()
    assert "default-src 'none'" in policy and "unsafe" not in policy
    for attributes, text in page.blocks:
        if "type" not in attributes:  # the style sheet and the script; typed ones are data
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy
    assert not any(name in {"src", "srcset"} for _, attributes in page.tags for name in attributes)
    links = [attributes["href"] or "" for tag, attributes in page.tags if attributes.get("href")]
    assert all(link.startswith("#") for link in links)


def test_the_script_writes_text_only() -> None:
    script = (Path(embed.__file__).parent / "page" / "report.js").read_text("utf-8")
    forbidden = (
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|fetch\(|XMLHttp|DOMParser"
    )
    assert not re.search(forbidden, script)


def test_a_reason_links_to_its_example(tmp_path: Path) -> None:
    page = _page(tmp_path, {**failed(0), "id": "a/b & c"})
    assert "#case=a%2Fb%20%26%20c" in [attributes.get("href") for _, attributes in page.tags]


def test_a_report_is_replaced_whole_and_leaves_no_scratch_files(tmp_path: Path) -> None:
    _page(tmp_path, ok(0, score=0.5))

    def broken() -> Iterator[dict[str, Any]]:
        yield ok(0, score=0.9)
        raise OSError("the journal went away")

    before = (tmp_path / "report.html").read_bytes()
    with pytest.raises(OSError, match="went away"):
        write_report(tmp_path, manifest(), broken())
    assert (tmp_path / "report.html").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_large_run_keeps_all_rows_but_not_all_details_and_says_so(tmp_path: Path) -> None:
    path = write_report(tmp_path, manifest(), many(20_000))
    assert path.stat().st_size < 20_000_000
    page = Page(path.read_text("utf-8"))
    assert len(page.data("rows")) == 20_000
    kept = [index for index, _ in page.data("details")]
    assert len(kept) == 2_000 + 1_000  # the first ok ones and every failed one
    assert all(index in kept for index in range(19, 20_000, 20))
    assert "3,000 of 20,000 cases" in page.visible


def test_a_run_of_5000_keeps_every_detail(tmp_path: Path) -> None:
    page = Page(write_report(tmp_path, manifest(), many(5_000, text="x")).read_text("utf-8"))
    assert len(page.data("details")) == 5_000
    assert "Full details are kept" not in page.visible


def test_a_run_of_endless_texts_stays_under_20_mb(tmp_path: Path) -> None:
    def endless() -> Iterator[dict[str, Any]]:
        for n in range(0, 12_000, 2):
            yield {**ok(n, score=0.5), "id": "<" * 150 + str(n), "labels": {"text": "<" * 50_000}}
            yield {**failed(n + 1, "&" * 9_000), "id": "<" * 150 + str(n)}

    path = write_report(tmp_path, manifest(), endless())
    assert path.stat().st_size < 20_000_000
    assert "The table is a sample" in Page(path.read_text("utf-8")).visible


def test_memory_does_not_grow_with_the_number_of_cases(tmp_path: Path) -> None:
    def peak(count: int) -> int:
        tracemalloc.start()
        write_report(tmp_path, manifest(), many(count))
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    small, large = peak(2_000), peak(20_000)
    assert large < small + 500_000


class Viewed(ToyJudge):
    def view(self, case: ToyCase, facts: int, judgement: Judgement) -> Sequence[Block]:
        segments = [Segment("Water is "), Segment("dry", mark="wrong", title="see passage 1", target="p1")]
        return [
            MarkedText("Answer", segments, tones={"wrong": "bad"}),
            MarkedText("Passage 1", [Segment("Water is wet", key="p1")]),
            BulletList("Steps", [HOSTILE]),
            DataTable("Calls", ["tool", "times"], [["search", 3], [None, True]]),
        ]


SEEN = {**ok(0, score=0.5), "case": {"text": "good"}}


def test_a_judge_may_add_blocks_to_its_cases(tmp_path: Path) -> None:
    page = _page(tmp_path, SEEN, judge=Viewed())
    marked, _, listed, table = dict(page.data("details"))[0]["blocks"]
    assert marked["kind"] == "marked" and marked["tones"] == {"wrong": "bad"}
    assert marked["segments"][1]["target"] == "p1"
    assert listed["items"] == [HOSTILE]
    assert table["rows"] == [["search", 3], [None, True]]


def keep_view(folder: Path, input_hash: str, blocks: Sequence[Block], request: str | None = None) -> None:
    views = ViewFile(folder)
    views.append(view_line(input_hash, CaseView(as_data(blocks), request)))
    views.close()


def test_the_report_shows_the_view_that_was_kept_and_reads_no_case(tmp_path: Path) -> None:
    shown = Viewed().view(ToyCase(text="good"), 4, Judgement.model_validate(ok(0, score=0.5)))
    keep_view(tmp_path, ok(0, score=0.5)["input_hash"], shown, "Is it good?")

    class Unread(Viewed):
        def read(self, record: Mapping[str, Any]) -> ToyCase:
            raise AssertionError("the case was read again")

    page = _page(tmp_path, SEEN, judge=Unread())
    detail = dict(page.data("details"))[0]
    assert detail["blocks"] == as_data(shown) and detail["own"] == 4
    assert dict(page.data("requests"))[0] == "Is it good?"


def test_a_kept_view_of_another_case_is_not_shown(tmp_path: Path) -> None:
    keep_view(tmp_path, "f" * 32, [MarkedText("Another case", [Segment("x")])])
    assert "blocks" not in dict(_page(tmp_path, ok(0, score=0.5)).data("details"))[0]


def test_a_report_that_is_written_again_without_the_cases_keeps_what_was_shown_of_them(tmp_path: Path) -> None:
    run = krino.run(Viewed, [{"id": "a", "text": "good"}], into=tmp_path / "run")
    before = Page((run.folder / "report.html").read_text("utf-8")).data("details")
    (run.folder / "report.html").write_text("[0,{" + "x" * 9)
    after = Page(run.report().read_text("utf-8")).data("details")
    assert after == before and after[0][1]["own"] == 4


def test_a_view_that_fails_does_not_cost_the_report(tmp_path: Path) -> None:
    class Broken(ToyJudge):
        def view(self, case: ToyCase, facts: int, judgement: Judgement) -> Sequence[Block]:
            raise KeyError("claims")

    (block,) = dict(_page(tmp_path, SEEN, judge=Broken()).data("details"))[0]["blocks"]
    assert "`view` of judge `toy` failed: KeyError" in block["text"]


class Counted:
    """What a judge says of all its cases."""

    def __init__(self, fails_in: str = "") -> None:
        self.fails_in, self.cases = fails_in, 0

    def add(self, judgement: Mapping[str, Any], /) -> None:
        if self.fails_in == "add":
            raise KeyError("verdict")
        self.cases += 1

    def blocks(self) -> Sequence[Block]:
        if self.fails_in == "blocks":
            raise KeyError("verdict")
        if self.fails_in == "drawing":
            return [Scores([Score("s", 1, 0, 0.5, None, 0, 1, 0, 0, (), whole=False)])]
        return [Section("Court names", [DataTable("", ["name", "n"], [[HOSTILE, self.cases]])])]


def counting(fails_in: str) -> ToyJudge:
    class Counting(ToyJudge):
        def overview(self) -> Overview:
            if fails_in == "begin":
                raise KeyError("verdict")
            return Counted(fails_in)

    return Counting()


def test_a_judge_may_say_something_of_all_its_cases(tmp_path: Path) -> None:
    page = _page(tmp_path, ok(0, score=0.5), ok(1, score=0.5), judge=counting(""))
    assert "Court names" in page.visible and "onerror=alert(2)" in page.visible
    assert not any(tag == "img" for tag, _ in page.tags)


@pytest.mark.parametrize("part", ["begin", "add", "blocks", "drawing"])
def test_an_overview_that_fails_does_not_cost_the_report(tmp_path: Path, part: str) -> None:
    page = _page(tmp_path, ok(0, score=0.5), judge=counting(part))
    assert re.search("`overview` of judge `toy` failed: (KeyError|ZeroDivisionError)", page.visible)
    assert len(page.data("rows")) == 1
