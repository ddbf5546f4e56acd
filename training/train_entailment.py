"""Trains the entailment model: a small encoder (gte-small) as a cross-encoder of text and claim, three classes.

    python training/train_entailment.py pairs.npz --weights gte.safetensors --into FOLDER [--smaller 0,2,...] [--smoke]

`prepare_pairs.py` makes the pairs. The weights are a running mean over the second half of the training. `--smaller`
goes on with some of the trained layers as a model of its own, which is also told what the first one thinks of every
pair. `--seconds` ends the training early, and `--smoke` trains on 150 pairs and runs on a CPU.
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
WIDTH_STEP = 16
WARM_UP = 0.06
MEAN_FROM = 0.5
MEAN_STEP = 5
"""The running mean is taken over every fifth step of the second half."""
TAUGHT_BY = 0.5
"""How much the word of a trained model counts beside the labels, where there is one."""
DRAWS = {
    "kind": 0.15,
    "made": 0.2,
    "retold": 0.3,
    "composed": 0.3,
    "edited": 0.5,
    "ordinary": 0.35,
    "own: twins": 5.0,
    "own: answers": 3.0,
    "own: replies": 3.0,
    "own: questions": 0.8,
    "taught: reply": 0.35,
    "taught: same": 0.4,
    "taught: answer": 0.7,
    "taught: text": 0.8,
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
        self.widths = -(-(first + second) // WIDTH_STEP) * WIDTH_STEP
        self.rates = np.array([rate_of(origin) for origin in pairs.origins.tolist()])

        def moved(values: Integers) -> Tensor:
            return torch.from_numpy(np.ascontiguousarray(values.astype(np.int64))).to(device)

        self.ids = moved(np.concatenate([texts.ids, claims.ids, np.zeros(1, np.int32)]))
        self.first, self.second = moved(first), moved(second)
        self.begins = moved(texts.starts[pairs.text])
        self.follows = moved(claims.starts[pairs.claim] + len(texts.ids) + 1)
        bits = (pairs.labels[:, None] >> np.arange(len(CLASSES))) & 1
        self.allowed = torch.from_numpy(bits.astype(bool)).to(device)
        self.shares = torch.from_numpy(pairs.shares.astype(np.float32) / 255).to(device)
        self.device = device

    def plan(self, random: np.random.Generator | None) -> list[tuple[int, Integers]]:
        """Batches as a width and places; for training drawn by their rates, and in random order."""
        places = np.arange(len(self.widths))
        if random is not None:
            often = np.floor(self.rates + random.random(len(places))).astype(np.int64)
            places = random.permutation(np.repeat(places, often))
        made: list[tuple[int, Integers]] = []
        for width in np.unique(self.widths).tolist():
            chosen = places[self.widths[places] == width]
            size = max(1, BATCH_TOKENS // width)
            made += [(width, chosen[start : start + size]) for start in range(0, len(chosen), size)]
        if random is not None:
            made = [made[place] for place in random.permutation(len(made))]
        return made

    def batch(self, width: int, places: Integers) -> tuple[Tensor, Tensor, Tensor]:
        """Token numbers, which of them count, and the places of the pairs."""
        chosen = torch.from_numpy(places).to(self.device)
        column = torch.arange(width, device=self.device)
        first, second = self.first[chosen, None], self.second[chosen, None]
        where = torch.where(
            column < first, self.begins[chosen, None] + column, self.follows[chosen, None] + column - first
        )
        where = torch.where(column < first + second, where, len(self.ids) - 1)
        ids = self.ids[where]
        return ids, ids != 0, chosen


def loss_of(logits: Tensor, allowed: Tensor, shares: Tensor, taught: Tensor | None) -> Tensor:
    """Minus the log of the probability of all classes that are possible, or how far the teacher's shares are missed."""
    logs = torch.log_softmax(logits.float(), -1)
    soft = shares.sum(-1) > 0
    hard = -torch.logsumexp(logs.masked_fill(~allowed & ~soft[:, None], -math.inf), -1)
    losses = torch.where(soft, -(shares * logs).sum(-1) / shares.sum(-1).clamp_min(1e-6), hard)
    if taught is not None:
        losses = (1 - TAUGHT_BY) * losses - TAUGHT_BY * (torch.softmax(taught.float(), -1) * logs).sum(-1)
    return losses.mean()


class RunningMean:
    """The mean of a network's weights over the steps that it is shown."""

    def __init__(self, net: EntailmentNet) -> None:
        self.count = 0
        self.state = {name: torch.zeros_like(value, dtype=torch.float32) for name, value in net.state_dict().items()}

    def add(self, net: EntailmentNet) -> None:
        self.count += 1
        for name, value in net.state_dict().items():
            self.state[name] += (value.float() - self.state[name]) / self.count


def train(
    net: EntailmentNet, shelf: Shelf, epochs: int, rate: float, seed: int, seconds: float, teacher: EntailmentNet | None
) -> None:
    """By the plan, or until the time is up; the network then has the running mean of its weights."""
    torch.manual_seed(seed)
    random, device = np.random.default_rng(seed), shelf.device
    plan = [batch for _ in range(epochs) for batch in shelf.plan(random)]
    optimiser = torch.optim.AdamW(_groups(net), lr=rate, fused=device == "cuda")
    mean, started = RunningMean(net), time.perf_counter()
    net.train()
    for step, (width, chosen) in enumerate(plan, 1):
        spent = time.perf_counter() - started
        done = max(step / len(plan), spent / seconds)
        if done > 1:
            break
        for group in optimiser.param_groups:
            group["lr"] = rate * min(step / max(1, WARM_UP * len(plan)), 1.0) * max(0.01, 1 - done)
        ids, mask, places = shelf.batch(width, chosen)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            taught = None
            if teacher is not None:
                with torch.no_grad():
                    taught = teacher(ids, mask)
            loss = loss_of(net(ids, mask), shelf.allowed[places], shelf.shares[places], taught)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimiser.step()
        if done >= MEAN_FROM and step % MEAN_STEP == 0:
            mean.add(net)
        if step % 200 == 0 or step == len(plan):
            print(f"step {step} of {len(plan)}: loss {loss.item():.3f}, {spent:.0f} s", flush=True)
    if mean.count:
        net.load_state_dict(mean.state)


def _groups(net: EntailmentNet) -> list[dict[str, object]]:
    decayed = [value for value in net.parameters() if value.dim() > 1]
    plain = [value for value in net.parameters() if value.dim() == 1]
    return [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]


@torch.no_grad()
def predict(net: EntailmentNet, pairs: Pairs, device: str) -> NDArray[np.float32]:
    """The logits of every pair."""
    net.eval()
    shelf = Shelf(pairs, device)
    found = np.zeros((len(pairs), len(CLASSES)), np.float32)
    for width, chosen in shelf.plan(None):
        ids, mask, places = shelf.batch(width, chosen)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found[places.cpu().numpy()] = net(ids, mask).float().cpu().numpy()
    return found


def shares_right(names: Sequence[str], labels: Sequence[int], logits: NDArray[np.float32]) -> dict[str, float]:
    """By origin, the share of pairs whose likeliest class is a possible one."""
    right: Counter[str] = Counter()
    total = Counter(names)
    for name, label, best in zip(names, labels, logits.argmax(1), strict=True):
        right[name] += label >> int(best) & 1
    return {name: right[name] / total[name] for name in sorted(total)}


def some_layers(weights: Weights, kept: Sequence[int]) -> dict[str, NDArray[np.float32]]:
    """The weights with those layers alone, numbered anew."""
    found = {name: value for name, value in weights.items() if not name.startswith("encoder.layer.")}
    for new, old in enumerate(kept):
        first = f"encoder.layer.{old}."
        for name in [name for name in weights if name.startswith(first)]:
            found[f"encoder.layer.{new}.{name[len(first) :]}"] = weights[name]
    return found


def begun(weights: Weights) -> EntailmentNet:
    """The network with these weights; its head too, where they have one."""
    torch.manual_seed(0)
    net = net_from(weights)
    state = net.state_dict()
    state |= {
        name: torch.tensor(weights[name]) for name in state if name.startswith(("pool", "classes")) and name in weights
    }
    net.load_state_dict(state)
    return net


def compiled(net: EntailmentNet, device: str) -> EntailmentNet:
    """Layers that are all alike are compiled once; a CPU does without."""
    if device == "cuda":
        for layer in net.layers:
            layer.compile(dynamic=True)
    return net


def report(net: EntailmentNet, kept: Pairs, into: Path, device: str) -> None:
    """Writes the weights and what they say on pairs kept out."""
    logits = predict(net, kept, device)
    names, labels = kept.origins.tolist(), kept.labels.tolist()
    shares = shares_right(names, labels, logits)
    into.mkdir(parents=True, exist_ok=True)
    save_file(published_names(net), into / "entailment.safetensors")
    record = {"right": shares, "names": names, "labels": labels, "logits": logits.round(3).tolist()}
    (into / "held_out.json").write_text(json.dumps(record), "utf-8")
    print(json.dumps({name: round(share, 3) for name, share in shares.items()}), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--weights", type=Path, required=True, help="gte-small (`gte_weights.py`)")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument(
        "--smaller",
        nargs="*",
        default=(),
        help="layers of another model that the first one teaches, such as 0,2,4,6,9,11",
    )
    parser.add_argument("--smaller-seconds", type=float, nargs="*", default=())
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
    train(net, shelf, args.epochs, args.rate, args.seed, args.seconds, None)
    report(net, kept, args.into, device)
    for number, chosen in enumerate(args.smaller):
        layers = [int(layer) for layer in chosen.split(",")]
        small = compiled(begun(some_layers(published_names(net), layers)).to(device), device)
        seconds = args.smaller_seconds[number] if number < len(args.smaller_seconds) else math.inf
        train(small, shelf, args.epochs, args.rate, args.seed, seconds, net.eval())
        report(small, kept, args.into / f"layers_{len(layers)}", device)


if __name__ == "__main__":
    main()
