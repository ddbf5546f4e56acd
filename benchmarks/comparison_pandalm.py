"""The ready judge `pairwise` over the PandaLM test set with labellers whose habits are known: `... DATA_FOLDER`.

One always prefers the answer that it is shown first, one the longer answer, one says what the first annotator said. The
first must win nothing: every pair that it is asked about is a tie and counted as position bias. What the third says
must come out as it is. The exit code is 1 where one of these does not hold.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import krino
from krino import Labelled, Labeller, Task
from krino.cases import read_cases
from krino.labellers.split_calls import label_in_parts
from krino.stats.rater_agreement import cohen_kappa

Choose = Callable[[dict[str, Any], str, str], str]
WINNERS = {"tie": 0, "answer_a": 1, "answer_b": 2}


class Habit(Labeller):
    """Labels each order by a function of the pair and the two answers as they are shown."""

    def __init__(self, choose: Choose, pairs: dict[tuple[str, str], dict[str, Any]]) -> None:
        self._choose = choose
        self._pairs = pairs

    def describe(self) -> dict[str, Any]:
        return {"kind": "habit"}

    async def label(self, task: Task[Any, Any, Any]) -> Labelled[Any]:
        case = task.facts.values

        async def one(piece: Task[Any, Any, Any]) -> Labelled[Any]:
            shown = {passage.name: passage.text for passage in piece.questions.passages}
            label = self._choose(self._pairs[case["answer_a"], case["answer_b"]], shown["first"], shown["second"])
            quote = "" if label == "tie" else shown[label]
            return Labelled(piece.accept({"reason": "A habit.", "quote": quote, "label": label}), self.describe())

        return await label_in_parts(task, one)


def first(pair: dict[str, Any], one: str, other: str) -> str:
    return "first"


def longer(pair: dict[str, Any], one: str, other: str) -> str:
    sizes = len(one.split()), len(other.split())
    return "tie" if sizes[0] == sizes[1] else "first" if sizes[0] > sizes[1] else "second"


def annotator(pair: dict[str, Any], one: str, other: str) -> str:
    if pair["annotator1"] == 0:
        return "tie"
    return "first" if one == pair[f"response{pair['annotator1']}"] else "second"


def pairs_in(folder: Path) -> list[dict[str, Any]]:
    """Each pair of answers once: of the same pair twice, another question may have another winner."""
    path = next((folder / name for name in ("data.jsonl", "data.jsonl.gz") if (folder / name).exists()), None)
    if path is None:
        sys.exit(f"{folder} has no data.jsonl or data.jsonl.gz")
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for item in read_cases([path]):
        pair: dict[str, Any] = dict(item.record or {})
        found.setdefault((pair["response1"], pair["response2"]), pair)
    return list(found.values())


def records(pairs: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for pair in pairs:
        question = f"{pair['instruction']}\n{pair['input']}".strip()
        yield {"question": question, "answer_a": pair["response1"], "answer_b": pair["response2"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    pairs = pairs_in(parser.parse_args().folder)
    by_texts = {(pair["response1"], pair["response2"]): pair for pair in pairs}
    print(f"{len(pairs)} pairs\n{'habit':12} {'asked':>6} {'turned':>7} {'wins':>6} {'longer won':>11} {'kappa':>7}")
    holds = True
    for choose in (first, longer, annotator):
        found = list(krino.judge_many("pairwise", records(pairs), labeller=Habit(choose, by_texts)))
        asked = [judgement for judgement in found if judgement.labels is not None]
        verdicts = [judgement.verdict or {} for judgement in asked]
        failed = sum(judgement.status == "error" for judgement in found)
        turned = sum(verdict["position_bias"] is True for verdict in verdicts)
        wins = sum(verdict["winner"] != "tie" for verdict in verdicts)
        by_length = [verdict["longer_won"] for verdict in verdicts if verdict["longer_won"] is not None]
        kept = [(judgement, pair) for judgement, pair in zip(found, pairs, strict=True) if judgement.labels is not None]
        said = np.array([WINNERS[(judgement.verdict or {})["winner"]] for judgement, _ in kept], np.intp)
        truth = np.array([pair["annotator1"] for _, pair in kept], np.intp)
        share = f"{sum(by_length)} of {len(by_length)}"
        print(f"{choose.__name__:12} {len(asked):6} {turned:7} {wins:6} {share:>11} {cohen_kappa(said, truth):7.3f}")
        holds &= not failed and (choose is not first or (turned == len(asked) and not wins))
        holds &= choose is first or not turned
        holds &= choose is not annotator or bool((said == truth).all())
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
