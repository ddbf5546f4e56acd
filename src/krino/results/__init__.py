"""Results of a run: its table, and the summary, slices, comparison, agreement and gates computed from it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """The base of all result models: immutable, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PrintableModel(FrozenModel):
    """A result with a text form for `print` and an HTML form for notebooks.

    Drawing belongs to `krino.render`, a room above this one, so `krino.api` registers the functions with `draw_with`.
    """

    _to_text: ClassVar[Callable[[Any], str]] = repr
    _to_html: ClassVar[Callable[[Any], str | None]] = lambda _: None  # a notebook then falls back to the text

    @classmethod
    def draw_with(cls, *, to_text: Callable[[Any], str], to_html: Callable[[Any], str]) -> None:
        """Registers the functions that draw results of this class."""
        cls._to_text, cls._to_html = to_text, to_html

    def __str__(self) -> str:
        return type(self)._to_text(self)

    def _repr_html_(self) -> str | None:
        return type(self)._to_html(self)
