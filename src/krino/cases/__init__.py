"""Cases in: read records from files of many formats, one at a time, in a stable order."""

from krino.cases.item import CaseItem
from krino.cases.mapping import parse_mapping, parse_splits
from krino.cases.reader import count_hint, read_cases

__all__ = ["CaseItem", "count_hint", "parse_mapping", "parse_splits", "read_cases"]
