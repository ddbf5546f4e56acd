"""Fits the rule by which the embedded RAG labeller decides whether an answer declines all that is asked.

    python training/fit_refusals.py DATA_FOLDER [--cache FILE]

DATA_FOLDER holds `real` (logs with a label for every sentence) and `rag/financebench_half`. Fitted on these logs and on
the answers in `tests/judges/rag/audit/refusals_*.jsonl` but those of `KEPT`; measured on `KEPT` and on FinanceBench,
which set nothing. Logs of our own are fitted on too: those with a refusal and every third of the others. Prints
`[refusal]` of `src/krino/judges/rag/data/local.toml`. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from fit_labels import BATCH, figures, written_logs
from logs import is_kept_out
from sklearn.linear_model import LogisticRegression

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))
import rag_data  # noqa: E402
import rag_logs  # noqa: E402
from rag_rules import Kept, as_array, keep, load  # noqa: E402

from krino.judges.rag.case import RagCase  # noqa: E402
from krino.judges.rag.embedded import refusals  # noqa: E402
from krino.judges.rag.embedded.relevance import log_odds, question_pairs  # noqa: E402
from krino.judges.rag.embedded.roles import read_roles  # noqa: E402
from krino.judges.rag.facts import RagFacts  # noqa: E402
from krino.judges.rag.local import lay_out  # noqa: E402
from krino.judges.rag.tables import table  # noqa: E402
from krino.models import entailment  # noqa: E402

OTHERS = 3
"""Of our own logs without a refusal, one in so many is read."""
AUDIT = ROOT / "tests" / "judges" / "rag" / "audit"
KEPT = "kept"
ASKED = "What is asked here?"
"""The question of the answers of the audit, which have none."""


class Row(NamedTuple):
    signs: dict[str, float] | None
    """None where no sentence declines anything, so that nothing is weighed."""
    whole: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args()
    known = load(given.cache)
    with (
        patch.object(entailment, "entail", Kept(entailment.entail, known["entail"])),
        patch.object(entailment, "roles", partial(as_array, Kept(entailment.roles, known["roles"]))),
    ):
        sets = {name: list(rows(cases)) for name, cases in read_sets(given.folder)}
        keep(given.cache, known)
    fitted = [row for name in ("logs", "written", "audit") for row in sets[name] if row.signs is not None]
    names = list(fitted[0].signs or {})
    rule = LogisticRegression(C=1.0, max_iter=3_000)
    rule.fit([list((row.signs or {}).values()) for row in fitted], [row.whole for row in fitted])
    print(f"fitted on {len(fitted)} answers\n[refusal]\n" + figures(names, rule))
    for name, found in sets.items():
        show(name, found, rule)
    return 0


def read_sets(folder: Path) -> Iterator[tuple[str, list[tuple[dict[str, Any], bool]]]]:
    logs = rag_logs.read_train(folder / "real" / "train")
    yield "logs", [(rag_logs.case_of(log), log["refusal"]["kind"] == "whole") for log in logs]
    yield "written", list(some_written_logs())
    for name in ("audit", KEPT):
        files = [file for file in sorted(AUDIT.glob("refusals_*.jsonl")) if (KEPT in file.name) == (name == KEPT)]
        lines = [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]
        yield name, [({"question": ASKED, "answer": row["text"]}, row["kind"] == "whole") for row in lines]
    read = rag_data.rows(folder / "rag" / "financebench_half" / "data.jsonl.gz")
    yield (
        "FinanceBench",
        [({"question": row["question"], "answer": row["answer"]}, row["human_label"] == "Refusal") for row in read],
    )


def some_written_logs() -> Iterator[tuple[dict[str, Any], bool]]:
    """Our own logs that the role head has learned from, as cases, and whether they decline everything."""
    for number, log in enumerate(written_logs()):
        kind = log["refusal"]["kind"]
        if not is_kept_out(log["author"], log["id"]) and (kind != "no" or number % OTHERS == 0):
            yield rag_logs.case_of(log), kind == "whole"


def rows(cases: Sequence[tuple[dict[str, Any], bool]]) -> Iterator[Row]:
    for start in range(0, len(cases), BATCH):
        batch = [item for item in cases[start : start + BATCH] if rag_logs.study(item[0]) is not None]
        facts = [RagFacts(RagCase.model_validate(case)) for case, _ in batch]
        for one, roles, (_, whole) in zip(facts, read_roles(facts), batch, strict=True):
            current = lay_out(one, roles)
            if not current.roles.refusals:
                yield Row(None, whole)
                continue
            pairs = list(dict.fromkeys(question_pairs(current)))
            said = dict(zip(pairs, entailment.answers(pairs), strict=True))
            yield Row(refusals.signs(current, said), whole)


def show(name: str, found: Sequence[Row], rule: LogisticRegression) -> None:
    weighed = [row.signs is not None and declines_all(row.signs, rule) for row in found]
    outcomes = list(zip(weighed, [row.whole for row in found], strict=True))
    precision, recall = rag_data.precision(outcomes), rag_data.recall(outcomes)
    print(f"{name}: {len(found)} answers, {np.sum([row.whole for row in found])} refusals, ", end="")
    print(f"precision {precision:.3f}, recall {recall:.3f}, F1 {rag_data.f1(outcomes):.3f}")


def declines_all(signs: dict[str, float], rule: LogisticRegression) -> bool:
    """As in the judge: an answer that says nothing else declines all, one of which the rest answers does not."""
    if signs["rest"] <= log_odds(0.0):
        return True
    answered = log_odds(table("local")["refusal"]["answered"])
    return signs["rest"] < answered and bool(rule.predict([list(signs.values())])[0])


if __name__ == "__main__":
    sys.exit(main())
