"""Trains the two-headed model on logs, from the shipped weights, and measures it on authors that it has not seen.

    python training/train_logs.py logs.npz --model src/krino/models/gte_entailment/model.onnx --into FOLDER

`prepare_logs.py` makes the pairs. What the shipped model says on the anchors is computed first and learned along. For
each `--recipe` one model is trained (or several, averaged) on all logs but those kept out (`logs.py`), or with
`--compare` on all but one fold of authors. FOLDER gets the figures, and the layers and heads in half precision (the
word table is not trained).
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from logs import ROLES, is_kept_out
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from two_heads import TwoHeads, shipped

KINDS = ("shown", "asked", "deciding", "elsewhere", "useful", "answers", "same")
SUPPORT_KINDS = 4
LESSONS_A_STEP, ANCHORS_A_STEP, ROLES_A_STEP = 64, 64, 32
AT_ONCE = 130_000 if torch.cuda.is_available() else 2_000
"""Tokens that are measured at once."""
HEAD_RATE, WARM_UP, SMOOTHING = 3e-4, 0.06, 0.05
RARE, RARE_ROLE = 0.6, 0.5
"""How far rare classes count more: 0 not at all, 1 so that all classes weigh the same."""
ROLE_LOSS = 0.5
MIXES = (1.0, 0.75, 0.5)
"""How much of what was learned is mixed into the shipped weights, where the models are measured."""
FROZEN = ("words.", "places.")

Array = NDArray[Any]


def auc(bad: Array, scores: Array) -> float:
    """How often a bad one has a lower score than a good one."""
    order = np.argsort(np.argsort(scores)) + 1.0
    values, places, counts = np.unique(scores, return_inverse=True, return_counts=True)
    if len(values) < len(scores):
        sums = np.bincount(places, order)
        order = (sums / counts)[places]
    good, low = int((~bad).sum()), int(bad.sum())
    if not good or not low:
        return math.nan
    return float((order[~bad].sum() - good * (good + 1) / 2) / (good * low))


@dataclass(slots=True)
class Bank:
    """Texts on the device; a row is one text, or a text and what is asked of it."""

    ids: Tensor
    begins: Tensor
    first: Tensor
    follows: Tensor
    second: Tensor
    widths: Array

    @classmethod
    def of_pairs(cls, file: Mapping[str, Array], text: Array, claim: Array, device: str) -> Bank:
        lengths = file["texts_lengths"].astype(np.int64), file["claims_lengths"].astype(np.int64)
        starts = [np.cumsum(one) - one for one in lengths]
        ids = np.concatenate([file["texts_ids"], file["claims_ids"]])
        follows = starts[1][claim] + len(file["texts_ids"]) + 1  # the claim's first mark goes
        return cls._made(ids, starts[0][text], lengths[0][text], follows, lengths[1][claim] - 1, device)

    @classmethod
    def of_texts(cls, file: Mapping[str, Array], name: str, device: str) -> Bank:
        lengths = file[f"{name}_lengths"].astype(np.int64)
        nothing = np.zeros_like(lengths)
        return cls._made(file[f"{name}_ids"], np.cumsum(lengths) - lengths, lengths, nothing, nothing, device)

    @classmethod
    def _made(cls, ids: Array, begins: Array, first: Array, follows: Array, second: Array, device: str) -> Bank:
        def moved(values: Array) -> Tensor:
            return torch.from_numpy(values.astype(np.int64)).to(device)

        return cls(moved(ids), moved(begins), moved(first), moved(follows), moved(second), first + second)

    def batch(self, places: Array) -> tuple[Tensor, Tensor]:
        """Token numbers, and which of them are no padding."""
        chosen = torch.from_numpy(places).to(self.ids.device)
        width = int(self.widths[places].max())
        column = torch.arange(-(-width // 8) * 8 if self.ids.is_cuda else width, device=self.ids.device)
        first, whole = self.first[chosen, None], (self.first + self.second)[chosen, None]
        at = torch.where(
            column < first, self.begins[chosen, None] + column, self.follows[chosen, None] + column - first
        )
        mask = column < whole
        return torch.where(mask, self.ids[at.clamp(0, len(self.ids) - 1)], 0), mask

    def order(self, places: Array, size: int, random: np.random.Generator) -> list[Array]:
        """Batches of like length, in random order."""
        shuffled = random.permutation(places)
        found: list[Array] = []
        for chunk in np.array_split(shuffled, max(1, len(shuffled) // (size * 20))):
            ranked = chunk[np.argsort(self.widths[chunk], kind="stable")]
            found += np.array_split(ranked, max(1, round(len(ranked) / size)))
        return [found[place] for place in random.permutation(len(found)) if len(found[place])]


@torch.no_grad()
def predict(net: TwoHeads, bank: Bank, places: Array, role: bool = False) -> NDArray[np.float32]:
    """Probabilities of the classes, or of the roles."""
    net.eval()
    found = np.zeros((len(places), len(ROLES) if role else 3), np.float32)
    order = np.argsort(bank.widths[places], kind="stable")
    at = 0
    while at < len(order):
        size = max(1, AT_ONCE // int(bank.widths[places[order[min(at + 128, len(order) - 1)]]]))
        chosen = order[at : at + size]
        ids, mask = bank.batch(places[chosen])
        with torch.autocast(bank.ids.device.type, torch.bfloat16, enabled=bank.ids.is_cuda):
            said = net.role_logits(ids, mask) if role else net(ids, mask)
        found[chosen] = said.float().softmax(-1).cpu().numpy()
        at += size
    return found


class Course:
    """The file on the device, and what is measured on it."""

    def __init__(self, file: Mapping[str, Array], device: str) -> None:
        self.file, self.device = file, device
        self.lessons = Bank.of_pairs(file, file["lessons_text"], file["lessons_claim"], device)
        self.anchors = Bank.of_pairs(file, file["anchors_text"], file["anchors_claim"], device)
        self.roles = Bank.of_texts(file, "roles", device)
        self.refusals = Bank.of_texts(file, "refusals", device) if "refusals_ids" in file else None
        self.author = file["logs_author"]
        self.bits = ((file["lessons_bits"][:, None] >> np.arange(3)) & 1).astype(bool)
        self.targets, self.anchor_targets = self._targets(), np.zeros((0, 3), np.float32)

    def _targets(self) -> NDArray[np.float32]:
        """Where one class is possible, most of the weight is on it; else shares, or for several classes zeros."""
        single = self.bits.sum(1) == 1
        hard = self.bits * (1 - SMOOTHING) + SMOOTHING / 3
        return np.where(single[:, None], hard, self.file["lessons_shares"]).astype(np.float32)

    def ask_anchors(self, net: TwoHeads) -> None:
        self.anchor_targets = predict(net, self.anchors, np.arange(len(self.anchors.widths)))

    def kept_out(self) -> Array:
        """By log, whether it is only measured on."""
        named = zip(self.author.tolist(), self.file["logs_name"].tolist(), strict=True)
        kept: Array = np.array([is_kept_out(author, name) for author, name in named], bool)
        return kept

    def fold(self, number: int, folds: int) -> Array:
        kept: Array = np.isin(self.author, sorted(set(self.author.tolist()))[number::folds])
        return kept


def class_weights(bits: Array, weights: Array) -> Array:
    """For each lesson; the rarer its class, the more."""
    single = bits.sum(1) == 1
    counts = np.array([weights[single & bits[:, place]].sum() for place in range(3)]).clip(1)
    each = (counts.mean() / counts) ** RARE
    each /= (each * counts).sum() / counts.sum()
    return np.where(single, (bits * each).sum(1), 1.0)


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is trained: what keeping the old answers weighs, how long and how fast."""

    anchors: float = 1.0
    epochs: float = 3
    rate: float = 3e-5
    seed: int = 0

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:g}" for name, value in asdict(self).items())


def train(course: Course, net: TwoHeads, out: Array, recipe: Recipe, seconds: float) -> TwoHeads:
    """On all logs but those in `out`, until all was seen or the time is up."""
    torch.manual_seed(recipe.seed)
    random, file, device = np.random.default_rng(recipe.seed), course.file, course.device
    net = copy.deepcopy(net).train()
    for name, value in net.named_parameters():
        value.requires_grad_(not name.startswith(FROZEN))
    counted = file["lessons_weight"] * ~out[file["lessons_log"]]
    support = file["lessons_kind"] < SUPPORT_KINDS
    balanced = np.where(support, class_weights(course.bits[:], counted * support), 1.0) * counted
    learned = np.flatnonzero(balanced > 0)
    anchored = np.flatnonzero(~file["anchors_kept"])
    said = np.flatnonzero(~out[file["roles_log"]])
    rare = np.bincount(file["roles_role"][said], file["roles_weight"][said], len(ROLES)).clip(1)
    role_class = torch.tensor((rare.mean() / rare) ** RARE_ROLE, dtype=torch.float32, device=device)
    role_class /= float((role_class.cpu().numpy() * rare).sum() / rare.sum())

    def moved(values: Array) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(device)

    targets, anchor_targets = moved(course.targets), moved(course.anchor_targets)
    bits, weights = moved(course.bits), moved(balanced.astype(np.float32))
    role_of, role_weights = moved(file["roles_role"].astype(np.int64)), moved(file["roles_weight"])
    rounds = math.ceil(recipe.epochs)
    plan = [batch for _ in range(rounds) for batch in course.lessons.order(learned, LESSONS_A_STEP, random)]
    plan = plan[: math.ceil(recipe.epochs * len(plan) / rounds)]

    def endless(bank: Bank, places: Array, size: int) -> Any:
        while True:
            yield from bank.order(places, size, random)

    more_anchors = endless(course.anchors, anchored, ANCHORS_A_STEP)
    more_roles = endless(course.roles, said, ROLES_A_STEP)
    heads = [value for name, value in net.named_parameters() if name.startswith("roles.")]
    body = [value for name, value in net.named_parameters() if value.requires_grad and not name.startswith("roles.")]
    groups = [{"params": body, "lr": recipe.rate}, {"params": heads, "lr": HEAD_RATE}]
    optimiser = torch.optim.AdamW(groups, weight_decay=0.01, fused=device == "cuda")
    begun = [group["lr"] for group in optimiser.param_groups]
    started = time.perf_counter()
    for step, places in enumerate(plan, 1):
        done = max(step / len(plan), (time.perf_counter() - started) / seconds)
        if done > 1:
            break
        for group, rate in zip(optimiser.param_groups, begun, strict=True):
            group["lr"] = rate * min(1.0, step / len(plan) / WARM_UP) * max(0.02, 1 - done)
        beside, roles = next(more_anchors), next(more_roles)
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            ours = net(*course.lessons.batch(places)).float().log_softmax(-1)
            theirs = net(*course.anchors.batch(beside)).float().log_softmax(-1)
            said_roles = net.role_logits(*course.roles.batch(roles)).float()
        here, there, by_role = (torch.from_numpy(chosen).to(device) for chosen in (places, beside, roles))
        soft = targets[here]
        single = soft.sum(-1) > 0
        possible = -torch.logsumexp(ours.masked_fill(~bits[here], -1e4), -1)
        each = torch.where(single, -(soft * ours).sum(-1), possible)
        loss = (each * weights[here]).sum() / LESSONS_A_STEP
        loss = loss - recipe.anchors * (anchor_targets[there] * theirs).sum(-1).mean()
        wrong = functional.cross_entropy(
            said_roles, role_of[by_role], weight=role_class, label_smoothing=SMOOTHING, reduction="none"
        )
        loss = loss + ROLE_LOSS * (wrong * role_weights[by_role]).mean()
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_([*body, *heads], 1.0)
        optimiser.step()
        if step % 200 == 0 or step == len(plan):
            spent = time.perf_counter() - started
            print(f"  step {step} of {len(plan)}: loss {loss.item():.3f}, {spent:.0f} s", flush=True)
    return net.eval()


def mixed(before: TwoHeads, after: TwoHeads, share: float) -> TwoHeads:
    """A share of what was learned on top of what was there; the roles' head is taken as learned."""
    if share == 1:
        return after
    found, old = copy.deepcopy(after), before.state_dict()
    state = {
        name: value if name.startswith("roles.") else old[name] + share * (value - old[name])
        for name, value in after.state_dict().items()
    }
    found.load_state_dict(state)
    return found


def measure(course: Course, net: TwoHeads, out: Array) -> dict[str, Any]:
    """Figures on the logs in `out`, on anchors kept out, and on the refusals."""
    places = np.flatnonzero(out[course.file["lessons_log"]])
    said = predict(net, course.lessons, places)
    rows = np.flatnonzero(out[course.file["roles_log"]])
    roles = predict(net, course.roles, rows, role=True)
    figures = {"support": support_figures(course, places, said), "roles": role_figures(course, rows, roles)}
    figures |= {"others": other_figures(course, places, said), "anchors": anchor_figures(course, net)}
    if course.refusals is not None:
        figures["refusals"] = refusal_figures(course, net)
    return figures


def support_figures(course: Course, places: Array, said: Array) -> dict[str, Any]:
    file = course.file
    about, kind = file["lessons_about"][places], file["lessons_kind"][places]
    numbers = np.unique(about[about >= 0])
    shown, asked, best = (np.zeros(len(numbers)) for _ in range(3))
    log = np.zeros(len(numbers), np.int64)
    for place, number in enumerate(numbers):
        mine = about == number
        shown[place] = said[mine & (kind == 0), 0].max()
        asked[place] = said[mine & (kind == 1), 0].max()
        best[place] = said[mine & (kind > 1), 0].max()
        log[place] = file["lessons_log"][places[mine][0]]
    label = file["labels"][numbers]
    english = file["logs_language"][log] == "en"
    odds = [np.log(one / (1.0001 - one) + 1e-4) for one in (shown, asked, best)]
    scores_by_name = {
        "shown": shown,
        "asked": asked,
        "best": best,
        "shown and best": odds[0] + odds[2],
        "all three": sum(odds),
    }
    found: dict[str, Any] = {"claims": len(numbers), "bad": int((label > 0).sum())}
    for name, scores in scores_by_name.items():
        found[name] = {
            "all": auc(label > 0, scores),
            "english": auc(label[english] > 0, scores[english]),
            "others": auc(label[~english] > 0, scores[~english]),
            "unsupported": auc(label[label < 2] > 0, scores[label < 2]),
            "contradicted": auc(label[label != 1] > 0, scores[label != 1]),
        }
    return found


def other_figures(course: Course, places: Array, said: Array) -> dict[str, float]:
    file = course.file
    kind, bits = file["lessons_kind"][places], course.bits[places]
    useful, answers, same = (kind == KINDS.index(name) for name in KINDS[SUPPORT_KINDS:])
    near = file["lessons_shares"][places][same, 0]
    ranks = [np.argsort(np.argsort(values)) for values in (near, said[same, 0])]
    return {
        "useful": auc(bits[useful, 1], -said[useful, 1]),
        "answers": auc(bits[answers, 1], -said[answers, 1]),
        "same": float(np.corrcoef(*ranks)[0, 1]),
    }


def role_figures(course: Course, rows: Array, said: Array) -> dict[str, Any]:
    found: dict[str, Any] = {}
    truth, marked = course.file["roles_role"][rows], course.file["roles_marked"][rows]
    whole = course.file["roles_weight"][rows] == 1
    for name, chosen in (("plain", marked == 0), ("marked", (marked == 1) | whole)):
        right, best = truth[chosen], said[chosen].argmax(1)
        found[name] = {
            role: (
                float((right[best == at] == at).mean()),
                float((best[right == at] == at).mean()),
                int((right == at).sum()),
            )
            for at, role in enumerate(ROLES)
            if (right == at).any() and (best == at).any()
        }
        claims = best == 0
        found[name]["claims kept, others kept out"] = (
            float(claims[right == 0].mean()),
            float((~claims)[right != 0].mean()),
        )
    return found


def refusal_figures(course: Course, net: TwoHeads) -> dict[str, float]:
    assert course.refusals is not None
    of, known = course.file["refusals_of"], course.file["refusals_is"]
    said = predict(net, course.refusals, np.arange(len(of)), role=True)
    most = np.zeros(len(known))
    np.maximum.at(most, of, said[:, ROLES.index("refusal")])
    likely, claimed = (np.bincount(of, said[:, at], len(known)) for at in (ROLES.index("refusal"), 0))
    together = most + likely / (likely + claimed)
    limits = np.unique(together)
    called = [together >= limit for limit in limits]
    precise = [float(one[known].mean()) for one in called if known[one].mean() >= 0.95]
    return {
        "area, largest": auc(~known, most),
        "area, with share": auc(~known, together),
        "F1, with share": max(float(2 * (one & known).sum() / (one.sum() + known.sum())) for one in called),
        "recall at precision 0.95": max(precise, default=0.0),
    }


def anchor_figures(course: Course, net: TwoHeads) -> dict[str, Any]:
    """On anchors kept out: agreement with the shipped model, and how often the likeliest class is a possible one."""
    kept = np.flatnonzero(course.file["anchors_kept"])
    said, before = predict(net, course.anchors, kept), course.anchor_targets[kept]
    bits = ((course.file["anchors_bits"][kept][:, None] >> np.arange(3)) & 1).astype(bool)
    right = bits[np.arange(len(kept)), said.argmax(1)]
    origins = course.file["origins"][course.file["anchors_origin"][kept]]
    group = np.array([origin.split(":")[0] for origin in origins])
    away = (before * (np.log(before + 1e-6) - np.log(said + 1e-6))).sum(1)
    return {
        "agree": float((said.argmax(1) == before.argmax(1)).mean()),
        "divergence": float(away.mean()),
        "right": {name: float(right[group == name].mean()) for name in sorted(set(group.tolist()))},
        "sure": float((said.max(1) > 0.9).mean()),
        "sure before": float((before.max(1) > 0.9).mean()),
    }


def save(net: TwoHeads, file: Path) -> None:
    """What was trained, in half precision, in two files of about the same size."""
    state = {
        name: value.half().cpu().numpy() for name, value in net.state_dict().items() if not name.startswith(FROZEN)
    }
    names = sorted(state, key=lambda name: (-state[name].size, name))
    for part, some in enumerate((names[::2], names[1::2])):
        np.savez(file.with_name(f"{file.name}_{part}.npz"), **{name: state[name] for name in some})


def averaged(nets: Sequence[TwoHeads]) -> TwoHeads:
    """The mean of the weights of models that began from the same ones."""
    found = copy.deepcopy(nets[0])
    states = [net.state_dict() for net in nets]
    found.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in states[0]})
    return found


def some(file: Mapping[str, Array], few: int) -> dict[str, Array]:
    """So many lessons and anchors, drawn at random, and no refusals."""
    random = np.random.default_rng(0)
    found = {name: value for name, value in file.items() if not name.startswith("refusals")}
    for kind in ("lessons", "anchors"):
        chosen = random.random(len(file[f"{kind}_text"])) < few / len(file[f"{kind}_text"])
        found |= {name: value[chosen] for name, value in found.items() if name.startswith(f"{kind}_")}
    return found


def recipe_of(text: str) -> Recipe:
    """`epochs=4,rate=2e-5`: what differs from the recipe that stands."""
    parts = [part.split("=") for part in text.split(",") if part]
    return replace(Recipe(), **{name: float(value) for name, value in parts})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--into", type=Path, required=True)
    parser.add_argument("--recipe", type=recipe_of, action="append", help="as `epochs=4,rate=2e-5`; repeatable")
    parser.add_argument("--seeds", type=int, default=1, help="trainings a recipe, whose weights are averaged")
    parser.add_argument("--compare", type=int, help="keep out this one of --folds folds of authors")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=math.inf, help="for everything; what no longer fits is left")
    parser.add_argument("--few", type=int, default=0, help="so many lessons only, to try it")
    args = parser.parse_args()
    started = time.perf_counter()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    file = dict(np.load(args.logs))
    if args.few:
        file = some(file, args.few)
    args.into.mkdir(parents=True, exist_ok=True)
    course, before = Course(file, device), shipped(args.model).to(device)
    course.ask_anchors(before)
    out = course.kept_out() if args.compare is None else course.fold(args.compare, args.folds)
    figures: dict[str, Any] = {}

    def note(name: str, net: TwoHeads) -> None:
        figures[name] = measure(course, net, out)
        print(name, f"{time.perf_counter() - started:.0f} s", json.dumps(figures[name], default=float), flush=True)
        (args.into / "figures.json").write_text(json.dumps(figures, indent=1), "utf-8")

    note("as shipped", before)
    longest = 0.0
    for number, recipe in enumerate(args.recipe or [Recipe()]):
        nets = []
        for seed in range(args.seeds):
            begun = time.perf_counter()
            if begun - started + 1.15 * longest > args.seconds:
                print(f"no time for {recipe}, seed {seed}", flush=True)
                break
            nets.append(train(course, before, out, replace(recipe, seed=seed), args.seconds / 3))
            note(f"{recipe}, seed {seed}", nets[-1])
            longest = max(longest, time.perf_counter() - begun)
        if nets:
            net = averaged(nets)
            for share in MIXES:
                note(f"{recipe}, mixed {share}", mixed(before, net, share))
            save(net, args.into / f"weights_{number}")


if __name__ == "__main__":
    main()
