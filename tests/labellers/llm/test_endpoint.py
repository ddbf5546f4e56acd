"""A labeller's name leads to one endpoint: provider, address, key; and the key stays out of sight."""

from __future__ import annotations

import pytest

from krino.errors import UsageProblem
from krino.labellers.llm.endpoint import DIALECTS, clean_address, find_endpoint, is_loopback_url, masked, providers
from krino.labellers.llm.labeller import LlmLabeller
from krino.labellers.llm.sending.pace import Pace
from krino.labellers.llm.sending.retrying import Transport
from krino.labellers.settings import complete

SECRET = "sk-very-secret"
KEYS = {name: SECRET for entry in providers().values() for name in entry.get("key", [])}


@pytest.mark.parametrize(
    ("name", "provider", "model", "dialect"),
    [
        ("gpt-4o", "openai", "gpt-4o", "openai"),
        ("openai:gpt-4o", "openai", "gpt-4o", "openai"),
        ("claude-x", "anthropic", "claude-x", "anthropic"),
        ("anthropic:claude-x", "anthropic", "claude-x", "anthropic"),
        ("openrouter:anthropic/claude-x:free", "openrouter", "anthropic/claude-x:free", "openai"),
        ("ollama:llama3:8b", "ollama", "llama3:8b", "ollama"),
        ("ft:gpt-4o:org::id", "openai", "ft:gpt-4o:org::id", "openai"),
        ("mistral:small", "mistral", "small", "openai"),
        ("my-claude-x", "openai", "my-claude-x", "openai"),
    ],
)
def test_names_lead_to_their_provider(name: str, provider: str, model: str, dialect: str) -> None:
    found = find_endpoint(name, env=KEYS)
    assert (found.provider, found.model, found.dialect.name) == (provider, model, dialect)
    assert found.base_url == providers()[provider]["base_url"]


def test_a_colon_belongs_to_the_model_only_where_an_address_says_whose_it_is() -> None:
    assert find_endpoint("llama3:8b", env={}, base_url="http://127.0.0.1:1/v1").model == "llama3:8b"
    with pytest.raises(UsageProblem, match="unknown provider `llama3`"):
        find_endpoint("llama3:8b", env=KEYS)


def test_a_provider_without_a_model_is_a_usage_problem() -> None:
    with pytest.raises(UsageProblem, match="openai:MODEL"):
        find_endpoint("openai:", env=KEYS)


def test_the_flag_wins_over_the_environment_and_that_over_the_table() -> None:
    env = {**KEYS, "OPENAI_BASE_URL": "http://env:1/v1"}
    assert find_endpoint("m", env=env, base_url="http://flag:1/v1").url == "http://flag:1/v1/chat/completions"
    assert find_endpoint("m", env=env).url == "http://env:1/v1/chat/completions"
    assert find_endpoint("m", env=KEYS).url == "https://api.openai.com/v1/chat/completions"
    assert find_endpoint("m", env={**KEYS, "OPENAI_BASE_URL": ""}).base_url == "https://api.openai.com/v1"


def test_a_line_break_after_the_address_is_not_part_of_it() -> None:
    assert find_endpoint("m", env={"OPENAI_BASE_URL": "http://env:1/v1\n"}).base_url == "http://env:1/v1"


def test_a_variable_of_one_provider_moves_no_other() -> None:
    env = {**KEYS, "OPENAI_BASE_URL": "http://env:1/v1"}
    assert find_endpoint("groq:m", env=env).base_url == "https://api.groq.com/openai/v1"
    assert find_endpoint("claude-x", env=env).base_url == "https://api.anthropic.com"


def test_a_key_given_wins_over_the_environment() -> None:
    assert find_endpoint("m", env=KEYS, key="mine").headers == {"Authorization": "Bearer mine"}


@pytest.mark.parametrize(
    ("name", "variable"),
    [("gpt-4o", "OPENAI_API_KEY"), ("claude-x", "ANTHROPIC_API_KEY"), ("groq:m", "GROQ_API_KEY")],
)
def test_a_missing_key_is_named(name: str, variable: str) -> None:
    with pytest.raises(UsageProblem, match=variable):
        find_endpoint(name, env={variable: ""})


def test_azure_needs_an_address_and_a_key() -> None:
    with pytest.raises(UsageProblem, match="AZURE_OPENAI_ENDPOINT"):
        find_endpoint("azure:d", env=KEYS)
    with pytest.raises(UsageProblem, match="AZURE_OPENAI_API_KEY"):
        find_endpoint("azure:d", env={"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"})


def test_azure_takes_its_api_version_from_the_flag_the_environment_or_a_default() -> None:
    env = {**KEYS, "AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com/", "OPENAI_API_VERSION": "2025-01-01"}
    path = "https://x.openai.azure.com/openai/deployments/d/chat/completions?api-version="
    assert find_endpoint("azure:d", env=env, api_version="2030-01-01").url == path + "2030-01-01"
    assert find_endpoint("azure:d", env=env).url == path + "2025-01-01"
    assert find_endpoint("azure:d", env={**env, "OPENAI_API_VERSION": ""}).url == path + "2025-04-01-preview"


@pytest.mark.parametrize("provider", ["ollama", "vllm", "llamacpp"])
def test_local_providers_need_no_key(provider: str) -> None:
    found = find_endpoint(f"{provider}:m", env={})
    assert (found.key, found.headers) == (None, {})
    assert found.base_url.startswith("http://127.0.0.1:")


def test_an_address_of_your_own_needs_no_key() -> None:
    assert find_endpoint("m", env={}, base_url="http://localhost:9/v1").headers == {}
    assert find_endpoint("claude-x", env={}, base_url="http://localhost:9").headers.keys() == {"anthropic-version"}


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://host/v1", "file:///etc/passwd", "/v1"])
def test_an_address_that_is_no_http_url_is_a_usage_problem(address: str) -> None:
    with pytest.raises(UsageProblem, match="--base-url"):
        find_endpoint("m", env=KEYS, base_url=address)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("http://127.0.0.1:99999/v1", "is no address"),
        ("http://127.0.0.1:abc/v1", "is no address"),
        ("http://127.0.0.1:-1/v1", "is no address"),
        ("http://[bad", "is no address"),
        ("http://[::1/v1", "is no address"),
        ("http://127.0.0.1:0/v1", "has port 0"),
        ("http://", "names no host"),
        ("http://:80/v1", "names no host"),
        ("http://user@/v1", "names no host"),
        ("http://two words/v1", "holds a blank"),
        ("http://tab\there/v1", "holds a blank"),
        ("http://line\nbreak/v1", "holds a blank"),
        ("http://a\\b/v1", "names no host"),
        ("http://%41/v1", "names no host"),
    ],
)
@pytest.mark.parametrize("from_environment", [False, True])
def test_an_address_where_nothing_can_be_sent_is_named(address: str, words: str, from_environment: bool) -> None:
    env, flag = ({"OPENAI_BASE_URL": address}, None) if from_environment else ({}, address)
    with pytest.raises(UsageProblem) as problem:
        find_endpoint("m", env=env, base_url=flag)
    assert words in str(problem.value)
    assert ("OPENAI_BASE_URL" if from_environment else "--base-url") in str(problem.value)


@pytest.mark.parametrize(
    "address", ["http://u:p@ss@[bad", "http://u:TOPSECRET@host:abc/v1", "ftp://u:TOPSECRET@h/?k=TOPSECRET"]
)
def test_a_wrong_address_is_told_without_its_password(address: str) -> None:
    with pytest.raises(UsageProblem) as problem:
        find_endpoint("m", env={}, base_url=address)
    assert "***@" in str(problem.value)
    assert "TOPSECRET" not in str(problem.value)
    assert "p@ss" not in str(problem.value)


@pytest.mark.parametrize("address", ["http://[::1]:8000/v1", "https://host", "http://host:65535/a/b"])
def test_addresses_where_something_may_answer_are_taken(address: str) -> None:
    assert find_endpoint("m", env={}, base_url=address).base_url == address


def test_a_user_in_the_address_and_a_key_cannot_both_be_sent() -> None:
    with pytest.raises(UsageProblem, match="holds a user, and there is a key as well"):
        find_endpoint("m", env=KEYS, base_url="http://user:password@host/v1")
    assert find_endpoint("m", env={}, base_url="http://user:password@host/v1").key is None


@pytest.mark.parametrize(
    ("url", "clean", "hidden"),
    [
        ("http://h:1/v1", "http://h:1/v1", "http://h:1/v1"),
        ("http://u:p@h:1/v1", "http://h:1/v1", "http://***@h:1/v1"),
        ("http://u:p@x@h/v1?key=1", "http://h/v1", "http://***@h/v1?***"),
        ("http://[::1]:8/v1", "http://[::1]:8/v1", "http://[::1]:8/v1"),
    ],
)
def test_addresses_are_shown_without_secrets(url: str, clean: str, hidden: str) -> None:
    assert (clean_address(url), masked(url)) == (clean, hidden)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:1/v1", True),
        ("http://127.9.9.9/v1", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8/v1", True),
        ("http://localhost.evil.example/v1", False),
        ("http://10.0.0.1/v1", False),
        ("https://example.com", False),
    ],
)
def test_what_stays_on_this_machine(url: str, local: bool) -> None:
    assert is_loopback_url(url) == local


def test_only_the_providers_own_address_is_sure_to_know_the_newer_limit() -> None:
    assert find_endpoint("gpt-4o", env=KEYS).limit_name == "max_completion_tokens"
    assert find_endpoint("gpt-4o", env=KEYS, base_url="http://localhost:9/v1").limit_name == "max_tokens"
    assert find_endpoint("groq:m", env=KEYS).limit_name == "max_tokens"


def test_the_key_is_in_no_printed_form() -> None:
    endpoint = find_endpoint("gpt-4o", env=KEYS)
    labeller = LlmLabeller(endpoint, complete({}))
    transport = Transport(endpoint.url, endpoint.headers, Pace(1))
    assert endpoint.headers["Authorization"] == f"Bearer {SECRET}"
    printed = [repr(endpoint), str(endpoint), repr(transport), repr(labeller), str(labeller.describe())]
    assert not [text for text in printed if SECRET in text]


def test_every_provider_in_the_table_is_complete() -> None:
    for name, entry in providers().items():
        assert entry["dialect"] in set(DIALECTS), name
        assert entry.get("key") or entry.get("keyless"), name
        assert entry.get("base_url") or entry.get("base_url_env"), name
