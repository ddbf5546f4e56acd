"""Says how to install the framework that an adapter is for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def needs(extra: str) -> Iterator[None]:
    """Adds to an `ImportError` which extra of Krino has the missing package."""
    try:
        yield
    except ImportError as error:
        raise ImportError(
            f"krino.adapters.{extra.replace('-', '_')} cannot be imported ({error}): pip install 'krino[{extra}]'"
        ) from error
