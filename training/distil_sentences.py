"""Distils all-MiniLM-L6-v2 into a sentence model of fewer layers that gives nearly the same vectors.

    python training/distil_sentences.py sentences.npz --weights model.safetensors --into FOLDER [--smoke]

`prepare_sentences.py` makes the texts. The student begins as a few of the teacher's layers and learns to give the
teacher's vectors for sentences, pieces of them, neighbours joined and sentences with words exchanged. Weights are
rounded in every step as the exported file rounds them. `--keep 0,3,5 0,1,3,5` trains two students at once, each
beginning with those layers. `--smoke` takes a few steps and runs on a CPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import torch
from encoder_graph import WEIGHT_STEPS
from entailment_net import EntailmentNet, Weights, net_from, published_names
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

START, END = 101, 102
BATCH_TOKENS = 32_768
CHUNK = 262_144
"""Texts drawn at once; they are sorted by length and cut into batches."""
LONGEST = 126
WIDTH_STEP = 16
"""Attention on a GPU is slow at odd widths."""
WARM_UP = 0.04
WORDS_RATE = 0.2
"""A word's vector is met seldom and was the teacher's: it moves slower than the layers."""
TOKEN_WEIGHT, MATRIX_WEIGHT, MATRIX_TEXTS = 1.0, 20.0, 2_048


class Rounded(nn.Module):
    """A weight as the exported file holds it: whole steps, one scale a row. The slope is passed on unchanged."""

    def forward(self, weight: Tensor) -> Tensor:
        scale = weight.detach().abs().amax(1, keepdim=True).clamp_min(1e-12) / WEIGHT_STEPS
        return weight + (torch.round(weight / scale) * scale - weight).detach()


class Texts:
    """All texts one behind the other on the device; a text is a start and a length."""

    def __init__(self, file: Mapping[str, NDArray[np.generic]], device: str, seed: int) -> None:
        lengths = torch.from_numpy(file["lengths"].astype(np.int64)).to(device)
        self.flat = torch.from_numpy(file["ids"].astype(np.int32)).to(device)
        self.lengths, self.starts = lengths, torch.cumsum(lengths, 0) - lengths
        self.random = torch.Generator(device).manual_seed(seed)
        self.device = device

    def batches(self, tokens: int) -> Iterator[Tensor]:
        """Token numbers, padded with noughts, without end; each batch holds texts of about the same length."""
        while True:
            start, length = self._drawn(CHUNK)
            order = torch.argsort(length)
            cuts, place = [], 0
            widths = (length[order] + 2).tolist()
            while place < len(widths):
                size = tokens // widths[min(place + tokens // widths[place], len(widths)) - 1]
                cuts.append(order[place : place + size])
                place += size
            for turn in torch.randperm(len(cuts), generator=self.random, device=self.device).tolist():
                yield self._rows(start[cuts[turn]], length[cuts[turn]])

    def _uniform(self, size: int) -> Tensor:
        return torch.rand(size, generator=self.random, device=self.device)

    def _drawn(self, size: int) -> tuple[Tensor, Tensor]:
        """Of ten texts five as they are, three a piece of themselves, two joined with what follows."""
        row = (self._uniform(size) * len(self.starts)).long()
        start, length, kind = self.starts[row], self.lengths[row], self._uniform(size)
        cut = 1 + (self._uniform(size) * length).long()
        shifted = start + (self._uniform(size) * (length - cut + 1)).long()
        joined = length + (self._uniform(size) ** 2 * LONGEST).long()
        start = torch.where(kind < 0.3, shifted, start)
        length = torch.where(kind < 0.3, cut, torch.where(kind < 0.5, joined, length)).clamp_max(LONGEST)
        return start, torch.minimum(length, len(self.flat) - start)

    def _rows(self, start: Tensor, length: Tensor) -> Tensor:
        """A quarter of the texts has up to a third of its tokens exchanged for others of the pool."""
        width = -(-(int(length.max()) + 2) // WIDTH_STEP) * WIDTH_STEP
        place = torch.arange(width - 2, device=self.device)
        ids = self.flat[(start[:, None] + place).clamp_max(len(self.flat) - 1)].long()
        share = (self._uniform(len(start)) * 4 - 3).clamp_min(0)[:, None] / 3
        strange = self._uniform(ids.numel()).view(ids.shape) < share
        other = self.flat[(self._uniform(ids.numel()) * len(self.flat)).long()].long().view(ids.shape)
        ids = torch.where(strange, other, ids)
        ids = torch.where(place < length[:, None], ids, 0)
        ids = functional.pad(ids, (1, 1))
        ids[:, 0] = START
        return ids.scatter(1, length[:, None] + 1, END)


def encode(net: EntailmentNet, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The tokens' last states, which of them count, and the texts' vectors at length one."""
    mask = ids != 0
    values = net.norm(net.words(ids) + net.places.weight[: ids.shape[1]])
    for layer in net.layers:
        values = layer(values, mask[:, None, None, :])
    values = values.float()
    mean = (values * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    return values, mask, functional.normalize(mean, dim=-1)


def loss_of(student: tuple[Tensor, Tensor, Tensor], teacher: tuple[Tensor, Tensor, Tensor], part: float) -> Tensor:
    """How far vectors, the nearness of any two texts and (less and less) the states of the tokens are off."""
    states, mask, vectors = student
    aims, _, targets = teacher
    away = (vectors - targets).square().sum(-1).mean()
    few, fewer = vectors[:MATRIX_TEXTS], targets[:MATRIX_TEXTS]
    near = (few @ few.T - fewer @ fewer.T).square().mean()
    tokens = ((states - aims).square().mean(-1) * mask).sum() / mask.sum() / aims[mask].var()
    return away + MATRIX_WEIGHT * near + TOKEN_WEIGHT * (1 - part) * tokens


def student_of(weights: Weights, kept: Sequence[int]) -> EntailmentNet:
    """The teacher with those layers alone."""
    chosen = {name: value for name, value in weights.items() if not name.startswith("encoder.layer.")}
    for new, old in enumerate(kept):
        first = f"encoder.layer.{old}."
        for name in [name for name in weights if name.startswith(first)]:
            chosen[f"encoder.layer.{new}.{name[len(first) :]}"] = weights[name]
    net = net_from(chosen)
    for layer in net.layers:
        for linear in (layer.joined, layer.output, layer.wide, layer.narrow):
            parametrize.register_parametrization(linear, "weight", Rounded())
    return net


def plain(net: EntailmentNet) -> EntailmentNet:
    """Without the rounding; the export does it."""
    for module in net.modules():
        if parametrize.is_parametrized(module):
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=False)
    return net


class Course:
    """A student, its optimiser and the rate at each part of the way."""

    def __init__(self, net: EntailmentNet, rate: float) -> None:
        self.net, self.rate = net.eval(), rate
        named = {name: value for name, value in net.named_parameters() if not name.startswith("heads.")}
        words = named.pop("words.weight")
        groups = [{"params": list(named.values()), "share": 1.0}, {"params": [words], "share": WORDS_RATE}]
        self.optimiser = torch.optim.AdamW(groups, lr=rate, weight_decay=0.0, fused=words.is_cuda)

    def step(self, ids: Tensor, teacher: tuple[Tensor, Tensor, Tensor], part: float) -> Tensor:
        for group in self.optimiser.param_groups:
            group["lr"] = group["share"] * self.rate * min(part / WARM_UP, (1 - part) / (1 - WARM_UP))
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=ids.is_cuda), parametrize.cached():
            found = encode(self.net, ids)
        loss = loss_of(found, teacher, part)
        self.optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.optimiser.step()
        return loss.detach()


def distil(teacher: EntailmentNet, courses: Sequence[Course], texts: Texts, seconds: float, tokens: int) -> None:
    """Trains for so many seconds; all students see the same batches and the teacher reads each but once."""
    began, step, read = time.monotonic(), 0, 0
    for ids in texts.batches(tokens):
        part = (time.monotonic() - began) / seconds
        if part >= 1:
            break
        with torch.no_grad(), torch.autocast(ids.device.type, torch.bfloat16, enabled=ids.is_cuda):
            aims = encode(teacher, ids)
        losses = [course.step(ids, aims, part) for course in courses]
        step, read = step + 1, read + ids.numel()
        if step % 100 == 1:
            told = ", ".join(f"{loss.item():.4f}" for loss in losses)
            print(f"{part:.0%}, step {step}, {read / 1e6:.0f} million tokens: loss {told}", flush=True)


@torch.no_grad()
def cosines(teacher: EntailmentNet, net: EntailmentNet, texts: Texts, tokens: int) -> Tensor:
    """Of fresh draws, how near the student's vectors are to the teacher's."""
    drawn = texts.batches(tokens)
    found = [(encode(teacher, ids)[2] * encode(net, ids)[2]).sum(-1) for ids in islice(drawn, 30)]
    return torch.cat(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--weights", type=Path, required=True, help="all-MiniLM-L6-v2 as safetensors")
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--keep", nargs="+", default=["0,3,5"], help="the teacher's layers that a student begins with")
    parser.add_argument("--minutes", type=float, default=8.0)
    parser.add_argument("--rate", type=float, default=5e-4)
    parser.add_argument("--smoke", action="store_true", help="ten seconds with small batches")
    args = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    weights = load_file(args.weights)
    texts = Texts(dict(np.load(args.texts)), device, seed=0)
    teacher = net_from(weights).to(device).eval()
    courses = [
        Course(student_of(weights, [int(n) for n in kept.split(",")]).to(device), args.rate) for kept in args.keep
    ]
    seconds, tokens = (10.0, 512) if args.smoke else (60 * args.minutes, BATCH_TOKENS)
    distil(teacher, courses, texts, seconds, tokens)
    args.into.mkdir(parents=True, exist_ok=True)
    for course, kept in zip(courses, args.keep, strict=True):
        near = cosines(teacher, course.net, texts, tokens)
        print(f"{kept}: cosine to the teacher {near.mean():.4f}, lowest {near.min():.3f}, {len(near)} texts")
        save_file(published_names(plain(course.net)), args.into / f"sentences_{kept.replace(',', '')}.safetensors")


if __name__ == "__main__":
    main()
