"""The network with two heads: what a text says of a claim, and the role of a sentence of an answer (PyTorch).

It begins from the shipped file, whose 8-bit weights are put back into floats.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import torch
from entailment_net import CLASSES, DROPOUT, Layer
from logs import ROLES
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor, nn

HEADS = 12
ROLE_LAYERS = 5
"""The role is read behind so many layers, so that the others need not run for it."""
ROLE_SIZE = 256
END_MARK = 102

Constants = dict[str, NDArray[np.float32]]


class TwoHeads(nn.Module):
    """Token numbers of texts and which of them count in; logits of the classes or of the roles out."""

    def __init__(self, words: int, size: int, layers: int, wide: int, places: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, size)
        self.places = nn.Embedding(places, size)
        self.norm = nn.LayerNorm(size, eps=1e-12)
        self.layers = nn.ModuleList(Layer(size, wide, HEADS) for _ in range(layers))
        self.pool = nn.Linear(size, size)
        self.classes = nn.Linear(size, len(CLASSES))
        self.roles = nn.ModuleDict({"pool": nn.Linear(size, ROLE_SIZE), "classes": nn.Linear(ROLE_SIZE, len(ROLES))})
        self.dropout = nn.Dropout(DROPOUT)
        self.role_dropout = nn.Dropout(0.2)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """What a text says of a claim."""
        first = self._behind(ids, mask, len(self.layers))[:, 0]
        found: Tensor = self.classes(self.dropout(torch.tanh(self.pool(first))))
        return found

    def role_logits(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Read off the mean over the second of three texts, each of which ends in a mark."""
        values = self._behind(ids, mask, ROLE_LAYERS)
        ends = (ids == END_MARK).long()
        within = (ends.cumsum(1) - ends == 1).to(values.dtype)[..., None]
        mean = (values * within).sum(1) / within.sum(1).clamp_min(1)
        inner = torch.tanh(self.roles["pool"](self.role_dropout(mean)))
        found: Tensor = self.roles["classes"](self.role_dropout(inner))
        return found

    def _behind(self, ids: Tensor, mask: Tensor, layers: int) -> Tensor:
        values: Tensor = self.dropout(self.norm(self.words(ids) + self.places.weight[: ids.shape[1]]))
        for layer in list(self.layers)[:layers]:
            values = layer(values, mask[:, None, None, :])
        return values


def shipped(path: Path) -> TwoHeads:
    """The network with the weights of the file; the roles' head too, where the file has one of this form."""
    file = {item.name: numpy_helper.to_array(item) for item in onnx.load(path).graph.initializer}
    constants = {name: np.asarray(value, np.float32) for name, value in file.items()}
    layers = 1 + max(int(name.split(".")[2]) for name in file if name.startswith("encoder.layer."))
    wide = file["encoder.layer.0.intermediate.dense.weight"].shape[1]
    net = TwoHeads(*file["words"].shape, layers, wide, len(file["places"]))
    found = {
        "words.weight": constants["words"] * constants["words.scale"][:, None],
        "places.weight": constants["places"],
        "norm.weight": constants["embeddings.LayerNorm.weight"],
        "norm.bias": constants["embeddings.LayerNorm.bias"],
    }
    for number in range(layers):
        found |= _layer(constants, number)
    for name in net.state_dict():
        if name.startswith(("pool.", "classes.", "roles.")) and name in constants:
            found[name] = constants[name]
    missing, unexpected = net.load_state_dict(
        {name: torch.tensor(value) for name, value in found.items()}, strict=False
    )
    assert not unexpected and all(name.startswith("roles.") for name in missing), (missing, unexpected)
    return net


def _layer(file: Constants, number: int) -> Constants:
    here, there = f"layers.{number}", f"encoder.layer.{number}"
    own = f"{there}.attention.self"
    parts = [own] if f"{own}.weight" in file else [f"{own}.query", f"{own}.key_value"]
    weight = np.concatenate([_linear(file, part) for part in parts])
    bias = np.concatenate([file[f"{part}.bias"] for part in parts])
    size = weight.shape[1]
    weight[:size] *= (size / HEADS) ** 0.5  # the file has the queries divided by it
    bias[:size] *= (size / HEADS) ** 0.5
    found = {f"{here}.joined.weight": weight, f"{here}.joined.bias": bias}
    linear = {"output": "attention.output", "wide": "intermediate.dense", "narrow": "output.dense"}
    for name, named in linear.items():
        found[f"{here}.{name}.weight"] = _linear(file, f"{there}.{named}")
        found[f"{here}.{name}.bias"] = file[f"{there}.{named}.bias"]
    for name, named in (("first_norm", "attention.output"), ("second_norm", "output")):
        for part in ("weight", "bias"):
            found[f"{here}.{name}.{part}"] = file[f"{there}.{named}.LayerNorm.{part}"]
    return found


def _linear(file: Constants, name: str) -> NDArray[np.float32]:
    """A weight in the form (out, in); `calm` is what its inputs were multiplied with."""
    weight = file[f"{name}.weight"] * file[f"{name}.scale"]
    if f"{name}.calm" in file:
        weight *= file[f"{name}.calm"][:, None]
    return np.ascontiguousarray(weight.T)
