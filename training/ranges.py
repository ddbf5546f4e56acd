"""Measures what goes into the linear layers of the entailment network, so that the export can fix their scales."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from encoder_graph import Range
from entailment_net import EntailmentNet
from torch import Tensor, nn
from train_entailment import Pairs, predict

_PARTS = {
    "joined": "attention.self",
    "output": "attention.output",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
}


def measured(net: EntailmentNet, pairs: Pairs) -> dict[str, Range]:
    """By the name that a linear layer has in the graph, the least and the most of each of its channels."""
    found: dict[str, list[tuple[Tensor, Tensor]]] = {}

    def noting(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def note(_: nn.Module, given: tuple[Tensor, ...], __: Tensor) -> None:
            flat = given[0].flatten(0, -2)
            found.setdefault(name, []).append((flat.amin(0), flat.amax(0)))

        return note

    for number, layer in enumerate(net.layers):
        for part, name in _PARTS.items():
            getattr(layer, part).register_forward_hook(noting(f"encoder.layer.{number}.{name}"))
    predict(net, pairs, "cpu")
    return {
        name: (
            np.asarray(torch.stack([low for low, _ in noted]).amin(0)),
            np.asarray(torch.stack([high for _, high in noted]).amax(0)),
        )
        for name, noted in found.items()
    }
