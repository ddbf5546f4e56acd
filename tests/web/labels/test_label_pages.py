"""Labelling with a browser: blind, at two depths, with undo; every form is guarded and nothing of a stranger acts."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import orjson
import pytest
from starlette.testclient import TestClient

import krino
from krino.people.store import LabelStore, Subject
from krino.runs.stored_run import load_stored_run
from label_making import PAGE, SECRET, Person, Says, filled, key_of, make_rag_run, rag_cases, rag_labels
from toy_judge import ToyJudge
from workbench_making import TOKEN, csrf_of, log_in, serving


def store_of(client: TestClient) -> LabelStore:
    store = client.app.state.workbench.labels  # type: ignore[attr-defined]
    assert isinstance(store, LabelStore)
    return store


def cases_of(runs: Path, run: str) -> list[str]:
    return [entry.input_hash for entry in load_stored_run(runs / run).roll()]


# --- the way of a label ----------------------------------------------------------------------------------


def test_a_person_says_a_name_gets_a_case_judges_it_and_gets_the_next(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    first = anna.next_case()
    leads_to = anna.say(first, **{"f.score=": "0.5"}, note="half and half")
    assert first not in leads_to.partition("?")[0]
    assert "Saved." in anna.client.get(leads_to).text
    (event,) = store_of(client).current(Subject.of(load_stored_run(runs / "toy").manifest))
    assert (event.rater, event.answer, event.note, event.blind) == ("Anna", {"score": 0.5}, "half and half", True)
    assert "Anna" in anna.get("/label")


def test_the_queue_ends_when_all_is_judged(client: TestClient) -> None:
    anna = Person(client, "rag", "Anna")
    for _ in range(3):
        anna.say(anna.next_case(), **{"f.faithfulness": "1.0"})
    assert anna.next_case() == ""
    assert "every judged case" in anna.get("/label")


def test_labels_are_checked_and_settled_as_a_models_would_be(client: TestClient, runs: Path) -> None:
    anna = Person(client, "rag", "Anna")
    case = anna.next_case("labels")
    anna.say(case, "labels", **filled(rag_labels("unsupported")))
    (event,) = store_of(client).current(Subject.of(load_stored_run(runs / "rag").manifest))
    assert event.verdict is not None
    assert event.verdict["faithfulness"] == 0.0
    assert event.answer is not None
    assert event.answer["claims"][0]["label"] == "unsupported"


def test_labels_that_do_not_fit_the_case_are_not_saved_and_nothing_that_was_written_is_lost(client: TestClient) -> None:
    anna = Person(client, "rag", "Anna")
    case = anna.next_case("labels")
    answer = filled(rag_labels("supported"))
    answer["l.claims.0.quote"] = "words that stand nowhere"
    answer["l.claims.0.why"] = "my own reason"
    shown = anna.refused(case, "labels", **answer, note="a note")
    assert "Not saved yet" in shown
    assert "quote" in shown
    assert "my own reason" in shown
    assert "a note" in shown
    assert store_of(client).history() == []


def test_a_claim_can_be_added_without_a_script_and_the_form_keeps_what_stood_there(client: TestClient) -> None:
    anna = Person(client, "rag", "Anna")
    case = anna.next_case("labels")
    page = anna.get(f"/label/{case}?depth=labels")
    assert 'name="l.claims#" value="1"' in page
    answer = {**filled(rag_labels("supported")), "more": "l.claims"}
    shown = anna.sent(f"/label/{case}?depth=labels", page, 200, answer).text
    assert 'name="l.claims#" value="2"' in shown
    assert "was built in 1958" in shown
    assert store_of(client).history() == []


def test_nothing_chosen_is_no_label(client: TestClient) -> None:
    anna = Person(client, "toy", "Anna")
    assert "the answer is empty" in anna.refused(anna.next_case())
    assert store_of(client).history() == []


def test_a_judge_of_ones_own_is_labelled_by_its_fields_and_its_code_is_not_loaded(client: TestClient) -> None:
    anna = Person(client, "toy", "Anna")
    case = anna.next_case()
    assert "custom judge" in anna.get(f"/label/{case}?depth=labels")
    page = anna.get(f"/label/{case}")
    assert "cannot be labelled at depth" in anna.sent(f"/label/{case}?depth=labels", page, 422, {}).text


def test_a_case_that_is_skipped_is_not_brought_again_and_undo_brings_it_back(client: TestClient) -> None:
    anna = Person(client, "toy", "Anna")
    first = anna.next_case()
    anna.post(f"/label/{first}/skip?depth=fields", anna.get(f"/label/{first}"))
    assert anna.next_case() != first
    leads_to = anna.post("/undo", anna.get("/label"))
    assert f"/label/{first}" in leads_to
    assert anna.next_case() == first


def test_a_skip_is_not_done_and_can_be_taken_up_again(client: TestClient) -> None:
    anna = Person(client, "rag", "Anna")
    first = anna.next_case()
    anna.post(f"/label/{first}/skip?depth=fields", anna.get(f"/label/{first}"))
    queue = anna.get("/label")
    assert "0 of 3 cases labelled, 1 skipped" in queue
    assert 'value="0"' in queue
    for _ in range(2):
        anna.say(anna.next_case(), **{"f.faithfulness": "1.0"})
    queue = anna.get("/label")
    assert "2 of 3 cases labelled, 1 skipped" in queue
    assert "1 that you skipped is still unlabelled" in queue
    assert f'href="/runs/rag/label/{first}?depth=fields">Open the first skipped case' in queue
    anna.say(first, **{"f.faithfulness": "0.0"})
    assert "3 of 3 cases labelled<" in anna.get("/label")


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Runs whose cases lie in a file outside the folder that is served."""
    source, folder = tmp_path / "home" / "my-cases.jsonl", tmp_path / "served"
    source.parent.mkdir()
    source.write_bytes(b"".join(orjson.dumps(case) + b"\n" for case in rag_cases(2)))
    krino.run("rag", [source], labeller=Says(lambda _: rag_labels(why=SECRET)), into=folder / "rag")
    return folder


def test_a_case_that_is_not_at_hand_cannot_be_labelled_and_the_page_says_what_to_do(elsewhere: Path) -> None:
    with serving(elsewhere) as client:
        anna = Person(client, "rag", "Anna")
        case = anna.next_case()
        for depth in ("fields", "labels"):
            page = anna.get(f"/label/{case}?depth={depth}")
            assert 'id="answer"' not in page
            assert "its file my-cases.jsonl is not in the folder that the workbench serves" in page
            assert "put a copy of my-cases.jsonl into that folder" in page
            assert "home" not in page
        sent = anna.sent(f"/label/{case}?depth=fields", page, 422, {"f.faithfulness": "1.0"})
        assert "my-cases.jsonl" in sent.text
        body = {"run": "rag", "case": "case-0", "rater": "anna", "answer": {"faithfulness": 1.0}}
        refused = client.post("/v1/labels", json=body)
        assert refused.status_code == 422
        assert "put a copy of my-cases.jsonl" in refused.text
        shutil.copy(elsewhere.parent / "home" / "my-cases.jsonl", elsewhere)
        assert 'id="answer"' in anna.get(f"/label/{case}")
        anna.say(case, **{"f.faithfulness": "1.0"})


def test_a_case_that_was_changed_since_cannot_be_labelled(elsewhere: Path) -> None:
    (elsewhere / "my-cases.jsonl").write_text('{"id": "case-0", "question": "Who?", "answer": "I."}\n')
    with serving(elsewhere) as client:
        anna = Person(client, "rag", "Anna")
        page = anna.get(f"/label/{anna.next_case()}")
        assert 'id="answer"' not in page
        assert "my-cases.jsonl no longer holds it as it was judged" in page


def test_hints_of_code_are_sent_only_after_the_verdict_was_shown(tmp_path: Path) -> None:
    case = {**rag_cases(1)[0], "answer": "It was built in 1958 and costs EUR 77.77 in Japan."}
    labels = rag_labels("supported", why=SECRET)
    krino.run("rag", [case], labeller=Says(lambda _: labels), into=tmp_path / "rag")
    with serving(tmp_path) as client:
        anna = Person(client, "rag", "Anna")
        digest = anna.next_case()
        for depth in ("fields", "labels"):
            page = anna.get(f"/label/{digest}?depth={depth}")
            assert "EUR, Japan" not in page
        anna.post(f"/label/{digest}/show?depth=fields", page)
        assert "EUR, Japan" in anna.get(f"/label/{digest}")


def test_undo_takes_the_last_label_back_and_leads_to_its_case(client: TestClient) -> None:
    anna = Person(client, "toy", "Anna")
    first = anna.next_case()
    anna.say(first, **{"f.score=": "1"})
    second = anna.next_case()
    anna.say(second, **{"f.score=": "0"})
    assert f"/label/{second}" in anna.post("/undo", anna.get("/label"))
    assert f"/label/{first}" in anna.post("/undo", anna.get("/label"))
    assert anna.post("/undo", anna.get(f"/label/{first}")) == "/runs/toy/label"
    assert len(store_of(client).history()) == 4


def test_a_form_that_is_sent_twice_is_one_label(client: TestClient) -> None:
    anna = Person(client, "toy", "Anna")
    case = anna.next_case()
    page = anna.get(f"/label/{case}")
    for _ in range(2):
        anna.post(f"/label/{case}?depth=fields", page, key=key_of(page), **{"f.score=": "1"})
    assert len(store_of(client).history()) == 1


def test_what_was_said_before_stands_in_the_form(client: TestClient) -> None:
    anna = Person(client, "toy", "Anna")
    case = anna.next_case()
    anna.say(case, **{"f.score=": "0.123"}, note="my note")
    page = anna.get(f"/label/{case}")
    assert 'value="0.123"' in page
    assert "my note" in page


# --- blind -----------------------------------------------------------------------------------------------


def get_paths(case: str) -> list[str]:
    return [
        "/label",
        "/label?depth=labels",
        f"/label/{case}",
        f"/label/{case}?depth=fields",
        f"/label/{case}?depth=labels",
        "/agreement",
        "/agreement?depth=labels",
        "/agreement/cases?field=faithfulness&people=1&judge=0",
        "/agreement/cases?field=faithfulness&people=1&judge=1",
    ]


def api_paths(run: str) -> list[str]:
    query = f"run={run}&rater=Anna"
    return [f"/v1/labels?{query}", f"/v1/labels/next?{query}", f"/v1/labels/export?{query}"]


def test_before_judging_no_byte_of_the_verdict_is_sent_on_any_route(client: TestClient, runs: Path) -> None:
    """The labeller's reasons, the explanations of the verdict and its evidence all stand in the judgement."""
    explained = {
        str(record["verdict"]["faithfulness_explanation"]) for record in load_stored_run(runs / "rag").records()
    }
    assert any(SECRET in str(record) for record in load_stored_run(runs / "rag").records())
    anna = Person(client, "rag", "Anna")
    for case in cases_of(runs, "rag"):
        sent = [anna.get(path) for path in get_paths(case)]
        sent += [client.get(path).text for path in api_paths("rag")]
        page = anna.get(f"/label/{case}?depth=labels")
        sent.append(anna.sent(f"/label/{case}?depth=labels", page, 422, {}).text)
        sent.append(anna.sent(f"/label/{case}?depth=labels", page, 200, {"more": "l.claims"}).text)
        for text in sent:
            assert SECRET not in text
            assert not any(words in text for words in explained)


def test_what_others_said_is_hidden_until_one_has_judged_and_asked(client: TestClient, runs: Path) -> None:
    ben = Person(client, "rag", "Ben")
    case = cases_of(runs, "rag")[0]
    ben.say(case, **{"f.faithfulness=": "0.7654"}, note="a-note-of-ben")
    anna = Person(client, "rag", "Anna")
    for path in get_paths(case):
        page = anna.get(path)
        assert "a-note-of-ben" not in page
        assert f'/label/{case}">case-0' not in page
    assert "0.7654" not in anna.get(f"/label/{case}")
    anna.say(case, **{"f.faithfulness": "1.0"})
    assert "a-note-of-ben" not in anna.get(f"/label/{case}")
    leads_to = anna.post(f"/label/{case}/show?depth=fields", anna.get(f"/label/{case}"))
    page = client.get(leads_to.partition("#")[0]).text
    assert "a-note-of-ben" in page
    assert '<th scope="row" class="text">Anna</th>' in page, "her own labels stand beside his"
    assert SECRET in page


def test_a_label_after_the_verdict_was_shown_is_marked(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    first, second = cases_of(runs, "toy")[:2]
    anna.post(f"/label/{first}/show?depth=fields", anna.get(f"/label/{first}"))
    anna.say(first, **{"f.score=": "1"})
    client.get("/runs/toy/cases/case-1", headers=PAGE)  # the page of the case shows its verdict
    anna.say(second, **{"f.score=": "1"})
    anna.say(cases_of(runs, "toy")[2], **{"f.score=": "1"})
    current = store_of(client).current(Subject.of(load_stored_run(runs / "toy").manifest))
    assert [event.blind for event in current] == [False, False, True]


def test_agreement_names_only_cases_that_the_rater_has_judged(client: TestClient, runs: Path) -> None:
    first, second = cases_of(runs, "toy")[:2]
    ben = Person(client, "toy", "Ben")
    ben.say(first, **{"f.score=": "0"})
    ben.say(second, **{"f.score=": "1"})
    anna = Person(client, "toy", "Anna")
    anna.say(first, **{"f.score=": "0"})
    page = anna.get("/agreement")
    assert f"/label/{first}" in page
    assert f"/label/{second}" not in page
    cell = anna.get("/agreement/cases?field=score&people=1&judge=0")
    assert "1 more case hidden" in cell
    assert second not in cell


# --- agreement -------------------------------------------------------------------------------------------


def test_agreement_follows_the_labels_and_a_cell_opens_its_cases(client: TestClient, runs: Path) -> None:
    cases = cases_of(runs, "toy")
    anna = Person(client, "toy", "Anna")
    assert "Nobody has labelled" in anna.get("/agreement")
    for case in cases[:4]:
        anna.say(case, **{"f.score=": "1"})
    page = anna.get("/agreement")
    assert "Cohen's kappa" in page or "Cohen&#39;s kappa" in page or "Cohen&#x27;s kappa" in page
    link = re.search(r'href="(/runs/toy/agreement/cases\?[^"]*people=1&amp;judge=0[^"]*)"', page)
    assert link, page
    opened = client.get(link[1].replace("&amp;", "&")).text
    assert [case for case in cases if case in opened] == cases[1:3]


def test_where_nothing_is_new_nothing_is_sent(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    first = client.get("/runs/toy/agreement", headers=PAGE)
    again = {"if-none-match": first.headers["etag"], **PAGE}
    assert client.get("/runs/toy/agreement", headers=again).status_code == 304
    anna.say(cases_of(runs, "toy")[0], **{"f.score=": "1"})
    assert client.get("/runs/toy/agreement", headers=again).status_code == 200


# --- safe ------------------------------------------------------------------------------------------------

HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}"


def test_a_hostile_name_and_note_are_text_wherever_they_are_shown(client: TestClient, runs: Path) -> None:
    eve = Person(client, "toy", HOSTILE)
    case = cases_of(runs, "toy")[0]
    eve.say(case, **{"f.score=": "1"}, note=HOSTILE)
    eve.post(f"/label/{case}/show?depth=fields", eve.get(f"/label/{case}"))
    for path in (
        "/label",
        "/label?who=1",
        f"/label/{case}",
        "/agreement",
        "/agreement/cases?field=score&people=1&judge=1",
    ):
        page = eve.get(path)
        assert "<script>alert" not in page
        assert "<img src=x" not in page
    assert "&lt;script&gt;" in eve.get("/label")
    assert "{{7*7}}" in eve.get("/label")


@pytest.mark.parametrize(
    "query", ["field=<script>alert(1)</script>&people=x&judge=y", "field=score&people=<img src=x>&judge=1"]
)
def test_hostile_words_in_an_address_are_text(client: TestClient, query: str) -> None:
    Person(client, "toy", "Anna").say(store_case(client), **{"f.score=": "1"})
    page = client.get(f"/runs/toy/agreement/cases?{query}", headers=PAGE).text
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def store_case(client: TestClient) -> str:
    run = client.app.state.workbench.runs.open("toy").run  # type: ignore[attr-defined]
    return str(next(run.roll()).input_hash)


def test_every_form_is_refused_without_its_token(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    case = cases_of(runs, "toy")[0]
    for path in (
        "/rater",
        f"/label/{case}?depth=fields",
        f"/label/{case}/skip?depth=fields",
        f"/label/{case}/show?depth=fields",
        "/undo",
    ):
        for data in ({"name": "Eve", "f.score=": "1"}, {"name": "Eve", "f.score=": "1", "csrf": "made up"}):
            assert anna.client.post(f"/runs/toy{path}", data=data, headers=PAGE).status_code == 403, path
    assert store_of(client).history() == []


def test_every_form_on_the_pages_has_the_token(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    case = cases_of(runs, "toy")[0]
    anna.say(case, **{"f.score=": "1"})
    for path in ("/label", "/label?who=1", f"/label/{case}", f"/label/{case}?depth=labels", "/agreement"):
        for form in re.findall(r'<form method="post".*?</form>', anna.get(path), re.S):
            assert 'name="csrf"' in form


@pytest.mark.parametrize("case", ["0" * 32, "nonsense", "a" * 300, "%00"])
def test_a_case_that_is_not_there_is_told(client: TestClient, case: str) -> None:
    anna = Person(client, "toy", "Anna")
    assert anna.client.get(f"/runs/toy/label/{case}", headers=PAGE).status_code in (303, 404)
    assert anna.client.get("/runs/none/label", headers=PAGE).status_code == 404


def test_who_has_said_no_name_is_asked_for_one(client: TestClient, runs: Path) -> None:
    case = cases_of(runs, "toy")[0]
    sent = client.get(f"/runs/toy/label/{case}", headers=PAGE)
    assert sent.status_code == 303
    page = client.get(sent.headers["location"], headers=PAGE).text
    assert "Your name" in page
    refused = client.post(f"/runs/toy/label/{case}?depth=fields", data={"csrf": csrf_of(page), "f.score=": "1"})
    assert refused.status_code == 409


@pytest.mark.parametrize("name", ["", " ", "x" * 81, "\u200b"])
def test_a_name_that_is_none_is_refused(client: TestClient, name: str) -> None:
    page = client.get("/runs/toy/label", headers=PAGE).text
    assert client.post("/runs/toy/rater", data={"csrf": csrf_of(page), "name": name}).status_code == 422


def test_with_a_token_only_who_is_let_in_may_label(runs: Path, tmp_path: Path) -> None:
    with serving(runs, token=TOKEN, database=f"sqlite:///{tmp_path / 'labels.sqlite'}") as client:
        assert client.get("/runs/toy/label", headers=PAGE).status_code == 303
        assert client.get("/v1/labels?run=toy").status_code == 401
        log_in(client)
        page = client.get("/runs/toy/label", headers=PAGE).text
        client.post("/runs/toy/rater", data={"csrf": csrf_of(page), "name": "Anna"})
        assert "Open the next case" in client.get("/runs/toy/label", headers=PAGE).text


# --- whose label it is, and which one ------------------------------------------------------------------------


def test_a_page_that_one_person_opened_saves_nothing_under_the_name_of_another(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    case = anna.next_case()
    page = anna.get(f"/label/{case}?depth=fields")
    assert 'name="rater" value="Anna"' in page
    data = {"csrf": csrf_of(page), "key": key_of(page), "rater": "Anna", "f.score=": "0.5"}
    client.post("/runs/toy/rater", data={"csrf": csrf_of(page), "name": "Ben"}, headers=PAGE)
    answer = client.post(f"/runs/toy/label/{case}?depth=fields", data=data, headers=PAGE)
    assert answer.status_code == 409
    assert "opened by Anna" in answer.text
    assert store_of(client).current(Subject.of(load_stored_run(runs / "toy").manifest)) == []


def test_an_answer_that_was_changed_and_saved_again_from_the_same_page_counts(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    case = anna.next_case()
    page = anna.get(f"/label/{case}?depth=fields")
    for score in ("0.5", "0.25", "0.25"):
        anna.post(f"/label/{case}?depth=fields", page, key=key_of(page), **{"f.score=": score})
    (event,) = store_of(client).current(Subject.of(load_stored_run(runs / "toy").manifest))
    assert event.answer == {"score": 0.25}


def test_who_has_seen_a_case_side_by_side_is_not_blind_to_it(client: TestClient, runs: Path) -> None:
    anna = Person(client, "toy", "Anna")
    entry = next(iter(load_stored_run(runs / "toy").roll()))
    shown = client.get("/compare/case", params={"a": "toy", "b": "toy", "id": entry.id}, headers=PAGE)
    assert shown.status_code == 200
    anna.say(entry.input_hash, **{"f.score=": "0.5"})
    (event,) = store_of(client).current(Subject.of(load_stored_run(runs / "toy").manifest))
    assert not event.blind


SHOWS_VERDICTS = {
    "the list of cases": "/runs/rag",
    "a search": "/runs/rag?q=case-0",
    "the API of cases": "/v1/runs/rag/cases",
    "labels of others": "/v1/labels?run=rag",
    "the export of labels": "/v1/labels/export?run=rag",
    "the agreement of programs": "/v1/labels/agreement?run=rag",
    "what changed": "/compare?a=rag&b=other",
}


@pytest.mark.parametrize("address", SHOWS_VERDICTS.values(), ids=SHOWS_VERDICTS)
def test_who_was_shown_a_verdict_in_passing_is_not_blind_and_the_rest_stays_hidden(
    address: str, tmp_path: Path
) -> None:
    make_rag_run(tmp_path / "rag", 1)
    make_rag_run(tmp_path / "other", 1, label="unsupported")
    (case,) = cases_of(tmp_path, "rag")
    with serving(tmp_path) as client:
        Person(client, "rag", "Ben").say(case, **{"f.faithfulness": "0.0"})
        anna = Person(client, "rag", "Anna")
        for _ in range(2):
            assert client.get(address, headers=PAGE).status_code == 200
        page = anna.get(f"/label/{case}")
        assert "marked as not blind" in page
        assert SECRET not in page
        assert "What the judge says" not in page
        anna.say(case, **{"f.faithfulness": "1.0"})
        events = store_of(client).current(Subject.of(load_stored_run(tmp_path / "rag").manifest))
        assert {event.rater: event.blind for event in events} == {"Ben": True, "Anna": False}
        seen = [event for event in store_of(client).history() if event.action == "seen"]
        assert len({event.place.input_hash for event in seen}) == len(seen) == 1, "once is enough"


@pytest.mark.parametrize("address", ["/agreement", "/agreement/cases?field=faithfulness&people=1&judge=0"])
def test_what_the_agreement_shows_is_seen(client: TestClient, runs: Path, address: str) -> None:
    wrong = cases_of(runs, "rag")[1]
    anna = Person(client, "rag", "Anna")
    anna.say(wrong, **{"f.faithfulness": "1.0"})
    assert "case-1" in anna.get(address)
    anna.say(wrong, "labels", **filled(rag_labels("supported")))
    events = store_of(client).current(Subject.of(load_stored_run(runs / "rag").manifest))
    assert {event.depth: event.blind for event in events} == {"fields": True, "labels": False}


def test_who_tries_a_case_has_seen_its_verdict(client: TestClient, runs: Path) -> None:
    anna = Person(client, "rag", "Anna")
    page, case = client.get("/try").text, json.dumps(rag_cases(1)[0])
    sent = client.post("/try", data={"csrf": csrf_of(page), "judge": "rag", "labeller": "local", "case": case})
    assert "Verdict" in sent.text
    anna.say(cases_of(runs, "rag")[0], **{"f.faithfulness": "1.0"})
    (event,) = store_of(client).current(Subject.of(load_stored_run(runs / "rag").manifest))
    assert not event.blind


def test_who_has_not_said_a_name_marks_nothing(client: TestClient) -> None:
    for address in ("/runs/rag", "/v1/runs/rag/cases", "/runs/rag/agreement"):
        client.get(address, headers=PAGE)
    assert store_of(client).history() == []


def test_a_run_without_a_judged_case_has_an_empty_queue_also_the_second_time(client: TestClient, runs: Path) -> None:
    folder = runs / "none"
    krino.run(ToyJudge(), [{"id": "a", "text": "unjudgeable"}], into=folder)
    for _ in range(2):
        anna = Person(client, "none", "Anna")
        assert anna.next_case() == ""
