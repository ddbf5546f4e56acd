"""How figures are written."""

from __future__ import annotations

import pytest

from krino.contract import Usage
from krino.results.formatting import format_number, format_usage


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1.000"), (0.99984, "0.999"), (0.9994, "0.999"), (-0.9999, "-0.999"), (0.0001, "0.000")]
)
def test_a_mean_is_shown_as_whole_only_if_it_is(value: float, text: str) -> None:
    assert format_number(value) == text


def spent(**more: float) -> str:
    return format_usage(Usage(calls=2, input_tokens=1_000, output_tokens=10, cost=0.5, **more))  # type: ignore[arg-type]


def test_what_the_prompt_cache_held_is_shown_with_what_it_saved() -> None:
    assert "prompt cache" not in spent()
    assert spent(cache_read_tokens=600).endswith("60 % of the input from the provider's prompt cache")
    assert spent(cache_read_tokens=600, cache_saved=0.25).endswith("prompt cache, which saved 0.25")
    assert spent(cache_read_tokens=600, cache_saved=-0.25).endswith("prompt cache, which cost 0.25")
