"""What the judging desk takes on at once: so many cases, each of such a length.

Finding the facts of a case takes the longer the longer it is, and everybody waits at the same desk. So a request is
measured by what is judged, after records that hold several cases were taken apart, and before any of it is begun.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from krino.api.judging import as_item
from krino.cases.item import CaseItem
from krino.cases.splitting import split_items
from krino.contract import AnyJudge
from krino.contract.judgement import canonical
from krino.errors import UsageProblem
from krino.web.settings import ServeSettings


class TooMuch(UsageProblem):
    """More than the server takes on at once: nothing of the request was judged."""

    def __init__(self, told: str, remedy: str, record: int | None = None) -> None:
        super().__init__(f"{told}: {remedy}")
        self.told, self.remedy = told, remedy
        self.record = record
        """The number of the record that is meant, from 0; None: all of them together."""


def admitted(judge: AnyJudge, records: Sequence[Any], settings: ServeSettings) -> list[CaseItem]:
    """The cases of the records, numbered; raises `TooMuch`."""
    number, items = 0, list[CaseItem]()

    def given() -> Iterator[CaseItem]:
        nonlocal number
        for number, record in enumerate(records):
            yield as_item(number, record)

    for item in split_items(given(), judge):
        _refuse_long(item, number, settings.max_case_bytes)
        items.append(item)
        if len(items) > settings.max_cases:
            raise TooMuch(
                f"the request holds more than {settings.max_cases:,} cases",
                "send fewer at a time (a record may hold several); for files there is `krino judge`",
            )
    return items


def _refuse_long(item: CaseItem, number: int, most: int) -> None:
    length = len(canonical(item.record))
    if length > most:
        raise TooMuch(
            f"the case has {length:,} bytes as JSON, and this server judges cases of at most {most:,}",
            "send only what the case needs; for long cases there is `krino judge`, and whoever runs the server can "
            "allow more with --max-case-bytes",
            number,
        )
