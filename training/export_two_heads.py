"""Writes the two-headed model as an 8-bit ONNX file: token numbers in, logits of the classes or of the roles out.

    python training/export_two_heads.py FOLDER logs.npz --model MODEL --weights NAME [--share 0.75]

FOLDER is one that `train_logs.py` wrote, NAME the beginning of the names of its weights, MODEL the file that it began
from. What was learned is mixed into its weights. Rounding to the nearest step would undo part of it, so each weight
is rounded with regard to those before it (`encoder_graph.py`).
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import torch
from encoder_graph import Graph, Range, Weights, finish, hidden_states
from entailment_net import published_names
from export_entailment import CLASSES, HEADS, ROOT, Floats, head
from logs import ROLES
from onnx import TensorProto
from ranges import measured
from train_logs import Bank, mixed
from two_heads import END_MARK, ROLE_LAYERS, TwoHeads, shipped

MEASURED = 250
"""Anchors, and as many lessons, by which the layers' scales are fixed and their weights rounded."""


def role_head(graph: Graph, weights: Weights, values: str, ids: str) -> None:
    """The mean of the states of the second of three texts, each with its end mark, through one hidden layer."""
    ends = graph.add(
        "Cast", [graph.add("Equal", [ids, graph.constant("end", END_MARK, np.int64)])], to=TensorProto.FLOAT
    )
    before = graph.add("CumSum", [ends, graph.constant("second", 1, np.int64)], exclusive=1)
    within = graph.add("Cast", [graph.add("Equal", [before, graph.number(1.0)])], to=TensorProto.FLOAT)
    kept = graph.add("Mul", [values, graph.add("Unsqueeze", [within, graph.integers(-1)])])
    count = graph.add("ReduceSum", [within, graph.integers(1)], keepdims=1)
    mean = graph.add("Div", [graph.add("ReduceSum", [kept, graph.integers(1)], keepdims=0), count])
    pool, classes = (
        [graph.constant(name, weights[name], np.float32) for name in (f"roles.{part}.weight", f"roles.{part}.bias")]
        for part in ("pool", "classes")
    )
    inner = graph.add("Tanh", [graph.add("Gemm", [mean, *pool], transB=1)])
    graph.add("Gemm", [inner, *classes], "roles", transB=1)


def build(weights: Weights, ranges: Mapping[str, Range], moments: Mapping[str, Floats]) -> onnx.ModelProto:
    graph = Graph(ranges=ranges, moments=moments)
    mask = graph.add("Cast", ["mask"], to=TensorProto.FLOAT)
    states = hidden_states(graph, weights, "ids", mask, HEADS, first_only=True)
    head(graph, weights, states[-1], "logits")
    role_head(graph, weights, states[ROLE_LAYERS - 1], "ids")
    return finish(graph, "krino-entailment", {"logits": CLASSES, "roles": len(ROLES)})


def learned(net: TwoHeads, folder: Path, name: str) -> TwoHeads:
    """The network with the weights that were saved; the word table stays."""
    state = net.state_dict()
    for file in sorted(folder.glob(f"{name}_*.npz")):
        state |= {key: torch.tensor(value.astype(np.float32)) for key, value in np.load(file).items()}
    net.load_state_dict(state)
    return net


@torch.no_grad()
def read_some(net: TwoHeads, bank: Bank) -> None:
    """Texts at even distances, one at a time, so that nothing is padded."""
    net.eval()
    for place in np.unique(np.linspace(0, len(bank.widths) - 1, MEASURED).astype(int)):
        net(*bank.batch(np.array([place])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("logs", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--weights", required=True)
    parser.add_argument("--share", type=float, default=1.0, help="how much of what was learned is taken")
    parser.add_argument("--into", type=Path, default=ROOT / "src" / "krino" / "models" / "gte_entailment")
    args = parser.parse_args()
    file, before = dict(np.load(args.logs)), shipped(args.model)
    net = mixed(before, learned(shipped(args.model), args.folder, args.weights), args.share)
    banks = [Bank.of_pairs(file, file[f"{kind}_text"], file[f"{kind}_claim"], "cpu") for kind in ("anchors", "lessons")]
    ranges, moments = measured(net, lambda: [read_some(net, bank) for bank in banks])
    weights = published_names(net)
    data = build(weights, ranges, moments).SerializeToString(deterministic=True)
    (args.into / "model.onnx").write_bytes(data)
    print(f"SHA-256 for NOTICE.md: {hashlib.sha256(data).hexdigest()}")
    print(f"{len(data) / 1e6:.1f} MB in {args.into}")


if __name__ == "__main__":
    main()
