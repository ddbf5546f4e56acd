"""Makes a case of what a framework holds about a sample: inputs, the output that is judged, and what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_EXPECTED_NAMES = ("expected_response", "expected_output", "output", "answer")


def make_case(inputs: Any, output: Any, expected: Any = None, **more: Any) -> dict[str, Any]:
    """The fields of the inputs, of what was expected, and of the output, which come last and so win.

    What is no mapping goes by a name that all of Krino's judges know: `input`, `reference`, `answer`. `more` are fields
    under the framework's own names; those that are None are left out.
    """
    given = {name: value for name, value in more.items() if value is not None}
    return {**given, **_named(inputs, "input"), **_reference(expected), **_named(output, "answer")}


def _named(value: Any, name: str) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    return {} if value is None else {name: value}


def _reference(expected: Any) -> dict[str, Any]:
    """What was expected is a reference, whatever it is called there: its `answer` must not be taken for the output."""
    if not isinstance(expected, Mapping):
        return _named(expected, "reference")
    named = {name: value for name, value in expected.items() if name not in _EXPECTED_NAMES}
    found = next((expected[name] for name in _EXPECTED_NAMES if expected.get(name) is not None), None)
    return named if found is None or "reference" in named else {**named, "reference": found}
