"""What a RAG case costs with an LLM labeller: calls, and prompt tokens beside the case's own.

    python benchmarks/rag_prompt.py [--cases 50]

A fake server on loopback counts the calls and keeps the prompts. Tokens are word pieces of the embedded model's
vocabulary, the same measure on both sides. The mark: one call a case, and a prompt of at most 1.3 times the case's
tokens plus 900. The schema of the reply travels beside the prompt and is shown apart.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
from workload import LABELS, cases

import krino
from krino.models.wordpiece import WordPiece

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fake_llm import FakeServer

ENDLESS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=50)
    args = parser.parse_args()
    pieces = WordPiece(files("krino.models") / "minilm" / "vocab.txt")

    def tokens(text: str) -> int:
        return len(pieces.encode(text, ENDLESS)) - 2

    made = list(cases(args.cases))
    with FakeServer(reply=LABELS) as server:
        labeller = krino.llm("m", base_url=server.url, cache=None, concurrency=1)
        judged = list(krino.judge_many("rag", made, labeller=labeller))
        requests = list(server.requests)
    assert all(judgement.status == "ok" for judgement in judged)
    own = [sum(tokens(text) for text in _texts(case)) for case in made]
    sent = [tokens(request.text) for request in requests]
    allowed = [1.3 * tokens_of_case + 900 for tokens_of_case in own]
    shared = _common_start([request.text for request in requests])
    schema = tokens(orjson.dumps(requests[0].schema).decode())
    print(f"calls a case: {len(requests) / len(made):.2f}  (mark: 1)")
    print(f"case {_mean(own):.0f} tokens, prompt {_mean(sent):.0f}, allowed {_mean(allowed):.0f}")
    print(f"cases over the mark: {sum(ours > most for ours, most in zip(sent, allowed, strict=True))}")
    print(f"the prompts begin alike for {tokens(requests[0].text[:shared])} tokens; the reply's schema has {schema}")


def _texts(case: dict[str, Any]) -> list[str]:
    return [case["question"], *case["contexts"], case["answer"], case["reference"]]


def _common_start(texts: list[str]) -> int:
    """How many characters all of them begin with: the part that a provider's prompt cache can keep."""
    first, last = min(texts), max(texts)
    return next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), len(first))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


if __name__ == "__main__":
    main()
