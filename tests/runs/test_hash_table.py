"""The table of contents: as a dictionary of whole hashes would answer, whatever was set when."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from krino.runs.hash_table import HashTable

# Few halves, so that many hashes share one: a hash is never taken for another that begins or ends alike.
_HALVES = st.sampled_from(["0" * 16, "f" * 16, "0" * 15 + "1", "8" + "0" * 15, "7" + "f" * 15])
_HASHES = st.tuples(_HALVES, _HALVES).map("".join)
_VALUES = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(_HASHES, _VALUES)), st.integers(1, 7), st.lists(_HASHES))
def test_it_answers_as_a_dictionary_does(given: list[tuple[str, int]], most_waiting: int, asked: list[str]) -> None:
    table, known = HashTable(most_waiting), dict[str, int]()
    for digest, value in given:
        table.set(digest, value)
        known[digest] = value
        assert len(table) == len(known)
        assert len(table._waiting) < most_waiting
    assert [table.get(digest) for digest in [*asked, *known]] == [known.get(digest) for digest in [*asked, *known]]


def test_what_was_sorted_in_can_be_changed() -> None:
    table = HashTable(2)
    for place in range(5):
        table.set(f"{place:032x}", place)
    table.set(f"{1:032x}", 10)
    table.set(f"{4:032x}", 40)
    assert [table.get(f"{place:032x}") for place in range(6)] == [0, 10, 2, 3, 40, None]
