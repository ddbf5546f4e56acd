"""Where labels are kept."""

from __future__ import annotations

from krino.web.settings import ServeSettings


class LabelStore:
    """The label database."""

    def __init__(self, settings: ServeSettings) -> None:
        self.settings = settings

    def close(self) -> None:
        return
