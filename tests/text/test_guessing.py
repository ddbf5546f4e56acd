"""A name that is not there is answered with the one that may be meant, and with nothing where none is near."""

from __future__ import annotations

from pathlib import Path

import pytest

from krino.text.guessing import did_you_mean, did_you_mean_file


@pytest.mark.parametrize(
    ("name", "names", "guess"),
    [
        ("contxt", ["question", "context"], " (did you mean context?)"),
        ("MODEL", ["model"], " (did you mean model?)"),
        ("incorect", ["CORRECT", "INCORRECT"], " (did you mean INCORRECT?)"),
        ("place", ["court", "language"], ""),
        ("anything", [], ""),
        ("", ["x"], ""),
        ("red", ["\x1b[31mred"], ""),
        ("redden", ["\x1b[1mredden"], " (did you mean redden?)"),
    ],
)
def test_the_nearest_name_is_guessed_whatever_its_capitals_and_shown_clean(
    name: str, names: list[str], guess: str
) -> None:
    assert did_you_mean(name, names) == guess


def test_of_a_path_only_what_lies_beside_it_and_fits_is_guessed(tmp_path: Path) -> None:
    (tmp_path / "monday-1").mkdir()
    (tmp_path / "monday-2").touch()
    assert did_you_mean_file(tmp_path / "monday", Path.is_dir) == " (did you mean monday-1?)"
    assert did_you_mean_file(tmp_path / "monday", Path.is_file) == " (did you mean monday-2?)"
    assert did_you_mean_file(tmp_path / "no" / "monday", Path.is_dir) == ""
    assert did_you_mean_file(tmp_path / "a\0b" / "monday", Path.is_dir) == ""
