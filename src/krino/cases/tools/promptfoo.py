"""Results of promptfoo: `promptfoo eval -o results.json` and `.jsonl`, one case for each test and provider.

Described at https://www.promptfoo.dev/docs/configuration/outputs/. Its CSV joins the items of a list with commas, which
cannot be undone: such a file is a table like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from krino.cases.tools.case_parts import TOP, Tool, ToolCase, ToolRow, complete_case, make_case, reason_of

_RESULT = frozenset({"vars", "provider", "success", "promptIdx", "testIdx"})
_OWN_METADATA = "_promptfoo"
_ERROR = 2
"""The failure reason of a test that could not be run; 1 is an assertion that does not hold."""


def _is_result(row: ToolRow) -> bool:
    return row.keys() >= _RESULT and isinstance(row["vars"], Mapping)


def _read_results(rows: Sequence[ToolRow]) -> Iterator[ToolCase]:
    """Yields one case for each result, with a stable id; a failed assertion is no problem, a test that could not run
    is."""
    for row in rows:
        response, prompt, provider = (_mapping(row, name) for name in ("response", "prompt", "provider"))
        output = response.get("output")
        made = make_case(row["vars"], output)
        made.setdefault("prompt", prompt.get("raw"))
        failed = row.get("failureReason") == _ERROR or (output is None and bool(row.get("error")))
        problem = reason_of(row.get("error") or response.get("error")) if failed else None
        own_id = f"test-{row['testIdx']}-prompt-{row['promptIdx']}"  # the result's own id is another one in every run
        yield complete_case(made, own_id, metadata=_metadata(row, provider), problem=problem)


def _mapping(row: ToolRow, name: str) -> Mapping[str, object]:
    found = row.get(name)
    return found if isinstance(found, Mapping) else {}


def _metadata(row: ToolRow, provider: Mapping[str, object]) -> dict[str, object]:
    """What the test says about itself, and which provider and prompt answered it."""
    own = {name: value for name, value in _mapping(row, "metadata").items() if not name.startswith(_OWN_METADATA)}
    about = {
        "provider": provider.get("label") or provider.get("id"),
        "prompt": _mapping(row, "prompt").get("label"),
        "description": _mapping(row, "testCase").get("description"),
    }
    return own | {name: value for name, value in about.items() if value}


RESULTS = Tool("promptfoo result", _is_result, _read_results, paths=(TOP, ("results", "results")))
