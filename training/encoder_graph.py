"""Writes a BERT encoder as an ONNX graph whose linear layers work on 8-bit integers.

The usual dynamic quantisation has one scale for a whole batch, so that a text's result depends on its neighbours. Here
a text gives the same vector whatever it is batched with: either each token has a scale of its own, or, where it was
measured what goes into the layers (`ranges.py`), each layer has one that was fixed in advance, which spares a fifth of
the time. Weights use 7 of their 8 bits, so that no processor's 16-bit intermediate sums can overflow and all give the
same integers.

What was tried and gained nothing with onnxruntime 1.31: its fused attention and `QuantizeLinear` by rows (as fast), its
fused residual and norm (slower), weights of 4 or 8 bits in blocks (half as fast). The products are the cost.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

WEIGHT_STEPS = 63
ROW_STEPS = 127
STEPS = 255
STRAY = 4.0
"""A channel that goes further than so many times the usual one is made smaller before it is rounded, and its weights
larger: else the few that stray would take all the steps from the others."""
DAMPING = 0.01
"""Of the mean second moment, added to all: inputs that hardly vary must not make up for much."""
OPSET, IR_VERSION = 20, 9
NORM_EPSILON = 1e-12
ONNXRUNTIME = "com.microsoft"

Weights = Mapping[str, NDArray[np.float32]]
Range = tuple[NDArray[np.float32], NDArray[np.float32]]
"""The least and the most that was seen of each channel that goes into a linear layer."""


@dataclass(slots=True)
class Graph:
    """Nodes and constants of a graph in the making; every method returns the name of what it made."""

    nodes: list[onnx.NodeProto] = field(default_factory=list)
    constants: dict[str, onnx.TensorProto] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    moments: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    """For linear layers, the sum over tokens of the products of each two of their inputs; weights are rounded by it."""

    def constant(self, name: str, value: Any, kind: type[np.generic] | None = None) -> str:
        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.array(value, dtype=kind, order="C"), name)
        return name

    def add(self, op: str, inputs: Sequence[str], output: str | None = None, **attributes: Any) -> str:
        name = output or f"{op.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"node_{len(self.nodes)}", **attributes))
        return name

    def integers(self, *values: int) -> str:
        return self.constant("axes_" + "_".join(map(str, values)), values, np.int64)

    def number(self, value: float) -> str:
        return self.constant(f"number_{value!r}", value, np.float32)


def quantise_rows(matrix: NDArray[np.float32], steps: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Integers and one scale a row."""
    scales = np.maximum(np.abs(matrix).max(axis=1), 1e-12) / steps
    return np.clip(np.rint(matrix / scales[:, None]), -steps, steps).astype(np.int8), scales.astype(np.float32)


def _rounded_in_turn(
    matrix: NDArray[np.float32], scales: NDArray[np.float32], moments: NDArray[np.float64]
) -> NDArray[np.int8]:
    """Integers, one input after the other: the inputs that follow make up for what rounding changed (GPTQ)."""
    damped = moments + DAMPING * np.mean(np.diag(moments)) * np.eye(len(moments))
    onward = np.linalg.cholesky(np.linalg.inv(damped)).T
    left, found = matrix.astype(np.float64), np.empty(matrix.shape, np.int8)
    for place in range(matrix.shape[1]):
        steps = np.clip(np.rint(left[:, place] / scales), -WEIGHT_STEPS, WEIGHT_STEPS)
        found[:, place] = steps
        error = (left[:, place] - steps * scales) / onward[place, place]
        left[:, place + 1 :] -= np.outer(error, onward[place, place + 1 :])
    return found


def linear(graph: Graph, name: str, values: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
    """`values @ weight.T + bias`, each output column with a scale of its own."""
    seen = next((seen for layer, seen in graph.ranges.items() if f"{name}.".startswith(f"{layer}.")), None)
    shift = graph.constant(f"{name}.bias", bias, np.float32)
    if seen is None:
        return _by_token(graph, name, values, weight, shift)
    return _fixed(graph, name, values, weight, shift, seen)


def _by_token(graph: Graph, name: str, values: str, weight: NDArray[np.float32], bias: str) -> str:
    """Each token has a scale of its own."""
    largest = graph.add("ReduceMax", [graph.add("Abs", [values]), graph.integers(-1)], keepdims=1)
    unit = graph.add("Mul", [graph.add("Max", [largest, graph.number(1e-9)]), graph.number(1 / ROW_STEPS)])
    scaled = graph.add("Mul", [values, graph.add("Reciprocal", [unit])])
    # The cast cuts off what is behind the point: adding a half first makes that rounding.
    shifted = graph.add("Add", [scaled, graph.number(128.5)])
    tokens = graph.add("Cast", [shifted], to=TensorProto.UINT8)
    zero = graph.constant("zero_point", 128, np.uint8)
    inputs = [tokens, *_columns(graph, name, weight, graph.number(1.0)), zero]
    real = graph.add("Mul", [graph.add("MatMulIntegerToFloat", inputs, domain=ONNXRUNTIME), unit])
    return graph.add("Add", [real, bias])


def _fixed(graph: Graph, name: str, values: str, weight: NDArray[np.float32], bias: str, seen: Range) -> str:
    """All tokens have the scale that suits what was seen; what goes beyond is cut off."""
    largest = np.maximum(np.abs(seen[0]), np.abs(seen[1]))
    calm = np.maximum(1, largest / (STRAY * np.median(largest))).astype(np.float32)
    if calm.max() > 1:
        values, weight = graph.add("Mul", [values, graph.constant(f"{name}.calm", 1 / calm)]), weight * calm
    low, high = min(0.0, float((seen[0] / calm).min())), float((seen[1] / calm).max())
    unit = graph.constant(f"{name}.unit", (high - low) / STEPS, np.float32)
    zero = graph.constant(f"{name}.zero", round(-low * STEPS / (high - low)), np.uint8)
    tokens = graph.add("QuantizeLinear", [values, unit, zero])
    moments = next((found for layer, found in graph.moments.items() if f"{name}.".startswith(f"{layer}.")), None)
    if moments is not None:
        moments = moments / np.outer(calm, calm)
    inputs = [tokens, *_columns(graph, name, weight, unit, moments), zero, "", bias]
    return graph.add("MatMulIntegerToFloat", inputs, domain=ONNXRUNTIME)


def _columns(
    graph: Graph, name: str, weight: NDArray[np.float32], unit: str, moments: NDArray[np.float64] | None = None
) -> list[str]:
    """The weights as integers, the scale of what they are multiplied with, and theirs."""
    integers, scales = quantise_rows(weight, WEIGHT_STEPS)
    if moments is not None:
        integers = _rounded_in_turn(weight, scales, moments)
    return [graph.constant(f"{name}.weight", integers.T), unit, graph.constant(f"{name}.scale", scales)]


def normalise(graph: Graph, weights: Weights, name: str, values: str) -> str:
    scale = graph.constant(f"{name}.weight", weights[f"{name}.weight"], np.float32)
    shift = graph.constant(f"{name}.bias", weights[f"{name}.bias"], np.float32)
    return graph.add("LayerNormalization", [values, scale, shift], axis=-1, epsilon=NORM_EPSILON)


def embeddings(graph: Graph, weights: Weights, ids: str) -> str:
    """Word vectors from an 8-bit table, plus places; all tokens are of the first type."""
    integers, scales = quantise_rows(weights["embeddings.word_embeddings.weight"], ROW_STEPS)
    rows = graph.add("Gather", [graph.constant("words", integers), ids])
    scale = graph.add("Gather", [graph.constant("words.scale", scales), ids])
    words = graph.add(
        "Mul", [graph.add("Cast", [rows], to=TensorProto.FLOAT), graph.add("Unsqueeze", [scale, graph.integers(-1)])]
    )
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.add("Shape", [ids], start=1, end=2)
    used = graph.add("Slice", [graph.constant("places", places), graph.integers(0), length, graph.integers(0)])
    return normalise(graph, weights, "embeddings.LayerNorm", graph.add("Add", [words, used]))


def attention(
    graph: Graph, weights: Weights, layer: str, values: str, hidden: str, heads: int, first_only: bool
) -> str:
    """Self-attention; with `first_only` the first token alone asks, and the others are only listened to."""
    asking = graph.add("Slice", [values, *(graph.integers(at) for at in (0, 1, 1))]) if first_only else values
    if first_only:
        (query,) = _projected(graph, weights, layer, asking, ("query",), heads)
        key, value = _projected(graph, weights, layer, values, ("key", "value"), heads)
    else:
        query, key, value = _projected(graph, weights, layer, values, ("query", "key", "value"), heads)
    scores = graph.add("MatMul", [query, graph.add("Transpose", [key], perm=[0, 1, 3, 2])])
    shares = graph.add("Softmax", [graph.add("Add", [scores, hidden])], axis=-1)
    mixed = graph.add("Transpose", [graph.add("MatMul", [shares, value])], perm=[0, 2, 1, 3])
    name = f"{layer}.attention.output"
    size = weights[f"{name}.dense.weight"].shape[1]
    flat = graph.add("Reshape", [mixed, graph.integers(0, 0, size)])
    output = linear(graph, name, flat, weights[f"{name}.dense.weight"], weights[f"{name}.dense.bias"])
    return normalise(graph, weights, f"{name}.LayerNorm", graph.add("Add", [asking, output]))


def _projected(
    graph: Graph, weights: Weights, layer: str, values: str, parts: Sequence[str], heads: int
) -> tuple[str, ...]:
    """Queries, keys and values, as many as are asked for, out of one multiplication."""
    names = [f"{layer}.attention.self.{part}" for part in parts]
    weight = np.concatenate([weights[f"{name}.weight"] for name in names])
    bias = np.concatenate([weights[f"{name}.bias"] for name in names])
    size = weight.shape[1]
    if parts[0] == "query":
        weight[:size] *= (size // heads) ** -0.5
        bias[:size] *= (size // heads) ** -0.5
    whole = f"{layer}.attention.self" if len(parts) == 3 else f"{layer}.attention.self.{'_'.join(parts)}"
    joined = linear(graph, whole, values, weight, bias)
    split = graph.add("Reshape", [joined, graph.integers(0, 0, len(parts), heads, size // heads)])
    split = graph.add("Transpose", [split], perm=[2, 0, 3, 1, 4])
    return tuple(
        graph.add("Gather", [split, graph.constant(f"index_{index}", index, np.int64)], axis=0)
        for index in range(len(parts))
    )


def feed_forward(graph: Graph, weights: Weights, layer: str, values: str) -> str:
    wide, narrow = f"{layer}.intermediate.dense", f"{layer}.output.dense"
    inner = linear(graph, wide, values, weights[f"{wide}.weight"], weights[f"{wide}.bias"])
    output = linear(graph, narrow, graph.add("Gelu", [inner]), weights[f"{narrow}.weight"], weights[f"{narrow}.bias"])
    return normalise(graph, weights, f"{layer}.output.LayerNorm", graph.add("Add", [values, output]))


def encoder(graph: Graph, weights: Weights, ids: str, mask: str, heads: int, first_only: bool = False) -> str:
    """The hidden states of the last layer, or of its first token alone. `mask`: 1.0 for tokens, 0.0 for padding."""
    return hidden_states(graph, weights, ids, mask, heads, first_only)[-1]


def hidden_states(
    graph: Graph, weights: Weights, ids: str, mask: str, heads: int, first_only: bool = False
) -> list[str]:
    """The states behind each layer; with `first_only` the last has its first token alone."""
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    away = graph.add("Mul", [graph.add("Sub", [graph.number(1.0), mask]), graph.number(-1e9)])
    hidden = graph.add("Unsqueeze", [away, graph.integers(1, 2)])
    found = [embeddings(graph, weights, ids)]
    for number in range(layers):
        layer = f"encoder.layer.{number}"
        last = first_only and number == layers - 1
        attended = attention(graph, weights, layer, found[-1], hidden, heads, last)
        found.append(feed_forward(graph, weights, layer, attended))
    return found[1:]


def mean_vector(graph: Graph, values: str, mask: str, output: str) -> str:
    """The mean over the tokens, at length one."""
    kept = graph.add("Mul", [values, graph.add("Unsqueeze", [mask, graph.integers(-1)])])
    total = graph.add("ReduceSum", [kept, graph.integers(1)], keepdims=0)
    count = graph.add("ReduceSum", [mask, graph.integers(1)], keepdims=1)
    return graph.add("LpNormalization", [graph.add("Div", [total, count])], output, axis=-1, p=2)


def finish(graph: Graph, name: str, sizes: Mapping[str, int]) -> onnx.ModelProto:
    """The model with its outputs, each a row of so many numbers for each text."""
    inputs = [helper.make_tensor_value_info(item, TensorProto.INT64, ["batch", "tokens"]) for item in ("ids", "mask")]
    outputs = [helper.make_tensor_value_info(item, TensorProto.FLOAT, ["batch", size]) for item, size in sizes.items()]
    made = helper.make_graph(graph.nodes, name, inputs, outputs, list(graph.constants.values()))
    domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(ONNXRUNTIME, 1)]
    model = helper.make_model(made, opset_imports=domains, ir_version=IR_VERSION)
    onnx.checker.check_model(model)
    return model
