"""How figures are written."""

from __future__ import annotations

import pytest

from krino.results.wording import figure


@pytest.mark.parametrize(
    ("value", "text"), [(1.0, "1.000"), (0.99984, "0.999"), (0.9994, "0.999"), (-0.9999, "-0.999"), (0.0001, "0.000")]
)
def test_a_mean_is_shown_as_whole_only_if_it_is(value: float, text: str) -> None:
    assert figure(value) == text
