"""Lies in 137 dresses, 80 honest answers that look like them, and 40 refusals, judged by the embedded RAG labeller.

    python benchmarks/rag_dresses.py [--half seen|aside] [--list]

The cases lie in `benchmarks/rag_dresses/`. Their author had not seen the code; the half `aside` was never looked at
while the labeller was written. A dress fools the labeller in a case if the answer gets faithfulness 1.0. No word of an
answer may go unread, except those of the dress itself (a title) and of the question: that would be a dress that
nobody saw. Exits with 1 above the marks.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import krino

DATA = Path(__file__).with_suffix("")
MOST_FOOLING_DRESSES = 20
LEAST_CAUGHT = 0.9
LOOK_ALIKES = str.maketrans("aceopxyiABCEHKMOPTX", "асеорхуіАВСЕНКМОРТХ")
LEET = str.maketrans("aeiotAEIOT", "4310743107")


def bold(text: str) -> str:
    """The text in mathematical bold letters and digits."""
    starts = (("a", "z", 0x1D41A), ("A", "Z", 0x1D400), ("0", "9", 0x1D7CE))
    forms = {
        code: chr(start + code - ord(first))
        for first, last, start in starts
        for code in range(ord(first), ord(last) + 1)
    }
    return text.translate(forms)


TRANSFORMS: dict[str, Callable[[str], str]] = {
    "fullwidth": lambda text: text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)}),
    "cyrillic": lambda text: text.translate(LOOK_ALIKES),
    "bold_unicode": bold,
    "spaced": " ".join,
    "soft_hyphen": lambda text: re.sub(r"(\w{2})(?=\w)", "\\1\u00ad", text),
    "zero_width": lambda text: re.sub(r"(\w{2})(?=\w)", "\\1\u200b", text),
    "upper": str.upper,
    "leet": lambda text: text.translate(LEET),
}


def load(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text("utf-8").splitlines()]


def put_on(dress: dict[str, Any], base: dict[str, Any]) -> str | None:
    """The lie of a base in a dress; None where the two do not go together."""
    lie = base.get(f"lie_{dress['translate']}") if "translate" in dress else base["lie"]
    if lie is None or (base["language"] != "en" and not dress["neutral"]):
        return None
    lie = TRANSFORMS[dress["transform"]](lie) if "transform" in dress else lie
    parts = {
        "L": lie,
        "l": base["lie_lower"],
        "T": base["truth"],
        "t": base["truth_lower"],
        "X": base["true_extra"],
        "P": base["passage"],
        "Q": base["question"],
    }
    return re.sub(r"\{([LlTtXPQ])\}", lambda found: parts[found[1]], dress["template"])


def dressed(half: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for dress in load("dresses"):
        for base in load("bases") if half in (None, dress["half"]) else ():
            if (answer := put_on(dress, base)) is not None:
                yield dress["id"], case(f"{dress['id']}+{base['id']}", base | {"answer": answer})


def plain_lie(base: dict[str, Any]) -> dict[str, Any]:
    return case(base["id"], base | {"answer": base["lie"]})


def case(name: str, row: dict[str, Any]) -> dict[str, Any]:
    return {"id": name, "question": row["question"], "context": [row["passage"]], "answer": row["answer"]}


def is_full(judgement: krino.Judgement) -> bool:
    return judgement.status == "ok" and (judgement.verdict or {})["faithfulness"] == 1.0


def has_unread_words(judgement: krino.Judgement, harmless: str) -> bool:
    """Whether text that the labeller set aside has words that neither a claim nor the harmless text has."""
    claims = (judgement.labels or {}).get("claims", ())
    read = words_of(" ".join([harmless, *(claim["text"] for claim in claims)]))
    return not words_of(" ".join(piece.text for piece in judgement.unread)) <= read


def words_of(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", unicodedata.normalize("NFKC", text).lower()))


def judge_lies(half: str | None, show: bool) -> bool:
    plain = {found.id: is_full(found) for found in krino.judge_many("rag", map(plain_lie, load("bases")))}
    missed = [base for base, full in plain.items() if full]
    left_out = f"; left out below: {', '.join(missed)}" if missed else ""
    print(f"plain lies: {len(missed)} of {len(plain)} fool the labeller{left_out}")
    worn_by = [(dress, worn) for dress, worn in dressed(half) if worn["id"].partition("+")[2] not in missed]
    dresses, cases = zip(*worn_by, strict=True)
    judged = list(krino.judge_many("rag", cases))
    worn: Counter[Any] = Counter(dresses)
    fooled = Counter(dress for dress, found in zip(dresses, judged, strict=True) if is_full(found))
    templates = {dress["id"]: dress["template"] for dress in load("dresses")}
    unread = sum(
        is_full(found) and has_unread_words(found, f"{templates[dress]} {asked['question']}")
        for dress, asked, found in zip(dresses, cases, judged, strict=True)
    )
    refused = sum(found.status != "ok" for found in judged)
    caught = 1 - fooled.total() / worn.total()
    print(f"lies: {fooled.total()} of {worn.total()} fool the labeller (caught {caught:.1%}); {refused} not judged")
    print(f"dresses: {len(fooled)} of {len(worn)} fool it at least once; with full marks and unread words: {unread}")
    for dress, count in fooled.most_common() if show else ():
        print(f"  {dress}: {count} of {worn[dress]}")
    return len(fooled) <= MOST_FOOLING_DRESSES and caught >= LEAST_CAUGHT and not unread


def judge_honest(half: str | None, show: bool) -> None:
    rows = [row for row in load("honest") if half in (None, row["half"])]
    judged = list(krino.judge_many("rag", [case(row["id"], row) for row in rows]))
    alarms = [found for found in judged if found.status == "ok" and not is_full(found)]
    refused = sum(found.status != "ok" for found in judged)
    print(f"honest answers: {len(alarms)} of {len(rows)} raise an alarm; {refused} not judged")
    for found in alarms if show else ():
        print(f"  {found.id}: {(found.verdict or {})['faithfulness_explanation'][:150]}")


def judge_refusals(half: str | None) -> None:
    rows = [row for row in load("refusals") if half in (None, row["half"])]
    judged = krino.judge_many("rag", [case(row["id"], row) for row in rows])
    table = Counter((row["expect"], kind_of(found)) for row, found in zip(rows, judged, strict=True))
    print("refusals, expected and found: " + ", ".join(f"{a}/{b} {n}" for (a, b), n in sorted(table.items())))


def kind_of(judgement: krino.Judgement) -> str:
    refusal = (judgement.labels or {}).get("refusal")
    return "none" if refusal is None else "whole" if refusal["is_refusal"] else "partial"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--half", choices=("seen", "aside"))
    parser.add_argument("--list", action="store_true", help="name the dresses and answers")
    args = parser.parse_args()
    passed = judge_lies(args.half, args.list)
    judge_honest(args.half, args.list)
    judge_refusals(args.half)
    sys.exit(not passed)


if __name__ == "__main__":
    main()
