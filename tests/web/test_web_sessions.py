"""Sessions and form tokens: only what was signed here, for this purpose, and not too long ago."""

from __future__ import annotations

import pytest

from krino.web.sessions import SESSION_SECONDS, Doorkeeper

TOKEN = "a-token-that-nobody-guesses"
VISIT = "v" * 32


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_800_000_000.0]
    monkeypatch.setattr("krino.web.sessions.time.time", lambda: now[0])
    return now


def test_the_token_and_nothing_near_it_is_known() -> None:
    keeper = Doorkeeper(TOKEN)
    assert keeper.knows(TOKEN)
    for near in ("", TOKEN[:-1], TOKEN + " ", TOKEN.upper(), TOKEN + "\0", "\ud800"):
        assert not keeper.knows(near)


def test_without_a_token_nothing_is_known_and_nothing_is_locked() -> None:
    keeper = Doorkeeper(None)
    assert not keeper.locked
    assert not keeper.knows("")
    assert Doorkeeper(TOKEN).locked


def test_a_session_holds_for_its_time_and_no_longer(clock: list[float]) -> None:
    keeper = Doorkeeper(TOKEN)
    session = keeper.new_session()
    assert SESSION_SECONDS == 604_800, "seven days, as the docs say"
    for seconds, holds in ((0, True), (604_799, True), (1, False), (1, False)):
        clock[0] += seconds
        assert keeper.is_session(session) is holds
    clock[0] -= 2 * SESSION_SECONDS
    assert not keeper.is_session(session), "from a time to come"


def test_every_change_of_a_session_makes_it_worthless() -> None:
    keeper = Doorkeeper(TOKEN)
    session = keeper.new_session()
    for place in range(len(session)):
        other = "0" if session[place] != "0" else "1"
        assert not keeper.is_session(session[:place] + other + session[place + 1 :])
    begun, _, signature = session.rpartition(".")
    for dress in ("", ".", "..", begun, signature, f".{signature}", f"x{session}", f"{session}x", "é" * 40, "\ud800"):
        assert not keeper.is_session(dress)


def test_two_sessions_are_never_the_same() -> None:
    keeper = Doorkeeper(TOKEN)
    assert len({keeper.new_session() for _ in range(50)}) == 50
    visits = {keeper.new_visit() for _ in range(50)}
    assert len(visits) == 50
    assert {len(visit) for visit in visits} == {32}, "as long as the door takes one for a visit"


def test_a_session_that_was_ended_does_not_come_back_and_others_stay() -> None:
    keeper = Doorkeeper(TOKEN)
    first, second = keeper.new_session(), keeper.new_session()
    keeper.end_session(first)
    assert not keeper.is_session(first)
    assert keeper.is_session(second)


def test_what_is_no_session_is_not_remembered_as_ended() -> None:
    keeper = Doorkeeper(TOKEN)
    for number in range(100):
        keeper.end_session(f"{number}.made-up.{'0' * 64}")
    assert not keeper._ended


def test_sessions_outlive_a_restart_but_not_a_change_of_the_token() -> None:
    session = Doorkeeper(TOKEN).new_session()
    assert Doorkeeper(TOKEN).is_session(session)
    assert not Doorkeeper(TOKEN + "2").is_session(session)
    assert not Doorkeeper(None).is_session(session)


def test_a_form_token_belongs_to_one_visit_and_one_server() -> None:
    keeper = Doorkeeper(TOKEN)
    token = keeper.form_token(VISIT)
    assert keeper.is_form_token(VISIT, token)
    assert not keeper.is_form_token("w" * 32, token)
    assert not keeper.is_form_token(VISIT, token[:-1])
    assert not keeper.is_form_token(VISIT, "")
    assert not Doorkeeper(TOKEN + "2").is_form_token(VISIT, token)
    assert Doorkeeper(None).form_token(VISIT) != Doorkeeper(None).form_token(VISIT)


def test_what_is_signed_for_one_purpose_is_worthless_for_the_other(clock: list[float]) -> None:
    keeper = Doorkeeper(TOKEN)
    begun = f"{int(clock[0])}.x"
    assert not keeper.is_session(f"{begun}.{keeper.form_token(begun)}")
    _, _, signature = keeper.new_session().rpartition(".")
    assert not keeper.is_form_token(VISIT, signature)
