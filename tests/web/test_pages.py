"""The pages of the workbench: what they show, what their addresses say, and what they refuse."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import orjson
import pytest
from starlette.testclient import TestClient

import krino
from krino.contract import Judgement
from krino.errors import UsageProblem
from krino.judges.registry import OURS
from krino.runs.journal import JOURNAL, Journal
from krino.runs.manifest import Manifest
from krino.runs.stored_run import load_stored_run
from krino.runs.views import VIEWS
from krino.web.index.run_index import RunIndex
from krino.web.pages.try_it import append_case
from made_runs import failed_row, make_run, row
from workbench_making import csrf_of, serving

PAGE = {"accept": "text/html"}
EXAMPLES = Path(krino.__file__).parent / "examples"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The examples of every judge as runs, and a second run of one with two answers changed."""
    folder = tmp_path_factory.mktemp("workbench") / "runs"
    for judge in OURS:
        krino.run(judge, str(EXAMPLES / f"{judge}.jsonl"), into=folder / judge)
    cases = [orjson.loads(line) for line in (EXAMPLES / "rag.jsonl").read_bytes().splitlines()]
    for case in cases:
        if case["id"] == "supported":
            case["answer"] = "The Atomium was built for the World's Fair of 1938."
    krino.run("rag", cases, into=folder / "rag again")
    return folder


@pytest.fixture
def client(runs: Path) -> Iterator[TestClient]:
    with serving(runs) as found:
        yield found


def text_of(client: TestClient, address: str, status: int = 200) -> str:
    reply = client.get(address, headers=PAGE)
    assert reply.status_code == status, reply.text
    return unescape(reply.text)


def until_read(client: TestClient, run: str) -> None:
    """The index is made in the background; a test waits until it is there."""
    for _ in range(200):
        if not client.get(f"/runs/{run}/progress").json()["live"]:
            return
    raise AssertionError("the run was never read")


def links(page: str, pattern: str) -> list[str]:
    return [href for href in re.findall(r'href="([^"]+)"', page) if re.search(pattern, href)]


def test_the_first_page_names_every_run(client: TestClient) -> None:
    page = text_of(client, "/")
    assert all(f'href="/runs/{name}"' in page for name in ("citation", "efficiency", "rag", "rag%20again"))
    assert "rag again" not in text_of(client, "/?q=citation")


def test_an_empty_folder_says_what_to_do(tmp_path: Path) -> None:
    with serving(tmp_path) as client:
        assert "krino judge rag cases.jsonl" in text_of(client, "/")


def test_a_run_shows_its_summary_and_its_cases(client: TestClient) -> None:
    until_read(client, "rag")
    page = text_of(client, "/runs/rag")
    assert "Faithfulness" in page
    assert "Histogram of faithfulness" in page
    assert len(re.findall("<tr data-row>", page)) == 11


@pytest.mark.parametrize(
    ("query", "found"),
    [("status=failed", 1), ("max.faithfulness=0.4", 3), ("q=Ostend", 1), ("is.evaluation_status=success", 10)],
)
def test_an_address_narrows_the_cases_and_says_so(client: TestClient, query: str, found: int) -> None:
    until_read(client, "rag")
    page = text_of(client, f"/runs/rag?{query}")
    assert len(re.findall("<tr data-row>", page)) == found
    assert 'aria-label="Active filters"' in page


def test_codes_and_slices_of_the_summary_lead_to_their_cases(client: TestClient, runs: Path) -> None:
    until_read(client, "citation")
    page, judged = text_of(client, "/runs/citation"), list(load_stored_run(runs / "citation").records())
    right = sum(record["verdict"]["match_correctness"] == "CORRECT" for record in judged)
    dutch = sum(record["metadata"]["language"] == "nl" for record in judged)
    assert 0 < right < len(judged)
    assert 0 < dutch < len(judged)
    for pattern, found in ((r"\?is\.match_correctness=CORRECT#", right), (r"\?in\.language=nl#", dutch)):
        (address, *_) = links(page, pattern)
        assert len(re.findall("<tr data-row>", text_of(client, address.removesuffix("#cases")))) == found


def test_a_field_that_the_run_does_not_have_is_named(client: TestClient) -> None:
    assert "has no field <strong>taste</strong>" in text_of(client, "/runs/rag?min.taste=1")


def test_next_and_previous_stay_among_the_cases_that_were_found(client: TestClient) -> None:
    until_read(client, "rag")
    first = links(text_of(client, "/runs/rag?max.faithfulness=0.4&sort=id"), "^/runs/rag/cases/.*max")[0]
    page = text_of(client, first)
    assert "1 of 3 found" in page
    (onward,) = re.findall(r'<a class="button" href="([^"]+)" rel="next"', page)
    assert "max.faithfulness=0.4" in onward
    assert "2 of 3 found" in text_of(client, onward)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("/runs/rag/cases/half-supported", ("unsupported", "Parts of the question", "sentences useful", "RAG-F4")),
        ("/runs/citation/cases/ranked-second", ("Candidates", "the cited court", "CASE NUMBER FALSE MATCH", "ceiling")),
        ("/runs/efficiency/cases/one-duplicate", ("Timeline", "Minimal sequence: 2 of 3", "because of", "EFF-S2")),
    ],
)
def test_a_case_is_shown_as_its_judge_shows_it(client: TestClient, address: str, shown: tuple[str, ...]) -> None:
    page = text_of(client, address)
    assert all(words in page for words in shown)


def test_a_stretch_of_text_leads_to_what_it_rests_on(client: TestClient) -> None:
    page = text_of(client, "/runs/rag/cases/half-supported")
    (target,) = links(page, "^#at-passage")
    assert f'id="{target.removeprefix("#")}"' in page


def test_the_view_is_made_of_the_case_where_none_is_kept(runs: Path, tmp_path: Path) -> None:
    """Inputs that were kept in the folder, or lie in the folder that is served, may be read; others may not."""
    served = tmp_path / "served"
    records = [orjson.loads((EXAMPLES / "rag.jsonl").read_bytes().splitlines()[1])]
    krino.run("rag", records, into=served / "kept")
    (served / "own.jsonl").write_bytes(orjson.dumps(records[0]) + b"\n")
    krino.run("rag", str(served / "own.jsonl"), into=served / "inside")
    (tmp_path / "elsewhere.jsonl").write_bytes(orjson.dumps(records[0]) + b"\n")
    krino.run("rag", str(tmp_path / "elsewhere.jsonl"), into=served / "outside")
    for folder in served.glob("*/"):
        (folder / VIEWS).unlink()
    with serving(served) as client:
        shown = {name: text_of(client, f"/runs/{name}/cases/half-supported") for name in ("kept", "inside", "outside")}
    assert {name for name, page in shown.items() if "Passage 1" in page} == {"kept", "inside"}
    assert "volunteers from Ostend" in shown["outside"]


def test_two_runs_show_what_flipped_and_each_flip_opens_both_cases(client: TestClient) -> None:
    for _ in range(200):
        page = text_of(client, "/compare?a=rag&b=rag+again")
        if "data-reload" not in page:
            break
    pair = next(link for link in links(page, "^/compare/case") if link.endswith("id=supported"))
    both = text_of(client, pair)
    assert "The two runs judged different content" in both
    assert "only in A" in both
    assert 'href="/runs/rag/cases/supported"' in both
    assert 'href="/runs/rag%20again/cases/supported"' in both


def test_runs_without_a_case_in_common_are_told(client: TestClient) -> None:
    for _ in range(200):
        page = text_of(client, "/compare?a=rag&b=citation")
        if "data-reload" not in page:
            break
    assert "give each case an `id` that is the same in both inputs" in page


@pytest.mark.parametrize(
    "address",
    [
        "/runs/nope",
        "/runs/..%2f..%2fetc",
        "/runs/rag/cases/nobody",
        "/runs/rag/cases/supported?n=99",
        "/runs/rag/cases/other?n=0",
        "/compare?a=rag&b=nope",
        "/compare/case?a=rag&b=citation&id=supported",
    ],
)
def test_what_is_not_there_is_told_with_a_way_out(client: TestClient, address: str) -> None:
    assert "What to do" in text_of(client, address, 404)


@pytest.mark.parametrize(
    "name", ["..", ".", "a/b", "a//b", "-", "x" * 300, "q?&#%", " ", "../../etc/passwd", "ünïcode"]
)
def test_any_id_has_an_address_that_leads_to_it(tmp_path: Path, name: str) -> None:
    make_run(tmp_path / "odd", [row("first", score=1.0), row(name, score=0.5), row(name, score=0.25)])
    with serving(tmp_path) as client:
        until_read(client, "odd")
        addresses = links(text_of(client, "/runs/odd"), "^/runs/odd/cases/")
        assert len(addresses) == 3
        assert "0.5" in text_of(client, addresses[1])
        assert "0.25" in text_of(client, addresses[2])


def test_a_run_under_way_shows_how_far_it_is(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "live", [row("a", score=1.0), failed_row("b")], state="running", cases=None)
    with serving(tmp_path) as client:
        assert 'data-live="/runs/live/progress"' in text_of(client, "/")
        assert "2 cases judged so far" in client.get("/runs/live/progress").json()["message"]
        (first, _) = load_stored_run(folder).records()
        journal = Journal(folder)
        journal.append(Judgement.model_validate({**first, "input_hash": "0" * 32}))  # of a case that is not on the roll
        journal.close()
        assert "2 cases judged so far" in client.get("/runs/live/progress").json()["message"]


@pytest.mark.parametrize(
    "path", ["/v1/runs/a/cases", "/v1/labels?run=a", "/v1/labels/export?run=a", "/v1/labels/next?run=a&rater=anna"]
)
def test_of_a_damaged_run_programs_are_told_the_fault_and_no_figures(path: str, tmp_path: Path) -> None:
    make_run(tmp_path / "a", [row("one", score=0.5), failed_row("two")])
    with (tmp_path / "a" / JOURNAL).open("ab") as journal:
        journal.write(b"no JSON\n")
    with serving(tmp_path) as client:
        until_read(client, "a")
        reply = client.get(path)
        assert (reply.status_code, "not JSON" in reply.json()["error"]) == (422, True)
        assert "not JSON" in client.get("/v1/runs/a").json()["run"]["problem"]


def test_while_a_run_is_being_read_programs_are_told_that_there_may_be_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_run(tmp_path / "a", [row("one", score=0.5)])
    go_on = threading.Event()
    extend = RunIndex.extend

    def waiting(index: RunIndex, *args: Any) -> Any:
        go_on.wait(60)
        return extend(index, *args)

    monkeypatch.setattr(RunIndex, "extend", waiting)
    with serving(tmp_path) as client:
        try:
            found = client.get("/v1/runs/a/cases").json()
            assert (found["found"], found["current"]) == (0, False)
            assert client.get("/v1/labels/export?run=a").status_code == 503
        finally:
            go_on.set()
        until_read(client, "a")
        found = client.get("/v1/runs/a/cases").json()
        assert (found["found"], found["current"]) == (1, True)
        assert client.get("/v1/labels/export?run=a").status_code == 200


def test_names_without_an_end_do_not_swell_the_list_of_runs(tmp_path: Path) -> None:
    endless = "x" * 100_000
    plan = {"judge": {"name": endless}, "labeller": {"kind": "llm", "model": endless}, "inputs": [endless]}
    make_run(tmp_path / "a", [row("one", score=0.5)], plan=plan)
    with serving(tmp_path) as client:
        assert len(text_of(client, "/")) < len(endless)


def test_a_damaged_run_shows_the_fault_and_no_figures(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "broken", [row("a", score=0.125)])
    with (folder / JOURNAL).open("ab") as journal:
        journal.write(b"{}\n")
    with serving(tmp_path) as client:
        page = text_of(client, "/runs/broken")
        assert "not a judgement of this run" in page
        assert "0.125" not in page
        assert client.get("/runs/broken/cases/a", headers=PAGE).status_code == 404


# --- trying a case ---------------------------------------------------------------------------------


def tried(client: TestClient, **fields: str) -> str:
    page = client.get("/try", headers=PAGE).text
    reply = client.post("/try", data={"csrf": csrf_of(page), "labeller": "local", **fields}, headers=PAGE)
    assert reply.status_code == 200, reply.text
    return unescape(reply.text)


def test_an_example_of_every_judge_can_be_tried(client: TestClient) -> None:
    for judge in OURS:
        page = client.get(f"/try?judge={judge}", headers=PAGE).text
        (case,) = re.findall(r'rows="12" class="code" spellcheck="false" required>(.*?)</textarea>', page, re.DOTALL)
        assert 'id="verdict"' in tried(client, judge=judge, case=unescape(case))


def test_a_case_can_be_written_field_by_field(client: TestClient) -> None:
    fields = {
        "by": "fields",
        "judge": "rag",
        "field.question": "How tall is it?",
        "kind.question": "text",
        "field.context": "It is 102 metres tall.\r\n\r\nIt is in Brussels.",
        "kind.context": "list",
        "field.answer": "It is 165 metres tall.",
        "kind.answer": "text",
    }
    page = tried(client, **fields)
    assert "Passage 2" in page
    assert "contradicted" in page


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"judge": "rag", "case": "{"}, "invalid JSON, line 1"),
        ({"judge": "rag", "case": "[1]"}, "must be a JSON object"),
        ({"judge": "rag", "case": "{}", "options": '{"taste": 1}'}, "options of judge `rag`"),
        ({"judge": "citation", "case": "{}", "options": '{"aliases": "/etc/hosts"}'}, "options of judge `citation`"),
    ],
)
def test_what_cannot_be_judged_is_told_above_the_form(client: TestClient, fields: dict[str, str], told: str) -> None:
    page = client.get("/try", headers=PAGE).text
    reply = client.post("/try", data={"csrf": csrf_of(page), "labeller": "local", **fields}, headers=PAGE)
    assert reply.status_code == 422
    assert told in unescape(reply.text)


@pytest.mark.parametrize("path", ["/try", "/try/save"])
def test_a_judge_that_is_not_there_is_not_taken_for_another(client: TestClient, tmp_path: Path, path: str) -> None:
    csrf = csrf_of(client.get("/try", headers=PAGE).text)
    asked = client.get("/try?judge=nobody", headers=PAGE)
    sent = client.post(path, data={"csrf": csrf, "judge": "nobody", "labeller": "local", "case": "{}"}, headers=PAGE)
    for reply in (asked, sent):
        assert reply.status_code == 404
        assert "there is no judge `nobody` here" in unescape(reply.text)
        assert "one of citation, efficiency, rag" in unescape(reply.text)


def test_a_case_that_is_saved_can_be_judged_by_the_command(tmp_path: Path) -> None:
    case = '{"question": "How tall?", "context": ["It is 5 m tall."], "answer": "It is 5 m tall."}'
    with serving(tmp_path) as client:
        csrf = csrf_of(client.get("/try", headers=PAGE).text)
        for _ in range(2):
            sent = client.post("/try/save", data={"csrf": csrf, "judge": "rag", "case": case, "file": "mine"})
            assert "cases/mine.jsonl" in sent.text
    run = krino.run("rag", str(tmp_path / "cases" / "mine.jsonl"), into=tmp_path / "run")
    assert (run.manifest.counts.ok, run.manifest.cases) == (2, 2)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", ".hidden", "a\0b", "x" * 90, "a b", "ü"])
def test_no_name_of_a_file_leads_out_of_the_folder_of_cases(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageProblem, match="is not a valid file name"):
        append_case(tmp_path, name, {"question": "?"})


def test_a_link_in_the_folder_of_cases_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside.jsonl"
    outside.write_text("kept\n")
    runs = tmp_path / "runs"
    (runs / "cases").mkdir(parents=True)
    (runs / "cases" / "mine.jsonl").symlink_to(outside)
    with pytest.raises(UsageProblem, match="cannot be written"):
        append_case(runs, "mine", {"question": "?"})
    assert outside.read_text() == "kept\n"
    (runs / "cases" / "mine.jsonl").unlink()
    (runs / "cases").rmdir()
    (runs / "cases").symlink_to(tmp_path, target_is_directory=True)
    with pytest.raises(UsageProblem, match="leads elsewhere"):
        append_case(runs, "mine", {"question": "?"})


def test_a_saved_case_has_a_line_of_its_own_though_somebody_left_the_last_one_open(tmp_path: Path) -> None:
    (tmp_path / "cases").mkdir()
    file = tmp_path / "cases" / "mine.jsonl"
    file.write_text('{"question": "by hand"}')
    append_case(tmp_path, "mine", {"question": "one"})
    append_case(tmp_path, "mine", {"question": "two"})
    assert [orjson.loads(line)["question"] for line in file.read_bytes().splitlines()] == ["by hand", "one", "two"]


def test_a_case_that_cannot_be_saved_is_told_and_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    append_case(tmp_path, "mine", {"question": "one"})
    file = tmp_path / "cases" / "mine.jsonl"
    before = file.read_bytes()
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 9, usual[1]))  # as a disk with room for half a line
    try:
        with pytest.raises(UsageProblem, match=r"mine.jsonl cannot be written: No space"):
            append_case(tmp_path, "mine", {"question": "two"})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
    with pytest.raises(UsageProblem, match="cannot be written as JSON"):
        append_case(tmp_path, "mine", {"question": orjson.loads("[" * 500 + "]" * 500)})
    os.mkfifo(tmp_path / "cases" / "pipe.jsonl")
    with pytest.raises(UsageProblem, match="not a regular file"):
        append_case(tmp_path, "pipe", {"question": "two"})
    assert file.read_bytes() == before


def test_a_view_that_somebody_made_up_costs_its_own_blocks_and_not_the_page(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "odd", [row("a", score=0.125)])
    (first,) = load_stored_run(folder).records()
    empty = {"name": "s", "n": 0, "nulls": 0, "mean": 0, "interval": None, "least": 0, "most": 0, "low": 0, "step": 0}
    blocks = [{"kind": "scores", "scores": [{**empty, "counts": [], "whole": False}]}]
    line = {"input_hash": first["input_hash"], "blocks": blocks, "request": None}
    (folder / VIEWS).write_bytes(orjson.dumps(line) + b"\n")
    with serving(tmp_path) as client:
        assert "0.125" in text_of(client, "/runs/odd/cases/a")
    blocks[0] = {"kind": "marked", "title": "t", "segments": [{"text": "x", "key": '"><b>', "target": "javascript:1"}]}
    (folder / VIEWS).write_bytes(orjson.dumps(line) + b"\n")
    with serving(tmp_path) as client:
        page = text_of(client, "/runs/odd/cases/a")
        assert 'id="at-%22%3E%3Cb%3E"' in page
        assert 'href="#at-javascript%3A1"' in page


def test_a_manifest_with_odd_settings_costs_the_view_and_not_the_page(tmp_path: Path) -> None:
    record = orjson.loads((EXAMPLES / "rag.jsonl").read_bytes().splitlines()[0])
    folder = tmp_path / "odd"
    krino.run("rag", [record], into=folder)
    (folder / VIEWS).unlink()
    manifest = Manifest.load(folder)
    manifest.plan.format, manifest.plan.split = "nonsense", {"context": "["}
    manifest.plan.judge["options"] = {"goal": ["?"]}
    manifest.write(folder)
    with serving(tmp_path) as client:
        assert "The Atomium was built" in text_of(client, "/runs/odd/cases/supported")


@pytest.mark.parametrize("address", ["/runs/rag?q=%00a", "/v1/runs/rag/cases?q=%00", "/runs/rag?q=%22%00"])
def test_a_search_for_nothing_that_can_be_typed_is_no_fault(client: TestClient, address: str) -> None:
    assert client.get(address).status_code == 200


# --- what an address asks for in vain -------------------------------------------------------------------

ODD = {
    "status=bogus": "ok, failed, error",
    "min.faithfulness=abc": "is not a number",
    "max.faithfulness=nan": "is not a number",
    "is.roll_up=maybe": "pass",
    "down=yes": "neither 1 nor 0",
    "stat=failed": "is.FIELD",
    "is=fail": "is.FIELD",
    "&".join(["status=ok"] * 61): "at most 60 parts",
    f"q={'a' * 401}": "more than 400 characters",
}
ABSENT = ("min.nothing=1", "is.nothing=x", "in.nowhere=x", "sort=nothing")


@pytest.mark.parametrize(("query", "told"), ODD.items(), ids=[query[:30] for query in ODD])
def test_a_filter_that_cannot_be_read_is_refused_by_the_api_and_told_on_pages(
    client: TestClient, query: str, told: str
) -> None:
    until_read(client, "rag")
    refused = client.get(f"/v1/runs/rag/cases?{query}")
    assert refused.status_code == 422
    assert told in refused.json()["error"]
    assert refused.json()["where"] == f"query.{query.partition('=')[0]}"
    for address in (f"/runs/rag?{query}", f"/runs/rag/cases/supported?{query}"):
        page = text_of(client, address)
        assert "Ignored in the address" in page
        assert told in page


@pytest.mark.parametrize("query", ABSENT)
def test_a_field_that_the_run_does_not_have_is_refused_with_those_that_it_has(client: TestClient, query: str) -> None:
    until_read(client, "rag")
    refused = client.get(f"/v1/runs/rag/cases?{query}")
    assert refused.status_code == 422
    assert "faithfulness" in refused.json()["remedy"]
    assert "This run has no field" in text_of(client, f"/runs/rag?{query}")


@pytest.mark.parametrize("query", ["status=", "is.category=", "sort=", "min.faithfulness="])
def test_what_a_form_leaves_empty_asks_nothing_and_a_program_is_told(client: TestClient, query: str) -> None:
    assert client.get(f"/v1/runs/rag/cases?{query}").status_code == 422
    assert "Left out" not in text_of(client, f"/runs/rag?{query}")


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("/?page=1&qq=x", "unknown parameter `qq`"),
        ("/compare?a=one&c=two", "unknown parameter `c`"),
        ("/try?juge=rag", "did you mean judge?"),
        ("/v1/runs?status=ok", "there are no parameters"),
        ("/v1/runs/one?most=3", "unknown parameter `most`"),
        ("/v1/labels/next?run=one&rater=anna&dept=labels", "did you mean depth?"),
        ("/v1/judges?x", "unknown parameter `x`"),
    ],
)
def test_a_name_that_means_nothing_is_refused_by_every_route(client: TestClient, address: str, told: str) -> None:
    answer = client.get(address)
    assert (answer.status_code, told in answer.text) == (422, True), answer.text


def test_probes_may_ask_with_anything(client: TestClient) -> None:
    assert client.get("/health?at=12").status_code == client.get("/metrics?x=1").status_code == 200


@pytest.mark.parametrize("query", ["size=7", "page=0", "page=x", "size=x"])
def test_a_page_that_there_is_not_is_told(client: TestClient, query: str) -> None:
    assert "Ignored in the address" in text_of(client, f"/runs/rag?{query}")
    assert "Left out" not in text_of(client, "/runs/rag?size=25&page=1&q=a&down=1&sort=id")


# --- runs of a judge of one's own -----------------------------------------------------------------------


def test_cases_with_ids_that_no_address_can_hold_are_opened_by_their_place(tmp_path: Path) -> None:
    make_run(tmp_path / "odd", [row("i" * 100_000, score=0.25), row("", score=0.5), row("../../x", score=0.75)])
    with serving(tmp_path) as client:
        until_read(client, "odd")
        page = text_of(client, "/runs/odd")
        assert len(page) < 50_000
        assert "(no id)" in page
        opened = [text_of(client, address) for address in links(page, "^/runs/odd/cases/")]
        assert len(opened) == 3
        assert all(figure in page for figure, page in zip(("0.250", "0.500", "0.750"), opened, strict=True))


def test_a_field_of_numbers_and_words_is_one_column_and_what_is_nested_is_shown(tmp_path: Path) -> None:
    rows = [row("a", mixed=0.5, deep={"a": [{"b": None}]}), row("b", mixed="0.75", deep=None), row("c", mixed="high")]
    make_run(tmp_path / "own", rows)
    with serving(tmp_path) as client:
        until_read(client, "own")
        page = text_of(client, "/runs/own")
        assert page.count('<a href="/runs/own?sort=mixed') == 1
        assert "high" in page
        assert '"b": null' in text_of(client, "/runs/own/cases/a")
