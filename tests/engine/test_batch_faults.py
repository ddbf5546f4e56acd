"""Whatever goes wrong at a step of a batch, the run comes to its end and no request is paid for twice."""

from __future__ import annotations

import itertools
import re
import time
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

import krino
from batch_runs import (
    DIALECTS,
    STUBBORN,
    Dialect,
    assert_whole,
    batch_server,
    cases,
    expected,
    judged,
    lines,
    model,
)
from fake_llm.batches import FakeBatch
from krino.errors import UsageProblem
from krino.labellers.llm.batch.ledger import Ledger
from parts_judge import Joining
from toy_judge import ToyJudge

FAULTS: list[dict[str, list[str | None]]] = [
    {},
    {"upload": ["500", "reset", "429"]},
    {"create": ["500"]},
    {"create": ["reset", "429"]},
    {"create": ["500-made"]},
    {"create": [None, "reset-made", "500-made"]},
    {"look": ["500", "429", "reset", "slow"]},
    {"work": ["expire"]},
    {"work": ["error", "expire"]},
    {"results": ["500", "cut"]},
    {"results": ["missing"]},
    {"results": ["doubled", "turned", "unknown"]},
    {"results": ["broken"]},
    {"list": ["500"], "create": ["reset-made"]},
]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("faults", FAULTS, ids=str)
def test_a_fault_at_any_step_is_recovered_from_and_nothing_is_paid_twice(
    faults: dict[str, list[str | None]], dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server() as server:
        server.batches.faults = {step: list(names) for step, names in faults.items()}
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run")
        if dialect == "openai" or "upload" not in faults:
            assert not any(server.batches.faults.values()), "every fault must have happened"
        assert_whole(run, server)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_that_is_in_no_results_however_often_they_are_read_is_asked_for_again(
    dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server() as server:
        server.batches.faults = {"results": ["missing"] * 3}
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", requests=9)
        assert run.manifest.counts.ok == 5
        assert server.stats().completed_by_key == {**expected(), "case-0-0": 2}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_that_is_lost_again_and_again_ends_as_an_error_that_says_so(dialect: Dialect, tmp_path: Path) -> None:
    with batch_server() as server:
        server.batches.faults = {"work": ["error"] * 9}
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", cases(1))
    (line,) = lines(run.folder)
    assert (run.manifest.state, line["status"], line["usage"]["calls"]) == ("finished", "error", 0)
    assert "4 batch files came back without a reply" in line["error"]
    assert "Internal server error" in line["error"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_reply_of_no_use_is_asked_again_with_the_exact_fault_as_a_call_would_be(
    dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server() as server:
        by_file = judged(model(server.anthropic_url, dialect), tmp_path / "run")
        again = [request for request in server.requests if "cannot be used" in request.text]
        judged(model(server.anthropic_url, dialect), tmp_path / "calls", pilot=5)
        called = [request for request in server.requests if "cannot be used" in request.text]
    assert len(again) == 1
    assert "'nowhere to be found' does not occur in the text" in again[0].user_text
    (line,) = (line for line in lines(by_file.folder) if line["id"] == STUBBORN)
    assert (line["usage"]["calls"], line["labels"]) == (2, {"label": "good", "quote": "fine"})
    assert _without_tag(called[1].body) == _without_tag(again[0].body)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_request_in_a_file_is_the_one_that_a_call_would_send(dialect: Dialect, tmp_path: Path) -> None:
    records = cases(2)
    with batch_server() as server:
        judged(model(server.anthropic_url, dialect), tmp_path / "files", records)
        judged(model(server.anthropic_url, dialect), tmp_path / "calls", records, pilot=2)
        bodies = [_without_tag(request.body) for request in server.requests]
    assert bodies[:2] == bodies[2:]


def _without_tag(body: dict[str, Any]) -> str:
    text = str(body)
    tag = re.search(r"The random word is ([0-9a-f]{8})", text)
    assert tag is not None
    return text.replace(tag[1], "TAG")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_what_the_endpoint_does_not_take_is_left_out_of_the_next_file(dialect: Dialect, tmp_path: Path) -> None:
    with batch_server(unsupported={"json_schema"}) as server:
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run")
        assert_whole(run, server)
    assert {line["labeller"]["channel"] for line in lines(run.folder)} == {"tool"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_first_cases_are_asked_by_a_call_so_that_no_file_is_written_in_vain(
    dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server(unsupported={"json_schema"}) as server:
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", pilot=1, requests=9)
        assert_whole(run, server)
        assert server.stats().rejected == 1, "only the call found out"
        assert len(server.batches.batches) == 2


def test_a_batch_that_the_provider_has_no_room_for_waits_until_another_is_back(tmp_path: Path) -> None:
    with batch_server() as server:
        server.batches.faults = {"create": [None, "too-much"], "look": ["slow"]}
        assert_whole(judged(model(server.anthropic_url, "openai"), tmp_path / "run"), server)


def test_a_batch_that_the_provider_refuses_stops_the_run_which_can_go_on(tmp_path: Path) -> None:
    with batch_server() as server:
        server.batches.faults = {"create": ["failed"]}
        stopped = judged(model(server.anthropic_url, "openai"), tmp_path / "run")
        assert stopped.manifest.state == "stopped"
        assert "invalid_json_line" in str(stopped.manifest.stop_reason)
        assert_whole(judged(model(server.anthropic_url, "openai"), tmp_path / "run"), server)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_batch_that_somebody_cancelled_stops_the_run_and_keeps_what_it_had_answered(
    dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server() as server:
        server.batches.faults = {"work": ["cancel"]}
        stopped = judged(model(server.anthropic_url, dialect), tmp_path / "run")
        assert "was cancelled at the provider" in str(stopped.manifest.stop_reason)
        assert_whole(judged(model(server.anthropic_url, dialect), tmp_path / "run"), server)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_an_endpoint_without_batches_stops_the_run_and_says_so(dialect: Dialect, tmp_path: Path) -> None:
    with batch_server() as server:
        labeller = model(f"{server.anthropic_url}/elsewhere", dialect)
        run = judged(labeller, tmp_path / "run")
    assert "does not do batch files at this address: HTTP 404" in str(run.manifest.stop_reason)
    assert "a-key" not in str(run.manifest.stop_reason)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_key_that_is_no_longer_taken_is_asked_for_again_where_a_function_gives_it(
    dialect: Dialect, tmp_path: Path
) -> None:
    keys = iter(["old", "new"])
    with batch_server() as server:
        server.batches.faults = {"look": ["401"]}
        run = judged(model(server.anthropic_url, dialect, api_key=lambda: next(keys)), tmp_path / "run")
        assert_whole(run, server)
    with batch_server() as server:
        server.batches.faults = {"create": ["401"]}
        stopped = judged(model(server.anthropic_url, dialect), tmp_path / "other")
        assert "HTTP 401" in str(stopped.manifest.stop_reason)
        assert not server.batches.batches
        assert_whole(judged(model(server.anthropic_url, dialect), tmp_path / "other"), server)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_newer_key_is_used_even_where_nothing_is_tried_again(dialect: Dialect, tmp_path: Path) -> None:
    keys = iter(["old", "new"])
    with batch_server() as server:
        server.batches.faults = {"create": ["401"]}
        labeller = model(server.anthropic_url, dialect, api_key=lambda: next(keys), retries=0)
        assert_whole(judged(labeller, tmp_path / "run"), server)


def test_a_key_function_whose_keys_are_all_refused_stops_the_run(tmp_path: Path) -> None:
    keys = (f"key-{number}" for number in itertools.count())
    with batch_server() as server:
        server.batches.faults = {"upload": ["401"] * 100}
        stopped = judged(model(server.anthropic_url, "openai", api_key=lambda: next(keys), retries=1), tmp_path / "run")
    assert "HTTP 401" in str(stopped.manifest.stop_reason)


def test_nobody_waits_after_the_last_try(tmp_path: Path) -> None:
    with batch_server() as server:
        server.batches.faults = {"upload": ["500"]}
        began = time.monotonic()
        stopped = judged(model(server.anthropic_url, "openai", retries=0, backoff=20.0), tmp_path / "run")
    assert "no answer from" in str(stopped.manifest.stop_reason)
    assert time.monotonic() - began < 8


def test_the_parts_of_a_case_go_into_one_file_together(tmp_path: Path) -> None:
    texts = ["fine case-1- case-2-", "fine fine fine"]
    records = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    with batch_server(key=lambda request: request.user_text.split("word]]")[-1].split()[0]) as server:
        run = judged(model(server.anthropic_url, "openai"), tmp_path / "run", records, Joining(), requests=99)
        assert server.stats().completed_by_key == {"fine": 1, "case-1-": 1, "case-2-": 1}
        assert len(server.batches.batches) == 1
    found = {line["id"]: line for line in lines(run.folder)}
    assert [found[name]["usage"]["calls"] for name in "01"] == [3, 0]
    assert "joined labels of 3 parts do not fit" in found["0"]["error"]
    assert found["1"]["labels"] == {"label": "good", "quote": "fine fine fine"}


@pytest.mark.parametrize("name", ["batches", "batches/ledger.sqlite", "batches/00001.jsonl"])
def test_what_is_out_must_lie_in_the_run_folder_itself(name: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "run" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    with batch_server() as server, pytest.raises(UsageProblem, match="not behind a link"):
        judged(model(server.anthropic_url, "openai"), tmp_path / "run")
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.parametrize("dialect", DIALECTS)
def test_of_several_batches_of_one_size_that_nobody_acknowledged_each_is_found_as_itself(
    dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server() as server:
        server.batches.faults = {"create": ["reset-made", "500-made", "reset-made"]}
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", cases(6))
        assert_whole(run, server, [case["id"] for case in cases(6)])
        assert len(server.batches.batches) == 4, "three, and one for what was asked again"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_batch_that_was_made_and_is_not_listed_yet_is_waited_for_and_not_made_again(
    dialect: Dialect, tmp_path: Path
) -> None:
    with batch_server() as server:
        server.batches.faults = {"create": ["reset-made"], "list": ["late", "late", "late"]}
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", cases(2), longest_pause=60.0)
        assert not any(server.batches.faults.values()), "every fault must have happened"
        assert_whole(run, server, ["case-0-", "case-1-"])
        assert len(server.batches.batches) == 1


def test_results_that_are_no_longer_there_stop_the_run_and_it_is_said_what_to_do(tmp_path: Path) -> None:
    with batch_server() as server:
        server.batches.faults = {"results": ["404"]}
        run = judged(model(server.anthropic_url, "openai"), tmp_path / "run")
        assert "delete the folder `batches` of the run" in str(run.manifest.stop_reason)
        assert_whole(judged(model(server.anthropic_url, "openai"), tmp_path / "run"), server)


def test_a_labeller_that_went_by_file_asks_at_the_full_price_again_afterwards(tmp_path: Path) -> None:
    with batch_server() as server:
        labeller = model(server.anthropic_url, "openai")
        judged(labeller, tmp_path / "run", cases(1))
        called = krino.judge(ToyJudge(), cases(1)[0], labeller=labeller)
    usage = called.usage
    assert usage.cost == pytest.approx((usage.input_tokens * 10 + usage.output_tokens * 100) / 1e6)


def test_a_step_that_cannot_be_put_on_disk_ends_the_run_and_is_no_fault_of_a_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Ledger.__init__

    def on_a_full_disk(ledger: Ledger, folder: Path) -> None:
        usual(ledger, folder)
        ledger._db.execute("pragma max_page_count=1")

    many = cases(60)
    with batch_server() as server:
        with monkeypatch.context() as patched, pytest.raises(UsageProblem, match=r"ledger .* is full; make room"):
            patched.setattr(Ledger, "__init__", on_a_full_disk)
            judged(model(server.anthropic_url, "openai"), tmp_path, many, requests=100)
        assert not lines(tmp_path)
        run = judged(model(server.anthropic_url, "openai"), tmp_path, many, requests=100)
        assert run.manifest.counts.ok == len(many)
        assert server.stats().completed_by_key == expected([case["id"] for case in many])


def test_a_key_that_the_provider_says_aloud_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-a-key-that-nobody-must-see"
    with batch_server() as server:
        told = server.batches._told

        def telling(batch: FakeBatch) -> dict[str, Any]:
            said = {"code": "no", "message": f"not for {batch.headers['authorization']}"}
            return {**told(batch), "status": "failed", "errors": {"data": [said]}}

        monkeypatch.setattr(server.batches, "_told", telling)
        run = judged(model(server.anthropic_url, "openai", api_key=key), tmp_path / "run", cases(1))
    assert "the provider refuses the batch: failed: no: not for" in str(run.manifest.stop_reason)
    assert not [path for path in run.folder.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_key_goes_where_results_are_said_to_have_moved(
    dialect: Dialect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with batch_server() as server, batch_server() as elsewhere:

        def moved(name: str) -> Any:
            async def away(*_: Any) -> web.Response:
                return web.Response(status=302, headers={"location": f"{elsewhere.anthropic_url}/v1/batches/stolen"})

            return away

        monkeypatch.setattr(server.batches, "_content", moved)
        run = judged(model(server.anthropic_url, dialect), tmp_path / "run", cases(1))
        assert "HTTP 302" in str(run.manifest.stop_reason)
        assert not elsewhere.batches.calls
