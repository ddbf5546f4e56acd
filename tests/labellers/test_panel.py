"""Panels over real HTTP: juries, repeats, ties, empty seats, money, and what is kept of every vote."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

import orjson
import pytest
from pydantic import BaseModel, ConfigDict

import krino
from fake_llm import FakeServer, Faults, ReceivedRequest
from krino.contract import Joined, Judgement, Labelled
from krino.labellers.local import LocalLabeller
from krino.labellers.panel import ABSENT, TIE, Panel
from rag_making import BRIDGE, HARBOUR, case_of, raw_labels
from toy_judge import ToyCase, ToyJudge, ToyLabels, ToyVerdict

GOOD = {"label": "good", "quote": "fine"}
BAD = {"label": "bad", "quote": "text"}
CASE = {"text": "a fine text"}
SETTINGS: dict[str, Any] = {"cache": "off", "backoff": 0.001, "retries": 1, "reasks": 0, "api_key": "secret-key"}
MILL = "The mill at Varde was built in 1850."


def by_model(replies: Mapping[str, dict[str, Any] | str]) -> Callable[[ReceivedRequest], dict[str, Any] | str]:
    return lambda request: replies[request.body["model"]]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply=GOOD) as running:
        yield running


def jury_of(server: FakeServer, **replies: dict[str, Any] | str) -> Panel:
    server.configure(reply=by_model(replies))
    return krino.jury(list(replies), base_url=server.url, **SETTINGS)


async def judged(
    labeller: krino.Labeller, case: dict[str, Any] | None = None, judge: krino.Judge[Any, Any, Any] | str | None = None
) -> Judgement:
    async with labeller:
        return await krino.ajudge(judge or ToyJudge(), case or CASE, labeller=labeller)


def findings_of(judgement: Judgement, rule: str) -> list[str]:
    return [finding.text for finding in judgement.findings if finding.rule == rule]


def dead_address() -> str:
    """An address at which nobody listens."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{place.getsockname()[1]}/v1"


# --- a jury votes ----------------------------------------------------------------------------------


async def test_two_of_three_decide_and_every_vote_is_kept(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b=BAD, c=GOOD))
    assert (judgement.status, judgement.verdict) == ("ok", {"score": 1.0, "note": "labelled good"})
    assert judgement.labels == GOOD
    assert [(ballot.member, ballot.labels) for ballot in judgement.ballots] == [("a", GOOD), ("b", BAD), ("c", GOOD)]
    scores = [(ballot.verdict or {})["score"] for ballot in judgement.ballots]
    assert scores == [1.0, 0.0, 1.0]
    assert judgement.usage.calls == server.stats().calls == 3
    assert sum(ballot.usage.tokens for ballot in judgement.ballots) == judgement.usage.tokens
    assert (judgement.labeller or {})["kind"] == "panel"
    assert [ballot.labeller for ballot in judgement.ballots] == [{"channel": "json_schema"}] * 3


async def test_a_quotation_comes_from_a_seat_of_the_majority(server: FakeServer) -> None:
    quoting = {"label": "good", "quote": "a fine"}
    judgement = await judged(jury_of(server, a=GOOD, b=BAD, c=quoting))
    assert judgement.labels in (GOOD, quoting)


async def test_a_tie_that_no_label_can_express_fails_with_the_votes_on_record(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b=BAD))
    assert (judgement.status, judgement.verdict) == ("failed", None)
    assert judgement.reason == ("the seats are evenly split: label: bad 1, good 1, and the label has no value for that")
    assert judgement.usage.calls == 2
    assert [ballot.labels for ballot in judgement.ballots] == [GOOD, BAD]


async def test_an_undecided_case_is_counted_in_its_slice(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b=BAD), {**CASE, "metadata": {"court": "Ghent"}})
    assert (judgement.status, judgement.metadata) == ("failed", {"court": "Ghent"})


class UnsureLabels(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: Literal["good", "bad", "unclear"]
    quote: str


class UnsureJudge(ToyJudge):
    """Has a label for "nobody can tell"."""

    labels_model: ClassVar[type[BaseModel]] = UnsureLabels  # type: ignore[assignment,misc]


async def test_a_tie_abstains_where_the_labels_have_a_word_for_it(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b=BAD), judge=UnsureJudge())
    assert (judgement.status, (judgement.labels or {})["label"]) == ("ok", "unclear")
    assert findings_of(judgement, TIE) == ["label: bad 1, good 1; taken as unclear"]


async def test_the_embedded_labeller_may_sit_on_a_jury(server: FakeServer) -> None:
    server.configure(reply=BAD)
    judgement = await judged(krino.jury(["local", "a", "b"], base_url=server.url, **SETTINGS))
    assert [ballot.member for ballot in judgement.ballots] == ["local", "a", "b"]
    assert (judgement.verdict or {})["score"] == 0.0


async def test_what_rules_decide_asks_no_seat(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b=BAD), {"text": ""})
    assert (judgement.status, judgement.ballots, server.stats().calls) == ("ok", [], 0)


def test_ordinary_code_can_use_a_jury(server: FakeServer) -> None:
    judgement = krino.judge(ToyJudge(), CASE, labeller=jury_of(server, a=GOOD, b=BAD, c=BAD))
    assert (judgement.verdict or {})["score"] == 0.0


async def test_members_of_other_providers_and_addresses_sit_together(server: FakeServer) -> None:
    claude = krino.llm("claude-x", base_url=server.anthropic_url, **SETTINGS)
    judgement = await judged(krino.jury([claude, "gpt-x"], base_url=server.url, **SETTINGS))
    assert [ballot.member for ballot in judgement.ballots] == ["claude-x", "gpt-x"]
    assert {request.dialect for request in server.requests} == {"anthropic", "openai"}


async def test_who_sits_where_changes_nothing_even_for_a_judge_that_joins_carelessly(server: FakeServer) -> None:
    class Careless(ToyJudge):
        def join_votes(self, case: ToyCase, facts: int, ballots: Sequence[ToyLabels]) -> Joined[ToyLabels]:
            return Joined(ballots[0])

    replies = {"a": GOOD, "b": BAD}
    forth = await judged(jury_of(server, **replies), judge=Careless())
    back = await judged(jury_of(server, **dict(reversed(replies.items()))), judge=Careless())
    assert forth.labels == back.labels


async def test_joined_labels_that_do_not_fit_the_case_are_no_verdict(server: FakeServer) -> None:
    class Inventive(ToyJudge):
        def join_votes(self, case: ToyCase, facts: int, ballots: Sequence[ToyLabels]) -> Joined[ToyLabels]:
            return Joined(ToyLabels(label="good", quote="made up"))

    judgement = await judged(jury_of(server, a=GOOD, b=BAD), judge=Inventive())
    assert (judgement.status, judgement.usage.calls) == ("failed", 2)
    assert "'made up' does not occur in the text" in (judgement.reason or "")


# --- empty seats -----------------------------------------------------------------------------------


async def test_a_member_that_gives_no_labels_leaves_the_others_to_decide(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b="I would rather not say.", c=GOOD))
    assert (judgement.status, judgement.usage.calls) == ("ok", 3)
    assert len(absent := findings_of(judgement, ABSENT)) == 1
    assert absent[0].startswith("no labels from b: no valid labels in 1 replies")
    assert (judgement.ballots[1].labels, judgement.ballots[1].verdict) == (None, None)
    assert judgement.ballots[1].usage.calls == 1


async def test_without_a_quorum_it_is_an_error_that_keeps_cost_votes_and_reply(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b="No.", c="No."))
    assert (judgement.status, judgement.verdict, judgement.usage.calls) == ("error", None, 3)
    assert (judgement.error or "").startswith("1 of 3 seats gave valid labels, and 2 must: b: ")
    assert judgement.raw_reply == "No."
    assert [ballot.labels for ballot in judgement.ballots] == [GOOD, None, None]


async def test_a_stated_quorum_holds(server: FakeServer) -> None:
    server.configure(reply=by_model({"a": GOOD, "b": "No.", "c": "No."}))
    judgement = await judged(krino.jury(["a", "b", "c"], quorum=1, base_url=server.url, **SETTINGS))
    assert (judgement.status, len(findings_of(judgement, ABSENT))) == ("ok", 2)


async def test_a_member_whose_endpoint_is_dead_rests_while_the_others_go_on(server: FakeServer) -> None:
    dead = krino.llm("dead", base_url=dead_address(), **SETTINGS)
    async with krino.jury([dead, "a", "b"], base_url=server.url, **SETTINGS) as labeller:
        cases = [{"text": f"fine {n}"} for n in range(3)]
        first, *later = [await krino.ajudge(ToyJudge(), case, labeller=labeller) for case in cases]
    assert first.status == "ok"
    assert "no answer from" in (first.ballots[0].problem or "")
    assert [judgement.status for judgement in later] == ["ok", "ok"]
    assert all((judgement.ballots[0].problem or "").startswith("not asked: no answer") for judgement in later)


async def test_with_every_endpoint_dead_the_run_stops() -> None:
    members = [krino.llm(name, base_url=dead_address(), **SETTINGS) for name in ("a", "b", "c")]
    with pytest.raises(krino.RunStopped, match="no answer from"):
        await judged(krino.jury(members))


@pytest.mark.parametrize(("fault", "words"), [("401", "refuses the key"), ("404", "knows no such model")])
async def test_a_refused_key_or_an_unknown_model_stops_the_run_and_the_paid_case_is_on_record(
    server: FakeServer, fault: str, words: str
) -> None:
    judgements = []
    with FakeServer(faults=Faults(schedule=[fault] * 99)) as other:
        refused = krino.llm("b", base_url=other.url, **SETTINGS, concurrency=1)
        async with krino.jury([refused, "a"], base_url=server.url, **SETTINGS, concurrency=1) as labeller:
            with pytest.raises(krino.RunStopped, match=words):
                async for judgement in krino.ajudge_many(ToyJudge(), [CASE] * 20, labeller=labeller):
                    judgements.append(judgement)
    assert server.stats().calls == 1, "the others are not paid case after case"
    (cut_short,) = judgements
    assert (cut_short.status, cut_short.usage.calls) == ("error", 1)
    assert "stopped before every seat had answered" in (cut_short.error or "")
    assert [ballot.labels for ballot in cut_short.ballots] == [None, GOOD]


async def test_a_fault_in_a_members_own_code_is_an_empty_seat(server: FakeServer) -> None:
    judgement = await judged(
        krino.jury(["local", "a", "b"], base_url=server.url, **SETTINGS), {"text": "label-explode fine"}, Exploding()
    )
    assert judgement.status == "ok", judgement.error
    assert judgement.ballots[0].problem == "RuntimeError: a fault in the labeller"


class Exploding(ToyJudge):
    def label_locally(self, batch: Any) -> Any:
        raise RuntimeError("a fault in the labeller")


class Careless(krino.Labeller):
    """A member that hands over what it likes."""

    def describe(self) -> dict[str, Any]:
        return {"kind": "careless"}

    async def label(self, task: Any) -> Any:
        return Labelled(ToyLabels.model_construct(label="superb", quote="nowhere"), {})  # type: ignore[arg-type]


async def test_no_seat_gets_past_the_gate_that_a_reply_must_pass(server: FakeServer) -> None:
    members = {name: krino.llm(name, base_url=server.url, **SETTINGS) for name in ("a", "b")}
    judgement = await judged(Panel({"careless": Careless(), **members}))
    assert (judgement.status, judgement.labels) == ("ok", GOOD)
    assert "label: Input should be 'good' or 'bad'" in (judgement.ballots[0].problem or "")


# --- repeats ---------------------------------------------------------------------------------------


def shown_order(request: ReceivedRequest) -> list[int]:
    return [int(number) for number in re.findall(r"\[\[\S+ passage (\d)\]\]", request.user_text)]


async def test_repeats_ask_anew_with_passages_shuffled_and_agree_where_order_means_nothing(server: FakeServer) -> None:
    passages = [
        {"passage": 1, "useful_sentences": [1]},
        {"passage": 2, "useful_sentences": []},
        {"passage": 3, "useful_sentences": []},
    ]
    server.configure(reply=raw_labels(passages=passages))
    case = case_of(context=[BRIDGE, HARBOUR, MILL])
    judgement = await judged(krino.repeated("m", 3, base_url=server.url, **SETTINGS), case, "rag")
    assert judgement.status == "ok", judgement.error
    orders = [ballot.order or [1, 2, 3] for ballot in judgement.ballots]
    assert orders[0] == [1, 2, 3]
    assert [1, 2, 3] not in orders[1:]
    assert sorted(orders) == sorted(shown_order(request) for request in server.requests)
    assert len({str(ballot.verdict) for ballot in judgement.ballots}) == 1
    assert [ballot.repeat for ballot in judgement.ballots] == [1, 2, 3]


async def test_the_order_of_a_repeat_is_the_same_whenever_it_is_asked(server: FakeServer) -> None:
    server.configure(reply=raw_labels())
    for _ in range(2):
        await judged(krino.repeated("m", 4, base_url=server.url, **SETTINGS), case_of(), "rag")
    orders = sorted(str(shown_order(request)) for request in server.requests)
    assert orders == ["[1, 2]"] * 2 + ["[2, 1]"] * 6


async def test_repeats_are_paid_once_and_the_first_is_shared_with_a_plain_run(
    server: FakeServer, tmp_path: Path
) -> None:
    settings = {**SETTINGS, "cache": tmp_path / "replies.sqlite"}
    first = await judged(krino.repeated("m", 3, base_url=server.url, **settings))
    again = await judged(krino.repeated("m", 3, base_url=server.url, **settings))
    plain = await judged(krino.llm("m", base_url=server.url, **settings))
    assert (first.usage.calls, again.usage.calls, again.usage.cached) == (3, 0, 3)
    assert (plain.usage.calls, plain.usage.cached) == (0, 1)
    assert server.stats().calls == 3


async def test_a_reply_known_from_a_plain_run_is_no_repeat(server: FakeServer, tmp_path: Path) -> None:
    settings = {**SETTINGS, "cache": tmp_path / "replies.sqlite"}
    await judged(krino.llm("m", base_url=server.url, **settings))
    repeats = await judged(krino.repeated("m", 3, base_url=server.url, **settings))
    assert (repeats.usage.calls, repeats.usage.cached) == (2, 1)


@pytest.mark.parametrize("times", [101, 100_000])
def test_more_repeats_than_anyone_means_are_refused(server: FakeServer, times: int) -> None:
    with pytest.raises(krino.UsageProblem, match=rf"1 to 100 times about a case \(--repeat\), not {times:,}"):
        krino.repeated("m", times, base_url=server.url, **SETTINGS)
    assert len(krino.repeated("m", 100, base_url=server.url, **SETTINGS).seats) == 100


async def test_each_repeat_takes_the_next_seed(server: FakeServer) -> None:
    await judged(krino.repeated("m", 3, base_url=server.url, seed=7, **SETTINGS))
    assert sorted(request.body["seed"] for request in server.requests) == [7, 8, 9]


async def test_a_jury_can_be_repeated(server: FakeServer) -> None:
    server.configure(reply=by_model({"a": GOOD, "b": BAD, "c": GOOD}))
    judgement = await judged(krino.jury(["a", "b", "c"], repeat=2, base_url=server.url, **SETTINGS))
    seats = [(ballot.member, ballot.repeat) for ballot in judgement.ballots]
    assert seats == [("a", 1), ("b", 1), ("c", 1), ("a", 2), ("b", 2), ("c", 2)]
    assert (judgement.verdict or {})["score"] == 1.0


# --- money and pace --------------------------------------------------------------------------------


async def test_the_limit_holds_for_the_sum_of_all_seats(server: FakeServer) -> None:
    """Each model alone would stay below it."""
    prices: dict[str, Any] = {"price_in": 1.0, "price_out": 1.0}
    async with krino.llm("a", base_url=server.url, **SETTINGS, **prices) as one:
        cost = (await krino.ajudge(ToyJudge(), CASE, labeller=one)).usage.cost or 0.0
    limit = 7.5 * cost
    settings = {**SETTINGS, **prices, "max_cost": limit, "concurrency": 1}
    spent = 0.0
    with pytest.raises(krino.RunStopped, match="--max-cost"):
        async with krino.jury(["a", "b"], base_url=server.url, **settings) as labeller:
            async for judgement in krino.ajudge_many(ToyJudge(), [CASE] * 50, labeller=labeller):
                spent += judgement.usage.cost or 0.0
    assert 0.0 < spent <= limit


async def test_what_earlier_sittings_spent_counts_once_however_many_seats_there_are(server: FakeServer) -> None:
    labeller = krino.jury(["a", "b", "c"], base_url=server.url, max_tokens=10_000, **SETTINGS)
    labeller.already_spent(krino.Usage(calls=1, input_tokens=6_000))
    assert (await judged(labeller)).status == "ok"


async def test_seats_at_one_address_keep_one_pace(server: FakeServer) -> None:
    server.configure(latency=0.02)
    async with krino.jury(["a", "b", "c"], base_url=server.url, **SETTINGS, concurrency=2) as labeller:
        async for judgement in krino.ajudge_many(ToyJudge(), [CASE] * 6, labeller=labeller):
            assert judgement.status == "ok"
    assert server.stats().calls == 18
    assert server.stats().max_in_flight == 2


# --- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: krino.repeated("local", 3), "says the same each time"),
        (lambda: krino.jury(["local", "ollama:m"], repeat=2, cache="off"), "says the same each time"),
        (lambda: krino.jury(["ollama:m", "ollama:m"], cache="off"), "sits on the jury twice"),
        (lambda: krino.jury(["local"]), "two seats at least"),
        (lambda: krino.jury([]), "two seats at least"),
        (lambda: krino.repeated("ollama:m", 1), "must be at least 2"),
        (lambda: krino.repeated(LocalLabeller(), 2, seed=1), "seed: settings are for members given by name"),
        (lambda: krino.jury(["local", "ollama:m"], quorum=3, cache="off"), "quorum must be 1 to 2"),
    ],
)
def test_a_panel_that_makes_no_sense_is_refused(make: Callable[[], Panel], words: str) -> None:
    with pytest.raises(krino.UsageProblem, match=words):
        make()


def test_names_with_commas_are_a_jury(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KRINO_CACHE", "off")
    from krino.labellers.factory import labeller_from

    labeller = labeller_from("local, ollama:m")
    assert isinstance(labeller, Panel)
    assert list(labeller.members) == ["local", "ollama:m"]


# --- the record ------------------------------------------------------------------------------------


async def test_without_a_panel_the_record_does_not_grow() -> None:
    judgement = await krino.ajudge(ToyJudge(), CASE, labeller=LocalLabeller())
    assert b"ballots" not in judgement.to_json()
    assert Judgement.model_validate_json(judgement.to_json()) == judgement


async def test_a_record_with_ballots_can_be_read_back(server: FakeServer) -> None:
    judgement = await judged(jury_of(server, a=GOOD, b=BAD, c="No."))
    assert Judgement.model_validate_json(judgement.to_json()) == judgement
    assert orjson.loads(judgement.to_json())["ballots"][0]["member"] == "a"


async def test_the_panel_describes_everything_that_can_change_its_answers(server: FakeServer) -> None:
    described = jury_of(server, a=GOOD, b=BAD).describe()
    assert (described["kind"], described["repeat"], described["quorum"]) == ("panel", 1, 2)
    assert {name: member["model"] for name, member in described["members"].items()} == {"a": "a", "b": "b"}
    assert "secret-key" not in str(described)


async def test_a_ballot_without_a_verdict_of_its_own_still_votes(server: FakeServer) -> None:
    class Picky(ToyJudge):
        def settle(self, case: ToyCase, facts: int, labels: Any) -> krino.Settlement:
            if labels is not None and labels.label == "bad":
                raise krino.CannotJudge("no bad texts here")
            return super().settle(case, facts, labels)

    judgement = await judged(jury_of(server, a=GOOD, b=BAD, c=GOOD), judge=Picky())
    assert judgement.status == "ok"
    assert judgement.ballots[1].problem == "no verdict from these labels alone: CannotJudge: no bad texts here"
    assert ToyVerdict.model_validate(judgement.ballots[0].verdict)
