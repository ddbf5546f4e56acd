"""Sessions and form tokens: only what was signed here, for this purpose, and not too long ago."""

from __future__ import annotations

import pytest

from krino.web.sessions import SESSION_SECONDS, TokenAuth

TOKEN = "a-token-that-nobody-guesses"
VISIT = "v" * 32


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1_800_000_000.0]
    monkeypatch.setattr("krino.web.sessions.time.time", lambda: now[0])
    return now


def test_the_token_and_nothing_near_it_is_known() -> None:
    auth = TokenAuth(TOKEN)
    assert auth.is_token(TOKEN)
    for near in ("", TOKEN[:-1], TOKEN + " ", TOKEN.upper(), TOKEN + "\0", "\ud800"):
        assert not auth.is_token(near)


def test_without_a_token_nothing_is_known_and_nothing_is_locked() -> None:
    auth = TokenAuth(None)
    assert not auth.requires_token
    assert not auth.is_token("")
    assert TokenAuth(TOKEN).requires_token


def test_a_session_holds_for_its_time_and_no_longer(clock: list[float]) -> None:
    auth = TokenAuth(TOKEN)
    session = auth.new_session()
    assert SESSION_SECONDS == 604_800, "seven days, as the docs say"
    for seconds, holds in ((0, True), (604_799, True), (1, False), (1, False)):
        clock[0] += seconds
        assert auth.is_session(session) is holds
    clock[0] -= 2 * SESSION_SECONDS
    assert not auth.is_session(session), "from a time to come"


def test_every_change_of_a_session_makes_it_worthless() -> None:
    auth = TokenAuth(TOKEN)
    session = auth.new_session()
    for place in range(len(session)):
        other = "0" if session[place] != "0" else "1"
        assert not auth.is_session(session[:place] + other + session[place + 1 :])
    begun, _, signature = session.rpartition(".")
    for dress in ("", ".", "..", begun, signature, f".{signature}", f"x{session}", f"{session}x", "é" * 40, "\ud800"):
        assert not auth.is_session(dress)


def test_two_sessions_are_never_the_same() -> None:
    auth = TokenAuth(TOKEN)
    assert len({auth.new_session() for _ in range(50)}) == 50
    visits = {auth.new_visit() for _ in range(50)}
    assert len(visits) == 50
    assert {len(visit) for visit in visits} == {32}, "as long as the door takes one for a visit"


def test_a_session_that_was_ended_does_not_come_back_and_others_stay() -> None:
    auth = TokenAuth(TOKEN)
    first, second = auth.new_session(), auth.new_session()
    auth.end_session(first)
    assert not auth.is_session(first)
    assert auth.is_session(second)


def test_what_is_no_session_is_not_remembered_as_ended() -> None:
    auth = TokenAuth(TOKEN)
    for number in range(100):
        auth.end_session(f"{number}.made-up.{'0' * 64}")
    assert not auth._ended


def test_sessions_outlive_a_restart_but_not_a_change_of_the_token() -> None:
    session = TokenAuth(TOKEN).new_session()
    assert TokenAuth(TOKEN).is_session(session)
    assert not TokenAuth(TOKEN + "2").is_session(session)
    assert not TokenAuth(None).is_session(session)


def test_a_form_token_belongs_to_one_visit_and_one_server() -> None:
    auth = TokenAuth(TOKEN)
    token = auth.form_token(VISIT)
    assert auth.is_form_token(VISIT, token)
    assert not auth.is_form_token("w" * 32, token)
    assert not auth.is_form_token(VISIT, token[:-1])
    assert not auth.is_form_token(VISIT, "")
    assert not TokenAuth(TOKEN + "2").is_form_token(VISIT, token)
    assert TokenAuth(None).form_token(VISIT) != TokenAuth(None).form_token(VISIT)


def test_what_is_signed_for_one_purpose_is_worthless_for_the_other(clock: list[float]) -> None:
    auth = TokenAuth(TOKEN)
    begun = f"{int(clock[0])}.x"
    assert not auth.is_session(f"{begun}.{auth.form_token(begun)}")
    _, _, signature = auth.new_session().rpartition(".")
    assert not auth.is_form_token(VISIT, signature)
