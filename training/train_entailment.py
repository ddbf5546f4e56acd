"""Trains the entailment model: a small encoder (gte-small) as a cross-encoder of text and claim, three classes.

    python training/train_entailment.py pairs.npz --weights gte.safetensors --into FOLDER [--seconds N] [--smoke]

`prepare_pairs.py` makes the pairs. The weights are a running mean over the last quarter of the training, mixed with a
little of those that it began with. `--seconds` ends the training early, and `--smoke` trains on 150 pairs and runs on a
CPU.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

import numpy as np
import torch
from entailment_net import CLASSES, EntailmentNet, Weights, net_from, published_names
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch import Tensor

BATCH_TOKENS = 65_536
WARM_UP = 500
MEAN_FROM = 0.75
MEAN_STEP = 5
"""The running mean is taken over every fifth step of the last quarter."""
AS_BEGUN = 0.1
"""How much of the weights that it began with is mixed into the mean: what was learned by heart fades first."""
AT_EXITS = 0.15
"""How much what is said at an exit counts beside what is said at the end."""
DRAWS = {
    "kind": 0.15,
    "made": 0.2,
    "retold": 0.3,
    "composed": 0.3,
    "edited": 0.5,
    "ordinary": 0.25,
    "own: twins": 1.2,
    "own: answers": 1.0,
    "own: replies": 1.0,
    "own: questions": 0.4,
    "taught: reply": 0.5,
    "taught: same": 0.5,
    "taught: answer": 0.7,
    "taught: text": 1.0,
}
"""How often an epoch has a pair, by the beginning of its origin (the first that fits); all others once."""

Integers = NDArray[np.integer]


@dataclass(frozen=True, slots=True)
class Pieces:
    """Texts as token numbers, one after the other, and where each begins and how long it is."""

    ids: Integers
    starts: Integers
    lengths: Integers


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of one side: which text and claim, the possible classes as bits, the teacher's shares, and the origin."""

    texts: Pieces
    claims: Pieces
    text: Integers
    claim: Integers
    labels: Integers
    shares: NDArray[np.uint8]
    origins: NDArray[np.str_]

    def __len__(self) -> int:
        return len(self.labels)

    def some(self, places: Sequence[int]) -> Pairs:
        chosen = np.array(places)
        parts = (self.text, self.claim, self.labels, self.shares, self.origins)
        return Pairs(self.texts, self.claims, *(part[chosen] for part in parts))


def unpacked(file: Mapping[str, NDArray[np.generic]], side: str) -> Pairs:
    def pieces(name: str) -> Pieces:
        lengths = file[f"{name}_lengths"].astype(np.int64)
        return Pieces(file[f"{name}_ids"].astype(np.int32), np.cumsum(lengths) - lengths, lengths)

    parts = (file[f"{side}_{name}"] for name in ("text", "claim", "labels", "shares"))
    return Pairs(pieces("texts"), pieces("claims"), *parts, file["origins"][file[f"{side}_origin"]])


@cache
def rate_of(origin: str) -> float:
    return next((rate for begins, rate in DRAWS.items() if origin.startswith(begins)), 1.0)


class Shelf:
    """Pairs on the device, sorted by length; a batch is put together there when it is needed."""

    def __init__(self, pairs: Pairs, device: str) -> None:
        texts, claims = pairs.texts, pairs.claims
        first, second = texts.lengths[pairs.text], claims.lengths[pairs.claim] - 1  # the claim's first mark goes
        self.widths = first + second
        self.rates = np.array([rate_of(origin) for origin in pairs.origins.tolist()])

        def moved(values: Integers) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values.astype(np.int64))).to(device)

        self.ids = moved(np.concatenate([texts.ids, claims.ids]))
        self.first = moved(first)
        self.begins = moved(texts.starts[pairs.text])
        self.follows = moved(claims.starts[pairs.claim] + len(texts.ids) + 1)
        bits = (pairs.labels[:, None] >> np.arange(len(CLASSES))) & 1
        self.allowed = torch.from_numpy(bits.astype(bool)).to(device)
        self.shares = torch.from_numpy(pairs.shares.astype(np.float32) / 255).to(device)
        self.device = device

    def plan(self, random: np.random.Generator | None, epochs: int = 1) -> list[tuple[int, Integers]]:
        """Batches as a width and places; for training drawn by their rates, and in random order.

        All pairs of a batch are of one length, so that nothing is padded. What is left over of a length is a smaller
        batch, once for all epochs.
        """
        places = np.arange(len(self.widths))
        if random is not None:
            often = np.floor(self.rates * epochs + random.random(len(places))).astype(np.int64)
            places = random.permutation(np.repeat(places, often))
        places = places[np.argsort(self.widths[places], kind="stable")]
        made: list[tuple[int, Integers]] = []
        for chosen in np.split(places, np.flatnonzero(np.diff(self.widths[places])) + 1):
            width = int(self.widths[chosen[0]])
            size = max(1, BATCH_TOKENS // width)
            made += [(width, chosen[start : start + size]) for start in range(0, len(chosen), size)]
        if random is not None:
            made = [made[place] for place in random.permutation(len(made))]
        return made

    def batch(self, width: int, places: Integers) -> tuple[Tensor, Tensor]:
        """Token numbers, and the places of the pairs."""
        chosen = torch.from_numpy(places).to(self.device)
        column = torch.arange(width, device=self.device)
        first = self.first[chosen, None]
        return self.ids[
            torch.where(column < first, self.begins[chosen, None] + column, self.follows[chosen, None] + column - first)
        ], chosen


def loss_of(logits: Tensor, allowed: Tensor, shares: Tensor) -> Tensor:
    """Minus the log of the probability of all classes that are possible, or how far the teacher's shares are missed."""
    logs = torch.log_softmax(logits.float(), -1)
    soft = shares.sum(-1) > 0
    hard = -torch.logsumexp(logs.masked_fill(~allowed & ~soft[:, None], -math.inf), -1)
    return torch.where(soft, -(shares * logs).sum(-1) / shares.sum(-1).clamp_min(1e-6), hard).mean()


class RunningMean:
    """The mean of a network's weights over the steps that it is shown."""

    def __init__(self, net: EntailmentNet) -> None:
        self.count = 0
        self.state = {name: torch.zeros_like(value, dtype=torch.float32) for name, value in net.state_dict().items()}

    def add(self, net: EntailmentNet) -> None:
        self.count += 1
        for name, value in net.state_dict().items():
            self.state[name] += (value.float() - self.state[name]) / self.count


def train(net: EntailmentNet, shelf: Shelf, epochs: int, rate: float, seed: int, seconds: float) -> None:
    """By the plan, or until the time is up; the network then has the running mean, mixed with its first weights."""
    torch.manual_seed(seed)
    device = shelf.device
    plan = shelf.plan(np.random.default_rng(seed), epochs)
    optimiser = torch.optim.AdamW(_groups(net), lr=rate, fused=device == "cuda")
    before = {name: value.clone() for name, value in net.state_dict().items() if not name.startswith("heads.")}
    mean, started = RunningMean(net), time.perf_counter()
    net.train()
    for step, (width, chosen) in enumerate(plan, 1):
        spent = time.perf_counter() - started
        done = max(step / len(plan), spent / seconds)
        if done > 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * min(step / WARM_UP, 1.0) * max(0.01, 1 - done)
        ids, places = shelf.batch(width, chosen)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            *early, last = [loss_of(said, shelf.allowed[places], shelf.shares[places]) for said in net(ids)]
            loss = last + AT_EXITS * sum(early)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if done >= MEAN_FROM and step % MEAN_STEP == 0:
            mean.add(net)
        if step % 200 == 0 or step == len(plan):
            print(f"step {step} of {len(plan)}: loss {last.item():.3f}, {spent:.0f} s", flush=True)
    if mean.count:
        mixed = {name: AS_BEGUN * value + (1 - AS_BEGUN) * mean.state[name] for name, value in before.items()}
        net.load_state_dict(mean.state | mixed)


def _groups(net: EntailmentNet) -> list[dict[str, object]]:
    decayed = [value for value in net.parameters() if value.dim() > 1]
    plain = [value for value in net.parameters() if value.dim() == 1]
    return [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]


@torch.no_grad()
def predict(net: EntailmentNet, pairs: Pairs, device: str) -> NDArray[np.float32]:
    """The logits of every pair at every exit and at the end."""
    net.eval()
    shelf = Shelf(pairs, device)
    found = np.zeros((len(net.heads), len(pairs), len(CLASSES)), np.float32)
    for width, chosen in shelf.plan(None):
        ids, _ = shelf.batch(width, chosen)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found[:, chosen] = torch.stack(net(ids)).float().cpu().numpy()
    return found


def shares_right(names: Sequence[str], labels: Sequence[int], logits: NDArray[np.float32]) -> dict[str, float]:
    """By origin, the share of pairs whose likeliest class is a possible one."""
    right: Counter[str] = Counter()
    total = Counter(names)
    for name, label, best in zip(names, labels, logits.argmax(1), strict=True):
        right[name] += label >> int(best) & 1
    return {name: right[name] / total[name] for name in sorted(total)}


def begun(weights: Weights) -> EntailmentNet:
    """The network with these weights; its heads too, where they have some."""
    torch.manual_seed(0)
    net = net_from(weights)
    state = net.state_dict()
    state |= {name: torch.tensor(weights[name]) for name in state if name.startswith("heads.") and name in weights}
    net.load_state_dict(state)
    return net


def compiled(net: EntailmentNet, device: str) -> EntailmentNet:
    """Layers that are all alike are compiled once; a CPU does without."""
    if device == "cuda":
        for layer in net.layers:
            layer.compile(dynamic=True)
    return net


def report(net: EntailmentNet, kept: Pairs, into: Path, device: str) -> None:
    """Writes the weights and what they say on pairs kept out, at every exit and at the end."""
    logits = predict(net, kept, device)
    names, labels = kept.origins.tolist(), kept.labels.tolist()
    into.mkdir(parents=True, exist_ok=True)
    save_file(published_names(net), into / "entailment.safetensors")
    record = {"names": names, "labels": labels, "logits": dict(zip(net.heads, logits.round(3).tolist(), strict=True))}
    (into / "held_out.json").write_text(json.dumps(record), "utf-8")
    for exit_, said in zip(net.heads, logits, strict=True):
        shares = shares_right(names, labels, said)
        print(f"layer {exit_}:", json.dumps({name: round(share, 3) for name, share in shares.items()}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--weights", type=Path, required=True, help="gte-small (`gte_weights.py`)")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--smoke", action="store_true", help="150 pairs, one epoch")
    args = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    file = dict(np.load(args.pairs))
    learned, kept = unpacked(file, "learned"), unpacked(file, "kept")
    if args.smoke:
        learned, kept, args.epochs = learned.some(Random(0).sample(range(len(learned)), 150)), kept.some(range(150)), 1
    print(f"{len(learned)} pairs; {len(kept)} kept out", flush=True)
    shelf = Shelf(learned, device)
    net = compiled(begun(load_file(args.weights)).to(device), device)
    train(net, shelf, args.epochs, args.rate, args.seed, args.seconds)
    report(net, kept, args.into, device)


if __name__ == "__main__":
    main()
