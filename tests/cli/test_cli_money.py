"""Money, time and keys on the command line: limits that count once, waits that are told, keys that stay at home."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from command_line import ran
from fake_llm import FakeServer, Faults
from krino.cli import app
from krino.cli.runner import command_to_continue
from krino.cli.settings import load_settings
from krino.errors import KrinoError, Limit
from toy_judge import ToyJudge

TOY = f"{Path(__file__).parents[1] / 'toy_judge.py'}:{ToyJudge.__name__}"
GOOD = {"label": "good", "quote": "fine"}
OWN_KEY = "sk-the-users-own-key"


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply=GOOD) as running:
        yield running


def krino(*args: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("KRINO_", "OPENAI_", "XDG_"))}
    own = {"KRINO_CACHE": "off", "COLUMNS": "100", "XDG_CONFIG_HOME": str(cwd / "own"), **(env or {})}
    return ran(*args, cwd=cwd, env={**clean, **own})


Refused = Callable[..., tuple[int, str]]


@pytest.fixture
def in_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Refused]:
    """The command within this process, which is quicker: for what is refused, or ends before anything is judged."""
    for name in [name for name in os.environ if name.startswith(("KRINO_", "OPENAI_", "XDG_"))]:
        monkeypatch.delenv(name)

    def run(*args: str, cwd: Path, env: dict[str, str] | None = None) -> tuple[int, str]:
        for name, value in {"KRINO_CACHE": "off", "XDG_CONFIG_HOME": str(cwd / "own"), **(env or {})}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.chdir(cwd)
        load_settings.cache_clear()
        done = CliRunner().invoke(app, args)
        problem = done.exception
        if problem is None or isinstance(problem, SystemExit):
            return done.exit_code, done.output
        assert isinstance(problem, KrinoError), problem
        return 2, str(problem)

    yield run
    load_settings.cache_clear()


def write(path: Path, count: int) -> None:
    path.write_text("".join(json.dumps({"id": f"c{n}", "text": f"fine {n:03}"}) + "\n" for n in range(count)))


def manifest(run: Path) -> Any:
    return orjson.loads((run / "run.json").read_bytes())


# --- limits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("concurrency", ["1", "8"])
def test_a_limit_counts_each_call_once_and_once_more_when_it_goes_on(
    tmp_path: Path, server: FakeServer, concurrency: str, in_process: Refused
) -> None:
    write(tmp_path / "cases.jsonl", 60)
    command = ["judge", TOY, "cases.jsonl", "-l", "m", "--base-url", server.url, "--concurrency", concurrency]
    _, forecast = in_process(*command, "--dry-run", "--json", cwd=tmp_path)
    limit = 12 * (json.loads(forecast)["input_tokens"] // 60 + 9)
    command += ["--run", "r"]
    first = krino(*command, "--max-tokens", str(limit), cwd=tmp_path)
    stats = server.stats()
    assert first.returncode == 3, first.stderr
    assert 0.9 * limit <= stats.input_tokens + stats.output_tokens <= limit
    usage = manifest(tmp_path / "r")["usage"]
    assert usage["input_tokens"] + usage["output_tokens"] == stats.input_tokens + stats.output_tokens
    assert f"{stats.input_tokens + stats.output_tokens:,} are spent" in first.stderr
    krino(*command, "--max-tokens", str(3 * limit), cwd=tmp_path)
    stats = server.stats()
    assert 0.9 * 3 * limit <= stats.input_tokens + stats.output_tokens <= 3 * limit


def test_the_command_to_continue_has_a_higher_limit_and_goes_on(tmp_path: Path, server: FakeServer) -> None:
    write(tmp_path / "cases.jsonl", 30)
    command = ["judge", TOY, "cases.jsonl", "--run", "r", "-l", "m", "--base-url", server.url]
    stopped = krino(*command, "--max-tokens=3000", cwd=tmp_path)
    told = stopped.stderr.rpartition("continue with: ")[2].split()
    assert told == ["krino", *command, "--max-tokens", "6000"]
    before = server.stats().calls
    assert krino(*told[1:], cwd=tmp_path).returncode in {0, 3}
    assert server.stats().calls > before


@pytest.mark.parametrize(
    ("arguments", "limit", "told"),
    [
        (["judge", "x"], None, "krino judge x"),
        (["judge", "--max-tokens", "6000", "x"], Limit("max_tokens", 6000), "krino judge x --max-tokens 12000"),
        (["judge", "x"], Limit("max_tokens", 6000), "krino judge x --max-tokens 12000"),
        (
            ["judge", "--max-cost=0.5", "x", "--max-tokens", "9"],
            Limit("max_cost", 0.5),
            "krino judge x --max-tokens 9 --max-cost 1",
        ),
        (["judge"], Limit("max_cost", 1e-5), "krino judge --max-cost 2e-05"),
        (["judge"], Limit("max_cost", 0), "krino judge --max-cost 1"),
        (["judge"], Limit("max_tokens", 0), "krino judge --max-tokens 100000"),
        (["judge", "--fresh", "x"], Limit("max_cost", 0.5), "krino judge x --max-cost 1"),
        (["judge", "x", "--fresh"], None, "krino judge x"),
        (["judge", "--base-url", "http://u:pw@h/v1"], None, "krino judge --base-url 'http://***@h/v1'"),
    ],
)
def test_the_command_to_continue(arguments: list[str], limit: Limit | None, told: str) -> None:
    assert command_to_continue(arguments, limit) == told


@pytest.mark.parametrize("amount", ["nan", "inf", "-1"])
@pytest.mark.parametrize("flag", ["--max-cost", "--price-in", "--price-out"])
def test_flags_that_are_no_amount_are_refused(tmp_path: Path, flag: str, amount: str, in_process: Refused) -> None:
    write(tmp_path / "cases.jsonl", 1)
    prices = {"--price-in": "1", "--price-out": "1", flag: amount}
    given = [f"{name}={value}" for name, value in prices.items()]
    command = ("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", "http://127.0.0.1:9")
    code, said = in_process(*command, *given, cwd=tmp_path)
    assert (code, f"({flag})" in said) == (2, True), said


@pytest.mark.parametrize("amount", ["nan", "inf", "-0.1", "true"])
def test_prices_of_the_file_that_are_no_amount_are_refused(tmp_path: Path, amount: str, in_process: Refused) -> None:
    write(tmp_path / "cases.jsonl", 1)
    (tmp_path / "krino.toml").write_text(f"[prices.m]\ninput = {amount}\noutput = 1\n")
    code, said = in_process("judge", TOY, "cases.jsonl", cwd=tmp_path)
    assert (code, '[prices."m"] needs two numbers that are not below 0' in said) == (2, True), said


def test_a_limit_of_the_file_that_is_no_amount_is_refused(tmp_path: Path, in_process: Refused) -> None:
    write(tmp_path / "cases.jsonl", 1)
    (tmp_path / "krino.toml").write_text("[judge]\nmax_cost = nan\nprice_in = 1.0\nprice_out = 1.0\n")
    command = ("judge", TOY, "cases.jsonl", "-l", "m", "--base-url", "http://127.0.0.1:9")
    code, said = in_process(*command, cwd=tmp_path)
    assert (code, "max_cost must be at least 0, not nan" in said) == (2, True), said


# --- time --------------------------------------------------------------------------------------------


def test_a_dead_endpoint_ends_the_run_with_exit_3_and_says_meanwhile_what_is_waited_for(
    tmp_path: Path, server: FakeServer
) -> None:
    server.configure(faults=Faults(rates={"429": 1.0}, retry_after=1.0))
    write(tmp_path / "cases.jsonl", 100)
    flags = ("--run", "r", "-l", "m", "--base-url", server.url, "--patience", "2.5")
    done = krino("judge", TOY, "cases.jsonl", *flags, cwd=tmp_path)
    host = server.url.split("/")[2]
    assert done.returncode == 3, done.stderr
    assert "0 of 100 cases" in done.stderr
    assert f"waiting for {host}: HTTP 429" in done.stderr
    assert "nothing has got through to" in done.stderr
    assert "continue with: krino judge" in done.stderr
    assert manifest(tmp_path / "r")["state"] == "stopped"
    server.configure(faults=Faults())
    assert krino("judge", TOY, "cases.jsonl", *flags, cwd=tmp_path).returncode == 0


# --- addresses ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("address", ["http://127.0.0.1:99999/v1", "http://127.0.0.1:abc/v1", "http://[bad"])
@pytest.mark.parametrize("command", [("judge", TOY, "cases.jsonl"), ("doctor",)], ids=["judge", "doctor"])
def test_a_bad_address_is_one_message(
    tmp_path: Path, command: tuple[str, ...], address: str, in_process: Refused
) -> None:
    write(tmp_path / "cases.jsonl", 1)
    code, said = in_process(*command, "-l", "m", "--base-url", address, cwd=tmp_path)
    assert (code, "is no address" in said) == (2, True), said


# --- keys stay at home -------------------------------------------------------------------------------

FOREIGN = "http://evil.example:1/v1"
COMMANDS = {"judge": ("judge", TOY, "cases.jsonl"), "doctor": ("doctor",)}


def project(folder: Path, base_url: str, more: str = "") -> Path:
    """A folder as one gets it from others: a krino.toml above the place where one works."""
    (folder / "krino.toml").write_text(f'[judge]\nlabeller = "m"\nbase_url = "{base_url}"\n{more}')
    below = folder / "below"
    below.mkdir()
    write(below / "cases.jsonl", 1)
    return below


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("more", "env", "variable"),
    [
        ("", {"OPENAI_API_KEY": OWN_KEY}, "OPENAI_API_KEY"),
        ('labeller = "claude-x"\n', {"ANTHROPIC_API_KEY": OWN_KEY}, "ANTHROPIC_API_KEY"),
        ('labeller = "groq:m,openrouter:m"\n', {"OPENROUTER_API_KEY": OWN_KEY}, "OPENROUTER_API_KEY"),
    ],
)
def test_a_found_file_sends_no_key_of_a_provider_elsewhere(
    tmp_path: Path, command: str, more: str, env: dict[str, str], variable: str, in_process: Refused
) -> None:
    below = project(tmp_path, FOREIGN)
    if more:
        (tmp_path / "krino.toml").write_text(f'[judge]\nbase_url = "{FOREIGN}"\n{more}')
    code, said = in_process(*COMMANDS[command], cwd=below, env=env)
    assert code == 2, said
    assert f"krino.toml names the address {FOREIGN}, and the key in {variable} would be sent there" in said
    assert f'addresses = ["{FOREIGN}"]' in said
    assert str(below / "own" / "krino" / "config.toml") in said
    assert not (below / "runs").exists()


def test_a_found_file_cannot_name_another_secret_for_its_address(tmp_path: Path, in_process: Refused) -> None:
    below = project(tmp_path, FOREIGN, 'api_key_env = "CLOUD_SECRET"\n')
    code, said = in_process(*COMMANDS["judge"], cwd=below, env={"CLOUD_SECRET": OWN_KEY})
    assert (code, "the key in CLOUD_SECRET would be sent there" in said) == (2, True), said


def test_the_section_of_doctor_is_no_way_round(tmp_path: Path, in_process: Refused) -> None:
    below = project(tmp_path, "https://api.openai.com/v1")
    (tmp_path / "krino.toml").write_text(f'[doctor]\nlabeller = "m"\nbase_url = "{FOREIGN}"\n')
    code, said = in_process("doctor", cwd=below, env={"OPENAI_API_KEY": OWN_KEY})
    assert (code, "would be sent there" in said) == (2, True), said


def test_a_found_file_gets_no_key_for_this_machine_either_but_is_not_refused(
    tmp_path: Path, server: FakeServer
) -> None:
    below = project(tmp_path, server.url)
    done = krino(*COMMANDS["judge"], cwd=below, env={"OPENAI_API_KEY": OWN_KEY})
    assert done.returncode == 0, done.stderr
    assert f"OPENAI_API_KEY is not sent to {server.url}" in done.stderr
    assert "authorization" not in server.requests[0].headers
    named = project_again(tmp_path, server.url, 'api_key_env = "CLOUD_SECRET"\n')
    done = krino(*COMMANDS["judge"], cwd=named, env={"CLOUD_SECRET": OWN_KEY, "OPENAI_API_KEY": OWN_KEY})
    assert done.returncode == 0, done.stderr
    assert not [request for request in server.requests if "authorization" in request.headers]


def project_again(folder: Path, base_url: str, more: str) -> Path:
    (folder / "krino.toml").write_text(f'[judge]\nlabeller = "other"\nbase_url = "{base_url}"\n{more}')
    return folder / "below"


@pytest.mark.parametrize("way", ["trusted", "flag", "variable", "named file", "named key", "own address"])
def test_what_the_user_says_sends_the_key(tmp_path: Path, server: FakeServer, way: str) -> None:
    below = project(tmp_path, server.url)
    env, flags = {"OPENAI_API_KEY": OWN_KEY}, []
    if way == "trusted":
        (below / "own" / "krino").mkdir(parents=True)
        (below / "own" / "krino" / "config.toml").write_text(f'[trust]\naddresses = ["http://x", "{server.url}/"]\n')
    elif way == "flag":
        flags = ["--base-url", server.url]
    elif way == "variable":
        env["KRINO_BASE_URL"] = server.url
    elif way == "named file":
        env["KRINO_CONFIG"] = str(tmp_path / "krino.toml")
    elif way == "named key":
        flags = ["--api-key-env", "OPENAI_API_KEY"]
    else:  # the address is the user's own word, the file says nothing of it
        (tmp_path / "krino.toml").write_text('[judge]\nlabeller = "m"\n')
        env["OPENAI_BASE_URL"] = server.url
    done = krino(*COMMANDS["judge"], *flags, cwd=below, env=env)
    assert done.returncode == 0, done.stderr
    assert server.requests[0].headers["authorization"] == f"Bearer {OWN_KEY}"
    assert "is not sent" not in done.stderr


@pytest.mark.parametrize(
    ("listed", "trusted"),
    [
        ("http://evil.example:1/v1", True),
        ("http://evil.example:1", True),
        ("http://evil.example:1/v", False),
        ("http://evil.example:1/v1/more", False),
        ("http://evil.example/v1", False),
        ("https://evil.example:1/v1", False),
        ("http://example:1/v1", False),
    ],
)
def test_trust_is_for_a_place_and_what_lies_below_it(
    tmp_path: Path, listed: str, trusted: bool, in_process: Refused
) -> None:
    below = project(tmp_path, FOREIGN)
    (below / "own" / "krino").mkdir(parents=True)
    (below / "own" / "krino" / "config.toml").write_text(f'[trust]\naddresses = ["{listed}"]\n')
    code, said = in_process(*COMMANDS["judge"], "--dry-run", cwd=below, env={"OPENAI_API_KEY": OWN_KEY})
    assert code == (0 if trusted else 2), said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[trust\n", "config.toml"),
        ("[judge]\n", "unknown section [judge]"),
        ("[trust]\nhosts = []\n", "[trust] has one key"),
        ("[trust]\naddresses = 'x'\n", "[trust] has one key"),
        ("trust = 3\n", "[trust] has one key"),
        ("[trust]\naddresses = [3]\n", "[trust] has one key"),
        ("[trust]\naddresses = ['evil.example']\n", "is no http(s) URL"),
    ],
)
def test_a_slip_in_the_users_own_settings_is_named(tmp_path: Path, text: str, words: str, in_process: Refused) -> None:
    below = project(tmp_path, FOREIGN)
    (below / "own" / "krino").mkdir(parents=True)
    (below / "own" / "krino" / "config.toml").write_text(text)
    code, said = in_process(*COMMANDS["judge"], cwd=below, env={"OPENAI_API_KEY": OWN_KEY})
    assert (code, words in said) == (2, True), said


def test_a_found_file_without_a_key_at_stake_is_used_as_it_is(tmp_path: Path, server: FakeServer) -> None:
    below = project(tmp_path, server.url)
    assert krino(*COMMANDS["judge"], cwd=below).returncode == 0
    assert server.stats().calls == 1


def test_it_is_said_where_a_found_file_sends_the_cases(tmp_path: Path, in_process: Refused) -> None:
    below = project(tmp_path, FOREIGN)
    words = f"the cases are sent to {FOREIGN}: {tmp_path / 'krino.toml'} names that address"
    code, said = in_process(*COMMANDS["judge"], "--dry-run", cwd=below)
    assert (code, words in said) == (0, True), said
    code, said = in_process(*COMMANDS["judge"], "--dry-run", "--base-url", FOREIGN, cwd=below)
    assert (code, words in said) == (0, False), said


def test_a_found_file_shows_the_model_no_file_from_elsewhere(tmp_path: Path, in_process: Refused) -> None:
    """The prompt is sent to the endpoint: a file of the user's must not go there as one."""
    (tmp_path / "private.txt").write_text("a private text")
    work = tmp_path / "work"
    work.mkdir()
    below = project(work, FOREIGN, f'prompt = "{tmp_path / "private.txt"}"\n')
    code, said = in_process(*COMMANDS["judge"], cwd=below)
    assert (code, "is outside its folder" in said) == (2, True), said
    (work / "prompt.md").write_text("Label the text.")
    (work / "krino.toml").write_text('[judge]\nprompt = "../prompt.md"\n')
    assert in_process(*COMMANDS["judge"], "--dry-run", cwd=below)[0] == 0
    named = ("--prompt", str(tmp_path / "private.txt"))
    assert in_process(*COMMANDS["judge"], *named, "--dry-run", cwd=below)[0] == 0
