"""What a labeller was told: the judge's prompt, once a report, and each case's own request as a model is shown it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from krino.contract import Questions
from krino.engine.case import AnyJudge
from krino.labellers.llm.prompt import TAG_SLOT, shown_texts, system_text, user_text


@dataclass(frozen=True, slots=True)
class Asked:
    """Renders requests again from the cases: they are not kept in the run."""

    judge: AnyJudge

    def prompt(self) -> str:
        """The part that is the same for every case, in the form that goes with a JSON schema."""
        return system_text(self.judge.prompt, "json_schema", {})

    def request(self, record: Mapping[str, Any]) -> str | None:
        """The case's own part, `TAG` in the place of the random word; None where the facts leave nothing to ask."""
        try:
            case = self.judge.read(record)
            questions = self.judge.ask(case, self.judge.study(case))
        except Exception:  # a case that cannot be judged was never asked about
            return None
        if questions is None:
            return None
        if not questions.parts:
            return _shown(questions)
        calls = len(questions.parts)
        return "\n\n".join(
            f"[call {number} of {calls}]\n\n{_shown(part)}" for number, part in enumerate(questions.parts, 1)
        )


def _shown(questions: Questions) -> str:
    return user_text(questions, shown_texts(questions)).replace(TAG_SLOT, "TAG")
