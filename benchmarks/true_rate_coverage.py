"""How often the intervals of `krino true-rate` hold the true rate, by simulation, and how wide they are.

    python benchmarks/true_rate_coverage.py [--quick] [--draws 2000] [--cases 5000] [--means] [--peers] [--table]

Judges of sensitivity and specificity 0.6 to 0.95, prevalence 0.02 to 0.5, 30 to 500 labels, drawn at random, half from
each answer of the judge, or as the queue of the workbench draws them for a rate (more of the answer that was found to
err more, so the numbers depend on the labels). Prints how many of the settings have a coverage between 93 and 97.5 %,
for the recommended interval and for labels alone (Wilson's), with the extremes, and how the widths compare; `--table`
prints every setting.

`--means` does the same for the mean of a score: even, high or nearly always perfect scores, a judge that is near or far
from them and a twentieth too low, labels at random or half from the fifth of the cases with the lowest scores.

`--peers` draws 300 samples of some settings and asks `ppi-python`, `judgy` and `truescore` too, as far as installed.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from krino.stats.confidence_intervals import NORMAL_95
from krino.stats.prediction_powered import (
    Estimated,
    Strata,
    labels_alone,
    rogan_gladen,
    stratified_rate,
    tuned_mean,
    tuned_mean_for_few,
)

Floats = NDArray[np.float64]
QUALITIES = (0.6, 0.8, 0.95)
PREVALENCES = (0.02, 0.05, 0.1, 0.3, 0.5)
SIZES = (30, 50, 100, 200, 500)
LOWEST, HIGHEST = 0.93, 0.975
PEER_DRAWS, BOOTSTRAPS = 300, 500
SHARE = 5
"""One case in this many is drawn from all cases, as `krino.web.labels.queue` does."""
DISTANCES = (0.05, 0.2)
KINDS = {"even": 0.5, "high": 0.75, "perfect": 0.85 * (1 - 0.3 / 9) + 0.15 * 0.3}
"""Kinds of scores with their true mean."""
LOW_SHARE = 0.2


class Setting(NamedTuple):
    design: str
    labels: int
    prevalence: float
    sensitivity: float
    specificity: float


class Outcome(NamedTuple):
    setting: Setting
    coverage: float
    width: float
    alone_coverage: float
    alone_width: float


class Drawn(NamedTuple):
    """Counts of each draw, of shape (draws, 2): first the cases that the judge says yes to, then the others."""

    cases: Floats
    labels: Floats
    hits: Floats


def settings(quick: bool) -> Iterator[Setting]:
    qualities, rates, sizes = ((0.6, 0.95), (0.05, 0.3), (30, 200)) if quick else (QUALITIES, PREVALENCES, SIZES)
    for values in itertools.product(("random", "half", "queue"), sizes, rates, qualities, qualities):
        yield Setting(*values)


def draw(generator: np.random.Generator, setting: Setting, draws: int, cases: int) -> Drawn:
    """Populations of cases with a judge, and labels on some of them."""
    rate, sensitivity, specificity = setting.prevalence, setting.sensitivity, setting.specificity
    kinds = [rate * sensitivity, (1 - rate) * (1 - specificity), rate * (1 - sensitivity), (1 - rate) * specificity]
    counts = generator.multinomial(cases, kinds, draws)
    yes = counts[:, 0] + counts[:, 1]
    if setting.design == "queue":
        return draw_as_the_queue(generator, counts.astype(np.float64), setting.labels)
    if setting.design == "random":
        labelled = generator.hypergeometric(yes, cases - yes, setting.labels)
    else:
        labelled = np.minimum(setting.labels // 2, yes)
    others = setting.labels - labelled
    hits = (
        generator.hypergeometric(counts[:, 0], counts[:, 1], labelled),
        generator.hypergeometric(counts[:, 2], counts[:, 3], others),
    )
    columns = ((yes, cases - yes), (labelled, others), hits)
    return Drawn(*(np.stack(column, axis=1).astype(np.float64) for column in columns))


def draw_as_the_queue(generator: np.random.Generator, counts: Floats, labels: int) -> Drawn:
    """Label by label: the answer that lacks most to its share of the labels, and one case in five from all."""
    cases = np.stack([counts[:, 0] + counts[:, 1], counts[:, 2] + counts[:, 3]], axis=1)
    positive = np.stack([counts[:, 0], counts[:, 2]], axis=1)
    given, hits, rows = np.zeros_like(cases), np.zeros_like(cases), np.arange(len(cases))
    for number in range(labels):
        rates = (hits + 1) / (given + 2)
        worth = cases * np.sqrt(rates * (1 - rates))
        lacking = worth / worth.sum(axis=1, keepdims=True) * (number + 1) - given
        side = np.where(given > 0, lacking, np.inf)
        chosen = np.where(given < cases, side, -np.inf).argmax(axis=1)
        if number % SHARE == SHARE - 1:
            left = cases - given
            chosen = (generator.random(len(cases)) * left.sum(axis=1) > left[:, 0]).astype(int)
        chance = (positive[rows, chosen] - hits[rows, chosen]) / (cases[rows, chosen] - given[rows, chosen])
        hits[rows, chosen] += generator.random(len(cases)) < chance
        given[rows, chosen] += 1
    return Drawn(cases, given, hits)


def recommended(drawn: Drawn, cases: int) -> tuple[Floats, Floats]:
    """Both ends of the recommended interval: by answer of the judge, or labels alone where an answer has no label."""
    unlabelled = ((drawn.labels == 0) & (drawn.cases > 0)).any(axis=1)
    labels = np.where(drawn.labels > 0, drawn.labels, 1.0)
    low, high = stratified_rate(Strata(drawn.cases / cases, drawn.hits, labels, cases))[1:]
    alone = wilson(drawn.hits.sum(axis=1), drawn.labels.sum(axis=1))
    return np.where(unlabelled, alone[0], low), np.where(unlabelled, alone[1], high)


def wilson(hits: Floats, labels: Floats) -> tuple[Floats, Floats]:
    """Of many samples at once."""
    square, share = NORMAL_95**2, hits / labels
    centre = (share + square / 2 / labels) / (1 + square / labels)
    half = NORMAL_95 / (1 + square / labels) * np.sqrt(share * (1 - share) / labels + square / 4 / labels**2)
    return centre - half, centre + half


def simulate(setting: Setting, draws: int, cases: int, seed: int) -> Outcome:
    generator = np.random.default_rng(seed)
    drawn = draw(generator, setting, draws, cases)
    low, high = recommended(drawn, cases)
    alone = wilson(
        generator.binomial(setting.labels, setting.prevalence, draws).astype(float), np.full(draws, setting.labels)
    )
    rate = setting.prevalence
    return Outcome(
        setting,
        float(((low <= rate) & (rate <= high)).mean()),
        float((high - low).mean()),
        float(((alone[0] <= rate) & (rate <= alone[1])).mean()),
        float((alone[1] - alone[0]).mean()),
    )


def report(found: list[Outcome], table: bool) -> None:
    for name, coverages in (
        ("recommended", [one.coverage for one in found]),
        ("labels alone", [one.alone_coverage for one in found]),
    ):
        inside = sum(LOWEST <= coverage <= HIGHEST for coverage in coverages)
        below = sum(coverage < LOWEST for coverage in coverages)
        print(
            f"{name}: {inside} of {len(coverages)} settings cover {LOWEST:.1%} to {HIGHEST:.1%}, {below} less, "
            f"{len(coverages) - inside - below} more; lowest {min(coverages):.1%}, highest {max(coverages):.1%}, "
            f"mean {np.mean(coverages):.1%}"
        )
    for power in (0.2, 0.4, 0.6, 0.75, 0.9):
        near = [one for one in found if abs(one.setting.sensitivity + one.setting.specificity - 1 - power) < 0.06]
        if widths := [one.width / one.alone_width for one in near if one.setting.design == "random"]:
            print(f"random labels, Youden's index near {power}: {np.mean(widths):.2f} of the width of labels alone")
    if table:
        print("design  labels  rate  sens  spec  coverage  width  alone  width")
        for one in found:
            print(*one.setting, *(f"{value:.4f}" for value in one[1:]), sep="  ")


# --- means -----------------------------------------------------------------------------------------


def draw_scores(generator: np.random.Generator, kind: str, cases: int) -> Floats:
    if kind == "perfect":  # 85 % are near 1, the others below 0.6
        good = generator.random(cases) < 0.85
        return np.where(good, 1 - 0.3 * generator.beta(1, 8, cases), 0.6 * generator.random(cases))
    return generator.beta(2 if kind == "even" else 6, 2, cases)


def estimate_means(
    generator: np.random.Generator, design: str, labels: int, distance: float, kind: str, cases: int
) -> tuple[Estimated, Estimated]:
    """The recommended estimate and that of labels alone, from one draw."""
    truth = draw_scores(generator, kind, cases)
    judged = np.clip(truth + generator.normal(-0.05, distance, cases), 0, 1)
    if design == "random":
        places, weights = generator.permutation(cases)[:labels], None
        others = np.delete(judged, places)
    else:
        parts = np.split(np.argsort(judged), [round(LOW_SHARE * cases)])
        places = np.concatenate([generator.permutation(part)[: labels // 2] for part in parts])
        weights, others = np.repeat([len(part) / (labels // 2) for part in parts], labels // 2), judged
    alone = labels_alone(truth[places], weights, is_rate=False)
    return tuned_mean_for_few(truth[places], judged[places], others, weights), alone


def simulate_means(quick: bool, draws: int, cases: int) -> list[Outcome]:
    sizes = (30, 200) if quick else SIZES
    found = []
    for seed, (design, labels, distance, kind) in enumerate(
        itertools.product(("random", "low half"), sizes, DISTANCES, KINDS)
    ):
        generator, mean = np.random.default_rng(seed), KINDS[kind]
        pairs = [estimate_means(generator, design, labels, distance, kind, cases) for _ in range(draws)]
        ends = np.array([[one.interval for one in pair] for pair in pairs])
        covered = ((ends[..., 0] <= mean) & (mean <= ends[..., 1])).mean(axis=0)
        widths = (ends[..., 1] - ends[..., 0]).mean(axis=0)
        setting = Setting(f"{design}, {kind}", labels, mean, distance, math.nan)
        found.append(
            Outcome(
                setting,
                *(float(part[0]) for part in (covered, widths)),
                *(float(part[1]) for part in (covered, widths)),
            )
        )
    return found


# --- other packages --------------------------------------------------------------------------------

Interval = tuple[float, float]
Method = Callable[[Floats, Floats, Floats], Interval | None]
"""From labels, the judge's answers on the same cases, and its answers on the others."""


def own_methods() -> dict[str, Method]:
    def by_answer(labels: Floats, judged: Floats, others: Floats) -> Interval | None:
        yes = judged > 0.5
        whole = np.array([judged.sum() + others.sum(), (1 - judged).sum() + (1 - others).sum()])
        drawn = Drawn(
            whole[None],
            np.array([[yes.sum(), (~yes).sum()]], float),
            np.array([[labels[yes].sum(), labels[~yes].sum()]]),
        )
        low, high = recommended(drawn, int(whole.sum()))
        return float(low[0]), float(high[0])

    def ours(labels: Floats, judged: Floats, others: Floats) -> Interval | None:
        found = rogan_gladen(labels, judged > 0.5, float(judged.sum() + others.sum()), len(judged) + len(others))
        return None if found is None else found.interval

    return {
        "krino, recommended": by_answer,
        "krino, tuned": lambda *given: tuned_mean(*given).interval,
        "krino, Rogan-Gladen": ours,
        "labels alone (Wilson)": lambda labels, *_: labels_alone(labels, is_rate=True).interval,
    }


def peers() -> dict[str, Method]:
    """The methods of packages that are installed."""
    found: dict[str, Method] = {}
    if (ppi := _package("ppi_py")) is not None:
        found["ppi-python"] = lambda y, f, rest: _as_pair(ppi.ppi_mean_ci(y, f, rest, alpha=0.05))
    if (judgy := _package("judgy")) is not None:
        found["judgy"] = lambda y, f, rest: judgy.estimate_success_rate(
            y.astype(int), f.astype(int), rest.astype(int), BOOTSTRAPS
        )[1:]
    if (truescore := _package("truescore")) is not None:
        for name in ("ppi_estimate", "rogan_gladen_estimate"):
            found[f"truescore {name}"] = _of_truescore(getattr(truescore, name))
    return found


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def _as_pair(ends: Any) -> Interval:
    low, high = (float(np.ravel(end)[0]) for end in ends)
    return low, high


def _of_truescore(function: Any) -> Method:
    """Its functions take the judge's answers on all cases, the labels, and the places of the labelled cases."""

    def estimate(labels: Floats, judged: Floats, others: Floats) -> Interval | None:
        found = function(np.concatenate([judged, others]), labels, np.arange(len(labels)))
        return float(found.low), float(found.high)

    return estimate


def compare(cases: int) -> None:
    """Random labels. A draw for which a method fails counts as not covered."""
    methods = own_methods() | peers()
    chosen = [
        (30, 0.05, 0.8, 0.95),
        (50, 0.1, 0.8, 0.8),
        (100, 0.1, 0.95, 0.95),
        (200, 0.02, 0.8, 0.95),
        (200, 0.3, 0.6, 0.8),
    ]
    for labels, rate, sensitivity, specificity in chosen:
        print(f"\n{labels} labels, rate {rate}, sensitivity {sensitivity}, specificity {specificity}")
        covered, failed = dict.fromkeys(methods, 0), dict.fromkeys(methods, 0)
        widths: dict[str, list[float]] = {name: [] for name in methods}
        for seed in range(PEER_DRAWS):
            generator = np.random.default_rng(seed)
            truth = generator.random(cases) < rate
            judged = np.where(truth, generator.random(cases) < sensitivity, generator.random(cases) > specificity)
            y, f, rest = truth[:labels].astype(float), judged[:labels].astype(float), judged[labels:].astype(float)
            for name, method in methods.items():
                try:
                    ends = method(y, f, rest)
                except Exception:
                    ends = None
                if ends is None or not all(map(math.isfinite, ends)):
                    failed[name] += 1
                    continue
                covered[name] += ends[0] <= rate <= ends[1]
                widths[name].append(ends[1] - ends[0])
        for name in methods:
            width = np.mean(widths[name]) if widths[name] else math.nan
            none = f", no interval in {failed[name]}" if failed[name] else ""
            print(f"  {name}: covers {covered[name] / PEER_DRAWS:.1%}, mean width {width:.3f}{none}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few settings")
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--cases", type=int, default=5_000)
    parser.add_argument("--means", action="store_true", help="means of scores, not rates")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.peers:
        compare(given.cases)
        return
    if given.means:
        report(simulate_means(given.quick, given.draws, given.cases), given.table)
        return
    wanted = list(settings(given.quick))
    report([simulate(one, given.draws, given.cases, seed) for seed, one in enumerate(wanted)], given.table)


if __name__ == "__main__":
    main()
