"""Labels for a true rate: the queue draws them where they help most, and the estimate from them holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest
from pydantic import BaseModel
from starlette.testclient import TestClient

import krino
from krino.people.rows import build_rows
from krino.people.store import CaseRef, Event, LabelStore, Subject
from krino.results.agreement.labels import labels_from_rows
from krino.results.true_rate import BY_ANSWER, TrueRate, true_rate
from krino.web.labels.queue import SHARE, CaseInterest, Queue, QueueRanking
from label_making import Person
from toy_judge import ToyJudge
from workbench_making import serving

SUBJECT = Subject("toy", "0" * 32, "1")
CASES = 400


class Simulated:
    """Cases whose truth is known, judged by a judge of known errors; a person labels what the queue brings."""

    def __init__(self, seed: int, *, rate: float = 0.1, sensitivity: float = 0.8, specificity: float = 0.95) -> None:
        draw = Random(seed)
        self.names = [f"{draw.getrandbits(128):032x}" for _ in range(CASES)]
        self.truth = {name: draw.random() < rate for name in self.names}
        chance = {True: sensitivity, False: 1 - specificity}
        self.judged = {name: draw.random() < chance[self.truth[name]] for name in self.names}
        disputed = {name: 0.5 if self.judged[name] != self.truth[name] else 0.0 for name in self.names}
        self.ranking = QueueRanking(
            CaseInterest(name, {"roll_up": word(self.judged[name])}, split=disputed[name], rolled_up=True)
            for name in self.names
        )
        self.events: list[Event] = []

    @property
    def rate(self) -> float:
        return sum(self.truth.values()) / CASES

    def label(self, count: int, target: str = "") -> None:
        for _ in range(count):
            turn = Queue(self.ranking, self.events, "fields", target).next("anna")
            assert turn is not None
            place = CaseRef(SUBJECT, turn.input_hash, turn.input_hash, "run")
            answer = {"roll_up": word(self.truth[turn.input_hash])}
            how = {"why": turn.why, "random": turn.random, "target": turn.target}
            self.events.append(Event(place, "anna", "fields", "label", answer, **how))  # type: ignore[arg-type]

    def estimate(self) -> TrueRate:
        rows = build_rows(self.events, {name: name for name in self.names}, "1", answers=("run", self.ranking.answers))
        records = [
            {"id": name, "status": "ok", "roll_up": word(self.judged[name]), "verdict": {}} for name in self.names
        ]
        return true_rate(records, labels_from_rows(rows), "fail")


def word(fails: bool) -> str:
    return "fail" if fails else "pass"


def test_more_labels_go_where_the_judge_errs_more_and_one_in_five_is_drawn_from_all() -> None:
    simulated = Simulated(1, rate=0.1, sensitivity=1.0, specificity=0.8)
    simulated.label(100, "fail")
    reasons = Counter(event.why for event in simulated.events)
    assert reasons == {"rate": 100 - 100 // SHARE, "random": 100 // SHARE}
    flagged = sum(simulated.judged[event.place.input_hash] for event in simulated.events)
    share = sum(simulated.judged.values()) / CASES
    assert flagged / 100 > 1.3 * share, "what it passes is right, what it fails is often wrong"


def test_the_interval_covers_the_true_rate_and_is_narrower_than_that_of_a_random_sample() -> None:
    """Twenty draws: fewer than 15 hits of a 95 % interval have a chance below 0.001."""
    covered, planned, simple = 0, 0.0, 0.0
    for seed in range(20):
        simulated = Simulated(seed)
        simulated.label(60, "fail")
        found = simulated.estimate()
        assert found.trusted == BY_ANSWER
        low, high = found.best.interval
        covered += low <= simulated.rate <= high
        planned += high - low
        by_chance = Simulated(seed)
        by_chance.ranking.order = []  # nothing disputed: the queue draws at random
        by_chance.label(60)
        low, high = by_chance.estimate().best.interval
        simple += high - low
    assert covered >= 15
    assert planned < simple


def test_disputed_cases_that_were_labelled_first_do_not_count_until_the_order_reaches_them() -> None:
    simulated = Simulated(3)
    simulated.label(40)
    simulated.label(60, "fail")
    found = simulated.estimate()
    low, high = found.best.interval
    assert found.labels < 100
    assert any("chosen for being disputed" in note for note in found.notes)
    assert low <= simulated.rate <= high


class KindVerdict(BaseModel):
    kind: Literal["good", "bad"]


class KindJudge(ToyJudge):
    """Is a text good or bad, in one word?"""

    name = "kind"
    verdict_model = KindVerdict  # type: ignore[assignment]

    def settle(self, case: Any, facts: int, labels: Any) -> Any:
        return KindVerdict(kind=labels.label)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    """A workbench over a run of 60 cases, one in four of them judged to be bad."""
    cases = [{"id": f"case-{n}", "text": f"text {n} is {'good' if n % 4 else 'bad'}"} for n in range(60)]
    krino.run(KindJudge, cases, labeller="local", into=tmp_path / "runs" / "r")
    with serving(tmp_path / "runs", database=f"sqlite:///{tmp_path / 'labels.sqlite'}") as opened:
        yield opened


def test_the_queue_page_offers_the_rates_of_the_run_and_keeps_the_choice(client: TestClient, tmp_path: Path) -> None:
    anna = Person(client, "r", "anna")
    page = anna.get("/label")
    assert "for the true rate of kind:bad" in page and "for the true rate of kind:good" in page
    page = anna.get("/label?of=kind:bad")
    assert "it was drawn at random for the true rate" in page
    assert "of=kind%3Abad" in page.split("Open the next case")[0].rsplit("href=", 1)[1]
    case = page.split("/label/")[1][:32]
    page = anna.get(f"/label/{case}?depth=fields&of=kind:bad")
    assert "of=kind%3Abad" in anna.post(f"/label/{case}/skip?depth=fields&of=kind:bad", page)
    store = LabelStore(tmp_path / "labels.sqlite", read_only=True)
    (event,) = store.history()
    assert (event.why, event.target, event.random) == ("rate", "kind:bad", False)
    store.close()


@pytest.mark.parametrize(
    "of", ["match:exact", "kind:awful", "kind:", ":", "a:b:c", "kind:below:x", "failed", "kind:bad\0"]
)
def test_a_rate_that_no_verdict_has_is_refused(client: TestClient, of: str) -> None:
    Person(client, "r", "anna")
    sent = client.get("/v1/labels/next", params={"run": "r", "rater": "anna", "of": of})
    assert sent.status_code == 404
    assert "no verdict has a label for" in sent.text


def test_a_client_cannot_say_that_a_case_was_drawn(client: TestClient) -> None:
    """The order is known on the server: a case that it did not bring is not part of the sample."""
    turn = client.get("/v1/labels/next", params={"run": "r", "rater": "ben", "of": "kind:bad"}).json()
    other = next(f"case-{place}" for place in range(60) if f"case-{place}" != turn["case"])
    given = {"run": "r", "rater": "ben", "answer": {"kind": "good"}, "of": "kind:bad"}
    chosen = client.post("/v1/labels", json={**given, "case": other}).json()
    drawn = client.post("/v1/labels", json={**given, "case": turn["case"]}).json()
    assert (chosen["why"], drawn["why"]) == ("chosen", "rate")


def test_true_rate_takes_the_weights_of_the_workbench(client: TestClient, tmp_path: Path) -> None:
    for _ in range(20):
        turn = client.get("/v1/labels/next", params={"run": "r", "rater": "ben", "of": "kind:bad"}).json()
        place = int(turn["case"].split("-")[1])
        answer = {"kind": "bad" if place % 8 == 0 else "good"}
        sent = {"run": "r", "rater": "ben", "case": turn["case"], "answer": answer, "of": "kind:bad"}
        assert client.post("/v1/labels", json=sent).status_code == 201
    exported = client.get("/v1/labels/export", params={"run": "r", "format": "jsonl"}).text.splitlines()
    assert all('"label_weight"' in line for line in exported)
    run = tmp_path / "runs" / "r"
    by_database = krino.true_rate(run, f"sqlite:///{tmp_path / 'labels.sqlite'}", "kind:bad").overall
    (tmp_path / "labels.jsonl").write_text("\n".join(exported))
    by_file = krino.true_rate(run, tmp_path / "labels.jsonl", "kind:bad").overall
    assert by_database.best == by_file.best
    assert by_database.best.value == pytest.approx(8 / 60, abs=0.08)
    assert by_database.judged == 0.25
