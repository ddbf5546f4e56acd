"""Trains the entailment model: a small encoder (gte-small) as a cross-encoder of premise and claim, three classes.

    python training/train_entailment.py pairs.npz --weights model.safetensors --into FOLDER [--smoke]

`prepare_pairs.py` makes the pairs. One training a seed, all from the same head, so that the mean of their weights is
a network of the same kind; that mean is written. On one GPU an epoch takes seconds; `--smoke` trains on 150 pairs and
runs on a CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
import torch
from entailment_net import CLASSES, EntailmentNet, Weights, net_from, published_names
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch import Tensor

BATCH_TOKENS = 65_536
WIDTH_STEP = 32
WARM_UP = 0.06
FIRST_HEAD = 0
"""The seed of the head that every training begins with."""

Encoded = tuple[list[int], int]


def unpacked(file: Mapping[str, NDArray[np.generic]], prefix: str) -> tuple[list[str], list[Encoded]]:
    """The origins of one side's pairs, and the pairs as token numbers and label."""
    ends = np.cumsum(file[f"{prefix}_lengths"], dtype=np.int64)
    starts = ends - file[f"{prefix}_lengths"]
    ids = file[f"{prefix}_ids"]
    labels = file[f"{prefix}_labels"].tolist()
    encoded = [(ids[start:end].tolist(), label) for start, end, label in zip(starts, ends, labels, strict=True)]
    return file[f"{prefix}_origins"].tolist(), encoded


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


def trained(
    weights: Weights, learned: Sequence[Encoded], seeds: Sequence[int], epochs: int, rate: float
) -> EntailmentNet:
    """The mean of one training a seed."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    shelf, states = Shelf(learned, device), []
    for seed in seeds:
        torch.manual_seed(FIRST_HEAD)
        net = net_from(weights).to(device)
        train(net, shelf, epochs, rate, seed)
        states.append({name: value.detach().float().cpu() for name, value in net.state_dict().items()})
    net.load_state_dict(mean_of(states))
    return net


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--weights", type=Path, required=True, help="gte-small as safetensors (`gte_weights.py`)")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--smoke", action="store_true", help="150 pairs, one epoch")
    args = parser.parse_args()
    torch.use_deterministic_algorithms(True, warn_only=True)
    file = dict(np.load(args.pairs))
    _, learned = unpacked(file, "learned")
    names, kept = unpacked(file, "kept")
    if args.smoke:
        learned = Random(0).sample(learned, 150)
        names, kept, args.epochs = names[:150], kept[:150], 1
    tokens = sum(len(ids) for ids, _ in learned)
    print(f"{len(learned)} pairs, {tokens / 1e6:.1f} million tokens; {len(kept)} kept out", flush=True)
    net = trained(load_file(args.weights), learned, args.seeds, args.epochs, args.rate)
    logits = predict(net, kept, next(net.parameters()).device.type)
    labels = [label for _, label in kept]
    shares = shares_right(names, labels, logits)
    args.into.mkdir(parents=True, exist_ok=True)
    save_file(published_names(net), args.into / "entailment.safetensors")
    record = {"right": shares, "names": names, "labels": labels, "logits": logits.round(3).tolist()}
    (args.into / "held_out.json").write_text(json.dumps(record), "utf-8")
    print(json.dumps({name: round(share, 3) for name, share in shares.items()}, indent=1))


if __name__ == "__main__":
    main()
