"""A batch that may have been sent counts as missing only if the provider's list was searched far enough."""

from __future__ import annotations

from typing import Any, cast

import pytest

from krino.labellers.llm.batch.client import BatchClient, Unsure
from krino.labellers.llm.batch.providers import PROVIDERS, Provider, Wanted

BEGUN = 1_800_000_000
WANTED = Wanted("ours", BEGUN, 2, known=(), holds=lambda name: False)
DAY = 24 * 3600


def entry(number: int, created: int | None = BEGUN) -> dict[str, Any]:
    """A batch of somebody else, as both providers list it."""
    return {"id": f"batch-{number}", "created_at": created, "request_counts": {"total": 7}}


class ListOnly:
    """A client that answers every request for a list with the next of these pages; the last one again and again."""

    lines = None

    def __init__(self, *pages: dict[str, Any]) -> None:
        self._pages = list(pages)

    async def get(self, url: str, query: dict[str, str]) -> dict[str, Any]:
        return self._pages.pop(0) if len(self._pages) > 1 else self._pages[0]


def provider(name: str, *pages: dict[str, Any]) -> Provider:
    made: Provider = PROVIDERS[name]("http://x.invalid/v1", cast(BatchClient, ListOnly(*pages)))
    return made


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_list_that_goes_on_after_the_last_page_that_is_read_decides_nothing(name: str) -> None:
    with pytest.raises(Unsure, match="not among the newest 20,000 batches"):
        await provider(name, {"data": [entry(1)], "has_more": True}).find(WANTED)


@pytest.mark.parametrize("name", PROVIDERS)
@pytest.mark.parametrize("page", [{}, {"data": None}, {"data": "?"}, {"data": [], "has_more": True}], ids=str)
async def test_a_list_that_cannot_be_read_to_its_end_decides_nothing(name: str, page: dict[str, Any]) -> None:
    with pytest.raises(Unsure, match="list of batches"):
        await provider(name, page).find(WANTED)


async def test_a_batch_whose_age_is_not_given_does_not_end_the_search() -> None:
    ours = {**entry(2), "metadata": {"krino": "ours"}}
    pages = {"data": [entry(1, created=None)], "has_more": True}, {"data": [ours], "has_more": False}
    assert await provider("openai", *pages).find(WANTED) == "batch-2"


@pytest.mark.parametrize("name", PROVIDERS)
async def test_a_batch_is_missing_where_the_list_ends_without_it(name: str) -> None:
    pages = {"data": [entry(1)], "has_more": True}, {"data": [], "has_more": False}
    assert await provider(name, *pages).find(WANTED) is None


async def test_the_search_ends_at_batches_that_were_made_long_before() -> None:
    old = {"data": [entry(1, created=BEGUN - DAY)], "has_more": True}
    assert await provider("openai", old).find(WANTED) is None
    old = {"data": [entry(1) | {"created_at": "2020-01-01T00:00:00Z"}], "has_more": True}
    assert await provider("anthropic", old).find(WANTED) is None
