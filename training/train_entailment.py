"""Trains the entailment model: all-MiniLM-L6-v2 as a cross-encoder of premise and claim, three classes.

    python training/train_entailment.py DATA --weights model.safetensors --into FOLDER [--smoke]

DATA holds `nli/` and `rag/` (see `pairs.py`). One training a seed; the weights that are written are their mean. On one
GPU an epoch takes seconds; `--smoke` trains on 150 pairs and runs on a CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from multiprocessing import Pool
from pathlib import Path
from random import Random

import numpy as np
import torch
from entailment_net import CLASSES, EntailmentNet, net_from, published_names
from numpy.typing import NDArray
from pairs import NLI_SETS, Pair, answer_pairs, documents, inference_pairs, similar_pairs
from safetensors.numpy import load_file, save_file
from synthesis import Maker
from torch import Tensor

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src" / "krino" / "models"))
from wordpiece import WordPiece  # noqa: E402  (the package's own tokenizer, without the package)

PREMISE_TOKENS, CLAIM_TOKENS = 320, 96
BATCH_TOKENS = 65_536
WIDTH_STEP = 32
HELD_OUT = 25
"""One premise in so many is kept out of training, to watch it and to calibrate."""
WARM_UP = 0.06
COMPOSED = ("fever_nli_dev", "mnli_dev_matched_mismatched", "scitail_dev", "fever_symmetric")
"""Sets of statements about the world; captions of pictures would say each other's opposite."""

Encoded = tuple[list[int], int]


def gather(folder: Path, seed: int, sets: tuple[str, ...]) -> list[Pair]:
    """Pairs that people labelled, some of them in longer surroundings or edited, and pairs made from running text."""
    people = inference_pairs(folder, sets) + similar_pairs(folder)
    answers = answer_pairs(folder)
    maker = Maker(documents(folder), seed)
    made = list(maker.pairs(most_a_document=6))
    again = [*maker.surrounded(people, 0.5), *maker.edited(people + answers, 0.5)]
    again += maker.composed([pair for pair in people if pair.origin in COMPOSED], 40_000)
    return [*people, *answers * 3, *made, *again]


def is_held_out(pair: Pair) -> bool:
    """By the claim's first words and the premise: what is made from one sentence stays on one side."""
    return int.from_bytes(blake2b(pair.premise[:60].encode(), digest_size=4).digest(), "big") % HELD_OUT == 0


_pieces: WordPiece | None = None


def encode(pair: Pair) -> Encoded:
    global _pieces
    if _pieces is None:
        _pieces = WordPiece(ROOT / "src" / "krino" / "models" / "minilm" / "vocab.txt")
    claim = _pieces.encode(pair.claim, CLAIM_TOKENS)
    return _pieces.encode(pair.premise, PREMISE_TOKENS) + claim[1:], pair.label


class Shelf:
    """Encoded pairs on the device, sorted into tables by length, so that a batch is a few rows of one table."""

    def __init__(self, encoded: Sequence[Encoded], device: str) -> None:
        by_width: dict[int, list[int]] = {}
        for place, (ids, _) in enumerate(encoded):
            by_width.setdefault(-(-len(ids) // WIDTH_STEP) * WIDTH_STEP, []).append(place)
        self.places = by_width
        self.tables = {width: self._table(encoded, width).to(device) for width in by_width}
        bits = [[label >> place & 1 for place in range(len(CLASSES))] for _, label in encoded]
        self.allowed = torch.tensor(bits, dtype=torch.bool).to(device)
        self.device = device

    def _table(self, encoded: Sequence[Encoded], width: int) -> Tensor:
        rows = np.zeros((len(self.places[width]), width), np.int32)
        for row, place in enumerate(self.places[width]):
            rows[row, : len(encoded[place][0])] = encoded[place][0]
        return torch.from_numpy(rows)

    def plan(self, random: Random | None) -> list[tuple[int, list[int]]]:
        """Batches as a table's width and its rows; in random order for training."""
        made = []
        for width, places in sorted(self.places.items()):
            rows = list(range(len(places)))
            if random:
                random.shuffle(rows)
            size = max(1, BATCH_TOKENS // width)
            made += [(width, rows[start : start + size]) for start in range(0, len(rows), size)]
        if random:
            random.shuffle(made)
        return made

    def batch(self, width: int, rows: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
        """Token numbers, which of them count, and the classes that are possible."""
        ids = self.tables[width][torch.tensor(rows, device=self.device)].long()
        places = torch.tensor([self.places[width][row] for row in rows], device=self.device)
        return ids, ids != 0, self.allowed[places]


def loss_of(logits: Tensor, allowed: Tensor) -> Tensor:
    """Minus the log of the probability of all classes that are possible."""
    logs = torch.log_softmax(logits.float(), -1)
    return -torch.logsumexp(logs.masked_fill(~allowed, -math.inf), -1).mean()


def train(net: EntailmentNet, shelf: Shelf, epochs: int, rate: float, seed: int) -> None:
    torch.manual_seed(seed)
    random, device = Random(seed), shelf.device
    plan = [batch for _ in range(epochs) for batch in shelf.plan(random)]
    decayed = [value for name, value in net.named_parameters() if value.dim() > 1]
    plain = [value for name, value in net.named_parameters() if value.dim() == 1]
    groups = [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=rate, fused=device == "cuda")
    warm = max(1, int(WARM_UP * len(plan)))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser, lambda step: min(step / warm, max(0.0, (len(plan) - step) / (len(plan) - warm)))
    )
    net.train()
    started = time.perf_counter()
    for step, (width, rows) in enumerate(plan, 1):
        ids, mask, allowed = shelf.batch(width, rows)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            loss = loss_of(net(ids, mask), allowed)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 100 == 0 or step == len(plan):
            spent = time.perf_counter() - started
            print(f"seed {seed}, step {step} of {len(plan)}: loss {loss.item():.3f}, {spent:.0f} s", flush=True)


@torch.no_grad()
def predict(net: EntailmentNet, encoded: Sequence[Encoded], device: str) -> NDArray[np.float32]:
    """The logits of every pair."""
    net.eval()
    shelf = Shelf(encoded, device)
    found = np.zeros((len(encoded), len(CLASSES)), np.float32)
    for width, rows in shelf.plan(None):
        ids, mask, _ = shelf.batch(width, rows)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found[[shelf.places[width][row] for row in rows]] = net(ids, mask).float().cpu().numpy()
    return found


def shares_right(names: Sequence[str], labels: Sequence[int], logits: NDArray[np.float32]) -> dict[str, float]:
    """By origin, the share of pairs whose likeliest class is a possible one."""
    right: Counter[str] = Counter()
    total = Counter(names)
    for name, label, best in zip(names, labels, logits.argmax(1), strict=True):
        right[name] += label >> int(best) & 1
    return {name: right[name] / total[name] for name in sorted(total)}


def mean_of(states: Sequence[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--weights", type=Path, required=True, help="all-MiniLM-L6-v2 as safetensors")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", default=list(NLI_SETS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--smoke", action="store_true", help="150 pairs, one epoch")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.use_deterministic_algorithms(True, warn_only=True)
    pairs = gather(args.data, 0, tuple(args.sets))
    if args.smoke:
        pairs = Random(0).sample(pairs, 150)
    with Pool() as pool:
        encoded = pool.map(encode, pairs, chunksize=2_000)
    named = list(zip((pair.origin for pair in pairs), encoded, strict=True))
    held_out = [item for pair, item in zip(pairs, named, strict=True) if is_held_out(pair)]
    learned = [item for pair, (_, item) in zip(pairs, named, strict=True) if not is_held_out(pair)]
    tokens = sum(len(ids) for ids, _ in learned)
    print(f"{len(learned)} pairs, {tokens / 1e6:.1f} million tokens; {len(held_out)} held out", flush=True)
    shelf, states = Shelf(learned, device), []
    for seed in args.seeds:
        torch.manual_seed(seed)
        net = net_from(load_file(args.weights)).to(device)
        train(net, shelf, 1 if args.smoke else args.epochs, args.rate, seed)
        states.append({name: value.detach().float().cpu() for name, value in net.state_dict().items()})
    net.load_state_dict(mean_of(states))
    names, kept = [name for name, _ in held_out], [item for _, item in held_out]
    labels = [label for _, label in kept]
    logits = predict(net, kept, device)
    shares = shares_right(names, labels, logits)
    args.into.mkdir(parents=True, exist_ok=True)
    save_file(published_names(net), args.into / "entailment.safetensors")
    record = {"right": shares, "names": names, "labels": labels, "logits": logits.round(3).tolist()}
    (args.into / "held_out.json").write_text(json.dumps(record), "utf-8")
    print(json.dumps({name: round(share, 3) for name, share in shares.items()}, indent=1))


if __name__ == "__main__":
    main()
