"""The settings of a model are declared once: keywords, flags, variables and records all come from the declaration."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from aiohttp import web

import krino
from krino.cli.commands.judge import judge as judge_command
from krino.labellers.settings import known_settings
from odd_endpoint import OddEndpoint
from toy_judge import ToyJudge

NOWHERE = "http://127.0.0.1:9/v1"
GOOD = {"label": "good", "quote": "fine"}


def test_every_setting_says_what_it_means_in_a_sentence() -> None:
    wrong = [name for name, setting in known_settings().items() if not setting.help.endswith(".")]
    assert wrong == []


def test_the_command_has_a_flag_for_each_setting_that_can_have_one() -> None:
    flags = inspect.signature(judge_command).parameters
    missing = [name for name, setting in known_settings().items() if setting.flag and name not in flags]
    assert missing == []
    assert {"api_key", "env", "insist"}.isdisjoint(flags), "a key must not stand in the history of a shell"


def test_help_of_krino_llm_lists_the_settings_with_their_defaults() -> None:
    shown = inspect.signature(krino.llm).parameters
    assert (shown["timeout"].default, shown["reasks"].default, "api_key" in shown) == (600.0, 2, True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"key": "k"}, "`key` is called `api_key` now"),
        ({"tiemout": 3}, "there is no setting `tiemout`"),
        ({"channel": "xml"}, "unknown reply channel `xml`"),
        ({"media": ("smell",)}, "unknown kind of media `smell`"),
        ({"reply_tokens": 0}, "reply_tokens must be more than 0"),
        ({"api_key": lambda: ""}, "must return a text that is not empty"),
        ({"api_key": lambda: 1 / 0}, "the function raised ZeroDivisionError"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(given: dict[str, Any], told: str) -> None:
    with pytest.raises(krino.UsageProblem, match=told):
        krino.llm("m", base_url=NOWHERE, cache="off", **given)


def test_settings_that_change_answers_are_in_the_description_and_secrets_are_not() -> None:
    told = krino.llm("m", base_url=NOWHERE, api_key="a-secret-key", seed=7, effort="low", cache="off").describe()
    assert (told["seed"], told["effort"], told["reply_tokens"], told["channel"]) == (7, "low", None, "auto")
    assert "a-secret-key" not in str(told)
    assert {"timeout", "retries", "max_cost", "env"}.isdisjoint(told)


# --- keys from a function --------------------------------------------------------------------------


class Vault:
    """Gives another key each time, as a secret manager does whose keys expire."""

    def __init__(self, *keys: str) -> None:
        self.keys = list(keys)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        return self.keys[min(self.asked, len(self.keys)) - 1]


class Door:
    """Lets in those who bring the right key, and writes down which keys came."""

    def __init__(self, wanted: str) -> None:
        self.wanted = wanted
        self.seen: list[str] = []

    async def __call__(self, request: web.BaseRequest, body: bytes) -> web.Response:
        key = request.headers["Authorization"].removeprefix("Bearer ")
        self.seen.append(key)
        if key != self.wanted:
            return web.json_response({"error": {"message": f"bad key {key}", "type": "auth"}}, status=401)
        message = {"role": "assistant", "content": '{"label": "good", "quote": "fine"}'}
        return web.json_response({"choices": [{"message": message, "finish_reason": "stop"}]})


async def test_a_function_is_asked_for_a_new_key_when_the_old_one_has_expired() -> None:
    door, vault = Door("second-key-9876"), Vault("first-key-12345", "second-key-9876")
    with OddEndpoint(door) as endpoint:
        async with krino.llm("m", base_url=endpoint.url, api_key=vault, cache="off", concurrency=1) as labeller:
            for number in range(3):
                judgement = await krino.ajudge(ToyJudge(), {"text": f"fine {number}"}, labeller=labeller)
                assert judgement.status == "ok", judgement.error
    assert door.seen == ["first-key-12345", *["second-key-9876"] * 3]
    assert vault.asked == 2


async def test_a_function_that_keeps_giving_a_refused_key_is_asked_twice_and_the_run_stops() -> None:
    door, vault = Door("another"), Vault("first-key-12345")
    with OddEndpoint(door) as endpoint:
        async with krino.llm("m", base_url=endpoint.url, api_key=vault, cache="off") as labeller:
            with pytest.raises(krino.RunStopped, match="refuses the key") as stopped:
                await krino.ajudge(ToyJudge(), {"text": "fine"}, labeller=labeller)
    assert (door.seen, vault.asked) == (["first-key-12345"], 2)
    assert "first-key-12345" not in str(stopped.value)
