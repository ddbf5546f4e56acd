"""Switches off rules of the embedded RAG labeller, one family at a time, and counts what that changes.

    rag_rules.py DATA_FOLDER [--cache FILE] [--only NAME ...] [--cases N]

DATA_FOLDER holds `rag` (public sets, see rag_data.py) and `real` (logs like production with expectations). None of it
was written by the authors of the rules. Printed for each family: how many cases get other labels, and the figures of
the set. What the models say is kept in FILE, so that a second run asks them nothing twice.
"""

from __future__ import annotations

import argparse
import importlib
import pickle
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import rag_data
import rag_logs
from rag_data import Item, accuracy, balanced_accuracy, f1, rows
from rag_logs import Judged

from krino.judges.rag.embedded.values_against import Values
from krino.models import embedder, entailment

HOME = "krino.judges.rag"
SEED = 20261119
SUPPORT, VALUES, ROLES = "embedded.support", "embedded.values_against", "embedded.roles"
Patches = tuple[tuple[str, str, Any], ...]


def never(*_: Any, **__: Any) -> None:
    """What a finder says that finds nothing."""


def no(*_: Any, **__: Any) -> bool:
    return False


def same(text: Any, *_: Any, **__: Any) -> Any:
    return text


FAMILIES: dict[str, Patches] = {
    "values: all": ((SUPPORT, "compare_values", lambda *_: Values((), (), None)),),
    "values: another value": ((VALUES, "_other_value", never),),
    "values: another bound": ((VALUES, "_other_bound", never),),
    "values: of another row": ((VALUES, "_of_another_row", never),),
    "values: counted otherwise": ((VALUES, "_counted_otherwise", never),),
    "values: a count for a share": ((VALUES, "_count_for_share", never),),
    "values: derived": ((VALUES, "_is_derived", no),),
    "values as the passage writes them": ((SUPPORT, "_in_their_values", lambda text, *_: text),),
    "strange names": (("facts:RagFacts", "strangers", property(lambda self: {})),),
    "quotations": (("facts:RagFacts", "misquoted", property(lambda self: {})),),
    "copies": (("facts:RagFacts", "copies", property(lambda self: {})),),
    "frames": (("local", "_find_frames", lambda facts: {}),),
    "retractions": (("local", "find_retraction", never),),
    "lead-ins of list items": (("local", "_above", lambda facts, number: ""),),
    "further windows": ((SUPPORT, "_further", lambda place, windows: iter(())),),
    "roles: all are claims": ((ROLES, "_is_claim", lambda facts, number, shares: True),),
    "roles: statements in other roles": ((ROLES, "_states_matter", no),),
    "refusals: what they plead": ((ROLES, "pleas", frozenset),),
    "rows of tables in passages": (("facts", "add_headers", same),),
    "several sentences together": (("embedded.relevance", "joined_pairs", lambda current, model_answers: iter(())),),
    "similarity: exact difference": (("facts", "find_exact_difference", never),),
    "similarity: yes and no": (("embedded.similarity", "_agree_on_yes", never),),
}
CACHING = ("reading.words", "reading.question", "values.finding", "values.bounds")
Figures = dict[str, float]


class Kept:
    """A model's function whose results are kept by what it was asked."""

    def __init__(self, ask: Callable[[Sequence[Any]], Any], known: dict[Any, Any]) -> None:
        self._ask, self._known = ask, known

    def __call__(self, asked: Sequence[Any]) -> Any:
        new = [item for item in dict.fromkeys(asked) if item not in self._known]
        if new:
            self._known.update(zip(new, self._ask(new), strict=True))
        return [self._known[item] for item in asked]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="DATA_FOLDER")
    parser.add_argument("--cache", type=Path, help="a file in which what the models say is kept")
    parser.add_argument("--only", nargs="+", choices=sorted(FAMILIES), default=list(FAMILIES))
    parser.add_argument("--cases", type=int, default=120, help="cases drawn from each set (120)")
    given = parser.parse_args()
    known = load(given.cache)
    sets = read_sets(given.folder, given.cases)
    with (
        patch.object(entailment, "entail", Kept(entailment.entail, known["entail"])),
        patch.object(entailment, "roles", partial(as_array, Kept(entailment.roles, known["roles"]))),
        patch.object(embedder, "embed", partial(as_array, Kept(embedder.embed, known["embed"]))),
    ):
        before = {name: rag_logs.judge_all(cases) for name, (cases, _) in sets.items()}
        show("(nothing)", sets, before, before)
        keep(given.cache, known)
        for family in given.only:
            with switched_off(FAMILIES[family]):
                show(family, sets, {name: rag_logs.judge_all(cases) for name, (cases, _) in sets.items()}, before)
            keep(given.cache, known)
    return 0


def as_array(ask: Kept, texts: Sequence[str]) -> Any:
    import numpy as np

    return np.array(ask(texts))


def load(file: Path | None) -> dict[str, dict[Any, Any]]:
    if file is not None and file.exists():
        found: dict[str, dict[Any, Any]] = pickle.loads(file.read_bytes())  # of our own making, from nowhere else
        return found
    return {"entail": {}, "embed": {}, "roles": {}}


def keep(file: Path | None, known: dict[str, dict[Any, Any]]) -> None:
    if file is not None:
        file.write_bytes(pickle.dumps(known))


# --- the sets --------------------------------------------------------------------------------------

Measure = Callable[[Sequence[Judged | None]], Figures]
Sets = dict[str, tuple[list[dict[str, Any]], Measure]]


def read_sets(folder: Path, most: int) -> Sets:
    public = folder / "rag"
    sets: Sets = {}
    for name, read in (
        ("RAGTruth", rag_data.ragtruth),
        ("SummEdits", rag_data.summedits),
        ("WiCE", rag_data.wice),
        ("Factcheck", rag_data.factcheck),
        ("LFQA answers", rag_data.lfqa_answers),
    ):
        items = draw(read(public), most)
        sets[name] = ([item.case for item in items], partial(supported, items))
    pairs = draw([row for row in rows(public / "evouna" / "sample_600q.jsonl.gz") if row["answer"]], most)
    cases = [{**row, "reference": row["reference"].split("/")[0]} for row in pairs]
    sets["EVOUNA"] = (cases, partial(similar, [bool(row["human_correct"]) for row in pairs]))
    declined = draw(list(rows(public / "financebench_half" / "data.jsonl.gz")), most)
    cases = [{"question": row["question"], "answer": row["answer"]} for row in declined]
    sets["FinanceBench"] = (cases, partial(refusals, [row["human_label"] == "Refusal" for row in declined]))
    logs = draw(rag_logs.read_train(folder / "real" / "train"), most)
    sets["logs"] = (list(map(rag_logs.case_of, logs)), partial(rag_logs.sentences, logs))
    expected = rag_logs.read_expected(folder / "real" / "rag.jsonl")
    sets["newcomer's logs"] = (list(map(rag_logs.case_of, expected)), partial(rag_logs.ranks, expected))
    return sets


def draw(items: Sequence[Any], most: int) -> list[Any]:
    return random.Random(SEED).sample(list(items), min(most, len(items)))


def supported(items: Sequence[Item], judged: Sequence[Judged | None]) -> Figures:
    said = [found is not None and found.is_supported for found in judged]
    return {"accuracy": balanced_accuracy([(ours, item.good) for ours, item in zip(said, items, strict=True)])}


def similar(good: Sequence[bool], judged: Sequence[Judged | None]) -> Figures:
    scores = [found.verdict["semantic_similarity"] if found else 0.0 for found in judged]
    return {"accuracy": accuracy([(score >= 0.65, truth) for score, truth in zip(scores, good, strict=True)])}


def refusals(truth: Sequence[bool], judged: Sequence[Judged | None]) -> Figures:
    said = [found is not None and found.declines for found in judged]
    return {"refusal F1": f1(list(zip(said, truth, strict=True)))}


# --- switching off ---------------------------------------------------------------------------------


def show(
    family: str, sets: Sets, found: Mapping[str, list[Judged | None]], before: Mapping[str, list[Judged | None]]
) -> None:
    cells = []
    for name, (_, measure) in sets.items():
        pairs = list(zip(found[name], before[name], strict=True))
        changed = sum((one and one.told) != (other and other.told) for one, other in pairs)
        verdicts = sum((one and one.verdict) != (other and other.verdict) for one, other in pairs)
        ours, theirs = measure(found[name]), measure(before[name])
        moved = [
            f"{what} {100 * ours[what]:.1f} ({100 * (ours[what] - theirs[what]):+.1f})"
            for what in ours
            if found is before or ours[what] != theirs[what]
        ]
        if found is before:
            cells.append(f"{name} ({len(pairs)}): {', '.join(what.split(' (')[0] for what in moved)}")
        elif changed:
            cells.append(f"{name}: {changed} labels, {verdicts} scores" + (f"; {', '.join(moved)}" if moved else ""))
    print(f"{family}\n    " + ("\n    ".join(cells) or "changes nothing"), flush=True)


@contextmanager
def switched_off(patches: Patches) -> Iterator[None]:
    with ExitStack() as stack:
        for place, name, instead in patches:
            module, _, part = place.partition(":")
            target = importlib.import_module(f"{HOME}.{module}")
            owner = getattr(target, part) if part else target
            if not hasattr(owner, name):
                raise SystemExit(f"{place} has no {name}: the table of families is out of date")
            stack.enter_context(patch.object(owner, name, instead))
        clear_caches()
        yield
    clear_caches()


def clear_caches() -> None:
    for name in CACHING:
        for item in vars(importlib.import_module(f"{HOME}.{name}")).values():
            if hasattr(item, "cache_clear"):
                item.cache_clear()


if __name__ == "__main__":
    sys.exit(main())
