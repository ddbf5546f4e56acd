"""How a judge shows a case, for the tests of views."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import krino
from krino.render.live_views import LiveJudge


def view_of(judge: str, record: Mapping[str, Any], judgement: Mapping[str, Any] | None = None) -> list[Any]:
    """The blocks, of any kind; `judgement`: another one than the embedded labeller's."""
    judged = judgement or krino.judge(judge, dict(record)).model_dump(mode="json")
    return LiveJudge(krino.load_judge(judge)).view(judged, record)
