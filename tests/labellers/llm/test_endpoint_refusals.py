"""Which refusals are about the account, and which may be about one case."""

from __future__ import annotations

import pytest

from krino.labellers.llm.endpoint_refusals import find_final_reason, is_larger_than_a_minute, is_surely_out_of_money
from krino.labellers.llm.wire import ApiError

LOW_CREDIT = "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing."


@pytest.mark.parametrize(
    "error",
    [
        ApiError(400, LOW_CREDIT, kind="invalid_request_error"),
        ApiError(402, "Insufficient Balance"),
        ApiError(403, "Your team 1f2e-33 has either used all available credits or reached its monthly spending limit."),
        ApiError(403, "Your newly created team doesn't have any credits yet."),
        ApiError(429, "You exceeded your current quota.", code="insufficient_quota"),
        ApiError(400, "Budget has been exceeded! Current cost: 10.02", kind="budget_exceeded"),
    ],
)
def test_an_endpoint_that_speaks_of_the_account_itself_is_believed_at_once(error: ApiError) -> None:
    assert is_surely_out_of_money(error)
    assert find_final_reason(error) == "quota"


@pytest.mark.parametrize(
    "error",
    [
        ApiError(400, f"litellm.BadRequestError: AnthropicException - {LOW_CREDIT}"),
        ApiError(400, "Blocked by policy: 'insufficient funds for the flight'"),
    ],
)
def test_words_inside_a_message_may_be_those_of_a_case(error: ApiError) -> None:
    assert not is_surely_out_of_money(error)
    assert find_final_reason(error) == "quota"


def test_a_server_error_that_begins_so_is_retried() -> None:
    assert not is_surely_out_of_money(ApiError(503, LOW_CREDIT))
    assert find_final_reason(ApiError(503, LOW_CREDIT)) is None


def test_only_a_request_that_never_fits_is_larger_than_a_minute() -> None:
    limit = "gpt-4o in organization o on tokens per min (TPM): Limit 30000"
    assert is_larger_than_a_minute(ApiError(429, f"Request too large for {limit}, Requested 41000."))
    assert not is_larger_than_a_minute(ApiError(429, f"Rate limit reached for {limit}, Used 29000, Requested 1500."))
