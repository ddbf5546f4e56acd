"""Measures what goes into the linear layers of the entailment network, so that the export can fix their scales."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from encoder_graph import Range
from numpy.typing import NDArray
from torch import Tensor, nn

_PARTS = {
    "joined": "attention.self",
    "output": "attention.output",
    "wide": "intermediate.dense",
    "narrow": "output.dense",
}


@dataclass(slots=True)
class Seen:
    """What went into a linear layer: the least and the most of each channel, and the sums of their products."""

    low: Tensor
    high: Tensor
    moments: Tensor

    def add(self, flat: Tensor) -> None:
        self.low = torch.minimum(self.low, flat.amin(0))
        self.high = torch.maximum(self.high, flat.amax(0))
        self.moments += (flat.T @ flat).double()


def measured(net: nn.Module, run: Callable[[], object]) -> tuple[dict[str, Range], dict[str, NDArray[np.float64]]]:
    """By the name that a linear layer has in the graph, the range of each channel, and the channels' moments.

    `run` has the network read some texts; none may be padded.
    """
    found: dict[str, Seen] = {}

    def noting(name: str) -> Callable[[nn.Module, tuple[Tensor, ...], Tensor], None]:
        def note(_: nn.Module, given: tuple[Tensor, ...], __: Tensor) -> None:
            flat = given[0].flatten(0, -2)
            size = flat.shape[1]
            empty = Seen(flat[0], flat[0], torch.zeros(size, size, dtype=torch.float64))
            found.setdefault(name, empty).add(flat)

        return note

    layers = net.get_submodule("layers")
    for number, layer in enumerate(layers.children()):
        for part, name in _PARTS.items():
            layer.get_submodule(part).register_forward_hook(noting(f"encoder.layer.{number}.{name}"))
    run()
    ranges = {name: (np.asarray(seen.low), np.asarray(seen.high)) for name, seen in found.items()}
    return ranges, {name: np.asarray(seen.moments) for name, seen in found.items()}
