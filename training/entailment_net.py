"""The network: a BERT encoder that reads premise and claim together and tells three classes apart (PyTorch)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

CLASSES = ("supported", "unsupported", "contradicted")
EXITS = (4, 6, 8)
"""Layers behind which the network is asked too: the export may end there."""
DROPOUT = 0.05


class Layer(nn.Module):
    """Self-attention and feed-forward, each with a residual and a norm behind it."""

    def __init__(self, size: int, wide: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.joined = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.first_norm = nn.LayerNorm(size, eps=1e-12)
        self.wide = nn.Linear(size, wide)
        self.narrow = nn.Linear(wide, size)
        self.second_norm = nn.LayerNorm(size, eps=1e-12)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, values: Tensor, seen: Tensor | None = None) -> Tensor:
        batch, tokens, size = values.shape
        parts = self.joined(values).view(batch, tokens, 3, self.heads, size // self.heads).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(parts[0], parts[1], parts[2], attn_mask=seen)
        mixed = mixed.transpose(1, 2).reshape(batch, tokens, size)
        values = self.first_norm(values + self.dropout(self.output(mixed)))
        inner = functional.gelu(self.wide(values))
        return self.second_norm(values + self.dropout(self.narrow(inner)))


class Head(nn.Module):
    """Three logits, read off the first token."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.pool = nn.Linear(size, size)
        self.classes = nn.Linear(size, len(CLASSES))
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, values: Tensor) -> Tensor:
        logits: Tensor = self.classes(self.dropout(torch.tanh(self.pool(values[:, 0]))))
        return logits


class EntailmentNet(nn.Module):
    """Token numbers of pairs of one length in; logits at every exit and at the end out."""

    def __init__(self, words: int, size: int, layers: int, heads: int, wide: int, places: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.places = nn.Embedding(places, size)
        self.norm = nn.LayerNorm(size, eps=1e-12)
        self.layers = nn.ModuleList(Layer(size, wide, heads) for _ in range(layers))
        self.heads = nn.ModuleDict({str(exit_): Head(size) for exit_ in (*EXITS, layers) if exit_ <= layers})
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, ids: Tensor) -> list[Tensor]:
        values = self.dropout(self.norm(self.words(ids) + self.places.weight[: ids.shape[1]]))
        found = []
        for number, layer in enumerate(self.layers, 1):
            values = layer(values)
            if str(number) in self.heads:
                found.append(self.heads[str(number)](values))
        return found


Weights = Mapping[str, NDArray[np.float32]]


def _names(layer: int) -> dict[str, str]:
    """Our names of a layer's parts, and those of the published weights."""
    here, there = f"layers.{layer}", f"encoder.layer.{layer}"
    return {
        f"{here}.output": f"{there}.attention.output.dense",
        f"{here}.first_norm": f"{there}.attention.output.LayerNorm",
        f"{here}.wide": f"{there}.intermediate.dense",
        f"{here}.narrow": f"{there}.output.dense",
        f"{here}.second_norm": f"{there}.output.LayerNorm",
    }


def net_from(weights: Weights, heads: int = 12) -> EntailmentNet:
    """The network begun from the weights of a sentence encoder; only the heads are new."""
    words = weights["embeddings.word_embeddings.weight"]
    layers = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer."))
    wide = weights["encoder.layer.0.intermediate.dense.weight"].shape[0]
    places = weights["embeddings.position_embeddings.weight"] + weights["embeddings.token_type_embeddings.weight"][0]
    net = EntailmentNet(words.shape[0], words.shape[1], layers, heads, wide, places.shape[0])
    found: dict[str, NDArray[np.float32]] = {
        "words.weight": words,
        "places.weight": places,
        "norm.weight": weights["embeddings.LayerNorm.weight"],
        "norm.bias": weights["embeddings.LayerNorm.bias"],
    }
    for layer in range(layers):
        for part in ("weight", "bias"):
            names = [f"encoder.layer.{layer}.attention.self.{name}.{part}" for name in ("query", "key", "value")]
            three = [weights[name] for name in names]
            found[f"layers.{layer}.joined.{part}"] = np.concatenate(three)
            for here, there in _names(layer).items():
                found[f"{here}.{part}"] = weights[f"{there}.{part}"]
    tensors = {name: torch.tensor(np.asarray(value, np.float32)) for name, value in found.items()}
    missing, unexpected = net.load_state_dict(tensors, strict=False)
    assert not unexpected and all(name.startswith("heads.") for name in missing), (missing, unexpected)
    return net


def published_names(net: nn.Module) -> dict[str, NDArray[np.float32]]:
    """The weights under the names that `encoder_graph.py` reads."""
    state = {name: value.detach().float().cpu().numpy() for name, value in net.state_dict().items()}
    size = state["words.weight"].shape[1]
    named = {
        "embeddings.word_embeddings.weight": state["words.weight"],
        "embeddings.position_embeddings.weight": state["places.weight"],
        "embeddings.token_type_embeddings.weight": np.zeros((2, size), np.float32),
        "embeddings.LayerNorm.weight": state["norm.weight"],
        "embeddings.LayerNorm.bias": state["norm.bias"],
    }
    named |= {
        name: value for name, value in state.items() if name.startswith(("heads.", "pool.", "classes.", "roles."))
    }
    for layer in range(1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))):
        for part in ("weight", "bias"):
            query, key, value = np.split(state[f"layers.{layer}.joined.{part}"], 3)
            for kind, matrix in (("query", query), ("key", key), ("value", value)):
                named[f"encoder.layer.{layer}.attention.self.{kind}.{part}"] = matrix
            for here, there in _names(layer).items():
                named[f"{there}.{part}"] = state[f"{here}.{part}"]
    return named
