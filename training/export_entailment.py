"""Writes the trained entailment model as an 8-bit ONNX file: token numbers in, three logits out.

    python training/export_entailment.py FOLDER pairs.npz [--layers 8]

FOLDER is one that `train_entailment.py` wrote. The logits are calibrated on the pairs kept out, and the scales of the
layers are fixed by some of them. `--layers` takes an exit as the end.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from encoder_graph import Graph, Range, Weights, encoder, finish
from numpy.typing import NDArray
from onnx import TensorProto
from ranges import measured
from safetensors.numpy import load_file
from train_entailment import begun, predict, unpacked

ROOT = Path(__file__).resolve().parents[1]
HEADS, CLASSES = 12, 3
MEASURED = 2_000
"""Pairs kept out by which scales are fixed, taken at even distances so that every origin has its share."""
_LONGEST_STEP = 0.2
"""Logits of a model that is too sure of itself would send Newton's method far past the best scale."""

Floats = NDArray[np.float64]


def head(graph: Graph, weights: Weights, values: str, output: str) -> str:
    """The first token's state through one hidden layer; in single precision, for it costs nothing."""
    first = graph.add("Gather", [values, graph.constant("first", 0, np.int64)], axis=1)
    inner = graph.add("Gemm", [first, *_dense(graph, weights, "pool")], transB=1)
    return graph.add("Gemm", [graph.add("Tanh", [inner]), *_dense(graph, weights, "classes")], output, transB=1)


def _dense(graph: Graph, weights: Weights, name: str) -> list[str]:
    return [graph.constant(f"{name}.{part}", weights[f"{name}.{part}"], np.float32) for part in ("weight", "bias")]


def up_to(weights: Weights, layers: int) -> dict[str, NDArray[np.float32]]:
    """The first layers, and as `pool` and `classes` the head behind them."""
    found = {
        name: value
        for name, value in weights.items()
        if not name.startswith("encoder.layer.") or int(name.split(".")[2]) < layers
    }
    behind = f"heads.{layers}."
    return found | {name.removeprefix(behind): value for name, value in weights.items() if name.startswith(behind)}


def build(weights: Weights, ranges: Mapping[str, Range], moments: Mapping[str, Floats]) -> onnx.ModelProto:
    graph = Graph(ranges=ranges, moments=moments)
    mask = graph.add("Cast", ["mask"], to=TensorProto.FLOAT)
    head(graph, weights, encoder(graph, weights, "ids", mask, HEADS, first_only=True), "logits")
    return finish(graph, "krino-entailment", {"logits": CLASSES})


def calibrate(labels: Sequence[int], logits: Floats) -> tuple[float, Floats]:
    """The scale and the shifts (the last one 0) that make the possible classes likeliest, by Newton's method."""
    allowed = np.array([[label >> place & 1 for place in range(CLASSES)] for label in labels], float)
    theta = np.array([1.0, 0.0, 0.0])
    for _ in range(100):
        slope, curve = _slope(theta, allowed, logits)
        step = np.linalg.solve(curve + 1e-9 * np.eye(3), slope)
        theta = theta - step / max(1.0, float(np.abs(step).max()) / _LONGEST_STEP)
    return float(theta[0]), np.array([theta[1], theta[2], 0.0])


def _slope(theta: Floats, allowed: Floats, logits: Floats) -> tuple[Floats, Floats]:
    """First derivative of the mean loss, and an estimate of the second that is never negative."""
    shares = _softmax(theta[0] * logits + np.array([theta[1], theta[2], 0.0]))
    wanted = shares * allowed
    wanted /= wanted.sum(1, keepdims=True)
    away = shares - wanted
    inputs = np.stack([logits, np.tile([1.0, 0, 0], (len(logits), 1)), np.tile([0, 1.0, 0], (len(logits), 1))], 1)
    slope = np.einsum("nkc,nc->k", inputs, away) / len(logits)
    mean = np.einsum("nkc,nc->nk", inputs, shares)
    curve = np.einsum("nkc,nlc,nc->kl", inputs, inputs, shares) - np.einsum("nk,nl->kl", mean, mean)
    return slope, curve / len(logits)


def _softmax(logits: Floats) -> Floats:
    shares = np.exp(logits - logits.max(1, keepdims=True))
    return shares / shares.sum(1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--into", type=Path, default=ROOT / "src" / "krino" / "models" / "gte_entailment")
    args = parser.parse_args()
    held_out = json.loads((args.folder / "held_out.json").read_text("utf-8"))
    scale, shift = calibrate(held_out["labels"], np.array(held_out["logits"][str(args.layers)]))
    trained = load_file(args.folder / "entailment.safetensors")
    kept = unpacked(dict(np.load(args.pairs)), "kept")
    some = kept.some(np.linspace(0, len(kept) - 1, MEASURED).astype(int).tolist())
    net = begun(trained)
    ranges, moments = measured(net, lambda: predict(net, some, "cpu"))
    weights = up_to(trained, args.layers)
    weights["classes.weight"] = weights["classes.weight"] * np.float32(scale)
    weights["classes.bias"] = weights["classes.bias"] * np.float32(scale) + shift.astype(np.float32)
    data = build(weights, ranges, moments).SerializeToString(deterministic=True)
    args.into.mkdir(parents=True, exist_ok=True)
    (args.into / "model.onnx").write_bytes(data)
    print(f"SHA-256 for NOTICE.md: {hashlib.sha256(data).hexdigest()}")
    print(f"{len(data) / 1e6:.1f} MB in {args.into}; logits times {scale:.3f} plus {shift.round(3).tolist()}")


if __name__ == "__main__":
    main()
